//! Reports as a browser lays them out: no two labels touch, none leaves its chart, no chart is empty, nothing is too wide.
//!
//! The browser is Chromium without a window. A copy of a report gets `look.js` appended, which measures the page and writes
//! what is wrong into it; the page is then printed by `--dump-dom`. Where there is no Chromium the tests say so and end.

use crate::synthetic;
use lab::report;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// The browser, or a line on the terminal that says that there is none.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found =
        std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|file| file.is_file());
    if found.is_none() {
        // Past the test harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "not looked at in a browser: chromium is not installed");
    }
    found
}

/// A folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("gearbox-lab-look-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What is wrong with a page: how many charts were looked at, in two widths, and the faults.
fn look(chromium: &PathBuf, folder: &Folder, name: &str, page: &str) -> (u64, Vec<String>) {
    let file = folder.0.join(format!("{name}.html"));
    let script = format!("<script>{}</script>\n</body>", include_str!("look.js"));
    std::fs::write(&file, page.replace("</body>", &script)).unwrap();
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120"])
        .arg(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .args(["--window-size=1300,1000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.0.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let complaint = || format!("{name}: {}", String::from_utf8_lossy(&output.stderr));
    let (_, found) = dom.rsplit_once("<pre id=\"look\">").unwrap_or_else(|| panic!("{}", complaint()));
    let found = found.split("</pre>").next().unwrap().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let faults = found["faults"].as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_string());
    (found["charts"].as_u64().unwrap(), faults.collect())
}

#[test]
fn labels_can_be_read_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("all");
    let mut wrong = Vec::new();
    for (name, run) in synthetic::all() {
        let page = report::html(&run.lines());
        let (charts, faults) = look(&chromium, &folder, name, &page);
        assert_eq!(charts, 2 * page.matches("<svg viewBox").count() as u64, "{name}");
        wrong.extend(faults.into_iter().map(|fault| format!("{name}, {fault}")));
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_page_with_faults_does_not_pass() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("faults");
    let text = |x: i32, text: &str| format!("<text x=\"{x}\" y=\"400\" font-size=\"32\">{text}</text>");
    let chart = |inside: &str| {
        format!(
            "<figure><div class=\"chart\"><svg viewBox=\"0 0 1440 800\"><title>T</title>{inside}</svg></div></figure>"
        )
    };
    let mark = "<rect x=\"9\" y=\"9\" width=\"9\" height=\"9\"/>";
    let cases = [
        (format!("{mark}{}{}{}", text(100, "left"), text(600, "middle"), text(130, "over")), "overlap"),
        (format!("{mark}{}{}{}", text(100, "a"), text(600, "b"), text(1400, "too far right")), "leaves the chart"),
        (format!("{}{}{}", text(100, "a"), text(600, "b"), text(900, "c")), "no mark is drawn"),
        (format!("{mark}{}{}{}", text(100, "a"), text(600, "b"), text(900, "c")), ""),
    ];
    for (index, (inside, fault)) in cases.iter().enumerate() {
        let style = "<style>.chart { overflow-x: auto } svg { display: block; min-width: 33rem }</style>";
        let page = format!("<!doctype html><html><head>{style}</head><body>{}</body></html>", chart(inside));
        let (_, faults) = look(&chromium, &folder, &format!("case-{index}"), &page);
        assert_eq!(faults.is_empty(), fault.is_empty(), "{faults:?}");
        assert!(faults.iter().all(|found| found.contains(fault)), "{faults:?}");
    }
    let wide = "<!doctype html><html><body><div style=\"width: 2000px\">x</div></body></html>";
    let (_, faults) = look(&chromium, &folder, "wide", wide);
    assert!(faults.iter().any(|fault| fault.contains("wider than the screen")), "{faults:?}");
}
