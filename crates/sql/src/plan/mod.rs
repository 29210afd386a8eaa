//! Plans: compiled statements as immutable, relocatable bytes.
//!
//! A plan is made once, lies in shared memory (or, until it is put there, in ordinary memory) and is executed by any number
//! of sessions in any process at once. What an execution needs beside it is its own ([`exec`](crate::exec)).
//!
//! | module | what it is |
//! |---|---|
//! | [`blob`] | words, lists, texts: writing and reading bytes |
//! | [`program`] | expressions as opcodes |
//! | [`record`] | nodes and other records |
//! | [`tree`] | the plan as a tree in ordinary memory, which the planner makes and `EXPLAIN` shows |
//! | [`choose`] | from a bound statement to the tree |
//! | `pull_up` | subqueries that are no queries of their own |
//! | `recursive` | recursive queries, and what is computed again |
//! | `window` | from windows to sorts and nodes |
//! | `unnest` | subqueries in conditions that become joins |
//! | `join`, `order`, `equijoin` | which tables are joined in which order, and how |
//! | `sorted` | rows in an order that a node above needs |
//! | [`path`] | how a table's rows are found |
//! | `ahead` | which loops read rows ahead |
//! | [`cost`], `selectivity`, `known` | how many rows there may be, and what they cost |
//! | [`worth`] | whether it pays to plan for the values of parameters |
//! | [`planning`] | what the session's settings say of methods and costs |
//! | [`lock`] | how an execution locks the tables |
//! | `recheck` | what is tested again where a row has changed before it was locked |
//! | [`encode`] | from the tree to bytes: registers, programs, records |
//! | [`explain`], [`shown`] | what `EXPLAIN` shows of it |
//! | [`cache`] | plans that sessions share |
//!
//! Rules
//! 1. See [`blob`] for what a plan may hold: no address, no name to look up, nothing of one execution.
//! 2. A plan names the definitions that it was made from, with their versions; it is used only while they are current, and under the
//!    settings that it was made under.
//! 3. Planning decides; execution does. Where an execution has a choice, it depends on data alone.

mod ahead;
pub mod blob;
pub mod cache;
pub mod choose;
pub mod cost;
pub mod encode;
mod equijoin;
pub mod explain;
mod join;
mod known;
pub mod lock;
pub mod number;
mod order;
pub mod path;
pub mod planning;
pub mod program;
mod pull_up;
mod recheck;
pub mod record;
mod recursive;
mod selectivity;
pub mod shown;
mod sorted;
pub mod tree;
mod unnest;
mod window;
pub mod worth;

use crate::bind::access::Access;
use crate::catalog::privilege::Rights;
use crate::types::{Oid, Type};
use blob::{At, Bytes};
use record::{ColumnRecord, Header, ParameterRecord};

/// The first word of a plan: `GBP` and the format's number.
pub const MAGIC: u32 = u32::from_le_bytes(*b"GBP1");

/// What kind of statement a plan is of; decides the command tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names say it")]
pub enum StatementKind {
    Select,
    Insert,
    Update,
    Delete,
}

impl StatementKind {
    /// The words before the count of rows in the command tag.
    pub const fn tag(self) -> &'static str {
        match self {
            StatementKind::Select => "SELECT",
            StatementKind::Insert => "INSERT 0",
            StatementKind::Update => "UPDATE",
            StatementKind::Delete => "DELETE",
        }
    }
}

/// Bits of [`Header::flags`].
pub mod flags {
    /// The plan gives rows to the client.
    pub const RETURNS_ROWS: u32 = 1;
    /// The plan changes or locks rows.
    pub const WRITES: u32 = 2;
    /// The plan reads stored tables, so that an execution needs a snapshot.
    pub const READS: u32 = 4;
    /// An expression asks for the time at each row.
    pub const USES_CLOCK: u32 = 8;
    /// It may be used for another execution of the same text.
    pub const REUSABLE: u32 = 16;
    /// The plan changes rows.
    pub const MODIFIES: u32 = 32;
    /// Functions of users are called.
    pub const CALLS: u32 = 64;
    /// Another plan may be better for some values of its parameters.
    pub const VALUES_MATTER: u32 = 128;
}

/// A plan, wherever it lies.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'p> {
    /// Its bytes.
    pub bytes: Bytes<'p>,
}

