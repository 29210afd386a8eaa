//! A plan's tree as it is shown by `EXPLAIN`, in whatever form ([`super::shown`]).
//!
//! Nodes and conditions are named as PostgreSQL names them, where there is such a node.

use super::cost::Guess;
use super::shown::{Costs, ShownNode, Value};
use super::tree::{IndexScan, JoinType, Node, SubtreeKind, Tree};
use crate::bind::tree::{Bound, Column, Expr, ExprKind, ModificationKind, ROW_ID, TABLE_OID};
use crate::catalog::Catalog;
use crate::plan::blob::Constant;
use crate::session::types::TypesAtHand;
use crate::types::cast::Method;
use crate::types::datetime::Style;
use crate::types::op::Op;
use crate::types::{Type, io, table, typmod};

/// What is shown of a plan, with what it is thought to cost if that is wanted.
pub fn shown(bound: &Bound, tree: &Tree, catalog: &Catalog<'_>, costs: bool) -> ShownNode {
    let guess = costs.then_some(Guess { bound, catalog, origins: &tree.origins, planning: &tree.planning });
    let types = TypesAtHand::of(&catalog.definitions);
    let root = ShownNode::default();
    let mut printer =
        Printer { bound, tree, catalog, types, guess, open: Vec::new(), root, commons: true, below: None };
    printer.node(&tree.root, 0, "");
    printer.close(0);
    printer.root
}

/// Where a node lies: as long as the tree is there, a name for it.
pub fn place(node: &Node) -> usize {
    std::ptr::from_ref(node) as usize
}

struct Printer<'p> {
    bound: &'p Bound,
    tree: &'p Tree,
    catalog: &'p Catalog<'p>,
    /// For constants of users' types.
    types: TypesAtHand<'static>,
    guess: Option<Guess<'p>>,
    /// The node that is shown, below those that it is below of.
    open: Vec<ShownNode>,
    root: ShownNode,
    /// Common tables are still to be shown: they come below the first node, before its children.
    commons: bool,
    /// What the next node is to the node above, and the name of its subquery, if it is the root of one.
    below: Option<(&'static str, String)>,
}

