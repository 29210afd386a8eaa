//! One entry for a fuzzing harness, which the property tests share: any bytes into every decoder.
//!
//! What is asserted is what callers rely on: nothing panics, nothing claims bytes that are not there, what was validated
//! can be walked to its end, a state is never left where it cannot go on.

use crate::auth::{Exchange, Progress, Verifier};
use crate::frontend::{self, Framed, Frontend};
use crate::startup::{First, FirstFramed, Negotiation, options};
use crate::{limits, utf8};
use base::{Error, Kind};

/// Which decoder is fed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// A connection's first packets.
    FirstPackets,
    /// A session's messages after that.
    Session,
    /// The body of one message, behind the number of its tag.
    Bodies,
    /// The messages of a SCRAM exchange, each behind its length in two bytes.
    Exchange,
    /// Options of a startup packet, verifiers.
    Texts,
    /// A SCRAM exchange in its framing.
    Login,
}

impl Choice {
    /// Every decoder.
    pub const ALL: [Choice; 6] =
        [Choice::FirstPackets, Choice::Session, Choice::Bodies, Choice::Exchange, Choice::Texts, Choice::Login];
}

/// Feeds `data` to one decoder.
pub fn fuzz_one(choice: Choice, data: &[u8]) {
    match choice {
        Choice::FirstPackets => first_packets(data),
        Choice::Session => session(data),
        Choice::Bodies => bodies(data),
        Choice::Exchange => exchange(data),
        Choice::Texts => texts(data),
        Choice::Login => login(data),
    }
}

/// An error that a client is told about must have words and a code.
fn told(error: &Error) {
    assert!(!error.message().is_empty());
    assert_ne!(error.sqlstate(), base::sqlstate::INTERNAL_ERROR);
}

fn first_packets(mut data: &[u8]) {
    let mut negotiation = Negotiation::default();
    loop {
        match negotiation.next(data) {
            Ok(FirstFramed::NeedMore(least)) => {
                assert!(least > data.len() && least <= 4 + limits::STARTUP_MAX);
                return;
            }
            Ok(FirstFramed::Packet { first, consumed }) => {
                assert!((8..=data.len()).contains(&consumed));
                if let First::Startup(startup) = first {
                    assert!(!startup.user().is_empty() && startup.user().len() <= limits::NAME_MAX);
                    assert!(!startup.database().is_empty() && startup.database().len() <= limits::NAME_MAX);
                    let (options, settings) = (startup.protocol_options().count(), startup.settings().count());
                    assert!(options + settings < startup.parameters().count());
                    let _ = options::settings(startup.options());
                }
                data = &data[consumed..];
            }
            Err(error) => {
                told(&error);
                assert_eq!(error.kind(), Kind::Session);
                return;
            }
        }
    }
}

fn session(mut data: &[u8]) {
    loop {
        match frontend::next(data, limits::LARGE_MAX) {
            Ok(Framed::NeedMore(least)) => {
                assert!(least > data.len());
                return;
            }
            Ok(Framed::Message { tag, body, consumed }) => {
                assert_eq!(consumed, 5 + body.len());
                decode(tag, body);
                data = &data[consumed..];
            }
            Err(error) => {
                told(&error);
                assert_eq!(error.kind(), Kind::Session);
                return;
            }
        }
    }
}

/// Bodies without the framing, where a fuzzer's bytes get further.
fn bodies(data: &[u8]) {
    if let Some((&tag, body)) = data.split_first()
        && let Some(&tag) = frontend::Tag::ALL.get(usize::from(tag) % frontend::Tag::ALL.len())
    {
        decode(tag, body);
    }
}

fn decode(tag: frontend::Tag, body: &[u8]) {
    match Frontend::decode(tag, body) {
        Ok(Frontend::Parse(parse)) => assert_eq!(parse.types().len(), parse.types().count()),
        Ok(Frontend::Bind(bind)) => {
            let parameters = bind.parameters();
            let mut bytes = 0;
            assert_eq!(parameters.len(), parameters.clone().count());
            for (value, _) in parameters {
                bytes += value.map_or(0, <[u8]>::len);
            }
            assert!(bytes <= body.len());
            for column in 0..=bind.results().len() {
                let _ = bind.results().of(column);
            }
        }
        Ok(_) => {}
        Err(error) => {
            told(&error);
            assert_eq!(error.kind(), Kind::Statement);
        }
    }
}

fn verifier() -> Verifier {
    // Any keys do: without the password no message is good enough, and deriving them costs a millisecond.
    const STORED: &str = "SCRAM-SHA-256$4096:AAECAwQFBgcICQoLDA0ODw==$\
                          wqBuaEI1CVvfEfLpmo+0HvZLE+PyD1wGx3dG9BUG7ro=:a5Z4WLbqJ2hDz1VMLHyx3G0Ck4rkUwWxHk0bLfHiYnE=";
    Verifier::parse(STORED).expect("the text above is a verifier")
}

/// The client's messages one after the other, each with its length in two bytes.
fn exchange(mut data: &[u8]) {
    let mut exchange = Exchange::new(&verifier());
    let mut out = Vec::new();
    while let Some((length, rest)) = data.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)) % (limits::SASL_MAX + 1);
        let Some((message, rest)) = rest.split_at_checked(length) else { return };
        match exchange.answer(message, &[7; 18], "fuzz", &mut out) {
            Ok(progress) => assert_eq!(progress, Progress::Continue, "nobody knows the password"),
            Err(error) => {
                told(&error);
                assert_eq!(error.kind(), Kind::Session);
            }
        }
        data = rest;
    }
}

/// The exchange in its framing.
fn login(mut data: &[u8]) {
    let mut exchange = Exchange::new(&verifier());
    let mut out = Vec::new();
    while let Ok(Framed::Message { body, consumed, .. }) = frontend::next_sasl(data) {
        let _ = exchange.answer(body, &[7; 18], "fuzz", &mut out);
        data = &data[consumed..];
    }
}

fn texts(data: &[u8]) {
    let Ok(text) = utf8(data) else { return };
    if let Ok(settings) = options::settings(text) {
        assert!(settings.iter().all(|(name, _)| !name.contains('-') && !name.contains('=')));
    }
    if let Some(verifier) = Verifier::parse(text) {
        let stored = verifier.to_string();
        assert_eq!(Verifier::parse(&stored).map(|again| again.to_string()), Some(stored));
    }
}

#[cfg(test)]
mod tests;
