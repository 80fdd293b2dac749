#!/usr/bin/env bash
# Tests the JavaScript package and the demo page in Chromium: the tests of scripts/test-js.sh with
# each build, from the installed package; how modules are loaded in pages; and the page, from a
# server and from a file, with files that go to the command line and come from it, by keyboard
# alone, and checked for accessibility; with large files, and with what can go wrong with them.
#
#   .ci/test-browser.sh
#   HEADED=1 xvfb-run .ci/test-browser.sh
#
# HEADED=1 shows the browser's windows.
# JS_FOLDER=FOLDER takes the package as scripts/test-js.sh built it and installed it there;
# CHROMIUM=PROGRAM is another browser than Debian's, which is installed (as root) if it is missing.
# Needs what scripts/test-js.sh needs; gets playwright-core, axe-core and esbuild from npm.
set -euo pipefail
cd "$(dirname "$0")/.."
js=$PWD/bindings/js
export CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
type "$CHROMIUM" >/dev/null 2>&1 || {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium >/dev/null
}

echo "== Build"
for module in playwright-core axe-core esbuild typescript; do
    [ -d "$js/node_modules/$module" ] || { npm --prefix "$js" ci --silent; break; }
done
folder=${JS_FOLDER:-}
if [ ! -d "$folder/node_modules/@palladion/aegis" ]; then
    [ -n "$folder" ] || { folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; }
    mkdir -p "$folder"
    node "$js/build.mjs"
    tarball=$(cd "$folder" && npm pack --silent "$js/pkg")
    echo '{ "private": true, "type": "module" }' >"$folder/package.json"
    (cd "$folder" && npm install --silent --no-audit --no-fund --no-save "./$tarball")
fi
palladion=$(scripts/built.sh -p palladion-cli)
node "$js/demo/build.mjs"

echo "== Tests in $("$CHROMIUM" --version --no-sandbox 2>/dev/null)"
export PALLADION_ROOT=$PWD PALLADION_CLI=$palladion
JS_FOLDER=$folder \
    node --test --test-concurrency=2 --test-reporter=spec "$js"/test/browser/*.test.mjs
