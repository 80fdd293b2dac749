#!/usr/bin/env bash
# AddressSanitizer checks every load and store of the library, on every backend of this machine:
# first in the core's tests of lengths, buffers, batches and pieces (with fewer variants, as for
# emulators), then in the C library, called from C with every buffer, key, nonce and state allocated
# exactly as long as it must be. In both, a planted read of one byte too many has to be found.
#
#   assurance/asan.sh
#
# Needs rustup's nightly on x86-64 Linux, and gcc with AddressSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-gnu
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "skipped: needs x86-64 Linux"; exit; }
rustup run nightly rustc --version >/dev/null ||
    { echo "needs: rustup toolchain install nightly"; exit 1; }
work=$PWD/target/assurance/asan
log=$work/log
mkdir -p "$work"
# One build of the core serves both halves.
export CARGO_TARGET_DIR=$work CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only
export RUSTFLAGS="-Zsanitizer=address --cfg palladion_test_reduced"
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1

# must_find COMMAND...: AddressSanitizer stops it at a read outside an allocation.
must_find() {
    if "$@" >"$log" 2>&1 || ! grep -q 'ERROR: AddressSanitizer: heap-buffer-overflow' "$log" ||
        ! grep -q '^READ of size' "$log"; then
        cat "$log"
        echo "a planted read of one byte too many was not found: $*"
        exit 1
    fi
}

cargo +nightly test --target $target -p palladion --all-features --test all --no-run 2>&1 |
    tee "$log" || { cat "$log"; exit 1; }
tests=$(sed -n 's/.*Executable.*(\(.*\))$/\1/p' "$log")
must_find "$tests" --ignored --exact bounds::one_byte_too_many
"$tests" -q bounds:: lengths:: within:: batch:: pieces:: failure:: historic::
backends=$("$tests" --ignored --exact bounds::backends_here --nocapture | sed -n 's/^backend: //p')
[ -n "$backends" ]

cargo +nightly rustc --quiet --target $target -p palladion-capi --crate-type staticlib
gcc -std=c99 -Wall -Wextra -Werror -O1 -g -fsanitize=address -Icrates/palladion-capi/include \
    crates/palladion-capi/tests/exact.c "$work/$target/debug/libaegis.a" -o "$work/exact" \
    -lpthread -ldl -lm
must_find "$work/exact" planted
for backend in $backends; do
    PALLADION_BACKEND=$backend "$work/exact"
done
echo "no access outside an allocation, in Rust and C, on" $backends
