//! Rows of a table or a query to the client.

use super::Options;
use super::binary;
use super::format::write_field;
use crate::catalog::definition::Rows;
use crate::lexer::{Lexer, TokenKind};
use crate::parser::ast::Copy;
use crate::session::run::{Compiled, Ended};
use crate::session::{Column, CopyFormat, Environment, Format, Output, Session, Tag};
use crate::statement::define::missing;
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, quoted_identifier};
use base::{Error, Result, sqlstate};

/// An output that makes lines of rows, or what stands for them in the binary format.
struct ToClient<'o, O> {
    out: &'o mut O,
    options: &'o Options,
    columns: usize,
    /// What goes before the next row, in the same message: drivers look for the first row behind the header of the binary format.
    head: Vec<u8>,
    line: Vec<u8>,
    value: Vec<u8>,
    fields: usize,
    /// The line is the header.
    names: bool,
}

impl<O: Output> ToClient<'_, O> {
    /// Adds a field; its value is in `value`, unless it is null.
    fn field(&mut self, null: bool) {
        let (at, form) = (self.fields, &self.options.form);
        self.fields += 1;
        let value = (!null).then_some(&self.value[..]);
        if self.options.binary {
            return binary::write_field(value, &mut self.line);
        }
        if at > 0 {
            self.line.push(form.delimiter);
        }
        write_field(form, value, self.columns == 1, (!self.names).then_some(at), &mut self.line);
    }

    /// Sends the line, behind what is to go before it.
    fn send(&mut self) -> Result<()> {
        let (head, line) = (&self.head, &self.line);
        self.out.copy_row(|buffer| {
            buffer.extend_from_slice(head);
            buffer.extend_from_slice(line);
            Ok(())
        })?;
        self.head.clear();
        Ok(())
    }
}

impl<O: Output> Output for ToClient<'_, O> {
    fn columns<'c>(&mut self, _: impl Iterator<Item = Column<'c>>) {}

    fn begin_row(&mut self) {
        self.line.clear();
        self.fields = 0;
        if self.options.binary {
            binary::write_count(self.columns, &mut self.line);
        }
    }

    fn null(&mut self) {
        self.field(true);
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.value.clear();
        write(&mut self.value)?;
        self.field(false);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        if !self.options.binary {
            self.line.push(b'\n');
        }
        self.send()
    }

    fn abandon_row(&mut self) {}

    fn complete(&mut self, _: Tag) {}

    fn empty_query(&mut self) {}

    fn suspended(&mut self) {}

    fn notice(&mut self, level: MessageLevel, message: &Error) {
        self.out.notice(level, message);
    }

    fn copy_in(&mut self, _: CopyFormat, _: usize) -> Result<()> {
        Err(Error::unsupported("COPY within COPY"))
    }

    fn copied(&mut self, _: impl FnOnce(&[u8]) -> Result<()>) -> Result<bool> {
        Ok(false)
    }

    fn copy_out(&mut self, _: CopyFormat, _: usize) {}

    fn copy_row(&mut self, _: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn copy_done(&mut self) {}
}

impl<A: Allocator + ::core::marker::Copy> Session<A> {
    pub(super) fn copy_to<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        copy: &Copy<'_>,
        options: &mut Options,
        out: &mut O,
    ) -> Result<u64> {
        let made;
        let (text, range) = match copy.query {
            Some(_) => (text, query_range(text, copy.at as usize)?),
            None => {
                made = self.query_of_table(env, copy)?;
                (made.as_str(), (0, made.len()))
            }
        };
        let Ok(Compiled::Plan(plan)) = self.compile(env, text, range, &[], &[], false)? else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "the query of a COPY has no plan"));
        };
        let read = crate::plan::Plan::new(&plan);
        let names: Vec<String> =
            read.into_iter().flat_map(|plan| plan.columns()).map(|column| column.name().to_owned()).collect();
        if read.is_some_and(|plan| !plan.has(crate::plan::flags::RETURNS_ROWS)) {
            return Err(Error::unsupported("COPY query must have a RETURNING clause"));
        }
        if let Some(plan) = read {
            self.check_access(env, plan)?;
        }
        let all = match copy.query {
            Some(_) => names.clone(),
            None => {
                let (schema, name) = crate::catalog::split(copy.path, self.database_name())?;
                let table = self.catalog(env)?.find(schema, name)?.ok_or_else(|| missing(copy.path))?;
                table.visible().map(|(_, column)| column.name.clone()).collect()
            }
        };
        options.resolve(&names, &all)?;
        let (copied, format) = match options.binary {
            true => (CopyFormat::Binary, Format::Binary),
            false => (CopyFormat::Text, Format::Text),
        };
        out.copy_out(copied, names.len());
        let (mut head, line, value, columns) = (Vec::new(), Vec::new(), Vec::new(), names.len());
        if options.binary {
            binary::write_header(&mut head);
        }
        let mut lines = ToClient { out, options, columns, head, line, value, fields: 0, names: true };
        if options.form.header {
            lines.begin_row();
            for name in &names {
                lines.value(|buffer| {
                    buffer.extend_from_slice(name.as_bytes());
                    Ok(())
                })?;
            }
            lines.end_row()?;
        }
        lines.names = false;
        let (ended, requests) =
            self.execute_plan(env, &plan, &[], (text, &[]), |_| format, u64::MAX, None, &mut lines)?;
        if options.binary {
            lines.line.clear();
            binary::write_end(&mut lines.line);
            lines.send()?;
        }
        self.carry_out(env, requests)?;
        out.copy_done();
        let (Ended::AtEnd(rows) | Ended::Early(rows)) = ended;
        Ok(rows)
    }

    /// The query that gives a table's columns.
    fn query_of_table(&self, env: &Environment<'_>, copy: &Copy<'_>) -> Result<String> {
        let (schema, name) = crate::catalog::split(copy.path, self.database_name())?;
        let catalog = self.catalog(env)?;
        let table = catalog.find(schema, name)?.ok_or_else(|| missing(copy.path))?;
        if table.kind == crate::catalog::definition::RelationKind::View && !matches!(table.rows, Rows::Stored(_)) {
            let message = format!("cannot copy from view \"{}\"", table.name);
            return Err(
                Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).hint("Try the COPY (SELECT ...) TO variant.")
            );
        }
        if table.kind == crate::catalog::definition::RelationKind::Sequence {
            let message = format!("cannot copy from sequence \"{}\"", table.name);
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        let columns = super::from::columns_of(&table, copy.columns)?;
        let columns: Vec<String> =
            columns.iter().map(|column| quoted_identifier(&table.columns[*column].name)).collect();
        Ok(format!("select {} from {}", columns.join(", "), self.full_name(env, &table)?))
    }
}

/// Where the query of `COPY (query) TO …` stands.
fn query_range(text: &str, at: usize) -> Result<(usize, usize)> {
    let mut lexer = Lexer::starting_at(text, at);
    let (mut depth, mut start) = (0_u32, 0);
    loop {
        let token = lexer.next_token()?;
        match token.kind {
            TokenKind::ParenOpen => {
                depth += 1;
                if depth == 1 {
                    start = lexer.position();
                }
            }
            TokenKind::ParenClose => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Ok((start, lexer.position() - 1));
                }
            }
            TokenKind::End => {
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, "syntax error at end of input"));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_copy_is_found() {
        let text = "select 1; copy (select ')', (2)) to stdout";
        let (from, to) = query_range(text, 10).unwrap();
        assert_eq!(&text[from..to], "select ')', (2)");
        assert!(query_range("copy (select 1", 0).is_err());
    }
}
