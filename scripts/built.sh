#!/usr/bin/env bash
# Builds programs with optimisation and prints their paths, one a line. Cargo says where they are:
# that depends on a target or a target directory in the environment or in cargo's settings.
#
#   scripts/built.sh -p palladion-cli
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --release --message-format=json-render-diagnostics "$@" |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
