//! The files that are made, not written: one row each in [`GENERATED`].
//!
//! A producer is a pure function of the tree, so generating twice changes nothing and `gen --check` can tell whether
//! somebody edited the result or forgot to make it again.

use crate::args::Args;
use crate::{Outcome, tree};
use std::path::Path;

/// Makes a file's text from the tree.
pub type Producer = fn(&Path) -> Outcome<String>;

/// Every generated file with what makes it.
pub const GENERATED: &[(&str, Producer)] = &[("docs/settings.md", |_| Ok(base::settings::manual()))];

/// `cargo xtask gen [--check]`.
pub fn run(mut args: Args) -> Outcome<()> {
    let check = args.flag("--check");
    args.done()?;
    if check { verify(&tree::root(), GENERATED) } else { write(&tree::root(), GENERATED) }
}

/// Makes the files of the table.
pub fn write(root: &Path, table: &[(&str, Producer)]) -> Outcome<()> {
    for (path, produce) in table {
        tree::write(&root.join(path), &produce(root)?)?;
    }
    Ok(())
}

/// Names the files of the table that are not what their producer makes.
pub fn verify(root: &Path, table: &[(&str, Producer)]) -> Outcome<()> {
    let mut stale = Vec::new();
    for (path, produce) in table {
        if tree::read(&root.join(path)).unwrap_or_default() != produce(root)? {
            stale.push(*path);
        }
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!("out of date: {}; make again: cargo xtask gen", stale.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_edited_by_hand_is_named() {
        let root = tree::scratch("gen").unwrap();
        let table: &[(&str, Producer)] = &[("docs/a.md", |_| Ok("made\n".into())), ("b.md", |_| Ok("too\n".into()))];
        assert!(verify(&root, table).unwrap_err().contains("docs/a.md, b.md"));
        write(&root, table).unwrap();
        assert_eq!(verify(&root, table), Ok(()));
        tree::write(&root.join("b.md"), "edited\n").unwrap();
        assert!(verify(&root, table).unwrap_err().contains("out of date: b.md;"));
        std::fs::remove_dir_all(root).unwrap();
    }
}
