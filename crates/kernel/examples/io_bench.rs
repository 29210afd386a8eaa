//! Random 8 KiB reads around the page cache: by each method, at depths 1, 8 and 32, in a few models.
//!
//! `cargo run --release -p kernel --example io_bench [-- DIRECTORY [ROUNDS [MODEL]]]` makes a file of 1 GiB, starts a server
//! for each combination (of models whose names contain MODEL), and has sessions read for a while. Combinations alternate within a round, because disks drift; the
//! table shows medians of rounds. Depth is reached in two ways: by one session with so many tickets, and by so many
//! sessions that read one page at a time. CPU is that of all server processes, per read.

use base::Result;
use kernel::config::{Config, EngineKind, HugePages, IoMethod, Primitive, Sessions};
use kernel::io::{self, Buffer, FileName, Pages};
use kernel::region::heap::Owner;
use kernel::session::{End, Next, Service, Session};
use kernel::wait::Event;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::ptr::NonNull;
use std::time::Instant;

const VARIABLE: &str = "GEARBOX_IO_BENCH";
const PAGE: usize = 8192;
const FILE: FileName = FileName::data(1);
const FILE_BYTES: u64 = 1 << 30;
const RUN_MS: u64 = 300;

struct Reads;

impl Service for Reads {
    fn serve(&self, session: &mut Session) -> Next {
        if session.shared().interrupt().is_some() {
            return Next::Close;
        }
        let input = session.input();
        let Some(end) = input.iter().position(|&byte| byte == b'\n') else { return Next::Park };
        let words: Vec<u64> =
            String::from_utf8_lossy(&input[..end]).split(' ').map(|word| word.parse().unwrap_or(0)).collect();
        session.consume(end + 1);
        let count = read(words[0], words[1] as usize, words[2]).expect("the benchmark's file can be read");
        session.output().extend_from_slice(format!("{count}\n").as_bytes());
        Next::Park
    }

    fn close(&self, _session: &mut Session, _end: End) {}
}

/// Reads random pages for `ms` milliseconds, `depth` at a time; answers how many.
fn read(ms: u64, depth: usize, seed: u64) -> Result<u64> {
    let mut pages = Pages::new(Owner::Test, depth * PAGE)?;
    let at = NonNull::new(pages.as_mut_ptr()).expect("memory");
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let end = kernel::clock::now() + ms * 1_000_000;
    let mut tickets: VecDeque<(usize, io::Ticket)> = VecDeque::new();
    let mut count = 0;
    let mut free: Vec<usize> = (0..depth).collect();
    loop {
        let over = kernel::clock::now() >= end;
        while let Some(piece) = free.pop().filter(|_| !over) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let page = (random >> 16) % (FILE_BYTES / PAGE as u64);
            // SAFETY: each piece is used by one request at a time, and tickets are waited for before the pages go.
            let buffer = unsafe { Buffer::new(at.add(piece * PAGE), PAGE) };
            tickets.push_back((piece, io::read(Event::DataFileRead, FILE, page * PAGE as u64, buffer)?));
        }
        let Some((piece, ticket)) = tickets.pop_front() else { return Ok(count) };
        ticket.wait()?;
        count += 1;
        free.push(piece);
        // Whatever else is complete is taken without a wait.
        while let Some((piece, ticket)) = tickets.pop_front() {
            if !ticket.is_done() {
                tickets.push_front((piece, ticket));
                break;
            }
            ticket.wait()?;
            count += 1;
            free.push(piece);
        }
    }
}

