//! Tests of stored verifiers, against what PostgreSQL stores.

use super::*;

/// Passwords and what PostgreSQL 15 stored for them.
const POSTGRESQL: &[(&str, &str)] = &[
    (
        "pencil",
        "SCRAM-SHA-256$4096:C1+awXG3WHaTzCtU7CCZsQ==$qZW6TUvIvwic3L5hhwZhuphcLP1Yb4ixJrnw7NHkw+w=:SQjPuKEOPFngvreLBHs0202RLEbBaX6xWyGoDRZhkNo=",
    ),
    // A soft hyphen is dropped.
    (
        "I\u{ad}X",
        "SCRAM-SHA-256$4096:p69sX9xhm4BhczfT2rbM4g==$4tPZ1mEYZwSS0hS6W8dT/7WytWkcUxlCroVAdCZ05m0=:/0BxPP1D37PuyUlfoC3zjQqSeNtPIQbfY0iDYtRFTKU=",
    ),
    // Compatibility forms become the plain ones.
    (
        "\u{aa}",
        "SCRAM-SHA-256$4096:Dlbm4d32pK4tyfA4URtbaA==$CfU/8qLmnnj8GOP9nCMgLvROZjbPRSv3of33r9JJbRg=:qUCoYEksH1ZN8bcWjZnESoe9d07wQQIhsEp0zhCevbo=",
    ),
    (
        "\u{2168}",
        "SCRAM-SHA-256$4096:N6PfQNAZ0eMX62CJprf3sA==$i7hWzoA9P93eZvIc3ED4DZ4AeybdO7njObigezy0+Yw=:4VaZV9POy0BC6Ly7ESKKAbOgynoD3CqnlvibzoIuzaQ=",
    ),
    (
        "\u{ff50}\u{ff41}\u{ff53}\u{ff53}",
        "SCRAM-SHA-256$4096:6eETFaS6OvcGk6XTN7Dpkg==$IOS3nDbTxntKi9m8EdbUPKEfa+nTyAoyyDLV9+Leb8k=:Jf2veHhNpy7Z7r3z7Y1liLbtUTudhOsT9a28P10AhxE=",
    ),
    (
        "e\u{301}",
        "SCRAM-SHA-256$4096:6sgmtNuJc1Tn2utd2ap6GA==$YdtuIxvHKkoFbNxMda7Jo85UsHdLy94+loSQ5QK0HOw=:n22+4UoQETaWjPB/kF22f0gC2PERqghoqz5z8ilKsX8=",
    ),
    // Another space becomes a space.
    (
        "\u{a0}x",
        "SCRAM-SHA-256$4096:sW2ViHV4SFQ5TQT0yC6Gyg==$LxvV6m14etMwcw8XjiY8VSR9VLA9kGRq1HU+h3dh4po=:O2fAqhpqXrPavn03Esd1PlqYbqUTkgGf2Y6CHik+wzs=",
    ),
    (
        "пароль",
        "SCRAM-SHA-256$4096:rOSDcvouVoU4dn0Mc+xdXA==$ejRcwC6AQFzdEJ0OnJaRx2Pw5gt2XASBmmThKk5L6uQ=:GFjsGBsfn4FaB/2vlrt6rgckRl4scF4/r5+96r7Ivq0=",
    ),
    // Forbidden: a control character, mixed directions, an unassigned code point, nothing left. Taken as they are.
    (
        "\u{7}x",
        "SCRAM-SHA-256$4096:jrLEJ/tX2+0IcoEc4tL3Pw==$joOet2pjeMlweUcdxuqexG8/ngnZam/PRI1xXorTvjo=:a8RS2FZaH+Vog93Vfxv7uunTvRu/MaI/jgk29G5U9Tk=",
    ),
    (
        "\u{627}1",
        "SCRAM-SHA-256$4096:UgplT3BFpeEuC6hHYrQKpg==$evnhmdNv9qo/+crrBKJHi2F6urPBu/O8B8WxUWjJG3o=:wbLbfUI8HNbnAOxSgNWZJ7AZ6/kdpR6ZlfMZv4gDhio=",
    ),
    (
        "\u{221}",
        "SCRAM-SHA-256$4096:HiHQvxuZQPBSz17jTJkauQ==$JR2oM2VxKNh6ubuxf/Qja1IuOfZkwdFnribwshMNNKE=:skLNP+AevybIqgQ9tXYDS4uZ7MV/yfMuRUB0ldlX9eI=",
    ),
    (
        "\u{1f600}",
        "SCRAM-SHA-256$4096:qOuX2iNaSq8xyjI0ecd4Mw==$Xz+gmfVMM4woZsuaJllcgHUFg6k2U3v2IxI+fA8V1Uk=:/JNYJcNAUz7KlstHgi6Xc9zCqhoE6nhV7wNwpp1pwLw=",
    ),
    (
        "\u{ad}",
        "SCRAM-SHA-256$4096:ImIcSwWYQHbtgzOzk858bA==$otAgYKwMAgVAthB1oFdwlJ8lINFlLDGPipAw5vQrdN8=:9NRQMjRWAeM3MUUPX4YOaWkwPPCa9jAyIP7XRX3vHSY=",
    ),
];

