#!/usr/bin/env bash
# Builds libaegis as a shared library, to compare with, from crate `aegis`, which bundles it:
# FOLDER/libaegis.so.
#
#   .ci/peer-libaegis.sh FOLDER
set -euo pipefail
mkdir -p "$1"
folder=$(realpath "$1")
cd "$(dirname "$0")/.."
# Cargo compiles libaegis for another program. The shared library takes all of its object files.
cargo build --quiet --release --locked --features raf --target-dir "$folder/build" \
    --manifest-path crates/palladion-bench/peer-aegis/Cargo.toml
archive=$(find "$folder/build" -name 'libaegis.a' | head -1)
[ -n "$archive" ] || { echo "crate aegis has no libaegis.a" >&2; exit 1; }
cc -shared -o "$folder/libaegis.so" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive
