//! The rows of TPC-H's tables, as text that `COPY` reads.
//!
//! Rules
//! 1. A row is a function of its table, its number and the scale: tables are made alone, in any order, twice the same.
//! 2. Values have the specification's distributions (4.2.3); they are not those that TPC's own program makes, whose chance has other numbers.

use super::text::{
    COLOURS, CONTAINERS, INSTRUCTIONS, MODES, NATIONS, PRIORITIES, Pool, REGIONS, SEGMENTS, TYPES, one_of,
};
use fastrand::Rng;
use std::io::{Result, Write};

/// Days from 1970-01-01 of the first order, of the last one, and of the day that the data are of.
const FIRST_ORDER: i32 = 8035;
const LAST_ORDER: i32 = 10_440;
const TODAY: i32 = 9298;

/// The tables in the order in which they are filled.
pub const TABLES: [&str; 8] = ["region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"];

/// How many rows tables have at a scale.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    suppliers: u64,
    parts: u64,
    customers: u64,
    orders: u64,
    clerks: u64,
}

impl Sizes {
    /// At a scale: 1 is a gigabyte.
    pub fn at(scale: f64) -> Sizes {
        let of = |rows: f64| ((rows * scale) as u64).max(8);
        Sizes {
            suppliers: of(10_000.0),
            parts: of(200_000.0),
            customers: of(150_000.0),
            orders: of(1_500_000.0),
            clerks: of(1_000.0),
        }
    }
}

/// Writes all rows of a table.
pub fn write(table: &str, sizes: Sizes, pool: &Pool, out: &mut dyn Write) -> Result<()> {
    match table {
        "region" => REGIONS.iter().enumerate().try_for_each(|(key, name)| {
            let mut rng = chance(1, key as u64);
            writeln!(out, "{key}\t{name}\t{}", pool.comment(&mut rng, 31, 115))
        }),
        "nation" => NATIONS.iter().enumerate().try_for_each(|(key, (name, region))| {
            let mut rng = chance(2, key as u64);
            writeln!(out, "{key}\t{name}\t{region}\t{}", pool.comment(&mut rng, 31, 114))
        }),
        "supplier" => (1..=sizes.suppliers).try_for_each(|key| supplier(key, sizes, pool, out)),
        "part" => (1..=sizes.parts).try_for_each(|key| part(key, pool, out)),
        "partsupp" => (1..=sizes.parts).try_for_each(|key| part_suppliers(key, sizes, pool, out)),
        "customer" => (1..=sizes.customers).try_for_each(|key| customer(key, pool, out)),
        "orders" => (0..sizes.orders).try_for_each(|number| order(number, sizes, pool, out)),
        _ => (0..sizes.orders).try_for_each(|number| lines_of(number, sizes, pool, out)),
    }
}

