//! The processes of a server as `/proc` shows them: who they are, and what they have used.
//!
//! Definitions
//! - A *tree* is the root process, whoever is in its session, whoever carries its mark, and the descendants of all of these. The
//!   mark is a server's directory: it is in the environment, and `data` in it may be where a process works. PostgreSQL's
//!   backends have sessions of their own and overwrite their environment, but have a parent, and keep their directory when it dies.
//! - A *tick* is what `/proc` counts CPU time in: 10 ms, rounded down for each process.
//!
//! Where the figures come from
//!
//! | | living processes, ended threads included | children that ended and were waited for |
//! |---|---|---|
//! | CPU time | the process' CPU clock, in ns | `cutime`, `cstime`, in ticks of the sum |
//! | user or system | `utime`, `stime` in ticks, see rule 3 | `cutime`, `cstime` |
//! | page faults | `minflt`, `majflt` | `cminflt`, `cmajflt` |
//! | bytes | `/proc/PID/io` | in the same file |
//! | switches | `status` of each living task, see rule 4 | nobody knows |
//!
//! Rules
//! 1. CPU time is not rounded for each process. Hundreds of processes with a few milliseconds each would be nothing but
//!    rounding. What the kernel adds up for children is rounded once for each parent.
//! 2. A child's time moves from its own counters to its parent's when the parent waits for it, so only sums over the tree are
//!    compared. Between its end and that moment it is a zombie, and counts. Children of a process that ignores `SIGCHLD`
//!    are lost, as they are to `getrusage`.
//! 3. User and system are split as the ticks are. Where the ticks cover only a part, because processes have not even one, the
//!    rest is split as what the machine's processors did and neither the ticks nor the driver explain.
//! 4. Switches of tasks that ended are not to be had without privileges. Those of living ones are compared task by task, so what is
//!    counted is a lower bound where tasks come and go, and exact where they stay.

use super::machine::Processors;
use crate::record::Cost;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// The environment variable that marks a server's processes.
pub const MARK: &str = "GEARBOX_LAB";

/// Nanoseconds in a tick: `/proc` has 100 to the second on every Linux.
const TICK_NS: u64 = 10_000_000;

/// Where the processes of a server are to be found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    root: u32,
    mark: Option<String>,
    /// Whether only the root is meant.
    alone: bool,
}

impl Tree {
    /// The tree under `root`, which leads a session of its own and was started with [`MARK`] set to `mark`.
    pub fn under(root: u32, mark: Option<String>) -> Tree {
        Tree { root, mark, alone: false }
    }

    /// This process without its children: the driver.
    pub fn driver() -> Tree {
        Tree { root: std::process::id(), mark: None, alone: true }
    }

    /// The first process.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// The living members, in the order of their ids. Zombies are not among them.
    pub fn members(&self) -> Vec<Process> {
        let mut all = self.with_zombies(true);
        all.retain(|process| process.state != 'Z');
        all
    }

    /// Members, those included that ended and were not waited for. The environment is looked at where `thorough`: that
    /// costs a file for each process of the machine.
    fn with_zombies(&self, thorough: bool) -> Vec<Process> {
        if self.alone {
            return Process::read(self.root).into_iter().collect();
        }
        let all = numbers_in("/proc").into_iter().filter_map(Process::read).collect();
        closure(all, self.root, |process| thorough && self.mark.as_ref().is_some_and(|mark| process.is_marked(mark)))
    }

    /// CPU time up to now in nanoseconds: cheap enough for once a second.
    pub fn cpu_ns(&self) -> u64 {
        let members = self.with_zombies(false);
        members.iter().map(|process| process.cpu_ns() + self.reaped(process).ns()).sum()
    }

    /// The time of a member's children that were waited for. The driver's children are the servers, which are not the driver.
    fn reaped(&self, process: &Process) -> Ticks {
        if self.alone { Ticks::default() } else { process.reaped }
    }
}

/// One line of `/proc/PID/stat`, as far as it is of use here.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The program's short name.
    pub name: String,
    /// `R`, `S`, `D`, `Z`, …
    pub state: char,
    /// How many threads it has.
    pub threads: u64,
    parent: u32,
    session: u32,
    own: Ticks,
    reaped: Ticks,
    minor_faults: u64,
    major_faults: u64,
}

