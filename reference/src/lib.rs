//! AEGIS, written straight from the pseudocode of RFC 10032.
//!
//! **Not constant time, never ship.** The S-box is a table indexed by secrets, tags are compared
//! with `==`, nothing is wiped and nothing is fast. This crate exists so that the tests of the real
//! implementation have something to agree with: it shares no code with it, works byte by byte, and
//! can be read next to the RFC in one sitting. Section numbers are those of RFC 10032; a function
//! has the RFC's name for it.
//!
//! One text serves all variants. The degree of parallelism `D` is a run-time value from 1 to 256,
//! and degree 1 *is* AEGIS-128L or AEGIS-256 (§5.6): its context separator is all zero, its rate is
//! the base rate, and `FinalizeMac` comes down to `Finalize`. Sections 3 and 4 are therefore the
//! case `D = 1` of section 5.
//!
//! Lengths are in bytes here where the RFC counts bits.
//!
//! [`mod@file`] and [`raf`] are file formats that use AEGIS, written from their descriptions in the
//! same way.

#![forbid(unsafe_code)]

pub mod file;
pub mod hash;
pub mod historic;
pub mod raf;

/// An AES block: 128 bits, in the byte order of the RFC's hexadecimal strings.
pub type Block = [u8; 16];

/// §2: the constant `C0`.
pub const C0: Block = 0x000101020305080d1522375990e97962_u128.to_be_bytes();
/// §2: the constant `C1`.
pub const C1: Block = 0xdb3d18556dc22ff12011314273b528dd_u128.to_be_bytes();

/// Multiplication in the field of AES (FIPS 197, section 4.2).
const fn gf_mul(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ (if a & 0x80 != 0 { 0x1b } else { 0 });
        b >>= 1;
    }
    product
}

/// The S-box (FIPS 197, section 5.1.1): the inverse in the field, which is the 254th power, then
/// the affine map.
const fn sbox() -> [u8; 256] {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        let (mut inverse, mut power, mut bit) = (1, x as u8, 1);
        while bit < 8 {
            power = gf_mul(power, power); // x^2, x^4, ... x^128: the bits of 254
            inverse = gf_mul(inverse, power);
            bit += 1;
        }
        let b: u8 = inverse;
        table[x] =
            b ^ b.rotate_left(1) ^ b.rotate_left(2) ^ b.rotate_left(3) ^ b.rotate_left(4) ^ 0x63;
        x += 1;
    }
    table
}

static SBOX: [u8; 256] = sbox();

/// §2, `AESRound(in, rk)`: SubBytes, ShiftRows, MixColumns and AddRoundKey of FIPS 197, section
/// 5.1.
pub fn aes_round(input: Block, rk: Block) -> Block {
    let mut out = rk;
    for column in 0..4 {
        // Byte `row` of a column lies at 4 * column + row; ShiftRows takes it from `row` columns
        // further on.
        let mut s = [0; 4];
        for row in 0..4 {
            s[row] = SBOX[input[4 * ((column + row) % 4) + row] as usize];
        }
        for row in 0..4 {
            let (a, b, c, d) = (s[row], s[(row + 1) % 4], s[(row + 2) % 4], s[(row + 3) % 4]);
            out[4 * column + row] ^= gf_mul(a, 2) ^ gf_mul(b, 3) ^ c ^ d;
        }
    }
    out
}

/// §2, `a ^ b` on blocks.
fn xor(a: Block, b: Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// §2, `a & b` on blocks.
fn and(a: Block, b: Block) -> Block {
    std::array::from_fn(|i| a[i] & b[i])
}

/// The exclusive or of any number of blocks. It is zero for no blocks.
fn xor_all(blocks: impl IntoIterator<Item = Block>) -> Block {
    blocks.into_iter().fold([0; 16], xor)
}

/// §2, `a ^ b` on strings of one length.
fn xor_bytes(a: &[u8], b: &[u8]) -> Vec<u8> {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| x ^ y).collect()
}

/// §2, `ZeroPad(x, n)`: zeros up to a multiple of `n` bytes; nothing is added to an empty `x`.
fn zero_pad(x: &[u8], n: usize) -> Vec<u8> {
    let mut padded = x.to_vec();
    padded.resize(x.len().div_ceil(n) * n, 0);
    padded
}

/// §2, `Split(x, 128)`: whole blocks, ignoring a partial one.
fn split(x: &[u8]) -> Vec<Block> {
    x.as_chunks::<16>().0.to_vec()
}

/// `LE64(a) || LE64(b)`.
fn le64_le64(a: u64, b: u64) -> Block {
    (u128::from(a) | u128::from(b) << 64).to_le_bytes()
}

