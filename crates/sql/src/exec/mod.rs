//! Executing plans: rows are pulled from the root, node by node.
//!
//! An [`Exec`] is one execution: registers, a stack, and what each node remembers. All of it is ordinary memory of one
//! request; the plan is only read. A node is asked for its next row ([`Exec::next`]) and answers whether the registers hold
//! one; [`Exec::rewind`] makes it begin again, which is how a nested loop runs its inner side and an expression its
//! subplan.
//!
//! | module | what it does |
//! |---|---|
//! | [`value`] | values and where their bytes are |
//! | [`eval`] | programs |
//! | [`access`] | what stored tables are read and written with |
//! | [`routine`] | calls of functions of users |
//! | [`around`], `advisory`, [`sequence`], `privilege` | session, catalog, time; advisory locks; values of sequences; privileges |
//! | [`store`] | rows that are kept |
//! | [`recursive`] | recursive queries, common tables |
//! | `spill`, `merge`, `kept` | what does not fit in memory: rows in files, sorted and merged, read again |
//! | [`scan`], [`series`], [`stored`], [`join`], [`hash_join`], `merge_join`, [`sort`], [`aggregate`], [`window`], [`set`] | nodes |
//! | `ahead`, `ahead_key`, `run` | rows that a loop reads ahead, and their keys, to look up what belongs to several at a time; rows of one page, read together |
//! | [`subplan`] | queries inside expressions |
//! | [`modify`], [`conflict`], [`lock`] | changing and locking rows |
//! | [`trigger`] | triggers of the tables that are changed |
//! | [`watch`] | what `EXPLAIN ANALYZE` measures |
//! | [`target`], [`constraint`], [`reference`](mod@reference) | the tables that are changed; what must hold for their rows |
//! | `lookup`, `deferred` | rows by a key; checks that wait for the transaction's end |
//! | `packed` | rows with large values |
//! | `counts` | what was counted of tables |
//!
//! Rules
//! 1. A row is what the registers hold, until the node is asked for the next one.
//! 2. Every few hundred rows the executor looks for interrupts and lets others run ([`breathe`]).
//! 3. Memory that grows with data is asked for, never assumed: a refusal is `53200`; so is the stack for a node below a node: `54001`.
//! 4. Rows that are sorted, hashed or kept take `work_mem`, or a multiple of it, and go to temporary files beyond. Exceptions are the rows
//!    of one window's partition, the values of a subquery that is hashed, and what a recursion without `ALL` has seen.

pub mod access;
mod advisory;
pub mod aggregate;
mod ahead;
mod ahead_key;
pub mod around;
pub mod conflict;
pub mod constraint;
mod counts;
pub(crate) mod deferred;
pub mod eval;
pub mod hash_join;
pub mod join;
mod kept;
pub mod lock;
pub(crate) mod lookup;
mod merge;
mod merge_join;
pub mod modify;
mod objects;
mod packed;
mod privilege;
pub mod recursive;
pub mod reference;
pub mod routine;
mod run;
pub mod scan;
pub mod sequence;
pub mod series;
pub mod set;
pub mod sort;
mod spill;
pub mod store;
pub mod stored;
pub mod subplan;
pub mod target;
pub mod trigger;
pub mod value;
pub mod watch;
pub mod window;

use crate::plan::Plan;
use crate::plan::blob::{At, Constant};
use crate::plan::record::NodeKind;
use crate::types::{Arena, Datum};
use access::Tables;
use around::Around;
use base::{Error, Result, sqlstate};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::rc::Rc;
use value::{Memory, Value};

