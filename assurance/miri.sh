#!/usr/bin/env bash
# Miri: every kind of call at a few lengths (tests/all/small.rs), under an interpreter that knows
# what is undefined in Rust (aliasing, provenance, bounds, uninitialised memory, alignment), on
# every backend whose intrinsics it knows: on x86-64 all but vaes-avx512, elsewhere the portable
# one. For each it is shown to fail when the library is told of one byte more than there is.
#
#   scripts/test-miri.sh [BACKEND...]     AES-NI takes half a minute, VAES a minute and a half, the
#   others up to six
#
# Needs: rustup's nightly with the components miri and rust-src, which it tries to get. Where they
# cannot be had it says so, checks only that the code compiles as it does for Miri, and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/miri
mkdir -p "$CARGO_TARGET_DIR"
# Fewer variants and cases: Miri takes a thousand times as long. (It has no CPUID: the CPU is what
# the program is compiled for.)
flags="--cfg palladion_test_reduced"
backends=portable
if [ "$(uname -m)" = x86_64 ]; then
    flags+=" -C target-feature=+ssse3,+aes,+avx,+avx2,+vaes"
    backends="vaes-avx2 aesni-avx aesni avx2 ssse3 portable"
fi
have() {
    local installed
    installed=$(rustup +nightly component list --installed 2>/dev/null) && grep -q '^miri' <<<"$installed" &&
        grep -q '^rust-src' <<<"$installed"
}
if ! have && ! timeout 60 rustup +nightly component add miri rust-src >/dev/null 2>&1; then
    RUSTFLAGS="$flags --cfg miri" cargo check --quiet -p palladion --all-features --tests
    echo "skipped: the component miri cannot be had here (rustup +nightly component add miri rust-src); what it would run compiles" |
        tee -a "${PALLADION_SKIPPED:-/dev/null}"
    exit
fi
export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation" RUSTFLAGS=$flags
# BACKEND TEST...
miri() {
    local backend=$1
    shift
    PALLADION_BACKEND=$backend cargo +nightly miri test --quiet -p palladion --all-features --test all -- "$@"
}
[ $# -gt 0 ] || set -- $backends
for backend; do
    SECONDS=0
    log=$CARGO_TARGET_DIR/$backend.log
    miri "$backend" --exact small::all_calls >"$log" 2>&1 && grep -q '^test result: ok. 1 passed' "$log" || { cat "$log"; exit 1; }
    if miri "$backend" --ignored --exact bounds::one_byte_too_many >"$log" 2>&1; then
        echo "$backend: one byte too many was NOT noticed" >&2
        exit 1
    fi
    grep -qE 'error: Undefined Behavior: .*(out-of-bounds|from the end of the allocation)' "$log" || { cat "$log"; exit 1; }
    echo "$backend: nothing undefined; one byte too many is noticed ($SECONDS s)"
done
