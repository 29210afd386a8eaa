//! From the plan's tree to bytes: registers are given to columns, expressions become programs, nodes become records.
//!
//! A column gets a register when something reads it. What a subquery merely passes on shares its source's register, so
//! that projections of plain columns cost nothing. Nodes are written from the bottom up, each knowing which columns are
//! read above it: a scan reads only those, a sort saves only those.
//!
//! | module | what it writes |
//! |---|---|
//! | [`expression`] | expressions and subplans as programs |
//! | [`node`] | nodes |
//! | [`modification`] | statements that change rows, with what they need to know of tables |
//!
//! Rules
//! 1. A column may share another's register only if both are made by the same subtree: an outer join sets the registers of
//!    its inner side to null, and must not touch those of the outer side.
//! 2. Reading a column that no node below makes is reading a row of the query around it; its register is set while the
//!    inner query runs.

mod expression;
mod modification;
mod node;

use super::blob::{At, Builder};
use super::choose::columns_in;
use super::record::{ColumnRecord, CommonRecord, Header, ParameterRecord};
use super::tree::{Node, Tree};
use super::{MAGIC, PlanTable, flags, tree};
use crate::bind::tree::{Bound, Column, Expr, Origin, ROW_ID, RelationId, Source, TABLE_OID};
use crate::types::{Oid, Type};
use base::{Error, Result, sqlstate};
use std::collections::{BTreeMap, BTreeSet};
use storage::txn::LockMode;

type Columns = BTreeSet<Column>;

/// How deep nodes may be nested: an execution recurses over them on a fiber's stack.
const DEPTH_MAX: u32 = 100;

/// Writes a plan.
pub fn encode(bound: &Bound, tree: &Tree) -> Result<Vec<u8>> {
    encode_noting(bound, tree, None)
}

/// The same; notes for each of the tree's nodes its place ([`super::explain::place`]) and the index of its state, if that is wanted.
pub fn encode_noting(bound: &Bound, tree: &Tree, states: Option<&mut Vec<(usize, u32)>>) -> Result<Vec<u8>> {
    let encoder = Encoder {
        states_of: states,
        bound,
        tree,
        plan: Builder::new(Header::WORDS),
        registers: BTreeMap::new(),
        aliases: BTreeMap::new(),
        shared: BTreeMap::new(),
        next_register: 0,
        states: 0,
        buffers: 0,
        subplans: BTreeMap::new(),
        subplan_records: Vec::new(),
        commons: vec![At::NONE; tree.commons.len()],
        works: BTreeMap::new(),
        flags: flags::REUSABLE,
        changed_tables: BTreeMap::new(),
        new_row: None,
        depth: 0,
        keeps: true,
        constants: None,
        reads_all: false,
    };
    encoder.finish()
}

struct Encoder<'e> {
    /// Where to note which state is which node's.
    states_of: Option<&'e mut Vec<(usize, u32)>>,
    bound: &'e Bound,
    tree: &'e Tree,
    plan: Builder,
    registers: BTreeMap<Column, u16>,
    aliases: BTreeMap<Column, Column>,
    shared: BTreeMap<u16, u16>,
    next_register: u32,
    states: u32,
    buffers: u32,
    /// For each subplan that was written the index of its record.
    subplans: BTreeMap<u16, u16>,
    subplan_records: Vec<At>,
    commons: Vec<At>,
    /// For each recursion the index of what is remembered of its last round.
    works: BTreeMap<u16, u32>,
    flags: u32,
    /// The records of tables whose rows are changed.
    changed_tables: BTreeMap<Oid, At>,
    /// The relation of new rows, and the table that they go to.
    new_row: Option<(RelationId, Oid)>,
    /// How many nodes are above the one that is written.
    depth: u32,
    /// Values that are the same for all rows are kept.
    keeps: bool,
    /// The buffer of those values.
    constants: Option<u32>,
    /// Whoever reads the node that is written next reads all its rows.
    reads_all: bool,
}

