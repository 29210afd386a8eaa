//! Where definitions are kept: a heap with a fixed number, and how every process knows whether what it remembers is current.
//!
//! ```text
//!  DDL:     rows of the heap change, under locks -> [ changing + 1 -> commit -> version + 1 -> changing - 1 ] -> locks are gone
//!  reader:  remembered definitions of version v  -> lock the tables -> nothing is changing, version is still v?
//!                      ^                                                  no: read them again
//!                      \---- one reading of the heap serves a process until the version changes
//! ```
//!
//! The heap is small and is read whole; nothing looks for a single definition in it. Whoever changes an object writes all of its
//! rows anew. It has the objects of all databases: who reads those of one passes over the others' rows.
//!
//! Rules
//! 1. The locks of a committing transaction go before its version is raised. So whoever gets such a lock looks at `changing` first,
//!    then at the version; while somebody is changing, nobody trusts what he remembers.
//! 2. A commit that changes definitions is always waited for: others have to see it when they get its locks.
//! 3. A session that dies between the two steps is cleaned up after by [`CatalogShared::forget`].
//! 4. A transaction that has changed definitions reads them through its own snapshot, and remembers nothing.

use super::codec::{self, ObjectClass, Statistics};
use super::column_statistics::{self, TableStatistics};
use super::database::{DatabaseDef, POSTGRES};
use super::default_acl::DefaultAcl;
use super::definition::TableDef;
use super::part::{self, Part};
use super::privilege::ObjectAcl;
use super::role::{DATABASE_OWNER, RoleDef};
use super::role_settings::StoredSettings;
use super::routine::RoutineDef;
use super::schema::{self, FIRST_USER_OID, SchemaDef};
use super::user_type::UserTypeDef;
use crate::types::Oid;
use base::{Error, RelId, Result, SessionId, sqlstate};
use kernel::region;
use kernel::session;
use kernel::sync::{Critical, Spin};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use storage::heap::{Batch, Heap, Reader};
use storage::page::Tid;
use storage::relation::Relations;
use storage::txn::{FIRST_XID, LockKey};

/// The storage of the catalog's heap. Numbers of users' storages are higher.
pub const CATALOG: RelId = RelId(1);
/// The object number that the catalog's heap is locked by.
pub const CATALOG_OID: Oid = Oid(1259);

kernel::shared! {
    /// What sessions share of the catalog.
    struct Words {
        /// Raised with each commit that changes definitions.
        version: AtomicU64,
        /// How many sessions are committing such a change.
        changing: AtomicU32,
        unused: AtomicU32,
    }

    /// A session's note that it is counted in `changing`.
    struct Note {
        changing: AtomicU32,
        /// The database in which the session has made something temporary; zero if it has not.
        temporary: AtomicU32,
        /// The database that the session is in, or is about to be in; zero for none.
        inside: AtomicU32,
    }
}

/// What sessions share of the catalog, and what this process remembers of it.
pub struct CatalogShared {
    words: &'static Words,
    notes: &'static [Note],
    /// What was used last stands last.
    known: Spin<Vec<Known>>,
}

/// Definitions that this process remembers.
struct Known {
    version: u64,
    definitions: Arc<Definitions>,
}

/// Of how many databases a process remembers the definitions, at most.
const KNOWN_MAX: usize = 256;
/// How many databases' definitions are remembered however large they are, and how many bytes of others', as they lie in the heap.
const KNOWN_LARGE: usize = 8;
const KNOWN_BYTES: usize = 16 << 20;

/// The lock of a database: who comes in holds it for a moment, who drops it or gives it another name holds it alone.
pub(crate) const fn database_key(oid: Oid) -> LockKey {
    /// `pg_database`
    const DATABASES: u32 = 1262;
    LockKey::object(DATABASES, oid.0)
}

/// Stands for all databases where definitions are read: for what goes through everything by numbers. Names mean nothing then.
pub(crate) const ALL_DATABASES: Oid = Oid::NONE;

impl CatalogShared {
    /// Takes the words in the region. Before the first engine.
    pub fn make() -> CatalogShared {
        CatalogShared {
            words: region::single("catalog"),
            notes: region::table("catalog changes", session::slots().len()),
            known: Spin::new(Vec::with_capacity(KNOWN_MAX + 1)),
        }
    }

