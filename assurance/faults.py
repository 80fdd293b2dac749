#!/usr/bin/env python3
"""Runs the command `palladion` while disks fill up, system calls fail, inputs change, memory is
short and signals arrive. Every run is checked in the same way:

    damage   Inputs and key are unchanged. The output is what was there before or a complete file
             that verifies: the new one exactly if the exit status is 0, either after SIGKILL.
    litter   No other file is left, but for the key that `keygen -f` keeps. SIGKILL, and an abort
             for lack of memory, may leave `.palladion-*.tmp`.
    message  A failure prints one line `error: ...` that names a file and at most one line
             `hint: ...`. It does not panic, and its exit status is documented.
    leak     No message contains a key.

At the end, four fake commands that each break one of these must be caught. Takes less than a minute
on two cores, with --long ten. Needs Linux; skips what needs strace or mount rights if they are
missing. Rust tests cover broken pipes (palladion-cli/tests/interrupted.rs), files changed in place
(palladion-raf/tests/crash.rs) and short writes (palladion-file/tests/failing_io.rs).
"""

import argparse
import collections
import concurrent.futures
import contextlib
import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COMMANDS = {
    "keygen": "keygen {force} -o out",
    "encrypt": "encrypt -k key -t {threads} --chunk-size 4K {force} -o out in",
    "decrypt": "decrypt -k key -t {threads} {force} -o out in.pld",
    "cat": "cat -k key -t {threads} {force} -o out in.pld",
    "raf import": "raf import -k key --chunk-size 4K {force} in out",
    "raf export": "raf export -k key {force} in.raf out",
}
ALL = [(command, force) for command in COMMANDS for force in ("", "-f")]
SMALL, MEDIUM, LARGE = 12289, 70000, 5 << 20  # lengths of inputs
# What system calls may answer. Without --long, only the first three of each are tried.
ERRORS = {
    "write": "ENOSPC EIO EINTR EDQUOT", "pwrite64": "ENOSPC EIO EINTR", "fsync": "EIO EINTR ENOSPC",
    "openat": "EACCES EMFILE EINTR ENOSPC", "read": "EIO EINTR", "pread64": "EIO EINTR",
    "rename": "EIO ENOSPC", "renameat2": "EIO EINVAL EEXIST ENOSYS", "ftruncate": "ENOSPC",
    "close": "EIO", "fchmod": "EPERM", "unlink": "EIO", "linkat": "EIO", "statx": "EIO ENOSYS",
    "lseek": "EIO", "readlink": "EIO", "getcwd": "ENOENT", "clone3": "EAGAIN", "mmap": "ENOMEM",
    "brk": "ENOMEM", "mremap": "ENOMEM", "mprotect": "ENOMEM", "getrandom": "EIO ENOSYS",
    "prlimit64": "EPERM", "rt_sigaction": "EINVAL", "socketpair": "EMFILE", "recvfrom": "EINTR",
    "exit_group": "",
}
KEY_FILE = rb"palladion-key-1:[0-9a-f]{64}\n# check: [0-9a-f]{8}\n"
MAY_ABORT = {"mmap", "brk", "mremap", "mprotect", "getrandom"}
# A wrapper in which these take 30 ms, so that random signals meet them. It prints a process id.
WINDOWS = "?fsync,?rename,?renameat,?renameat2,?unlink"
SLOW = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={WINDOWS}",
        "-e", f"inject={WINDOWS}:delay_enter=30000", "sh", "-c", 'echo $$; exec "$0" "$@"']
# Shell scripts that call the real command, "$P", and each break one promise.
FAKES = {
    "damage": '"$P" "$@" || { s=$?; head -c 99 in >out; exit $s; }',
    "litter": '"$P" "$@" || { s=$?; : >.palladion-0123456789abcdef.tmp; exit $s; }',
    "message": '"$P" "$@" 2>/dev/null',
    "leak": '"$P" "$@" 2>/dev/null || { s=$?; echo "error: \\"in\\": $(cat key)" >&2; exit $s; }',
}


class Fault(Exception):
    """A broken promise."""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)
    if path.endswith("/key"):
        os.chmod(path, 0o600)


def finish(*command, **more):
    return subprocess.run(command, capture_output=True, timeout=60, **more)


