#!/usr/bin/env bash
# Prints the names that the C library has to export, one a line: those that its headers declare.
#
#   .ci/c-names.sh aegis|palladion      libaegis's names, or those of palladion*.h
set -euo pipefail
cd "$(dirname "$0")/../crates/palladion-capi/include"
grep -hE '^(int|void|size_t|uint64_t|const char|palladion_[a-z]+)[ *]' ./*.h |
    grep -oE "\\b$1[a-z0-9_]+\\(" | tr -d '('
