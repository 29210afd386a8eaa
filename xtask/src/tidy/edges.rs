//! Who may depend on whom, and on what from outside.
//!
//! ```text
//! base <- kernel <- storage <- sql <- server        lab, xtask: base at most
//! base <- types <------------- sql
//! base <- protocol <------------------ server       the program has both: server <- lab
//! ```
//!
//! `testkit` may use what it tests, and only tests may use `testkit`.

use super::{Finding, Tree};

/// Each crate with the crates of this workspace that it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("kernel", &["base"]),
    ("storage", &["base", "kernel"]),
    ("types", &["base"]),
    ("sql", &["base", "kernel", "storage", "types"]),
    ("protocol", &["base"]),
    ("server", &["base", "kernel", "storage", "types", "sql", "protocol", "lab"]),
    ("lab", &["base"]),
    ("testkit", &["base", "kernel", "storage", "types", "sql", "protocol"]),
    ("xtask", &["base"]),
];

/// What tests may use besides.
const FOR_TESTS: &str = "testkit";

/// The paper that gives each foreign crate its reason.
const PAPER: &str = "docs/dependencies.md";

/// One dependency in a manifest.
struct Dependency {
    name: String,
    line: usize,
    for_tests: bool,
}

/// Rule `edges`.
pub fn edges(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, name, dependencies) in manifests(tree) {
        let mut note = |line: usize, message: String| {
            found.push(Finding { path: path.to_string(), line, rule: "edges", message });
        };
        let Some((_, allowed)) = ALLOWED.iter().find(|(crate_name, _)| *crate_name == name) else {
            note(1, format!("{name} is not in the floor plan; its place belongs into the table of this rule"));
            continue;
        };
        for dependency in dependencies {
            let ours = ALLOWED.iter().any(|(crate_name, _)| *crate_name == dependency.name);
            let test_help = dependency.for_tests && dependency.name == FOR_TESTS;
            if ours && !test_help && !allowed.contains(&dependency.name.as_str()) {
                note(dependency.line, format!("{name} must not depend on {}", dependency.name));
            }
        }
    }
    found
}

/// Rule `dependency`.
pub fn dependencies(tree: &Tree) -> Vec<Finding> {
    let paper = tree.text.get(PAPER).map(String::as_str).unwrap_or_default();
    let mut found = Vec::new();
    for (path, _, dependencies) in manifests(tree) {
        for dependency in dependencies {
            let ours = ALLOWED.iter().any(|(name, _)| *name == dependency.name);
            if !ours && !paper.contains(&format!("`{}`", dependency.name)) {
                let message = format!("{} has no reason in {PAPER}", dependency.name);
                found.push(Finding { path: path.to_string(), line: dependency.line, rule: "dependency", message });
            }
        }
    }
    found
}

fn manifests(tree: &Tree) -> Vec<(&str, &str, Vec<Dependency>)> {
    let manifests = tree.text.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
    manifests.filter_map(|(path, text)| Some((path.as_str(), super::crate_of(path)?.0, parse(text)))).collect()
}

/// The dependencies of a manifest, as far as TOML is used in one: `name.workspace = true`, `name = …`, or a table
/// `[dependencies.name]`.
fn parse(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section: Option<bool> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            let for_tests = header.contains("dev-dependencies");
            section = header.ends_with("dependencies").then_some(for_tests);
            if let Some((_, name)) = header.split_once("dependencies.") {
                found.push(Dependency { name: name.trim().to_string(), line: index + 1, for_tests });
            }
        } else if let (Some(for_tests), Some((key, _))) = (section, line.split_once('=')) {
            let name = key.split('.').next().unwrap_or_default().trim().trim_matches('"').to_string();
            found.push(Dependency { name, line: index + 1, for_tests });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
        rule(&Tree::of(files)).into_iter().map(|finding| format!("{} {}", finding.line, finding.message)).collect()
    }

    #[test]
    fn an_arrow_that_points_back_is_found() {
        let manifest = "[package]\nname = \"storage\"\n[dependencies]\nkernel.workspace = true\nsql.workspace = true\n";
        assert_eq!(messages(edges, &[("crates/storage/Cargo.toml", manifest)]), ["5 storage must not depend on sql"]);
        let table = "[target.'cfg(unix)'.dependencies.server]\npath = \"../server\"\n";
        assert_eq!(messages(edges, &[("crates/lab/Cargo.toml", table)]), ["1 lab must not depend on server"]);
    }

    #[test]
    fn test_help_is_for_tests() {
        let manifest = "[dependencies]\ntestkit.workspace = true\n[dev-dependencies]\ntestkit = { workspace = true }\n";
        assert_eq!(messages(edges, &[("crates/sql/Cargo.toml", manifest)]), ["2 sql must not depend on testkit"]);
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        assert_eq!(messages(edges, &[("crates/utils/Cargo.toml", "[package]\n")]).len(), 1);
    }

    #[test]
    fn a_foreign_crate_without_a_reason_is_found() {
        let manifest = "[dependencies]\nlibc.workspace = true\nleft-pad = \"1\" # why not\n";
        let files = [("crates/kernel/Cargo.toml", manifest), ("docs/dependencies.md", "| `libc` | the system |\n")];
        assert_eq!(messages(dependencies, &files), ["3 left-pad has no reason in docs/dependencies.md"]);
    }
}
