//! The values of a running server: what the layers asked for, what the server made of it, and what waits for a restart.
//!
//! A few settings leave the choice to the server (`engines = 0`, `shared_buffers = 0`, `wal_buffers = -1`) or repeat
//! others in PostgreSQL's words (`listen_addresses`, `port`, `execution_model`). They are computed here, from the
//! [`Machine`]'s facts, which the caller brings along; `pg_settings` shows them with the source `override`.
//!
//! Life of one value: [`super::Layers`] picks the layer that wins, [`super::Layers::effective`] computes and checks, the
//! server may replace what turned out differently ([`Effective::override_with`]: a port that the system chose, an I/O
//! method that fell back), and after a change of a file [`Effective::reload`] takes over what may change while the
//! server runs and marks the rest as waiting.
//!
//! Rules
//! 1. A value that cannot work together with another one is an error before the server starts, not a surprise after.
//! 2. A setting that has no meaning in the chosen model is a notice, not an error.
//! 3. Readers ask by [`SettingId`] and kind; asking for the wrong kind is a bug.

use super::describe::{Description, Source};
use super::layers::{Asked, Layers};
use super::origin::Origin;
use super::parse::show;
use super::setting::{Context, Kind};
use super::table::{COUNT, SettingId, TABLE};
use super::text::{ListenPoint, listen_points};
use super::value::{PLANNING, SettingSet, Value, ValueRef};
use crate::{Error, Result, sqlstate};

/// What the server must know of the machine to choose for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// How many CPUs it may use.
    pub cpus: u32,
    /// How much memory there is.
    pub memory_bytes: u64,
}

/// One setting's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// What the layers asked for.
    pub(crate) asked: Value,
    /// What is in force.
    pub(crate) value: Value,
    /// Where that comes from.
    pub(crate) origin: Origin,
    /// Whether a file now asks for something that needs a restart.
    pub(crate) pending_restart: bool,
}

/// The values of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effective {
    pub(crate) entries: Vec<Entry>,
    notices: Vec<String>,
    planning: u32,
}

/// What a reload did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reloaded {
    /// Settings with a new value.
    pub changed: SettingSet,
    /// Settings whose new value waits for a restart.
    pub pending: SettingSet,
}

const SHARED_BUFFERS_MIN: i64 = 16;
const SHARED_BUFFERS_AUTO_BYTES_MAX: u64 = 1 << 30;
const WAL_BUFFERS_AUTO: std::ops::RangeInclusive<i64> = 8..=2048;
/// How many engines that sessions share there are for each CPU, if nobody says. One is not enough: it is put off its CPU in the midst of a
/// request, and a CPU that has nothing to do finds nobody to serve what comes.
const SHARED_ENGINES_PER_CPU: i64 = 2;
/// The bytes of a page, in which both are counted.
const BLOCK_BYTES: u64 = 8192;

impl Effective {
    pub(crate) fn new(layers: &Layers, machine: Machine, notices: Vec<String>) -> Result<Effective> {
        let entry = |id| {
            let Asked { value, origin } = layers.winner(id);
            Entry { asked: value.clone(), value, origin, pending_restart: false }
        };
        let mut effective = Effective { entries: SettingId::all().map(entry).collect(), notices, planning: 0 };
        effective.compute(machine);
        effective.check()?;
        effective.planning = effective.planning_number();
        Ok(effective)
    }

    pub(crate) fn from_entries(entries: Vec<Entry>) -> Effective {
        assert_eq!(entries.len(), COUNT);
        let mut effective = Effective { entries, notices: Vec::new(), planning: 0 };
        effective.planning = effective.planning_number();
        effective
    }

    fn planning_number(&self) -> u32 {
        number_of_planning(|id| self.value(id).number())
    }

    /// A number for the values that plans depend on: other values have another one, but for a chance of one in four milliards.
    pub fn planning(&self) -> u32 {
        self.planning
    }