fn chance(table: u64, row: u64) -> Rng {
    Rng::with_seed(table << 48 ^ row.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn supplier(key: u64, sizes: Sizes, pool: &Pool, out: &mut dyn Write) -> Result<()> {
    let mut rng = chance(3, key);
    write!(out, "{key}\tSupplier#{key:09}\t")?;
    address(&mut rng, out)?;
    let nation = rng.u32(..25);
    write!(out, "\t{nation}\t{}\t{}\t", phone(&mut rng, nation), money(rng.i64(-99_999..=999_999)))?;
    let comment = pool.comment(&mut rng, 25, 100);
    // Five of ten thousand suppliers have customers who complain, five have some who recommend them.
    let step = (sizes.suppliers / (sizes.suppliers / 2000).max(1)).max(2);
    match key % step {
        1 => writeln!(out, "{}Customer {}Complaints", cut(comment, 0, 8), cut(comment, 8, 12)),
        0 => writeln!(out, "{}Customer {}Recommends", cut(comment, 0, 8), cut(comment, 8, 12)),
        _ => writeln!(out, "{comment}"),
    }
}

fn cut(text: &str, from: usize, to: usize) -> &str {
    &text[from.min(text.len())..to.min(text.len())]
}

fn part(key: u64, pool: &Pool, out: &mut dyn Write) -> Result<()> {
    let mut rng = chance(4, key);
    let mut names = [usize::MAX; 5];
    for place in 0..names.len() {
        names[place] = loop {
            let name = rng.usize(..COLOURS.len());
            if !names.contains(&name) {
                break name;
            }
        };
    }
    let names = names.map(|name| COLOURS[name]).join(" ");
    let maker = rng.u32(1..=5);
    let brand = rng.u32(1..=5);
    let [first, second, third] = TYPES.map(|words| one_of(&mut rng, words));
    let size = rng.u32(1..=50);
    let [kind, container] = CONTAINERS.map(|words| one_of(&mut rng, words));
    let price = money(retail_price(key));
    writeln!(
        out,
        "{key}\t{names}\tManufacturer#{maker}\tBrand#{maker}{brand}\t{first} {second} {third}\t{size}\t{kind} {container}\t{price}\t{}",
        pool.comment(&mut rng, 5, 22)
    )
}

/// In cents.
fn retail_price(part: u64) -> i64 {
    (90_000 + (part / 10) % 20_001 + 100 * (part % 1000)) as i64
}

/// One of a part's four suppliers.
fn supplier_of(part: u64, number: u64, sizes: Sizes) -> u64 {
    let all = sizes.suppliers;
    (part + number * (all / 4 + (part - 1) / all)) % all + 1
}

fn part_suppliers(part: u64, sizes: Sizes, pool: &Pool, out: &mut dyn Write) -> Result<()> {
    let mut rng = chance(5, part);
    (0..4).try_for_each(|number| {
        let supplier = supplier_of(part, number, sizes);
        let (quantity, cost) = (rng.u32(1..=9999), money(rng.i64(100..=100_000)));
        writeln!(out, "{part}\t{supplier}\t{quantity}\t{cost}\t{}", pool.comment(&mut rng, 49, 198))
    })
}

fn customer(key: u64, pool: &Pool, out: &mut dyn Write) -> Result<()> {
    let mut rng = chance(6, key);
    write!(out, "{key}\tCustomer#{key:09}\t")?;
    address(&mut rng, out)?;
    let nation = rng.u32(..25);
    let (phone, balance) = (phone(&mut rng, nation), money(rng.i64(-99_999..=999_999)));
    let segment = one_of(&mut rng, SEGMENTS);
    writeln!(out, "\t{nation}\t{phone}\t{balance}\t{segment}\t{}", pool.comment(&mut rng, 29, 116))
}

/// An order with its lines.
struct Order {
    key: u64,
    customer: u64,
    date: i32,
    lines: Vec<Line>,
    rng: Rng,
}

struct Line {
    part: u64,
    supplier: u64,
    quantity: i64,
    /// In cents.
    price: i64,
    /// In hundredths.
    discount: i64,
    tax: i64,
    shipped: i32,
    committed: i32,
    received: i32,
}

impl Order {
    fn new(number: u64, sizes: Sizes) -> Order {
        let mut rng = chance(7, number);
        // Of each 32 keys the first eight are used.
        let key = number / 8 * 32 + number % 8 + 1;
        // A third of the customers has no orders.
        let customer = loop {
            let customer = rng.u64(1..=sizes.customers);
            if !customer.is_multiple_of(3) {
                break customer;
            }
        };
        let date = rng.i32(FIRST_ORDER..=LAST_ORDER);
        let count = rng.usize(1..=7);
        let lines = (0..count).map(|_| {
            let part = rng.u64(1..=sizes.parts);
            let quantity = rng.i64(1..=50);
            let shipped = date + rng.i32(1..=121);
            Line {
                part,
                supplier: supplier_of(part, rng.u64(..4), sizes),
                quantity,
                price: quantity * retail_price(part),
                discount: rng.i64(0..=10),
                tax: rng.i64(0..=8),
                shipped,
                committed: date + rng.i32(30..=90),
                received: shipped + rng.i32(1..=30),
            }
        });
        let lines = lines.collect();
        Order { key, customer, date, lines, rng }
    }
}

fn order(number: u64, sizes: Sizes, pool: &Pool, out: &mut dyn Write) -> Result<()> {
    let Order { key, customer, date, lines, mut rng } = Order::new(number, sizes);
    let open = lines.iter().filter(|line| line.shipped > TODAY).count();
    let status = match open {
        0 => 'F',
        open if open == lines.len() => 'O',
        _ => 'P',
    };
    let total: i64 = lines.iter().map(|line| (line.price * (100 - line.discount) / 100) * (100 + line.tax) / 100).sum();
    let priority = one_of(&mut rng, PRIORITIES);
    let clerk = rng.u64(1..=sizes.clerks);
    let (date, total) = (day(date), money(total));
    let comment = pool.comment(&mut rng, 19, 78);
    writeln!(out, "{key}\t{customer}\t{status}\t{total}\t{date}\t{priority}\tClerk#{clerk:09}\t0\t{comment}")
}

fn lines_of(number: u64, sizes: Sizes, pool: &Pool, out: &mut dyn Write) -> Result<()> {
    let Order { key, lines, .. } = Order::new(number, sizes);
    let mut rng = chance(8, number);
    lines.iter().enumerate().try_for_each(|(index, line)| {
        let flag = match line.received <= TODAY {
            true => one_of(&mut rng, &["R", "A"]),
            false => "N",
        };
        let status = if line.shipped > TODAY { 'O' } else { 'F' };
        let (price, discount, tax) = (money(line.price), money(line.discount), money(line.tax));
        let [shipped, committed, received] = [line.shipped, line.committed, line.received].map(day);
        let (instruction, mode) = (one_of(&mut rng, INSTRUCTIONS), one_of(&mut rng, MODES));
        let comment = pool.comment(&mut rng, 10, 43);
        let Line { part, supplier, quantity, .. } = line;
        write!(out, "{key}\t{part}\t{supplier}\t{}\t{quantity}\t{price}\t{discount}\t{tax}", index + 1)?;
        writeln!(out, "\t{flag}\t{status}\t{shipped}\t{committed}\t{received}\t{instruction}\t{mode}\t{comment}")
    })
}

fn address(rng: &mut Rng, out: &mut dyn Write) -> Result<()> {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    let length = rng.usize(10..=40);
    let letters: Vec<u8> = (0..length).map(|_| LETTERS[rng.usize(..LETTERS.len())]).collect();
    out.write_all(&letters)
}

fn phone(rng: &mut Rng, nation: u32) -> String {
    let (first, second, third) = (rng.u32(100..=999), rng.u32(100..=999), rng.u32(1000..=9999));
    format!("{}-{first}-{second}-{third}", nation + 10)
}

/// Cents with a point.
fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

/// A day from 1970-01-01 as a date.
fn day(days: i32) -> String {
    // Years are counted from March, in eras of 400.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let rest = day - (365 * year + year / 4 - year / 100);
    let month = (5 * rest + 2) / 153;
    let date = rest - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i32::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &str) -> Vec<String> {
        rows_at(table, 0.001)
    }

    fn rows_at(table: &str, scale: f64) -> Vec<String> {
        let mut out = Vec::new();
        write(table, Sizes::at(scale), &Pool::new(), &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_string).collect()
    }

    #[test]
    fn days_are_dates() {
        assert_eq!(day(FIRST_ORDER), "1992-01-01");
        assert_eq!(day(LAST_ORDER), "1998-08-02");
        assert_eq!(day(TODAY), "1995-06-17");
        assert_eq!(day(11_016), "2000-02-29");
    }

    #[test]
    fn tables_have_the_specified_sizes_and_widths() {
        let expected = [
            ("region", 5, 3),
            ("nation", 25, 4),
            ("supplier", 10, 7),
            ("part", 200, 9),
            ("partsupp", 800, 5),
            ("customer", 150, 8),
            ("orders", 1500, 9),
        ];
        for (table, count, width) in expected {
            let rows = rows(table);
            assert_eq!(rows.len(), count, "{table}");
            assert!(rows.iter().all(|row| row.split('\t').count() == width), "{table}");
        }
        let lines = rows("lineitem");
        assert!((5000..7000).contains(&lines.len()));
        assert!(lines.iter().all(|row| row.split('\t').count() == 16));
    }

    #[test]
    fn rows_are_the_same_each_time() {
        assert_eq!(rows("orders"), rows("orders"));
    }

    #[test]
    fn every_line_s_part_is_sold_by_its_supplier() {
        // With too few suppliers a part has one of them twice.
        let pairs: std::collections::BTreeSet<(String, String)> = rows_at("partsupp", 0.01)
            .iter()
            .map(|row| {
                let mut fields = row.split('\t').map(str::to_string);
                (fields.next().unwrap(), fields.next().unwrap())
            })
            .collect();
        assert_eq!(pairs.len(), 8000);
        for row in rows_at("lineitem", 0.01) {
            let fields: Vec<&str> = row.split('\t').collect();
            assert!(pairs.contains(&(fields[1].to_string(), fields[2].to_string())), "{row}");
        }
    }
}
