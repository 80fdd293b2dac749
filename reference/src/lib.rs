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
//! [`State`] is generic over its blocks: those of the tests are bytes, and those of the provers are
//! symbols that stand for all values.
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
pub const fn gf_mul(mut a: u8, mut b: u8) -> u8 {
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

/// The S-box.
pub static SBOX: [u8; 256] = sbox();

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

/// §2: what the standard does with a block.
pub trait AesBlock: Copy {
    /// The block with these bytes.
    fn constant(bytes: Block) -> Self;
    /// `a ^ b`.
    fn xor(self, other: Self) -> Self;
    /// `a & b`.
    fn and(self, other: Self) -> Self;
    /// `AESRound(a, rk)`.
    fn aes_round(self, rk: Self) -> Self;
    /// The first bytes, followed by zeros.
    fn truncate(self, len: usize) -> Self;
}

/// What a block can be made of.
pub trait Byte: Copy {
    /// The byte with this value.
    fn constant(byte: u8) -> Self;
    /// `a ^ b`.
    fn xor(self, other: Self) -> Self;
    /// `a & b`.
    fn and(self, other: Self) -> Self;
    /// `AESRound(in, rk)`.
    fn aes_round(input: [Self; 16], rk: [Self; 16]) -> [Self; 16];
}

impl<T: Byte> AesBlock for [T; 16] {
    fn constant(bytes: Block) -> Self {
        bytes.map(T::constant)
    }
    fn xor(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].xor(other[i]))
    }
    fn and(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].and(other[i]))
    }
    fn aes_round(self, rk: Self) -> Self {
        T::aes_round(self, rk)
    }
    fn truncate(self, len: usize) -> Self {
        std::array::from_fn(|i| if i < len { self[i] } else { T::constant(0) })
    }
}

impl Byte for u8 {
    fn constant(byte: u8) -> Self {
        byte
    }
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    fn and(self, other: Self) -> Self {
        self & other
    }
    fn aes_round(input: Block, rk: Block) -> Block {
        aes_round(input, rk)
    }
}

/// The exclusive or of any number of blocks. It is zero for no blocks.
fn xor_all<B: AesBlock>(blocks: impl IntoIterator<Item = B>) -> B {
    blocks.into_iter().fold(B::constant([0; 16]), B::xor)
}

/// §2, `Split(ZeroPad(x, 128), 128)`: nothing is added to an empty `x`.
pub fn blocks<T: Byte>(x: &[T]) -> Vec<[T; 16]> {
    let block = |x: &[T]| std::array::from_fn(|i| x.get(i).copied().unwrap_or(T::constant(0)));
    x.chunks(16).map(block).collect()
}

/// `LE64(a) || LE64(b)`.
fn le64_le64<B: AesBlock>(a: u64, b: u64) -> B {
    B::constant((u128::from(a) | u128::from(b) << 64).to_le_bytes())
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
    pub fn ctx<B: AesBlock>(self) -> Vec<B> {
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
        let mut state = State::init(self, &blocks(key), &blocks(nonce));
        state.absorb(&blocks(ad));
        let ct = state.encrypt(msg);
        (ct, state.finalize(bits(ad.len()), bits(msg.len()), tag_len).concat())
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
        let mut state = State::init(self, &blocks(key), &blocks(nonce));
        state.absorb(&blocks(ad));
        let msg = state.decrypt(ct);
        let expected_tag = state.finalize(bits(ad.len()), bits(msg.len()), tag.len()).concat();
        (tag == expected_tag).then_some(msg)
    }

    /// §7, `Stream`: encrypted zeros. Without a nonce, pass zeros.
    pub fn stream(self, key: &[u8], nonce: &[u8], len: usize) -> Vec<u8> {
        self.encrypt(key, nonce, &[], &vec![0; len], 16).0
    }

    /// §8, `Mac`. See [`State::finalize_mac`] for what an odd degree does to 16-byte tags of
    /// AEGIS-128X.
    pub fn mac(self, key: &[u8], nonce: &[u8], data: &[u8], tag_len: usize) -> Vec<u8> {
        let mut state = State::init(self, &blocks(key), &blocks(nonce));
        state.absorb(&blocks(data));
        state.finalize_mac(bits(data.len()), tag_len).concat()
    }
}

/// The state of a cipher at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State<B = Block> {
    /// The variant.
    pub aegis: Aegis,
    /// `V[j,i]` is `v[j][i]`: block `j` of lane `i`.
    pub v: Vec<Vec<B>>,
}

impl<B: AesBlock> State<B> {
    /// §3.4, §4.4, §5.4.2, §5.5.2, `Init`.
    pub fn init(aegis: Aegis, key: &[B], nonce: &[B]) -> Self {
        Self::init_with_ctx(aegis, key, nonce, &aegis.ctx())
    }

