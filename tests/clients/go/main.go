// pgx: what its users do with a server. Ends with an error at the first difference.
package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	ctx    = context.Background()
	checks = 0
)

func stop(what string, values ...any) {
	fmt.Fprintf(os.Stderr, "pgx: %s: %v\n", what, values)
	os.Exit(1)
}

func must(err error, what string) {
	if err != nil {
		stop(what, err)
	}
}

func same(found, expected any, what string) {
	checks++
	if !reflect.DeepEqual(found, expected) {
		stop(what, fmt.Sprintf("%#v, not %#v", found, expected))
	}
}

func fails(code string, err error, what string) *pgconn.PgError {
	checks++
	var known *pgconn.PgError
	if !errors.As(err, &known) || known.Code != code {
		stop(what, err, "not", code)
	}
	return known
}

type typed struct {
	name  string
	value any
}

// Each mode of pgx: prepared statements that are kept, described ones, and the simple protocol.
var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

func types(conn *pgx.Conn) {
	values := []typed{
		{"boolean", true}, {"smallint", int16(-32768)}, {"integer", int32(2147483647)},
		{"bigint", int64(-9223372036854775808)}, {"real", float32(1.5)}, {"double precision", 0.1},
		{"text", "ünï©ode 漢字 \\ ' \" \t\n"}, {"varchar", ""}, {"bytea", []byte{0, 1, 254, 255}},
		{"timestamptz", time.Date(2024, 3, 31, 1, 0, 0, 123456000, time.UTC)},
		{"timestamp", time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)},
		{"date", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
	}
	for _, mode := range modes {
		for _, v := range values {
			found := reflect.New(reflect.TypeOf(v.value))
			err := conn.QueryRow(ctx, "SELECT $1::"+v.name, mode, v.value).Scan(found.Interface())
			must(err, v.name)
			value := found.Elem().Interface()
			if moment, is := value.(time.Time); is {
				value = moment.UTC()
			}
			same(value, v.value, fmt.Sprintf("%s in mode %v", v.name, mode))
		}
		var numbers []*int32
		must(conn.QueryRow(ctx, "SELECT ARRAY[1, NULL, -3]", mode).Scan(&numbers), "an array")
		same([]any{*numbers[0], numbers[1], *numbers[2]}, []any{int32(1), (*int32)(nil), int32(-3)}, "an array")
		var texts []string
		must(conn.QueryRow(ctx, "SELECT $1::text[]", mode, []string{"a", "b c", "\"", "NULL", ""}).Scan(&texts), "texts")
		same(texts, []string{"a", "b c", "\"", "NULL", ""}, "an array of texts")
		var number pgtype.Numeric
		must(conn.QueryRow(ctx, "SELECT '-12345678901234567890.0123'::numeric", mode).Scan(&number), "a number")
		digits, _ := new(big.Int).SetString("-123456789012345678900123", 10)
		same([]any{number.Int.String(), number.Exp}, []any{digits.String(), int32(-4)}, "a number")
		var id pgtype.UUID
		must(conn.QueryRow(ctx, "SELECT $1::uuid", mode, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11").Scan(&id), "a uuid")
		same(id.Bytes[0], byte(0xa0), "a uuid")
		var span pgtype.Interval
		must(conn.QueryRow(ctx, "SELECT '1 year -3 days 00:00:05'::interval", mode).Scan(&span), "an interval")
		same(span, pgtype.Interval{Microseconds: 5000000, Days: -3, Months: 12, Valid: true}, "an interval")
		var part map[string]any
		must(conn.QueryRow(ctx, "SELECT $1::jsonb", mode, `{"a": [1, null]}`).Scan(&part), "JSON")
		same(part, map[string]any{"a": []any{1.0, nil}}, "JSON")
		var clock pgtype.Time
		must(conn.QueryRow(ctx, "SELECT '23:59:59.5'::time", mode).Scan(&clock), "a time")
		same(clock.Microseconds, int64(86399500000), "a time")
		var none *string
		must(conn.QueryRow(ctx, "SELECT $1::text", mode, nil).Scan(&none), "null")
		same(none, (*string)(nil), "null")
	}
}

func statements(conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "CREATE TABLE t (id serial PRIMARY KEY, a integer UNIQUE, b text NOT NULL)")
	must(err, "CREATE TABLE")
	batch := &pgx.Batch{}
	for i := range 50 {
		batch.Queue("INSERT INTO t (a, b) VALUES ($1, $2) RETURNING id", i, fmt.Sprintf("row %d", i))
	}
	results := conn.SendBatch(ctx, batch)
	for i := range 50 {
		var id int
		must(results.QueryRow().Scan(&id), "a batch")
		same(id, i+1, "a batch")
	}
	must(results.Close(), "a batch's end")
	broken := &pgx.Batch{}
	broken.Queue("DELETE FROM t")
	broken.Queue("INSERT INTO t (a, b) VALUES (1, NULL)")
	broken.Queue("SELECT 1")
	fails("23502", conn.SendBatch(ctx, broken).Close(), "a batch with an error")
	var count int
	must(conn.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&count), "count")
	same(count, 50, "a batch is a transaction")
	description, err := conn.Prepare(ctx, "named", "SELECT a, b, $1::numeric(5,2) AS c FROM t WHERE id = $2")
	must(err, "Prepare")
	same(description.ParamOIDs, []uint32{1700, 23}, "parameters' types")
	names := []string{}
	for _, field := range description.Fields {
		names = append(names, fmt.Sprintf("%s %d %v", field.Name, field.DataTypeOID, field.TableOID != 0))
	}
	same(names, []string{"a 23 true", "b 25 true", "c 1700 false"}, "fields")
	rows, err := conn.Query(ctx, "SELECT id, a, b FROM t WHERE a < $1 ORDER BY a", 3)
	must(err, "Query")
	type row struct {
		ID, A int
		B     string
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	must(err, "rows")
	same(found, []row{{1, 0, "row 0"}, {2, 1, "row 1"}, {3, 2, "row 2"}}, "rows")
	same(rows.CommandTag().String(), "SELECT 3", "a tag")
	tag, err := conn.Exec(ctx, "UPDATE t SET b = upper(b) WHERE a = ANY($1)", []int{1, 2, 99})
	must(err, "UPDATE")
	same(tag.RowsAffected(), int64(2), "rows that are changed")
	// A plan goes stale when the table changes: the driver hears so and prepares anew the next time.
	for range 3 {
		var a int
		must(conn.QueryRow(ctx, "SELECT * FROM (SELECT a FROM t WHERE id = 1) AS x").Scan(&a), "a kept statement")
	}
}

func transactions(conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "INSERT INTO t (a, b) VALUES (3, 'x')")
	known := fails("23505", err, "a value twice")
	same([]string{known.ConstraintName, known.TableName, known.SchemaName, known.Detail},
		[]string{"t_a_key", "t", "client_go", "Key (a)=(3) already exists."}, "an error's fields")
	_, err = conn.Exec(ctx, "SELEC 1")
	same(fails("42601", err, "a syntax error").Position, int32(1), "its place")
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	must(err, "BEGIN")
	_, err = tx.Exec(ctx, "DELETE FROM t")
	fails("25006", err, "reading only")
	_, err = tx.Exec(ctx, "SELECT 1")
	fails("25P02", err, "a failed transaction")
	must(tx.Rollback(ctx), "ROLLBACK")
	tx, err = conn.Begin(ctx)
	must(err, "BEGIN")
	_, err = tx.Exec(ctx, "DELETE FROM t WHERE a = 1")
	must(err, "DELETE")
	inner, err := tx.Begin(ctx)
	must(err, "SAVEPOINT")
	_, err = inner.Exec(ctx, "SELECT 1 / $1::int", 0)
	fails("22012", err, "a division")
	must(inner.Rollback(ctx), "ROLLBACK TO")
	must(tx.Commit(ctx), "COMMIT")
	var count int
	must(conn.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&count), "count")
	same(count, 49, "the outer transaction holds")
}

