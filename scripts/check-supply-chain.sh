#!/usr/bin/env bash
# Checks what Palladion is built from, and that a build can be repeated.
#
#   scripts/check-supply-chain.sh [PART...]       all parts, or some of them:
#
#   locks          each workspace of the repository has a lock file that is current and names
#   crates.io alone; a second deny           licences, versions, sources of all dependencies
#   (deny.toml), and known defects if there is a database of them; installs
#                  cargo-deny, which takes minutes the first time
#   minimal        the published crates compile with the oldest versions of their dependencies that
#   Cargo.toml allows; a minute reproducible   two builds of a release in two places give the same
#   bytes; minutes sbom           the list of what is in the command is whole; installs
#   cargo-cyclonedx
#
# Each part plants defects and fails if it does not find them. Nothing is left but in target/. Needs
# Python 3.11; `minimal` needs a nightly cargo, and says so if there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}/supply-chain" && cd "${CARGO_TARGET_DIR:-target}/supply-chain" && pwd)
tools=$target/tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
deny_version=0.20.2

die() { echo "$*" >&2; exit 1; }

# The folders of the workspaces.
workspaces() { git ls-files --cached --others --exclude-standard '*Cargo.toml' | xargs grep -l '^\[workspace\]' | xargs -n1 dirname; }

# INSTALL CRATE VERSION: into $tools, compiled quickly rather than to be quick.
install() {
    local binary=$tools/bin/$1
    if ! { [ -x "$binary" ] && grep -q "\"$1 $2 " "$tools/.crates2.json"; }; then
        CARGO_TARGET_DIR=$target/$1 CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 \
            cargo install --quiet "$1" --version "$2" --locked --debug --root "$tools"
        rm -rf "${target:?}/$1"
    fi
}

# CHECKOUT: its lock files. (Where its failure is looked for, the shell does not stop at one by
# itself: hence `|| exit`.)
check_locks() (
    cd "$1" || exit 1
    for folder in $(cd "$root" && workspaces); do
        [ -e "$folder/Cargo.lock" ] || die "$folder: no Cargo.lock"
        ! grep -nH '^source = ' "$folder/Cargo.lock" | grep -v '"registry+https://github.com/rust-lang/crates.io-index"$' ||
            die "$folder/Cargo.lock: a source that is not crates.io"
        python3 - "$folder/Cargo.lock" <<'END' || exit 1
import sys, tomllib

lock = sys.argv[1]
packages = tomllib.load(open(lock, "rb"))["package"]
unchecked = [p["name"] for p in packages if "source" in p and "checksum" not in p]
if unchecked:
    sys.exit(f"{lock}: no checksum of {', '.join(unchecked)}")
END
        # (Resolves, and downloads nothing but the index. Last, so that no other source is asked.)
        cargo update --quiet --workspace --locked --manifest-path "$folder/Cargo.toml" 2>"$work/errors" ||
            die "$folder: $(cat "$work/errors")"
    done
    for lock in $(cd "$root" && git ls-files '*package-lock.json'); do
        python3 - "$lock" <<'END' || exit 1
import json, sys

for name, package in json.load(open(sys.argv[1]))["packages"].items():
    if "resolved" in package:
        sys.exit(f"{sys.argv[1]}: {name}: an address, where the registry that is in use should decide")
    if name and not package.get("link") and "integrity" not in package:
        sys.exit(f"{sys.argv[1]}: {name}: no checksum")
END
    done
)

