//! What a row of the table of settings says: kind, context, category, marks and documentation.

use super::choice::Choices;
use super::date_style::DateStyle;
use super::table::SettingId;
use super::text::TextRule;
use super::unit::{Unit, integer_text, real_text};
use super::value::Value;

/// One row of the table.
#[derive(Debug)]
pub struct Setting {
    /// Its number.
    pub id: SettingId,
    /// Its name; PostgreSQL's where PostgreSQL has it.
    pub name: &'static str,
    /// The chapter of the manual it stands in.
    pub category: Category,
    /// Who may change it, and when.
    pub context: Context,
    /// What its values are, and the default.
    pub kind: Kind,
    /// The short form on the command line, shown by `--help`. Every setting also has the long form, its name.
    pub option: Option<&'static str>,
    /// Its marks.
    pub flags: Flags,
    /// The documentation, line by line: one sentence, an empty line, paragraphs.
    pub docs: &'static [&'static str],
}

/// What the values of a setting are, and which one is the default.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// On or off.
    Bool {
        /// The default.
        default: bool,
        /// The value that is known and refused, because the server does not do it.
        refused: Option<bool>,
    },
    /// A whole number.
    Integer {
        /// The least value.
        min: i32,
        /// The greatest value.
        max: i32,
        /// What it counts.
        unit: Unit,
        /// The default.
        default: i32,
    },
    /// A number with a fraction.
    Real {
        /// The least value.
        min: f64,
        /// The greatest value.
        max: f64,
        /// What it counts.
        unit: Unit,
        /// The default.
        default: f64,
    },
    /// One of a few words.
    Enum {
        /// The words.
        choices: &'static Choices,
        /// The default, one of the words.
        default: &'static str,
    },
    /// The two halves of `DateStyle`: a text for users, a number for code.
    DateStyle {
        /// The default.
        default: DateStyle,
    },
    /// A text.
    Text {
        /// What it must look like.
        rule: TextRule,
        /// The default.
        default: &'static str,
    },
}

impl Kind {
    /// The name of the kind in `pg_settings.vartype`.
    pub const fn vartype(&self) -> &'static str {
        match self {
            Kind::Bool { .. } => "bool",
            Kind::Integer { .. } => "integer",
            Kind::Real { .. } => "real",
            Kind::Enum { .. } => "enum",
            Kind::DateStyle { .. } | Kind::Text { .. } => "string",
        }
    }

    /// True if values are kept as texts, not as numbers.
    pub const fn is_text(&self) -> bool {
        matches!(self, Kind::Text { .. })
    }

    /// What its numbers count.
    pub const fn unit(&self) -> Unit {
        match self {
            Kind::Integer { unit, .. } | Kind::Real { unit, .. } => *unit,
            _ => Unit::None,
        }
    }
}

/// Who may change a setting, and when. Each level includes the ways of the ones before it, but for [`Context::Internal`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Context {
    /// Nobody: the server computes it, or it is a fact.
    Internal,
    /// Only before the server starts.
    Start,
    /// Also while it runs, for the whole server: `ALTER SYSTEM` or a file, then a reload.
    Reload,
    /// Also by `SET` in a session of a superuser.
    SuperSession,
    /// Also by `SET` in any session.
    Session,
}

impl Context {
    /// The name in `pg_settings.context`, which is PostgreSQL's.
    pub const fn name(self) -> &'static str {
        match self {
            Context::Internal => "internal",
            Context::Start => "postmaster",
            Context::Reload => "sighup",
            Context::SuperSession => "superuser",
            Context::Session => "user",
        }
    }
}

/// Marks of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags(u16);

impl Flags {
    /// No mark.
    pub const NONE: Flags = Flags(0);
    /// Clients are told of every change (`ParameterStatus`).
    pub const REPORT: Flags = Flags(1);
    /// The value is a list: `SET x TO a, b` and arrays in files are accepted.
    pub const LIST: Flags = Flags(1 << 1);
    /// The items of the list are identifiers, to be quoted where needed.
    pub const IDENTIFIERS: Flags = Flags(1 << 2);
    /// Not in `SHOW ALL` and `pg_settings`.
    pub const NO_SHOW_ALL: Flags = Flags(1 << 3);
    /// `RESET ALL` leaves it alone.
    pub const NO_RESET_ALL: Flags = Flags(1 << 4);
    /// The value is for superusers' eyes.
    pub const SUPERUSER_ONLY: Flags = Flags(1 << 5);
    /// Only for the command line and the environment: it says where the files are.
    pub const NOT_IN_FILES: Flags = Flags(1 << 6);
    /// Not for `ALTER SYSTEM`, whose file is found with its help.
    pub const NOT_IN_AUTO_FILE: Flags = Flags(1 << 7);
    /// The server computes a value of its own for each session.
    pub const PER_SESSION: Flags = Flags(1 << 8);
    /// Plans depend on it: one that was made under another value is not used.
    pub const PLANS: Flags = Flags(1 << 9);

