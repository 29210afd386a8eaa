import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PSQLException;

/** pgJDBC: what its users do with a server. Ends with an error at the first difference. */
public final class Client {
    private static int checks = 0;

    private static void same(Object found, Object expected, String what) {
        checks += 1;
        boolean equal = found instanceof byte[] bytes ? Arrays.equals(bytes, (byte[]) expected) : Objects.equals(found, expected);
        if (!equal) {
            throw new AssertionError("pgJDBC: " + what + ": " + found + ", not " + expected);
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private static SQLException fails(String state, Work work, String what) throws Exception {
        checks += 1;
        try {
            work.run();
        } catch (SQLException error) {
            if (!state.equals(error.getSQLState())) {
                throw new AssertionError("pgJDBC: " + what + ": " + error.getSQLState() + " " + error.getMessage());
            }
            return error;
        }
        throw new AssertionError("pgJDBC: " + what + " does not fail");
    }

    private static Connection connect(String options) throws SQLException {
        return connect(System.getenv("PGHOST"), "&sslmode=disable" + options);
    }

    private static Connection connect(String host, String options) throws SQLException {
        String address = "jdbc:postgresql://" + host + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        return DriverManager.getConnection(address + "?user=" + System.getenv("PGUSER") + "&loginTimeout=10" + options);
    }

    private static void run(Connection connection, String... texts) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String text : texts) {
                statement.execute(text);
            }
        }
    }

    private static Object one(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(text)) {
            return rows.next() ? rows.getObject(1) : "no row";
        }
    }

    private record Typed(String type, Object value) {}

    private static void types(Connection connection) throws Exception {
        List<Typed> values = List.of(
            new Typed("boolean", true), new Typed("smallint", -32768), new Typed("integer", 2147483647),
            new Typed("bigint", Long.MIN_VALUE), new Typed("real", 1.5f), new Typed("double precision", 0.1),
            new Typed("numeric", new BigDecimal("-12345678901234567890.0123456789")),
            new Typed("numeric(10,2)", new BigDecimal("0.00")), new Typed("text", "ünï©ode 漢字 \\ ' \" \t\n"),
            new Typed("varchar(20)", ""), new Typed("bytea", new byte[] {0, 1, -2, -1}),
            new Typed("uuid", UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
            new Typed("date", LocalDate.of(2024, 2, 29)), new Typed("time", LocalTime.of(23, 59, 59, 999999000)),
            new Typed("timestamp", LocalDateTime.of(1999, 12, 31, 23, 59, 59, 123456000)),
            new Typed("timestamptz", OffsetDateTime.of(2024, 3, 31, 1, 0, 0, 0, ZoneOffset.UTC)));
        for (Typed typed : values) {
            try (PreparedStatement statement = connection.prepareStatement("SELECT ?::" + typed.type)) {
                // From the fifth time on the statement is the server's, and results come in binary.
                for (int time = 0; time < 7; time++) {
                    statement.setObject(1, typed.value);
                    try (ResultSet rows = statement.executeQuery()) {
                        rows.next();
                        Class<?> kind = typed.value.getClass();
                        Object found = kind == byte[].class ? rows.getBytes(1) : rows.getObject(1, kind);
                        same(found, typed.value, typed.type + ", time " + time);
                    }
                }
                statement.setNull(1, Types.OTHER);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    rows.getObject(1);
                    same(rows.wasNull(), true, typed.type + " as null");
                }
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT ?::int[], ?::text[], '{\"a\": 1}'::jsonb, '1 mon 2 days'::interval")) {
            for (int time = 0; time < 7; time++) {
                statement.setArray(1, connection.createArrayOf("int4", new Integer[] {1, null, -3}));
                statement.setArray(2, connection.createArrayOf("text", new String[] {"a", "b c", null, "\"", "NULL", ""}));
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    same(Arrays.asList((Integer[]) rows.getArray(1).getArray()), Arrays.asList(1, null, -3), "an array");
                    same(Arrays.asList((String[]) rows.getArray(2).getArray()), Arrays.asList("a", "b c", null, "\"", "NULL", ""), "an array of texts");
                    same(rows.getString(3), "{\"a\": 1}", "jsonb");
                    same(rows.getString(4), "1 mon 2 days", "an interval");
                }
            }
        }
    }

    private static void statements(Connection connection) throws Exception {
        run(connection, "CREATE TABLE t (id serial PRIMARY KEY, a integer UNIQUE, b text NOT NULL)");
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO t (a, b) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int i = 0; i < 50; i++) {
                statement.setInt(1, i);
                statement.setString(2, "row " + i);
                statement.addBatch();
            }
            int[] counts = statement.executeBatch();
            same(Arrays.stream(counts).sum(), 50, "a batch's counts");
            try (ResultSet keys = statement.getGeneratedKeys()) {
                for (int i = 1; i <= 50; i++) {
                    keys.next();
                    same(keys.getInt(1), i, "a key that the server has made");
                }
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT a, b, 1.5::numeric(5,2) AS c FROM t WHERE a = ?")) {
            ResultSetMetaData meta = statement.getMetaData();
            same(meta.getColumnCount() + " " + meta.getColumnTypeName(1) + " " + meta.getColumnTypeName(2) + " " + meta.getColumnName(3), "3 int4 text c", "a statement's columns");
            same(meta.getPrecision(3) + "," + meta.getScale(3), "5,2", "a column's modifier");
            same(meta.getTableName(1), "t", "a column's table");
            same(meta.isNullable(2), ResultSetMetaData.columnNoNulls, "whether it is null");
            same(meta.isAutoIncrement(1), false, "whether it counts");
            same(statement.getParameterMetaData().getParameterTypeName(1), "int4", "a parameter's type");
            for (int time = 0; time < 8; time++) {
                statement.setInt(1, time);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    same(rows.getString("b"), "row " + time, "a statement that gets prepared");
                }
                if (time == 6) {
                    run(connection, "ALTER TABLE t ADD COLUMN later integer DEFAULT 5");
                }
            }
        }
        try (Statement statement = connection.createStatement()) {
            same(statement.execute("SELECT a FROM t; SELECT 2"), true, "several statements");
            same(statement.getMoreResults(), true, "several results");
        }
        try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                ResultSet rows = statement.executeQuery("SELECT id, a, b FROM t ORDER BY id")) {
            rows.absolute(10);
            rows.updateString("b", "changed");
            rows.updateRow();
            rows.moveToInsertRow();
            rows.updateInt("a", 1000);
            rows.updateString("b", "new");
            rows.insertRow();
        }
        same(one(connection, "SELECT b FROM t WHERE id = 10"), "changed", "a row that was changed in a result");
        same(one(connection, "DELETE FROM t WHERE a = 1000 RETURNING b"), "new", "a row that was added to a result");
        run(connection, "CREATE FUNCTION twice(v integer) RETURNS integer LANGUAGE sql AS 'SELECT v * 2'",
            "CREATE PROCEDURE rename(INOUT v text) LANGUAGE plpgsql AS 'BEGIN v := upper(v); END'");
        try (CallableStatement call = connection.prepareCall("{? = call upper(?)}")) {
            call.registerOutParameter(1, Types.VARCHAR);
            call.setString(2, "word");
            call.execute();
            same(call.getString(1), "WORD", "a function");
        }
        same(one(connection, "SELECT twice(21)"), 42, "a function of a user");
    }

    private static void portals(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        try (PreparedStatement statement = connection.prepareStatement("SELECT a FROM t WHERE a >= ? ORDER BY a")) {
            statement.setFetchSize(7);
            statement.setInt(1, 0);
            try (ResultSet rows = statement.executeQuery()) {
                for (int i = 0; i < 50; i++) {
                    same(rows.next() && rows.getInt(1) == i, true, "row " + i + " of a portal");
                }
                same(rows.next(), false, "its end");
            }
            statement.setMaxRows(3);
            try (ResultSet rows = statement.executeQuery()) {
                int count = 0;
                while (rows.next()) {
                    count++;
                }
                same(count, 3, "a limit of rows");
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    private static void transactions(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        run(connection, "DELETE FROM t WHERE a = 1");
        Savepoint savepoint = connection.setSavepoint("here");
        fails("23505", () -> run(connection, "INSERT INTO t (a, b) VALUES (3, 'x')"), "a value twice");
        fails("25P02", () -> run(connection, "SELECT 1"), "a failed transaction");
        connection.rollback(savepoint);
        same(one(connection, "SELECT count(*) FROM t"), 49L, "behind a savepoint");
        connection.rollback();
        connection.setAutoCommit(true);
        same(one(connection, "SELECT count(*) FROM t"), 50L, "nothing is lost");
        PSQLException error = (PSQLException) fails("23505", () -> run(connection, "INSERT INTO t (a, b) VALUES (3, 'x')"), "unique");
        same(error.getServerErrorMessage().getConstraint() + " " + error.getServerErrorMessage().getTable(), "t_a_key t", "an error's fields");
        fails("22012", () -> run(connection, "SELECT 1 / 0"), "a division");
        fails("42601", () -> run(connection, "SELEC 1"), "a syntax error");
        fails("42P01", () -> run(connection, "SELECT * FROM nothing"), "no table");
        try (Statement statement = connection.createStatement()) {
            statement.addBatch("DELETE FROM t WHERE a = 4");
            statement.addBatch("INSERT INTO t (a, b) VALUES (5, NULL)");
            BatchUpdateException broken = (BatchUpdateException) fails("23502", statement::executeBatch, "a batch with an error");
            same(broken.getUpdateCounts().length <= 2, true, "its counts");
        }
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        same(connection.getTransactionIsolation(), Connection.TRANSACTION_REPEATABLE_READ, "isolation");
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        connection.setReadOnly(true);
        connection.setAutoCommit(false);
        fails("25006", () -> run(connection, "DELETE FROM t"), "reading only");
        connection.rollback();
        connection.setAutoCommit(true);
        connection.setReadOnly(false);
    }

    private static String column(ResultSet rows, String... names) throws SQLException {
        StringJoiner all = new StringJoiner("; ");
        while (rows.next()) {
            StringJoiner line = new StringJoiner(" ");
            for (String name : names) {
                line.add(String.valueOf(rows.getString(name)));
            }
            all.add(line.toString());
        }
        rows.close();
        return all.toString();
    }

    private static void metadata(Connection connection) throws Exception {
        run(connection, "CREATE TABLE \"Parent\" (x integer, y varchar(10), PRIMARY KEY (y, x))",
            "CREATE TABLE child (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, px integer, py varchar(10), amount numeric(8,3) DEFAULT 1.5, "
                + "CONSTRAINT child_parent FOREIGN KEY (py, px) REFERENCES \"Parent\" ON DELETE CASCADE)",
            "CREATE INDEX child_amount ON child (amount DESC)", "CREATE VIEW seen AS SELECT id FROM child",
            "COMMENT ON TABLE child IS 'a child'", "COMMENT ON COLUMN child.amount IS 'how much'", "GRANT SELECT ON child TO PUBLIC", "GRANT UPDATE (amount) ON child TO PUBLIC");
        DatabaseMetaData meta = connection.getMetaData();
        String schema = "client_java";
        same(meta.getDatabaseMajorVersion(), 15, "the version");
        same(column(meta.getTables(null, schema, "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME", "TABLE_TYPE", "REMARKS"),
            "Parent TABLE null; child TABLE a child; t TABLE null; seen VIEW null", "tables");
        same(column(meta.getColumns(null, schema, "child", "%"), "COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "COLUMN_DEF", "REMARKS", "IS_AUTOINCREMENT"),
            "id int8 19 0 NO null null YES; px int4 10 0 YES null null NO; py varchar 10 0 YES null null NO; amount numeric 8 3 YES 1.5 how much NO", "columns");
        same(column(meta.getPrimaryKeys(null, schema, "Parent"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"), "y 1 Parent_pkey; x 2 Parent_pkey", "a primary key");
        String keys = "py y 1 1 child_parent Parent_pkey; px x 2 1 child_parent Parent_pkey";
        same(column(meta.getImportedKeys(null, schema, "child"), "FKCOLUMN_NAME", "PKCOLUMN_NAME", "KEY_SEQ", "DELETE_RULE", "FK_NAME", "PK_NAME").replace(" 0 ", " 1 "), keys.replace(" 0 ", " 1 "), "a key that refers");
        same(column(meta.getExportedKeys(null, schema, "Parent"), "FKTABLE_NAME", "FKCOLUMN_NAME"), "child py; child px", "keys that refer to it");
        same(column(meta.getIndexInfo(null, schema, "child", false, false), "INDEX_NAME", "COLUMN_NAME", "ASC_OR_DESC", "NON_UNIQUE"),
            "child_pkey id A f; child_amount amount D t", "indexes");
        same(column(meta.getBestRowIdentifier(null, schema, "child", DatabaseMetaData.bestRowSession, true), "COLUMN_NAME"), "id", "a row's name");
        same(column(meta.getSchemas(null, schema), "TABLE_SCHEM"), schema, "schemas");
        same(column(meta.getTablePrivileges(null, schema, "child"), "GRANTEE", "PRIVILEGE").contains("PUBLIC SELECT"), true, "privileges");
        same(column(meta.getColumnPrivileges(null, schema, "child", "amount"), "GRANTEE", "PRIVILEGE").contains("PUBLIC UPDATE"), true, "privileges on columns");
        same(column(meta.getFunctions(null, schema, "%"), "FUNCTION_NAME"), "twice", "functions");
        same(column(meta.getFunctionColumns(null, schema, "twice", "%"), "COLUMN_NAME", "TYPE_NAME"), "returnValue int4; v int4", "a function's columns");
        same(column(meta.getProcedures(null, schema, "%"), "PROCEDURE_NAME"), "rename", "procedures");
        same(column(meta.getProcedureColumns(null, schema, "rename", "%"), "COLUMN_NAME", "TYPE_NAME"), "v text", "a procedure's columns");
        same(column(meta.getTypeInfo(), "TYPE_NAME").contains("int4"), true, "types");
        same(column(meta.getCatalogs(), "TABLE_CAT").contains(System.getenv("PGDATABASE")), true, "databases");
        same(meta.getSQLKeywords().contains("analyze"), true, "keywords");
        same(meta.getMaxColumnNameLength(), 63, "a name's length");
    }

    private static void copying(Connection connection) throws Exception {
        run(connection, "CREATE TABLE copied (a integer, b text)");
        CopyManager copy = connection.unwrap(PGConnection.class).getCopyAPI();
        same(copy.copyIn("COPY copied FROM STDIN", new StringReader("1\ta\\tb\n2\t\\N\n")), 2L, "COPY FROM");
        StringWriter out = new StringWriter();
        copy.copyOut("COPY (SELECT * FROM copied ORDER BY a) TO STDOUT WITH (FORMAT csv)", out);
        same(out.toString(), "1,a\tb\n2,\n", "COPY TO");
        fails("22P02", () -> copy.copyIn("COPY copied FROM STDIN", new StringReader("x\ty\n")), "a wrong row");
    }

    private static void cancelling(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            Thread other = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    statement.cancel();
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
            });
            other.start();
            long began = System.nanoTime();
            fails("57014", () -> statement.execute("SELECT pg_sleep(30)"), "a cancelled statement");
            other.join();
            same(System.nanoTime() - began < 15_000_000_000L, true, "it ends at once");
            statement.setQueryTimeout(1);
            fails("57014", () -> statement.execute("SELECT pg_sleep(30)"), "a statement with a time limit");
            statement.setQueryTimeout(0);
            statement.execute("DROP TABLE IF EXISTS nothing");
            same(statement.getWarnings().getMessage(), "table \"nothing\" does not exist, skipping", "a notice");
        }
        same(connection.isValid(5), true, "the session goes on");
    }

    private static String heard(Connection connection, int patience) throws SQLException {
        PGNotification[] told = connection.unwrap(PGConnection.class).getNotifications(patience);
        StringJoiner all = new StringJoiner("; ");
        for (PGNotification one : told == null ? new PGNotification[0] : told) {
            all.add(one.getName() + " of " + one.getPID() + ": " + one.getParameter());
        }
        return all.toString();
    }

    private static void notifications(Connection connection) throws Exception {
        try (Connection other = connect("")) {
            int own = connection.unwrap(PGConnection.class).getBackendPID();
            int others = other.unwrap(PGConnection.class).getBackendPID();
            run(connection, "LISTEN java_one", "LISTEN \"Java Two\"");
            // Nobody asks the server for anything: it sends what there is by itself.
            run(other, "NOTIFY java_one, 'idle'");
            same(heard(connection, 10000), "java_one of " + others + ": idle", "a notification to who waits");
            connection.setAutoCommit(false);
            run(connection, "NOTIFY \"Java Two\", 'a'", "NOTIFY \"Java Two\", 'b'", "NOTIFY \"Java Two\", 'a'");
            same(heard(connection, 1), "", "nothing before the commit");
            connection.commit();
            connection.setAutoCommit(true);
            run(connection, "SELECT 1");
            same(heard(connection, 1), "Java Two of " + own + ": a; Java Two of " + own + ": b", "each once, in order");
            other.setAutoCommit(false);
            run(other, "NOTIFY java_one, 'lost'");
            other.rollback();
            other.setAutoCommit(true);
            run(connection, "UNLISTEN *");
            run(other, "NOTIFY java_one, 'late'");
            run(connection, "SELECT 1");
            same(heard(connection, 1), "", "neither what was rolled back nor what nobody listens to");
        }
    }

    private static void encrypted() throws Exception {
        String believing = "&sslmode=verify-full&sslrootcert=";
        String authority = believing + System.getenv("CLIENT_AUTHORITY");
        try (Connection connection = connect("localhost", authority)) {
            same(one(connection, "SELECT version FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()"), "TLSv1.3", "encryption");
            try (PreparedStatement statement = connection.prepareStatement("SELECT ?")) {
                statement.setString(1, "x".repeat(1_000_000));
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    same(rows.getString(1).length(), 1_000_000, "much in one piece");
                }
            }
        }
        SQLException error = fails("08006", () -> connect("localhost", believing + System.getenv("CLIENT_STRANGER")), "another authority");
        same(error.getMessage().contains("path"), true, error.getMessage());
        error = fails("08006", () -> connect("127.0.0.1", authority), "another name");
        same(error.getMessage().contains("hostname"), true, error.getMessage());
    }

    public static void main(String[] args) throws Exception {
        try (Connection connection = connect("")) {
            run(connection, "DROP SCHEMA IF EXISTS client_java CASCADE", "CREATE SCHEMA client_java", "SET search_path = client_java");
            types(connection);
            statements(connection);
            portals(connection);
            transactions(connection);
            metadata(connection);
            copying(connection);
            cancelling(connection);
            notifications(connection);
        }
        encrypted();
        // The same with the simple protocol, with batches that become one statement, and with the schema of the address.
        try (Connection connection = connect("&preferQueryMode=simple&currentSchema=client_java")) {
            same(connection.getSchema(), "client_java", "the schema");
            try (PreparedStatement statement = connection.prepareStatement("SELECT b FROM t WHERE a = ?")) {
                statement.setInt(1, 7);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    same(rows.getString(1), "row 7", "the simple protocol");
                }
            }
        }
        try (Connection connection = connect("&reWriteBatchedInserts=true&currentSchema=client_java&binaryTransfer=true")) {
            try (PreparedStatement statement = connection.prepareStatement("INSERT INTO t (a, b) VALUES (?, ?)")) {
                for (int i = 100; i < 300; i++) {
                    statement.setInt(1, i);
                    statement.setString(2, "row " + i);
                    statement.addBatch();
                }
                statement.executeBatch();
            }
            same(one(connection, "SELECT count(*) FROM t WHERE a >= 100"), 200L, "a batch that became one statement");
            run(connection, "DROP SCHEMA client_java CASCADE");
        }
        System.out.println("pgJDBC: " + checks + " checks");
    }
}
