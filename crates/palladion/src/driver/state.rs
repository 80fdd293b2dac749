//! A state that is kept in memory between calls, for messages in pieces.

use core::ptr;

use super::steps::{Data, Group, Work, process_groups, process_last_step};
use super::table::Kernels;
use super::tag::{self, MacEnd};
use super::variant::{Parameters, Variant, check_mac, check_memory, check_tag};
use crate::block::{Blocks, MAX_LANES, Vector};
use crate::machine::Machine;
use crate::memory::{Direction, InOut, WipedBytes};

// The bodies of the kernels. `G` is the number of groups, or 0 if it is known only at run time.
// Inlining turns whatever follows from `G` into constants in the loops. `StateKernels` states the
// contracts.

/// The context words of lanes 0 to 3, without the degree (§5.4.2).
pub(super) static FIRST_CONTEXTS: [[u8; 16]; MAX_LANES] = {
    let mut contexts = [[0; 16]; MAX_LANES];
    let mut i = 0;
    while i < MAX_LANES {
        contexts[i][0] = i as u8;
        i += 1;
    }
    contexts
};

/// Returns the state of one group after initialization. `ctx` is null for the standard's context.
///
/// # Safety
/// The CPU has the machine's features; key and nonce are readable; `ctx` is null or readable.
#[inline(always)]
pub(super) unsafe fn init_group<M: Machine>(
    group: Group,
    key: *const u8,
    nonce: *const u8,
    ctx: *const u8,
) -> M {
    // SAFETY: the caller promises the CPU features, a readable key and nonce, and a `ctx` that is
    // null or readable. `FIRST_CONTEXTS` is as wide as the widest vector.
    unsafe {
        let ctx = if !ctx.is_null() {
            M::V::splat(ctx)
        } else if group.degree == 1 {
            M::V::zero()
        } else {
            // ctx[i] = i || D - 1 || 0..0. The number of the group's first lane is a multiple of
            // `LANES`, a power of two, so adding 0 to `LANES - 1` is an XOR.
            let common = (M::V::LANES * group.number) as u64 | ((group.degree - 1) as u64) << 8;
            M::V::load(FIRST_CONTEXTS.as_ptr().cast()).xor(M::V::splat_words(common, 0))
        };
        M::init(M::load_key(key), M::load_key(nonce), ctx)
    }
}

/// Returns the degree, as a constant if `G` is known.
#[inline(always)]
fn constant_degree<M: Machine, const G: usize>(degree: usize) -> usize {
    debug_assert!(if G == 0 {
        degree.is_multiple_of(M::V::LANES)
    } else {
        degree == G * M::V::LANES
    });
    if G == 0 { degree } else { G * M::V::LANES }
}

/// Returns the groups of a state.
///
/// # Safety
/// `state` is exclusive, aligned memory for `degree` lanes, written by `init` with the same
/// machine.
#[inline(always)]
unsafe fn groups<'a, M: Machine>(state: *mut u8, degree: usize) -> &'a mut [M] {
    // SAFETY: the caller promises this memory; a group has `LANES` lanes.
    unsafe { core::slice::from_raw_parts_mut(state.cast(), degree / M::V::LANES) }
}

/// Zeroes the groups of a state: in the kernel, because it has the widest stores.
///
/// # Safety
/// `state` is exclusive memory for `degree` lanes.
#[inline(always)]
unsafe fn wipe_groups<M: Machine>(state: *mut u8, degree: usize) {
    // SAFETY: the caller promises this memory; a group has `LANES` lanes.
    unsafe { state.cast::<M>().write_bytes(0, degree / M::V::LANES) };
}

#[inline(always)]
pub(crate) unsafe fn init<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    key: *const u8,
    nonce: *const u8,
    ctx: *const u8,
) {
    let degree = constant_degree::<M, G>(degree);
    for number in 0..degree / M::V::LANES {
        // SAFETY: the caller keeps the contract of `StateKernels`.
        unsafe {
            state.cast::<M>().add(number).write(init_group(
                Group { number, degree },
                key,
                nonce,
                ctx,
            ))
        };
    }
}

