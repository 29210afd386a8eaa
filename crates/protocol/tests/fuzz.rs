//! What clients really send, mutated, into every decoder: nothing panics, and what [`protocol::fuzz`] asserts holds.
//!
//! `tests/corpus` has the client's side of connections to this server, recorded whole between client and server: psql with a
//! script (COPY in and out, a cursor, savepoints, errors, `\d`) and with options in its startup packet; pgbench's filling of its
//! tables (its first bytes) and its transactions in the three protocols.

use protocol::fuzz::{Choice, fuzz_one};
use std::path::Path;
use testkit::fuzz::{Corpus, expect, mutate};

fn corpus() -> Corpus {
    Corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"))
}

/// Where the first packet ends.
fn after_startup(session: &[u8]) -> usize {
    let length = session.first_chunk::<4>().map_or(0, |length| u32::from_be_bytes(*length) as usize);
    // What is first says that encryption is wanted, or is the startup packet itself.
    match session.get(8..) {
        Some(rest) if length == 8 => 8 + after_startup(rest),
        _ => length.min(session.len()),
    }
}

#[test]
fn what_was_recorded_is_understood() {
    for session in corpus().files() {
        let mut rest = &session[after_startup(session)..];
        let mut messages = 0;
        while let Ok(protocol::frontend::Framed::Message { tag, body, consumed }) =
            protocol::frontend::next(rest, protocol::limits::LARGE_MAX)
        {
            protocol::frontend::Frontend::decode(tag, body).expect("clients send what can be decoded");
            rest = &rest[consumed..];
            messages += 1;
        }
        assert!(messages > 0);
    }
}

#[test]
fn mutated_sessions_disturb_no_decoder() {
    let corpus = corpus();
    expect("sessions", 1, 100_000, |random| {
        let session = corpus.case(random);
        fuzz_one(Choice::FirstPackets, &session);
        let begin = after_startup(&session);
        fuzz_one(Choice::Session, &session[begin..]);
        // One message's body by itself: a mutation of its length would hide all others.
        let whole = corpus.pick(random);
        let mut rest = &whole[after_startup(whole)..];
        for _ in 0..random.below(20) {
            let Ok(protocol::frontend::Framed::Message { consumed, .. }) =
                protocol::frontend::next(rest, protocol::limits::LARGE_MAX)
            else {
                break;
            };
            rest = &rest[consumed..];
        }
        if let Ok(protocol::frontend::Framed::Message { tag, body, .. }) =
            protocol::frontend::next(rest, protocol::limits::LARGE_MAX)
        {
            let mut body = body.to_vec();
            mutate(&mut body, random);
            let number = protocol::frontend::Tag::ALL.iter().position(|known| *known == tag).unwrap_or(0);
            fuzz_one(Choice::Bodies, &[&[number as u8][..], &body].concat());
        }
    });
}

/// What SCRAM's texts are made of: recorded exchanges would be refused for their nonce at once.
const LOGINS: [&[u8]; 4] = [
    b"SCRAM-SHA-256\0\0\0\0\x20n,,n=,r=fyko+d2lbbFgONRv9qkxdawL",
    b"SCRAM-SHA-256\0\0\0\0\x20y,,n=a,r=fyko+d2lbbFgONRv9qkxdaw",
    b"c=biws,r=fyko+d2lbbFgONRv9qkxdawLBwcHBwcHBwcHBwcHBwcHBwcHBwcH,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
    b"SCRAM-SHA-256$4096:AAECAwQFBgcICQoLDA0ODw==$wqBuaEI1CVvfEfLpmo+0HvZLE+PyD1wGx3dG9BUG7ro=:a5Z4WLbqJ2hDz1VMLHyx3G0Ck4rkUwWxHk0bLfHiYnE=",
];

#[test]
fn mutated_logins_disturb_nobody() {
    expect("logins", 1, 20_000, |random| {
        let mut exchange = Vec::new();
        let mut framed = Vec::new();
        for part in [random.at(3), 2] {
            let mut message = LOGINS[part].to_vec();
            if random.below(3) > 0 {
                mutate(&mut message, random);
            }
            exchange.extend_from_slice(&(message.len() as u16).to_le_bytes());
            exchange.extend_from_slice(&message);
            framed.push(b'p');
            framed.extend_from_slice(&(message.len() as u32 + 4).to_be_bytes());
            framed.extend_from_slice(&message);
        }
        fuzz_one(Choice::Exchange, &exchange);
        fuzz_one(Choice::Login, &framed);
        let mut text = LOGINS[random.at(4)].to_vec();
        mutate(&mut text, random);
        fuzz_one(Choice::Texts, &text);
    });
}
