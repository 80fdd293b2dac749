//! The kernels as a table in the object file, for programs in other languages that link them
//! without the rest of this crate: `bindings/go/generate.py` makes Go's assembly of it. Compiled
//! with `--cfg palladion_kernels`.
//!
//! Each kernel here has C's calling convention and one argument, and calls nothing outside.

use crate::arch::COMPILED;
use crate::driver::kernels::{Data, Kernels, Message, StateKernels};
use crate::machine::Work;
use crate::memory::Direction;

/// The argument of all kernels but those for whole messages. Each uses what it needs; the contracts
/// are those of `StateKernels`, but `finalize` takes lengths in bits, so that it also ends a MAC.
#[repr(C)]
struct Call {
    state: *mut u8,
    degree: usize,
    key: *const u8,
    nonce: *const u8,
    data: Data,
    ad_bits: u64,
    bits: u64,
    tag: *mut u8,
    tag_len: usize,
    work: Work,
}

/// The values of `Call::work`, for whoever makes calls.
#[unsafe(no_mangle)]
static PALLADION_WORK: [Work; 3] =
    [Work::Absorb, Work::Crypt(Direction::Encrypt), Work::Crypt(Direction::Decrypt)];

type MessageKernel = Option<unsafe extern "C" fn(&Message) -> bool>;
type StateKernel = unsafe extern "C" fn(&Call);

/// The kernels of a backend for one variant.
#[repr(C)]
struct Exported {
    /// The backend's name.
    name: *const u8,
    name_len: usize,
    /// The longest message and associated data for which `seal` and `open` are the fastest; 0 if
    /// there are none.
    longest: usize,
    /// 1 if kernels leave secrets on the stack.
    spills: usize,
    seal: MessageKernel,
    open: MessageKernel,
    init: StateKernel,
    advance: StateKernel,
    finalize: StateKernel,
}

// SAFETY: it is never changed.
unsafe impl Sync for Exported {}

/// Kernels that are not those of the tables, because they need less code.
#[cfg(target_arch = "x86_64")]
mod own {
    use crate::arch::x86::{V1, aesni::Avx};
    use crate::driver::features::kernels;
    use crate::driver::kernels::Kernels;
    use crate::machine::{Aegis256, order::ShortChain};

    /// AEGIS-256 for VAES with AVX2 and AES-NI alike. On Zen, this order is as fast as those of the
    /// tables.
    static ONE_256: Kernels = kernels::<Avx, Aegis256<V1, ShortChain>, 1>();

    pub(super) const fn of(
        backend: usize,
        family: usize,
        degree: usize,
    ) -> Option<&'static Kernels> {
        if backend > 1 && family == 1 && degree == 1 { Some(&ONE_256) } else { None }
    }
}

/// Kernels that are not those of the tables, because they need less code.
#[cfg(target_arch = "aarch64")]
mod own {
    use crate::arch::COMPILED;
    use crate::arch::aarch64::{A1, Aes};
    use crate::block::sum::Sum;
    use crate::driver::features::message;
    use crate::driver::kernels::Kernels;
    use crate::machine::long::{Crypting, Long};
    use crate::machine::order::{Free, Textbook};
    use crate::machine::{Aegis128, Aegis256};

    type A128 = Long<Aegis128<A1, Free>, Aegis128<Sum<A1>, Textbook>, Crypting<8>>;
    type A256 = Long<Aegis256<A1, Free>, Aegis256<Sum<A1>, Textbook>, Crypting<6>>;

    static ONE_128: Kernels =
        Kernels { message: Some(message::<Aes, A128, 1>()), ..*COMPILED[1].tables.of(0, 1) };
    static ONE_256: Kernels =
        Kernels { message: Some(message::<Aes, A256, 1>()), ..*COMPILED[1].tables.of(1, 1) };

