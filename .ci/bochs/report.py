"""report.py OUTPUT CONSOLE STATUS LIMIT VERBOSE START END ERRORS

Prints what the program wrote and exits with its status."""
import sys, re
out, con, rc, limit, verbose, t0, t1, err = sys.argv[1:]
d = open(out, 'rb').read()
def rd(p):
    try: return open(p, 'rb').read()
    except OSError: return b''
if verbose == '1': sys.stderr.buffer.write(rd(con)); sys.stderr.flush()
a = d.find(b'\n@@BOCHS-BEGIN@@\n'); m = None
for m in re.finditer(rb'\n@@BOCHS-END rc=(\d+) guest_s=([\d.]+)@@\n', d): pass
body = d[a + 17:m.start() if m else len(d)] if a >= 0 else b''
sys.stdout.buffer.write(body); sys.stdout.flush()
if m:
    if verbose == '1':
        times = float(t1) - float(t0), m[2].decode()
        print('run.sh: wall %.1f s, guest clock %s s' % times, file=sys.stderr)
    sys.exit(int(m[1]))
if rc in ('124', '137'):
    print('run.sh: timed out after %s s' % limit, file=sys.stderr)
    sys.exit(124)
sys.stderr.buffer.write(b'run.sh: the guest did not finish\n' + rd(con)[-3000:])
sys.stderr.buffer.write(rd(err)[-1500:] + (d[-1500:] if a < 0 else b''))
sys.exit(125)
