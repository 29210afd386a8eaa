//! The server under test: a service that reads lines, does I/O, and answers lines.

use base::{Error, Result};
use kernel::config::{Config, EngineKind, HugePages, IoMethod, Primitive, Sessions};
use kernel::io::{self, Action, Buffer, Completion, FileName, Kind, Pages};
use kernel::region::heap::{self, Owner};
use kernel::session::{End, Next, Service, Session};
use kernel::sync::{Latch, Mode, WaitList};
use kernel::wait::{self, Event};
use kernel::{engine, region};
use std::io::Write;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// The environment variable that makes this binary serve; its value describes how.
pub const VARIABLE: &str = "GEARBOX_TEST_IO";

const PAGE: usize = 8192;
const PAGES: u64 = 512;
const FRAMES: usize = 2048;
const BATCH: usize = io::VECTOR_MAX;
const FILE: FileName = FileName::data(1);

/// What all processes share: made before the first fork.
struct Common {
    latches: &'static [Latch],
    versions: &'static [AtomicU64],
    /// 0 empty, 1 being read, 2 valid, 3 lost.
    states: &'static [AtomicU32],
    frames: usize,
    waiters: &'static WaitList,
    wake: &'static AtomicU32,
}

static COMMON: OnceLock<Common> = OnceLock::new();

fn common() -> &'static Common {
    COMMON.get().unwrap()
}

struct Lines;

/// Runs the server that `description` asks for.
pub fn main(description: &str) -> i32 {
    let value = |key: &str| {
        let prefix = format!("{key}=");
        description.split_whitespace().find_map(|word| word.strip_prefix(&prefix)).map(str::to_string)
    };
    let number = |key: &str, otherwise: u32| value(key).map_or(otherwise, |text| text.parse().unwrap());
    let config = Config {
        engine: EngineKind::parse(&value("engine").unwrap()).unwrap(),
        sessions: Sessions::parse(&value("sessions").unwrap()).unwrap(),
        engines: 2,
        primitive: Primitive::parse(&value("wait").unwrap_or("futex".into())).unwrap(),
        io: IoMethod::parse(&value("io").unwrap()).unwrap(),
        io_workers: number("workers", 3),
        blocking_threads: number("blocking", 4),
        max_connections: 100,
        arriving_max: 0,
        spare_engines: 2,
        engine_idle_spin_us: number("spin", 0),
        session_idle_spin_us: number("spin", 0),
        time_slice_us: 1000,
        gather_answers: true,
        fiber_stack_bytes: 256 << 10,
        region_bytes_max: 128 << 20,
        huge_pages: HugePages::Try,
        move_sessions: false,
        data_dir: value("data").unwrap().into(),
        keepalive: Default::default(),
        listen: vec![([127, 0, 0, 1], number("port", 0) as u16).into()],
        sockets: Vec::new(),
        socket_mode: 0,
    };
    let limit = |name| value(name).map(|text| text.parse::<u64>().unwrap());
    let (memlock, fsize) = (limit("memlock"), limit("fsize"));
    let make = move || {
        let frames = heap::alloc(Owner::Test, FRAMES * PAGE / heap::PAGE)?;
        let _ = COMMON.set(Common {
            latches: region::table("test latches", PAGES as usize),
            versions: region::table("test versions", PAGES as usize),
            states: region::table("test frames", FRAMES),
            frames: frames.as_ptr() as usize,
            waiters: region::single("test waiters"),
            wake: region::single("test wake"),
        });
        io::on_completion(completed);
        if let Some(bytes) = fsize {
            // Before the first fork: every host has it, those too that are forked later.
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
            // SAFETY: plain system call.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        }
        if let Some(bytes) = memlock {
            become_nobody(bytes);
        }
        // The supervisor too may look at files, before it forks.
        io::make_directories()?;
        assert!(io::read_small(FileName::CONTROL, 100)?.is_none());
        Ok(Lines)
    };
    let status = kernel::supervisor::run(config, make, |_| {
        // After a restart nobody reads it any more.
        let _ = writeln!(std::io::stdout(), "ready");
    });
    status.unwrap_or_else(|error| {
        eprintln!("{error}");
        1
    })
}

/// Without privileges the limit on locked memory counts.
fn become_nobody(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: plain system calls before the first fork.
    unsafe {
        libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit);
        if libc::geteuid() == 0 {
            libc::setgid(65534);
            assert_eq!(libc::setuid(65534), 0);
            libc::prctl(libc::PR_SET_DUMPABLE, 1);
        }
    }
}

