#!/usr/bin/env bash
# Prints the names that the C library has to export, one a line: those that its headers declare.
set -euo pipefail
cd "$(dirname "$0")/../crates/palladion-capi/include"
grep -hoE '^(int|void|size_t) aegis[a-z0-9_]+\(' ./*.h | grep -oE 'aegis[a-z0-9_]+'
