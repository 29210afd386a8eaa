//! What is around an execution: the session's settings and identity, the catalog, the time.
//!
//! Operations that the types cannot answer by themselves ([`Op::is_external`]) are answered here.

use super::deferred::{Chosen, Noted};
use crate::catalog::definition::Rows;
use crate::catalog::lazy::LazyCatalog;
use crate::catalog::schema::BOOTSTRAP_ROLE;
use crate::catalog::store::Committed;
use crate::catalog::system;
use crate::notification::queue::Queue;
use crate::session::SettingsView;
use crate::session::held::Held;
use crate::session::settings::{is_custom, unknown_setting};
use crate::types::datetime::Style;
use crate::types::numeric::Numeric;
use crate::types::op::Op;
use crate::types::regex::Expressions;
use crate::types::{Arena, Datum, EvalCtx, Oid, Type, array, table, typmod, user};
use base::settings::{check_readable, lookup};
use base::{Error, Result, SessionId, Xid, sqlstate};
use kernel::session::SessionShared;
use std::cell::{Cell, RefCell};
use storage::page::PAGE_SIZE;
use storage::relation::Relations;
use storage::txn::{FIRST_XID, Status};

/// A call of `set_config`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingRequest {
    /// The setting's name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Only for this transaction.
    pub local: bool,
}

/// What is to be carried out when the statement has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// A call of `set_config`.
    Set(SettingRequest),
    /// A call of `pg_notify`.
    Notify {
        /// The channel.
        channel: String,
        /// What is sent.
        payload: String,
    },
    /// A check that waits for the transaction's end.
    Defer(Noted),
}

/// What an execution knows of notifications.
pub struct Notifying {
    /// The channels that the session listens to.
    pub(crate) channels: Vec<Vec<u8>>,
    /// The queue; none in a tool.
    pub(crate) queue: Option<Queue>,
}

/// The surroundings of an execution.
pub struct Around<'r> {
    /// What is known of tables.
    pub catalog: LazyCatalog<'r>,
    /// The session's settings.
    pub settings: &'r SettingsView<'r>,
    /// The settings that text forms depend on, and the transaction's time.
    pub style: Style<'r>,
    /// When the message arrived.
    pub statement_time: i64,
    /// The session; none in a tool.
    pub session: Option<SessionId>,
    /// The number that users see.
    pub number: u32,
    /// The name of the current user.
    pub user: &'r [u8],
    /// The name of the session's user.
    pub session_user: &'r [u8],
    /// The current user.
    pub role: Oid,
    /// The database: its number, and its name.
    pub database: (Oid, &'r str),
    /// When the server started.
    pub server_start: i64,
    /// What only the server can do.
    pub server: &'r dyn crate::session::Server,
    /// The state of `random()`.
    pub random: Cell<u64>,
    /// Regular expressions that it has used.
    pub expressions: Expressions,
    /// The stored tables, for their sizes; none in a tool.
    pub relations: Option<&'static Relations>,
    /// Warnings, to be told when the statement has ended.
    pub warnings: RefCell<Vec<Error>>,
    /// What the session remembers of sequences.
    pub sequences: &'r dyn super::sequence::Memory,
    /// The definitions that count for others.
    pub committed: Option<Committed<'r>>,
    /// True in a transaction that only reads.
    pub read_only: bool,
    /// True if a function has taken a lock that the transaction's end gives up.
    pub locks: Cell<bool>,
    /// The last number that rows were changed with at the statement's end, if it has used more than one there.
    pub later: Cell<u32>,
    /// Calls of `set_config` and `pg_notify`, and checks that wait.
    pub requests: RefCell<Vec<Request>>,
    /// What the session has prepared and opened.
    pub held: &'r dyn Held,
    /// Which checks wait for the transaction's end.
    pub(crate) chosen: Chosen,
    /// Channels and the queue of notifications.
    pub notifying: Notifying,
    /// Who calls functions of users; none where the plan calls none.
    pub caller: Option<&'r dyn super::routine::Caller>,
    /// Changed rows that a trigger's function reads as tables.
    pub transitions: &'r [super::trigger::Transition],
}