    /// The version, if nobody is changing definitions right now.
    pub(crate) fn settled(&self) -> Option<u64> {
        // In this order (rule 1); SeqCst pairs with `end`.
        let changing = self.words.changing.load(SeqCst);
        let version = self.words.version.load(SeqCst);
        (changing == 0).then_some(version)
    }

    /// The running session is about to commit a change.
    pub(crate) fn begin(&self) {
        let _critical = Critical::enter();
        self.notes[session::current_id().0 as usize].changing.store(1, SeqCst);
        self.words.changing.fetch_add(1, SeqCst);
    }

    /// It has committed, or failed to.
    pub(crate) fn end(&self) {
        self.forget(session::current_id());
    }

    /// A session is over, or its change is.
    pub fn forget(&self, session: SessionId) {
        let _critical = Critical::enter();
        if self.notes[session.0 as usize].changing.swap(0, SeqCst) != 0 {
            self.words.version.fetch_add(u64::from(!kernel::fault::planted("sql.kept_definitions")), SeqCst);
            self.words.changing.fetch_sub(1, SeqCst);
        }
    }

    /// The database in which a session has made something temporary, if it has.
    pub(crate) fn has_temporary(&self, session: SessionId) -> Option<Oid> {
        Some(Oid(self.notes[session.0 as usize].temporary.load(SeqCst))).filter(|database| !database.is_none())
    }

    /// Notes that it has, before it does; or that nothing of it is left.
    pub(crate) fn set_temporary(&self, session: SessionId, database: Option<Oid>) {
        self.notes[session.0 as usize].temporary.store(database.unwrap_or(Oid::NONE).0, SeqCst);
    }

    /// A session is in a database from now on, in none if there is none. Before it looks whether the database is still there, and
    /// with the lock of it.
    pub(crate) fn set_inside(&self, session: SessionId, database: Option<Oid>) {
        self.notes[session.0 as usize].inside.store(database.unwrap_or(Oid::NONE).0, SeqCst);
    }

    /// The sessions that are in a database.
    pub(crate) fn inside(&self, database: Oid) -> impl Iterator<Item = SessionId> + '_ {
        let notes = self.notes[..session::slots_reached().len()].iter().zip(0..);
        notes.filter(move |(note, _)| note.inside.load(SeqCst) == database.0).map(|(_, slot)| SessionId(slot))
    }

    /// What this process remembers of a version, if it serves.
    fn remembered(&self, version: u64, serves: impl Fn(&Definitions) -> bool) -> Option<Arc<Definitions>> {
        let mut known = self.known.lock();
        let found = known.iter().rposition(|known| known.version == version && serves(&known.definitions))?;
        let last = known.len() - 1;
        if found < last {
            known[found..].rotate_left(1);
        }
        Some(known[last].definitions.clone())
    }

    /// Remembers definitions; answers what is not remembered any more, to be dropped without the lock.
    fn remember(&self, known: Known) -> Vec<Known> {
        let mut old = Vec::with_capacity(KNOWN_MAX);
        let mut all = self.known.lock();
        // There is one version for all databases.
        while let Some(at) = all
            .iter()
            .position(|other| other.version < known.version || other.definitions.home == known.definitions.home)
        {
            old.push(all.remove(at));
        }
        all.push(known);
        let mut bytes: usize = all.iter().map(|known| known.definitions.bytes).sum();
        while all.len() > KNOWN_MAX || (all.len() > KNOWN_LARGE && bytes > KNOWN_BYTES) {
            let least = all.remove(0);
            bytes -= least.definitions.bytes;
            old.push(least);
        }
        old
    }

    /// The definitions of a database that are committed now; [`ALL_DATABASES`] for those of all.
    pub(crate) fn definitions(&self, relations: &'static Relations, database: Oid) -> Result<Arc<Definitions>> {
        let settled = self.settled();
        let serves = |known: &Definitions| known.home == database || (database == ALL_DATABASES && known.is_all);
        if let Some(known) = settled.and_then(|version| self.remembered(version, serves)) {
            return Ok(known);
        }
        let transactions = relations.storage().transactions;
        let snapshot = transactions.snapshot();
        let read = Definitions::read(relations, &Reader::new(&snapshot), database);
        transactions.release(snapshot);
        let read = Arc::new(read?);
        if let Some(version) = settled {
            // What was read may be younger than the version that was read before it, never older.
            let known = Known { version, definitions: read.clone() };
            let old = self.remember(known);
            drop(old);
        }
        Ok(read)
    }

    /// Committed definitions of whichever database is at hand: for what databases share.
    pub(crate) fn any_definitions(&self, relations: &'static Relations) -> Result<Arc<Definitions>> {
        match self.settled().and_then(|version| self.remembered(version, |_| true)) {
            Some(known) => Ok(known),
            None => self.definitions(relations, POSTGRES),
        }
    }
}

