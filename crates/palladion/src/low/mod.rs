//! Everything unsafe. Above this module there is none: what it offers ([`State`], [`seal`], [`open`], [`mac`]) checks
//! what the kernels rely on.
//!
//! | file | what it is |
//! |---|---|
//! | `blocks.rs` | the trait of a block vector |
//! | `bitsliced.rs` | the state machines without AES instructions, bitsliced |
//! | `bitsliced_lanes.rs`, `sse2.rs` | the same for four lanes, in vectors |
//! | `sliced.rs` | what the two have in common |
//! | `portable.rs`, `x86.rs`, `aarch64.rs`, `wasm.rs` | a block vector for each instruction set |
//! | `sbox.rs` | circuits of the S-box, for block vectors without AES instructions |
//! | `machine.rs`, `aegis128.rs`, `aegis256.rs` | the two state machines, generic over the block vector |
//! | `vector_permute.rs` | AES rounds by byte shuffles, on any block vector that has those |
//! | `packed.rs`, `packed128.rs`, `packed256.rs` | AEGIS-128L and AEGIS-256 again, two words to a register |
//! | `kernels.rs` | the loops around them, and the table of kernels |
//! | `dispatch.rs`, `no_choice.rs` | which table is used |
//! | `batch.rs` | kernels for several messages at once |
//! | `raw.rs` | a message in one call, over pointers |
//! | `inout.rs`, `memory.rs` | buffers |
//! | `secrecy.rs` | where a decision about secrets becomes public |

// Of x86-64 without SSE2, as kernels are compiled, the compiler takes no function with vectors.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod aarch64;
#[allow(dead_code)] // where there is the bitsliced backend alone
mod aegis128;
#[allow(dead_code)] // where there is the bitsliced backend alone
mod aegis256;
pub(crate) mod batch;
mod bitsliced;
#[cfg(any(
    all(test, feature = "std"),
    all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"),
    all(target_family = "wasm", target_feature = "simd128")
))]
#[allow(dead_code)] // where a build option asks for words
mod bitsliced_lanes;
#[allow(dead_code)] // likewise
mod blocks;
// Where there is a choice at run time, between several backends or because the environment may ask for one, and elsewhere.
#[cfg_attr(
    any(
        all(palladion_one_backend, target_family = "wasm"),
        not(any(
            feature = "std",
            target_arch = "x86",
            all(target_arch = "x86_64", target_feature = "sse2"),
            all(target_arch = "aarch64", target_endian = "little"),
            all(target_family = "wasm", target_feature = "simd128")
        ))
    ),
    path = "no_choice.rs"
)]
pub(crate) mod dispatch;
mod inout;
mod kernels;
mod machine;
pub(crate) mod memory;
#[cfg(any(
    all(test, feature = "std", not(palladion_test_reduced)),
    target_arch = "x86",
    all(target_arch = "x86_64", target_feature = "sse2")
))]
mod packed;
#[cfg(any(
    all(test, feature = "std", not(palladion_test_reduced)),
    target_arch = "x86",
    all(target_arch = "x86_64", target_feature = "sse2")
))]
mod packed128;
#[cfg(any(
    all(test, feature = "std", not(palladion_test_reduced)),
    target_arch = "x86",
    all(target_arch = "x86_64", target_feature = "sse2")
))]
mod packed256;
#[cfg_attr(palladion_one_backend, allow(dead_code))]
mod portable;
#[cfg(all(test, feature = "std"))]
mod proof;
pub mod raw;
mod sbox;
pub mod secrecy;
mod sliced;
#[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"))]
#[allow(dead_code)] // where a build option asks for words
mod sse2;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(any(
    all(test, feature = "std"),
    target_arch = "x86",
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_endian = "little"),
    all(target_family = "wasm", target_feature = "simd128")
))]
#[cfg_attr(all(test, palladion_test_reduced), allow(dead_code))] // what runs on other CPUs
mod vector_permute;
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
mod wasm;
#[cfg(any(target_arch = "x86", all(target_arch = "x86_64", target_feature = "sse2")))]
mod x86;

pub(crate) use dispatch::Variant;
pub(crate) use inout::{Direction, InOut};
use kernels::{Kernels, Message};
use memory::WipedBytes;

use crate::backend::BackendError;
use crate::family::Family;
use crate::{Algorithm, Error};

/// Which of a table's classes of degrees this one belongs to.
const fn class(degree: usize) -> usize {
    match degree {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => 3,
    }
}

