#!/usr/bin/env bash
# Runs the generic code of the kernels on symbols that stand for all values, and compares the
# results with FIPS 197 and RFC 10032 (crates/palladion/src/proof/). Takes a minute or two.
#
#   assurance/proof.sh [FILTER...]
set -euo pipefail
cd "$(dirname "$0")/.."
unset CARGO_PROFILE_RELEASE_LTO
RUSTFLAGS="${RUSTFLAGS:-} --cfg palladion_proof" \
    cargo test --quiet --locked --release -p palladion \
    --all-features --lib --target-dir target/assurance/proof -- "${@:-proof::}" | grep -v '^$'
