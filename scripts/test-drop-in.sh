#!/usr/bin/env bash
# Compares palladion-aegis with crate `aegis`, which cargo downloads: the public API, crate aegis's
# own tests, random calls to both, and `[patch.crates-io]`.
#
#   scripts/test-drop-in.sh [PART...]     default: api own random patch
#   scripts/test-drop-in.sh turso s2      programs that use it: Turso, which takes long to compile,
#                                         with the databases of its npm package; s2's storage
#
# Needs no C compiler. If there is one, also compares random calls with crate aegis's implementation
# in C, the only one that has files with random access. `api` needs Rust 1.95, like
# scripts/check-api.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
ours=$root/crates/palladion-aegis
compiler=1.95.0
own_tests=190 # in crate aegis 0.9.20
features=raf,js,rustcrypto-traits-06
has_cc=$(command -v cc || true)
export CC=/bin/false CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/drop-in
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() { echo "skipped: $*" | tee -a "${PALLADION_SKIPPED:-/dev/null}"; }
compare() { cargo "$@" --locked --manifest-path "$ours/compare/Cargo.toml"; }
upstream=$(compare metadata --format-version 1 |
    sed 's|.*"manifest_path":"\([^"]*/aegis-0[^"/]*\)/Cargo.toml".*|\1|')
echo "compared with $(basename "$upstream")"

features_of() { # MANIFEST
    cargo metadata --format-version 1 --no-deps --manifest-path "$1" | python3 -c '
import json, sys
packages = {package["manifest_path"]: package for package in json.load(sys.stdin)["packages"]}
print(*sorted(packages[sys.argv[1]]["features"]), sep="\n")' "$1"
}

# Prints the public API of a crate without differences that do not affect users: the names of
# parameters and of private modules, `Self` for the name of a type, how an `Encryptor` is wiped.
api_of() { # MANIFEST
    RUSTC_BOOTSTRAP=1 RUSTDOCFLAGS="-Z unstable-options --output-format json --cap-lints allow" \
        cargo "+$compiler" doc --quiet --lib --no-deps --features $features --manifest-path "$1"
    "$CARGO_TARGET_DIR/debug/public-api-text" "$CARGO_TARGET_DIR/doc/aegis.json" |
        sed 's/TAG_SIZE/TAG_BYTES/g; s/aegis::c::raf/aegis::raf/; s/\(::clone(&self)\) -> .*/\1/' |
        grep -vE 'Drop for aegis::\w+::Encryptor|Encryptor<TAG_BYTES>::drop' | sort -u
}

api() {
    rustup run $compiler rustc --version >/dev/null 2>&1 || { skip "no Rust $compiler"; return; }
    cp -r "$upstream" "$work/upstream"
    rm "$work/upstream/build.rs" # it is documented, not built
    sed -i '/^build = /d' "$work/upstream/Cargo.toml"
    features_of "$work/upstream/Cargo.toml" >"$work/features"
    features_of "$ours/Cargo.toml" | diff "$work/features" -
    features_of "$root/crates/aegis/Cargo.toml" | diff "$work/features" -
    cargo "+$compiler" build --quiet --locked --manifest-path .ci/public-api/Cargo.toml
    api_of "$work/upstream/Cargo.toml" >"$work/upstream.txt"
    api_of "$ours/Cargo.toml" >"$work/ours.txt"
    diff "$work/upstream.txt" "$work/ours.txt"
    echo "api: the same $(wc -l <"$work/features") features and $(wc -l <"$work/ours.txt") items"
}

# Crate aegis's tests, compiled with our sources instead of its own. Some need private items.
own() {
    mkdir "$work/own"
    cp -r "$ours/src" "$upstream/tests" Cargo.lock "$work/own"
    cp -r "$upstream"/src/{{,stream_,incremental_}tests.rs,test-vectors} "$work/own/src"
    sed -i '/^#!\[no_std\]/d' "$work/own/src/lib.rs"
    {
        echo '#[cfg(test)] use palladion::MAX_LEN as MAX_AEAD_BYTES;'
        echo '#[cfg(test)] mod incremental_tests; #[cfg(test)] mod stream_tests; #[cfg(test)]'
        sed -n '/^mod basic_tests/,$p' "$upstream/src/lib.rs"
        for file in "$upstream"/src/compat/rustcrypto_traits_06/aegis*.rs; do
            echo "#[cfg(test)] mod compat_$(basename "$file" .rs) {"
            echo 'use crate::compat::rustcrypto_traits_06::*; use aead::*;'
            sed -n '/^#\[test\]/,$p' "$file"
            echo '}'
        done
    } >>"$work/own/src/lib.rs"
    {
        printf '[workspace]\n[package]\nname = "aegis"\nedition = "2024"\n'
        printf '[dev-dependencies]\nct-codecs = "1.1"\nserde_json = "1"\n'
        sed -n '/^\[features\]/,/^optional/p' "$ours/Cargo.toml" |
            sed "s|path = \"..|path = \"$root/crates|"
    } >"$work/own/Cargo.toml"
    (cd "$work/own" && cargo test --tests --features $features) >"$work/own.txt" 2>&1 || true
    passed=$(awk '/^test result:/ { n += $4 } END { print n + 0 }' "$work/own.txt")
    echo "own: $passed of $own_tests pass"
    [ "$passed" = $own_tests ] || { cat "$work/own.txt"; exit 1; }
}

random() {
    compare test --quiet --features pure-rust
    [ -n "$has_cc" ] || { skip "no C compiler, so no calls to crate aegis in C"; return; }
    CC=$has_cc compare test --quiet --features raf
}

