//! Arithmetic in the GF(2^8) of AES, for tables that the compiler computes.

/// Multiplies two elements.
pub(crate) const fn mul(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ if a >> 7 == 1 { 0x1b } else { 0 };
        b >>= 1;
    }
    product
}

/// Returns `a` to the power of `n`.
pub(crate) const fn power(a: u8, n: usize) -> u8 {
    let (mut product, mut i) = (1, 0);
    while i < n {
        product = mul(product, a);
        i += 1;
    }
    product
}

/// Applies the linear part of the affine map of SubBytes.
pub(crate) const fn affine(a: u8) -> u8 {
    a ^ a.rotate_left(1) ^ a.rotate_left(2) ^ a.rotate_left(3) ^ a.rotate_left(4)
}

/// A generator of the multiplicative group of GF(16): the 17th power of 3, which generates that of
/// GF(2^8).
pub(crate) const GENERATOR: u8 = power(3, 17);

/// Returns the elements of GF(16) in the basis of the first powers of [`GENERATOR`].
pub(crate) const fn subfield() -> [u8; 16] {
    let mut elements = [0; 16];
    let mut n = 0;
    while n < 16 {
        let mut bit = 0;
        while bit < 4 {
            if n >> bit & 1 == 1 {
                elements[n] ^= power(GENERATOR, bit);
            }
            bit += 1;
        }
        n += 1;
    }
    elements
}
