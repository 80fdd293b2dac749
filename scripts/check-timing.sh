#!/usr/bin/env bash
# Whether times depend on secrets, by a statistical test: crates/palladion-assurance/src/bin/timing.rs. Shows first that it notices
# a comparison that ends early. For an idle machine, at night, and not for CI: what else the machine does can hide a difference, or look like one.
#
#   scripts/check-timing.sh [--samples N] [BACKEND...]        200 thousand samples each by default, a quarter of an hour
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --locked --release -p palladion-assurance --bin timing
timing=${CARGO_TARGET_DIR:-target}/release/timing
if "$timing" --plant; then echo "the planted comparison was not noticed" >&2; exit 1; fi
[ "${1:-}" = --samples ] || set -- --samples 200000 "$@"
"$timing" "$@"
