//! The loops around the state machines, and the table of kernels that each backend fills with them.
//!
//! A state of degree D is kept as D / LANES *groups*, each the words of `LANES` lanes. Lanes never meet before the
//! tag, so the groups take turns over chunks that stay in the first-level cache (the "periodic synchronisation" of
//! the 2023 paper, §6). Where one group holds all lanes, the state stays in registers.

use core::mem::MaybeUninit;
use core::num::NonZeroUsize;

use super::batch::{self, Batch};
use super::blocks::{Blocks, MAX_LANES, Vector};
use super::machine::Machine;
use super::memory::wipe;
use super::secrecy::declassify;

/// What a one-shot call works on. `key` and `nonce` point to as many bytes as the family's have, `ad` to `ad_len` readable ones, `src`
/// and `dst` to `len` readable and writable ones; these two are equal for work in place and do not overlap otherwise. Where there
/// are no bytes, any pointer will do.
#[derive(Clone, Copy)]
#[allow(missing_docs)] // see above
pub struct Message {
    pub key: *const u8,
    pub nonce: *const u8,
    pub ad: *const u8,
    pub ad_len: usize,
    pub src: *const u8,
    pub dst: *mut u8,
    pub len: usize,
    /// Where the tag goes, or, for `open`, the tag to compare with, which is only read, and only after the output was written.
    pub tag: *mut u8,
    /// 16 or 32.
    pub tag_len: usize,
}

/// `seal(dst, tag, tag_len, src, len, ad, ad_len, nonce, key)`: encrypts and writes the tag, last of all. Zero. (The order of
/// arguments, and the result, are those of libaegis's functions, so that ours can jump there without a frame of their own.)
pub type Seal = unsafe extern "C" fn(
    *mut u8,
    *mut u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    *const u8,
) -> i32;

/// `open(dst, src, len, tag, tag_len, ad, ad_len, nonce, key)`: decrypts and tells whether the tag is right, which is decided in
/// constant time: zero, or else -1, and the output is zeroed. The tag that the ciphertext should have stays in registers.
pub type Open = unsafe extern "C" fn(
    *mut u8,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    *const u8,
) -> i32;

/// What `Open` gives for a wrong tag.
pub(super) const WRONG: i32 = -1;

/// `mac(tag, tag_len, data, len, nonce, key)`: writes the MAC.
pub(super) type Mac = unsafe fn(*mut u8, usize, *const u8, usize, *const u8, *const u8);

/// The kernels for a whole message, for those degrees whose states need no memory: all arguments are as in [`Message`].
#[derive(Clone, Copy)]
pub(crate) struct OneShot {
    pub(super) seal: Seal,
    pub(super) open: Open,
    pub(super) mac: Mac,
}

/// The kernels of one backend for one family and one class of degrees.
///
/// For every function: the caller has checked the backend's CPU features and passes the degree of this table. `state`
/// is 64-byte aligned memory for `8 * degree` blocks; only `init` and `resume`
/// take it uninitialised, and what one table wrote only the same table reads. `key` and `nonce` have the
/// family's length. `src` is readable and `dst` writable for `len` bytes; they are equal or do not overlap. `len` need
/// not be a multiple of the rate: the last step is padded with zeros.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// `init(state, degree, key, nonce, ctx)`: `ctx` is null for the standard's context, or 16 bytes (degree 1 only).
    pub(super) init: unsafe fn(*mut u8, usize, *const u8, *const u8, *const u8),
    /// `absorb(state, degree, src, len)`
    pub(super) absorb: unsafe fn(*mut u8, usize, *const u8, usize),
    /// `encrypt(state, degree, src, dst, len)`
    pub(super) encrypt: unsafe fn(*mut u8, usize, *const u8, *mut u8, usize),
    /// `decrypt(state, degree, src, dst, len)`
    pub(super) decrypt: unsafe fn(*mut u8, usize, *const u8, *mut u8, usize),
    /// `keystream(state, degree, dst)`: one rate of key stream; the state stays as it is.
    pub(super) keystream: unsafe fn(*const u8, usize, *mut u8),
    /// `finalize(state, degree, ad_len, msg_len, tag, tag_len)`: lengths in bytes. The state is spent.
    pub(super) finalize: unsafe fn(*mut u8, usize, u64, u64, *mut u8, usize),
    /// `finalize_mac(state, degree, data_len, tag, tag_len)`: likewise.
    pub(super) finalize_mac: unsafe fn(*mut u8, usize, u64, *mut u8, usize),
    /// `words(state, degree, dst)`: all words, word by word and in each lane by lane: `WORDS * degree` blocks.
    pub(super) words: unsafe fn(*const u8, usize, *mut u8),
    /// `resume(state, degree, src)`: the state of words that `words` has written, of this table or another one.
    pub(super) resume: unsafe fn(*mut u8, usize, *const u8),
    /// The kernels for a whole message, where they are not made of those above.
    pub(super) one_shot: Option<OneShot>,
    /// What is left on the stack.
    pub(super) leaves: Leaves,
    /// The kernels for several messages at once, that for the most messages first.
    pub(super) batch: [Batch; batch::KERNELS],
    /// What these leave on the stack.
    pub(super) batch_leaves: Leaves,
}

