//! The databases, the roles, the settings.
//!
//! The role that is there from the beginning, and the database of those who name none, are called `postgres`.

use crate::catalog::privilege::Guard;
use crate::catalog::provider::{RowBuilder, RowSink, ViewContext};
use crate::catalog::role::{RoleDef, RoleFlag};
use crate::catalog::schema::BOOTSTRAP_ROLE;
use crate::types::datetime::{Interval, Zone};
use crate::types::{Datum, Oid};
use base::Result;
use base::settings::{TABLE, check_readable};

/// The name of the role that is there from the beginning.
pub const SUPERUSER: &str = "postgres";

const UTF8: i64 = 6;
const DEFAULT_TABLESPACE: Oid = Oid(1663);

/// `pg_database`
pub(super) fn databases(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let definitions = &context.catalog.definitions;
    for database in definitions.databases() {
        let acl = definitions.shown_acl(Guard::database(database));
        rows.row()
            .oid(database.oid)
            .text(&database.name)
            .oid(database.owner)
            .int(UTF8)
            .char(b'c')
            .bool(database.is_template)
            .bool(database.lets_in)
            .int(database.connection_limit)
            .int(3)
            .int(1)
            .oid(DEFAULT_TABLESPACE)
            .text(&database.collate)
            .text(&database.ctype)
            .nulls(2)
            .maybe_texts(acl.as_deref())
            .end();
    }
    Ok(())
}

/// `pg_tablespace`
pub(super) fn tablespaces(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for (oid, name) in [(DEFAULT_TABLESPACE, "pg_default"), (Oid(1664), "pg_global")] {
        rows.row().oid(oid).text(name).oid(BOOTSTRAP_ROLE).nulls(2).end();
    }
    Ok(())
}

/// What views show in place of a password.
const HIDDEN: &str = "********";

/// A point in time, or null.
fn time(row: RowBuilder<'_>, at: Option<i64>) -> RowBuilder<'_> {
    row.datum(at.map_or(Datum::Null, Datum::Int))
}

/// `pg_authid`
pub(super) fn authids(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for role in context.catalog.definitions.roles() {
        let row = rows
            .row()
            .oid(role.oid)
            .text(&role.name)
            .bool(role.has(RoleFlag::Superuser))
            .bool(role.has(RoleFlag::Inherit))
            .bool(role.has(RoleFlag::CreateRole))
            .bool(role.has(RoleFlag::CreateDatabase))
            .bool(role.has(RoleFlag::Login))
            .bool(role.has(RoleFlag::Replication))
            .bool(role.has(RoleFlag::BypassRowSecurity))
            .int(role.connection_limit)
            .maybe_text(role.password.as_deref());
        time(row, role.valid_until).end();
    }
    Ok(())
}

/// `pg_roles`
pub(super) fn roles(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for role in context.catalog.definitions.roles() {
        let row = rows
            .row()
            .text(&role.name)
            .bool(role.has(RoleFlag::Superuser))
            .bool(role.has(RoleFlag::Inherit))
            .bool(role.has(RoleFlag::CreateRole))
            .bool(role.has(RoleFlag::CreateDatabase))
            .bool(role.has(RoleFlag::Login))
            .bool(role.has(RoleFlag::Replication))
            .int(role.connection_limit)
            .text(HIDDEN);
        time(row, role.valid_until).bool(role.has(RoleFlag::BypassRowSecurity)).null().oid(role.oid).end();
    }
    Ok(())
}

/// `pg_user`
pub(super) fn users(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    log_ins(context, rows, |_| Some(HIDDEN))
}

/// `pg_shadow`
pub(super) fn shadows(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    log_ins(context, rows, |role| role.password.as_deref())
}

/// The roles that may log in.
fn log_ins(context: &ViewContext<'_>, rows: &mut RowSink, password: impl Fn(&RoleDef) -> Option<&str>) -> Result<()> {
    for role in context.catalog.definitions.roles().filter(|role| role.has(RoleFlag::Login)) {
        let row = rows
            .row()
            .text(&role.name)
            .oid(role.oid)
            .bool(role.has(RoleFlag::CreateDatabase))
            .bool(role.has(RoleFlag::Superuser))
            .bool(role.has(RoleFlag::Replication))
            .bool(role.has(RoleFlag::BypassRowSecurity))
            .maybe_text(password(role));
        time(row, role.valid_until).null().end();
    }
    Ok(())
}

/// `pg_group`: the roles that may not log in, with their members.
pub(super) fn groups(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let definitions = &context.catalog.definitions;
    for role in definitions.roles().filter(|role| !role.has(RoleFlag::Login)) {
        let members = definitions.roles().filter(|member| member.membership(role.oid).is_some());
        let members: Vec<Datum<'_>> = members.map(|member| Datum::Int(member.oid.0.into())).collect();
        rows.row().text(&role.name).oid(role.oid).array(&members).end();
    }
    Ok(())
}

/// `pg_auth_members`
pub(super) fn memberships(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for member in context.catalog.definitions.roles() {
        for membership in &member.member_of {
            rows.row().oid(membership.role).oid(member.oid).oid(membership.grantor).bool(membership.admin).end();
        }
    }
    Ok(())
}

/// `pg_db_role_setting`
pub(super) fn stored_settings(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for (_, known) in context.catalog.definitions.stored_settings() {
        let values = shown_settings(&known.values);
        rows.row().oid(known.database).oid(known.role).maybe_texts(Some(&values)).end();
    }
    Ok(())
}

/// Settings as catalogs show them: `name=value`.
pub(super) fn shown_settings(values: &[(String, String)]) -> Vec<String> {
    values.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// `pg_default_acl`
pub(super) fn default_privileges(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let definitions = &context.catalog.definitions;
    for (oid, known) in definitions.default_acls() {
        let items = definitions.shown_items(&known.items);
        rows.row().oid(oid).oid(known.role).oid(known.schema).char(known.made as u8).maybe_texts(Some(&items)).end();
    }
    Ok(())
}

/// `pg_timezone_names`: what is so at this moment.
pub(super) fn time_zones(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let now = kernel::clock::wall_us();
    for name in Zone::all_names() {
        let zone = Zone::named(&name)?;
        let offset = Interval::of_micros(zone.offset_at(now) * 1_000_000).encode();
        rows.row()
            .text(&name)
            .text(&zone.abbreviation_at(now))
            .datum(Datum::Bytes(&offset))
            .bool(zone.is_summer_at(now))
            .end();
    }
    Ok(())
}

/// `pg_settings`
pub(super) fn settings(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let mut listed: Vec<_> = TABLE.iter().filter(|setting| setting.is_listed()).collect();
    let superuser = context.is_superuser();
    listed.retain(|setting| check_readable(setting.id, superuser).is_ok());
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

/// `pg_prepared_statements`
pub(super) fn prepared_statements(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for statement in context.held.statements() {
        let types: Vec<Datum<'_>> = statement.types.iter().map(|oid| Datum::Int(oid.0.into())).collect();
        let row = rows.row().text(&statement.name).text(&statement.text).int(statement.made_at);
        row.array(&types).bool(statement.from_sql).count(statement.executed.0).count(statement.executed.1).end();
    }
    Ok(())
}

/// `pg_cursors`
pub(super) fn cursors(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for cursor in context.held.cursors() {
        let row = rows.row().text(&cursor.name).text(&cursor.text);
        row.bool(cursor.holds).bool(cursor.binary).bool(cursor.scrolls).int(cursor.made_at).end();
    }
    Ok(())
}