impl Printer<'_> {
    /// The nodes from that depth on are complete.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth
            && let Some(done) = self.open.pop()
        {
            match self.open.last_mut() {
                Some(above) => above.children.push(done),
                None => self.root = done,
            }
        }
    }

    fn line(&mut self, depth: usize, text: &str, node: &Node) {
        self.close(depth);
        let (mut relationship, mut subplan) = (None, None);
        if let Some((word, name)) = self.below.take() {
            (relationship, subplan) = (Some(word), Some(name));
        } else if let Some(above) = self.open.last() {
            let before = above.children.iter().filter(|child| child.subplan.is_none()).count();
            relationship = Some(match (above.title.starts_with("Append"), before) {
                (true, _) => "Member",
                (false, 0) => "Outer",
                (false, _) => "Inner",
            });
        }
        let fields = self.fields(text, node);
        let (title, places) = (text.to_owned(), vec![place(node)]);
        let costs = self.guess.map(|guess| Costs {
            first: guess.cost_of_first(node),
            all: guess.cost(node),
            rows: guess.rows(node).max(1.0).round(),
            width: guess.width(node),
        });
        self.open.push(ShownNode { title, places, fields, relationship, subplan, costs, ..ShownNode::default() });
    }

    /// Adds to the node of that depth; of two conditions of one name it has both.
    fn add_note(&mut self, depth: usize, word: &str, value: Value) {
        let Some(shown) = self.open.get_mut(depth) else { return };
        let known = shown.notes.iter_mut().find(|(name, _)| name == word);
        match (known, value) {
            (Some((_, Value::Text(old))), Value::Text(new)) => *old = format!("({old} AND {new})"),
            (_, value) => shown.notes.push((word.to_owned(), value)),
        }
    }

    fn note(&mut self, depth: usize, text: &str) {
        match text.split_once(": ") {
            Some((word, rest)) => self.add_note(depth, word, Value::text(rest)),
            None => self.add_note(depth, text, Value::number(true)),
        }
    }

    /// The next node is the root of a subquery of the node of that depth.
    fn header(&mut self, relationship: &'static str, name: String) {
        self.below = Some((relationship, name));
    }

    /// What other forms than text say of a node first.
    fn fields(&self, text: &str, node: &Node) -> Vec<(&'static str, Value)> {
        let word = text.split(" on ").next().unwrap_or(text);
        let mut fields = vec![("Node Type", Value::text(word))];
        let mut add = |name, text: &str| fields.push((name, Value::text(text)));
        let or = |alias: &str, name: &str| if alias.is_empty() { name.to_owned() } else { alias.to_owned() };
        match node {
            Node::SeqScan { alias, table, .. } | Node::View { alias, table, .. } => {
                add("Relation Name", &table.name);
                add("Alias", &or(alias, &table.name));
            }
            Node::IndexScan(scan) => {
                let index = scan.table.index(scan.index).map_or("", |index| index.name.as_str());
                add("Scan Direction", if scan.backward { "Backward" } else { "Forward" });
                add("Index Name", index);
                add("Relation Name", &scan.table.name);
                add("Alias", &or(&scan.alias, &scan.table.name));
                fields[0].1 = Value::text(if scan.only { "Index Only Scan" } else { "Index Scan" });
            }
            Node::Function { name, call, .. } => {
                let function = match &call.kind {
                    ExprKind::Call(call) => call.shown(),
                    _ => "expression",
                };
                add("Function Name", function);
                add("Alias", &or(name, function));
            }
            Node::NestedLoop { join, .. } | Node::HashJoin { join, .. } | Node::MergeJoin { join, .. } => {
                add("Join Type", if *join == JoinType::Inner { "Inner" } else { join_word(*join).trim_start() });
                let word = match node {
                    Node::HashJoin { .. } => "Hash Join",
                    Node::MergeJoin { .. } => "Merge Join",
                    _ => "Nested Loop",
                };
                fields[0].1 = Value::text(word);
            }
            Node::Aggregate { .. } => {
                add(
                    "Strategy",
                    match word {
                        "Aggregate" => "Plain",
                        "MixedAggregate" => "Mixed",
                        "GroupAggregate" => "Sorted",
                        _ => "Hashed",
                    },
                );
                add("Partial Mode", "Simple");
                fields[0].1 = Value::text("Aggregate");
            }
            Node::SetOperation { .. } => {
                add("Strategy", "Hashed");
                add("Command", word.trim_start_matches("HashSetOp "));
                fields[0].1 = Value::text("SetOp");
            }
            Node::WorkScan { alias, number, .. } => {
                let name = self.bound.recursions.get(usize::from(*number)).map_or("", String::as_str);
                add("CTE Name", name);
                add("Alias", &or(alias, name));
            }
            Node::CommonScan { alias, name, .. } => {
                add("CTE Name", name);
                add("Alias", &or(alias, name));
            }
            Node::Values { rows, .. } if rows.len() != 1 => add("Alias", "*VALUES*"),
            Node::Modify(modify) => {
                add("Operation", word);
                add("Relation Name", &modify.table.name);
                add("Alias", &modify.table.name);
                fields[0].1 = Value::text("ModifyTable");
            }
            _ => {}
        }
        fields
    }

    fn condition(&mut self, depth: usize, word: &str, exprs: &[Expr]) {
        let shown: Vec<String> = exprs.iter().filter(|expr| !expr.is_true()).map(|expr| self.expr(expr)).collect();
        match shown.as_slice() {
            [] => {}
            [one] => self.note(depth, &format!("{word}: {}", parenthesized(one))),
            several => {
                let all: Vec<String> = several.iter().map(|shown| parenthesized(shown)).collect();
                self.note(depth, &format!("{word}: ({})", all.join(" AND ")));
            }
        }
    }

    fn subplans(&mut self, node: &Node, depth: usize) {
        let mut numbers = Vec::new();
        node.exprs(&mut |expr| {
            expr.any(&mut |part| {
                if let ExprKind::Subplan(number) = part.kind {
                    numbers.push(number);
                }
                false
            });
        });
        let tree = self.tree;
        for number in numbers {
            if let Some(subplan) = tree.subplans.get(usize::from(number)) {
                let word = if subplan.constant { "InitPlan" } else { "SubPlan" };
                self.header(word, format!("{word} {}", number + 1));
                self.node(&subplan.root, depth + 1, "");
            }
        }
    }

    fn commons(&mut self, depth: usize) {
        if !std::mem::replace(&mut self.commons, false) {
            return;
        }
        for common in self.tree.commons.iter().flatten() {
            self.header("InitPlan", format!("CTE {}", common.name));
            self.node(&common.root, depth + 1, "");
        }
    }

    fn named(word: &str, name: &str, alias: &str) -> String {
        match name == alias || alias.is_empty() {
            true => format!("{word} on {name}"),
            false => format!("{word} on {name} {alias}"),
        }
    }

    fn node(&mut self, node: &Node, depth: usize, prefix: &str) {
        match node {
            // Columns that are merely passed on are no work.
            Node::Project { child, targets, .. }
                if targets.iter().all(|target| !matches!(target.kind, ExprKind::Subplan(_))) =>
            {
                self.node(child, depth, prefix);
                return;
            }
            Node::Project { child, .. } => {
                self.line(depth, &format!("{prefix}Result"), node);
                self.subplans(node, depth);
                self.node(child, depth + 1, "");
                return;
            }
            Node::Nothing => self.line(depth, &format!("{prefix}Result"), node),
            Node::Once { filter } => {
                self.line(depth, &format!("{prefix}Result"), node);
                self.condition(depth, "One-Time Filter", filter);
            }
            Node::Values { rows, .. } => {
                let word = if rows.len() == 1 { "Result" } else { "Values Scan on \"*VALUES*\"" };
                self.line(depth, &format!("{prefix}{word}"), node);
            }
            Node::Function { name, call, filter, .. } => {
                let function = match &call.kind {
                    ExprKind::Call(call) => call.shown(),
                    _ => "expression",
                };
                self.line(depth, &format!("{prefix}{}", Printer::named("Function Scan", function, name)), node);
                self.condition(depth, "Filter", filter);
            }
            Node::View { alias, table, filter, .. } => {
                self.line(depth, &format!("{prefix}{}", Printer::named("View Scan", &table.name, alias)), node);
                self.condition(depth, "Filter", filter);
            }
            Node::SeqScan { alias, table, filter, .. } => {
                self.line(depth, &format!("{prefix}{}", Printer::named("Seq Scan", &table.name, alias)), node);
                self.condition(depth, "Filter", filter);
            }
            Node::IndexScan(scan) => self.index_scan(scan, node, depth, prefix),
            Node::Filter { child, condition } => {
                // PostgreSQL has no node for a filter: the node below shows it.
                self.node(child, depth, prefix);
                if let Some(shown) = self.open.get_mut(depth) {
                    shown.places.insert(0, place(node));
                }
                self.condition(depth, "Filter", condition);
                self.subplans(node, depth);
                return;
            }
            Node::NestedLoop { join, condition, .. } => {
                self.line(depth, &format!("{prefix}Nested Loop{}", join_word(*join)), node);
                self.condition(depth, "Join Filter", condition);
            }
            Node::HashJoin { join, keys, condition, .. } | Node::MergeJoin { join, keys, condition, .. } => {
                let word = if matches!(node, Node::HashJoin { .. }) { "Hash" } else { "Merge" };
                self.line(depth, &format!("{prefix}{word}{} Join", join_word(*join)), node);
                let equal: Vec<String> = keys
                    .iter()
                    .map(|(outer, inner, _)| format!("({} = {})", self.expr(outer), self.expr(inner)))
                    .collect();
                let equal = if equal.len() == 1 { equal[0].clone() } else { format!("({})", equal.join(" AND ")) };
                self.note(depth, &format!("{word} Cond: {equal}"));
                self.condition(depth, "Join Filter", condition);
            }
            Node::Sort { keys, bound, child } => {
                self.line(depth, &format!("{prefix}Sort"), node);
                let keys: Vec<String> = keys
                    .iter()
                    .map(|key| {
                        let mut shown = self.sorted_by(&key.expr, child);
                        if key.descending {
                            shown.push_str(" DESC");
                        }
                        if key.nulls_first != key.descending {
                            shown.push_str(if key.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
                        }
                        shown
                    })
                    .collect();
                self.add_note(depth, "Sort Key", Value::List(keys.into_iter().map(Value::Text).collect()));
                if bound.is_some() {
                    self.note(depth, "Bounded by Limit");
                }
            }
            Node::Limit { .. } => self.line(depth, &format!("{prefix}Limit"), node),
            Node::Aggregate { grouping, sorted, .. } => {
                let empty = grouping.sets.iter().filter(|set| set.is_empty()).count();
                let word = match () {
                    () if grouping.keys.is_empty() => "Aggregate",
                    () if *sorted => "GroupAggregate",
                    () if empty > 0 => "MixedAggregate",
                    () => "HashAggregate",
                };
                self.line(depth, &format!("{prefix}{word}"), node);
                for set in grouping.sets.iter().filter(|set| !set.is_empty()) {
                    let keys: Vec<String> = set
                        .iter()
                        .filter_map(|key| grouping.keys.get(usize::from(*key)))
                        .map(|key| self.expr(key))
                        .collect();
                    self.add_note(depth, "Hash Key", Value::List(keys.into_iter().map(Value::Text).collect()));
                }
                for _ in 0..empty {
                    self.note(depth, "Group Key: ()");
                }
                if !grouping.keys.is_empty() && grouping.sets.is_empty() {
                    let keys: Vec<String> = grouping.keys.iter().map(|key| self.expr(key)).collect();
                    self.add_note(depth, "Group Key", Value::List(keys.into_iter().map(Value::Text).collect()));
                }
            }
            Node::Window { .. } => self.line(depth, &format!("{prefix}WindowAgg"), node),
            Node::Distinct { keys, .. } => {
                self.line(depth, &format!("{prefix}Unique"), node);
                let keys: Vec<String> = keys.iter().map(|(key, _)| self.expr(key)).collect();
                self.add_note(depth, "Group Key", Value::List(keys.into_iter().map(Value::Text).collect()));
            }
            Node::Append { .. } => self.line(depth, &format!("{prefix}Append"), node),
            Node::SetOperation { except, all, .. } => {
                let word = if *except { "Except" } else { "Intersect" };
                self.line(depth, &format!("{prefix}HashSetOp {word}{}", if *all { " All" } else { "" }), node);
            }
            Node::Recursion { .. } => self.line(depth, &format!("{prefix}Recursive Union"), node),
            Node::WorkScan { alias, filter, number, .. } => {
                let name = self.bound.recursions.get(usize::from(*number)).map_or("", String::as_str);
                self.line(depth, &format!("{prefix}{}", Printer::named("WorkTable Scan", name, alias)), node);
                self.condition(depth, "Filter", filter);
            }
            Node::Materialize { .. } => self.line(depth, &format!("{prefix}Materialize"), node),
            Node::CommonScan { alias, name, filter, .. } => {
                self.line(depth, &format!("{prefix}{}", Printer::named("CTE Scan", name, alias)), node);
                self.condition(depth, "Filter", filter);
            }
            Node::LockRows(_) => self.line(depth, &format!("{prefix}LockRows"), node),
            Node::Modify(modify) => {
                let word = match modify.kind {
                    ModificationKind::Insert => "Insert",
                    ModificationKind::Update => "Update",
                    ModificationKind::Delete => "Delete",
                };
                self.line(depth, &format!("{prefix}{}", Printer::named(word, &modify.table.name, "")), node);
            }
        }
        if !matches!(node, Node::Modify(_) | Node::LockRows(_)) {
            self.subplans(node, depth);
        }
        self.commons(depth);
        for child in node.children() {
            self.node(child, depth + 1, "");
        }
    }

    fn index_scan(&mut self, scan: &IndexScan, node: &Node, depth: usize, prefix: &str) {
        let index = scan.table.index(scan.index).map_or("", |index| index.name.as_str());
        let word = if scan.only { "Index Only Scan" } else { "Index Scan" };
        let backward = if scan.backward { " Backward" } else { "" };
        let what = format!("{word}{backward} using {index}");
        self.line(depth, &format!("{prefix}{}", Printer::named(&what, &scan.table.name, &scan.alias)), node);
        self.condition(depth, "Index Cond", &scan.seen_to);
        self.condition(depth, "Filter", &scan.filter);
    }

    fn column(&self, column: Column) -> String {
        let Some(relation) = self.bound.relations.get(column.relation as usize) else { return "?".to_owned() };
        let name = match column.column {
            ROW_ID => "ctid",
            TABLE_OID => "tableoid",
            index => relation.columns.get(usize::from(index)).map_or("", |(name, _)| name.as_str()),
        };
        // What an UPDATE reads and what it writes have one name.
        let mut names =
            self.bound.relations.iter().map(|relation| relation.name.as_str()).filter(|name| !name.is_empty());
        let first = names.next();
        let several = names.any(|name| Some(name) != first);
        match (relation.name.as_str(), name) {
            ("", "") => format!("${}.{}", column.relation, column.column),
            ("", name) => name.to_owned(),
            (relation, name) if several => format!("{relation}.{name}"),
            (_, name) => name.to_owned(),
        }
    }

    /// A sort key: what a column without a name was computed from.
    fn sorted_by(&self, key: &Expr, child: &Node) -> String {
        if let ExprKind::Column(column) = key.kind
            && let Node::Project { relation, targets, .. } = child
            && *relation == column.relation
            && let Some(target) = targets.get(usize::from(column.column))
            && !matches!(target.kind, ExprKind::Column(_))
        {
            let named = self.bound.relations.get(column.relation as usize);
            let named = named.and_then(|relation| relation.columns.get(usize::from(column.column)));
            if named.is_some_and(|(name, _)| name.is_empty()) {
                return format!("({})", self.expr(target));
            }
        }
        self.expr(key)
    }

    fn list(&self, exprs: &[Expr], between: &str) -> String {
        let shown: Vec<String> = exprs.iter().map(|expr| self.expr(expr)).collect();
        shown.join(between)
    }

    /// An expression as PostgreSQL would write it, more or less.
    fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Constant(value) => constant(value, expr.ty, self.catalog, &self.types),
            ExprKind::Slot(slot) => format!("${{{slot}}}"),
            ExprKind::Untyped(number) => format!("${}", number + 1),
            ExprKind::Parameter(index) => {
                match self.bound.parameters.get(usize::from(*index)).map(|found| found.origin) {
                    Some(crate::bind::tree::Origin::Client(number)) => format!("${}", number + 1),
                    _ => format!("${{{index}}}"),
                }
            }
            ExprKind::Column(column) => self.column(*column),
            ExprKind::Call(call) => match (call.operator, call.arguments.as_slice()) {
                (true, [left, right]) => {
                    format!("({} {} {})", self.expr(left), call.name, self.expr(right))
                }
                (true, [operand]) => format!("({} {})", call.name, self.expr(operand)),
                (_, arguments) => {
                    let hidden = if call.op == Op::Routine { 2 } else { 0 };
                    format!("{}({})", call.shown(), self.list(arguments.get(hidden..).unwrap_or(&[]), ", "))
                }
            },
            ExprKind::And(items) => format!("({})", self.list(items, " AND ")),
            ExprKind::Or(items) => format!("({})", self.list(items, " OR ")),
            ExprKind::Not(operand) => format!("(NOT {})", self.expr(operand)),
            ExprKind::IsNull(operand, negated) => {
                format!("({} IS {}NULL)", self.expr(operand), if *negated { "NOT " } else { "" })
            }
            ExprKind::IsTruth(operand, truth, negated) => format!(
                "({} IS {}{})",
                self.expr(operand),
                if *negated { "NOT " } else { "" },
                if *truth { "TRUE" } else { "FALSE" }
            ),
            ExprKind::IsDistinct(left, right, _, negated) => format!(
                "({} IS {}DISTINCT FROM {})",
                self.expr(left),
                if *negated { "NOT " } else { "" },
                self.expr(right)
            ),
            ExprKind::Case(branches, otherwise) => {
                let mut shown = "CASE".to_owned();
                for (condition, result) in branches {
                    shown.push_str(&format!(" WHEN {} THEN {}", self.expr(condition), self.expr(result)));
                }
                format!("{shown} ELSE {} END", self.expr(otherwise))
            }
            ExprKind::Let(_, value, body) => format!("(LET {} IN {})", self.expr(value), self.expr(body)),
            ExprKind::Shared(_) => "VALUE".to_owned(),
            ExprKind::Coalesce(items) => format!("COALESCE({})", self.list(items, ", ")),
            ExprKind::Extreme(items, _, greatest) => {
                format!("{}({})", if *greatest { "GREATEST" } else { "LEAST" }, self.list(items, ", "))
            }
            ExprKind::Array(items) | ExprKind::ArrayOfArrays(items) => format!("ARRAY[{}]", self.list(items, ", ")),
            ExprKind::Quantified { all, left, array, name, .. } => {
                format!("({} {name} {} ({}))", self.expr(left), if *all { "ALL" } else { "ANY" }, self.expr(array))
            }
            // What a function was given, of which there is a cast only.
            ExprKind::Cast(operand, Method::Json, _) => {
                format!("to_{}({})", type_name(self.catalog, expr.ty), self.expr(operand))
            }
            ExprKind::Cast(operand, Method::JsonKey, _) => self.expr(operand),
            ExprKind::Cast(operand, ..) => format!("({})::{}", self.expr(operand), type_name(self.catalog, expr.ty)),
            ExprKind::Subplan(number) => {
                let exists = matches!(
                    self.tree.subplans.get(usize::from(*number)).map(|subplan| &subplan.kind),
                    Some(SubtreeKind::Exists)
                );
                format!("({}SubPlan {})", if exists { "EXISTS " } else { "" }, number + 1)
            }
            ExprKind::Subscript(operand, index) => format!("{}[{}]", self.expr(operand), self.expr(index)),
        }
    }
}