/// Of bytes, or of nothing, the `Leaves`. (On bare machines the stack is so small that a kernel's frame may be all there is. WebAssembly
/// keeps most of a frame where no program can reach it.)
macro_rules! leaves {
    () => {
        None
    };
    ($bytes:literal) => {
        if cfg!(any(target_os = "none", target_family = "wasm")) {
            None
        } else {
            Some($crate::low::kernels::wipe_stack::<$bytes> as fn())
        }
    };
}
pub(super) use leaves;

impl Kernels {
    /// Wipes the stack below the caller, as deep as these kernels leave secrets there. Whoever calls one of them calls this next,
    /// from the same function.
    #[inline(always)]
    pub(super) fn wipe_stack(&self) {
        if let Some(wipe) = self.leaves {
            wipe();
        }
    }

    /// The same after kernels for several messages.
    #[inline(always)]
    pub(super) fn wipe_stack_of_batch(&self) {
        if let Some(wipe) = self.batch_leaves {
            wipe();
        }
    }

    /// The same after a MAC: the tags of single lanes go over the stack in all kernels of more than one.
    #[inline(always)]
    pub(super) fn wipe_stack_of_mac(&self, degree: usize) {
        const LANES: Leaves = leaves!(512);
        if let Some(wipe) = self.leaves.or(if degree > 1 { LANES } else { None }) {
            wipe();
        }
    }
}

/// Where kernels have more secrets than registers, the compiler puts some on the stack and leaves them there. Then this is what
/// wipes it; how deep the tables say, and `scripts/check-wiping.sh` whether that is enough.
pub(super) type Leaves = Option<fn()>;

/// Zeroes so many bytes below the caller.
#[inline(never)]
pub(super) fn wipe_stack<const N: usize>() {
    let mut stack = MaybeUninit::<[u8; N]>::uninit();
    zeroize::optimization_barrier(stack.write([0; N]));
}

/// Bytes that one group works on before the next takes over.
const CHUNK: usize = 4096;

/// One way of going over data step by step. (A trait and not closures: what it does must be inlined into a function
/// that carries the CPU features, and closures cannot be marked so.)
trait Pass<M: Machine> {
    /// Works on the whole step of one group that starts at `at`.
    ///
    /// # Safety
    /// The CPU features; the step lies within the data.
    unsafe fn whole(&self, s: &mut M, at: usize, row: usize);
    /// Whether to call `two` while there are two steps.
    #[inline(always)]
    fn two_at_once(&self) -> bool {
        false
    }
    /// Works on two whole steps of one group, `rate` bytes apart.
    ///
    /// # Safety
    /// The CPU features; the steps lie within the data.
    #[inline(always)]
    unsafe fn two(&self, s: &mut M, at: usize, row: usize, rate: usize) {
        // SAFETY: passed on.
        unsafe {
            self.whole(s, at, row);
            self.whole(s, at + rate, row);
        }
    }
    /// Works on a last step of which `len` bytes from `at` on exist; `len` may be zero.
    ///
    /// # Safety
    /// The CPU features; those bytes lie within the data.
    unsafe fn part(&self, s: &mut M, at: usize, row: usize, len: usize);
}

struct Absorb(*const u8);
struct Encrypt(*const u8, *mut u8);
struct Decrypt(*const u8, *mut u8);

impl<M: Machine> Pass<M> for Absorb {
    #[inline(always)]
    unsafe fn whole(&self, s: &mut M, at: usize, row: usize) {
        // SAFETY: granted by the caller.
        s.absorb(unsafe { M::load(self.0.add(at), row) });
    }
    #[inline(always)]
    fn two_at_once(&self) -> bool {
        M::TWO_AT_ONCE
    }
    #[inline(always)]
    unsafe fn two(&self, s: &mut M, at: usize, row: usize, rate: usize) {
        // SAFETY: granted by the caller.
        unsafe { s.absorb_two(M::load(self.0.add(at), row), M::load(self.0.add(at + rate), row)) };
    }
    #[inline(always)]
    unsafe fn part(&self, s: &mut M, at: usize, row: usize, len: usize) {
        // SAFETY: granted by the caller.
        s.absorb(unsafe { M::load_partial(self.0.wrapping_add(at), row, len) });
    }
}

impl<M: Machine> Pass<M> for Encrypt {
    #[inline(always)]
    unsafe fn whole(&self, s: &mut M, at: usize, row: usize) {
        // SAFETY: granted by the caller. In place, all of the step is read before any of it is written.
        unsafe {
            let c = s.encrypt(M::load(self.0.add(at), row));
            M::store(c, self.1.add(at), row);
        }
    }
    #[inline(always)]
    unsafe fn part(&self, s: &mut M, at: usize, row: usize, len: usize) {
        // SAFETY: likewise.
        unsafe {
            let c = s.encrypt(M::load_partial(self.0.wrapping_add(at), row, len));
            M::store_partial(c, self.1.wrapping_add(at), row, len);
        }
    }
}

impl<M: Machine> Pass<M> for Decrypt {
    #[inline(always)]
    unsafe fn whole(&self, s: &mut M, at: usize, row: usize) {
        // SAFETY: granted by the caller. In place, all of the step is read before any of it is written.
        unsafe {
            let m = s.decrypt(M::load(self.0.add(at), row));
            M::store(m, self.1.add(at), row);
        }
    }
    #[inline(always)]
    unsafe fn part(&self, s: &mut M, at: usize, row: usize, len: usize) {
        // SAFETY: likewise. What is absorbed is the message padded with zeros (DecPartial, §3.2.6).
        unsafe {
            let c = M::load_partial(self.0.wrapping_add(at), row, len);
            let m = M::truncate(M::xor(c, s.keystream()), row, len);
            M::store_partial(m, self.1.wrapping_add(at), row, len);
            s.absorb(m);
        }
    }
}

