#!/usr/bin/env bash
# RAF files against pyaegis, which is libaegis: it reads, refuses and writes those of vectors/raf.txt as it should, and it and
# crate palladion-raf read what the other wrote, with all algorithms: files that were written at once, in pieces, made shorter
# and longer, and with derived keys. Merkle commitments are compared with those of the reference in reference/.
#
#   scripts/test-pyaegis.sh
#
# Needs (Debian): python3-venv python3-dev gcc; gets pyaegis from PyPI and compiles it.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.3.1
built=$(realpath -m "${CARGO_TARGET_DIR:-target}/pyaegis")
python=$built/bin/python
if [ "$("$python" -c 'from importlib.metadata import version; print(version("pyaegis"))' 2>/dev/null)" != "$version" ]; then
    python3 -m venv "$built"
    "$python" -m pip install --quiet --disable-pip-version-check "pyaegis==$version"
fi
check() { "$python" scripts/pyaegis/check.py "$@"; }

check vectors vectors/raf.txt

PALLADION_RAF_DIR=$(mktemp -d)
export PALLADION_RAF_DIR
trap 'rm -rf "$PALLADION_RAF_DIR"' EXIT
check make "$PALLADION_RAF_DIR/pyaegis"
check check "$PALLADION_RAF_DIR/pyaegis"
cargo test --quiet -p palladion-raf --test pyaegis -- --ignored
check check "$PALLADION_RAF_DIR/palladion"
echo "pyaegis $version: all is as it should be"
