//! The tables of TPC-C and their rows (1.3, 4.3.3).
//!
//! Rules
//! 1. A row is a function of its number: orders have the lines that [`lines`] says, in cycles, so that the order of a line is computed
//!    and not looked for.
//! 2. Sums fit from the beginning: what is delivered has cost nothing, and each customer has paid ten once.

use super::super::table::Table;
use super::text::{C_LOAD, chance, data, digits, last_name, letters, preferring};
use std::fmt::Write;

/// Items, which do not depend on the scale.
const ITEMS: u64 = 100_000;
/// Districts of a warehouse.
const DISTRICTS: u64 = 10;
/// Customers of a district, and orders.
const CUSTOMERS: u64 = 3000;
/// Orders of a district that are not delivered.
const OPEN: u64 = 900;
/// The day of everything that is there at first.
const DAY: &str = "2026-01-01 00:00:00";

/// How many lines orders have, in a cycle: each number from 5 to 15 as often as the others.
const LINES: [u64; 11] = [10, 5, 13, 8, 15, 6, 11, 14, 7, 12, 9];
/// The sum of [`LINES`].
const CYCLE: u64 = 110;

/// Writes values of a row. A `String` takes everything, so there is nothing to be handled.
macro_rules! values {
    ($out:expr, $($format:tt)*) => {{
        let _ = write!($out, $($format)*);
    }};
}

/// How many lines an order has; orders are counted from zero over all districts.
fn lines(order: u64) -> u64 {
    LINES[(order % LINES.len() as u64) as usize]
}

/// How many lines the orders before this one have.
fn lines_before(order: u64) -> u64 {
    let cycle = LINES.len() as u64;
    order / cycle * CYCLE + LINES[..(order % cycle) as usize].iter().sum::<u64>()
}

/// The order of a line, and the line's number in it, from zero.
fn order_of(line: u64) -> (u64, u64) {
    let (mut order, mut rest) = (line / CYCLE * LINES.len() as u64, line % CYCLE);
    while rest >= lines(order) {
        rest -= lines(order);
        order += 1;
    }
    (order, rest)
}

/// Warehouse, district and number within it, all from one, of something of which each district has so many.
fn place(index: u64, each: u64) -> (u64, u64, u64) {
    let district = index / each;
    (district / DISTRICTS + 1, district % DISTRICTS + 1, index % each + 1)
}

/// A name, two streets, a town, a state, a postal code.
fn address(rng: &mut fastrand::Rng) -> String {
    let [first, second, town] = [(); 3].map(|()| letters(rng, 10, 20));
    let state: String = (0..2).map(|_| rng.uppercase()).collect();
    format!("'{first}','{second}','{town}','{state}','{}11111'", digits(rng, 4))
}

/// The tables, in the order in which they are made.
pub const TABLES: [Table; 9] = [WAREHOUSE, DISTRICT, CUSTOMER, HISTORY, ITEM, STOCK, ORDERS, NEW_ORDER, ORDER_LINE];