    /// The marks of both.
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// True if all of these marks are set.
    pub const fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

macro_rules! categories {
    ($($(#[$doc:meta])* $id:ident $title:literal,)+) => {
        /// A chapter of the manual; the names are PostgreSQL's where it has such a chapter.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Category { $(#[doc = $title] $id,)+ }

        impl Category {
            /// All chapters, in the order of the manual.
            pub const ALL: &'static [Category] = &[$(Category::$id),+];

            /// The title.
            pub const fn title(self) -> &'static str {
                match self { $(Category::$id => $title),+ }
            }
        }
    };
}

categories! {
    ExecutionModel "Execution Model",
    InputOutput "Input and Output",
    FileLocations "File Locations",
    Connections "Connections and Authentication / Connection Settings",
    Authentication "Connections and Authentication / Authentication",
    Ssl "Connections and Authentication / SSL",
    Memory "Resource Usage / Memory",
    StatementCache "Statement Cache",
    WriteAheadLog "Write-Ahead Log / Settings",
    Checkpoints "Write-Ahead Log / Checkpoints",
    Locks "Lock Management",
    Autovacuum "Autovacuum",
    StatementBehavior "Client Connection Defaults / Statement Behavior",
    Formatting "Client Connection Defaults / Locale and Formatting",
    LogContents "Reporting and Logging / What to Log",
    LogLevels "Reporting and Logging / When to Log",
    Statistics "Statistics / Cumulative Query and Index Statistics",
    PlannerMethods "Query Tuning / Planner Method Configuration",
    PlannerCosts "Query Tuning / Planner Cost Constants",
    Planner "Query Tuning / Other Planner Options",
    Compatibility "Version and Platform Compatibility / Previous PostgreSQL Versions",
    Preset "Preset Options",
    Developer "Developer Options",
}

impl Setting {
    /// One sentence on what it is.
    pub fn short_doc(&self) -> &'static str {
        self.docs[0].trim()
    }

    /// The paragraphs after the sentence; none if it says all.
    pub fn long_doc(&self) -> Vec<String> {
        let mut paragraphs = vec![String::new()];
        for line in self.docs[1..].iter().map(|line| line.trim()) {
            match paragraphs.last_mut() {
                Some(last) if !line.is_empty() => {
                    if !last.is_empty() {
                        last.push(' ');
                    }
                    last.push_str(line);
                }
                _ => paragraphs.push(String::new()),
            }
        }
        paragraphs.retain(|paragraph| !paragraph.is_empty());
        paragraphs
    }

    /// The environment variable that sets it: `GEARBOX_` and its name in capitals.
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.name.to_ascii_uppercase())
    }

    /// The option of the command line that sets it: its short form, or its name with hyphens.
    pub fn option_name(&self) -> String {
        match self.option {
            Some(option) => option.to_owned(),
            None => format!("--{}", self.name.to_ascii_lowercase().replace('_', "-")),
        }
    }

    /// True if each session has a value of its own, set or computed.
    pub const fn is_per_session(&self) -> bool {
        matches!(self.context, Context::Session | Context::SuperSession) || self.flags.has(Flags::PER_SESSION)
    }

    /// The default.
    pub fn default_value(&self) -> Value {
        match self.kind {
            Kind::Bool { default, .. } => Value::from(default),
            Kind::Integer { default, .. } => Value::Number(default.into()),
            Kind::Real { default, .. } => Value::from(default),
            Kind::Enum { choices, default } => match choices.number(default) {
                Some(number) => Value::Number(number),
                None => unreachable!("the default of {} is one of its words, a test sees to it", self.name),
            },
            Kind::DateStyle { default } => Value::Number(default.number()),
            Kind::Text { default, .. } => Value::Text(default.to_owned()),
        }
    }

    /// The values as a reader of the manual sees them: `64kB .. 2147483647kB`, `off, on, try`.
    pub fn values_text(&self) -> String {
        match self.kind {
            Kind::Bool { refused: Some(refused), .. } => (if refused { "off" } else { "on" }).to_owned(),
            Kind::Bool { .. } => "on, off".to_owned(),
            Kind::Integer { min, max, unit, .. } => {
                format!("{} to {}", integer_text(min.into(), unit), integer_text(max.into(), unit))
            }
            Kind::Real { min, max, unit, .. } => {
                format!("{} to {} {}", real_text(min), real_text(max), unit.name()).trim_end().to_owned()
            }
            Kind::Enum { choices, .. } => choices.list(),
            Kind::DateStyle { .. } => {
                "a format (ISO, SQL, Postgres, German), an order (YMD, DMY, MDY), or both".to_owned()
            }
            Kind::Text { rule, .. } => rule.describe(),
        }
    }
}

/// What the name of every environment variable of a setting begins with.
pub const VARIABLE_PREFIX: &str = "GEARBOX_";

impl TextRule {
    /// The rule in the manual's words.
    pub fn describe(self) -> String {
        match self {
            TextRule::Any => "a text".to_owned(),
            TextRule::Path => "a file, or empty for none".to_owned(),
            TextRule::Directory => "a directory".to_owned(),
            TextRule::Listen => "ADDRESS:PORT, several separated by commas".to_owned(),
            TextRule::ClientEncoding => "UTF8, SQL_ASCII".to_owned(),
            TextRule::TimeZone => "the name of a zone, a POSIX zone, or hours east of Greenwich".to_owned(),
            TextRule::Identifiers => "names separated by commas".to_owned(),
            TextRule::ApplicationName => "up to 63 printable ASCII characters".to_owned(),
            TextRule::Locale => "C, POSIX, C.UTF-8".to_owned(),
            TextRule::MessageLocale => "C, POSIX, C.UTF-8, an English locale, or empty".to_owned(),
            TextRule::OneOf(words) => {
                let words: Vec<_> = words.iter().map(|word| if word.is_empty() { "(empty)" } else { word }).collect();
                words.join(", ")
            }
        }
    }
}
