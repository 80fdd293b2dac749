//! A state that is kept in memory between calls, for messages in pieces.

use core::ptr;

use super::kernels::{Data, Kernels};
use super::variant::{Parameters, Variant, check_mac, check_memory, check_tag};
use crate::machine::Work;
use crate::memory::{Direction, InOut, WipedBytes};

/// Absorbs, encrypts or decrypts data, if there is any. Leaves wiping the stack to the caller.
///
/// # Safety
/// The state is memory for the variant's degree, written by its kernels. The data is valid as
/// [`Data`] says.
#[inline(always)] // so that the compiler knows the kernels
pub(super) unsafe fn advance<V: Variant>(variant: V, state: *mut u8, work: Work, data: Data) {
    if data.len == 0 {
        return; // a call would load and store the state
    }
    // SAFETY: the kernels come from a variant, so the CPU has their features. The caller promises
    // the rest.
    unsafe { (variant.kernels().state.advance)(state, V::DEGREE, work, &data) }
}

/// A state that is kept in memory, with the kernels that wrote it.
///
/// The memory belongs to the caller and is zero until [`init`](Self::init). All bytes are a valid
/// state, though perhaps a meaningless one. Only the backend that wrote a state can read it.
pub(crate) struct State<'a, V: Variant> {
    memory: &'a mut V::Memory,
    variant: V,
}

impl<'a, V: Variant> State<'a, V> {
    /// Uses the state in this memory.
    #[inline(always)]
    pub(crate) fn new(memory: &'a mut V::Memory, variant: V) -> Self {
        const { check_memory::<V>() };
        Self { memory, variant }
    }

    #[inline(always)]
    fn kernels(&self) -> &'static Kernels {
        self.variant.kernels()
    }

    #[inline(always)]
    fn ptr(&mut self) -> *mut u8 {
        self.memory.as_mut().as_mut_ptr()
    }

    /// Init(key, nonce), with the given context word or the standard's.
    #[inline(always)]
    pub(crate) fn init(&mut self, key: &[u8], nonce: &[u8], ctx: Option<&[u8; 16]>) {
        let key_len = <V::Family as Parameters>::KEY_BYTES;
        assert!(key.len() == key_len && nonce.len() == key_len);
        let ctx = ctx.map_or(ptr::null(), |ctx| ctx.as_ptr());
        let (key, nonce) = (key.as_ptr(), nonce.as_ptr());
        // SAFETY: the kernels come from a variant, so the CPU has their features, and the memory is
        // that of the variant's degree. The lengths were checked; `ctx` is null or points to 16
        // bytes.
        unsafe { (self.kernels().state.init)(self.ptr(), V::DEGREE, key, nonce, ctx) };
        self.kernels().scrub();
    }

    /// Absorbs data; the last step is padded with zeros.
    #[inline(always)]
    pub(crate) fn absorb(&mut self, data: &[u8]) {
        if data.is_empty() {
            return; // nothing to wipe, which sessions with short pieces rely on
        }
        let data = Data { src: data.as_ptr(), dst: ptr::null_mut(), len: data.len() };
        // SAFETY: the memory is that of the variant's degree, and a slice is readable.
        unsafe { advance(self.variant, self.ptr(), Work::Absorb, data) };
        self.kernels().scrub();
    }

    /// Encrypts or decrypts; the last step is padded with zeros.
    #[inline(always)]
    pub(crate) fn crypt(&mut self, io: &InOut<'_>, direction: Direction) {
        if io.len() == 0 {
            return; // nothing to wipe, which sessions with short pieces rely on
        }
        let data = Data { src: io.src(), dst: io.dst(), len: io.len() };
        // SAFETY: the memory is that of the variant's degree, and an `InOut` is readable and
        // writable for its length.
        unsafe { advance(self.variant, self.ptr(), Work::Crypt(direction), data) };
        self.kernels().scrub();
    }

    /// Writes the key stream of the next step, without changing the state.
    #[inline(always)]
    pub(crate) fn keystream(&self, out: &mut V::Step) {
        // SAFETY: the kernels come from a variant, so the CPU has their features. The memory and
        // the buffer are those of the variant's degree.
        unsafe {
            (self.kernels().state.keystream)(
                self.memory.as_ref().as_ptr(),
                V::DEGREE,
                out.as_mut().as_mut_ptr(),
            );
        }
        self.kernels().scrub();
    }

    /// Finalize(ad_len, msg_len), with lengths in bytes. Afterwards the state has its last words,
    /// of which `historic` makes tags.
    #[inline(always)]
    pub(crate) fn finalize<const T: usize>(
        &mut self,
        ad_len: u64,
        msg_len: u64,
        tag: &mut [u8; T],
    ) {
        const { check_tag(T) };
        let (finalize, tag) = (self.kernels().state.finalize, tag.as_mut_ptr());
        // SAFETY: the kernels come from a variant, so the CPU has their features, and the memory is
        // that of the variant's degree. The tag is writable and 16 or 32 bytes long.
        unsafe { finalize(self.ptr(), V::DEGREE, ad_len, msg_len, tag, T) };
        self.kernels().scrub();
    }

    /// FinalizeMac(data_len), with the length in bytes. The state is zeroed.
    #[inline(always)]
    pub(crate) fn finalize_mac<const T: usize>(&mut self, data_len: u64, tag: &mut [u8; T]) {
        const { check_mac(<V::Family as Parameters>::INDEX, V::DEGREE, T) };
        let (finalize_mac, tag) = (self.kernels().state.finalize_mac, tag.as_mut_ptr());
        // SAFETY: the kernels come from a variant, so the CPU has their features, and the memory is
        // that of the variant's degree. The tag is writable and 16 or 32 bytes long, and this MAC
        // exists.
        unsafe { finalize_mac(self.ptr(), V::DEGREE, data_len, tag, T) };
        self.kernels().scrub();
    }

    /// Returns the words of the state, word by word and lane by lane, at the start of the memory:
    /// the only form of a state that all backends share. `Session::to_bytes` needs it, because
    /// libaegis's structure for AEGIS-256X4 is too small for bit planes, and so do the tags of
    /// `historic`.
    pub(crate) fn words(&self) -> V::Memory {
        let mut words = V::Memory::zeroed();
        // SAFETY: the kernels come from a variant, so the CPU has their features. The memory of a
        // state has room for its words.
        unsafe {
            (self.kernels().state.words)(
                self.memory.as_ref().as_ptr(),
                V::DEGREE,
                words.as_mut().as_mut_ptr(),
            );
        }
        self.kernels().scrub();
        words
    }

    /// Restores a state from the output of [`words`](Self::words), of this or another backend.
    pub(crate) fn resume(&mut self, words: &V::Memory) {
        // SAFETY: the kernels come from a variant, so the CPU has their features. The memory and
        // the words are those of the variant's degree.
        unsafe { (self.kernels().state.resume)(self.ptr(), V::DEGREE, words.as_ref().as_ptr()) };
        self.kernels().scrub();
    }
}