/// CPU time by mode, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Ticks {
    user: u64,
    system: u64,
}

impl Ticks {
    fn ns(self) -> u64 {
        (self.user + self.system) * TICK_NS
    }
}

impl Process {
    fn read(pid: u32) -> Option<Process> {
        Process::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(line: &str) -> Option<Process> {
        let (head, tail) = line.rsplit_once(')')?;
        let (pid, name) = head.split_once('(')?;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Process {
            pid: pid.trim().parse().ok()?,
            name: name.to_string(),
            state: fields.first()?.chars().next()?,
            parent: number(1)? as u32,
            session: number(3)? as u32,
            minor_faults: number(7)? + number(8)?,
            major_faults: number(9)? + number(10)?,
            own: Ticks { user: number(11)?, system: number(12)? },
            reaped: Ticks { user: number(13)?, system: number(14)? },
            threads: number(17)?,
        })
    }

    fn is_marked(&self, mark: &str) -> bool {
        let wanted = format!("{MARK}={mark}");
        let works_in = std::fs::read_link(format!("/proc/{}/cwd", self.pid));
        if works_in.is_ok_and(|place| place.starts_with(Path::new(mark).join("data"))) {
            return true;
        }
        let environment = std::fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
    }

    /// Its own time, that of ended threads included. Where the clock cannot be read any more, what was in `stat`.
    fn cpu_ns(&self) -> u64 {
        let clock = clock_getcpuclockid(Pid::from_raw(self.pid as i32)).and_then(clock_gettime);
        let exact = clock.map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64);
        exact.max(self.own.ns())
    }
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn closure(mut others: Vec<Process>, root: u32, also: impl Fn(&Process) -> bool) -> Vec<Process> {
    others.sort_by_key(|process| process.pid);
    let mut ids = BTreeSet::from([root]);
    ids.extend(others.iter().filter(|process| process.session == root || also(process)).map(|process| process.pid));
    loop {
        let before = ids.len();
        let children: Vec<u32> = others.iter().filter(|p| ids.contains(&p.parent)).map(|p| p.pid).collect();
        ids.extend(children);
        if ids.len() == before {
            break;
        }
    }
    others.retain(|process| ids.contains(&process.pid));
    others
}

/// What a tree has used up to a moment.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Usage {
    /// When it was read; none of a tree that is not there.
    at: Option<Instant>,
    cpu_ns: u64,
    ticks: Ticks,
    minor_faults: u64,
    major_faults: u64,
    read_bytes: u64,
    written_bytes: u64,
    /// Switches of each living task, voluntary and involuntary, by process and task.
    switches: BTreeMap<(u32, u32), (u64, u64)>,
    /// What rule 3 takes for the rest: all processors, and the lab itself.
    processors: Processors,
    driver: Ticks,
}

impl Usage {
    /// Everything about a tree, up to now. Some 50 µs for each of its tasks.
    pub fn now(tree: &Tree) -> Usage {
        let mut sum = Usage { at: Some(Instant::now()), processors: Processors::now(), ..Usage::default() };
        if !tree.alone {
            sum.driver = Process::read(std::process::id()).unwrap_or_default().own;
        }
        for process in tree.with_zombies(true) {
            let reaped = tree.reaped(&process);
            sum.cpu_ns += process.cpu_ns() + reaped.ns();
            sum.ticks.user += process.own.user + reaped.user;
            sum.ticks.system += process.own.system + reaped.system;
            sum.minor_faults += process.minor_faults;
            sum.major_faults += process.major_faults;
            let io = std::fs::read_to_string(format!("/proc/{}/io", process.pid)).unwrap_or_default();
            sum.read_bytes += value(&io, "read_bytes:");
            sum.written_bytes += value(&io, "write_bytes:");
            let tasks = format!("/proc/{}/task", process.pid);
            for task in numbers_in(&tasks) {
                let status = std::fs::read_to_string(format!("{tasks}/{task}/status")).unwrap_or_default();
                let counts =
                    (value(&status, "voluntary_ctxt_switches:"), value(&status, "nonvoluntary_ctxt_switches:"));
                sum.switches.insert((process.pid, task), counts);
            }
        }
        sum
    }

