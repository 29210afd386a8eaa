//! Random expressions of a type, over the columns that are in sight.
//!
//! They are made so that both servers must agree: nothing depends on time, chance or the order of rows, sums are exact, and what might
//! overflow is kept small. An expression may still fail when it is computed; who reads it knows which errors do not count.

use super::kind::{KINDS, Kind};
use super::query::Maker;
use super::text::{Text, text};

/// A column that can be named.
#[derive(Clone, Debug)]
pub struct Column {
    /// How it is written.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

/// What an expression may be made of.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The columns, those of queries around it too.
    pub columns: Vec<Column>,
    /// What aggregates may be computed of; none where there may be no aggregates.
    pub rows: Option<Vec<Column>>,
    /// Window functions may be used.
    pub windows: bool,
}

impl Scope {
    /// Columns alone.
    pub fn of(columns: Vec<Column>) -> Scope {
        Scope { columns, rows: None, windows: false }
    }
}

impl Maker<'_> {
    /// An expression of a type.
    pub fn expression(&mut self, kind: Kind, depth: u32, scope: &Scope) -> Text {
        let leaf = self.leaf(kind, scope);
        if depth == 0 || self.rng.u8(..4) == 0 {
            return leaf;
        }
        let made = match self.rng.u8(..12) {
            0 => self.case(kind, depth - 1, scope),
            1 => {
                let (one, other) = (self.expression(kind, depth - 1, scope), self.expression(kind, depth - 1, scope));
                text!["coalesce(", one, ", ", other, ")"]
            }
            2 => {
                let (one, other) = (self.expression(kind, depth - 1, scope), self.expression(kind, depth - 1, scope));
                text!["nullif(", one, ", ", other, ")"]
            }
            3 if kind != Kind::Boolean => {
                let name = ["greatest(", "least("][self.rng.usize(..2)];
                let (one, other) = (self.expression(kind, depth - 1, scope), self.expression(kind, depth - 1, scope));
                text![name, one, ", ", other, ")"]
            }
            4 if scope.rows.is_some() => self.aggregate(kind, depth - 1, scope),
            5 if scope.windows => self.window(kind, depth - 1, scope),
            6 if self.subqueries > 0 => self.scalar_query(kind, scope),
            _ => self.operation(kind, depth - 1, scope),
        };
        made.or([leaf, format!("CAST(NULL AS {})", kind.name()).into()])
    }

    fn leaf(&mut self, kind: Kind, scope: &Scope) -> Text {
        if scope.rows.is_some() && self.rng.u8(..3) == 0 {
            return self.aggregate(kind, 0, scope);
        }
        let fitting: Vec<&Column> = scope.columns.iter().filter(|column| column.kind == kind).collect();
        if !fitting.is_empty() && self.rng.u8(..5) > 0 {
            return fitting[self.rng.usize(..fitting.len())].name.clone().into();
        }
        match self.rng.u8(..20) {
            0 => format!("CAST(NULL AS {})", kind.name()).into(),
            _ => kind.value(self.rng).into(),
        }
    }

    fn case(&mut self, kind: Kind, depth: u32, scope: &Scope) -> Text {
        let (condition, then) = (self.condition(depth, scope), self.expression(kind, depth, scope));
        let otherwise = self.expression(kind, depth, scope);
        match self.rng.bool() {
            true => {
                let otherwise = Text::optional(text![" ELSE ", otherwise]);
                text!["CASE WHEN ", condition, " THEN ", then, otherwise, " END"]
            }
            false => {
                let of = KINDS[self.rng.usize(..KINDS.len())];
                let (value, one) = (self.expression(of, depth, scope), self.expression(of, depth, scope));
                text!["CASE ", value, " WHEN ", one, " THEN ", then, " ELSE ", otherwise, " END"]
            }
        }
    }

    fn operation(&mut self, kind: Kind, depth: u32, scope: &Scope) -> Text {
        match kind {
            Kind::Integer | Kind::Bigint => self.whole(kind, depth, scope),
            Kind::Numeric => self.numeric(depth, scope),
            Kind::Text => self.word(depth, scope),
            Kind::Boolean => self.condition(depth, scope),
            Kind::Date => self.date(depth, scope),
            Kind::Timestamp => self.timestamp(depth, scope),
        }
    }

    fn whole(&mut self, kind: Kind, depth: u32, scope: &Scope) -> Text {
        let one = self.expression(kind, depth, scope);
        match self.rng.u8(..9) {
            0 => text!["(", one, " + ", self.expression(kind, depth, scope), ")"],
            1 => text!["(", one, " - ", self.expression(kind, depth, scope), ")"],
            2 => text!["(", one, " % 100 * (", self.expression(kind, depth, scope), " % 100))"],
            3 => text!["(", one, " / nullif(", self.expression(kind, depth, scope), ", 0))"],
            4 => text!["(", one, " % nullif(", self.expression(kind, depth, scope), ", 0))"],
            5 => text!["abs(", one, ")"],
            6 if kind == Kind::Integer => text!["length(", self.expression(Kind::Text, depth, scope), ")"],
            7 if kind == Kind::Integer => {
                let field = ["year", "month", "day", "dow", "quarter"][self.rng.usize(..5)];
                let date = self.expression(Kind::Date, depth, scope);
                text!["CAST(extract(", field, " FROM ", date, ") AS integer)"]
            }
            6 => text!["CAST(", self.expression(Kind::Integer, depth, scope), " AS bigint)"],
            _ => text!["(- ", one, ")"],
        }
    }

    fn numeric(&mut self, depth: u32, scope: &Scope) -> Text {
        let one = self.expression(Kind::Numeric, depth, scope);
        match self.rng.u8(..8) {
            0 => text!["(", one, " + ", self.expression(Kind::Numeric, depth, scope), ")"],
            1 => text!["(", one, " - ", self.expression(Kind::Integer, depth, scope), ")"],
            2 => text!["(", one, " * ", self.expression(Kind::Numeric, depth, scope), ")"],
            3 => text!["(", one, " / nullif(", self.expression(Kind::Numeric, depth, scope), ", 0))"],
            4 => text!["round(", one, ", ", ["0", "1", "3", "-1"][self.rng.usize(..4)], ")"],
            5 => text![["floor(", "ceil(", "abs(", "trunc("][self.rng.usize(..4)], one, ")"],
            6 => text!["CAST(", self.expression(Kind::Bigint, depth, scope), " AS numeric)"],
            _ => text!["(", one, " % nullif(", self.expression(Kind::Integer, depth, scope), ", 0))"],
        }
    }

    fn word(&mut self, depth: u32, scope: &Scope) -> Text {
        let one = self.expression(Kind::Text, depth, scope);
        match self.rng.u8(..10) {
            0 => text!["(", one, " || ", self.expression(Kind::Text, depth, scope), ")"],
            1 => text![["upper(", "lower(", "trim(", "reverse("][self.rng.usize(..4)], one, ")"],
            2 => text!["substr(", one, ", ", self.rng.u8(..4).to_string(), ", ", self.rng.u8(..4).to_string(), ")"],
            3 => text![["left(", "right("][self.rng.usize(..2)], one, ", ", self.rng.i8(-2..3).to_string(), ")"],
            4 => text!["replace(", one, ", 'a', ", self.expression(Kind::Text, depth, scope), ")"],
            5 => text!["concat(", one, ", ", self.expression(Kind::Integer, depth, scope), ")"],
            6 => text!["CAST(", self.expression(Kind::Numeric, depth, scope), " AS text)"],
            7 => text!["to_char(", self.expression(Kind::Date, depth, scope), ", 'YYYY-MM-DD')"],
            8 => text!["CAST(", self.expression(Kind::Boolean, depth, scope), " AS text)"],
            _ => text!["lpad(", one, ", ", self.rng.u8(..5).to_string(), ", '*')"],
        }
    }

    fn date(&mut self, depth: u32, scope: &Scope) -> Text {
        match self.rng.u8(..3) {
            0 => {
                let (date, days) =
                    (self.expression(Kind::Date, depth, scope), self.expression(Kind::Integer, depth, scope));
                text!["(", date, " + ", days, " % 100)"]
            }
            1 => text!["CAST(", self.expression(Kind::Timestamp, depth, scope), " AS date)"],
            _ => text!["CAST(date_trunc('month', ", self.expression(Kind::Timestamp, depth, scope), ") AS date)"],
        }
    }

    fn timestamp(&mut self, depth: u32, scope: &Scope) -> Text {
        let one = self.expression(Kind::Timestamp, depth, scope);
        match self.rng.u8(..4) {
            0 => text!["(", one, " + INTERVAL '1 month 2 days')"],
            1 => text!["(", one, " - INTERVAL '90 minutes')"],
            2 => text!["CAST(", self.expression(Kind::Date, depth, scope), " AS timestamp)"],
            _ => text!["date_trunc('", ["year", "week", "hour"][self.rng.usize(..3)], "', ", one, ")"],
        }
    }

    /// A condition.
    pub fn condition(&mut self, depth: u32, scope: &Scope) -> Text {
        let of = KINDS[self.rng.usize(..KINDS.len())];
        let value = |maker: &mut Self| maker.expression(of, depth.min(1), scope);
        match self.rng.u8(..16) {
            0 | 1 if depth > 0 => {
                let word = [" AND ", " OR "][self.rng.usize(..2)];
                let (one, other) = (self.condition(depth - 1, scope), self.condition(depth - 1, scope));
                text!["(", one.clone(), word, other.clone(), ")"].or([one, other])
            }
            2 if depth > 0 => {
                let one = self.condition(depth - 1, scope);
                text!["(NOT ", one.clone(), ")"].or([one])
            }
            3 => text!["(", value(self), [" IS NULL)", " IS NOT NULL)"][self.rng.usize(..2)]],
            4 => {
                let not = ["", "NOT "][self.rng.usize(..2)];
                text!["(", value(self), " ", not, "BETWEEN ", value(self), " AND ", value(self), ")"]
            }
            5 => {
                let not = ["", "NOT "][self.rng.usize(..2)];
                let list = (0..self.rng.usize(1..5)).map(|_| value(self)).collect();
                text!["(", value(self), " ", not, "IN (", Text::joined(list, ", "), "))"]
            }
            6 => {
                let pattern = ["'a%'", "'%b%'", "'_'", "'%'", "'A%'", "'x y'"][self.rng.usize(..6)];
                let word = [" LIKE ", " NOT LIKE ", " ILIKE "][self.rng.usize(..3)];
                text!["(", self.expression(Kind::Text, depth.min(1), scope), word, pattern, ")"]
            }
            7 => {
                let word = [" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "][self.rng.usize(..2)];
                text!["(", value(self), word, value(self), ")"]
            }
            8 => {
                let word = [" IS TRUE)", " IS NOT FALSE)", " IS UNKNOWN)"][self.rng.usize(..3)];
                text!["(", self.expression(Kind::Boolean, depth.saturating_sub(1), scope), word]
            }
            9 | 10 if self.subqueries > 0 => self.query_condition(of, scope),
            _ => {
                let word = [" = ", " = ", " < ", " <= ", " > ", " >= ", " <> "][self.rng.usize(..7)];
                text!["(", value(self), word, value(self), ")"]
            }
        }
    }

    fn aggregate(&mut self, kind: Kind, depth: u32, scope: &Scope) -> Text {
        let inner = Scope::of(scope.rows.clone().unwrap_or_default());
        let of = |maker: &mut Self, kind| maker.expression(kind, depth.min(1), &inner);
        let any = KINDS[self.rng.usize(..KINDS.len())];
        let distinct = ["", "", "DISTINCT "][self.rng.usize(..3)];
        let call = match (kind, self.rng.u8(..3)) {
            (Kind::Integer, 0) => text!["CAST(count(*) AS integer)"],
            (Kind::Bigint, 0) => text!["count(*)"],
            (Kind::Bigint, 1) => text!["count(", distinct, of(self, any), ")"],
            (Kind::Bigint, _) => text!["sum(", distinct, of(self, Kind::Integer), ")"],
            (Kind::Numeric, 0) => text!["sum(", distinct, of(self, Kind::Numeric), ")"],
            (Kind::Numeric, 1) => text!["avg(", of(self, Kind::Bigint), ")"],
            (Kind::Boolean, _) => text![["bool_and(", "bool_or("][self.rng.usize(..2)], of(self, kind), ")"],
            (Kind::Text, 0) => {
                let word = of(self, Kind::Text);
                // A literal is a text only once it is an argument; where it is sorted by, it is something else.
                let word = text!["CAST(", word, " AS text)"];
                text!["string_agg(", distinct, word.clone(), ", ',' ORDER BY ", word, ")"]
            }
            _ => text![["min(", "max("][self.rng.usize(..2)], of(self, kind), ")"],
        };
        // What has no brackets of its own end cannot be filtered: the cast of a count.
        match self.rng.u8(..6) {
            0 if !call.to_string().starts_with("CAST") => {
                let condition = self.condition(depth.min(1), &inner);
                text![call, Text::optional(text![" FILTER (WHERE ", condition, ")"])]
            }
            _ => call,
        }
    }

    /// A call whose result does not depend on how rows that are equal stand.
    fn window(&mut self, kind: Kind, depth: u32, scope: &Scope) -> Text {
        let inner = Scope { windows: false, ..scope.clone() };
        let any = |maker: &mut Self| {
            let kind = KINDS[maker.rng.usize(..KINDS.len())];
            maker.expression(kind, depth.min(1), &inner)
        };
        let call = match kind {
            Kind::Bigint => match self.rng.u8(..3) {
                0 => text!["rank()"],
                1 => text!["dense_rank()"],
                _ => text!["sum(", self.expression(Kind::Integer, depth.min(1), &inner), ")"],
            },
            Kind::Numeric => text!["avg(", self.expression(Kind::Integer, depth.min(1), &inner), ")"],
            _ => text![["min(", "max("][self.rng.usize(..2)], self.expression(kind, depth.min(1), &inner), ")"],
        };
        if kind == Kind::Boolean {
            return text!["bool_or(", self.expression(kind, depth.min(1), &inner), ") OVER ()"];
        }
        let by = Text::optional(text!["PARTITION BY ", any(self), " "]);
        let order = text!["ORDER BY ", any(self), ["", " DESC", " NULLS FIRST"][self.rng.usize(..3)]];
        let frame = match self.rng.u8(..4) {
            0 => " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            1 => " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            _ => "",
        };
        text![call, " OVER (", by, order, Text::optional(frame), ")"]
    }
}
