//! The backend for every CPU: bitsliced, in general registers or in the vectors that the whole
//! crate is compiled for.

/// The machines: for one lane, for an even number of lanes, and for four lanes.
#[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"))]
mod machines {
    use crate::arch::x86::sse2::Xmm;
    use crate::soft::lanes;

    pub(crate) type OneLane<const BLOCKS: usize> = lanes::OneLane<Xmm, BLOCKS>;
    pub(crate) type TwoLanes<const BLOCKS: usize> = lanes::Lanes<Xmm, 2, 2, BLOCKS>;
    pub(crate) type FourLanes128 = lanes::FourLanes128<Xmm>;
    pub(crate) type FourLanes256 = lanes::FourLanes256<Xmm>;
}
#[cfg(not(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2")))]
mod machines {
    use crate::soft::bitsliced::Bitsliced;

    // Words of planes are as wide as a register. WebAssembly has 64-bit registers and 32-bit
    // pointers.
    #[cfg(any(target_pointer_width = "64", target_family = "wasm"))]
    mod words {
        use super::Bitsliced;
        pub(crate) type OneLane<const BLOCKS: usize> = Bitsliced<u64, 2, BLOCKS>;
        #[cfg(not(target_family = "wasm"))]
        pub(crate) type TwoLanes<const BLOCKS: usize> = Bitsliced<u64, 4, BLOCKS>;
        // Node and wasmtime take more than twice as long for two lanes together.
        #[cfg(target_family = "wasm")]
        pub(crate) type TwoLanes<const BLOCKS: usize> = OneLane<BLOCKS>;
    }
    #[cfg(not(any(target_pointer_width = "64", target_family = "wasm")))]
    mod words {
        use super::Bitsliced;
        pub(crate) type OneLane<const BLOCKS: usize> = Bitsliced<u32, 4, BLOCKS>;
        pub(crate) type TwoLanes<const BLOCKS: usize> = Bitsliced<u32, 4, BLOCKS>;
    }
    pub(crate) use words::{OneLane, TwoLanes};
    pub(crate) type FourLanes128 = TwoLanes<2>;
    pub(crate) type FourLanes256 = TwoLanes<1>;
}
use machines::{FourLanes128, FourLanes256, OneLane, TwoLanes};

// One set of kernels for each machine: knowing the degree at compile time gains nothing here.
crate::driver::table::tables! {
    scrub: 5120;
    aegis128: [OneLane<2>, 0; TwoLanes<2>, 0; FourLanes128, 0;] any OneLane<2>;
    aegis256: [OneLane<1>, 0; TwoLanes<1>, 0; FourLanes256, 0;] any OneLane<1>;
}
