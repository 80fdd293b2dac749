//! A backend's table of kernels, and the macro that defines one.

use super::batch::{self, Batch, Pointers};
use super::message::{self, Message, Operation};
use super::scrub::Scrub;
use super::state;
use super::steps::{Data, Work};
use super::variant::CLASSES;
use crate::block::Blocks;
use crate::machine::{Batched, Machine};

/// The kernels of one backend for one family and one class of degrees.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// For a whole message, if the number of groups is known.
    pub(super) message: Option<MessageKernels>,
    /// For a state in memory.
    pub(crate) state: StateKernels,
    /// For several messages at once. The kernel for the most messages comes first.
    pub(crate) batch: [Batch; batch::KERNELS],
    /// Wipes the stack after the kernels of a message and of a state, if they spill.
    scrub: Scrub,
    /// Wipes the stack after the kernels of a batch.
    scrub_batch: Scrub,
}

/// Processes a whole message and returns whether its tag is right; only `open` can return false.
///
/// The caller has checked the CPU features, and the message is valid as [`Message`] requires.
pub(crate) type MessageKernel = unsafe fn(&Message) -> bool;

#[derive(Clone, Copy)]
pub(super) struct MessageKernels {
    seal: MessageKernel,
    open: MessageKernel,
    mac: MessageKernel,
    /// The longest message and associated data, in bytes, for which these kernels are the fastest.
    pub(super) longest: usize,
}

impl MessageKernels {
    #[inline(always)]
    pub(super) fn get(&self, operation: Operation) -> MessageKernel {
        match operation {
            Operation::Seal => self.seal,
            Operation::Open => self.open,
            Operation::Mac => self.mac,
        }
    }
}

/// Kernels that work on a state in memory.
///
/// The caller has checked the CPU features and passes the degree of this table. The state is memory
/// for `8 * degree` blocks, aligned to 64 bytes. Only `init` and `resume` accept uninitialised
/// memory. Key and nonce have the family's length.
#[derive(Clone, Copy)]
pub(crate) struct StateKernels {
    /// `init(state, degree, key, nonce, ctx)`. `ctx` is null for the standard's context, or 16
    /// bytes (degree 1 only).
    pub(crate) init: unsafe fn(*mut u8, usize, *const u8, *const u8, *const u8),
    /// `process(state, degree, work, data)`: processes data, which is valid as [`Data`] says. If
    /// its length is not a multiple of the rate, the last step is padded with zeros.
    pub(crate) process: unsafe fn(*mut u8, usize, Work, &Data),
    /// `keystream(state, degree, dst)`: writes one step's key stream, without changing the state.
    pub(crate) keystream: unsafe fn(*const u8, usize, *mut u8),
    /// `finalize(state, degree, ad_len, msg_len, tag, tag_len)`. Lengths are in bytes. The state is
    /// spent afterwards.
    pub(crate) finalize: unsafe fn(*mut u8, usize, u64, u64, *mut u8, usize),
    /// `finalize_mac(state, degree, data_len, tag, tag_len)`. Lengths are in bytes. The state is
    /// zeroed afterwards.
    pub(crate) finalize_mac: unsafe fn(*mut u8, usize, u64, *mut u8, usize),
    /// `words(state, degree, dst)`: writes all words, word by word and lane by lane: `WORDS *
    /// degree` blocks.
    pub(crate) words: unsafe fn(*const u8, usize, *mut u8),
    /// `resume(state, degree, src)`: restores a state from the output of `words`, of any backend.
    pub(crate) resume: unsafe fn(*mut u8, usize, *const u8),
}

impl Kernels {
    /// Wipes the stack below the caller after the kernels of a message or of a state, if they leave
    /// secrets there.
    #[inline(always)]
    pub(super) fn scrub(&self) {
        if let Some(scrub) = self.scrub {
            scrub();
        }
    }

    /// Returns the kernels for a whole message, if there are any: `seal`, `open` and `mac`.
    #[allow(dead_code)] // unused where there is only one backend
    pub(crate) fn message_kernels(&self) -> Option<[MessageKernel; 3]> {
        self.message.map(|kernels| [kernels.seal, kernels.open, kernels.mac])
    }

    /// Replaces the kernels for a whole message.
    #[cfg(test)]
    pub(crate) fn with_message_kernels(mut self, [seal, open, mac]: [MessageKernel; 3]) -> Self {
        self.message = self.message.map(|kernels| MessageKernels { seal, open, mac, ..kernels });
        self
    }

    /// Wipes the stack below the caller after kernels for several messages.
    #[inline(always)]
    pub(super) fn scrub_batch(&self) {
        if let Some(scrub) = self.scrub_batch {
            scrub();
        }
    }

