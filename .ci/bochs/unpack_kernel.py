"""unpack_kernel.py VMLINUZ OUT

Unpacks a compressed x86-64 kernel image into a flat image of its loadable segments, with its setup
header in OUT.hdr and "base entry end" in OUT.txt."""
import sys, struct, lzma, zlib
def lz4(d):                                          # the legacy frame the kernel uses
    out = bytearray(); i = 4; n = len(d)
    while i + 4 <= n:
        blk, = struct.unpack_from('<I', d, i); i += 4
        if i + blk > n: break                        # the trailing uncompressed-size word
        e = i + blk
        while i < e:
            t = d[i]; i += 1
            l = t >> 4
            if l == 15:
                while True:
                    b = d[i]; i += 1; l += b
                    if b != 255: break
            out += d[i:i+l]; i += l
            if i >= e: break
            off = d[i] | d[i+1] << 8; i += 2
            m = t & 15
            if m == 15:
                while True:
                    b = d[i]; i += 1; m += b
                    if b != 255: break
            m += 4; s = len(out) - off
            if off >= m: out += out[s:s+m]
            else: out += (bytes(out[s:]) * (m // off + 1))[:m]
    return bytes(out)
d = open(sys.argv[1], 'rb').read()
assert d[0x202:0x206] == b'HdrS'
po, pl = struct.unpack_from('<II', d, 0x248); o = (d[0x1f1] + 1) * 512 + po
p = d[o:o+pl]
if p[:4] == b'\x02\x21\x4c\x18': v = lz4(p)
elif p[:6] == b'\xfd7zXZ\0': v = lzma.LZMADecompressor().decompress(p)
elif p[:2] == b'\x1f\x8b': v = zlib.decompressobj(31).decompress(p)
else: sys.exit('unknown kernel compression ' + p[:8].hex())
assert v[:4] == b'\x7fELF'
entry, phoff = struct.unpack_from('<QQ', v, 24); phn, = struct.unpack_from('<H', v, 56)
seg = []
for k in range(phn):
    ty, fl, off, va, pa, fs, ms, al = struct.unpack_from('<IIQQQQQQ', v, phoff + 56 * k)
    if ty == 1: seg.append((pa, off, fs, ms))
base = min(s[0] for s in seg); img = bytearray(max(s[0] + s[2] for s in seg) - base)
for pa, off, fs, ms in seg: img[pa-base:pa-base+fs] = v[off:off+fs]
assert base == 0x1000000
open(sys.argv[2], 'wb').write(img)
open(sys.argv[2] + '.hdr', 'wb').write(d[0x1f1:0x202 + d[0x201]])
open(sys.argv[2] + '.txt', 'w').write('%d %d %d\n' % (base, entry, max(s[0] + s[3] for s in seg)))
