#!/usr/bin/env bash
# Tests the core on a Cortex-M4 without a standard library or a heap. QEMU emulates the board
# (mps2-an386).
#
#   scripts/test-firmware.sh [telemetry|vectors|stack|size ...]
#
#   telemetry   the example, firmware/board/src/bin/telemetry.rs
#   vectors     all vectors of the six variants, and that a mistake in them is noticed
#   stack       prints how much stack each operation takes
#   size        prints how much code each variant (of VARIANTS) takes, at the optimisation levels
#               LEVELS ("3 z s")
#
# Needs (Debian): qemu-system-arm, binutils, and what bare.sh names. OPT_LEVEL=3 (or s, z) is for
# the first three.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/bare.sh
[ $# -gt 0 ] || set -- telemetry vectors stack size
type qemu-system-arm size >/dev/null || { echo "needs qemu-system-arm and binutils" >&2; exit 1; }
bare_target cortex-m4

# Runs a program, with a word as its argument.
run() {
    timeout 300 qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none \
        -semihosting-config "enable=on,target=native,arg=palladion${2:+,arg=$2}" \
        -kernel "$directory/$1" </dev/null
}

# Bytes of code and constants of a program with these functions.
bytes() {
    CARGO_PROFILE_RELEASE_OPT_LEVEL=$1 bare_cargo build -p one-shot --features "may-panic${2:+,$2}"
    size -A "$directory/one-shot" |
        awk '/^\.text|^\.rodata|^\.data/ { sum += $2 } END { print sum }'
}

for what; do
    echo "== $what"
    [ "$what" = size ] || CARGO_PROFILE_RELEASE_OPT_LEVEL=${OPT_LEVEL-s} bare_cargo build \
        -p palladion-firmware --bin "$what"
    case $what in
    telemetry | stack) run "$what" ;;
    vectors)
        run vectors
        if report=$(run vectors mistake 2>&1) || ! grep -q 'assertion .* failed' <<<"$report"; then
            echo "a mistake was not noticed: $report" >&2
            exit 1
        fi
        ;;
    size)
        # The size of one-shot encryption and decryption, and at the last level also with MACs and
        # encryption in pieces.
        read -ra levels <<<"${LEVELS-3 z s}"
        last=${levels[-1]}
        printf '%-12s' bytes
        printf '%12s' "${levels[@]/#/opt-level=}" "$last, all"
        echo
        declare -A nothing
        for level in "${levels[@]}"; do nothing[$level]=$(bytes "$level"); done
        for variant in ${VARIANTS-$variants}; do
            printf '%-12s' "${variant^^}"
            for level in "${levels[@]}"; do
                printf '%12d' $(($(bytes "$level" "$variant,encrypt,decrypt") - nothing[$level]))
            done
            all=$(bytes "$last" "$variant,encrypt,decrypt,mac,pieces")
            printf '%12d\n' $((all - nothing[$last]))
        done
        ;;
    *) echo "unknown: $what" >&2; exit 2 ;;
    esac
done
