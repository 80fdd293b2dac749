//! AMD's Zen cores: the tables of other classes of CPUs, with what is faster there.

use super::x86;
use crate::block::{Blocks, Halves, Word};
use crate::driver::features::{Features, batch, kernels};
use crate::driver::kernels::{Degrees, Tables};
use crate::machine::long::{Absorbing, Long};
use crate::machine::order::{Free, ShortChain, ShortChainTernary, Zen, ZenOneLane, ZenTernary};
use crate::machine::{Aegis128, Aegis256, Halfwise, Packed128};

/// AES-NI with AVX.
pub(crate) const fn aesni_avx<E: Features, S: Features, X1: Word, V1: Halfwise>() -> Tables {
    let intel = x86::aesni_avx::<E, V1>();
    Tables {
        aegis128: Degrees {
            // `init` learns the context at run time. In the order for Zen it would lack a register
            // for that, and the compiler would put the key on the stack.
            one: kernels::<E, Aegis128<V1, ZenOneLane>, 1>()
                .with_init::<E, Aegis128<V1, Free>, 1>()
                .with_mac::<S, Aegis128<X1, Free>, 1>(),
            // For long data only: with two groups, short messages are slower.
            two: intel.aegis128.two.with_advance::<E, Aegis128<V1, ZenOneLane>, 2>(),
            ..intel.aegis128
        },
        aegis256: Degrees { one: kernels::<E, Aegis256<V1, Zen>, 1>(), ..intel.aegis256 },
    }
}

/// VAES with AVX2. One message of AEGIS-128L or AEGIS-256 is faster with one word per register.
pub(crate) const fn vaes_avx2<E: Features, A: Features, S: Features, X1, V1, V2>() -> Tables
where
    X1: Word,
    V1: Word<Blocks = V1, Single = V1> + Blocks<Lane = V1> + Halfwise,
    V2: Word<Blocks = V2, Single = V1> + Blocks<Lane = V1> + Halves + Halfwise,
{
    let (intel, avx) = (x86::vaes_avx2::<E, V1, V2>(), aesni_avx::<A, S, X1, V1>());
    Tables {
        aegis128: Degrees {
            one: avx
                .aegis128
                .one
                .with_batch::<E, 1>([batch::<E, Aegis128<V2, ShortChain>>()])
                .wiping_after_batches(),
            two: kernels::<E, Aegis128<V2, Zen>, 1>(),
            // For long data only. The code of whole messages would grow for a gain of 2 %.
            four: intel.aegis128.four.with_advance::<E, Aegis128<V2, Zen>, 2>(),
            ..intel.aegis128
        },
        aegis256: Degrees {
            one: avx
                .aegis256
                .one
                .with_batch::<E, 1>([batch::<E, Aegis256<V2, ShortChain>>()])
                .wiping_after_batches(),
            two: kernels::<E, Aegis256<V2, Zen>, 1>(),
            ..intel.aegis256
        },
    }
}

/// VAES with AVX-512: AEGIS-128X2 in another order, 3 % faster there, and long messages of
/// AEGIS-128L two at a time. Much data of AEGIS-128L is absorbed with one word per register, which
/// is 10 % faster.
pub(crate) const fn vaes_avx512<E: Features, M1, M2, M4>() -> Tables
where
    M1: Word<Blocks = M1, Single = M1> + Blocks<Lane = M1>,
    M2: Word<Blocks = M2, Single = M1> + Blocks<Lane = M1> + Halves,
    M4: Word<Blocks = M4, Single = M1> + Blocks<Lane = M1>,
{
    type Unpacked<M1, M2> = Long<Packed128<M2>, Aegis128<M1, ZenTernary>, Absorbing<24>>;
    let intel = x86::vaes_avx512::<E, M1, M2, M4>();
    Tables {
        aegis128: Degrees {
            one: kernels::<E, Unpacked<M1, M2>, 1>().with_batch::<E, 2>([
                batch::<E, Aegis128<M4, ShortChainTernary>>().up_to(640),
                batch::<E, Aegis128<M2, ShortChainTernary>>(),
            ]),
            two: kernels::<E, Aegis128<M2, ZenTernary>, 1>(),
            ..intel.aegis128
        },
        ..intel
    }
}
