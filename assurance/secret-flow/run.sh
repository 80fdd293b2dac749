#!/usr/bin/env bash
# Checks WebAssembly kernels: no branch, address, division or other instruction whose time varies
# depends on a secret. wasm.py describes the model.
#
#   assurance/secret-flow/run.sh wasm|wasm-all
#
#   wasm      the three modules of the JavaScript package; needs clang-19, lld-19, wabt, binutils,
#             python3 and what bindings/js/build-wasm.sh needs
#   wasm-all  these, and all kernels of the crate compiled to WebAssembly; also needs rustc-web,
#             cargo-web and rust-web-src
#
# scripts/install-emulators.sh installs the Debian packages.
#
# Each check first analyses planted.c. It fails unless every planted leak is found and every sound
# function is accepted.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=assurance/secret-flow
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/secret-flow")
mkdir -p "$target"

wasm() {
    clang-19 --target=wasm32 -O1 -ffreestanding -mbulk-memory -msimd128 -c -o "$target/planted.o" \
        $here/planted.c
    wasm-ld-19 --no-entry --export-all --allow-undefined --stack-first -o "$target/planted.wasm" \
        "$target/planted.o"
    python3 $here/wasm.py "$target/planted.wasm"
    bindings/js/build-wasm.sh >/dev/null
    python3 $here/wasm.py bindings/js/wasm/scalar.wasm AnyCpu
    python3 $here/wasm.py bindings/js/wasm/simd128.wasm Module
    python3 $here/wasm.py bindings/js/wasm/relaxed-simd.wasm Module
}

# The core without the standard library. All of it is linked, used or not.
wasm_all() {
    local build made=$target/wasm32-unknown-unknown/release module
    for build in scalar: simd128:+simd128 relaxed-simd:+simd128,+relaxed-simd; do
        RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$target \
            RUSTFLAGS="-C symbol-mangling-version=v0" \
            /usr/bin/cargo rustc --quiet --release --locked --target wasm32-unknown-unknown \
            -p palladion --lib --no-default-features --crate-type rlib \
            -Zbuild-std=core -Zbuild-std-features= -Zprofile-rustflags --config \
            "profile.release.package.palladion.rustflags=[\"-Ctarget-feature=${build#*:}\"]"
        module=$target/all-${build%%:*}.wasm
        wasm-ld-19 --no-demangle --no-entry --no-gc-sections --stack-first --allow-undefined \
            -o "$module" --whole-archive "$made/libpalladion.rlib" \
            --no-whole-archive "$made"/deps/lib{subtle,zeroize,core,compiler_builtins}-*.rlib
        python3 $here/wasm.py "$module" AnyCpu
    done
}

case ${1:-} in
wasm) wasm ;;
wasm-all) wasm; wasm_all ;;
*) echo "usage: $0 wasm|wasm-all" >&2; exit 2 ;;
esac
