//! Tests of the SCRAM exchange: RFC 7677 and real clients' messages.

use super::*;
use crate::auth::{Salt, ServerSecret};

const RFC_CLIENT_FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const RFC_SERVER_NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const RFC_SERVER_FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
const RFC_CLIENT_FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                                p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
const RFC_SERVER_FINAL: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

fn rfc_verifier() -> Verifier {
    let salt: Salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap().try_into().unwrap();
    Verifier::from_password(b"pencil", &salt)
}

/// The exchange of RFC 7677 after the server's first message.
fn rfc_exchange() -> Exchange {
    let mut exchange = Exchange::new(&rfc_verifier());
    let first = exchange.begin(RFC_CLIENT_FIRST.as_bytes(), RFC_SERVER_NONCE.as_bytes()).unwrap();
    assert_eq!(std::str::from_utf8(first), Ok(RFC_SERVER_FIRST));
    exchange
}

fn initial(mechanism: &str, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [mechanism.as_bytes(), b"\0", &length, data].concat()
}

/// What the server's first message is to a client's.
fn first(message: &[u8]) -> Result<String> {
    let mut exchange = Exchange::new(&rfc_verifier());
    exchange.begin(message, b"NONCE").map(|first| String::from_utf8(first.to_vec()).unwrap())
}

#[test]
fn the_rfc_s_example() {
    let exchange = rfc_exchange();
    let last = exchange.finish(RFC_CLIENT_FINAL.as_bytes(), "user").unwrap();
    assert_eq!(std::str::from_utf8(&last), Ok(RFC_SERVER_FINAL));
}

#[test]
fn the_state_is_small_plain_bytes() {
    fn parks<T: Copy + Send + Sync + 'static>() {}
    parks::<Exchange>();
    assert!(size_of::<Exchange>() <= 768, "{}", size_of::<Exchange>());
    assert!(!format!("{:?}", rfc_exchange()).contains("rOpr"));
}

#[test]
fn a_parked_copy_goes_on() {
    let mut out = Vec::new();
    let mut exchange = Exchange::new(&rfc_verifier());
    let body = initial(MECHANISM, b"n,,n=,r=abc");
    assert_eq!(exchange.answer(&body, &[0; 18], "user", &mut out).unwrap(), Progress::Continue);
    let expected: &[u8] = b"R\0\0\0\x47\0\0\0\x0br=abcAAAAAAAAAAAAAAAAAAAAAAAA,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(expected));
    let mut parked = exchange;
    let wrong = format!("c=biws,r=abc{},p={}=", "A".repeat(24), "A".repeat(43));
    let error = parked.answer(wrong.as_bytes(), &[0; 18], "user", &mut out).unwrap_err();
    assert_eq!(error.message(), "password authentication failed for user \"user\"");
    assert_eq!((error.sqlstate(), error.kind()), (sqlstate::INVALID_PASSWORD, Kind::Session));
    // There is no second try.
    let error = parked.answer(wrong.as_bytes(), &[0; 18], "user", &mut out).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::PROTOCOL_VIOLATION);
}

#[test]
fn the_first_message_may_come_by_itself() {
    let mut out = Vec::new();
    let mut exchange = Exchange::new(&rfc_verifier());
    let none = [MECHANISM.as_bytes(), b"\0\xff\xff\xff\xff"].concat();
    assert_eq!(exchange.answer(&none, &[0; 18], "user", &mut out).unwrap(), Progress::Continue);
    assert_eq!(out, b"R\0\0\0\x08\0\0\0\x0b");
    out.clear();
    assert_eq!(exchange.answer(b"n,,n=,r=abc", &[0; 18], "user", &mut out).unwrap(), Progress::Continue);
    assert!(out.starts_with(b"R\0\0\0\x47\0\0\0\x0br=abcAAAA"));
}

#[test]
fn initial_responses_are_checked() {
    let mechanism = MECHANISM.as_bytes();
    let cases: &[(Vec<u8>, &str)] = &[
        (initial("PLAIN", b""), "client selected an invalid SASL authentication mechanism"),
        (initial("SCRAM-SHA-256-PLUS", b""), "client selected an invalid SASL authentication mechanism"),
        (mechanism.to_vec(), "invalid string in message"),
        ([mechanism, b"\0"].concat(), "insufficient data left in message"),
        ([mechanism, b"\0\0\0\0\x09nx"].concat(), "insufficient data left in message"),
        ([mechanism, b"\0\xff\xff\xff\xfe"].concat(), "insufficient data left in message"),
        ([mechanism, b"\0\0\0\0\x01nx"].concat(), "invalid message format"),
    ];
    for (body, message) in cases {
        let mut out = Vec::new();
        let error = Exchange::new(&rfc_verifier()).answer(body, &[0; 18], "user", &mut out).unwrap_err();
        assert_eq!(error.message(), *message);
        assert_eq!((error.sqlstate(), error.kind()), (sqlstate::PROTOCOL_VIOLATION, Kind::Session));
        assert!(out.is_empty());
    }
}

