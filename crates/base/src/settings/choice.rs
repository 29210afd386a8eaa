//! Settings whose value is one of a few words.
//!
//! [`Choices`] is what parsing, hints and `pg_settings.enumvals` read: the listed words, the words that are accepted as
//! well, and the words of PostgreSQL that are refused by name because what they ask for is not there. A word is kept as
//! a number. Where code branches on the number there is an enum with the same numbers ([`Isolation`],
//! [`MessageLevel`], ...); the words that choose an execution model have their enums in the kernel, which takes the
//! word itself.
//!
//! Rules
//! 1. The numbers of an enum never change meaning within a running server; they are not stored on disk.
//! 2. A word that would promise what the server does not do is refused (`0A000`), never accepted and ignored.

/// The words of one setting.
#[derive(Debug)]
pub struct Choices {
    /// The listed words with their numbers, in the order of hints and of `pg_settings.enumvals`.
    pub listed: &'static [(&'static str, i64)],
    /// Other words that mean one of the listed numbers, or a number that is accepted without being listed.
    pub hidden: &'static [(&'static str, i64)],
    /// Words that PostgreSQL knows and that are refused here.
    pub refused: &'static [&'static str],
}

impl Choices {
    /// The number of a word, listed or hidden; upper and lower case are the same.
    pub fn number(&self, word: &str) -> Option<i64> {
        self.listed.iter().chain(self.hidden).find(|entry| entry.0.eq_ignore_ascii_case(word)).map(|entry| entry.1)
    }

    /// The word of a number.
    pub fn word(&self, number: i64) -> Option<&'static str> {
        self.listed.iter().chain(self.hidden).find(|entry| entry.1 == number).map(|entry| entry.0)
    }

    /// True if the word is one that is known and refused.
    pub fn refuses(&self, word: &str) -> bool {
        self.refused.iter().any(|refused| refused.eq_ignore_ascii_case(word))
    }

    /// The listed words, separated by commas.
    pub fn list(&self) -> String {
        let words: Vec<_> = self.listed.iter().map(|entry| entry.0).collect();
        words.join(", ")
    }
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[$value_doc])* $value,)+ }

        impl $name {
            /// Every value, in the order of their numbers.
            pub const ALL: &'static [$name] = &[$($name::$value),+];

            /// The value of a setting's number.
            pub fn from_number(number: i64) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.number() == number)
            }

            /// The number as a setting keeps it.
            pub const fn number(self) -> i64 {
                self as i64
            }

            /// The word.
            pub const fn word(self) -> &'static str {
                match self { $($name::$value => $word),+ }
            }

            const fn entry(self) -> (&'static str, i64) {
                (self.word(), self.number())
            }
        }
    };
}

choice! {
    /// How much of other transactions' work a transaction sees. Ordered from the weakest to the strongest.
    Isolation {
        /// Treated as [`Isolation::ReadCommitted`], as in PostgreSQL.
        ReadUncommitted "read uncommitted",
        /// Every statement sees what was committed before it began.
        ReadCommitted "read committed",
        /// All statements see what was committed before the first began.
        RepeatableRead "repeatable read",
        /// As if transactions ran one after the other. Not there yet: no setting yields it.
        Serializable "serializable",
    }
}

choice! {
    /// How important a message is. The order is that of `client_min_messages`.
    MessageLevel {
        /// Finest detail for developers.
        Debug5 "debug5",
        /// Detail for developers.
        Debug4 "debug4",
        /// Detail for developers.
        Debug3 "debug3",
        /// Detail for developers; `debug` means this one.
        Debug2 "debug2",
        /// Coarsest detail for developers.
        Debug1 "debug1",
        /// Something an administrator wants to know; clients rarely do.
        Log "log",
        /// An answer the user asked for (`VACUUM VERBOSE`); always sent to the client.
        Info "info",
        /// Something that may help the user.
        Notice "notice",
        /// A likely mistake.
        Warning "warning",
        /// The statement failed.
        Error "error",
        /// The session ends.
        Fatal "fatal",
        /// The server restarts.
        Panic "panic",
    }
}

impl MessageLevel {
    /// True if a message of this level goes to a client that asked for `threshold` and up.
    pub fn reaches_client(self, threshold: MessageLevel) -> bool {
        self == MessageLevel::Info || self >= threshold
    }

