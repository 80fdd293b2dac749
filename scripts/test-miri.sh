#!/usr/bin/env bash
# Miri: every kind of call at a few lengths (tests/all/small.rs), under an interpreter that knows what is undefined in Rust (aliasing,
# provenance, bounds, uninitialised memory, alignment), on the portable backend, which is the only one that it can run. At the end it
# is shown to fail when a program asks for one byte more than it has.
#
#   scripts/test-miri.sh
#
# Needs: rustup's nightly with the components miri and rust-src, which it tries to get. Where they cannot be had it says so, checks
# only that the code compiles as it does for Miri, and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/miri
work=$CARGO_TARGET_DIR
mkdir -p "$work"
# Fewer variants and cases: Miri takes a thousand times as long.
flags="--cfg palladion_test_reduced"
have() {
    local installed
    installed=$(rustup +nightly component list --installed 2>/dev/null) && grep -q '^miri' <<<"$installed" &&
        grep -q '^rust-src' <<<"$installed"
}
if ! have && ! timeout 60 rustup +nightly component add miri rust-src >/dev/null 2>&1; then
    RUSTFLAGS="$flags --cfg miri" cargo check --quiet -p palladion --all-features
    echo "skipped: the component miri cannot be had here (rustup +nightly component add miri rust-src); what it would run compiles"
    exit
fi
export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation" RUSTFLAGS=$flags
miri() { cargo +nightly miri test --quiet -p palladion --test all -- "$@"; }
miri small::
if miri --ignored --exact bounds::one_byte_too_many >"$work/planted.log" 2>&1; then
    echo "one byte too many was NOT noticed" >&2
    exit 1
fi
grep -q 'error: Undefined Behavior: .*out-of-bounds' "$work/planted.log" || { cat "$work/planted.log"; exit 1; }
echo "planted: one byte too many is noticed"
