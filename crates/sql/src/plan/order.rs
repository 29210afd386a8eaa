//! In which order tables are joined, and how: the cheapest tree of joins, found by dynamic programming over sets of items.
//!
//! ```text
//!   items      0: orders   1: customer   2: lineitem          each with rows, cost, what it needs to be there before
//!   sets       001 010 100 -> 011 101 110 -> 111              the cheapest tree of each from the cheapest ones of its parts
//!   methods    look the right item up by an index for each row of the left | hash the right side |
//!              merge both in order | compare all pairs
//! ```
//!
//! This part sees numbers only: which conditions there are and what an index can do is asked of its caller ([`Joins`]).
//!
//! Rules
//! 1. How many rows a set has does not depend on how it was joined, so that trees of one set differ in their costs alone.
//! 2. Sides without a condition between them are joined only where nothing else is possible.
//! 3. With more than [`ITEMS_MAX`] items the pair that costs least is joined first, then the next, until one tree is left.
//! 4. An item that depends on others, or that only filters their rows, stands alone on the right of its join.

use super::planning::Planning;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A set of items: a bit for each.
pub(super) type Set = u128;

/// The most items that all orders are looked at of.
const ITEMS_MAX: usize = 9;
/// The most items at all.
pub(super) const ITEMS_END: usize = Set::BITS as usize - 1;

/// What is joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// What its rows cost.
    pub(super) cost: f64,
    /// How many it has.
    pub(super) rows: f64,
    /// Items that must be there before.
    pub(super) depends: Set,
    /// It gives no rows of its own: rows of the others are kept if they have a partner in it, or if they have none.
    pub(super) filters: bool,
    /// It reads columns of the items that it depends on, and is computed again for each of their rows.
    pub(super) repeats: bool,
}

/// How two sides are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    /// The right item is looked up by an index.
    Lookup,
    /// The right side is put into a hash table.
    Hash,
    /// Both sides are put in order and merged.
    Merge,
    /// All pairs are looked at; what repeats is computed again for each row.
    Pairs,
}

/// A tree of joins.
#[derive(Debug, PartialEq)]
pub(super) enum Joined {
    /// An item.
    Item(usize),
    /// Two sides.
    Pair {
        /// The side whose rows come one after another.
        left: Box<Joined>,
        /// The side that partners are looked for in.
        right: Box<Joined>,
        /// How.
        method: Method,
    },
}

/// What is known of the conditions between items.
pub(super) trait Joins {
    /// The share of all combinations of a set's rows for which the conditions hold within it.
    fn share(&self, set: Set) -> f64;
    /// Is there a condition between the sides?
    fn connected(&self, left: Set, right: Set) -> bool;
    /// Is there an equality between the sides that rows can be hashed by?
    fn hashes(&self, left: Set, right: Set) -> bool;
    /// What it costs to look the partners of one row up in an item, if an index helps.
    fn lookup(&self, left: Set, item: usize) -> Option<f64>;
    /// How many bytes of memory a row of a set takes.
    fn bytes(&self, set: Set) -> f64;
    /// What it costs to put so many rows of a set in the order in which they are merged with those of another one.
    fn ordering(&self, set: Set, rows: f64, other: Set) -> f64;
}

/// What rows cost beside those of the items.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    pub(super) build: f64,
    pub(super) probe: f64,
    pub(super) emit: f64,
    pub(super) keep: f64,
    pub(super) pair: f64,
    pub(super) merge: f64,
    /// What loops, hash tables and merging cost beside their work.
    pub(super) loops: f64,
    pub(super) hashes: f64,
    pub(super) merges: f64,
    /// Rows of tables are kept where they are looked at again and again.
    pub(super) keeps: bool,
    /// What goes to files is priced by it; none where all fits.
    pub(super) planning: Option<Planning>,
}

impl Prices {
    pub(super) fn of(planning: &Planning) -> Prices {
        Prices {
            build: planning.build(),
            probe: planning.probe(),
            emit: planning.emit(),
            keep: planning.keep(),
            pair: planning.pair(),
            merge: planning.merge(),
            loops: Planning::off(planning.nested_loop),
            hashes: Planning::off(planning.hash_join),
            merges: Planning::off(planning.merge_join),
            keeps: planning.material,
            planning: Some(*planning),
        }
    }
}

#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    left: Set,
    method: Method,
}

struct Search<'s, J> {
    items: &'s [Item],
    joins: &'s J,
    prices: Prices,
    /// How many rows sets have, as far as somebody has asked.
    rows: RefCell<BTreeMap<Set, f64>>,
}

