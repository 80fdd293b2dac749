#!/usr/bin/env bash
# Checks that nothing that depends on a secret is left on the stack when a call is over, nor in an object that was dropped, nor in memory
# that is given back, on every backend of this machine: crates/palladion-assurance/src/bin/wiping/. The C library is looked at too (but not
# on other CPUs than this machine's, unless with C=1: it takes a minute to compile). Shows first that it finds what is planted.
#
#   scripts/check-wiping.sh [BACKEND...]
#   CPU=aarch64 scripts/check-wiping.sh [BACKEND...]     for ARM under QEMU; needs what scripts/install-emulators.sh installs
set -euo pipefail
cd "$(dirname "$0")/.."
build=(build --quiet --locked --release -p palladion-assurance --no-default-features --bin wiping)
library=(build --quiet --locked --release -p palladion-capi)
if [ -n "${CPU:-}" ] && [ "$CPU" != "$(uname -m)" ]; then
    . scripts/cross.sh
    cross_target "$CPU"
    cross_cargo "${build[@]}"
    [ -z "${C:-}" ] || cross_cargo "${library[@]}"
    folder=$(cross_directory)/release
    wiping=("${qemu[@]}" "$folder/wiping")
else
    CPU=$(uname -m)
    [ "$CPU" = x86_64 ] || [ "$CPU" = aarch64 ] || { echo "skipped: not on x86-64 or aarch64"; exit 0; }
    cargo "${build[@]}"
    C=1
    cargo "${library[@]}"
    folder=${CARGO_TARGET_DIR:-target}/release
    wiping=("$folder/wiping")
fi
found='key, on the stack: .* on the stack,|key, on the heap: .* given back,|as an object: .* in its memory,'
if planted=$("${wiping[@]}" --plant) || [ "$(grep -cE "$found" <<<"$planted")" != 3 ]; then
    echo "$planted"
    echo "what was planted was not found" >&2
    exit 1
fi
"${wiping[@]}" ${C:+--library "$folder/libaegis.so"} "$@"
