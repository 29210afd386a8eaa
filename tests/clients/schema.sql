-- One of everything that the server has: what client programs describe, dump and load. PostgreSQL takes it too.
CREATE ROLE reader NOLOGIN;
CREATE ROLE writer LOGIN CONNECTION LIMIT 5 VALID UNTIL '2030-01-01 00:00:00+00';
CREATE ROLE keeper CREATEDB CREATEROLE INHERIT;
GRANT reader TO writer WITH ADMIN OPTION;
GRANT writer TO keeper;

CREATE SCHEMA shop;
CREATE SCHEMA "Odd Names" AUTHORIZATION keeper;
COMMENT ON SCHEMA shop IS 'what is sold, and to whom';
GRANT USAGE ON SCHEMA shop TO reader;

CREATE SEQUENCE shop.numbers AS integer START WITH 100 INCREMENT BY 10 MINVALUE 100 MAXVALUE 9990 CACHE 5 CYCLE;
CREATE SEQUENCE shop.down INCREMENT BY -1;
SELECT nextval('shop.numbers'), nextval('shop.down'), nextval('shop.down');

CREATE TABLE shop.customer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name varchar(40) NOT NULL,
    code character(4) DEFAULT 'none'::bpchar,
    born date,
    balance numeric(12,2) DEFAULT 0 NOT NULL,
    tags text[] DEFAULT '{}'::text[],
    extra jsonb,
    raw json,
    seen timestamp with time zone,
    at timestamp(3) without time zone,
    wakes time without time zone,
    waits interval,
    picture bytea,
    token uuid,
    score double precision,
    weight real,
    level smallint,
    active boolean DEFAULT true NOT NULL,
    "Mixed Case" integer,
    doubled integer GENERATED ALWAYS AS ((level * 2)) STORED,
    CONSTRAINT customer_balance_check CHECK ((balance >= '-1000'::numeric)),
    CONSTRAINT customer_name_key UNIQUE (name)
);
COMMENT ON TABLE shop.customer IS 'people who buy';
COMMENT ON COLUMN shop.customer.name IS 'as it stands on the letter''s head';
COMMENT ON CONSTRAINT customer_name_key ON shop.customer IS 'no two of a name';
CREATE INDEX customer_born ON shop.customer (born DESC NULLS LAST, level);
CREATE UNIQUE INDEX customer_token ON shop.customer (token);
COMMENT ON INDEX shop.customer_born IS 'birthdays';
GRANT SELECT ON shop.customer TO PUBLIC;
GRANT INSERT, UPDATE ON shop.customer TO writer WITH GRANT OPTION;
GRANT UPDATE (code) ON shop.customer TO reader;

CREATE TABLE shop.purchase (
    customer bigint NOT NULL,
    line integer DEFAULT nextval('shop.numbers'::regclass) NOT NULL,
    what text DEFAULT 'a thing'::text,
    gone integer,
    price numeric,
    CONSTRAINT purchase_pkey PRIMARY KEY (customer, line),
    CONSTRAINT purchase_customer_fkey FOREIGN KEY (customer) REFERENCES shop.customer(id) ON UPDATE CASCADE ON DELETE CASCADE
);
ALTER TABLE shop.purchase DROP COLUMN gone;
CREATE INDEX ON shop.purchase (what);

CREATE TABLE shop.note (
    id serial PRIMARY KEY,
    follows integer REFERENCES shop.note(id) ON DELETE SET NULL,
    text text
) WITH (fillfactor=70);
ALTER TABLE shop.note OWNER TO keeper;

