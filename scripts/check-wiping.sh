#!/usr/bin/env bash
# Checks that nothing that depends on a secret is left on the stack when a call is over, nor in an object that was dropped, on every
# backend of this machine: crates/palladion-assurance/src/bin/wiping.rs. Shows first that it finds what is planted.
#
#   scripts/check-wiping.sh [BACKEND...]
#   CPU=aarch64 scripts/check-wiping.sh [BACKEND...]     for ARM under QEMU; needs what scripts/install-emulators.sh installs
set -euo pipefail
cd "$(dirname "$0")/.."
build=(build --quiet --locked --release -p palladion-assurance --bin wiping)
if [ -n "${CPU:-}" ] && [ "$CPU" != "$(uname -m)" ]; then
    . scripts/cross.sh
    cross_target "$CPU"
    cross_cargo "${build[@]}"
    wiping=("${qemu[@]}" "$(cross_directory)/release/wiping")
else
    CPU=$(uname -m)
    [ "$CPU" = x86_64 ] || [ "$CPU" = aarch64 ] || { echo "skipped: not on x86-64 or aarch64"; exit 0; }
    cargo "${build[@]}"
    wiping=("${CARGO_TARGET_DIR:-target}/release/wiping")
fi
if planted=$("${wiping[@]}" --plant) || [ "$(grep -c 'bytes that depend on secrets' <<<"$planted")" != 2 ]; then
    echo "$planted"
    echo "what was planted was not found" >&2
    exit 1
fi
"${wiping[@]}" "$@"
