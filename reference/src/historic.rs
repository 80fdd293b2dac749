//! The parallel modes as they were in 2023: ePrint 2023/523, "Adding more parallelism to the AEGIS
//! authenticated encryption algorithms". Not compatible with RFC 10032; kept to reproduce what was
//! published then.
//!
//! What differs from today:
//!
//! - `ctx[i]` is the lane's index and zeros, without the byte for the highest index (added in
//!   November 2023);
//! - the paper's printed tags of AEGIS-128X\[2\] are sums of `S0` to `S4` only. The vectors that
//!   implementations and the draft had later that year, with the same `ctx[i]`, sum `S0` to `S6`,
//!   as AEGIS-128L does. Everything else is as today. The printed vectors prove that, in three
//!   places against the paper's own text. Algorithms 3 and 4 swap the constants of AEGIS-256 and
//!   add `IV` where AEGIS-256 has always added `K ^ IV`, and section 4 makes each lane authenticate
//!   the length of its own fragment, where the vectors have the lengths of the whole inputs in
//!   every lane.

use crate::{Aegis, AesBlock, Block, Family, State, bits, blocks, xor_all};

/// How many words of a lane's state a 16-byte tag of the AEGIS-128 family sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagWords {
    /// `S0` to `S4`: the paper's printed vectors.
    Five,
    /// `S0` to `S6`: implementations and drafts later in 2023, before the degree got into `ctx[i]`;
    /// and the RFC.
    Seven,
}

/// The paper's `ctx[i]`, with `CTX` set to the lane's index.
pub fn ctx(degree: usize) -> Vec<Block> {
    (0..degree).map(|i| context(&[u8::try_from(i).expect("an index is one byte")])).collect()
}

/// `Pad(CTX, 128)`.
fn context(ctx: &[u8]) -> Block {
    std::array::from_fn(|i| ctx.get(i).copied().unwrap_or(0))
}

/// AEGIS-128X\[ν\] and AEGIS-256X\[ν\] (section 4). `words` matters for 16-byte tags of the
/// AEGIS-128 family only.
pub fn encrypt(
    aegis: Aegis,
    words: TagWords,
    key: &[u8],
    nonce: &[u8],
    ad: &[u8],
    msg: &[u8],
    tag_len: usize,
) -> (Vec<u8>, Vec<u8>) {
    let ctx = ctx(aegis.degree);
    run(State::init_with_ctx(aegis, &blocks(key), &blocks(nonce), &ctx), words, ad, msg, tag_len)
}

/// `Enc(CTX, K, IV, A, M)`: AEGIS-128L or AEGIS-256 with a context of up to 16 bytes (section 3,
/// algorithms 2 and 4, with the constants and updates that AEGIS-256 has). An all-zero or empty
/// context changes nothing.
pub fn encrypt_with_context(
    family: Family,
    ctx: &[u8],
    key: &[u8],
    nonce: &[u8],
    ad: &[u8],
    msg: &[u8],
    tag_len: usize,
) -> (Vec<u8>, Vec<u8>) {
    assert!(ctx.len() <= 16, "a context has at most 128 bits");
    let state =
        State::init_with_ctx(Aegis::new(family, 1), &blocks(key), &blocks(nonce), &[context(ctx)]);
    run(state, TagWords::Seven, ad, msg, tag_len)
}

/// `Encrypt` after `Init`.
fn run(
    mut state: State,
    words: TagWords,
    ad: &[u8],
    msg: &[u8],
    tag_len: usize,
) -> (Vec<u8>, Vec<u8>) {
    state.absorb(&blocks(ad));
    let ct = state.encrypt(msg);
    let mut tag = state.finalize(bits(ad.len()), bits(msg.len()), tag_len);
    if (state.aegis.family, words, tag_len) == (Family::Aegis128, TagWords::Five, 16) {
        let left_out = [&state.v[5], &state.v[6]];
        tag[0] = tag[0].xor(xor_all(left_out.into_iter().flatten().copied()));
    }
    (ct, tag.concat())
}