    /// What is in force.
    pub fn value(&self, id: SettingId) -> ValueRef<'_> {
        self.entries[id as usize].value.as_ref()
    }

    /// Where it comes from.
    pub fn origin(&self, id: SettingId) -> &Origin {
        &self.entries[id as usize].origin
    }

    /// What the administrator should hear at the start.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// A boolean setting.
    pub fn bool(&self, id: SettingId) -> bool {
        assert!(matches!(id.setting().kind, Kind::Bool { .. }), "{id} is no boolean");
        self.value(id).bool()
    }

    /// An integer setting, in its own unit.
    pub fn integer(&self, id: SettingId) -> i64 {
        assert!(matches!(id.setting().kind, Kind::Integer { .. }), "{id} is no integer");
        self.value(id).number()
    }

    /// A real setting, in its own unit.
    pub fn real(&self, id: SettingId) -> f64 {
        assert!(matches!(id.setting().kind, Kind::Real { .. }), "{id} is no real");
        self.value(id).real()
    }

    /// The word of an enum setting.
    pub fn word(&self, id: SettingId) -> &'static str {
        match id.setting().kind {
            Kind::Enum { choices, .. } => choices.word(self.value(id).number()).unwrap_or_default(),
            _ => panic!("{id} is no enum"),
        }
    }

    /// A text setting.
    pub fn text(&self, id: SettingId) -> &str {
        assert!(id.setting().kind.is_text(), "{id} is no text");
        self.value(id).text()
    }

    /// A setting that counts memory, in bytes; 0 for what is below zero.
    pub fn bytes(&self, id: SettingId) -> u64 {
        assert!(id.setting().kind.unit().is_memory(), "{id} counts no memory");
        u64::try_from(self.integer(id)).unwrap_or(0) * id.setting().kind.unit().size()
    }

    /// A setting that counts time, in microseconds; 0 for what is below zero.
    pub fn micros(&self, id: SettingId) -> u64 {
        assert!(id.setting().kind.unit().is_time(), "{id} counts no time");
        u64::try_from(self.integer(id)).unwrap_or(0) * id.setting().kind.unit().size()
    }

    /// The addresses to accept connections at.
    pub fn listen(&self) -> Vec<ListenPoint> {
        match listen_points(self.text(SettingId::Listen)) {
            Ok(points) => points,
            Err(detail) => unreachable!("a value was checked when it was read: {detail}"),
        }
    }

    /// The value as `SHOW` prints it.
    pub fn show(&self, id: SettingId) -> String {
        show(id, self.value(id))
    }

    /// Replaces a value by what the server really uses.
    pub fn override_with(&mut self, id: SettingId, value: Value) {
        assert!(id.setting().holds(value.as_ref()), "{value:?} is no value of {id}");
        let entry = &mut self.entries[id as usize];
        if entry.value != value {
            entry.value = value;
            entry.origin = Origin::Computed;
            self.planning = self.planning_number();
        }
    }

    /// The row of `pg_settings`; `session` is the session's own value and its source, if it has one, and `start` what it began with.
    pub fn describe(
        &self,
        id: SettingId,
        session: Option<(ValueRef<'_>, Source)>,
        start: Option<ValueRef<'_>>,
    ) -> Description {
        let entry = &self.entries[id as usize];
        let own = entry.value.as_ref();
        let (current, source) = session.unwrap_or((own, entry.origin.source()));
        let mut description = id.setting().describe(current, start.unwrap_or(own), source);
        description.pending_restart = entry.pending_restart;
        if let (None, Some((path, line))) = (session, entry.origin.file()) {
            (description.sourcefile, description.sourceline) = (Some(path.to_owned()), Some(line));
        }
        description
    }

    /// Takes over from freshly read layers what may change while the server runs.
    pub fn reload(&mut self, new: Effective) -> Reloaded {
        let mut reloaded = Reloaded { changed: SettingSet::EMPTY, pending: SettingSet::EMPTY };
        for (setting, (old, new)) in TABLE.iter().zip(self.entries.iter_mut().zip(new.entries)) {
            match setting.context {
                Context::Internal => {}
                Context::Start => {
                    old.pending_restart = old.asked != new.asked;
                    if old.pending_restart {
                        reloaded.pending.insert(setting.id);
                    }
                }
                Context::Reload | Context::SuperSession | Context::Session => {
                    if old.value != new.value {
                        reloaded.changed.insert(setting.id);
                    }
                    *old = new;
                }
            }
        }
        self.planning = self.planning_number();
        reloaded
    }

    /// Fills in what the layers leave to the server.
    fn compute(&mut self, machine: Machine) {
        use SettingId::{Engine, Engines, ExecutionModel, ListenAddresses, Port, Sessions, SharedBuffers, WalBuffers};
        let number = Value::Number;
        let engines = self.integer(Engines);
        match self.word(Sessions) {
            "dedicated" if engines > 0 => self.notices.push(format!(
                "engines = {engines} is ignored, because sessions = dedicated gives every session an engine of its own"
            )),
            "dedicated" => {}
            _ if engines > 0 => {}
            word => {
                let each = if word == "shared" { SHARED_ENGINES_PER_CPU } else { 1 };
                self.override_with(Engines, number((i64::from(machine.cpus) * each).clamp(1, 1024)));
            }
        }
        if self.integer(SharedBuffers) == 0 {
            let blocks = (machine.memory_bytes / 4).min(SHARED_BUFFERS_AUTO_BYTES_MAX) / BLOCK_BYTES;
            self.override_with(SharedBuffers, number((blocks as i64).max(SHARED_BUFFERS_MIN)));
        }
        if self.integer(WalBuffers) < 0 {
            let blocks = self.integer(SharedBuffers) / 32;
            self.override_with(WalBuffers, number(blocks.clamp(*WAL_BUFFERS_AUTO.start(), *WAL_BUFFERS_AUTO.end())));
        }
        let points = self.listen();
        let hosts: Vec<_> = points.iter().map(|point| point.host.as_str()).collect();
        self.override_with(ListenAddresses, Value::Text(hosts.join(", ")));
        self.override_with(Port, number(points.first().map_or(0, |point| point.port).into()));
        let model = format!("{}/{}", self.word(Engine), self.word(Sessions));
        self.override_with(ExecutionModel, Value::Text(model));
    }

    /// Refuses values that cannot work together.
    fn check(&self) -> Result<()> {
        use SettingId::{
            MaxConnections, MaxWalSize, MinWalSize, RegionSizeMax, SharedBuffers, SuperuserReservedConnections,
            WalBuffers,
        };
        if self.integer(SharedBuffers) < SHARED_BUFFERS_MIN {
            let shown = self.show(SharedBuffers);
            let error = conflict(format!("shared_buffers ({shown}) must be 0 or at least 128kB"));
            return Err(self.blame(SharedBuffers, error));
        }
        self.check_less(SuperuserReservedConnections, MaxConnections)?;
        self.check_less(MinWalSize, MaxWalSize)?;
        let (buffers, region) = (self.bytes(SharedBuffers) + self.bytes(WalBuffers), self.bytes(RegionSizeMax));
        if buffers >= region {
            let sizes = [SharedBuffers, WalBuffers, RegionSizeMax].map(|id| self.show(id));
            let error = conflict(format!(
                "shared_buffers ({}) and wal_buffers ({}) must fit into region_size_max ({})",
                sizes[0], sizes[1], sizes[2]
            ));
            return Err(self.blame(SharedBuffers, error));
        }
        Ok(())
    }

    fn check_less(&self, less: SettingId, more: SettingId) -> Result<()> {
        if self.integer(less) < self.integer(more) {
            return Ok(());
        }
        let message = format!("{less} ({}) must be less than {more} ({})", self.show(less), self.show(more));
        let blamed = if *self.origin(less) == Origin::Default { more } else { less };
        Err(self.blame(blamed, conflict(message)))
    }

    fn blame(&self, id: SettingId, error: Error) -> Error {
        self.origin(id).locate(error)
    }
}

