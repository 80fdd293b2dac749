#!/usr/bin/env bash
# Compares the time of calls of the C library with libaegis from crate `aegis`, compiled by gcc and,
# if installed, the newest clang; see crates/palladion-capi/bench/calls.c. Then shows the time of
# the same calls from Rust. Runs on one core and needs a quiet machine.
#
#   crates/palladion-bench/measure-c.sh [-r ROUNDS] [-s SIZE,SIZE...] [-v VARIANT,...]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/measure-c
mkdir -p "$work"
make -s -C crates/palladion-capi install COMPAT=1 PREFIX="$work/ours" >/dev/null
manifest=crates/palladion-bench/peer-aegis/Cargo.toml
cargo fetch --quiet --locked --manifest-path "$manifest"
sources=$(cargo metadata --format-version 1 --locked --manifest-path "$manifest" |
    grep -o '"manifest_path":"[^"]*/aegis-[0-9.]*/Cargo.toml"' | head -1 |
    sed 's/.*:"//; s|/Cargo.toml"||')/src/c/libaegis/src
theirs=()
newest=$(compgen -c clang- | grep -xE 'clang-[0-9]+' | sort -V | tail -n 1) || newest=clang
for compiler in gcc "$newest"; do
    type "$compiler" >/dev/null 2>&1 || continue
    native=-mtune=native
    case $(uname -m) in x86_64) native+=' -maes' ;; esac
    find "$sources" -name '*.c' -print0 | xargs -0 "$compiler" -O3 $native -w -fPIC -shared \
        -I"$sources/include" -o "$work/libaegis-$compiler.so"
    theirs+=("$work/libaegis-$compiler.so")
done
cc -O2 -o "$work/calls" crates/palladion-capi/bench/calls.c -ldl
pin=()
type taskset >/dev/null 2>&1 && pin=(taskset -c 0)
"${pin[@]}" "$work/calls" "$@" "${theirs[@]}" "$work/ours/lib/libaegis.so"

# The same calls from Rust.
cargo build --quiet --release -p palladion --example calls
echo
"${pin[@]}" "${CARGO_TARGET_DIR:-target}/release/examples/calls"