#[test]
fn postgresql_s_verifiers_are_ours() {
    for (password, stored) in POSTGRESQL {
        let verifier = Verifier::parse(stored).unwrap();
        assert_eq!(verifier.to_string(), *stored);
        assert!(verifier.matches(password.as_bytes()), "{password:?}");
        let salt: Salt = verifier.salt().try_into().unwrap();
        assert_eq!(Verifier::from_password(password.as_bytes(), &salt).to_string(), *stored, "{password:?}");
        assert!(!verifier.matches(b"other"));
    }
}

#[test]
fn a_password_need_not_be_text() {
    let salt = [1; 16];
    let verifier = Verifier::from_password(b"\xff\xfe", &salt);
    assert!(verifier.matches(b"\xff\xfe"));
    assert!(!verifier.matches(b"\xff"));
}

#[test]
fn only_verifiers_are_taken_for_verifiers() {
    let good = POSTGRESQL[0].1;
    let change = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let salt = |bytes: usize| change("C1+awXG3WHaTzCtU7CCZsQ==", &BASE64.encode(vec![7; bytes]));
    assert!(Verifier::parse(&change("4096", "1")).is_some());
    assert!(Verifier::parse(&salt(SCRAM_SALT_MAX)).is_some_and(|verifier| verifier.salt() == [7; SCRAM_SALT_MAX]));
    let bad = [
        String::new(),
        "pencil".to_owned(),
        "md5d5bc9d5a3a3a9e2a2e5d2a4e5c1b1a0f".to_owned(),
        change("SHA-256$", "SHA-256:"),
        change("SCRAM-SHA-256", "SCRAM-SHA-1"),
        change("4096", "0"),
        change("4096", "-1"),
        change("4096", "+1"),
        change("4096", ""),
        change("4096", "2147483648"),
        change("4096", "99999999999"),
        salt(0),
        salt(SCRAM_SALT_MAX + 1),
        change("sQ==", "sQ"),
        change("kNo=", "kNo"),
        change("kNo=", "AAAAkNo="),
        change("kNo=", "kNo=:"),
        change("kNo=", ""),
        change("+w=:", "+w=$"),
        format!("{good} "),
    ];
    for text in bad {
        assert!(Verifier::parse(&text).is_none(), "{text}");
    }
}

#[test]
fn a_mock_depends_on_the_secret_and_the_name_only() {
    let mock = |secret: u8, user: &str| Verifier::mock(&[secret; 32], user).to_string();
    assert_eq!(mock(1, "a"), mock(1, "a"));
    let all = [mock(1, "a"), mock(1, "b"), mock(2, "a")];
    for (at, one) in all.iter().enumerate() {
        assert!(all[at + 1..].iter().all(|other| other != one));
    }
    assert_eq!(Verifier::mock(&[1; 32], "a").salt().len(), size_of::<Salt>());
}

#[test]
fn keys_do_not_go_to_logs() {
    let verifier = Verifier::parse(POSTGRESQL[0].1).unwrap();
    assert_eq!(format!("{verifier:?}"), "Verifier { iterations: 4096, .. }");
}