/// Asserts what is true of the only two families there are.
#[inline(always)]
fn key_and_nonce<F: Family>(key: &F::Key, nonce: &F::Nonce) -> (*const u8, *const u8) {
    let (key, nonce) = (key.as_ref(), nonce.as_ref());
    assert!(key.len() == F::KEY_LEN && nonce.len() == F::KEY_LEN);
    (key.as_ptr(), nonce.as_ptr())
}

/// At compile time: that there is such a degree.
pub(crate) const fn check_degree(degree: usize) {
    assert!(degree >= 1 && degree <= 256, "the degree must be from 1 to 256");
}

/// At compile time: that there is such a variant, and that its state fits into its memory.
const fn check_memory<F: Family, const D: usize>() {
    check_degree(D);
    assert!(F::Memory::<D>::LEN == 16 * 8 * D && align_of::<F::Memory<D>>() >= 64);
}

/// At compile time: that there are such tags.
pub(crate) const fn check_tag(tag_len: usize) {
    assert!(tag_len == 16 || tag_len == 32, "a tag has 16 or 32 bytes");
}

/// At compile time: that this MAC is one to be had.
pub(crate) const fn check_mac(family: usize, degree: usize, tag_len: usize) {
    check_tag(tag_len);
    assert!(
        family == 1 || tag_len == 32 || degree == 1 || degree.is_multiple_of(2),
        "FinalizeMac of AEGIS-128X leaves out the last lane if the degree is odd and the tag has 16 bytes"
    );
}

/// The state of a cipher, with the kernels that understand it. (What goes with it is within: around it, it would take as much
/// room again, for the alignment. C programs have given room for states.)
pub(crate) struct State<F: Family, const D: usize, X = ()> {
    memory: F::Memory<D>,
    variant: Variant<F, D>,
    pub(crate) with: X,
}

impl<F: Family, const D: usize, X> State<F, D, X> {
    /// Init(key, nonce), perhaps with a context word of one's own.
    fn init(key: &F::Key, nonce: &F::Nonce, ctx: Option<&[u8; 16]>, with: X) -> Result<Self, BackendError> {
        let mut state = Self::zeroed(Variant::new()?, with);
        state.begin(key, nonce, ctx);
        Ok(state)
    }

    /// No state yet, but memory for one.
    #[inline(always)] // so that it is made where it stays
    pub(crate) fn zeroed(variant: Variant<F, D>, with: X) -> Self {
        const { check_memory::<F, D>() };
        Self { memory: F::Memory::zeroed(), variant, with }
    }

    /// Init(key, nonce), perhaps with a context word of one's own, of a state that lies where it is to stay: moving one takes as
    /// long as some steps of it.
    #[inline(always)]
    pub(crate) fn begin(&mut self, key: &F::Key, nonce: &F::Nonce, ctx: Option<&[u8; 16]>) {
        self.begin_with(key.as_ref(), nonce.as_ref(), ctx);
    }

    /// The same with bytes, which are as many as there must be.
    #[inline(always)]
    pub(crate) fn begin_with(&mut self, key: &[u8], nonce: &[u8], ctx: Option<&[u8; 16]>) {
        assert!(key.len() == F::KEY_LEN && nonce.len() == F::KEY_LEN);
        let (key, nonce) = (key.as_ptr(), nonce.as_ptr());
        let ctx = ctx.map_or(core::ptr::null(), |ctx| ctx.as_ptr());
        // SAFETY: the table came from `dispatch`, which has checked the CPU; the memory is that of degree `D`; key and
        // nonce have their length; `ctx` is null or 16 bytes.
        unsafe { (self.kernels().init)(self.ptr(), D, key, nonce, ctx) };
        self.kernels().wipe_stack();
    }