    /// `Init` with context separators of the caller's own.
    pub fn init_with_ctx(aegis: Aegis, k: &[B], n: &[B], ctx: &[B]) -> Self {
        let key_blocks = aegis.key_len() / 16;
        assert_eq!((k.len(), n.len(), ctx.len()), (key_blocks, key_blocks, aegis.degree));
        let (c0, c1) = (B::constant(C0), B::constant(C1));
        let (kn, every_lane) = (k[0].xor(n[0]), |block: B| vec![block; aegis.degree]);
        let (lane, places, repeats, inputs) = match aegis.family {
            Aegis128 => {
                let (k0, k1) = (k[0].xor(c0), k[0].xor(c1));
                let lane = vec![kn, c1, c0, c1, kn, k0, k1, k0];
                (lane, [3, 7], 10, vec![[every_lane(n[0]), every_lane(k[0])].concat()])
            }
            Aegis256 => {
                let kn1 = k[1].xor(n[1]);
                let lane = vec![kn, kn1, c1, c0, k[0].xor(c0), k[1].xor(c1)];
                (lane, [3, 5], 4, [k[0], k[1], kn, kn1].map(every_lane).to_vec())
            }
        };
        let mut state = State { aegis, v: lane.into_iter().map(every_lane).collect() };
        for input in std::iter::repeat_n(&inputs, repeats).flatten() {
            for (i, &ctx) in ctx.iter().enumerate() {
                for j in places {
                    state.v[j][i] = state.v[j][i].xor(ctx);
                }
            }
            state.update(input);
        }
        state
    }

    /// §3.3, §5.4.1, `Update(M0, M1)` with `m` = `M0 || M1`, and §4.3, §5.5.1, `Update(M)` with `m`
    /// = `M`.
    pub fn update(&mut self, m: &[B]) {
        let d = self.aegis.degree;
        assert_eq!(m.len(), self.aegis.rate() / 16);
        for i in 0..d {
            let v = |j: usize| self.v[j][i];
            let next = match self.aegis.family {
                Aegis128 => vec![
                    v(7).aes_round(v(0).xor(m[i])),
                    v(0).aes_round(v(1)),
                    v(1).aes_round(v(2)),
                    v(2).aes_round(v(3)),
                    v(3).aes_round(v(4).xor(m[d + i])),
                    v(4).aes_round(v(5)),
                    v(5).aes_round(v(6)),
                    v(6).aes_round(v(7)),
                ],
                Aegis256 => vec![
                    v(5).aes_round(v(0).xor(m[i])),
                    v(0).aes_round(v(1)),
                    v(1).aes_round(v(2)),
                    v(2).aes_round(v(3)),
                    v(3).aes_round(v(4)),
                    v(4).aes_round(v(5)),
                ],
            };
            for (j, block) in next.into_iter().enumerate() {
                self.v[j][i] = block;
            }
        }
    }

    /// The keystream of §5.4.4 (`z0 || z1`) or §5.5.4 (`z`): what the next input block will be
    /// XORed with.
    pub fn z(&self) -> Vec<B> {
        let v = |j: usize, i: usize| self.v[j][i];
        let lanes = 0..self.aegis.degree;
        match self.aegis.family {
            Aegis128 => {
                let z0 = lanes.clone().map(|i| xor_all([v(6, i), v(1, i), v(2, i).and(v(3, i))]));
                let z1 = lanes.map(|i| xor_all([v(2, i), v(5, i), v(6, i).and(v(7, i))]));
                z0.chain(z1).collect()
            }
            Aegis256 => {
                lanes.map(|i| xor_all([v(1, i), v(4, i), v(5, i), v(2, i).and(v(3, i))])).collect()
            }
        }
    }

    /// Input padded with zeros to whole steps.
    fn steps(&self, input: &[B]) -> Vec<Vec<B>> {
        let blocks = self.aegis.rate() / 16;
        let padded = |step: &[B]| [step, &vec![B::constant([0; 16]); blocks - step.len()]].concat();
        input.chunks(blocks).map(padded).collect()
    }

    /// §3.5, §4.5, §5.4.3, §5.5.3, `Absorb`, for each step of `ZeroPad(data, R)`.
    pub fn absorb(&mut self, data: &[B]) {
        self.steps(data).iter().for_each(|ai| self.update(ai));
    }

    /// §3.6, §4.6, §5.4.4, §5.5.4, `Enc`, for each step of a message of `len` bytes. The last step
    /// is padded with zeros, and so is the result.
    pub fn enc(&mut self, msg: &[B], len: usize) -> Vec<B> {
        let mut ct = Vec::new();
        for xi in self.steps(msg) {
            ct.extend(xi.iter().zip(self.z()).map(|(x, z)| x.xor(z)));
            self.update(&xi);
        }
        ct.truncate(msg.len());
        truncate(ct, 0, len)
    }

