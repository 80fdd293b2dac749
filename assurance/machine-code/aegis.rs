//! RFC 10032 on bytes of any kind: what kernels have to compute.

use palladion_reference::{Aegis, C0, C1, Family as Reference};

use crate::term::{Block, Term};

#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub enum Family {
    #[default]
    Aegis128,
    Aegis256,
}

impl Family {
    pub fn key_len(self) -> usize {
        if self == Family::Aegis128 { 16 } else { 32 }
    }
    pub fn words(self) -> usize {
        if self == Family::Aegis128 { 8 } else { 6 }
    }
    /// Rows of a step.
    pub fn rows(self) -> usize {
        if self == Family::Aegis128 { 2 } else { 1 }
    }
}

/// `v[i][j]` is word `j` of lane `i`.
#[derive(Clone)]
pub struct State {
    pub family: Family,
    pub v: Vec<Vec<Block>>,
}

/// `LE64(a) || LE64(b)`.
fn le64_le64(a: usize, b: usize) -> Block {
    (a as u128 | (b as u128) << 64).to_le_bytes().map(Term::number)
}

fn xor(blocks: &[Block]) -> Block {
    std::array::from_fn(|i| blocks.iter().fold(Term::ZERO, |sum, block| sum.xor(block[i])))
}

fn and(a: Block, b: Block) -> Block {
    std::array::from_fn(|i| a[i].and(b[i]))
}

pub fn aes(block: Block, key: Block) -> Block {
    xor(&[Term::mix(Term::sub_and_shift(block)), key])
}

fn blocks(bytes: &[Term]) -> Vec<Block> {
    bytes.chunks(16).map(|chunk| chunk.try_into().expect("whole blocks")).collect()
}

impl State {
    pub fn rate(&self) -> usize {
        16 * self.family.rows() * self.v.len()
    }

    /// Init; a context other than the standard's is for degree 1.
    pub fn init(
        family: Family,
        degree: usize,
        key: &[Term],
        nonce: &[Term],
        context: Option<Block>,
    ) -> Self {
        let (c0, c1) = (C0.map(Term::number), C1.map(Term::number));
        let (k, n) = (blocks(key), blocks(nonce));
        let kn = xor(&[k[0], n[0]]);
        let (lane, inputs) = match family {
            Family::Aegis128 => {
                let (k0, k1) = (xor(&[k[0], c0]), xor(&[k[0], c1]));
                (vec![kn, c1, c0, c1, kn, k0, k1, k0], vec![vec![n[0], k[0]]; 10])
            }
            Family::Aegis256 => {
                let kn1 = xor(&[k[1], n[1]]);
                let lane = vec![kn, kn1, c1, c0, xor(&[k[0], c0]), xor(&[k[1], c1])];
                (lane, vec![[k[0], k[1], kn, kn1].map(|block| vec![block]); 4].concat())
            }
        };
        let last = lane.len() - 1;
        let mut state = Self { family, v: vec![lane; degree] };
        for input in inputs {
            for (i, lane) in state.v.iter_mut().enumerate() {
                let standard = le64_le64(i | (degree - 1) << 8, 0);
                for j in [3, last] {
                    lane[j] = xor(&[lane[j], context.unwrap_or(standard)]);
                }
                Self::update_lane(lane, &input);
            }
        }
        state
    }

    fn update_lane(v: &mut Vec<Block>, m: &[Block]) {
        let before = |j: usize| v[(j + v.len() - 1) % v.len()];
        let mut next: Vec<_> = (0..v.len()).map(|j| aes(before(j), v[j])).collect();
        for (m, j) in m.iter().zip([0, 4]) {
            next[j] = xor(&[next[j], *m]);
        }
        *v = next;
    }

    /// Absorbs one step.
    fn update(&mut self, step: &[Term]) {
        let (m, degree) = (blocks(step), self.v.len());
        for (i, lane) in self.v.iter_mut().enumerate() {
            Self::update_lane(lane, &m[i..].iter().step_by(degree).copied().collect::<Vec<_>>());
        }
    }

    /// Returns the key stream of the next step.
    pub fn keystream(&self) -> Vec<Term> {
        let z = |row: usize| {
            self.v.iter().flat_map(move |s| match (self.family, row) {
                (Family::Aegis128, 0) => xor(&[s[6], s[1], and(s[2], s[3])]),
                (Family::Aegis128, _) => xor(&[s[2], s[5], and(s[6], s[7])]),
                (Family::Aegis256, _) => xor(&[s[1], s[4], s[5], and(s[2], s[3])]),
            })
        };
        (0..self.family.rows()).flat_map(z).collect()
    }

