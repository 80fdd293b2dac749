#!/usr/bin/env bash
# Builds the wheels of the Python package, installs each into a fresh environment and runs its tests
# there, with what they compare with from PyPI; checks the types.
#
#   scripts/test-python.sh [--no-spark]
#
# WHEELS="py311" (or py39) makes and tests one of them. QUICK=1 makes the first, runs the tests that
# need no other library, and leaves the types out. S3=1 tests with a server of S3 too.
#
# Needs: python3 with venv (3.11 or later, so that both wheels can be tested), Rust; Java for Spark.
set -euo pipefail
cd "$(dirname "$0")/.."
package=$PWD/bindings/python
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$built/python
mkdir -p "$work"
spark=(pyspark)
[ "${1:-}" != --no-spark ] || spark=()
compared=(numpy pyarrow polars cryptography pyaegis==0.3.1 mypy pyright 'pandas>=3' pandas-stubs \
    'fsspec>=2025.10' 'dask[dataframe]' duckdb pillow "${spark[@]}")
[ -z "${S3:-}" ] || compared+=(s3fs 'moto[server]')
[ -z "${QUICK:-}" ] || compared=() WHEELS=py311

python=$work/venv/bin/python
[ -x "$python" ] || python3 -m venv "$work/venv"
"$python" -m pip install --quiet --disable-pip-version-check \
    'maturin>=1.16,<2' pytest 'hypothesis>=6' \
    "${compared[@]}"

echo "== The wheels"
rm -rf "$work/wheels"
palladion=$(scripts/built.sh -p palladion-cli)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
for pythons in ${WHEELS:=py39 py311}; do
    (cd "$package" && "$work/venv/bin/maturin" build --quiet --release --no-default-features \
        --features "$pythons" \
        --interpreter "$python" --out "$work/wheels" --target-dir "$built")
    ls "$work"/wheels/palladion-"$version"-"cp${pythons#py}"-abi3-*.whl
done

# The tests run beside the installed package, not beside the sources.
rm -rf "$work/run"
mkdir "$work/run"
cp -r "$package/tests" "$package/examples" "$package/README.md" "$package"/bench*.py "$work/run/"
export PALLADION_VECTORS=$PWD/vectors PALLADION_PROGRAM=$palladion
export PYTHONDONTWRITEBYTECODE=1
cd "$work/run"
install() {
    "$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
        "$work"/wheels/palladion-*-"$1"-abi3-*.whl
}

if [[ $WHEELS = *py39* ]]; then
    echo "== For Python 3.9 and later"
    install cp39
    timeout 300 "$python" -m pytest -q -p no:cacheprovider tests/test_vectors.py \
        tests/test_cipher.py
fi
[[ $WHEELS = *py311* ]] || exit 0

echo "== For Python 3.11 and later"
install cp311
"$python" "$package/../../scripts/python-docstrings.py" --check
if [ -n "${QUICK:-}" ]; then
    timeout 300 "$python" -X dev -m pytest -q -p no:cacheprovider \
        tests/test_{vectors,cipher,files,seek,failures,output,raf}.py
    exit
fi
timeout 600 "$python" -X dev -m pytest -q -p no:cacheprovider tests
[ -z "${S3:-}" ] || # without -X dev, in which aiohttp refuses what the server answers
    timeout 100 "$python" -m pytest -q -p no:cacheprovider tests/test_fsspec.py -k s3
(cd "$(mktemp -d)" && timeout 100 "$python" -m pytest -q -p no:cacheprovider \
    --doctest-glob=README.md "$work/run/README.md")
timeout 100 "$python" -m pytest -q -p no:cacheprovider --doctest-modules --pyargs palladion

echo "== Types"
"$python" -m mypy --strict -p palladion --no-error-summary
"$python" -m mypy.stubtest palladion --allowlist tests/stubtest-allowlist.txt
for version in 3.9 3.13; do
    "$work/venv/bin/pyright" --pythonversion "$version" --pythonpath "$python" --warnings \
        tests/typed_program.py
done
"$python" -m mypy --strict tests/typed_program.py
echo "passed"
