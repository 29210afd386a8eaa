//! `pg_stat_activity`: sessions as PostgreSQL shows them. What PostgreSQL calls a process id is the session's number.

use crate::serve::activity::{Activity, Doing};
use base::Result;
use kernel::session::slots_reached;
use sql::catalog::{RowSink, ViewContext};
use sql::types::{Datum, Oid};

/// PostgreSQL's number of its first role.
const ROLE: Oid = Oid(10);

pub struct Provider(pub Activity);

fn maybe(time: Option<i64>) -> Datum<'static> {
    time.map_or(Datum::Null, Datum::Int)
}

impl sql::catalog::Provider for Provider {
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        for slot in slots_reached().iter().filter(|slot| slot.is_used()) {
            let background = slot.is_background();
            let seen = self.0.see(slot.id());
            let waiting = slot.waiting().map(|(event, ..)| event.row());
            let user = context.catalog.definitions.role_named(&seen.user).map(|role| role.oid);
            let is_seen = background || context.sees_all_statistics() || user.is_some_and(|user| context.is(user));
            let row = rows.row();
            let row = match background || seen.database.is_none() {
                true => row.nulls(2),
                false => {
                    let database = context.catalog.definitions.database(seen.database);
                    row.oid(seen.database).maybe_text(database.map(|database| database.name.as_str()))
                }
            };
            let row = row.int(slot.number()).null();
            let row = match background || seen.user.is_empty() {
                true => row.nulls(2),
                false => row.oid(user.unwrap_or(ROLE)).text(&seen.user),
            };
            let row = row.text(if background { "" } else { &seen.application });
            if !is_seen {
                // Of others' sessions a stranger hears only that they are there.
                row.nulls(13).text("<insufficient privilege>").null().end();
                continue;
            }
            let row = match seen.client.filter(|_| !background) {
                Some(client) => row.null().null().int(i32::from(client.port())),
                None => row.nulls(3),
            };
            let row = row.int(slot.started_at());
            let row = match background {
                true => row.nulls(3),
                false => row
                    .datum(maybe(seen.transaction_start))
                    .datum(maybe(seen.query_start))
                    .datum(maybe(seen.state_change)),
            };
            let row = match (waiting, seen.doing) {
                (Some(event), _) => row.text(event.class.as_str()).text(event.name),
                // Whoever waits for its client holds nothing that could be seen to wait.
                (None, doing) if doing != Doing::Active && !background => row.text("Client").text("ClientRead"),
                _ => row.nulls(2),
            };
            let row = row.maybe_text((!background).then(|| seen.doing.as_str())).nulls(3);
            row.text(if background { "" } else { &seen.query })
                .text(if background { "background worker" } else { "client backend" })
                .end();
        }
        Ok(())
    }
}