impl Encoder<'_> {
    fn finish(mut self) -> Result<Vec<u8>> {
        // Those that read columns of other queries are written where they are read first, when these have registers.
        for (number, common) in self.tree.commons.iter().enumerate() {
            if let Some(common) = common.as_ref().filter(|common| !common.dependent) {
                self.commons[number] = self.common(common)?;
            }
        }
        let needed: Columns = self.tree.columns.iter().map(|(_, column)| *column).collect();
        let root = self.node(&self.tree.root, &needed)?;
        let mut columns = Vec::with_capacity(self.tree.columns.len() * ColumnRecord::WORDS);
        for (name, column) in &self.tree.columns {
            let ty = self.type_of(*column);
            let (table, number) = self.origin(*column);
            let record = ColumnRecord {
                name: self.plan.blob(name.as_bytes()).0,
                table: table.0,
                number: number as u32,
                oid: ty.oid.0,
                typmod: ty.typmod as u32,
                register: self.register(*column)?.into(),
            };
            columns.extend(record.to_words());
        }
        if !columns.is_empty() || self.tree.kind == super::StatementKind::Select {
            self.flags |= flags::RETURNS_ROWS;
        }
        if self.bound.uses_clock {
            self.flags |= flags::USES_CLOCK;
        }
        if !self.bound.reusable {
            self.flags &= !flags::REUSABLE;
        }
        if self.tree.worth.is_some() {
            self.flags |= flags::VALUES_MATTER;
        }
        if !self.bound.routines.is_empty() {
            // A function may see what the statement sees.
            self.flags |= flags::CALLS | flags::READS;
        }
        let parameters: Vec<u32> = self
            .bound
            .parameters
            .iter()
            .flat_map(|parameter| {
                let (origin, index) = match parameter.origin {
                    Origin::Client(index) => (0, index),
                    Origin::Slot(index) => (1, index),
                };
                let [oid, typmod] = super::blob::type_words(parameter.ty);
                ParameterRecord { oid, typmod, origin, index: index.into() }.to_words()
            })
            .collect();
        let client_types: Vec<u32> = self.bound.client_types.iter().map(|oid| oid.unwrap_or(Oid::TEXT).0).collect();
        let tables: Vec<u32> = self
            .bound
            .tables
            .iter()
            .flat_map(|table| {
                let lock = super::lock::mode(self.bound, self.tree, table.oid);
                let searched = if self.bound.searched.contains(&table.oid) { PlanTable::SEARCHED } else { 0 };
                let qualified = if self.bound.qualified.contains(&table.oid) { PlanTable::QUALIFIED } else { 0 };
                [table.oid.0, table.version as u32, (table.version >> 32) as u32, lock as u32 | searched | qualified]
            })
            .chain(self.bound.routines.iter().flat_map(|(oid, version)| {
                [oid.0, *version as u32, (*version >> 32) as u32, LockMode::AccessShare as u32]
            }))
            .chain(self.bound.types.iter().flat_map(|(oid, version, searched)| {
                let lock = LockMode::AccessShare as u32 | if *searched { PlanTable::SEARCHED } else { 0 };
                [oid.0, *version as u32, (*version >> 32) as u32, lock]
            }))
            .collect();
        let mut accesses = Vec::new();
        for access in self.bound.accesses.merged() {
            let lists = [access.selected, access.inserted, access.updated].map(|columns| {
                let columns: Vec<u32> = columns.into_iter().map(u32::from).collect();
                self.plan.list(&columns).0
            });
            accesses.extend([access.table.0, access.role.0, u32::from(access.rights)]);
            accesses.extend(lists);
        }
        let subplans: Vec<u32> = self.subplan_records.iter().map(|at| at.0).collect();
        let commons: Vec<u32> = self.commons.iter().map(|at| at.0).collect();
        let mut header = Header {
            magic: MAGIC,
            length: 0,
            kind: self.tree.kind as u32,
            root: root.0,
            registers: self.next_register,
            states: self.states,
            buffers: self.buffers,
            parameters: self.plan.list(&parameters).0,
            client_types: self.plan.list(&client_types).0,
            columns: self.plan.list(&columns).0,
            subplans: self.plan.list(&subplans).0,
            commons: self.plan.list(&commons).0,
            flags: self.flags,
            tables: self.plan.list(&tables).0,
            accesses: self.plan.list(&accesses).0,
            stack: 0,
            cost: self.tree.worth.map_or(0, |worth| worth.cost.to_bits()),
            shape: self.tree.worth.map_or(0, |worth| worth.shape),
            planning: self.tree.planning.number,
        };
        header.length = self.plan.at().0;
        for (index, word) in header.to_words().into_iter().enumerate() {
            self.plan.patch(At(index as u32 * 4), word);
        }
        self.plan.finish()
    }

    // ---- registers

    fn new_register(&mut self) -> Result<u16> {
        let register = self.next_register;
        self.next_register += 1;
        u16::try_from(register).map_err(|_| {
            Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "the statement has too many columns and values")
        })
    }

    /// The column whose register a column shares.
    fn canonical(&self, mut column: Column) -> Column {
        while let Some(next) = self.aliases.get(&column) {
            column = *next;
        }
        column
    }

    fn register(&mut self, column: Column) -> Result<u16> {
        let column = self.canonical(column);
        if let Some(&register) = self.registers.get(&column) {
            return Ok(register);
        }
        let register = self.new_register()?;
        self.registers.insert(column, register);
        Ok(register)
    }

    fn type_of(&self, column: Column) -> Type {
        match column.column {
            ROW_ID => Type::plain(Oid::INT8),
            TABLE_OID => Type::plain(Oid::OID),
            index => self.bound.relations[column.relation as usize].columns[usize::from(index)].1,
        }
    }

    /// The table's column that a result passes on.
    fn origin(&self, column: Column) -> (Oid, i16) {
        let column = self.canonical(column);
        match self.bound.relations.get(column.relation as usize).map(|found| &found.source) {
            Some(Source::Table(table)) if column.column < TABLE_OID => (table.oid, column.column as i16 + 1),
            _ => (Oid::NONE, 0),
        }
    }

    fn new_buffer(&mut self) -> u32 {
        self.buffers += 1;
        self.buffers - 1
    }

    fn new_state(&mut self) -> u32 {
        self.states += 1;
        self.states - 1
    }

    /// Which of these columns a subtree makes.
    fn made_by(&self, node: &Node, needed: &Columns) -> Columns {
        let mut produced = BTreeSet::new();
        node.produced(&mut produced);
        needed.iter().filter(|column| produced.contains(&column.relation)).copied().collect()
    }

    /// The registers of columns, each once.
    fn register_list(&mut self, columns: &Columns) -> Result<Vec<u32>> {
        let mut registers = Vec::with_capacity(columns.len());
        for column in columns {
            let register = u32::from(self.register(*column)?);
            if !registers.contains(&register) {
                registers.push(register);
            }
        }
        Ok(registers)
    }

    fn saved(&mut self, node: &Node, needed: &Columns) -> Result<u32> {
        let made = self.made_by(node, needed);
        let registers = self.register_list(&made)?;
        Ok(self.plan.list(&registers).0)
    }

    fn reads(&self, exprs: &[Expr], needed: &mut Columns) {
        exprs.iter().for_each(|expr| columns_in(expr, &self.tree.subplans, needed));
    }

    /// All columns that a subtree reads.
    fn all_reads(&self, node: &Node, needed: &mut Columns) {
        node.exprs(&mut |expr| columns_in(expr, &self.tree.subplans, needed));
        if let Node::CommonScan { common, .. } = node
            && let Some(common) = &self.tree.commons[usize::from(*common)]
        {
            needed.extend(&common.free);
        }
        node.children().into_iter().for_each(|child| self.all_reads(child, needed));
    }

    fn common(&mut self, common: &tree::CommonTree) -> Result<At> {
        let columns: Vec<Column> =
            (0..common.width as u16).map(|column| Column { relation: common.output, column }).collect();
        let needed = columns.iter().copied().collect();
        let root = self.node(&common.root, &needed)?;
        let mut registers = Vec::with_capacity(columns.len());
        for column in columns {
            registers.push(u32::from(self.register(column)?));
        }
        let record = CommonRecord {
            root: root.0,
            columns: self.plan.list(&registers).0,
            buffer: self.new_buffer(),
            state: self.new_state(),
            dependent: u32::from(common.dependent),
            modifies: u32::from(common.modifies),
        };
        Ok(record.write(&mut self.plan))
    }
}
