//! An engine as a process: a host with one engine, forked by the supervisor.

use super::{Local, claim_free, set_local};
use crate::config::{Config, EngineKind, Sessions};
use crate::hosting;
use crate::session::Service;

/// The main function of a host that carries one engine. `index` says which engine of a fiber group it is.
pub(crate) fn main(config: &'static Config, service: &'static dyn Service, host: u32, index: u32) {
    let slot = (config.sessions == Sessions::Fiber).then_some(index);
    let Some(shared) = claim_free(host, slot) else {
        hosting::group::none_came();
        return;
    };
    let local: &'static Local = Box::leak(Box::new(Local::new(shared, EngineKind::Process, config.sessions, config)));
    // SAFETY: leaked.
    unsafe { set_local(local) };
    hosting::run(local, service);
    local.io.close();
    shared.set_state(super::State::Absent);
}
