"""SQLAlchemy 2 over psycopg 3: tables made by it, looked at by it, and filled by its mapper. Exits with an error at the first difference."""

import datetime as dt
import decimal
import os
import uuid
from typing import List, Optional

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql as pg

URL = sa.URL.create(
    "postgresql+psycopg",
    username=os.environ["PGUSER"],
    host=os.environ["PGHOST"],
    port=int(os.environ["PGPORT"]),
    database=os.environ["PGDATABASE"],
)
SCHEMA = "client_sqlalchemy"
CHECKS = 0


def same(found, expected, what):
    global CHECKS
    CHECKS += 1
    if found != expected:
        raise SystemExit(f"sqlalchemy: {what}: {found!r}, not {expected!r}")


class Base(orm.DeclarativeBase):
    metadata = sa.MetaData(schema=SCHEMA)


class Author(Base):
    __tablename__ = "author"
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(always=True), primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(40), unique=True, comment="as on the cover")
    born: orm.Mapped[Optional[dt.date]]
    score: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(10, 2), server_default=sa.text("0.50"))
    tags: orm.Mapped[List[str]] = orm.mapped_column(pg.ARRAY(sa.Text))
    extra: orm.Mapped[Optional[dict]] = orm.mapped_column(pg.JSONB)
    token: orm.Mapped[uuid.UUID]
    seen: orm.Mapped[Optional[dt.datetime]] = orm.mapped_column(sa.DateTime(timezone=True))
    books: orm.Mapped[List["Book"]] = orm.relationship(
        back_populates="author", cascade="all, delete-orphan", order_by="Book.title"
    )
    __table_args__ = (
        sa.CheckConstraint("score >= 0", name="author_score_check"),
        sa.Index("author_born", "born", "name"),
        {"comment": "people who write"},
    )


class Book(Base):
    __tablename__ = "book"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    title: orm.Mapped[str]
    pages: orm.Mapped[Optional[int]] = orm.mapped_column(sa.SmallInteger)
    author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey(Author.id, ondelete="CASCADE", name="book_author"))
    author: orm.Mapped[Author] = orm.relationship(back_populates="books")