/// The committed definitions of a database, for whoever asks later.
#[derive(Clone, Copy)]
pub struct Committed<'c> {
    /// How processes know which definitions count.
    pub(crate) shared: &'c CatalogShared,
    /// The stored tables.
    pub(crate) relations: &'static Relations,
    /// The database.
    pub(crate) database: Oid,
}

impl Committed<'_> {
    /// Those of now.
    pub(crate) fn definitions(&self) -> Result<Arc<Definitions>> {
        self.shared.definitions(self.relations, self.database)
    }
}

/// Makes the catalog of a new database. In the background host, after the storage's start and before anybody is let in; `new` is what
/// the start said.
pub fn open(relations: &'static Relations, new: bool) -> Result<()> {
    match relations.blocks(CATALOG) {
        Ok(_) => return Ok(()),
        // A database in which nothing ever happened may have died before it had a catalog.
        Err(_) if new || relations.storage().transactions.next_xid() == FIRST_XID => {}
        Err(error) => return Err(error),
    }
    relations.storage().create_relation_as(CATALOG)?;
    relations.storage().wal.flush_all();
    Ok(())
}

/// The catalog's heap.
pub(crate) fn heap(relations: &'static Relations) -> Heap {
    relations.heap(CATALOG)
}

/// The parts of an object's image: how many there are to be, and those that were found.
type Parts = (u16, BTreeMap<u16, Vec<u8>>);

/// All definitions of one moment that a database has or shares.
#[derive(Clone, Debug)]
pub struct Definitions {
    /// The database.
    home: Oid,
    /// There was nothing of other databases.
    is_all: bool,
    /// How long the images were that they were read from.
    bytes: usize,
    /// Where definitions of all databases are: of which one a relation is.
    homes: BTreeMap<Oid, Oid>,
    databases: BTreeMap<Oid, Arc<DatabaseDef>>,
    tables: BTreeMap<Oid, Arc<TableDef>>,
    /// Tables by name, with their schemas.
    names: BTreeMap<String, Vec<(Oid, Oid)>>,
    /// Indexes by name: schema, table, number.
    indexes: BTreeMap<String, Vec<(Oid, Oid, Oid)>>,
    schemas: BTreeMap<Oid, SchemaDef>,
    statistics: BTreeMap<Oid, Statistics>,
    columns: BTreeMap<Oid, Arc<TableStatistics>>,
    roles: BTreeMap<Oid, Arc<RoleDef>>,
    /// What was said of objects: the catalog of each, and the text.
    comments: BTreeMap<Oid, (Oid, String)>,
    routines: BTreeMap<Oid, Arc<RoutineDef>>,
    types: BTreeMap<Oid, Arc<UserTypeDef>>,
    /// What was granted on objects.
    privileges: BTreeMap<Oid, Arc<ObjectAcl>>,
    /// What is granted on objects that are made, and settings that sessions begin with.
    default_acls: BTreeMap<Oid, DefaultAcl>,
    stored_settings: BTreeMap<Oid, StoredSettings>,
}

impl Default for Definitions {
    fn default() -> Definitions {
        Definitions::none(POSTGRES)
    }
}

impl Definitions {
    /// A database in which nobody has made anything.
    fn none(home: Oid) -> Definitions {
        Definitions {
            home,
            is_all: true,
            bytes: 0,
            homes: BTreeMap::new(),
            databases: BTreeMap::new(),
            tables: BTreeMap::new(),
            names: BTreeMap::new(),
            indexes: BTreeMap::new(),
            schemas: BTreeMap::new(),
            statistics: BTreeMap::new(),
            columns: BTreeMap::new(),
            roles: BTreeMap::new(),
            comments: BTreeMap::new(),
            routines: BTreeMap::new(),
            types: BTreeMap::new(),
            privileges: BTreeMap::new(),
            default_acls: BTreeMap::new(),
            stored_settings: BTreeMap::new(),
        }
    }