# Prints a block of the recipe for an older version in docs/drop-in.md.
recipe() { # LANGUAGE
    sed -n '/^A dependency may demand/,/^\*\*In your own crate/p' "$root/docs/drop-in.md" |
        sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{//!p}"
}

# Replaces crate aegis with ours in a program that has it in its lock file, in all documented ways.
patch() {
    cd "$work"
    cargo new --quiet --vcs none program
    cd program
    echo 'aegis = "0.9"' >>Cargo.toml
    cat >src/main.rs <<'EOF'
fn main() {
    let message = aegis::aegis256x2::Aegis256X2::<32>::new(&[1; 32], &[2; 32]);
    let (ciphertext, tag) = message.encrypt(b"attack at dawn", b"header");
    assert_eq!(message.decrypt(&ciphertext, &tag, b"header").unwrap(), b"attack at dawn");
}
EOF
    cargo generate-lockfile --quiet
    printf '[patch.crates-io]\naegis = { path = "%s" }\n' "$root/crates/aegis" >>Cargo.toml
    cargo run --quiet
    cargo tree --quiet -i aegis | grep -F "($root/crates/aegis)"
    sed -i '/^aegis/d; /^\[patch/d' Cargo.toml
    echo "aegis = { package = \"palladion-aegis\", path = \"$ours\" }" >>Cargo.toml
    cargo run --quiet
    cargo tree --quiet | grep -F "($ours)"
    # The recipe for a dependency that demands an older version, as it is written. The copy gets the
    # checkout in place of the repository, which cargo cannot reach here.
    sed -i '/^aegis/d' Cargo.toml
    echo 'aegis = "=0.9.15"' >>Cargo.toml
    ln -s "$root" ../palladion
    recipe sh >"$work/recipe.sh"
    bash -euo pipefail "$work/recipe.sh"
    sed -i "s|git = \"https://github.com/palladion/palladion\"|path = \"$ours\"|" \
        aegis-0.9.15/Cargo.toml
    recipe toml >>Cargo.toml
    cargo run --quiet
    cargo tree --quiet -i aegis | grep -F "aegis v0.9.15 ($work/program/aegis-0.9.15)"
    cd "$root"
    cargo check --quiet -p palladion-aegis --no-default-features
    echo "patch: all ways work without a C compiler, and the crate compiles without std"
}

# Turso databases are written and read by crate aegis and by ours, in all four ways.
turso() {
    local who by
    mkdir -p "$work/turso/src"
    cp "$ours/compare/turso.rs" "$work/turso/src/main.rs"
    cd "$work/turso"
    cat >Cargo.toml <<'EOF'
[package]
name = "turso-databases"
edition = "2024"
[dependencies]
tokio = { version = "1", features = ["rt"] }
turso = { version = "=0.8.3", default-features = false }
EOF
    for who in theirs ours; do
        env -u CC cargo build --release --quiet # its other dependencies may need a C compiler
        cp "$CARGO_TARGET_DIR/release/turso-databases" "$work/$who"
        printf '[patch.crates-io]\naegis = { path = "%s" }\n' "$root/crates/aegis" >>Cargo.toml
    done
    for by in theirs ours; do
        mkdir "$work/by-$by"
        "$work/$by" write "$work/by-$by" "${MEGABYTES:-100}" | sed "s/^/$by: /"
        for who in theirs ours; do
            "$work/$who" read "$work/by-$by" "${MEGABYTES:-100}" | sed "s/^/$who, by $by: /"
        done
    done
    type npm >/dev/null 2>&1 || { skip "no npm"; cd "$root"; return; }
    # Turso's npm package, which has crate aegis compiled in. It has no aegis256x4.
    local ciphers="none aegis128l aegis128x2 aegis128x4 aegis256 aegis256x2"
    mkdir -p "$work/npm" "$work/by-npm" "$work/for-npm"
    cp "$ours/compare/turso.mjs" "$work/npm/"
    (cd "$work/npm" && npm install --silent --no-save @tursodatabase/database@0.7.2 2>/dev/null)
    node "$work/npm/turso.mjs" write "$work/by-npm" $ciphers >/dev/null
    "$work/ours" read "$work/by-npm" 1 $ciphers | sed "s/^/ours, by npm: /"
    "$work/ours" write "$work/for-npm" 1 $ciphers >/dev/null
    node "$work/npm/turso.mjs" read "$work/for-npm" $ciphers | sed "s/^/npm, by ours: /"
    cd "$root"
}

# The tests of s2's storage, which encrypts with AEGIS-256. It demands an older version.
s2() {
    mkdir -p "$work/fetch/src" "$work/s2"
    cd "$work/fetch"
    touch src/lib.rs
    printf '[package]\nname = "fetch"\n[dependencies]\ns2-storage = "=0.2.7"\n' >Cargo.toml
    cp -r "$(cargo metadata --format-version 1 |
        sed 's|.*"manifest_path":"\([^"]*/s2-storage-[^"/]*\)/Cargo.toml".*|\1|')/." "$work/s2"
    cp -r "$root/crates/aegis" "$work/aegis"
    sed -i "s|^version = .*|version = \"0.9.15\"|; s|\.\./palladion-aegis|$ours|" \
        "$work/aegis/Cargo.toml"
    cd "$work/s2"
    printf '[workspace]\n[patch.crates-io]\naegis = { path = "%s" }\n' "$work/aegis" >>Cargo.toml
    rm -f Cargo.lock
    env -u CC cargo test --quiet --release --lib | grep '^test result'
    cargo tree --quiet -i aegis | grep -F "($work/aegis)"
    cd "$root"
}

[ $# -gt 0 ] || set -- api own random patch
for part; do "$part"; done
