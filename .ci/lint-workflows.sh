#!/usr/bin/env bash
# Checks .github/workflows with actionlint, which it installs into target/ci. Needs Go.
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.7.12
tool=$PWD/target/ci/actionlint-$version
command -v go >/dev/null ||
    { echo "skipped: no Go for actionlint" | tee -a "${PALLADION_SKIPPED:-/dev/null}"; exit 0; }
[ -x "$tool/actionlint" ] ||
    GOBIN=$tool go install "github.com/rhysd/actionlint/cmd/actionlint@v$version"
"$tool/actionlint"
echo "the workflows are sound"
