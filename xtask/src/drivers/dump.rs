//! Dumps, from here to PostgreSQL and back.
//!
//! ```text
//!   schema.sql -> server A --roles, pg_dump--> PostgreSQL --roles, pg_dump--> server B
//!                    |                             |      -Fc, pg_restore ---> server C, of which --data-only is loaded by A's tables
//!                    `------ rows and \d the same -'------ rows and dump the same --'
//!   createdb -> a database of A's --pg_dump -C--> PostgreSQL --pg_dump -C--> A, where it was dropped with dropdb
//! ```
//!
//! Rules
//! 1. A dump is loaded with `ON_ERROR_STOP`: nothing in it may fail.
//! 2. Rows are compared as `COPY` writes them, in the order of their texts; definitions as psql's `\d` shows them, and as a dump of the copy
//!    spells them.

use super::peer::Peer;
use super::{Address, folder, load, output};
use crate::server_under_test::{Launch, ServerUnderTest};
use crate::{Outcome, tree};
use std::collections::HashSet;
use std::path::Path;

/// Runs all of it.
pub fn run(launch: &Launch<'_>) -> Outcome<String> {
    let dir = tree::scratch("dump")?;
    let (first, own) = start(launch)?;
    load(&own, &folder().join("schema.sql"))?;
    let tables = relations(&own, "r")?;
    let peer = Peer::start(None)?;
    let there = peer.database("copied")?;
    let (roles, dump) = (dir.join("roles.sql"), dir.join("dump.sql"));
    // Here to there.
    dump_roles(&own, &roles)?;
    load(&there, &roles)?;
    dump_into(&own, &["-Fp"], &dump)?;
    load(&there, &dump)?;
    same_rows(&own, &there, &tables)?;
    let described = ["r", "i", "S"];
    same_definitions(&own, &there, &described)?;
    // There to here.
    let (second, back) = start(launch)?;
    let (roles, dump) = (dir.join("roles-back.sql"), dir.join("dump-back.sql"));
    dump_roles(&there, &roles)?;
    load(&back, &roles)?;
    dump_into(&there, &["-Fp"], &dump)?;
    load(&back, &dump)?;
    same_rows(&there, &back, &tables)?;
    same_definitions(&there, &back, &["r", "i", "S", "v"])?;
    let again = dir.join("dump-again.sql");
    dump_into(&back, &["-Fp"], &again)?;
    same_text(&tree::read(&dump)?, &tree::read(&again)?)?;
    // In an archive, with the schema and the rows apart, and rows as statements.
    let (third, parts) = start(launch)?;
    load(&parts, &roles)?;
    for (name, words) in
        [("schema", &["-Fc", "--schema-only"][..]), ("data", &["-Fc", "--data-only", "--disable-triggers"][..])]
    {
        let archive = dir.join(name);
        dump_into(&back, if name == "data" { &words[..2] } else { words }, &archive)?;
        output(parts.client("pg_restore").args(["--exit-on-error", "-d", "postgres"]).arg(&archive))?;
    }
    same_rows(&there, &parts, &tables)?;
    let inserts = dir.join("inserts.sql");
    dump_into(
        &own,
        &["-Fp", "--data-only", "--column-inserts", "-t", "shop.customer", "-t", "public.plain"],
        &inserts,
    )?;
    output(parts.client("psql").args([
        "-X",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-c",
        "TRUNCATE shop.customer, public.plain CASCADE",
    ]))?;
    load(&parts, &inserts)?;
    databases(&own, &there, &dir)?;
    same_rows(&own, &parts, &["shop.customer".to_owned(), "public.plain".to_owned()])?;
    for server in [first, second, third] {
        server.stop()?;
    }
    let _ = std::fs::remove_dir_all(&dir);
    Ok(format!("{} tables", tables.len()))
}

