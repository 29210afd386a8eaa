//! `docs/settings.md`, made from the table.

use super::parse::show;
use super::setting::{Category, Context, Flags, Setting};
use super::table::TABLE;
use std::fmt::Write;

const HEAD: &str = "\
# Settings

<!-- Generated from the table in crates/base/src/settings/table.rs. Do not edit. -->

The name of a setting is the same everywhere; upper and lower case do not matter. Where PostgreSQL has a setting, name,
units and meaning are PostgreSQL's.

## How to set one

| | for whom | example |
|---|---|---|
| option of the command line | the server, from its start | `gearbox serve --work-mem 64MB` |
| environment variable | the server, from its start | `GEARBOX_WORK_MEM=64MB gearbox` |
| `ALTER SYSTEM` | the server, after a reload or, if it says so below, after a restart | `ALTER SYSTEM SET work_mem = '64MB'` |
| configuration file, in TOML | the server, after a reload or a restart | `work_mem = \"64MB\"` |
| `SET` | the session | `SET work_mem = '64MB'` |

The first of the upper four that names a setting wins; what none of them names has its default. `SET` is for the session
that says it and ends with it. `SHOW name` prints the value in force; the view `pg_settings` also tells where it comes
from and whether a new value waits for a restart.

Numbers take units: memory `B`, `kB`, `MB`, `GB`, `TB`, time `us`, `ms`, `s`, `min`, `h`, `d`; `1.5GB` and `2min` are
values. A number without a unit counts the setting's own unit, which stands below.
";

/// The text of `docs/settings.md`.
pub fn manual() -> String {
    let mut page = HEAD.to_owned();
    for &category in Category::ALL {
        write_chapter(&mut page, category).expect("writing to a string does not fail");
    }
    page
}

fn write_chapter(page: &mut String, category: Category) -> std::fmt::Result {
    writeln!(page, "\n## {}", category.title())?;
    for setting in TABLE.iter().filter(|setting| setting.category == category) {
        writeln!(page, "\n### `{}`\n\n{}", setting.name, setting.short_doc())?;
        for paragraph in setting.long_doc() {
            writeln!(page, "\n{paragraph}")?;
        }
        writeln!(page)?;
        write_facts(page, setting)?;
    }
    Ok(())
}

fn write_facts(page: &mut String, setting: &Setting) -> std::fmt::Result {
    let default = show(setting.id, setting.default_value().as_ref());
    let default = if default.is_empty() { "empty".to_owned() } else { format!("`{default}`") };
    if setting.context == Context::Internal {
        return writeln!(page, "- Value: {default}, or what the server computes; it cannot be set.");
    }
    writeln!(page, "- Values: {}", setting.values_text())?;
    let unit = setting.kind.unit().name();
    if !unit.is_empty() {
        writeln!(page, "- Unit: {unit}")?;
    }
    writeln!(page, "- Default: {default}")?;
    writeln!(page, "- Changes: {}", changes(setting))?;
    if setting.flags.has(Flags::NOT_IN_FILES) && setting.is_per_session() {
        return Ok(());
    }
    writeln!(page, "- Option and variable: `{}`, `{}`", setting.option_name(), setting.variable())
}

fn changes(setting: &Setting) -> String {
    let mut text = match setting.context {
        Context::Internal => "never",
        Context::Start => "when the server starts",
        Context::Reload => "while the server runs, for all",
        Context::SuperSession => "by `SET` of a superuser, or for all while the server runs",
        Context::Session => "by `SET`, or for all while the server runs",
    }
    .to_owned();
    if setting.flags.has(Flags::NOT_IN_FILES) {
        text = match setting.context {
            Context::Start => "when the server starts; not in files and not by `ALTER SYSTEM`",
            _ => "by `SET` only",
        }
        .to_owned();
    } else if setting.flags.has(Flags::NOT_IN_AUTO_FILE) {
        text.push_str("; not by `ALTER SYSTEM`");
    }
    if setting.flags.has(Flags::REPORT) {
        text.push_str("; clients are told");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_its_place() {
        let page = manual();
        for setting in &TABLE {
            let heading = format!("\n### `{}`\n\n{}\n", setting.name, setting.short_doc());
            assert_eq!(page.matches(&heading).count(), 1, "{}", setting.name);
            if setting.context == Context::Start {
                assert!(page.contains(&format!("`GEARBOX_{}`", setting.name.to_uppercase())));
            }
        }
        for category in Category::ALL {
            assert!(page.contains(&format!("\n## {}\n\n###", category.title())), "{category:?} is empty");
        }
    }

    #[test]
    fn a_section_says_all_there_is() {
        let page = manual();
        let start = page.find("### `engine`").unwrap();
        let end = page.find("### `sessions`").unwrap();
        let section = &page[start..end];
        for line in [
            "What an engine is: an operating-system process or an operating-system thread.",
            "- Values: process, thread",
            "- Default: `thread`",
            "- Changes: when the server starts",
            "- Option and variable: `--engine`, `GEARBOX_ENGINE`",
        ] {
            assert!(section.lines().any(|found| found == line), "{line:?} is not in\n{section}");
        }
        assert!(page.contains("- Values: 64kB to 2147483647kB\n- Unit: kB\n- Default: `4MB`\n"));
    }
}