    /// §3.7, §4.7, §5.4.5, §5.5.5, `Dec`, for each step of `len` bytes; for the last one, if it is
    /// partial, §3.8, §4.8, §5.4.6, §5.5.6, `DecPartial`. The result is padded with zeros.
    pub fn dec(&mut self, ct: &[B], len: usize) -> Vec<B> {
        let mut msg = Vec::new();
        for ci in self.steps(ct) {
            let out = ci.iter().zip(self.z()).map(|(c, z)| c.xor(z)).collect();
            let xi = truncate(out, 16 * msg.len(), len);
            self.update(&xi);
            msg.extend(xi);
        }
        msg.truncate(ct.len());
        msg
    }

    /// The first half of every finalization: `t[i] = V[2,i] ^ u` (`V[3,i]` for AEGIS-256X) in the
    /// given number of lanes, zeros in the others, then `Repeat(7, Update(t, t))` (`Update(t)`).
    fn finalize_rounds(&mut self, u: B, lanes: usize) {
        let (j, halves) = if self.aegis.family == Aegis128 { (2, 2) } else { (3, 1) };
        let mut t: Vec<B> = self.v[j][..lanes].iter().map(|block| block.xor(u)).collect();
        t.resize(self.aegis.degree, B::constant([0; 16]));
        for _ in 0..7 {
            self.update(&t.repeat(halves));
        }
    }

    /// The tag that lane `i` holds after its seven rounds: `ti`, or `ti0 || ti1`.
    fn lane_tag(&self, i: usize, tag_len: usize) -> Vec<B> {
        let sum = |blocks: std::ops::Range<usize>| xor_all(blocks.map(|j| self.v[j][i]));
        match (self.aegis.family, tag_len) {
            (Aegis128, 16) => vec![sum(0..7)], // the eighth block is left out
            (Aegis128, 32) => vec![sum(0..4), sum(4..8)],
            (Aegis256, 16) => vec![sum(0..6)],
            (Aegis256, 32) => vec![sum(0..3), sum(3..6)],
            _ => panic!("a tag has 16 or 32 bytes, not {tag_len}"),
        }
    }

    /// §3.9, §4.9, §5.4.7, §5.5.7, `Finalize`.
    pub fn finalize(&mut self, ad_len_bits: u64, msg_len_bits: u64, tag_len: usize) -> Vec<B> {
        self.finalize_rounds(le64_le64(ad_len_bits, msg_len_bits), self.aegis.degree);
        let tags: Vec<_> = (0..self.aegis.degree).map(|i| self.lane_tag(i, tag_len)).collect();
        (0..tag_len / 16).map(|n| xor_all(tags.iter().map(|tag| tag[n]))).collect()
    }

    /// §8.3.2, §8.4.2: the first step of `FinalizeMac`, up to the string `tags` of the lanes' own
    /// tags.
    pub fn finalize_mac_lanes(&mut self, data_len_bits: u64, tag_len: usize) -> Vec<B> {
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
    pub fn finalize_mac(&mut self, data_len_bits: u64, tag_len: usize) -> Vec<B> {
        let tags = self.finalize_mac_lanes(data_len_bits, tag_len);
        if self.aegis.degree > 1 {
            let d = self.aegis.degree;
            let lane_0 = |block: &B| [vec![*block], vec![B::constant([0; 16]); d - 1]].concat();
            for v in tags.chunks_exact(if self.aegis.family == Aegis128 { 2 } else { 1 }) {
                self.absorb(&v.iter().flat_map(lane_0).collect::<Vec<_>>());
            }
            self.finalize_rounds(le64_le64(d as u64, bits(tag_len)), 1);
        }
        self.lane_tag(0, tag_len)
    }
}

/// Zeros in blocks that begin at the byte `at`, from the byte `len` on.
fn truncate<B: AesBlock>(blocks: Vec<B>, at: usize, len: usize) -> Vec<B> {
    let rest = |n: usize| len.saturating_sub(at + 16 * n).min(16);
    blocks.iter().enumerate().map(|(n, block)| block.truncate(rest(n))).collect()
}

impl<T: Byte> State<[T; 16]> {
    /// `Enc` for bytes.
    pub fn encrypt(&mut self, msg: &[T]) -> Vec<T> {
        self.enc(&blocks(msg), msg.len()).concat()[..msg.len()].to_vec()
    }

    /// `Dec` for bytes.
    pub fn decrypt(&mut self, ct: &[T]) -> Vec<T> {
        self.dec(&blocks(ct), ct.len()).concat()[..ct.len()].to_vec()
    }
}
