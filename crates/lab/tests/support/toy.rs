//! A server that speaks just enough of PostgreSQL's protocol to be driven, and keeps what it was asked. Every query is answered with
//! one row `answer = 7`.

use lab::address::{Address, Wire};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How it behaves.
#[derive(Clone, Copy, Default)]
pub struct Manner {
    /// Answers are written in pieces of so many bytes; zero for whole.
    pub piece: usize,
    /// Each so-manieth SELECT of a connection fails with 40001.
    pub fail_every: u64,
    /// A connection is closed at its so-manieth SELECT.
    pub break_every: u64,
    /// No statement can be prepared.
    pub has_no_tables: bool,
    /// More are refused with 53300; zero for no limit.
    pub connections_max: u64,
    /// For how long nobody is answered.
    pub stall: Duration,
    /// Since the first request.
    pub stall_after: Duration,
}

#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    executed: AtomicU64,
    committed: AtomicU64,
    rolled_back: AtomicU64,
    asked: Mutex<Vec<Vec<String>>>,
    streams: Mutex<Vec<TcpStream>>,
    first: Mutex<Option<Instant>>,
    stop: AtomicBool,
}

/// A running one; it goes away when it is dropped.
pub struct Toy {
    address: SocketAddr,
    counts: Arc<Counts>,
}

impl Toy {
    pub fn start(manner: Manner) -> Toy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stop.load(SeqCst) {
                    return;
                }
                let (stream, shared) = (stream.unwrap(), Arc::clone(&shared));
                shared.streams.lock().unwrap().push(stream.try_clone().unwrap());
                std::thread::spawn(move || Connection::new(stream, manner, &shared).serve());
            }
        });
        Toy { address, counts }
    }

    pub fn address(&self) -> Address {
        let (user, database) = ("toy".into(), "toy".into());
        Address { wire: Wire::Postgres, socket: self.address, user, database, password: None }
    }

    /// SELECT statements that were answered well.
    pub fn executed(&self) -> u64 {
        self.counts.executed.load(SeqCst)
    }

    pub fn committed(&self) -> u64 {
        self.counts.committed.load(SeqCst)
    }

    pub fn rolled_back(&self) -> u64 {
        self.counts.rolled_back.load(SeqCst)
    }

    /// The texts of simple queries, by connection; waits until all connections are over.
    pub fn asked(&self) -> Vec<Vec<String>> {
        while self.counts.asked.lock().unwrap().len() as u64 != self.counts.connections.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.counts.asked.lock().unwrap().clone()
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        self.counts.stop.store(true, SeqCst);
        let _ = TcpStream::connect(self.address);
        for stream in self.counts.streams.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

struct Connection<'a> {
    stream: TcpStream,
    manner: Manner,
    counts: &'a Counts,
    out: Vec<u8>,
    texts: std::collections::HashMap<String, String>,
    bound: String,
    selects: u64,
    /// `I`, `T`, `E`, as ReadyForQuery says it.
    status: u8,
    skips: bool,
    asked: Vec<String>,
}

/// The connection is over.
struct Over;

impl<'a> Connection<'a> {
    fn new(stream: TcpStream, manner: Manner, counts: &'a Counts) -> Connection<'a> {
        Connection {
            stream,
            manner,
            counts,
            out: Vec::new(),
            texts: Default::default(),
            bound: String::new(),
            selects: 0,
            status: b'I',
            skips: false,
            asked: Vec::new(),
        }
    }

    fn serve(mut self) {
        let _ = self.stream.set_nodelay(true);
        let _ = self.talk();
        let _ = self.stream.shutdown(Shutdown::Both);
        self.counts.asked.lock().unwrap().push(std::mem::take(&mut self.asked));
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, Over> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).map_err(|_| Over)?;
        Ok(bytes)
    }

    fn say(&mut self, tag: u8, body: &[u8]) {
        self.out.push(tag);
        self.out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        self.out.extend_from_slice(body);
    }

    fn flush(&mut self) -> Result<(), Over> {
        let out = std::mem::take(&mut self.out);
        let piece = if self.manner.piece == 0 { out.len().max(1) } else { self.manner.piece };
        out.chunks(piece).try_for_each(|piece| self.stream.write_all(piece)).map_err(|_| Over)
    }

