//! The five transactions in pgbench's format, as single statements and as calls.
//!
//! Loops of the specification are written out: scripts have none. A new order draws all its lines first, fifteen of them, and uses those
//! that it has.

use super::text::{C_CUSTOMER, C_ITEM, C_LAST, SYLLABLES};
use std::fmt::Write;

/// The most lines of an order.
const LINES: usize = 15;
const DISTRICTS: usize = 10;

/// The terminal's warehouse.
const WAREHOUSE: &str = "\\set w_id :client_id % :scale + 1\n";

/// A warehouse that is not the terminal's; there is more than one.
const OTHER: &str = "(:w_id - 1 + random(1, :scale - 1)) % :scale + 1";

/// A number that prefers some values (2.1.6).
fn preferring(range: u64, least: u64, most: u64, moved: u64) -> String {
    format!("((random(0, {range}) | random({least}, {most})) + {moved}) % ({most} - {least} + 1) + {least}")
}

fn customer() -> String {
    preferring(1023, 1, 3000, C_CUSTOMER)
}

/// Six of ten customers are asked for by their last name: `by_name`, and `c_id` or the digits of the name.
fn draw_customer() -> String {
    format!(
        "\\set by_name random(1, 100) <= 60\n\\set c_id {}\n\\set name {}\n\
         \\set n1 :name / 100\n\\set n2 :name / 10 % 10\n\\set n3 :name % 10\n",
        customer(),
        preferring(255, 0, 999, C_LAST)
    )
}

/// The last name of three digits, put together by the server. A parameter alone behind `CASE` would be a text.
fn name() -> String {
    let syllable = |digit: &str| {
        let mut text = format!("CASE :{digit} + 0");
        for (number, syllable) in SYLLABLES.iter().enumerate() {
            let _ = write!(text, " WHEN {number} THEN '{syllable}'");
        }
        text + " END"
    };
    format!("concat({}, {}, {})", syllable("n1"), syllable("n2"), syllable("n3"))
}

/// Finds the customer of a name: the one in the middle, by the first name (2.5.2.2).
fn find_customer(warehouse: &str, district: &str) -> String {
    let named = format!("c_w_id = :{warehouse} AND c_d_id = :{district} AND c_last = {}", name());
    format!(
        "\\if :by_name\n\
         SELECT count(*) AS namesakes FROM tpcc_customer WHERE {named} \\gset\n\
         \\set before (:namesakes + 1) / 2 - 1\n\
         SELECT c_id FROM tpcc_customer WHERE {named} ORDER BY c_first LIMIT 1 OFFSET :before \\gset\n\
         \\endif\n"
    )
}

/// A district's text of a piece of stock.
fn district_text() -> String {
    let mut text = "CASE :d_id + 0".to_string();
    for district in 1..=DISTRICTS {
        let _ = write!(text, " WHEN {district} THEN s_dist_{district:02}");
    }
    text + " END"
}

/// Draws an order.
fn draw_order() -> String {
    let mut text = format!(
        "{WAREHOUSE}\\set d_id random(1, {DISTRICTS})\n\\set c_id {}\n\\set ol_cnt random(5, {LINES})\n\\set local 1\n\
         \\set unused random(1, 100) = 1\n",
        customer()
    );
    for line in 1..=LINES {
        let item = preferring(8191, 1, 100_000, C_ITEM);
        let _ = write!(
            text,
            "\\set i{line} {item}\n\\set q{line} random(1, 10)\n\\set s{line} :w_id\n\\set r{line} 0\n\
             \\if :scale > 1 AND {line} <= :ol_cnt AND random(1, 100) = 1\n\\set s{line} {OTHER}\n\\set r{line} 1\n\\set local 0\n\\endif\n"
        );
    }
    text
}

