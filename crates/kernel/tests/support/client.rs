//! A client: sends lines, reads lines, and never waits for ever.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long an answer may take unless a test says otherwise.
pub const LIMIT: Duration = Duration::from_secs(5);

/// A connection to a test server.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What `who` answers: where the request ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Who {
    /// The engine's number.
    pub engine: u32,
    /// The process and the thread that it is.
    pub pid: i32,
    /// See `pid`.
    pub tid: i32,
    /// The session's number, which users see.
    pub number: u32,
    /// Times that another engine than before resumed the session.
    pub moves: u64,
    /// How often the server has restarted.
    pub restarts: u32,
}

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect_timeout(&address, LIMIT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LIMIT))?;
        Ok(Client { stream, buffer: Vec::new() })
    }

    /// Sets how long an answer may take.
    pub fn limit(&self, limit: Duration) {
        self.stream.set_read_timeout(Some(limit)).expect("a time-out is set");
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        self.stream.write_all(&bytes)
    }

    /// Reads a line. `TimedOut` when it does not come in time, `UnexpectedEof` when the server has closed.
    pub fn line(&mut self) -> io::Result<String> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|&byte| byte == b'\n') {
                let rest = self.buffer.split_off(searched + at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                return String::from_utf8(line).map_err(|error| io::Error::new(ErrorKind::InvalidData, error));
            }
            searched = self.buffer.len();
            let mut part = [0; 16 << 10];
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.buffer.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A command and its answer.
    pub fn try_ask(&mut self, line: &str) -> io::Result<String> {
        self.send(line)?;
        self.line()
    }

    /// A command and its answer; a connection that breaks fails the test.
    #[track_caller]
    pub fn ask(&mut self, line: &str) -> String {
        match self.try_ask(line) {
            Ok(answer) => answer,
            Err(error) => panic!("no answer to {line:?}: {error}"),
        }
    }

    /// A command that must be answered with exactly that.
    #[track_caller]
    pub fn expect(&mut self, line: &str, answer: &str) {
        let got = self.ask(line);
        assert_eq!(got, answer, "the answer to {line:?}");
    }

    /// Where the session runs.
    #[track_caller]
    pub fn who(&mut self) -> Who {
        let answer = self.ask("who");
        parse_who(&answer).unwrap_or_else(|| panic!("who: {answer:?}"))
    }

    /// A named number of the answer to `stat`.
    #[track_caller]
    pub fn stat(&mut self, name: &str) -> u64 {
        let answer = self.ask("stat");
        field(&answer, name).unwrap_or_else(|| panic!("stat has no {name}: {answer:?}"))
    }

    /// True if the server has closed the connection, or does so in time.
    pub fn is_closed_within(&mut self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        loop {
            let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.limit(left);
            match self.line() {
                Ok(_) => {}
                Err(error) => return error.kind() != ErrorKind::TimedOut,
            }
        }
    }
}

/// Reads the answer to `who`.
pub fn parse_who(answer: &str) -> Option<Who> {
    let mut words = answer.strip_prefix("who ")?.split(' ');
    let mut word = || words.next();
    Some(Who {
        engine: word()?.parse().ok()?,
        pid: word()?.parse().ok()?,
        tid: word()?.parse().ok()?,
        number: word()?.parse().ok()?,
        moves: word()?.parse().ok()?,
        restarts: word()?.parse().ok()?,
    })
}

/// A number from a list `name=number name=number`.
pub fn field(answer: &str, name: &str) -> Option<u64> {
    answer.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}