class Bench:
    """A folder in which a command runs once."""

    def __init__(self, suite, command, force="", size=SMALL, threads=1, where=None):
        self.suite, self.command = suite, command
        self.folder = tempfile.mkdtemp(dir=where or suite.root)
        self.files = suite.files[size] | ({"out": b"old\n" * 2000} if force else {})
        for name, content in self.files.items():
            write(self.path(name), content)
        self.args = COMMANDS[command].format(threads=threads, force=force).split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *wrapper, tool=None, stdout=subprocess.DEVNULL):
        return subprocess.Popen(
            [*wrapper, tool or self.suite.palladion, *self.args], cwd=self.folder, bufsize=0,
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE)

    def run(self, *wrapper, **more):
        child = self.start(*wrapper, **more)
        said = child.communicate(timeout=60)[1].decode(errors="replace")
        return child.returncode, said

    def decrypted(self, name):
        """What a file holds that `encrypt` or `raf import` made; other files as they are."""
        how = {"encrypt": ["decrypt", "-o", "-", name], "raf import": ["raf", "export", name, "-"]}
        if self.command not in how:
            return read(self.path(name))
        command = [self.suite.palladion, *how[self.command], "-k", "key"]
        return finish(*command, cwd=self.folder).stdout

    def check(self, status, said, reason="", sent=None, may_abort=False, may_litter=False,
              unheard=False):
        """`reason`: what an error must say. `sent`: a signal that may have ended the command."""
        for name, content in self.files.items():
            if name != "out" and read(self.path(name)) != content:
                raise Fault(f"damage: {name} has changed")
        killed = status == -signal.SIGKILL
        aborted = may_abort and status == -signal.SIGABRT and "memory allocation of" in said
        out = read(self.path("out")) if os.path.exists(self.path("out")) else None
        is_new = out != self.files.get("out")
        if is_new != (status == 0) and not (is_new and killed):
            raise Fault(f"damage: exit status {status}, but is there a new output? {is_new}")
        if is_new and self.decrypted("out") != self.files["in"] and not (
                self.command == "keygen" and re.fullmatch(KEY_FILE, out)):
            raise Fault(f"damage: exit status {status}, but the output is incomplete or wrong")
        names = set(os.listdir(self.folder))
        kept = self.command == "keygen" and "out" in self.files  # with -f
        if kept and "out.old-1" in names and read(self.path("out.old-1")) == self.files["out"]:
            names.remove("out.old-1")
        elif kept and is_new:
            raise Fault(f"damage: exit status {status}, but the old key was not kept")
        left = " ".join(names - self.files.keys() - {"out"})
        temporary = re.fullmatch(r"\.palladion-\w{16}\.tmp", left)
        if left and not (temporary and (killed or aborted or may_litter)):
            raise Fault(f"litter: exit status {status}, and {left} is left")
        if not aborted and not unheard:
            self.check_message(status, said, reason, sent, may_abort)

    def check_message(self, status, said, reason="", sent=None, may_abort=False):
        if self.suite.key_text in said:
            raise Fault(f"leak: {said!r}")
        if self.command == "keygen":
            said = said.replace('kept the old file as "out.old-1"\n', "")
        if status == 0 or sent and status == -sent:
            # An input that grew, or whose state is unknown.
            known = '"in" changed while it was read; |"out(.old-1)?" is complete, but '
            good = not re.sub(f"^warning: ({known}).+\n", "", said)
        else:
            about = '"(in|in.pld|in.raf|key|out(.old-1)?|[.]|/.*)"|standard |random|thread'
            about += "|memory|internal error: " * may_abort
            good = (status in (1, 3, 4) and re.fullmatch("error: .+\n(hint: .+\n)?", said)
                    and re.search(about, said.split("\n")[0]) and reason in said
                    and (may_abort or "internal error" not in said))
        if not good:
            raise Fault(f"message: exit status {status}, {said!r}, expected {reason!r}")


