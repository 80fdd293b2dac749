//! The backend for every CPU: bitsliced, in general registers or in the vectors that the whole
//! crate is compiled for.

use crate::soft::{OneLane, TwoLanes};

/// The machines for four lanes.
#[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"))]
mod four_lanes {
    use crate::arch::x86::sse2::Xmm;
    use crate::soft::lanes::Lanes;

    pub(crate) type Aegis128 = Lanes<Xmm, 4, 2>;
    pub(crate) type Aegis256 = Lanes<Xmm, 3, 1>;
}
#[cfg(not(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2")))]
mod four_lanes {
    pub(crate) type Aegis128 = super::TwoLanes<2>;
    pub(crate) type Aegis256 = super::TwoLanes<1>;
}

// One set of kernels for each machine: knowing the degree at compile time gains nothing here.
crate::driver::table::tables! {
    scrub: 5120;
    aegis128: [OneLane<2>, 0; TwoLanes<2>, 0; four_lanes::Aegis128, 0;] any OneLane<2>;
    aegis256: [OneLane<1>, 0; TwoLanes<1>, 0; four_lanes::Aegis256, 0;] any OneLane<1>;
}