fn join_word(join: JoinType) -> &'static str {
    match join {
        JoinType::Inner => "",
        JoinType::Left => " Left",
        JoinType::Semi => " Semi",
        JoinType::Anti => " Anti",
        JoinType::Right => " Right",
        JoinType::Full => " Full",
    }
}

fn parenthesized(shown: &str) -> String {
    match shown.starts_with('(') && shown.ends_with(')') {
        true => shown.to_owned(),
        false => format!("({shown})"),
    }
}

/// A type as users call it.
fn type_name(catalog: &Catalog<'_>, ty: Type) -> String {
    catalog.with_names(&typmod::format_type(ty)).into_owned()
}

fn constant(value: &Constant, ty: Type, catalog: &Catalog<'_>, types: &TypesAtHand<'_>) -> String {
    let style = Style { types: Some(types), ..Style::PLAIN };
    let mut text = Vec::new();
    match value {
        Constant::Null => return format!("NULL::{}", type_name(catalog, ty)),
        Constant::Bool(value) => return value.to_string(),
        value => {
            if io::output(table::kind(ty.oid), value.datum(), &style, &mut text).is_err() {
                return "?".to_owned();
            }
        }
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    match value {
        Constant::Int(_) if table::by_oid(ty.oid).is_some_and(|row| row.category == b'N') => text,
        _ => format!("'{}'::{}", text.replace('\'', "''"), type_name(catalog, ty)),
    }
}
