#!/usr/bin/env bash
# Compares the public API of the crates with what is written down in api/: a change must be meant,
# and seen by whoever reviews it.
#
#   scripts/check-api.sh                  compares, and fails where they differ scripts/check-api.sh
#   --bless          writes api/ anew scripts/check-api.sh --semver COMMIT  before a release: what
#   cargo-semver-checks says of the changes since then. (It installs
#                                         that, which takes minutes.)
#
# The API is that with all features on x86-64 Linux. It is printed by scripts/public-api/, from what
# rustdoc says of the source; both are of fixed versions, because that format changes. Needs rustup,
# and installs that compiler if it can. Takes half a minute, later less. At the end it makes the
# check of a copy whose API was changed, which must fail.
#
# (The C headers have scripts/make-headers.sh --check, the Python stubs and the TypeScript
# declarations are compared by the tests of their packages.)
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=1.95.0
crates="palladion palladion-file palladion-raf"
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}/api" && cd "${CARGO_TARGET_DIR:-target}/api" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${1-}" = --semver ]; then
    [ $# = 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
    git archive --prefix=baseline/ "$2" | tar -x -C "$work"
    version=0.51.0
    if ! cargo semver-checks --version 2>/dev/null | grep -q " $version\$"; then
        CARGO_TARGET_DIR=$target/semver-checks cargo install --quiet cargo-semver-checks --version "$version" --locked
    fi
    for crate in $crates; do
        CARGO_TARGET_DIR=$target cargo "+$compiler" semver-checks -p "$crate" --baseline-root "$work/baseline" --all-features
    done
    exit
fi

rustup run "$compiler" rustc --version >/dev/null 2>&1 ||
    rustup toolchain install "$compiler" --profile minimal >/dev/null 2>&1 ||
    { echo "skipped: Rust $compiler, whose rustdoc is read, cannot be installed here" | tee -a "${PALLADION_SKIPPED:-/dev/null}"; exit 0; }

CARGO_TARGET_DIR=$target/tool cargo "+$compiler" build --quiet --locked --manifest-path scripts/public-api/Cargo.toml

# FOLDER OUT CRATE...: the API of the crates of a checkout, each in a file of its own. (The
# compiler's JSON is not stable, so a stable compiler has to be told that it is wanted.)
api() {
    local folder=$1 out=$2 crate
    shift 2
    for crate in "$@"; do
        (cd "$folder" && RUSTC_BOOTSTRAP=1 RUSTDOCFLAGS="-Z unstable-options --output-format json --cap-lints allow" CARGO_TARGET_DIR=$target \
            cargo "+$compiler" doc --quiet --locked --target x86_64-unknown-linux-gnu --lib --no-deps --all-features -p "$crate")
        "$target/tool/debug/public-api-text" "$target/x86_64-unknown-linux-gnu/doc/${crate//-/_}.json" >"$out/$crate.txt"
        [ "$(wc -l <"$out/$crate.txt")" -gt 50 ] || { echo "$crate: hardly any API was found" >&2; exit 1; }
    done
}

mkdir "$work/now" "$work/planted"
api . "$work/now" $crates
if [ "${1-}" = --bless ]; then
    mkdir -p api
    cp "$work"/now/*.txt api/
    wc -l api/*.txt
    exit
fi
[ $# = 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
# OLD NEW: fails and shows the difference, if there is one.
compare() { diff -u --label "$1" --label "now" "$1" "$2"; }
failed=0
for crate in $crates; do
    compare "api/$crate.txt" "$work/now/$crate.txt" || failed=1
done
[ $failed = 0 ] || { echo "The public API has changed. If that is meant: scripts/check-api.sh --bless" >&2; exit 1; }

# The negative test: an item that is gone, an argument of another type, a trait that is gone.
scripts/copy-checkout.sh "$work/copy"
source=$work/copy/crates/palladion/src
plant() { # FILE SED-EXPRESSION
    cp "$source/$1" "$work/before"
    sed -i "$2" "$source/$1"
    ! cmp -s "$work/before" "$source/$1" || { echo "nothing was planted in $1" >&2; exit 1; }
}
plant lib.rs 's/^pub use error::{Error, MAX_LEN};/pub use error::Error;/'
plant any.rs 's/pub fn tag_len(&self) -> usize/pub fn tag_len(\&self) -> u32/'
plant algorithm.rs '/^impl core::error::Error for UnknownAlgorithm {}/d'
api "$work/copy" "$work/planted" palladion
compare api/palladion.txt "$work/planted/palladion.txt" >"$work/difference" && { echo "a changed API was not noticed" >&2; exit 1; }
for line in '^-pub const palladion::MAX_LEN: u64' '^-pub fn .*::tag_len(&self) -> usize' '^-impl core::error::Error for palladion::UnknownAlgorithm'; do
    grep -q "$line" "$work/difference" || { echo "not noticed: $line" >&2; cat "$work/difference" >&2; exit 1; }
done
echo "the public API is what api/ says ($(cat api/*.txt | wc -l) lines); three planted changes were noticed"