/// A database with what is said of it, here and there and here again. `there` has the roles.
fn databases(own: &Address, there: &Address, dir: &Path) -> Outcome<()> {
    const NAME: &str = "made anew";
    let [home, away] = [own, there].map(|server| Address { port: server.port, database: "postgres".to_owned() });
    let within = |server: &Address| Address { port: server.port, database: NAME.to_owned() };
    let kept = "SELECT pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datcollate, datctype, datconnlimit, datallowconn, datistemplate, \
         (SELECT string_agg(item::text, ' ' ORDER BY item::text) FROM unnest(datacl) item) \
         FROM pg_database WHERE datname = 'made anew'";
    let told = [kept.to_owned(), "\\drds % \"made anew\"".to_owned()];
    output(home.client("createdb").args(["-T", "template0", "-E", "UTF8", NAME, "said of it"]))?;
    for text in [
        "CREATE ROLE caretaker",
        "ALTER DATABASE \"made anew\" OWNER TO caretaker",
        "ALTER DATABASE \"made anew\" CONNECTION LIMIT 7",
        "ALTER DATABASE \"made anew\" SET work_mem TO '8MB'",
        "ALTER ROLE caretaker IN DATABASE \"made anew\" SET work_mem TO '9MB'",
        "REVOKE TEMPORARY ON DATABASE \"made anew\" FROM PUBLIC",
    ] {
        ask(&home, text)?;
    }
    ask(&away, "CREATE ROLE caretaker")?;
    ask(&within(own), "CREATE TABLE kept (a int PRIMARY KEY, b text); INSERT INTO kept VALUES (1, 'x'), (2, NULL)")?;
    let (first, second) = (dir.join("database.sql"), dir.join("database-back.sql"));
    dump_into(&within(own), &["-C"], &first)?;
    load(&away, &first)?;
    let tables = ["public.kept".to_owned()];
    same_rows(&within(own), &within(there), &tables)?;
    same_answers(&home, &away, &told, false)?;
    dump_into(&within(there), &["-C"], &second)?;
    output(home.client("dropdb").arg(NAME))?;
    load(&home, &second)?;
    same_rows(&within(own), &within(there), &tables)?;
    same_answers(&home, &away, &told, false)?;
    let comment = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'made anew'";
    same_answers(&home, &away, &[comment.to_owned()], false)?;
    if !output(home.client("pg_dumpall").arg("--no-comments"))?
        .contains("\\connect -reuse-previous=on \"dbname='made anew'\"")
    {
        return Err("pg_dumpall leaves a database out".to_owned());
    }
    for server in [&home, &away] {
        output(server.client("dropdb").args(["--force", NAME]))?;
        output(server.client("dropdb").args(["--if-exists", NAME]))?;
        ask(server, "DROP ROLE caretaker")?;
    }
    Ok(())
}

pub(super) fn start(launch: &Launch<'_>) -> Outcome<(ServerUnderTest, Address)> {
    let server = ServerUnderTest::start(launch)?;
    let address = Address { port: server.port(), database: "postgres".to_owned() };
    Ok((server, address))
}

pub(super) fn dump_into(from: &Address, words: &[&str], file: &Path) -> Outcome<()> {
    output(from.client("pg_dump").args(words).arg("-f").arg(file)).map(drop)
}

/// The roles, but for the one that every server has.
fn dump_roles(from: &Address, file: &Path) -> Outcome<()> {
    let text = output(from.client("pg_dumpall").arg("--roles-only"))?;
    let is_own = |line: &str| line.ends_with("ROLE postgres;") || line.contains("ROLE postgres ");
    let kept: Vec<&str> = text.lines().filter(|line| !is_own(line)).collect();
    tree::write(file, &kept.join("\n"))
}

pub(super) fn ask(address: &Address, text: &str) -> Outcome<String> {
    output(address.client("psql").args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text]))
}

/// The names of users' relations of a kind, as they have to be spelt.
pub(super) fn relations(address: &Address, kind: &str) -> Outcome<Vec<String>> {
    let text = format!(
        "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind = '{kind}' AND c.oid >= 16384 AND n.nspname !~ '^pg_' ORDER BY 1"
    );
    let names: Vec<String> = ask(address, &text)?.lines().map(str::to_owned).collect();
    if names.is_empty() { Err(format!("no relation of kind {kind}")) } else { Ok(names) }
}

