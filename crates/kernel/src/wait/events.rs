//! The table of wait events: the only list of what a session may wait for.
//!
//! `gearbox.wait_events`, `pg_stat_activity` and the manual read it. Times are in microseconds wherever a user sees them.

/// PostgreSQL's classes of waits (`wait_event_type`), and `Scheduler`, which is our own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Background work with nothing to do.
    Activity,
    /// The client: its next message, its reading of our answer.
    Client,
    /// Disk.
    Io,
    /// Another session's progress.
    Ipc,
    /// A transaction's lock.
    Lock,
    /// A latch.
    LwLock,
    /// A clock.
    Timeout,
    /// An engine, a slot, admission.
    Scheduler,
}

impl Class {
    /// The class's name as PostgreSQL spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Class::Activity => "Activity",
            Class::Client => "Client",
            Class::Io => "IO",
            Class::Ipc => "IPC",
            Class::Lock => "Lock",
            Class::LwLock => "LWLock",
            Class::Timeout => "Timeout",
            Class::Scheduler => "Scheduler",
        }
    }
}

/// When an interrupt ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancel {
    /// At once.
    AnyTime,
    /// The wait goes on until what is in progress is complete; the interrupt is seen then.
    AtCompletion,
    /// Not at all: what is waited for is promised already (a commit whose record is written).
    Never,
}

/// An event's row.
pub struct Row {
    /// The class.
    pub class: Class,
    /// The name in views.
    pub name: &'static str,
    /// When an interrupt ends the wait.
    pub cancel: Cancel,
    /// True if the wait may last as long as a disk or people do: a pooled group then activates another engine. Latches, and what else
    /// lasts no longer than it takes to call one, are short.
    pub long: bool,
    /// One line for the manual.
    pub doc: &'static str,
}

