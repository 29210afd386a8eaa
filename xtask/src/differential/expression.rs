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
    /// The keys that rows are grouped by, if in several ways: what `GROUPING` may be asked about.
    pub keys: Vec<String>,
}

impl Scope {
    /// Columns alone.
    pub fn of(columns: Vec<Column>) -> Scope {
        Scope { columns, ..Scope::default() }
    }

    /// What a query within sees of it: no keys that are computed. PostgreSQL takes those for columns that are not grouped.
    pub fn within(&self) -> Scope {
        let is_plain = |column: &&Column| !column.name.contains('(');
        Scope::of(self.columns.iter().filter(is_plain).cloned().collect())
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
            Kind::Array => self.array(depth, scope),
            Kind::Json => self.json(depth, scope),
        }
    }

    fn whole(&mut self, kind: Kind, depth: u32, scope: &Scope) -> Text {
        if !scope.keys.is_empty() && kind == Kind::Integer && self.rng.u8(..3) == 0 {
            return self.grouping(&scope.keys);
        }
        if kind == Kind::Integer && self.rng.u8(..3) == 0 {
            return self.count_of(depth, scope);
        }
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
                let field =
                    ["year", "month", "day", "dow", "quarter", "doy", "week", "isoyear", "isodow", "century", "julian"]
                        [self.rng.usize(..11)];
                let date = self.expression(Kind::Date, depth, scope);
                text!["CAST(extract(", field, " FROM ", date, ") AS integer)"]
            }
            6 => text!["CAST(", self.expression(Kind::Integer, depth, scope), " AS bigint)"],
            _ => text!["(- ", one, ")"],
        }
    }

    /// A number that says something of a value of another type.
    fn count_of(&mut self, depth: u32, scope: &Scope) -> Text {
        match self.rng.u8(..6) {
            0 => text!["cardinality(", self.expression(Kind::Array, depth, scope), ")"],
            1 => text!["(", self.expression(Kind::Array, depth, scope), ")[", self.rng.u8(..4).to_string(), "]"],
            2 => {
                let (array, of) =
                    (self.expression(Kind::Array, depth, scope), self.expression(Kind::Integer, depth, scope));
                text!["array_position(", array, ", ", of, ")"]
            }
            3 => {
                let json = self.expression(Kind::Json, depth, scope);
                text!["jsonb_array_length(CASE jsonb_typeof(", json.clone(), ") WHEN 'array' THEN ", json, " END)"]
            }
            4 => text![
                "(",
                self.expression(Kind::Date, depth, scope),
                " - ",
                self.expression(Kind::Date, depth, scope),
                ")"
            ],
            _ => {
                let field = ["hour", "minute", "day", "week"][self.rng.usize(..4)];
                text!["CAST(extract(", field, " FROM ", self.expression(Kind::Timestamp, depth, scope), ") AS integer)"]
            }
        }
    }

    fn grouping(&mut self, keys: &[String]) -> Text {
        let asked = (0..self.rng.usize(1..3)).map(|_| keys[self.rng.usize(..keys.len())].clone().into()).collect();
        text!["grouping(", Text::joined(asked, ", "), ")"]
    }

    fn array(&mut self, depth: u32, scope: &Scope) -> Text {
        let one = self.expression(Kind::Array, depth, scope);
        let number = |maker: &mut Self| maker.expression(Kind::Integer, depth, scope);
        match self.rng.u8(..8) {
            0 => text!["(", one, " || ", number(self), ")"],
            1 => text!["(", one, " || ", self.expression(Kind::Array, depth, scope), ")"],
            2 => text!["array_remove(", one, ", ", number(self), ")"],
            3 => text!["array_replace(", one, ", ", number(self), ", ", number(self), ")"],
            4 => text!["array_prepend(", number(self), ", ", one, ")"],
            5 if self.subqueries > 0 => {
                self.subqueries -= 1;
                let query = self.query(&[Kind::Integer], 1, &scope.within());
                text!["ARRAY(", query, " ORDER BY 1)"]
            }
            _ => text!["ARRAY[", number(self), ", ", number(self), "]"],
        }
    }

    /// Nothing that fails for some values: where it is computed is anybody's choice.
    fn json(&mut self, depth: u32, scope: &Scope) -> Text {
        let one = self.expression(Kind::Json, depth, scope);
        match self.rng.u8(..8) {
            0 => {
                let (number, word) =
                    (self.expression(Kind::Integer, depth, scope), self.expression(Kind::Text, depth, scope));
                text!["jsonb_build_object('a', ", number, ", 'b', ", word, ")"]
            }
            1 => text!["jsonb_build_array(", self.expression(Kind::Boolean, depth, scope), ", ", one, ")"],
            2 => text!["to_jsonb(", self.expression(Kind::Array, depth, scope), ")"],
            3 => text!["(", one, " -> ", ["'a'", "'b'"][self.rng.usize(..2)], ")"],
            4 => text!["(", one, " -> ", self.rng.i8(-2..3).to_string(), ")"],
            5 => text!["(", one, " #> '{b,0}')"],
            6 => {
                let typed = text!["CASE jsonb_typeof(", one.clone(), ") WHEN 'object' THEN ", one];
                match self.rng.bool() {
                    true => text![typed, " - 'a' END"],
                    false => text![typed, " || '{\"c\": 3}' END"],
                }
            }
            _ => text!["(", one, " || ", self.expression(Kind::Json, depth, scope), ")"],
        }
    }

    fn numeric(&mut self, depth: u32, scope: &Scope) -> Text {
        let one = self.expression(Kind::Numeric, depth, scope);
        match self.rng.u8(..9) {
            7 => text!["extract(epoch FROM ", self.expression(Kind::Timestamp, depth, scope), ")"],
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
        match self.rng.u8(..15) {
            9 => text![
                "(",
                self.expression(Kind::Json, depth, scope),
                " ->> ",
                ["'a'", "'b'", "0"][self.rng.usize(..3)],
                ")"
            ],
            10 => text!["CAST(", self.expression(Kind::Json, depth, scope), " AS text)"],
            11 => text!["array_to_string(", self.expression(Kind::Array, depth, scope), ", ',', '*')"],
            12 => {
                let form =
                    ["HH24:MI:SS Day", "DDD IW IYYY J", "FMMonth DDth, YYYY AD", "Q WW D CC", "HH12:MI am TMMon"];
                let form = form[self.rng.usize(..form.len())];
                text!["to_char(", self.expression(Kind::Timestamp, depth, scope), ", '", form, "')"]
            }
            13 => {
                let (one, other) =
                    (self.expression(Kind::Timestamp, depth, scope), self.expression(Kind::Timestamp, depth, scope));
                let name = ["age(", "justify_interval(", "justify_days("][self.rng.usize(..3)];
                let between = if name == "age(" { ", " } else { " - " };
                text!["CAST(", name, one, between, other, ") AS text)"]
            }
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
        match self.rng.u8(..4) {
            2 => {
                let (year, day) =
                    (self.expression(Kind::Integer, depth, scope), self.expression(Kind::Integer, depth, scope));
                text!["make_date(2000 + abs(", year, " % 30), 2, 1 + abs(", day, " % 28))"]
            }
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
        match self.rng.u8(..6) {
            3 => text!["date_bin('90 minutes', ", one, ", TIMESTAMP '2020-01-01 00:10:00')"],
            4 => {
                let (part, count) =
                    (["months", "weeks", "hours"][self.rng.usize(..3)], self.expression(Kind::Integer, depth, scope));
                text!["(", one, " + make_interval(", part, " => ", count, " % 40))"]
            }
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
        match self.rng.u8(..19) {
            16 => {
                let (array, other) = (
                    self.expression(Kind::Array, depth.min(1), scope),
                    self.expression(Kind::Array, depth.min(1), scope),
                );
                text!["(", array, [" @> ", " <@ ", " && "][self.rng.usize(..3)], other, ")"]
            }
            17 => {
                let word = [" = ANY (", " <> ALL (", " < ANY (", " >= ALL ("][self.rng.usize(..4)];
                let number = self.expression(Kind::Integer, depth.min(1), scope);
                text!["(", number, word, self.expression(Kind::Array, depth.min(1), scope), "))"]
            }
            18 => {
                let one = self.expression(Kind::Json, depth.min(1), scope);
                match self.rng.bool() {
                    true => text!["(", one, " @> ", self.expression(Kind::Json, depth.min(1), scope), ")"],
                    false => text![
                        "(",
                        one,
                        [" ? 'a')", " ?| ARRAY['a', 'b'])", " ?& ARRAY['a', 'b'])"][self.rng.usize(..3)]
                    ],
                }
            }
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
            (Kind::Array, 0) => {
                let number = of(self, Kind::Integer);
                text!["array_agg(", distinct, number.clone(), " ORDER BY ", number, ")"]
            }
            (Kind::Json, _) => {
                let one = of(self, kind);
                text!["jsonb_agg(", one.clone(), " ORDER BY ", one, ")"]
            }
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

    /// A call whose result does not depend on how rows that are equal stand: of what is ordered by, of all that are equal, or in an order
    /// that leaves nothing equal.
    fn window(&mut self, kind: Kind, depth: u32, scope: &Scope) -> Text {
        const COLUMNS_MAX: usize = 14;
        let inner = Scope { windows: false, ..scope.clone() };
        let of = |maker: &mut Self, kind| maker.expression(kind, depth.min(1), &inner);
        let any = |maker: &mut Self| {
            let kind = KINDS[maker.rng.usize(..KINDS.len())];
            of(maker, kind)
        };
        let by = Text::optional(text!["PARTITION BY ", any(self), " "]);
        if scope.rows.is_none() && scope.columns.len() <= COLUMNS_MAX && self.rng.bool() {
            let order = whole_order(scope);
            let call = self.place_call(kind, depth, &inner);
            let frame = self.frame(true);
            return text![call, " OVER (", by, "ORDER BY ", any(self), order, Text::optional(frame), ")"];
        }
        let call = match kind {
            Kind::Bigint => match self.rng.u8(..4) {
                0 => text!["rank()"],
                1 => text!["dense_rank()"],
                2 => text!["count(", any(self), ")", self.filter(&inner)],
                _ => text!["sum(", of(self, Kind::Integer), ")", self.filter(&inner)],
            },
            Kind::Numeric => text!["avg(", of(self, Kind::Integer), ")"],
            Kind::Json => text!["to_jsonb(count(*) OVER (", by.clone(), "))"],
            Kind::Boolean => text![["bool_or(", "bool_and("][self.rng.usize(..2)], of(self, kind), ")"],
            _ => text![["min(", "max("][self.rng.usize(..2)], of(self, kind), ")"],
        };
        if kind == Kind::Json {
            return call;
        }
        let how = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"][self.rng.usize(..4)];
        match self.rng.u8(..4) {
            // Values from, to: of one key, whose type says how far they are apart.
            0 => {
                let (key, far): (Kind, [&str; 3]) = match self.rng.u8(..4) {
                    0 => (Kind::Integer, ["1", "3", "100"]),
                    1 => (Kind::Numeric, ["0.5", "2.25", "10"]),
                    2 => (Kind::Date, ["INTERVAL '1 month'", "INTERVAL '10 days'", "INTERVAL '2 years'"]),
                    _ => (Kind::Timestamp, ["INTERVAL '1 month'", "INTERVAL '36 hours'", "INTERVAL '1 year'"]),
                };
                let range = text![" RANGE ", self.ends(&far)];
                text![call, " OVER (", by, "ORDER BY ", of(self, key), how, range, self.excluded(), ")"]
            }
            _ => {
                let frame = self.frame(false);
                text![call, " OVER (", by, "ORDER BY ", any(self), how, Text::optional(frame), ")"]
            }
        }
    }

    /// A call that needs the place of a row among others.
    fn place_call(&mut self, kind: Kind, depth: u32, inner: &Scope) -> Text {
        let one = self.expression(kind, depth.min(1), inner);
        let number = self.rng.u8(1..4).to_string();
        match (kind, self.rng.u8(..7)) {
            (Kind::Integer, 0) => text!["ntile(", number, ")"],
            (Kind::Bigint, 0) => text!["row_number()"],
            (Kind::Numeric, 0) => text!["avg(", one, ")"],
            (Kind::Text, 0) => text!["string_agg(", one, ", ',')"],
            (Kind::Array, 0) => text!["array_agg(", self.expression(Kind::Integer, depth.min(1), inner), ")"],
            (Kind::Json, 0) => text!["jsonb_agg(", one, ")"],
            (Kind::Boolean, 0) => text!["bool_and(", one, ")"],
            (_, 1) => text!["lag(", one, ", ", number, ")"],
            (_, 2) => text!["lead(", one, ", ", number, ", ", self.expression(kind, 0, inner), ")"],
            (_, 3) => text!["first_value(", one, ")"],
            (_, 4) => text!["last_value(", one, ")"],
            (_, 5) => text!["nth_value(", one, ", ", number, ")"],
            _ => text!["lag(", one, ")"],
        }
    }

    fn filter(&mut self, scope: &Scope) -> Text {
        match self.rng.u8(..4) {
            0 => Text::optional(text![" FILTER (WHERE ", self.condition(1, scope), ")"]),
            _ => Text::none(),
        }
    }

    fn frame(&mut self, rows: bool) -> Text {
        let mode = match (rows, self.rng.u8(..3)) {
            (true, 0 | 1) => " ROWS ",
            (_, 1) => return " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".into(),
            _ => " GROUPS ",
        };
        match self.rng.u8(..4) {
            0 => Text::none(),
            _ => text![mode, self.ends(&["0", "1", "2"]), self.excluded()],
        }
    }

    /// The ends of a frame, the first before the last.
    fn ends(&mut self, far: &[&str; 3]) -> Text {
        let start = self.rng.usize(..4);
        let end = self.rng.usize(start.max(1)..5);
        let mut name = |end: usize, unbounded: &str| match end {
            0 | 4 => format!("UNBOUNDED {unbounded}"),
            1 => format!("{} PRECEDING", far[self.rng.usize(..3)]),
            2 => "CURRENT ROW".into(),
            _ => format!("{} FOLLOWING", far[self.rng.usize(..3)]),
        };
        let (first, last) = (name(start, "PRECEDING"), name(end, "FOLLOWING"));
        format!("BETWEEN {first} AND {last}").into()
    }

    fn excluded(&mut self) -> Text {
        match self.rng.u8(..6) {
            0 => Text::optional(" EXCLUDE CURRENT ROW"),
            1 => Text::optional(" EXCLUDE TIES"),
            2 => Text::optional(" EXCLUDE GROUP"),
            _ => Text::none(),
        }
    }
}

/// Behind other keys: all columns, so that rows that are equal cannot be told apart.
fn whole_order(scope: &Scope) -> String {
    let key = |column: &Column| match column.kind {
        // Equal fractions may be written in several ways.
        Kind::Numeric => format!(", CAST({} AS text)", column.name),
        _ => format!(", {}", column.name),
    };
    scope.columns.iter().map(key).collect()
}