/// New-Order (2.4). One of a hundred asks for an item that there is not, and is taken back.
pub fn new_order() -> String {
    let mut text = draw_order()
        + "\\set lines :ol_cnt\n\\if :unused\n\\set lines :ol_cnt - 1\n\\endif\n\
        BEGIN;\n\
        SELECT w_tax FROM tpcc_warehouse WHERE w_id = :w_id \\gset\n\
        SELECT d_tax, d_next_o_id FROM tpcc_district WHERE d_w_id = :w_id AND d_id = :d_id FOR UPDATE \\gset\n\
        UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w_id AND d_id = :d_id;\n\
        SELECT c_discount, c_last, c_credit FROM tpcc_customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id \\gset\n\
        INSERT INTO tpcc_orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
        VALUES (:w_id, :d_id, :d_next_o_id, :c_id, CURRENT_TIMESTAMP, :ol_cnt, :local);\n\
        INSERT INTO tpcc_new_order (no_w_id, no_d_id, no_o_id) VALUES (:w_id, :d_id, :d_next_o_id);\n\
        \\set total 0\n";
    for line in 1..=LINES {
        let (item, from, quantity, remote) =
            (format!(":i{line}"), format!(":s{line}"), format!(":q{line}"), format!(":r{line}"));
        let _ = write!(
            text,
            "\\if {line} <= :lines\n\
             SELECT i_price, i_name, i_data FROM tpcc_item WHERE i_id = {item} \\gset\n\
             SELECT s_quantity, s_data, {dist} AS dist FROM tpcc_stock WHERE s_w_id = {from} AND s_i_id = {item} FOR UPDATE \\gset\n\
             \\set left :s_quantity - {quantity} + CASE WHEN :s_quantity >= {quantity} + 10 THEN 0 ELSE 91 END\n\
             UPDATE tpcc_stock SET s_quantity = :left, s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + {remote} WHERE s_w_id = {from} AND s_i_id = {item};\n\
             \\set amount {quantity} * :i_price\n\\set total :total + :amount\n\
             INSERT INTO tpcc_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, \
             ol_dist_info) VALUES (:w_id, :d_id, :d_next_o_id, {line}, {item}, {from}, {quantity}, :amount, :dist);\n\
             \\endif\n",
            dist = district_text()
        );
    }
    text + "\\if :unused\nSELECT i_price, i_name, i_data FROM tpcc_item WHERE i_id = 0 \\aset\nROLLBACK;\n\
        \\else\n\\set total :total * (1 - :c_discount) * (1 + :w_tax + :d_tax)\nCOMMIT;\n\\endif\n"
}

/// Draws a payment: 15 of a hundred are of customers of other warehouses.
fn draw_payment() -> String {
    format!(
        "{WAREHOUSE}\\set d_id random(1, {DISTRICTS})\n\\set paid random(100, 500000) / 100.0\n\
         \\set c_w_id :w_id\n\\set c_d_id :d_id\n\
         \\if :scale > 1 AND random(1, 100) <= 15\n\\set c_w_id {OTHER}\n\\set c_d_id random(1, {DISTRICTS})\n\\endif\n{}",
        draw_customer()
    )
}

/// Payment (2.5). Customers with bad credit get a note.
pub fn payment() -> String {
    let found = find_customer("c_w_id", "c_d_id");
    let one = "c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";
    let pays =
        "c_balance = c_balance - :paid, c_ytd_payment = c_ytd_payment + :paid, c_payment_cnt = c_payment_cnt + 1";
    draw_payment()
        + &format!(
            "BEGIN;\n\
             UPDATE tpcc_warehouse SET w_ytd = w_ytd + :paid WHERE w_id = :w_id;\n\
             SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM tpcc_warehouse WHERE w_id = :w_id \\gset\n\
             UPDATE tpcc_district SET d_ytd = d_ytd + :paid WHERE d_w_id = :w_id AND d_id = :d_id;\n\
             SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM tpcc_district \
             WHERE d_w_id = :w_id AND d_id = :d_id \\gset\n\
             {found}\
             SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, \
             c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN 1 ELSE 0 END AS bad \
             FROM tpcc_customer WHERE {one} FOR UPDATE \\gset\n\
             \\if :bad = 1\n\
             UPDATE tpcc_customer SET {pays}, c_data = substr(concat(c_id, ' ', c_d_id, ' ', c_w_id, ' ', \
             CAST(:d_id AS char(2)), ' ', CAST(:w_id AS char(4)), ' ', CAST(:paid AS char(8)), ' | ', c_data), 1, 500) WHERE {one};\n\
             \\else\n\
             UPDATE tpcc_customer SET {pays} WHERE {one};\n\
             \\endif\n\
             INSERT INTO tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES \
             (:c_id, :c_d_id, :c_w_id, :d_id, :w_id, CURRENT_TIMESTAMP, :paid, \
             concat(CAST(:w_name AS char(10)), '    ', CAST(:d_name AS char(10))));\n\
             COMMIT;\n"
        )
}

/// Draws whose order is asked for.
fn draw_status() -> String {
    format!("{WAREHOUSE}\\set d_id random(1, {DISTRICTS})\n{}", draw_customer())
}

