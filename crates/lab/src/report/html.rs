//! A report as one page of HTML that needs nothing from elsewhere: style and charts are in it, and there is no script.
//!
//! It is made for a screen of any width (wide tables and charts scroll within themselves, the page does not), for paper, and
//! for readers that do not see it: tables have headings for rows and columns, charts a title and a description, and every
//! chart's figures stand in a table below it.

use super::chart::{Chart, Kind, style};
use super::page::{Block, Group, Page, Prose, Table};
use std::fmt::Write;

/// How it looks.
const STYLE: &str = "
:root { color-scheme: light; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: #fff; color: #1c1c1c; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.8rem; line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 2px solid #1c1c1c; font-size: 1.4rem; }
h3 { margin-top: 2rem; font-size: 1.15rem; }
h4 { margin-bottom: 0; font-size: 1rem; }
p, li { max-width: 60rem; overflow-wrap: anywhere; }
li { margin: .3rem 0; }
.warning { padding: .5rem .8rem; border-left: 6px solid #d55e00; background: #fdf1e7; }
.scroll { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; font-size: .82rem; line-height: 1.35; }
caption { text-align: left; color: #555; padding-bottom: .3rem; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; max-width: 22rem; overflow-wrap: break-word; }
thead th { border-bottom: 2px solid #777; vertical-align: bottom; overflow-wrap: normal; }
tbody tr { background: #fff; }
tbody th { position: sticky; left: 0; background: inherit; font-weight: 600; min-width: 7rem; max-width: 16rem; }
.figures td, .figures thead th:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; }
.figures .short { white-space: nowrap; max-width: none; }
tbody tr:nth-child(even) { background: #f7f7f7; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .5rem 0; padding: 0; list-style: none; font-size: .9rem; }
.legend li { display: flex; align-items: center; gap: .4rem; margin: 0; }
.swatch { width: 50px; height: 16px; flex: none; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr)); gap: 1rem 1.5rem; }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figcaption { font-weight: 600; }
.chart { overflow-x: auto; }
.chart svg { display: block; width: 100%; min-width: 21rem; max-width: 44rem; height: auto; }
.chart text { font-family: system-ui, \"DejaVu Sans\", sans-serif; }
details { margin: .5rem 0; }
summary { cursor: pointer; }
@page { size: landscape; margin: 12mm; }
@media print {
  body { max-width: none; font-size: 10pt; }
  .scroll, .chart { overflow: visible; }
  .chart svg { min-width: 0; }
  table { font-size: 6.5pt; }
  .figures .short { white-space: normal; }
  tr { break-inside: avoid; }
  h2, h3, h4, caption { break-after: avoid; }
  .charts { grid-template-columns: 1fr 1fr; }
  details::details-content { content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; }
}
";

/// Writes a page down.
pub fn write(page: &Page) -> String {
    let title = text(&page.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    );
    blocks(&mut out, &page.blocks);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Text whose signs mean nothing to HTML.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(sign),
        }
    }
    // A sign of multiplication does not begin a line.
    out.replace(" ×", "\u{a0}×")
}

/// Writes blocks down.
fn blocks(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        let _ = match block {
            Block::Heading(level, title) => writeln!(out, "<h{level}>{}</h{level}>", text(title)),
            Block::Text(prose) => writeln!(out, "<p>{}</p>", spans(prose)),
            Block::Warning(prose) => writeln!(out, "<p class=\"warning\">{}</p>", spans(prose)),
            Block::List(items) => {
                let items: String = items.iter().map(|item| format!("<li>{}</li>\n", spans(item))).collect();
                writeln!(out, "<ul>\n{items}</ul>")
            }
            Block::Table(table) => {
                self::table(out, table);
                Ok(())
            }
            Block::Charts(group) => {
                charts(out, group);
                Ok(())
            }
            Block::Fold(title, inside) => {
                fold(out, title, |out| self::blocks(out, inside));
                Ok(())
            }
        };
    }
}

/// Writes down what is folded away under a title.
fn fold(out: &mut String, title: &str, inside: impl FnOnce(&mut String)) {
    let _ = writeln!(out, "<details>\n<summary>{}</summary>", text(title));
    inside(out);
    out.push_str("</details>\n");
}

/// Running text.
fn spans(prose: &Prose) -> String {
    let span = |span: &super::page::Span| {
        let text = text(&span.text);
        if span.strong { format!("<strong>{text}</strong>") } else { text }
    };
    prose.iter().map(span).collect::<String>().trim_end().to_string()
}

/// Writes a table down, in a box of its own that scrolls where it is too wide.
fn table(out: &mut String, table: &Table) {
    let class = if table.figures { " class=\"figures\"" } else { "" };
    let caption = text(&table.caption);
    let _ = writeln!(out, "<div class=\"scroll\">\n<table{class}>\n<caption>{caption}</caption>\n<thead><tr>");
    for head in &table.head {
        let _ = writeln!(out, "<th scope=\"col\">{}</th>", text(head));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            // What fits on a line stays on one; sentences may break.
            let class = if table.figures && cell.chars().count() <= 36 { " class=\"short\"" } else { "" };
            let _ = match index {
                0 => write!(out, "<th scope=\"row\"{class}>{}</th>", text(cell)),
                _ if cell.starts_with("DIFFERS") => write!(out, "<td><strong>{}</strong></td>", text(cell)),
                _ => write!(out, "<td{class}>{}</td>", text(cell)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// Writes charts down with their legend, and their figures folded away below.
fn charts(out: &mut String, group: &Group) {
    let _ = writeln!(out, "<h3>{}</h3>\n<p>{}</p>", text(&group.title), text(&group.note));
    if group.charts.iter().any(|chart| chart.kind != Kind::Bars) {
        legend(out, &group.charts);
    }
    out.push_str("<div class=\"charts\">\n");
    for chart in &group.charts {
        let caption = text(&chart.title);
        let _ = writeln!(
            out,
            "<figure>\n<figcaption>{caption}</figcaption>\n<div class=\"chart\">{}</div>\n</figure>",
            chart.svg()
        );
    }
    out.push_str("</div>\n");
    let tables = group.charts.iter().filter(|chart| chart.kind != Kind::Seconds);
    if tables.clone().next().is_some() {
        fold(out, "These charts as tables", |out| tables.for_each(|chart| table(out, &chart.table())));
    }
}

/// Writes down which line is whose.
fn legend(out: &mut String, charts: &[Chart]) {
    let mut known: Vec<&str> = Vec::new();
    out.push_str("<ul class=\"legend\">\n");
    for series in charts.iter().flat_map(|chart| &chart.series) {
        if !known.contains(&series.name.as_str()) && series.marks.iter().any(Option::is_some) {
            known.push(&series.name);
            let _ = writeln!(out, "<li>{}{}</li>", style::swatch(&series.style), text(&series.name));
        }
    }
    if charts.iter().any(|chart| chart.marks().any(|mark| mark.hollow)) {
        out.push_str("<li>(hollow: the driver was the bottleneck)</li>\n");
    }
    out.push_str("</ul>\n");
}
