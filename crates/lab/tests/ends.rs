//! However a run ends, nobody stays behind and what was measured is kept: an interrupt, a kill of the lab, a kill of its server, a disk
//! that is full, a peer that is not there.

mod support;

use lab::record::{self, Cell, Line};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder for one test: records in it, and the servers' data.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let folder = support::work().join(format!("gearbox-lab-ends-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("work")).unwrap();
        open_to_all(&folder);
        open_to_all(&folder.join("work"));
        Place(folder)
    }

    fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    fn records(&self) -> PathBuf {
        self.0.join("out/limit.jsonl")
    }

    /// `gearbox lab limit` on two variants, three rounds, with these words more.
    fn lab(&self, words: &[&str]) -> Command {
        let mut command = Command::new(support::gearbox());
        command.args(["lab", "limit", "--points", "2", "--layouts", "free", "--rounds", "3"]);
        command.args(["--variants", "limit process/shared,limit thread/fiber", "--seed", "5"]);
        command.arg("--out").arg(self.0.join("out")).arg("--work").arg(self.work()).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn cells(&self) -> Vec<Cell> {
        let lines = record::read(&self.records()).unwrap();
        assert!(matches!(lines[0], Line::Plan(_)));
        lines.into_iter().filter_map(|line| if let Line::Cell(cell) = line { Some(*cell) } else { None }).collect()
    }

    /// Processes whose command line names this place, the lab itself apart.
    fn servers(&self) -> Vec<u32> {
        let work = self.work().display().to_string();
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let line = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let ours = |pid: &u32| {
            let line = String::from_utf8_lossy(&line(pid)).into_owned();
            line.contains(&work) && !line.contains("--out")
        };
        pids.filter(ours).collect()
    }

    fn nobody_is_left(&self) {
        let began = Instant::now();
        while !self.servers().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(10), "left: {:?}", self.servers());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn homes(&self) -> usize {
        std::fs::read_dir(self.work()).unwrap().count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
}

/// Waits until the lab has told of so many cells.
fn await_cells(child: &mut Child, count: usize) -> BufReader<std::process::ChildStderr> {
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut seen = 0;
    while seen < count {
        let mut line = String::new();
        assert_ne!(told.read_line(&mut line).unwrap(), 0, "it ended before its cell {count}");
        seen += usize::from(line.contains("round "));
    }
    told
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

fn rest(mut told: BufReader<std::process::ChildStderr>) -> String {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut told, &mut text).unwrap();
    text
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Resumes and looks whether each cell is there once.
fn resume_completes(place: &Place, kept: usize) {
    assert_eq!(place.cells().len(), kept);
    let output = place.lab(&["--seconds", "0.4", "--resume"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let mut places: Vec<_> = place.cells().into_iter().map(|cell| (cell.round, cell.variant)).collect();
    assert_eq!(places.len(), 6);
    places.sort();
    places.dedup();
    assert_eq!(places.len(), 6);
    let plans = record::read(&place.records()).unwrap().iter().filter(|line| matches!(line, Line::Plan(_))).count();
    assert_eq!(plans, 1);
    assert!(place.0.join("out/limit.html").is_file());
    assert_eq!(place.homes(), 0);
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_a_resume_goes_on() {
    let place = Place::new("interrupt");
    let mut child = place.lab(&["--seconds", "0.4"]).spawn().unwrap();
    let told = await_cells(&mut child, 2);
    signal("INT", child.id());
    let text = rest(told);
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(text.contains("interrupted") && text.contains("--resume"), "{text}");
    place.nobody_is_left();
    assert_eq!(place.homes(), 0);
    resume_completes(&place, 2);
    // What was complete is not gone on with as something else.
    for other in [["--seconds", "0.5"], ["--seed", "6"]] {
        let output = place.lab(&[["--seconds", "0.4", "--resume"].as_slice(), &other].concat()).output().unwrap();
        assert!(!output.status.success() && said(&output).contains("was another one"), "{}", said(&output));
    }
}

#[test]
fn two_signals_at_once_are_one_interrupt_and_a_file_has_one_lab() {
    let place = Place::new("two");
    let mut child = place.lab(&["--seconds", "0.4"]).spawn().unwrap();
    let mut told = await_cells(&mut child, 1);
    let output = place.lab(&[]).output().unwrap();
    assert!(!output.status.success() && said(&output).contains("another lab adds to"), "{}", said(&output));
    // As `timeout` does, and as a terminal does that is closed while it is read by nobody.
    let pid = child.id().to_string();
    let both = format!("kill -s HUP {pid}; kill -s TERM {pid}");
    assert!(Command::new("sh").args(["-c", &both]).status().unwrap().success());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut told, &mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(text.contains("interrupted"), "{text}");
    place.nobody_is_left();
    assert_eq!(place.homes(), 0);
}

#[test]
fn a_report_does_not_take_the_place_of_its_records() {
    let place = Place::new("over");
    let file = place.0.join("records.md");
    std::fs::write(&file, "{\"kind\":\"cell\"").unwrap();
    let output = Command::new(support::gearbox()).args(["lab", "report"]).arg(&file).output().unwrap();
    assert!(!output.status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"kind\":\"cell\"");
}

#[test]
fn a_kill_of_the_lab_takes_its_servers_along_and_a_resume_goes_on() {
    let place = Place::new("kill");
    let mut child = place.lab(&["--seconds", "0.4"]).spawn().unwrap();
    let told = await_cells(&mut child, 3);
    // In the middle of a cell: a server runs.
    let began = Instant::now();
    while place.servers().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    signal("KILL", child.id());
    child.wait().unwrap();
    drop(told);
    place.nobody_is_left();
    // What the kill may leave of a line is passed over.
    let mut file = std::fs::OpenOptions::new().append(true).open(place.records()).unwrap();
    std::io::Write::write_all(&mut file, b"{\"kind\":\"cell\",\"run\":\"half a li").unwrap();
    let kept = place.cells().len();
    assert!(kept >= 3);
    resume_completes(&place, kept);
}

#[test]
fn a_server_that_dies_costs_its_cell_and_is_quoted() {
    let place = Place::new("server");
    let mut child = place.lab(&["--seconds", "1.5", "--rounds", "1"]).spawn().unwrap();
    let killed = Instant::now();
    loop {
        let servers = place.servers();
        // The load runs a while after the start.
        if !servers.is_empty() && killed.elapsed() > Duration::from_millis(1500) {
            servers.iter().for_each(|pid| drop(Command::new("kill").args(["-9", &pid.to_string()]).output()));
            break;
        }
        assert!(killed.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = BufReader::new(child.stderr.take().unwrap());
    let text = rest(told);
    assert_eq!(child.wait().unwrap().code(), Some(1), "{text}");
    let cells = place.cells();
    let failures: Vec<&String> = cells.iter().filter_map(|cell| cell.failure.as_ref()).collect();
    assert_eq!((cells.len(), failures.len()), (2, 1), "{cells:?}");
    assert!(failures[0].contains("killed") || failures[0].contains("signal"), "{failures:?}");
    let report = std::fs::read_to_string(place.0.join("out/limit.md")).unwrap();
    assert!(report.contains("signal") || report.contains("killed"), "{report}");
    place.nobody_is_left();
}

#[test]
fn a_full_disk_is_said_and_what_was_measured_before_is_whole() {
    let place = Place::new("full");
    let small = place.0.join("out");
    std::fs::create_dir_all(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=8k", "tmpfs"])
        .arg(&small)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        println!("left out: a small file system needs the right to mount one");
        return;
    }
    let output = place.lab(&["--seconds", "0.1"]).output().unwrap();
    let text = said(&output);
    let lines = record::read(&place.records()).map(|lines| lines.len());
    Command::new("umount").arg(&small).status().unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("No space left on device") && text.contains("Make room"), "{text}");
    assert!(lines.is_ok_and(|lines| (1..7).contains(&lines)), "{text}");
    place.nobody_is_left();
    assert_eq!(place.homes(), 0);
}

#[test]
fn what_is_not_there_is_said_with_a_way_to_get_it() {
    let place = Place::new("missing");
    let mut command = Command::new(support::gearbox());
    command.args(["lab", "point-select", "--quick", "--variants", "PostgreSQL 18"]);
    command.arg("--out").arg(place.0.join("out")).env("GEARBOX_LAB_PEERS", "/nonexistent").env("PATH", "/usr/bin:/bin");
    command.arg("--work").arg(place.work());
    if !Path::new("/usr/lib/postgresql/18").exists() && !support::gearbox().ancestors().any(has_peers) {
        let output = command.output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("PostgreSQL 18 is not installed") && text.contains("apt-get install"), "{text}");
    }
    // A server that is not up is told before anything is measured.
    let output = place.lab(&["--server", "127.0.0.1:1", "--variants", "127.0.0.1:1"]).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("no server at 127.0.0.1:1") && text.contains("refused"), "{text}");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let output = place.lab(&["--server", &address, "--variants", &address, "--rounds", "1"]).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("it does not answer (Start it"), "{text}");
}

fn has_peers(folder: &Path) -> bool {
    folder.join("peers").exists()
}