/// One execution of a plan.
pub struct Exec<'e> {
    plan: Plan<'e>,
    around: &'e Around<'e>,
    memory: Memory<'e>,
    // Lists that are nearly always short: a point select allocates none of them.
    registers: SmallVec<[Value; 16]>,
    parameters: SmallVec<[Value; 8]>,
    stack: SmallVec<[Value; 8]>,
    states: SmallVec<[State; 4]>,
    arena: Arena,
    /// A place for bytes on their way.
    spare: Vec<u8>,
    steps: u32,
    breaths: u32,
    /// How many conditions did not hold.
    rejected: u64,
    /// What is measured, if somebody watches.
    watch: Option<Box<watch::Watch>>,
    /// Where the stack is too low to go deeper.
    floor: usize,
    root: At,
    /// The places of the subplans' records, and of the common tables'.
    subplans: At,
    commons: At,
    /// Statements in `WITH` that change rows have been executed.
    commons_finished: bool,
    /// How many rows a statement has changed.
    changed: u64,
    /// What stored tables are read and written with; none if the plan uses none.
    tables: Option<Tables<'e>>,
    /// The tables that are changed.
    targets: Vec<Rc<target::Target>>,
    /// What is to be checked at the statement's end.
    pending: VecDeque<reference::Pending>,
    /// Of a statement that is fed ([`Exec::feed`]): are more rows to come?
    fed: Option<bool>,
    /// The tables and events for which triggers before a statement were fired, and the rows that triggers read as tables.
    begun: Vec<(u32, u16)>,
    captured: Vec<(u32, u16, Rc<trigger::Captured>)>,
    /// A row on its way to its table, and a key to its index.
    row_bytes: Vec<u8>,
    key_bytes: Vec<u8>,
    /// Buffers beside those of the plan: of which node, which of its own, and the buffer.
    extras: Vec<(u32, u32, u32)>,
}

/// What a node remembers between two rows.
#[derive(Default)]
enum State {
    /// It has not begun.
    #[default]
    New,
    /// It has given all its rows.
    Done,
    /// How far it has come.
    At(u64),
    /// A scan of a heap.
    Seq(Box<stored::SeqState>),
    /// A table that is changed.
    Modify(Box<modify::ModifyState>),
    /// A scan by an index.
    Index(Box<stored::IndexState>),
    /// Rows of a view.
    View(Box<scan::ViewState>),
    /// A function that gives a set.
    Function(Box<series::FunctionState>),
    /// A loop: whether its outer row has met a partner, none if the next row is due; and rows that were read ahead.
    Loop { matched: Option<bool>, ahead: Option<Box<ahead::Ahead>> },
    /// A hash join.
    Hash(Box<hash_join::HashState>),
    /// A merge join.
    Merge(Box<merge_join::MergeState>),
    /// Rows of a common table.
    Common(Box<recursive::CommonState>),
    /// A recursion.
    Recursion(Box<recursive::RecursionState>),
    /// Keys that were seen.
    Distinct(Box<set::DistinctState>),
    /// Rows that are sorted.
    Sorted(Box<merge::Sorted>),
    /// Rows that are kept, and where their reader stands.
    Kept(Box<(kept::Kept, kept::Place)>),
    /// Where a reader of rows that another keeps stands.
    Place(Box<kept::Place>),
    /// Rows of an operation on sets.
    Sets(Box<set::SetState>),
    /// Groups.
    Groups(Box<aggregate::Groups>),
    /// A partition of a window.
    Window(Box<window::WindowState>),
    /// A limit.
    Limit { left: u64 },
    /// A limit that has been reached, with the last row's keys.
    Ties(Vec<Value>),
    /// What a node gave in the registers that were set since, because a row that was locked has changed.
    Found(Vec<Value>),
    /// The value of a subplan.
    Value(Value),
    /// The values of a subplan, hashed.
    Hashed(Box<subplan::HashedValues>),
}

/// Looks for interrupts and gives the engine up if the time slice is over. Does nothing outside an engine.
pub fn breathe() -> Result<()> {
    match kernel::engine::current() {
        Some(_) => kernel::session::check_interrupts(),
        None => Ok(()),
    }
}