impl Around<'_> {
    /// How many bytes a relation takes; null if there is none.
    pub(super) fn size(&self, op: Op, oid: Oid) -> Result<Datum<'static>> {
        let Some(relations) = self.relations else { return Ok(Datum::Int(0)) };
        let bytes = |rel| relations.blocks(rel).map(|blocks| i64::from(blocks) * PAGE_SIZE as i64);
        let catalog = self.catalog.get()?;
        let definitions = &catalog.definitions;
        let index = || definitions.tables().find_map(|table| table.index(oid).map(|index| index.storage));
        let pieces = || definitions.tables().filter_map(|table| table.pieces).find(|pieces| pieces.oid == oid);
        let Some(table) = definitions.table(oid) else {
            return match index().or_else(|| pieces().map(|pieces| pieces.storage)) {
                Some(storage) if op != Op::IndexesSize => bytes(storage).map(Datum::Int),
                Some(_) => Ok(Datum::Int(0)),
                None if catalog.table_by_oid(oid)?.is_some() => Ok(Datum::Int(0)),
                None => Ok(Datum::Null),
            };
        };
        let rows = match table.rows {
            Rows::Stored(rel) => bytes(rel)?,
            Rows::Made(_) | Rows::None => 0,
        };
        let mut indexes = 0;
        for index in &table.indexes {
            indexes += bytes(index.storage)?;
        }
        let pieces = table.pieces.map_or(Ok(0), |pieces| bytes(pieces.storage))?;
        Ok(Datum::Int(match op {
            Op::IndexesSize => indexes,
            Op::TotalRelationSize => rows + pieces + indexes,
            Op::TableSize => rows + pieces,
            _ => rows,
        }))
    }

    /// Numbers of transactions, and what became of them.
    fn transaction(&self, op: Op, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        let Some(relations) = self.relations else {
            return Err(Error::unsupported("there are no transactions here"));
        };
        let transactions = relations.storage().transactions;
        let number = |xid: Xid| Datum::Int(xid.0 as i64);
        match op {
            Op::CurrentXid => {
                // It is held until the transaction ends, as a lock is.
                self.locks.set(true);
                let given = transactions.xid()?;
                Ok(number(transactions.current_xid().unwrap_or(given)))
            }
            Op::CurrentXidIfAny => Ok(transactions.current_xid().map_or(Datum::Null, number)),
            _ => {
                let xid = Xid(args[0].int() as u64);
                if xid >= transactions.next_xid() {
                    let message = format!("transaction ID {} is in the future", xid.0);
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
                Ok(match transactions.status(xid) {
                    Status::Running => Datum::text("in progress"),
                    Status::Committed(_) | Status::Ancient if xid >= FIRST_XID => Datum::text("committed"),
                    Status::Committed(_) | Status::Ancient => Datum::Null,
                    Status::Aborted => Datum::text("aborted"),
                })
            }
        }
    }

    /// The surroundings of an operation.
    #[inline]
    pub fn context<'a>(&'a self, arena: &'a Arena) -> EvalCtx<'a> {
        EvalCtx {
            arena,
            style: self.style,
            statement_time: self.statement_time,
            clock_time: self.statement_time,
            random: self.random.get(),
            expressions: Some(&self.expressions),
        }
    }

    /// Answers an operation that the types leave to the caller.
    pub fn external<'a>(&self, op: Op, args: &[Datum<'a>], arena: &'a Arena) -> Result<Datum<'a>> {
        let text = |text: &str| Ok(Datum::Bytes(arena.copy(text.as_bytes())?));
        let string = |at: usize| String::from_utf8_lossy(args[at].bytes()).into_owned();
        let oid = |at: usize| Oid(args[at].int() as u32);
        Ok(match op {
            Op::CurrentDatabase => return text(self.database.1),
            Op::CurrentUser => return text(&String::from_utf8_lossy(self.user)),
            Op::SessionUser => return text(&String::from_utf8_lossy(self.session_user)),
            Op::CurrentSchema => {
                let catalog = self.catalog.get()?;
                match catalog.path.creation().and_then(|oid| catalog.schema_name(oid)) {
                    Some(name) => return text(&name),
                    None => Datum::Null,
                }
            }
            Op::CurrentSchemas => {
                let catalog = self.catalog.get()?;
                let shown = catalog.path.shown(args[0].bool()).iter();
                let names: Vec<String> = shown.filter_map(|&oid| catalog.schema_name(oid)).collect();
                let names: Vec<Datum<'_>> = names.iter().map(|name| Datum::text(name)).collect();
                Datum::Bytes(arena.copy(&array::encode_list(Oid::NAME, &names)?)?)
            }
            Op::Version => return text(&self.version()),
            Op::GenerateUuid => {
                let mut uuid = [0; 16];
                uuid[..8].copy_from_slice(&kernel::engine::random_u64().to_le_bytes());
                uuid[8..].copy_from_slice(&kernel::engine::random_u64().to_le_bytes());
                // Version 4 of the variant of RFC 4122: all else is chance.
                uuid[6] = uuid[6] & 0x0F | 0x40;
                uuid[8] = uuid[8] & 0x3F | 0x80;
                Datum::Bytes(arena.copy(&uuid)?)
            }
            Op::CurrentXid | Op::CurrentXidIfAny | Op::XactStatus => return self.transaction(op, args),
            Op::BackendPid => Datum::Int(self.number.into()),
            Op::CurrentSetting => {
                let name = string(0);
                if is_custom(&name)? {
                    let requests = self.requests.borrow();
                    let set = requests.iter().rev().find_map(|request| match request {
                        Request::Set(request) if request.name.eq_ignore_ascii_case(&name) => Some(&*request.value),
                        _ => None,
                    });
                    return match set.or_else(|| self.settings.custom(&name)) {
                        Some(value) => text(value),
                        None if args.get(1).is_some_and(|missing| missing.bool()) => Ok(Datum::Null),
                        None => Err(unknown_setting(&name)),
                    };
                }
                match lookup(&name) {
                    Ok(id) => {
                        check_readable(id, self.is_superuser()?)?;
                        // What this very statement has set counts already.
                        let requests = self.requests.borrow();
                        let settings = requests.iter().rev().filter_map(|request| match request {
                            Request::Set(request) => Some(request),
                            Request::Notify { .. } | Request::Defer(_) => None,
                        });
                        let set = settings.into_iter().find(|request| lookup(&request.name).is_ok_and(|set| set == id));
                        if let Some(request) = set {
                            let value = base::settings::parse(id, &request.value)?;
                            return text(&base::settings::show(id, value.as_ref()));
                        }
                        return text(&self.settings.show(id));
                    }
                    Err(_) if args.get(1).is_some_and(|missing| missing.bool()) => Datum::Null,
                    Err(error) => return Err(error),
                }
            }
            Op::SetConfig if args[0].is_null() || args[1].is_null() => {
                return Err(
                    Error::unsupported("set_config with a null").hint("RESET gives a setting its default again.")
                );
            }
            Op::SetConfig => {
                let (name, value) = (string(0), string(1));
                if !is_custom(&name)? {
                    lookup(&name)?;
                }
                let local = !args[2].is_null() && args[2].bool();
                self.requests.borrow_mut().push(Request::Set(SettingRequest { name, value: value.clone(), local }));
                return text(&value);
            }
            Op::Notify => {
                let word = |at: usize| if args[at].is_null() { String::new() } else { string(at) };
                let (channel, payload) = (word(0), word(1));
                crate::notification::pending::check(&channel, &payload)?;
                self.requests.borrow_mut().push(Request::Notify { channel, payload });
                Datum::Bytes(&[])
            }
            Op::NotificationQueueUsage => Datum::Float(self.notifying.queue.map_or(0.0, |queue| queue.usage())),
            Op::TableIsVisible => {
                let catalog = self.catalog.get()?;
                match catalog.table_by_oid(oid(0))? {
                    Some(table) => Datum::Bool(catalog.is_visible(&table)),
                    None => self.index_is_visible(oid(0))?,
                }
            }
            Op::TypeIsVisible if user::is_user(oid(0)) => {
                let catalog = self.catalog.get()?;
                let known = user::base_of(oid(0)).and_then(|base| catalog.user_type(base));
                known.map_or(Datum::Null, |known| Datum::Bool(catalog.sees_type(known.oid)))
            }
            Op::TypeIsVisible => table::by_oid(oid(0)).map_or(Datum::Null, |_| Datum::Bool(true)),
            Op::FunctionIsVisible => {
                let catalog = self.catalog.get()?;
                match (catalog.routine(oid(0)), system::is_function(oid(0))) {
                    (Some(routine), _) => Datum::Bool(catalog.sees_routine(&routine)),
                    (None, true) => Datum::Bool(true),
                    (None, false) => Datum::Null,
                }
            }
            Op::RoleName => match self.catalog.get()?.definitions.role(oid(0)) {
                Some(role) => return text(&role.name),
                None => return text(&format!("unknown (OID={})", oid(0))),
            },
            Op::FormatType if args[0].is_null() => Datum::Null,
            Op::FormatType => {
                // Without a modifier `character` is shown as it stands in the grammar.
                let name = match args[1] {
                    Datum::Null if oid(0) == Oid::BPCHAR => "character".to_owned(),
                    Datum::Null => typmod::format_type(Type::plain(oid(0))),
                    modifier => typmod::format_type(Type { oid: oid(0), typmod: modifier.int() as i32 }),
                };
                match user::has_marks(&name) {
                    true => return text(&self.catalog.get()?.with_names(&name)),
                    false => return text(&name),
                }
            }
            Op::GetExpr if std::str::from_utf8(args[0].bytes()).is_ok_and(user::has_marks) => {
                let (written, catalog) = (string(0), self.catalog.get()?);
                let shown = catalog.with_names(&written);
                let is_pretty = args.get(2).is_some_and(|pretty| pretty.bool());
                return text(if is_pretty { system::without_parentheses(&shown) } else { &shown });
            }
            Op::GetExpr if args.get(2).is_some_and(|pretty| pretty.bool()) => {
                let shown = std::str::from_utf8(args[0].bytes()).map(system::without_parentheses);
                shown.map_or(args[0], Datum::text)
            }
            Op::GetExpr => args[0],
            Op::GetIndexDefinition => return self.index_definition(args, arena),
            Op::GetConstraintDefinition => {
                let catalog = self.catalog.get()?;
                let pretty = args.get(1).is_some_and(|pretty| pretty.bool());
                for def in catalog.tables()? {
                    if let Some(shown) = system::constraint_definition(&catalog, &def, oid(0), pretty) {
                        return text(&shown);
                    }
                }
                Datum::Null
            }
            Op::GetViewDefinition | Op::GetViewDefinitionByName => {
                let catalog = self.catalog.get()?;
                let view = match op {
                    Op::GetViewDefinition => oid(0),
                    _ => catalog.read_reg(Oid::REGCLASS, &string(0))?,
                };
                let view = catalog.table_by_oid(view)?;
                match view.and_then(|view| crate::catalog::view::shown_query(&catalog, &view)) {
                    Some(shown) => return text(&shown),
                    None => Datum::Null,
                }
            }
            Op::GetRuleDefinition => match system::rule_definition(&self.catalog.get()?, oid(0)) {
                Some(shown) => return text(&shown),
                None => Datum::Null,
            },
            Op::Description => return self.description(args, arena),
            Op::EncodingName => match args[0].int() {
                6 => return text("UTF8"),
                0 => return text("SQL_ASCII"),
                _ => return text(""),
            },
            Op::TextToRegclass => Datum::Int(self.catalog.get()?.read_reg(Oid::REGCLASS, &string(0))?.0.into()),
            Op::ToRegclass
            | Op::ToRegtype
            | Op::ToRegnamespace
            | Op::ToRegoper
            | Op::ToRegoperator
            | Op::ToRegproc
            | Op::ToRegprocedure
            | Op::ToRegrole => {
                let ty = match op {
                    Op::ToRegclass => Oid::REGCLASS,
                    Op::ToRegtype => Oid::REGTYPE,
                    Op::ToRegnamespace => Oid::REGNAMESPACE,
                    Op::ToRegoper => Oid::REGOPER,
                    Op::ToRegoperator => Oid::REGOPERATOR,
                    Op::ToRegproc => Oid::REGPROC,
                    Op::ToRegprocedure => Oid::REGPROCEDURE,
                    _ => Oid::REGROLE,
                };
                match self.catalog.get()?.read_reg(ty, &string(0)) {
                    Ok(oid) => Datum::Int(oid.0.into()),
                    Err(error) if error.sqlstate() == sqlstate::INVALID_NAME => return Err(error),
                    Err(_) => Datum::Null,
                }
            }
            Op::HasTablePrivilege
            | Op::HasSequencePrivilege
            | Op::HasColumnPrivilege
            | Op::HasAnyColumnPrivilege
            | Op::HasSchemaPrivilege
            | Op::HasDatabasePrivilege
            | Op::HasFunctionPrivilege
            | Op::HasTypePrivilege
            | Op::HasLanguagePrivilege
            | Op::HasRole => self.of_privileges(op, args)?,
            Op::AclDefault | Op::MakeAclItem => Datum::Bytes(arena.copy(&self.made_acl(op, args)?)?),
            Op::OwnEncoding
            | Op::EncodingNumber
            | Op::EncodingLength
            | Op::CollationIsVisible
            | Op::ClassIsVisible
            | Op::FamilyIsVisible
            | Op::OperatorIsVisible
            | Op::RelationIsUpdatable
            | Op::ColumnIsUpdatable
            | Op::DatabaseSize
            | Op::TablespaceSize
            | Op::TablespaceLocation
            | Op::DescribeObject
            | Op::ArgumentDefault => return self.of_objects(op, args, arena),
            Op::NotThere => Datum::Null,
            Op::IsInRecovery | Op::IsPublishable | Op::AlwaysFalse => Datum::Bool(false),
            Op::RelationSize | Op::TableSize | Op::IndexesSize | Op::TotalRelationSize => self.size(op, oid(0))?,
            Op::SizePretty => match args[0] {
                Datum::Int(bytes) => return text(&pretty_size(bytes.into())),
                number => {
                    let number = Numeric::decode(number.bytes())?;
                    // Parts of bytes are shown while bytes are.
                    if number.to_f64()?.abs() < 10.0 * 1024.0 {
                        return text(&format!("{} bytes", Numeric::decode(args[0].bytes())?.to_text()));
                    }
                    return text(&pretty_size(number.truncate(0)?.to_integer("bigint")?));
                }
            },
            // What was counted is read anew each time.
            Op::ForgetCounts => Datum::Bytes(&[]),
            counted if super::counts::is_count(counted) => {
                let asked = args.first().filter(|_| op != Op::ResetCounts);
                self.counts(op, asked.map(|oid| Oid(oid.int() as u32)))?
            }
            // There are no extended statistics.
            Op::StatisticsColumns => Datum::Null,
            Op::TriggerDefinition => {
                let catalog = self.catalog.get()?;
                let pretty = args.get(1).is_some_and(|pretty| pretty.bool());
                let tables = catalog.definitions.tables();
                let shown = tables.flat_map(|table| table.triggers.iter().map(move |trigger| (table, trigger)));
                match shown.into_iter().find(|(_, trigger)| trigger.oid == oid(0)) {
                    Some((table, trigger)) => {
                        return text(&catalog.with_names(&trigger.shown(&catalog, table, pretty)));
                    }
                    None => Datum::Null,
                }
            }
            Op::TempSchema => Datum::Int(self.catalog.get()?.path.temporary.unwrap_or(Oid::NONE).0.into()),
            Op::Sleep => {
                self.sleep(args[0].float())?;
                Datum::Bytes(&[])
            }
            Op::AdvisoryLock
            | Op::AdvisoryLockShared
            | Op::AdvisoryXactLock
            | Op::AdvisoryXactLockShared
            | Op::TryAdvisoryLock
            | Op::TryAdvisoryLockShared
            | Op::TryAdvisoryXactLock
            | Op::TryAdvisoryXactLockShared
            | Op::AdvisoryUnlock
            | Op::AdvisoryUnlockShared
            | Op::AdvisoryUnlockAll => self.advisory(op, args)?,
            // Every body is kept as a text.
            Op::FunctionBody => Datum::Null,
            Op::FunctionDefinition => {
                let catalog = self.catalog.get()?;
                match catalog.routine_definition(oid(0)) {
                    Some(shown) => return text(&catalog.with_names(&shown)),
                    None => Datum::Null,
                }
            }
            Op::FunctionArguments | Op::FunctionIdentity | Op::FunctionResult => {
                let catalog = self.catalog.get()?;
                match catalog.signature(oid(0), op) {
                    Some(shown) => return text(&catalog.with_names(&shown)),
                    None => Datum::Null,
                }
            }
            Op::NextValue
            | Op::CurrentValue
            | Op::LastValue
            | Op::SetValue
            | Op::SerialSequence
            | Op::SequenceLast
            | Op::SequencePart => return self.of_sequences(op, args, arena),
            Op::CancelBackend | Op::TerminateBackend => {
                let interrupt = match op {
                    Op::CancelBackend => kernel::session::Interrupt::Cancel,
                    _ => kernel::session::Interrupt::Terminate,
                };
                let found = u32::try_from(args[0].int()).ok().and_then(kernel::session::find);
                let timeout_ms = args.get(1).map_or(0, |timeout| timeout.int());
                let Ok(timeout_ms) = u64::try_from(timeout_ms) else {
                    let message = "\"timeout\" must not be negative";
                    return Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
                };
                let Some(slot) = found.filter(|slot| slot.may_be_interrupted()) else {
                    self.warn(format!("PID {} is not a PostgreSQL backend process", args[0].int()));
                    return Ok(Datum::Bool(false));
                };
                let generation = slot.generation();
                self.may_signal(op, slot)?;
                slot.send_interrupt(generation, interrupt);
                if timeout_ms > 0 && !self.is_gone(slot, generation, timeout_ms)? {
                    let number = args[0].int();
                    self.warn(format!("backend with PID {number} did not terminate within {timeout_ms} milliseconds"));
                    return Ok(Datum::Bool(false));
                }
                Datum::Bool(true)
            }
            Op::ReloadConfiguration => {
                if !self.is_superuser()? {
                    let message = "permission denied for function pg_reload_conf";
                    return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
                }
                Datum::Bool(self.server.reload())
            }
            Op::BlockingPids => {
                let found = u32::try_from(args[0].int()).ok().and_then(kernel::session::find);
                let blockers = found.zip(self.relations).map(|(slot, relations)| {
                    let blockers = relations.storage().transactions.blockers(slot.id()).into_iter();
                    blockers.map(|id| Datum::Int(kernel::session::slot(id).number().into())).collect::<Vec<_>>()
                });
                Datum::Bytes(arena.copy(&array::encode_list(Oid::INT4, &blockers.unwrap_or_default())?)?)
            }
            Op::ServerStartTime | Op::ConfigurationLoadTime => Datum::Int(self.server_start),
            other => return Err(Error::unsupported(format!("the function behind {other:?} is not supported here"))),
        })
    }

    /// May the current user cancel or end that session? Errors: `42501`.
    fn may_signal(&self, op: Op, slot: &kernel::session::SessionShared) -> Result<()> {
        if self.role == BOOTSTRAP_ROLE {
            return Ok(());
        }
        let definitions = self.catalog.get()?.definitions;
        definitions.check_signals(self.role, Oid(slot.owner()), op == Op::CancelBackend)
    }

    /// May the current user do everything?
    pub(super) fn is_superuser(&self) -> Result<bool> {
        Ok(self.role == BOOTSTRAP_ROLE || self.catalog.get()?.definitions.is_superuser(self.role))
    }

    /// Keeps a warning until the statement has ended; not more than a client would read.
    pub(super) fn warn(&self, message: String) {
        const WARNINGS_MAX: usize = 100;
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < WARNINGS_MAX {
            warnings.push(Error::statement(sqlstate::WARNING, message));
        }
    }

    fn version(&self) -> String {
        format!("PostgreSQL {}", self.settings.show(base::settings::SettingId::ServerVersion))
    }

    /// `obj_description`, `col_description`, `shobj_description`
    fn description<'a>(&self, args: &[Datum<'a>], arena: &'a Arena) -> Result<Datum<'a>> {
        let oid = Oid(args[0].int() as u32);
        let (mut class, mut column) = (None, 0);
        match args.get(1) {
            Some(Datum::Int(number)) => (class, column) = (Some(Oid(1259)), *number),
            Some(name) => {
                let catalog = self.catalog.get()?;
                let name = String::from_utf8_lossy(name.bytes()).into_owned();
                let Some(found) = catalog.find(Some("pg_catalog"), &name)? else { return Ok(Datum::Null) };
                class = Some(found.oid);
            }
            None => {}
        }
        let catalog = self.catalog.get()?;
        let is_it = |(on, of, number, _): &(Oid, Oid, u16, &str)| {
            *of == oid && i64::from(*number) == column && class.is_none_or(|class| class == *on)
        };
        match catalog.definitions.comments().find(is_it) {
            Some((.., text)) => Ok(Datum::Bytes(arena.copy(text.as_bytes())?)),
            None => Ok(Datum::Null),
        }
    }

    fn index_is_visible(&self, oid: Oid) -> Result<Datum<'static>> {
        let catalog = self.catalog.get()?;
        let owner = catalog.tables()?.into_iter().find(|table| table.index(oid).is_some());
        Ok(owner.map_or(Datum::Null, |table| Datum::Bool(catalog.path.searched.contains(&table.schema))))
    }

    /// `pg_get_indexdef(index, column, pretty)`
    fn index_definition<'a>(&self, args: &[Datum<'a>], arena: &'a Arena) -> Result<Datum<'a>> {
        let oid = Oid(args[0].int() as u32);
        let column = args.get(1).map_or(0, |column| column.int());
        let pretty = args.get(2).is_some_and(|pretty| pretty.bool());
        let catalog = self.catalog.get()?;
        for def in catalog.tables()? {
            let Some(index) = def.index(oid) else { continue };
            let shown = match usize::try_from(column) {
                Ok(0) | Err(_) => system::index_definition(&catalog, &def, index, pretty),
                Ok(column) if column <= index.columns.len() => system::index_column(&def, index, column - 1, pretty),
                Ok(column) => match index.included.get(column - 1 - index.columns.len()) {
                    Some(column) => base::settings::quoted_identifier(&def.columns[usize::from(*column)].name),
                    None => String::new(),
                },
            };
            return Ok(Datum::Bytes(arena.copy(catalog.with_names(&shown).as_bytes())?));
        }
        Ok(Datum::Null)
    }

    /// Waits until a session has ended; false if it has not after so long.
    fn is_gone(&self, slot: &'static SessionShared, generation: u32, timeout_ms: u64) -> Result<bool> {
        const LOOK_AFTER_NS: u64 = 10_000_000;
        let deadline = kernel::clock::now().saturating_add(timeout_ms.saturating_mul(1_000_000));
        while slot.generation() == generation {
            let now = kernel::clock::now();
            if now >= deadline {
                return Ok(false);
            }
            kernel::wait::wait(kernel::wait::Event::Sleep, 0, Some(deadline.min(now + LOOK_AFTER_NS)));
            kernel::session::check_interrupts()?;
        }
        Ok(true)
    }

    /// `pg_sleep`
    fn sleep(&self, seconds: f64) -> Result<()> {
        const SECONDS_MAX: f64 = 1e9;
        let nanos = (seconds.clamp(0.0, SECONDS_MAX) * 1e9) as u64;
        let deadline = kernel::clock::now() + nanos;
        while kernel::clock::now() < deadline {
            kernel::wait::wait(kernel::wait::Event::Sleep, 0, Some(deadline));
            kernel::session::check_interrupts()?;
        }
        Ok(())
    }

    /// A type's name, for `pg_typeof`.
    pub fn type_name(ty: Type) -> String {
        typmod::format_type(Type::plain(ty.oid))
    }
}

/// A number of bytes as people read it.
fn pretty_size(bytes: i128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    // Each unit is left when there are ten thousand of the one before it; what is left is rounded half away from zero.
    let (mut size, mut unit) = (bytes, 0);
    let mut halves = false;
    while unit + 1 < UNITS.len() && size.unsigned_abs() >= if halves { 20 * 1024 - 1 } else { 10 * 1024 } {
        size /= if halves { 1024 } else { 512 };
        halves = true;
        unit += 1;
    }
    if halves {
        size = (size + size.signum()) / 2;
    }
    format!("{size} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::pretty_size;

    #[test]
    fn sizes_are_shown_as_postgresql_shows_them() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (10_485_247, "10239 kB"),
            (10_485_760, "10 MB"),
            (20_000_000, "19 MB"),
            (-5, "-5 bytes"),
            (-20_000, "-20 kB"),
            (5_000_000_000, "4768 MB"),
            (99_999_999_999_999, "91 TB"),
        ] {
            assert_eq!(pretty_size(bytes), shown, "{bytes}");
        }
    }
}
