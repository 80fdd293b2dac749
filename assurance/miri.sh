#!/usr/bin/env bash
# Miri runs every kind of call at a few lengths (crates/palladion/tests/all/small.rs) and reports
# undefined behaviour: aliasing, provenance, bounds, uninitialised memory, alignment. On x86-64 it
# knows the intrinsics of all backends but vaes-avx512, elsewhere only the portable backend. On each
# backend a planted read of one byte too many has to be found.
#
#   assurance/miri.sh [BACKEND...]     AES-NI takes half a minute, the others up to six
#
# Needs rustup's nightly with the components miri and rust-src.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! rustup +nightly component add miri rust-src >/dev/null 2>&1; then
    echo "skipped: cannot get Miri (rustup +nightly component add miri rust-src)" |
        tee -a "${PALLADION_SKIPPED:-/dev/null}"
    exit
fi
# Miri has no CPUID: the CPU is what the program is compiled for. Fewer variants and cases, because
# Miri is a thousand times slower.
export RUSTFLAGS="--cfg palladion_test_reduced" CARGO_TARGET_DIR=$PWD/target/assurance/miri
backends=portable
if [ "$(uname -m)" = x86_64 ]; then
    RUSTFLAGS+=" -C target-feature=+ssse3,+aes,+avx,+avx2,+vaes"
    backends="vaes-avx2 aesni-avx aesni avx2 ssse3 portable"
fi
export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation"
log=$CARGO_TARGET_DIR/log
mkdir -p "$CARGO_TARGET_DIR"
miri() {
    PALLADION_BACKEND=$backend cargo +nightly miri test --quiet -p palladion --all-features \
        --test all -- --exact "$@" >"$log" 2>&1
}
[ $# -gt 0 ] || set -- $backends
for backend; do
    if ! miri small::all_calls || ! grep -q '^test result: ok. 1 passed' "$log"; then
        cat "$log"
        exit 1
    fi
    if miri bounds::one_byte_too_many --ignored || ! grep -qE \
        'error: Undefined Behavior: .*(out-of-bounds|from the end of the allocation)' "$log"; then
        cat "$log"
        echo "$backend: a planted read of one byte too many was not found"
        exit 1
    fi
    echo "$backend: nothing undefined"
done
echo "nothing undefined on $*"
