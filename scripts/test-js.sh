#!/usr/bin/env bash
# Builds the JavaScript package, installs it as a user does into a folder of its own, and tests it
# there in Node, with each build of the WebAssembly: vectors, messages, files (also against the
# command line), the README's examples, the types.
#
#   scripts/test-js.sh [scalar|simd128|relaxed-simd ...]
#
# JS_FOLDER=FOLDER keeps what was installed, for further tests in a browser.
#
# Needs (Debian): nodejs npm, and for WebAssembly rustc-web cargo-web rust-web-src lld-19 (or the
# target wasm32-unknown-unknown from rustup); gets TypeScript from npm.
set -euo pipefail
cd "$(dirname "$0")/.."
type node npm >/dev/null
js=$PWD/bindings/js
folder=${JS_FOLDER:-$(mktemp -d)}
[ -n "${JS_FOLDER:-}" ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"

echo "== Build"
[ -x "$js/node_modules/.bin/tsc" ] || npm --prefix "$js" ci --silent
node "$js/build.mjs"
cargo build --quiet --release -p palladion-cli

echo "== Install"
rm -rf "$folder"/*
tarball=$(cd "$folder" && npm pack --silent "$js/pkg")
echo '{ "private": true, "type": "module" }' >"$folder/package.json"
(cd "$folder" && npm install --silent --no-audit --no-fund --no-save "./$tarball")
cp -r "$js/test" "$folder/test"
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
installed=$(cd "$folder" && node -p 'JSON.parse(fs.readFileSync("node_modules/@palladion/aegis/package.json")).version')
[ "$installed" = "$version" ] || { echo "the package has version $installed, the workspace $version" >&2; exit 1; }

echo "== Types"
# As an ES module in Node, and as bundlers resolve names; the package's declarations are checked
# too.
for resolution in "nodenext nodenext" "esnext bundler"; do
    read -r module names <<<"$resolution"
    (cd "$folder" && "$js/node_modules/.bin/tsc" --noEmit --strict --target es2022 --lib es2022,dom,dom.iterable,dom.asynciterable \
        --module "$module" --moduleResolution "$names" test/user.ts)
done

echo "== Tests"
PALLADION_ROOT=$PWD PALLADION_CLI=${CARGO_TARGET_DIR:-$PWD/target}/release/palladion node "$folder/test/run.mjs" "$@"