    /// Absorbs data, padded with zeros.
    pub fn absorb(&mut self, data: &[Term]) {
        for step in data.chunks(self.rate()) {
            let mut padded = step.to_vec();
            padded.resize(self.rate(), Term::ZERO);
            self.update(&padded);
        }
    }

    /// Encrypts or decrypts.
    pub fn crypt(&mut self, input: &[Term], decrypt: bool) -> Vec<Term> {
        let mut output = Vec::new();
        for step in input.chunks(self.rate()) {
            let z = self.keystream();
            let result: Vec<Term> = step.iter().zip(z).map(|(byte, z)| byte.xor(z)).collect();
            self.absorb(if decrypt { &result } else { step });
            output.extend(result);
        }
        output
    }

    fn finish(&mut self, lengths: Block, tag_len: usize) -> Vec<Vec<Term>> {
        let lane_tag = |s: &[Block]| match (self.family, tag_len) {
            (Family::Aegis128, 16) => xor(&s[..7]).to_vec(),
            (_, 16) => xor(s).to_vec(),
            _ => [xor(&s[..s.len() / 2]), xor(&s[s.len() / 2..])].concat(),
        };
        let tag = |lane: &mut Vec<Block>| {
            let t = xor(&[lane[if self.family == Family::Aegis128 { 2 } else { 3 }], lengths]);
            (0..7).for_each(|_| Self::update_lane(lane, &[t, t][..self.family.rows()]));
            lane_tag(lane)
        };
        self.v.iter_mut().map(tag).collect()
    }

    /// Finalize; lengths in bytes.
    pub fn finalize(&mut self, ad_len: usize, len: usize, tag_len: usize) -> Vec<Term> {
        let tags = self.finish(le64_le64(8 * ad_len, 8 * len), tag_len);
        let sum = |i: usize| tags.iter().fold(Term::ZERO, |sum, tag| sum.xor(tag[i]));
        (0..tag_len).map(sum).collect()
    }

    /// FinalizeMac; the length in bytes.
    pub fn finalize_mac(&mut self, len: usize, tag_len: usize) -> Vec<Term> {
        let tags = self.finish(le64_le64(8 * len, 8 * tag_len), tag_len);
        if tags.len() == 1 {
            return tags.concat();
        }
        let first = usize::from((self.family, tag_len) != (Family::Aegis128, 16));
        let mut lane = Self { family: self.family, v: self.v[..1].to_vec() };
        lane.absorb(&tags[first..].concat());
        lane.finish(le64_le64(tags.len(), 8 * tag_len), tag_len).concat()
    }
}

/// Compares this with the reference, on numbers.
pub fn check() -> Vec<String> {
    let bytes = |len: usize, seed: usize| -> Vec<u8> {
        (0..len).map(|i| (i * i + seed * (i + 31)) as u8).collect()
    };
    let numbers = |bytes: &[u8]| bytes.iter().map(|byte| Term::number(*byte)).collect::<Vec<_>>();
    let values = |bytes: &[Term]| bytes.iter().map(|byte| byte.value()).collect::<Vec<_>>();
    let mut faults = Vec::new();
    for n in 0..80 {
        let (family, reference) = match n % 2 {
            0 => (Family::Aegis128, Reference::Aegis128),
            _ => (Family::Aegis256, Reference::Aegis256),
        };
        let (tag_len, degree) = (16 * (n / 2 % 2 + 1), n / 4 % 4 + 1);
        let len = n / 16 * (16 * degree + 3);
        let aegis = Aegis { family: reference, degree };
        let (key, nonce) = (bytes(family.key_len(), 1), bytes(family.key_len(), 2));
        let (ad, message) = (bytes(len / 2 + 1, 3), bytes(len, 4));
        let mut state = State::init(family, degree, &numbers(&key), &numbers(&nonce), None);
        state.absorb(&numbers(&ad));
        let mac = values(&state.clone().finalize_mac(ad.len(), tag_len));
        let output = values(&state.crypt(&numbers(&message), false));
        let tag = values(&state.finalize(ad.len(), len, tag_len));
        // Of AEGIS-128X with an odd degree there is no short MAC.
        let has_mac = (family, degree, tag_len) != (Family::Aegis128, 3, 16);
        if aegis.encrypt(&key, &nonce, &ad, &message, tag_len) != (output, tag)
            || has_mac && aegis.mac(&key, &nonce, &ad, tag_len) != mac
        {
            faults.push(format!("{family:?}, degree {degree}, {len} bytes: not the reference"));
        }
    }
    faults
}
