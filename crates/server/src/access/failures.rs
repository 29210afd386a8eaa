//! Wrong passwords: who has given how many, and until when he is not listened to.
//!
//! Guesses are counted for each address and role together, and for each address alone, with ten times the patience: somebody who tries
//! one password on many roles is found, too. Once there are more than `failed_login_limit` of them in a row, each further one
//! closes the door for twice as long as the one before, from `failed_login_delay` up to `failed_login_delay_max`. While it is
//! closed a right password is not taken either: else the pause would cost a guesser nothing. Nobody waits on the server's side, so no
//! engine is kept by it.
//!
//! Rules
//! 1. A role that is not there counts as one that is. Nothing that a client is told differs.
//! 2. The first right password forgets what was wrong before it, of that address and role. What is older than [`FORGOTTEN_US`] is
//!    forgotten, too.
//! 3. The table is of fixed size, in the region. Of those that would have one place the oldest goes.

use base::settings::{Effective, SettingId};
use base::{Error, Result, sqlstate};
use kernel::region;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

const PLACES: usize = 4096;
/// Among how many places a caller's is.
const CHOICES: usize = 8;
const NAME_BYTES: usize = 64;
/// How much longer an address's patience is than that of one role from there.
const ADDRESS_FACTOR: u32 = 10;
const FORGOTTEN_US: i64 = 15 * 60 * 1_000_000;

kernel::shared! {
    /// An address, and a role or none. Changed under the table's latch.
    struct Place {
        address_high: AtomicU64,
        address_low: AtomicU64,
        /// Zero for the address alone.
        name_bytes: AtomicU32,
        /// None: the place is free.
        count: AtomicU32,
        last: AtomicU64,
        until: AtomicU64,
        name: [AtomicU64; NAME_BYTES / 8],
    }

    struct Table {
        latch: Latch,
        places: [Place; PLACES],
    }
}

/// The table, and what the settings say.
#[derive(Clone, Copy)]
pub struct Failures {
    table: &'static Table,
    limit: u32,
    delay_us: u64,
    delay_max_us: u64,
}

/// What is known of somebody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// Where from; none for sockets of the file system.
    pub address: Option<IpAddr>,
    /// The role; empty for all of the address.
    pub role: String,
    /// How many wrong passwords in a row.
    pub count: u32,
    /// The last of them: microseconds since 2000.
    pub last: i64,
    /// Until when nobody is listened to.
    pub until: Option<i64>,
}

fn words(address: Option<IpAddr>) -> (u64, u64) {
    let bits = match address {
        None => 0,
        Some(IpAddr::V4(v4)) => v4.to_ipv6_mapped().to_bits(),
        Some(IpAddr::V6(v6)) => v6.to_bits(),
    };
    ((bits >> 64) as u64, bits as u64)
}

/// How long the door is closed after so many.
fn pause(count: u32, limit: u32, delay_us: u64, most_us: u64) -> u64 {
    match count.checked_sub(limit) {
        None | Some(0) => 0,
        Some(over) => delay_us.saturating_mul(1u64.checked_shl(over - 1).unwrap_or(u64::MAX)).min(most_us),
    }
}

impl Failures {
    /// Takes the table. Before the first engine.
    pub fn make(settings: &Effective) -> Failures {
        Failures {
            table: region::single("failed log-ins"),
            limit: settings.integer(SettingId::FailedLoginLimit) as u32,
            delay_us: settings.micros(SettingId::FailedLoginDelay),
            delay_max_us: settings.micros(SettingId::FailedLoginDelayMax),
        }
    }

    /// May this role be asked for its password from there? Errors: `28000` while the door is closed.
    pub fn check(&self, address: Option<IpAddr>, role: &str, now: i64) -> Result<()> {
        if self.limit == 0 {
            return Ok(());
        }
        let _shared = self.table.latch.lock(Mode::Shared, Event::LoginLatch);
        for name in [role, ""] {
            let Some(place) = self.find(address, name) else { continue };
            if place.until.load(Relaxed) as i64 > now {
                let message = "too many failed log-ins";
                return Err(Error::session(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message)
                    .detail("Passwords are not looked at for a while, right ones neither.")
                    .hint("Try again later."));
            }
        }
        Ok(())
    }

