//! The machine of a run: what it is, what its processors did between two moments, and what time it is there.
//!
//! `Processors` are the counters of `/proc/stat` over all processors, in ticks of 10 ms, added up by the kernel before they are
//! rounded. As `mpstat` does, time given to interrupts is counted as the kernel's, and *idle* time is *wio* where somebody
//! waited for the disk meanwhile.

use super::processes::value;
use crate::record::{Machine, Use};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

impl Machine {
    /// This one. `data` is where the servers' files are going to be.
    pub fn this(data: &Path) -> Machine {
        let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Machine {
            cpu: field(&file("/proc/cpuinfo"), "model name", ':'),
            cpus: std::thread::available_parallelism().map_or(1, |count| count.get()),
            memory_mib: value(&file("/proc/meminfo"), "MemTotal:") / 1024,
            kernel: file("/proc/sys/kernel/osrelease").trim().to_string(),
            system: field(&file("/etc/os-release"), "PRETTY_NAME", '=').trim_matches('"').to_string(),
            disk: disk_of(&file("/proc/self/mountinfo"), data),
        }
    }
}

/// The value behind the first line that begins with `name`.
fn field(text: &str, name: &str, separator: char) -> String {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(separator).map_or("unknown", |(_, value)| value.trim()).to_string()
}

/// File system and device of the mount that holds `path`: `ext4 on /dev/vda`.
fn disk_of(mounts: &str, path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    // 36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/vda rw
    let found = mounts.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let point = place.split(' ').nth(4)?.replace("\\040", " ");
        path.starts_with(&point).then_some((point.len(), kind))
    });
    // Of two mounts on one place, the later hides the earlier.
    let Some((_, kind)) = found.max_by_key(|(length, _)| *length) else { return "unknown".into() };
    let mut words = kind.split(' ');
    let (system, device) = (words.next().unwrap_or("unknown"), words.next().unwrap_or("unknown"));
    format!("{system} on {device}")
}

/// Whether files below `path` are in memory only.
pub fn is_in_memory(path: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    ["tmpfs", "ramfs"].iter().any(|kind| disk_of(&mounts, path).starts_with(kind))
}

/// What all processors did since the machine started, in ticks.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Processors {
    /// Ran programs.
    pub user: u64,
    /// Ran the kernel on behalf of programs.
    pub system: u64,
    /// Served interrupts.
    pub interrupts: u64,
    /// Had nothing to do, but somebody waited for the disk.
    pub waiting: u64,
    /// Had nothing to do.
    pub idle: u64,
    /// Were kept away by the hypervisor.
    pub stolen: u64,
}

impl Processors {
    /// Up to now.
    pub fn now() -> Processors {
        Processors::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(stat: &str) -> Processors {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).map(|word| word.parse().unwrap_or(0)).collect();
        // user nice system idle iowait irq softirq steal; guests are counted in the first two already
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        Processors {
            user: at(0) + at(1),
            system: at(2),
            interrupts: at(5) + at(6),
            waiting: at(4),
            idle: at(3),
            stolen: at(7),
        }
    }

    /// What they did since `earlier`, in percent of all of them. Of that, server and driver used `known_us` of CPU time.
    pub fn since(&self, earlier: &Processors, known_us: f64) -> Use {
        let part = |now: u64, then: u64| now.saturating_sub(then) as f64;
        let user = part(self.user, earlier.user);
        let system = part(self.system, earlier.system) + part(self.interrupts, earlier.interrupts);
        let waiting = part(self.waiting, earlier.waiting);
        let idle = part(self.idle, earlier.idle);
        let stolen = part(self.stolen, earlier.stolen);
        let all = user + system + waiting + idle + stolen;
        if all == 0.0 {
            return Use::default();
        }
        let percent = |ticks: f64| 100.0 * ticks / all;
        Use {
            usr: percent(user),
            sys: percent(system),
            wio: percent(waiting),
            idle: percent(idle),
            stolen: percent(stolen),
            others: percent((user + system - known_us / 10_000.0).max(0.0)),
        }
    }
}

/// The time of day in UTC, as ISO 8601 writes it: `2024-02-29T12:00:00Z`.
pub fn date() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date_of(now.as_secs())
}

/// The Gregorian calendar repeats after 400 years, which have 146,097 days; counted from March, a leap day is a year's last.
fn date_of(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_system_files_are_found() {
        assert_eq!(field("a : b\nmodel name\t: Some CPU\n", "model name", ':'), "Some CPU");
        assert_eq!(field("", "model name", ':'), "unknown");
        let machine = Machine::this(&std::env::temp_dir());
        assert!(machine.cpus > 0 && machine.memory_mib > 0 && machine.disk.contains(" on "), "{machine:?}");
    }

    #[test]
    fn the_disk_is_that_of_the_longest_and_latest_mount() {
        let mounts = "1 0 8:1 / / rw,relatime - ext4 /dev/root rw\n\
                      2 1 0:5 / /gone\\040away rw shared:2 - tmpfs none rw\n\
                      3 1 0:6 / /gone rw - xfs /dev/a rw\n\
                      4 1 0:7 / /gone rw - btrfs /dev/b rw\n";
        for (path, disk) in [
            ("/", "ext4 on /dev/root"),
            ("/gone away/x", "tmpfs on none"),
            ("/gone/x", "btrfs on /dev/b"),
            ("/gonex", "ext4 on /dev/root"),
        ] {
            assert_eq!(disk_of(mounts, Path::new(path)), disk, "{path}");
        }
        assert_eq!(disk_of("", Path::new("/")), "unknown");
    }

    #[test]
    fn the_processors_time_is_taken_apart() {
        let earlier = Processors::parse("cpu  100 200 300 4000 50 6 7 8 0 0\ncpu0 1 2 3\n");
        let (user, system) = (300, 300);
        assert_eq!(earlier, Processors { user, system, interrupts: 13, waiting: 50, idle: 4000, stolen: 8 });
        let later = Processors::parse("cpu  120 210 310 4040 60 6 17 8 0 0\n");
        let used = later.since(&earlier, 350_000.0);
        assert_eq!((used.usr, used.sys, used.wio, used.idle, used.stolen), (30.0, 20.0, 10.0, 40.0, 0.0));
        assert_eq!(used.others, 15.0);
        assert_eq!(earlier.since(&later, 0.0), Use::default(), "no difference is negative");
        assert!(Processors::now().idle > 0);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date_of(seconds), date, "{seconds}");
        }
    }
}