    /// What was used between `earlier` and this snapshot of the same tree.
    pub fn since(&self, earlier: &Usage) -> Cost {
        let cpu_us = self.cpu_ns.saturating_sub(earlier.cpu_ns) as f64 / 1e3;
        let user = self.user_share(earlier, cpu_us);
        let (mut voluntary, mut involuntary) = (0, 0);
        for (task, counts) in &self.switches {
            let before = earlier.switches.get(task).copied().unwrap_or_default();
            voluntary += counts.0.saturating_sub(before.0);
            involuntary += counts.1.saturating_sub(before.1);
        }
        Cost {
            user_us: cpu_us * user,
            system_us: cpu_us * (1.0 - user),
            voluntary,
            involuntary,
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
        }
    }

    /// What of that belongs to a window which lies between the two: readings take time, so they are further apart than it is long,
    /// while what goes on is the same all the time.
    pub fn within(&self, earlier: &Usage, window: Duration) -> Cost {
        let cost = self.since(earlier);
        match (earlier.at, self.at) {
            (Some(from), Some(until)) if until > from => cost.part(window.as_secs_f64() / (until - from).as_secs_f64()),
            _ => cost,
        }
    }

    /// The part of `cpu_us` that was user time, from 0 to 1.
    fn user_share(&self, earlier: &Usage, cpu_us: f64) -> f64 {
        let us = |now: u64, then: u64| now.saturating_sub(then) as f64 * (TICK_NS / 1000) as f64;
        let user = us(self.ticks.user, earlier.ticks.user);
        let system = us(self.ticks.system, earlier.ticks.system);
        let rest = (cpu_us - user - system).max(0.0);
        let unexplained = |all: u64, before: u64, driver: u64, driver_before: u64, known: f64| {
            (us(all, before) - us(driver, driver_before) - known).max(0.0)
        };
        let (now, then) = (&self.processors, &earlier.processors);
        let (own, own_then) = (self.driver, earlier.driver);
        let more_user = unexplained(now.user, then.user, own.user, own_then.user, user);
        let more_system = unexplained(now.system, then.system, own.system, own_then.system, system);
        let rest_user = match (more_user + more_system, user + system) {
            (all, _) if all > 0.0 => more_user / all,
            (_, known) if known > 0.0 => user / known,
            _ => 1.0,
        };
        match user + system + rest {
            all if all > 0.0 => (user + rest * rest_user) / all,
            _ => 1.0,
        }
    }
}

/// A thread and what it has done so far.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Task {
    /// Its id.
    pub id: u32,
    /// Its name, cut to 15 bytes by the kernel.
    pub name: String,
    /// Nanoseconds on a processor.
    pub ran_ns: u64,
    /// Nanoseconds in which it could have run, but waited for a processor.
    pub waited_ns: u64,
}

/// The living threads of this process, in the order of their ids.
pub fn own_tasks() -> Vec<Task> {
    let mut tasks: Vec<Task> = numbers_in("/proc/self/task").into_iter().filter_map(task).collect();
    tasks.sort_by_key(|task| task.id);
    tasks
}

fn task(id: u32) -> Option<Task> {
    let file = |name| std::fs::read_to_string(format!("/proc/self/task/{id}/{name}")).ok();
    let times = file("schedstat")?;
    let mut times = times.split_whitespace().map(|word| word.parse().unwrap_or(0));
    Some(Task { id, name: file("comm")?.trim_end().to_string(), ran_ns: times.next()?, waited_ns: times.next()? })
}