    /// A password was wrong.
    pub fn wrong(&self, address: Option<IpAddr>, role: &str, now: i64) {
        if self.limit == 0 {
            return;
        }
        let _alone = self.table.latch.lock(Mode::Exclusive, Event::LoginLatch);
        for (name, limit) in [(role, self.limit), ("", self.limit.saturating_mul(ADDRESS_FACTOR))] {
            let place = self.find(address, name).unwrap_or_else(|| self.take(address, name));
            let old = now - place.last.load(Relaxed) as i64 > FORGOTTEN_US;
            let count = if old { 1 } else { place.count.load(Relaxed).saturating_add(1) };
            place.count.store(count, Relaxed);
            place.last.store(now as u64, Relaxed);
            let pause = pause(count, limit, self.delay_us, self.delay_max_us);
            place.until.store((now as u64).saturating_add(pause), Relaxed);
        }
    }

    /// A password was right.
    pub fn right(&self, address: Option<IpAddr>, role: &str) {
        if self.limit == 0 {
            return;
        }
        let known = {
            let _shared = self.table.latch.lock(Mode::Shared, Event::LoginLatch);
            self.find(address, role).is_some()
        };
        if known {
            let _alone = self.table.latch.lock(Mode::Exclusive, Event::LoginLatch);
            if let Some(place) = self.find(address, role) {
                place.count.store(0, Relaxed);
            }
        }
    }

    /// Everybody who is known.
    pub fn all(&self) -> Vec<Failed> {
        let _shared = self.table.latch.lock(Mode::Shared, Event::LoginLatch);
        let known = self.table.places.iter().filter(|place| place.count.load(Relaxed) > 0);
        known.map(seen).collect()
    }

    /// The places among which that of somebody is.
    fn choices(&self, address: Option<IpAddr>, name: &str) -> impl Iterator<Item = &'static Place> + use<> {
        let (high, low) = words(address);
        // What is guessed are names: whoever chooses them to meet in one place pushes out guesses of his own.
        let mut hash = 0xCBF2_9CE4_8422_2325u64 ^ high.rotate_left(17) ^ low.rotate_left(31);
        for &byte in name.as_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
        hash ^= hash >> 29;
        let table = self.table;
        (0..CHOICES).map(move |at| &table.places[(hash as usize).wrapping_add(at) % PLACES])
    }

    fn find(&self, address: Option<IpAddr>, name: &str) -> Option<&'static Place> {
        self.choices(address, name).find(|place| {
            (place.address_high.load(Relaxed), place.address_low.load(Relaxed)) == words(address)
                && place.count.load(Relaxed) > 0
                && name_of(place) == name.as_bytes()[..name.len().min(NAME_BYTES)]
        })
    }

    fn take(&self, address: Option<IpAddr>, name: &str) -> &'static Place {
        let oldest = |place: &&Place| if place.count.load(Relaxed) == 0 { 0 } else { place.last.load(Relaxed).max(1) };
        let place = self.choices(address, name).min_by_key(oldest).expect("there are choices");
        let (high, low) = words(address);
        place.address_high.store(high, Relaxed);
        place.address_low.store(low, Relaxed);
        let bytes = &name.as_bytes()[..name.len().min(NAME_BYTES)];
        for (word, chunk) in place.name.iter().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(whole), Relaxed);
        }
        place.name_bytes.store(bytes.len() as u32, Relaxed);
        place.count.store(0, Relaxed);
        place
    }
}

fn name_of(place: &Place) -> Vec<u8> {
    let length = (place.name_bytes.load(Relaxed) as usize).min(NAME_BYTES);
    let mut bytes: Vec<u8> = place.name.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}

fn seen(place: &Place) -> Failed {
    let bits = u128::from(place.address_high.load(Relaxed)) << 64 | u128::from(place.address_low.load(Relaxed));
    let (last, until) = (place.last.load(Relaxed) as i64, place.until.load(Relaxed) as i64);
    Failed {
        address: (bits != 0).then(|| IpAddr::V6(Ipv6Addr::from_bits(bits)).to_canonical()),
        role: String::from_utf8_lossy(&name_of(place)).into_owned(),
        count: place.count.load(Relaxed),
        last,
        until: (until > last).then_some(until),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_most() {
        let pauses: Vec<_> = (0..8).map(|count| pause(count, 3, 100, 1000)).collect();
        assert_eq!(pauses, [0, 0, 0, 0, 100, 200, 400, 800]);
        assert_eq!(pause(8, 3, 100, 1000), 1000);
        assert_eq!(pause(u32::MAX, 3, 100, 1000), 1000);
    }
}
