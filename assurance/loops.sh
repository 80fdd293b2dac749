#!/usr/bin/env bash
# Checks in the machine code that the x86-64 kernels keep the state in registers: loops.py has the
# rules and prints a table of the hot loops. Needs python3 and objdump.
#
#   assurance/loops.sh
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "skipped: needs x86-64"; exit; }
unset CARGO_PROFILE_RELEASE_LTO # the code to check is the code that users get
# In v0 mangling the name of a kernel has the machine that it is for.
RUSTFLAGS="${RUSTFLAGS:-} -C symbol-mangling-version=v0" cargo build --quiet --release --locked \
    -p palladion --lib --no-default-features --target-dir target/assurance/loops
assurance/loops.py target/assurance/loops/release/libpalladion.rlib
