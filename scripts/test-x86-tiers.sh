#!/usr/bin/env bash
# Runs the core's vectors on x86-64 CPUs of other classes, emulated: the choice of backend must follow the CPU, and an
# instruction that the CPU lacks faults.
#
#   scripts/test-x86-tiers.sh [MODEL:BACKEND ...]
#
# Not VAES: QEMU 7.2 computes the upper half of a 256-bit VAESENC from the lower half of its input. See test-avx512.sh.
#
# Needs: qemu-x86_64 (Debian: qemu-user).
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- Haswell:aesni-avx Westmere:aesni Nehalem:portable qemu64:portable

cargo build --quiet --release -p palladion-cli
palladion=${CARGO_TARGET_DIR:-target}/release/palladion
tests=$(scripts/test-binaries.sh --lib --test vectors)
for tier; do
    model=${tier%%:*} expected=${tier#*:}
    emulate() { qemu-x86_64 -cpu "$model" "$@" 2> >(grep -v "TCG doesn't support requested feature" >&2); }
    used=$(emulate "$palladion" backends | awk '$3 == "yes" { print $1 }')
    echo "== qemu-x86_64 -cpu $model: $used"
    [ "$used" = "$expected" ] || { echo "expected $expected" >&2; exit 1; }
    for test in $tests; do
        emulate "$test" --test-threads=2 | grep '^test result: ok'
    done
done