/// Bytes of one step of all lanes. Never zero, as no degree is: its type says so, for divisions that need no check.
#[inline(always)]
fn rate<M: Machine>(degree: usize) -> NonZeroUsize {
    NonZeroUsize::new(16 * degree * M::BLOCKS).unwrap_or(NonZeroUsize::MIN)
}

/// Where the columns of a group begin within a step.
#[inline(always)]
fn column<M: Machine>(group: usize) -> usize {
    16 * M::V::LANES * group
}

/// Goes with one group over its columns of `len` bytes.
///
/// # Safety
/// The CPU features; the pass's data is `len` bytes long.
#[inline(always)]
unsafe fn go_group<M: Machine>(s: &mut M, group: usize, degree: usize, len: usize, pass: &impl Pass<M>) {
    let end = len - len % rate::<M>(degree);
    // SAFETY: whole steps, and the rest of the data behind them.
    unsafe {
        go_whole(s, group, degree, (0, end), pass);
        if end < len {
            go_rest(s, group, degree, (end, len), pass);
        }
    }
}

/// Goes over the whole steps from `start` to `stop` with one group.
///
/// # Safety
/// As for `go_group`; both are multiples of the rate.
#[inline(always)]
unsafe fn go_whole<M: Machine>(
    state: &mut M,
    group: usize,
    degree: usize,
    (start, stop): (usize, usize),
    pass: &impl Pass<M>,
) {
    let row = 16 * degree;
    let mut s = *state; // a copy that the optimiser can keep in registers
    let mut at = start;
    let rate = rate::<M>(degree).get();
    if pass.two_at_once() {
        while stop - at >= 2 * rate {
            // SAFETY: two whole steps begin at `at`, and the group's columns lie within them.
            unsafe { pass.two(&mut s, at + column::<M>(group), row, rate) };
            at += 2 * rate;
        }
    }
    while at < stop {
        // SAFETY: a whole step begins at `at`, and the group's columns lie within it.
        unsafe { pass.whole(&mut s, at + column::<M>(group), row) };
        at += rate;
    }
    *state = s;
}

/// `go_whole` for one group among others, whose state comes from memory. A function of its own as WebAssembly: V8 allocates
/// registers so badly where there are several loops that it takes twice as long.
///
/// # Safety
/// As for `go_whole`.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
unsafe fn go_chunk<M: Machine>(
    state: &mut M,
    group: usize,
    degree: usize,
    range: (usize, usize),
    pass: &impl Pass<M>,
) {
    // SAFETY: passed on.
    unsafe { go_whole(state, group, degree, range, pass) }
}

/// Goes over the last step, from `end` to `len`, with one group.
///
/// # Safety
/// As for `go_group`; `end` is a multiple of the rate, and less than a rate before `len`.
#[inline(always)]
unsafe fn go_rest<M: Machine>(
    s: &mut M,
    group: usize,
    degree: usize,
    (end, len): (usize, usize),
    pass: &impl Pass<M>,
) {
    let at = end + column::<M>(group);
    // SAFETY: `len - at` bytes are left; none if the group's columns lie behind the end.
    unsafe { pass.part(s, at, 16 * degree, len.saturating_sub(at)) };
}

/// Goes over `len` bytes with every group.
///
/// # Safety
/// The CPU features; the pass's data is `len` bytes long.
#[inline(always)]
unsafe fn go<M: Machine, const G: usize>(groups: &mut [M], degree: usize, len: usize, pass: impl Pass<M>) {
    // SAFETY: passed on; the chunks are multiples of the rate.
    unsafe {
        if G == 1
            && let [group] = groups
        {
            return go_group(group, 0, degree, len, &pass);
        }
        let rate = rate::<M>(degree);
        let end = len - len % rate;
        let chunk = (CHUNK / rate).max(1) * rate.get();
        let mut start = 0;
        while start < end {
            let stop = start + chunk.min(end - start);
            for (g, group) in groups.iter_mut().enumerate() {
                go_chunk(group, g, degree, (start, stop), &pass);
            }
            start = stop;
        }
        if end < len {
            for (g, group) in groups.iter_mut().enumerate() {
                go_rest(group, g, degree, (end, len), &pass);
            }
        }
    }
}

/// The context words of lanes 0 to 3 but for the degree (§5.4.2).
pub(super) static FIRST_CONTEXTS: [[u8; 16]; MAX_LANES] = {
    let mut contexts = [[0; 16]; MAX_LANES];
    let mut i = 0;
    while i < MAX_LANES {
        contexts[i][0] = i as u8;
        i += 1;
    }
    contexts
};

