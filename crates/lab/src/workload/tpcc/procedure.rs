//! The five transactions as procedures in PL/pgSQL: one round trip each.
//!
//! They are called outside of a transaction block, as a new order may end its transaction itself.

/// The statements that make them, and the function of last names that two of them use.
pub const ALL: [&str; 5] = [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL];

const NEW_ORDER: &str = "
CREATE OR REPLACE PROCEDURE tpcc_new_order(terminal integer, district integer, customer integer, line_count integer,
    all_local integer, items integer[], suppliers integer[], quantities integer[], INOUT total numeric)
LANGUAGE plpgsql AS $body$
DECLARE
    order_number integer;
    tax_of_warehouse numeric;
    tax_of_district numeric;
    discount numeric;
    price numeric;
    amount numeric;
    dist char(24);
BEGIN
    total := 0;
    SELECT w_tax INTO tax_of_warehouse FROM tpcc_warehouse WHERE w_id = terminal;
    UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = terminal AND d_id = district
        RETURNING d_next_o_id - 1, d_tax INTO order_number, tax_of_district;
    SELECT c_discount INTO discount FROM tpcc_customer
        WHERE c_w_id = terminal AND c_d_id = district AND c_id = customer;
    INSERT INTO tpcc_orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (terminal, district, order_number, customer, CURRENT_TIMESTAMP, line_count, all_local);
    INSERT INTO tpcc_new_order (no_w_id, no_d_id, no_o_id) VALUES (terminal, district, order_number);
    FOR line IN 1 .. line_count LOOP
        SELECT i_price INTO price FROM tpcc_item WHERE i_id = items[line];
        IF NOT FOUND THEN
            ROLLBACK;
            total := NULL;
            RETURN;
        END IF;
        UPDATE tpcc_stock SET
            s_quantity = s_quantity - quantities[line] + CASE WHEN s_quantity >= quantities[line] + 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + quantities[line], s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN suppliers[line] = terminal THEN 0 ELSE 1 END
            WHERE s_w_id = suppliers[line] AND s_i_id = items[line]
            RETURNING CASE district WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                ELSE s_dist_10 END INTO dist;
        amount := quantities[line] * price;
        total := total + amount;
        INSERT INTO tpcc_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
            ol_dist_info) VALUES (terminal, district, order_number, line, items[line], suppliers[line], quantities[line],
            amount, dist);
    END LOOP;
    total := total * (1 - discount) * (1 + tax_of_warehouse + tax_of_district);
END
$body$";

const PAYMENT: &str = "
CREATE OR REPLACE PROCEDURE tpcc_payment(terminal integer, district integer, customer_w integer, customer_d integer,
    number integer, last integer, paid numeric, INOUT balance numeric)
LANGUAGE plpgsql AS $body$
DECLARE
    syllables text[] := ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'];
    name text;
    namesakes bigint;
    customer integer := number;
    credit char(2);
    note text;
    warehouse_name text;
    district_name text;
BEGIN
    UPDATE tpcc_warehouse SET w_ytd = w_ytd + paid WHERE w_id = terminal RETURNING w_name INTO warehouse_name;
    UPDATE tpcc_district SET d_ytd = d_ytd + paid WHERE d_w_id = terminal AND d_id = district
        RETURNING d_name INTO district_name;
    IF customer = 0 THEN
        name := syllables[last / 100 + 1] || syllables[last / 10 % 10 + 1] || syllables[last % 10 + 1];
        SELECT count(*) INTO namesakes FROM tpcc_customer
            WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_last = name;
        SELECT c_id INTO customer FROM tpcc_customer
            WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_last = name
            ORDER BY c_first LIMIT 1 OFFSET (namesakes + 1) / 2 - 1;
    END IF;
    UPDATE tpcc_customer SET c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
        c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = customer
        RETURNING c_balance, c_credit INTO balance, credit;
    IF credit = 'BC' THEN
        note := customer || ' ' || customer_d || ' ' || customer_w || ' ' || district || ' ' || terminal || ' ' || paid || ' | ';
        UPDATE tpcc_customer SET c_data = substr(note || c_data, 1, 500)
            WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = customer;
    END IF;
    INSERT INTO tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (customer, customer_d, customer_w, district, terminal, CURRENT_TIMESTAMP, paid,
        warehouse_name || '    ' || district_name);
