//! Windows: `OVER`, the `WINDOW` clause, frames.
//!
//! Rules
//! 1. A frame that no rows can be in, whatever the data (`BETWEEN CURRENT ROW AND 1 PRECEDING`), is `42P20` here, as
//!    PostgreSQL's grammar has it.

use super::ast::{Exclude, Frame, FrameBound, FrameMode, Name, Over, Window};
use super::cursor::{Parser, is_column_name, kw};
use crate::lexer::{TokenKind, position};
use base::{Error, Result, sqlstate};

impl<'a> Parser<'_, 'a> {
    /// What follows `OVER`.
    pub(super) fn over(&mut self) -> Result<Over<'a>> {
        if self.is_kind(TokenKind::ParenOpen)? {
            let window = self.window()?;
            return Ok(Over::Window(self.bump.alloc(window)));
        }
        self.name().map(Over::Name)
    }

    /// What follows `WINDOW`.
    pub(super) fn windows(&mut self) -> Result<&'a [(Name<'a>, Window<'a>)]> {
        let mut windows = Vec::new();
        loop {
            let name = self.name()?;
            self.expect(kw!("as"))?;
            windows.push((name, self.window()?));
            if !self.eat_kind(TokenKind::Comma)? {
                return Ok(self.keep_all(&windows));
            }
        }
    }

    /// A window in parentheses.
    fn window(&mut self) -> Result<Window<'a>> {
        let at = self.at()?;
        self.expect_kind(TokenKind::ParenOpen)?;
        self.descend()?;
        let mut window = Window { base: None, partition_by: &[], order_by: &[], frame: None, at };
        let first = self.peek()?;
        let word = first.keyword.map_or("", |keyword| keyword.row().word);
        // Words that begin a clause are no names here.
        if Self::may_be_name(first, is_column_name) && !matches!(word, "partition" | "range" | "rows" | "groups") {
            window.base = Some(self.name()?);
        }
        if self.eat_all([kw!("partition"), kw!("by")])? {
            window.partition_by = self.exprs()?;
        }
        if self.is(kw!("order"))? {
            window.order_by = self.order_by()?;
        }
        let frame_at = self.at()?;
        let mode = match () {
            () if self.eat(kw!("range"))? => Some(FrameMode::Range),
            () if self.eat(kw!("rows"))? => Some(FrameMode::Rows),
            () if self.eat(kw!("groups"))? => Some(FrameMode::Groups),
            () => None,
        };
        if let Some(mode) = mode {
            window.frame = Some(self.frame(mode, frame_at)?);
        }
        self.ascend();
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(window)
    }

    fn frame(&mut self, mode: FrameMode, at: u32) -> Result<Frame<'a>> {
        let between = self.eat(kw!("between"))?;
        let start_at = self.at()?;
        let start = self.frame_bound()?;
        let (end, end_at) = match between {
            true => {
                self.expect(kw!("and"))?;
                let end_at = self.at()?;
                (self.frame_bound()?, end_at)
            }
            false => (FrameBound::Current, start_at),
        };
        use FrameBound::{Current, First, Following, Last, Preceding};
        let refused = match (start, end) {
            (Last, _) => Some(("frame start cannot be UNBOUNDED FOLLOWING", start_at)),
            (Following(_), Current) if !between => {
                Some(("frame starting from following row cannot end with current row", start_at))
            }
            (_, First) => Some(("frame end cannot be UNBOUNDED PRECEDING", end_at)),
            (Current, Preceding(_)) => Some(("frame starting from current row cannot have preceding rows", end_at)),
            (Following(_), Preceding(_) | Current) => {
                Some(("frame starting from following row cannot have preceding rows", end_at))
            }
            _ => None,
        };
        if let Some((message, at)) = refused {
            return Err(Error::statement(sqlstate::WINDOWING_ERROR, message).at(position(self.text(), at as usize)));
        }
        let mut exclude = Exclude::NoOthers;
        if self.eat(kw!("exclude"))? {
            exclude = match () {
                () if self.eat_all([kw!("current"), kw!("row")])? => Exclude::CurrentRow,
                () if self.eat(kw!("group"))? => Exclude::Group,
                () if self.eat(kw!("ties"))? => Exclude::Ties,
                () if self.eat_all([kw!("no"), kw!("others")])? => Exclude::NoOthers,
                () => return Err(self.unexpected()),
            };
        }
        Ok(Frame { mode, start, end, exclude, at })
    }

    fn frame_bound(&mut self) -> Result<FrameBound<'a>> {
        if self.is(kw!("unbounded"))? && (self.is_at(1, kw!("preceding"))? || self.is_at(1, kw!("following"))?) {
            self.next()?;
            if self.eat(kw!("preceding"))? {
                return Ok(FrameBound::First);
            }
            self.next()?;
            return Ok(FrameBound::Last);
        }
        if self.eat_all([kw!("current"), kw!("row")])? {
            return Ok(FrameBound::Current);
        }
        let offset = self.expr_ref()?;
        if self.eat(kw!("preceding"))? {
            return Ok(FrameBound::Preceding(offset));
        }
        self.expect(kw!("following"))?;
        Ok(FrameBound::Following(offset))
    }
}