#[inline(always)]
unsafe fn init_group<M: Machine>(
    group: usize,
    degree: usize,
    key: *const u8,
    nonce: *const u8,
    ctx: *const u8,
) -> M {
    // SAFETY: the caller grants the features, the key, the nonce and `ctx`, if not null.
    unsafe {
        let ctx = if !ctx.is_null() {
            M::V::splat(ctx)
        } else if degree == 1 {
            M::V::zero()
        } else {
            // ctx[i] = i || D - 1 || 0..0. The first lane's number is a multiple of a power of two that is more than
            // any number added to it.
            let common = (M::V::LANES * group) as u64 | ((degree - 1) as u64) << 8;
            M::V::load(FIRST_CONTEXTS.as_ptr().cast()).xor(M::V::splat_words(common, 0))
        };
        M::init(M::load_key(key), M::load_key(nonce), ctx)
    }
}

/// The block LE64(8 * a) || LE64(8 * b) in every lane.
#[inline(always)]
unsafe fn lengths<V: Blocks>(a_bytes: u64, b_bytes: u64) -> V {
    // SAFETY: the caller grants the features.
    unsafe { V::splat_words(a_bytes << 3, b_bytes << 3) }
}

/// Writes the tag that is the XOR of the tags of all lanes.
#[inline(always)]
unsafe fn store_tag<V: Blocks>(sum: [V; 2], tag: *mut u8, tag_len: usize) {
    // SAFETY: the caller grants `tag_len` (16 or 32) bytes at `tag`.
    unsafe {
        sum[0].fold().store(tag);
        if tag_len != 16 {
            sum[1].fold().store(tag.add(16));
        }
    }
}

/// Whether that tag is the one at `tag`, decided in constant time.
#[inline(always)]
unsafe fn is_tag<V: Blocks>(sum: [V; 2], tag: *const u8, tag_len: usize) -> bool {
    // SAFETY: the caller grants `tag_len` (16 or 32) bytes at `tag`; vectors are proof of the features.
    unsafe {
        let mut difference = sum[0].fold().xor(Blocks::load(tag));
        if tag_len != 16 {
            // One question about both halves: of two the compiler makes two branches, and the first tells about half a tag.
            let second = sum[1].fold().xor(Blocks::load(tag.add(16)));
            difference = difference.xor(second).xor_and(difference, second); // `difference | second`
        }
        declassify(difference.is_zero())
    }
}

/// Finalize (§3.2.7, §4.2.7, §5.4.5, §5.5.5): the XOR of the tags of all lanes, in vectors yet to be folded.
#[inline(always)]
unsafe fn finalize_lanes<M: Machine>(
    groups: &mut [M],
    ad_len: u64,
    msg_len: u64,
    tag_len: usize,
) -> [M::V; 2] {
    // SAFETY: the caller grants the features.
    unsafe {
        let lengths = lengths::<M::V>(ad_len, msg_len);
        let mut sum = [M::V::zero(); 2];
        for s in groups {
            s.finalize(lengths);
            let [a, b] = s.tag(tag_len);
            sum = [sum[0].xor(a), sum[1].xor(b)];
        }
        sum
    }
}

#[inline(always)]
unsafe fn finalize_all<M: Machine>(
    groups: &mut [M],
    ad_len: u64,
    msg_len: u64,
    tag: *mut u8,
    tag_len: usize,
) {
    // SAFETY: the caller grants the features and `tag_len` (16 or 32) bytes at `tag`.
    unsafe { store_tag(finalize_lanes(groups, ad_len, msg_len, tag_len), tag, tag_len) }
}

/// The end of FinalizeMac (§8): the tags of all lanes are absorbed into lane 0, which makes the MAC.
struct Combine<L: Machine> {
    last: L,
    /// The first block of a step that is not complete.
    pending: Option<L::V>,
}