impl<'e> Exec<'e> {
    /// An execution that has not begun. `parameters` gives the value of each of the plan's parameters.
    pub fn new(plan: Plan<'e>, around: &'e Around<'e>, tables: Option<Tables<'e>>) -> Exec<'e> {
        let header = plan.header();
        let mut states = SmallVec::new();
        states.resize_with(header.states as usize, State::default);
        Exec {
            plan,
            around,
            memory: Memory {
                plan: plan.bytes,
                parameters: Vec::new(),
                bound: 0,
                scratch: Vec::new(),
                buffers: (0..header.buffers).map(|_| Vec::new()).collect(),
            },
            registers: SmallVec::from_elem(Value::Null, header.registers as usize),
            parameters: SmallVec::new(),
            stack: SmallVec::new(),
            states,
            arena: Arena::new(),
            spare: Vec::new(),
            steps: 0,
            breaths: 0,
            rejected: 0,
            watch: None,
            floor: kernel::fiber::stack_floor(),
            root: At(header.root),
            subplans: At(header.subplans),
            commons: At(header.commons),
            commons_finished: false,
            changed: 0,
            tables,
            targets: Vec::new(),
            pending: VecDeque::new(),
            fed: None,
            begun: Vec::new(),
            captured: Vec::new(),
            row_bytes: Vec::new(),
            key_bytes: Vec::new(),
            extras: Vec::new(),
        }
    }

    /// Gives the next parameter its value.
    pub fn bind(&mut self, datum: Datum<'_>) -> Result<()> {
        let value = self.memory.to_parameters(datum)?;
        self.memory.bound = self.memory.parameters.len();
        self.parameters.push(value);
        Ok(())
    }

    /// The next row of the result.
    pub fn next_row(&mut self) -> Result<bool> {
        if self.next(self.root)? {
            return Ok(true);
        }
        self.finish_commons()?;
        Ok(false)
    }

    /// Executes a statement that changes rows for one row of parameters after another, as one statement.
    pub(crate) fn feed(&mut self, mut row: impl FnMut() -> Result<Option<Vec<Constant>>>) -> Result<()> {
        self.fed = Some(true);
        while let Some(values) = row()? {
            self.parameters.clear();
            self.memory.parameters.clear();
            for parameter in self.plan.parameters() {
                self.bind(values.get(parameter.index as usize).map_or(Datum::Null, Constant::datum))?;
            }
            let root = self.state_of(self.root);
            if let State::Modify(state) = &mut self.states[root] {
                let child = At(state.record.child);
                state.parameters = self.memory.parameters.len();
                self.rewind(child)?;
            }
            while self.next(self.root)? {}
        }
        self.fed = Some(false);
        while self.next_row()? {}
        Ok(())
    }

    /// What a register of the current row holds.
    #[inline]
    pub fn register(&self, register: u16) -> Datum<'_> {
        self.memory.datum(self.registers[usize::from(register)])
    }

    /// How many rows were changed.
    pub fn changed(&self) -> u64 {
        self.changed
    }

    /// To be called for each row of work: looks up now and then.
    #[inline]
    fn breath(&mut self) -> Result<()> {
        const ROWS_BETWEEN: u32 = 256;
        self.breaths += 1;
        if self.breaths < ROWS_BETWEEN {
            return Ok(());
        }
        self.breaths = 0;
        breathe()
    }

    #[inline]
    fn state_of(&self, node: At) -> usize {
        self.plan.bytes.word(node.0 + 4) as usize
    }

    /// Takes what a node remembers, to be put back by [`Exec::put`].
    fn take(&mut self, node: At) -> State {
        let index = self.state_of(node);
        std::mem::take(&mut self.states[index])
    }

    fn put(&mut self, node: At, state: State) {
        let index = self.state_of(node);
        self.states[index] = state;
    }

    /// The node's next row; true if there is one.
    fn next(&mut self, node: At) -> Result<bool> {
        let Some(kind) = NodeKind::from_word(self.plan.bytes.word(node.0)) else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a plan is broken: an unknown node"));
        };
        if kernel::fiber::stack_is_low(self.floor) {
            return self.next_watched(node, kind);
        }
        self.next_of(node, kind)
    }

    #[inline(always)]
    fn next_of(&mut self, node: At, kind: NodeKind) -> Result<bool> {
        match kind {
            NodeKind::Nothing => Ok(false),
            NodeKind::Once => self.once(node),
            NodeKind::Values => self.values(node),
            NodeKind::FunctionScan => self.function_scan(node),
            NodeKind::ViewScan => self.view_scan(node),
            NodeKind::Filter => self.filter(node),
            NodeKind::Project => self.project(node),
            NodeKind::NestedLoop => self.nested_loop(node),
            NodeKind::HashJoin => self.hash_join(node),
            NodeKind::MergeJoin => self.merge_join(node),
            NodeKind::Sort => self.sort(node),
            NodeKind::Limit => self.limit(node),
            NodeKind::Aggregate => self.aggregate(node),
            NodeKind::WindowAgg => self.window(node),
            NodeKind::Distinct => self.distinct(node),
            NodeKind::Append => self.append(node),
            NodeKind::SetOperation => self.set_operation(node),
            NodeKind::Materialize => self.materialize(node),
            NodeKind::CommonScan => self.common_scan(node),
            NodeKind::Recursion => self.recursion(node),
            NodeKind::WorkScan => self.work_scan(node),
            NodeKind::SeqScan => self.seq_scan(node),
            NodeKind::IndexScan => self.index_scan(node),
            NodeKind::LockRows => self.lock_rows(node),
            NodeKind::Modify => self.modify(node),
        }
    }

    /// Makes a node begin again, with those below it.
    fn rewind(&mut self, node: At) -> Result<()> {
        self.watch_rewound(node);
        let bytes = self.plan.bytes;
        let Some(kind) = NodeKind::from_word(bytes.word(node.0)) else { return Ok(()) };
        match kind {
            NodeKind::Materialize => {
                let record = crate::plan::record::Materialize::read(bytes, node);
                if record.constant != 0 {
                    return self.again(node);
                }
                self.rewind(At(record.child))?;
            }
            NodeKind::CommonScan => self.rewind_common(node)?,
            NodeKind::Recursion => self.rewind_recursion(node)?,
            NodeKind::SeqScan | NodeKind::IndexScan => {
                let index = self.state_of(node);
                match &mut self.states[index] {
                    State::Seq(state) => state.restart(),
                    State::Index(state) => state.restart(),
                    _ => {}
                }
                return Ok(());
            }
            NodeKind::Append => {
                let children = bytes.list(At(bytes.word(node.0 + 8)));
                for child in children.iter() {
                    self.rewind(At(child))?;
                }
            }
            NodeKind::NestedLoop | NodeKind::HashJoin | NodeKind::MergeJoin => {
                self.rewind(At(bytes.word(node.0 + 12)))?;
                self.rewind(At(bytes.word(node.0 + 16)))?;
            }
            NodeKind::SetOperation => {
                self.rewind(At(bytes.word(node.0 + 12)))?;
                self.rewind(At(bytes.word(node.0 + 16)))?;
            }
            NodeKind::Filter
            | NodeKind::Project
            | NodeKind::Sort
            | NodeKind::Limit
            | NodeKind::Aggregate
            | NodeKind::WindowAgg
            | NodeKind::Distinct
            | NodeKind::LockRows => self.rewind(At(bytes.word(node.0 + 8)))?,
            NodeKind::Modify => self.rewind(At(bytes.word(node.0 + 12)))?,
            NodeKind::Nothing
            | NodeKind::Once
            | NodeKind::Values
            | NodeKind::FunctionScan
            | NodeKind::ViewScan
            | NodeKind::WorkScan => {}
        }
        self.put(node, State::New);
        Ok(())
    }

    /// Makes the inner node of a loop begin again. Rows that it keeps stay: the loop's rows are not what they depend on.
    fn again(&mut self, node: At) -> Result<()> {
        if NodeKind::from_word(self.plan.bytes.word(node.0)) != Some(NodeKind::Materialize) {
            return self.rewind(node);
        }
        self.watch_rewound(node);
        let index = self.state_of(node);
        if let State::Kept(state) = &mut self.states[index] {
            state.1.restart();
        }
        Ok(())
    }
}