    /// Takes the kernel for MACs from another table of the same degree, whose features the CPU has
    /// too and whose kernels need no more wiping than these.
    #[cfg_attr(not(any(target_arch = "x86", target_arch = "x86_64")), allow(dead_code))]
    pub(crate) const fn with_mac_of(mut self, other: &Self) -> Self {
        assert!(self.scrub.is_some() || other.scrub.is_none());
        if let (Some(kernels), Some(other)) = (&mut self.message, &other.message) {
            kernels.mac = other.mac;
        }
        self
    }

    /// Takes the kernels for several messages from another table, for a CPU that has its features.
    #[cfg_attr(not(any(target_arch = "x86", target_arch = "x86_64")), allow(dead_code))]
    pub(crate) const fn with_batch_of(mut self, other: &Self) -> Self {
        (self.batch, self.scrub_batch) = (other.batch, other.scrub_batch);
        self
    }

    /// Creates the table of a machine that works on `G` groups, or on any number if `G` is 0.
    pub(crate) const fn new<M: Machine, const G: usize>(
        [seal, open, mac]: [MessageKernel; 3],
        state: StateKernels,
        batch: [Batch; batch::KERNELS],
        scrub: [Scrub; 3],
        scrub_batch: Scrub,
    ) -> Self {
        // Several groups of a machine that spills are faster through a state in memory, unless each
        // is in memory anyway.
        let message = if G == 1 || G > 1 && (M::IN_MEMORY || !M::SPILLS) {
            Some(MessageKernels { seal, open, mac, longest: message::longest(G) })
        } else {
            None
        };
        // Several groups take turns in the registers, so their states are spilled.
        let spills = M::SPILLS || G != 1;
        let scrub = match G * M::V::LANES {
            _ if !spills => None,
            1 => scrub[0],
            2 => scrub[1],
            _ => scrub[2],
        };
        let scrub_batch = if batch[0].spills || batch[1].spills { scrub_batch } else { None };
        Self { message, state, batch, scrub, scrub_batch }
    }
}

/// The kernels of a backend, for AEGIS-128 and AEGIS-256: for degrees 1, 2, 4 and, if compiled, any
/// other degree.
pub(crate) type Tables = [[Kernels; CLASSES]; 2];

/// Returns the depths to wipe for degree 1, for degree 2 and for all others.
pub(crate) const fn depths(list: &[usize]) -> [usize; 3] {
    match *list {
        [one, two, four] => [one, two, four],
        [all] => [all; 3],
        _ => panic!("one depth or three"),
    }
}

// The functions that `tables!` calls. They are inlined there, and so compiled for the CPU features.

#[inline(always)]
pub(crate) unsafe fn seal<M: Machine, const G: usize>(m: &Message) -> bool {
    // SAFETY: the caller keeps the contract of `MessageKernel`.
    unsafe { message::process::<M, G>(Operation::Seal, m) }
}
#[inline(always)]
pub(crate) unsafe fn open<M: Machine, const G: usize>(m: &Message) -> bool {
    // SAFETY: the caller keeps the contract of `MessageKernel`.
    unsafe { message::process::<M, G>(Operation::Open, m) }
}
#[inline(always)]
pub(crate) unsafe fn mac<M: Machine, const G: usize>(m: &Message) -> bool {
    // SAFETY: the caller keeps the contract of `MessageKernel`.
    unsafe { message::process::<M, G>(Operation::Mac, m) }
}
#[inline(always)]
pub(crate) unsafe fn seal_batch<M: Batched>(messages: &Pointers) -> u32 {
    // SAFETY: the caller keeps the contract of `Batch`.
    unsafe { batch::process::<M>(Operation::Seal, messages) }
}
#[inline(always)]
pub(crate) unsafe fn open_batch<M: Batched>(messages: &Pointers) -> u32 {
    // SAFETY: the caller keeps the contract of `Batch`.
    unsafe { batch::process::<M>(Operation::Open, messages) }
}
pub(crate) use state::{finalize, finalize_mac, init, keystream, process, resume, words};

