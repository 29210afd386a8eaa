//! Who gets in, as views: `pg_stat_ssl`, `pg_hba_file_rules`, `gearbox.failed_logins`.

use super::{BOOL, INT4, TEXT, TEXT_ARRAY, TIMESTAMPTZ, column};
use crate::access::Access;
use crate::access::rules::Address;
use crate::serve::activity::Activity;
use base::{Error, Result, sqlstate};
use kernel::session::slots_reached;
use sql::catalog::{RowSink, ViewColumn, ViewContext};
use sql::types::numeric::Numeric;
use sql::types::{Datum, Oid};

const NUMERIC: Oid = Oid(1700);

pub const SSL_COLUMNS: &[ViewColumn] = &[
    column("pid", INT4),
    column("ssl", BOOL),
    column("version", TEXT),
    column("cipher", TEXT),
    column("bits", INT4),
    column("client_dn", TEXT),
    column("client_serial", NUMERIC),
    column("issuer_dn", TEXT),
];

pub struct Ssl(pub Activity);

impl sql::catalog::Provider for Ssl {
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        for slot in slots_reached().iter().filter(|slot| slot.is_used() && !slot.is_background()) {
            let seen = self.0.see(slot.id());
            let user = context.catalog.definitions.role_named(&seen.user).map(|role| role.oid);
            let is_seen = context.sees_all_statistics() || user.is_some_and(|user| context.is(user));
            let row = rows.row().int(slot.number());
            let Some(encrypted) = seen.encrypted.filter(|_| is_seen) else {
                match is_seen {
                    true => row.bool(false).nulls(6).end(),
                    false => row.nulls(7).end(),
                }
                continue;
            };
            let row = row.bool(true).text(encrypted.version).text(encrypted.cipher).int(encrypted.bits as i32);
            let [name, issuer, serial] = &encrypted.certificate;
            let some = |text: &'_ str| (!text.is_empty()).then_some(text.to_owned());
            let row = row.maybe_text(some(name).as_deref());
            let digits = Numeric::parse(serial).and_then(|number| number.to_bytes()).ok();
            let row = match &digits {
                Some(bytes) => row.datum(Datum::Bytes(bytes)),
                None => row.null(),
            };
            row.maybe_text(some(issuer).as_deref()).end();
        }
        Ok(())
    }
}

pub const RULES_COLUMNS: &[ViewColumn] = &[
    column("line_number", INT4),
    column("type", TEXT),
    column("database", TEXT_ARRAY),
    column("user_name", TEXT_ARRAY),
    column("address", TEXT),
    column("netmask", TEXT),
    column("auth_method", TEXT),
    column("options", TEXT_ARRAY),
    column("error", TEXT),
];

/// The view reads the file as it is now, so that mistakes are seen before it is reloaded.
pub struct Rules(pub &'static Access);

fn superuser_only(context: &ViewContext<'_>, view: &str) -> Result<()> {
    match context.is_superuser() {
        true => Ok(()),
        false => Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied for view {view}"))),
    }
}

impl sql::catalog::Provider for Rules {
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        superuser_only(context, "pg_hba_file_rules")?;
        for line in self.0.lines()? {
            let row = rows.row().int(line.number);
            let rule = match line.rule {
                Ok(rule) => rule,
                Err(mistake) => {
                    row.nulls(7).text(&mistake).end();
                    continue;
                }
            };
            let row = row.text(rule.kind_word()).maybe_texts(Some(&rule.databases())).maybe_texts(Some(&rule.roles()));
            let row = match rule.address {
                _ if rule.kind_word() == "local" => row.nulls(2),
                Address::All => row.text("all").null(),
                Address::SameHost => row.text("samehost").null(),
                Address::SameNet => row.text("samenet").null(),
                Address::Net(net, mask) => row.text(&net.to_string()).text(&mask.to_string()),
            };
            let row = row.text(rule.method_word());
            row.maybe_texts((!rule.options.is_empty()).then_some(&rule.options[..])).null().end();
        }
        Ok(())
    }
}

pub const FAILED_COLUMNS: &[ViewColumn] = &[
    column("address", TEXT),
    column("role", TEXT),
    column("failures", INT4),
    column("last_failure", TIMESTAMPTZ),
    column("refused_until", TIMESTAMPTZ),
];

pub struct FailedLogins(pub &'static Access);

impl sql::catalog::Provider for FailedLogins {
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        if !context.sees_all_statistics() {
            superuser_only(context, "failed_logins")?;
        }
        for failed in self.0.failures.all() {
            let address = failed.address.map(|address| address.to_string());
            let row = rows.row().maybe_text(address.as_deref());
            let row = row.maybe_text((!failed.role.is_empty()).then_some(&*failed.role));
            let row = row.int(i32::try_from(failed.count).unwrap_or(i32::MAX)).int(failed.last);
            row.datum(failed.until.map_or(Datum::Null, Datum::Int)).end();
        }
        Ok(())
    }
}
