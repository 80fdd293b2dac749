#!/usr/bin/env bash
# Builds test binaries of the core crate and prints their paths, one a line. Arguments go to `cargo
# test --no-run`. (Those that `cargo test --release --all-features` has built are not built again:
# for one package alone they would be.)
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --release --all-features --no-run --message-format=json "$@" |
    python3 -c '
import json, re, sys
for line in sys.stdin:
    artifact = json.loads(line)
    in_crate = re.search("/crates/palladion/", artifact.get("target", {}).get("src_path", ""))
    if artifact.get("executable") and in_crate:
        print(artifact["executable"])'
