//! The backend for every machine: one block in general registers, and the kernels of `bitsliced.rs` in the width of the
//! machine. Nothing depends on a secret but the values of bits.
//!
//! `--cfg palladion_portable="..."` in `RUSTFLAGS` asks for `"u32"` or `"u64"`, another width, or for `"repack"`, a state
//! that rests in blocks, to measure what keeping it bitsliced is worth.

#[cfg(palladion_portable = "repack")]
use super::aegis128::Aegis128;
#[cfg(palladion_portable = "repack")]
use super::aegis256::Aegis256;
use super::bitsliced::Bitsliced;
#[cfg(any(test, palladion_portable = "repack"))]
use super::blocks::Word;
use super::blocks::{Blocks, Vector, one_lane};
#[cfg(any(test, palladion_portable = "repack"))]
use super::sliced::Sliced;

/// One block, byte 0 in the lowest bits.
#[derive(Clone, Copy)]
pub(crate) struct Soft(u128);

// SAFETY: plain arithmetic; no branch or index depends on a value.
unsafe impl Vector for Soft {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

// SAFETY: likewise.
#[cfg(any(test, palladion_portable = "repack"))]
unsafe impl Word for Soft {
    type Blocks = Self;
    type Single = Self;

    #[inline(always)]
    fn new(blocks: Self) -> Self {
        blocks
    }
    #[inline(always)]
    fn blocks(self) -> Self {
        self
    }
    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        Self::rounds([self], [round_key])[0]
    }
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        let mut blocks = [Self(0); 8];
        for (block, input) in blocks.iter_mut().zip(input) {
            *block = input;
        }
        let blocks = rounds(blocks);
        let mut out = round_keys;
        for (out, block) in out.iter_mut().zip(blocks) {
            *out = out.xor(block);
        }
        out
    }
}

/// AESRound of eight blocks, without the round keys.
#[cfg(any(test, palladion_portable = "repack"))]
#[inline(never)]
fn rounds(blocks: [Soft; 8]) -> [Soft; 8] {
    OneLane::<2>::from_words(blocks).rounds().to_words()
}

// SAFETY: likewise.
unsafe impl Blocks for Soft {
    one_lane!();

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller grants 16 bytes; a byte array needs no alignment.
        Self(u128::from_le_bytes(unsafe { src.cast::<[u8; 16]>().read() }))
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: likewise.
        unsafe { dst.cast::<[u8; 16]>().write(self.0.to_le_bytes()) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(0)
    }
    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        debug_assert!(len <= 16);
        Self(if len < 16 { self.0 & ((1 << (8 * len)) - 1) } else { self.0 })
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(self.0 ^ (b.0 & c.0))
    }
}

#[cfg(any(
    palladion_portable = "u64",
    all(not(palladion_portable = "u32"), any(target_pointer_width = "64", target_family = "wasm"))
))]
mod machines {
    use super::Bitsliced;

    /// The machine for one lane, of AEGIS-128 with two `BLOCKS` of input a step, of AEGIS-256 with one.
    pub(crate) type OneLane<const BLOCKS: usize> = Bitsliced<u64, 2, BLOCKS>;
    /// The machine for an even number of lanes.
    #[cfg_attr(palladion_portable = "repack", expect(dead_code, reason = "it works on one lane"))]
    pub(super) type TwoLanes<const BLOCKS: usize> = Bitsliced<u64, 4, BLOCKS>;
}
#[cfg(not(any(
    palladion_portable = "u64",
    all(not(palladion_portable = "u32"), any(target_pointer_width = "64", target_family = "wasm"))
)))]
mod machines {
    use super::Bitsliced;

    /// The machine for one lane, of AEGIS-128 with two `BLOCKS` of input a step, of AEGIS-256 with one.
    pub(crate) type OneLane<const BLOCKS: usize> = Bitsliced<u32, 4, BLOCKS>;
    /// The machine for an even number of lanes.
    #[cfg_attr(palladion_portable = "repack", expect(dead_code, reason = "it works on one lane"))]
    pub(super) type TwoLanes<const BLOCKS: usize> = Bitsliced<u32, 4, BLOCKS>;
}
pub(crate) use machines::OneLane;
#[cfg(not(palladion_portable = "repack"))]
use machines::TwoLanes;

/// The machines for four lanes.
#[cfg(not(palladion_portable = "repack"))]
mod four_lanes {
    #[cfg(all(
        any(target_arch = "x86", target_arch = "x86_64"),
        target_feature = "sse2",
        not(any(palladion_portable = "u32", palladion_portable = "u64"))
    ))]
    mod machines {
        use crate::low::bitsliced_lanes::Lanes;
        use crate::low::sse2::Xmm;

        pub(crate) type Aegis128 = Lanes<Xmm, 4, 2>;
        pub(crate) type Aegis256 = Lanes<Xmm, 3, 1>;
    }
    #[cfg(not(all(
        any(target_arch = "x86", target_arch = "x86_64"),
        target_feature = "sse2",
        not(any(palladion_portable = "u32", palladion_portable = "u64"))
    )))]
    mod machines {
        use super::super::TwoLanes;

        pub(crate) type Aegis128 = TwoLanes<2>;
        pub(crate) type Aegis256 = TwoLanes<1>;
    }
    pub(super) use machines::{Aegis128, Aegis256};
}

// To know the degree at compile time saves nothing that counts here, so there is one set of kernels for each machine.
#[cfg(not(palladion_portable = "repack"))]
super::kernels::tables! {
    aegis128: [OneLane<2>, 0, leaves 5120; TwoLanes<2>, 0, leaves 5120; four_lanes::Aegis128, 0, leaves 5120; OneLane<2>, 0, leaves 5120;]
    aegis256: [OneLane<1>, 0, leaves 5120; TwoLanes<1>, 0, leaves 5120; four_lanes::Aegis256, 0, leaves 5120; OneLane<1>, 0, leaves 5120;]
}

// The state rests as blocks, which are taken apart into planes and put together again in every step.
#[cfg(palladion_portable = "repack")]
super::kernels::tables! {
    aegis128: [Aegis128<Soft>, 0, leaves 5120; Aegis128<Soft>, 0, leaves 5120; Aegis128<Soft>, 0, leaves 5120; Aegis128<Soft>, 0, leaves 5120;]
    aegis256: [Aegis256<Soft>, 0, leaves 5120; Aegis256<Soft>, 0, leaves 5120; Aegis256<Soft>, 0, leaves 5120; Aegis256<Soft>, 0, leaves 5120;]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aes_round_of_the_standard() {
        let input = Soft(u128::from_le_bytes(core::array::from_fn(|i| i as u8)));
        let round_key = Soft(u128::from_le_bytes(core::array::from_fn(|i| 0x10 + i as u8)));
        let expected = 0x7a7b_4e56_3878_2546_a8c0_477a_3b81_3f43_u128; // RFC 10032, appendix A.1
        assert_eq!(input.aes(round_key).0, expected.swap_bytes());
    }
}
