#!/usr/bin/env bash
# The command line under load and faults: full disks, system calls that fail, inputs that change,
# signals at any moment, many at once, little memory. What is checked after each run, and the
# planted commands that must be caught: scripts/faults.py --help
#
#   scripts/test-faults.sh [PALLADION] [--seed N] [--only PART,...]
#
# Takes a minute or two on two cores; LONG=1, with every system call and error, a quarter of an
# hour. Needs Linux, python3 and strace (on Debian as root it is installed), and a right to mount
# for full disks of every size (else limits on the size of files).
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -s)" = Linux ] || { echo "skipped: needs Linux"; exit 0; }
if ! command -v strace >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get install -qq -y strace >/dev/null || { apt-get update -qq && apt-get install -qq -y strace >/dev/null; }
    fi
    command -v strace >/dev/null || { echo "strace is missing" >&2; exit 1; }
fi
if [ $# -gt 0 ] && [ -x "$1" ]; then
    palladion=$1
    shift
else
    cargo build --quiet --release --locked -p palladion-cli
    palladion=${CARGO_TARGET_DIR:-$PWD/target}/release/palladion
fi
export PYTHONDONTWRITEBYTECODE=1
# Without root the rights to mount come with a name space of one's own.
if [ "$(id -u)" != 0 ] && unshare -rm true 2>/dev/null; then
    exec unshare -rm scripts/faults.py "$palladion" "$@"
fi
exec scripts/faults.py "$palladion" "$@"