    #[inline(always)]
    fn kernels(&self) -> &'static Kernels {
        self.variant.kernels()
    }

    #[inline(always)]
    fn ptr(&mut self) -> *mut u8 {
        self.memory.as_mut().as_mut_ptr()
    }

    /// Absorbs data; the last step is padded with zeros.
    #[inline(always)]
    pub(crate) fn absorb(&mut self, data: &[u8]) {
        if data.is_empty() {
            return; // a call would load and store the state
        }
        // SAFETY: table and memory belong together; the slice is readable.
        unsafe { (self.kernels().absorb)(self.ptr(), D, data.as_ptr(), data.len()) };
        self.kernels().wipe_stack();
    }

    /// Absorbs something of what goes with it.
    #[inline(always)]
    pub(crate) fn absorb_own(&mut self, data: impl FnOnce(&X) -> &[u8]) {
        let data = data(&self.with);
        if data.is_empty() {
            return;
        }
        let memory = self.memory.as_mut().as_mut_ptr();
        // SAFETY: likewise.
        unsafe { (self.variant.kernels().absorb)(memory, D, data.as_ptr(), data.len()) };
        self.variant.kernels().wipe_stack();
    }

    /// Encrypts or decrypts; the last step is padded with zeros.
    #[inline(always)]
    pub(crate) fn crypt(&mut self, io: InOut<'_>, direction: Direction) {
        let kernel = match direction {
            Direction::Encrypt => self.kernels().encrypt,
            Direction::Decrypt => self.kernels().decrypt,
        };
        // SAFETY: table and memory belong together; `InOut` promises its buffers.
        unsafe { kernel(self.ptr(), D, io.src(), io.dst(), io.len()) };
        self.kernels().wipe_stack();
    }

    /// The words of the state, word by word and in each lane by lane, at the beginning of the memory.
    pub(crate) fn words(&self) -> F::Memory<D> {
        let mut words = F::Memory::zeroed();
        // SAFETY: table and memory belong together; the words have room in the memory of a state.
        unsafe { (self.kernels().words)(self.memory.as_ref().as_ptr(), D, words.as_mut().as_mut_ptr()) };
        self.kernels().wipe_stack();
        words
    }

    /// The state of these words, with the backend now in use.
    pub(crate) fn resume(words: &F::Memory<D>, with: X) -> Result<Self, BackendError> {
        let mut state = Self::zeroed(Variant::new()?, with);
        // SAFETY: the table came from `dispatch`, which has checked the CPU; the memory is that of degree `D`, and so are the
        // words.
        unsafe { (state.kernels().resume)(state.ptr(), D, words.as_ref().as_ptr()) };
        state.kernels().wipe_stack();
        Ok(state)
    }

    /// Becomes what another one is, but for what goes with it. In place: an assignment would leave a copy on the stack.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.memory.as_mut().copy_from_slice(other.memory.as_ref());
        self.variant = other.variant;
    }

    /// Wipes it: nothing that it computes from now on is of any use.
    pub(crate) fn wipe(&mut self) {
        memory::wipe(self.memory.as_mut());
    }

    /// The key stream of the next step.
    pub(crate) fn keystream(&self, out: &mut F::Rate<D>) {
        // SAFETY: table and memory belong together; the buffer is one rate of degree `D`.
        unsafe { (self.kernels().keystream)(self.memory.as_ref().as_ptr(), D, out.as_mut().as_mut_ptr()) };
        self.kernels().wipe_stack();
    }

    /// The same for something of what goes with it.
    pub(crate) fn keystream_own(&mut self, out: impl FnOnce(&mut X) -> &mut F::Rate<D>) {
        let out = out(&mut self.with).as_mut().as_mut_ptr();
        // SAFETY: likewise.
        unsafe { (self.variant.kernels().keystream)(self.memory.as_ref().as_ptr(), D, out) };
        self.variant.kernels().wipe_stack();
    }

    /// Finalize(ad_len, msg_len), lengths in bytes. The state is spent.
    pub(crate) fn finalize<const T: usize>(&mut self, ad_len: u64, msg_len: u64, tag: &mut [u8; T]) {
        const { check_tag(T) };
        // SAFETY: table and memory belong together; the tag has one of the two lengths.
        unsafe { (self.kernels().finalize)(self.ptr(), D, ad_len, msg_len, tag.as_mut_ptr(), T) };
        self.kernels().wipe_stack();
    }

    /// FinalizeMac(data_len), the length in bytes. The state is spent.
    pub(crate) fn finalize_mac<const T: usize>(&mut self, data_len: u64, tag: &mut [u8; T]) {
        const { check_mac(F::INDEX, D, T) };
        // SAFETY: table and memory belong together; the tag has one of the two lengths.
        unsafe { (self.kernels().finalize_mac)(self.ptr(), D, data_len, tag.as_mut_ptr(), T) };
        self.kernels().wipe_stack_of_mac(D);
    }
}

