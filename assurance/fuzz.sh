#!/usr/bin/env bash
# Fuzzes the library with AddressSanitizer, debug assertions and overflow checks: fuzz/fuzz_targets/
# has what is tried, fuzz/corpus/ where it begins. What reaches new code is kept in
# target/assurance/fuzz/new/ and is where the next run begins too. Prints a table of executions,
# edges and inputs; on a failure the input that causes it.
#
#   assurance/fuzz.sh [-s SECONDS] [TARGET...]       60 seconds for each target, two at a time
#   assurance/fuzz.sh --planted [TARGET...]          plants defects in the targets, one by one; each
#                                                    has to be found within two minutes
#   assurance/fuzz.sh --merge DIRECTORY TARGET       adds what reaches more code to the corpus
#
# Needs rustup's nightly, a C++ compiler, and cargo-fuzz, which it installs if absent.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.13.2
seconds=60 planted='' merge=''
while [ $# -gt 0 ]; do
    case $1 in
        -s) seconds=$2; shift 2 ;;
        --planted) planted=1; shift ;;
        --merge) merge=$2; shift 2 ;;
        -*) echo "unknown option: $1" >&2; exit 2 ;;
        *) break ;;
    esac
done
all=$(sed -n '/^\[\[bin\]\]/{n;s/^name = "\(.*\)"$/\1/p}' fuzz/Cargo.toml)
[ $# -gt 0 ] || set -- $all
for name; do
    grep -qx "$name" <<<"$all" || { echo "no target $name; there are" $all >&2; exit 2; }
done

rustup run nightly rustc --version >/dev/null ||
    { echo "needs: rustup toolchain install nightly"; exit 1; }
cargo fuzz --version 2>/dev/null | grep -q "$version" ||
    cargo install --quiet --locked cargo-fuzz --version $version
work=$PWD/target/assurance/fuzz
bin=$work/x86_64-unknown-linux-gnu/release
mkdir -p "$work"

# Comparisons are not traced, because inputs are choices and not bytes that are compared. 16 codegen
# units and no debug information compile faster than cargo-fuzz's defaults.
build() { # [TARGET]
    RUSTFLAGS="${RUSTFLAGS-} -Ccodegen-units=16 -Cdebuginfo=0" cargo +nightly fuzz build \
        --no-trace-compares --target-dir "$work" "$@" >"$work/build.log" 2>&1 ||
        { cat "$work/build.log"; exit 1; }
}
if [ "$*" = "$(xargs <<<"$all")" ]; then build; else for name; do build "$name"; done; fi

# Memory is bounded: a length that an input announces must not be allocated.
options=(-rss_limit_mb=2048 -malloc_limit_mb=256 -timeout=20 -max_len=1024 -len_control=10
    -print_final_stats=1)
# Begins with the committed corpus and what DIRECTORY has from earlier runs.
fuzz() { # TARGET SECONDS DIRECTORY
    mkdir -p "$3" "$work/artifacts/$1"
    [ ! -d "fuzz/corpus/$1" ] || cp -n "fuzz/corpus/$1"/* "$3/"
    "$bin/$1" "${options[@]}" "$3" -max_total_time="$2" -artifact_prefix="$work/artifacts/$1/" \
        >"$work/$1.log" 2>&1
}

if [ -n "$merge" ]; then
    kept=$(mktemp -d)
    mkdir -p "fuzz/corpus/$1"
    # As few inputs as reach all code. Of more than 60 the first ones, which reach the most.
    "$bin/$1" -set_cover_merge=1 -use_counters=0 "${options[@]}" "$kept" "fuzz/corpus/$1" \
        "$merge" >"$work/$1.log" 2>&1
    rm -f "fuzz/corpus/$1"/*
    ls -tr "$kept" | sed -n 1,60p | while read -r file; do mv "$kept/$file" "fuzz/corpus/$1/"; done
    rm -rf "$kept"
    echo "$1: $(ls "fuzz/corpus/$1" | wc -l) inputs"
    exit
fi

sources() { # TARGET: its source, and what it shares with tests
    echo "fuzz/fuzz_targets/$1.rs"
    sed -n 's|^#\[path = "../../\(.*\)"\]$|\1|p' "fuzz/fuzz_targets/$1.rs"
}
if [ -n "$planted" ]; then
    count=0
    for name; do
        for defect in $(sed -nE 's/.*\b(plant|planted)\("([a-z-]+)".*/\2/p' \
            $(sources "$name") | sort -u); do
            rm -rf "$work/planted"
            if PALLADION_FUZZ_PLANT=$defect fuzz "$name" 120 "$work/planted"; then
                echo "$name: the planted defect $defect was not found"
                exit 1
            fi
            count=$((count + 1))
        done
    done
    echo "$count planted defects were found"
    exit
fi

status=0 executions=0
declare -A process
for name; do
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do sleep 0.5; done
    fuzz "$name" "$seconds" "$work/new/$name" &
    process[$name]=$!
done
printf '%-10s %12s %8s %8s\n' target executions edges inputs
for name; do
    failed=0
    wait "${process[$name]}" || failed=1
    number() { sed -n "s/$1/\1/p" "$work/$name.log" | tail -1; }
    runs=$(number '^stat::number_of_executed_units: *\([0-9]*\)$')
    printf '%-10s %12s %8s %8s\n' "$name" "$runs" "$(number '^#.* cov: \([0-9]*\) .*')" \
        "$(number '^#.* corp: \([0-9]*\).*')"
    executions=$((executions + ${runs:-0}))
    if [ $failed = 1 ]; then
        status=1
        grep -v '^#' "$work/$name.log" | tail -40
        echo "$name FAILED; run it again: $bin/$name $(ls -t "$work/artifacts/$name"/* | head -1)"
    fi
done
[ $status = 0 ] && echo "$# targets, $executions executions: nothing found"
exit $status
