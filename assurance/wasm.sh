#!/usr/bin/env bash
# Proves what the kernels compiled to WebAssembly do: that they compute RFC 10032, that nothing
# secret decides their time, and which memory they use. machine-code/main.rs says how. The kernels
# are those of the three modules of the JavaScript package, and all of the crate. Finds planted
# defects first.
#
#   assurance/wasm.sh [FILTER...]
#
# Needs Debian's rustc-web, cargo-web, rust-web-src and lld-19, which scripts/install-emulators.sh
# installs.
set -euo pipefail
cd "$(dirname "$0")/.."
unset CARGO_PROFILE_RELEASE_LTO # the code to check is the code that users get
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/assurance")
cargo build --quiet --release --locked --manifest-path assurance/Cargo.toml -p machine-code \
    --target-dir "$target"

summary=
prove() { # MODULE FILTER...
    local log=${1%.wasm}.txt
    "$target/release/machine-code" "$1" "" "" "" quick "${@:2}" | tee "$log"
    summary+="${summary:+; }$(basename "$log" .txt): $(tail -n 1 "$log")"
}
bindings/js/build-wasm.sh >/dev/null
for build in scalar simd128 relaxed-simd; do
    cp bindings/js/wasm/$build.wasm "$target/js-$build.wasm"
    prove "$target/js-$build.wasm" "$@"
done

# The core without the standard library. All of it is linked, used or not.
made=$target/wasm32-unknown-unknown/release
for build in scalar: simd128:+simd128 relaxed-simd:+simd128,+relaxed-simd; do
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$target \
        RUSTFLAGS="-C symbol-mangling-version=v0" \
        /usr/bin/cargo rustc --quiet --release --locked --target wasm32-unknown-unknown \
        -p palladion --lib --no-default-features --crate-type rlib \
        -Zbuild-std=core -Zbuild-std-features= -Zprofile-rustflags --config \
        "profile.release.package.palladion.rustflags=[\"-Ctarget-feature=${build#*:}\"]"
    module=$target/${build%%:*}.wasm
    wasm-ld-19 --no-demangle --no-entry --no-gc-sections --stack-first --allow-undefined \
        -o "$module" --whole-archive "$made/libpalladion.rlib" \
        --no-whole-archive "$made"/deps/lib{subtle,zeroize,core,compiler_builtins}-*.rlib
    # The third module has the kernels of the second too.
    [[ $build != relaxed-* ]] || set -- R1 "$@"
    prove "$module" "$@"
done
echo "$summary"
