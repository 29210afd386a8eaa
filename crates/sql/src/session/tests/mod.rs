//! Whole statements through a session: texts in, rows and errors out.
//!
//! `queries.txt` holds statements with PostgreSQL 15's answers, one block each; what differs on purpose is in `own.txt`.

use super::*;
use crate::session::extended::{Parameter, Target};
use allocator_api2::alloc::Global;
use base::settings::{Layers, Machine, MessageLevel};
use base::sqlstate;

/// Answers as text: names of columns, rows, tags, notices.
#[derive(Default)]
pub(super) struct Printed {
    pub(super) text: String,
    row: Vec<u8>,
    values: usize,
    pub(super) binary: bool,
    pub(super) tags: bool,
    /// Where the answers of finished statements end.
    done: usize,
    copied: Vec<Vec<u8>>,
}

impl Printed {
    fn separate(&mut self) {
        if self.values > 0 {
            self.row.push(b'|');
        }
        self.values += 1;
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

impl Output for Printed {
    fn columns<'c>(&mut self, columns: impl Iterator<Item = Column<'c>>) {
        let names: Vec<_> = columns.map(|column| column.name.to_owned()).collect();
        self.line(&names.join("|"));
    }

    fn begin_row(&mut self) {
        self.row.clear();
        self.values = 0;
    }

    fn null(&mut self) {
        self.separate();
        self.row.extend_from_slice("∅".as_bytes());
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.separate();
        let start = self.row.len();
        write(&mut self.row)?;
        if self.binary {
            let hex: String = self.row[start..].iter().map(|byte| format!("{byte:02x}")).collect();
            self.row.truncate(start);
            self.row.extend_from_slice(hex.as_bytes());
        }
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        let row = String::from_utf8_lossy(&self.row).into_owned();
        self.line(&row);
        Ok(())
    }

    fn abandon_row(&mut self) {}

    fn complete(&mut self, tag: Tag) {
        if self.tags {
            match tag {
                Tag::Rows(words, rows) => self.line(&format!("-- {words} {rows}")),
                Tag::Words(words) => self.line(&format!("-- {words}")),
            }
        }
        self.done = self.text.len();
    }

    fn empty_query(&mut self) {
        self.line("-- empty");
    }

    fn suspended(&mut self) {
        self.line("-- suspended");
    }

    fn notice(&mut self, level: MessageLevel, message: &Error) {
        let level = level.word().to_uppercase();
        self.line(&format!("{level} {} {}", message.sqlstate(), message.message()));
        self.done = self.text.len();
    }

    fn copy_in(&mut self, _: CopyFormat, _: usize) -> Result<()> {
        Ok(())
    }

    fn copied(&mut self, take: impl FnOnce(&[u8]) -> Result<()>) -> Result<bool> {
        match self.copied.pop() {
            Some(piece) => take(&piece).map(|()| true),
            None => Ok(false),
        }
    }

    fn copy_out(&mut self, _: CopyFormat, _: usize) {}

    fn copy_row(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.row.clear();
        write(&mut self.row)?;
        self.text.push_str(&String::from_utf8_lossy(&self.row));
        Ok(())
    }

    fn copy_done(&mut self) {}
}

/// A database and its settings, for tests.
pub(super) struct Bench {
    database: Database,
    effective: Effective,
}

impl Bench {
    pub(super) fn new() -> Bench {
        let machine = Machine { cpus: 2, memory_bytes: 1 << 30 };
        let effective = Layers::new().effective(machine).unwrap();
        Bench { database: Database::new(Catalogs::new(), 0), effective }
    }

    pub(super) fn env(&self) -> Environment<'_> {
        let (database, effective) = (&self.database, &self.effective);
        Environment { database, effective, session: None, number: 42, server: &NoServer, transitions: &[] }
    }

    pub(super) fn session(&self) -> Session<Global> {
        Session::new(Global, "postgres", (crate::catalog::database::POSTGRES, "postgres"), 1).unwrap()
    }

    /// The answer to a text.
    pub(super) fn ask(&self, session: &mut Session<Global>, text: &str) -> String {
        let mut out = Printed::default();
        self.ask_into(session, text, &mut out);
        out.text
    }

    pub(super) fn ask_into(&self, session: &mut Session<Global>, text: &str, out: &mut Printed) {
        out.done = 0;
        if let Err(error) = session.simple_query(&self.env(), text, out) {
            // As psql does: of a statement that fails nothing is shown.
            out.text.truncate(out.done);
            out.text.push_str(&shown(&error));
        }
    }
}

