#!/usr/bin/env bash
# RAF files against pyaegis, which is libaegis: it reads, refuses and writes those of
# vectors/raf.txt as it should, and it and crate palladion-raf read what the other wrote, with all
# algorithms: files that were written at once, in pieces, made shorter and longer, and with derived
# keys; so does the command line. Merkle commitments are compared with those of the reference in
# reference/.
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
check() { "$python" .ci/pyaegis/check.py "$@"; }

check vectors vectors/raf.txt

PALLADION_RAF_DIR=$(mktemp -d)
export PALLADION_RAF_DIR
trap 'rm -rf "$PALLADION_RAF_DIR"' EXIT
check make "$PALLADION_RAF_DIR/pyaegis"
check check "$PALLADION_RAF_DIR/pyaegis"
cargo test --quiet --release --all-features -p palladion-raf --test all -- --ignored pyaegis::

# The same with the command line.
palladion=$(scripts/built.sh -p palladion-cli)
chmod 600 "$PALLADION_RAF_DIR"/pyaegis/*.key
count=0
for file in "$PALLADION_RAF_DIR"/pyaegis/*.raf; do
    name=${file%.raf} count=$((count + 1))
    "$palladion" raf cat --raw-key "$name.key" "$file" | cmp - "$name.txt"
    "$palladion" raf verify --raw-key "$name.key" --max-chunks 64 \
        --expect "$(cat "$name.commitment")" "$file" >/dev/null
done
echo "$count files of pyaegis are read by the command line, and their commitments are right"
for algorithm in AEGIS-128L AEGIS-128X2 AEGIS-128X4 AEGIS-256 AEGIS-256X2 AEGIS-256X4; do
    name=$PALLADION_RAF_DIR/palladion/import-$algorithm
    case $algorithm in AEGIS-128*) len=16 ;; *) len=32 ;; esac
    (umask 077 && head -c $len /dev/urandom >"$name.key")
    head -c 100000 /dev/urandom >"$name.txt"
    "$palladion" raf import --raw-key "$name.key" --algorithm $algorithm --chunk-size 4K \
        "$name.txt" "$name.raf"
done
check check "$PALLADION_RAF_DIR/palladion"
echo "pyaegis $version: all is as it should be"