    /// The number of the database that they are of.
    pub fn home(&self) -> Oid {
        self.home
    }

    /// The database of a relation, where they are of all databases.
    pub(crate) fn home_of(&self, relation: Oid) -> Oid {
        self.homes.get(&relation).copied().unwrap_or(self.home)
    }

    /// Reads all that a reader sees of a database; of [`ALL_DATABASES`].
    pub(crate) fn read(relations: &'static Relations, reader: &Reader<'_>, database: Oid) -> Result<Definitions> {
        let mut definitions = Definitions::none(database);
        let mut is_all = true;
        let images = images(relations, reader, |part| {
            let wanted = database == ALL_DATABASES || part.database == database || part.class.is_shared();
            is_all &= wanted;
            wanted
        })?;
        definitions.is_all = is_all;
        for ((class, home, oid), image) in images {
            definitions.bytes += image.len();
            match class {
                ObjectClass::Table => {
                    if database == ALL_DATABASES {
                        definitions.homes.insert(oid, home);
                    }
                    definitions.add(Arc::new(codec::table(&image)?));
                }
                ObjectClass::Database => drop(definitions.databases.insert(oid, Arc::new(codec::database(&image)?))),
                ObjectClass::Schema => drop(definitions.schemas.insert(oid, codec::schema(&image)?)),
                ObjectClass::Routine => drop(definitions.routines.insert(oid, Arc::new(codec::routine(&image)?))),
                ObjectClass::Type => drop(definitions.types.insert(oid, Arc::new(codec::user_type(&image)?))),
                ObjectClass::Statistics => drop(definitions.statistics.insert(oid, codec::statistics(&image)?)),
                ObjectClass::ColumnStatistics => {
                    definitions.columns.insert(oid, Arc::new(column_statistics::read(&image)?));
                }
                // No object of the system has the number of a database that is there from the beginning.
                ObjectClass::Comment | ObjectClass::DatabaseComment => {
                    definitions.comments.insert(oid, codec::comment(&image)?);
                }
                ObjectClass::Privileges | ObjectClass::DatabasePrivileges => {
                    definitions.privileges.insert(oid, Arc::new(codec::acl(&image)?));
                }
                ObjectClass::DefaultPrivileges => {
                    definitions.default_acls.insert(oid, codec::default_acl(&image)?);
                }
                ObjectClass::StoredSettings => drop(definitions.stored_settings.insert(oid, codec::settings(&image)?)),
                ObjectClass::Role => drop(definitions.roles.insert(oid, Arc::new(codec::role(&image)?))),
            }
        }
        Ok(definitions)
    }

    fn add(&mut self, table: Arc<TableDef>) {
        self.names.entry(table.name.clone()).or_default().push((table.schema, table.oid));
        for index in &table.indexes {
            self.indexes.entry(index.name.clone()).or_default().push((table.schema, table.oid, index.oid));
        }
        self.tables.insert(table.oid, table);
    }

    /// Definitions of these tables: for tests and tools.
    pub fn of(tables: impl IntoIterator<Item = TableDef>) -> Definitions {
        let mut definitions = Definitions::default();
        tables.into_iter().for_each(|table| definitions.add(Arc::new(table)));
        definitions
    }

    /// The same, with other forms of some tables.
    pub(crate) fn with(&self, changed: impl Fn(&TableDef) -> Option<TableDef>) -> Option<Definitions> {
        let changed: Vec<TableDef> = self.tables.values().filter_map(|table| changed(table)).collect();
        if changed.is_empty() {
            return None;
        }
        let mut definitions = self.clone();
        for table in changed {
            definitions.tables.insert(table.oid, Arc::new(table));
        }
        Some(definitions)
    }