class Suite:
    """The scenarios. Each is a method and returns what it had to skip, if anything."""

    def __init__(self, palladion, root, seed, long):
        self.palladion, self.root, self.long = palladion, root, long
        self.random = random.Random(seed)
        self.pool = concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count()))
        self.runs, self.hits, self.found, self.files = 0, 0, [], {}
        key = finish(palladion, "keygen", "-o", "-").stdout
        self.key_text = key.decode().split(":")[1].strip()
        for size in (SMALL, MEDIUM, LARGE):  # what a folder holds at first
            folder = tempfile.mkdtemp(dir=root)
            write(f"{folder}/key", key)
            write(f"{folder}/in", self.random.randbytes(size))
            for args in ("encrypt -o in.pld in", "raf import in in.raf"):
                finish(palladion, *args.split(), "-k", "key", "--chunk-size", "4K", cwd=folder)
            self.files[size] = {name: read(f"{folder}/{name}") for name in os.listdir(folder)}

    def each(self, run, all_args):
        """Makes runs, several at a time. Each returns whether its fault happened."""

        def guarded(args):
            try:
                return bool(run(*args))
            except (Fault, subprocess.TimeoutExpired) as fault:
                self.found.append(f"{run.__name__}{args}: {fault}")
                return True

        hits = list(self.pool.map(guarded, all_args))
        self.runs, self.hits = self.runs + len(hits), self.hits + sum(hits)
        if sum(hits) < 0.25 * len(hits):
            self.found.append(f"{run.__name__}: {len(hits)} runs, but only {sum(hits)} faults")

    def full_disk(self):
        """Limits on the size of files; a small disk with few pages, or no inode, left."""
        rooms = [0, 1, 80, 127, 128, 131, 132, 4096, 4260, SMALL - 1]
        limits = [f"--fsize={n}" for n in rooms]
        self.each(self.limited, [(*case, limit, "too large") for case in ALL for limit in limits])
        disk = tempfile.mkdtemp(dir=self.root)
        if finish("mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=64", "none", disk).returncode:
            return "a small disk: no right to mount one"
        try:
            free = [*(range(24) if self.long else (0, 1, 2, 17, 18, 19, 20)), None]
            for args in [(*case, pages, disk) for case in ALL for pages in free]:
                self.each(self.filled, [args])
            return self.full_device(disk)
        finally:
            finish("umount", disk)

    def full_device(self, disk):
        """A block device takes the data, and fails only when it is synced."""
        with open(f"{disk}/device", "wb") as file:
            file.truncate(2 * LARGE)
        device = finish("losetup", "--find", "--show", f"{disk}/device", text=True).stdout.strip()
        if not device:
            return "a full block device: no right to make one"
        try:
            outs = [f"-o {device}", f"-o - >{device}", f"-o /dev/fd/3 3>{device}"]
            self.each(self.sync_fails, [(out,) for out in outs])
        finally:
            finish("losetup", "--detach", device)

    def sync_fails(self, out):
        with Bench(self, "decrypt", size=LARGE) as bench:
            command = f"exec {self.palladion} decrypt -k key in.pld {out}"
            run = finish("sh", "-c", command, cwd=bench.folder, text=True)
            about = r'cannot write ("/dev/[\w/]+"|standard output): Input/output error'
            if run.returncode != 1 or not re.fullmatch(f"error: {about}.*\n", run.stderr):
                raise Fault(f"damage: exit status {run.returncode}, {run.stderr!r}")
            return True

    def limited(self, command, force, limit, reason="", size=SMALL, threads=1, tool=None):
        with Bench(self, command, force, size, threads) as bench:
            result = bench.run("prlimit", limit, tool=tool)
            bench.check(*result, reason, may_abort="--as" in limit)
            return True

    def filled(self, command, force, pages, disk):
        with Bench(self, command, force, MEDIUM, where=disk) as bench:
            filler, space = tempfile.mkdtemp(dir=disk), os.statvfs(disk)
            for i in range(1 if pages is not None else space.f_favail):
                write(f"{filler}/{i}", b"")
            if pages is not None:
                write(f"{filler}/0", bytes((space.f_bavail - pages) * space.f_frsize))
            result = bench.run()
            shutil.rmtree(filler)
            bench.check(*result, "No space left on device")
            if not pages and result[0] == 0:
                raise Fault("damage: exit status 0 on a full disk")
            return True

    def system_calls(self):
        """A system call fails, or a signal arrives as it begins."""
        if not shutil.which("strace"):
            return "system calls: no strace"
        signals = ["SIGKILL", "SIGTERM"] + ["SIGINT", "SIGHUP", "SIGXFSZ"] * self.long
        runs = []
        for case in ALL:
            # How often a thread makes each call: before the command's own work, and in all.
            with Bench(self, *case) as bench:
                log, before, counts = bench.folder + ".log", {}, collections.Counter()
                bench.run("strace", "-f", "-o", log)
                for line in read(log).decode(errors="replace").splitlines():
                    if "RLIMIT_CORE" in line:  # the first thing that it does
                        before = before or {call: n for (_, call), n in counts.items()}
                    counts.update(re.findall(r"^(\d+) +(\w+)\(", line))
            for call in ERRORS:
                last = max((n for (_, name), n in counts.items() if name == call), default=0)
                numbers = range(before.get(call, 0) + 1, last + 1)
                errors = ERRORS[call].split()
                if not self.long:
                    numbers = self.random.sample(numbers, min(len(numbers), 4))
                    errors = errors[:3]
                faults = [f"error={e}" for e in errors] + [f"signal={s}" for s in signals]
                runs += [(*case, call, fault, number) for fault in faults for number in numbers]
        # The thread that waits for signals finds no memory for its stack while the output is made.
        # (The loader's second `mmap` fails too, which does no harm.)
        runs += [("decrypt", "-f", "mmap", "error=ENOMEM", 2, 3)] * 60
        self.each(self.injected, runs)

    def injected(self, command, force, call, fault, number, threads=1):
        """Runs a command under strace, which lets a system call fail or sends a signal."""
        kind, what = fault.split("=")
        if call == "brk" and kind == "error":
            fault = "retval=0"  # what glibc takes for a failure: the kernel returns no error number
        with Bench(self, command, force, threads=threads) as bench:
            log = bench.folder + ".log"
            # (With its filter strace is faster, but sends no signals.)
            fast = ["--seccomp-bpf"] if kind == "error" else []
            result = bench.run("strace", "-f", *fast, "-o", log, "-e", f"trace={call}",
                               "-e", f"inject={call}:{fault}:when={number}")
            trace = read(log).decode(errors="replace")
            hit = re.search("INJECTED|SI_KERNEL|killed by SIGKILL", trace)
            first = trace.partition("\n")[0]  # of `fsync` that of the file, then of the directory
            mute = re.search(r"write\(2, .*INJECTED", trace)  # only a message was lost
            lost = kind == "error" and what != "EINTR" and not mute and (
                hit and call in ("write", "pwrite64") or call == "fsync" and "INJECTED" in first)
            reason = os.strerror(getattr(errno, what)) if lost else ""
            sent = signal.Signals[what] if kind == "signal" else None
            # The message was not written: its call failed too, the first of another thread.
            unheard = "write(2, " in trace and trace.count("INJECTED") > 1
            bench.check(*result, reason, sent, call in MAY_ABORT, call == "unlink", bool(unheard))
            # Of the directory: the output is there.
            unsynced = call == "fsync" and kind == "error" and what != "EINTR" and result[0] == 0
            if hit and (lost and result[0] != 1 or what == "EINTR" and result[0] != 0
                        or unsynced and "its directory cannot be synced" not in result[1]):
                raise Fault(f"message: exit status {result[0]}, {result[1]!r}")
            return hit

    def killed(self):
        """A signal arrives at a random moment, in half of the runs while system calls are slow."""
        plans = []
        for case in ALL:
            for slow in (False, True) if shutil.which("strace") else (False,):
                with Bench(self, *case, LARGE) as bench:
                    begin = time.monotonic()
                    bench.run(*SLOW * slow)
                    plans.append((*case, slow, time.monotonic() - begin))
        signals = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
        self.each(self.killed_after, [
            (*self.random.choice(plans), self.random.choice(signals), self.random.random())
            for _ in range(3000 if self.long else 300)])

    def killed_after(self, command, force, slow, seconds, sent, share):
        with Bench(self, command, force, LARGE) as bench:
            child = bench.start(*SLOW * slow, stdout=subprocess.PIPE)
            process = int(child.stdout.readline()) if slow else child.pid
            time.sleep(seconds * share)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, sent)
            said = child.communicate(timeout=60)[1].decode()
            said = re.sub("(?m)^strace: .*\n", "", said)
            bench.check(child.returncode, said, sent=sent)
            return child.returncode == -sent

    def changing_input(self):
        """An input shrinks, or grows, while it is read."""
        lengths = [0, LARGE - 1, LARGE + 300000]
        lengths += [self.random.randrange(LARGE) for _ in range(20 if self.long else 4)]
        self.each(self.changed, [(c, n) for c in ("encrypt", "decrypt") for n in lengths])

    def changed(self, command, length):
        with Bench(self, command, size=LARGE) as bench:
            text, name = bench.files["in"].ljust(length, b"\0"), bench.args[-1]
            bench.args = [command, "-k", "key", "-t", "1", "-o", "-", name]
            child = bench.start(stdout=subprocess.PIPE)
            got = child.stdout.read(1000)  # by now it reads, and waits for us
            os.truncate(bench.path(name), length)
            rest, said = child.communicate(timeout=60)
            got, status = got + rest, child.returncode
            bench.check_message(status, said.decode())
            if status != (4 if command == "decrypt" else int(length < LARGE)):
                raise Fault(f"message: exit status {status}, {said}")
            if command == "encrypt":
                write(bench.path("got"), got)
                got = bench.decrypted("got")
            if not text.startswith(got) or len(got) < min(length, LARGE) // 2:
                raise Fault(f"damage: {len(got)} bytes came out, not what was read")
            return True

    def many(self):
        """Many processes at once, on outputs of their own or on one; few file descriptors."""
        count = 200 if self.long else 50
        self.each(self.crowd, [(count, "{}", ""), (count, "out", ""), (count, "out", "-f")])
        self.each(self.limited, [("encrypt", "", f"--nofile={n}") for n in range(4, 17)])

    def crowd(self, count, out, force):
        with Bench(self, "encrypt") as bench:
            children, outs = [], [out.format(i) for i in range(count)]
            for name in outs:
                bench.args = f"encrypt -k key -t 1 {force} -o {name} in".split()
                children.append(bench.start())
            ended = []
            for child in children:
                said = child.communicate(timeout=60)[1].decode()
                # One that replaces a file keeps the others from doing so.
                refused = "is being used by another program" if force else "already exists"
                bench.check_message(child.returncode, said, refused)
                ended.append(child.returncode)
            if out == "out" and (not ended.count(0) or not force and ended.count(0) > 1) or (
                    out != "out" and any(ended)):
                raise Fault(f"message: exit statuses {ended}")
            if any(bench.decrypted(name) != bench.files["in"] for name in set(outs)):
                raise Fault("damage: an output is incomplete or wrong")
            if left := set(os.listdir(bench.folder)) - bench.files.keys() - set(outs):
                raise Fault(f"litter: {left}")
            return True

    def little_memory(self):
        """Address spaces too small for the command's buffers and threads."""
        kilobytes = 1000
        while finish("prlimit", f"--as={kilobytes << 10}", self.palladion, "-V").returncode:
            kilobytes += 250  # not even the loader has enough
        limits = [f"--as={n << 10}" for n in range(kilobytes, 40000, 250 if self.long else 2000)]
        commands = ("encrypt", "decrypt", "cat", "keygen")
        self.each(self.limited, [(command, "-f", limit, "", LARGE, 4)
                                 for command in commands for limit in limits])

    def fakes(self):
        """Fake commands must be caught, each for the promise that it breaks."""
        real_found = self.found
        for promise, script in FAKES.items():
            self.found = []
            tool = f"{self.root}/fake-{promise}"
            write(tool, f"#!/bin/sh\nP='{self.palladion}'\n{script}\n".encode())
            os.chmod(tool, 0o755)
            self.each(self.limited, [("encrypt", "", "--fsize=80", "", SMALL, 1, tool)])
            if not any(f": {promise}: " in fault for fault in self.found):
                real_found.append(f"fake command not caught: {promise}: {self.found}")
        self.found = real_found


