//! Kernels compiled for a CPU's features.
//!
//! `#[target_feature]` takes no constant and no generic parameter, so each set of features needs
//! functions of its own: the methods of a type that implements [`Features`]. They are the only
//! functions that are compiled for the features. Everything they call is inlined into them.

use super::kernel::longest;
use super::kernels::{
    BATCHES, BatchKernels, Data, Kernels, Message, MessageKernels, Pointers, StateKernels,
};
use super::scrub::{Scrub, scrub};
use crate::block::{Blocks, MAX_LANES};
use crate::machine::{Batched, Machine, Work};

/// Kernels that stand for all others in unit tests, which are about what lies above and below
/// kernels. To compile all once more would take most of their time. Tests of kernels are in
/// `tests/`, on the library as it is.
#[cfg(all(test, not(palladion_proof)))]
mod stand_ins {
    use super::{Kernels, features, made};
    use crate::soft::bitsliced::Bitsliced;

    features! {
        /// Every CPU.
        Any, scrub 5120
    }

    /// The kernels of AEGIS-256 and of AEGIS-128.
    pub(super) const STAND_INS: Option<[Kernels; 2]> =
        Some([made::<Any, Bitsliced<u64, 2, 1>, 0>(), made::<Any, Bitsliced<u64, 2, 2>, 0>()]);
}
#[cfg(all(test, not(palladion_proof)))]
use stand_ins::STAND_INS;
#[cfg(any(not(test), palladion_proof))]
const STAND_INS: Option<[Kernels; 2]> = None;

/// A set of features, with the functions that are compiled for them.
///
/// The contracts are those of [`Kernels`].
pub(crate) trait Features {
    /// Functions that wipe what kernels of degree 1, degree 2 and all others leave on the stack if
    /// they spill, and what batches leave.
    const SCRUB: [Scrub; 4];

    unsafe fn seal<M: Machine, const G: usize>(m: &Message) -> bool;
    unsafe fn open<M: Machine, const G: usize>(m: &Message) -> bool;
    unsafe fn mac<M: Machine, const G: usize>(m: &Message) -> bool;
    unsafe fn init<M: Machine, const G: usize>(
        state: *mut u8,
        degree: usize,
        key: *const u8,
        nonce: *const u8,
        ctx: *const u8,
    );
    unsafe fn advance<M: Machine, const G: usize>(
        state: *mut u8,
        degree: usize,
        work: Work,
        data: &Data,
    );
    unsafe fn keystream<M: Machine, const G: usize>(state: *const u8, degree: usize, dst: *mut u8);
    unsafe fn finalize<M: Machine, const G: usize>(
        state: *mut u8,
        degree: usize,
        ad_len: u64,
        msg_len: u64,
        tag: *mut u8,
        tag_len: usize,
    );
    unsafe fn finalize_mac<M: Machine, const G: usize>(
        state: *mut u8,
        degree: usize,
        data_len: u64,
        tag: *mut u8,
        tag_len: usize,
    );
    unsafe fn words<M: Machine, const G: usize>(state: *const u8, degree: usize, dst: *mut u8);
    unsafe fn resume<M: Machine, const G: usize>(state: *mut u8, degree: usize, src: *const u8);
    unsafe fn seal_batch<M: Batched>(messages: &Pointers) -> u32;
    unsafe fn open_batch<M: Batched>(messages: &Pointers) -> u32;
}