pub(super) fn shown(error: &Error) -> String {
    format!("ERROR {} {}\n", error.sqlstate(), error.message())
}

/// Blocks of a file: a statement, a line of three hyphens, the answer; an empty line between blocks.
fn blocks(file: &str) -> impl Iterator<Item = (&str, String)> {
    file.split("\n\n")
        .map(|block| block.trim_matches('\n'))
        .filter(|block| !block.is_empty() && !block.starts_with('#'))
        .map(|block| {
            let (text, answer) = block.split_once("\n---").unwrap_or((block, ""));
            let answer = answer.trim_start_matches('\n');
            let answer = if answer.is_empty() { String::new() } else { format!("{answer}\n") };
            (text, answer)
        })
}

fn check(file: &str, literals: bool) {
    let bench = Bench::new();
    let mut wrong = String::new();
    let mut count = 0;
    for (text, expected) in blocks(file) {
        count += 1;
        let mut session = bench.session();
        if !literals {
            bench.ask(&mut session, "set literal_autoparam = off");
        }
        let found = bench.ask(&mut session, text);
        if found != expected {
            wrong.push_str(&format!("{text}\n--- expected\n{expected}--- found\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 0);
}

#[test]
fn answers_are_postgresqls() {
    check(include_str!("queries.txt"), true);
}

#[test]
fn answers_are_the_same_with_literals_in_place() {
    check(include_str!("queries.txt"), false);
}

#[test]
fn answers_of_our_own() {
    check(include_str!("own.txt"), true);
}

#[test]
fn transaction_blocks_fail_and_end_as_postgresqls() {
    let bench = Bench::new();
    let mut session = bench.session();
    let mut out = Printed { tags: true, ..Printed::default() };
    for (text, expected, block) in [
        ("begin", "-- BEGIN\n", Block::Open),
        ("begin", "WARNING 25001 there is already a transaction in progress\n-- BEGIN\n", Block::Open),
        ("select 1/0", "ERROR 22012 division by zero\n", Block::Failed),
        (
            "select 1",
            "ERROR 25P02 current transaction is aborted, commands ignored until end of transaction block\n",
            Block::Failed,
        ),
        (
            "set work_mem = '1MB'",
            "ERROR 25P02 current transaction is aborted, commands ignored until end of transaction block\n",
            Block::Failed,
        ),
        ("commit", "-- ROLLBACK\n", Block::Idle),
        ("commit", "WARNING 25P01 there is no transaction in progress\n-- COMMIT\n", Block::Idle),
        ("begin isolation level serializable", "ERROR 0A000 SERIALIZABLE is not supported yet\n", Block::Failed),
        ("rollback", "-- ROLLBACK\n", Block::Idle),
        ("begin; select 1; commit", "-- BEGIN\n?column?\n1\n-- SELECT 1\n-- COMMIT\n", Block::Idle),
        ("select 1; begin; select 2", "?column?\n1\n-- SELECT 1\n-- BEGIN\n?column?\n2\n-- SELECT 1\n", Block::Open),
        ("rollback and chain", "-- ROLLBACK\n", Block::Open),
        ("end", "-- COMMIT\n", Block::Idle),
        ("", "-- empty\n", Block::Idle),
        (" ; -- nothing\n ;", "-- empty\n", Block::Idle),
        (
            "begin isolation level repeatable read; show transaction_isolation",
            "-- BEGIN\ntransaction_isolation\nrepeatable read\n-- SHOW\n",
            Block::Open,
        ),
        (
            "select 1; set transaction isolation level read committed",
            "?column?\n1\n-- SELECT 1\nERROR 25001 SET TRANSACTION ISOLATION LEVEL must be called before any query\n",
            Block::Failed,
        ),
        ("rollback", "-- ROLLBACK\n", Block::Idle),
    ] {
        out.text.clear();
        bench.ask_into(&mut session, text, &mut out);
        assert_eq!((out.text.as_str(), session.block()), (expected, block), "{text}");
    }
}

#[test]
fn settings_end_with_their_transaction_or_stay() {
    let bench = Bench::new();
    let mut session = bench.session();
    session.set_at_start(&bench.env(), "work_mem", "3MB").unwrap();
    for (text, expected) in [
        ("show work_mem", "work_mem\n3MB\n"),
        ("begin; set work_mem = '5MB'; rollback; show work_mem", "work_mem\n3MB\n"),
        ("begin; set work_mem = '5MB'; set local work_mem = '6MB'; show work_mem", "work_mem\n6MB\n"),
        ("commit; show work_mem", "work_mem\n5MB\n"),
        ("begin; set local work_mem = '7MB'; commit; show work_mem", "work_mem\n5MB\n"),
        (
            "begin; set local work_mem = '7MB'; set work_mem = '8MB'; set local work_mem = '9MB'; commit; show work_mem",
            "work_mem\n8MB\n",
        ),
        ("set work_mem = '4MB'; select 1/0", "ERROR 22012 division by zero\n"),
        ("show work_mem", "work_mem\n8MB\n"),
        ("reset work_mem; show work_mem", "work_mem\n3MB\n"),
        ("set work_mem to default; show work_mem", "work_mem\n3MB\n"),
        ("set search_path = a, \"B c\"; show search_path", "search_path\na, \"B c\"\n"),
        ("reset all; show search_path", "search_path\n\"$user\", public\n"),
        ("set local work_mem = '1MB'", "WARNING 25P01 SET LOCAL can only be used in transaction blocks\n"),
        ("select set_config('work_mem', '2MB', false); show work_mem", "set_config\n2MB\nwork_mem\n2MB\n"),
        ("set timezone = 'Nowhere/Land'", "ERROR 22023 invalid value for parameter \"TimeZone\": \"Nowhere/Land\"\n"),
        ("set nothing = 1", "ERROR 42704 unrecognized configuration parameter \"nothing\"\n"),
    ] {
        assert_eq!(bench.ask(&mut session, text), expected, "{text}");
    }
    let mut told = Vec::new();
    bench.ask(&mut session, "set timezone = 'Europe/Berlin'; set application_name = 'x'; set work_mem = '1MB'");
    session.take_reports(&bench.env(), |name, value| told.push(format!("{name}={value}")));
    assert_eq!(told, ["TimeZone=Europe/Berlin", "application_name=x"]);
    session.take_reports(&bench.env(), |_, _| panic!("told twice"));
}

/// The extended protocol, step by step.
struct Extended<'b> {
    bench: &'b Bench,
    session: Session<Global>,
    out: Printed,
}

impl Extended<'_> {
    fn step(
        &mut self,
        step: impl FnOnce(&mut Session<Global>, &Environment<'_>, &mut Printed) -> Result<()>,
    ) -> String {
        self.out.text.clear();
        if let Err(error) = step(&mut self.session, &self.bench.env(), &mut self.out) {
            self.out.text.push_str(&shown(&error));
        }
        self.out.text.clone()
    }

    fn parse(&mut self, name: &str, text: &str, types: &[u32]) -> String {
        self.step(|session, env, _| session.parse(env, name, text, types))
    }

    fn bind(&mut self, portal: &str, statement: &str, values: &[Option<&str>]) -> String {
        let values: Vec<Parameter<'_>> = values.iter().map(|value| (value.map(str::as_bytes), Format::Text)).collect();
        self.step(|session, env, _| {
            session.bind(
                env,
                portal,
                statement,
                values.into_iter(),
                std::iter::empty::<Format>().collect::<Vec<_>>().into_iter(),
            )
        })
    }

    fn describe(&mut self, target: Target<'_>) -> String {
        self.step(|session, env, out| {
            let found =
                session.describe(env, target, |out: &mut Printed, types| out.line(&format!("{types:?}")), out)?;
            if !found {
                out.line("no data");
            }
            Ok(())
        })
    }

    fn execute(&mut self, portal: &str, most: u64) -> String {
        self.step(|session, env, out| session.execute(env, portal, most, out))
    }
}

#[test]
fn statements_are_prepared_bound_and_executed() {
    let bench = Bench::new();
    let mut client =
        Extended { bench: &bench, session: bench.session(), out: Printed { tags: true, ..Printed::default() } };
    assert_eq!(client.parse("s", "select $1 + 1 as n, $2", &[]), "");
    assert_eq!(client.describe(Target::Statement("s")), "[23, 25]\nn|?column?\n");
    assert_eq!(client.bind("", "s", &[Some("41"), None]), "");
    assert_eq!(client.describe(Target::Portal("")), "n|?column?\n");
    assert_eq!(client.execute("", 0), "42|∅\n-- SELECT 1\n");
    assert_eq!(client.execute("", 0), "-- SELECT 0\n");
    assert_eq!(client.bind("", "s", &[Some("x"), None]), "ERROR 22P02 invalid input syntax for type integer: \"x\"\n");
    assert_eq!(
        client.bind("", "s", &[Some("1")]),
        "ERROR 08P01 bind message supplies 1 parameters, but prepared statement \"s\" requires 2\n"
    );
    assert_eq!(client.bind("", "t", &[]), "ERROR 26000 prepared statement \"t\" does not exist\n");
    assert_eq!(client.execute("p", 0), "ERROR 34000 portal \"p\" does not exist\n");
    assert_eq!(client.parse("s", "select 1", &[]), "ERROR 42P05 prepared statement \"s\" already exists\n");
    assert_eq!(client.parse("u", "select $1", &[]), "");
    assert_eq!(client.describe(Target::Statement("u")), "[25]\n?column?\n");
    assert_eq!(client.parse("v", "select $2::int", &[]), "ERROR 42P18 could not determine data type of parameter $1\n");
    assert_eq!(client.parse("w", "select $1", &[20]), "");
    assert_eq!(client.describe(Target::Statement("w")), "[20]\n?column?\n");
    assert_eq!(
        client.parse("x", "select 1; select 2", &[]),
        "ERROR 42601 cannot insert multiple commands into a prepared statement\n"
    );
    assert_eq!(client.parse("", "", &[]), "");
    assert_eq!(client.bind("", "", &[]), "");
    assert_eq!(client.describe(Target::Statement("")), "[]\nno data\n");
    assert_eq!(client.execute("", 0), "-- empty\n");
    assert_eq!(client.parse("show", "show work_mem", &[]), "");
    assert_eq!(client.describe(Target::Statement("show")), "[]\nwork_mem\n");
    assert_eq!(client.bind("", "show", &[]), "");
    assert_eq!(client.execute("", 0), "4MB\n-- SHOW\n");
}

#[test]
fn a_portal_goes_on_where_it_stopped() {
    let bench = Bench::new();
    let mut client =
        Extended { bench: &bench, session: bench.session(), out: Printed { tags: true, ..Printed::default() } };
    client.step(|session, env, out| session.simple_query(env, "begin", out));
    assert_eq!(client.parse("", "select g, 'x' || g from generate_series(1, 5) g", &[]), "");
    assert_eq!(client.bind("p", "", &[]), "");
    assert_eq!(client.execute("p", 2), "1|x1\n2|x2\n-- suspended\n");
    // The statement goes; the portal stays.
    assert_eq!(client.parse("", "select 1", &[]), "");
    assert_eq!(client.execute("p", 2), "3|x3\n4|x4\n-- suspended\n");
    assert_eq!(client.execute("p", 2), "5|x5\n-- SELECT 1\n");
    assert_eq!(client.execute("p", 2), "-- SELECT 0\n");
    client.step(|session, env, out| session.sync(env, out));
    client.step(|session, env, out| session.simple_query(env, "commit", out));
    assert_eq!(client.execute("p", 0), "ERROR 34000 portal \"p\" does not exist\n");
    assert_eq!(client.session.plans.count(), 0, "a simple query forgets the unnamed statement, too");
}

#[test]
fn an_execute_of_sql_does_not_end_the_transaction_before_sync() {
    let bench = Bench::new();
    let mut client =
        Extended { bench: &bench, session: bench.session(), out: Printed { tags: true, ..Printed::default() } };
    client.step(|session, env, out| session.simple_query(env, "prepare q as select 7", out));
    assert_eq!(client.parse("s", "select g from generate_series(1, 2) g", &[]), "");
    assert_eq!(client.bind("p", "s", &[]), "");
    assert_eq!(client.execute("p", 1), "1\n-- suspended\n");
    assert_eq!(client.parse("e", "execute q", &[]), "");
    assert_eq!(client.bind("", "e", &[]), "");
    assert_eq!(client.execute("", 0), "7\n-- SELECT 1\n");
    // The portal would be gone with its transaction.
    assert_eq!(client.execute("p", 1), "2\n-- suspended\n");
    client.step(|session, env, out| session.sync(env, out));
    assert_eq!(client.execute("p", 1), "ERROR 34000 portal \"p\" does not exist\n");
}

#[test]
fn values_are_sent_and_read_in_binary() {
    let bench = Bench::new();
    let mut session = bench.session();
    let env = bench.env();
    session.parse(&env, "", "select $1::int4, $2::text, $3::int8, true", &[]).unwrap();
    let values: Vec<Parameter<'_>> =
        vec![(Some(&[0, 0, 1, 2]), Format::Binary), (Some(b"ab"), Format::Text), (Some(&[0xFF; 8]), Format::Binary)];
    session.bind(&env, "", "", values.into_iter(), [Format::Binary].into_iter()).unwrap();
    let mut out = Printed { binary: true, ..Printed::default() };
    session.execute(&env, "", 0, &mut out).unwrap();
    assert_eq!(out.text, "00000102|6162|ffffffffffffffff|01\n");
    session.parse(&env, "", "select $1::int4", &[]).unwrap();
    let short: Vec<Parameter<'_>> = vec![(Some(&[0, 1]), Format::Binary)];
    let error =
        session.bind(&env, "", "", short.into_iter(), std::iter::empty::<Format>().collect::<Vec<_>>().into_iter());
    assert!(error.is_err());
}

#[test]
fn cursors_and_prepared_statements_of_sql() {
    let bench = Bench::new();
    let mut session = bench.session();
    let mut out = Printed { tags: true, ..Printed::default() };
    for (text, expected) in [
        (
            "prepare p(int, text) as select $1 * 2 as d, $2 as t where $1 > 0; execute p(21, 'x')",
            "-- PREPARE\nd|t\n42|x\n-- SELECT 1\n",
        ),
        ("execute p(1)", "ERROR 42601 wrong number of parameters for prepared statement \"p\"\n"),
        ("execute q", "ERROR 26000 prepared statement \"q\" does not exist\n"),
        ("deallocate p; execute p(1, 'x')", "-- DEALLOCATE\nERROR 26000 prepared statement \"p\" does not exist\n"),
        ("declare c cursor for select 1", "ERROR 25P01 DECLARE CURSOR can only be used in transaction blocks\n"),
        (
            "begin; declare c cursor for select * from generate_series(1, 4); fetch 2 from c; move c; fetch all in c; close c; commit",
            "-- BEGIN\n-- DECLARE CURSOR\ngenerate_series\n1\n2\n-- FETCH 2\n-- MOVE 1\ngenerate_series\n4\n-- FETCH 1\n-- CLOSE CURSOR\n-- COMMIT\n",
        ),
        (
            "begin; declare h cursor with hold for select 7 as s; commit; fetch h; close h",
            "-- BEGIN\n-- DECLARE CURSOR\n-- COMMIT\ns\n7\n-- FETCH 1\n-- CLOSE CURSOR\n",
        ),
        ("fetch h", "ERROR 34000 cursor \"h\" does not exist\n"),
    ] {
        out.text.clear();
        bench.ask_into(&mut session, text, &mut out);
        assert_eq!(out.text, expected, "{text}");
    }
    assert_eq!(session.plans.count(), 0, "no plan is left behind");
}

#[test]
fn what_is_not_there_yet_is_refused_with_a_hint() {
    let bench = Bench::new();
    for text in [
        "create table t (a int)",
        "create type v as enum ('a')",
        "copy t from stdin",
        "vacuum",
        "listen x",
        "notify x",
        "insert into pg_class values (1)",
        "with recursive a as (select * from b), b as (select 1) select * from a",
        "select generate_series(1, 2) + 1, count(*)",
        "select generate_series(1, 2), row_number() over ()",
    ] {
        let mut session = bench.session();
        let error = session.simple_query(&bench.env(), text, &mut NoData::default()).expect_err(text);
        let code = error.sqlstate();
        assert!(
            code == sqlstate::FEATURE_NOT_SUPPORTED || code == sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "{text}: {error}"
        );
    }
}

#[test]
fn deep_statements_are_refused_and_do_not_overflow() {
    let bench = Bench::new();
    for text in [
        format!("select {}1{}", "(select ".repeat(5000), ")".repeat(5000)),
        format!("select {}1", "1 + ".repeat(20_000)),
        format!("select * from {}generate_series(1, 2) x{}", "(select * from ".repeat(120), ") x".repeat(120)),
        format!("select {}1{}", "(select ".repeat(120), ")".repeat(120)),
        format!("select 1 where {}true", "1 = 1 and ".repeat(20_000)),
        format!("select 1{}", " union select 1".repeat(2_000)),
        format!("select 1 in ({}1)", "2, ".repeat(10_000)),
    ] {
        let mut session = bench.session();
        if let Err(error) = session.simple_query(&bench.env(), &text, &mut NoData::default()) {
            assert_eq!(error.sqlstate(), sqlstate::STATEMENT_TOO_COMPLEX, "{}", &text[..30]);
        }
    }
}