impl<J: Joins> Search<'_, J> {
    fn rows(&self, set: Set) -> f64 {
        if let Some(known) = self.rows.borrow().get(&set) {
            return *known;
        }
        let given = members(set).filter(|item| !self.items[*item].filters);
        let own: f64 = given.map(|item| self.items[item].rows).product();
        let rows = (own * self.joins.share(set)).max(1.0);
        self.rows.borrow_mut().insert(set, rows);
        rows
    }

    /// The cheapest way to join two sides whose costs are known.
    fn join(&self, (left, left_cost): (Set, f64), (right, right_cost): (Set, f64)) -> Option<(f64, Method)> {
        let single = (right.count_ones() == 1).then(|| right.trailing_zeros() as usize);
        let (mut repeats, mut filters) = (false, false);
        if let Some(item) = single {
            let item = &self.items[item];
            if item.depends & !left != 0 {
                return None;
            }
            (repeats, filters) = (item.repeats, item.filters);
        }
        let (left_rows, right_rows) = (self.rows(left), self.rows_alone(right));
        let emitted = self.rows(left | right) * self.prices.emit;
        let mut best: Option<(f64, Method)> = None;
        let mut offer = |cost: f64, method| {
            if best.is_none_or(|(known, _)| cost < known) {
                best = Some((cost, method));
            }
        };
        if let Some(item) = single.filter(|_| !repeats)
            && let Some(cost) = self.joins.lookup(left, item)
        {
            // Where one partner is enough the others are not looked at.
            let cost = if filters { cost.min(self.prices.pair * 40.0) } else { cost };
            offer(left_cost + left_rows * cost + emitted + self.prices.loops, Method::Lookup);
        }
        if !repeats && self.joins.hashes(left, right) {
            let work = right_rows * self.prices.build + left_rows * self.prices.probe;
            let sides = ((left_rows, self.joins.bytes(left)), (right_rows, self.joins.bytes(right)));
            let cost = work + self.prices.planning.map_or(0.0, |planning| planning.hash_spilled(sides.0, sides.1));
            offer(left_cost + right_cost + cost + emitted + self.prices.hashes, Method::Hash);
        }
        if !repeats && self.joins.hashes(left, right) {
            let ordering = self.joins.ordering(left, left_rows, right) + self.joins.ordering(right, right_rows, left);
            let cost = ordering + (left_rows + right_rows) * self.prices.merge;
            offer(left_cost + right_cost + cost + emitted + self.prices.merges, Method::Merge);
        }
        let cost = match repeats || (single.is_some() && !self.prices.keeps) {
            true => left_rows * (right_cost + right_rows * self.prices.pair),
            false => right_cost + right_rows * self.prices.keep + left_rows * right_rows * self.prices.pair,
        };
        offer(left_cost + cost + emitted + self.prices.loops, Method::Pairs);
        best
    }

    /// The rows of a side; of an item that filters, those that it has itself.
    fn rows_alone(&self, set: Set) -> f64 {
        match set.count_ones() {
            1 => self.items[set.trailing_zeros() as usize].rows,
            _ => self.rows(set),
        }
    }

    /// May a set be a side? An item that filters or depends may only stand alone, on the right.
    fn can_be_right(&self, set: Set) -> bool {
        set.count_ones() == 1
    }
}

/// The items of a set.
pub(super) fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..(Set::BITS - set.leading_zeros()) as usize).filter(move |item| set >> item & 1 == 1)
}

/// The cheapest tree of all items, and how many rows it gives; none if their dependences leave no order.
pub(super) fn order(items: &[Item], joins: &impl Joins, prices: Prices) -> Option<(Joined, f64)> {
    let search = Search { items, joins, prices, rows: RefCell::default() };
    let tree = match items.len() {
        0 => None,
        1 => Some(Joined::Item(0)),
        count if count <= ITEMS_MAX => search.best_of_all(),
        _ => search.one_by_one(),
    };
    tree.map(|tree| (tree, search.rows((1 << items.len()) - 1)))
}

