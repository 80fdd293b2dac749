#!/usr/bin/env bash
# run.sh [-t SECONDS] [-m MIB] [-c CPU_MODEL] [-b BOCHS] [-e NAME=VALUE]... [-f HOST[:GUEST]]...
# [-v] PROGRAM [ARG...]
#
# Runs one x86-64 Linux program inside Bochs on an emulated Ice Lake (AVX-512F/VL/BW/DQ/VBMI, VAES,
# VPCLMULQDQ, GFNI), prints what it writes (stdout and stderr merged) and exits with its status
# (128+N for a signal). Own failures: 124 timeout, 125 the emulator or guest failed, 2 usage.
#
#   -t  wall-clock limit in seconds (300)
#   -m  guest memory in MiB (256)
#   -c  a model of `bochs --help cpu`
#   -b  the bochs binary (one built --with-nogui)
#   -f  put another file (or directory) into the guest
#   -v  guest console and times on stderr; keep the work folder
#
# The program may be static or dynamic (its `ldd` libraries go along); cwd /tmp (tmpfs), stdin
# /dev/null, /proc /sys /dev mounted, one CPU.
#
# Needs: bochs + bochs-term + bochsbios + vgabios (Debian's 2.7 will do), python3, gcc + binutils,
# libc6-dev (libc.a), cpio, and a kernel image: $BOCHS_KERNEL, else `apt-get download` of
# linux-image-cloud-amd64's package. No BIOS, boot loader, or disk image is involved: a 64 KiB ROM
# made here enters the kernel directly.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${BOCHS_CACHE:-${TMPDIR:-/tmp}/palladion-bochs}
limit=300 mem=256 model=${BOCHS_CPU:-corei7_icelake_u} bochs=${BOCHS:-} verbose=0 envs=() files=()
while getopts t:m:c:b:e:f:v o; do case $o in
  t) limit=$OPTARG;; m) mem=$OPTARG;; c) model=$OPTARG;; b) bochs=$OPTARG;;
  e) envs+=("$OPTARG");; f) files+=("$OPTARG");; v) verbose=1;; *) sed -n '2,8p' "$0" >&2; exit 2;;
