#!/usr/bin/env bash
# Checks the machine code of all x86-64 kernels in the C library: no branch, no address, no division
# and no other instruction whose time varies depends on a secret. First shows that planted defects
# are found. scripts/secret-flow/domain.py explains how.
#
#   scripts/check-machine-code.sh
#
# Needs gcc, binutils, python3-venv, and PyPI for iced-x86, which decodes instructions.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "skipped: not on x86-64"; exit 0; }
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/machine-code")
mkdir -p "$target"
python=$target/venv/bin/python
"$python" -c "import iced_x86" 2>/dev/null || {
    python3 -m venv "$target/venv"
    "$target/venv/bin/pip" install --quiet --disable-pip-version-check iced-x86==1.21.0
}
follow() { "$python" scripts/secret-flow/x86.py "$@"; }

gcc -O1 -msse4.1 -mno-vzeroupper -fno-builtin -fno-stack-protector -fPIC -shared \
    -o "$target/planted.so" scripts/secret-flow/planted.c
follow "$target/planted.so"

cargo build --quiet --release --locked -p palladion-capi
follow "${CARGO_TARGET_DIR:-target}/release/libaegis.so" \
    aesni::sse aesni::avx vaes vaes512 ssse3 ssse3::avx2 portable functions
