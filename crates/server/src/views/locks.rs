//! `pg_locks`: what sessions hold and wait for, as PostgreSQL shows it.
//!
//! | `locktype` | what is locked | which columns say so |
//! |---|---|---|
//! | `relation` | a table or an index | `relation` |
//! | `object` | another object of a catalog; without `objid`, a name that is being given | `classid`, `objid` |
//! | `tuple` | a row, by who is next to change it | `relation`, `page`, `tuple` |
//! | `advisory` | one number or two | `classid`, `objid`, `objsubid` |
//! | `transactionid` | a transaction that changes something: it has itself, and others wait for its end | `transactionid` |
//! | `virtualxid` | a transaction, whether or not it changes anything | `virtualxid` |
//!
//! `virtualtransaction` is the session's number and when its transaction began.

use crate::serve::activity::Activity;
use base::{RelId, Result, SessionId, Xid};
use kernel::clock;
use kernel::session::{slot, slots_reached};
use sql::catalog::definition::Rows;
use sql::catalog::{RowSink, ViewContext};
use sql::types::Oid;
use storage::Storage;
use storage::txn::LockMode;
use storage::txn::lock::{Held, LockClass};

pub struct Provider {
    pub sessions: Activity,
    pub storage: &'static Storage,
}

/// What the columns before `virtualtransaction` say.
#[derive(Default)]
struct Locked {
    kind: &'static str,
    database: Option<Oid>,
    relation: Option<Oid>,
    page: Option<u32>,
    tuple: Option<u16>,
    virtual_xid: Option<String>,
    xid: Option<u64>,
    class: Option<u32>,
    object: Option<u32>,
    part: Option<u16>,
}

impl sql::catalog::Provider for Provider {
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        let transactions = self.storage.transactions;
        for held in transactions.locks().held(transactions) {
            self.row(rows, self.locked(context, &held), held.session, held.mode, (held.granted, held.fast));
        }
        for slot in slots_reached().iter().filter(|slot| slot.is_used() && slot.in_transaction()) {
            let virtual_xid = Some(self.virtual_xid(slot.id()));
            let locked = Locked { kind: "virtualxid", virtual_xid, ..Locked::default() };
            self.row(rows, locked, slot.id(), LockMode::Exclusive, (true, true));
        }
        let of_transaction = |xid: Xid| Locked { kind: "transactionid", xid: Some(xid.0), ..Locked::default() };
        for running in transactions.running() {
            let Some(xid) = running.xid else { continue };
            self.row(rows, of_transaction(xid), running.session, LockMode::Exclusive, (true, false));
        }
        for slot in slots_reached().iter().filter(|slot| slot.is_used()) {
            let Some(xid) = transactions.awaited(slot.id()) else { continue };
            self.row(rows, of_transaction(xid), slot.id(), LockMode::Share, (false, false));
        }
        Ok(())
    }
}

impl Provider {
    fn locked(&self, context: &ViewContext<'_>, held: &Held) -> Locked {
        let key = held.key;
        let database = Some(self.sessions.see(held.session).database);
        let locked = Locked { kind: key.class.as_str(), database, ..Locked::default() };
        match key.class {
            LockClass::Relation => Locked { relation: Some(Oid(key.first)), ..locked },
            LockClass::Object if key.is_name() => locked,
            LockClass::Object => {
                Locked { class: Some(key.first), object: Some(key.second as u32), part: Some(0), ..locked }
            }
            LockClass::Row => {
                let storage = RelId(key.first);
                let mut tables = context.catalog.definitions.tables();
                let table = tables.find(|table| matches!(table.rows, Rows::Stored(rel) if rel == storage));
                // As `ctid` shows it: from one.
                let (page, tuple) = ((key.second >> 16) as u32, (key.second as u16).wrapping_add(1));
                Locked { relation: table.map(|table| table.oid), page: Some(page), tuple: Some(tuple), ..locked }
            }
            LockClass::Advisory | LockClass::AdvisoryPair => {
                let part = if key.class == LockClass::Advisory { 1 } else { 2 };
                let (class, object) = ((key.second >> 32) as u32, key.second as u32);
                let database = Some(Oid(key.first));
                Locked { database, class: Some(class), object: Some(object), part: Some(part), ..locked }
            }
        }
    }

    fn virtual_xid(&self, session: SessionId) -> String {
        let began = self.sessions.see(session).transaction_start.unwrap_or_default();
        format!("{}/{began}", slot(session).number())
    }

    fn row(
        &self,
        rows: &mut RowSink,
        locked: Locked,
        session: SessionId,
        mode: LockMode,
        (granted, fast): (bool, bool),
    ) {
        let slot = slot(session);
        let waited = slot.waiting().filter(|_| !granted);
        let since = waited.map(|(_, _, since)| clock::wall_us() - (clock::now().saturating_sub(since) / 1000) as i64);
        rows.row()
            .text(locked.kind)
            .maybe(locked.database.map(|oid| oid.0))
            .maybe(locked.relation.map(|oid| oid.0))
            .maybe(locked.page)
            .maybe(locked.tuple)
            .maybe_text(locked.virtual_xid.as_deref())
            .maybe(locked.xid.map(|xid| xid as i64))
            .maybe(locked.class)
            .maybe(locked.object)
            .maybe(locked.part)
            .text(&self.virtual_xid(session))
            .int(slot.number())
            .text(mode.as_str())
            .bool(granted)
            .bool(fast)
            .maybe(since)
            .end();
    }
}
