//! The forms in which a plan is shown. Names, order and layout are PostgreSQL's, because programs read them.
//!
//! ```text
//!  text   Sort  (actual time=0.1..0.2 rows=3 loops=1)
//!           Sort Key: a
//!           ->  Seq Scan on t  (actual …)
//!  json   [ { "Plan": { "Node Type": "Sort", …, "Plans": [ … ] } } ]
//! ```

use super::{Form, Shown, ShownNode, Value, Wanted};

/// The lines of the text form; of another one, the one value that it is.
pub fn show(shown: &Shown, wanted: &Wanted) -> Vec<String> {
    match wanted.form {
        Form::Text => text(shown, wanted),
        Form::Json => vec![json(shown, wanted)],
        Form::Yaml => vec![yaml(shown, wanted)],
        Form::Xml => vec![xml(shown, wanted)],
    }
}

const NS_PER_MS: f64 = 1e6;

fn milliseconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / NS_PER_MS)
}

/// A node's average per loop: times of first row and end in milliseconds, rows.
fn averages(node: &ShownNode) -> (String, String, String, u64) {
    let measure = node.actual.unwrap_or_default().measure;
    let loops = measure.loops.max(1) as f64;
    let time = |ns: u64| format!("{:.3}", ns as f64 / loops / NS_PER_MS);
    let rows = format!("{:.0}", measure.rows as f64 / loops);
    (time(measure.first_ns), time(measure.all_ns), rows, measure.loops)
}

/// How many rows a node's condition rejected in a loop, if it has one.
fn removed(node: &ShownNode) -> Option<(String, String)> {
    let actual = node.actual?;
    let word = node.condition()?;
    let rows = actual.removed as f64 / actual.measure.loops.max(1) as f64;
    Some((format!("Rows Removed by {word}"), format!("{rows:.0}")))
}

/// How many rows a scan of an index alone has looked at, in all loops.
fn fetched(node: &ShownNode) -> Option<u64> {
    let actual = node.actual.filter(|_| node.title.contains("Index Only Scan"))?;
    Some(actual.measure.fetched)
}

// ---- text

fn text(shown: &Shown, wanted: &Wanted) -> Vec<String> {
    let mut lines = Vec::new();
    text_node(&shown.root, 0, true, wanted, &mut lines);
    if let Some(ns) = shown.planning_ns {
        lines.push(format!("Planning Time: {} ms", milliseconds(ns)));
    }
    if let Some(ns) = shown.execution_ns {
        lines.push(format!("Execution Time: {} ms", milliseconds(ns)));
    }
    lines
}