CREATE TABLE "Odd Names"."Select" (
    "from" integer PRIMARY KEY,
    "a""b" text,
    "tab	in" text
);
INSERT INTO "Odd Names"."Select" VALUES (1, 'back\slash', 'tab	and
line'), (2, NULL, '\N'), (3, '', 'ünï©ode 漢字');

CREATE TABLE public.empty ();
CREATE TABLE public.plain (a integer, b text);
INSERT INTO public.plain SELECT i, 'row ' || i FROM generate_series(1, 100) AS i;

INSERT INTO shop.customer (name, code, born, balance, tags, extra, raw, seen, at, wakes, waits, picture, token, score, weight, level, active, "Mixed Case")
VALUES ('Ada', 'ab', '1815-12-10', 12.50, '{one,"two, three",NULL,"q\"uote"}', '{"a": [1, null, "x"]}', '{"b" : 2}',
        '2024-02-29 12:34:56.789+02', '2024-02-29 12:34:56.789', '23:59:59.5', '1 year 2 mons -3 days 04:05:06', '\x00ff10',
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 0.1, 1.5, 3, false, 7),
       ('Bob', DEFAULT, NULL, -999.99, DEFAULT, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'Infinity', 'NaN', -1, true, NULL);
INSERT INTO shop.purchase (customer, what, price) VALUES (1, 'engine', 1234567890.123456789), (1, NULL, NULL), (2, DEFAULT, 0.000);
INSERT INTO shop.note (follows, text) VALUES (NULL, 'first'), (1, 'second');

CREATE VIEW shop.named AS
 SELECT c.id,
    c.name
   FROM shop.customer c;
CREATE VIEW shop.rich AS SELECT c.id, c.name, c.balance FROM shop.customer c WHERE (c.balance > (0)::numeric);
COMMENT ON VIEW shop.rich IS 'those with something';
CREATE VIEW public.spent AS SELECT r.name, sum(p.price) AS total FROM (shop.rich r JOIN shop.purchase p ON ((p.customer = r.id))) GROUP BY r.name;
CREATE VIEW shop.checked WITH (security_barrier=true) AS SELECT plain.a, plain.b FROM public.plain WHERE (plain.a > 0) WITH LOCAL CHECK OPTION;
GRANT SELECT ON public.spent TO reader;

CREATE FUNCTION shop.twice(value integer, times integer DEFAULT 2) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT
    AS $$ SELECT value * times $$;
CREATE FUNCTION shop.both(a integer, OUT b integer, OUT c text) LANGUAGE plpgsql STABLE
    AS $$ BEGIN b := a; c := 'it''s'; END $$;
CREATE FUNCTION shop.names() RETURNS SETOF text LANGUAGE sql STABLE ROWS 10 AS $$ SELECT name::text FROM shop.customer ORDER BY 1 $$;
CREATE FUNCTION shop.listed(at_least numeric) RETURNS TABLE(name text, balance numeric) LANGUAGE sql STABLE
    AS $$ SELECT c.name::text, c.balance FROM shop.customer c WHERE c.balance >= at_least $$;
COMMENT ON SCHEMA public IS 'where plain things are';
CREATE PROCEDURE shop.pay(IN who bigint, IN amount numeric) LANGUAGE plpgsql
    AS $$ BEGIN UPDATE shop.customer SET balance = balance + amount WHERE id = who; END $$;
REVOKE EXECUTE ON FUNCTION shop.twice(integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION shop.twice(integer, integer) TO reader;
GRANT USAGE ON SEQUENCE shop.numbers TO writer;

-- Values that do not fit a page, and values at the edges of their types.
CREATE TABLE shop.large (
    id integer PRIMARY KEY,
    repeated text,
    varied text,
    bytes bytea,
    document jsonb
);
INSERT INTO shop.large
SELECT i, repeat('long text ', i * 30000), (SELECT string_agg(md5((i * n)::text), ',') FROM generate_series(1, 3000) AS n),
       (SELECT string_agg(decode(md5((i + n)::text), 'hex'), ''::bytea) FROM generate_series(1, 5000) AS n),
       (SELECT jsonb_agg(jsonb_build_object('n', n, 'text', md5(n::text))) FROM generate_series(1, 1000) AS n)
FROM generate_series(1, 3) AS i;
CREATE TABLE shop.edges (
    number numeric,
    short numeric(5,-2),
    float double precision,
    day date,
    moment timestamp without time zone,
    instant timestamp with time zone,
    span interval day to second(3),
    bounds integer[],
    texts text[],
    fixed character(3),
    one "char",
    label name,
    "number of object" oid
);
INSERT INTO shop.edges VALUES
    ('NaN', 12345, '-Infinity', 'infinity', '-infinity', '0044-03-15 12:00:00+00 BC', '3 days 04:05:06.789', '[2:3]={1,2}', '{{a,b},{c,NULL}}', 'a', 'x', 'a name', 4294967295),
    ('Infinity', 0, '-0', '4713-01-01 BC', '294276-12-31', 'infinity', '-1 days', '{}', '{"", " ", "NULL", "\\"}', '   ', '', '', 0),
    (-1e-20, NULL, 5e-324, '5874897-12-31', '1999-12-31 23:59:60', '1970-01-01 00:00:00+00', NULL, '{{{1}}}', NULL, NULL, NULL, NULL, NULL);

CREATE UNLOGGED TABLE shop.passing (a integer, b text);
INSERT INTO shop.passing VALUES (1, 'soon gone');
CREATE TABLE shop.basket (
    id integer GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME shop.basket_numbers START WITH 10 INCREMENT BY 5) PRIMARY KEY,
    owner bigint,
    label text DEFAULT 'none'::text NOT NULL,
    quantity integer,
    changed integer DEFAULT 0 NOT NULL,
    CONSTRAINT basket_quantity CHECK ((quantity > 0)),
    CONSTRAINT basket_label UNIQUE (owner, label) INCLUDE (quantity)
);
ALTER TABLE shop.basket ALTER COLUMN label SET STATISTICS 200;
ALTER TABLE shop.basket ALTER COLUMN label SET STORAGE EXTERNAL;
INSERT INTO shop.basket (owner, label, quantity) VALUES (1, 'First', 3), (1, 'second', NULL), (2, 'First', 4);
ALTER TABLE shop.basket ADD CONSTRAINT basket_few CHECK ((quantity < 5)) NOT VALID;
CREATE INDEX basket_lower ON shop.basket USING btree (lower(label), (quantity + 1) DESC) WHERE (quantity > 0);
CREATE INDEX basket_included ON shop.basket USING btree (quantity) INCLUDE (label);
CREATE INDEX basket_pattern ON shop.basket USING btree (label text_pattern_ops);
CREATE UNIQUE INDEX basket_one_null ON shop.basket USING btree (owner, quantity) NULLS NOT DISTINCT;
CREATE TABLE shop.basket_like (LIKE shop.basket INCLUDING ALL EXCLUDING IDENTITY);

CREATE FUNCTION shop.count_change() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN NEW.changed := OLD.changed + 1; RETURN NEW; END $$;
CREATE FUNCTION shop.look() RETURNS trigger LANGUAGE plpgsql
    AS $$ DECLARE n bigint; BEGIN SELECT count(*) INTO n FROM fresh; RETURN NULL; END $$;
CREATE FUNCTION shop.instead() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.basket (owner, label) VALUES (NEW.owner, NEW.label); RETURN NEW; END $$;
CREATE TRIGGER count_change BEFORE UPDATE OF label, quantity ON shop.basket FOR EACH ROW WHEN ((new.quantity > 0)) EXECUTE FUNCTION shop.count_change('one', '2');
CREATE TRIGGER look AFTER INSERT ON shop.basket REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION shop.look();
CREATE TRIGGER sleeping AFTER DELETE ON shop.basket FOR EACH ROW EXECUTE FUNCTION shop.look();
ALTER TABLE shop.basket DISABLE TRIGGER sleeping;
CREATE VIEW shop.baskets AS SELECT basket.owner, basket.label FROM shop.basket;
CREATE TRIGGER instead INSTEAD OF INSERT ON shop.baskets FOR EACH ROW EXECUTE FUNCTION shop.instead();
UPDATE shop.basket SET quantity = 2 WHERE label = 'second';

CREATE VIEW shop.tree(n, twice) AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT r.n + 1 FROM r WHERE r.n < 5) SELECT r.n, r.n * 2 FROM r;
CREATE VIEW shop.wide AS
    SELECT COALESCE(b.label, 'none'::text) AS label, count(*) FILTER (WHERE b.quantity > 1) AS n, array_agg(b.quantity ORDER BY b.quantity) AS all_of,
        CASE WHEN max(b.quantity) > 2 THEN 'many' ELSE NULL END AS how
    FROM shop.basket b LEFT JOIN shop.tree t ON t.n = b.quantity
    WHERE b.label LIKE '%s%' OR b.owner IN (SELECT c.id FROM shop.customer c)
    GROUP BY b.label HAVING count(*) > 0
    UNION ALL SELECT 'z', 1, '{}'::integer[], NULL;