/// The number behind the line that begins with `name`; 0 where there is none.
pub(super) fn value(text: &str, name: &str) -> u64 {
    let number = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

    #[test]
    fn a_name_may_hold_blanks_and_brackets() {
        let line = "17 (a) b) S 3 17 9 0 -1 0 10 20 30 40 5 6 7 8 20 0 2 0 100";
        let process = Process::parse(line).unwrap();
        assert_eq!((process.pid, process.name.as_str(), process.state), (17, "a) b", 'S'));
        assert_eq!((process.parent, process.session, process.threads), (3, 9, 2));
        assert_eq!((process.minor_faults, process.major_faults), (30, 70));
        assert_eq!((process.own, process.reaped), (Ticks { user: 5, system: 6 }, Ticks { user: 7, system: 8 }));
        assert_eq!(Process::parse("17 (short) S"), None);
    }

    #[test]
    fn members_are_found_by_session_by_parents_and_by_mark() {
        let process = |pid, parent, session| Process { pid, parent, session, state: 'S', ..Process::default() };
        let all = vec![
            process(1, 0, 1),
            process(10, 1, 10),
            process(11, 10, 10),
            process(12, 1, 10),  // its parent died
            process(14, 13, 99), // grandchild that left the session
            process(13, 11, 13),
            process(16, 1, 16), // found by its mark alone
            process(17, 1, 17),
        ];
        let found: Vec<u32> = closure(all, 10, |process| process.pid == 16).iter().map(|p| p.pid).collect();
        assert_eq!(found, [10, 11, 12, 13, 14, 16]);
    }

    #[test]
    fn values_are_found_at_the_beginning_of_a_line() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(value(status, "voluntary_ctxt_switches:"), 5);
        assert_eq!(value(status, "nonvoluntary_ctxt_switches:"), 7);
        assert_eq!(value("rchar: 1\nread_bytes: 4096\n", "read_bytes:"), 4096);
        assert_eq!(value("", "read_bytes:"), 0);
    }

    /// The least that 200,000 rounds of a shell's loop can take.
    const LOOP: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

    /// A shell in a session of its own that runs what it is given and answers a line.
    struct Shell {
        child: Child,
        words: ChildStdin,
        answers: BufReader<ChildStdout>,
    }

    impl Shell {
        fn start(mark: &str) -> Shell {
            let mut child = Command::new("setsid")
                .args(["sh", "-s"])
                .env(MARK, mark)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let (words, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
            Shell { child, words, answers }
        }

        fn run(&mut self, script: &str) {
            writeln!(self.words, "{script}\necho done").unwrap();
            let mut line = String::new();
            while line.trim() != "done" {
                line.clear();
                assert!(self.answers.read_line(&mut line).unwrap() > 0, "the shell ended in: {script}");
            }
        }

        fn tree(&self) -> Tree {
            Tree::under(self.child.id(), None)
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            for process in self.tree().members() {
                let _ = Command::new("kill").args(["-9", &process.pid.to_string()]).status();
            }
            let _ = self.child.wait();
        }
    }

    #[test]
    fn the_time_of_children_that_ended_is_counted() {
        let mut shell = Shell::start("ended");
        shell.run(":");
        let (before, cheap) = (Usage::now(&shell.tree()), shell.tree().cpu_ns());
        shell.run(&format!("({LOOP}) & wait; ({LOOP}) & wait"));
        let after = Usage::now(&shell.tree());
        assert_eq!(shell.tree().members().len(), 1, "the children ended");
        let cost = after.since(&before);
        assert!(cost.cpu_us() > 30_000.0, "{cost:?}");
        assert!(cost.user_us > cost.system_us, "{cost:?}");
        assert!(cost.minor_faults > 0, "{cost:?}");
        assert!(shell.tree().cpu_ns() - cheap > 30_000_000);
        assert_eq!(before.since(&after).cpu_us(), 0.0, "no difference is negative");
    }

    #[test]
    fn a_child_that_nobody_waited_for_yet_is_counted() {
        let mut child = Command::new("setsid").args(["sh", "-c", LOOP]).stdout(Stdio::null()).spawn().unwrap();
        let tree = Tree::under(child.id(), None);
        let before = Usage::now(&tree);
        while !tree.members().is_empty() {
            std::thread::yield_now();
        }
        let cost = Usage::now(&tree).since(&before);
        child.wait().unwrap();
        assert!(cost.cpu_us() > 15_000.0, "{cost:?}");
    }

    #[test]
    fn many_children_with_less_than_a_tick_each_are_not_rounded_away() {
        let mut shell = Shell::start("short");
        shell.run(":");
        let tree = shell.tree();
        let before = Usage::now(&tree);
        let short = LOOP.replace("200000", "2000");
        // Each of them waits for the shell's end behind its loop, so that all are there, and none is summed by its parent.
        shell.run(&format!("for n in $(seq 50); do ({short}; exec sleep 1000) & done"));
        let sleeping = |tree: &Tree| tree.members().iter().filter(|process| process.name == "sleep").count();
        while sleeping(&tree) < 50 {
            std::thread::yield_now();
        }
        let after = Usage::now(&tree);
        let ticks = after.ticks.user + after.ticks.system - before.ticks.user - before.ticks.system;
        let cost = after.since(&before);
        assert!(cost.cpu_us() > 50_000.0, "{cost:?}");
        assert!(cost.cpu_us() > ticks as f64 * 10_000.0, "{cost:?} where {ticks} ticks were seen");
        assert!(cost.voluntary + cost.involuntary > 50, "{cost:?}");
    }

    #[test]
    fn threads_that_ended_are_counted() {
        let before = Usage::now(&Tree::driver());
        let burn = || {
            let used = || own_tasks().into_iter().find(|task| task.name == "burns").map_or(0, |task| task.ran_ns);
            while used() < 100_000_000 {
                std::hint::black_box((0..100_000u64).map(std::hint::black_box).sum::<u64>());
            }
        };
        std::thread::Builder::new().name("burns".into()).spawn(burn).unwrap().join().unwrap();
        let cost = Usage::now(&Tree::driver()).since(&before);
        assert!(own_tasks().iter().all(|task| task.name != "burns"), "the thread ended");
        assert!(cost.cpu_us() > 100_000.0, "{cost:?}");
    }

    #[test]
    fn the_driver_s_children_are_not_the_driver() {
        let process = Process { reaped: Ticks { user: 5, system: 6 }, ..Process::default() };
        assert_eq!(Tree::driver().reaped(&process).ns(), 0);
        assert_eq!(Tree::under(1, None).reaped(&process).ns(), 110_000_000);
        assert_eq!(Tree::driver().members().len(), 1);
    }

    #[test]
    fn an_orphan_is_found_by_its_mark() {
        let mark = format!("orphan-{}", std::process::id());
        let mut shell = Shell::start(&mark);
        shell.run("(setsid sleep 1000 >/dev/null &)");
        let tree = Tree::under(u32::MAX, Some(mark));
        let orphan = |tree: &Tree| tree.members().into_iter().find(|process| process.name == "sleep");
        let found = loop {
            if let Some(process) = orphan(&tree) {
                break process;
            }
        };
        assert_ne!(found.session, shell.child.id());
        shell.run(&format!("kill -9 {}", found.pid));
        while orphan(&tree).is_some() {}
    }

    #[test]
    fn what_ticks_do_not_cover_is_split_as_the_machine_s_time_is() {
        let processors = |user, system| Processors { user, system, ..Processors::default() };
        let usage = |cpu_ms: u64, ticks, all, driver| Usage {
            cpu_ns: cpu_ms * 1_000_000,
            ticks,
            processors: all,
            driver,
            ..Usage::default()
        };
        let ticks = |user, system| Ticks { user, system };
        // Ticks alone: 30 and 10.
        let whole = usage(400, ticks(30, 10), processors(100, 100), ticks(0, 0)).since(&Usage::default());
        assert_eq!((whole.user_us, whole.system_us), (300_000.0, 100_000.0));
        // No ticks at all: the machine did 90 and 60, of which the driver did 30 and 40.
        let rest = usage(100, ticks(0, 0), processors(90, 60), ticks(30, 40)).since(&Usage::default());
        assert_eq!((rest.user_us, rest.system_us), (75_000.0, 25_000.0));
        // More ticks than time, by rounding: the time stays what it is.
        let more = usage(100, ticks(10, 10), processors(0, 0), ticks(0, 0)).since(&Usage::default());
        assert_eq!((more.user_us, more.system_us), (50_000.0, 50_000.0));
    }
}