/// Defines a set of features, with the depths of the stack that its kernels use if they spill: one,
/// or one each for degree 1, degree 2 and all others. A batch uses up to three times the first.
macro_rules! features {
    ($(#[$doc:meta])* $name:ident $(: $features:literal)?, scrub $one:literal) => {
        $crate::driver::features::features! {
            $(#[$doc])* $name $(: $features)?, scrub $one, $one, $one
        }
    };
    (
        $(#[$doc:meta])* $name:ident $(: $features:literal)?,
        scrub $one:literal, $two:literal, $four:literal
    ) => {
        $(#[$doc])*
        pub(crate) struct $name;

        const _: () = {
            use $crate::driver::features::{Features, methods};
            use $crate::driver::kernel;
            use $crate::driver::kernels::{Data, Message, Pointers};
            use $crate::driver::scrub::{Scrub, scrub};
            use $crate::machine::{Batched, Machine, Work};

            impl Features for $name {
                const SCRUB: [Scrub; 4] =
                    [scrub::<$one>(), scrub::<$two>(), scrub::<$four>(), scrub::<{ 3 * $one }>()];
                methods! {
                    [$(#[target_feature(enable = $features)])?]
                    seal<M: Machine, G>(m: &Message) -> bool;
                    open<M: Machine, G>(m: &Message) -> bool;
                    mac<M: Machine, G>(m: &Message) -> bool;
                    init<M: Machine, G>(state: *mut u8, degree: usize, key: *const u8,
                        nonce: *const u8, ctx: *const u8);
                    advance<M: Machine, G>(state: *mut u8, degree: usize, work: Work, data: &Data);
                    keystream<M: Machine, G>(state: *const u8, degree: usize, dst: *mut u8);
                    finalize<M: Machine, G>(state: *mut u8, degree: usize, ad_len: u64,
                        msg_len: u64, tag: *mut u8, tag_len: usize);
                    finalize_mac<M: Machine, G>(state: *mut u8, degree: usize, data_len: u64,
                        tag: *mut u8, tag_len: usize);
                    words<M: Machine, G>(state: *const u8, degree: usize, dst: *mut u8);
                    resume<M: Machine, G>(state: *mut u8, degree: usize, src: *const u8);
                    seal_batch<M: Batched>(messages: &Pointers) -> u32;
                    open_batch<M: Batched>(messages: &Pointers) -> u32;
                }
            }
        };
    };
}
pub(crate) use features;

/// Defines methods that call the bodies with the same names.
macro_rules! methods {
    ($features:tt $($name:ident<M: $bound:ident $(, $number:ident)?>$args:tt $(-> $result:ty)?;)*)
    => {
        $(methods! { @ $features $name $bound ($($number)?) $args ($($result)?) })*
    };
    (@ [$($features:tt)*] $name:ident $bound:ident ($($number:ident)?)
        ($($arg:ident: $type:ty),*) ($($result:ty)?)) => {
        $($features)*
        // Only a function of its own can be proved.
        #[cfg_attr(target_family = "wasm", inline(never))]
        unsafe fn $name<M: $bound $(, const $number: usize)?>($($arg: $type),*) $(-> $result)? {
            // SAFETY: the caller keeps the contract of `Kernels`, which is that of the function.
            unsafe { kernel::$name::<M $(, $number)?>($($arg),*) }
        }
    };
}
pub(crate) use methods;

// Tables are made of these.

/// Returns the kernels of a machine for states of `G` groups, or of any number if `G` is 0.
pub(crate) const fn kernels<E: Features, M: Machine, const G: usize>() -> Kernels {
    match STAND_INS {
        Some(stand_ins) => stand_ins[M::RATE - 1],
        None => made::<E, M, G>(),
    }
}

/// Returns the kernels, never stand-ins.
const fn made<E: Features, M: Machine, const G: usize>() -> Kernels {
    // Several groups of a machine that spills are faster through a state in memory.
    let whole = G == 1 || G > 1 && !M::SPILLS;
    // Several groups take turns in the registers, so their states are spilled.
    let spills = M::SPILLS || G != 1;
    Kernels {
        message: if whole { Some(message::<E, M, G>()) } else { None },
        state: StateKernels {
            init: E::init::<M, G>,
            advance: E::advance::<M, G>,
            keystream: E::keystream::<M, G>,
            finalize: E::finalize::<M, G>,
            finalize_mac: E::finalize_mac::<M, G>,
            words: E::words::<M, G>,
            resume: E::resume::<M, G>,
        },
        batch: [BatchKernels::NONE; BATCHES],
        scrub: match G * M::V::LANES {
            _ if !spills => None,
            1 => E::SCRUB[0],
            2 => E::SCRUB[1],
            _ => E::SCRUB[2],
        },
        scrub_batch: None,
    }
}

/// Returns the kernels of a machine for a whole message.
pub(crate) const fn message<E: Features, M: Machine, const G: usize>() -> MessageKernels {
    MessageKernels {
        seal: E::seal::<M, G>,
        open: E::open::<M, G>,
        mac: E::mac::<M, G>,
        longest: longest(G),
    }
}

/// Returns the kernels of a machine for as many messages as it has lanes.
pub(crate) const fn batch<E: Features, M: Batched>() -> BatchKernels {
    assert!(M::V::LANES > 1 && M::V::LANES <= MAX_LANES);
    BatchKernels {
        messages: M::V::LANES,
        longest: usize::MAX,
        spills: M::SPILLS,
        seal: E::seal_batch::<M>,
        open: E::open_batch::<M>,
    }
}

impl BatchKernels {
    /// Makes these kernels those for messages of at most so many bytes.
    pub(crate) const fn up_to(mut self, longest: usize) -> Self {
        self.longest = longest;
        self
    }
}

/// Changes of single kernels.
impl Kernels {
    /// Adds kernels for a whole message, for a machine whose states are in memory anyway.
    pub(crate) const fn with_message<E: Features, M: Machine, const G: usize>(mut self) -> Self {
        self.message = Some(message::<E, M, G>());
        self
    }
    /// Adds kernels for several messages. Those for the most messages come first.
    pub(crate) const fn with_batch<E: Features, const N: usize>(
        mut self,
        list: [BatchKernels; N],
    ) -> Self {
        let mut i = 0;
        while i < N && STAND_INS.is_none() {
            self.batch[i] = list[i];
            if list[i].spills {
                self.scrub_batch = E::SCRUB[3];
            }
            i += 1;
        }
        self
    }
    /// Wipes a little of the stack after batches: their states are in registers, but where a last
    /// block has one to three bytes, these lack general registers, and some go to the stack.
    pub(crate) const fn wiping_after_batches(mut self) -> Self {
        self.scrub_batch = scrub::<128>();
        self
    }
    /// Takes the kernel for MACs of another machine, which needs no more wiping.
    pub(crate) const fn with_mac<E: Features, M: Machine, const G: usize>(mut self) -> Self {
        assert!(self.scrub.is_some() || !M::SPILLS);
        if let Some(kernels) = &mut self.message {
            kernels.mac = E::mac::<M, G>;
        }
        self
    }
    /// Takes `init` for a state in memory from another order of the same machine.
    pub(crate) const fn with_init<E: Features, M: Machine, const G: usize>(mut self) -> Self {
        if STAND_INS.is_none() {
            self.state.init = E::init::<M, G>;
        }
        self
    }
    /// Takes `advance` for a state in memory from another order of the same machine.
    pub(crate) const fn with_advance<E: Features, M: Machine, const G: usize>(mut self) -> Self {
        if STAND_INS.is_none() {
            self.state.advance = E::advance::<M, G>;
        }
        self
    }
}