impl<J: Joins> Search<'_, J> {
    fn best_of_all(&self) -> Option<Joined> {
        let all: Set = (1 << self.items.len()) - 1;
        let mut best: Vec<Option<Best>> = vec![None; 1 << self.items.len()];
        for (number, item) in self.items.iter().enumerate() {
            if item.depends == 0 && !item.filters {
                best[1 << number] = Some(Best { cost: item.cost, left: 0, method: Method::Pairs });
            }
        }
        for set in 1..=all {
            if set.count_ones() < 2 {
                continue;
            }
            for connected in [true, false] {
                // From the first items on: where costs are the same the order is the one that was written.
                let mut left = set.wrapping_neg() & set;
                while left != set {
                    let right = set & !left;
                    if let Some(offer) = self.offer(&best, left, right, connected)
                        && best[set as usize].is_none_or(|known| offer.cost < known.cost)
                    {
                        best[set as usize] = Some(offer);
                    }
                    left = left.wrapping_sub(set) & set;
                }
                if best[set as usize].is_some() {
                    break;
                }
            }
        }
        best[all as usize]?;
        Some(tree(&best, all))
    }

    fn offer(&self, best: &[Option<Best>], left: Set, right: Set, connected: bool) -> Option<Best> {
        let left_cost = best[left as usize]?.cost;
        let right_cost = match best[right as usize] {
            Some(known) => known.cost,
            None if self.can_be_right(right) => self.items[right.trailing_zeros() as usize].cost,
            None => return None,
        };
        let dependent = right.count_ones() == 1 && self.items[right.trailing_zeros() as usize].depends != 0;
        if connected && !dependent && !self.joins.connected(left, right) {
            return None;
        }
        let (cost, method) = self.join((left, left_cost), (right, right_cost))?;
        Some(Best { cost, left, method })
    }

    /// Joins the cheapest pair of what there is until one tree is left.
    fn one_by_one(&self) -> Option<Joined> {
        let mut parts: Vec<(Set, f64, Joined)> = Vec::new();
        for (number, item) in self.items.iter().enumerate() {
            parts.push((1 << number, item.cost, Joined::Item(number)));
        }
        while parts.len() > 1 {
            let mut best: Option<(f64, usize, usize, f64, Method)> = None;
            for connected in [true, false] {
                for left in 0..parts.len() {
                    for right in (0..parts.len()).filter(|right| *right != left) {
                        let (a, b) = (&parts[left], &parts[right]);
                        if self.must_follow(a.0) || (connected && !self.follows(b.0) && !self.joins.connected(a.0, b.0))
                        {
                            continue;
                        }
                        let Some((cost, method)) = self.join((a.0, a.1), (b.0, b.1)) else { continue };
                        let grown = cost - a.1 - b.1 + self.rows(a.0 | b.0) * self.prices.probe;
                        if best.is_none_or(|known| grown < known.0) {
                            best = Some((grown, left, right, cost, method));
                        }
                    }
                }
                if best.is_some() {
                    break;
                }
            }
            let (_, left, right, cost, method) = best?;
            let (higher, lower) = (left.max(right), left.min(right));
            let (second, first) = (parts.swap_remove(higher), parts.swap_remove(lower));
            let (left, right) = if left < right { (first, second) } else { (second, first) };
            let pair = Joined::Pair { left: Box::new(left.2), right: Box::new(right.2), method };
            parts.push((left.0 | right.0, cost, pair));
        }
        parts.pop().map(|(.., tree)| tree)
    }

    /// Is it one item that others must come before?
    fn must_follow(&self, set: Set) -> bool {
        let item = &self.items[set.trailing_zeros() as usize];
        set.count_ones() == 1 && (item.depends != 0 || item.filters)
    }

    fn follows(&self, set: Set) -> bool {
        set.count_ones() == 1 && self.items[set.trailing_zeros() as usize].depends != 0
    }
}