/// A length in bits.
fn bits(bytes: usize) -> u64 {
    bytes as u64 * 8
}

/// The two base ciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// AEGIS-128L and AEGIS-128X: eight blocks of state a lane, a 16-byte key and a 16-byte nonce.
    Aegis128,
    /// AEGIS-256 and AEGIS-256X: six blocks of state a lane, a 32-byte key and a 32-byte nonce.
    Aegis256,
}
use Family::{Aegis128, Aegis256};

/// A variant: a family and a degree of parallelism. All tags are 16 or 32 bytes; anything else
/// panics, as do keys and nonces of the wrong length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aegis {
    /// Which base cipher.
    pub family: Family,
    /// `D`, from 1 to 256.
    pub degree: usize,
}

impl Aegis {
    /// A variant. Panics if `degree` is not in 1..=256.
    pub fn new(family: Family, degree: usize) -> Self {
        assert!((1..=256).contains(&degree), "the highest lane index has to fit a byte");
        Aegis { family, degree }
    }

    /// §5.1, `R` in bytes.
    pub fn rate(self) -> usize {
        self.degree * if self.family == Aegis128 { 32 } else { 16 }
    }

    /// The length of the key, which is also that of the nonce.
    pub fn key_len(self) -> usize {
        if self.family == Aegis128 { 16 } else { 32 }
    }

    /// §5.1, `ctx[i]`: the lane's index, the highest index, zeros.
    pub fn ctx(self) -> Vec<Block> {
        (0..self.degree).map(|i| le64_le64(i as u64 | (self.degree as u64 - 1) << 8, 0)).collect()
    }

    /// §3.1, §4.1, §5.2, `Encrypt`: the ciphertext and the tag.
    pub fn encrypt(
        self,
        key: &[u8],
        nonce: &[u8],
        ad: &[u8],
        msg: &[u8],
        tag_len: usize,
    ) -> (Vec<u8>, Vec<u8>) {
        let mut state = State::init(self, key, nonce);
        let mut ct = Vec::new();
        for ai in zero_pad(ad, self.rate()).chunks(self.rate()) {
            state.absorb(ai);
        }
        for xi in msg.chunks(self.rate()) {
            ct.extend(state.enc_partial(xi));
        }
        (ct, state.finalize(bits(ad.len()), bits(msg.len()), tag_len))
    }

    /// §3.2, §4.2, §5.3, `Decrypt`: the message, or nothing if the tag is wrong. The tag's length
    /// says which tag.
    pub fn decrypt(
        self,
        key: &[u8],
        nonce: &[u8],
        ad: &[u8],
        ct: &[u8],
        tag: &[u8],
    ) -> Option<Vec<u8>> {
        let mut state = State::init(self, key, nonce);
        let mut msg = Vec::new();
        for ai in zero_pad(ad, self.rate()).chunks(self.rate()) {
            state.absorb(ai);
        }
        let ct_blocks = ct.chunks_exact(self.rate());
        let cn = ct_blocks.remainder();
        for ci in ct_blocks {
            msg.extend(state.dec(ci));
        }
        if !cn.is_empty() {
            msg.extend(state.dec_partial(cn));
        }
        let expected_tag = state.finalize(bits(ad.len()), bits(msg.len()), tag.len());
        (tag == expected_tag).then_some(msg)
    }

    /// §7, `Stream`: encrypted zeros. Without a nonce, pass zeros.
    pub fn stream(self, key: &[u8], nonce: &[u8], len: usize) -> Vec<u8> {
        self.encrypt(key, nonce, &[], &vec![0; len], 16).0
    }

    /// §8, `Mac`. See [`State::finalize_mac`] for what an odd degree does to 16-byte tags of
    /// AEGIS-128X.
    pub fn mac(self, key: &[u8], nonce: &[u8], data: &[u8], tag_len: usize) -> Vec<u8> {
        let mut state = State::init(self, key, nonce);
        for di in zero_pad(data, self.rate()).chunks(self.rate()) {
            state.absorb(di);
        }
        state.finalize_mac(bits(data.len()), tag_len)
    }
}

/// The state of a cipher at work. All inputs of its functions are of `R` bytes unless they say
/// otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The variant.
    pub aegis: Aegis,
    /// `V[j,i]` is `v[j][i]`: block `j` of lane `i`.
    pub v: Vec<Vec<Block>>,
}

impl State {
    /// §3.4, §4.4, §5.4.2, §5.5.2, `Init`.
    pub fn init(aegis: Aegis, key: &[u8], nonce: &[u8]) -> Self {
        Self::init_with_ctx(aegis, key, nonce, &aegis.ctx())
    }

