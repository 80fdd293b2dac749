#!/usr/bin/env bash
# Tests TLS and QUIC with AEGIS: rustls with rustls, the examples, and the client of Zig's standard
# library with an axum server. Needs curl, and python3 with venv to install Zig from PyPI.
#
#   scripts/test-tls.sh
#   ZIG=/opt/zig/zig scripts/test-tls.sh      with another Zig 0.17
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --quiet --release -p palladion-rustls --features experimental-parallel # examples too
# A program that has a provider of rustls gets no second one.
if cargo tree --locked -p palladion-rustls --all-features -e normal,build --prefix none |
    grep -E '^(ring|aws-lc)'; then exit 1; fi
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
examples=$(scripts/built.sh -p palladion-rustls --features experimental-parallel --examples)
examples=$(dirname "${examples%%$'\n'*}")
tests=$PWD/crates/palladion-rustls/tests

work=$(mktemp -d)
cd "$work"
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT

for suite in 128l 256; do "$examples/quic_echo" "$suite"; done

if [ -z "${ZIG:-}" ]; then
    venv=$target/zig-0.17.1
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check ziglang==0.17.1
    ZIG=$(echo "$venv"/lib/python*/site-packages/ziglang/zig)
fi
# It compiles for this CPU: without AES instructions the client would prefer other suites.
"$ZIG" build-exe -O ReleaseSafe -femit-bin=zig-client "$tests/zig_client.zig"

# Starts the example server with these suites, if any, and waits until it listens.
serve() {
    "$examples/https_server" localhost.pem 127.0.0.1:0 "$@" > server.log 2>&1 &
    server=$!
    for _ in {1..100}; do
        url=$(sed -n 's/^\(https:[^ ]*\) .*/\1/p' server.log)
        [ -z "$url" ] || return 0
        sleep 0.1
    done
    cat server.log
    return 1
}

# Checks that the last connection used this suite, and stops the server.
used() {
    kill "$server"
    wait "$server" 2> /dev/null || true
    grep -q ": $1\$" server.log || { cat server.log; echo "$2 did not use $1"; exit 1; }
    echo "$2: $1"
}

for suite in TLS_AEGIS_128L_SHA256 TLS_AEGIS_256_SHA512; do
    serve "$suite"
    ./zig-client localhost.pem "$url"
    used "$suite" "Zig's client with only this suite"
    serve "$suite"
    "$examples/https_client" localhost.pem "127.0.0.1:${url##*:}"
    used "$suite" "rustls with only this suite"
done
if grep -qw aes /proc/cpuinfo; then
    serve
    ./zig-client localhost.pem "$url"
    used TLS_AEGIS_128L_SHA256 "Zig's client with all suites"
fi
serve
curl --silent --fail --cacert localhost.pem "$url"
used TLS13_AES_256_GCM_SHA384 "curl, which has no AEGIS,"