/// Order-Status (2.6).
pub fn order_status() -> String {
    draw_status()
        + "BEGIN;\n"
        + &find_customer("w_id", "d_id")
        + "SELECT c_balance, c_first, c_middle, c_last FROM tpcc_customer \
           WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id \\gset\n\
           SELECT o_id, o_carrier_id, o_entry_d FROM tpcc_orders WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_c_id = :c_id \
           ORDER BY o_id DESC LIMIT 1 \\gset\n\
           SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM tpcc_order_line \
           WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id;\n\
           COMMIT;\n"
}

/// Delivery (2.7): the oldest new order of each district. A terminal waits for it here; the specification lets it go on.
pub fn delivery() -> String {
    let mut text = format!("{WAREHOUSE}\\set carrier random(1, 10)\nBEGIN;\n");
    for district in 1..=DISTRICTS {
        let new = format!("no_w_id = :w_id AND no_d_id = {district}");
        let order = format!("o_w_id = :w_id AND o_d_id = {district} AND o_id = :no_o_id");
        let lines = format!("ol_w_id = :w_id AND ol_d_id = {district} AND ol_o_id = :no_o_id");
        let _ = write!(
            text,
            "\\set no_o_id 0\n\
             SELECT no_o_id FROM tpcc_new_order WHERE {new} ORDER BY no_o_id LIMIT 1 FOR UPDATE \\aset\n\
             \\if :no_o_id > 0\n\
             DELETE FROM tpcc_new_order WHERE {new} AND no_o_id = :no_o_id;\n\
             SELECT o_c_id FROM tpcc_orders WHERE {order} \\gset\n\
             UPDATE tpcc_orders SET o_carrier_id = :carrier WHERE {order};\n\
             UPDATE tpcc_order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE {lines};\n\
             SELECT sum(ol_amount) AS amount FROM tpcc_order_line WHERE {lines} \\gset\n\
             UPDATE tpcc_customer SET c_balance = c_balance + :amount, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = :w_id AND c_d_id = {district} AND c_id = :o_c_id;\n\
             \\endif\n"
        );
    }
    text + "COMMIT;\n"
}

/// The terminal's district, and a threshold.
fn draw_level() -> String {
    format!("{WAREHOUSE}\\set d_id :client_id / :scale % {DISTRICTS} + 1\n\\set threshold random(10, 20)\n")
}

/// Stock-Level (2.8).
pub fn stock_level() -> String {
    draw_level()
        + "BEGIN;\n\
           SELECT d_next_o_id FROM tpcc_district WHERE d_w_id = :w_id AND d_id = :d_id \\gset\n\
           \\set first :d_next_o_id - 20\n\
           SELECT count(DISTINCT s_i_id) AS low FROM tpcc_order_line, tpcc_stock \
           WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id < :d_next_o_id AND ol_o_id >= :first \
           AND s_w_id = :w_id AND s_i_id = ol_i_id AND s_quantity < :threshold \\gset\n\
           COMMIT;\n"
}

/// New-Order as a call.
pub fn call_new_order() -> String {
    let list = |letter: char| {
        let items: Vec<String> = (1..=LINES).map(|line| format!(":{letter}{line}")).collect();
        format!("CAST(ARRAY[{}] AS integer[])", items.join(", "))
    };
    // An item that there is not is the last one of the order.
    let mut unused = String::new();
    for line in 5..=LINES {
        let _ = write!(unused, "\\if :unused AND {line} = :ol_cnt\n\\set i{line} 0\n\\endif\n");
    }
    draw_order()
        + &unused
        + &format!(
            "CALL tpcc_new_order(:w_id, :d_id, :c_id, :ol_cnt, :local, {}, {}, {}, NULL);\n",
            list('i'),
            list('s'),
            list('q')
        )
}

/// Payment as a call: the number of the customer is 0 where the name says who it is.
pub fn call_payment() -> String {
    draw_payment()
        + "\\if :by_name\n\\set c_id 0\n\\endif\n\
           CALL tpcc_payment(:w_id, :d_id, :c_w_id, :c_d_id, :c_id, :name, :paid, NULL);\n"
}

/// Order-Status as a call.
pub fn call_order_status() -> String {
    draw_status()
        + "\\if :by_name\n\\set c_id 0\n\\endif\n\
           CALL tpcc_order_status(:w_id, :d_id, :c_id, :name, NULL, NULL, NULL);\n"
}

/// Delivery as a call.
pub fn call_delivery() -> String {
    format!("{WAREHOUSE}\\set carrier random(1, 10)\nCALL tpcc_delivery(:w_id, :carrier, NULL);\n")
}

/// Stock-Level as a call.
pub fn call_stock_level() -> String {
    draw_level() + "CALL tpcc_stock_level(:w_id, :d_id, :threshold, NULL);\n"
}
