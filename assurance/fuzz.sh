#!/usr/bin/env bash
# Fuzzes the library with AddressSanitizer and debug assertions: fuzz/fuzz_targets/ has what is
# done, fuzz/corpus/ where it begins. At the end a table: executions, coverage (edges, and
# libFuzzer's features), the size of what was found worth keeping. If something fails, the path of
# an input that does it is printed, and the exit status is 1.
#
#   scripts/fuzz.sh [-s SECONDS] [TARGET...]    # 60 seconds for each target, two at a time
#   scripts/fuzz.sh --planted [TARGET...]       # does it find anything? Plants defects, one by one,
#   that each target has to find scripts/fuzz.sh --merge DIRECTORY TARGET    # adds to
#   fuzz/corpus/TARGET what of the DIRECTORY reaches more code JOBS=4 scripts/fuzz.sh ...
#   # four at a time
#
# What fuzzing finds is kept in target/fuzz/new/TARGET, and is where the next run begins, beside the
# corpus.
#
# Needs: rustup's nightly, a C and a C++ compiler, cargo-fuzz (installed if absent, which takes a
# minute).
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.13.2
seconds=60 planted= merge=
while [ $# -gt 0 ]; do
    case $1 in
        -s) seconds=$2; shift 2 ;;
        --planted) planted=1; shift ;;
        --merge) merge=$2; shift 2 ;;
        -*) echo "unknown: $1" >&2; exit 2 ;;
        *) break ;;
    esac