locks() {
    local folder
    for folder in $(workspaces); do
        git ls-files --error-unmatch "$folder/Cargo.lock" >/dev/null || die "$folder/Cargo.lock is not committed"
    done
    check_locks "$root"
    # What must be found, each in a copy, which is right before.
    scripts/copy-checkout.sh "$work/copy"
    (check_locks "$work/copy") || die "a copy of the checkout is not like it"
    plant() { # NAME FILE SED-EXPRESSION WHAT-IT-SAYS
        sed -i "$3" "$work/copy/$2"
        ! cmp -s "$2" "$work/copy/$2" || die "nothing was planted in $2"
        ! (check_locks "$work/copy") >"$work/said" 2>&1 || die "not found: $1"
        grep -qE "$4" "$work/said" || { cat "$work/said" >&2; die "it failed for another reason: $1"; }
        git ls-files -z --cached --others --exclude-standard 'Cargo.*' '*/Cargo.*' '*package-lock.json' | xargs -0 cp --parents -t "$work/copy"
    }
    plant "a source that is not crates.io" Cargo.lock '0,/^source = .*/s//source = "registry+https:\/\/example.org\/index"/' \
        '^\./Cargo.lock: a source that is not crates.io'
    plant "a package without a checksum" firmware/Cargo.lock '0,/^checksum = .*/s///' '^firmware/Cargo.lock: no checksum of '
    plant "a lock file that is not current" Cargo.lock 's/^ "subtle",$//' '^\.: .*(lock file|--locked)'
    plant "another version of a member" Cargo.toml 's/^version = "0\.[0-9.]*"/version = "0.99.0"/' ': .*(lock file|--locked|version)'
    plant "an address" bindings/js/package-lock.json '0,/"integrity"/s//"resolved": "https:\/\/example.org\/x.tgz", "integrity"/' \
        'an address, where the registry'
    echo "locks: $(workspaces | wc -l) workspaces; five planted defects found"
}

run_deny() { # FOLDER CONFIG WHAT...
    local folder=$1 config=$2
    shift 2
    "$tools/bin/cargo-deny" --locked --manifest-path "$folder/Cargo.toml" --config "$config" --log-level error check --hide-inclusion-graph \
        -A unmatched-skip "$@"
}

deny() {
    install cargo-deny "$deny_version"
    local folder
    for folder in $(workspaces); do
        echo "== $folder"
        run_deny "$folder" deny.toml licenses bans sources
    done
    # A licence that is not allowed, a version that is there twice, and a dependency without one.
    planted() { # ERROR FOLDER CONFIG CHECK
        ! run_deny "$2" "$3" "$4" >"$work/said" 2>&1 || die "not found: $1"
        grep -q "^error\[$1\]" "$work/said" || { cat "$work/said" >&2; die "it failed for another reason: $1"; }
    }
    sed 's/"MIT", //' deny.toml >"$work/deny.toml"
    planted rejected . "$work/deny.toml" licenses
    sed '/embedded-hal@/d' deny.toml >"$work/deny.toml"
    planted duplicate firmware "$work/deny.toml" bans
    scripts/copy-checkout.sh "$work/wildcard"
    sed -i 's/^zeroize = .*/zeroize = "*"/' "$work/wildcard/crates/palladion-file/Cargo.toml"
    planted wildcard "$work/wildcard" deny.toml bans
    if run_deny . deny.toml --disable-fetch advisories >"$work/advisories" 2>&1 ||
        timeout 60 "$tools/bin/cargo-deny" --log-level error fetch db >/dev/null 2>&1; then
        for folder in $(workspaces); do
            run_deny "$folder" deny.toml --disable-fetch advisories
        done
        echo "deny: no known defects"
    else
        echo "skipped: no advisory database (cargo-deny takes it from GitHub)" | tee -a "${PALLADION_SKIPPED:-/dev/null}"
    fi
    echo "deny: licences, versions and sources of $(workspaces | wc -l) workspaces; three planted defects found"
}

published="-p palladion -p palladion-file -p palladion-raf -p palladion-capi -p palladion-cli"

# FOLDER: whether the published crates compile with the oldest versions.
compiles_with_oldest() (
    cd "$1" && cargo +nightly update --quiet -Zdirect-minimal-versions &&
        CARGO_TARGET_DIR=$target/minimal cargo check --quiet --locked --all-features $published
)

