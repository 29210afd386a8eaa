// node-postgres: what its users do with a server. Ends with an error at the first difference.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import Cursor from "pg-cursor";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";

let checks = 0;
function same(found, expected, what) {
  checks += 1;
  assert.deepEqual(found, expected, `node-postgres: ${what}`);
}
async function fails(code, work, what) {
  checks += 1;
  try {
    await work();
  } catch (error) {
    assert.equal(error.code, code, `node-postgres: ${what}: ${error.message}`);
    return error;
  }
  assert.fail(`node-postgres: ${what} does not fail`);
}

// PGHOST and the others are in the environment.
const client = new pg.Client({ connectionTimeoutMillis: 10000 });
await client.connect();
await client.query("DROP SCHEMA IF EXISTS client_node CASCADE");
await client.query("CREATE SCHEMA client_node");
await client.query("SET search_path = client_node");

// Types. The driver sends and reads texts, but for bytes, which it sends in binary.
const values = [
  ["boolean", true],
  ["smallint", -32768],
  ["integer", 2147483647],
  ["bigint", "-9223372036854775808"],
  ["real", 1.5],
  ["double precision", 0.1],
  ["text", "ünï©ode 漢字 \\ ' \" \t\n"],
  ["varchar(20)", ""],
  ["bytea", Buffer.from([0, 1, 254, 255])],
  ["timestamptz", new Date("2024-03-31T01:00:00.123Z")],
  ["uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
  ["text", null],
];
const text = [
  ["numeric", "-12345678901234567890.0123456789"],
  ["integer[]", [1, null, -3]],
  ["text[]", ["a", "b c", null, '"', "NULL", ""]],
  ["jsonb", { a: [1, null, "x"] }],
  ["json", { b: 2.5 }],
  ["date", new Date(2024, 1, 29)],
];
for (const [type, value] of [...values, ...text]) {
  same((await client.query(`SELECT $1::${type} AS v`, [value])).rows[0].v, value, type);
}
const interval = (await client.query("SELECT '1 year 2 mons -3 days 04:05:06.5'::interval AS v")).rows[0].v;
same({ ...interval }, { years: 1, months: 2, days: -3, hours: 4, minutes: 5, seconds: 6, milliseconds: 500 }, "interval");

// Statements: several in one text, prepared ones, counts, rows as arrays, fields.
const several = await client.query("CREATE TABLE t (id serial PRIMARY KEY, a integer UNIQUE, b text NOT NULL); SELECT 1 AS one; SELECT 2 AS two");
same(several.map((result) => [result.command, result.rowCount]), [["CREATE", null], ["SELECT", 1], ["SELECT", 1]], "several statements");
for (let i = 0; i < 50; i += 1) {
  const named = { name: "add", text: "INSERT INTO t (a, b) VALUES ($1, $2) RETURNING id", values: [i, `row ${i}`] };
  same((await client.query(named)).rows, [{ id: i + 1 }], "a named statement");
}
const wide = await client.query({ text: "SELECT a, b, a AS a FROM t WHERE a < $1 ORDER BY a", values: [2], rowMode: "array" });
same(wide.rows, [[0, "row 0", 0], [1, "row 1", 1]], "rows as arrays");
same(wide.fields.map((field) => [field.name, field.dataTypeID]), [["a", 23], ["b", 25], ["a", 23]], "fields");
same((await client.query("UPDATE t SET b = b || '!' WHERE a < 10")).rowCount, 10, "a count");
same((await client.query("SELECT FROM t WHERE false")).rows, [], "no rows");
same((await client.query("")).command, null, "an empty text");
const many = await Promise.all(Array.from({ length: 20 }, (_, i) => client.query("SELECT $1::int AS v", [i])));
same(many.map((result) => result.rows[0].v), Array.from({ length: 20 }, (_, i) => i), "queries in a row");

// A portal, some rows at a time.
const cursor = client.query(new Cursor("SELECT a FROM t WHERE a >= $1 ORDER BY a", [0]));
const sizes = [];
let read = await cursor.read(7);
while (read.length > 0) {
  sizes.push(read.length);
  read = await cursor.read(7);
}
same(sizes, [7, 7, 7, 7, 7, 7, 7, 1], "a cursor's parts");
await cursor.close();
const early = client.query(new Cursor("SELECT a FROM t ORDER BY a"));
same(await early.read(1), [{ a: 0 }], "the first row");
await early.close();

// Transactions and errors.
await client.query("BEGIN");
await client.query("DELETE FROM t");
await client.query("ROLLBACK");
same((await client.query("SELECT count(*)::int AS n FROM t")).rows[0].n, 50, "nothing is lost");
const unique = await fails("23505", () => client.query("INSERT INTO t (a, b) VALUES (3, 'x')"), "a value twice");
same([unique.table, unique.constraint, unique.schema, unique.detail], ["t", "t_a_key", "client_node", "Key (a)=(3) already exists."], "an error's fields");
const syntax = await fails("42601", () => client.query("SELEC 1"), "a syntax error");
same(syntax.position, "1", "its place");
await client.query("BEGIN");
await fails("22012", () => client.query("SELECT 1 / $1::int", [0]), "a division");
await fails("25P02", () => client.query("SELECT 1"), "a failed transaction");
await client.query("ROLLBACK");
await fails("22P02", () => client.query("SELECT $1::int", ["x"]), "no number");
await fails("08P01", () => client.query("SELECT $1::int, $2::int", [1]), "too few values");

// COPY.
await client.query("CREATE TABLE copied (a integer, b text)");
const into = client.query(copyFrom("COPY copied FROM STDIN"));
await pipeline(Readable.from(Array.from({ length: 1000 }, (_, i) => `${i}\trow\\t${i}\n`)), into);
same(into.rowCount, 1000, "rows that were copied");
const out = client.query(copyTo("COPY (SELECT * FROM copied WHERE a < 2 ORDER BY a) TO STDOUT WITH (FORMAT csv)"));
let copied = "";
for await (const part of out) copied += part;
same(copied, "0,row\t0\n1,row\t1\n", "COPY TO");
await fails("22P02", () => pipeline(Readable.from(["x\ty\n"]), client.query(copyFrom("COPY copied FROM STDIN"))), "a wrong row");

// What the server tells on its own: notices, its end of a session, cancelling.
const noticed = once(client, "notice");
await client.query("DROP TABLE IF EXISTS nothing");
same((await noticed)[0].message, 'table "nothing" does not exist, skipping', "a notice");
const other = new pg.Client();
await other.connect();
const { pid } = (await other.query("SELECT pg_backend_pid() AS pid")).rows[0];
const sleeping = fails("57014", () => other.query("SELECT pg_sleep(30)"), "a cancelled statement");
await new Promise((resolve) => setTimeout(resolve, 200));
same((await client.query("SELECT pg_cancel_backend($1) AS done", [pid])).rows[0].done, true, "a cancel");
await sleeping;
const ends = [];
other.on("error", (error) => ends.push(error.code));
const ended = new Promise((resolve) => other.once("end", resolve));
await client.query("SELECT pg_terminate_backend($1)", [pid]);
await ended;
same(ends[0], "57P01", "an administrator's end");

// Notifications: to a session that waits, with a statement's end, and none of what is rolled back.
const heard = [];
client.on("notification", (told) => heard.push([told.channel, told.payload]));
const speaker = new pg.Client();
await speaker.connect();
await client.query('LISTEN node_one; LISTEN "Node Two"');
const told = once(client, "notification", { signal: AbortSignal.timeout(10000) });
await speaker.query("NOTIFY node_one, 'idle'");
same((await told)[0].processId, speaker.processID, "who sent it");
same(heard, [["node_one", "idle"]], "a notification to who waits");
await client.query("BEGIN");
for (const payload of ["a", "b", "a"]) await client.query("SELECT pg_notify('Node Two', $1)", [payload]);
same(heard.length, 1, "nothing before the commit");
await client.query("COMMIT");
await client.query("SELECT 1");
same(heard.slice(1), [["Node Two", "a"], ["Node Two", "b"]], "each once, in order");
await speaker.query("BEGIN; NOTIFY node_one, 'lost'; ROLLBACK");
await client.query("UNLISTEN *");
await speaker.query("NOTIFY node_one, 'late'");
await client.query("SELECT 1");
same(heard.length, 3, "neither what was rolled back nor what nobody listens to");
await speaker.end();

// A plan as a value of JSON, and a cursor that goes both ways.
const plan = (await client.query("EXPLAIN (FORMAT JSON) SELECT * FROM t WHERE id = 1")).rows[0]["QUERY PLAN"];
same(plan[0].Plan["Relation Name"], "t", "a plan");
await client.query("BEGIN; DECLARE walk SCROLL CURSOR FOR SELECT a FROM t ORDER BY a");
const seen = [];
for (const where of ["LAST", "PRIOR", "FIRST", "RELATIVE 4", "ABSOLUTE -3"]) {
  seen.push((await client.query(`FETCH ${where} FROM walk`)).rows[0].a);
}
same(seen, [49, 48, 0, 4, 47], "a cursor that goes both ways");
await client.query("COMMIT");

// Encryption: the certificate's name and its authority have to be right.
const encrypted = async (authority, name) => {
  const ssl = { ca: readFileSync(process.env[authority]), servername: name };
  const own = new pg.Client({ ssl, connectionTimeoutMillis: 10000 });
  await own.connect();
  const { rows } = await own.query("SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
  const much = (await own.query("SELECT $1::text AS v", ["x".repeat(1000000)])).rows[0].v.length;
  await own.end();
  return [rows[0], much];
};
same(await encrypted("CLIENT_AUTHORITY", "localhost"), [{ ssl: true, version: "TLSv1.3" }, 1000000], "encryption");
await fails("UNABLE_TO_VERIFY_LEAF_SIGNATURE", () => encrypted("CLIENT_STRANGER", "localhost"), "another authority");
await fails("ERR_TLS_CERT_ALTNAME_INVALID", () => encrypted("CLIENT_AUTHORITY", "elsewhere"), "another name");

// A pool of connections.
const pool = new pg.Pool({ max: 4 });
const pooled = await Promise.all(Array.from({ length: 40 }, (_, i) => pool.query("SELECT $1::int * 2 AS v", [i])));
same(pooled.map((result) => result.rows[0].v), Array.from({ length: 40 }, (_, i) => i * 2), "a pool");
await pool.end();

await client.query("DROP SCHEMA client_node CASCADE");
await client.end();
console.log(`node-postgres: ${checks} checks`);