/// The completion function: the parameter is the first frame; the number, how many.
fn completed(completion: &Completion) {
    let first = completion.action.param as usize;
    let state = if completion.outcome.bytes() == Ok(completion.bytes as usize) { 2 } else { 3 };
    for frame in first..first + completion.action.number as usize {
        common().states[frame].store(state, SeqCst);
    }
    common().waiters.post_all();
}

fn frame(index: usize) -> *mut u8 {
    (common().frames + index * PAGE) as *mut u8
}

fn buffer(index: usize) -> Buffer {
    // SAFETY: the frames live as long as the server, and each test command uses its own.
    unsafe { Buffer::new(NonNull::new(frame(index)).unwrap(), PAGE) }
}

fn word(page: u64, version: u64, index: usize) -> u64 {
    let mut x = page.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ version.rotate_left(32) ^ index as u64;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 27)
}

/// Fills a page with what it has in that version.
fn fill(bytes: &mut [u8], page: u64, version: u64) {
    for (index, piece) in bytes.chunks_exact_mut(8).enumerate() {
        let value = if index == 0 { version } else { word(page, version, index) };
        piece.copy_from_slice(&value.to_le_bytes());
    }
}

/// Checks a page; answers its version.
fn verify(bytes: &[u8], page: u64) -> std::result::Result<u64, String> {
    let value = |index: usize| u64::from_le_bytes(bytes[index * 8..][..8].try_into().unwrap());
    let version = value(0);
    match (1..PAGE / 8).find(|&index| value(index) != word(page, version, index)) {
        None => Ok(version),
        Some(index) => Err(format!("page {page} version {version} is wrong at word {index}")),
    }
}

impl Service for Lines {
    fn serve(&self, session: &mut Session) -> Next {
        if session.shared().interrupt().is_some() {
            return Next::Close;
        }
        loop {
            let input = session.input();
            let Some(end) = input.iter().position(|&byte| byte == b'\n') else { return Next::Park };
            let line = String::from_utf8_lossy(&input[..end]).into_owned();
            session.consume(end + 1);
            let answer = match command(session, &line) {
                Ok(answer) => answer,
                Err(error) => format!("error {} {}", error.sqlstate(), error.message()),
            };
            session.output().extend_from_slice(answer.as_bytes());
            session.output().push(b'\n');
        }
    }

    fn close(&self, _session: &mut Session, _end: End) {}

    fn start(&self) -> Result<()> {
        if io::exists(FILE)? {
            return Ok(());
        }
        io::create(FILE, PAGES * PAGE as u64)?;
        let mut pages = Pages::new(Owner::Test, BATCH * PAGE)?;
        for first in (0..PAGES).step_by(BATCH) {
            for (index, bytes) in pages.chunks_exact_mut(PAGE).enumerate() {
                fill(bytes, first + index as u64, 0);
            }
            pages.write(Event::DataFileWrite, FILE, first * PAGE as u64, 0, BATCH * PAGE)?;
        }
        io::flush(Event::DataFileFlush, FILE)?.wait()?;
        io::sync_directory(Kind::Data)
    }

    fn stop(&self) {
        let mut pages = Pages::new(Owner::Test, PAGE).unwrap();
        fill(&mut pages[..PAGE], 77, 7);
        let name = FileName::data(77);
        io::remove(name).unwrap();
        io::create(name, 0).unwrap();
        pages.write(Event::DataFileWrite, name, 0, 0, PAGE).unwrap();
        io::flush(Event::DataFileFlush, name).unwrap().wait().unwrap();
    }
}

/// What [`Service::stop`] leaves in the file `base/77`.
pub fn last_page() -> Vec<u8> {
    let mut bytes = vec![0; PAGE];
    fill(&mut bytes, 77, 7);
    bytes
}

fn bad(text: String) -> Error {
    Error::statement(base::sqlstate::DATA_CORRUPTED, text)
}

