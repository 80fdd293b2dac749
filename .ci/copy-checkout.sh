#!/usr/bin/env bash
# Copies the checkout as it is, without what is ignored: for builds in another place, and for
# planting defects.
#
#   .ci/copy-checkout.sh FOLDER
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
# git also lists deleted files until the deletion is staged.
git ls-files -z --cached --others --exclude-standard |
    xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh |
    tar --null -T - -c | tar -x -C "$folder"
