//! The directory that all servers of a run live in, and the user that they run as.
//!
//! ```text
//!   WORK/gearbox-lab-PID-N/        removed at the end, or by the next lab if this one was killed
//!     lock                         held by the lab as long as it lives
//!     1-thread-fiber/              a server's place
//!       data/  log
//!     gearbox                      a copy, where the user cannot reach the original
//! ```
//!
//! Rules
//! 1. PostgreSQL and MariaDB refuse to run as root, so a lab that is root runs every server, its own product too, as `nobody`. A
//!    lab that is somebody else runs them as itself.
//! 2. Whose lock on `lock` is gone is gone itself: its home, and processes with its mark, are removed by whoever comes next. A
//!    process id would not do, as it may be in use again, or be another container's.
//! 3. A file system in memory is refused: on it a commit costs nothing.

use crate::error::{self, OfFile};
use crate::measure::machine;
use crate::measure::processes::Tree;
use base::Result;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "gearbox-lab-";
/// Less space than this is not enough for a server with its log.
const SPACE_MIN: u64 = 3 << 30;

/// A directory of this process' own for servers. Dropping it removes it.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    user: Option<User>,
    places: AtomicU32,
    /// Only one copy is made of a program.
    copying: Mutex<()>,
    _lock: File,
}

/// Who servers run as, where the lab is root.
#[derive(Clone, PartialEq, Eq, Debug)]
struct User {
    id: u32,
    group: u32,
}

impl Home {
    /// Makes one in `work`, or in the system's temporary directory, and removes what killed labs left there.
    ///
    /// # Errors
    /// `58030` where the directory is in memory, full, or cannot be written or entered; `58000` where there is no user to run
    /// servers as. Hints say what to do.
    pub fn new(work: Option<&Path>) -> Result<Home> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let work = work.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let other = "Name a directory on a disk with --work DIR.";
        std::fs::create_dir_all(&work).of(&work).map_err(|error| error.hint(other))?;
        let work = work.canonicalize().of(&work)?;
        if machine::is_in_memory(&work) {
            return Err(error::file(&work, "is in memory, where a commit costs nothing").hint(other));
        }
        let space = rustix::fs::statvfs(&work).map_err(|error| error::file(&work, error))?;
        if space.f_bavail * space.f_frsize < SPACE_MIN {
            return Err(error::file(&work, "has less than 3 GiB left").hint(other));
        }
        remove_left(&work);

        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // It gets its name when it is locked, or others would take it for one that was left.
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let (unnamed, path) = (work.join(format!(".{name}")), work.join(name));
        std::fs::create_dir(&unnamed).of(&unnamed).map_err(|error| error.hint(other))?;
        let lock = File::create(unnamed.join("lock")).of(&unnamed)?;
        lock.try_lock().map_err(|error| error::file(&unnamed, error))?;
        std::fs::rename(&unnamed, &path).of(&path)?;
        let user = if rustix::process::geteuid().is_root() { Some(unprivileged()?) } else { None };
        let home = Home { path, user, places: AtomicU32::new(1), copying: Mutex::new(()), _lock: lock };
        home.own(&home.path)?;
        if !home.can(&["test", "-x", &home.path.display().to_string()]) {
            let message = "cannot be entered by the user that servers run as";
            return Err(error::file(&work, message).hint("Name another directory with --work DIR, such as /var/tmp."));
        }
        Ok(home)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new directory in it that belongs to the servers' user.
    pub fn place(&self, name: &str) -> Result<PathBuf> {
        let number = self.places.fetch_add(1, Ordering::Relaxed);
        let name: String =
            name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
        let place = self.path.join(format!("{number}-{name}"));
        std::fs::create_dir(&place).of(&place)?;
        self.own(&place)?;
        Ok(place)
    }

    /// Gives a file or directory to the servers' user.
    pub(super) fn own(&self, path: &Path) -> Result<()> {
        match &self.user {
            Some(user) => std::os::unix::fs::chown(path, Some(user.id), Some(user.group)).of(path),
            None => Ok(()),
        }
    }

