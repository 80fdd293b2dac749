#!/usr/bin/env python3
"""The command line under load and faults: whatever fails, nothing is lost, nothing is half-written, the error is clear,
and no litter stays. scripts/test-faults.sh builds what this needs and calls it.

    scripts/faults.py PALLADION [--seed N] [--only PART,...]        LONG=1: everything

A judge (`Bench.judge`) looks at every run in the same way:

  lost          input and key are there, byte for byte
  half-written  under the name of the output there is a whole, verified file, or what was there before; the new one if
                the exit status is 0, what was before if it is anything else (after SIGKILL either)
  unclear       the exit status is one of those that `palladion help` lists; an error is one line `error: ...` that names a
                file and the reason, and at most one line `hint: ...`; no panic, no backtrace, no core dump
  litter        nothing else in the folder; after SIGKILL at most `.palladion-*.tmp`

Commands that do it wrong on purpose (PLANTED) go before the same judge in the same parts, and must be caught.
"""

import argparse
import collections
import concurrent.futures
import errno
import functools
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

LONG = bool(os.environ.get("LONG"))
KEY_FILE = re.compile(rb"palladion-key-1:[0-9a-f]{64}\n")
LEFTOVER = re.compile(r"\.palladion-[A-Za-z0-9]{10}\.tmp")
CHUNK = 4096
LIMIT_S = 60

# What each system call may answer with, the likeliest first.
ERRORS = {
    "openat": ["EACCES", "EMFILE", "ENOSPC", "EIO", "EINTR"],
    "read": ["EIO", "EINTR", "EISDIR"],
    "pread64": ["EIO", "EINTR"],
    "readv": ["EIO"],
    "write": ["ENOSPC", "EIO", "EINTR", "EDQUOT", "EFBIG"],
    "pwrite64": ["ENOSPC", "EIO", "EINTR"],
    "writev": ["ENOSPC", "EINTR"],
    "copy_file_range": ["EIO", "ENOSYS"],
    "fsync": ["EIO", "ENOSPC", "EINTR"],
    "fdatasync": ["EIO"],
    "close": ["EIO", "EINTR"],
    "ftruncate": ["ENOSPC"],
    "fallocate": ["ENOSPC"],
    "rename": ["EIO", "EACCES", "ENOSPC", "EROFS"],
    "renameat": ["EIO", "EACCES", "ENOSPC", "EROFS"],
    "renameat2": ["EIO", "EACCES", "EINVAL", "ENOSYS", "EEXIST"],
    "link": ["EIO", "EPERM"],
    "linkat": ["EIO", "EPERM"],
    "unlink": ["EIO", "EACCES"],
    "unlinkat": ["EIO"],
    "fchmod": ["EPERM", "EIO"],
    "chmod": ["EPERM"],
    "statx": ["EIO", "EACCES", "ENOSYS"],
    "newfstatat": ["EIO"],
    "fstat": ["EIO"],
    "lseek": ["EIO"],
    "ioctl": ["EIO"],
    "fcntl": ["EMFILE"],
    "readlink": ["EIO", "EACCES"],
    "getcwd": ["EIO", "ENOENT"],
    "getrandom": ["EIO", "EINTR", "ENOSYS"],
    "mmap": ["ENOMEM"],
    "mremap": ["ENOMEM"],
    "munmap": ["ENOMEM"],
    "mprotect": ["ENOMEM"],
    "brk": ["ENOMEM"],
    "madvise": ["ENOMEM"],
    "clone3": ["EAGAIN"],
    "clone": ["EAGAIN"],
    "prlimit64": ["EPERM"],
    "rt_sigaction": ["EINVAL"],
    "socketpair": ["EMFILE"],
    "recvfrom": ["EINTR"],
    "flock": ["EINTR", "ENOLCK"],
    "pipe2": ["EMFILE"],
    "sched_getaffinity": ["EPERM"],
    "poll": ["EINTR"],
}
# Where memory is asked for, a program may end without a word of its own.
MEMORY = {"mmap", "mremap", "munmap", "mprotect", "brk", "madvise"}

Outcome = collections.namedtuple("Outcome", "status stderr stdout trace")


class Fault(Exception):
    """What the judge found."""


def whole_lines(trace):
    """strace's lines; a call in whose midst another thread made one stands in two, and here in one, where it ended."""
    begun, lines = {}, []
    for line in trace.splitlines():
        thread, _, rest = line.partition(" ")
        if rest.endswith(" <unfinished ...>"):
            begun[thread] = line.removesuffix(" <unfinished ...>")
        elif match := re.match(r" *<\.\.\. \w+ resumed>(.*)", rest):
            lines.append(begun.pop(thread, thread) + match[1])
        else:
            lines.append(line)
    return lines + list(begun.values())


class Scenario:
    """A command, and what it must leave behind."""

    def __init__(self, name, command, force, size=3 * CHUNK + 1, options=()):
        self.name, self.command, self.force, self.size, self.options = name, command, force, size, list(options)

    def args(self):
        if self.command == "raf write":
            return ["raf", "write", "-k", "key", "--offset", str(Patch.OFFSET), "in.raf", "patch"]
        if self.command.startswith("raf"):
            force = ["-f"] if self.force else []
            chunks = ["--chunk-size", "4K"] if self.command == "raf import" and self.size < 1 << 20 else []
            files = ["in", "out"] if self.command == "raf import" else ["in.raf", "out"]
            return [*self.command.split(), "-k", "key", *force, *chunks, *files]
        args = [self.command]
        if self.command in ("encrypt", "decrypt"):
            args += ["-k", "key", *self.options]
        if self.force:
            args.append("-f")
        args += ["-o", "out"]
        if self.command == "encrypt":
            args += ["--chunk-size", "4K", "in"] if self.size < 1 << 20 else ["in"]
        elif self.command == "decrypt":
            args.append("in.pld")
        return args


ONE = ("-t", "1")
SCENARIOS = [
    Scenario("encrypt", "encrypt", False, options=ONE),
    Scenario("encrypt -f", "encrypt", True, options=ONE),
    Scenario("decrypt", "decrypt", False, options=ONE),
    Scenario("decrypt -f", "decrypt", True, options=ONE),
    Scenario("keygen", "keygen", False),
    Scenario("keygen -f", "keygen", True),
    Scenario("raf import", "raf import", False),
    Scenario("raf import -f", "raf import", True),
    Scenario("raf export", "raf export", False),
    Scenario("raf export -f", "raf export", True),
]
IN_PLACE = Scenario("raf write", "raf write", False, size=1 << 21)
THREADS = [
    Scenario("encrypt -t 3", "encrypt", False, size=9 * CHUNK, options=("-t", "3")),
    Scenario("decrypt -t 3 -f", "decrypt", True, size=9 * CHUNK, options=("-t", "3")),
]


class Statistics:
    def __init__(self):
        self.lock = threading.Lock()
        self.rows = collections.OrderedDict()
        self.found = []

    def add(self, part, **counts):
        with self.lock:
            self.rows.setdefault(part, collections.Counter()).update(counts)

    def fault(self, part, what):
        with self.lock:
            self.rows.setdefault(part, collections.Counter())["defects"] += 1
            self.found.append(f"{part}: {what}")

    def table(self):
        columns = ["runs", "faults", "kills", "succeeded", "refused", "defects"]
        print(f"\n{'':28}" + "".join(f"{column:>11}" for column in columns))
        total = collections.Counter()
        for part, counts in self.rows.items():
            total.update(counts)
            print(f"{part:28}" + "".join(f"{counts[column]:>11}" for column in columns))
        print(f"{'all':28}" + "".join(f"{total[column]:>11}" for column in columns), flush=True)
        return total


