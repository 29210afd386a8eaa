//! One direction of a connection: bytes on their way, and bytes that have arrived.
//!
//! What is put in is cut into pieces, each of which arrives a while later, never before the one ahead of it. There is room
//! for so many bytes altogether, on the way or arrived and not taken: a reader that is slow makes the writer wait.

use super::trace::hash_bytes;
use super::world::World;
use crate::clock::Nanos;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

enum Piece {
    Bytes(Vec<u8>),
    End,
}

/// What there is to take.
pub(super) enum Arrival {
    Bytes(usize),
    End,
    Nothing,
}

/// See the head of this file.
pub(super) struct Pipe {
    latency: Nanos,
    window: usize,
    /// Put in, and not cut into pieces yet.
    fresh: RefCell<VecDeque<Piece>>,
    flight: RefCell<VecDeque<Piece>>,
    arrived: RefCell<VecDeque<u8>>,
    outstanding: Cell<usize>,
    /// The writer will put nothing more in.
    finished: Cell<bool>,
    /// The end has arrived.
    ended: Cell<bool>,
    /// The reader takes nothing more.
    discarded: Cell<bool>,
    /// The writer found too little room and is to hear when there is more.
    starved: Cell<bool>,
    last_at: Cell<Nanos>,
}

impl Pipe {
    pub(super) fn new(latency: Nanos, window: usize) -> Pipe {
        Pipe {
            latency,
            window,
            fresh: RefCell::default(),
            flight: RefCell::default(),
            arrived: RefCell::default(),
            outstanding: Cell::new(0),
            finished: Cell::new(false),
            ended: Cell::new(false),
            discarded: Cell::new(false),
            starved: Cell::new(false),
            last_at: Cell::new(0),
        }
    }

    /// Puts in as much as there is room for; answers how much that was.
    pub(super) fn put(&self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room());
        self.starved.set(count < bytes.len());
        if count > 0 {
            self.outstanding.set(self.outstanding.get() + count);
            self.fresh.borrow_mut().push_back(Piece::Bytes(bytes[..count].to_vec()));
        }
        count
    }

    /// Nothing more is put in.
    pub(super) fn finish(&self) {
        if !self.finished.replace(true) {
            self.fresh.borrow_mut().push_back(Piece::End);
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished.get()
    }

    pub(super) fn room(&self) -> usize {
        self.window.saturating_sub(self.outstanding.get())
    }

    /// True once when a writer that found too little room may go on.
    pub(super) fn has_made_room(&self) -> bool {
        self.starved.get() && self.room() >= self.window / 3 && self.starved.replace(false)
    }

    /// Cuts the next piece off what was put in; answers when it is to arrive.
    pub(super) fn next_unscheduled(&self, world: &World) -> Option<Nanos> {
        let mut fresh = self.fresh.borrow_mut();
        let mut piece = fresh.pop_front()?;
        if let Piece::Bytes(bytes) = &mut piece
            && bytes.len() > 1
            && world.random.chance(300_000)
        {
            let rest = bytes.split_off(world.random.between(1, bytes.len() as u64 - 1) as usize);
            fresh.push_front(Piece::Bytes(rest));
        }
        self.flight.borrow_mut().push_back(piece);
        let at = world.now() + world.random.between(self.latency / 2, self.latency * 2);
        let at = at.max(self.last_at.get());
        self.last_at.set(at);
        Some(at)
    }

    /// The first piece on its way arrives; answers a hash of it.
    pub(super) fn arrive(&self) -> u64 {
        match self.flight.borrow_mut().pop_front() {
            Some(Piece::Bytes(bytes)) => {
                if self.discarded.get() {
                    self.outstanding.set(self.outstanding.get() - bytes.len());
                } else {
                    self.arrived.borrow_mut().extend(&bytes);
                }
                hash_bytes(&bytes)
            }
            Some(Piece::End) => {
                self.ended.set(true);
                1
            }
            None => 0,
        }
    }

    /// Takes at most `room` bytes that have arrived.
    pub(super) fn take(&self, into: &mut Vec<u8>, room: usize) -> Arrival {
        let mut arrived = self.arrived.borrow_mut();
        if self.discarded.get() || (arrived.is_empty() && self.ended.get()) {
            return Arrival::End;
        }
        let count = arrived.len().min(room);
        if count == 0 {
            return Arrival::Nothing;
        }
        into.extend(arrived.drain(..count));
        self.outstanding.set(self.outstanding.get() - count);
        Arrival::Bytes(count)
    }

    /// Nothing is taken any more.
    pub(super) fn discard(&self) {
        self.discarded.set(true);
        let mut arrived = self.arrived.borrow_mut();
        self.outstanding.set(self.outstanding.get() - arrived.len());
        arrived.clear();
    }

    pub(super) fn readable(&self) -> bool {
        self.discarded.get() || self.ended.get() || !self.arrived.borrow().is_empty()
    }

    /// True when nothing comes behind what has arrived.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.get() || self.discarded.get()
    }

    /// True when bytes have arrived, or are on their way, that nobody will take.
    pub(super) fn unread(&self) -> bool {
        !self.discarded.get() && self.outstanding.get() > 0
    }

    pub(super) fn describe(&self) -> String {
        format!(
            "{} of {} bytes, {} arrived{}{}",
            self.outstanding.get(),
            self.window,
            self.arrived.borrow().len(),
            if self.finished.get() { ", finished" } else { "" },
            if self.ended.get() { ", ended" } else { "" }
        )
    }
}
