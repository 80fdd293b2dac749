#!/usr/bin/env bash
# Links the core into a program that has no standard library and no allocator, so that neither can
# have crept in.
#
#   .ci/test-no-std.sh
#
# The program is for the host, with the C library for its start code, memcpy and memset as the only
# thing beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat >"$work/Cargo.toml" <<EOF
[package]
name = "bare"
edition = "2024"
[dependencies]
palladion = { path = "$root/crates/palladion", default-features = false }
[profile.release]
panic = "abort"
[workspace]
EOF
cp Cargo.lock "$work/Cargo.lock"
cat >"$work/src/main.rs" <<'EOF'
#![no_std]
#![no_main]
use palladion::{Aegis128L, Aegis256X4, Key128, Key256, Nonce128, Nonce256};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// What the precompiled `core` refers to and nobody calls.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let mut buf = [1, 2, 3];
    let cipher = Aegis128L::<16>::new(&Key128::from([1; 16]));
    let Ok(tag) = cipher.encrypt_in_place(&Nonce128::default(), b"ad", &mut buf) else { return 1 };
    let decrypted = cipher.decrypt_in_place(&Nonce128::default(), b"ad", &mut buf, &tag);
    if decrypted.is_err() || buf != [1, 2, 3] {
        return 2;
    }
    let cipher = Aegis256X4::<32>::new(&Key256::from([1; 32]));
    let Ok(tag) = cipher.encrypt_in_place(&Nonce256::default(), b"ad", &mut buf) else { return 3 };
    let Ok(mut decryptor) = cipher.decryptor(&Nonce256::default(), b"da", &mut buf) else {
        return 4;
    };
    if decryptor.update(&[1]).is_err() || decryptor.finalize(&tag).is_ok() {
        return 5;
    }
    0
}
EOF
cd "$work"
CARGO_PROFILE_RELEASE_OPT_LEVEL=0 RUSTFLAGS="-C link-arg=-lc" cargo build --quiet --release \
    --target-dir "${CARGO_TARGET_DIR:-$root/target}/no-std"
"${CARGO_TARGET_DIR:-$root/target}/no-std/release/bare"
echo "the core works without std and alloc"
