#!/usr/bin/env bash
# Tests by statistics whether times depend on secrets: timing/main.rs. Needs an idle machine: other
# load can hide a difference or look like one.
#
#   assurance/timing.sh [--samples N] [BACKEND...]    200 thousand samples each; 6 to 30 minutes
set -euo pipefail
cd "$(dirname "$0")/.."
unset CARGO_PROFILE_RELEASE_LTO # the code to check is the code that users get
[ "${1:-}" = --samples ] || set -- --samples 200000 "$@"
cargo build --quiet --locked --release --manifest-path assurance/Cargo.toml --bin timing \
    --target-dir target/assurance
target/assurance/release/timing "$@"