def reflection(engine):
    look = sa.inspect(engine)
    same(sorted(look.get_table_names(SCHEMA)), ["author", "book"], "tables")
    same(look.get_view_names(SCHEMA), ["titles"], "views")
    same("select" in look.get_view_definition("titles", SCHEMA).lower(), True, "a view's definition")
    same(look.has_table("author", SCHEMA), True, "a table that is there")
    same(look.has_table("nothing", SCHEMA), False, "a table that is not there")
    same(SCHEMA in look.get_schema_names(), True, "schemas")
    same(sorted(look.get_sequence_names(SCHEMA)), ["author_id_seq", "book_id_seq", "counter"], "sequences")
    columns = {c["name"]: c for c in look.get_columns("author", SCHEMA)}
    shown = {
        name: (str(c["type"]), c["nullable"], c["default"], c["comment"], "identity" in c) for name, c in columns.items()
    }
    same(
        shown,
        {
            "id": ("INTEGER", False, None, None, True),
            "name": ("VARCHAR(40)", False, None, "as on the cover", False),
            "born": ("DATE", True, None, None, False),
            "score": ("NUMERIC(10, 2)", False, "0.50", None, False),
            "tags": ("ARRAY", False, None, None, False),
            "extra": ("JSONB", True, None, None, False),
            "token": ("UUID", False, None, None, False),
            "seen": ("TIMESTAMP", True, None, None, False),
        },
        "columns",
    )
    identity = {key: columns["id"]["identity"][key] for key in ("always", "start", "increment", "maxvalue", "cycle")}
    same(identity, {"always": True, "start": 1, "increment": 1, "maxvalue": 2147483647, "cycle": False}, "an identity")
    same(columns["seen"]["type"].timezone, True, "a type with a time zone")
    same(str(columns["tags"]["type"].item_type), "TEXT", "an array's elements")
    book = {c["name"]: c["default"] for c in look.get_columns("book", SCHEMA)}
    same(book["id"], f"nextval('{SCHEMA}.book_id_seq'::regclass)", "a serial's default")
    key = look.get_pk_constraint("author", SCHEMA)
    same((key["name"], key["constrained_columns"]), ("author_pkey", ["id"]), "a primary key")
    same(
        look.get_foreign_keys("book", SCHEMA),
        [
            {
                "name": "book_author",
                "constrained_columns": ["author_id"],
                "referred_schema": SCHEMA,
                "referred_table": "author",
                "referred_columns": ["id"],
                "options": {"ondelete": "CASCADE"},
                "comment": None,
            }
        ],
        "foreign keys",
    )
    unique = [(key["name"], key["column_names"]) for key in look.get_unique_constraints("author", SCHEMA)]
    same(unique, [("author_name_key", ["name"])], "unique constraints")
    checks = [(c["name"], c["sqltext"].replace("(0)::numeric", "0").replace("0::numeric", "0")) for c in look.get_check_constraints("author", SCHEMA)]
    same(checks, [("author_score_check", "score >= 0")], "check constraints")
    indexes = {i["name"]: (i["unique"], i["column_names"]) for i in look.get_indexes("author", SCHEMA)}
    same(
        indexes,
        {"author_born": (False, ["born", "name"]), "author_name_key": (True, ["name"])},
        "indexes",
    )
    same(look.get_table_comment("author", SCHEMA), {"text": "people who write"}, "a comment")
    reflected = sa.MetaData()
    reflected.reflect(engine, schema=SCHEMA, views=True)
    same(sorted(reflected.tables), [f"{SCHEMA}.author", f"{SCHEMA}.book", f"{SCHEMA}.titles"], "reflected tables")
    table = reflected.tables[f"{SCHEMA}.book"]
    same([key.target_fullname for key in table.foreign_keys], [f"{SCHEMA}.author.id"], "a reflected key")
    domains = look.get_domains(SCHEMA) if hasattr(look, "get_domains") else []
    same(domains, [], "domains")
    same(look.get_enums(SCHEMA), [], "enums")


def mapper(engine):
    token = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
    with orm.Session(engine) as session:
        ada = Author(
            name="Ada",
            born=dt.date(1815, 12, 10),
            tags=["first", "with, comma"],
            extra={"likes": ["engines"], "age": 36},
            token=token,
            seen=dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc),
            books=[Book(title=f"Volume {n}", pages=n * 10) for n in range(1, 21)],
        )
        session.add_all([ada, Author(name="Bob", tags=[], token=uuid.uuid4())])
        session.commit()
        same((ada.id, ada.score), (1, decimal.Decimal("0.50")), "what the server has made")
        same([book.id for book in sorted(ada.books, key=lambda book: book.pages)], list(range(1, 21)), "keys of many rows")
    with orm.Session(engine) as session:
        ada = session.scalars(sa.select(Author).options(orm.selectinload(Author.books)).where(Author.name == "Ada")).one()
        same((ada.tags, ada.extra, ada.token), (["first", "with, comma"], {"likes": ["engines"], "age": 36}, token), "values")
        same(ada.seen, dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc), "a time")
        same(len(ada.books), 20, "rows that belong to it")
        found = session.execute(
            sa.select(Author.name, sa.func.count(Book.id), sa.func.max(Book.pages))
            .outerjoin(Book)
            .group_by(Author.name)
            .having(sa.func.count(Book.id) >= 0)
            .order_by(Author.name)
        ).all()
        same([tuple(row) for row in found], [("Ada", 20, 200), ("Bob", 0, None)], "a query with groups")
        same(session.scalar(sa.select(Author.extra["age"].as_integer()).where(Author.id == 1)), 36, "a part of JSON")
        same(session.scalar(sa.select(Author.id).where(Author.tags.contains(["first"]))), 1, "an array's operator")
        same(session.scalar(sa.select(Author.id).where(Author.extra.contains({"age": 36}))), 1, "an operator of JSON")
        rank = sa.func.row_number().over(order_by=Book.pages.desc())
        same(session.execute(sa.select(Book.title, rank).limit(1)).one()[1], 1, "a window")
        ada.books[0].title = "Another title"
        ada.books.pop()
        session.commit()
        same(session.scalar(sa.select(sa.func.count()).select_from(Book)), 19, "an orphan is deleted")
        insert = pg.insert(Author).values(name="Ada", tags=[], token=token)
        upsert = insert.on_conflict_do_update(index_elements=["name"], set_={"score": insert.excluded.score + 1})
        same(session.scalar(upsert.returning(Author.score)), decimal.Decimal("1.50"), "ON CONFLICT")
        session.rollback()
        session.execute(sa.update(Author).where(Author.name == "Bob").values(score=Author.score * 2))
        try:
            with session.begin_nested():
                session.add(Author(name="Ada", tags=[], token=token))
                session.flush()
        except sa.exc.IntegrityError as error:
            same(error.orig.sqlstate, "23505", "a unique name")
        else:
            raise SystemExit("sqlalchemy: a name twice does not fail")
        session.commit()
        same(session.scalar(sa.select(Author.score).where(Author.name == "Bob")), decimal.Decimal("1.00"), "behind a savepoint")
        for row in session.execute(sa.select(Book.id).order_by(Book.id).execution_options(yield_per=5)).partitions():
            same(len(row) <= 5, True, "rows in parts")
        locked = session.scalars(sa.select(Author).where(Author.id == 1).with_for_update(skip_locked=True)).one()
        session.delete(locked)
        session.commit()
        same(session.scalar(sa.select(sa.func.count()).select_from(Book)), 0, "rows go with what they belong to")


