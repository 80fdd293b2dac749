#!/usr/bin/env bash
# Tests a system without random bytes: the errors say so, and nothing is encrypted.
#
#   .ci/test-no-randomness.sh
#
# Builds the tests within two crates with a `getrandom` that always fails. Takes a minute or two.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/no-randomness
run() {
    RUSTFLAGS="${RUSTFLAGS:-} $1" cargo test --quiet --locked -p palladion -p palladion-file \
        --features palladion/getrandom --lib every_error:: -- --nocapture 2>&1
}

without=$(run '--cfg getrandom_backend="unsupported"') || { echo "$without" >&2; exit 1; }
if grep -E '^not here: (NoRandomness|Random):' <<<"$without"; then
    echo "the system's random bytes were not taken away" >&2
    exit 1
fi
grep -q '^not here: Cipher: nothing is encrypted without random bytes' <<<"$without" ||
    { echo "the tests did not run:" >&2; echo "$without" >&2; exit 1; }
echo "without random bytes: the errors say so"