fn text_node(node: &ShownNode, indent: usize, top: bool, wanted: &Wanted, lines: &mut Vec<String>) {
    let arrow = if top { "" } else { "->  " };
    let mut line = format!("{}{arrow}{}", " ".repeat(indent), node.title);
    if let Some(costs) = node.costs {
        line.push_str(&format!(
            "  (cost={:.2}..{:.2} rows={:.0} width={})",
            costs.first, costs.all, costs.rows, costs.width
        ));
    }
    if node.actual.is_some() {
        let (first, all, rows, loops) = averages(node);
        line.push_str(&match (loops, wanted.timing) {
            (0, _) => " (never executed)".to_owned(),
            (_, true) => format!(" (actual time={first}..{all} rows={rows} loops={loops})"),
            (_, false) => format!(" (actual rows={rows} loops={loops})"),
        });
    }
    lines.push(line);
    let inner = if top { 2 } else { indent + 6 };
    let pad = " ".repeat(inner);
    for (word, value) in &node.notes {
        let shown = match value {
            Value::List(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
            one => plain(one),
        };
        lines.push(format!("{pad}{word}: {shown}"));
    }
    if let Some((word, rows)) = removed(node).filter(|(_, rows)| rows != "0") {
        lines.push(format!("{pad}{word}: {rows}"));
    }
    if let Some(count) = fetched(node) {
        lines.push(format!("{pad}Heap Fetches: {count}"));
    }
    if let Some(actual) = node.actual.filter(|_| wanted.buffers) {
        let parts = [("hit", actual.measure.hits), ("read", actual.measure.reads)];
        let parts: Vec<String> =
            parts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{word}={count}")).collect();
        if !parts.is_empty() {
            lines.push(format!("{pad}Buffers: shared {}", parts.join(" ")));
        }
    }
    for child in &node.children {
        match &child.subplan {
            Some(name) => {
                lines.push(format!("{pad}{name}"));
                text_node(child, inner + 2, false, wanted, lines);
            }
            None => text_node(child, inner, false, wanted, lines),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Plain(text) => text.clone(),
        Value::List(_) | Value::Group(_) => String::new(),
    }
}

// ---- the other forms

/// What they say of a node.
fn group(node: &ShownNode, wanted: &Wanted) -> Value {
    let mut all: Vec<(String, Value)> = Vec::new();
    let mut add = |name: &str, value: Value| all.push((name.to_owned(), value));
    let mut fields = node.fields.iter();
    if let Some((name, value)) = fields.next() {
        add(name, value.clone());
    }
    // PostgreSQL says these of an aggregate and the like before what it is to the node above.
    let mut rest: Vec<&(&str, Value)> = fields.collect();
    rest.retain(|(name, value)| {
        let first = matches!(*name, "Strategy" | "Partial Mode" | "Operation");
        if first {
            add(name, value.clone());
        }
        !first
    });
    if let Some(relationship) = node.relationship {
        add("Parent Relationship", Value::text(relationship));
    }
    if let Some(name) = &node.subplan {
        add("Subplan Name", Value::text(name.clone()));
    }
    add("Parallel Aware", Value::number(false));
    add("Async Capable", Value::number(false));
    for (name, value) in rest {
        add(name, value.clone());
    }
    if let Some(costs) = node.costs {
        add("Startup Cost", Value::Plain(format!("{:.2}", costs.first)));
        add("Total Cost", Value::Plain(format!("{:.2}", costs.all)));
        add("Plan Rows", Value::Plain(format!("{:.0}", costs.rows)));
        add("Plan Width", Value::number(costs.width));
    }
    if node.actual.is_some() {
        let (first, all, rows, loops) = averages(node);
        if wanted.timing {
            add("Actual Startup Time", Value::Plain(first));
            add("Actual Total Time", Value::Plain(all));
        }
        add("Actual Rows", Value::Plain(rows));
        add("Actual Loops", Value::number(loops));
    }
    for (word, value) in &node.notes {
        add(word, value.clone());
    }
    if let Some((word, rows)) = removed(node) {
        add(&word, Value::Plain(rows));
    }
    if let Some(count) = fetched(node) {
        add("Heap Fetches", Value::number(count));
    }
    if let Some(actual) = node.actual.filter(|_| wanted.buffers) {
        add("Shared Hit Blocks", Value::number(actual.measure.hits));
        add("Shared Read Blocks", Value::number(actual.measure.reads));
    }
    if !node.children.is_empty() {
        add("Plans", Value::List(node.children.iter().map(|child| group(child, wanted)).collect()));
    }
    Value::Group(all)
}

/// What they say of the statement.
fn whole(shown: &Shown, wanted: &Wanted) -> Value {
    let mut all = vec![("Plan".to_owned(), group(&shown.root, wanted))];
    if let Some(ns) = shown.planning_ns {
        all.push(("Planning Time".to_owned(), Value::Plain(milliseconds(ns))));
    }
    if wanted.analyze {
        all.push(("Triggers".to_owned(), Value::List(Vec::new())));
    }
    if let Some(ns) = shown.execution_ns {
        all.push(("Execution Time".to_owned(), Value::Plain(milliseconds(ns))));
    }
    Value::Group(all)
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            letter if letter < ' ' => quoted.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fn json(shown: &Shown, wanted: &Wanted) -> String {
    let mut out = String::from("[\n  ");
    json_value(&whole(shown, wanted), 1, &mut out);
    out.push_str("\n]");
    out
}

fn json_value(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Text(text) => out.push_str(&quoted(text)),
        Value::Plain(text) => out.push_str(text),
        // Texts stand in one line.
        Value::List(items) if items.iter().all(|item| matches!(item, Value::Text(_) | Value::Plain(_))) => {
            if items.is_empty() {
                out.push_str(&format!("[\n{}]", "  ".repeat(depth)));
                return;
            }
            let shown: Vec<String> = items
                .iter()
                .map(|item| {
                    let mut one = String::new();
                    json_value(item, depth, &mut one);
                    one
                })
                .collect();
            out.push_str(&format!("[{}]", shown.join(", ")));
        }
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "\n" } else { ",\n" });
                out.push_str(&"  ".repeat(depth + 1));
                json_value(item, depth + 1, out);
            }
            out.push_str(&format!("\n{}]", "  ".repeat(depth)));
        }
        Value::Group(fields) => {
            out.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "\n" } else { ",\n" });
                out.push_str(&format!("{}{}: ", "  ".repeat(depth + 1), quoted(name)));
                json_value(value, depth + 1, out);
            }
            out.push_str(&format!("\n{}}}", "  ".repeat(depth)));
        }
    }
}

