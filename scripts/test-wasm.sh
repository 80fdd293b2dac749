#!/usr/bin/env bash
# Runs the core's tests as WebAssembly, in Node and in wasmtime: all of them that need neither
# processes nor threads, with fewer variants and cases where they take long.
#
#   scripts/test-wasm.sh [scalar|simd128|relaxed-simd ...]
#
# ENGINES="node" or "wasmtime" selects one of them.
#
# Node 20 needs an option for relaxed SIMD. Its baseline compiler (Liftoff) miscompiles one
# instruction of it, so the tests turn that compiler off. An older Node has no relaxed SIMD; then
# only wasmtime tests it.
#
# Needs (Debian): rustc-web cargo-web rust-web-src clang-19 lld-19 wasi-libc nodejs python3-venv;
# gets wasmtime from PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/reduced.sh
[ $# -gt 0 ] || set -- scalar simd128 relaxed-simd
type clang-19 wasm-ld-19 node python3 >/dev/null
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/wasm
mkdir -p "$built"

stubs=$built/wasi-stubs.o
clang-19 --target=wasm32-wasi -O1 -Wall -c .ci/wasm/stubs.c -o "$stubs"
python=$built/venv/bin/python
"$python" -c 'import wasmtime' 2>/dev/null || {
    python3 -m venv "$built/venv"
    "$python" -m pip install --quiet 'wasmtime>=50,<60'
}
node_version=$(node --version)
node_major=${node_version#v} node_major=${node_major%%.*}

# The system's random numbers, in a browser.
for package in palladion palladion-file palladion-raf; do
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$built /usr/bin/cargo check --quiet \
        --locked -Zbuild-std=std,panic_abort --target wasm32-unknown-unknown -p $package \
        --features js
done

export CARGO_TARGET_WASM32_WASIP1_LINKER=wasm-ld-19
# Debian lacks Rust's own start code. The stack is as large as that of the native tests.
export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="$reduced_flags -C link-self-contained=no \
    -L native=/usr/lib/wasm32-wasi -C link-arg=/usr/lib/wasm32-wasi/crt1-command.o \
    -C link-arg=$stubs -C link-arg=-zstack-size=2097152"
for build; do
    node=(node --no-warnings)
    # For our own crate alone, so that the standard library and the other crates are built once.
    case $build in
    scalar) features='[]' ;;
    simd128) features='["-Ctarget-feature=+simd128"]' ;;
    relaxed-simd)
        features='["-Ctarget-feature=+simd128,+relaxed-simd"]'
        [ "$node_major" != 20 ] || node+=(--experimental-wasm-relaxed-simd --no-liftoff)
        ;;
    *) echo "unknown build: $build" >&2; exit 2 ;;
    esac
    for engine in ${ENGINES:-node wasmtime}; do
        case $engine in
        node) name="Node ${node_version#v}" runner="${node[*]} $PWD/.ci/wasm/node.mjs" ;;
        wasmtime) name=wasmtime runner="$python $PWD/.ci/wasm/wasmtime_run.py" ;;
        esac
        if [ "$engine $build" = "node relaxed-simd" ] && [ "$node_major" -lt 20 ]; then
            echo "== WebAssembly, $build: $name does not know it"
            continue
        fi
        echo "== WebAssembly, $build: $name"
        CARGO_TARGET_WASM32_WASIP1_RUNNER=$runner RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
            CARGO_TARGET_DIR=$built /usr/bin/cargo test --quiet --release \
            -Zbuild-std=std,panic_abort -Zbuild-std-features= --target wasm32-wasip1 \
            -p palladion --all-features --tests "${reduced[@]}" \
            -Zprofile-rustflags --config "profile.release.package.palladion.rustflags=$features"
    done
done