fn command(session: &mut Session, line: &str) -> Result<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |index: usize| words.get(index).map_or(0, |word| word.parse::<u64>().unwrap());
    match words[0] {
        "mix" => mix(number(1), number(2)),
        "tickets" => tickets(number(1) as usize, words[2]),
        "vector" => vector(number(1)),
        "eof" => eof(number(1)),
        "files" => files(number(1)),
        "durable" => durable(number(1), number(2), |event, name, offset, buffer| {
            io::write_durable(event, name, offset, &[buffer])?.wait()
        }),
        "durable_now" => durable(number(1), number(2), |event, name, offset, buffer| {
            io::write_durable_now(event, name, offset, &[buffer])
        }),
        // With a read under way, whose completion only this engine takes in.
        "durable_beside" => durable(number(1), number(2), |event, name, offset, buffer| {
            let mut page = Pages::new(Owner::Test, PAGE)?;
            let at = NonNull::new(page.as_mut_ptr()).unwrap();
            // SAFETY: the page outlives the ticket, which is waited for below.
            let read = io::read(Event::DataFileRead, FILE, 0, unsafe { Buffer::new(at, PAGE) })?;
            let written = io::write_durable_now(event, name, offset, &[buffer]);
            read.wait()?;
            written
        }),
        "verify" => verify_all(),
        "prefetch" => prefetch(number(1), number(2) as usize, 1),
        "hold" => {
            // Issues, tells the client, and waits for it in the middle of the request.
            prefetch(number(1), number(2) as usize, 1)?;
            session.output().extend_from_slice(b"ok holding\n");
            session.fill()?;
            let go = session.input().len();
            session.consume(go);
            Ok("ok released".into())
        }
        "await" => await_frames(number(1), number(2) as usize),
        "reset" => {
            common().states.iter().for_each(|state| state.store(0, SeqCst));
            Ok("ok".into())
        }
        "poison" => poison(number(1)),
        "die" => {
            prefetch(0, FRAMES, BATCH)?;
            io::submit();
            // SAFETY: plain system call.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            Ok(String::new())
        }
        "flood" => flood(number(1)),
        "write" => {
            let mut pages = Pages::new(Owner::Test, PAGE)?;
            fill(&mut pages[..PAGE], 0, 0);
            let name = FileName::data(number(1));
            if !io::exists(name)? {
                io::create(name, 0)?;
            }
            pages.write(Event::DataFileWrite, name, number(2), 0, PAGE)?;
            Ok("ok".into())
        }
        "allocate" => {
            let name = FileName::data(number(1));
            if !io::exists(name)? {
                io::create(name, 0)?;
            }
            io::allocate(name, number(2))?;
            Ok("ok".into())
        }
        "read" => {
            let mut pages = Pages::new(Owner::Test, PAGE)?;
            let got = pages.read(Event::DataFileRead, FileName::data(number(1)), number(2), PAGE)?;
            Ok(format!("ok {got}"))
        }
        "many" => {
            // More files than a process keeps descriptors.
            let count = number(1);
            let mut pages = Pages::new(Owner::Test, PAGE)?;
            for file in 0..count {
                let name = FileName::new(Kind::Temp, 10_000 + file);
                io::create(name, PAGE as u64)?;
                pages.read(Event::DataFileRead, name, 0, PAGE)?;
            }
            let kept = io::descriptors();
            for file in 0..count {
                io::remove(FileName::new(Kind::Temp, 10_000 + file))?;
            }
            Ok(format!("ok {kept}"))
        }
        "remove" => Ok(format!("ok {}", io::remove(FileName::data(number(1)))?)),
        "slow" => {
            // A blocking call that fibers must not be stopped by.
            let ms = number(1);
            kernel::io::blocking::run(Event::BlockingCall, move || {
                std::thread::sleep(std::time::Duration::from_millis(ms))
            });
            Ok("ok".into())
        }
        "panic" => {
            let panic = std::panic::catch_unwind(|| {
                let ticket = io::read(Event::DataFileRead, FILE, 0, buffer(0));
                std::hint::black_box(&ticket);
                // Without the message that a panic prints.
                std::panic::resume_unwind(Box::new("a test"));
            });
            Ok(format!("ok {}", panic.is_err()))
        }
        "pipe" => pipe(session),
        "wake" => {
            common().wake.store(1, SeqCst);
            common().waiters.post_all();
            Ok("ok".into())
        }
        "stats" => Ok(stats()),
        "restarts" => Ok(format!("ok {}", kernel::supervisor::restarts())),
        other => Ok(format!("error what is {other}?")),
    }
}

