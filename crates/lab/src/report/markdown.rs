//! A report as Markdown: for terminals, commits and diffs. Charts become tables of their medians.

use super::chart::Kind;
use super::page::{Block, Page, Span, Table};
use std::fmt::Write;

/// Writes a page down.
pub fn write(page: &Page) -> String {
    let mut out = format!("# {}\n\n", text(&page.title));
    blocks(&mut out, &page.blocks);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Writes blocks down, with an empty line behind each.
fn blocks(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Heading(level, title) => {
                let _ = writeln!(out, "{} {}\n", "#".repeat(usize::from(*level)), text(title));
            }
            Block::Text(prose) => {
                let _ = writeln!(out, "{}\n", spans(prose));
            }
            Block::Warning(prose) => {
                let _ = writeln!(out, "> {}\n", spans(prose));
            }
            Block::List(items) => {
                for item in items {
                    let _ = writeln!(out, "- {}", spans(item));
                }
                out.push('\n');
            }
            Block::Table(table) => self::table(out, table),
            Block::Charts(group) => {
                let _ = writeln!(out, "### {}\n\n{}\n", text(&group.title), text(&group.note));
                for chart in group.charts.iter().filter(|chart| chart.kind != Kind::Seconds) {
                    let _ = writeln!(out, "{}:\n", text(&chart.title));
                    self::table(out, &chart.table());
                }
                if group.charts.iter().any(|chart| chart.kind == Kind::Seconds) {
                    let _ = writeln!(out, "Drawn in the HTML report only.\n");
                }
            }
            Block::Fold(_, inside) => self::blocks(out, inside),
        }
    }
}

/// Writes a table down; its caption only where no heading says the same.
fn table(out: &mut String, table: &Table) {
    let caption = table.caption.strip_prefix("Settings of ").map(|_| table.caption.as_str());
    if let Some(caption) = caption {
        let _ = writeln!(out, "{}:\n", text(caption));
    }
    let row = |out: &mut String, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| text(cell).replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    row(out, &table.head);
    let figures = if table.figures { "---:" } else { "---" };
    let rule: Vec<String> =
        (0..table.head.len()).map(|index| if index == 0 { "---" } else { figures }.to_string()).collect();
    let _ = writeln!(out, "| {} |", rule.join(" | "));
    for cells in &table.rows {
        row(out, cells);
    }
    out.push('\n');
}

/// Running text.
fn spans(prose: &[Span]) -> String {
    let span = |span: &Span| {
        let (inside, behind) = (span.text.trim_end(), &span.text[span.text.trim_end().len()..]);
        if span.strong && !inside.is_empty() { format!("**{}**{behind}", text(inside)) } else { text(&span.text) }
    };
    prose.iter().map(span).collect::<String>().trim_end().to_string()
}

/// Text whose signs mean nothing to Markdown, on one line.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' | '\r' => out.push(' '),
            '*' | '`' | '<' | '\\' => out.extend(['\\', sign]),
            _ => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::page::{plain, strong};
    use super::*;

    #[test]
    fn signs_of_markdown_are_only_signs() {
        let table = Table {
            caption: "c".into(),
            head: vec!["a|b".into(), "x".into()],
            rows: vec![vec!["two\nlines".into(), "<b>".into()]],
            figures: true,
        };
        let prose = vec![strong("all. "), plain("2*3 "), plain("")];
        let page = Page { title: "t_t".into(), blocks: vec![Block::Text(prose), Block::Table(table)] };
        let expected = "# t_t\n\n**all.** 2\\*3\n\n| a\\|b | x |\n| --- | ---: |\n| two lines | \\<b> |\n";
        assert_eq!(write(&page), expected);
    }
}