    /// `Init` with context separators of the caller's own.
    pub fn init_with_ctx(aegis: Aegis, key: &[u8], nonce: &[u8], ctx: &[Block]) -> Self {
        assert_eq!(
            (key.len(), nonce.len(), ctx.len()),
            (aegis.key_len(), aegis.key_len(), aegis.degree)
        );
        let (k, n) = (split(key), split(nonce));
        let (kn, every_lane) = (xor(k[0], n[0]), |block: Block| block.repeat(aegis.degree));
        let (lane, places, repeats, inputs) = match aegis.family {
            Aegis128 => {
                let lane = vec![kn, C1, C0, C1, kn, xor(k[0], C0), xor(k[0], C1), xor(k[0], C0)];
                (lane, [3, 7], 10, vec![[every_lane(n[0]), every_lane(k[0])].concat()])
            }
            Aegis256 => {
                let lane = vec![kn, xor(k[1], n[1]), C1, C0, xor(k[0], C0), xor(k[1], C1)];
                (lane, [3, 5], 4, [k[0], k[1], kn, xor(k[1], n[1])].map(every_lane).to_vec())
            }
        };
        let mut state =
            State { aegis, v: lane.into_iter().map(|block| vec![block; aegis.degree]).collect() };
        for input in std::iter::repeat_n(&inputs, repeats).flatten() {
            for (i, &ctx) in ctx.iter().enumerate() {
                for j in places {
                    state.v[j][i] = xor(state.v[j][i], ctx);
                }
            }
            state.update(input);
        }
        state
    }

    /// §3.3, §5.4.1, `Update(M0, M1)` with `m` = `M0 || M1`, and §4.3, §5.5.1, `Update(M)` with `m`
    /// = `M`.
    pub fn update(&mut self, m: &[u8]) {
        assert_eq!(m.len(), self.aegis.rate());
        let (d, m) = (self.aegis.degree, split(m));
        for i in 0..d {
            let v = |j: usize| self.v[j][i];
            let next = match self.aegis.family {
                Aegis128 => vec![
                    aes_round(v(7), xor(v(0), m[i])),
                    aes_round(v(0), v(1)),
                    aes_round(v(1), v(2)),
                    aes_round(v(2), v(3)),
                    aes_round(v(3), xor(v(4), m[d + i])),
                    aes_round(v(4), v(5)),
                    aes_round(v(5), v(6)),
                    aes_round(v(6), v(7)),
                ],
                Aegis256 => vec![
                    aes_round(v(5), xor(v(0), m[i])),
                    aes_round(v(0), v(1)),
                    aes_round(v(1), v(2)),
                    aes_round(v(2), v(3)),
                    aes_round(v(3), v(4)),
                    aes_round(v(4), v(5)),
                ],
            };
            for (j, block) in next.into_iter().enumerate() {
                self.v[j][i] = block;
            }
        }
    }

    /// The keystream of §5.4.4 (`z0 || z1`) or §5.5.4 (`z`): what the next input block will be
    /// XORed with.
    pub fn z(&self) -> Vec<u8> {
        let v = |j: usize, i: usize| self.v[j][i];
        let lanes = 0..self.aegis.degree;
        match self.aegis.family {
            Aegis128 => {
                let z0 =
                    lanes.clone().flat_map(|i| xor_all([v(6, i), v(1, i), and(v(2, i), v(3, i))]));
                let z1 = lanes.flat_map(|i| xor_all([v(2, i), v(5, i), and(v(6, i), v(7, i))]));
                z0.chain(z1).collect()
            }
            Aegis256 => lanes
                .flat_map(|i| xor_all([v(1, i), v(4, i), v(5, i), and(v(2, i), v(3, i))]))
                .collect(),
        }
    }

    /// §3.5, §4.5, §5.4.3, §5.5.3, `Absorb`.
    pub fn absorb(&mut self, ai: &[u8]) {
        self.update(ai);
    }

    /// §3.6, §4.6, §5.4.4, §5.5.4, `Enc`.
    pub fn enc(&mut self, xi: &[u8]) -> Vec<u8> {
        let z = self.z();
        self.update(xi);
        xor_bytes(xi, &z)
    }

    /// Does what `Encrypt` does with the last, possibly partial block: pad with zeros, `Enc`,
    /// truncate.
    pub fn enc_partial(&mut self, xn: &[u8]) -> Vec<u8> {
        self.enc(&zero_pad(xn, self.aegis.rate()))[..xn.len()].to_vec()
    }

