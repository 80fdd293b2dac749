#!/usr/bin/env bash
# Tests the command line on real files: empty, one byte, and larger than all its buffers together.
# Also tests pipes, the default key and tar, and with strace what a part of a file costs.
#
#   scripts/test-cli.sh [PALLADION]
#
# Runs it under qemu-x86_64 too, if that is installed (Debian: qemu-user).
set -euo pipefail
[ $# = 0 ] || palladion=$(realpath "$1")
cd "$(dirname "$0")/.."
if [ $# = 0 ]; then
    palladion=$(scripts/built.sh -p palladion-cli)
fi
readme=$PWD/crates/palladion-cli/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fails() { # STATUS COMMAND...
    local expected=$1 status=0
    shift
    "$@" >/dev/null 2>errors || status=$?
    [ "$status" = "$expected" ] ||
        { echo "exit status $status, not $expected: $*" >&2; cat errors >&2; exit 1; }
    grep -q '^error: ' errors || { echo "no error message: $*" >&2; exit 1; }
}

"$palladion" keygen -o key
"$palladion" keygen -o other
[ "$(stat -c %a key)" = 600 ]
: >empty
printf x >one
head -c 100000001 /dev/urandom >large # 95 chunks and a bit; 32 MiB of buffers
for file in empty one large; do
    "$palladion" encrypt -k key -o "$file.pld" "$file"
    "$palladion" decrypt -k key -o "$file.back" "$file.pld"
    cmp "$file" "$file.back"
    "$palladion" encrypt -k key <"$file" | "$palladion" decrypt -k key | cmp - "$file"
    for algorithm in AEGIS-128L AEGIS-128X2 AEGIS-128X4 AEGIS-256 AEGIS-256X4; do
        "$palladion" encrypt -a "$algorithm" -k key "$file" -o - | "$palladion" decrypt -k key |
            cmp - "$file"
    done
done

(umask 077; printf 'correct horse' >passphrase; printf 'wrong' >wrong)
"$palladion" encrypt --passphrase-file passphrase -o p.pld one
"$palladion" decrypt --passphrase-file passphrase -o - p.pld | cmp - one

# Each kind of failure has its own exit status and leaves no file behind.
fails 3 "$palladion" decrypt -k other -o bad large.pld
fails 3 "$palladion" decrypt --passphrase-file wrong -o bad p.pld
head -c 50000000 large.pld >cut
fails 4 "$palladion" decrypt -k key -o bad cut
{ head -c 50000000 large.pld; printf 'no such bytes'; tail -c +50000014 large.pld; } >changed
fails 4 "$palladion" decrypt -k key -o bad changed
{ cat large.pld; printf y; } >longer
fails 4 "$palladion" decrypt -k key -o bad longer
fails 4 "$palladion" decrypt -k key -o bad one
fails 1 "$palladion" encrypt -k key -o one.pld one
fails 1 "$palladion" encrypt -k key -o no/such/folder one
fails 1 "$palladion" encrypt -k key -o bad missing
fails 1 sh -c "'$palladion' encrypt -k key -o - large > /dev/full"
fails 1 sh -c "'$palladion' decrypt -k key -o - one.pld >&-"
fails 1 sh -c "'$palladion' keygen -o - >&-"
chmod 644 other
fails 1 "$palladion" encrypt -k other -o bad one
[ ! -e bad ]
[ -z "$(find . -name '.*' -type f)" ]

# Parts, checks, and what is known without a key.
chmod 600 other
for part in "0 0" "0 1" "1048575 2" "50000000 3000000" "99999999 100"; do
    read -r offset length <<<"$part"
    "$palladion" cat -k key --offset "$offset" --length "$length" large.pld |
        cmp - <(tail -c +$((offset + 1)) large | head -c "$length")
done
for file in empty one large; do "$palladion" cat -k key "$file.pld" | cmp - "$file"; done
fails 2 "$palladion" cat -k key --offset 2 one.pld
for file in cut changed longer; do
    fails 4 "$palladion" verify -k key "$file"
    fails 4 "$palladion" cat -k key -o bad "$file"
done
fails 3 "$palladion" cat -k other large.pld
fails 3 "$palladion" verify -k other large.pld
[ "$("$palladion" verify -k key empty.pld one.pld large.pld)" = "$(
    printf '%s.pld: OK\n' empty one large)" ]
[ "$("$palladion" info large.pld | awk '$1 == "size:" { print $2 }')" = 100000001 ]
[ ! -e bad ]
# 4 KiB from the middle: the header, then 4 KiB, in which key slots could be, and the length of the
# first chunk; the last chunk and two others; and the key. strace cannot see the names of files,
# because the command forbids core dumps. That is the first thing that it does, after the loader's
# reads.
if type strace >/dev/null 2>&1; then
    strace -f -o trace -e trace=prctl,read,pread64,readv,preadv,preadv2 \
        "$palladion" cat -k key --offset 52426752 --length 4K large.pld |
        cmp - <(tail -c +52426753 large | head -c 4096)
    read=$(sed 1,/PR_SET_DUMPABLE/d trace | awk '{ sum += $NF } END { print sum }')
    [ "$read" = $((128 + 4096 + 4 + 385317 + 2 * (1048576 + 36) + $(stat -c %s key))) ] ||
        { echo "read $read bytes of large.pld and key" >&2; cat trace >&2; exit 1; }
    # Where files cannot be locked, key slots are changed in a new file.
    "$palladion" encrypt --slots -k key -o slots.pld one
    inode=$(stat -c %i slots.pld)
    strace -f -o trace -e trace=flock -e inject=flock:error=EOPNOTSUPP \
        "$palladion" rewrap -q -k key --to-key key --to-key other slots.pld
    [ "$(stat -c %i slots.pld)" != "$inode" ]
    "$palladion" decrypt -q -k other -o - slots.pld | cmp - one
fi

"$palladion" mac -k key empty one large >MACS
"$palladion" mac -k key --check MACS >/dev/null

# Files with random access, from a file, from a pipe, changed in place and damaged.
for file in empty one large; do
    "$palladion" raf import -k key "$file" "$file.raf"
    "$palladion" raf verify -k key "$file.raf" >/dev/null
    "$palladion" raf export -k key "$file.raf" - | cmp - "$file"
    "$palladion" raf import -k key -f - "$file.raf" <"$file"
    "$palladion" raf export -k key -f "$file.raf" "$file.back"
    cmp "$file" "$file.back"
done
head -c 3000001 /dev/urandom >patch
"$palladion" raf verify -k key --commitment large.raf >commitment
"$palladion" raf verify -k key --expect "$(cat commitment)" large.raf >/dev/null
"$palladion" raf write -k key --offset 12345678 large.raf patch
"$palladion" raf write -k key --append large.raf <patch
fails 4 "$palladion" raf verify -k key --expect "$(cat commitment)" large.raf
{ head -c 12345678 large; cat patch; tail -c +15345680 large; cat patch; } >model
"$palladion" raf cat -k key large.raf | cmp - model
"$palladion" raf truncate -k key large.raf 50M
head -c 52428800 model | cmp - <("$palladion" raf cat -k key large.raf)
{ head -c 300000 large.raf; printf 'no such bytes'; tail -c +300014 large.raf; } >changed
fails 4 "$palladion" raf verify -k key changed
grep -q 'chunk 4 is damaged' errors
fails 4 "$palladion" raf export -k key changed bad
fails 4 "$palladion" raf cat -k key large.pld
fails 3 "$palladion" raf cat --passphrase-file wrong large.raf
head -c 1000000 large.raf >cut
fails 4 "$palladion" raf cat -k key cut
fails 1 "$palladion" raf import -k key one large.raf
[ ! -e bad ]

# Names, several files and a default key.
export HOME=$work/home
unset XDG_CONFIG_HOME PALLADION_KEY_FILE
fails 2 "$palladion" encrypt one
"$palladion" keygen 2>/dev/null
[ "$(stat -c %a home/.config/palladion home/.config/palladion/key | xargs)" = "700 600" ]
fails 1 "$palladion" keygen
mkdir habits
cp empty one large habits
cd habits
"$palladion" encrypt empty one large
mkdir back
mv -- *.pld back
fails 1 "$palladion" decrypt back/empty.pld back/missing.pld back/one.pld back/large.pld
for file in empty one large; do cmp "$file" "back/$file"; done
fails 1 "$palladion" decrypt back/one.pld
"$palladion" decrypt -f back/one.pld
cd ..
tar -I "$palladion encrypt" -cf habits.tar.pld habits
mv habits before
tar -I "$palladion encrypt" -xf habits.tar.pld
diff -r before habits

# Keys and slots of the program age, both ways; for SSH keys, the command runs it.
if type age age-keygen >/dev/null 2>&1; then
    "$palladion" keygen --identity -o own >own.pub
    age-keygen -o theirs 2>/dev/null
    [ "$(age-keygen -y own)" = "$(cat own.pub)" ]
    age-keygen -y theirs | "$palladion" encrypt -R - -i own -o both.pld one
    for identity in own theirs; do
        "$palladion" decrypt -q -i $identity -o - both.pld | cmp - one
        "$palladion" slots --extract 1 both.pld | age -d -i $identity >$identity.out
    done
    cmp own.out theirs.out
    [ "$(stat -c %s own.out)" = 32 ]
    if age-keygen -pq -o pq 2>/dev/null; then
        "$palladion" recipient pq | "$palladion" encrypt -R - -o pq.pld one
        [ "$("$palladion" slots --extract 1 pq.pld | age -d -i pq | wc -c)" = 32 ]
        "$palladion" decrypt -q -i pq -o - pq.pld | cmp - one
    fi
    if type ssh-keygen >/dev/null 2>&1; then
        ssh-keygen -q -t ed25519 -N '' -f ssh
        "$palladion" encrypt -R ssh.pub -i own -o ssh.pld one
        "$palladion" decrypt -q -i ssh -o - ssh.pld | cmp - one
        "$palladion" decrypt -q -i own -o - ssh.pld | cmp - one
        fails 3 "$palladion" decrypt -i ssh -o bad both.pld
        fails 2 "$palladion" rewrap -i ssh --to-recipient "$("$palladion" recipient own)" ssh.pld
        "$palladion" rewrap -i ssh --to-recipients-file ssh.pub ssh.pld
        "$palladion" decrypt -q -i ssh -o - ssh.pld | cmp - one
        fails 3 "$palladion" decrypt -i own -o bad ssh.pld
        ssh-keygen -q -t ecdsa -N '' -f ecdsa
        cat ssh.pub ecdsa.pub | "$palladion" encrypt -f -R - -o ssh.pld one 2>errors
        grep -q 'warning: .*ECDSA' errors
        "$palladion" decrypt -q -i own -i ssh -o - ssh.pld 2>errors | cmp - one
        [ ! -s errors ]
        fails 1 "$palladion" decrypt -i - -o bad ssh.pld <ssh
    fi
else
    echo "skipped: keys of age: it is not installed" | tee -a "${PALLADION_SKIPPED:-/dev/null}"
fi

printf y >>one
fails 1 "$palladion" mac -k key --check MACS

# An emulator that computes an instruction wrong (QEMU before 8.1: VAES) does not spoil files.
if [ "$(uname -m)" = x86_64 ] && type qemu-x86_64 >/dev/null 2>&1; then
    qemu-x86_64 "$palladion" encrypt -k key one -o emulated.pld
    "$palladion" decrypt -k key emulated.pld -o - | cmp - one
    for backend in $(qemu-x86_64 "$palladion" backends | awk '$2 == "faulty" { print $1 }'); do
        PALLADION_BACKEND=$backend fails 1 qemu-x86_64 "$palladion" encrypt -k key one -o -
        grep -q 'computes wrong results on this machine' errors
    done
fi

# The README's commands in order, except those that ask for a passphrase, install something or need
# keys of another time. Here "server" is this machine, and output does not go to a terminal.
mkdir -p readme/bin readme/photos
cd readme
export HOME=$PWD/home
printf '#!/bin/sh\nshift; exec "$@"\n' >bin/ssh
printf '#!/bin/sh\nexec cat "$@"\n' >bin/less
chmod +x bin/*
echo "remember the milk" >notes.txt
head -c 3000000 ../large >disk.img
for it in patch one.iso log {plan,january}.txt {one,two,photos/one}.jpg; do cp ../one "$it"; done
for file in office spare; do "$palladion" keygen -o $file.key; done
grep '^    ' "$readme" | grep -v 'git clone\|cargo\| -p \|letter\|old.key\|\$f' |
    sed 's/2G/20M/; s/^ *palladion decrypt notes.txt.pld/rm notes.txt; &/
        s/^ *palladion decrypt -k my.key --bind.*/rm january.txt; &; rm january*/
        s/^ *palladion \(rewrap\|decrypt -i\).*/&; rm plan.txt.pld/' >commands
[ "$(wc -l <commands)" -ge 12 ]
PATH=$PWD/bin:$(dirname "$palladion"):$PATH bash -euo pipefail commands >/dev/null
echo "the command line works"