    pub(super) const fn of(_: usize, family: usize, degree: usize) -> Option<&'static Kernels> {
        match (family, degree) {
            (0, 1) => Some(&ONE_128),
            (1, 1) => Some(&ONE_256),
            _ => None,
        }
    }
}

/// Backend number `B` for a family and a degree.
struct Of<const B: usize, const FAMILY: usize, const DEGREE: usize>;

impl<const B: usize, const FAMILY: usize, const DEGREE: usize> Of<B, FAMILY, DEGREE> {
    const KERNELS: &'static Kernels = match own::of(B, FAMILY, DEGREE) {
        Some(kernels) => kernels,
        None => COMPILED[B].tables.of(FAMILY, DEGREE),
    };
    /// The kernels for states. Those of 64-bit ARM process one lane at a time, so kernels for any
    /// number of lanes do for all degrees.
    const STATE: &'static StateKernels = if cfg!(target_arch = "aarch64") {
        &COMPILED[B].tables.of(FAMILY, 3).state
    } else {
        &Self::KERNELS.state
    };

    const EXPORTED: Exported = {
        let name = COMPILED[B].backend.name();
        let (seal, open, longest): (MessageKernel, MessageKernel, _) = match &Self::KERNELS.message
        {
            Some(message) => (Some(Self::seal), Some(Self::open), message.longest),
            None => (None, None, 0),
        };
        Exported {
            name: name.as_ptr(),
            name_len: name.len(),
            longest,
            spills: Self::KERNELS.scrub.is_some() as usize,
            seal,
            open,
            init: Self::init,
            advance: Self::advance,
            finalize: Self::finalize,
        }
    };

    unsafe extern "C" fn seal(message: &Message) -> bool {
        match &Self::KERNELS.message {
            // SAFETY: the caller keeps the kernel's contract.
            Some(kernels) => unsafe { (kernels.seal)(message) },
            None => false,
        }
    }

    unsafe extern "C" fn open(message: &Message) -> bool {
        match &Self::KERNELS.message {
            // SAFETY: the caller keeps the kernel's contract.
            Some(kernels) => unsafe { (kernels.open)(message) },
            None => false,
        }
    }

    unsafe extern "C" fn init(call: &Call) {
        let Call { state, degree, key, nonce, .. } = *call;
        // SAFETY: the caller keeps the kernel's contract.
        unsafe { (Self::STATE.init)(state, degree, key, nonce, core::ptr::null()) }
    }

    unsafe extern "C" fn advance(call: &Call) {
        let Call { state, degree, work, .. } = *call;
        // SAFETY: the caller keeps the kernel's contract.
        unsafe { (Self::STATE.advance)(state, degree, work, &call.data) }
    }

    unsafe extern "C" fn finalize(call: &Call) {
        let Call { state, degree, ad_bits, bits, tag, tag_len, .. } = *call;
        // SAFETY: the caller keeps the kernel's contract.
        unsafe { (Self::STATE.finalize)(state, degree, ad_bits, bits, tag, tag_len) }
    }
}

/// The table: for each of these backends AEGIS-128L, -128X2, -128X4, -256, -256X2 and -256X4.
macro_rules! table {
    ($count:literal backends: $($backend:literal)*) => {
        #[unsafe(no_mangle)]
        static PALLADION_KERNELS: [[Exported; 6]; $count] = [$([
            Of::<$backend, 0, 1>::EXPORTED,
            Of::<$backend, 0, 2>::EXPORTED,
            Of::<$backend, 0, 4>::EXPORTED,
            Of::<$backend, 1, 1>::EXPORTED,
            Of::<$backend, 1, 2>::EXPORTED,
            Of::<$backend, 1, 4>::EXPORTED,
        ]),*];
    };
}

#[cfg(target_arch = "x86_64")]
table!(6 backends: 0 1 2 3 4 5); // VAES with AVX-512 or AVX2, AES-NI with AVX; each for Zen first
#[cfg(target_arch = "aarch64")]
table!(1 backends: 1); // AES without SHA3