macro_rules! events {
    ($($event:ident $class:ident $name:literal $cancel:ident $long:ident $doc:literal;)*) => {
        /// What a session waits for.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u16)]
        pub enum Event { $(#[doc = $doc] $event,)* }

        impl Event {
            /// Every event, in the order of its number.
            pub const ALL: &'static [Event] = &[$(Event::$event),*];

            /// The event's row of the table.
            #[inline]
            pub fn row(self) -> &'static Row {
                &ROWS[self as usize]
            }

            /// The event of that number.
            pub fn from_number(number: u16) -> Option<Event> {
                Event::ALL.get(number as usize).copied()
            }
        }

        const ROWS: &[Row] = &[$(Row {
            class: Class::$class, name: $name, cancel: Cancel::$cancel, long: length!($long), doc: $doc,
        }),*];
    };
}

macro_rules! length {
    (short) => {
        false
    };
    (long) => {
        true
    };
}

events! {
    ClientRead Client "ClientRead" AnyTime long "The client's next message, inside a request.";
    ClientIdle Client "ClientIdle" AnyTime long "The client's next request; the session is parked, or its dedicated engine sleeps.";
    ClientWrite Client "ClientWrite" AnyTime long "Room in the client's socket: it does not read our answer.";
    SslHandshake Client "SSLOpenServer" AtCompletion long "What is computed for a handshake of TLS.";
    DataFileRead Io "DataFileRead" AtCompletion long "A read of one page.";
    DataFileReadBatch Io "DataFileReadBatch" AtCompletion long "Reads of several scattered pages, issued together.";
    DataFileReadScan Io "DataFileReadScan" AtCompletion long "A read of neighbouring pages for a scan.";
    DataFileReadDirect Io "DataFileReadDirect" AtCompletion long "A read around the buffer pool.";
    DataFileWrite Io "DataFileWrite" AtCompletion long "A write of pages.";
    DataFileFlush Io "DataFileFlush" AtCompletion long "A flush of a data file to stable storage.";
    DataFileExtend Io "DataFileExtend" AtCompletion long "A data file grows.";
    TempFileRead Io "BufFileRead" AtCompletion long "A read of a temporary file: rows that did not fit `work_mem`.";
    TempFileWrite Io "BufFileWrite" AtCompletion long "A write of a temporary file: rows that do not fit `work_mem`.";
    DoubleWrite Io "DoubleWrite" AtCompletion long "A write of pages to the double-write area.";
    WalWrite Io "WalWrite" AtCompletion long "A write and flush of the log by the session that leads the group.";
    WalRead Io "WalRead" AtCompletion short "A read of the log, in recovery.";
    WalFileInit Io "WalFileInit" AtCompletion long "A new log file is made.";
    ControlFileWrite Io "ControlFileWrite" AtCompletion long "A write of the control file.";
    FileOperation Io "FileOperation" AtCompletion long "Opening, making, renaming or removing a file.";
    IoDrain Io "IoDrain" AtCompletion short "The end of I/O that a process left in flight when it died, before its memory is used again.";
    IoSlot Io "IoSlot" AtCompletion short "A free I/O slot: all are in flight.";
    WalFlushFollow Ipc "WalFlushFollow" Never long "The log's flush, led by another session.";
    WalSpace Ipc "WalSpace" AtCompletion long "Room in the log buffer.";
    BufferInProgress Ipc "BufferInProgress" AtCompletion long "A page that another session is reading.";
    BufferCleaned Ipc "BufferCleaned" AtCompletion long "A free frame: the page cleaner is behind.";
    CheckpointDone Ipc "CheckpointDone" AnyTime long "The end of a checkpoint.";
    BlockingCall Ipc "BlockingCall" AtCompletion long "A call that may block in the operating system, done by the blocking pool.";
    BufferContent LwLock "BufferContent" AtCompletion short "A page latch.";
    CatalogLatch LwLock "CatalogCache" AtCompletion short "A latch of the catalog cache.";
    StatementLatch LwLock "StatementCache" AtCompletion short "A latch of the statement cache.";
    RelationLatch LwLock "Relation" AtCompletion short "A latch of a relation's size and free space.";
    TransactionLatch LwLock "Transaction" AtCompletion short "A latch of the transaction map.";
    SettingsFile LwLock "SettingsFile" AtCompletion short "The file that ALTER SYSTEM writes.";
    LoginLatch LwLock "Login" AtCompletion short "What logging in reads and counts: rules, keys, wrong passwords, a role's sessions.";
    TestLatch LwLock "Test" AtCompletion short "A latch of a test.";
    TransactionLock Lock "transactionid" AnyTime long "The end of a transaction that holds a row.";
    RelationLock Lock "relation" AnyTime long "A lock of a table.";
    TupleLock Lock "tuple" AnyTime long "A place in the queue for a row.";
    AdvisoryLock Lock "advisory" AnyTime long "An advisory lock.";
    ObjectLock Lock "object" AnyTime long "A lock of another object.";
    Sleep Timeout "PgSleep" AnyTime long "A call of pg_sleep.";
    VacuumDelay Timeout "VacuumDelay" AnyTime short "Vacuum lets others go first.";
    FailedLogin Timeout "FailedLogin" AnyTime long "The pause after a wrong password.";
    RunQueueYield Scheduler "RunQueueYield" AtCompletion short "Its time slice was used up; it waits for an engine again.";
    Admission Scheduler "Admission" AnyTime long "A place among the admitted open transactions.";
    EngineIdle Activity "EngineIdle" AnyTime long "An engine with nothing to run.";
    CheckpointerMain Activity "CheckpointerMain" AnyTime long "The checkpointer has nothing to do.";
    CleanerMain Activity "CleanerMain" AnyTime long "The page cleaner has nothing to do.";
    WalWriterMain Activity "WalWriterMain" AnyTime long "The log writer has nothing to do.";
    VacuumMain Activity "VacuumMain" AnyTime long "The background's vacuum or analysis has nothing to do.";
    SamplerMain Activity "SamplerMain" AnyTime long "The session sampler has nothing to do.";
    ReaperMain Activity "ReaperMain" AnyTime long "The cleaner-up after deaths has nothing to do.";
    IoWorkerMain Activity "IoWorkerMain" AnyTime long "An I/O worker has nothing to do.";
    TestWait Ipc "Test" AnyTime long "A test.";
}

/// How many events there are.
pub const COUNT: usize = Event::ALL.len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_within_their_class() {
        let mut names: Vec<_> = ROWS.iter().map(|row| (row.class.as_str(), row.name)).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
