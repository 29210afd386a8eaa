//! What a send and a receive cost here: no driver needs less for a request, and no server for an answer.
//!
//! Both ends of a connection over loopback are used by one thread in turns, so nobody is woken and nobody waits: what is left is what
//! the system does for the bytes. A send over loopback does the receiver's part of the protocol as well.

use crate::error;
use base::Result;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// Bytes of a prepared point select on its way, and of its answer.
const SIZES: (usize, usize) = (70, 90);
/// How many are measured at once; the cheapest of [`TURNS`] counts, because other programs only ever add.
const COUNT: u32 = 2_000;
const TURNS: u32 = 15;

/// Microseconds for one send and one receive, the mean of both directions.
///
/// # Errors
/// The system has no sockets for us.
pub fn cost_us() -> Result<f64> {
    measure().map_err(|error| error::system("loopback", error))
}

fn measure() -> std::io::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (request, answer, mut buffer) = ([0; SIZES.0], [0; SIZES.1], [0; 4096]);
    let mut least = f64::INFINITY;
    for _ in 0..TURNS {
        let began = Instant::now();
        for _ in 0..COUNT {
            client.write_all(&request)?;
            server.read_exact(&mut buffer[..SIZES.0])?;
            server.write_all(&answer)?;
            client.read_exact(&mut buffer[..SIZES.1])?;
        }
        least = least.min(began.elapsed().as_secs_f64() * 1e6 / f64::from(COUNT) / 2.0);
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_exchange_costs_some_microseconds() {
        let cost = super::cost_us().unwrap();
        assert!((0.2..100.0).contains(&cost), "{cost}");
    }
}
