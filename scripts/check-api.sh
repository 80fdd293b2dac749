#!/usr/bin/env bash
# Compares the public API of the crates with api/, so that a review shows every change.
#
#   scripts/check-api.sh            compares, and fails where they differ
#   scripts/check-api.sh --bless    writes api/
#
# Compares the API with all features on x86-64 Linux. .ci/public-api/ prints it from rustdoc's JSON.
# The versions of the compiler and of that program are fixed, because the format changes. Needs
# rustup, and installs the compiler if it can. The first run takes half a minute. Before a release,
# `cargo semver-checks` reports changes that break users.
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=1.95.0
machine=x86_64-unknown-linux-gnu
target=${CARGO_TARGET_DIR:-$PWD/target}/api
out=api
[ "${1-}" = --bless ] || out=$target/now
mkdir -p "$out"

rustup run "$compiler" rustc --version >/dev/null 2>&1 ||
    rustup toolchain install "$compiler" --profile minimal >/dev/null 2>&1 ||
    {
        echo "skipped: Rust $compiler cannot be installed here" |
            tee -a "${PALLADION_SKIPPED:-/dev/null}"
        exit 0
    }

export CARGO_TARGET_DIR=$target
cargo "+$compiler" build --quiet --locked --manifest-path .ci/public-api/Cargo.toml
# rustdoc's JSON is unstable. This lets a stable compiler write it.
export RUSTC_BOOTSTRAP=1 RUSTDOCFLAGS="-Z unstable-options --output-format json --cap-lints allow"
for crate in palladion palladion-file palladion-output palladion-raf palladion-recipients \
    palladion-object-store; do
    cargo "+$compiler" doc --quiet --locked --target "$machine" --lib --no-deps --all-features \
        -p "$crate"
    "$target/debug/public-api-text" "$target/$machine/doc/${crate//-/_}.json" >"$out/$crate.txt"
done
[ "$out" = api ] || diff -u --recursive api "$out" ||
    { echo "the public API has changed; to accept that: scripts/check-api.sh --bless" >&2; exit 1; }