    /// The words before a command that make it run as the servers' user. With `death`, it gets that signal when the thread
    /// that started it ends; changing the user clears that wish, so both are left to one program, which knows the order.
    pub(super) fn as_user(&self, death: Option<&str>) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(user) = &self.user {
            words.extend([format!("--reuid={}", user.id), format!("--regid={}", user.group), "--clear-groups".into()]);
        }
        if let Some(signal) = death {
            words.extend(["--pdeathsig".to_string(), signal.to_string()]);
        }
        if !words.is_empty() {
            words.insert(0, "setpriv".into());
        }
        if death.is_some() {
            // The lab may have died before it could be asked for the signal: then somebody else is the parent by now.
            let alive = format!("test \"$PPID\" = {} && exec \"$@\"", std::process::id());
            words.extend(["sh".to_string(), "-c".into(), alive, "sh".into()]);
        }
        words
    }

    /// Whether a command succeeds as the servers' user.
    fn can(&self, command: &[&str]) -> bool {
        let mut words = self.as_user(None);
        words.extend(command.iter().map(|word| word.to_string()));
        let status = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// A program where the servers' user can run it: `program` itself, or a copy in here of `tree`, which holds it.
    pub(super) fn reachable(&self, tree: &Path, program: &Path) -> Result<PathBuf> {
        if self.can(&["test", "-x", &program.display().to_string()]) {
            return Ok(program.to_path_buf());
        }
        let _alone = self.copying.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let copy = self.path.join(tree.file_name().unwrap_or(tree.as_os_str()));
        if !copy.exists() {
            let output = Command::new("cp").arg("-R").args([tree, &copy]).output().of(tree)?;
            if !output.status.success() {
                return Err(error::file(tree, String::from_utf8_lossy(&output.stderr).trim()));
            }
            let _ = Command::new("chmod").args(["-R", "a+rX"]).arg(&copy).status();
        }
        let inside = program.strip_prefix(tree).unwrap_or(Path::new(""));
        Ok(if inside.as_os_str().is_empty() { copy } else { copy.join(inside) })
    }

    /// Runs a command as the servers' user in `place` and answers what it wrote.
    ///
    /// # Errors
    /// `58000` with its last words where it does not succeed.
    pub(super) fn run(&self, place: &Path, words: &[String], environment: &[(String, String)]) -> Result<String> {
        let all = [self.as_user(Some("KILL")), words.to_vec()].concat();
        let mut command = Command::new(&all[0]);
        command.args(&all[1..]).current_dir(place).stdin(Stdio::null());
        clean(&mut command, place).envs(environment.iter().cloned());
        let output = command.output().map_err(|error| error::system(&all[0], error))?;
        let (text, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            let last = last_lines(&format!("{text}\n{complaint}"), 10);
            let hint = super::running::advice(&last).unwrap_or("The detail has its last words.");
            return Err(error::system(&words[0], output.status).detail(last).hint(hint));
        }
        Ok(text.into_owned())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Takes the lab's environment away from a command and gives it what every program needs. Temporary files have a place of their
/// own: a MariaDB that starts removes those of any other that it finds beside its own.
pub(super) fn clean<'a>(command: &'a mut Command, place: &Path) -> &'a mut Command {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into());
    command.env_clear().env("PATH", path).env("LC_ALL", "C").env("HOME", place).env("TMPDIR", place)
}

/// The last lines of a text that are not empty.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// A user that may do nothing.
fn unprivileged() -> Result<User> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    ["nobody", "postgres", "mysql", "daemon"].iter().find_map(|name| user_in(&users, name)).ok_or_else(|| {
        error::system("no user to run servers as", "there is no nobody").hint("Run the lab as an ordinary user.")
    })
}

fn user_in(users: &str, name: &str) -> Option<User> {
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    let user = User { id: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? };
    (user.id != 0).then_some(user)
}