impl<'p> Plan<'p> {
    /// The plan that these bytes are; `None` if they are none.
    pub fn new(bytes: &'p [u8]) -> Option<Plan<'p>> {
        let plan = Plan { bytes: Bytes(bytes) };
        let header = plan.header();
        (header.magic == MAGIC && header.length as usize == bytes.len()).then_some(plan)
    }

    /// What it begins with.
    #[inline]
    pub fn header(self) -> Header {
        Header::read(self.bytes, At(0))
    }

    /// The kind of its statement.
    pub fn kind(self) -> StatementKind {
        match self.header().kind {
            1 => StatementKind::Insert,
            2 => StatementKind::Update,
            3 => StatementKind::Delete,
            _ => StatementKind::Select,
        }
    }

    /// What it is worth beside other plans of the statement, if that is known.
    pub fn worth(self) -> worth::Worth {
        let header = self.header();
        worth::Worth { cost: f32::from_bits(header.cost), shape: header.shape }
    }

    /// The number of the values of settings that it was made under.
    pub fn planning(self) -> u32 {
        self.header().planning
    }

    /// True if all these bits are set.
    pub fn has(self, flags: u32) -> bool {
        self.header().flags & flags == flags
    }

    /// The parameters, by number.
    pub fn parameters(self) -> impl ExactSizeIterator<Item = ParameterRecord> + Clone + 'p {
        let words = self.bytes.list(At(self.header().parameters));
        words.groups::<{ ParameterRecord::WORDS }>().map(|[oid, typmod, origin, index]| ParameterRecord {
            oid,
            typmod,
            origin,
            index,
        })
    }

    /// The types of the client's parameters, from `$1`.
    pub fn client_types(self) -> impl ExactSizeIterator<Item = Oid> + Clone + 'p {
        self.bytes.list(At(self.header().client_types)).iter().map(Oid)
    }

    /// The tables that it was made from, and the functions of users.
    pub fn tables(self) -> impl ExactSizeIterator<Item = PlanTable> + Clone + 'p {
        let words = self.bytes.list(At(self.header().tables));
        words.groups::<4>().map(|[oid, low, high, lock]| PlanTable {
            oid: Oid(oid),
            version: u64::from(high) << 32 | u64::from(low),
            lock: lock & !(PlanTable::SEARCHED | PlanTable::QUALIFIED),
            searched: lock & PlanTable::SEARCHED != 0,
            qualified: lock & PlanTable::QUALIFIED != 0,
        })
    }

    /// What it does with its tables.
    pub fn accesses(self) -> impl ExactSizeIterator<Item = PlanAccess<'p>> + Clone + 'p {
        let bytes = self.bytes;
        let words = bytes.list(At(self.header().accesses));
        words.groups::<6>().map(move |[table, role, rights, selected, inserted, updated]| PlanAccess {
            table: Oid(table),
            role: Oid(role),
            rights: rights as Rights,
            columns: [selected, inserted, updated].map(At),
            bytes,
        })
    }

    /// The result's columns.
    pub fn columns(self) -> impl ExactSizeIterator<Item = ResultColumn<'p>> + Clone + 'p {
        let bytes = self.bytes;
        let words = bytes.list(At(self.header().columns));
        words.groups::<{ ColumnRecord::WORDS }>().map(move |[name, table, number, oid, typmod, register]| {
            ResultColumn {
                text: bytes.blob(At(name)),
                table: Oid(table),
                number: number as i16,
                ty: Type { oid: Oid(oid), typmod: typmod as i32 },
                register: register as u16,
            }
        })
    }
}

/// A table that a plan was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanTable {
    /// Its number.
    pub oid: Oid,
    /// The version of its definition.
    pub version: u64,
    /// The number of the mode in which an execution holds its lock.
    pub lock: u32,
    /// It was named without a schema: the plan stands while `search_path` leads from that name to this table.
    pub searched: bool,
    /// It was named with a schema: the plan stands while that may be looked into.
    pub qualified: bool,
}

impl PlanTable {
    /// What says so beside the number of the lock's mode.
    pub const SEARCHED: u32 = 1 << 16;
    /// The same.
    pub const QUALIFIED: u32 = 1 << 17;
}

/// What a plan does with a table.
#[derive(Clone, Copy, Debug)]
pub struct PlanAccess<'p> {
    /// The table.
    pub table: Oid,
    /// Whose privileges count; none for those of whoever executes.
    pub role: Oid,
    /// The privileges that it takes.
    pub rights: Rights,
    columns: [At; 3],
    bytes: Bytes<'p>,
}

impl PlanAccess<'_> {
    /// The same with its columns.
    pub fn whole(self) -> Access {
        let [selected, inserted, updated] =
            self.columns.map(|at| self.bytes.list(at).iter().map(|column| column as u16).collect());
        Access { table: self.table, role: self.role, rights: self.rights, selected, inserted, updated }
    }
}

/// A column of a result, as clients are told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResultColumn<'p> {
    /// Its name's bytes.
    text: &'p [u8],
    /// The table that it is a plain column of; none for an expression.
    pub table: Oid,
    /// Its number in that table.
    pub number: i16,
    /// Its type.
    pub ty: Type,
    /// The register of its value.
    pub register: u16,
}

impl<'p> ResultColumn<'p> {
    /// Its name.
    pub fn name(&self) -> &'p str {
        std::str::from_utf8(self.text).unwrap_or("")
    }
}
