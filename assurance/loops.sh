#!/usr/bin/env bash
# Checks the machine code of the hot loops of the x86-64 backends, compiled as anybody would; prints
# a table of them.
#
#   scripts/check-loops.sh
#
# Needs python3 and objdump. What is checked, and what the table says: scripts/check-loops.py --help
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the loops that are checked are those for x86-64"; exit 0; }
target=${CARGO_TARGET_DIR:-target}/loops
# With this mangling the names of the kernels tell the machine that each is for. The library has
# them all, because its tables refer to them.
RUSTFLAGS="${RUSTFLAGS:-} -C symbol-mangling-version=v0" \
    cargo build --quiet --release --locked -p palladion --lib --no-default-features --target-dir "$target"
assurance/loops.py "$target/release/libpalladion.rlib"
