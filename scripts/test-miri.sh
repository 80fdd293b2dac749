#!/usr/bin/env bash
# Miri: the core's tests of buffers and pieces under an interpreter that knows what is undefined in Rust (aliasing, provenance,
# uninitialised memory, alignment), on the portable backend, which is the only one that it can run.
#
#   scripts/test-miri.sh
#
# Needs: rustup's nightly with the component miri, which it tries to get. Where that cannot be had it says so, checks only that the
# code compiles as it does for Miri, and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/miri
# Fewer variants and cases: Miri takes a thousand times as long.
flags="--cfg palladion_test_reduced"
if ! cargo +nightly miri --version >/dev/null 2>&1 && ! timeout 120 rustup +nightly component add miri rust-src >/dev/null 2>&1; then
    RUSTFLAGS="$flags --cfg miri" cargo check --quiet -p palladion --all-features
    echo "skipped: the component miri cannot be had here (rustup +nightly component add miri rust-src); what it would run compiles"
    exit
fi
export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation"
RUSTFLAGS=$flags cargo +nightly miri test -p palladion --lib
RUSTFLAGS=$flags cargo +nightly miri test -p palladion --test all -- rfc:: within:: failure::