#[test]
fn first_messages_that_are_taken() {
    for (message, nonces) in [
        ("n,,n=,r=ab", "abNONCE"),
        ("y,,n=,r=ab", "abNONCE"),
        ("n,,n=a=2Cb,r=ab", "abNONCE"),
        ("n,,n=,r=ab,x=1,y=", "abNONCE"),
        ("n,,n=,r=ab,", "abNONCE"),
    ] {
        assert_eq!(first(message.as_bytes()).unwrap(), format!("r={nonces},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"));
    }
}

#[test]
fn first_messages_that_are_refused() {
    let malformed: &[(&[u8], &str)] = &[
        (b"", "The message is empty."),
        (b"n,,n=,r=a\0b", "Message length does not match input length."),
        (
            b"p=tls-unique,,n=,r=abc",
            "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel \
             binding data.",
        ),
        (b"x,,n=,r=abc", "Unexpected channel-binding flag \"x\"."),
        (b"\xff", "Unexpected channel-binding flag \"0xff\"."),
        (b"n", "Comma expected, but found character \"end of string\"."),
        (b"nX", "Comma expected, but found character \"X\"."),
        (b"n,x,n=,r=a", "Unexpected attribute \"x\" in client-first-message."),
        (b"n,,x=1", "Expected attribute \"n\" but found \"x\"."),
        (b"n,,n=", "Expected attribute \"r\" but found \"end of string\"."),
        (b"n,,n=,r", "Expected character \"=\" for attribute \"r\"."),
        (b"n,,n=,r=ab,1=x", "Attribute expected, but found invalid character \"1\"."),
        (b"n,,n=,r=ab,x", "Expected character \"=\" for attribute \"x\"."),
    ];
    for (message, detail) in malformed {
        let error = first(message).unwrap_err();
        assert_eq!(error.message(), "malformed SCRAM message");
        assert_eq!(error.detail_text(), Some(*detail), "{}", String::from_utf8_lossy(message));
        assert_eq!((error.sqlstate(), error.kind()), (sqlstate::PROTOCOL_VIOLATION, Kind::Session));
    }
    for message in [&b"n,,n=,r="[..], b"n,,n=,r=a\x7fb", b"n,,n=,r=\xffab", b"n,,n=,r=a b"] {
        assert_eq!(first(message).unwrap_err().message(), "non-printable characters in SCRAM nonce");
    }
    for (message, words) in [
        ("n,a=bob,n=,r=abc", "client uses authorization identity, but it is not supported"),
        ("n,,m=1,n=,r=a", "client requires an unsupported SCRAM extension"),
    ] {
        let error = first(message.as_bytes()).unwrap_err();
        assert_eq!((error.sqlstate(), error.message()), (sqlstate::FEATURE_NOT_SUPPORTED, words));
    }
}

#[test]
fn what_does_not_fit_the_state_is_refused() {
    let fits = |nonce: usize| first(format!("n,,n=,r={}", "x".repeat(nonce)).as_bytes());
    let server_first = "r=NONCE,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".len();
    let most = (SCRAM_TEXT_MAX - server_first - "n=,r=,".len()) / 2;
    assert!(fits(most).unwrap().len() == server_first + most);
    assert_eq!(fits(most + 1).unwrap_err().detail_text(), Some("The message is too long."));
    assert_eq!(fits(900).unwrap_err().detail_text(), Some("The message is too long."));
}

#[test]
fn final_messages_that_are_refused() {
    let change = |from: &str, to: &str| {
        assert!(RFC_CLIENT_FINAL.contains(from));
        RFC_CLIENT_FINAL.replace(from, to)
    };
    let malformed = "malformed SCRAM message";
    let cases: &[(String, &str, Option<&str>)] = &[
        (String::new(), malformed, Some("The message is empty.")),
        (change("biws", "eSws"), "unexpected SCRAM channel-binding attribute in client-final-message", None),
        (change("biws", "biw"), "unexpected SCRAM channel-binding attribute in client-final-message", None),
        (change("r=rOpr", "r=rOpR"), "invalid SCRAM response", Some("Nonce does not match.")),
        (change("k0,", "k,"), "invalid SCRAM response", Some("Nonce does not match.")),
        (change("dVQ=", "dVQ=,x=1"), malformed, Some("Garbage found at the end of client-final-message.")),
        (change("dVQ=", ""), malformed, Some("Malformed proof in client-final-message.")),
        (change("dVQ=", "!!!="), malformed, Some("Malformed proof in client-final-message.")),
        (change("dVQ=", "dVQAAAA="), malformed, Some("Malformed proof in client-final-message.")),
        (change(",p=", ",q="), malformed, Some("Attribute expected, but found end of string.")),
        (change("c=", "b="), malformed, Some("Expected attribute \"c\" but found \"b\".")),
    ];
    for (message, words, detail) in cases {
        let error = rfc_exchange().finish(message.as_bytes(), "user").unwrap_err();
        assert_eq!((error.message(), error.detail_text()), (*words, *detail), "{message}");
        assert_eq!((error.sqlstate(), error.kind()), (sqlstate::PROTOCOL_VIOLATION, Kind::Session));
    }
}

