#!/usr/bin/env bash
# Builds test binaries of the core crate and prints their paths, one a line. Arguments go to `cargo test --no-run`.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --release --all-features -p palladion --no-run --message-format=json "$@" |
    python3 -c '
import json, sys
for line in sys.stdin:
    executable = json.loads(line).get("executable")
    if executable:
        print(executable)'
