#!/usr/bin/env bash
# Checks the dependencies, and that a release can be built again.
#
#   .ci/check-supply-chain.sh [PART...]     default: locks
#
#   locks         every workspace has a current lock file that names no source but crates.io
#   deny          licences, versions, sources and known defects (deny.toml); needs cargo-deny
#   minimal       the published crates compile with the oldest versions that they allow; needs a
#                 nightly cargo and a minute
#   reproducible  release builds in two places have the same bytes; takes minutes
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

die() { echo "$*" >&2; exit 1; }
skip() { echo "skipped: $*" | tee -a "${PALLADION_SKIPPED:-/dev/null}"; }
workspaces=$(git ls-files '*Cargo.toml' | xargs grep -l '^\[workspace\]' | xargs -n1 dirname)

locks() {
    local folder source='"registry+https://github.com/rust-lang/crates.io-index"'
    for folder in $workspaces; do
        git ls-files --error-unmatch "$folder/Cargo.lock" >/dev/null
        ! grep -H '^source = ' "$folder/Cargo.lock" | grep -vF "$source" ||
            die "$folder/Cargo.lock: a source that is not crates.io"
        # With --locked it changes nothing, and fails if there is something to change.
        cargo update --quiet --workspace --locked --manifest-path "$folder/Cargo.toml"
    done
    # The registry that is in use decides where packages come from.
    ! grep -H '"resolved"' $(git ls-files '*package-lock.json') ||
        die "package-lock.json: an address"
}

deny() {
    command -v cargo-deny >/dev/null || { skip "cargo-deny is not installed"; return; }
    local folder advisories=advisories
    cargo deny fetch db >/dev/null 2>&1 || { skip "no database of known defects"; advisories=; }
    for folder in $workspaces; do
        cargo deny --locked --manifest-path "$folder/Cargo.toml" --config deny.toml \
            --log-level error check -A unmatched-skip licenses bans sources $advisories
    done
}

minimal() {
    cargo +nightly --version >/dev/null 2>&1 || { skip "no nightly cargo"; return; }
    .ci/copy-checkout.sh "$work"
    cd "$work"
    # These are not published, or have examples that need newer versions.
    sed -i '/"crates\/palladion-\(bench\|rustls\)",/d; /"bindings\//d' Cargo.toml
    cargo +nightly update --quiet -Zdirect-minimal-versions
    CARGO_TARGET_DIR=$target/minimal cargo check --quiet --locked --all-features \
        -p palladion -p palladion-file -p palladion-output -p palladion-raf -p palladion-capi \
        -p palladion-recipients -p palladion-cli -p palladion-aegis -p palladion-object-store
}

reproducible() {
    local cargo_home=${CARGO_HOME:-$HOME/.cargo}
    # The paths have different lengths, and the crates of crates.io are elsewhere too.
    mkdir -p "$work/another/home"
    ln -s "$cargo_home"/* "$work/another/home/"
    .ci/copy-checkout.sh "$work/one"
    .ci/copy-checkout.sh "$work/another/place"
    export TARGETS
    TARGETS=$(rustc -vV | sed -n 's/^host: //p') # needs no other compiler
    CARGO_TARGET_DIR=$work/1 "$work/one/scripts/release.sh" command c
    CARGO_TARGET_DIR=$work/22 CARGO_HOME=$work/another/home \
        "$work/another/place/scripts/release.sh" command c
    diff -r "$work/1/release-build" "$work/22/release-build"
    for archive in "$work/1/release-build"/*; do
        tar -xf "$archive" -C "$work/1/release-build"
    done
    ! grep -rlaF -e "$work" -e "$cargo_home" "$work/1/release-build" ||
        die "these say where they were built"
}

set -- "${@:-locks}"
for part; do
    case $part in
    locks | deny | minimal | reproducible) ;;
    *) die "no part: $part" ;;
    esac
    ("$part")
    echo "$part: done"
done