/// Random reads and writes of shared pages, under latches.
fn mix(seed: u64, count: u64) -> Result<String> {
    let mut pages = Pages::new(Owner::Test, PAGE)?;
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let (mut reads, mut writes) = (0, 0);
    for _ in 0..count {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let page = (random >> 20) % PAGES;
        let version = &common().versions[page as usize];
        let offset = page * PAGE as u64;
        if random % 5 < 3 {
            let _latch = common().latches[page as usize].lock(Mode::Shared, Event::TestLatch);
            let got = pages.read(Event::DataFileRead, FILE, offset, PAGE)?;
            if got != PAGE {
                return Err(bad(format!("page {page}: {got} bytes")));
            }
            let found = verify(&pages[..PAGE], page).map_err(bad)?;
            let wanted = version.load(SeqCst);
            if found != wanted {
                return Err(bad(format!("page {page} has version {found} instead of {wanted}")));
            }
            reads += 1;
        } else {
            let _latch = common().latches[page as usize].lock(Mode::Exclusive, Event::TestLatch);
            let next = version.load(SeqCst) + 1;
            fill(&mut pages[..PAGE], page, next);
            pages.write(Event::DataFileWrite, FILE, offset, 0, PAGE)?;
            version.store(next, SeqCst);
            writes += 1;
        }
        kernel::session::check_interrupts()?;
    }
    Ok(format!("ok {reads} {writes}"))
}

/// Many requests of one session at once, their tickets waited for from the front or the back.
fn tickets(count: usize, order: &str) -> Result<String> {
    let mut tickets = Vec::new();
    for index in 0..count {
        // Frames repeat, always with the same page.
        let frame = index % FRAMES;
        let page = frame as u64 % PAGES;
        tickets.push(io::read(Event::DataFileReadBatch, FILE, page * PAGE as u64, buffer(frame))?);
    }
    if order == "drop" {
        drop(tickets);
    } else {
        if order == "back" {
            tickets.reverse();
        }
        for ticket in tickets {
            if ticket.wait()? != PAGE {
                return Err(bad("a short read".into()));
            }
        }
    }
    for index in 0..count.min(FRAMES) {
        // SAFETY: the frame is read, and nobody else uses it.
        let bytes = unsafe { std::slice::from_raw_parts(frame(index), PAGE) };
        verify(bytes, index as u64 % PAGES).map_err(bad)?;
    }
    Ok("ok".into())
}

/// Requests of several buffers: written in a row, read in another division.
fn vector(number: u64) -> Result<String> {
    let name = FileName::data(100 + number);
    io::create(name, 0)?;
    let mut pages = Pages::new(Owner::Test, BATCH * PAGE)?;
    for (index, bytes) in pages.chunks_exact_mut(PAGE).enumerate() {
        fill(bytes, index as u64, number);
    }
    let at = NonNull::new(pages.as_mut_ptr()).unwrap();
    // SAFETY: the pages outlive the requests, which are waited for here; nobody else uses them.
    let piece = |from: usize, bytes: usize| unsafe { Buffer::new(at.add(from), bytes) };
    let all: Vec<Buffer> = (0..BATCH).map(|index| piece(index * PAGE, PAGE)).collect();
    let wrote = io::write_vectored(Event::DataFileWrite, name, 0, &all)?.wait()?;
    io::flush(Event::DataFileFlush, name)?.wait()?;
    pages.fill(0);
    // Pieces of 4, 8, 12 … KiB, in the reverse order of memory.
    let mut parts = Vec::new();
    let mut left = BATCH * PAGE;
    for size in 1.. {
        let bytes = (size * 4096).min(left);
        left -= bytes;
        parts.push(piece(left, bytes));
        if left == 0 {
            break;
        }
    }
    let read = io::read_vectored(Event::DataFileReadScan, name, 0, &parts)?.wait()?;
    let mut joined = Vec::new();
    for part in &parts {
        // SAFETY: the request is over.
        joined.extend_from_slice(unsafe { std::slice::from_raw_parts(part.address() as *const u8, part.bytes()) });
    }
    for (index, bytes) in joined.chunks_exact(PAGE).enumerate() {
        verify(bytes, index as u64).map_err(bad)?;
    }
    io::remove(name)?;
    Ok(format!("ok {wrote} {read}"))
}

/// Reads at and behind the end of files.
fn eof(number: u64) -> Result<String> {
    let name = FileName::data(200 + number);
    io::create(name, 28_672)?;
    let mut pages = Pages::new(Owner::Test, 4 * PAGE)?;
    let mut seen = Vec::new();
    for (size, offset, bytes) in [
        (28_672, 0, 32_768),
        (28_672, 16_384, 16_384),
        (28_672, 28_672, 8192),
        (20_000, 0, 32_768),
        (20_000, 16_384, 4096),
        (0, 0, 8192),
    ] {
        io::truncate(name, size)?;
        seen.push(pages.read(Event::DataFileRead, name, offset, bytes)?);
    }
    io::remove(name)?;
    let missing = pages.read(Event::DataFileRead, name, 0, PAGE).err().map(|error| error.sqlstate().to_string());
    Ok(format!("ok {seen:?} {missing:?}"))
}

