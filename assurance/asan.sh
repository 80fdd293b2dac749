#!/usr/bin/env bash
# AddressSanitizer: every load and store of the library is checked against the memory that there is,
# on every backend that this machine has. First the core's tests of lengths, buffers, places,
# batches and pieces (fewer variants, as for emulators); then the C library, from C, with every
# buffer, key, nonce and state allocated just as long as it must be. Each half is shown to fail when
# a program asks for one byte more than it has.
#
#   scripts/test-asan.sh
#
# Needs: rustup's nightly for x86-64 Linux; gcc or clang (Debian: gcc, or clang-19 and
# libclang-rt-19-dev).
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-gnu
rustup run nightly rustc --version >/dev/null 2>&1 || { echo "needs: rustup toolchain install nightly" >&2; exit 1; }
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/asan
mkdir -p "$work"
# One build of the core serves both halves.
export CARGO_TARGET_DIR=$work CARGO_INCREMENTAL=0
export RUSTFLAGS="-Zsanitizer=address --cfg palladion_test_reduced" CARGO_PROFILE_DEV_DEBUG=line-tables-only
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1

echo "== the core's tests"
tests=$(cargo +nightly test --target $target -p palladion --all-features --test all --no-run 2>&1 | tee "$work/build.log" |
    sed -n 's/.*Executable.*(\(.*\))$/\1/p') || { cat "$work/build.log"; exit 1; }
[ -x "$tests" ] || { cat "$work/build.log"; exit 1; }
"$tests" -q bounds:: lengths:: within:: batch:: pieces:: failure:: historic::

# caught LOG COMMAND...: it has to end by AddressSanitizer, in a read.
caught() {
    local log=$1
    shift
    if "$@" >"$log" 2>&1; then
        echo "one byte too many was NOT noticed: $*" >&2
        exit 1
    fi
    grep -q 'ERROR: AddressSanitizer: heap-buffer-overflow' "$log" && grep -q '^READ of size' "$log" || { cat "$log"; exit 1; }
}
# in_library LOG PROGRAM: a function of the library is among those that were called. (The name of
# the test's own file has that of the library in it. A sanitizer that does not find an
# llvm-symbolizer of its liking gives places instead of names.)
in_library() {
    local names='palladion(::|_capi|[0-9]+(arch|driver|memory))' places
    ! grep -qE "#[0-9]+ .*$names" "$1" || return 0
    places=$(sed -nE "s|.*#[0-9]+ .*\($2\+(0x[0-9a-f]+)\).*|\1|p" "$1")
    [ -n "$places" ] && addr2line -f -e "$2" $places | grep -E "$names" >/dev/null
}
backends=$("$tests" --ignored --exact bounds::backends_here --nocapture | sed -n 's/^backend: //p')
[ -n "$backends" ]
for backend in $backends; do
    PALLADION_BACKEND=$backend caught "$work/planted.log" "$tests" --ignored --exact bounds::one_byte_too_many
    grep -qE 'palladion::(arch|driver)' "$work/planted.log" || { cat "$work/planted.log"; exit 1; }
done
echo "planted: one byte too many is noticed, in the library's code, with each of" $backends

echo "== the C library"
cargo +nightly rustc --quiet --target $target -p palladion-capi --crate-type staticlib
compilers=
for compiler in gcc clang-19; do
    # (clang may be there without its runtime.)
    type $compiler >/dev/null 2>&1 && $compiler -fsanitize=address -x c - -o "$work/empty" <<<'int main(void) { return 0; }' 2>/dev/null || continue
    $compiler -std=c99 -Wall -Wextra -Werror -O1 -g -fsanitize=address -Icrates/palladion-capi/include \
        crates/palladion-capi/tests/exact.c "$work/$target/debug/libaegis.a" -o "$work/exact-$compiler" -lpthread -ldl -lm
    for backend in $backends; do
        PALLADION_BACKEND=$backend "$work/exact-$compiler"
        PALLADION_BACKEND=$backend caught "$work/planted.log" "$work/exact-$compiler" planted
        in_library "$work/planted.log" "$work/exact-$compiler" || { cat "$work/planted.log"; exit 1; }
    done
    compilers+=" $compiler"
    echo "$compiler: nothing is read or written outside, on" $backends "; planted: one byte too many is noticed with each"
done
[ -n "$compilers" ] || { echo "no compiler with AddressSanitizer" >&2; exit 1; }
