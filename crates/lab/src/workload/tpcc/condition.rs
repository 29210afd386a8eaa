//! What must hold of the tables at any time (3.3.2), as counts of what does not.
//!
//! The eleventh condition is one of the rows that are there at first; the tests of [`super::rows`] have it.

use super::super::{Check, Expected};

/// Eleven conditions; their numbers are the specification's.
const CONDITIONS: [(&str, &str); 11] = [
    (
        "1: warehouses and their districts",
        "SELECT count(*) FROM tpcc_warehouse WHERE w_ytd <> (SELECT sum(d_ytd) FROM tpcc_district WHERE d_w_id = w_id)",
    ),
    (
        "2: the next number of an order",
        "SELECT count(*) FROM tpcc_district \
         WHERE d_next_o_id - 1 <> (SELECT max(o_id) FROM tpcc_orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
            OR d_next_o_id - 1 <> (SELECT max(no_o_id) FROM tpcc_new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)",
    ),
    (
        "3: new orders have no gap",
        "SELECT count(*) FROM (SELECT max(no_o_id) - min(no_o_id) + 1 - count(*) AS gap FROM tpcc_new_order \
         GROUP BY no_w_id, no_d_id) AS gaps WHERE gap <> 0",
    ),
    (
        "4: lines of all orders of a district",
        "SELECT count(*) FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS said FROM tpcc_orders GROUP BY o_w_id, o_d_id) AS orders \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS found FROM tpcc_order_line GROUP BY ol_w_id, ol_d_id) AS lines_there \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE said <> coalesce(found, 0)",
    ),
    (
        "5: what has no carrier is new",
        "SELECT count(*) FROM tpcc_orders LEFT JOIN tpcc_new_order \
         ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        "6: lines of each order",
        "SELECT count(*) FROM tpcc_orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS found \
         FROM tpcc_order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS lines_there \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_ol_cnt <> coalesce(found, 0)",
    ),
    (
        "7: what is delivered has a carrier",
        "SELECT count(*) FROM tpcc_order_line JOIN tpcc_orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "8: warehouses and payments",
        "SELECT count(*) FROM tpcc_warehouse LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM tpcc_history \
         GROUP BY h_w_id) AS payments ON h_w_id = w_id WHERE w_ytd <> coalesce(paid, 0)",
    ),
    (
        "9: districts and payments",
        "SELECT count(*) FROM tpcc_district LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM tpcc_history \
         GROUP BY h_w_id, h_d_id) AS payments ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> coalesce(paid, 0)",
    ),
    (
        "10: customers, what they got and what they paid",
        "SELECT count(*) FROM tpcc_customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered FROM tpcc_orders JOIN tpcc_order_line \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
         GROUP BY o_w_id, o_d_id, o_c_id) AS deliveries ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM tpcc_history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS payments ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
         WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0)",
    ),
    (
        "12: customers, what they got and what they say they paid",
        "SELECT count(*) FROM tpcc_customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered FROM tpcc_orders JOIN tpcc_order_line \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
         GROUP BY o_w_id, o_d_id, o_c_id) AS deliveries ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0)",
    ),
];

/// The checks of a load.
pub fn all() -> Vec<Check> {
    let check = |(what, sql): (&'static str, &str)| Check { what, sql: sql.into(), expected: Expected::Zero };
    CONDITIONS.into_iter().map(check).collect()
}
