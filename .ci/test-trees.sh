#!/usr/bin/env bash
# Encrypts 20,000 files in 300 directories, killed ten times on the way; changes some, encrypts
# again, decrypts elsewhere, killed ten times too, and compares everything. Prints the times.
#
#   .ci/test-trees.sh PALLADION [DIRECTORY]
set -euo pipefail
palladion=$(realpath "$1")
work=$(mktemp -d -p "${2:-/tmp}")
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 - <<'END'
import os, random
random.seed(1)
folders = ["tree"]
while len(folders) < 300:
    folder = f"{random.choice(folders[-40:])}/d{len(folders)}"
    os.makedirs(folder)
    folders.append(folder)
for at in range(20000):
    name = f"{random.choice(folders)}/f{at}"
    with open(name, "wb") as file:
        file.write(random.randbytes(random.choice([0, 10, 1000, 5000, 30000])))
    os.chmod(name, random.choice([0o600, 0o644, 0o664, 0o755, 0o440]))
for at in range(100):
    os.symlink(f"f{at}", f"{random.choice(folders)}/l{at}")
for folder in reversed(folders):
    os.chmod(folder, random.choice([0o700, 0o755, 0o775]))
    os.utime(folder, (1_500_000_000 + len(folder), 1_500_000_000.5 + len(folder)))
END
list() { (cd "$1" && find . -printf '%P %y %m %T@ %l\n' | sort); }
seconds() { # NAME COMMAND...
    local begin=$EPOCHREALTIME
    "${@:2}"
    python3 -c "print(f'$1: {$EPOCHREALTIME - $begin:.1f} s')"
}
# Kills the command ten times with SIGKILL and SIGTERM, and lets it finish then.
killed() {
    local turn signal
    for turn in 1 2 3 4 5 6 7 8 9 10; do
        signal=KILL
        [ $((turn % 2)) = 0 ] || signal=TERM
        timeout -s $signal "$((turn * 3 / 10)).$((turn * 3 % 10))" "$@" || true
    done 2>/dev/null
    "$@"
}

"$palladion" keygen -o key
encrypt=("$palladion" encrypt -k key --recursive tree -o sealed)
decrypt=("$palladion" decrypt -k key --recursive sealed -o back)
seconds "cp -a" cp -a tree copy
seconds "cp -a, and sync" sync -f copy
seconds encrypt bash -c "$(printf '%q ' "${encrypt[@]}")"
seconds "encrypt again, nothing to do" "${encrypt[@]}" --skip-existing
rm -rf sealed copy
killed "${encrypt[@]}" --skip-existing
echo "changed" | tee tree/d1/f* >/dev/null
find tree -type f -name '*7' -exec chmod 600 {} +
find tree -type f -name '*77' -exec sh -c 'echo more >> "$1"' sh {} \;
seconds "encrypt what changed" "${encrypt[@]}" --skip-existing
killed "${decrypt[@]}" --skip-existing
find back sealed -name '.palladion-*.tmp' | wc -l | sed 's/$/ unfinished files left by SIGKILL/'
find back sealed -name '.palladion-*.tmp' -delete
"${encrypt[@]}" --skip-existing # because that changed the dates of directories
"${decrypt[@]}" --skip-existing
diff -r --no-dereference tree back
cmp <(list tree) <(list back)
rm -rf back
seconds decrypt "${decrypt[@]}"
diff -r --no-dereference tree back
cmp <(list tree) <(list back)
echo "the copies are equal"