fn yaml(shown: &Shown, wanted: &Wanted) -> String {
    let mut out = String::from("- ");
    if let Value::Group(fields) = whole(shown, wanted) {
        yaml_group(&fields, 1, &mut out);
    }
    out
}

/// Fields of a group, of which the first stands on the line that was begun.
fn yaml_group(fields: &[(String, Value)], depth: usize, out: &mut String) {
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            out.push_str(&format!("\n{}", "  ".repeat(depth)));
        }
        out.push_str(&format!("{name}: "));
        match value {
            Value::Text(text) => out.push_str(&quoted(text)),
            Value::Plain(text) => out.push_str(text),
            Value::Group(fields) => {
                out.push_str(&format!("\n{}", "  ".repeat(depth + 1)));
                yaml_group(fields, depth + 1, out);
            }
            Value::List(items) => {
                for item in items {
                    out.push_str(&format!("\n{}- ", "  ".repeat(depth + 1)));
                    match item {
                        Value::Group(fields) => yaml_group(fields, depth + 2, out),
                        Value::Text(text) => out.push_str(&quoted(text)),
                        other => out.push_str(&plain(other)),
                    }
                }
            }
        }
    }
}

fn xml(shown: &Shown, wanted: &Wanted) -> String {
    let mut out = String::from("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n");
    if let Value::Group(fields) = whole(shown, wanted) {
        xml_group(&fields, 2, &mut out);
    }
    out.push_str("  </Query>\n</explain>");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn xml_group(fields: &[(String, Value)], depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    for (name, value) in fields {
        let name = name.replace(' ', "-");
        match value {
            Value::Text(text) | Value::Plain(text) => {
                out.push_str(&format!("{pad}<{name}>{}</{name}>\n", escaped(text)));
            }
            Value::Group(fields) => {
                out.push_str(&format!("{pad}<{name}>\n"));
                xml_group(fields, depth + 1, out);
                out.push_str(&format!("{pad}</{name}>\n"));
            }
            Value::List(items) => {
                out.push_str(&format!("{pad}<{name}>\n"));
                for item in items {
                    match item {
                        Value::Group(fields) => {
                            out.push_str(&format!("{pad}  <Plan>\n"));
                            xml_group(fields, depth + 2, out);
                            out.push_str(&format!("{pad}  </Plan>\n"));
                        }
                        other => out.push_str(&format!("{pad}  <Item>{}</Item>\n", escaped(&plain(other)))),
                    }
                }
                out.push_str(&format!("{pad}</{name}>\n"));
            }
        }
    }
}
