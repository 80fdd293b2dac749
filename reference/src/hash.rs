//! The hash functions that the RAF format needs: TurboSHAKE (RFC 9861) and SHA-256 (FIPS 180-4).
//! The constants are computed: those of Keccak from its shift register and its walk over the lanes,
//! those of SHA-256 from the roots of the primes.

use std::array::from_fn;
use std::sync::LazyLock;

/// A state of Keccak: lane (x, y) is `a[x][y]`.
type Lanes = [[u64; 5]; 5];

/// FIPS 202, algorithm 5, `rc(t)`.
fn rc(t: usize) -> u64 {
    let mut r = 1_u64;
    for _ in 0..t % 255 {
        r <<= 1;
        if r & 0x100 != 0 {
            r ^= 0x171; // bits 8, 6, 5, 4 and 0
        }
    }
    r & 1
}

/// FIPS 202, section 3.2: one round of Keccak-f\[1600\], `Rnd(A, ir)`.
fn round(a: Lanes, ir: usize) -> Lanes {
    // theta: to each bit, the parities of two columns beside it
    let c: [u64; 5] = a.map(|sheet| sheet.into_iter().fold(0, |sum, lane| sum ^ lane));
    let a: Lanes =
        from_fn(|x| a[x].map(|lane| lane ^ c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1)));
    // rho: lanes are rotated, by more and more along a walk
    let (mut rotated, mut x, mut y) = (a, 1, 0);
    for t in 0..24 {
        rotated[x][y] = a[x][y].rotate_left((t + 1) * (t + 2) / 2 % 64);
        (x, y) = (y, (2 * x + 3 * y) % 5);
    }
    // pi: lanes change their places
    let a: Lanes = from_fn(|x| from_fn(|y| rotated[(x + 3 * y) % 5][x]));
    // chi: the only step that is not linear
    let mut a: Lanes = from_fn(|x| from_fn(|y| a[x][y] ^ (!a[(x + 1) % 5][y] & a[(x + 2) % 5][y])));
    // iota: seven bits of a constant
    for j in 0..=6 {
        a[0][0] ^= rc(j + 7 * ir) << ((1 << j) - 1);
    }
    a
}

/// RFC 9861, section 2.1, `KP`: Keccak-p\[1600, 12\], the last 12 of the 24 rounds.
fn keccak_p(bytes: [u8; 200]) -> [u8; 200] {
    let lane = |x, y| from_fn(|i| bytes[8 * (5 * y + x) + i]);
    let lanes: Lanes = from_fn(|x| from_fn(|y| u64::from_le_bytes(lane(x, y))));
    let lanes = (12..24).fold(lanes, round);
    from_fn(|i| lanes[i / 8 % 5][i / 40].to_le_bytes()[i % 8])
}

/// RFC 9861, section 2.2: TurboSHAKE with a rate in bytes, which is 168 for TurboSHAKE128 and 136
/// for TurboSHAKE256.
pub fn turboshake(rate: usize, message: &[u8], domain: u8, len: usize) -> Vec<u8> {
    assert!(matches!(rate, 136 | 168) && matches!(domain, 0x01..=0x7f));
    let mut padded = [message, &[domain]].concat();
    padded.resize(padded.len().next_multiple_of(rate), 0);
    *padded.last_mut().unwrap() ^= 0x80;
    let mut state = [0; 200];
    for block in padded.chunks(rate) {
        state = keccak_p(from_fn(|i| state[i] ^ block.get(i).unwrap_or(&0)));
    }
    let mut out = Vec::new();
    while out.len() < len {
        out.extend(&state[..rate]);
        state = keccak_p(state);
    }
    out.truncate(len);
    out
}

/// The first 32 bits of the fraction of the square or cube root of `n`: FIPS 180-4, sections 4.2.2
/// and 5.3.3.
fn root(n: u32, degree: u32) -> u32 {
    // The largest integer whose power is no more than n * 2^(32 * degree), bit by bit; n is below
    // 2^9.
    let n = u128::from(n) << (32 * degree);
    let root = (0..37).rev().fold(0_u128, |root, bit| {
        let larger = root | 1 << bit;
        if larger.pow(degree) <= n { larger } else { root }
    });
    root as u32
}

/// FIPS 180-4, sections 5.3.3 and 4.2.2: the initial hash value of SHA-256, and the constants of
/// its steps.
static CONSTANTS: LazyLock<([u32; 8], [u32; 64])> = LazyLock::new(|| {
    let primes: Vec<u32> = (2..).filter(|&n| (2..n).all(|d| n % d != 0)).take(64).collect();
    (from_fn(|i| root(primes[i], 2)), from_fn(|i| root(primes[i], 3)))
});

/// FIPS 180-4, section 6.2.
pub fn sha256(message: &[u8]) -> [u8; 32] {
    let (mut hash, k) = *CONSTANTS;
    let mut padded = [message, &[0x80]].concat();
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut w: Vec<u32> =
            block.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        for t in 16..64 {
            let (x, y) = (w[t - 15], w[t - 2]);
            let sigma0 = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
            let sigma1 = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
            w.push(sigma1.wrapping_add(w[t - 7]).wrapping_add(sigma0).wrapping_add(w[t - 16]));
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = hash;
        for t in 0..64 {
            let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let ch = (e & f) ^ (!e & g);
            let t1 = h.wrapping_add(sum1).wrapping_add(ch).wrapping_add(k[t]).wrapping_add(w[t]);
            let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let maj = (a & b) ^ (a & c) ^ (b & c);
            let t2 = sum0.wrapping_add(maj);
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
        }
        for (sum, word) in hash.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(word);
        }
    }
    from_fn(|i| hash[i / 4].to_be_bytes()[i % 4])
}