CREATE VIEW shop.ranked AS SELECT b.id, row_number() OVER (PARTITION BY b.owner ORDER BY b.label DESC) AS place FROM shop.basket b ORDER BY b.id LIMIT 10;
GRANT SELECT (owner), UPDATE (label) ON shop.basket TO reader;
GRANT EXECUTE ON PROCEDURE shop.pay(bigint, numeric) TO writer;
ALTER SEQUENCE shop.basket_numbers RESTART WITH 50;
COMMENT ON SEQUENCE shop.numbers IS 'of lines';
COMMENT ON COLUMN shop.rich.name IS 'in a view';

CREATE TYPE shop.mood AS ENUM ('sad', 'ok', 'it''s fine');
ALTER TYPE shop.mood ADD VALUE 'between' BEFORE 'ok';
COMMENT ON TYPE shop.mood IS 'of customers';
CREATE TABLE shop.feeling (
    id integer PRIMARY KEY DEFERRABLE INITIALLY DEFERRED,
    mood shop.mood DEFAULT 'ok'::shop.mood NOT NULL,
    before shop.mood[],
    above integer,
    CONSTRAINT feeling_known CHECK ((mood <> 'sad'::shop.mood)),
    CONSTRAINT feeling_unique UNIQUE (mood, above) DEFERRABLE
);
CREATE TABLE shop.feeling_of (
    feeling integer CONSTRAINT feeling_of_known REFERENCES shop.basket(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    mood shop.mood
);
CREATE INDEX feeling_mood ON shop.feeling USING btree (mood, id) WHERE (mood > 'ok'::shop.mood);
INSERT INTO shop.feeling VALUES (1, 'it''s fine', '{sad,NULL,between}', 1), (2, DEFAULT, NULL, NULL), (3, 'between', '{}', 1);
INSERT INTO shop.feeling_of VALUES (NULL, 'ok');
CREATE FUNCTION shop.worse(shop.mood) RETURNS shop.mood LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'shop', 'pg_temp'
    AS $_$ SELECT max(m) FROM unnest(enum_range(NULL::shop.mood)) AS m WHERE m < $1 $_$;
CREATE VIEW shop.moods AS SELECT f.id, shop.worse(f.mood) AS worse, row_to_json(f.*) AS whole FROM shop.feeling f WHERE (f.mood > 'sad'::shop.mood);
ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO reader;
