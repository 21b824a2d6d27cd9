//! SHA-256, for the short hashes that conversation logs carry. Not for secrets.

/// The first 16 hexadecimal digits of the hash of a text.
pub(crate) fn short(text: &str) -> String {
    let state = hash(text.as_bytes());
    format!("{:08x}{:08x}", state[0], state[1])
}

fn hash(message: &[u8]) -> [u32; 8] {
    let mut state = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let (blocks, rest) = message.as_chunks::<64>();
    for block in blocks {
        compress(&mut state, block);
    }
    let mut padded = rest.to_vec();
    padded.push(0x80);
    let length = if rest.len() < 56 { 56 } else { 120 };
    padded.resize(length, 0);
    padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    for block in padded.as_chunks::<64>().0 {
        compress(&mut state, block);
    }
    state
}

fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for i in 16..64 {
        let (near, far) = (words[i - 15], words[i - 2]);
        let near = near.rotate_right(7) ^ near.rotate_right(18) ^ (near >> 3);
        let far = far.rotate_right(17) ^ far.rotate_right(19) ^ (far >> 10);
        words[i] = words[i - 16].wrapping_add(near).wrapping_add(words[i - 7]).wrapping_add(far);
    }
    let mut v = *state;
    for (word, constant) in words.iter().zip(CONSTANTS) {
        let high = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
        let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
        let sum =
            v[7].wrapping_add(high).wrapping_add(choice).wrapping_add(constant).wrapping_add(*word);
        let low = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
        let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        v.rotate_right(1);
        v[4] = v[4].wrapping_add(sum);
        v[0] = sum.wrapping_add(low).wrapping_add(majority);
    }
    for (total, value) in state.iter_mut().zip(v) {
        *total = total.wrapping_add(value);
    }
}

#[rustfmt::skip]
const CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_agrees_with_published_values() {
        assert_eq!(short(""), "e3b0c44298fc1c14");
        assert_eq!(short("abc"), "ba7816bf8f01cfea");
        let two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(short(two_blocks), "248d6a61d20638b8");
        assert_eq!(short(&"a".repeat(1_000_000)), "cdc76e5c9914fb92");
    }
}