    /// §3.7, §4.7, §5.4.5, §5.5.5, `Dec`.
    pub fn dec(&mut self, ci: &[u8]) -> Vec<u8> {
        let xi = xor_bytes(ci, &self.z());
        self.update(&xi);
        xi
    }

    /// §3.8, §4.8, §5.4.6, §5.5.6, `DecPartial`: an input of 1 to `R - 1` bytes.
    pub fn dec_partial(&mut self, cn: &[u8]) -> Vec<u8> {
        let out = xor_bytes(&zero_pad(cn, self.aegis.rate()), &self.z());
        let xn = out[..cn.len()].to_vec();
        self.update(&zero_pad(&xn, self.aegis.rate()));
        xn
    }

    /// The first half of every finalization: `t[i] = V[2,i] ^ u` (`V[3,i]` for AEGIS-256X) in the
    /// given number of lanes, zeros in the others, then `Repeat(7, Update(t, t))` (`Update(t)`).
    fn finalize_rounds(&mut self, u: Block, lanes: usize) {
        let (j, halves) = if self.aegis.family == Aegis128 { (2, 2) } else { (3, 1) };
        let t: Vec<u8> = self.v[j][..lanes].iter().flat_map(|&block| xor(block, u)).collect();
        let t = zero_pad(&t, 16 * self.aegis.degree);
        for _ in 0..7 {
            self.update(&t.repeat(halves));
        }
    }

    /// The tag that lane `i` holds after its seven rounds: `ti`, or `ti0 || ti1`.
    fn lane_tag(&self, i: usize, tag_len: usize) -> Vec<u8> {
        let sum = |blocks: std::ops::Range<usize>| xor_all(blocks.map(|j| self.v[j][i])).to_vec();
        match (self.aegis.family, tag_len) {
            (Aegis128, 16) => sum(0..7), // the eighth block is left out
            (Aegis128, 32) => [sum(0..4), sum(4..8)].concat(),
            (Aegis256, 16) => sum(0..6),
            (Aegis256, 32) => [sum(0..3), sum(3..6)].concat(),
            _ => panic!("a tag has 16 or 32 bytes, not {tag_len}"),
        }
    }

    /// §3.9, §4.9, §5.4.7, §5.5.7, `Finalize`.
    pub fn finalize(&mut self, ad_len_bits: u64, msg_len_bits: u64, tag_len: usize) -> Vec<u8> {
        self.finalize_rounds(le64_le64(ad_len_bits, msg_len_bits), self.aegis.degree);
        (0..self.aegis.degree)
            .fold(vec![0; tag_len], |tag, i| xor_bytes(&tag, &self.lane_tag(i, tag_len)))
    }

    /// §8.3.2, §8.4.2: the first step of `FinalizeMac`, up to the string `tags` of the lanes' own
    /// tags.
    pub fn finalize_mac_lanes(&mut self, data_len_bits: u64, tag_len: usize) -> Vec<u8> {
        self.finalize_rounds(le64_le64(data_len_bits, bits(tag_len)), self.aegis.degree);
        // Skip the tag of lane 0, except for 16-byte tags of AEGIS-128X.
        let first = if (self.aegis.family, tag_len) == (Aegis128, 16) { 0 } else { 1 };
        (first..self.aegis.degree).flat_map(|i| self.lane_tag(i, tag_len)).collect()
    }

    /// §8.1 to §8.4, `FinalizeMac`; with degree 1 it is `Finalize(|data|, tag_len_bits)`.
    ///
    /// With an **odd degree above 1**, AEGIS-128X and 16-byte tags, `tags` is an odd number of
    /// blocks; `Split` takes them by two and ignores the last one. The tag then does not depend on
    /// what lane `D - 1` absorbed, and forgeries are free. That is the RFC to the letter, for
    /// degrees that it does not name; the tests show it.
    pub fn finalize_mac(&mut self, data_len_bits: u64, tag_len: usize) -> Vec<u8> {
        let tags = self.finalize_mac_lanes(data_len_bits, tag_len);
        if self.aegis.degree > 1 {
            let d = self.aegis.degree;
            let lane_0 = |block: &[u8]| zero_pad(block, 16 * d);
            for v in tags.chunks_exact(if self.aegis.family == Aegis128 { 32 } else { 16 }) {
                self.absorb(&v.chunks(16).map(lane_0).collect::<Vec<_>>().concat());
            }
            self.finalize_rounds(le64_le64(d as u64, bits(tag_len)), 1);
        }
        self.lane_tag(0, tag_len)
    }
}
