#!/usr/bin/env python3
"""Measures the command beside cp, age, rage, gpg, openssl and b3sum, and prints tables in Markdown.

    crates/palladion-bench/measure-cli.py [OPTION ...]      --help lists the options

The programs take turns, and the fastest round of each counts. One that is not installed is left out
with a note. PALLADION names the program to measure; by default it is built. The output is the last
part of docs/benchmarks/command.md.
"""
import argparse
import datetime
import filecmp
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Tool:
    """Two commands, in which IN and OUT stand for files, and where the program can process many
    files in one call, those commands, which the files follow."""

    def __init__(self, name, encrypt, decrypt, many=None, ending=None):
        self.name, self.encrypt, self.decrypt = name, encrypt, decrypt
        self.many, self.ending = many, ending or f".{name}"


def filled(command, source, target):
    return [{"IN": source, "OUT": target}.get(word, word) for word in command]


def output(*command):
    return subprocess.check_output(command, stderr=subprocess.STDOUT, text=True)


def remove(paths):
    for path in paths:
        if os.path.exists(path):
            os.remove(path)


def tools(palladion, keys):
    """Makes keys. Returns the tools that are installed."""
    key = ["-k", f"{keys}/key"]
    output(palladion, "keygen", "-o", f"{keys}/key")
    found = [Tool(
        "palladion",
        [palladion, "encrypt", *key, "-o", "OUT", "IN"],
        [palladion, "decrypt", *key, "-o", "OUT", "IN"],
        many=([palladion, "encrypt", *key], [palladion, "decrypt", *key]), ending=".pld")]
    identity = f"{keys}/identity"
    for name in "age", "rage":
        if not shutil.which(name):
            continue
        if not os.path.exists(identity):
            output(f"{name}-keygen", "-o", identity)
            recipient = output(f"{name}-keygen", "-y", identity).strip()
        found.append(Tool(name, [name, "-r", recipient, "-o", "OUT", "IN"],
                          [name, "-d", "-i", identity, "-o", "OUT", "IN"]))
    if shutil.which("gpg"):
        os.environ["GNUPGHOME"] = f"{keys}/gnupg"
        os.mkdir(f"{keys}/gnupg", 0o700)
        gpg = ["gpg", "--batch", "--quiet", "--yes", "--trust-model", "always"]
        output(*gpg, "--passphrase", "", "--quick-gen-key", "a@example.com", "future-default")
        encrypt = [*gpg, "--cipher-algo", "AES256", "--compress-algo", "none"]
        encrypt += ["-r", "a@example.com"]
        found.append(Tool("gpg", [*encrypt, "-o", "OUT", "-e", "IN"],
                          [*gpg, "-o", "OUT", "-d", "IN"],
                          many=([*encrypt, "--multifile", "-e"], [*gpg, "--multifile", "-d"])))
    if shutil.which("openssl"):
        enc = ["openssl", "enc", "-aes-256-ctr", "-pbkdf2", "-iter", "1", "-pass", "pass:x"]
        found.append(Tool("openssl", [*enc, "-in", "IN", "-out", "OUT"],
                          [*enc, "-d", "-in", "IN", "-out", "OUT"]))
    return found


def macs(palladion, keys):
    """Commands for MACs and hashes by name, which files follow."""
    found = {"palladion mac": [palladion, "mac", "-k", f"{keys}/key"]}
    if shutil.which("b3sum"):
        found["b3sum (a hash)"] = ["b3sum"]
    if shutil.which("openssl"):
        found["openssl dgst, HMAC-SHA256"] = ["openssl", "dgst", "-sha256", "-hmac", "key"]
    return found


def run(command, to_pipe):
    """Runs a command. Returns its seconds and its seconds of CPU."""
    stdout = subprocess.PIPE if to_pipe else subprocess.DEVNULL
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE)
    if to_pipe:
        buffer = bytearray(1 << 20)
        while os.readv(child.stdout.fileno(), [buffer]):
            pass
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{shlex.join(command)[:300]}: {child.stderr.read().decode()}")
    return seconds, usage.ru_utime + usage.ru_stime


def measure(rounds, tasks, to_pipe=False):
    """Runs the tasks in turns: a name, the files to remove first, and a command. Returns the least
    seconds and the least seconds of CPU by name."""
    least = {}
    for _ in range(rounds):
        for name, old, command in tasks:
            remove(old)
            os.sync()  # what was written before is not part of the time
            figures = run(command, to_pipe)
            least[name] = [min(pair) for pair in zip(figures, least.get(name, figures))]
    return least