#[test]
fn every_byte_of_the_proof_and_of_what_it_signs_counts() {
    // Another attribute, another proof, and a proof of something else: all well formed, none right.
    let mut wrong = vec![RFC_CLIENT_FINAL.replace(",p=", ",x=1,p=")];
    let proof = RFC_CLIENT_FINAL.find("p=").unwrap() + 2;
    for at in proof..proof + 42 {
        let mut message = RFC_CLIENT_FINAL.as_bytes().to_vec();
        message[at] = if message[at] == b'A' { b'B' } else { b'A' };
        wrong.push(String::from_utf8(message).unwrap());
    }
    for message in wrong {
        let error = rfc_exchange().finish(message.as_bytes(), "user").unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_PASSWORD, "{message}");
    }
}

#[test]
fn a_mock_exchange_looks_real_and_fails() {
    let secret: ServerSecret = [9; 32];
    let mock = Verifier::mock(&secret, "nobody");
    let mut exchange = Exchange::new(&mock);
    let first = exchange.begin(b"n,,n=,r=abc", b"NONCE").unwrap();
    let text = String::from_utf8(first.to_vec()).unwrap();
    assert_eq!(text.len(), "r=abcNONCE,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".len());
    assert!(text.starts_with("r=abcNONCE,s=") && text.ends_with("==,i=4096"));
    let last = format!("c=biws,r=abcNONCE,p={}=", "A".repeat(43));
    let error = exchange.finish(last.as_bytes(), "nobody").unwrap_err();
    assert_eq!(error.message(), "password authentication failed for user \"nobody\"");
}

#[test]
fn a_doomed_verifier_refuses_even_the_right_proof() {
    let mut verifier = rfc_verifier();
    verifier.doom();
    let mut exchange = Exchange::new(&verifier);
    exchange.begin(RFC_CLIENT_FIRST.as_bytes(), RFC_SERVER_NONCE.as_bytes()).unwrap();
    let error = exchange.finish(RFC_CLIENT_FINAL.as_bytes(), "user").unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::INVALID_PASSWORD);
}

/// The proof of somebody who has the password, for an exchange that was begun so.
fn proven(first: &str, server_first: &str, header: &[u8]) -> String {
    let salted = {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let mut key: Key = [0; 32];
        pbkdf2::pbkdf2_hmac::<sha2::Sha256>(b"pencil", &salt, 4096, &mut key);
        key
    };
    let client_key = hmac(&salted, &[b"Client Key"]);
    let nonce = server_first.strip_prefix("r=").unwrap().split(',').next().unwrap();
    let last = format!("c={},r={nonce}", BASE64.encode(header));
    let signature =
        hmac(&sha256(&client_key), &[first.as_bytes(), b",", server_first.as_bytes(), b",", last.as_bytes()]);
    let proof: Vec<u8> = client_key.iter().zip(signature).map(|(key, sign)| key ^ sign).collect();
    format!("{last},p={}", BASE64.encode(proof))
}

#[test]
fn over_tls_the_exchange_is_bound_to_the_certificate() {
    let end_point = [7; 32];
    for (seen, passes) in [([7; 32], true), ([8; 32], false)] {
        let mut exchange = Exchange::bound(&rfc_verifier(), &end_point);
        let mut out = Vec::new();
        let body = initial(MECHANISM_PLUS, b"p=tls-server-end-point,,n=,r=abc");
        exchange.answer(&body, &[0; 18], "user", &mut out).unwrap();
        let server_first = String::from_utf8(out[9..].to_vec()).unwrap();
        let header = [BOUND_HEADER, &seen].concat();
        let last = proven("n=,r=abc", &server_first, &header);
        match exchange.answer(last.as_bytes(), &[0; 18], "user", &mut out) {
            Ok(progress) => assert!(passes && progress == Progress::Authenticated),
            Err(error) => assert!(!passes && error.message() == "SCRAM channel binding check failed"),
        }
    }
}

#[test]
fn binding_is_not_to_be_talked_out_of() {
    let cases: &[(&str, &[u8], &str)] = &[
        (MECHANISM, b"y,,n=,r=abc", "SCRAM channel binding negotiation error"),
        (MECHANISM, b"p=tls-server-end-point,,n=,r=abc", "malformed SCRAM message"),
        (MECHANISM_PLUS, b"n,,n=,r=abc", "malformed SCRAM message"),
        (MECHANISM_PLUS, b"y,,n=,r=abc", "malformed SCRAM message"),
        (MECHANISM_PLUS, b"p=tls-unique,,n=,r=abc", "unsupported SCRAM channel-binding type \"tls-unique\""),
    ];
    for (mechanism, first, message) in cases {
        let mut exchange = Exchange::bound(&rfc_verifier(), &[7; 32]);
        let error = exchange.answer(&initial(mechanism, first), &[0; 18], "user", &mut Vec::new()).unwrap_err();
        assert_eq!(error.message(), *message);
    }
    // A client that cannot bind goes on.
    let mut exchange = Exchange::bound(&rfc_verifier(), &[7; 32]);
    exchange.answer(&initial(MECHANISM, b"n,,n=,r=abc"), &[0; 18], "user", &mut Vec::new()).unwrap();
}