func copying(conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "CREATE TABLE copied (a integer, b text, c timestamptz)")
	must(err, "CREATE TABLE")
	// Text: the binary form of COPY is asked for by CopyFrom alone.
	tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader("1\ta\\tb\t\\N\n2\t\\N\t2020-01-01 00:00:00+00\n"), "COPY copied FROM STDIN")
	must(err, "COPY FROM")
	same(tag.String(), "COPY 2", "a tag of COPY")
	var out bytes.Buffer
	_, err = conn.PgConn().CopyTo(ctx, &out, "COPY (SELECT a, b FROM copied ORDER BY a) TO STDOUT")
	must(err, "COPY TO")
	same(out.String(), "1\ta\\tb\n2\t\\N\n", "COPY TO")
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("x\ty\t\\N\n"), "COPY copied FROM STDIN")
	fails("22P02", err, "a wrong row")
	rows := [][]any{}
	for i := range 100 {
		rows = append(rows, []any{int32(i), fmt.Sprintf("row %d", i), time.Unix(int64(i), 0)})
	}
	count, err := conn.CopyFrom(ctx, pgx.Identifier{"client_go", "copied"}, []string{"a", "b", "c"}, pgx.CopyFromRows(rows))
	must(err, "COPY in binary")
	same(count, int64(100), "COPY in binary")
	var last string
	var when time.Time
	must(conn.QueryRow(ctx, "SELECT b, c FROM copied WHERE a = 99 AND b LIKE 'row%'").Scan(&last, &when), "what was copied")
	same([]any{last, when.Unix()}, []any{"row 99", int64(99)}, "what was copied")
	// The form itself: its signature, flags, an extension of no bytes, a row of one column, the end.
	out.Reset()
	_, err = conn.PgConn().CopyTo(ctx, &out, "COPY (SELECT 7) TO STDOUT (FORMAT binary)")
	must(err, "COPY TO in binary")
	same(out.String(), "PGCOPY\n\xff\r\n\x00"+"\x00\x00\x00\x00"+"\x00\x00\x00\x00"+"\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07"+"\xff\xff", "COPY TO in binary")
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("1\tno signature\t\\N\n"), "COPY copied FROM STDIN (FORMAT binary)")
	fails("22P04", err, "something that is not the form")
}