minimal() {
    cargo +nightly --version >/dev/null 2>&1 || { echo "skipped: no nightly cargo (rustup toolchain install nightly)" | tee -a "${PALLADION_SKIPPED:-/dev/null}"; return; }
    scripts/copy-checkout.sh "$work/minimal"
    # What is not published may want more.
    sed -i '/"crates\/palladion-bench",/d; /"bindings\//d' "$work/minimal/Cargo.toml"
    compiles_with_oldest "$work/minimal"
    cp "$work/minimal/crates/palladion-cli/Cargo.toml" "$work/before"
    sed -i 's/^rpassword = .*/rpassword = "5.0"/' "$work/minimal/crates/palladion-cli/Cargo.toml"
    ! cmp -s "$work/before" "$work/minimal/crates/palladion-cli/Cargo.toml" || die "nothing was planted"
    ! compiles_with_oldest "$work/minimal" >"$work/errors" 2>&1 || die "a version that is too old was not noticed"
    grep -q 'rpassword::' "$work/errors" || { cat "$work/errors" >&2; die "it failed for another reason"; }
    echo "minimal: the published crates compile with the oldest versions of what they ask for; a bound that is too low was noticed"
}

reproducible() {
    local place
    # Two places with names of different lengths, and the crates of crates.io in another place too.
    mkdir -p "$work/another/home"
    ln -s "${CARGO_HOME:-$HOME/.cargo}"/* "$work/another/home/"
    scripts/copy-checkout.sh "$work/one"
    scripts/copy-checkout.sh "$work/another/place"
    (cd "$work/one" && CARGO_TARGET_DIR=$work/one-target scripts/build-release.sh >/dev/null)
    (cd "$work/another/place" && CARGO_HOME=$work/another/home CARGO_TARGET_DIR=$work/another/target scripts/build-release.sh >/dev/null)
    local one=$work/one-target/release-build two=$work/another/target/release-build
    [ "$(wc -l <"$one/SHA256SUMS")" -gt 5 ] || die "hardly anything was built"
    diff -r "$one" "$two" || die "two builds differ"
    ! grep -rlaF -e "$work" -e "${CARGO_HOME:-$HOME/.cargo}" "$one" || die "these say where they were built"
    grep -E ' (palladion|libpalladion.*)$' "$one/SHA256SUMS"
    # What a comparison must see: a library that knows its place.
    for place in one another/place; do
        sed -i 's/concat!(env!("CARGO_PKG_VERSION"),/concat!(env!("CARGO_MANIFEST_DIR"),/' "$work/$place/crates/palladion-capi/src/extra.rs"
        ! cmp -s {,"$work/$place/"}crates/palladion-capi/src/extra.rs || die "nothing was planted"
    done
    (cd "$work/one" && CARGO_TARGET_DIR=$work/one-target ONLY_C=1 scripts/build-release.sh >/dev/null)
    (cd "$work/another/place" && CARGO_HOME=$work/another/home CARGO_TARGET_DIR=$work/another/target ONLY_C=1 scripts/build-release.sh >/dev/null)
    ! cmp -s "$one/libpalladion.so" "$two/libpalladion.so" || die "a planted path was not noticed by the comparison"
    grep -qaF "$work" "$one/libpalladion.so" || die "a planted path was not found"
    echo "reproducible: the same bytes from two places; a planted path was noticed"
}

sbom() {
    CARGO_TARGET_DIR=$target/sbom scripts/build-release.sh --sbom-only
    echo "sbom: names all that the command is built from"
}

parts=${*:-locks deny minimal reproducible sbom}
for part in $parts; do
    case $part in
    locks | deny | minimal | reproducible | sbom) ;;
    *) die "no part: $part" ;;
    esac
done
for part in $parts; do
    started=$SECONDS
    "$part"
    echo "$part: $((SECONDS - started)) s"
done