impl<F: Family, const D: usize, X: Clone> Clone for State<F, D, X> {
    fn clone(&self) -> Self {
        Self { memory: self.memory.clone(), variant: self.variant, with: self.with.clone() }
    }
}

impl<F: Family> State<F, 1> {
    /// Init with a context word of one's own: see [`crate::historic`].
    pub(crate) fn with_context(key: &F::Key, nonce: &F::Nonce, ctx: &[u8; 16]) -> Result<Self, BackendError> {
        Self::init(key, nonce, Some(ctx), ())
    }
}

/// What a one-shot call works on. `tag` points to `T` bytes, writable if the kernel writes them.
#[inline(always)]
fn message<F: Family, const T: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    ad: &[u8],
    io: &InOut<'_>,
    tag: *mut u8,
) -> Message {
    const { check_tag(T) };
    let (key, nonce) = key_and_nonce::<F>(key, nonce);
    Message {
        key,
        nonce,
        ad: ad.as_ptr(),
        ad_len: ad.len(),
        src: io.src(),
        dst: io.dst(),
        len: io.len(),
        tag,
        tag_len: T,
    }
}

/// Encrypts a message and makes its tag.
#[inline(always)]
pub(crate) fn seal<F: Family, const D: usize, const T: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    ad: &[u8],
    io: &InOut<'_>,
    tag: &mut [u8; T],
) -> Result<(), Error> {
    let message = message::<F, T>(key, nonce, ad, io, tag.as_mut_ptr());
    // SAFETY: key, nonce and tag have their length, slices and `InOut` promise theirs.
    unsafe { raw::seal::<F, D>(&message) }
}

/// Decrypts a message if its tag is right; else zeroes the output and fails.
#[inline(always)]
pub(crate) fn open<F: Family, const D: usize, const T: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    ad: &[u8],
    io: &InOut<'_>,
    tag: &[u8; T],
) -> Result<(), Error> {
    let message = message::<F, T>(key, nonce, ad, io, tag.as_ptr().cast_mut());
    // SAFETY: likewise; the tag is only read.
    unsafe { raw::open::<F, D>(&message) }
}

/// What a one-shot call of a cipher works on that is chosen at run time, if the lengths fit.
#[inline(always)]
fn message_any(
    algorithm: Algorithm,
    [key, nonce, ad]: [&[u8]; 3],
    io: &InOut<'_>,
    (tag, tag_len): (*mut u8, usize),
) -> Result<Message, Error> {
    algorithm.check_len("key", key.len())?;
    algorithm.check_len("nonce", nonce.len())?;
    Error::check_tag_length(tag_len)?;
    let (key, nonce, ad_len, ad) = (key.as_ptr(), nonce.as_ptr(), ad.len(), ad.as_ptr());
    Ok(Message { key, nonce, ad, ad_len, src: io.src(), dst: io.dst(), len: io.len(), tag, tag_len })
}

/// Encrypts a message and makes its tag, with a cipher that is chosen at run time. The slices are key, nonce and associated data.
#[inline(always)]
pub(crate) fn seal_any(
    algorithm: Algorithm,
    inputs: [&[u8]; 3],
    io: &InOut<'_>,
    tag: &mut [u8],
) -> Result<(), Error> {
    let message = message_any(algorithm, inputs, io, (tag.as_mut_ptr(), tag.len()))?;
    // SAFETY: key, nonce and tag have their length, slices and `InOut` promise theirs.
    unsafe { raw::seal_any(algorithm, &message) }
}

/// Decrypts a message if its tag is right; else zeroes the output and fails. Likewise.
#[inline(always)]
pub(crate) fn open_any(
    algorithm: Algorithm,
    inputs: [&[u8]; 3],
    io: &InOut<'_>,
    tag: &[u8],
) -> Result<(), Error> {
    let message = message_any(algorithm, inputs, io, (tag.as_ptr().cast_mut(), tag.len()))?;
    // SAFETY: likewise; the tag is only read.
    unsafe { raw::open_any(algorithm, &message) }
}

/// The MAC of some data.
#[inline(always)]
pub(crate) fn mac<F: Family, const D: usize, const T: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    data: &[u8],
    tag: &mut [u8; T],
) -> Result<(), Error> {
    const { check_mac(F::INDEX, D, T) };
    let message = message::<F, T>(key, nonce, data, &InOut::in_place(&mut []), tag.as_mut_ptr());
    // SAFETY: likewise; there is such a MAC.
    unsafe { raw::mac::<F, D>(&message) }
}
