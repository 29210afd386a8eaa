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
