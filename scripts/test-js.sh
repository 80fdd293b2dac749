#!/usr/bin/env bash
# Builds the JavaScript package and its native addon, installs them as a user does into a folder of
# their own, and tests them there in Node, with the addon and with each build of the WebAssembly:
# vectors, messages, files (also against the command line), the README's examples, the types, the
# package without the addon, and programs made by bundlers.
#
#   scripts/test-js.sh [native|scalar|simd128|relaxed-simd ...]
#
# JS_FOLDER=FOLDER keeps what was installed, for further tests in a browser. RUNTIMES=1 tests in
# Deno and Bun too, from their npm packages.
#
# Needs (Debian): nodejs npm, and for WebAssembly rustc-web cargo-web rust-web-src lld-19 (or the
# target wasm32-unknown-unknown from rustup); gets TypeScript and bundlers from npm.
set -euo pipefail
cd "$(dirname "$0")/.."
type node npm >/dev/null
js=$PWD/bindings/js
folder=${JS_FOLDER:-$(mktemp -d)}
[ -n "${JS_FOLDER:-}" ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"

echo "== Build"
[ -x "$js/node_modules/.bin/vite" ] || npm --prefix "$js" ci --silent
node "$js/build.mjs"
rm -rf "$js/npm"
node "$js/build.mjs" addon
palladion=$(scripts/built.sh -p palladion-cli)

echo "== Install"
rm -rf "$folder"/*
packages=()
for package in "$js/pkg" "$js"/npm/*; do
    packages+=("./$(cd "$folder" && npm pack --silent "$package")")
done
# Without the network, because the addons for other platforms need not exist.
install() { (cd "$folder" && npm install --silent --offline --no-audit --no-fund --no-save "$@"); }
echo '{ "private": true, "type": "module" }' >"$folder/package.json"
install "${packages[0]}"
cp -r "$js/test" "$folder/test"
# Falls back to WebAssembly, and says why.
used=$(cd "$folder" && node --input-type=module -e "
    import { currentBuild, init } from '@palladion/aegis';
    const reason = await init({ build: 'native' }).catch((error) => error.message);
    console.log(currentBuild(), reason.includes('is not installed'))")
[ "$used" = "simd128 true" ] || [ "$used" = "relaxed-simd true" ] ||
    { echo "without the addon: $used" >&2; exit 1; }
install "${packages[@]}"
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
installed=$(cd "$folder" && node \
    -p 'JSON.parse(fs.readFileSync("node_modules/@palladion/aegis/package.json")).version')
[ "$installed" = "$version" ] ||
    { echo "the package has version $installed, the workspace $version" >&2; exit 1; }
# As in the README: `npm install` names the archives in package.json, and `npm ci` installs them.
mkdir "$folder/saved"
echo '{ "private": true }' >"$folder/saved/package.json"
(cd "$folder/saved" && npm install --silent --offline --no-audit --no-fund \
    "${packages[@]/#/.}" && npm ci --silent --offline --no-audit --no-fund)
# Node 18 cannot require ES modules.
if node -e 'process.exit(process.features.require_module ? 0 : 1)'; then
    used=$(cd "$folder" && node --input-type=commonjs \
        -e "console.log(require('@palladion/aegis').currentBuild())" 2>/dev/null)
    [ "$used" = native ] || { echo "by require: $used" >&2; exit 1; }
fi

export PALLADION_ROOT=$PWD
echo "== Types"
node "$folder/test/types.mjs"

echo "== Bundlers"
node "$folder/test/bundlers/run.mjs"

echo "== Tests"
PALLADION_CLI=$palladion node "$folder/test/run.mjs" "$@"

[ -n "${RUNTIMES:-}" ] || exit 0
echo "== Deno and Bun"
# In a folder of their own: without --prefix, npm would install them in place of the package.
npm install --silent --no-audit --no-fund --no-save --prefix "$folder/runtimes" deno bun
runtimes=$folder/runtimes/node_modules/.bin
cd "$folder"
tests=(./test/{vectors,messages,files,arguments,streams,open,sources,answers,output}.test.mjs)
for build in native simd128; do
    export PALLADION_BUILD=$build
    "$runtimes/deno" test --quiet -A --no-check "${tests[@]}"
    # Bun gives a test 5 seconds, which a busy machine exceeds.
    "$runtimes/bun" test --timeout 120000 "${tests[@]}"
done
