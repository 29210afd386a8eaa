//! The nodes of a plan, and what else a plan consists of, as records of words.
//!
//! A node gives rows: it is asked for the next one until there is none. A row is not handed over; it is what the registers
//! hold. A node that keeps rows for later (a sort, a hash table) saves the registers that somebody above it reads, and sets
//! them again when their row's turn comes, so an expression never needs to know through which nodes its columns went.
//!
//! ```text
//!  node:   kind | state | fields …          one word each
//! ```
//!
//! `state` is the index of what an execution remembers of the node. Fields are numbers, places ([`At`]) of lists, programs
//! and nodes, or zero.

use super::blob::{At, Builder, Bytes};

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident $(| $also:ident)? { $($(#[$field_doc:meta])* $field:ident,)* })*) => {
        /// The kind of a node.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum NodeKind { $($(#[$doc])* $name, $(
            /// Has the fields of the kind before it.
            $also,
        )?)* }

        impl NodeKind {
            const ALL: &'static [NodeKind] = &[$(NodeKind::$name, $(NodeKind::$also,)?)*];

            /// The kind of a word.
            #[inline]
            pub fn from_word(word: u32) -> Option<NodeKind> {
                NodeKind::ALL.get(word as usize).copied()
            }
        }

        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
            pub struct $name { $($(#[$field_doc])* pub $field: u32,)* }

            impl $name {
                /// Reads the node at a place.
                #[inline]
                pub fn read(bytes: Bytes<'_>, at: At) -> $name {
                    let [$($field),*] = bytes.words(at.0 + 8);
                    $name { $($field),* }
                }

                /// Writes the node, with the index of its state.
                pub fn write(&self, plan: &mut Builder, state: u32) -> At {
                    self.write_as(NodeKind::$name, plan, state)
                }

                /// The same as a node of a kind that has the same fields.
                pub fn write_as(&self, kind: NodeKind, plan: &mut Builder, state: u32) -> At {
                    plan.words(&[kind as u32, state, $(self.$field,)*])
                }
            }
        )*
    };
}

