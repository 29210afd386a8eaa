//! Bodies that a process has read: each is read once for every version of the definitions.

use super::frame::Shape;
use super::tree::Body;
use crate::types::Oid;
use kernel::sync::Spin;
use std::sync::Arc;

/// How many a process keeps.
const KEPT_MAX: usize = 256;

/// A body with the types of its variables.
pub(crate) struct Readied {
    pub(crate) body: Body,
    pub(crate) shapes: Vec<Shape>,
}

/// The bodies of a process: of which procedure, and of which version of the definitions.
pub(crate) struct Bodies(Spin<Vec<(Oid, u64, Arc<Readied>)>>);

impl Bodies {
    /// None yet.
    pub(crate) const fn new() -> Bodies {
        Bodies(Spin::new(Vec::new()))
    }

    /// The body of a procedure.
    pub(crate) fn find(&self, oid: Oid, version: u64) -> Option<Arc<Readied>> {
        let known = self.0.lock();
        known.iter().find(|known| (known.0, known.1) == (oid, version)).map(|known| known.2.clone())
    }

    /// Keeps one; the oldest makes room.
    pub(crate) fn add(&self, oid: Oid, version: u64, readied: &Arc<Readied>) {
        let old = {
            let mut known = self.0.lock();
            let at = known.iter().position(|known| known.0 == oid);
            let at = at.or((known.len() >= KEPT_MAX).then_some(0));
            let old = at.map(|at| known.remove(at));
            known.push((oid, version, readied.clone()));
            old
        };
        // What has to be dropped is dropped without the lock.
        drop(old);
    }
}
