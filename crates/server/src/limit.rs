//! `gearbox limit`: answers startup, Parse, Bind, Execute, Sync and simple queries with canned messages of a prepared
//! point select's sizes, through the same engines, parking and waits as the database server.
//!
//! The same pgbench command drives both, so its figure is the ceiling of this server in that model on that machine: what
//! is left when SQL and storage cost nothing.

use crate::options::Options;
use crate::startup::{self, Begun};
use base::settings::SettingId;
use base::{Error, Result};
use kernel::clock;
use kernel::session::{End, Next, Service, Session};
use protocol::Format;
use protocol::backend::{self, DataRow, Field, RowDescription, Status};
use protocol::frontend::{self, Framed, Frontend};
use protocol::startup::Negotiation;

/// The service of canned answers, each of which costs so much CPU time.
struct Limit {
    work_ns: u64,
}

/// What a session knows: only whether it has begun.
struct State {
    negotiation: Negotiation,
    begun: bool,
}

/// Runs it; answers the exit status.
pub fn run(options: Options) -> Result<i32> {
    let _directory = crate::data_directory::open(options.data())?;
    kernel::supervisor::run(
        options.config()?,
        || Ok(Limit { work_ns: options.effective.integer(SettingId::LimitWork) as u64 }),
        |config| {
            for address in &config.listen {
                println!(
                    "gearbox limit: {} on {address}; every statement is answered with a canned row",
                    config.model()
                );
            }
        },
    )
}

impl Service for Limit {
    fn serve(&self, session: &mut Session) -> Next {
        match serve(session, self.work_ns) {
            Ok(next) => next,
            Err(error) => {
                backend::error_response(session.output(), &error);
                Next::Close
            }
        }
    }

    fn close(&self, _session: &mut Session, _end: End) {}

    fn refusal(&self, error: &Error) -> Vec<u8> {
        startup::refusal(error)
    }
}

fn serve(session: &mut Session, work_ns: u64) -> Result<Next> {
    if let Some(interrupt) = session.shared().interrupt() {
        let error = kernel::session::interrupt_error(interrupt);
        session.shared().clear_interrupt(interrupt);
        if error.kind() == base::Kind::Session {
            return Err(error);
        }
    }
    if session.state::<State>().is_none() {
        session.set_state(State { negotiation: Negotiation::default(), begun: false })?;
    }
    let state = session.state::<State>().expect("just stored");
    if !state.begun {
        let mut negotiation = state.negotiation;
        let slot = session.shared();
        let begun = startup::read(&mut negotiation, session, false, |_, output| {
            backend::authentication_ok(output);
            for (name, value) in [
                ("server_version", "15.18"),
                ("server_encoding", "UTF8"),
                ("client_encoding", "UTF8"),
                ("standard_conforming_strings", "on"),
                ("integer_datetimes", "on"),
            ] {
                backend::parameter_status(output, name, value);
            }
            backend::backend_key_data(output, &startup::key_of(slot.number(), slot.secret()));
            backend::ready_for_query(output, Status::Idle);
            Ok(())
        })?;
        let state = session.state::<State>().expect("stored above");
        state.negotiation = negotiation;
        match begun {
            Begun::NeedMore => return Ok(Next::Park),
            Begun::Done | Begun::Encrypts => return Ok(Next::Close),
            Begun::Session(()) => state.begun = true,
        }
    }
    loop {
        let (input, output) = session.parts();
        let Framed::Message { tag, body, consumed } = frontend::next(input, protocol::limits::LARGE_MAX)? else {
            return Ok(Next::Park);
        };
        match Frontend::decode(tag, body)? {
            Frontend::Query(_) => {
                if work_ns > 0 {
                    compute(work_ns);
                }
                // Three columns, as pgbench's question about its tables wants; its point select reads the first.
                describe(output, &["n", "partstrat", "count"]);
                let mut row = DataRow::begin(output);
                row.value(b"1");
                row.null();
                row.value(b"0");
                row.end()?;
                backend::command_complete(output, "SELECT 1");
                backend::ready_for_query(output, Status::Idle);
            }
            Frontend::Parse(_) => backend::parse_complete(output),
            Frontend::Bind(_) => backend::bind_complete(output),
            Frontend::Describe(_) => describe(output, &["abalance"]),
            Frontend::Execute { .. } => {
                if work_ns > 0 {
                    compute(work_ns);
                }
                let mut row = DataRow::begin(output);
                row.value(b"-12345");
                row.end()?;
                backend::command_complete(output, "SELECT 1");
            }
            Frontend::Close(_) => backend::close_complete(output),
            Frontend::Sync => backend::ready_for_query(output, Status::Idle),
            Frontend::Terminate => return Ok(Next::Close),
            _ => {}
        }
        session.consume(consumed);
    }
}

/// Uses so much CPU time, as a statement that has something to compute does. Time in which somebody else had the CPU does not
/// count; that clock is dear to read, so it is read when the time may have come.
fn compute(work_ns: u64) {
    let until = clock::thread_cpu_ns() + work_ns;
    let mut left = work_ns;
    while left > 0 {
        let pause = clock::real_now() + left;
        while clock::real_now() < pause {
            std::hint::spin_loop();
        }
        left = until.saturating_sub(clock::thread_cpu_ns());
    }
}

fn describe(output: &mut Vec<u8>, names: &[&str]) {
    let mut columns = RowDescription::begin(output);
    for name in names {
        columns.field(&Field {
            name,
            table: 0,
            column: 0,
            type_oid: 23,
            type_size: 4,
            type_modifier: -1,
            format: Format::Text,
        });
    }
    columns.end();
}