/// Removes the homes of labs that are gone, and whatever of theirs still runs.
fn remove_left(work: &Path) {
    for entry in std::fs::read_dir(work).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let home = entry.path();
        // What has no lock is somebody else's.
        let Ok(lock) = File::open(home.join("lock")) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        for place in std::fs::read_dir(&home).into_iter().flatten().flatten() {
            let mark = place.path().display().to_string();
            super::running::kill_all(&Tree::under(u32::MAX, Some(mark)));
        }
        let _ = std::fs::remove_dir_all(&home);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of the test's own on a disk.
    fn work(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lab-home-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_home_goes_with_its_owner_and_what_was_left_goes_with_the_next() {
        let work = work("left");
        let left = work.join(format!("{PREFIX}1-1"));
        std::fs::create_dir_all(left.join("1-x/data")).unwrap();
        let other = work.join(format!("{PREFIX}1-2"));
        std::fs::create_dir(&other).unwrap();
        File::create(left.join("lock")).unwrap();
        let first = Home::new(Some(&work)).unwrap();
        assert!(!left.exists() && other.exists());
        let second = Home::new(Some(&work)).unwrap();
        assert!(first.path().exists(), "a home that is in use stays");
        let place = first.place("thread/fiber").unwrap();
        assert!(place.ends_with("1-thread-fiber"), "{place:?}");
        assert!(first.can(&["test", "-w", &place.display().to_string()]));
        let (one, two) = (first.path().to_path_buf(), second.path().to_path_buf());
        drop((first, second));
        assert!(!one.exists() && !two.exists());
        std::fs::remove_dir_all(work).unwrap();
    }

    #[test]
    fn memory_is_not_a_disk() {
        let error = Home::new(Some(Path::new("/dev/shm"))).unwrap_err();
        assert!(error.message().contains("in memory"), "{error:?}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains("--work")));
    }

    #[test]
    fn what_the_user_cannot_reach_is_copied() {
        let work = work("copies");
        let home = Home::new(Some(&work)).unwrap();
        let closed = work.join("closed");
        std::fs::create_dir_all(closed.join("tree/bin")).unwrap();
        std::fs::copy("/bin/true", closed.join("tree/bin/true")).unwrap();
        let (tree, program) = (closed.join("tree"), closed.join("tree/bin/true"));
        assert_eq!(home.reachable(&tree, &program).unwrap(), program);
        std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        if home.user.is_some() {
            let copy = home.reachable(&tree, &program).unwrap();
            assert_eq!(copy, home.path().join("tree/bin/true"));
            assert!(home.can(&[&copy.display().to_string()]));
            let alone = home.reachable(&program, &program).unwrap();
            assert_eq!(alone, home.path().join("true"));
            assert!(home.can(&[&alone.display().to_string()]));
        }
        drop(home);
        std::fs::remove_dir_all(work).unwrap();
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let work = work("fails");
        let home = Home::new(Some(&work)).unwrap();
        let words = ["sh", "-c", "echo one; echo No space left on device >&2; exit 3"].map(str::to_string);
        let error = home.run(home.path(), &words, &[]).unwrap_err();
        assert!(error.detail_text().is_some_and(|detail| detail == "one\nNo space left on device"), "{error:?}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains("disk is full")), "{error:?}");
        let words = ["sh", "-c", "id -u; echo $HOME $CARGO_MANIFEST_DIR"].map(str::to_string);
        let text = home.run(home.path(), &words, &[]).unwrap();
        assert!(!text.starts_with("0\n") && text.ends_with(&format!("{}\n", home.path().display())), "{text}");
        drop(home);
        std::fs::remove_dir_all(work).unwrap();
    }

    #[test]
    fn root_is_never_the_user() {
        let users = "root:x:0:0::/:/bin/sh\nnobody:x:65534:65533:n:/:/no\nzero:x:0:1::/:/no\n";
        assert_eq!(user_in(users, "nobody"), Some(User { id: 65534, group: 65533 }));
        assert_eq!(user_in(users, "zero"), None);
        assert_eq!(user_in(users, "no"), None);
    }
}