    /// All tables, by number.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.tables.values()
    }

    /// The table of that number.
    pub fn table(&self, oid: Oid) -> Option<&Arc<TableDef>> {
        self.tables.get(&oid)
    }

    /// The table of that name in a schema.
    pub fn table_named(&self, schema: Oid, name: &str) -> Option<&Arc<TableDef>> {
        let found = self.names.get(name)?.iter().find(|found| found.0 == schema)?;
        self.tables.get(&found.1)
    }

    /// The index of that name in a schema: its table, and its number.
    pub fn index_named(&self, schema: Oid, name: &str) -> Option<(&Arc<TableDef>, Oid)> {
        let found = self.indexes.get(name)?.iter().find(|found| found.0 == schema)?;
        self.tables.get(&found.1).map(|table| (table, found.2))
    }

    /// The schemas that were there from the beginning and still are. One that was dropped has a row without a name.
    pub fn builtin_schemas(&self) -> impl Iterator<Item = (Oid, &str)> {
        let name = |(oid, name): &(Oid, &'static str)| match self.schemas.get(oid) {
            Some(stored) => (*oid, stored.name.as_str()),
            None => (*oid, *name),
        };
        schema::BUILTIN.iter().map(name).filter(|(_, name)| !name.is_empty())
    }

    /// The schemas that users have made: number and name.
    pub fn schemas(&self) -> impl Iterator<Item = (Oid, &str)> {
        let made = self.schemas.iter().filter(|(oid, _)| oid.0 >= FIRST_USER_OID);
        made.map(|(oid, schema)| (*oid, schema.name.as_str()))
    }

    /// The schema of that name, if a user made it.
    pub fn schema_named(&self, name: &str) -> Option<Oid> {
        self.schemas().find(|schema| schema.1 == name).map(|schema| schema.0)
    }

    /// The role that owns a schema.
    pub fn schema_owner(&self, oid: Oid) -> Oid {
        match self.schemas.get(&oid) {
            Some(schema) => schema.owner,
            None if oid == schema::PUBLIC => DATABASE_OWNER,
            None => schema::BOOTSTRAP_ROLE,
        }
    }

    /// What was granted on an object, if anything was.
    pub fn acl(&self, oid: Oid) -> Option<&Arc<ObjectAcl>> {
        self.privileges.get(&oid)
    }

    /// The objects on which something was granted.
    pub fn acls(&self) -> impl Iterator<Item = (Oid, &Arc<ObjectAcl>)> {
        self.privileges.iter().map(|(oid, acl)| (*oid, acl))
    }

    /// The lists of default privileges, with their numbers.
    pub fn default_acls(&self) -> impl Iterator<Item = (Oid, &DefaultAcl)> {
        self.default_acls.iter().map(|(oid, known)| (*oid, known))
    }

    /// The settings that sessions begin with, with their numbers.
    pub fn stored_settings(&self) -> impl Iterator<Item = (Oid, &StoredSettings)> {
        self.stored_settings.iter().map(|(oid, known)| (*oid, known))
    }

    /// The databases that have rows.
    pub(super) fn stored_databases(&self) -> impl Iterator<Item = &Arc<DatabaseDef>> {
        self.databases.values()
    }

    /// The database of that number, if it has a row.
    pub(super) fn stored_database(&self, oid: Oid) -> Option<&Arc<DatabaseDef>> {
        self.databases.get(&oid)
    }

    /// The roles that have rows.
    pub(super) fn stored_roles(&self) -> impl Iterator<Item = &Arc<RoleDef>> {
        self.roles.values()
    }

    /// The role of that number, if it has a row.
    pub(super) fn stored_role(&self, oid: Oid) -> Option<&Arc<RoleDef>> {
        self.roles.get(&oid)
    }

    /// The procedure of that number.
    pub fn routine(&self, oid: Oid) -> Option<&Arc<RoutineDef>> {
        self.routines.get(&oid)
    }

    /// The procedures that users have made.
    pub fn routines(&self) -> impl Iterator<Item = &Arc<RoutineDef>> {
        self.routines.values()
    }

    /// The type of that number.
    pub fn user_type(&self, oid: Oid) -> Option<&Arc<UserTypeDef>> {
        self.types.get(&oid)
    }

    /// The types that users have made.
    pub fn user_types(&self) -> impl Iterator<Item = &Arc<UserTypeDef>> {
        self.types.values()
    }

    /// Are there such types?
    pub fn has_types(&self) -> bool {
        !self.types.is_empty()
    }

    /// The type of that name in a schema, if a user made it.
    pub fn type_named(&self, schema: Oid, name: &str) -> Option<&Arc<UserTypeDef>> {
        self.types.values().find(|known| known.schema == schema && known.name == name)
    }

    /// The array of that name in a schema, if it is of a type that a user made.
    pub fn array_named(&self, schema: Oid, name: &str) -> Option<Oid> {
        if !name.starts_with('_') {
            return None;
        }
        let found = self.types.values().find(|known| known.schema == schema && known.array_name() == name)?;
        crate::types::user::array_of(found.oid)
    }

    /// All comments: the catalog of what they are on, its number, its column or zero, and the text.
    pub fn comments(&self) -> impl Iterator<Item = (Oid, Oid, u16, &str)> {
        const CLASSES: (Oid, Oid) = (Oid(1259), Oid(2606));
        let tables = self.tables.values().flat_map(|table| {
            table.comments.iter().map(|comment| {
                let on_constraint = table.constraints.iter().any(|known| known.oid == comment.of);
                let class = if on_constraint { CLASSES.1 } else { CLASSES.0 };
                (class, comment.of, comment.column, comment.text.as_str())
            })
        });
        let others = self.comments.iter().map(|(oid, (class, text))| (*class, *oid, 0, text.as_str()));
        tables.chain(others)
    }

    /// How large a table is thought to be.
    pub fn statistics(&self, table: Oid) -> Option<Statistics> {
        self.statistics.get(&table).copied()
    }

    /// What is known of a table's columns.
    pub fn column_statistics(&self, table: Oid) -> Option<&Arc<TableStatistics>> {
        self.columns.get(&table)
    }
}