def driver(engine):
    """What only the driver below has: notifications, plans."""
    listening = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    listening.execute(sa.text("LISTEN sqlalchemy"))
    with engine.begin() as connection:
        connection.execute(sa.select(sa.func.pg_notify("sqlalchemy", "one")))
    heard = list(listening.connection.driver_connection.notifies(timeout=10, stop_after=1))
    same([(told.channel, told.payload) for told in heard], [("sqlalchemy", "one")], "a notification")
    plan = listening.scalar(sa.text(f"EXPLAIN (FORMAT JSON) SELECT * FROM {SCHEMA}.author"))
    same(plan[0]["Plan"]["Relation Name"], "author", "a plan")
    listening.close()


def encrypted():
    def connect(authority):
        options = {"sslmode": "verify-full", "sslrootcert": os.environ[authority], "hostaddr": os.environ["PGHOST"]}
        engine = sa.create_engine(URL.set(host="localhost"), connect_args=options, poolclass=sa.pool.NullPool)
        with engine.connect() as connection:
            return connection.scalar(sa.text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))

    same(connect("CLIENT_AUTHORITY"), True, "encryption")
    try:
        connect("CLIENT_STRANGER")
    except sa.exc.OperationalError as error:
        same("certificate verify failed" in str(error), True, str(error))
    else:
        raise SystemExit("sqlalchemy: another authority is believed")


def main():
    engine = sa.create_engine(URL, connect_args={"connect_timeout": 10})
    with engine.begin() as connection:
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))
        connection.execute(sa.schema.CreateSchema(SCHEMA))
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE VIEW {SCHEMA}.titles AS SELECT title FROM {SCHEMA}.book"))
        connection.execute(sa.text(f"CREATE SEQUENCE {SCHEMA}.counter"))
    reflection(engine)
    # What is there is not made again.
    Base.metadata.create_all(engine)
    mapper(engine)
    driver(engine)
    encrypted()
    with engine.begin() as connection:
        connection.execute(sa.text(f"DROP VIEW {SCHEMA}.titles"))
    Base.metadata.drop_all(engine)
    same(sa.inspect(engine).get_table_names(SCHEMA), [], "everything is gone")
    with engine.begin() as connection:
        connection.execute(sa.schema.DropSchema(SCHEMA, cascade=True))
    print(f"sqlalchemy: {CHECKS} checks")


main()
