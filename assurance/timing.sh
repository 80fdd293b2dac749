#!/usr/bin/env bash
# Whether times depend on secrets, by a statistical test:
# crates/palladion-assurance/src/bin/timing.rs. Shows first that it notices comparisons of tags that
# end early: it plants such in a copy of the library, where forged messages and forged data of MACs
# must be noticed on every backend. For an idle machine, at night, and not for CI: what else the
# machine does can hide a difference, or look like one.
#
#   scripts/check-timing.sh [--samples N] [BACKEND...]        200 thousand samples each by default;
#   6 to 30 minutes
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
samples=200000
if [ "${1:-}" = --samples ]; then
    samples=$2
    shift 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# DIRECTORY TARGET [FLAGS]: builds it there.
build() { (cd "$1" && RUSTFLAGS="${RUSTFLAGS:-} ${3:-}" cargo build --quiet --locked --release --manifest-path assurance/Cargo.toml --bin timing --target-dir "$2"); }

scripts/copy-checkout.sh "$work"
# FILE OLD NEW: a comparison that ends at the first byte that differs.
plant() {
    local file=$work/crates/palladion/src/$1
    [ "$(grep -cF "$2" "$file")" = 1 ] || { echo "$1: where is the comparison?" >&2; exit 1; }
    OLD=$2 NEW=$3 perl -pi -e 's/\Q$ENV{OLD}/$ENV{NEW}/' "$file"
}
plant memory/equal.rs 'declassify(difference.ct_eq(&0).into())' \
    '{ let _ = difference; a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| core::hint::black_box(a) == b) }'
plant driver/tag.rs 'declassify(difference.is_zero())' \
    '{ let mut own = [0u8; 32]; write(sum, own.as_mut_ptr(), tag_len); let _ = difference;
       (0..tag_len).all(|i| core::hint::black_box(own[i]) == *tag.add(i)) }'
build "$work" "$target/timing-planted" "-A warnings"
echo "with comparisons that end early:"
"$target/timing-planted/release/timing" --planted --samples "$samples" "$@" || { echo "they were not noticed" >&2; exit 1; }

build . "$target"
echo "as it is:"
"$target/release/timing" --samples "$samples" "$@"
