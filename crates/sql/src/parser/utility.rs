//! Statements that are not planned: transactions, settings, prepared statements, cursors, maintenance, `COPY`.
//!
//! [`Parser::statement`] looks at the first word. What PostgreSQL has and this server has not is recognised by its first
//! words and becomes [`Utility::Unsupported`], so that a user hears `0A000` and not that the text is no SQL.

use super::ast::{
    Copy, CopyOption, DiscardKind, ExplainForm, ExplainOptions, FetchDirection, LookedAfter, Name, ReindexKind,
    SetValue, SettingChange, Statement, TransactionMode, Utility,
};
use super::cursor::{Parser, kw};
use crate::lexer::{TokenKind, literal};
use base::settings::Isolation;
use base::{Error, Result, sqlstate};

impl<'t, 'a> Parser<'t, 'a> {
    /// A whole statement.
    pub(super) fn statement(&mut self) -> Result<Statement<'a>> {
        let tok = self.peek()?;
        if tok.token.kind == TokenKind::ParenOpen {
            return self.with_or_query();
        }
        let utility = match tok.keyword.map_or("", |keyword| keyword.row().word) {
            "select" | "values" | "with" | "table" => return self.with_or_query(),
            "insert" | "update" | "delete" | "merge" => return self.modification(&[], false),
            "begin" | "start" => self.begin()?,
            "commit" | "end" | "rollback" | "abort" => self.finish()?,
            "savepoint" => {
                self.next()?;
                Utility::Savepoint(self.any_name()?)
            }
            "release" => {
                self.next()?;
                self.eat(kw!("savepoint"))?;
                Utility::Release(self.any_name()?)
            }
            "set" => self.set()?,
            "reset" => {
                self.next()?;
                Utility::Reset(self.setting_or_all()?)
            }
            "show" => {
                self.next()?;
                Utility::Show(self.setting_or_all()?)
            }
            "discard" => self.discard()?,
            "prepare" => self.prepare()?,
            "execute" => self.execute()?,
            "deallocate" => {
                self.next()?;
                self.eat(kw!("prepare"))?;
                Utility::Deallocate(self.name_or_all()?)
            }
            "declare" => self.declare()?,
            "fetch" => self.fetch(false)?,
            "move" => self.fetch(true)?,
            "close" => {
                self.next()?;
                Utility::Close(self.name_or_all()?)
            }
            "listen" => {
                self.next()?;
                Utility::Listen(self.name()?)
            }
            "unlisten" => {
                self.next()?;
                let all = self.is_operator("*")?;
                match all {
                    true => self.next().map(|_| Utility::Unlisten(None))?,
                    false => Utility::Unlisten(Some(self.name()?)),
                }
            }
            "notify" => {
                self.next()?;
                let channel = self.name()?;
                let payload = if self.eat_kind(TokenKind::Comma)? { self.string()? } else { "" };
                Utility::Notify { channel, payload }
            }
            "explain" => self.explain()?,
            "create" => self.create()?,
            "drop" => self.drop_object()?,
            "alter" => self.alter()?,
            "truncate" => self.truncate()?,
            "copy" => self.copy()?,
            "vacuum" => self.vacuum()?,
            "analyze" | "analyse" => self.analyze()?,
            "checkpoint" => {
                self.next()?;
                Utility::Checkpoint
            }
            "lock" => self.lock()?,
            "grant" | "revoke" => self.grant()?,
            "call" => self.call_statement()?,
            "do" => self.do_block()?,
            "comment" => self.comment()?,
            "reassign" => self.reassign()?,
            "reindex" => self.reindex()?,
            "cluster" => self.cluster()?,
            word @ ("refresh" | "import" | "security" | "load") => {
                let name = word.to_uppercase();
                self.skip_all()?;
                Utility::Unsupported(self.keep(&name))
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Statement::Utility(self.bump.alloc(utility)))
    }