    /// True if a message of this level goes to the server's log with that `threshold`: there, `log` ranks between
    /// `error` and `fatal`.
    pub fn reaches_log(self, threshold: MessageLevel) -> bool {
        let rank = |level: MessageLevel| match level {
            MessageLevel::Log => 2 * MessageLevel::Error.number() + 1,
            level => 2 * level.number(),
        };
        rank(self) >= rank(threshold)
    }
}

choice! {
    /// How `bytea` values look as text.
    ByteaOutput {
        /// Printable bytes as themselves, others as a backslash and three octal digits.
        Escape "escape",
        /// `\x` and two hexadecimal digits a byte.
        Hex "hex",
    }
}

choice! {
    /// How intervals look as text.
    IntervalStyle {
        /// `1 year 2 mons 3 days 04:05:06`.
        Postgres "postgres",
        /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`.
        PostgresVerbose "postgres_verbose",
        /// `+1-2 +3 +4:05:06`.
        SqlStandard "sql_standard",
        /// `P1Y2M3DT4H5M6S`.
        Iso8601 "iso_8601",
    }
}

choice! {
    /// Which literals of a statement become parameters before it is looked up in the statement cache.
    LiteralAutoparam {
        /// None: statements that differ in a literal are different statements.
        Off "off",
        /// Those that cannot change the plan.
        Simple "simple",
        /// All that can be parameters.
        Forced "forced",
    }
}

const BOOLEAN_OFF: [&str; 3] = ["false", "no", "0"];
const BOOLEAN_ON: [&str; 3] = ["true", "yes", "1"];

choice! {
    /// Whether prepared statements are planned for the values of their parameters.
    PlanCacheMode {
        /// Where it pays.
        Auto "auto",
        /// Never.
        ForceGeneric "force_generic_plan",
        /// Always.
        ForceCustom "force_custom_plan",
    }
}

pub(crate) static PLAN_CACHE_MODES: Choices = Choices {
    listed: &[PlanCacheMode::Auto.entry(), PlanCacheMode::ForceGeneric.entry(), PlanCacheMode::ForceCustom.entry()],
    hidden: &[],
    refused: &[],
};

pub(crate) static ENGINE: Choices = Choices { listed: &[("process", 0), ("thread", 1)], hidden: &[], refused: &[] };

pub(crate) static SESSIONS: Choices =
    Choices { listed: &[("dedicated", 0), ("shared", 1), ("fiber", 2)], hidden: &[], refused: &[] };

pub(crate) static WAIT_PRIMITIVE: Choices =
    Choices { listed: &[("futex", 0), ("posix", 1), ("sysv", 2), ("eventfd", 3)], hidden: &[], refused: &[] };

pub(crate) static IO_METHOD: Choices =
    Choices { listed: &[("uring", 0), ("workers", 1), ("sync", 2)], hidden: &[], refused: &[] };

pub(crate) static ISOLATION: Choices = Choices {
    listed: &[Isolation::RepeatableRead.entry(), Isolation::ReadCommitted.entry(), Isolation::ReadUncommitted.entry()],
    hidden: &[],
    refused: &[Isolation::Serializable.word()],
};

pub(crate) static CLIENT_MESSAGES: Choices = Choices {
    listed: &[
        MessageLevel::Debug5.entry(),
        MessageLevel::Debug4.entry(),
        MessageLevel::Debug3.entry(),
        MessageLevel::Debug2.entry(),
        MessageLevel::Debug1.entry(),
        MessageLevel::Log.entry(),
        MessageLevel::Notice.entry(),
        MessageLevel::Warning.entry(),
        MessageLevel::Error.entry(),
    ],
    hidden: &[("debug", MessageLevel::Debug2 as i64), MessageLevel::Info.entry()],
    refused: &[],
};

pub(crate) static LOG_MESSAGES: Choices = Choices {
    listed: &[
        MessageLevel::Debug5.entry(),
        MessageLevel::Debug4.entry(),
        MessageLevel::Debug3.entry(),
        MessageLevel::Debug2.entry(),
        MessageLevel::Debug1.entry(),
        MessageLevel::Info.entry(),
        MessageLevel::Notice.entry(),
        MessageLevel::Warning.entry(),
        MessageLevel::Error.entry(),
        MessageLevel::Log.entry(),
        MessageLevel::Fatal.entry(),
        MessageLevel::Panic.entry(),
    ],
    hidden: &[("debug", MessageLevel::Debug2 as i64)],
    refused: &[],
};

pub(crate) static BYTEA_OUTPUT: Choices =
    Choices { listed: &[ByteaOutput::Escape.entry(), ByteaOutput::Hex.entry()], hidden: &[], refused: &[] };

pub(crate) static INTERVAL_STYLE: Choices = Choices {
    listed: &[
        IntervalStyle::Postgres.entry(),
        IntervalStyle::PostgresVerbose.entry(),
        IntervalStyle::SqlStandard.entry(),
        IntervalStyle::Iso8601.entry(),
    ],
    hidden: &[],
    refused: &[],
};

pub(crate) static LITERAL_AUTOPARAM: Choices = Choices {
    listed: &[LiteralAutoparam::Off.entry(), LiteralAutoparam::Simple.entry(), LiteralAutoparam::Forced.entry()],
    hidden: &[
        (BOOLEAN_OFF[0], LiteralAutoparam::Off as i64),
        (BOOLEAN_OFF[1], LiteralAutoparam::Off as i64),
        (BOOLEAN_OFF[2], LiteralAutoparam::Off as i64),
    ],
    refused: &[],
};

pub(crate) static HUGE_PAGES: Choices = Choices {
    listed: &[("off", 0), ("on", 1), ("try", 2)],
    hidden: &[
        (BOOLEAN_ON[0], 1),
        (BOOLEAN_ON[1], 1),
        (BOOLEAN_ON[2], 1),
        (BOOLEAN_OFF[0], 0),
        (BOOLEAN_OFF[1], 0),
        (BOOLEAN_OFF[2], 0),
    ],
    refused: &[],
};

pub(crate) static SYNCHRONOUS_COMMIT: Choices = Choices {
    listed: &[("on", 1)],
    hidden: &[(BOOLEAN_ON[0], 1), (BOOLEAN_ON[1], 1), (BOOLEAN_ON[2], 1)],
    refused: &["off", "false", "no", "0", "local", "remote_write", "remote_apply"],
};

pub(crate) static PASSWORD_ENCRYPTION: Choices =
    Choices { listed: &[("scram-sha-256", 0)], hidden: &[], refused: &["md5"] };

pub(crate) static TLS_VERSION: Choices =
    Choices { listed: &[("TLSv1.2", 2), ("TLSv1.3", 3)], hidden: &[], refused: &["TLSv1", "TLSv1.1"] };

pub(crate) static TLS_VERSION_OR_NONE: Choices =
    Choices { listed: &[("", 0), ("TLSv1.2", 2), ("TLSv1.3", 3)], hidden: &[], refused: &["TLSv1", "TLSv1.1"] };

pub(crate) static XML_OPTION: Choices =
    Choices { listed: &[("content", 0), ("document", 1)], hidden: &[], refused: &[] };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_listed_first() {
        assert_eq!(CLIENT_MESSAGES.number("DEBUG"), Some(MessageLevel::Debug2.number()));
        assert_eq!(CLIENT_MESSAGES.word(MessageLevel::Debug2.number()), Some("debug2"));
        assert_eq!(CLIENT_MESSAGES.number("fatal"), None);
        assert_eq!(HUGE_PAGES.word(1), Some("on"));
        assert_eq!(ISOLATION.list(), "repeatable read, read committed, read uncommitted");
        assert!(ISOLATION.refuses("SERIALIZABLE"));
        assert_eq!(ENGINE.number("sim"), None, "the simulator is for tests and has no word here");
    }

    #[test]
    fn enums_and_numbers_agree() {
        for &level in MessageLevel::ALL {
            assert_eq!(MessageLevel::from_number(level.number()), Some(level));
            assert_eq!(LOG_MESSAGES.number(level.word()), Some(level.number()));
        }
        assert_eq!(Isolation::from_number(4), None);
        assert!(Isolation::RepeatableRead > Isolation::ReadCommitted);
    }

    #[test]
    fn log_ranks_apart_for_clients_and_for_the_log() {
        use MessageLevel::{Error, Fatal, Info, Log, Notice, Warning};
        assert!(!Log.reaches_client(Notice));
        assert!(Log.reaches_log(Error) && !Log.reaches_log(Fatal));
        assert!(!Warning.reaches_log(Log) && Fatal.reaches_log(Log));
        assert!(Info.reaches_client(Error) && !Info.reaches_log(Notice));
    }
}
