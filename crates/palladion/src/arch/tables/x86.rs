//! The tables for x86. `zen.rs` has what is different on AMD's cores.

use crate::block::{Blocks, Halves, Word};
use crate::driver::features::{Features, batch, kernels};
use crate::driver::kernels::{Degrees, Tables};
use crate::machine::order::{Compact, Free, ShortChain, ShortChainTernary};
use crate::machine::{Aegis128, Aegis256, Halfwise, Packed128, Twin256};

/// VAES with AVX-512.
pub(crate) const fn vaes_avx512<E: Features, M1, M2, M4>() -> Tables
where
    M1: Word<Blocks = M1, Single = M1> + Blocks<Lane = M1>,
    M2: Word<Blocks = M2, Single = M1> + Blocks<Lane = M1> + Halves,
    M4: Word<Blocks = M4, Single = M1> + Blocks<Lane = M1>,
{
    type Order = ShortChainTernary;
    Tables {
        aegis128: Degrees {
            one: kernels::<E, Packed128<M2>, 1>().with_batch::<E, 2>([
                batch::<E, Aegis128<M4, Order>>(),
                batch::<E, Aegis128<M2, Order>>(),
            ]),
            two: kernels::<E, Aegis128<M2, Order>, 1>(),
            four: kernels::<E, Aegis128<M4, Order>, 1>(),
            ..Degrees::all(kernels::<E, Aegis128<M1, Order>, 0>())
        },
        aegis256: Degrees {
            one: kernels::<E, Aegis256<M1, Order>, 1>().with_batch::<E, 2>([
                batch::<E, Aegis256<M4, Order>>(),
                batch::<E, Aegis256<M2, Order>>(),
            ]),
            two: kernels::<E, Aegis256<M2, Order>, 1>(),
            four: kernels::<E, Aegis256<M4, Order>, 1>(),
            ..Degrees::all(kernels::<E, Aegis256<M1, Order>, 0>())
        },
    }
}

/// VAES with AVX2.
pub(crate) const fn vaes_avx2<E: Features, V1, V2>() -> Tables
where
    V1: Word<Blocks = V1, Single = V1> + Blocks<Lane = V1>,
    V2: Word<Blocks = V2, Single = V1> + Blocks<Lane = V1> + Halves + Halfwise,
{
    Tables {
        aegis128: Degrees {
            one: kernels::<E, Packed128<V2>, 1>()
                .with_batch::<E, 1>([batch::<E, Aegis128<V2, ShortChain>>()])
                .wiping_after_batches(),
            two: kernels::<E, Aegis128<V2, ShortChain>, 1>(),
            four: kernels::<E, Aegis128<V2, ShortChain>, 2>(),
            ..Degrees::all(kernels::<E, Aegis128<V1, ShortChain>, 0>())
        },
        aegis256: Degrees {
            one: kernels::<E, Aegis256<V1, ShortChain>, 1>()
                .with_batch::<E, 1>([batch::<E, Aegis256<V2, ShortChain>>()])
                .wiping_after_batches(),
            two: kernels::<E, Aegis256<V2, ShortChain>, 1>(),
            four: kernels::<E, Twin256<V2>, 1>(),
            ..Degrees::all(kernels::<E, Aegis256<V1, ShortChain>, 0>())
        },
    }
}

// With AES-NI alone, two interleaved messages are slower than one after another (measured on a core
// with one AES unit), so there are no batch kernels.

/// AES-NI in the encoding of SSE: all degrees above 1 share kernels.
pub(crate) const fn aesni<E: Features, X1: Word>() -> Tables {
    Tables {
        aegis128: Degrees {
            one: kernels::<E, Aegis128<X1, Free>, 1>(),
            ..Degrees::all(kernels::<E, Aegis128<X1, Free>, 0>())
        },
        aegis256: Degrees {
            one: kernels::<E, Aegis256<X1, Free>, 1>(),
            ..Degrees::all(kernels::<E, Aegis256<X1, Free>, 0>())
        },
    }
}

/// AES-NI in the encoding of AVX.
pub(crate) const fn aesni_avx<E: Features, V1: Halfwise>() -> Tables {
    Tables {
        aegis128: Degrees {
            one: kernels::<E, Aegis128<V1, Free>, 1>(),
            two: kernels::<E, Aegis128<V1, Free>, 2>(),
            ..Degrees::all(kernels::<E, Aegis128<V1, Free>, 0>())
        },
        aegis256: Degrees {
            one: kernels::<E, Aegis256<V1, Free>, 1>(),
            two: kernels::<E, Twin256<V1>, 1>(),
            four: kernels::<E, Twin256<V1>, 2>(),
            ..Degrees::all(kernels::<E, Aegis256<V1, Free>, 0>())
        },
    }
}

// There are no kernels for single degrees: steps are much code, and a call costs little in
// comparison.

/// SSSE3: byte shuffles, one lane after the other.
pub(crate) const fn ssse3<E: Features, P1: Word>() -> Tables {
    let aegis128 = kernels::<E, Aegis128<P1, Compact>, 0>();
    let aegis256 = kernels::<E, Aegis256<P1, Compact>, 0>();
    Tables { aegis128: Degrees::all(aegis128), aegis256: Degrees::all(aegis256) }
}

/// AVX2: two lanes at once for degrees 2 and 4.
pub(crate) const fn avx2<E: Features, P2: Word, E1: Features, P1: Word>() -> Tables {
    let Tables { aegis128, aegis256 } = ssse3::<E1, P1>();
    let two128 = kernels::<E, Aegis128<P2, Compact>, 0>();
    let two256 = kernels::<E, Aegis256<P2, Compact>, 0>();
    Tables {
        aegis128: Degrees { two: two128, four: two128, ..aegis128 },
        aegis256: Degrees { two: two256, four: two256, ..aegis256 },
    }
}