    /// `REINDEX [(…)] {INDEX | TABLE | SCHEMA | DATABASE | SYSTEM} name`
    fn reindex(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        if self.is_kind(TokenKind::ParenOpen)? {
            while self.next()?.token.kind != TokenKind::ParenClose {
                if self.is(kw!("concurrently"))? {
                    return self.unsupported_statement("REINDEX CONCURRENTLY");
                }
                if self.is_kind(TokenKind::End)? {
                    return Err(self.unexpected());
                }
            }
        }
        let kind = match self.peek()?.keyword.map_or("", |keyword| keyword.row().word) {
            "index" => ReindexKind::Index,
            "table" => ReindexKind::Table,
            "schema" => ReindexKind::Schema,
            "database" => ReindexKind::Database,
            "system" => ReindexKind::System,
            _ => return Err(self.unexpected()),
        };
        self.next()?;
        if self.is(kw!("concurrently"))? {
            return self.unsupported_statement("REINDEX CONCURRENTLY");
        }
        Ok(Utility::Reindex(kind, self.path()?))
    }

    /// `CLUSTER [VERBOSE] [table [USING index]]`, `CLUSTER index ON table`
    fn cluster(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        if self.eat_kind(TokenKind::ParenOpen)? {
            while !self.eat_kind(TokenKind::ParenClose)? {
                if self.next()?.token.kind == TokenKind::End {
                    return Err(self.unexpected());
                }
            }
        }
        self.eat(kw!("verbose"))?;
        if self.is_kind(TokenKind::End)? {
            return Ok(Utility::Cluster(None, None));
        }
        let path = self.path()?;
        if self.eat(kw!("using"))? {
            return Ok(Utility::Cluster(Some(path), Some(self.name()?)));
        }
        if let [index] = path
            && self.eat(kw!("on"))?
        {
            return Ok(Utility::Cluster(Some(self.path()?), Some(*index)));
        }
        Ok(Utility::Cluster(Some(path), None))
    }

    /// Reads over the rest of a statement that is not supported.
    pub(super) fn skip_all(&mut self) -> Result<()> {
        while self.next()?.token.kind != TokenKind::End {}
        Ok(())
    }