/// Operations on whole files.
fn files(number: u64) -> Result<String> {
    let (one, two) = (FileName::new(Kind::Temp, number * 2), FileName::new(Kind::Temp, number * 2 + 1));
    let expect = |what: &str, holds: bool| if holds { Ok(()) } else { Err(bad(what.to_string())) };
    expect("nothing there", !io::exists(one)? && io::size(one)?.is_none() && !io::remove(one)?)?;
    io::create_zeroed(one, 3 * PAGE as u64)?;
    expect("size", io::size(one)? == Some(3 * PAGE as u64))?;
    let twice = io::create(one, 0).err().map(|error| error.sqlstate());
    expect("made twice", twice == Some(base::sqlstate::IO_ERROR))?;
    io::allocate(one, 5 * PAGE as u64)?;
    io::allocate(one, PAGE as u64)?;
    expect("allocated", io::size(one)? == Some(5 * PAGE as u64))?;
    let mut pages = Pages::new(Owner::Test, PAGE)?;
    fill(&mut pages[..PAGE], number, 1);
    pages.write(Event::DataFileWrite, one, 4 * PAGE as u64, 0, PAGE)?;
    io::create(two, 0)?;
    expect("empty", pages.read(Event::DataFileRead, two, 0, PAGE)? == 0)?;
    io::rename(one, two)?;
    // The descriptor of the old `two` must not be used any more.
    expect("renamed", pages.read(Event::DataFileRead, two, 4 * PAGE as u64, PAGE)? == PAGE)?;
    verify(&pages[..PAGE], number).map_err(bad)?;
    expect("old name", !io::exists(one)?)?;
    let listed = io::list(Kind::Temp)?;
    expect("listed", listed.contains(&two.number()) && !listed.contains(&one.number()) && listed.is_sorted())?;
    io::sync_directory(Kind::Temp)?;
    expect("removed", io::remove(two)? && !io::exists(two)?)?;
    let control = FileName::new(Kind::Control, number);
    expect("no control", io::read_small(control, 100)?.is_none())?;
    for content in [&b"first"[..], b"second, longer", b""] {
        io::write_small(control, content)?;
        expect("control", io::read_small(control, 100)?.as_deref() == Some(content))?;
    }
    expect("removed", io::remove(control)?)?;
    Ok("ok".into())
}

/// Durable writes to a log file, and to a data file.
fn durable(number: u64, count: u64, write: impl Fn(Event, FileName, u64, Buffer) -> Result<usize>) -> Result<String> {
    let mut pages = Pages::new(Owner::Test, PAGE)?;
    let at = NonNull::new(pages.as_mut_ptr()).unwrap();
    for name in [FileName::wal(number), FileName::data(300 + number)] {
        io::create_zeroed(name, count * PAGE as u64)?;
        for page in 0..count {
            fill(&mut pages[..PAGE], page, number);
            // SAFETY: the pages outlive the request, which is waited for at once.
            let buffer = unsafe { Buffer::new(at, PAGE) };
            let written = write(Event::WalWrite, name, page * PAGE as u64, buffer)?;
            if written != PAGE {
                return Err(bad(format!("{written} bytes of a page were written")));
            }
        }
        for page in 0..count {
            pages.read(Event::WalRead, name, page * PAGE as u64, PAGE)?;
            verify(&pages[..PAGE], page).map_err(bad)?;
        }
    }
    Ok("ok".into())
}

/// Every page is some version of itself.
fn verify_all() -> Result<String> {
    let mut pages = Pages::new(Owner::Test, PAGE)?;
    for page in 0..PAGES {
        pages.read(Event::DataFileRead, FILE, page * PAGE as u64, PAGE)?;
        verify(&pages[..PAGE], page).map_err(bad)?;
    }
    Ok("ok".into())
}