fn serve(description: &str) -> i32 {
    let words: Vec<&str> = description.split(' ').collect();
    let config = Config {
        engine: EngineKind::parse(words[0]).expect("an engine"),
        sessions: Sessions::parse(words[1]).expect("sessions"),
        engines: 1,
        primitive: Primitive::Futex,
        io: IoMethod::parse(words[2]).expect("a method"),
        io_workers: 8,
        blocking_threads: 4,
        max_connections: 100,
        arriving_max: 0,
        spare_engines: 2,
        engine_idle_spin_us: 0,
        session_idle_spin_us: 0,
        time_slice_us: 5000,
        gather_answers: true,
        fiber_stack_bytes: 256 << 10,
        region_bytes_max: 64 << 20,
        huge_pages: HugePages::Try,
        move_sessions: false,
        keepalive: Default::default(),
        data_dir: words[4].into(),
        listen: vec![([127, 0, 0, 1], words[3].parse().expect("a port")).into()],
        sockets: Vec::new(),
        socket_mode: 0,
    };
    kernel::supervisor::run(config, || Ok(Reads), |_| println!("ready")).expect("the server starts")
}

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(model: (&str, &str), io: &str, directory: &Path) -> Server {
        let port = testkit::ports::free_port();
        let description = format!("{} {} {io} {port} {}", model.0, model.1, directory.display());
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .env(VARIABLE, description)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("ready");
        Server { child, port }
    }

    /// CPU of all processes, in microseconds.
    fn cpu_us(&self) -> f64 {
        let supervisor = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children"));
        let mut total = 0.0;
        for pid in children.unwrap_or_default().split_whitespace() {
            let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
            for task in tasks.flatten() {
                let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                let ran = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
                total += ran.unwrap_or(0.0) / 1000.0;
            }
        }
        total
    }

    /// Reads a second and CPU per read with that many sessions, each with that many tickets.
    fn measure(&self, sessions: usize, depth: usize, seed: u64) -> (f64, f64) {
        let connect = |_| BufReader::new(TcpStream::connect(("127.0.0.1", self.port)).expect("a connection"));
        let mut clients: Vec<_> = (0..sessions).map(connect).collect();
        let mut round = |ms: u64| {
            for (index, client) in clients.iter_mut().enumerate() {
                let line = format!("{ms} {depth} {}\n", seed * 1000 + index as u64);
                client.get_mut().write_all(line.as_bytes()).expect("sent");
            }
            let mut count = 0;
            for client in &mut clients {
                let mut line = String::new();
                client.read_line(&mut line).expect("an answer");
                count += line.trim().parse::<u64>().expect("a number");
            }
            count as f64
        };
        round(20);
        let (cpu, start) = (self.cpu_us(), Instant::now());
        let count = round(RUN_MS);
        (count / start.elapsed().as_secs_f64(), (self.cpu_us() - cpu) / count)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn make_file(directory: &Path) {
    let path = directory.join("base/1");
    if std::fs::metadata(&path).is_ok_and(|found| found.len() == FILE_BYTES) {
        return;
    }
    std::fs::create_dir_all(directory.join("base")).expect("a directory");
    let mut file = std::fs::File::create(path).expect("a file");
    let mut random = 1u64;
    let mut piece = vec![0u8; 1 << 20];
    for _ in 0..FILE_BYTES >> 20 {
        for word in piece.chunks_exact_mut(8) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            word.copy_from_slice(&random.to_le_bytes());
        }
        file.write_all(&piece).expect("written");
    }
    file.sync_all().expect("flushed");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    if let Ok(description) = std::env::var(VARIABLE) {
        std::process::exit(serve(&description));
    }
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(|| std::env::temp_dir().join("gearbox-io-bench"), PathBuf::from);
    let rounds: u64 = arguments.next().map_or(5, |rounds| rounds.parse().expect("a number of rounds"));
    let only = arguments.next().unwrap_or_default();
    make_file(&directory);
    let models = [("thread", "fiber"), ("process", "fiber"), ("thread", "dedicated"), ("process", "dedicated")];
    let loads = [("tickets", 1, 1), ("tickets", 1, 8), ("tickets", 1, 32), ("sessions", 8, 1), ("sessions", 32, 1)];
    let mut results: Vec<(String, Vec<f64>, Vec<f64>)> = Vec::new();
    for round in 0..rounds {
        let mut row = 0;
        for model in models.into_iter().filter(|model| format!("{}/{}", model.0, model.1).contains(&only)) {
            let servers = ["uring", "workers", "sync"].map(|io| (io, Server::start(model, io, &directory)));
            for (how, sessions, depth) in loads {
                for (io, server) in &servers {
                    let (rate, cpu) = server.measure(sessions, depth, round + 1);
                    if round == 0 {
                        let label = format!("{}/{} {} {:>2} {io}", model.0, model.1, how, sessions * depth);
                        results.push((label, Vec::new(), Vec::new()));
                    }
                    results[row].1.push(rate);
                    results[row].2.push(cpu);
                    row += 1;
                }
            }
        }
    }
    println!("{:<40} {:>9} {:>12}", "model, depth by, depth, method", "reads/s", "CPU us/read");
    for (label, rates, cpus) in results {
        println!("{label:<40} {:>9.0} {:>12.1}", median(rates), median(cpus));
    }
}