    pub(super) fn unsupported_statement(&mut self, words: &str) -> Result<Utility<'a>> {
        self.skip_all()?;
        Ok(Utility::Unsupported(self.keep(words)))
    }

    fn name_or_all(&mut self) -> Result<Option<Name<'a>>> {
        if self.eat(kw!("all"))? { Ok(None) } else { self.any_name().map(Some) }
    }

    // ---- transactions

    fn begin(&mut self) -> Result<Utility<'a>> {
        let is_start = self.next()?.keyword == Some(kw!("start"));
        if is_start {
            self.expect(kw!("transaction"))?;
        } else {
            self.work()?;
        }
        let tag = if is_start { "START TRANSACTION" } else { "BEGIN" };
        Ok(Utility::Begin(self.transaction_modes(false)?, tag))
    }

    fn work(&mut self) -> Result<()> {
        if !self.eat(kw!("work"))? {
            self.eat(kw!("transaction"))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Utility<'a>> {
        let word = self.next()?.keyword;
        let commit = word == Some(kw!("commit")) || word == Some(kw!("end"));
        if self.is(kw!("prepared"))? {
            return self.unsupported_statement(if commit { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" });
        }
        self.work()?;
        if word == Some(kw!("rollback")) && self.eat(kw!("to"))? {
            self.eat(kw!("savepoint"))?;
            return Ok(Utility::RollbackTo(self.any_name()?));
        }
        let mut chain = false;
        if self.eat(kw!("and"))? {
            chain = !self.eat(kw!("no"))?;
            self.expect(kw!("chain"))?;
        }
        Ok(if commit { Utility::Commit { chain } } else { Utility::Rollback { chain } })
    }

    fn transaction_modes(&mut self, required: bool) -> Result<&'a [TransactionMode]> {
        let mut modes = Vec::new();
        loop {
            if self.eat_all([kw!("isolation"), kw!("level")])? {
                modes.push(TransactionMode::Isolation(self.isolation()?));
            } else if self.eat_all([kw!("read"), kw!("only")])? {
                modes.push(TransactionMode::ReadOnly(true));
            } else if self.eat_all([kw!("read"), kw!("write")])? {
                modes.push(TransactionMode::ReadOnly(false));
            } else if self.eat(kw!("deferrable"))? {
                modes.push(TransactionMode::Deferrable(true));
            } else if self.eat_all([kw!("not"), kw!("deferrable")])? {
                modes.push(TransactionMode::Deferrable(false));
            } else if modes.is_empty() && !required {
                break;
            } else {
                return Err(self.unexpected());
            }
            if !self.eat_kind(TokenKind::Comma)? && self.is_kind(TokenKind::End)? {
                break;
            }
        }
        Ok(self.keep_all(&modes))
    }

    fn isolation(&mut self) -> Result<Isolation> {
        if self.eat(kw!("serializable"))? {
            return Ok(Isolation::Serializable);
        }
        if self.eat_all([kw!("repeatable"), kw!("read")])? {
            return Ok(Isolation::RepeatableRead);
        }
        if self.eat_all([kw!("read"), kw!("committed")])? {
            return Ok(Isolation::ReadCommitted);
        }
        if self.eat_all([kw!("read"), kw!("uncommitted")])? {
            return Ok(Isolation::ReadUncommitted);
        }
        Err(self.unexpected())
    }

    // ---- settings

    fn set(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        if self.is(kw!("constraints"))? {
            self.next()?;
            let paths = if self.eat(kw!("all"))? { &[][..] } else { self.paths()? };
            let deferred = self.eat(kw!("deferred"))?;
            if !deferred {
                self.expect(kw!("immediate"))?;
            }
            return Ok(Utility::SetConstraints(paths, deferred));
        }
        if self.eat(kw!("transaction"))? {
            if self.is(kw!("snapshot"))? {
                return self.unsupported_statement("SET TRANSACTION SNAPSHOT");
            }
            return Ok(Utility::SetTransaction(self.transaction_modes(true)?));
        }
        if self.eat_all([kw!("session"), kw!("characteristics"), kw!("as"), kw!("transaction")])? {
            return Ok(Utility::SetCharacteristics(self.transaction_modes(true)?));
        }
        let is_authorization = |parser: &mut Self| parser.is_at(1, kw!("authorization"));
        let local = self.eat(kw!("local"))?;
        if !local && !is_authorization(self)? {
            self.eat(kw!("session"))?;
        }
        if self.is(kw!("session"))? && is_authorization(self)? {
            self.next()?;
            self.next()?;
            return Ok(Utility::Set { local, name: "session_authorization", values: self.set_values()? });
        }
        if self.is(kw!("role"))? && !self.is_at(1, kw!("to"))? && self.peek_at(1)?.token.kind != TokenKind::Operator {
            self.next()?;
            let value = SetValue { text: self.set_value()? };
            return Ok(Utility::Set { local, name: "role", values: Some(self.keep_all(&[value])) });
        }
        let (name, values) = self.setting_assignment()?;
        Ok(Utility::Set { local, name, values })
    }

    /// `SET name TO value`, `SET name FROM CURRENT`, `RESET name`, `RESET ALL`, of what keeps settings.
    pub(super) fn setting_change(&mut self) -> Result<SettingChange<'a>> {
        if self.eat(kw!("reset"))? {
            return Ok(SettingChange::Reset(self.setting_or_all()?));
        }
        self.expect(kw!("set"))?;
        let before = self.mark();
        if let Ok(name) = self.setting_name()
            && self.eat_all([kw!("from"), kw!("current")])?
        {
            return Ok(SettingChange::Current(name));
        }
        self.rewind(before);
        let (name, values) = self.setting_assignment()?;
        Ok(SettingChange::Set(name, values))
    }

    /// `name = value, value`, and SQL's spellings for a few names.
    fn setting_assignment(&mut self) -> Result<(&'a str, Option<&'a [SetValue<'a>]>)> {
        if self.eat_all([kw!("time"), kw!("zone")])? {
            if self.eat(kw!("local"))? {
                return Ok(("timezone", None));
            }
            return Ok(("timezone", self.set_values()?));
        }
        if self.eat(kw!("schema"))? {
            return Ok(("search_path", self.set_values()?));
        }
        if self.eat(kw!("names"))? {
            return Ok(("client_encoding", self.set_values()?));
        }
        if self.is(kw!("xml"))? && self.is_at(1, kw!("option"))? {
            self.next()?;
            self.next()?;
            return Ok(("xmloption", self.set_values()?));
        }
        let name = self.setting_name()?;
        if !self.eat(kw!("to"))? {
            if !self.is_operator("=")? {
                return Err(self.unexpected());
            }
            self.next()?;
        }
        Ok((name, self.set_values()?))
    }

    /// The values of `SET`; none for `DEFAULT`.
    fn set_values(&mut self) -> Result<Option<&'a [SetValue<'a>]>> {
        if self.eat(kw!("default"))? {
            return Ok(None);
        }
        let mut values = Vec::new();
        loop {
            values.push(SetValue { text: self.set_value()? });
            if !self.eat_kind(TokenKind::Comma)? {
                return Ok(Some(self.keep_all(&values)));
            }
        }
    }

    fn set_value(&mut self) -> Result<&'a str> {
        let mut sign = "";
        if self.is_operator("-")? || self.is_operator("+")? {
            sign = if self.is_operator("-")? { "-" } else { "" };
            self.next()?;
            if !matches!(self.peek()?.token.kind, TokenKind::Integer | TokenKind::Decimal) {
                return Err(self.unexpected());
            }
        }
        let tok = self.next()?;
        let text = match tok.token.kind {
            TokenKind::Integer | TokenKind::Decimal => format!("{sign}{}", tok.token.text(self.text())),
            kind if kind.is_string() => literal::string(self.text(), tok.token)?.into_owned(),
            TokenKind::QuotedName | TokenKind::Word
                if Self::may_be_name(tok, |category| category != crate::lexer::keywords::Category::Reserved)
                    || tok.keyword.is_some_and(|word| matches!(word.row().word, "true" | "false" | "on")) =>
            {
                self.name_of(tok).text.to_owned()
            }
            _ => {
                self.back();
                return Err(self.unexpected());
            }
        };
        Ok(self.keep(&text))
    }

    fn setting_name(&mut self) -> Result<&'a str> {
        let mut name = self.name()?.text.to_owned();
        while self.eat_kind(TokenKind::Dot)? {
            name.push('.');
            name.push_str(self.name()?.text);
        }
        Ok(self.keep(&name))
    }

    fn setting_or_all(&mut self) -> Result<Option<&'a str>> {
        if self.eat(kw!("all"))? {
            return Ok(None);
        }
        if self.eat_all([kw!("time"), kw!("zone")])? {
            return Ok(Some("timezone"));
        }
        if self.eat_all([kw!("transaction"), kw!("isolation"), kw!("level")])? {
            return Ok(Some("transaction_isolation"));
        }
        if self.eat_all([kw!("session"), kw!("authorization")])? {
            return Ok(Some("session_authorization"));
        }
        self.setting_name().map(Some)
    }

    /// `ALTER SYSTEM …`, after these words.
    pub(super) fn alter_system(&mut self) -> Result<Utility<'a>> {
        if self.eat(kw!("reset"))? {
            return Ok(Utility::AlterSystem { name: self.setting_or_all()?, values: None });
        }
        self.expect(kw!("set"))?;
        let (name, values) = self.setting_assignment()?;
        Ok(Utility::AlterSystem { name: Some(name), values })
    }

    fn discard(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let kind = match self.peek()?.keyword.map_or("", |keyword| keyword.row().word) {
            "all" => DiscardKind::All,
            "plans" => DiscardKind::Plans,
            "sequences" => DiscardKind::Sequences,
            "temp" | "temporary" => DiscardKind::Temporary,
            _ => return Err(self.unexpected()),
        };
        self.next()?;
        Ok(Utility::Discard(kind))
    }

    // ---- prepared statements and cursors

    /// A statement that another one contains: not a utility statement.
    fn plannable(&mut self) -> Result<&'a Statement<'a>> {
        let statement = if self.starts_query()? { self.with_or_query()? } else { self.modification(&[], false)? };
        Ok(self.bump.alloc(statement))
    }

    fn prepare(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        if self.is(kw!("transaction"))? {
            return self.unsupported_statement("PREPARE TRANSACTION");
        }
        let name = self.any_name()?;
        let mut types = Vec::new();
        if self.eat_kind(TokenKind::ParenOpen)? {
            loop {
                types.push(self.type_name()?);
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        }
        self.expect(kw!("as"))?;
        let body_at = self.at()?;
        let statement = self.plannable()?;
        Ok(Utility::Prepare { name, types: self.keep_all(&types), body_at, statement })
    }

    fn execute(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let name = self.any_name()?;
        let mut arguments: &[_] = &[];
        if self.eat_kind(TokenKind::ParenOpen)? {
            arguments = self.exprs()?;
            self.expect_kind(TokenKind::ParenClose)?;
        }
        Ok(Utility::Execute { name, arguments })
    }

    fn declare(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let name = self.any_name()?;
        let (mut binary, mut insensitive, mut scroll) = (false, false, None);
        loop {
            if self.eat(kw!("binary"))? {
                binary = true;
            } else if self.eat(kw!("scroll"))? {
                scroll = Some(true);
            } else if self.eat_all([kw!("no"), kw!("scroll")])? {
                scroll = Some(false);
            } else if self.eat(kw!("insensitive"))? {
                insensitive = true;
            } else if !self.eat(kw!("asensitive"))? {
                break;
            }
        }
        self.expect(kw!("cursor"))?;
        let hold = self.eat_all([kw!("with"), kw!("hold")])?;
        if !hold {
            self.eat_all([kw!("without"), kw!("hold")])?;
        }
        self.expect(kw!("for"))?;
        let body_at = self.at()?;
        let query = self.query()?;
        Ok(Utility::Declare { name, hold, scroll, binary, insensitive, body_at, query })
    }

    fn fetch(&mut self, discard: bool) -> Result<Utility<'a>> {
        self.next()?;
        let mut direction = FetchDirection::Forward(1);
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        match word {
            "next" => {
                self.next()?;
            }
            "all" => {
                self.next()?;
                direction = FetchDirection::Forward(u64::MAX);
            }
            "forward" | "backward" => {
                self.next()?;
                let count = match self.eat(kw!("all"))? {
                    true => i64::MAX,
                    false => self.fetch_count()?.unwrap_or(1),
                };
                direction = fetched(if word == "forward" { count } else { -count });
                if word == "backward" && count == 0 {
                    direction = FetchDirection::Backward(0);
                }
            }
            "prior" | "first" | "last" => {
                self.next()?;
                direction = match word {
                    "prior" => FetchDirection::Backward(1),
                    "first" => FetchDirection::Absolute(1),
                    _ => FetchDirection::Absolute(-1),
                };
            }
            "absolute" | "relative" => {
                self.next()?;
                let Some(count) = self.fetch_count()? else { return Err(self.unexpected()) };
                direction = match word {
                    "absolute" => FetchDirection::Absolute(count),
                    _ => FetchDirection::Relative(count),
                };
            }
            _ => {
                if let Some(count) = self.fetch_count()? {
                    direction = fetched(count);
                }
            }
        }
        if !self.eat(kw!("from"))? {
            self.eat(kw!("in"))?;
        }
        Ok(Utility::Fetch { name: self.any_name()?, direction, discard })
    }

    /// A number with its sign, if there is one.
    fn fetch_count(&mut self) -> Result<Option<i64>> {
        let negative = self.is_operator("-")?;
        if negative || self.is_operator("+")? {
            self.next()?;
        } else if !self.is_kind(TokenKind::Integer)? {
            return Ok(None);
        }
        let count = i64::from(self.integer()?);
        Ok(Some(if negative { -count } else { count }))
    }

    fn explain(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let mut wanted = ExplainOptions {
            analyze: false,
            costs: true,
            verbose: false,
            buffers: false,
            timing: true,
            summary: false,
            form: ExplainForm::Text,
        };
        let (mut timing, mut summary) = (None, None);
        if self.is_kind(TokenKind::ParenOpen)? && !self.is_query_in_parentheses()? {
            self.next()?;
            loop {
                let tok = self.next()?;
                let name = self.name_of(tok);
                let value = self.option_value()?;
                match name.text {
                    "format" => wanted.form = self.explain_form(value, name)?,
                    "analyze" | "analyse" => wanted.analyze = self.explain_bool(value, name)?,
                    "verbose" => wanted.verbose = self.explain_bool(value, name)?,
                    "costs" => wanted.costs = self.explain_bool(value, name)?,
                    "buffers" => wanted.buffers = self.explain_bool(value, name)?,
                    "timing" => timing = Some(self.explain_bool(value, name)?),
                    "summary" => summary = Some(self.explain_bool(value, name)?),
                    // No setting changes what is planned.
                    "settings" => drop(self.explain_bool(value, name)?),
                    "wal" => {
                        if self.explain_bool(value, name)? {
                            return Err(self.unsupported("EXPLAIN with WAL", name.at));
                        }
                    }
                    other => {
                        let message = format!("unrecognized EXPLAIN option \"{other}\"");
                        return Err(Error::statement(sqlstate::SYNTAX_ERROR, message)
                            .at(crate::lexer::position(self.text(), name.at as usize)));
                    }
                }
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        } else {
            wanted.analyze = self.eat(kw!("analyze"))? || self.eat(kw!("analyse"))?;
            wanted.verbose = self.eat(kw!("verbose"))?;
        }
        if timing == Some(true) && !wanted.analyze {
            let message = "EXPLAIN option TIMING requires ANALYZE";
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        wanted.timing = wanted.analyze && timing.unwrap_or(true);
        wanted.summary = summary.unwrap_or(wanted.analyze);
        self.peek()?;
        let unexpected = self.unexpected();
        let at = self.at()?;
        let statement = self.statement()?;
        let has_plan = match &statement {
            Statement::Utility(Utility::CreateTable(create)) => create.source.is_some(),
            Statement::Utility(utility) => {
                matches!(utility, Utility::Execute { .. } | Utility::Declare { .. } | Utility::Unsupported(_))
            }
            _ => true,
        };
        if !has_plan {
            return Err(unexpected);
        }
        let statement = self.bump.alloc(statement);
        Ok(Utility::Explain { wanted, at, statement })
    }

    fn explain_bool(&self, value: Option<&str>, name: Name<'_>) -> Result<bool> {
        match value.map(str::to_ascii_lowercase).as_deref() {
            None | Some("true" | "on" | "1") => Ok(true),
            Some("false" | "off" | "0") => Ok(false),
            Some(_) => {
                let message = format!("{} requires a Boolean value", name.text);
                Err(Error::statement(sqlstate::SYNTAX_ERROR, message))
            }
        }
    }

    fn explain_form(&self, value: Option<&str>, name: Name<'_>) -> Result<ExplainForm> {
        let Some(value) = value else {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "format requires a parameter"));
        };
        Ok(match value {
            "text" => ExplainForm::Text,
            "json" => ExplainForm::Json,
            "yaml" => ExplainForm::Yaml,
            "xml" => ExplainForm::Xml,
            other => {
                let message = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
                return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
                    .at(crate::lexer::position(self.text(), name.at as usize)));
            }
        })
    }

    /// The value of an option in parentheses, if there is one: a word, a number, a string.
    pub(super) fn option_value(&mut self) -> Result<Option<&'a str>> {
        let kind = self.peek()?.token.kind;
        if matches!(kind, TokenKind::Comma | TokenKind::ParenClose | TokenKind::ParenOpen) || self.is_operator("*")? {
            return Ok(None);
        }
        self.set_value_or_keyword().map(Some)
    }

    fn set_value_or_keyword(&mut self) -> Result<&'a str> {
        let tok = self.peek()?;
        if matches!(tok.token.kind, TokenKind::Word | TokenKind::QuotedName) {
            self.next()?;
            return Ok(self.name_of(tok).text);
        }
        self.set_value()
    }

    // ---- maintenance

    fn truncate(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        self.eat(kw!("table"))?;
        self.eat(kw!("only"))?;
        let mut paths = Vec::new();
        loop {
            paths.push(self.path()?);
            if self.is_operator("*")? {
                self.next()?;
            }
            if !self.eat_kind(TokenKind::Comma)? {
                break;
            }
        }
        let mut restart_identity = false;
        if self.eat_all([kw!("restart"), kw!("identity")])? {
            restart_identity = true;
        } else {
            self.eat_all([kw!("continue"), kw!("identity")])?;
        }
        let cascade = self.cascade()?;
        Ok(Utility::Truncate { paths: self.keep_all(&paths), restart_identity, cascade })
    }

    pub(super) fn cascade(&mut self) -> Result<bool> {
        if self.eat(kw!("cascade"))? {
            return Ok(true);
        }
        self.eat(kw!("restrict"))?;
        Ok(false)
    }

    fn looked_after(&mut self) -> Result<&'a [LookedAfter<'a>]> {
        if self.is_kind(TokenKind::End)? {
            return Ok(&[]);
        }
        let mut tables = Vec::new();
        loop {
            tables.push(LookedAfter { path: self.path()?, columns: self.optional_names()? });
            if !self.eat_kind(TokenKind::Comma)? {
                return Ok(self.keep_all(&tables));
            }
        }
    }

    fn vacuum(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let (mut analyze, mut full, mut verbose) = (false, false, false);
        if self.eat_kind(TokenKind::ParenOpen)? {
            loop {
                let tok = self.next()?;
                let name = self.name_of(tok);
                let value = self.option_value()?;
                let on = value.is_none_or(|value| base::settings::parse_bool(value).unwrap_or(true));
                match name.text {
                    "analyze" | "analyse" => analyze = on,
                    "full" => full = on,
                    "verbose" => verbose = on,
                    "freeze"
                    | "disable_page_skipping"
                    | "skip_locked"
                    | "index_cleanup"
                    | "process_toast"
                    | "truncate"
                    | "parallel" => {}
                    other => {
                        let message = format!("unrecognized VACUUM option \"{other}\"");
                        return Err(Error::statement(sqlstate::SYNTAX_ERROR, message)
                            .at(crate::lexer::position(self.text(), name.at as usize)));
                    }
                }
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        } else {
            full = self.eat(kw!("full"))?;
            self.eat(kw!("freeze"))?;
            verbose = self.eat(kw!("verbose"))?;
            analyze = self.eat(kw!("analyze"))? || self.eat(kw!("analyse"))?;
        }
        Ok(Utility::Vacuum { analyze, full, verbose, tables: self.looked_after()? })
    }

    fn analyze(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let mut verbose = false;
        if self.eat_kind(TokenKind::ParenOpen)? {
            loop {
                let tok = self.next()?;
                let name = self.name_of(tok);
                let value = self.option_value()?;
                match name.text {
                    "verbose" => verbose = value.is_none_or(|value| base::settings::parse_bool(value).unwrap_or(true)),
                    "skip_locked" => {}
                    other => {
                        let message = format!("unrecognized ANALYZE option \"{other}\"");
                        return Err(Error::statement(sqlstate::SYNTAX_ERROR, message)
                            .at(crate::lexer::position(self.text(), name.at as usize)));
                    }
                }
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        } else {
            verbose = self.eat(kw!("verbose"))?;
        }
        Ok(Utility::Analyze { verbose, tables: self.looked_after()? })
    }

    fn lock(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        self.eat(kw!("table"))?;
        self.eat(kw!("only"))?;
        let paths = self.paths()?;
        let mut mode = 8;
        if self.eat(kw!("in"))? {
            mode = match () {
                () if self.eat_all([kw!("access"), kw!("share")])? => 1,
                () if self.eat_all([kw!("row"), kw!("share")])? => 2,
                () if self.eat_all([kw!("row"), kw!("exclusive")])? => 3,
                () if self.eat_all([kw!("share"), kw!("update"), kw!("exclusive")])? => 4,
                () if self.eat_all([kw!("share"), kw!("row"), kw!("exclusive")])? => 6,
                () if self.eat(kw!("share"))? => 5,
                () if self.eat(kw!("exclusive"))? => 7,
                () if self.eat_all([kw!("access"), kw!("exclusive")])? => 8,
                () => return Err(self.unexpected()),
            };
            self.expect(kw!("mode"))?;
        }
        let nowait = self.eat(kw!("nowait"))?;
        Ok(Utility::Lock { paths, mode, nowait })
    }

    // ---- COPY

    fn copy(&mut self) -> Result<Utility<'a>> {
        let at = self.at()?;
        self.next()?;
        let mut copy = Copy {
            path: &[],
            columns: &[],
            query: None,
            from: false,
            file: None,
            program: false,
            options: &[],
            filter: None,
            filter_range: (0, 0),
            at,
        };
        let mut binary = false;
        if self.eat_kind(TokenKind::ParenOpen)? {
            copy.query = Some(self.plannable()?);
            self.expect_kind(TokenKind::ParenClose)?;
        } else {
            binary = self.eat(kw!("binary"))?;
            copy.path = self.path()?;
            copy.columns = self.optional_names()?;
        }
        copy.from = self.eat(kw!("from"))?;
        if !copy.from {
            self.expect(kw!("to"))?;
        } else if copy.query.is_some() {
            self.back();
            return Err(self.unexpected());
        }
        copy.program = self.eat(kw!("program"))?;
        if !self.eat(kw!("stdin"))? && !self.eat(kw!("stdout"))? {
            copy.file = Some(self.string()?);
        }
        let mut options = Vec::new();
        if binary {
            options.push(CopyOption { name: Name { text: "format", at }, value: Some("binary"), list: &[] });
        }
        self.eat(kw!("with"))?;
        if self.eat_kind(TokenKind::ParenOpen)? {
            loop {
                options.push(self.copy_option()?);
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        } else {
            while let Some(option) = self.old_copy_option()? {
                options.push(option);
            }
        }
        copy.options = self.keep_all(&options);
        if copy.from && self.eat(kw!("where"))? {
            let from = self.at()?;
            copy.filter = Some(self.expr_ref()?);
            copy.filter_range = (from, self.last_end());
        }
        Ok(Utility::Copy(self.bump.alloc(copy)))
    }

    fn copy_option(&mut self) -> Result<CopyOption<'a>> {
        let name = self.label()?;
        let value = self.option_value()?;
        let mut list: &[Name<'a>] = &[];
        if value.is_none() && self.is_kind(TokenKind::ParenOpen)? {
            list = self.names_in_parentheses()?;
        } else if self.is_operator("*")? {
            self.next()?;
            return Ok(CopyOption { name, value: Some("*"), list });
        }
        Ok(CopyOption { name, value, list })
    }

    /// An option without parentheses, as before PostgreSQL 9.
    fn old_copy_option(&mut self) -> Result<Option<CopyOption<'a>>> {
        let at = self.at()?;
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        let option = |text, value| Some(CopyOption { name: Name { text, at }, value, list: &[] });
        match word {
            "binary" | "csv" => {
                self.next()?;
                Ok(option("format", Some(if word == "csv" { "csv" } else { "binary" })))
            }
            "header" | "freeze" => {
                self.next()?;
                Ok(option(if word == "header" { "header" } else { "freeze" }, None))
            }
            "delimiter" | "null" | "quote" | "escape" | "encoding" => {
                self.next()?;
                self.eat(kw!("as"))?;
                let value = self.string()?;
                let name = self.keep(word);
                Ok(Some(CopyOption { name: Name { text: name, at }, value: Some(value), list: &[] }))
            }
            "force" => {
                self.next()?;
                let name = if self.eat(kw!("quote"))? {
                    "force_quote"
                } else if self.eat(kw!("not"))? {
                    self.expect(kw!("null"))?;
                    "force_not_null"
                } else {
                    self.expect(kw!("null"))?;
                    "force_null"
                };
                if name == "force_quote" && self.is_operator("*")? {
                    self.next()?;
                    return Ok(option(name, Some("*")));
                }
                let list = self.names()?;
                Ok(Some(CopyOption { name: Name { text: name, at }, value: None, list }))
            }
            _ => Ok(None),
        }
    }
}

/// So many rows, in the direction of their sign; the largest number is for all.
pub(crate) fn fetched(count: i64) -> FetchDirection {
    let many = |count: u64| if count >= i64::MAX as u64 { u64::MAX } else { count };
    match count {
        0.. => FetchDirection::Forward(many(count as u64)),
        _ => FetchDirection::Backward(many(count.unsigned_abs())),
    }
}
