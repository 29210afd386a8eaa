"""psycopg 3: what its users do with a server. Exits with an error at the first difference."""

import datetime as dt
import decimal
import os
import threading
import time
import uuid

import psycopg
from psycopg import errors, sql
from psycopg.rows import dict_row
from psycopg.types.json import Json, Jsonb

ADDRESS = psycopg.conninfo.make_conninfo(
    host=os.environ["PGHOST"],
    port=os.environ["PGPORT"],
    user=os.environ["PGUSER"],
    dbname=os.environ["PGDATABASE"],
    connect_timeout=10,
)
CHECKS = 0


def same(found, expected, what):
    global CHECKS
    CHECKS += 1
    if found != expected or type(found) is not type(expected):
        raise SystemExit(f"psycopg: {what}: {found!r}, not {expected!r}")


def fails(kind, work, what):
    global CHECKS
    CHECKS += 1
    try:
        work()
    except kind as error:
        return error
    raise SystemExit(f"psycopg: {what} does not fail")


UTC = dt.timezone.utc
VALUES = [
    ("boolean", True),
    ("smallint", -32768),
    ("integer", 2147483647),
    ("bigint", -9223372036854775808),
    ("real", 1.5),
    ("double precision", 0.1),
    ("numeric", decimal.Decimal("-12345678901234567890.0123456789")),
    ("numeric(10,2)", decimal.Decimal("0.00")),
    ("text", "ünï©ode 漢字 \\ ' \" \t\n"),
    ("varchar(20)", ""),
    ("bytea", bytes(range(256))),
    ("date", dt.date(2024, 2, 29)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timestamp", dt.datetime(1999, 12, 31, 23, 59, 59, 123456)),
    ("timestamptz", dt.datetime(2024, 3, 31, 1, 0, tzinfo=UTC)),
    ("interval", dt.timedelta(days=-3, seconds=5, microseconds=7)),
    ("uuid", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    ("integer[]", [1, None, -3]),
    ("text[]", ["a", "b c", None, '"', "NULL", ""]),
    ("integer[]", [[1, 2], [3, 4]]),
    ("date[]", [dt.date(2000, 1, 1)]),
]


def types(connection):
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        # Parameters of both forms: `%s` takes what the value's type prefers, `%b` binary, `%t` text.
        for form in ("%s", "%b", "%t"):
            for name, value in VALUES:
                if form == "%b" and name.endswith("[]") and value and isinstance(value[0], list):
                    continue
                try:
                    found = cursor.execute(f"SELECT {form}::{name}", [value]).fetchone()[0]
                except psycopg.ProgrammingError as error:
                    # A type that the driver itself has no such form for.
                    if error.sqlstate is None:
                        continue
                    raise
                if name == "timestamptz":
                    found = found.astimezone(UTC)
                same(found, value, f"{name} as {form}, binary results: {binary}")
            same(cursor.execute(f"SELECT {form}::integer", [None]).fetchone()[0], None, "null")
    row = connection.execute("SELECT %s::jsonb, %s::json", [Jsonb({"a": [1, None]}), Json({"b": 2.5})]).fetchone()
    same(row, ({"a": [1, None]}, {"b": 2.5}), "JSON")
    row = connection.execute("SELECT 'NaN'::numeric, 'infinity'::float8, ''::text, '{}'::int[]").fetchone()
    same(str(row), "(Decimal('NaN'), inf, '', [])", "values on the edge")


def statements(connection):
    connection.execute("CREATE TABLE t (id serial PRIMARY KEY, a integer UNIQUE, b text NOT NULL DEFAULT 'x')")
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO t (a, b) VALUES (%s, %s) RETURNING id", [(i, f"row {i}") for i in range(50)], returning=True)
    ids = []
    while True:
        ids.append(cursor.fetchone()[0])
        if not cursor.nextset():
            break
    same(ids, list(range(1, 51)), "executemany with RETURNING")
    # The sixth time a statement is one that the server has prepared.
    for i in range(10):
        found = connection.execute("SELECT b FROM t WHERE a = %s", [i]).fetchone()[0]
        same(found, f"row {i}", "a statement that gets prepared")
    prepared = connection.execute("SELECT b FROM t WHERE id = %s", [7], prepare=True).fetchone()[0]
    same(prepared, "row 6", "a prepared statement")
    # A plan goes stale when the table changes.
    connection.execute("ALTER TABLE t ADD COLUMN c integer DEFAULT 5")
    same(connection.execute("SELECT c FROM t WHERE id = %s", [7], prepare=True).fetchone()[0], 5, "a new column")
    cursor = connection.execute("UPDATE t SET c = 6 WHERE a < 10")
    same((cursor.rowcount, cursor.statusmessage), (10, "UPDATE 10"), "UPDATE's count")
    with connection.pipeline():
        cursors = [connection.execute("SELECT a FROM t WHERE id = %s", [i]) for i in range(1, 21)]
    same([c.fetchone()[0] for c in cursors], list(range(20)), "a pipeline")
    described = connection.execute("SELECT a, b, 1.5::numeric(5,2) AS c FROM t").description
    same([(d.name, d.type_code) for d in described], [("a", 23), ("b", 25), ("c", 1700)], "description")
    same((described[2].precision, described[2].scale), (5, 2), "a modifier in the description")
    row = connection.cursor(row_factory=dict_row).execute("SELECT a, b FROM t WHERE id = 1").fetchone()
    same(row, {"a": 0, "b": "row 0"}, "rows as dictionaries")
    query = sql.SQL("SELECT count(*) FROM {} WHERE {} < {}").format(
        sql.Identifier("client_psycopg", "t"), sql.Identifier("a"), sql.Literal(10)
    )
    same(connection.execute(query).fetchone()[0], 10, "a composed query")


def portals(connection):
    with connection.transaction():
        cursor = connection.cursor(name="walk")
        cursor.itersize = 7
        cursor.execute("SELECT a FROM t ORDER BY a")
        same([row[0] for row in cursor], list(range(50)), "a cursor of the server")
        cursor.close()
        with connection.cursor(name="some") as cursor:
            cursor.execute("SELECT a FROM t WHERE a < %s AND b <> %s ORDER BY a", [5, "row 2"])
            same([row[0] for row in cursor], [0, 1, 3, 4], "a cursor of the server with parameters")
    same(sum(1 for _ in connection.cursor().stream("SELECT a FROM t")), 50, "a stream")


def transactions(connection):
    with connection.transaction():
        connection.execute("DELETE FROM t WHERE a = 1")
        fails(errors.UniqueViolation, lambda: nested(connection), "a unique value twice, behind a savepoint")
        same(connection.execute("SELECT count(*) FROM t").fetchone()[0], 49, "the savepoint is undone")
        raise_rollback = psycopg.Rollback()
        raise raise_rollback
    same(connection.execute("SELECT count(*) FROM t").fetchone()[0], 50, "the transaction is undone")
    error = fails(errors.NotNullViolation, lambda: connection.execute("INSERT INTO t (b) VALUES (NULL)"), "null")
    same(error.diag.column_name, "b", "the column of an error")
    same(error.diag.table_name, "t", "the table of an error")
    error = fails(errors.UniqueViolation, lambda: connection.execute("INSERT INTO t (a) VALUES (3)"), "unique")
    same((error.sqlstate, error.diag.constraint_name), ("23505", "t_a_key"), "the constraint of an error")
    same(error.diag.message_detail, "Key (a)=(3) already exists.", "the detail of an error")
    error = fails(errors.SyntaxError, lambda: connection.execute("SELEC 1"), "a syntax error")
    same(error.diag.statement_position, "1", "the place of an error")
    fails(errors.DivisionByZero, lambda: connection.execute("SELECT 1 / %s", [0]), "division")
    fails(errors.UndefinedTable, lambda: connection.execute("SELECT * FROM nothing"), "no table")
    connection.autocommit = False
    fails(errors.UndefinedColumn, lambda: connection.execute("SELECT nothing FROM t"), "no column")
    fails(errors.InFailedSqlTransaction, lambda: connection.execute("SELECT 1"), "a failed transaction")
    same(connection.info.transaction_status, psycopg.pq.TransactionStatus.INERROR, "its status")
    connection.rollback()
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    same(connection.execute("SHOW transaction_isolation").fetchone()[0], "repeatable read", "isolation")
    fails(errors.ReadOnlySqlTransaction, lambda: connection.execute("DELETE FROM t"), "reading only")
    connection.rollback()
    connection.isolation_level = connection.read_only = None
    connection.autocommit = True


def nested(connection):
    with connection.transaction():
        connection.execute("DELETE FROM t WHERE a = 2")
        connection.execute("INSERT INTO t (a) VALUES (3)")


def copying(connection):
    connection.execute("CREATE TABLE copied (a integer, b text, c date)")
    rows = [(1, "a\tb\\c\nd", dt.date(2020, 1, 1)), (2, None, None), (3, "", dt.date(1999, 12, 31))]
    with connection.cursor().copy("COPY copied (a, b, c) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    same(connection.execute("SELECT * FROM copied ORDER BY a").fetchall(), rows, "COPY FROM")
    with connection.cursor().copy("COPY (SELECT * FROM copied ORDER BY a) TO STDOUT") as copy:
        copy.set_types(["integer", "text", "date"])
        same(list(copy.rows()), rows, "COPY TO")
    with connection.cursor().copy("COPY copied TO STDOUT WITH (FORMAT csv, HEADER)") as copy:
        text = b"".join(bytes(part) for part in copy)
    same(text.split(b"\n")[0], b"a,b,c", "COPY TO as CSV")

    def broken():
        with connection.cursor().copy("COPY copied FROM STDIN") as copy:
            copy.write("1\tx\n")

    fails(errors.BadCopyFileFormat, broken, "a row that is too short")

    def given_up():
        with connection.cursor().copy("COPY copied FROM STDIN") as copy:
            copy.write("9\tx\t2000-01-01\n")
            raise ZeroDivisionError

    fails(ZeroDivisionError, given_up, "a client that gives up")
    same(connection.execute("SELECT count(*) FROM copied").fetchone()[0], 3, "nothing of it is there")


def copying_binary(connection):
    connection.execute(
        "CREATE TABLE binary_copied (a integer, b text, c numeric, d timestamptz, e uuid, f text[], g jsonb, h bytea, i interval)"
    )
    moment = dt.datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)
    full = (
        1, "a\tb\\c\nd", decimal.Decimal("-12345678901234567890.0120"), moment, uuid.UUID(int=7), ["x", None, "y,z"],
        {"k": [1, None]}, bytes(range(256)), dt.timedelta(days=-3, microseconds=7),
    )
    kinds = ["int4", "text", "numeric", "timestamptz", "uuid", "text[]", "jsonb", "bytea", "interval"]
    with connection.cursor().copy("COPY binary_copied FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(kinds)
        copy.write_row([Jsonb(value) if isinstance(value, dict) else value for value in full])
        copy.write_row([None] * 9)
        for number in range(2, 300):
            copy.write_row([number] + [None] * 8)
    same(connection.execute("SELECT count(*), sum(a) FROM binary_copied").fetchone(), (300, sum(range(300))), "COPY FROM in binary")
    with connection.cursor().copy("COPY (SELECT * FROM binary_copied WHERE a = 1 OR a IS NULL ORDER BY a) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(kinds)
        rows = [list(row) for row in copy.rows()]
    rows[0][3] = rows[0][3].astimezone(UTC)
    same(rows, [list(full), [None] * 9], "COPY TO in binary")

    def broken():
        with connection.cursor().copy("COPY binary_copied FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"no signature of the format")

    fails(errors.BadCopyFileFormat, broken, "something that is not the format")


def scrolling(connection):
    with connection.transaction():
        with connection.cursor(name="both ways", scrollable=True) as cursor:
            cursor.execute("SELECT a FROM t ORDER BY a")
            cursor.scroll(9)
            same(cursor.fetchone(), (9,), "forward")
            cursor.scroll(-5)
            same(cursor.fetchone(), (5,), "back")
            cursor.scroll(0, mode="absolute")
            same(cursor.fetchmany(3), [(0,), (1,), (2,)], "from the beginning")
        with connection.cursor(name="one way", scrollable=False) as cursor:
            cursor.execute("SELECT a FROM t ORDER BY a")
            cursor.fetchmany(3)
            fails(errors.ObjectNotInPrerequisiteState, lambda: nested_scroll(connection, cursor), "a cursor that goes one way")
    with connection.cursor(name="held", withhold=True) as cursor:
        cursor.execute("SELECT a FROM t ORDER BY a")
        same(len(cursor.fetchall()), 50, "a cursor that outlives its transaction")
    plan = connection.execute("EXPLAIN (FORMAT JSON, COSTS off) SELECT * FROM t WHERE a = 3").fetchone()[0]
    same(plan[0]["Plan"]["Relation Name"], "t", "a plan")
    plan = connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM t").fetchone()[0]
    same(int(plan[0]["Plan"]["Actual Rows"]), 50, "a plan that was executed")


def nested_scroll(connection, cursor):
    with connection.transaction():
        cursor.scroll(-2)


def notifications(connection):
    with psycopg.connect(ADDRESS, autocommit=True) as other:
        connection.execute('LISTEN psycopg_one; LISTEN "Psycopg Two"')
        # Nobody asks the server for anything: it sends what there is by itself, while the client waits.
        timer = threading.Timer(0.2, lambda: other.execute("NOTIFY psycopg_one, 'first'"))
        timer.start()
        heard = [(n.channel, n.payload, n.pid) for n in connection.notifies(timeout=10, stop_after=1)]
        timer.join()
        same(heard, [("psycopg_one", "first", other.info.backend_pid)], "a notification to who waits")
        collected = []
        connection.add_notify_handler(lambda n: collected.append((n.channel, n.payload)))
        with connection.transaction():
            for payload in ("a", "b", "a"):
                connection.execute("SELECT pg_notify('Psycopg Two', %s)", [payload])
            same(collected, [], "nothing before the commit")
        connection.execute("SELECT 1")
        same(collected, [("Psycopg Two", "a"), ("Psycopg Two", "b")], "each once, in order")
        with other.transaction(force_rollback=True):
            other.execute("NOTIFY psycopg_one, 'lost'")
        connection.execute("UNLISTEN psycopg_one")
        other.execute("NOTIFY psycopg_one, 'late'")
        other.execute("""NOTIFY "Psycopg Two", 'ünï'""")
        deadline = time.monotonic() + 10
        while len(collected) < 3 and time.monotonic() < deadline:
            connection.execute("SELECT 1")
        same(collected[2:], [("Psycopg Two", "ünï")], "neither what was rolled back nor what nobody listens to")
        error = fails(errors.InvalidParameterValue, lambda: connection.execute("SELECT pg_notify('x', repeat('x', 8000))"), "a payload too long")
        same(error.diag.message_primary, "payload string too long", "its error")
        connection.execute("UNLISTEN *")


def encrypted():
    def connect(host, authority):
        return psycopg.connect(
            ADDRESS, host=host, hostaddr=os.environ["PGHOST"], sslmode="verify-full", sslrootcert=os.environ[authority]
        )

    with connect("localhost", "CLIENT_AUTHORITY") as connection:
        found = connection.execute("SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
        same(found, (True, "TLSv1.3"), "how the connection is encrypted")
        same(connection.pgconn.ssl_in_use, True, "what the driver says of it")
        long = "x" * 1_000_000
        same(connection.execute("SELECT %s", [long]).fetchone()[0], long, "much in one piece")
        timer = threading.Timer(0.3, connection.cancel_safe)
        timer.start()
        fails(errors.QueryCanceled, lambda: connection.execute("SELECT pg_sleep(30)"), "an encrypted request to cancel")
        timer.join()
    error = fails(psycopg.OperationalError, lambda: connect("localhost", "CLIENT_STRANGER"), "another authority")
    same("certificate verify failed" in str(error), True, str(error))
    error = fails(psycopg.OperationalError, lambda: connect("elsewhere", "CLIENT_AUTHORITY"), "another name")
    same("does not match host name" in str(error), True, str(error))


def cancelling(connection):
    timer = threading.Timer(0.3, connection.cancel)
    timer.start()
    began = time.monotonic()
    fails(errors.QueryCanceled, lambda: connection.execute("SELECT pg_sleep(30)"), "a cancelled statement")
    timer.join()
    same(time.monotonic() - began < 15, True, "it ends at once")
    connection.execute("SET statement_timeout = '200ms'")
    fails(errors.QueryCanceled, lambda: connection.execute("SELECT pg_sleep(30)"), "a statement that takes too long")
    connection.execute("RESET statement_timeout")


def notices(connection):
    heard = []
    connection.add_notice_handler(lambda notice: heard.append((notice.severity, notice.message_primary)))
    connection.execute("DROP TABLE IF EXISTS nothing")
    same(heard, [("NOTICE", 'table "nothing" does not exist, skipping')], "a notice")
    same(connection.info.parameter_status("server_encoding"), "UTF8", "a status of the server")
    same(connection.info.parameter_status("integer_datetimes"), "on", "another one")
    connection.execute("SET application_name = 'psycopg test'")
    same(connection.info.parameter_status("application_name"), "psycopg test", "a status that has changed")


def main():
    with psycopg.connect(ADDRESS, autocommit=True) as connection:
        same(connection.info.server_version // 10000, 15, "the server's version")
        connection.execute("DROP SCHEMA IF EXISTS client_psycopg CASCADE")
        connection.execute("CREATE SCHEMA client_psycopg")
        connection.execute("SET search_path = client_psycopg")
        for part in (
            types, statements, portals, scrolling, transactions, copying, copying_binary, cancelling, notifications, notices,
        ):
            part(connection)
        connection.execute("DROP SCHEMA client_psycopg CASCADE")
    encrypted()
    print(f"psycopg: {CHECKS} checks")


main()