END
$body$";

const ORDER_STATUS: &str = "
CREATE OR REPLACE PROCEDURE tpcc_order_status(terminal integer, district integer, number integer, last integer,
    INOUT balance numeric, INOUT order_number integer, INOUT lines bigint)
LANGUAGE plpgsql AS $body$
DECLARE
    syllables text[] := ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'];
    name text;
    namesakes bigint;
    customer integer := number;
BEGIN
    IF customer = 0 THEN
        name := syllables[last / 100 + 1] || syllables[last / 10 % 10 + 1] || syllables[last % 10 + 1];
        SELECT count(*) INTO namesakes FROM tpcc_customer WHERE c_w_id = terminal AND c_d_id = district AND c_last = name;
        SELECT c_id INTO customer FROM tpcc_customer WHERE c_w_id = terminal AND c_d_id = district AND c_last = name
            ORDER BY c_first LIMIT 1 OFFSET (namesakes + 1) / 2 - 1;
    END IF;
    SELECT c_balance INTO balance FROM tpcc_customer WHERE c_w_id = terminal AND c_d_id = district AND c_id = customer;
    SELECT o_id INTO order_number FROM tpcc_orders WHERE o_w_id = terminal AND o_d_id = district AND o_c_id = customer
        ORDER BY o_id DESC LIMIT 1;
    SELECT count(*) INTO lines FROM tpcc_order_line
        WHERE ol_w_id = terminal AND ol_d_id = district AND ol_o_id = order_number;
END
$body$";

const DELIVERY: &str = "
CREATE OR REPLACE PROCEDURE tpcc_delivery(terminal integer, carrier integer, INOUT delivered integer)
LANGUAGE plpgsql AS $body$
DECLARE
    order_number integer;
    customer integer;
    amount numeric;
BEGIN
    delivered := 0;
    FOR district IN 1 .. 10 LOOP
        SELECT no_o_id INTO order_number FROM tpcc_new_order WHERE no_w_id = terminal AND no_d_id = district
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF FOUND THEN
            DELETE FROM tpcc_new_order WHERE no_w_id = terminal AND no_d_id = district AND no_o_id = order_number;
            UPDATE tpcc_orders SET o_carrier_id = carrier
                WHERE o_w_id = terminal AND o_d_id = district AND o_id = order_number RETURNING o_c_id INTO customer;
            UPDATE tpcc_order_line SET ol_delivery_d = CURRENT_TIMESTAMP
                WHERE ol_w_id = terminal AND ol_d_id = district AND ol_o_id = order_number;
            SELECT sum(ol_amount) INTO amount FROM tpcc_order_line
                WHERE ol_w_id = terminal AND ol_d_id = district AND ol_o_id = order_number;
            UPDATE tpcc_customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = terminal AND c_d_id = district AND c_id = customer;
            delivered := delivered + 1;
        END IF;
    END LOOP;
END
$body$";

const STOCK_LEVEL: &str = "
CREATE OR REPLACE PROCEDURE tpcc_stock_level(terminal integer, district integer, threshold integer, INOUT low bigint)
LANGUAGE plpgsql AS $body$
DECLARE
    next integer;
BEGIN
    SELECT d_next_o_id INTO next FROM tpcc_district WHERE d_w_id = terminal AND d_id = district;
    SELECT count(DISTINCT s_i_id) INTO low FROM tpcc_order_line, tpcc_stock
        WHERE ol_w_id = terminal AND ol_d_id = district AND ol_o_id < next AND ol_o_id >= next - 20
        AND s_w_id = terminal AND s_i_id = ol_i_id AND s_quantity < threshold;
END
$body$";
