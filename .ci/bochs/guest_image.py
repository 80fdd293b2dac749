"""guest_image.py KERNEL INITRD ROM IMAGE_OUT ROM_OUT MIB COMMAND_LINE

Lays kernel, boot parameters, command line and initramfs out in one image of memory, and tells the
ROM where they are."""
import sys, struct
k, ird, rom, out, orom, mem, cmd = sys.argv[1:]; mem = int(mem)
base, entry, end = map(int, open(k + '.txt').read().split()); hdr = open(k + '.hdr', 'rb').read()
img = open(k, 'rb').read(); r = open(ird, 'rb').read()
bp = end + 0xfffff & ~0xfffff; ia = bp + 0x2000
b = bytearray(0x2000); b[0x1f1:0x1f1+len(hdr)] = hdr # boot_params, then the command line's page
b[0x210] = 0xff                                      # type_of_loader
struct.pack_into('<II', b, 0x218, ia, len(r))        # ramdisk
struct.pack_into('<I', b, 0x228, bp + 0x1000)        # cmd_line_ptr
e = [(0, 0x9fc00, 1), (0x100000, (mem << 20) - 0x100000, 1)]
b[0x1e8] = len(e)
for i, x in enumerate(e): struct.pack_into('<QQI', b, 0x2d0 + 20 * i, *x)
c = cmd.encode() + b'\0'; assert len(c) <= 2048; b[0x1000:0x1000+len(c)] = c
tot = img + bytes(bp - base - len(img)) + b + r
assert base + 2 * len(tot) < mem << 20, 'guest memory too small (-m)'
open(out, 'wb').write(tot)
m = bytearray(open(rom, 'rb').read())
struct.pack_into('<III', m, 0xffd0, base + len(tot), bp, entry)
open(orom, 'wb').write(m)