SCENARIOS = [Suite.full_disk, Suite.system_calls, Suite.killed, Suite.changing_input,
             Suite.many, Suite.little_memory, Suite.fakes]


def main():
    names = [scenario.__name__ for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("palladion", nargs="?", help="the command to run (default: builds it)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--long", action="store_true", help="all calls, errors and signals")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    args = parser.parse_args()
    if not args.palladion:
        checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        build = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "palladion-cli"]
        subprocess.run(build, cwd=checkout, check=True)
        target = os.environ.get("CARGO_TARGET_DIR", "target")
        args.palladion = os.path.join(checkout, target, "release", "palladion")
    for name in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(name, signal.SIG_DFL)  # the command leaves signals that are ignored alone
    signal.signal(signal.SIGINT, signal.default_int_handler)
    root = tempfile.mkdtemp(prefix="palladion-faults-")
    try:
        suite = Suite(os.path.abspath(args.palladion), root, args.seed, args.long)
        print(f"seed {args.seed}\n{'scenario':16}{'runs':>7}{'faults':>8}{'seconds':>9}")
        total = 0
        for name in args.only:
            begin, suite.runs, suite.hits = time.monotonic(), 0, 0
            skipped = getattr(suite, name)()
            seconds = time.monotonic() - begin
            total += suite.runs
            print(f"{name:16}{suite.runs:7}{suite.hits:8}{seconds:9.1f}", flush=True)
            if skipped:
                print(f"skipped: {skipped}")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for fault in sorted(set(suite.found))[:40]:
        print(f"FAULT {fault}", file=sys.stderr)
    if suite.found:
        sys.exit(f"{len(suite.found)} faults: --seed {args.seed}")
    print(f"{total} runs, nothing was lost")


if __name__ == "__main__":
    main()