impl<L: Machine> Combine<L> {
    /// Absorbs the tags of one group's lanes.
    #[inline(always)]
    fn absorb<M: Machine<Lane = L>>(&mut self, group: usize, halves: [M::V; 2], tag_len: usize)
    where
        M::V: Blocks<Lane = L::V>,
    {
        let halves = [halves[0].lanes(), halves[1].lanes()];
        for lane in 0..M::V::LANES {
            if group * M::V::LANES + lane < M::first_mac_lane(tag_len) {
                continue;
            }
            for half in halves.iter().take(tag_len / 16) {
                let block = half[lane];
                if L::BLOCKS == 1 {
                    self.last.absorb(L::step([block, block]));
                } else if let Some(first) = self.pending.take() {
                    self.last.absorb(L::step([first, block]));
                } else {
                    self.pending = Some(block);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn finish(mut self, degree: usize, tag: *mut u8, tag_len: usize) {
        debug_assert!(self.pending.is_none()); // odd numbers of blocks are refused at compile time
        // SAFETY: the caller grants `tag_len` (16 or 32) bytes at `tag`; `self` is proof of the features.
        unsafe {
            if degree > 1 {
                self.last.finalize(L::V::splat_words(degree as u64, 8 * tag_len as u64));
            }
            store_tag(self.last.tag(tag_len), tag, tag_len);
        }
    }
}

#[inline(always)]
unsafe fn finalize_mac_all<M: Machine>(
    groups: &mut [M],
    degree: usize,
    data_len: u64,
    tag: *mut u8,
    tag_len: usize,
) {
    // SAFETY: the caller grants the features and `tag_len` (16 or 32) bytes at `tag`.
    unsafe {
        let sizes = lengths::<M::V>(data_len, tag_len as u64);
        for s in groups.iter_mut() {
            s.finalize(sizes);
        }
        let [first, ..] = groups else { return }; // there is always one
        let mut combine = Combine { last: first.first(), pending: None };
        if degree > 1 {
            for (g, s) in groups.iter().enumerate() {
                combine.absorb::<M>(g, s.tag(tag_len), tag_len);
            }
        }
        combine.finish(degree, tag, tag_len);
    }
}

// The bodies of the kernels. `G` is the number of groups, or 0 where it is only known at run time. Constants that follow from `G` reach the loops above by inlining.

/// The degree as a constant, where it is one.
#[inline(always)]
fn known<M: Machine, const G: usize>(degree: usize) -> usize {
    debug_assert!(if G == 0 { degree.is_multiple_of(M::V::LANES) } else { degree == G * M::V::LANES });
    if G == 0 { degree } else { G * M::V::LANES }
}

#[inline(always)]
unsafe fn groups<'a, M: Machine>(state: *mut u8, degree: usize) -> &'a mut [M] {
    // SAFETY: the caller grants exclusive, aligned memory for `degree` lanes, written by this table's `init`.
    unsafe { core::slice::from_raw_parts_mut(state.cast(), degree / M::V::LANES) }
}

#[inline(always)]
pub(super) unsafe fn init<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    key: *const u8,
    nonce: *const u8,
    ctx: *const u8,
) {
    let degree = known::<M, G>(degree);
    for g in 0..degree / M::V::LANES {
        // SAFETY: see `Kernels`.
        unsafe { state.cast::<M>().add(g).write(init_group(g, degree, key, nonce, ctx)) };
    }
}

#[inline(always)]
pub(super) unsafe fn absorb<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    src: *const u8,
    len: usize,
) {
    let degree = known::<M, G>(degree);
    // SAFETY: see `Kernels`.
    unsafe { go::<M, G>(groups::<M>(state, degree), degree, len, Absorb(src)) }
}

#[inline(always)]
pub(super) unsafe fn encrypt<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    src: *const u8,
    dst: *mut u8,
    len: usize,
) {
    let degree = known::<M, G>(degree);
    // SAFETY: see `Kernels`.
    unsafe { go::<M, G>(groups::<M>(state, degree), degree, len, Encrypt(src, dst)) }
}

#[inline(always)]
pub(super) unsafe fn decrypt<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    src: *const u8,
    dst: *mut u8,
    len: usize,
) {
    let degree = known::<M, G>(degree);
    // SAFETY: see `Kernels`.
    unsafe { go::<M, G>(groups::<M>(state, degree), degree, len, Decrypt(src, dst)) }
}

