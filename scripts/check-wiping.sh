#!/usr/bin/env bash
# Checks that nothing that depends on a secret is left on the stack when a call is over, nor in an object that was dropped, on every
# backend of this machine: crates/palladion-assurance/src/bin/wiping.rs. Shows first that it finds what is planted.
#
#   scripts/check-wiping.sh [BACKEND...]
set -euo pipefail
cd "$(dirname "$0")/.."
case $(uname -m) in x86_64 | aarch64) ;; *) echo "skipped: not on x86-64 or aarch64"; exit 0 ;; esac
cargo build --quiet --locked --release -p palladion-assurance --bin wiping
wiping=${CARGO_TARGET_DIR:-target}/release/wiping
if planted=$("$wiping" --plant) || [ "$(grep -c 'bytes that depend on secrets' <<<"$planted")" != 2 ]; then
    echo "$planted"
    echo "what was planted was not found" >&2
    exit 1
fi
"$wiping" "$@"
