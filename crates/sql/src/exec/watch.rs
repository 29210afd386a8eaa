//! What `EXPLAIN ANALYZE` measures of an execution: rows, loops, times and pages of each node.
//!
//! An execution that nobody watches pays nothing: a node is asked for its row past the check of the stack's height, and an execution
//! that is watched fails that check on purpose ([`Exec::watch`]), which leads here.
//!
//! Rules
//! 1. Times and pages of a node are those of the nodes below it, too; what its condition rejects is its own.
//! 2. A loop begins when a node is asked for its first row, or for one after it has ended or begun again.

use super::Exec;
use crate::plan::blob::At;
use crate::plan::record::NodeKind;
use base::{Error, Result, sqlstate};
use kernel::clock;
use storage::relation::Relations;

/// What was measured of a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Measure {
    /// How often it began.
    pub loops: u64,
    /// Rows that it gave, in all loops.
    pub rows: u64,
    /// The time until its first rows, in all loops.
    pub first_ns: u64,
    /// The time that it took, in all loops.
    pub all_ns: u64,
    /// Rows that its condition rejected.
    pub removed: u64,
    /// Rows that were looked at though an index has all that is read of them.
    pub fetched: u64,
    /// Pages that were found in the buffer pool.
    pub hits: u64,
    /// Pages that were read.
    pub reads: u64,
}

#[derive(Clone, Copy, Default)]
struct Watched {
    measure: Measure,
    /// It has begun and not ended.
    runs: bool,
    /// The time of this loop so far, if no row of it has come.
    waited_ns: Option<u64>,
}

/// The measures of an execution's nodes, by the index of their state.
pub struct Watch {
    nodes: Vec<Watched>,
    /// The stack's real end.
    floor: usize,
    times: bool,
    /// What nodes below the one at hand have rejected.
    below: u64,
    relations: Option<&'static Relations>,
}

/// Measures by the places of nodes in the tree that the plan was made from.
pub struct Measures {
    watch: Watch,
    /// Place and state, sorted.
    states: Vec<(usize, u32)>,
}

impl Measures {
    /// The measures of an execution; `states` tells where the tree's nodes lie, and what index their state has.
    pub fn new(watch: Watch, mut states: Vec<(usize, u32)>) -> Measures {
        states.sort_unstable();
        Measures { watch, states }
    }

    /// What was measured of the node at a place. The tree may have written it more than once: all are counted.
    pub fn of(&self, place: usize) -> Option<Measure> {
        let first = self.states.partition_point(|(other, _)| *other < place);
        let mine = self.states[first..].iter().take_while(|(other, _)| *other == place);
        mine.filter_map(|(_, state)| self.watch.nodes.get(*state as usize)).map(|node| node.measure).reduce(|a, b| {
            Measure {
                loops: a.loops + b.loops,
                rows: a.rows + b.rows,
                first_ns: a.first_ns + b.first_ns,
                all_ns: a.all_ns + b.all_ns,
                removed: a.removed + b.removed,
                fetched: a.fetched + b.fetched,
                hits: a.hits + b.hits,
                reads: a.reads + b.reads,
            }
        })
    }
}

impl Watch {
    fn pages(&self) -> (u64, u64) {
        self.relations.map_or((0, 0), |relations| relations.storage().pool.pages_of_session())
    }

    fn now(&self) -> u64 {
        if self.times { clock::now() } else { 0 }
    }
}

impl Exec<'_> {
    /// Watches the execution from its beginning on; `times` says whether nodes are timed.
    pub(crate) fn watch(&mut self, times: bool) {
        let nodes = vec![Watched::default(); self.states.len()];
        let floor = std::mem::replace(&mut self.floor, usize::MAX);
        let relations = self.tables.as_ref().map(|tables| tables.relations);
        self.watch = Some(Box::new(Watch { nodes, floor, times, below: 0, relations }));
    }

    /// What was measured, if it was watched.
    pub(crate) fn take_watch(&mut self) -> Option<Watch> {
        let watch = self.watch.take()?;
        self.floor = watch.floor;
        Some(*watch)
    }

    /// A node is asked for its next row while the stack seems too low: it is, or the execution is watched.
    #[cold]
    pub(super) fn next_watched(&mut self, node: At, kind: NodeKind) -> Result<bool> {
        if self.watch.as_ref().is_none_or(|watch| kernel::fiber::stack_is_low(watch.floor)) {
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .hint("Increase the setting fiber_stack_size, or nest fewer queries."));
        }
        let state = self.state_of(node);
        let (mut began, mut pages, mut below) = (0, (0, 0), 0);
        if let Some(watch) = &mut self.watch {
            (began, pages) = (watch.now(), watch.pages());
            below = std::mem::take(&mut watch.below);
            let watched = &mut watch.nodes[state];
            if !std::mem::replace(&mut watched.runs, true) {
                watched.measure.loops += 1;
                watched.waited_ns = Some(0);
            }
        }
        let rejected = self.rejected;
        let found = self.next_of(node, kind);
        let rejected = self.rejected - rejected;
        if let Some(watch) = &mut self.watch {
            let (ended, after) = (watch.now(), watch.pages());
            let own = rejected - watch.below;
            watch.below = below + rejected;
            let watched = &mut watch.nodes[state];
            let spent = ended - began;
            let measure = &mut watched.measure;
            measure.all_ns += spent;
            measure.removed += own;
            measure.hits += after.0 - pages.0;
            measure.reads += after.1 - pages.1;
            let came = matches!(found, Ok(true));
            measure.rows += u64::from(came);
            // Without a row, the time until the first is that until the end.
            match watched.waited_ns {
                Some(waited) if came || matches!(found, Ok(false)) => {
                    measure.first_ns += waited + spent;
                    watched.waited_ns = None;
                }
                Some(waited) => watched.waited_ns = Some(waited + spent),
                None => {}
            }
            watched.runs = came;
        }
        found
    }

    /// A scan of an index looks at a row that it would rather not have looked at.
    #[inline]
    pub(super) fn watch_fetched(&mut self, node: At) {
        if self.watch.is_some() {
            let state = self.state_of(node);
            if let Some(watch) = &mut self.watch {
                watch.nodes[state].measure.fetched += 1;
            }
        }
    }

    /// A node begins again.
    #[inline]
    pub(super) fn watch_rewound(&mut self, node: At) {
        if self.watch.is_some() {
            let state = self.state_of(node);
            if let Some(watch) = &mut self.watch {
                watch.nodes[state].runs = false;
            }
        }
    }
}
