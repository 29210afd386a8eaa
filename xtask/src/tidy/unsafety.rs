//! Unsafe code: where it may live, and that it says why it is sound.
//!
//! The compiler's `forbid(unsafe_code)` does most of the work; what is checked here is that every crate root has it, that
//! the exceptions are the listed ones, and that each block and impl carries its reason.

use super::source::Source;
use super::{Finding, Tree, crate_of};

/// Where unsafe code may live outside `kernel`.
const EXCEPTIONS: &[&str] = &["crates/storage/src/page/raw.rs"];

/// Crates with an exception inside: their roots say `deny`, which the file of the exception may lift.
const DENIERS: [&str; 1] = ["storage"];

/// How many lines of a statement may stand between a reason and the block that it is for.
const STATEMENT_LINES: usize = 3;

/// Rule `unsafe`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in &tree.rust {
        let Some((name, rest)) = crate_of(path) else { continue };
        let mut note = |line: usize, message: &str| {
            found.push(Finding { path: path.clone(), line, rule: "unsafe", message: message.to_string() });
        };
        let empty = source.code.trim().is_empty();
        if is_root(rest) && !empty && name != "kernel" && !refuses(name, &source.code) {
            note(1, "the crate does not begin with #![forbid(unsafe_code)]");
        }
        let may = name == "kernel" || EXCEPTIONS.contains(&path.as_str());
        if !may && let Some(at) = source.code.find("allow(unsafe_code)") {
            note(source.line_of(at), "unsafe code is not to be allowed here");
        }
        for at in source.occurrences("unsafe") {
            let line = source.line_of(at);
            if !may {
                note(line, "unsafe code lives in kernel");
            } else if needs_reason(&source.code[at..]) && !has_reason(source, line) {
                note(line, "no SAFETY comment above");
            }
        }
    }
    found
}

fn is_root(path: &str) -> bool {
    path == "src/lib.rs" || path == "src/main.rs" || path.starts_with("src/bin/")
}

fn refuses(name: &str, code: &str) -> bool {
    code.contains("#![forbid(unsafe_code)]") || (DENIERS.contains(&name) && code.contains("#![deny(unsafe_code)]"))
}

/// Blocks and impls argue their soundness; a function's and a trait's docs tell what the caller owes.
fn needs_reason(code: &str) -> bool {
    let mut words = code["unsafe".len()..].split_whitespace();
    words.next().is_some_and(|word| word.starts_with('{') || word.starts_with("impl"))
}

/// Whether a comment with the reason stands on the line, or above it with only the beginning of the statement between.
fn has_reason(source: &Source, line: usize) -> bool {
    let (code, comments): (Vec<&str>, Vec<&str>) = (source.code.lines().collect(), source.comments.lines().collect());
    let is_reason = |at: usize| comments[at].contains("SAFETY");
    let is_comment = |at: usize| !comments[at].trim().is_empty() && code[at].trim().is_empty();
    let mut at = line - 1;
    if is_reason(at) {
        return true;
    }
    for _ in 0..=STATEMENT_LINES {
        if at == 0 {
            return false;
        }
        at -= 1;
        if code[at].trim_end().ends_with([';', '{', '}']) {
            return false; // the end of what stands before
        }
        if is_comment(at) {
            // The whole comment, however long, is the statement's.
            loop {
                if is_reason(at) {
                    return true;
                }
                if at == 0 || !is_comment(at - 1) {
                    return false;
                }
                at -= 1;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)]))
            .into_iter()
            .map(|finding| format!("{} {}", finding.line, finding.message))
            .collect()
    }

    #[test]
    fn a_block_without_its_reason_is_found() {
        let text = "\
//! x
fn a() {
    // SAFETY: the pointer came from a Box
    // and nobody else has it.
    let b =
        unsafe { c() };
    unsafe { c() };
    let d = unsafe { c() }; // SAFETY: as above.
}
unsafe impl Send for A {}
/// # Safety
/// The caller owns it.
unsafe fn e() {}
";
        assert_eq!(
            messages("crates/kernel/src/a.rs", text),
            ["7 no SAFETY comment above", "10 no SAFETY comment above"]
        );
    }

    #[test]
    fn unsafe_code_outside_its_places_is_found() {
        let text = "//! x\n// SAFETY: it is not.\nfn a() { unsafe { b() } }";
        assert_eq!(messages("crates/sql/src/a.rs", text), ["3 unsafe code lives in kernel"]);
        assert_eq!(messages("crates/storage/src/page/raw.rs", text), [""; 0]);
        assert_eq!(
            messages("crates/sql/src/b.rs", "//! x\n#![allow(unsafe_code)]"),
            ["2 unsafe code is not to be allowed here"]
        );
    }

    #[test]
    fn a_root_that_does_not_forbid_it_is_found() {
        let forbids = "//! x\n#![forbid(unsafe_code)]\n";
        let denies = "//! x\n#![deny(unsafe_code)]\n";
        assert_eq!(messages("crates/sql/src/lib.rs", forbids), [""; 0]);
        assert_eq!(messages("crates/storage/src/lib.rs", denies), [""; 0]);
        assert_eq!(messages("crates/sql/src/lib.rs", "//! Nothing yet.\n"), [""; 0]);
        assert_eq!(messages("crates/sql/src/lib.rs", "//! x\npub mod a;\n").len(), 1);
        assert_eq!(messages("crates/sql/src/lib.rs", &format!("{denies}pub mod a;")).len(), 1);
        assert_eq!(messages("crates/server/src/main.rs", "//! x\n// #![forbid(unsafe_code)]\nfn main() {}").len(), 1);
        assert_eq!(messages("crates/kernel/src/lib.rs", "//! x\n"), [""; 0]);
    }
}