class Fixture:
    """What the runs begin with, made once by the command itself and checked."""

    def __init__(self, palladion, root, seed):
        self.palladion, self.seed = palladion, seed
        self.root = root
        self.key = self.run(["keygen"])
        if not KEY_FILE.fullmatch(self.key):
            raise SystemExit("keygen makes no key")
        self.key_path = os.path.join(root, "key")
        write(self.key_path, self.key, 0o600)
        self.old = b"what was here before\n" * 400
        self.cache, self.lock = {}, threading.Lock()

    def run(self, args, input=b""):
        done = subprocess.run([self.palladion, *args], input=input, capture_output=True, timeout=LIMIT_S)
        if done.returncode:
            raise Fault(f"{args}: exit status {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def text(self, size):
        with self.lock:
            return self.text_once(size)

    def text_once(self, size):
        if size not in self.cache:
            text = random.Random(self.seed).randbytes(size)
            chunk = ["--chunk-size", "4K"] if size < 1 << 20 else []
            plain = os.path.join(self.root, f"plain-{size}")
            write(plain, text)
            self.run(["raf", "import", "-k", self.key_path, *chunk, plain, plain + ".raf"])
            self.cache[size] = text, self.run(["encrypt", "-k", self.key_path, *chunk], text), read(plain + ".raf")
        return self.cache[size][:2]

    def raf(self, size):
        self.text(size)
        return self.cache[size][2]

    def decrypts_to(self, path, text, raf=False):
        """Whether a file verifies, to the end, and says what it should."""
        if raf:
            export = [self.palladion, "raf", "export", "-k", self.key_path, path, "-"]
            done = subprocess.run(export, capture_output=True, timeout=LIMIT_S)
            return done.returncode == 0 and done.stdout == text
        with open(path, "rb") as file:
            done = subprocess.run(
                [self.palladion, "decrypt", "-k", self.key_path], stdin=file, capture_output=True, timeout=LIMIT_S
            )
        return done.returncode == 0 and done.stdout == text


def write(path, content, mode=0o644):
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Bench:
    """A folder for one run."""

    def __init__(self, fixture, scenario, folder=None):
        self.fixture, self.scenario = fixture, scenario
        self.folder = folder or tempfile.mkdtemp(dir=fixture.root)
        self.text, self.sealed = fixture.text(scenario.size)
        write(self.path("key"), fixture.key, 0o600)
        write(self.path("in"), self.text)
        write(self.path("in.pld"), self.sealed)
        self.kept = {"key": fixture.key, "in": self.text, "in.pld": self.sealed}
        if scenario.command in ("raf export", "raf write"):
            self.raf = fixture.raf(scenario.size)
            write(self.path("in.raf"), self.raf)
        if scenario.command == "raf export":
            self.kept["in.raf"] = self.raf
        if scenario.force:
            write(self.path("out"), fixture.old, 0o640)
        os.mkdir(self.path("tmp"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self):
        return {**os.environ, "TMPDIR": self.path("tmp"), "LC_ALL": "C", "RUST_BACKTRACE": "0"}

    def run(self, tool, wrapper=(), trace=None, **more):
        command = [*wrapper, tool, *self.scenario.args()]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=LIMIT_S, start_new_session=True, **more
        )
        text = ""
        if trace and os.path.exists(trace):
            text = read(trace).decode(errors="replace")
            os.remove(trace)
        return Outcome(done.returncode, done.stderr.decode(errors="replace"), done.stdout, text)

    def output(self):
        """'none', 'old', 'new' or 'wrong'."""
        path = self.path("out")
        if not os.path.lexists(path):
            return "none"
        content = read(path)
        if self.scenario.force and content == self.fixture.old:
            return "old"
        command = self.scenario.command
        new = (
            self.fixture.decrypts_to(path, self.text) if command == "encrypt"
            else self.fixture.decrypts_to(path, self.text, raf=True) if command == "raf import"
            else content == self.text if command in ("decrypt", "raf export")
            else KEY_FILE.fullmatch(content) is not None and content != self.fixture.key
        )
        return "new" if new else "wrong"

    def judge(self, outcome, killed=None, may_litter=False, memory=False, quiet=False, reason=None):
        """Looks at all invariants; `killed`: by this signal, if it came in time."""
        for name, content in self.kept.items():
            if not os.path.exists(self.path(name)) or read(self.path(name)) != content:
                raise Fault(f"lost: {name} is changed or gone")
        before = "old" if self.scenario.force else "none"
        output, status = self.output(), outcome.status
        if output == "wrong" or output not in (before, "new"):
            raise Fault(f"half-written: the output is {output}, exit status {status}")
        if status == 0 and output != "new":
            raise Fault("half-written: exit status 0, but there is no new output")
        if status not in (0, -signal.SIGKILL) and output != before:
            raise Fault(f"half-written: exit status {status}, but there is a new output")
        if output == "new":
            mode = os.stat(self.path("out")).st_mode & 0o7777
            wanted = 0o600 if self.scenario.command == "keygen" else 0o640 if self.scenario.force else 0o644
            if mode != wanted:
                raise Fault(f"half-written: the output has the permissions {mode:o}, not {wanted:o}")
        known = {*self.kept, "tmp", "out"}
        litter = [name for name in os.listdir(self.folder) if name not in known] + os.listdir(self.path("tmp"))
        if may_litter or status == -signal.SIGKILL or memory and self.out_of_memory(outcome):
            litter = [name for name in litter if not LEFTOVER.fullmatch(name)]
        if litter:
            raise Fault(f"litter: {litter}, exit status {status}")
        self.judge_words(outcome, killed, memory, quiet, reason)
        return output

    @staticmethod
    def out_of_memory(outcome):
        """Where there is no memory for something small, the standard library ends the program as SIGKILL does."""
        return outcome.status == -signal.SIGABRT and outcome.stderr.startswith("memory allocation of ")

    def judge_words(self, outcome, killed, memory, quiet, reason):
        status, lines = outcome.status, outcome.stderr.splitlines()
        if memory and self.out_of_memory(outcome):
            return
        if "panicked" in outcome.stderr or "RUST_BACKTRACE" in outcome.stderr or "internal error" in outcome.stderr and not memory:
            raise Fault(f"unclear: a panic: {outcome.stderr.strip()!r}")
        if killed and status == -killed:
            if lines:
                raise Fault(f"unclear: killed by {killed}, and said {lines}")
            return
        if status == 0:
            if lines:
                raise Fault(f"unclear: exit status 0, and said {lines}")
            return
        if status not in (1, 3, 4):
            raise Fault(f"unclear: exit status {status}: {outcome.stderr.strip()!r}")
        if quiet:
            return
        if not lines or not lines[0].startswith("error: ") or len(lines) > 2 or lines[1:] and not lines[1].startswith("hint: "):
            raise Fault(f"unclear: not one error and at most one hint: {lines}")
        names = ('"in"', '"in.pld"', '"in.raf"', '"patch"', '"key"', '"out"', '"."', f'"{self.folder}"', "standard ")
        if not any(name in lines[0] for name in names) and not (memory and ("memory" in lines[0] or "internal error" in lines[0])) and "random" not in lines[0]:
            raise Fault(f"unclear: names no file: {lines[0]!r}")
        if reason and reason.lower() not in lines[0].lower():
            raise Fault(f"unclear: {lines[0]!r} does not say {reason!r}")


class Patch(Bench):
    """A folder for a run of `raf write`, which changes a file in its place and makes it longer. docs/raf.md promises: after
    an error or a signal the file has the data up to a place that is told, and sound chunks; after SIGKILL, or where
    writing itself failed, chunks that were being written may be damaged; wrong data never comes out."""

    OFFSET, CHUNK = 1000001, 65536

    def __init__(self, fixture, folder=None):
        super().__init__(fixture, IN_PLACE, folder)
        self.patch = random.Random("patch").randbytes(1500000)
        write(self.path("patch"), self.patch)
        self.kept["patch"] = self.patch
        end = self.OFFSET + len(self.patch)
        self.after = self.text[: self.OFFSET] + self.patch + self.text[end:]

    def ask(self, *args):
        return subprocess.run(
            [self.fixture.palladion, "raf", args[0], "-k", self.fixture.key_path, *args[1:]], cwd=self.folder,
            capture_output=True, timeout=LIMIT_S
        )

    def judge(self, outcome, killed=None, may_litter=False, memory=False, quiet=False, reason=None):
        for name, content in self.kept.items():
            if not os.path.exists(self.path(name)) or read(self.path(name)) != content:
                raise Fault(f"lost: {name} is changed or gone")
        litter = [name for name in os.listdir(self.folder) if name not in {*self.kept, "in.raf", "tmp"}]
        if litter or os.listdir(self.path("tmp")):
            raise Fault(f"litter: {litter}")
        status, said = outcome.status, outcome.stderr
        info = self.ask("info", "in.raf")
        size = re.search(rb"size: +(\d+)\n", info.stdout.replace(b"chunk size", b""))
        if info.returncode or not size:
            raise Fault(f"lost: the header: {info.stderr}")
        size = int(size[1])
        verify = self.ask("verify", "in.raf").stderr.decode()
        damaged = {int(index) for index in re.findall(r"chunk (\d+) is damaged", verify)}
        if "truncated" in verify:
            raise Fault(f"lost: {verify}")
        if size not in (len(self.text), len(self.after)) and f"{size} bytes" not in said:
            raise Fault(f"lost: the size is {size}")
        if not damaged:
            have = self.ask("cat", "in.raf").stdout
            if len(have) != size:
                raise Fault(f"lost: {size} bytes, but {len(have)} come out")
        old = new = 0
        for index in range(-(-size // self.CHUNK)):
            begin, end = index * self.CHUNK, min((index + 1) * self.CHUNK, size)
            touched = end > self.OFFSET and begin < self.OFFSET + len(self.patch)
            if index in damaged:
                if not touched:
                    raise Fault(f"lost: chunk {index} is damaged, which nobody changes")
                continue
            part = (
                have[begin:end] if not damaged
                else self.ask("cat", "--offset", str(begin), "--length", str(end - begin), "in.raf").stdout
            )
            # A chunk that was the last one has zeros behind its end when the file grows.
            was = self.text[begin:end].ljust(end - begin, b"\0")
            if part == self.after[begin:end]:
                new += 1
            elif part == was:
                old += 1
            else:
                raise Fault(f"half-written: chunk {index} is neither the old nor the new one")
        if status == 0:
            if damaged or have != self.after:
                raise Fault("half-written: exit status 0, but the data is not all there")
        told = re.search(r"(\d+) bytes were written", said)
        if told and not damaged:
            end = self.OFFSET + int(told[1])
            if have[self.OFFSET : end] != self.patch[: int(told[1])]:
                raise Fault(f"half-written: not as told: {said!r}")
        if killed and status == -killed and killed != signal.SIGKILL:
            if damaged:
                raise Fault(f"half-written: a signal, and chunks {damaged} are damaged")
            if said and not re.fullmatch(r'stopped: \d+ bytes were written to "in.raf", which has \d+ bytes now\n', said):
                raise Fault(f"unclear: {said!r}")
            return
        self.judge_words(outcome, killed, memory, quiet, reason)


class Suite:
    def __init__(self, palladion, root, seed, statistics, mounts):
        self.fixture = Fixture(palladion, root, seed)
        self.palladion, self.root, self.seed, self.statistics, self.mounts = palladion, root, seed, statistics, mounts
        self.random = random.Random(seed)
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=max(2, min(8, os.cpu_count() or 2)))

    def each(self, part, jobs):
        """Runs jobs, several at a time. A job returns its counts, or raises a Fault."""

        def guarded(job):
            try:
                return job()
            except Fault as fault:
                self.statistics.fault(part, str(fault))
            except subprocess.TimeoutExpired as late:
                self.statistics.fault(part, f"hangs: {late.cmd}")
            return None

        results = list(self.pool.map(guarded, jobs))
        for result in results:
            self.statistics.add(part, **{"runs": 1, **(result or {})})
        return results

    def bench(self, scenario):
        return Patch(self.fixture) if scenario is IN_PLACE else Bench(self.fixture, scenario)

    @staticmethod
    def verdict(status):
        return {"succeeded": 1} if status == 0 else {"refused": 1}

    # ---- 1. No room

    def full(self, tool=None, scenarios=SCENARIOS, rooms=None):
        tool = tool or self.palladion
        part = "no room: file size limit"

        def limited(scenario, room):
            with Bench(self.fixture, scenario) as bench:
                outcome = bench.run(tool, ["prlimit", f"--fsize={room}"])
                try:
                    bench.judge(outcome, reason="File too large" if outcome.status else None)
                except Fault as fault:
                    raise Fault(f"{scenario.name}, files of {room} bytes at most: {fault}") from None
                return {"faults": 1, **self.verdict(outcome.status)}

        def rooms_for(scenario):
            if rooms:
                return rooms
            end = {
                "encrypt": len(self.fixture.text(scenario.size)[1]), "decrypt": scenario.size, "keygen": 81,
                "raf import": len(self.fixture.raf(scenario.size)), "raf export": scenario.size,
            }[scenario.command]
            edges = {0, 1, 80, 81, 127, 128, 129, 131, 132, CHUNK - 1, CHUNK, CHUNK + 164, end - 1, end, end + 1}
            return sorted(room for room in edges if room <= end + 1)

        jobs = [lambda s=s, r=r: limited(s, r) for s in scenarios for r in rooms_for(s)]
        self.each(part, jobs)

    def full_disk(self):
        if not self.mounts:
            print("skipped: no right to mount a small tmpfs; the file size limit stands for a full disk")
            return
        part = "no room: tmpfs"
        page = 4096
        for count, options in enumerate(["size=512k", "size=512k,nr_inodes=8"]):
            disk = os.path.join(self.root, f"disk{count}")
            os.mkdir(disk)
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], check=True)
            try:
                self.each(part, [lambda o=options: self.fill(part, disk, page, "inodes" in o)])
            finally:
                subprocess.run(["umount", disk], check=True)

    def fill(self, part, disk, page, inodes):
        sizes = [Scenario(s.name, s.command, s.force, 70000, s.options) for s in SCENARIOS]
        for scenario in sizes:
            free_pages = [0, 1, 2, 3, 16, 17, 18, 19, 20] if not LONG else range(0, 24)
            for pages in [None] if inodes else free_pages:
                folder = tempfile.mkdtemp(dir=disk)
                with Bench(self.fixture, scenario, folder) as bench:
                    fillers = []
                    if inodes:
                        while True:  # takes all names that are left
                            try:
                                name = os.path.join(disk, f"filler{len(fillers)}")
                                write(name, b"")
                                fillers.append(name)
                            except OSError:
                                break
                    else:
                        space = os.statvfs(disk)
                        filler = os.path.join(disk, "filler")
                        write(filler, bytes(space.f_bavail * space.f_frsize - pages * page))
                        fillers.append(filler)
                    outcome = bench.run(self.palladion)
                    for filler in fillers:
                        os.remove(filler)
                    try:
                        bench.judge(outcome, reason="No space left on device" if outcome.status else None)
                        if outcome.status and "hint: make room" not in outcome.stderr:
                            raise Fault(f"unclear: no hint: {outcome.stderr!r}")
                    except Fault as fault:
                        raise Fault(f"{scenario.name}, {pages} pages free: {fault}") from None
                    self.statistics.add(part, runs=1, faults=1, **self.verdict(outcome.status))
        return {}

    def pipes(self):
        """Standard output that takes nothing, or goes away; a slow one with signals in between, for short writes."""
        part = "pipes"
        text, sealed = self.fixture.text(1 << 21)

        def go(command, how):
            args = [self.palladion, command, "-k", self.fixture.key_path, "-t", "2"]
            given, wanted = (text, sealed) if command == "encrypt" else (sealed, text)
            source = tempfile.TemporaryFile(dir=self.root)
            source.write(given)
            source.seek(0)
            if how == "full":
                with open("/dev/full", "wb") as full:
                    done = subprocess.run(args, stdin=source, stdout=full, stderr=subprocess.PIPE, timeout=LIMIT_S)
                outcome = Outcome(done.returncode, done.stderr.decode(), b"", "")
                if outcome.status != 1 or "cannot write standard output: No space left" not in outcome.stderr:
                    raise Fault(f"{command} to /dev/full: {outcome}")
                return {"faults": 1, "refused": 1}
            log = os.path.join(self.root, f"short-{command}-{how}")
            if how.startswith("slow"):
                args = ["strace", "-D", "-f", "-o", log, "-e", "trace=write", "-e", "signal=none", *args]
            child = subprocess.Popen(args, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
            got = b""
            if how == "gone":
                got = child.stdout.read(100000)
                child.stdout.close()
                said = child.stderr.read()
                if child.wait(LIMIT_S) != 141 or said:
                    raise Fault(f"{command}: nobody reads, and: {child.returncode} {said}")
                if command == "decrypt" and not text.startswith(got):
                    raise Fault("decrypt: what came out is no beginning of the text")
                return {"faults": 1, "refused": 1}
            # A write that waits for the reader and is interrupted by a signal that has a handler
            # comes back short.
            generator = random.Random(f"{self.seed} {command} {how}")
            pokes = 0
            got = child.stdout.read(1)  # by now it has its handlers
            while True:
                if pokes < 300 and child.poll() is None:
                    for number in (signal.SIGXFSZ, signal.SIGSTOP, signal.SIGCONT):
                        child.send_signal(number)
                    pokes += 1
                piece = os.read(child.stdout.fileno(), generator.choice([1, 100, 4096, 16384, 65536]))
                if not piece:
                    break
                got += piece
            said = child.stderr.read()
            child.stdout.close()
            if child.wait(LIMIT_S) or said:
                raise Fault(f"{command} with signals: exit status {child.returncode}: {said}")
            if command == "encrypt":
                got, wanted = self.fixture.run(["decrypt", "-k", self.fixture.key_path], got), text
            if got != wanted:
                raise Fault(f"{command} with signals: wrong output")
            end = time.monotonic() + 10
            while time.monotonic() < end and not re.search(r"\+\+\+ exited.*\n\Z", read(log).decode()):
                time.sleep(0.02)
            # Only those that are short: the rest are no faults.
            calls = re.findall(r" write\(\d+, .*, (\d+)\) += (\d+)", "\n".join(whole_lines(read(log).decode())))
            short = sum(int(asked) > int(written) for asked, written in calls)
            return {"faults": short, "succeeded": 1}

        hows = ["full", "gone"] + [f"slow {i}" for i in range(8 if LONG else 2)]
        results = self.each(part, [lambda c=c, h=h: go(c, h) for c in ("encrypt", "decrypt") for h in hows])
        if sum(result["faults"] for result in results if result) <= 4:
            self.statistics.fault(part, "the judge is blind: no write was short")

    # ---- 2. Every system call fails once

    def trace(self, tool, scenario):
        """How often each system call is made before the program's own work, and in all, by the thread with most."""
        log = os.path.join(self.root, f"trace-{threading.get_ident()}")
        with self.bench(scenario) as bench:
            outcome = bench.run(tool, ["strace", "-f", "-o", log], trace=log)
            bench.judge(outcome)
        first, counts, begun = collections.Counter(), collections.defaultdict(collections.Counter), False
        for line in outcome.trace.splitlines():
            match = re.match(r"(\d+) +(\w+)\((.*)", line)
            if not match:
                continue
            # What the program does first of all: see interrupt.rs.
            begun = begun or "RLIMIT_CORE" in match[3]
            counts[match[1]][match[2]] += 1
            if not begun:
                first[match[2]] += 1
        most = collections.Counter()
        for calls in counts.values():
            most |= calls
        return first, most

    def injected(self, tool, scenario, call, what, number, first):
        """One run in which one system call does not do what it should, or is met by a signal."""
        log = os.path.join(self.root, f"trace-{call}-{what}-{number}-{threading.get_ident()}")
        # With its filter strace is faster, but sends no signals.
        fast = [] if what.startswith("signal=") else ["--seccomp-bpf"]
        wrapper = ["strace", "-f", *fast, "-o", log, "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={number}"]
        with self.bench(scenario) as bench:
            outcome = bench.run(tool, wrapper, trace=log)
            own_work = number > first[call]
            lines = whole_lines(outcome.trace)
            hits = [line for line in lines if "(INJECTED)" in line or "si_code=SI_KERNEL" in line or "killed by SIGKILL" in line]
            to_stderr = any(re.search(r"write(v)?\(2, ", line) for line in hits)
            signalled = int(what.split("=")[1]) if what.startswith("signal=") else None
            error = what.split("=")[1] if what.startswith("error=") else None
            try:
                if own_work:
                    bench.judge(
                        outcome, killed=signalled, may_litter=call.startswith("unlink"),
                        memory=call in MEMORY or call == "getrandom", quiet=to_stderr
                    )
                    if not to_stderr:
                        self.expectations(call, error, lines, hits, outcome)
                else:
                    # The loader and the run-time library before main: their words are not ours,
                    # their traces are.
                    bench.judge_words = lambda *_: None
                    bench.judge(outcome, killed=signalled)
            except Fault as fault:
                raise Fault(f"{scenario.name}, {call} no. {number}, {what}: {fault}: {' | '.join(hits)[:300]}") from None
        return {"kills" if signalled else "faults": int(bool(hits)), **self.verdict(outcome.status)}

    def arrive(self, part, results):
        """A part whose faults do not happen would find nothing."""
        hits = sum(result.get("kills", 0) + result.get("faults", 0) for result in results if result)
        # (Not all do: how many calls a thread makes is not the same each time.)
        if hits < 0.5 * sum(result is not None for result in results):
            self.statistics.fault(part, f"the judge is blind: {len(results)} runs, but {hits} faults")

    @staticmethod
    def expectations(call, error, lines, hits, outcome):
        if not hits:
            return
        data = re.search(r"\((\d+), ", hits[0])
        if error == "EINTR" and call in ("read", "write", "pread64", "pwrite64", "openat", "fsync", "futex", "poll"):
            if outcome.status != 0:
                raise Fault(f"EINTR is no failure, but: {outcome.stderr.strip()!r}")
        elif error in ("EIO", "ENOSPC", "EDQUOT", "EFBIG") and call == "write" and data and int(data[1]) > 2:
            # Only the signal pipe is written to besides the output; nobody signals here.
            if outcome.status != 1 or os.strerror(getattr(errno, error)) not in outcome.stderr:
                raise Fault(f"exit status {outcome.status}, and said {outcome.stderr.strip()!r}")
            if error in ("ENOSPC", "EDQUOT") and "hint: make room" not in outcome.stderr:
                raise Fault(f"no hint to make room: {outcome.stderr.strip()!r}")
        elif error in ("EIO", "ENOSPC") and call == "fsync" and lines.index(hits[0]) == 0:
            if outcome.status != 1:
                raise Fault("the output could not be brought to disk, and nobody said so")

    def system_calls(self, tool=None, scenarios=None, calls=None, part="system calls that fail", every=None):
        tool = tool or self.palladion
        scenarios = scenarios or (SCENARIOS + THREADS if LONG else SCENARIOS[:7] + SCENARIOS[8:9] + THREADS[:1])
        every = every or (1 if LONG else 0)
        jobs = []
        traced = list(self.pool.map(lambda s: self.trace(tool, s), scenarios))
        for scenario, (first, most) in zip(scenarios, traced):
            for call, count in sorted(most.items()):
                if call not in ERRORS or calls and call not in calls:
                    continue
                errors = ERRORS[call]
                if every:
                    numbers = range(1, count + 1)
                else:
                    # One before the program's own work, and of many a sample with both ends.
                    numbers = range(first[call] + 1, count + 1)
                    most_wanted = 3 if call in MEMORY or call in ("rt_sigaction", "futex", "close", "madvise") else 6
                    if len(numbers) > most_wanted:
                        inner = self.random.sample(range(first[call] + 2, count), most_wanted - 2)
                        numbers = [first[call] + 1, *sorted(inner), count]
                    if first[call]:
                        numbers = [self.random.randint(1, first[call]), *numbers]
                    errors = errors if call in ("write", "rename", "renameat", "renameat2", "fsync") else errors[:2] if call in ("read", "openat") else errors[:1]
                for number in numbers:
                    for error in errors:
                        jobs.append(
                            lambda s=scenario, c=call, e=error, n=number, f=first: self.injected(tool, s, c, f"error={e}", n, f)
                        )
        self.arrive(part, self.each(part, jobs))

    def combined(self):
        """Two at once: what cleans up fails too, or what is done instead."""
        part = "system calls, two fail"
        plain, forced = SCENARIOS[0], SCENARIOS[1]
        reads = self.trace(self.palladion, SCENARIOS[2])[0]["read"] + 1
        plans = [  # scenario, faults, wanted exit status, whether a temporary file may stay, what the error says
            (plain, ["write:error=ENOSPC:when=3", "unlink:error=EIO", "unlinkat:error=EIO"], 1, True, "No space left"),
            (forced, ["write:error=ENOSPC:when=3", "unlink:error=EIO", "unlinkat:error=EIO"], 1, True, "No space left"),
            (plain, ["fsync:error=EIO:when=1", "unlink:error=EACCES", "unlinkat:error=EACCES"], 1, True, "Input/output"),
            (plain, ["fsync:error=EIO:when=2"], 0, False, None),  # the folder: not every file system can
            (plain, ["renameat2:error=EINVAL"], 0, False, None),
            (plain, ["renameat2:error=ENOSYS"], 0, False, None),
            (plain, ["renameat2:error=EINVAL", "link,linkat:error=EPERM"], 1, False, "cannot create \"out\": Operation not permitted"),
            (plain, ["renameat2:error=EINVAL", "link,linkat:error=EIO"], 1, False, "Input/output"),
            (plain, ["renameat2:error=EINVAL", "link,linkat:error=EEXIST"], 1, False, "exists already"),
            (plain, ["renameat2:error=EINVAL", "unlink,unlinkat:error=EIO"], 0, True, None),
            (forced, ["rename,renameat:error=EIO", "unlink,unlinkat:error=EIO"], 1, True, "Input/output"),
            (plain, ["renameat2:error=EINVAL", "link,linkat:signal=SIGKILL"], -9, True, None),
            (plain, ["renameat2:error=EINVAL", "unlink,unlinkat:signal=SIGKILL"], -9, True, None),
            (plain, ["renameat2:error=EINVAL", "link,linkat:signal=SIGTERM"], None, False, None),
            (plain, ["write:signal=SIGTERM:when=3", "unlink,unlinkat:error=EIO"], None, True, None),
            *((SCENARIOS[2], [f"read:retval=0:when={number}"], None, False, None) for number in range(reads, reads + 12)),
        ]

        def go(number, scenario, faults, status, may_litter, words):
            log = os.path.join(self.root, f"combined-{number}")
            # (Without any word of itself on calls that this machine does not have, hence the
            # question marks.)
            calls = ",".join("?" + call for fault in faults for call in fault.split(":")[0].split(","))
            wrapper = ["strace", "-f", "-o", log, "-e", f"trace={calls}"]
            for fault in faults:
                names, rest = fault.split(":", 1)
                wrapper += ["-e", "inject=" + ",".join("?" + name for name in names.split(",")) + ":" + rest]
            with Bench(self.fixture, scenario) as bench:
                outcome = bench.run(self.palladion, wrapper, trace=log)
                hits = len(re.findall(r"INJECTED|SI_KERNEL|killed by SIGKILL", outcome.trace))
                try:
                    killed = signal.SIGTERM if "SIGTERM" in str(faults) else signal.SIGKILL
                    bench.judge(outcome, killed=killed, may_litter=may_litter)
                    if status is not None and outcome.status != status or words and words not in outcome.stderr:
                        raise Fault(f"exit status {outcome.status}, {outcome.stderr.strip()!r}")
                except Fault as fault:
                    raise Fault(f"{scenario.name}, {faults}: {fault}: {outcome.trace[-500:]}") from None
                return {"faults": min(hits, len(faults)), **self.verdict(outcome.status)}

        self.arrive(part, self.each(part, [lambda n=n, p=p: go(n, *p) for n, p in enumerate(plans)]))

    def kills_at_calls(self, tool=None, scenarios=None, part="killed at a system call", calls=None):
        """A signal that comes as a system call begins: no window between two of them is missed."""
        tool = tool or self.palladion
        scenarios = scenarios or (SCENARIOS if LONG else SCENARIOS[:7] + SCENARIOS[8:9])
        wanted = ["openat", "write", "fsync", "rename", "renameat", "renameat2", "fchmod", "close", "unlink", "linkat", "exit_group"]
        if LONG:
            wanted += ["read", "statx", "mmap", "munmap", "getrandom", "futex", "rt_sigaction", "clone3", "madvise"]
        wanted = calls or wanted
        signals = [signal.SIGKILL, signal.SIGTERM] + ([signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGXFSZ] if LONG else [])
        jobs = []
        traced = list(self.pool.map(lambda s: self.trace(tool, s), scenarios))
        for scenario, (first, most) in zip(scenarios, traced):
            for call in wanted:
                low = 0 if LONG else first[call]
                for number in range(low + 1, most[call] + 1):
                    for kill in signals:
                        if kill != signal.SIGKILL and number <= first[call]:
                            continue
                        jobs.append(
                            lambda s=scenario, c=call, k=kill, n=number, f=first: self.injected(tool, s, c, f"signal={int(k)}", n, f)
                        )
        self.arrive(part, self.each(part, jobs))

    # ---- 3. An input that does not keep still

    def unsteady(self):
        part = "input that changes"
        size = 6 << 20
        text, sealed = self.fixture.text(size)

        def go(command, change):
            folder = tempfile.mkdtemp(dir=self.root)
            path, grown = os.path.join(folder, "in"), b"more" * 300000
            given, wanted = (text, sealed) if command == "encrypt" else (sealed, text)
            write(path, given)
            child = subprocess.Popen(
                [self.palladion, command, "-k", self.fixture.key_path, "-t", "1", path], cwd=folder,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
            got = b""
            while len(got) < 1000:  # more than the header: at least a chunk is read
                got += child.stdout.read(1000)
            if change == "shrinks":
                os.truncate(path, 3000001)
            elif change == "shrinks to nothing":
                os.truncate(path, 0)
            elif change == "grows":
                with open(path, "ab") as file:
                    file.write(grown)
            elif change == "is replaced":
                write(path + "2", b"something else")
                os.rename(path + "2", path)
            elif change == "is removed":
                os.remove(path)
            rest, said = child.communicate(timeout=LIMIT_S)
            got, status = got + rest, child.returncode
            shutil.rmtree(folder)
            where = f"{command}, the input {change}: exit status {status}, {said}"
            if command == "encrypt":
                if status != 0 or said:
                    raise Fault(where)
                got = self.fixture.run(["decrypt", "-k", self.fixture.key_path], got)
                whole = text + grown if change == "grows" else text
                whole = whole if "shrinks" not in change else text[: len(got)]
                if got != whole or len(got) < 1 << 20:
                    raise Fault(f"{where}: the output is not what was read")
            elif change in ("is replaced", "is removed"):
                if status != 0 or got != text:
                    raise Fault(where)
            elif change == "grows":
                if status != 4 or b"does not end where it should" not in said or got != text:
                    raise Fault(where)
            elif status != 4 or b"truncated" not in said or not text.startswith(got):
                raise Fault(where)
            return {"faults": 1, **self.verdict(status)}

        changes = ["shrinks", "shrinks to nothing", "grows", "is replaced", "is removed"]
        self.each(part, [lambda c=c, h=h: go(c, h) for c in ("encrypt", "decrypt") for h in changes])

    # ---- 4. Many at once, and strange names

    def many(self):
        part = "many at once"
        scenario = Scenario("encrypt", "encrypt", False, options=ONE)

        def thousand():
            folder = tempfile.mkdtemp(dir=self.root)
            names = [f"file{i}" for i in range(1000)]
            for i, name in enumerate(names):
                write(os.path.join(folder, name), b"%d" % i)
            mac = ["prlimit", "--nofile=64", self.palladion, "mac", "-k", self.fixture.key_path]
            done = subprocess.run([*mac, *names], cwd=folder, capture_output=True, timeout=LIMIT_S)
            if done.returncode or done.stdout.count(b"\n") != 1000:
                raise Fault(f"mac of 1000 files: {done.returncode} {done.stderr}")
            write(os.path.join(folder, "MACS"), done.stdout)
            write(os.path.join(folder, "file500"), b"changed")
            os.remove(os.path.join(folder, "file501"))
            done = subprocess.run([*mac, "--check", "MACS"], cwd=folder, capture_output=True, timeout=LIMIT_S)
            if done.returncode != 1 or done.stdout.count(b": OK\n") != 998 or b"2 of the files" not in done.stderr:
                raise Fault(f"mac --check of 1000 files: {done.returncode} {done.stderr}")
            shutil.rmtree(folder)
            return {"runs": 2, "succeeded": 1, "refused": 1}

        def crowd(count, same, force):
            with Bench(self.fixture, Scenario("", "encrypt", force and same)) as bench:
                children = []
                for i in range(count):
                    out = "out" if same else f"out{i}"
                    args = [self.palladion, "encrypt", "-k", "key", "-t", "1", "-o", out, "in"] + (["-f"] if force else [])
                    children.append((out, subprocess.Popen(args, cwd=bench.folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)))
                statuses = collections.Counter()
                for out, child in children:
                    said = child.communicate(timeout=LIMIT_S)[1].decode()
                    statuses[child.returncode] += 1
                    if child.returncode and said != f"error: \"{out}\" exists already\nhint: choose another name, or replace it with --force\n":
                        raise Fault(f"{count} at once: {said}")
                    if not same and not child.returncode:
                        if not self.fixture.decrypts_to(bench.path(out), bench.text):
                            raise Fault(f"{out} is not whole")
                        os.remove(bench.path(out))
                wanted = count if force or not same else 1
                if statuses[0] != wanted or statuses[0] + statuses[1] != count:
                    raise Fault(f"{count} at once on one output: {statuses}")
                if same:
                    bench.judge(Outcome(0, "", b"", ""))
                elif sorted(os.listdir(bench.folder)) != ["in", "in.pld", "key", "tmp"]:
                    raise Fault(f"litter: {os.listdir(bench.folder)}")
                return {"runs": count, "succeeded": statuses[0], "refused": statuses[1]}

        self.each(part, [thousand])
        self.each(part, [lambda: crowd(1000 if LONG else 200, False, False)])
        self.each(part, [lambda: crowd(50, True, False)])
        self.each(part, [lambda: crowd(50, True, True)])

        def few_descriptors(count):
            with Bench(self.fixture, scenario) as bench:
                outcome = bench.run(self.palladion, ["prlimit", f"--nofile={count}"])
                try:
                    bench.judge(outcome)
                except Fault as fault:
                    raise Fault(f"{count} descriptors: {fault}") from None
                if count >= 16 and outcome.status:
                    raise Fault(f"{count} descriptors: {outcome}")
                return {"faults": 1, **self.verdict(outcome.status)}

        self.each(part, [lambda n=n: few_descriptors(n) for n in [*range(4, 17), 64]])

    def strange(self):
        part = "strange files"

        def expect(name, status, words, args, prepare=None, check=None, stdin=subprocess.DEVNULL, **more):
            def go():
                with Bench(self.fixture, Scenario("", "encrypt", False)) as bench:
                    os.chmod(bench.folder, 0o755)
                    if prepare:
                        prepare(bench.path)
                    before = sorted(os.listdir(bench.folder))
                    done = subprocess.run(
                        [self.palladion, *args], cwd=bench.folder, stdin=stdin, capture_output=True, timeout=LIMIT_S, **more
                    )
                    said = done.stderr.decode(errors="replace")
                    if done.returncode != status or words not in said:
                        raise Fault(f"{name}: exit status {done.returncode}, said {said!r}")
                    if status and (not said.startswith("error: ") or len(said.splitlines()) > 2):
                        raise Fault(f"{name}: unclear: {said!r}")
                    if read(bench.path("in")) != bench.text or read(bench.path("key")) != self.fixture.key:
                        raise Fault(f"{name}: lost")
                    if status and sorted(os.listdir(bench.folder)) != before:
                        raise Fault(f"{name}: litter: {os.listdir(bench.folder)}")
                    if check and not check(bench.path):
                        raise Fault(f"{name}: not as it should be")
                    return self.verdict(status)

            return go

        encrypt = ["encrypt", "-k", "key"]
        good = lambda name: lambda path: self.fixture.decrypts_to(os.fsencode(path("")) + name, self.fixture.text(3 * CHUNK + 1)[0])
        odd = b"new\nline \xff\xfe \\ \" \x1b[31m"
        long_name = "n" * 255
        private = lambda path: (os.mkdir(path("sub")), os.chmod(path("sub"), 0o700))
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        jobs = [
            expect("a name that is no text", 0, "", [*encrypt, "-o", odd, "in"], check=good(odd)),
            expect("a missing name that is no text", 1, r'"new\nline \xFF\xFE', [*encrypt, "-o", "out", odd]),
            expect("a name as long as there is", 0, "", [*encrypt, "-o", long_name, "in"], check=good(long_name.encode())),
            expect("a name that is too long", 1, "too long", [*encrypt, "-o", long_name + "n", "in"]),
            expect("a folder that is missing", 1, "there is no directory \"no/such\"", [*encrypt, "-o", "no/such/out", "in"]),
            expect("a file as folder", 1, "Not a directory", [*encrypt, "-o", "in/out", "in"]),
            expect("a folder as output", 1, "\"tmp\" is a directory", [*encrypt, "-o", "tmp", "in"]),
            expect("a folder as input", 1, "\"tmp\" is a directory", [*encrypt, "-o", "out", "tmp"]),
            expect("output is input", 2, "both input and output", [*encrypt, "-f", "-o", "in", "in"]),
            expect("output is a link to the input", 2, "both input and output", [*encrypt, "-f", "-o", "l", "in"],
                   lambda path: os.symlink("in", path("l"))),
            expect("output is another name of the input", 2, "both input and output", [*encrypt, "-f", "-o", "l", "in"],
                   lambda path: os.link(path("in"), path("l"))),
            expect("output is the key", 2, "both key and output", [*encrypt, "-f", "-o", "key", "in"]),
            expect("a link to nothing", 1, "exists already", [*encrypt, "-o", "l", "in"], lambda path: os.symlink("none", path("l"))),
            expect("a link to nothing, -f", 1, "leads nowhere", [*encrypt, "-f", "-o", "l", "in"],
                   lambda path: os.symlink("none", path("l"))),
            expect("a link in a circle", 1, "\"l\"", [*encrypt, "-f", "-o", "l", "in"], lambda path: os.symlink("l", path("l"))),
            expect("a link stays a link", 0, "", [*encrypt, "-f", "-o", "l", "in"],
                   lambda path: (write(path("t"), b"old"), os.symlink("t", path("l"))),
                   lambda path: os.path.islink(path("l")) and good(b"t")(path)),
            expect("one of two hard links", 0, "", [*encrypt, "-f", "-o", "l", "in"],
                   lambda path: (write(path("t"), b"old"), os.link(path("t"), path("l"))),
                   lambda path: read(path("t")) == b"old" and good(b"l")(path)),
            expect("/dev/null as input", 0, "", [*encrypt, "-o", "out", "/dev/null"],
                   check=lambda path: self.fixture.decrypts_to(path("out"), b"")),
            expect("/dev/null as input of decrypt", 4, "the input is empty", ["decrypt", "-k", "key", "-o", "out", "/dev/null"]),
            expect("/dev/full as output", 1, "No space left", [*encrypt, "-o", "/dev/full", "in"]),
            expect("a socket as input", 1, "\"s\"", [*encrypt, "-o", "out", "s"], lambda path: os.mknod(path("s"), 0o140644)),
            expect("no standard input", 1, "standard input", [*encrypt, "-o", "out"], stdin=os.open(self.root, os.O_RDONLY)),
        ]
        if os.geteuid() == 0:
            try:
                subprocess.run(["true"], **nobody, check=True)
                own = lambda path: (os.chown(path("key"), 65534, 65534), private(path))
                jobs += [
                    expect("a folder that is not ours", 1, "Permission denied", [*encrypt, "-o", "sub/out", "in"], own, **nobody),
                    expect("an input that is not ours", 1, "cannot open \"in\": Permission denied", [*encrypt, "-o", "out", "in"],
                           lambda path: (own(path), os.chmod(path("in"), 0o600)), **nobody),
                    expect("a key that is not ours", 1, "cannot open \"key\": Permission denied", [*encrypt, "-o", "out", "in"], **nobody),
                    expect("an output that is not ours", 1, "Permission denied", [*encrypt, "-f", "-o", "o", "in"],
                           lambda path: (own(path), write(path("o"), b"old", 0o600)), lambda path: read(path("o")) == b"old", **nobody),
                ]
            except (OSError, PermissionError, subprocess.SubprocessError):
                print("skipped: no other user to become")
        self.each(part, jobs)
        if self.mounts:
            disk = os.path.join(self.root, "read-only")
            os.mkdir(disk)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", disk], check=True)
            try:
                out = os.path.join(disk, "out")
                self.each(part, [expect("a disk that is read-only", 1, "Read-only file system", [*encrypt, "-o", out, "in"])])
            finally:
                subprocess.run(["umount", disk], check=True)

    # ---- 5. Killed at any moment

    def killed(self, tool=None, scenarios=None, count=None, part="killed at random"):
        tool = tool or self.palladion
        count = count or (1500 if LONG else 240)
        big = scenarios or [Scenario(s.name, s.command, s.force, s.size if s.command == "keygen" else 5 << 20, s.options) for s in SCENARIOS]
        signals = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT]
        generator = random.Random(self.seed)
        span = {}
        for scenario in big:
            self.fixture.text(scenario.size)
            begin = time.monotonic()
            with self.bench(scenario) as bench:
                bench.run(tool)
            span[scenario] = time.monotonic() - begin
        plans = [(generator.choice(big), generator.choice(signals), generator.random() * 1.1) for _ in range(count)]

        def go(scenario, kill, fraction):
            with self.bench(scenario) as bench:
                child = subprocess.Popen(
                    [tool, *scenario.args()], cwd=bench.folder, env=bench.environment(), stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
                )
                time.sleep(span[scenario] * fraction)
                killed = child.poll() is None
                if killed:
                    os.killpg(child.pid, kill)
                said = child.communicate(timeout=LIMIT_S)[1].decode()
                outcome = Outcome(child.returncode, said, b"", "")
                try:
                    # A signal before main installs its handlers does what it does by itself;
                    # nothing is begun then.
                    bench.judge(outcome, killed=kill)
                except Fault as fault:
                    raise Fault(f"{scenario.name}, {kill.name} after {fraction:.2f} of the time: {fault}") from None
                return {"kills": int(killed), **self.verdict(outcome.status)}

        self.each(part, [lambda p=p: go(*p) for p in plans])

    def in_place(self):
        """A RAF file that is changed in its place."""
        calls = ["pwrite64", "pread64", "read", "fsync", "openat", "lseek", "statx", "getrandom", "mmap", "clone3", "flock"]
        self.system_calls(scenarios=[IN_PLACE], calls=calls, part="in place: calls that fail")
        self.kills_at_calls(scenarios=[IN_PLACE], part="in place: killed at a call", calls=["pwrite64", "fsync", "exit_group"])
        self.killed(scenarios=[IN_PLACE], count=400 if LONG else 40, part="in place: killed at random")
        self.in_place_no_room(self.palladion)

    def in_place_no_room(self, tool, part="in place: no room"):
        def limited(room):
            with Patch(self.fixture) as bench:
                outcome = bench.run(tool, ["prlimit", f"--fsize={room}"])
                try:
                    bench.judge(outcome, reason="File too large" if outcome.status else None)
                except Fault as fault:
                    raise Fault(f"files of {room} bytes at most: {fault}") from None
                return {"faults": 1, **self.verdict(outcome.status)}

        end = 64 + -(-(Patch.OFFSET + 1500000) // Patch.CHUNK) * (Patch.CHUNK + 48)
        rooms = {0, 1, 64, 65, Patch.OFFSET, 1 << 20, 1 << 21, len(self.fixture.raf(IN_PLACE.size)), end - 1, end}
        self.each(part, [lambda r=r: limited(r) for r in sorted(rooms | {end - 70000 * i for i in range(1, 8)})])
        if self.mounts and tool == self.palladion:
            disk = os.path.join(self.root, "in-place")
            os.mkdir(disk)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", disk], check=True)
            try:
                for pages in range(0, 120, 3 if LONG else 20):
                    self.each(part, [lambda p=pages: self.fill_in_place(disk, p)])
            finally:
                subprocess.run(["umount", disk], check=True)

    def fill_in_place(self, disk, pages):
        with Patch(self.fixture, tempfile.mkdtemp(dir=disk)) as bench:
            space = os.statvfs(disk)
            filler = os.path.join(disk, "filler")
            write(filler, bytes(space.f_bavail * space.f_frsize - pages * 4096))
            outcome = bench.run(self.palladion)
            os.remove(filler)
            try:
                bench.judge(outcome, reason="No space left on device" if outcome.status else None)
            except Fault as fault:
                raise Fault(f"raf write, {pages} pages free: {fault}") from None
            return {"faults": 1, **self.verdict(outcome.status)}

    def windows(self):
        """A signal from outside while a system call waits: creating, writing, bringing to disk, renaming, removing."""
        part = "killed in a window"

        def go(scenario, call, when, kill, log):
            with Bench(self.fixture, scenario) as bench:
                wrapper = ["strace", "-f", "-o", log, "-e", f"trace={call}", "-e", "signal=none", "-e", f"inject={call}:delay_enter=300000:when={when}"]
                child = subprocess.Popen(
                    [*wrapper, "sh", "-c", 'echo $$ >tmp/pid; exec "$@"', "sh", self.palladion, *scenario.args()],
                    cwd=bench.folder, env=bench.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
                )
                # Until it stops in the call: strace has begun its line.
                end = time.monotonic() + LIMIT_S
                while child.poll() is None and time.monotonic() < end:
                    if os.path.exists(log) and len(re.findall(r"(?m)^\d+ +\w+\(", read(log).decode(errors="replace"))) >= when:
                        break
                    time.sleep(0.01)
                try:
                    os.kill(int(read(bench.path("tmp/pid"))), kill)
                    killed = 1
                except ProcessLookupError:
                    killed = 0
                said = child.communicate(timeout=LIMIT_S)[1].decode()
                said = "".join(line + "\n" for line in said.splitlines() if not line.startswith("strace: dispatch_event"))
                os.remove(bench.path("tmp/pid"))
                os.remove(log)
                outcome = Outcome(child.returncode, said, b"", "")
                try:
                    bench.judge(outcome, killed=kill)
                except Fault as fault:
                    raise Fault(f"{scenario.name}, {kill.name} in {call}: {fault}") from None
                return {"kills": killed, **self.verdict(outcome.status)}

        signals = [signal.SIGKILL, signal.SIGTERM] + ([signal.SIGINT, signal.SIGHUP, signal.SIGQUIT] if LONG else [])
        jobs = []
        for scenario in SCENARIOS:
            # The second fsync is that of the folder, when the output has its name already.
            rename = "?rename,?renameat" if scenario.force else "renameat2"
            for call, when in [("fsync", 1), (rename, 1), ("fsync", 2)] + ([("write", 2)] if LONG else []):
                for kill in signals:
                    log = os.path.join(self.root, f"window-{len(jobs)}")
                    jobs.append(lambda s=scenario, c=call, w=when, k=kill, l=log: go(s, c, w, k, l))
        self.arrive(part, self.each(part, jobs))

    # ---- 6. Memory, hostile headers, sizes

    def memory(self):
        part = "little memory"
        scenario = Scenario("encrypt", "encrypt", True, 5 << 20, ("-t", "4"))
        others = [Scenario("decrypt", "decrypt", False, 5 << 20, ("-t", "4")), SCENARIOS[4]]

        def go(scenario, kilobytes):
            with Bench(self.fixture, scenario) as bench:
                outcome = bench.run(self.palladion, ["prlimit", f"--as={kilobytes << 10}"])
                # Where not even the program itself can be loaded, the words are the loader's.
                early = "error while loading" in outcome.stderr or outcome.status in (-signal.SIGSEGV, 126, 127)
                try:
                    if early:
                        bench.judge_words = lambda *_: None
                    bench.judge(outcome, memory=True)
                except Fault as fault:
                    raise Fault(f"{scenario.name} in {kilobytes} KiB: {fault}") from None
                return {"faults": 1, **self.verdict(outcome.status)}

        steps = range(3000, 40000, 250 if LONG else 2000)
        self.each(part, [lambda s=s, k=k: go(s, k) for s in [scenario, *others] for k in steps])
        # The thread that waits for signals has no memory for a stack (its second mapping) while the
        # output is made: whichever is first.
        part, scenario = "a thread without memory", THREADS[1]
        first = self.trace(self.palladion, scenario)[0]
        run = functools.partial(self.injected, self.palladion, scenario, "mmap", "error=ENOMEM", 2, first)
        self.arrive(part, self.each(part, [run] * 100))

    def hostile(self):
        part = "hostile headers"

        def header(memory, passes, lanes, chunk=20, algorithm=5):
            head = b"\x89PLD\r\n\x1a\n" + bytes([1, algorithm, 1, chunk]) + bytes(4) + bytes(32)
            head += memory.to_bytes(4, "little") + passes.to_bytes(4, "little") + lanes.to_bytes(4, "little") + bytes(4)
            head += bytes(32)
            return head + hashlib.sha256(head).digest()

        def go(costs, status, words, kilobytes=None):
            folder = tempfile.mkdtemp(dir=self.root)
            write(os.path.join(folder, "words"), b"correct horse", 0o600)
            write(os.path.join(folder, "in"), header(*costs) + bytes(100))
            limit = ["prlimit", f"--as={kilobytes << 10}"] if kilobytes else []
            done = subprocess.run(
                [*limit, self.palladion, "decrypt", "--passphrase-file", "words", "-o", "out", "in"], cwd=folder, capture_output=True,
                timeout=LIMIT_S
            )
            left = sorted(os.listdir(folder))
            shutil.rmtree(folder)
            if done.returncode != status or words not in done.stderr or left != ["in", "words"]:
                raise Fault(f"Argon2id with {costs}: exit status {done.returncode}, {done.stderr}, {left}")
            return {"faults": 1, "refused": 1}

        huge = (1 << 32) - 1
        self.each(part, [
            lambda: go((huge, 1, 1), 1, b"cost too much"),
            lambda: go((64, huge, 1), 1, b"cost too much"),
            lambda: go((1 << 30, 1, huge), 1, b"error: "),
            lambda: go((64, 1, 1 << 24), 1, b"error: "),
            lambda: go(((1 << 20) + 1, 1, 1), 1, b"cost too much"),
            lambda: go((1 << 20, 5, 1), 1, b"cost too much"),
            lambda: go((64, 17, 1), 1, b"cost too much"),
            lambda: go((136, 1, 17), 1, b"cost too much"),
            lambda: go((7, 1, 1), 1, b"error: "),
            lambda: go((64, 0, 1), 1, b"error: "),
            lambda: go((64, 1, 0), 1, b"error: "),
            lambda: go((64, 1, 1), 3, b"not the passphrase"),
            lambda: go((64, 1, 1, 25), 1, b"unsupported"),
            lambda: go((64, 1, 1, 20, 7), 1, b"unsupported"),
            lambda: go((1 << 20, 1, 1), 1, b"not enough memory", 500000),
        ])

    def sizes(self):
        part = "sizes"

        def go(size, threads):
            text = random.Random(size).randbytes(size)
            base = ["-k", self.fixture.key_path, "-t", str(threads)]
            sealed = self.fixture.run(["encrypt", *base, "--chunk-size", "4K"], text)
            if len(sealed) != 128 + size + 36 * max(1, -(-size // CHUNK)):
                raise Fault(f"{size} bytes become {len(sealed)}")
            if self.fixture.run(["decrypt", *base], sealed) != text:
                raise Fault(f"{size} bytes come back changed")
            return {"succeeded": 2}

        wanted = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1]
        self.each(part, [lambda s=s, t=t: go(s, t) for s in wanted for t in (1, 3)])
        if LONG:
            def sparse():
                path = os.path.join(self.root, "sparse")
                with open(path, "wb") as file:
                    file.truncate((4 << 30) + 5)
                command = '"$0" encrypt -k "$1" "$2" | "$0" decrypt -k "$1" | cmp - "$2"'
                done = subprocess.run(["bash", "-o", "pipefail", "-c", command, self.palladion, self.fixture.key_path, path])
                os.remove(path)
                if done.returncode:
                    raise Fault("4 GiB and 5 bytes do not come back")
                return {"succeeded": 2}

            self.each(part, [sparse])


# Each does one thing wrong, and the part that must catch it. They know no more of the command line
# than they need.
FIND = 'for a; do [ "$last" = -o ] && out=$a; [ "$a" = in ] && in=in; last=$a; done; '
DIRECT = 'i=0; for a; do shift; case $a in -f) ;; -o) set -- "$@" -o; ;; out) set -- "$@" - ;; *) set -- "$@" "$a" ;; esac; done; '
PLANTED = [
    ("half-written", "writes in place", DIRECT + 'exec "$P" "$@" >out'),
    ("half-written", "removes the old output first", 'rm -f out; exec "$P" "$@"'),
    ("half-written: exit status 0", "says all is well", '"$P" "$@" 2>/dev/null || exit 0'),
    ("lost", "removes its input too early", FIND + '"$P" "$@"; status=$?; [ -z "$in" ] || rm in; exit $status'),
    ("litter", "leaves a temporary file", FIND + '"$P" "$@" || { status=$?; : >.palladion-abcdefghij.tmp; exit $status; }'),
    ("unclear", "says nothing", FIND + '"$P" "$@" 2>/dev/null'),
    ("unclear", "does not name the file", '"$P" "$@" 2>/dev/null || { echo "error: it failed" >&2; exit 1; }'),
    ("half-written", "ends by a signal though it is done", '"$P" "$@" && kill -TERM $$'),
    ("unclear", "has a status of its own", '"$P" "$@" || exit 101'),
]


PLANTED_IN_PLACE = [
    ("half-written", "says all is well", '"$P" "$@" 2>/dev/null || exit 0'),
    ("half-written", "writes something else", '"$P" "$@" && exec "$P" raf write -k key --offset 1000100 in.raf key'),
    ("lost", "spoils a chunk that nobody changes",
     '"$P" "$@"; status=$?; printf "%020d" 0 | dd of=in.raf bs=1 seek=500 conv=notrunc 2>/dev/null; exit $status'),
    ("lost", "cuts the file off", '"$P" "$@"; status=$?; truncate -s -1 in.raf; exit $status'),
]


def planted(palladion, root, seed, mounts):
    """The judge must catch each of them; returns what it missed."""
    missed = []
    encrypts = [s for s in SCENARIOS if s.command == "encrypt"]
    for number, (kind, what, script) in enumerate(PLANTED + PLANTED_IN_PLACE):
        statistics = Statistics()
        folder = tempfile.mkdtemp(dir=root)
        os.chmod(folder, 0o755)
        tool = os.path.join(folder, "planted")
        write(tool, f"#!/bin/sh\nP='{palladion}'\n{script}\n".encode(), 0o755)
        suite = Suite(palladion, folder, seed, statistics, mounts)
        if number < len(PLANTED):
            suite.full(tool, encrypts, rooms=[0, 127, CHUNK + 164, 1 << 20])
        else:
            suite.in_place_no_room(tool)
        caught = [found for found in statistics.found if f": {kind}" in found]
        by = ["the file size limit"] if caught else []
        if number == 0:
            for name, run in (
                ("kills at random", lambda: suite.killed(tool, count=30, part="kills", scenarios=[
                    Scenario(s.name, s.command, s.force, 5 << 20, s.options) for s in encrypts])),
                ("kills at system calls", lambda: suite.kills_at_calls(tool, encrypts[1:], part="calls")),
                ("system calls that fail", lambda: suite.system_calls(tool, encrypts[:1], calls=["write"], part="faults")),
            ):
                before = len(statistics.found)
                # On a crowded machine kills at random may all come too early or too late.
                for again in range(20):
                    suite.seed = seed + again
                    run()
                    if any(f": {kind}" in found for found in statistics.found[before:]):
                        by.append(name)
                        break
                else:
                    missed.append(f"{what}: not caught by {name}")
                suite.seed = seed
        if not caught:
            missed.append(f"{what}: not caught: {statistics.found[:2]}")
        print(f"planted: {'raf write' if number >= len(PLANTED) else 'a command'} that {what}: caught by {', '.join(by) or 'nobody'}"
              f" ({sum(row['defects'] for row in statistics.rows.values())} times)", flush=True)
    return missed


def can_mount(root):
    folder = os.path.join(root, "try")
    os.mkdir(folder)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], **quiet).returncode:
        return False
    return subprocess.run(["umount", folder], **quiet).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("palladion")
    parser.add_argument("--seed", type=int, default=None, help="for everything that is random; default: a new one")
    parser.add_argument("--only", default=None, help="names of parts, with commas")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    os.umask(0o022)
    for kill in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(kill, signal.SIG_DFL)  # ignored signals would be inherited, and ignored
    statistics = Statistics()
    root = tempfile.mkdtemp(prefix="palladion-faults-")
    os.chmod(root, 0o755)
    try:
        palladion = os.path.join(root, "palladion")
        shutil.copy(args.palladion, palladion)
        mounts = can_mount(root)
        print(f"seed {seed}; {'LONG' if LONG else 'a sample (LONG=1: everything)'}", flush=True)
        suite = Suite(palladion, root, seed, statistics, mounts)
        parts = ["full", "full_disk", "pipes", "system_calls", "combined", "kills_at_calls", "unsteady", "many", "strange", "killed",
                 "windows", "in_place", "memory", "hostile", "sizes"]
        wanted = args.only.split(",") if args.only else [*parts, "planted"]
        for part in parts:
            if part in wanted:
                begin = time.monotonic()
                getattr(suite, part)()
                print(f"{part}: {time.monotonic() - begin:.0f} s", flush=True)
        missed = planted(palladion, root, seed, mounts) if "planted" in wanted else []
    finally:
        shutil.rmtree(root, ignore_errors=True)
    total = statistics.table()
    shown = sorted(set(statistics.found))
    for found in shown[:40]:
        print(f"DEFECT {found}", file=sys.stderr)
    if len(shown) > 40:
        print(f"... and {len(shown) - 40} more", file=sys.stderr)
    for one in missed:
        print(f"NOT CAUGHT {one}", file=sys.stderr)
    if statistics.found or missed or not total["runs"] and wanted != ["planted"]:
        print(f"again: scripts/faults.py PALLADION --seed {seed}", file=sys.stderr)
        return 1
    print("nothing lost, nothing half-written, errors clear, no litter" + ("; what was planted was caught" if "planted" in wanted else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
