//! Tests that no bytes whatever make a decoder panic.

use super::*;
use crate::frontend::Tag;
use proptest::collection::vec;
use proptest::prelude::*;

/// A message's body, built so that it decodes.
fn body() -> impl Strategy<Value = (Tag, Vec<u8>)> {
    let name = || "[a-zäß_0-9]{0,12}".prop_map(|name| [name.as_bytes(), b"\0"].concat());
    let counted = |items: Vec<Vec<u8>>| [&(items.len() as u16).to_be_bytes()[..], &items.concat()].concat();
    let value = proptest::option::of(vec(any::<u8>(), 0..20)).prop_map(|value| match value {
        None => vec![0xff; 4],
        Some(value) => [&(value.len() as u32).to_be_bytes()[..], &value].concat(),
    });
    let formats = || vec(any::<bool>().prop_map(|binary| vec![0, u8::from(binary)]), 0..2).prop_map(counted);
    let values = vec(value, 0..5).prop_map(counted);
    let types = vec(any::<[u8; 4]>().prop_map(|number| number.to_vec()), 0..5).prop_map(counted);
    let target = (prop_oneof![Just(b'S'), Just(b'P')], name()).prop_map(|(kind, name)| [&[kind][..], &name].concat());
    prop_oneof![
        name().prop_map(|text| (Tag::Query, text)),
        (name(), name(), types).prop_map(|(a, b, c)| (Tag::Parse, [a, b, c].concat())),
        (name(), name(), formats(), values, formats())
            .prop_map(|(a, b, c, d, e)| (Tag::Bind, [a, b, c, d, e].concat())),
        (prop_oneof![Just(Tag::Describe), Just(Tag::Close)], target),
        (name(), any::<[u8; 4]>()).prop_map(|(name, rows)| (Tag::Execute, [&name[..], &rows].concat())),
        prop_oneof![Just(Tag::Sync), Just(Tag::Flush), Just(Tag::CopyDone), Just(Tag::Terminate)]
            .prop_map(|tag| (tag, Vec::new())),
        vec(any::<u8>(), 0..30).prop_map(|data| (Tag::CopyData, data)),
        name().prop_map(|reason| (Tag::CopyFail, reason)),
        vec(any::<u8>(), 4..30).prop_map(|call| (Tag::FunctionCall, call)),
    ]
}

fn framed((tag, body): &(Tag, Vec<u8>)) -> Vec<u8> {
    [&[*tag as u8][..], &(4 + body.len() as u32).to_be_bytes(), body].concat()
}

/// Bytes that are likely to mean something to a decoder.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        Just(vec![0, 0, 0]),
        Just(vec![0xff; 4]),
        (0u32..40).prop_map(|number| number.to_be_bytes().to_vec()),
        prop_oneof![Just(3u32 << 16), Just(80_877_102), Just(80_877_103), Just(80_877_104)]
            .prop_map(|code| code.to_be_bytes().to_vec()),
        prop_oneof![Just("user"), Just("options"), Just("_pq_.x"), Just("replication"), Just("-c a=b"), Just("--a=b")]
            .prop_map(|text| [text.as_bytes(), b"\0"].concat()),
        prop_oneof![Just("n,,"), Just("n=,"), Just("r=abc"), Just("c=biws,"), Just(",p="), Just("SCRAM-SHA-256\0")]
            .prop_map(|text| text.as_bytes().to_vec()),
        prop_oneof![Just("SCRAM-SHA-256$"), Just("4096:"), Just("AAAA$"), Just(":"), Just("\\ ")]
            .prop_map(|text| text.as_bytes().to_vec()),
    ];
    vec(word, 0..40).prop_map(|words| words.concat())
}

/// The length word that makes `rest` a first packet.
fn first_packet(rest: &[u8]) -> Vec<u8> {
    [&(4 + rest.len() as u32).to_be_bytes()[..], rest].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(data in vec(any::<u8>(), 0..300)) {
        for choice in Choice::ALL {
            fuzz_one(choice, &data);
        }
    }

    #[test]
    fn no_words_panic(data in words()) {
        for choice in Choice::ALL {
            fuzz_one(choice, &data);
        }
        fuzz_one(Choice::FirstPackets, &first_packet(&data));
    }

    #[test]
    fn every_prefix_of_a_message_needs_more(message in body()) {
        let bytes = framed(&message);
        for cut in 0..bytes.len() {
            match frontend::next(&bytes[..cut], limits::LARGE_MAX) {
                Ok(Framed::NeedMore(least)) => prop_assert!(least > cut && least <= bytes.len()),
                other => prop_assert!(false, "{cut} of {}: {other:?}", bytes.len()),
            }
        }
        let whole = Framed::Message { tag: message.0, body: &message.1, consumed: bytes.len() };
        prop_assert_eq!(frontend::next(&bytes, limits::LARGE_MAX).unwrap(), whole);
        prop_assert!(Frontend::decode(message.0, &message.1).is_ok());
    }

    #[test]
    fn every_cut_or_longer_body_is_refused(message in body()) {
        let (tag, body) = message;
        // These take any bytes: a copy's messages, a call that is refused anyway, a client that leaves.
        let is_of_copy = matches!(tag, Tag::CopyData | Tag::CopyDone | Tag::CopyFail);
        if !is_of_copy && !matches!(tag, Tag::FunctionCall | Tag::Terminate) {
            for cut in 0..body.len() {
                prop_assert!(Frontend::decode(tag, &body[..cut]).is_err(), "{tag:?} cut at {cut}: {body:?}");
            }
            prop_assert!(Frontend::decode(tag, &[&body[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn mutated_streams_give_values_or_errors(
        messages in vec(body(), 1..6),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes: Vec<u8> = messages.iter().flat_map(framed).collect();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        session(&bytes);
    }
}
