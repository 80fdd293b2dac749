//! The tables of kernels: which machine, in which order of instructions, for which CPU and degree.
//!
//! They are functions of a set of features and of types of words, and contain nothing that only one
//! CPU has. So the proofs run the same functions on symbols.

pub(crate) mod x86;
pub(crate) mod zen;

use crate::block::sum::{AddsFirst, Sum};
use crate::block::{Blocks, Word};
use crate::driver::features::{Features, kernels};
use crate::driver::kernels::{Degrees, Tables};
use crate::machine::long::{Long, Turns};
use crate::machine::memory::{InMemory, Loops};
use crate::machine::order::{Compact, Free, Scalar, Textbook};
use crate::machine::{Aegis128, Aegis256, Machine};
use crate::soft::bitsliced::Bitsliced;
use crate::soft::byte_planes::{BytePlanes, FourLanes128, FourLanes256, OneLane, Operations, Row};
use crate::soft::permute::{Permute, Permuted};

/// One lane at a time, with kernels for one lane and kernels for any number.
pub(crate) const fn one_lane<E: Features, M128: Machine, M256: Machine>() -> Tables {
    const fn degrees<E: Features, M: Machine>() -> Degrees {
        Degrees { one: kernels::<E, M, 1>(), ..Degrees::all(kernels::<E, M, 0>()) }
    }
    Tables { aegis128: degrees::<E, M128>(), aegis256: degrees::<E, M256>() }
}

/// Zkne: a block in two general registers.
pub(crate) const fn scalar<E: Features, W: Word>() -> Tables {
    one_lane::<E, Aegis128<W, Scalar>, Aegis256<W, Scalar>>()
}

/// One lane at a time, with kernels for each degree.
pub(crate) const fn each_degree<E: Features, M128: Machine, M256: Machine>() -> Tables {
    const fn degrees<E: Features, M: Machine>() -> Degrees {
        Degrees {
            one: kernels::<E, M, 1>(),
            two: kernels::<E, M, 2>(),
            four: kernels::<E, M, 4>(),
            ..Degrees::all(kernels::<E, M, 0>())
        }
    }
    Tables { aegis128: degrees::<E, M128>(), aegis256: degrees::<E, M256>() }
}

/// 64-bit ARM with the AES extension. Long loops run on sums, which save the XORs after AES rounds,
/// but need more registers.
pub(crate) const fn adds_first<E: Features, A>() -> Tables
where
    A: Word<Blocks = A, Single = A> + Blocks<Lane = A> + AddsFirst,
{
    type A128<A> = Long<Aegis128<A, Free>, Aegis128<Sum<A>, Textbook>, Turns<8>>;
    type A256<A> = Long<Aegis256<A, Free>, Aegis256<Sum<A>, Textbook>, Turns<6>>;
    each_degree::<E, A128<A>, A256<A>>()
}

/// 64-bit ARM without it: byte shuffles.
pub(crate) const fn shuffles<E: Features, B: Permute<Lane: Permute<Lane = B::Lane>>>() -> Tables {
    each_degree::<E, Aegis128<Permuted<B>, Compact>, Aegis256<Permuted<B>, Compact>>()
}

/// IBM Z and WebAssembly: states in memory, one lane at a time.
pub(crate) const fn in_memory<E: Features, W: Loops<8> + Loops<6>>() -> Tables {
    const fn degrees<E: Features, M: Machine>(all: Degrees) -> Degrees {
        Degrees {
            two: all.two.with_message::<E, M, 2>(),
            four: all.four.with_message::<E, M, 4>(),
            ..all
        }
    }
    let Tables { aegis128, aegis256 } = each_degree::<E, InMemory<W, 8>, InMemory<W, 6>>();
    Tables {
        aegis128: degrees::<E, InMemory<W, 8>>(aegis128),
        aegis256: degrees::<E, InMemory<W, 6>>(aegis256),
    }
}

/// POWER: states in memory, two lanes at a time.
pub(crate) const fn in_memory_by_two<E: Features, W1, W2>() -> Tables
where
    W1: Loops<8> + Loops<6>,
    W2: Loops<8> + Loops<6>,
{
    const fn degrees<E: Features, M1: Machine, M2: Machine>() -> Degrees {
        Degrees {
            one: kernels::<E, M1, 1>(),
            two: kernels::<E, M2, 1>(),
            four: kernels::<E, M2, 2>().with_message::<E, M2, 2>(),
            ..Degrees::all(kernels::<E, M1, 0>())
        }
    }
    Tables {
        aegis128: degrees::<E, InMemory<W1, 8>, InMemory<W2, 8>>(),
        aegis256: degrees::<E, InMemory<W1, 6>, InMemory<W2, 6>>(),
    }
}

/// Bit planes: a machine each for one lane, for an even number of lanes and for four. Knowing the
/// degree at compile time gains nothing here.
pub(crate) const fn planes<E: Features, M1: Machine, M2: Machine, M4: Machine>() -> Degrees {
    Degrees {
        two: kernels::<E, M2, 0>(),
        four: kernels::<E, M4, 0>(),
        ..Degrees::all(kernels::<E, M1, 0>())
    }
}

/// Bit planes in vectors of 128 bits: every x86-64 CPU, and 32-bit ARM with NEON.
pub(crate) const fn planes_in_vectors<E: Features, R: Operations>() -> Tables
where
    [R; 1]: Row,
    [R; 2]: Row,
    [R; 4]: Row,
{
    Tables {
        aegis128: planes::<E, OneLane<R, 2>, BytePlanes<R, 2, 2, 2>, FourLanes128<R>>(),
        aegis256: planes::<E, OneLane<R, 1>, BytePlanes<R, 2, 2, 1>, FourLanes256<R>>(),
    }
}

/// Bit planes in general registers: every other CPU. Words of planes are as wide as a register.
pub(crate) const fn planes_in_words<E: Features>() -> Tables {
    const fn degrees<E: Features, const BLOCKS: usize>() -> Degrees {
        type Two<const BLOCKS: usize> = Bitsliced<u64, 2, BLOCKS>;
        type Four<const BLOCKS: usize> = Bitsliced<u64, 4, BLOCKS>;
        type Narrow<const BLOCKS: usize> = Bitsliced<u32, 4, BLOCKS>;
        if cfg!(target_family = "wasm") {
            // The registers have 64 bits, unlike pointers. Node and wasmtime take more than twice
            // as long for two lanes together.
            planes::<E, Two<BLOCKS>, Two<BLOCKS>, Two<BLOCKS>>()
        } else if cfg!(target_pointer_width = "64") {
            planes::<E, Two<BLOCKS>, Four<BLOCKS>, Four<BLOCKS>>()
        } else {
            planes::<E, Narrow<BLOCKS>, Narrow<BLOCKS>, Narrow<BLOCKS>>()
        }
    }
    Tables { aegis128: degrees::<E, 2>(), aegis256: degrees::<E, 1>() }
}
