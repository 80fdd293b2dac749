#!/usr/bin/env bash
# RAF files against pyaegis, which is libaegis: it reads, refuses and writes those of
# vectors/raf.txt as palladion-raf does. Apart from its nonces, a file's bytes do not depend on how
# it was written, so these stand for files that were written in pieces, cut and extended.
#
#   .ci/test-pyaegis.sh
#
# Needs (Debian): python3-venv python3-dev gcc; gets pyaegis from PyPI and compiles it.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.3.1
built=$(realpath -m "${CARGO_TARGET_DIR:-target}/pyaegis")
python=$built/bin/python
installed='from importlib.metadata import version; print(version("pyaegis"))'
if [ "$("$python" -c "$installed" 2>/dev/null)" != "$version" ]; then
    python3 -m venv "$built"
    "$python" -m pip install --quiet --disable-pip-version-check "pyaegis==$version"
fi
"$python" .ci/pyaegis_vectors.py vectors/raf.txt
echo "pyaegis $version: all is as it should be"
