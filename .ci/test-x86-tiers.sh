#!/usr/bin/env bash
# Runs the core's tests on x86-64 CPUs of other classes, emulated: the backends there must be those
# that the CPU has, the first of them in use, and an instruction that the CPU lacks faults.
#
#   .ci/test-x86-tiers.sh [MODEL:BACKEND,BACKEND... ...]
#
# QEMU before 8.1 computes the upper half of a 256-bit VAESENC from the lower half of its input, so
# the first model, with VAES, must leave those backends out. test-avx512.sh emulates VAES right.
#
# Needs: qemu-x86_64 (Debian: qemu-user).
set -euo pipefail
cd "$(dirname "$0")/.."
# VAES; AES with AVX but not AVX2, AES with SSE only; without AES: AVX2, SSSE3, neither.
[ $# -gt 0 ] || set -- max:aesni-avx,aesni,avx2,ssse3,portable \
    SandyBridge:aesni-avx,aesni,ssse3,portable Westmere:aesni,ssse3,portable \
    Haswell,-aes:avx2,ssse3,portable core2duo:ssse3,portable qemu64:portable

palladion=$(scripts/built.sh -p palladion-cli)
tests=$(.ci/test-binaries.sh --lib --test vectors --test all --test backend)
export PALLADION_TEST_REDUCED=1
for tier; do
    model=${tier%:*} expected=${tier##*:}
    export PALLADION_TEST_EMULATOR="qemu-x86_64 -cpu $model"
    emulate() {
        $PALLADION_TEST_EMULATOR "$@" 2> >(grep -v "TCG doesn't support requested feature" >&2)
    }
    unset PALLADION_BACKEND
    listed=$(emulate "$palladion" backends)
    there=$(awk '$2 == "yes" { print $1 }' <<<"$listed" | paste -sd,)
    used=$(awk '$3 == "yes" { print $1 }' <<<"$listed")
    echo "== qemu-x86_64 -cpu $model: $there; in use: $used"
    [ "$there" = "$expected" ] && [ "$used" = "${expected%%,*}" ] ||
        { echo "expected $expected" >&2; exit 1; }
    for test in $tests; do
        # The backend in use only: the others have a tier of their own.
        unset PALLADION_BACKEND
        some=()
        case $test in
        */vectors-*) export PALLADION_BACKEND=$used; some=(ours::) ;;
        */all-*) export PALLADION_BACKEND=$used; some=(batch:: states::) ;;
        esac
        output=$(cd crates/palladion && emulate "$test" ${some[@]+"${some[@]}"} --test-threads=2) ||
            { echo "$output"; exit 1; }
        grep '^test result: ok. [1-9]' <<<"$output"
    done
done
