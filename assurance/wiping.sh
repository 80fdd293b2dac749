#!/usr/bin/env bash
# Checks what SECURITY.md promises about wiping, on every backend of this machine: nothing that
# depends on a secret is left on the stack after a call on memory elsewhere, in an object that was
# dropped, or in memory that is given back (crates/palladion-assurance/src/bin/wiping/). Shows first
# that it finds what is planted.
#
#   scripts/check-wiping.sh [BACKEND...] CPU=aarch64 scripts/check-wiping.sh [BACKEND...]     for
#   ARM under QEMU; needs scripts/install-emulators.sh
set -euo pipefail
cd "$(dirname "$0")/.."
build=(build --quiet --locked --release --manifest-path assurance/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" --bin wiping)
if [ -n "${CPU:-}" ] && [ "$CPU" != "$(uname -m)" ]; then
    . scripts/cross.sh
    cross_target "$CPU"
    cross_cargo "${build[@]}"
    wiping=("${qemu[@]}" "$(cross_directory)/release/wiping")
else
    [ "$(uname -m)" = x86_64 ] || [ "$(uname -m)" = aarch64 ] || { echo "skipped: not on x86-64 or aarch64"; exit 0; }
    cargo "${build[@]}"
    wiping=("${CARGO_TARGET_DIR:-target}/release/wiping")
fi
found='copy of a key: .* on the stack,|destructor: .* in its own memory,|on the heap: .* given back,'
if planted=$("${wiping[@]}" --plant) || [ "$(grep -cE "$found" <<<"$planted")" != 3 ]; then
    echo "$planted"
    echo "what was planted was not found" >&2
    exit 1
fi
"${wiping[@]}" "$@"