/// An object's image, by its class, its database and its number.
type Images = BTreeMap<(ObjectClass, Oid, Oid), Vec<u8>>;

/// The images of the objects whose parts are wanted, as a reader sees them.
pub(crate) fn images(
    relations: &'static Relations,
    reader: &Reader<'_>,
    mut wanted: impl FnMut(&Part<'_>) -> bool,
) -> Result<Images> {
    let mut found: BTreeMap<(ObjectClass, Oid, Oid), Parts> = BTreeMap::new();
    let heap = heap(relations);
    let (mut scan, mut batch) = (heap.scan()?, Batch::new());
    while heap.next_page(&mut scan, reader, &mut batch)? {
        for (_, row) in batch.rows() {
            let part = part::read(row)?;
            if !wanted(&part) {
                continue;
            }
            let key = (part.class, part.database, part.oid);
            let image = found.entry(key).or_insert((part.parts, BTreeMap::new()));
            let known = image.1.insert(part.part, part.bytes.to_vec());
            if image.0 != part.parts || known.is_some() {
                return Err(Error::corruption("an object is in the catalog twice")
                    .detail(format!("Its number is {}.", part.oid.0)));
            }
        }
    }
    let whole = |(key, (count, parts)): ((ObjectClass, Oid, Oid), Parts)| {
        if parts.len() != usize::from(count) {
            return Err(Error::corruption("a part of an object is missing from the catalog")
                .detail(format!("Its number is {}.", key.2.0)));
        }
        Ok((key, parts.into_values().flatten().collect()))
    };
    found.into_iter().map(whole).collect()
}

/// The places of the rows of an object of a database, as a reader sees them.
pub(crate) fn places(
    relations: &'static Relations,
    reader: &Reader<'_>,
    database: Oid,
    class: ObjectClass,
    oid: Oid,
) -> Result<Vec<Tid>> {
    let database = if class.is_shared() { Oid::NONE } else { database };
    places_where(relations, reader, |part| (part.class, part.database, part.oid) == (class, database, oid))
}

/// The places of the rows that are wanted, as a reader sees them.
pub(crate) fn places_where(
    relations: &'static Relations,
    reader: &Reader<'_>,
    wanted: impl Fn(&Part<'_>) -> bool,
) -> Result<Vec<Tid>> {
    let heap = heap(relations);
    let (mut scan, mut batch, mut found) = (heap.scan()?, Batch::new(), Vec::new());
    while heap.next_page(&mut scan, reader, &mut batch)? {
        for (tid, row) in batch.rows() {
            if wanted(&part::read(row)?) {
                found.push(tid);
            }
        }
    }
    Ok(found)
}

/// What a statement hears whose change of an object came at the same time as somebody else's. It may be tried again; PostgreSQL calls it an
/// internal error.
#[cold]
pub(crate) fn concurrently() -> Error {
    Error::statement(sqlstate::SERIALIZATION_FAILURE, "tuple concurrently updated")
        .hint("Somebody else has changed the same object at this moment. Try again.")
}