#[inline(always)]
pub(super) unsafe fn keystream<M: Machine, const G: usize>(state: *const u8, degree: usize, dst: *mut u8) {
    let degree = known::<M, G>(degree);
    for g in 0..degree / M::V::LANES {
        // SAFETY: see `Kernels`.
        unsafe {
            let s = state.cast::<M>().add(g).read();
            M::store(s.keystream(), dst.add(column::<M>(g)), 16 * degree);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn finalize<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    ad_len: u64,
    msg_len: u64,
    tag: *mut u8,
    tag_len: usize,
) {
    let degree = known::<M, G>(degree);
    // SAFETY: see `Kernels`.
    unsafe { finalize_all::<M>(groups::<M>(state, degree), ad_len, msg_len, tag, tag_len) }
}

#[inline(always)]
pub(super) unsafe fn finalize_mac<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    data_len: u64,
    tag: *mut u8,
    tag_len: usize,
) {
    let degree = known::<M, G>(degree);
    // SAFETY: see `Kernels`.
    unsafe { finalize_mac_all::<M>(groups::<M>(state, degree), degree, data_len, tag, tag_len) }
}

#[inline(always)]
pub(super) unsafe fn words<M: Machine, const G: usize>(state: *const u8, degree: usize, dst: *mut u8) {
    let degree = known::<M, G>(degree);
    for g in 0..degree / M::V::LANES {
        // SAFETY: see `Kernels`.
        unsafe {
            let s = state.cast::<M>().add(g).read();
            s.store_words(dst.add(column::<M>(g)), 16 * degree);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn resume<M: Machine, const G: usize>(state: *mut u8, degree: usize, src: *const u8) {
    let degree = known::<M, G>(degree);
    for g in 0..degree / M::V::LANES {
        // SAFETY: see `Kernels`.
        unsafe {
            let s = M::load_words(src.add(column::<M>(g)), 16 * degree);
            state.cast::<M>().add(g).write(s);
        }
    }
}

/// What a one-shot call does.
const SEAL: u8 = 0;
const OPEN: u8 = 1;
const MAC: u8 = 2;

/// Goes over associated data and message with one group, whose state stays in registers, and finalizes.
#[inline(always)]
unsafe fn one_group<M: Machine, const WHAT: u8>(group: usize, degree: usize, m: &Message) -> M {
    // SAFETY: see `Kernels`.
    unsafe {
        let mut s = init_group::<M>(group, degree, m.key, m.nonce, core::ptr::null());
        go_group(&mut s, group, degree, m.ad_len, &Absorb(m.ad));
        match WHAT {
            SEAL => go_group(&mut s, group, degree, m.len, &Encrypt(m.src, m.dst)),
            OPEN => go_group(&mut s, group, degree, m.len, &Decrypt(m.src, m.dst)),
            _ => {}
        }
        let last = if WHAT == MAC { m.tag_len } else { m.len };
        s.finalize(lengths::<M::V>(m.ad_len as u64, last as u64));
        s
    }
}

/// A whole message. For `OPEN`, whether the tag is right; true otherwise.
#[inline(always)]
unsafe fn one_shot<M: Machine, const G: usize, const WHAT: u8>(m: &Message) -> bool {
    let degree = G * M::V::LANES;
    // SAFETY: see `Kernels`.
    unsafe {
        if G == 1 || (m.ad_len <= 2 * CHUNK && m.len <= 2 * CHUNK) {
            // One group after the other, the first last, because the MAC goes on with it.
            let mut tags = [[M::V::zero(); 2]; G];
            let mut g = G;
            let s = loop {
                g -= 1;
                let s = one_group::<M, WHAT>(g, degree, m);
                tags[g] = s.tag(m.tag_len);
                if g == 0 {
                    break s;
                }
            };
            if WHAT == MAC {
                let mut combine = Combine { last: s.first(), pending: None };
                if degree > 1 {
                    for (g, tag) in tags.into_iter().enumerate() {
                        combine.absorb::<M>(g, tag, m.tag_len);
                    }
                }
                combine.finish(degree, m.tag, m.tag_len);
            } else {
                let mut sum = tags[0];
                for tag in &tags[1..] {
                    sum = [sum[0].xor(tag[0]), sum[1].xor(tag[1])];
                }
                return deliver::<M::V, WHAT>(sum, m);
            }
            return true;
        }
        let mut local = [const { MaybeUninit::<M>::uninit() }; G];
        let first = local.as_mut_ptr().cast::<M>();
        for g in 0..G {
            first.add(g).write(init_group(g, degree, m.key, m.nonce, core::ptr::null()));
        }
        let groups = core::slice::from_raw_parts_mut(first, G);
        go::<M, G>(groups, degree, m.ad_len, Absorb(m.ad));
        match WHAT {
            SEAL => go::<M, G>(groups, degree, m.len, Encrypt(m.src, m.dst)),
            OPEN => go::<M, G>(groups, degree, m.len, Decrypt(m.src, m.dst)),
            _ => {}
        }
        let mut right = true;
        if WHAT == MAC {
            finalize_mac_all(groups, degree, m.ad_len as u64, m.tag, m.tag_len);
        } else {
            let sum = finalize_lanes(groups, m.ad_len as u64, m.len as u64, m.tag_len);
            right = deliver::<M::V, WHAT>(sum, m);
        }
        // More than registers hold: the state was in memory.
        wipe(core::slice::from_raw_parts_mut(first.cast(), G * size_of::<M>()));
        right
    }
}

/// Writes a tag, or compares it.
#[inline(always)]
unsafe fn deliver<V: Blocks, const WHAT: u8>(sum: [V; 2], m: &Message) -> bool {
    // SAFETY: see `Kernels`.
    unsafe {
        if WHAT == OPEN {
            is_tag(sum, m.tag, m.tag_len)
        } else {
            store_tag(sum, m.tag, m.tag_len);
            true
        }
    }
}

/// Zeroes what was decrypted and is a forgery.
///
/// # Safety
/// `len` bytes writable.
#[cold]
#[inline(never)]
pub(super) unsafe fn wipe_forgery(dst: *mut u8, len: usize) -> i32 {
    if len > 0 {
        // SAFETY: the caller grants it.
        wipe(unsafe { core::slice::from_raw_parts_mut(dst, len) });
    }
    forget_registers();
    WRONG
}

/// Zeroes what is left of the tag in registers that nobody has to save. The error that is returned has bytes that mean nothing, and the
/// compiler writes there whatever is in a register.
#[inline(always)]
fn forget_registers() {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
    // SAFETY: they are said to be written.
    unsafe {
        core::arch::asm!(
            "xorps xmm0, xmm0", "xorps xmm1, xmm1", "xorps xmm2, xmm2", "xorps xmm3, xmm3", "xorps xmm4, xmm4",
            "xorps xmm5, xmm5", "xorps xmm6, xmm6", "xorps xmm7, xmm7", "xorps xmm8, xmm8", "xorps xmm9, xmm9",
            "xorps xmm10, xmm10", "xorps xmm11, xmm11", "xorps xmm12, xmm12", "xorps xmm13, xmm13",
            "xorps xmm14, xmm14", "xorps xmm15, xmm15",
            "xor ecx, ecx", "xor edx, edx", "xor esi, esi", "xor edi, edi", "xor r8d, r8d", "xor r9d, r9d", "xor r10d, r10d",
            "xor r11d, r11d",
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _,
            out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
            out("xmm13") _, out("xmm14") _, out("xmm15") _, out("rcx") _, out("rdx") _, out("rsi") _, out("rdi") _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, options(nomem, nostack),
        );
    }
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", not(miri)))]
    // SAFETY: they are said to be written.
    unsafe {
        core::arch::asm!(
            "movi v0.2d, #0", "movi v1.2d, #0", "movi v2.2d, #0", "movi v3.2d, #0", "movi v4.2d, #0", "movi v5.2d, #0",
            "movi v6.2d, #0", "movi v7.2d, #0", "movi v16.2d, #0", "movi v17.2d, #0", "movi v18.2d, #0", "movi v19.2d, #0",
            "movi v20.2d, #0", "movi v21.2d, #0", "movi v22.2d, #0", "movi v23.2d, #0", "movi v24.2d, #0", "movi v25.2d, #0",
            "movi v26.2d, #0", "movi v27.2d, #0", "movi v28.2d, #0", "movi v29.2d, #0", "movi v30.2d, #0", "movi v31.2d, #0",
            "mov x0, xzr", "mov x1, xzr", "mov x2, xzr", "mov x3, xzr", "mov x4, xzr", "mov x5, xzr", "mov x6, xzr",
            "mov x7, xzr", "mov x8, xzr", "mov x9, xzr", "mov x10, xzr", "mov x11, xzr", "mov x12, xzr", "mov x13, xzr",
            "mov x14, xzr", "mov x15, xzr", "mov x16, xzr", "mov x17, xzr",
            out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _, out("v6") _, out("v7") _,
            out("v16") _, out("v17") _, out("v18") _, out("v19") _, out("v20") _, out("v21") _, out("v22") _, out("v23") _,
            out("v24") _, out("v25") _, out("v26") _, out("v27") _, out("v28") _, out("v29") _, out("v30") _, out("v31") _,
            out("x0") _, out("x1") _, out("x2") _, out("x3") _, out("x4") _, out("x5") _, out("x6") _, out("x7") _,
            out("x8") _, out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
            out("x16") _, out("x17") _, options(nomem, nostack),
        );
    }
}

/// Whether the loops need the general registers for themselves. Then a function of its own takes the arguments from memory: the
/// compiler would rather move the loops' own variables there. (Where there are several groups it is enough, and faster, that the
/// message is: see `in_memory`.)
pub(super) const fn crowded<M: Machine, const G: usize>() -> bool {
    G == 1 && M::V::LANES > 2
}

/// Keeps the message out of registers where there are several groups.
#[inline(always)]
fn in_memory<const G: usize>(m: &Message) -> &Message {
    if G > 1 { core::hint::black_box(m) } else { m }
}

#[inline(always)]
pub(super) unsafe fn seal<M: Machine, const G: usize>(m: &Message) -> i32 {
    // SAFETY: see `Message`.
    unsafe { one_shot::<M, G, SEAL>(in_memory::<G>(m)) };
    0
}

#[inline(always)]
pub(super) unsafe fn open<M: Machine, const G: usize>(m: &Message) -> i32 {
    // SAFETY: see `Message`.
    unsafe { if one_shot::<M, G, OPEN>(in_memory::<G>(m)) { 0 } else { wipe_forgery(m.dst, m.len) } }
}

#[inline(always)]
pub(super) unsafe fn mac<M: Machine, const G: usize>(m: &Message) {
    // SAFETY: see `Message`.
    unsafe { one_shot::<M, G, MAC>(m) };
}

/// All kernels of one backend: for AEGIS-128 and AEGIS-256, each for degree 1, 2, 4 and any other.
pub(crate) type Tables = [[Kernels; 4]; 2];

/// Defines `TABLES`, the kernels of one backend, compiled for its CPU features. For each of degree 1, 2, 4 and any it
/// names the machine and the number of groups (0: known at run time), and the machines to work on several messages
/// with, if it is faster so; of both, how deep they leave secrets on the stack.
macro_rules! tables {
    (
        $(#[target_feature(enable = $features:literal)])?
        aegis128: [$($machine128:ty, $groups128:literal $(, leaves $leaves128:literal)? $(, batch [$($batch128:ty),*] $(leaves $batch_leaves128:literal)?)?;)*]
        aegis256: [$($machine256:ty, $groups256:literal $(, leaves $leaves256:literal)? $(, batch [$($batch256:ty),*] $(leaves $batch_leaves256:literal)?)?;)*]
    ) => {
        /// The kernels of this backend.
        pub(crate) const TABLES: $crate::low::kernels::Tables = {
            #[allow(unused_imports)] // where there are no batch kernels
            use $crate::low::{batch, machine::lanes};
            [
                [$(entry::table::<$machine128, $groups128>($crate::low::kernels::leaves!($($leaves128)?), batch::list([
                    $($(entry::batch::<$batch128, { $groups128 * lanes::<$machine128>() }>(),)*)?
                ]), $crate::low::kernels::leaves!($($($batch_leaves128)?)?)),)*],
                [$(entry::table::<$machine256, $groups256>($crate::low::kernels::leaves!($($leaves256)?), batch::list([
                    $($(entry::batch::<$batch256, { $groups256 * lanes::<$machine256>() }>(),)*)?
                ]), $crate::low::kernels::leaves!($($($batch_leaves256)?)?)),)*],
            ]
        };

        /// The functions that carry the CPU features; the bodies are inlined into them.
        mod entry {
            use $crate::low::batch::{self, Batch};
            use $crate::low::kernels::{self, Kernels, Message, OneShot};
            #[allow(unused_imports)] // where there are no batch kernels
            use $crate::low::machine::{Batched, Machine};

            pub(super) const fn table<M: Machine, const G: usize>(leaves: kernels::Leaves, batch: [Batch; batch::KERNELS], batch_leaves: kernels::Leaves) -> Kernels {
                Kernels {
                    init: init::<M, G>,
                    absorb: absorb::<M, G>,
                    encrypt: encrypt::<M, G>,
                    decrypt: decrypt::<M, G>,
                    keystream: keystream::<M, G>,
                    finalize: finalize::<M, G>,
                    finalize_mac: finalize_mac::<M, G>,
                    words: words::<M, G>,
                    resume: resume::<M, G>,
                    one_shot: match G {
                        0 => None,
                        _ => Some(OneShot { seal: seal::<M, G>, open: open::<M, G>, mac: mac::<M, G> }),
                    },
                    leaves,
                    batch,
                    batch_leaves,
                }
            }

            #[allow(dead_code)] // where there are no batch kernels
            pub(super) const fn batch<M: Batched, const D: usize>() -> Batch {
                Batch::new::<M, D>(seal_batch::<M, D>, open_batch::<M, D>)
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn seal_batch<M: Batched, const D: usize>(messages: &batch::Messages) {
                // SAFETY: the contract is that of `Batch`.
                unsafe { batch::seal::<M, D>(messages) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn open_batch<M: Batched, const D: usize>(messages: &batch::Messages) {
                // SAFETY: the contract is that of `Batch`.
                unsafe { batch::open::<M, D>(messages) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn init<M: Machine, const G: usize>(state: *mut u8, degree: usize, key: *const u8, nonce: *const u8, ctx: *const u8) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::init::<M, G>(state, degree, key, nonce, ctx) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn absorb<M: Machine, const G: usize>(state: *mut u8, degree: usize, src: *const u8, len: usize) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::absorb::<M, G>(state, degree, src, len) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn encrypt<M: Machine, const G: usize>(state: *mut u8, degree: usize, src: *const u8, dst: *mut u8, len: usize) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::encrypt::<M, G>(state, degree, src, dst, len) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn decrypt<M: Machine, const G: usize>(state: *mut u8, degree: usize, src: *const u8, dst: *mut u8, len: usize) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::decrypt::<M, G>(state, degree, src, dst, len) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn keystream<M: Machine, const G: usize>(state: *const u8, degree: usize, dst: *mut u8) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::keystream::<M, G>(state, degree, dst) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn finalize<M: Machine, const G: usize>(state: *mut u8, degree: usize, ad_len: u64, msg_len: u64, tag: *mut u8, tag_len: usize) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::finalize::<M, G>(state, degree, ad_len, msg_len, tag, tag_len) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn finalize_mac<M: Machine, const G: usize>(state: *mut u8, degree: usize, data_len: u64, tag: *mut u8, tag_len: usize) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::finalize_mac::<M, G>(state, degree, data_len, tag, tag_len) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn words<M: Machine, const G: usize>(state: *const u8, degree: usize, dst: *mut u8) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::words::<M, G>(state, degree, dst) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn resume<M: Machine, const G: usize>(state: *mut u8, degree: usize, src: *const u8) {
                // SAFETY: the contract is that of `Kernels`.
                unsafe { kernels::resume::<M, G>(state, degree, src) }
            }

            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)] // see `Seal`
            unsafe extern "C" fn seal<M: Machine, const G: usize>(dst: *mut u8, tag: *mut u8, tag_len: usize, src: *const u8, len: usize, ad: *const u8, ad_len: usize, nonce: *const u8, key: *const u8) -> i32 {
                // SAFETY: the contract is that of `OneShot`.
                unsafe {
                    let message = Message { key, nonce, ad, ad_len, src, dst, len, tag, tag_len };
                    if kernels::crowded::<M, G>() { message::seal::<M, G>(&message) } else { kernels::seal::<M, G>(&message) }
                }
            }

            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)] // see `Open`
            unsafe extern "C" fn open<M: Machine, const G: usize>(dst: *mut u8, src: *const u8, len: usize, tag: *const u8, tag_len: usize, ad: *const u8, ad_len: usize, nonce: *const u8, key: *const u8) -> i32 {
                let tag = tag.cast_mut();
                // SAFETY: the contract is that of `OneShot`; the tag is only read.
                unsafe {
                    let message = Message { key, nonce, ad, ad_len, src, dst, len, tag, tag_len };
                    if kernels::crowded::<M, G>() { message::open::<M, G>(&message) } else { kernels::open::<M, G>(&message) }
                }
            }

            /// Functions whose arguments are in memory.
            mod message {
                use $crate::low::kernels::{self, Message};
                use $crate::low::machine::Machine;

                $(#[target_feature(enable = $features)])?
                #[inline(never)]
                pub(super) unsafe fn seal<M: Machine, const G: usize>(message: &Message) -> i32 {
                    // SAFETY: the contract is that of `OneShot`.
                    unsafe { kernels::seal::<M, G>(message) }
                }

                $(#[target_feature(enable = $features)])?
                #[inline(never)]
                pub(super) unsafe fn open<M: Machine, const G: usize>(message: &Message) -> i32 {
                    // SAFETY: the contract is that of `OneShot`.
                    unsafe { kernels::open::<M, G>(message) }
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn mac<M: Machine, const G: usize>(tag: *mut u8, tag_len: usize, ad: *const u8, ad_len: usize, nonce: *const u8, key: *const u8) {
                let (src, dst, len) = (core::ptr::null(), core::ptr::null_mut(), 0);
                // SAFETY: the contract is that of `OneShot`.
                unsafe { kernels::mac::<M, G>(&Message { key, nonce, ad, ad_len, src, dst, len, tag, tag_len }) }
            }
        }
    };
}
pub(super) use tables;