def table(title, heads, rows):
    print(f"\n### {title}\n\n|  | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    for name, figures in rows:
        cells = ["" if figure is None else f"{figure:.2f}" for figure in figures]
        print(f"| {name} | {' | '.join(cells)} |")


def large(args, work, crypt, raf, authenticate):
    """A large file, to a file and to a pipe."""
    plain, sealed, copy = (f"{work}/{name}" for name in ("plain", "sealed", "copy"))
    with open(plain, "wb") as file:
        for _ in range(args.mib):
            file.write(os.urandom(1 << 20))
    amount = f"{args.mib / 1024:g} GiB"

    def speed(seconds):
        return (args.mib << 20) / seconds / 1e9

    tasks = [("`cp`", [copy], ["cp", plain, copy])]
    for tool in [*crypt, raf]:
        tasks += [((tool.name, "encrypt"), [sealed, copy], filled(tool.encrypt, plain, sealed)),
                  ((tool.name, "decrypt"), [copy], filled(tool.decrypt, sealed, copy))]
    least = measure(args.rounds, tasks)
    if not filecmp.cmp(plain, copy, shallow=False):
        sys.exit("decryption does not give the same bytes")
    rows = [("`cp`", [*least["`cp`"], speed(least["`cp`"][0]), None, None, None])]
    for tool in [*crypt, raf]:
        both = least[tool.name, "encrypt"], least[tool.name, "decrypt"]
        rows.append((tool.name, [x for wall, cpu in both for x in (wall, cpu, speed(wall))]))
    heads = ["encrypt: seconds", "CPU seconds", "GB/s", "decrypt: seconds", "CPU seconds", "GB/s"]
    table(f"{amount}, from file to file on a RAM disk", heads, rows)
    remove([sealed, copy])

    def show(title, tasks, to_pipe=False):
        least = measure(args.rounds, tasks, to_pipe)
        rows = [(name, [wall, cpu, speed(wall)]) for name, (wall, cpu) in least.items()]
        table(title, ["seconds", "CPU seconds", "GB/s"], rows)

    tasks = [(tool.name, [], filled(tool.encrypt, plain, "-")) for tool in crypt]
    show(f"Encrypt {amount} to a pipe", [("`cat`", [], ["cat", plain]), *tasks], to_pipe=True)
    show(f"Authenticate or hash {amount}",
         [(name, [], [*command, plain]) for name, command in authenticate.items()])


def small(args, work, crypt, authenticate):
    """Many small files."""
    names = [f"{work}/{number:05}" for number in range(args.files)]
    for name in names:
        with open(name, "wb") as file:
            file.write(os.urandom(args.bytes))

    def each(command, before, after):
        """A loop that runs a command for each file."""
        words = {"IN": f'"$file"{before}', "OUT": f'"$file"{after}'}
        line = " ".join(words.get(word) or shlex.quote(word) for word in command)
        return ["sh", "-ec", f"for file do {line}; done", "sh", *names]

    tasks = [("`cp`", [f"{work}/copies/{os.path.basename(name)}" for name in names],
              ["cp", *names, f"{work}/copies"])]
    os.mkdir(f"{work}/copies")
    for tool in crypt:
        sealed = [name + tool.ending for name in names]
        if tool.many:
            encrypt, decrypt = [*tool.many[0], *names], [*tool.many[1], *sealed]
            opened = names
        else:
            encrypt = each(tool.encrypt, "", tool.ending)
            decrypt = each(tool.decrypt, tool.ending, ".opened")
            opened = [f"{name}.opened" for name in names]
        tasks += [((tool.name, "encrypt"), sealed, encrypt),
                  ((tool.name, "decrypt"), opened, decrypt)]
    least = measure(args.rounds, tasks)
    files = f"{args.files:,} files of {args.bytes:,} bytes"
    kind = output("df", "--output=fstype", work).split()[-1]
    rows = [("`cp`", [*least["`cp`"], None, None])]
    rows += [(tool.name, least[tool.name, "encrypt"] + least[tool.name, "decrypt"])
             for tool in crypt]
    heads = ["encrypt: seconds", "CPU seconds", "decrypt: seconds", "CPU seconds"]
    table(f"{files} on a disk ({kind})", heads, rows)
    tasks = [(name, [], [*command, *names]) for name, command in authenticate.items()]
    table(f"Authenticate or hash {files}", ["seconds", "CPU seconds"],
          measure(args.rounds, tasks).items())


def describe(palladion, rounds):
    """Prints the date, the machine and the versions."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", file.read(), re.M))
    backend = re.search(r"^(\S+) +yes +yes", output(palladion, "backends"), re.M)[1]
    system = ".".join(os.uname().release.split(".")[:2])
    print(f"## Measured\n\n{datetime.date.today()}, {cpu.get('model name', 'unknown CPU')} (family "
          f"{cpu.get('cpu family')}, model {cpu.get('model')}), {len(os.sched_getaffinity(0))} "
          f"cores,\nbackend `{backend}`, Linux {system}. Rounds: {rounds}.\n")
    for program, option in {palladion: "--version", "age": "--version", "rage": "--version",
                            "gpg": "--version", "openssl": "version", "b3sum": "--version"}.items():
        version = "not installed, left out"
        if shutil.which(program):
            version = re.search(r"\d+\.\d[\w.]*", output(program, option))[0]
        print(f"- {os.path.basename(program)}: {version}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name, default in ("rounds", 5), ("mib", 1024), ("files", 3000), ("bytes", 10000):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=str(default))
    parser.add_argument("--only", choices=["large", "small"], help="the large file or the small")
    parser.add_argument("--ram", default="/dev/shm", metavar="FOLDER", help="for the large file")
    parser.add_argument("--disk", default="/var/tmp", metavar="FOLDER", help="for small files")
    args = parser.parse_args()

    palladion = os.environ.get("PALLADION")
    if not palladion:
        build = ["cargo", "build", "--release", "--quiet", "-p", "palladion-cli"]
        subprocess.run(build, check=True, cwd=ROOT)
        target = os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"))
        palladion = os.path.join(target, "release", "palladion")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that folders are removed
    describe(palladion, args.rounds)
    with tempfile.TemporaryDirectory(dir=args.ram) as keys:
        try:
            crypt, authenticate = tools(palladion, keys), macs(palladion, keys)
            key = ["-k", f"{keys}/key", "IN", "OUT"]
            raf = Tool("palladion raf", [palladion, "raf", "import", *key],
                       [palladion, "raf", "export", *key], ending=".raf")
            if args.only != "small":
                with tempfile.TemporaryDirectory(dir=args.ram) as work:
                    large(args, work, crypt, raf, authenticate)
            if args.only != "large":
                with tempfile.TemporaryDirectory(dir=args.disk) as work:
                    small(args, work, crypt, authenticate)
        finally:
            if "GNUPGHOME" in os.environ and shutil.which("gpgconf"):
                subprocess.run(["gpgconf", "--kill", "all"], check=False)


main()