/// Reads into the first `count` frames, `batch` to a request, without waiting.
fn prefetch(first: u64, count: usize, batch: usize) -> Result<String> {
    for from in (0..count).step_by(batch) {
        let buffers: Vec<Buffer> = (from..from + batch).map(buffer).collect();
        for index in from..from + batch {
            common().states[index].store(1, SeqCst);
        }
        let page = (first + from as u64) % PAGES;
        let action = Action { number: batch as u32, param: from as u64 };
        io::read_then(Event::DataFileReadBatch, FILE, page * PAGE as u64, &buffers, action)?;
    }
    Ok("ok".into())
}

/// Waits until the first `count` frames are read, or lost; checks what is in those that were read.
fn await_frames(first: u64, count: usize) -> Result<String> {
    let waiters = common().waiters;
    let mut tries = 0;
    loop {
        waiters.enter(0);
        let over = common().states[..count].iter().all(|state| state.load(SeqCst) >= 2);
        if !over {
            wait::wait(Event::BufferInProgress, 0, Some(kernel::clock::now() + 100_000_000));
        }
        waiters.leave();
        if over {
            break;
        }
        tries += 1;
        if tries > 10_000 {
            return Err(bad("frames are never read".into()));
        }
    }
    let mut lost = 0;
    for index in 0..count {
        if common().states[index].load(SeqCst) == 3 {
            lost += 1;
            continue;
        }
        // SAFETY: the frame is read, and nobody else uses it.
        let bytes = unsafe { std::slice::from_raw_parts(frame(index), PAGE) };
        verify(bytes, (first + index as u64) % PAGES).map_err(bad)?;
    }
    Ok(format!("ok {lost} lost"))
}

/// Overwrites all frames, and sees whether anything arrives in them from then on.
fn poison(ms: u64) -> Result<String> {
    // SAFETY: all frames are read or lost, so nobody uses them; the words are only read afterwards.
    unsafe { std::ptr::write_bytes(frame(0), 0xAA, FRAMES * PAGE) };
    wait::wait(Event::TestWait, 0, Some(kernel::clock::now() + ms * 1_000_000));
    // SAFETY: as above; volatile, because the point is that somebody else may write.
    let changed =
        (0..FRAMES * PAGE).step_by(512).filter(|&at| unsafe { frame(0).add(at).read_volatile() } != 0xAA).count();
    Ok(format!("ok {changed} changed"))
}

/// Reads from a pipe, which is complete when the client writes to it, and waits meanwhile for a post of another session.
fn pipe(session: &mut Session) -> Result<String> {
    common().wake.store(0, SeqCst);
    common().states[0].store(1, SeqCst);
    let action = Action { number: 1, param: 0 };
    io::read_then(Event::DataFileRead, FileName::data(900), 0, &[buffer(0)], action)?;
    io::submit();
    session.output().extend_from_slice(b"ok waiting\n");
    session.flush()?;
    let start = kernel::clock::now();
    let waiters = common().waiters;
    while common().wake.load(SeqCst) == 0 && kernel::clock::now() - start < 8_000_000_000 {
        waiters.enter(0);
        if common().wake.load(SeqCst) == 0 {
            wait::wait(Event::TestWait, 0, Some(start + 8_000_000_000));
        }
        waiters.leave();
    }
    let ms = (kernel::clock::now() - start) / 1_000_000;
    Ok(format!("ok {ms} {}", common().states[0].load(SeqCst)))
}

/// Far more requests than there are slots, none of them waited for.
fn flood(count: u64) -> Result<String> {
    for index in 0..count {
        let frame = index as usize % FRAMES;
        let page = frame as u64 % PAGES;
        let action = Action { number: 1, param: frame as u64 };
        io::read_then(Event::DataFileReadBatch, FILE, page * PAGE as u64, &[buffer(frame)], action)?;
    }
    Ok("ok".into())
}

fn stats() -> String {
    let sum =
        |pick: fn(&engine::EngineStats) -> u64| engine::engines().iter().map(|engine| pick(&engine.stats)).sum::<u64>();
    let (used, used_max) = io::slots_used();
    format!(
        "ok submitted={} completed={} uring={} workers={} sync={} own={} used={used} used_max={used_max} refused={} pending={} descriptors={}",
        sum(|stats| stats.io_submitted.get()),
        sum(|stats| stats.io_completed.get()),
        sum(|stats| stats.io_uring.get()),
        sum(|stats| stats.io_workers.get()),
        sum(|stats| stats.io_sync.get()),
        sum(|stats| stats.io_own.get()),
        io::refused_rings(),
        io::pending().count(),
        io::descriptors(),
    )
}
