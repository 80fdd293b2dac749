//! RFC 10032 on bytes of any kind: what kernels have to compute.

use palladion_reference::{Aegis, C0, C1, Family};

use crate::term::{Block, Term};

/// `v[i][j]` is word `j` of lane `i`.
#[derive(Clone)]
pub struct State {
    pub aegis: Aegis,
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
    /// Init; a context other than the standard's is for degree 1.
    pub fn init(aegis: Aegis, key: &[Term], nonce: &[Term], context: Option<Block>) -> Self {
        let (c0, c1) = (C0.map(Term::number), C1.map(Term::number));
        let (k, n) = (blocks(key), blocks(nonce));
        let kn = xor(&[k[0], n[0]]);
        let (lane, inputs) = match aegis.family {
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
        let mut state = Self { aegis, v: vec![lane; aegis.degree] };
        for input in inputs {
            for (lane, standard) in state.v.iter_mut().zip(aegis.ctx()) {
                let context = context.unwrap_or(standard.map(Term::number));
                for j in [3, last] {
                    lane[j] = xor(&[lane[j], context]);
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

    /// Rows of a step.
    fn rows(&self) -> usize {
        self.aegis.rate() / 16 / self.aegis.degree
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
            self.v.iter().flat_map(move |s| match (self.aegis.family, row) {
                (Family::Aegis128, 0) => xor(&[s[6], s[1], and(s[2], s[3])]),
                (Family::Aegis128, _) => xor(&[s[2], s[5], and(s[6], s[7])]),
                (Family::Aegis256, _) => xor(&[s[1], s[4], s[5], and(s[2], s[3])]),
            })
        };
        (0..self.rows()).flat_map(z).collect()
    }

    /// Absorbs data, padded with zeros.
    pub fn absorb(&mut self, data: &[Term]) {
        for step in data.chunks(self.aegis.rate()) {
            let mut padded = step.to_vec();
            padded.resize(self.aegis.rate(), Term::ZERO);
            self.update(&padded);
        }
    }

    /// Encrypts or decrypts.
    pub fn crypt(&mut self, input: &[Term], decrypt: bool) -> Vec<Term> {
        let mut output = Vec::new();
        for step in input.chunks(self.aegis.rate()) {
            let z = self.keystream();
            let result: Vec<Term> = step.iter().zip(z).map(|(byte, z)| byte.xor(z)).collect();
            self.absorb(if decrypt { &result } else { step });
            output.extend(result);
        }
        output
    }

    fn finish(&mut self, lengths: Block, tag_len: usize) -> Vec<Vec<Term>> {
        let lane_tag = |s: &[Block]| match (self.aegis.family, tag_len) {
            (Family::Aegis128, 16) => xor(&s[..7]).to_vec(),
            (_, 16) => xor(s).to_vec(),
            _ => [xor(&s[..s.len() / 2]), xor(&s[s.len() / 2..])].concat(),
        };
        let rows = self.rows();
        let tag = |lane: &mut Vec<Block>| {
            let t =
                xor(&[lane[if self.aegis.family == Family::Aegis128 { 2 } else { 3 }], lengths]);
            (0..7).for_each(|_| Self::update_lane(lane, &[t, t][..rows]));
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
        let first = usize::from((self.aegis.family, tag_len) != (Family::Aegis128, 16));
        let aegis = Aegis { degree: 1, ..self.aegis };
        let mut lane = Self { aegis, v: self.v[..1].to_vec() };
        lane.absorb(&tags[first..].concat());
        lane.finish(le64_le64(tags.len(), 8 * tag_len), tag_len).concat()
    }
}

/// Compares this with the reference, on numbers.
pub fn check() -> Vec<String> {
    let bytes = |len: usize, seed: usize| -> Vec<Term> {
        (0..len).map(|i| Term::number((i * i + seed * (i + 31)) as u8)).collect()
    };
    let values = |bytes: &[Term]| bytes.iter().map(|byte| byte.value()).collect::<Vec<_>>();
    let mut faults = Vec::new();
    for n in 0..80 {
        let family = [Family::Aegis128, Family::Aegis256][n % 2];
        let (tag_len, degree) = (16 * (n / 2 % 2 + 1), n / 4 % 4 + 1);
        let aegis = Aegis { family, degree };
        let len = n / 16 * (16 * degree + 3);
        let (key, nonce) = (bytes(aegis.key_len(), 1), bytes(aegis.key_len(), 2));
        let (ad, message) = (bytes(len / 2 + 1, 3), bytes(len, 4));
        let mut state = State::init(aegis, &key, &nonce, None);
        state.absorb(&ad);
        let mac = values(&state.clone().finalize_mac(ad.len(), tag_len));
        let output = values(&state.crypt(&message, false));
        let tag = values(&state.finalize(ad.len(), len, tag_len));
        let [key, nonce, ad, message] = [key, nonce, ad, message].map(|bytes| values(&bytes));
        // Of AEGIS-128X with an odd degree there is no short MAC.
        let has_mac = (family, degree, tag_len) != (Family::Aegis128, 3, 16);
        if aegis.encrypt(&key, &nonce, &ad, &message, tag_len) != (output, tag)
            || has_mac && aegis.mac(&key, &nonce, &ad, tag_len) != mac
        {
            faults.push(format!("{aegis:?}, {len} bytes: not the reference"));
        }
    }
    faults
}