records! {
    /// One row without columns.
    Once {
        /// A condition that is tested once.
        filter,
    }
    /// Rows of expressions.
    Values {
        /// For each row the program that sets its registers.
        rows,
        /// Where computed bytes are kept.
        buffer,
    }
    /// The rows of a function that gives a set, or the one value of one that does not.
    FunctionScan {
        /// The operation; `0xFFFF` for a function that gives one value, which the program sets itself.
        op,
        /// Pushes the arguments.
        arguments,
        /// How many arguments there are.
        count,
        /// The kind of the values.
        kind,
        /// The register of the value, and one more; zero is none.
        output,
        /// The same of a second value, for functions that give two.
        second,
        /// The same of all values, of a function of a user.
        outputs,
        /// The register of the row's number, and one more; zero is none.
        ordinal,
        /// Where values' bytes are kept.
        buffer,
        /// The condition on each row.
        filter,
    }
    /// The rows of a virtual table.
    ViewScan {
        /// Its provider.
        provider,
        /// The types of its columns.
        types,
        /// Pairs of column and register.
        columns,
        /// Where values' bytes are kept.
        buffer,
        /// The condition on each row.
        filter,
        /// The register of the table's number, and one more; zero is none.
        table_register,
        /// The table's number.
        table,
    }
    /// All rows of a table.
    SeqScan {
        /// The table's storage.
        storage,
        /// The kinds of its columns, as far as they are read.
        kinds,
        /// Pairs of column and register: those that the condition reads, or all.
        columns,
        /// The same for columns that are read of rows for which the condition holds.
        late,
        /// Where the row's bytes are kept.
        buffer,
        /// The condition on each row.
        filter,
        /// The register of the row's place, and one more; zero is none.
        row_register,
        /// The register of the table's number, and one more; zero is none.
        table_register,
        /// The table's number.
        table,
    }
    /// Rows of a table by an index.
    IndexScan {
        /// The table's storage.
        storage,
        /// The kinds of its columns, as far as they are read.
        kinds,
        /// Pairs of column and register.
        columns,
        /// Where the row's bytes are kept.
        buffer,
        /// The condition on each row.
        filter,
        /// The register of the row's place, and one more; zero is none.
        row_register,
        /// The register of the table's number, and one more; zero is none.
        table_register,
        /// The table's number.
        table,
        /// The index's storage.
        index,
        /// For each column of the index its kind, and its direction in two bits above it.
        key,
        /// Pushes the values that the first columns must have.
        equal,
        /// How many of them there are.
        equal_count,
        /// Pushes the least value of the next column.
        low,
        /// Pushes its greatest value.
        high,
        /// Bit 0: `low` itself is out; bit 1: `high` itself is out; bit 2: from the end; bit 3: at most one row; bit 4: the index has all
        /// that is read.
        flags,
        /// Then: pairs of column of the index and register.
        entry,
        /// The types of the index's columns.
        entry_types,
    }
    /// Rows of another node for which a condition holds.
    Filter {
        /// The node.
        child,
        /// The condition.
        condition,
    }
    /// Rows of another node with more registers set.
    Project {
        /// The node.
        child,
        /// The program that sets them.
        program,
        /// Where computed bytes are kept.
        buffer,
    }
    /// For each row of one node the rows of another.
    NestedLoop {
        /// 0 inner, 1 left, 2 semi, 3 anti.
        join,
        /// The first node.
        outer,
        /// The second node, begun again for each row of the first.
        inner,
        /// The condition.
        condition,
        /// Registers that are null in a row without a partner.
        nulls,
        /// Registers of the first node, of which several rows are read ahead to look the second's up together; zero if none may be.
        ahead,
        /// Where bytes of these rows are kept.
        buffer,
        /// Not zero if all rows of the loop are read, whatever they are.
        all,
    }
    /// Rows of two nodes with equal keys: by a hash table, or as both come in the order of their keys.
    HashJoin | MergeJoin {
        /// 0 inner, 1 left, 2 semi, 3 anti, 4 right, 5 full.
        join,
        /// The node whose rows come one after another.
        outer,
        /// The node whose rows are kept: all of them in the hash table, or those with one key.
        inner,
        /// Pushes the outer row's keys.
        outer_keys,
        /// Pushes the inner row's keys.
        inner_keys,
        /// The kinds of the keys.
        kinds,
        /// What else must hold.
        condition,
        /// Registers of the inner node that are read above.
        saved,
        /// Registers that are null where an outer row has no partner.
        nulls,
        /// Registers that are null where an inner row has no partner.
        outer_nulls,
        /// Where kept bytes are.
        buffer,
        /// Registers of the outer node that are read above.
        outer_saved,
    }
    /// Rows of another node in order.
    Sort {
        /// The node.
        child,
        /// For each key its register, its kind, and 1 for descending plus 2 for nulls first.
        keys,
        /// Registers that are read above, keys included.
        saved,
        /// Pushes how many rows will be asked for.
        bound,
        /// Where kept bytes are.
        buffer,
    }
    /// Some rows of another node.
    Limit {
        /// The node.
        child,
        /// Pushes how many rows are given.
        count,
        /// Pushes how many rows are left out before them.
        offset,
        /// Pairs of register and kind: rows that are equal to the last one in these are given too.
        ties,
        /// Where the last row's bytes are kept.
        buffer,
    }
    /// Groups of rows of another node, or all of them, with aggregates.
    Aggregate {
        /// The node.
        child,
        /// Pairs of register and kind: the keys.
        keys,
        /// Places of [`AggregateRecord`]s.
        aggregates,
        /// Zero if there is one group even without rows.
        grouped,
        /// Where kept bytes are.
        buffer,
        /// Grouping sets: for each the place of a list of the numbers of its keys.
        sets,
        /// For each `GROUPING (…)` its register and the place of a list of the numbers of its keys.
        tests,
        /// Registers of the node that keys and aggregates are computed from.
        saved,
        /// 1 if the rows of a group come one after another.
        sorted,
    }
    /// Rows of another node, which come in order, with what is computed from the rows around each.
    WindowAgg {
        /// The node.
        child,
        /// Pairs of register and kind: rows that are equal in these are computed together.
        partition,
        /// For each key of their order its register, its kind, and 1 for descending plus 2 for nulls first.
        order,
        /// Registers that are read above.
        saved,
        /// Places of [`WindowRecord`]s.
        functions,
        /// Which rows around a row are seen, a byte each: mode, start, end, what is excluded.
        frame,
        /// Pushes the distance of the frame's start.
        start,
        /// Pushes the distance of its end.
        end,
        /// Where kept bytes are.
        buffer,
        /// Where results' bytes are kept.
        results,
    }
    /// Rows of another node without those whose keys were there before.
    Distinct {
        /// The node.
        child,
        /// Pairs of register and kind: the keys.
        keys,
        /// Where kept bytes are.
        buffer,
        /// Registers that are read above, keys included.
        saved,
        /// 1 if rows with equal keys come one after another.
        sorted,
    }
    /// Rows of several nodes, one after another. All set the same registers.
    Append {
        /// The nodes.
        children,
    }
    /// Rows that two nodes have in common, or that only the first has. Both set the same registers.
    SetOperation {
        /// 0 `INTERSECT`, 1 `EXCEPT`; plus 2 with `ALL`.
        operation,
        /// The first node.
        left,
        /// The second node.
        right,
        /// Pairs of register and kind.
        keys,
        /// Where kept bytes are.
        buffer,
    }
    /// Rows of another node, kept so that they can be given again.
    Materialize {
        /// The node.
        child,
        /// Registers that are read above.
        saved,
        /// Where kept bytes are.
        buffer,
        /// 1 if the rows are the same whatever is around the query that it is in.
        constant,
    }
    /// Rows of a query that reads its own: those of one node, then those of another one for as long as it finds any.
    Recursion {
        /// The first node.
        first,
        /// The second node, which is begun again with the rows that were found last.
        rest,
        /// Pairs of register and kind: all columns.
        columns,
        /// 1 if equal rows are given once.
        distinct,
        /// What an execution remembers of the rows that were found last.
        work,
        /// Where bytes of rows of one round are kept.
        even,
        /// Where those of the next are.
        odd,
        /// Where those of all rows are, if equal ones are given once.
        seen,
    }
    /// The rows that the last round of a recursion has found.
    WorkScan {
        /// What an execution remembers of them.
        work,
        /// Pairs of column and register.
        columns,
        /// The condition on each row.
        filter,
    }
    /// Rows of a common table.
    CommonScan {
        /// The common table.
        common,
        /// Pairs of column and register.
        columns,
        /// The condition on each row.
        filter,
    }
    /// Rows of another node, each locked in its table first.
    LockRows {
        /// The node.
        child,
        /// Places of [`LockRecord`]s.
        locks,
        /// For rows of which one has changed meanwhile, parts of what is joined, from the inside to the outside: a condition, a program that
        /// computes results where it holds, the buffer that these are kept in, and the registers that become null where it does not.
        retested,
        /// The condition on such rows, tested after that.
        recheck,
        /// The program that computes the results again then.
        recompute,
        /// The registers that all of this sets.
        set,
        /// Where computed bytes are kept.
        buffer,
    }
    /// Rows that are changed. Gives the rows of `RETURNING`, or none.
    Modify {
        /// 0 insert, 1 update, 2 delete.
        operation,
        /// The node that gives new rows, or finds the rows to change.
        child,
        /// The place of the [`TableRecord`].
        table,
        /// The register of the row's place.
        row_register,
        /// For each column of the table the register of its new value.
        values,
        /// For each column of the table the register of its old value, and one more; zero is none.
        old,
        /// The program that sets the registers of `RETURNING`.
        returning,
        /// Where computed bytes are kept.
        buffer,
        /// Bit for each column below 32 that is assigned; all ones if the table has more.
        assigned,
        /// The place of the [`ConflictRecord`].
        conflict,
        /// Tested on each new row: places of [`CheckRecord`]s.
        checks,
        /// What views demand of each new row, when it has been written: places of [`CheckRecord`]s.
        view_checks,
        /// Pairs of column and register: the row as it was, which is read again when it has changed meanwhile.
        existing,
        /// Where the bytes of such a row are kept.
        row_buffer,
        /// The condition on such a row, all of `WHERE`.
        recheck,
        /// The program that computes the new values again.
        recompute,
        /// Where their bytes are kept: `RETURNING` reads them and has a buffer of its own.
        new_buffer,
        /// The columns that the statement assigns, for triggers.
        updated,
        /// The program that computes generated columns of the new row again, when triggers have had it.
        generated,
        /// Where their bytes are kept.
        generated_buffer,
        /// 1 if triggers of a view do what is done.
        instead,
    }
    /// Nothing: no rows.
    Nothing {
    }
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
            pub struct $name { $($(#[$field_doc])* pub $field: u32,)* }

            impl $name {
                /// How many words it takes.
                pub const WORDS: usize = [$(stringify!($field)),*].len();

                /// Reads the record at a place.
                #[inline]
                pub fn read(bytes: Bytes<'_>, at: At) -> $name {
                    let [$($field),*] = bytes.words(at.0);
                    $name { $($field),* }
                }

                /// Its words.
                pub fn to_words(self) -> [u32; Self::WORDS] {
                    [$(self.$field),*]
                }

                /// Writes the record.
                pub fn write(&self, plan: &mut Builder) -> At {
                    plan.words(&self.to_words())
                }
            }
        )*
    };
}

parts! {
    /// What a plan begins with.
    Header {
        /// [`MAGIC`](super::MAGIC).
        magic,
        /// The plan's length in bytes.
        length,
        /// What kind of statement it is: [`StatementKind`](super::StatementKind).
        kind,
        /// The node that gives the result.
        root,
        /// How many registers an execution has.
        registers,
        /// How many nodes remember something.
        states,
        /// How many buffers an execution has.
        buffers,
        /// [`ParameterRecord`]s, as one list of words.
        parameters,
        /// The types of the client's parameters.
        client_types,
        /// [`ColumnRecord`]s, as one list of words.
        columns,
        /// Places of [`SubplanRecord`]s.
        subplans,
        /// Places of [`CommonRecord`]s.
        commons,
        /// Bits of [`flags`](super::flags).
        flags,
        /// The tables that were used: number, version in two words, mode of the lock.
        tables,
        /// The privileges that it takes: table, role, rights, and the places of three lists of columns.
        accesses,
        /// The most values on the stack at once.
        stack,
        /// What it is worth beside other plans of its statement ([`Worth`](super::worth::Worth)): the cost, as the bits of a number, and the
        /// shape.
        cost,
        /// The same.
        shape,
        /// The number of the values of settings that it was made under.
        planning,
    }
    /// A parameter.
    ParameterRecord {
        /// Its type.
        oid,
        /// Its type's modifier.
        typmod,
        /// 0 a client's, 1 a literal's.
        origin,
        /// The client's parameter, or the slot.
        index,
    }
    /// A column of the result.
    ColumnRecord {
        /// The place of its name.
        name,
        /// The table that it is a plain column of.
        table,
        /// Its number in it.
        number,
        /// Its type.
        oid,
        /// Its type's modifier.
        typmod,
        /// The register of its value.
        register,
    }
    /// A query inside an expression.
    SubplanRecord {
        /// The node that gives its rows.
        root,
        /// 0 scalar, 1 exists, 2 array, 3 any, 4 all.
        kind,
        /// 1 if it gives the same whenever it is run within an execution.
        constant,
        /// The register of its value.
        register,
        /// The kind of its value; of an array the element's type.
        value,
        /// The test of `ANY` and `ALL`.
        test,
        /// For a hash table: pushes the values that are looked for.
        probe,
        /// The registers of the query's columns.
        columns,
        /// The kinds of both.
        kinds,
        /// Where kept bytes are.
        buffer,
        /// The index of what an execution remembers of it.
        state,
    }
    /// A common table.
    CommonRecord {
        /// The node that gives its rows.
        root,
        /// The registers of its columns.
        columns,
        /// Where kept bytes are.
        buffer,
        /// The index of what an execution remembers of it.
        state,
        /// 1 if it is computed again when a query that reads it begins again.
        dependent,
        /// 1 if it changes rows, so that it is executed to its end whoever reads it.
        modifies,
    }
    /// An aggregate.
    AggregateRecord {
        /// What it does.
        op,
        /// The type of its first argument.
        argument,
        /// Pushes the arguments.
        arguments,
        /// How many there are.
        count,
        /// The kinds of the arguments.
        kinds,
        /// The condition on a row.
        filter,
        /// Equal arguments count once.
        distinct,
        /// Pushes what the rows are ordered by.
        order,
        /// For each of these its kind, and 1 for descending plus 2 for nulls first.
        order_keys,
        /// The register of the result.
        register,
    }
    /// A call over a window.
    WindowRecord {
        /// What it computes: a [`WindowOp`](crate::types::window::WindowOp), or [`WindowRecord::AGGREGATE`].
        op,
        /// The aggregate.
        aggregate,
        /// The type of the aggregate's first argument.
        argument,
        /// Pushes the arguments.
        arguments,
        /// How many there are.
        count,
        /// The condition on a row.
        filter,
        /// The register of the result.
        register,
    }
    /// A table that a statement changes.
    TableRecord {
        /// The place of its name.
        name,
        /// Its number.
        oid,
        /// Its storage.
        storage,
        /// The kinds of its columns.
        kinds,
        /// The columns that must not be null, with the places of their names.
        not_null,
        /// Places of [`IndexRecord`]s.
        indexes,
        /// Foreign keys of this table: places of [`ReferenceRecord`]s.
        references,
        /// Foreign keys that refer to this table: places of [`ReferenceRecord`]s.
        referenced_by,
        /// The names of its columns: places of texts.
        names,
        /// How full inserts make its pages, in percent.
        fill,
        /// Pairs of column and register: what its indexes compute, and `checks`, read these of a row.
        row,
        /// Of a table whose rows are changed along, tested on each: places of [`CheckRecord`]s.
        checks,
        /// The same: pairs of a column and the program of its default.
        defaults,
        /// The storage of its pieces; zero if it has none.
        pieces,
        /// Its triggers, in the order of their names: places of [`TriggerRecord`]s.
        triggers,
        /// Its generated columns.
        generated,
    }
    /// A trigger.
    TriggerRecord {
        /// Its number.
        oid,
        /// When it fires: the bits of [`crate::catalog::trigger`].
        kind,
        /// The columns that have to be assigned; any if none.
        columns,
        /// 1 if it reads the old rows as a table, and 2 if the new ones.
        tables,
        /// Its constraint, if it is a constraint trigger that may wait for the transaction's end …
        constraint,
        /// … as a number of [`crate::catalog::definition::Deferral`].
        deferral,
    }
    /// A table whose rows a query locks.
    LockRecord {
        /// The place of its name.
        name,
        /// The register of the row's place.
        row_register,
        /// Its storage.
        storage,
        /// 0 key share, 1 share, 2 no key update, 3 update.
        strength,
        /// What is done with a row that somebody has: 0 wait, 1 an error, 2 leave it out.
        wait,
        /// The kinds of its columns.
        kinds,
        /// Pairs of column and register.
        columns,
        /// Where the bytes of a row that is read again are kept.
        buffer,
    }
    /// An index of a table that a statement changes.
    IndexRecord {
        /// The place of its name.
        name,
        /// Its storage.
        storage,
        /// 1 if it is unique.
        unique,
        /// Groups of column, kind, and 1 for descending plus 2 for nulls first. Columns behind the table's are the values of `keys`.
        columns,
        /// Its number.
        oid,
        /// The columns that decide about its entries as a bit set, as `assigned` of [`Modify`].
        mask,
        /// The columns that decide about its entries.
        reads,
        /// Pushes the values of its expressions, from the registers of the table's `row`.
        keys,
        /// The condition on the rows that it has entries for.
        filter,
        /// The texts of its columns, for people: places of texts.
        shown,
        /// 1 if nulls are equal to one another.
        nulls_equal,
        /// The constraint that it belongs to.
        constraint,
        /// Whether the check of it may wait: a number of [`crate::catalog::definition::Deferral`].
        deferral,
    }
    /// A foreign key.
    ReferenceRecord {
        /// The place of the constraint's name.
        name,
        /// The other table's name.
        other_name,
        /// The other table's storage.
        storage,
        /// The kinds of the other table's columns.
        kinds,
        /// The columns of this table.
        columns,
        /// The columns of the other table, in the same order.
        other_columns,
        /// The other table's index on them; none if it has to be scanned.
        index,
        /// As in [`IndexRecord`], the columns of that index.
        index_columns,
        /// What happens on update, as a letter of `pg_constraint`.
        on_update,
        /// What happens on delete.
        on_delete,
        /// The columns as a bit set.
        mask,
        /// The other table's number.
        other,
        /// Of a key that is referred to: this table's index on the columns.
        own_index,
        /// As in [`IndexRecord`], the columns of that index.
        own_index_columns,
        /// Of a key that is referred to, if rows of the other table are changed along: its [`TableRecord`].
        table,
        /// 1 for `MATCH FULL`.
        full,
        /// The columns of the other table that get another value when the row goes away.
        set_columns,
        /// The constraint's number.
        constraint,
        /// Whether its check may wait: a number of [`crate::catalog::definition::Deferral`].
        deferral,
        /// Of a key that is referred to: for each of its columns its type, that of the other table's column, and that one's modifier.
        types,
    }
    /// A `CHECK` constraint.
    CheckRecord {
        /// The place of its name.
        name,
        /// The condition.
        condition,
    }
    /// `ON CONFLICT`.
    ConflictRecord {
        /// The numbers of the indexes that settle conflicts; an empty list for any.
        indexes,
        /// 0 `DO NOTHING`, 1 `DO UPDATE`.
        update,
        /// The condition of `DO UPDATE`.
        filter,
        /// The program that computes the new values.
        program,
        /// For each column of the table the register of its new value.
        values,
        /// Pairs of column and register: the row that is there.
        existing,
        /// Pairs of column and register: the row that was to be inserted.
        excluded,
        /// Where computed bytes are kept.
        buffer,
        /// As in [`Modify`].
        assigned,
    }
}

impl WindowRecord {
    /// Stands for an aggregate in `op`.
    pub const AGGREGATE: u32 = 0xFFFF;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_reads_back() {
        let mut plan = Builder::new(3);
        let limit = Limit { child: 7, count: 8, offset: u32::MAX, ties: 0, buffer: 1 };
        let at = limit.write(&mut plan, 5);
        let nothing = Nothing {}.write(&mut plan, 6);
        let plan = plan.finish().unwrap();
        let bytes = Bytes(&plan);
        assert_eq!(NodeKind::from_word(bytes.word(at.0)), Some(NodeKind::Limit));
        assert_eq!((bytes.word(at.0 + 4), Limit::read(bytes, at)), (5, limit));
        assert_eq!(NodeKind::from_word(bytes.word(nothing.0)), Some(NodeKind::Nothing));
        assert_eq!(NodeKind::from_word(9999), None);
    }
}
