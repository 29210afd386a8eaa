//! What must be so whatever a run did: when the server is at rest, and after it has stopped.

use crate::engine::{self, State};
use crate::region::heap::{self, Owner};
use crate::{hosting, session};
use std::sync::atomic::Ordering::*;

/// True when no client's session is left and no engine is at work.
pub(super) fn nobody_runs() -> bool {
    let clients = session::slots().iter().any(|slot| slot.is_used() && !slot.is_background());
    let working = engine::engines()[engine::BACKGROUND_ENGINES as usize..].iter().any(|engine| {
        matches!(engine.state(), State::Running | State::Blocked)
            || engine.session().is_some()
            || engine.spins_held() > 0
    });
    !clients && !working
}

/// With no sessions, what they used has come back.
pub(super) fn at_rest() -> Result<(), String> {
    let arenas = heap::usage(Owner::SessionArenas).used;
    if arenas != 0 {
        return Err(format!("no session is left, but arenas hold {arenas} bytes"));
    }
    accounts_add_up()?;
    // The server's own tasks may be at work.
    let over = |slot: &&session::SessionShared| !slot.is_used() || !slot.is_background();
    if let Some(slot) = session::slots().iter().filter(over).find(|slot| slot.latch_notes().next().is_some()) {
        return Err(format!("session {} is over and holds a latch", slot.id()));
    }
    hosting::group::check()
}

/// After the stop, nobody is there.
pub(super) fn after_stop() -> Result<(), String> {
    accounts_add_up()?;
    match engine::engines()
        .iter()
        .find(|engine| engine.id().0 >= engine::BACKGROUND_ENGINES && engine.state() != State::Absent)
    {
        Some(engine) => Err(format!("after the stop, engine {} is {}", engine.id(), engine.state().as_str())),
        None => Ok(()),
    }
}

/// Rule 1 of the heap.
fn accounts_add_up() -> Result<(), String> {
    let accounts: u64 = Owner::ALL.iter().map(|&owner| heap::usage(owner).used).sum();
    let bits = heap::walk();
    if accounts != bits {
        return Err(format!("the heap's accounts say {accounts} bytes, its bitmaps {bits}"));
    }
    Ok(())
}

/// Sessions in use, for the dump of a failed run.
pub(super) fn dump_sessions(text: &mut String) {
    use std::fmt::Write;
    for slot in session::slots().iter().filter(|slot| slot.is_used()) {
        let run = ["free", "queued", "running", "again", "parked"];
        let _ = write!(
            text,
            "  session {}: {}, engine {}, home {}, word {}, interrupt {:?}",
            slot.id(),
            run.get(slot.run_state() as usize).unwrap_or(&"?"),
            slot.engine_id(),
            slot.home.load(SeqCst),
            slot.wait_word.load(SeqCst),
            slot.interrupt(),
        );
        match slot.waiting() {
            Some((event, ..)) => drop(writeln!(text, ", waits for {event:?}")),
            None => text.push('\n'),
        }
    }
}