func scrolling(conn *pgx.Conn) {
	tx, err := conn.Begin(ctx)
	must(err, "BEGIN")
	_, err = tx.Exec(ctx, "DECLARE walk SCROLL CURSOR FOR SELECT a FROM t ORDER BY a")
	must(err, "DECLARE")
	for _, step := range []struct {
		where string
		found []int32
	}{{"FORWARD 2", []int32{0, 2}}, {"LAST", []int32{49}}, {"PRIOR", []int32{48}}, {"BACKWARD 2", []int32{47, 46}}, {"ABSOLUTE 1", []int32{0}}} {
		rows, err := tx.Query(ctx, "FETCH "+step.where+" FROM walk")
		must(err, step.where)
		found, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		must(err, step.where)
		same(found, step.found, step.where)
	}
	must(tx.Commit(ctx), "COMMIT")
	var plan []map[string]any
	must(conn.QueryRow(ctx, "EXPLAIN (FORMAT JSON) SELECT * FROM t").Scan(&plan), "EXPLAIN")
	same(plan[0]["Plan"].(map[string]any)["Relation Name"], "t", "a plan")
}

func notifications(conn *pgx.Conn) {
	other, err := pgx.Connect(ctx, "connect_timeout=10")
	must(err, "another connection")
	defer other.Close(ctx)
	say := func(conn *pgx.Conn, text string) {
		_, err := conn.Exec(ctx, text)
		must(err, text)
	}
	hear := func(patience time.Duration) (string, error) {
		short, end := context.WithTimeout(ctx, patience)
		defer end()
		told, err := conn.WaitForNotification(short)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s of %d: %s", told.Channel, told.PID, told.Payload), nil
	}
	say(conn, "LISTEN go_one")
	// Nobody asks the server for anything: it sends what there is by itself.
	said := make(chan struct{})
	go func() {
		time.Sleep(200 * time.Millisecond)
		say(other, "NOTIFY go_one, 'idle'")
		close(said)
	}()
	told, err := hear(10 * time.Second)
	must(err, "a notification to who waits")
	same(told, fmt.Sprintf("go_one of %d: idle", other.PgConn().PID()), "a notification to who waits")
	// Who waits may hear it before the one who said it has his answer.
	<-said
	say(conn, "BEGIN")
	say(conn, "NOTIFY go_one, 'own'")
	say(conn, "NOTIFY go_one, 'own'")
	say(conn, "COMMIT")
	told, err = hear(10 * time.Second)
	must(err, "a notification with a statement")
	same(told, fmt.Sprintf("go_one of %d: own", conn.PgConn().PID()), "a notification with a statement")
	say(other, "BEGIN")
	say(other, "NOTIFY go_one, 'lost'")
	say(other, "ROLLBACK")
	say(other, "NOTIFY go_one, 'last'")
	told, err = hear(10 * time.Second)
	must(err, "what is rolled back")
	same(strings.HasSuffix(told, ": last"), true, "what is rolled back is not told: "+told)
}