/// Defines `TABLES`, the kernels of one backend, compiled for its CPU features.
///
/// For each of degrees 1, 2 and 4 it takes the machine, the number of groups (0 if it is known only
/// at run time), and the machines for several messages at once, where those are faster. `any` is
/// the machine for all other degrees. `scrub` is the number of bytes of the stack to wipe after
/// kernels that spill: one number, or one each for degree 1, degree 2 and all others. After a batch
/// it is three times the first. Only the functions in `entry` are compiled for the CPU features;
/// everything they call is inlined into them.
macro_rules! tables {
    (
        $(#[target_feature(enable = $features:literal)])?
        scrub: $scrub:literal $(, $scrub2:literal, $scrub4:literal)?;
        aegis128: [$($machine128:ty, $groups128:literal $(, batch [$($batch128:ty),*])?;)*]
            any $any128:ty;
        aegis256: [$($machine256:ty, $groups256:literal $(, batch [$($batch256:ty),*])?;)*]
            any $any256:ty;
    ) => {
        /// The kernels of this backend.
        pub(crate) const TABLES: $crate::driver::table::Tables = [
            [$(entry::table::<$machine128, $groups128>($crate::driver::batch::list([
                $($(entry::batch::<$batch128>(),)*)?
            ])),)*
                #[cfg(any(feature = "any-degree", palladion_one_backend))]
                entry::table::<$any128, 0>($crate::driver::batch::list([])),
            ],
            [$(entry::table::<$machine256, $groups256>($crate::driver::batch::list([
                $($(entry::batch::<$batch256>(),)*)?
            ])),)*
                #[cfg(any(feature = "any-degree", palladion_one_backend))]
                entry::table::<$any256, 0>($crate::driver::batch::list([])),
            ],
        ];

        mod entry {
            use $crate::driver::batch::{self, Batch, Pointers};
            use $crate::driver::scrub::scrub;
            use $crate::driver::table::{self, Kernels, StateKernels};
            use $crate::driver::{Data, Message, Work};
            use $crate::machine::{Batched, Machine};

            const DEPTHS: [usize; 3] = table::depths(&[$scrub $(, $scrub2, $scrub4)?]);

            pub(super) const fn table<M: Machine, const G: usize>(
                batch: [Batch; batch::KERNELS],
            ) -> Kernels {
                Kernels::new::<M, G>(
                    [seal::<M, G>, open::<M, G>, mac::<M, G>],
                    StateKernels {
                        init: init::<M, G>,
                        process: process::<M, G>,
                        keystream: keystream::<M, G>,
                        finalize: finalize::<M, G>,
                        finalize_mac: finalize_mac::<M, G>,
                        words: words::<M, G>,
                        resume: resume::<M, G>,
                    },
                    batch,
                    [
                        scrub::<{ DEPTHS[0] }>(),
                        scrub::<{ DEPTHS[1] }>(),
                        scrub::<{ DEPTHS[2] }>(),
                    ],
                    scrub::<{ 3 * $scrub }>(),
                )
            }

            #[allow(dead_code)] // unused where there are no batch kernels
            pub(super) const fn batch<M: Batched>() -> Batch {
                Batch::new::<M>(seal_batch::<M>, open_batch::<M>)
            }

            $crate::driver::table::entries! {
                [$(#[target_feature(enable = $features)])?]
                seal<M: Machine, G>(message: &Message) -> bool;
                open<M: Machine, G>(message: &Message) -> bool;
                mac<M: Machine, G>(message: &Message) -> bool;
                init<M: Machine, G>(state: *mut u8, degree: usize, key: *const u8,
                    nonce: *const u8, ctx: *const u8);
                process<M: Machine, G>(state: *mut u8, degree: usize, work: Work, data: &Data);
                keystream<M: Machine, G>(state: *const u8, degree: usize, dst: *mut u8);
                finalize<M: Machine, G>(state: *mut u8, degree: usize, ad_len: u64, msg_len: u64,
                    tag: *mut u8, tag_len: usize);
                finalize_mac<M: Machine, G>(state: *mut u8, degree: usize, data_len: u64,
                    tag: *mut u8, tag_len: usize);
                words<M: Machine, G>(state: *const u8, degree: usize, dst: *mut u8);
                resume<M: Machine, G>(state: *mut u8, degree: usize, src: *const u8);
                seal_batch<M: Batched>(messages: &Pointers) -> u32;
                open_batch<M: Batched>(messages: &Pointers) -> u32;
            }
        }
    };
}
pub(crate) use tables;

/// Defines functions with CPU features that call the generic ones above.
macro_rules! entries {
    ($attributes:tt
        $($name:ident<M: $machine:ident $(, $number:ident)?>$arguments:tt $(-> $result:ty)?;)*) => {
        $($crate::driver::table::entry! {
            $attributes $name $machine ($($number)?) $arguments ($($result)?)
        })*
    };
}
pub(crate) use entries;

/// Defines one such function.
macro_rules! entry {
    ([$($attribute:tt)*] $name:ident $machine:ident ($($number:ident)?)
        ($($arg:ident: $type:ty),*) ($($result:ty)?)) => {
        $($attribute)*
        #[allow(dead_code)] // unused where there are no batch kernels
        unsafe fn $name<M: $machine $(, const $number: usize)?>($($arg: $type),*) $(-> $result)? {
            // SAFETY: the caller keeps the contract of the table, which is that of the function.
            unsafe { table::$name::<M $(, $number)?>($($arg),*) }
        }
    };
}
pub(crate) use entry;
