//! MD5 (RFC 1321), for the function `md5` only: it is broken as a cryptographic hash and nothing else uses it.

/// How far each step rotates: four amounts a round, repeated.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The additive constants: the integer part of `2^32 * |sin(step)|`.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xD76A_A478, 0xE8C7_B756, 0x2420_70DB, 0xC1BD_CEEE, 0xF57C_0FAF, 0x4787_C62A, 0xA830_4613, 0xFD46_9501,
    0x6980_98D8, 0x8B44_F7AF, 0xFFFF_5BB1, 0x895C_D7BE, 0x6B90_1122, 0xFD98_7193, 0xA679_438E, 0x49B4_0821,
    0xF61E_2562, 0xC040_B340, 0x265E_5A51, 0xE9B6_C7AA, 0xD62F_105D, 0x0244_1453, 0xD8A1_E681, 0xE7D3_FBC8,
    0x21E1_CDE6, 0xC337_07D6, 0xF4D5_0D87, 0x455A_14ED, 0xA9E3_E905, 0xFCEF_A3F8, 0x676F_02D9, 0x8D2A_4C8A,
    0xFFFA_3942, 0x8771_F681, 0x6D9D_6122, 0xFDE5_380C, 0xA4BE_EA44, 0x4BDE_CFA9, 0xF6BB_4B60, 0xBEBF_BC70,
    0x289B_7EC6, 0xEAA1_27FA, 0xD4EF_3085, 0x0488_1D05, 0xD9D4_D039, 0xE6DB_99E5, 0x1FA2_7CF8, 0xC4AC_5665,
    0xF429_2244, 0x432A_FF97, 0xAB94_23A7, 0xFC93_A039, 0x655B_59C3, 0x8F0C_CC92, 0xFFEF_F47D, 0x8584_5DD1,
    0x6FA8_7E4F, 0xFE2C_E6E0, 0xA301_4314, 0x4E08_11A1, 0xF753_7E82, 0xBD3A_F235, 0x2AD7_D2BB, 0xEB86_D391,
];

/// The digest of `bytes` in hexadecimal.
pub fn md5_hex(bytes: &[u8]) -> [u8; 32] {
    let mut state = [0x6745_2301u32, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476];
    let mut chunks = bytes.chunks_exact(64);
    for chunk in &mut chunks {
        step(&mut state, chunk);
    }
    let rest = chunks.remainder();
    let mut end = [0u8; 128];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let length = if rest.len() < 56 { 64 } else { 128 };
    end[length - 8..length].copy_from_slice(&(bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    for chunk in end[..length].chunks_exact(64) {
        step(&mut state, chunk);
    }
    let mut hex = [0; 32];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(state.iter().flat_map(|word| word.to_le_bytes())) {
        pair.copy_from_slice(&[
            b"0123456789abcdef"[usize::from(byte >> 4)],
            b"0123456789abcdef"[usize::from(byte & 15)],
        ]);
    }
    hex
}

fn step(state: &mut [u32; 4], chunk: &[u8]) {
    let mut words = [0u32; 16];
    for (word, bytes) in words.iter_mut().zip(chunk.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for at in 0..64usize {
        let (mixed, word) = match at / 16 {
            0 => ((b & c) | (!b & d), at),
            1 => ((d & b) | (!d & c), (5 * at + 1) % 16),
            2 => (b ^ c ^ d, (3 * at + 5) % 16),
            _ => (c ^ (b | !d), (7 * at) % 16),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(SINES[at]).wrapping_add(words[word]);
        a = d;
        d = c;
        c = b;
        b = b.wrapping_add(sum.rotate_left(ROTATIONS[at / 16][at % 4]));
    }
    for (word, value) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rfcs_test_suite() {
        let table = [
            (String::new(), "d41d8cd98f00b204e9800998ecf8427e"),
            ("a".to_owned(), "0cc175b9c0f1b6a831c399e269772661"),
            ("abc".to_owned(), "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest".to_owned(), "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz".to_owned(), "c3fcd3d76192e4007dfb496cca67e13b"),
            ("1234567890".repeat(8), "57edf4a22be3c955ac49da2e2107b67a"),
        ];
        for (text, digest) in table {
            assert_eq!(md5_hex(text.as_bytes()), digest.as_bytes(), "{text}");
        }
    }
}
