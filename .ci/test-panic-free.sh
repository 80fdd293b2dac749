#!/usr/bin/env bash
# Checks that encryption, decryption and MACs in one call cannot panic: a program of these functions
# links although its panic handler calls a function that does not exist. Also shows that the core
# can be built for these machines.
#
#   .ci/test-panic-free.sh [cortex-m0|cortex-m3|cortex-m4|riscv32|x86_64|host ...]
#
# All six variants, at the optimisation levels that firmware uses (LEVELS, "3 z", for cortex-m4). On
# the host, every backend is linked. bare.sh says what bare machines need.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/bare.sh
[ $# -gt 0 ] || set -- cortex-m0 cortex-m4 riscv32 x86_64 host
functions=${variants// /,},encrypt,decrypt,mac

for cpu; do
    if [ "$cpu" = host ]; then
        target=$(rustc -vV | sed -n 's/^host: //p')
        # memcpy and its like come from the C library; nothing else of it is used.
        build() {
            (
                cd firmware
                export CARGO_TARGET_DIR=$built CARGO_PROFILE_RELEASE_OPT_LEVEL=$1
                export CARGO_PROFILE_RELEASE_LTO=false
                export RUSTFLAGS="-C link-arg=-nostartfiles -C link-arg=-lc"
                RUSTFLAGS+=" -C link-arg=-Wl,--gc-sections"
                cargo build --locked --quiet --release --target "$target" -p one-shot \
                    --features "$2"
            )
        }
        levels=3
    else
        bare_target "$cpu"
        build() { CARGO_PROFILE_RELEASE_OPT_LEVEL=$1 bare_cargo build -p one-shot --features "$2"; }
        levels=s
        [ "$cpu" != cortex-m4 ] || levels=${LEVELS-3 z}
    fi
    for level in $levels; do
        build "$level" "$functions" ||
            { echo "$target: something can panic, or does not build" >&2; exit 1; }
        echo "$target, opt-level $level: no panic"
    done
    # A planted panic must be found, with one function and at the last level.
    if errors=$(build "$level" aegis-128l,encrypt,planted-panic 2>&1); then
        echo "$target: a planted panic was not found" >&2
        exit 1
    elif ! grep -q 'undefined .*a_panic_can_be_reached' <<<"$errors"; then
        echo "$errors" >&2
        exit 1
    fi
done