/// The indexes beside the keys.
pub const INDEXES: [&str; 2] = [
    "CREATE INDEX tpcc_customer_name ON tpcc_customer (c_w_id, c_d_id, c_last, c_first)",
    "CREATE INDEX tpcc_orders_customer ON tpcc_orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// Statements that read all tables.
pub const WARM: [&str; 9] = [
    "SELECT count(*), sum(w_ytd) FROM tpcc_warehouse",
    "SELECT count(*), sum(d_ytd) FROM tpcc_district",
    "SELECT count(*), sum(c_balance) FROM tpcc_customer",
    "SELECT count(*), sum(h_amount) FROM tpcc_history",
    "SELECT count(*), sum(i_price) FROM tpcc_item",
    "SELECT count(*), sum(s_quantity) FROM tpcc_stock",
    "SELECT count(*), sum(o_ol_cnt) FROM tpcc_orders",
    "SELECT count(*), sum(no_o_id) FROM tpcc_new_order",
    "SELECT count(*), sum(ol_amount) FROM tpcc_order_line",
];

const WAREHOUSE: Table = Table {
    name: "tpcc_warehouse",
    columns: "w_id integer NOT NULL PRIMARY KEY, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), \
              w_city varchar(20), w_state char(2), w_zip char(9), w_tax decimal(4,4), w_ytd decimal(12,2)",
    rows: |scale| scale,
    row: |index, out| {
        let mut rng = chance(1, index);
        let (name, address) = (letters(&mut rng, 6, 10), address(&mut rng));
        values!(out, "{},'{name}',{address},0.{:04},300000.00", index + 1, rng.u32(..=2000));
    },
};

const DISTRICT: Table = Table {
    name: "tpcc_district",
    columns: "d_w_id integer NOT NULL, d_id integer NOT NULL, d_name varchar(10), d_street_1 varchar(20), \
              d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9), d_tax decimal(4,4), \
              d_ytd decimal(12,2), d_next_o_id integer, PRIMARY KEY (d_w_id, d_id)",
    rows: |scale| scale * DISTRICTS,
    row: |index, out| {
        let mut rng = chance(2, index);
        let (name, address) = (letters(&mut rng, 6, 10), address(&mut rng));
        let (warehouse, district) = (index / DISTRICTS + 1, index % DISTRICTS + 1);
        let (tax, next) = (rng.u32(..=2000), CUSTOMERS + 1);
        values!(out, "{warehouse},{district},'{name}',{address},0.{tax:04},30000.00,{next}");
    },
};

const CUSTOMER: Table = Table {
    name: "tpcc_customer",
    columns: "c_w_id integer NOT NULL, c_d_id integer NOT NULL, c_id integer NOT NULL, c_first varchar(16), \
              c_middle char(2), c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), \
              c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, c_credit char(2), \
              c_credit_lim decimal(12,2), c_discount decimal(4,4), c_balance decimal(12,2), c_ytd_payment decimal(12,2), \
              c_payment_cnt integer, c_delivery_cnt integer, c_data varchar(500), PRIMARY KEY (c_w_id, c_d_id, c_id)",
    rows: |scale| scale * DISTRICTS * CUSTOMERS,
    row: |index, out| {
        let mut rng = chance(3, index);
        let (warehouse, district, number) = place(index, CUSTOMERS);
        let name = if number <= 1000 { number - 1 } else { preferring(&mut rng, 255, 0, 999, C_LOAD) };
        let (first, last, address) = (letters(&mut rng, 8, 16), last_name(name), address(&mut rng));
        let (phone, credit) = (digits(&mut rng, 16), if rng.u32(..10) == 0 { "BC" } else { "GC" });
        let (discount, text) = (rng.u32(..=5000), letters(&mut rng, 300, 500));
        values!(out, "{warehouse},{district},{number},'{first}','OE','{last}',{address},'{phone}','{DAY}','{credit}',");
        values!(out, "50000.00,0.{discount:04},-10.00,10.00,1,0,'{text}'");
    },
};

const HISTORY: Table = Table {
    name: "tpcc_history",
    columns: "h_c_id integer, h_c_d_id integer, h_c_w_id integer, h_d_id integer, h_w_id integer, h_date timestamp, \
              h_amount decimal(6,2), h_data varchar(24)",
    rows: |scale| scale * DISTRICTS * CUSTOMERS,
    row: |index, out| {
        let (warehouse, district, customer) = place(index, CUSTOMERS);
        let text = letters(&mut chance(4, index), 12, 24);
        values!(out, "{customer},{district},{warehouse},{district},{warehouse},'{DAY}',10.00,'{text}'");
    },
};

const ITEM: Table = Table {
    name: "tpcc_item",
    columns: "i_id integer NOT NULL PRIMARY KEY, i_im_id integer, i_name varchar(24), i_price decimal(5,2), i_data varchar(50)",
    rows: |_| ITEMS,
    row: |index, out| {
        let mut rng = chance(5, index);
        let (image, name, price) = (rng.u32(1..=10_000), letters(&mut rng, 14, 24), rng.u32(100..=10_000));
        values!(out, "{},{image},'{name}',{}.{:02},'{}'", index + 1, price / 100, price % 100, data(&mut rng));
    },
};

const STOCK: Table = Table {
    name: "tpcc_stock",
    columns: "s_w_id integer NOT NULL, s_i_id integer NOT NULL, s_quantity integer, s_dist_01 char(24), s_dist_02 char(24), \
              s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), \
              s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24), s_ytd integer, s_order_cnt integer, \
              s_remote_cnt integer, s_data varchar(50), PRIMARY KEY (s_w_id, s_i_id)",
    rows: |scale| scale * ITEMS,
    row: |index, out| {
        let mut rng = chance(6, index);
        values!(out, "{},{},{}", index / ITEMS + 1, index % ITEMS + 1, rng.u32(10..=100));
        for _ in 0..DISTRICTS {
            values!(out, ",'{}'", letters(&mut rng, 24, 24));
        }
        values!(out, ",0,0,0,'{}'", data(&mut rng));
    },
};

const ORDERS: Table = Table {
    name: "tpcc_orders",
    columns: "o_w_id integer NOT NULL, o_d_id integer NOT NULL, o_id integer NOT NULL, o_c_id integer, o_entry_d timestamp, \
              o_carrier_id integer, o_ol_cnt integer, o_all_local integer, PRIMARY KEY (o_w_id, o_d_id, o_id)",
    rows: |scale| scale * DISTRICTS * CUSTOMERS,
    row: |index, out| {
        let (warehouse, district, number) = place(index, CUSTOMERS);
        // Each customer has an order: a step that has no divisor in common with their number goes to all of them.
        let customer = (number * 1249 + district * 77) % CUSTOMERS + 1;
        let carrier = match number > CUSTOMERS - OPEN {
            true => "NULL".to_string(),
            false => chance(7, index).u32(1..=10).to_string(),
        };
        values!(out, "{warehouse},{district},{number},{customer},'{DAY}',{carrier},{},1", lines(index));
    },
};

const NEW_ORDER: Table = Table {
    name: "tpcc_new_order",
    columns: "no_w_id integer NOT NULL, no_d_id integer NOT NULL, no_o_id integer NOT NULL, \
              PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    rows: |scale| scale * DISTRICTS * OPEN,
    row: |index, out| {
        let (warehouse, district, number) = place(index, OPEN);
        values!(out, "{warehouse},{district},{}", CUSTOMERS - OPEN + number);
    },
};

const ORDER_LINE: Table = Table {
    name: "tpcc_order_line",
    columns: "ol_w_id integer NOT NULL, ol_d_id integer NOT NULL, ol_o_id integer NOT NULL, ol_number integer NOT NULL, \
              ol_i_id integer, ol_supply_w_id integer, ol_delivery_d timestamp NULL, ol_quantity integer, \
              ol_amount decimal(6,2), ol_dist_info char(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    rows: |scale| lines_before(scale * DISTRICTS * CUSTOMERS),
    row: |index, out| {
        let (order, line) = order_of(index);
        let (warehouse, district, number) = place(order, CUSTOMERS);
        let mut rng = chance(8, index);
        let (item, text) = (rng.u64(1..=ITEMS), letters(&mut rng, 24, 24));
        values!(out, "{warehouse},{district},{number},{},{item},{warehouse},", line + 1);
        match number > CUSTOMERS - OPEN {
            true => {
                let cents = rng.u32(1..=999_999);
                values!(out, "NULL,5,{}.{:02},'{text}'", cents / 100, cents % 100);
            }
            false => values!(out, "'{DAY}',5,0.00,'{text}'"),
        }
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn row(table: &Table, index: u64) -> String {
        let mut text = String::new();
        (table.row)(index, &mut text);
        text
    }

    #[test]
    fn lines_belong_to_orders() {
        assert_eq!(LINES.iter().sum::<u64>(), CYCLE);
        assert_eq!(LINES.iter().copied().collect::<BTreeSet<_>>(), (5..=15).collect());
        let mut line = 0;
        for order in 0..100 {
            assert_eq!(lines_before(order), line);
            for number in 0..lines(order) {
                assert_eq!(order_of(line), (order, number));
                line += 1;
            }
        }
    }

    #[test]
    fn each_customer_has_an_order() {
        let customer = |index| row(&ORDERS, index).split(',').nth(3).unwrap().parse::<u64>().unwrap();
        for district in 0..10 {
            let found: BTreeSet<u64> = (0..CUSTOMERS).map(|order| customer(district * CUSTOMERS + order)).collect();
            assert_eq!(found, (1..=CUSTOMERS).collect());
        }
    }

    #[test]
    fn what_is_open_is_a_new_order() {
        assert!(row(&ORDERS, 2099).starts_with("1,1,2100,"), "{}", row(&ORDERS, 2099));
        assert!(!row(&ORDERS, 2099).contains("NULL") && row(&ORDERS, 2100).contains("NULL"));
        assert_eq!(row(&NEW_ORDER, 0), "1,1,2101");
        assert_eq!(row(&NEW_ORDER, 900), "1,2,2101");
        let line = lines_before(2100);
        assert!(row(&ORDER_LINE, line).starts_with("1,1,2101,1,") && row(&ORDER_LINE, line).contains("NULL"));
        assert!(!row(&ORDER_LINE, line - 1).contains("NULL"));
    }

    #[test]
    fn rows_have_a_value_for_each_column() {
        for table in TABLES {
            let columns = table.columns.split(", ").filter(|column| column.contains("_") && !column.contains("KEY ("));
            let columns = columns.filter(|column| column.contains(' ')).count();
            let values = row(&table, 7).split(',').count();
            assert_eq!(values, columns, "{}: {}", table.name, row(&table, 7));
        }
    }
}
