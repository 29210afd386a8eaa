//! The database, the roles, the settings.
//!
//! There is one database and, until roles can be made, one role; both are called `postgres`.

use crate::catalog::provider::{RowSink, ViewContext};
use crate::catalog::schema::{BOOTSTRAP_ROLE, DATABASE};
use crate::types::{Datum, Oid};
use base::Result;
use base::settings::TABLE;

/// The name of the one role.
pub const SUPERUSER: &str = "postgres";
/// The name of the one database.
pub const DATABASE_NAME: &str = "postgres";

const UTF8: i64 = 6;
const DEFAULT_TABLESPACE: Oid = Oid(1663);

/// `pg_database`
pub(super) fn databases(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    rows.row()
        .oid(DATABASE)
        .text(context.database)
        .oid(BOOTSTRAP_ROLE)
        .int(UTF8)
        .char(b'c')
        .bool(false)
        .bool(true)
        .int(-1)
        .int(3)
        .int(1)
        .oid(DEFAULT_TABLESPACE)
        .text("C")
        .text("C.UTF-8")
        .end();
    Ok(())
}

/// `pg_tablespace`
pub(super) fn tablespaces(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for (oid, name) in [(DEFAULT_TABLESPACE, "pg_default"), (Oid(1664), "pg_global")] {
        rows.row().oid(oid).text(name).oid(BOOTSTRAP_ROLE).nulls(2).end();
    }
    Ok(())
}

/// `pg_authid`
pub(super) fn authids(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    rows.row()
        .oid(BOOTSTRAP_ROLE)
        .text(SUPERUSER)
        .bool(true)
        .bool(true)
        .bool(true)
        .bool(true)
        .bool(true)
        .bool(true)
        .bool(true)
        .int(-1)
        .nulls(2)
        .end();
    Ok(())
}

/// `pg_roles`
pub(super) fn roles(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    rows.row()
        .text(SUPERUSER)
        .bool(true)
        .bool(true)
        .bool(true)
        .bool(true)
        .bool(true)
        .bool(true)
        .int(-1)
        .text("********")
        .null()
        .bool(true)
        .null()
        .oid(BOOTSTRAP_ROLE)
        .end();
    Ok(())
}

/// `pg_user`
pub(super) fn users(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    rows.row()
        .text(SUPERUSER)
        .oid(BOOTSTRAP_ROLE)
        .bool(true)
        .bool(true)
        .bool(true)
        .bool(true)
        .text("********")
        .nulls(2)
        .end();
    Ok(())
}

/// `pg_settings`
pub(super) fn settings(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let mut listed: Vec<_> = TABLE.iter().filter(|setting| setting.is_listed()).collect();
    listed.sort_unstable_by_key(|setting| setting.name.to_ascii_lowercase());
    for setting in listed {
        let row = context.settings.describe(setting.id);
        let words: Option<Vec<Datum<'_>>> =
            row.enumvals.as_ref().map(|words| words.iter().map(|word| Datum::text(word)).collect());
        let out = rows
            .row()
            .text(row.name)
            .text(&row.setting)
            .maybe_text(row.unit)
            .text(row.category)
            .text(row.short_desc)
            .maybe_text(row.extra_desc.as_deref())
            .text(row.context)
            .text(row.vartype)
            .text(row.source)
            .maybe_text(row.min_val.as_deref())
            .maybe_text(row.max_val.as_deref());
        let out = match &words {
            Some(words) => out.array(words),
            None => out.null(),
        };
        let out = out.text(&row.boot_val).text(&row.reset_val).maybe_text(row.sourcefile.as_deref());
        let out = match row.sourceline {
            Some(line) => out.int(line),
            None => out.null(),
        };
        out.bool(row.pending_restart).end();
    }
    Ok(())
}