    fn ready(&mut self) -> Result<(), Over> {
        self.skips = false;
        self.say(b'Z', &[self.status]);
        self.flush()
    }

    fn refuse(&mut self, state: &str, message: &str) {
        self.say(b'E', format!("SERROR\0C{state}\0M{message}\0\0").as_bytes());
    }

    fn talk(&mut self) -> Result<(), Over> {
        let length = self.take(4)?;
        self.take(u32::from_be_bytes(length.try_into().unwrap()) as usize - 4)?;
        let number = self.counts.connections.fetch_add(1, SeqCst) + 1;
        if self.manner.connections_max != 0 && number > self.manner.connections_max {
            self.refuse("53300", "sorry, too many clients already");
            return self.flush();
        }
        self.say(b'R', &[0; 4]);
        self.say(b'S', b"server_version\x0015.0\0");
        self.ready()?;
        loop {
            let head = self.take(5)?;
            let size = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
            let body = self.take(size)?;
            let word = |from: usize| {
                let end = body[from..].iter().position(|&byte| byte == 0).unwrap() + from;
                (String::from_utf8(body[from..end].to_vec()).unwrap(), end + 1)
            };
            match head[0] {
                b'S' => self.ready()?,
                _ if self.skips => {}
                b'P' if self.manner.has_no_tables => {
                    self.refuse("42P01", "no such table");
                    self.skips = true;
                }
                b'P' => {
                    let (name, next) = word(0);
                    self.texts.insert(name, word(next).0);
                    self.say(b'1', b"");
                }
                b'B' => {
                    self.bound = word(word(0).1).0;
                    self.say(b'2', b"");
                }
                b'D' => self.describe(),
                b'E' => {
                    let text = self.texts[&self.bound].clone();
                    self.execute(&text)?;
                }
                b'C' => self.say(b'3', b""),
                b'Q' => {
                    let (text, _) = word(0);
                    self.asked.push(text.clone());
                    self.describe();
                    self.execute(&text)?;
                    self.ready()?;
                }
                b'X' => return Ok(()),
                other => panic!("message {other:#04x}"),
            }
        }
    }

    fn describe(&mut self) {
        self.say(b'T', &[&[0, 1][..], b"answer\0", &[0; 6], &[0, 0, 0, 23, 0, 4], &[0xff; 4], &[0, 0]].concat());
    }

    fn execute(&mut self, text: &str) -> Result<(), Over> {
        self.stall();
        let word = text.split([' ', ';']).next().unwrap_or_default();
        let tag = match (word, self.status) {
            ("ROLLBACK", _) => {
                self.status = b'I';
                self.counts.rolled_back.fetch_add(1, SeqCst);
                word
            }
            (_, b'E') => {
                self.skips = true;
                self.refuse("25P02", "the transaction has failed");
                return Ok(());
            }
            ("BEGIN", _) => {
                self.status = b'T';
                word
            }
            ("COMMIT", _) => {
                self.status = b'I';
                self.counts.committed.fetch_add(1, SeqCst);
                word
            }
            _ => {
                self.selects += 1;
                if self.manner.break_every != 0 && self.selects == self.manner.break_every {
                    return Err(Over);
                }
                if self.manner.fail_every != 0 && self.selects.is_multiple_of(self.manner.fail_every) {
                    self.refuse("40001", "could not serialize access");
                    self.skips = true;
                    if self.status == b'T' {
                        self.status = b'E';
                    }
                    return Ok(());
                }
                self.counts.executed.fetch_add(1, SeqCst);
                self.say(b'D', &[0, 1, 0, 0, 0, 1, b'7']);
                "SELECT 1"
            }
        };
        self.say(b'C', format!("{tag}\0").as_bytes());
        Ok(())
    }

    fn stall(&self) {
        if self.manner.stall.is_zero() {
            return;
        }
        let first = *self.counts.first.lock().unwrap().get_or_insert_with(Instant::now);
        let (begin, now) = (first + self.manner.stall_after, Instant::now());
        if (begin..begin + self.manner.stall).contains(&now) {
            std::thread::sleep(begin + self.manner.stall - now);
        }
    }
}