#[inline(always)]
pub(crate) unsafe fn process<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    work: Work,
    data: &Data,
) {
    let degree = constant_degree::<M, G>(degree);
    // SAFETY: the caller keeps the contract of `StateKernels`.
    unsafe {
        let groups = groups::<M>(state, degree);
        if M::LARGE {
            process_groups::<M, G>(groups, degree, work, *data);
        } else {
            // Each kind of work has its own loops.
            match work {
                Work::Absorb => process_groups::<M, G>(groups, degree, Work::Absorb, *data),
                Work::Crypt(Direction::Encrypt) => {
                    process_groups::<M, G>(groups, degree, Work::Crypt(Direction::Encrypt), *data);
                }
                Work::Crypt(Direction::Decrypt) => {
                    process_groups::<M, G>(groups, degree, Work::Crypt(Direction::Decrypt), *data);
                }
            }
        }
        if G == 1
            && let [state] = groups
        {
            process_last_step(state, work, *data, Group { number: 0, degree });
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn keystream<M: Machine, const G: usize>(
    state: *const u8,
    degree: usize,
    dst: *mut u8,
) {
    let degree = constant_degree::<M, G>(degree);
    for number in 0..degree / M::V::LANES {
        let group = Group { number, degree };
        // SAFETY: the caller keeps the contract of `StateKernels`.
        unsafe {
            let s = state.cast::<M>().add(number).read();
            let zeros = M::step([M::V::zero(); 2]);
            M::store(s.add_keystream(zeros), dst.add(group.column::<M>()), group.row());
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn finalize<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    ad_len: u64,
    msg_len: u64,
    tag: *mut u8,
    tag_len: usize,
) {
    let degree = constant_degree::<M, G>(degree);
    // SAFETY: the caller keeps the contract of `StateKernels`.
    unsafe {
        let lengths = tag::lengths::<M::V>(ad_len, msg_len);
        let mut sum = [M::V::zero(); 2];
        for s in groups::<M>(state, degree) {
            sum = tag::add(sum, s.finish(lengths, tag_len));
        }
        tag::write(sum, tag, tag_len);
    }
}

#[inline(always)]
pub(crate) unsafe fn finalize_mac<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    data_len: u64,
    tag: *mut u8,
    tag_len: usize,
) {
    let degree = constant_degree::<M, G>(degree);
    // SAFETY: the caller keeps the contract of `StateKernels`.
    unsafe {
        let sizes = tag::lengths::<M::V>(data_len, tag_len as u64);
        let groups = groups::<M>(state, degree);
        if G == 1
            && let [group] = groups
        {
            let mut s = *group; // a copy that the optimiser can keep in registers
            wipe_groups::<M>(state, degree);
            let tags = s.finish(sizes, tag_len);
            let mut end = MacEnd::new(s.first());
            if degree > 1 {
                end.absorb::<M>(0, tags, tag_len);
            }
            return end.write(degree, tag, tag_len);
        }
        for s in groups.iter_mut() {
            s.finalize(sizes);
        }
        let [first, ..] = groups else { return }; // there is always one
        let mut end = MacEnd::new(first.first());
        if degree > 1 {
            for (number, s) in groups.iter().enumerate() {
                end.absorb::<M>(number, s.tag(tag_len), tag_len);
            }
        }
        wipe_groups::<M>(state, degree);
        end.write(degree, tag, tag_len);
    }
}

#[inline(always)]
pub(crate) unsafe fn words<M: Machine, const G: usize>(
    state: *const u8,
    degree: usize,
    dst: *mut u8,
) {
    let degree = constant_degree::<M, G>(degree);
    for number in 0..degree / M::V::LANES {
        let group = Group { number, degree };
        // SAFETY: the caller keeps the contract of `StateKernels`.
        unsafe {
            state
                .cast::<M>()
                .add(number)
                .read()
                .store_words(dst.add(group.column::<M>()), group.row());
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn resume<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    src: *const u8,
) {
    let degree = constant_degree::<M, G>(degree);
    for number in 0..degree / M::V::LANES {
        let group = Group { number, degree };
        // SAFETY: the caller keeps the contract of `StateKernels`.
        unsafe {
            state
                .cast::<M>()
                .add(number)
                .write(M::load_words(src.add(group.column::<M>()), group.row()));
        }
    }
}

/// Processes data, if there is any.
///
/// # Safety
/// The state is memory for the variant's degree, written by its kernels. The data is valid as
/// [`Data`] says.
#[inline(always)] // so that the compiler knows the kernels
pub(super) unsafe fn process_at<V: Variant>(variant: V, state: *mut u8, work: Work, data: Data) {
    if data.len == 0 {
        return; // a call would load and store the state
    }
    // SAFETY: the kernels come from a variant, so the CPU has their features. The caller promises
    // the rest.
    unsafe { (variant.kernels().state.process)(state, V::DEGREE, work, &data) }
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

    // The functions with pointers leave wiping the stack to their caller.

    /// Init, with pointers.
    ///
    /// # Safety
    /// Key and nonce are readable for the family's length; `ctx` is null or readable for 16 bytes.
    #[inline(always)]
    unsafe fn init_at(&mut self, key: *const u8, nonce: *const u8, ctx: *const u8) {
        // SAFETY: the kernels come from a variant, so the CPU has their features, and the memory is
        // that of the variant's degree. The caller promises the pointers.
        unsafe { (self.kernels().state.init)(self.ptr(), V::DEGREE, key, nonce, ctx) }
    }

    /// Processes data.
    ///
    /// # Safety
    /// The data is valid as [`Data`] says.
    #[inline(always)]
    unsafe fn process(&mut self, work: Work, data: Data) {
        // SAFETY: the memory is that of the variant's degree. The caller promises valid data.
        unsafe { process_at(self.variant, self.ptr(), work, data) }
    }

    /// Finalize, with pointers.
    ///
    /// # Safety
    /// `tag_len` bytes, 16 or 32, are writable at `tag`.
    #[inline(always)]
    unsafe fn finalize_to(&mut self, ad_len: u64, msg_len: u64, tag: *mut u8, tag_len: usize) {
        // SAFETY: the kernels come from a variant, so the CPU has their features, and the memory is
        // that of the variant's degree. The caller promises the tag.
        unsafe {
            (self.kernels().state.finalize)(self.ptr(), V::DEGREE, ad_len, msg_len, tag, tag_len)
        }
    }

    /// FinalizeMac, with pointers.
    ///
    /// # Safety
    /// `tag_len` bytes, 16 or 32, are writable at `tag`; the variant has this MAC.
    #[inline(always)]
    unsafe fn finalize_mac_to(&mut self, data_len: u64, tag: *mut u8, tag_len: usize) {
        // SAFETY: the kernels come from a variant, so the CPU has their features, and the memory is
        // that of the variant's degree. The caller promises the tag.
        unsafe {
            (self.kernels().state.finalize_mac)(self.ptr(), V::DEGREE, data_len, tag, tag_len)
        }
    }

    /// Init(key, nonce), with the given context word or the standard's.
    #[inline(always)]
    pub(crate) fn init(&mut self, key: &[u8], nonce: &[u8], ctx: Option<&[u8; 16]>) {
        let key_len = <V::Family as Parameters>::KEY_BYTES;
        assert!(key.len() == key_len && nonce.len() == key_len);
        let ctx = ctx.map_or(ptr::null(), |ctx| ctx.as_ptr());
        // SAFETY: the lengths were checked; `ctx` is null or points to 16 bytes.
        unsafe { self.init_at(key.as_ptr(), nonce.as_ptr(), ctx) };
        self.kernels().scrub();
    }

    /// Absorbs data; the last step is padded with zeros.
    #[inline(always)]
    pub(crate) fn absorb(&mut self, data: &[u8]) {
        if data.is_empty() {
            return; // nothing to wipe, which sessions with short pieces rely on
        }
        let data = Data { src: data.as_ptr(), dst: ptr::null_mut(), len: data.len() };
        // SAFETY: a slice is readable.
        unsafe { self.process(Work::Absorb, data) };
        self.kernels().scrub();
    }

    /// Encrypts or decrypts; the last step is padded with zeros.
    #[inline(always)]
    pub(crate) fn crypt(&mut self, io: &InOut<'_>, direction: Direction) {
        if io.len() == 0 {
            return; // nothing to wipe, which sessions with short pieces rely on
        }
        let data = Data { src: io.src(), dst: io.dst(), len: io.len() };
        // SAFETY: an `InOut` is readable and writable for its length.
        unsafe { self.process(Work::Crypt(direction), data) };
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

    /// Finalize(ad_len, msg_len), with lengths in bytes. The state is spent afterwards.
    #[inline(always)]
    pub(crate) fn finalize<const T: usize>(
        &mut self,
        ad_len: u64,
        msg_len: u64,
        tag: &mut [u8; T],
    ) {
        const { check_tag(T) };
        // SAFETY: the tag is writable and 16 or 32 bytes long.
        unsafe { self.finalize_to(ad_len, msg_len, tag.as_mut_ptr(), T) };
        self.kernels().scrub();
    }

    /// FinalizeMac(data_len), with the length in bytes. The state is zeroed.
    #[inline(always)]
    pub(crate) fn finalize_mac<const T: usize>(&mut self, data_len: u64, tag: &mut [u8; T]) {
        const { check_mac(<V::Family as Parameters>::INDEX, V::DEGREE, T) };
        // SAFETY: the tag is writable and 16 or 32 bytes long, and this MAC exists.
        unsafe { self.finalize_mac_to(data_len, tag.as_mut_ptr(), T) };
        self.kernels().scrub();
    }

    /// Returns the words of the state, word by word and lane by lane, at the start of the memory.
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
