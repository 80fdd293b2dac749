#!/usr/bin/env bash
# Runs the core's known answers, batches and kernels at all lengths (fewer of them) on the VAES
# backends where the machine has no VAES and AVX-512: on an Ice Lake that Bochs emulates. Takes
# about six minutes; says nothing about speed.
#
#   .ci/test-avx512.sh [BACKEND ...]
#
# Needs (Debian): bochs bochs-term bochsbios vgabios cpio python3 gcc libc6-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- vaes-avx512 vaes-avx2

run() { # BACKEND TEST FILTER...
    local output
    output=$(.ci/bochs/run.sh -t 1500 -e PALLADION_BACKEND="$1" -e PALLADION_TEST_REDUCED=1 \
        -e PALLADION_KNOWN_ANSWERS=- "${@:2}" --test-threads=1 --skip no_file_is_left_out |
        tr -d '\000\r') || { echo "$output"; exit 1; }
    # Lines of answers may begin in the middle of a line of the test harness.
    grep -ao $'known answers\t.*' <<<"$output" | cut -f 2- >>"${PALLADION_KNOWN_ANSWERS:-/dev/null}"
    echo "$output"
    grep -q 'test result: ok. [1-9]' <<<"$output"
}
vectors=$(.ci/test-binaries.sh --test vectors)
all=$(.ci/test-binaries.sh --test all)
for backend; do
    echo "== Bochs, Ice Lake: $backend"
    run "$backend" "$vectors"
    run "$backend" "$all" historic::the_vectors batch:: lengths::
done