/// The number of the values that plans depend on; zero for the defaults.
pub fn number_of_planning(value: impl Fn(SettingId) -> i64) -> u32 {
    let mut state = 0u64;
    for id in PLANNING.iter() {
        let (value, default) = (value(id), id.setting().default_value().as_ref().number());
        if value != default {
            // Each setting that differs has its part, whatever the others are.
            let mixed = (value as u64 ^ (id as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            state = (state ^ mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        }
    }
    (state >> 32 ^ state) as u32
}

fn conflict(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use SettingId::{
        AutovacuumNaptime, DataDirectory, Engines, ExecutionModel, Fsync, IoMethod, ListenAddresses, MaxConnections,
        Port, SharedBuffers, TimeSlice, TimeZone, WalBuffers, WorkMem,
    };

    const MACHINE: Machine = Machine { cpus: 2, memory_bytes: 8 << 30 };

    fn serve(line: &str) -> Result<Effective> {
        let mut layers = Layers::new();
        layers.command_line(line.split_whitespace().map(str::to_owned))?;
        layers.effective(MACHINE)
    }

    #[test]
    fn the_defaults_are_those_of_the_manual() {
        let effective = serve("").unwrap();
        for (name, expected) in [
            ("engine", "thread"),
            ("sessions", "fiber"),
            ("engines", "2"),
            ("execution_model", "thread/fiber"),
            ("wait_primitive", "futex"),
            ("io_method", "uring"),
            ("data_directory", "./gearbox-data"),
            ("listen", "127.0.0.1:5433"),
            ("listen_addresses", "127.0.0.1"),
            ("port", "5433"),
            ("shared_buffers", "1GB"),
            ("wal_buffers", "16MB"),
            ("max_connections", "10000"),
            ("superuser_reserved_connections", "3"),
            ("deadlock_timeout", "50ms"),
            ("time_slice", "250us"),
            ("fsync", "on"),
            ("TimeZone", "UTC"),
            ("DateStyle", "ISO, MDY"),
            ("search_path", "\"$user\", public"),
            ("server_version_num", "150018"),
            ("server_encoding", "UTF8"),
            ("block_size", "8192"),
            ("transaction_isolation", "read committed"),
        ] {
            assert_eq!(effective.show(super::super::lookup(name).unwrap()), expected, "{name}");
        }
        assert_eq!(effective.notices(), [""; 0]);
    }

    #[test]
    fn other_values_that_plans_depend_on_have_another_number() {
        let number = |line: &str| serve(line).unwrap().planning();
        assert_eq!((number(""), number("--application-name x")), (0, 0));
        let lines = ["--enable-sort off", "--enable-nestloop off", "--work-mem 64MB", "--random-page-cost 2"];
        let mut numbers: Vec<u32> = lines.map(number).into();
        numbers.extend([number("--enable-sort off --enable-nestloop off"), 0]);
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        let mut effective = serve("").unwrap();
        effective.reload(serve("--enable-sort off").unwrap());
        assert_eq!(effective.planning(), number("--enable-sort off"));
    }

    #[test]
    fn readers_get_bytes_and_microseconds() {
        let effective = serve("--work-mem 64MB --time-slice 5ms --shared-buffers 16 --wal-buffers 0").unwrap();
        assert_eq!(effective.bytes(WorkMem), 64 << 20);
        assert_eq!(effective.bytes(SharedBuffers), 131_072);
        assert_eq!(effective.bytes(WalBuffers), 0);
        assert_eq!(effective.micros(TimeSlice), 5_000);
        assert_eq!(effective.micros(AutovacuumNaptime), 10_000_000);
        assert!(effective.bool(Fsync));
        assert_eq!(effective.real(SettingId::AutovacuumVacuumScaleFactor), 0.2);
        assert_eq!(effective.text(DataDirectory), "./gearbox-data");
    }

    #[test]
    fn what_is_left_to_the_server_is_computed() {
        let effective = serve("--listen [::1]:0,localhost:7 --engine process --sessions shared").unwrap();
        assert_eq!(effective.text(ListenAddresses), "::1, localhost");
        assert_eq!(effective.integer(Port), 0);
        assert_eq!(effective.text(ExecutionModel), "process/shared");
        assert_eq!(effective.origin(Engines), &Origin::Computed);
        assert_eq!(effective.listen()[1].host, "localhost");
        assert_eq!(effective.integer(Engines), 4);
        assert_eq!(serve("--sessions shared --engines 1").unwrap().integer(Engines), 1);
        for (memory, expected) in [(0, "128kB"), (1 << 30, "256MB"), (24 << 30, "1GB")] {
            let effective = Layers::new().effective(Machine { cpus: 0, memory_bytes: memory }).unwrap();
            assert_eq!(effective.show(SharedBuffers), expected);
            assert_eq!(effective.integer(Engines), 1);
        }
    }

    #[test]
    fn engines_are_ignored_where_every_session_has_one() {
        let effective = serve("--sessions dedicated --engines 3").unwrap();
        assert_eq!(effective.notices().len(), 1);
        assert!(effective.notices()[0].starts_with("engines = 3 is ignored"), "{:?}", effective.notices());
        assert_eq!(serve("--sessions dedicated").unwrap().notices(), [""; 0]);
    }

    #[test]
    fn values_that_do_not_fit_together_are_refused() {
        for (line, expected) in [
            (
                "--max-connections 3",
                "option --max-connections: superuser_reserved_connections (3) must be less than max_connections (3)",
            ),
            ("--min-wal-size 2GB", "option --min-wal-size: min_wal_size (2GB) must be less than max_wal_size (1GB)"),
            ("--shared-buffers 64kB", "option --shared-buffers: shared_buffers (64kB) must be 0 or at least 128kB"),
            (
                "--shared-buffers 64MB --region-size-max 64MB",
                "option --shared-buffers: shared_buffers (64MB) and wal_buffers (2MB) must fit into region_size_max (64MB)",
            ),
        ] {
            let error = serve(line).unwrap_err();
            assert_eq!((error.message(), error.sqlstate().as_str()), (expected, "22023"));
        }
    }

    #[test]
    fn a_reload_takes_what_may_change_and_marks_the_rest() {
        let reread = |auto: &str| {
            let mut layers = Layers::new();
            layers.auto_file("auto.toml", auto).unwrap();
            layers.effective(MACHINE).unwrap()
        };
        let mut effective = reread("");
        effective.override_with(IoMethod, super::super::parse(IoMethod, "workers").unwrap());
        effective.override_with(Port, Value::Number(40_000));

        let reloaded = effective.reload(reread("work_mem = '1MB'\nmax_connections = 50\n"));
        assert_eq!(reloaded.changed.iter().collect::<Vec<_>>(), [WorkMem]);
        assert_eq!(reloaded.pending.iter().collect::<Vec<_>>(), [MaxConnections]);
        assert_eq!((effective.integer(WorkMem), effective.integer(MaxConnections)), (1024, 10_000));
        assert_eq!((effective.word(IoMethod), effective.integer(Port)), ("workers", 40_000));

        let row = effective.describe(MaxConnections, None, None);
        assert!(row.pending_restart && row.source == "default");
        let row = effective.describe(WorkMem, None, None);
        assert_eq!((row.sourcefile.as_deref(), row.sourceline), (Some("auto.toml"), Some(1)));
        assert_eq!((row.setting.as_str(), row.reset_val.as_str(), row.source), ("1024", "1024", "configuration file"));
        assert_eq!(effective.describe(IoMethod, None, None).source, "override");

        let own = super::super::parse(TimeZone, "3").unwrap();
        let row = effective.describe(TimeZone, Some((own.as_ref(), Source::Session)), None);
        assert_eq!((row.setting.as_str(), row.reset_val.as_str(), row.source), ("<+03>-03", "UTC", "session"));
        assert_eq!(row.sourcefile, None);

        let reloaded = effective.reload(reread(""));
        assert_eq!(reloaded.changed.iter().collect::<Vec<_>>(), [WorkMem]);
        assert!(reloaded.pending.is_empty() && !effective.describe(MaxConnections, None, None).pending_restart);
    }

    #[test]
    #[should_panic(expected = "is no value of")]
    fn an_override_is_checked() {
        serve("").unwrap().override_with(Port, Value::Number(70_000));
    }
}