func encrypted() {
	connect := func(host, authority string) (*pgx.Conn, error) {
		return pgx.Connect(ctx, fmt.Sprintf("host=%s sslmode=verify-full sslrootcert=%s connect_timeout=10", host, os.Getenv(authority)))
	}
	conn, err := connect("localhost", "CLIENT_AUTHORITY")
	must(err, "an encrypted connection")
	var version, long string
	must(conn.QueryRow(ctx, "SELECT version FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()").Scan(&version), "encryption")
	same(version, "TLSv1.3", "encryption")
	must(conn.QueryRow(ctx, "SELECT $1::text", strings.Repeat("x", 1000000)).Scan(&long), "much in one piece")
	same(len(long), 1000000, "much in one piece")
	must(conn.Close(ctx), "its end")
	_, err = connect("localhost", "CLIENT_STRANGER")
	var unknown x509.UnknownAuthorityError
	same(errors.As(err, &unknown), true, fmt.Sprintf("another authority: %v", err))
	_, err = connect("127.0.0.1", "CLIENT_AUTHORITY")
	var name x509.HostnameError
	same(errors.As(err, &name), true, fmt.Sprintf("another name: %v", err))
}

func cancelling(conn *pgx.Conn) {
	short, end := context.WithTimeout(ctx, 300*time.Millisecond)
	defer end()
	began := time.Now()
	other, err := pgx.Connect(ctx, "connect_timeout=10")
	must(err, "another connection")
	_, err = other.Exec(short, "SELECT pg_sleep(30)")
	same(errors.Is(err, context.DeadlineExceeded) && time.Since(began) < 15*time.Second, true, "a context that ends")
	pid := conn.PgConn().PID()
	go func() {
		time.Sleep(300 * time.Millisecond)
		_ = conn.PgConn().CancelRequest(ctx)
	}()
	_, err = conn.Exec(ctx, "SELECT pg_sleep(30)")
	fails("57014", err, "a cancelled statement")
	var own uint32
	must(conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&own), "the session goes on")
	same(own, pid, "its number")
}

func pooling() {
	pool, err := pgxpool.New(ctx, "pool_max_conns=4")
	must(err, "a pool")
	defer pool.Close()
	results := make(chan error, 40)
	for i := range 40 {
		go func() {
			var found int
			err := pool.QueryRow(ctx, "SELECT $1::int * 2", i).Scan(&found)
			if err == nil && found != i*2 {
				err = fmt.Errorf("%d", found)
			}
			results <- err
		}()
	}
	for range 40 {
		must(<-results, "a pool")
	}
	same(pool.Stat().TotalConns() <= 4, true, "a pool's size")
}

func main() {
	// PGHOST and the others are in the environment.
	conn, err := pgx.Connect(ctx, "connect_timeout=10")
	must(err, "connect")
	same(strings.HasPrefix(conn.PgConn().ParameterStatus("server_version"), "15"), true, "the version")
	for _, text := range []string{"DROP SCHEMA IF EXISTS client_go CASCADE", "CREATE SCHEMA client_go", "SET search_path = client_go"} {
		_, err = conn.Exec(ctx, text)
		must(err, text)
	}
	types(conn)
	statements(conn)
	transactions(conn)
	copying(conn)
	scrolling(conn)
	cancelling(conn)
	notifications(conn)
	pooling()
	encrypted()
	_, err = conn.Exec(ctx, "DROP SCHEMA client_go CASCADE")
	must(err, "DROP SCHEMA")
	must(conn.Close(ctx), "the end")
	fmt.Printf("pgx: %d checks\n", checks)
}