/// What stands between two answers in psql's output.
const MARK: &str = "@@@ next";

/// The answers to several commands, by one psql: starting it costs more than most of them.
fn ask_each(address: &Address, commands: &[String]) -> Outcome<Vec<String>> {
    let mut psql = address.client("psql");
    psql.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
    for command in commands {
        psql.args(["-c", &format!("\\echo {MARK}"), "-c", command]);
    }
    let text = output(&mut psql)?;
    let answers: Vec<String> = text.split(&format!("{MARK}\n")).skip(1).map(str::to_owned).collect();
    match answers.len() == commands.len() {
        true => Ok(answers),
        false => Err(format!("{} answers to {} commands: {text}", answers.len(), commands.len())),
    }
}

/// Compares the answers of two servers to the same commands.
fn same_answers(one: &Address, other: &Address, commands: &[String], sorted: bool) -> Outcome<()> {
    let (here, there) = (ask_each(one, commands)?, ask_each(other, commands)?);
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if sorted {
            lines.sort_unstable();
        }
        lines
    };
    for (command, (here, there)) in commands.iter().zip(here.iter().zip(&there)) {
        let (here, there) = (lines(here), lines(there));
        if here != there {
            let only = |of: &[String], than: &[String]| -> String {
                let known: HashSet<&String> = than.iter().collect();
                let lines = of.iter().filter(|line| !known.contains(line)).take(10).map(String::as_str);
                lines.collect::<Vec<_>>().join("\n")
            };
            return Err(format!(
                "{command}: {} lines in {one:?}, {} in {other:?}; here alone:\n{:.2000}\nthere alone:\n{:.2000}",
                here.len(),
                there.len(),
                only(&here, &there),
                only(&there, &here)
            ));
        }
    }
    Ok(())
}

/// Compares rows, as `COPY` writes them in the order of their texts, and where sequences stand.
pub(super) fn same_rows(one: &Address, other: &Address, tables: &[String]) -> Outcome<()> {
    let rows: Vec<String> = tables.iter().map(|table| format!("COPY (SELECT * FROM {table}) TO STDOUT")).collect();
    same_answers(one, other, &rows, true)?;
    let sequences = "SELECT count(*) FROM pg_class WHERE relkind = 'S' AND oid >= 16384";
    if ask(one, sequences)?.trim() == "0" {
        return Ok(());
    }
    let names = relations(one, "S")?;
    let places: Vec<String> = names.iter().map(|name| format!("SELECT last_value, is_called FROM {name}")).collect();
    same_answers(one, other, &places, false)
}

fn same_definitions(one: &Address, other: &Address, kinds: &[&str]) -> Outcome<()> {
    for kind in kinds {
        let (here, there) = (relations(one, kind)?, relations(other, kind)?);
        if here != there {
            return Err(format!("relations of kind {kind}: {here:?} in {one:?}, {there:?} in {other:?}"));
        }
        let commands: Vec<String> = here.iter().map(|relation| format!("\\d {relation}")).collect();
        same_answers(one, other, &commands, false)?;
    }
    Ok(())
}

/// Two dumps, but for the lines that name versions and hold a word of chance.
pub(super) fn same_text(one: &str, other: &str) -> Outcome<()> {
    let is_told = |line: &&str| {
        !line.starts_with("-- Dumped ") && !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict")
    };
    let (one, other): (Vec<&str>, Vec<&str>) =
        (one.lines().filter(is_told).collect(), other.lines().filter(is_told).collect());
    let at = one.iter().zip(&other).position(|(here, there)| here != there);
    match at {
        None if one.len() == other.len() => Ok(()),
        at => {
            let from = at.unwrap_or(one.len().min(other.len())).saturating_sub(3);
            let part = |lines: &[&str]| lines.iter().skip(from).take(10).copied().collect::<Vec<_>>().join("\n");
            Err(format!("the dump of a copy differs:\n{}\nand\n{}", part(&one), part(&other)))
        }
    }
}