esac; done
shift $((OPTIND - 1)); [ $# -ge 1 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
die() { echo "run.sh: $*" >&2; exit 125; }
prog=$(realpath -e -- "$1") || die "no such program: $1"; shift
if [ -z "$bochs" ]; then bochs=$(command -v bochs-bin || command -v bochs) || die 'no bochs'; fi
mkdir -p "$cache"
exec 9>"$cache/lock"; flock 9
stamp=$(cat "$here"/* | sha256sum | cut -c1-16)

# ---- once: kernel, ROM, init ---------------------------------------------------------------
if [ ! -s "$cache/vmlinuz" ]; then
  if [ -n "${BOCHS_KERNEL:-}" ]; then cp "$BOCHS_KERNEL" "$cache/vmlinuz"; else
    d=$(mktemp -d)
    pkg=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/{print $2; exit}')
    [ -n "$pkg" ] || die 'no linux-image-cloud-amd64 known to apt (apt-get update?)'
    (cd "$d" && chmod 755 . && apt-get download "$pkg" >/dev/null 2>&1) ||
      die "apt-get download $pkg"
    dpkg -x "$d"/linux-image*.deb "$d/x"
    cp "$d"/x/boot/vmlinuz-* "$cache/vmlinuz.new"; mv "$cache/vmlinuz.new" "$cache/vmlinuz"
    rm -rf "$d"
  fi
fi
if [ ! -s "$cache/kernel.bin.txt" ] || [ "$cache/vmlinuz" -nt "$cache/kernel.bin.txt" ]; then
python3 "$here/unpack_kernel.py" "$cache/vmlinuz" "$cache/kernel.bin" || die 'kernel image'
fi
if [ ! -s "$cache/init" ] || [ "$(cat "$cache/stamp" 2>/dev/null)" != "$stamp" ]; then
gcc -c "$here/rom.S" -o "$cache/rom.o" &&
  objcopy -O binary -j .text "$cache/rom.o" "$cache/rom.bin" || die 'assembling the ROM'
gcc -O2 -static -s "$here/init.c" -o "$cache/init" || die 'compiling init (libc6-dev?)'
echo "$stamp" > "$cache/stamp"
fi
flock -u 9

# ---- this run: initramfs, RAM image, ROM, bochsrc --------------------------------------------
w=$(mktemp -d "${TMPDIR:-/tmp}/bochs-run.XXXXXX"); pid=
finish() {
  [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null || :
  if [ $verbose = 1 ]; then echo "run.sh: work folder $w" >&2; else rm -rf "$w"; fi
}
trap finish EXIT
trap 'exit 143' TERM; trap 'exit 130' INT
r=$w/root; mkdir -p "$r/app" "$r/tmp" "$r/dev" "$r/proc" "$r/sys"; cp "$cache/init" "$r/init"
cp "$prog" "$r/app/prog"; strip -o "$r/app/prog" "$prog" 2>/dev/null || :; chmod 755 "$r/app/prog"
ldd "$prog" 2>/dev/null | grep -o '/[^ ]*' | while read -r l; do
  [ ! -e "$l" ] || { mkdir -p "$r$(dirname "$l")"; cp -L "$l" "$r$l"; }
done || :
for f in "${files[@]}"; do
  h=${f%%:*} g=${f#*:}; [ "$g" != "$f" ] || g=$(realpath "$h")
  mkdir -p "$r$(dirname "$g")"; cp -aL "$h" "$r$g"
done
printf '%s\0' /app/prog "$(basename "$prog")" "$@" > "$r/.cmd"
printf '%s\0' PATH=/app:/bin HOME=/tmp TMPDIR=/tmp RUST_BACKTRACE=1 "${envs[@]}" > "$r/.env"
(cd "$r" && find . | cpio -o -H newc --quiet) > "$w/initrd"
# clearcpuid: Bochs 2.7 gets CPUID leaf 0xD wrong for PKU (515), XSAVEC (321) and XSAVES (323), on
# which Linux would turn AVX off altogether; FSRM (580) without ERMS breaks the kernel's memmove.
cmd="console=ttyS0,115200 quiet loglevel=3 acpi=off noapic nolapic pci=off nosmp mitigations=off \
nokaslr norandmaps random.trust_cpu=on cryptomgr.notests clearcpuid=515,321,323,580 nowatchdog \
audit=0 lsm= panic=-1 rdinit=/init ${BOCHS_CMDLINE:-}"
[ $verbose = 0 ] || cmd="$cmd ignore_loglevel"
python3 "$here/guest_image.py" "$cache/kernel.bin" "$w/initrd" "$cache/rom.bin" "$w/img" "$w/rom" \
  "$mem" "$cmd" || die 'guest image'
gui=${BOCHS_GUI:-} vga=${BOCHS_VGABIOS:-/usr/share/vgabios/vgabios.bin}
if [ -z "$gui" ]; then
  case $bochs in /usr/bin/*) gui='rfb, options="timeout=0"';; *) gui=nogui;; esac
fi
"$bochs" --help </dev/null > "$w/help" 2>&1 || :
cat > "$w/rc" <<E
plugin_ctrl: speaker=0
display_library: $gui
megs: $mem
romimage: file=$w/rom, address=0xffff0000
vgaromimage: file=$vga
optramimage1: file=$w/img, address=0x1000000
cpu: model=$model, count=1, ips=${BOCHS_IPS:-100000000}, reset_on_triple_fault=0, ignore_bad_msrs=1
clock: sync=none
pci: enabled=0
com1: enabled=1, mode=file, dev=$w/console
port_e9_hack: enabled=1
boot: disk
log: $w/log
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
E
dbg=(); if grep -q '^  -rc ' "$w/help"; then printf 'c\nq\n' > "$w/dbg"; dbg=(-rc "$w/dbg"); fi
t0=$(date +%s.%N)
: > "$w/out"
timeout -k 5 "$limit" "$bochs" -q -f "$w/rc" "${dbg[@]}" </dev/null >"$w/out" 2>"$w/err" & pid=$!
rc=0; wait $pid || rc=$?; pid=
t1=$(date +%s.%N)
python3 "$here/report.py" "$w/out" "$w/console" "$rc" "$limit" "$verbose" "$t0" "$t1" "$w/err"
