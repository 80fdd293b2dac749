#!/usr/bin/env bash
# Checks that everything but the benchmarks compiles with the oldest supported compiler
# (rust-version in Cargo.toml).
#
#   .ci/test-msrv.sh [--exclude PACKAGE...]
#
# Needs rustup; installs that compiler if it can, and says so and stops if it cannot.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! rustup run "$version" rustc --version >/dev/null 2>&1; then
    rustup toolchain install "$version" --profile minimal >/dev/null 2>&1 ||
        { echo "skipped: Rust $version cannot be installed here" |
            tee -a "${PALLADION_SKIPPED:-/dev/null}"; exit 0; }
fi
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/msrv"
cargo "+$version" check --quiet --locked --all-features --workspace --exclude palladion-bench \
    --exclude palladion-rustls "$@"
cargo "+$version" check --quiet --locked -p palladion-rustls # without AWS-LC
echo "compiles with Rust $version"
