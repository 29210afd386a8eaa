//! Paths that papers name: a map is worse than none when its places are gone.
//!
//! A path is what stands between backticks and begins with one of the repository's top folders, or names one of the papers
//! at the top. `crates/kernel/src/wait` is right for a folder and for `wait.rs`; `NNNN` and `*` stand for any name.

use super::{Finding, Tree};

/// The papers that are read, besides everything directly in `docs/`.
const PAPERS: [&str; 3] = ["ARCHITECTURE.md", "README.md", "STYLE.md"];

/// What a path begins with.
const TOPS: [&str; 6] = ["crates/", "docs/", "tests/", "xtask/", ".ci/", ".cargo/"];

/// Rule `path`.
pub fn paths(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (paper, text) in &tree.text {
        let in_docs = paper.strip_prefix("docs/").is_some_and(|rest| !rest.contains('/'));
        if !in_docs && !PAPERS.contains(&paper.as_str()) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            for path in line.split('`').skip(1).step_by(2).filter(|path| is_path(path)) {
                if !exists(tree, path) {
                    let message = format!("{path} is not there");
                    found.push(Finding { path: paper.clone(), line: index + 1, rule: "path", message });
                }
            }
        }
    }
    found
}

fn is_path(text: &str) -> bool {
    let plain = !text.contains([' ', '*', '<', '{']) && !text.contains("NNNN") && !text.contains('…');
    plain && (TOPS.iter().any(|top| text.starts_with(top)) || (text.ends_with(".md") && !text.contains('/')))
}

fn exists(tree: &Tree, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    [path.to_string(), format!("{path}/"), format!("{path}.rs")].iter().any(|name| tree.names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_is_found() {
        let paper = "See `crates/kernel/src/wait`, `crates/kernel/src/io/`, `README.md`, `crates/*/src` and `docs/decisions/NNNN-title.md`.\n\
                     Gone: `crates/kernel/src/gone`, `docs/gone.md`, `GONE.md`; not a path: `select 1/2`, `a.rs`.\n";
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", paper),
            ("README.md", ""),
            ("crates/kernel/src/wait.rs", ""),
            ("crates/kernel/src/io/mod.rs", ""),
            ("docs/decisions/0001-x.md", "`docs/gone.md` is history's own business"),
        ]);
        let found: Vec<String> =
            paths(&tree).into_iter().map(|finding| format!("{} {}", finding.line, finding.message)).collect();
        assert_eq!(
            found,
            ["2 crates/kernel/src/gone is not there", "2 docs/gone.md is not there", "2 GONE.md is not there"]
        );
    }
}