fn tree(best: &[Option<Best>], set: Set) -> Joined {
    match best[set as usize] {
        Some(found) if found.left != 0 => Joined::Pair {
            left: Box::new(tree(best, found.left)),
            right: Box::new(tree(best, set & !found.left)),
            method: found.method,
        },
        _ => Joined::Item(set.trailing_zeros() as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices {
        build: 0.06,
        probe: 0.025,
        emit: 0.01,
        keep: 0.02,
        pair: 0.01,
        merge: 0.03,
        loops: 0.0,
        hashes: 0.0,
        merges: 0.0,
        keeps: true,
        planning: None,
    };

    /// Equalities between pairs of items, each with its share; items with an index on them.
    struct Chain {
        equal: Vec<(usize, usize, f64)>,
        indexed: Set,
        in_order: Set,
    }

    impl Joins for Chain {
        fn share(&self, set: Set) -> f64 {
            let within = |(a, b, _): &&(usize, usize, f64)| set >> a & set >> b & 1 == 1;
            self.equal.iter().filter(within).map(|(.., share)| share).product()
        }

        fn connected(&self, left: Set, right: Set) -> bool {
            self.hashes(left, right)
        }

        fn hashes(&self, left: Set, right: Set) -> bool {
            let one = |a: usize, b: usize| left >> a & right >> b & 1 == 1;
            self.equal.iter().any(|(a, b, _)| one(*a, *b) || one(*b, *a))
        }

        fn bytes(&self, _: Set) -> f64 {
            50.0
        }

        fn ordering(&self, set: Set, rows: f64, _: Set) -> f64 {
            rows * if set & self.in_order == set { 0.001 } else { 0.02 + 0.006 * rows.max(2.0).log2() }
        }

        fn lookup(&self, left: Set, item: usize) -> Option<f64> {
            (self.indexed >> item & 1 == 1 && self.hashes(left, 1 << item)).then_some(0.3)
        }
    }

    fn item(rows: f64) -> Item {
        Item { cost: rows * 0.02, rows, depends: 0, filters: false, repeats: false }
    }

    fn shown(tree: &Joined) -> String {
        match tree {
            Joined::Item(number) => number.to_string(),
            Joined::Pair { left, right, method } => {
                let word = match method {
                    Method::Lookup => "?",
                    Method::Hash => "#",
                    Method::Merge => "=",
                    Method::Pairs => "*",
                };
                format!("({}{word}{})", shown(left), shown(right))
            }
        }
    }

    fn ordered(items: &[Item], joins: &Chain) -> Option<String> {
        order(items, joins, PRICES).map(|(tree, _)| shown(&tree))
    }

    #[test]
    fn the_smaller_side_is_hashed() {
        let joins = Chain { equal: vec![(0, 1, 0.001)], indexed: 0, in_order: 0 };
        assert_eq!(ordered(&[item(1000.0), item(1e6)], &joins).as_deref(), Some("(1#0)"));
        assert_eq!(ordered(&[item(1e6), item(1000.0)], &joins).as_deref(), Some("(0#1)"));
    }

    #[test]
    fn a_few_rows_are_looked_up() {
        let joins = Chain { equal: vec![(0, 1, 1e-6)], indexed: 0b10, in_order: 0 };
        assert_eq!(ordered(&[item(10.0), item(1e6)], &joins).as_deref(), Some("(0?1)"));
        assert_eq!(ordered(&[item(1e6), item(1e6)], &joins).as_deref(), Some("(0#1)"));
    }

    #[test]
    fn what_is_in_order_is_merged() {
        let joins = Chain { equal: vec![(0, 1, 1e-5)], indexed: 0, in_order: 0b11 };
        assert_eq!(ordered(&[item(1e5), item(1e5)], &joins).as_deref(), Some("(0=1)"));
        let joins = Chain { equal: vec![(0, 1, 1e-5)], indexed: 0, in_order: 0 };
        assert_eq!(ordered(&[item(1e5), item(1e5)], &joins).as_deref(), Some("(0#1)"));
        // Unless nothing else is allowed.
        let prices = Prices { hashes: 1e10, loops: 1e10, ..PRICES };
        let tree = order(&[item(1e5), item(1e5)], &joins, prices).map(|(tree, _)| shown(&tree));
        assert_eq!(tree.as_deref(), Some("(0=1)"));
    }

    #[test]
    fn what_is_not_connected_is_crossed_only_if_that_costs_less() {
        // Only 1 connects 0 and 2. While both are small, one pass over 1 for the pairs of both is cheaper; many pairs are not made.
        let joins = Chain { equal: vec![(0, 1, 0.05), (1, 2, 0.05)], indexed: 0, in_order: 0 };
        let tree = ordered(&[item(20.0), item(1e5), item(20.0)], &joins).unwrap();
        assert!(tree.contains("(0*2)"), "{tree}");
        let joins = Chain { equal: vec![(0, 1, 1e-4), (1, 2, 1e-4)], indexed: 0, in_order: 0 };
        let tree = ordered(&[item(1e4), item(1e5), item(1e4)], &joins).unwrap();
        assert!(!tree.contains('*'), "{tree}");
        // Of what costs the same the first comes first.
        let joins = Chain { equal: vec![], indexed: 0, in_order: 0 };
        assert_eq!(ordered(&[item(3.0), item(3.0)], &joins).as_deref(), Some("(0*1)"));
    }

    #[test]
    fn dependent_items_come_after_what_they_need() {
        let joins = Chain { equal: vec![], indexed: 0, in_order: 0 };
        let after = |depends| Item { depends, repeats: true, ..item(1.0) };
        assert_eq!(ordered(&[after(0b10), item(5.0)], &joins).as_deref(), Some("(1*0)"));
        assert_eq!(ordered(&[after(0b10), after(0b01)], &joins), None);
    }

    #[test]
    fn filters_stand_on_the_right() {
        let joins = Chain { equal: vec![(0, 1, 0.5)], indexed: 0, in_order: 0 };
        let filter = Item { filters: true, depends: 0b01, ..item(10.0) };
        assert_eq!(ordered(&[item(1e6), filter], &joins).as_deref(), Some("(0#1)"));
    }

    #[test]
    fn many_items_are_joined_one_by_one() {
        let count = 30;
        let equal = (1..count).map(|one| (one - 1, one, 0.001)).collect();
        let joins = Chain { equal, indexed: 0, in_order: 0 };
        let mut items = vec![item(1000.0); count];
        items[7] = Item { filters: true, depends: 1 << 6, ..item(1000.0) };
        let tree = ordered(&items, &joins).unwrap();
        let numbers: std::collections::BTreeSet<&str> =
            tree.split(|letter: char| !letter.is_ascii_digit()).filter(|word| !word.is_empty()).collect();
        assert_eq!(numbers.len(), count, "{tree}");
    }
}
