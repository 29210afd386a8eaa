//! The cancel key: what lets a client end its own session's statement from another connection.
//!
//! The server sends the key when a session begins ([`crate::backend::backend_key_data`]); a client that wants the
//! session's statement cancelled opens a new connection and sends the key back ([`crate::startup::First::Cancel`]).
//! The number names the session and is public (`pg_stat_activity.pid`); the secret is the only proof of who asks, so it
//! comes from the operating system's randomness, by way of the caller, and is compared in constant time.

use std::fmt;
use subtle::ConstantTimeEq;

/// A session's number and its secret.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CancelKey {
    /// The session's number, as users see it; never an operating-system pid.
    pub session: i32,
    /// What only the client that was told can know.
    pub secret: u32,
}

impl CancelKey {
    /// True when `offered` is this key. Takes the same time however much of the secret is right.
    pub fn matches(&self, offered: &CancelKey) -> bool {
        self.session == offered.session && bool::from(self.secret.ct_eq(&offered.secret))
    }

    /// The key as both messages carry it.
    pub fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.session.to_be_bytes());
        bytes[4..].copy_from_slice(&self.secret.to_be_bytes());
        bytes
    }
}

impl fmt::Debug for CancelKey {
    /// Without the secret: this goes to logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelKey({})", self.session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_key_matches() {
        let key = CancelKey { session: -7, secret: 0x8000_0001 };
        assert!(key.matches(&CancelKey { session: -7, secret: 0x8000_0001 }));
        assert!(!key.matches(&CancelKey { session: -7, secret: 0x8000_0000 }));
        assert!(!key.matches(&CancelKey { session: 7, secret: 0x8000_0001 }));
        assert_eq!(key.to_bytes(), [0xff, 0xff, 0xff, 0xf9, 0x80, 0, 0, 1]);
        assert_eq!(format!("{key:?}"), "CancelKey(-7)");
    }
}
