//! Templates of dates and times: their fields, by name.
//!
//! A name is compared as it is written: `Month` is a field and `mOnth` is none, because the case says how the month is written.
//! Of the names that a text begins with the first of [`FIELDS`] counts, so longer ones stand before their beginnings.

use super::{Piece, split};

/// How a field's letters are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// `MONDAY`
    Upper,
    /// `Monday`
    Title,
    /// `monday`
    Lower,
}

/// What a field stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// `BC`; with points.
    Era(bool),
    /// `AM`; with points.
    HalfDay(bool),
    /// `CC`
    Century,
    /// `D`, from Sunday
    DayOfWeek,
    /// `ID`, from Monday
    IsoDayOfWeek,
    /// `DAY`
    DayName,
    /// `DY`
    DayShort,
    /// `DDD`
    DayOfYear,
    /// `IDDD`
    IsoDayOfYear,
    /// `DD`
    Day,
    /// `FF1` to `FF6`
    Fraction(u8),
    /// `FX`
    Exact,
    /// `HH24`
    Hour24,
    /// `HH`, `HH12`
    Hour12,
    /// `WW`
    Week,
    /// `IW`
    IsoWeek,
    /// `W`
    WeekOfMonth,
    /// `YYYY` to `Y`: so many digits.
    Year(u8),
    /// `IYYY` to `I`: so many digits.
    IsoYear(u8),
    /// `Y,YYY`
    YearComma,
    /// `J`
    Julian,
    /// `MI`
    Minute,
    /// `MM`
    Month,
    /// `MONTH`
    MonthName,
    /// `MON`
    MonthShort,
    /// `RM`
    MonthRoman,
    /// `MS`
    Millisecond,
    /// `US`
    Microsecond,
    /// `Q`
    Quarter,
    /// `SSSS`, `SSSSS`
    SecondOfDay,
    /// `SS`
    Second,
    /// `OF`
    Offset,
    /// `TZ`
    Zone,
    /// `TZH`
    ZoneHour,
    /// `TZM`
    ZoneMinute,
}

/// A field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name, as it was written.
    pub name: &'static str,
    /// What it stands for.
    pub what: What,
    /// How letters are written.
    pub case: Case,
}

/// Of which calendar a field is. They may not be mixed where a date is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calendar {
    /// Months and days.
    Gregorian,
    /// Weeks.
    Iso,
}

impl Field {
    /// Of which calendar it is; most are of neither.
    pub fn calendar(self) -> Option<Calendar> {
        use What::*;
        match self.what {
            DayOfWeek | DayOfYear | Day | Month | MonthName | MonthShort | MonthRoman | Week | WeekOfMonth
            | Year(_) | YearComma => Some(Calendar::Gregorian),
            IsoDayOfWeek | IsoDayOfYear | IsoWeek | IsoYear(_) => Some(Calendar::Iso),
            _ => None,
        }
    }

    /// Does a text of it begin with a digit? A number before such a field ends where it must, not at the first other character.
    pub fn is_digits(self) -> bool {
        use What::*;
        !matches!(
            self.what,
            Era(_)
                | HalfDay(_)
                | DayName
                | DayShort
                | Fraction(_)
                | Exact
                | MonthName
                | MonthShort
                | MonthRoman
                | Offset
                | Zone
                | ZoneHour
        )
    }
}

const fn field(name: &'static str, what: What, case: Case) -> Field {
    Field { name, what, case }
}

macro_rules! fields {
    ($($case:ident: $($name:literal $what:expr),*;)*) => {
        [$($(field($name, $what, Case::$case)),*),*]
    };
}

/// Every field in every spelling.
#[rustfmt::skip]
static FIELDS: &[Field] = &{
    use What::*;
    fields! {
        Upper: "A.D." Era(true), "A.M." HalfDay(true), "AD" Era(false), "AM" HalfDay(false), "B.C." Era(true), "BC" Era(false),
            "CC" Century, "DAY" DayName, "DDD" DayOfYear, "DD" Day, "DY" DayShort;
        Title: "Day" DayName, "Dy" DayShort;
        Upper: "D" DayOfWeek, "FF1" Fraction(1), "FF2" Fraction(2), "FF3" Fraction(3), "FF4" Fraction(4), "FF5" Fraction(5),
            "FF6" Fraction(6), "FX" Exact, "HH24" Hour24, "HH12" Hour12, "HH" Hour12, "IDDD" IsoDayOfYear, "ID" IsoDayOfWeek,
            "IW" IsoWeek, "IYYY" IsoYear(4), "IYY" IsoYear(3), "IY" IsoYear(2), "I" IsoYear(1), "J" Julian, "MI" Minute, "MM" Month,
            "MONTH" MonthName, "MON" MonthShort, "MS" Millisecond;
        Title: "Month" MonthName, "Mon" MonthShort;
        Upper: "OF" Offset, "P.M." HalfDay(true), "PM" HalfDay(false), "Q" Quarter, "RM" MonthRoman, "SSSSS" SecondOfDay,
            "SSSS" SecondOfDay, "SS" Second, "TZH" ZoneHour, "TZM" ZoneMinute, "TZ" Zone, "US" Microsecond, "WW" Week,
            "W" WeekOfMonth, "Y,YYY" YearComma, "YYYY" Year(4), "YYY" Year(3), "YY" Year(2), "Y" Year(1);
        Lower: "a.d." Era(true), "a.m." HalfDay(true), "ad" Era(false), "am" HalfDay(false), "b.c." Era(true), "bc" Era(false),
            "cc" Century, "day" DayName, "ddd" DayOfYear, "dd" Day, "dy" DayShort, "d" DayOfWeek, "ff1" Fraction(1),
            "ff2" Fraction(2), "ff3" Fraction(3), "ff4" Fraction(4), "ff5" Fraction(5), "ff6" Fraction(6), "fx" Exact,
            "hh24" Hour24, "hh12" Hour12, "hh" Hour12, "iddd" IsoDayOfYear, "id" IsoDayOfWeek, "iw" IsoWeek, "iyyy" IsoYear(4),
            "iyy" IsoYear(3), "iy" IsoYear(2), "i" IsoYear(1), "j" Julian, "mi" Minute, "mm" Month, "month" MonthName,
            "mon" MonthShort, "ms" Millisecond, "of" Offset, "p.m." HalfDay(true), "pm" HalfDay(false), "q" Quarter, "rm" MonthRoman,
            "sssss" SecondOfDay, "ssss" SecondOfDay, "ss" Second, "tzh" ZoneHour, "tzm" ZoneMinute, "tz" Zone, "us" Microsecond, "ww" Week, "w" WeekOfMonth,
            "y,yyy" YearComma, "yyyy" Year(4), "yyy" Year(3), "yy" Year(2), "y" Year(1);
    }
};

/// Cuts a template of dates and times.
pub fn parse(template: &str) -> Vec<Piece<'_, Field>> {
    split(template, true, |text| {
        let found = FIELDS.iter().find(|field| text.starts_with(field.name))?;
        Some((*found, found.name.len()))
    })
}

/// The months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The days of a week.
pub const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The months as Roman numbers.
pub const ROMAN_MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
