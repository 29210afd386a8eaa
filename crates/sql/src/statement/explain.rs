//! `EXPLAIN`: the plan of a statement, line by line.

use super::{text_columns, text_row};
use crate::bind::{self, Setting, Unbound};
use crate::parser::ast::Statement;
use crate::plan;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::Arena;
use allocator_api2::alloc::Allocator;
use base::{Error, Result};
use bumpalo::Bump;

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn explain<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        statement: &Statement<'_>,
        (analyze, costs): (bool, bool),
        out: &mut O,
    ) -> Result<Option<Tag>> {
        if analyze {
            return Err(super::refused("EXPLAIN ANALYZE"));
        }
        if matches!(statement, Statement::Utility(_)) {
            return Err(super::refused("EXPLAIN of this statement"));
        }
        let (accesses, lines) = {
            let styles = self.styles(env)?;
            let style = styles.style(self.transaction.started_at());
            let catalog = self.catalog(env)?;
            kernel::fiber::on_engine_stack(|| {
                let (arena, bump) = (Arena::new(), Bump::new());
                let setting = Setting {
                    catalog: &catalog,
                    text,
                    slots: &[],
                    style,
                    client_types: &[],
                    new_parameters: true,
                    variables: &[],
                };
                match bind::bind(statement, &setting, &arena, &bump) {
                    Ok((mut bound, root)) => {
                        let tree = plan::choose::choose(&mut bound, root, &catalog)?;
                        Ok((bound.accesses.merged(), plan::explain::lines(&bound, &tree, &catalog, costs)))
                    }
                    Err(Unbound::Error(error)) => Err(error),
                    Err(Unbound::NeedsLiterals) => Err(Error::unsupported("a literal of this kind here")),
                }
            })?
        };
        self.check_accesses(env, &accesses)?;
        text_columns(&["QUERY PLAN"], out);
        for line in lines {
            text_row(&[&line], out)?;
        }
        Ok(Some(Tag::Words("EXPLAIN")))
    }
}
