//! The form of a file: it starts by saying what it is, and it ends before the reader gives up.

use super::{Finding, Tree};

/// A file longer than this has a second noun inside.
const LINES_MAX: usize = 1200;

/// Rule `head`.
pub fn heads(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in &tree.rust {
        let first = source.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if !first.starts_with("//!") {
            let message = "the file does not begin with a head doc (`//!`)".to_string();
            found.push(Finding { path: path.clone(), line: 1, rule: "head", message });
        }
    }
    found
}

/// Rule `length`.
pub fn lengths(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in &tree.rust {
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            let message = format!("{lines} lines; above {LINES_MAX} look for a second noun");
            found.push(Finding { path: path.clone(), line: LINES_MAX, rule: "length", message });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_head_is_found() {
        let tree = Tree::of(&[("crates/sql/src/a.rs", "// no\nfn a() {}"), ("crates/sql/src/b.rs", "\n//! yes\n")]);
        let paths: Vec<String> = heads(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/sql/src/a.rs"]);
    }

    #[test]
    fn a_long_file_is_found() {
        let tree =
            Tree::of(&[("a.rs", "x\n".repeat(LINES_MAX).as_str()), ("b.rs", "x\n".repeat(LINES_MAX + 1).as_str())]);
        let paths: Vec<String> = lengths(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["b.rs"]);
    }
}