done
all=$(sed -n '/^\[\[bin\]\]/{n;s/^name = "\(.*\)"$/\1/p}' fuzz/Cargo.toml)
[ $# -gt 0 ] || set -- $all
targets=("$@")
for name; do grep -qx "$name" <<<"$all" || { echo "no target $name; there are" $all >&2; exit 2; }; done

rustup run nightly rustc --version >/dev/null 2>&1 || { echo "needs: rustup toolchain install nightly" >&2; exit 1; }
cargo fuzz --version 2>/dev/null | grep -q "$version" || cargo install --quiet --locked cargo-fuzz --version $version
work=$(realpath -m "${CARGO_TARGET_DIR:-target}/fuzz")
mkdir -p "$work"

build() { # those that were asked for
    local name each=("${targets[@]}")
    [ "${each[*]}" != "$(xargs <<<"$all")" ] || each=("") # all at once
    for name in "${each[@]}"; do build_one ${name:+"$name"}; done
}
build_one() {
    # (Comparisons are not traced: inputs are choices, and hold nothing that is compared with bytes.
    # It would take longer to compile. cargo-fuzz asks for one unit of code for each crate, which
    # would leave all but one core idle, and for numbers of lines, which panics have without.)
    [[ " ${targets[*]} " = *" libaegis "* ]] || set -- --no-default-features "$@" # which compiles C
    RUSTFLAGS="${RUSTFLAGS-} -Ccodegen-units=16 -Cdebuginfo=0" cargo +nightly fuzz build --no-trace-compares --target-dir "$work" "$@" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
}
bin=$work/x86_64-unknown-linux-gnu/release
# Memory is bounded: a length that an input announces must not be allocated.
options=(-rss_limit_mb=2048 -malloc_limit_mb=256 -timeout=20 -max_len=1024 -len_control=10 -print_final_stats=1)
fuzz() { # TARGET SECONDS CORPUS...
    local name=$1 for=$2 artifacts=${artifacts:-$work/artifacts/$1}
    shift 2
    mkdir -p "$artifacts" "$1"
    "$bin/$name" "${options[@]}" "$@" -max_total_time="$for" -artifact_prefix="$artifacts/" >"$work/$name.log" 2>&1
}

if [ -n "$merge" ]; then
    build
    kept=$(mktemp -d)
    mkdir -p "fuzz/corpus/$1"
    # As few as reach all code; if that is still more than 60, the 60 that are longest, which do
    # most.
    "$bin/$1" -set_cover_merge=1 -use_counters=0 "${options[@]}" "$kept" "fuzz/corpus/$1" "$merge" 2>&1 | grep -m 1 'MERGE-OUTER.*new files' || true
    rm -f "fuzz/corpus/$1"/*
    find "$kept" -type f -printf '%s %p\n' | sort -rn | awk 'NR <= 60' | while read -r _ file; do cp "$file" "fuzz/corpus/$1/"; done
    rm -rf "$kept"
    echo "$1: $(ls "fuzz/corpus/$1" | wc -l) inputs, $(cat "fuzz/corpus/$1"/* | wc -c) bytes"
    exit
fi

if [ -n "$planted" ]; then
    build
    for name; do
        for defect in $(sed -nE 's/.*\b(plant|planted|planted_of|spoiled)\("([a-z-]+)".*/\2/p' "fuzz/fuzz_targets/$name.rs" | sort -u); do
            # From nothing: not from a corpus that may contain what has to be found. What lies too
            # deep for that, from the corpus.
            for begin in nothing "the corpus"; do
                artifacts=$work/planted/$name/artifacts
                rm -rf "$work/planted/$name" && mkdir -p "$artifacts" "$work/planted/$name/new"
                [ "$begin" = nothing ] || cp "fuzz/corpus/$name"/* "$work/planted/$name/new/"
                found=1
                PALLADION_FUZZ_PLANT=$defect fuzz "$name" 120 "$work/planted/$name/new" -len_control=0 || break
                found=
            done
            [ -n "$found" ] || { echo "$name: the planted defect \"$defect\" was NOT found"; exit 1; }
            # It is this defect that was found if the input passes without it, and with it fails
            # again.
            input=$(ls "$artifacts"/crash-* 2>/dev/null) || { cat "$work/$name.log"; exit 1; }
            "$bin/$name" "$input" >"$work/$name.without.log" 2>&1 || {
                cat "$work/$name.without.log"
                echo "$name: what was found is not the planted defect \"$defect\": $input fails without it"
                exit 1
            }
            if PALLADION_FUZZ_PLANT=$defect "$bin/$name" "$input" >"$work/$name.with.log" 2>&1; then
                echo "$name: what was found is not the planted defect \"$defect\": $input passes with it"
                exit 1
            fi
            echo "$name: the planted defect \"$defect\" was found from $begin after $(grep -oE '^#[0-9]+' "$work/$name.log" | tail -1 | tr -d '#') executions or a little more: $(grep -oE "fuzz_targets/$name.rs:[0-9]+" "$work/$name.with.log" | head -1)"
        done
    done
    exit
fi

build
failed=0
one() { # TARGET: in the background
    local new=$work/new/$1
    mkdir -p "$new"
    [ ! -d "fuzz/corpus/$1" ] || cp -n "fuzz/corpus/$1"/* "$new/"
    fuzz "$1" "$seconds" "$new"
}
declare -A process
for name; do
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do sleep 0.5; done
    one "$name" &
    process[$name]=$!
done
printf '%-10s %12s %8s %8s %8s %8s\n' target executions seconds cov ft inputs
for name; do
    status=0
    wait "${process[$name]}" || status=$?
    last=$(grep -E '^#[0-9]+.* cov: ' "$work/$name.log" | tail -1)
    field() { sed -n "s/.* $1: \([0-9]*\).*/\1/p" <<<"$last"; }
    printf '%-10s %12s %8s %8s %8s %8s\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")" \
        "$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$work/$name.log")" "$(field cov)" "$(field ft)" "$(field corp)"
    if [ $status != 0 ]; then
        failed=1
        grep -vE '^#[0-9]+' "$work/$name.log" | tail -40
        echo "$name FAILED: $(ls -t "$work/artifacts/$name"/* 2>/dev/null | head -1); run it again: $bin/$name THAT-FILE"
    fi
done
exit $failed
