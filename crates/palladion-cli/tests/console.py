#!/usr/bin/env python3
"""Tests the command in a console of Windows, which Wine shows at a pseudo-terminal.

    console.py WINE PROGRAM

scripts/test-windows.sh runs it, and sets Wine's variables.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

# What a terminal does not show: sequences that move its cursor, choose colours, set its title.
CONTROL = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>78])")
TEXT = "Grüße, Привет, 東京\n".encode()
PASSPHRASE = "Grüße aus Köln"
FIRST, AGAIN = "New passphrase (empty: generate one):", "Confirm passphrase:"


class Console:
    """A program that runs at a console of its own."""

    def __init__(self, *args, program=None, columns=100, **options):
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        mode = termios.tcgetattr(inner)
        mode[6][termios.VSUSP] = b"\0"  # Ctrl-Z is for the program
        termios.tcsetattr(inner, termios.TCSANOW, mode)
        streams = {name: options.pop(name, inner) for name in ("stdin", "stdout", "stderr")}
        self.program = subprocess.Popen(
            [WINE, program or PROGRAM, *args],
            preexec_fn=lambda: fcntl.ioctl(inner, termios.TIOCSCTTY, 0),
            start_new_session=True,
            **streams,
            **options,
        )
        os.close(inner)
        self.bytes = b""
        self.seen = 0

    def raw(self):
        return self.bytes.decode(errors="replace")

    def shown(self):
        return CONTROL.sub("", self.raw()).replace("\r", "")

    def read(self, seconds):
        """Reads what appears; returns whether anything may follow."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.terminal, 65536)
        except OSError:  # the last program has closed it
            more = b""
        self.bytes += more
        return more != b""

    def wait_for(self, text):
        end = time.monotonic() + 30
        while text not in self.shown()[self.seen :]:
            assert time.monotonic() < end and self.read(1), f"{text!r} is not in {self.raw()!r}"
        self.seen = self.shown().index(text, self.seen) + len(text)

    def type(self, text):
        # Wine may show the console's first text before it takes the terminal over.
        end = time.monotonic() + 30
        while termios.tcgetattr(self.terminal)[3] & termios.ICANON:
            assert time.monotonic() < end, "it is no console"
            time.sleep(0.01)
        os.write(self.terminal, text.encode())

    def answer(self, prompt, text):
        self.wait_for(prompt)
        self.type(text)

    def end(self):
        """Returns the exit status."""
        end = time.monotonic() + 30
        while self.read(0.1) and self.program.poll() is None:
            assert time.monotonic() < end, f"it does not end: {self.raw()!r}"
        while self.read(0.5) and select.select([self.terminal], [], [], 0)[0]:
            pass
        os.close(self.terminal)
        return self.program.wait(60)


def run(*args, **options):
    """Runs the program without a console, successfully; returns standard output."""
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([WINE, PROGRAM, *args], stdout=subprocess.PIPE, check=True, **options)
    return done.stdout


def names():
    return sorted(os.listdir())


def passphrases():
    console = Console("encrypt", "-p", "in")
    console.answer(FIRST, PASSPHRASE + "\r")
    console.answer(AGAIN, "another one\r")
    console.wait_for("the two passphrases differ, try again")
    console.answer(FIRST, PASSPHRASE + "\r")
    console.answer(AGAIN, PASSPHRASE + "\r")
    assert console.end() == 0, console.shown()
    assert "Gr" not in console.shown() and "another" not in console.shown(), console.shown()
    # The same passphrase as in a file in UTF-8.
    Path("passphrase").write_text(PASSPHRASE, encoding="utf-8")
    os.chmod("passphrase", 0o600)
    assert run("decrypt", "--passphrase-file", "passphrase", "-o", "-", "in.pld") == TEXT

    # Standard streams may be redirected. Wine's own cmd does that; files that Wine itself gets from
    # Unix are other handles than those of Windows.
    command = "Z:" + PROGRAM.replace("/", "\\") + " decrypt -p < in.pld > out 2> errors"
    console = Console("/c", command, program="cmd")
    for answer in ["wrong", PASSPHRASE]:
        console.answer("Passphrase for standard input:", answer + "\r")
    assert console.end() == 0, console.shown()
    assert Path("out").read_bytes() == TEXT
    os.rename("in.pld", "Größe.pld")
    console = Console("decrypt", "-p", "-o", "out2", "Größe.pld")
    console.answer('"Größe.pld":', PASSPHRASE + "\r")
    assert console.end() == 0, console.shown()


def interrupted():
    before = names()
    for key in ["\x03", "half\x03"]:
        console = Console("encrypt", "-p", "in")
        console.answer(FIRST, key)
        assert console.end() == 130, console.shown()
        assert names() == before
    # While it waits for input, beside an unfinished output.
    console = Console("encrypt", "-k", "key", "-o", "out.pld")
    console.answer("end the input", "text\r")
    console.type("\x03")
    assert console.end() == 130, console.shown()
    assert names() == before, names()
    # The end of input is no passphrase.
    console = Console("encrypt", "-p", "in")
    console.answer(FIRST, "\x1a\r")
    console.wait_for("no passphrase was given")
    assert console.end() == 1, console.shown()
    assert names() == before


def text():
    console = Console("encrypt", "-k", "key", "-o", "typed")
    console.answer("Ctrl-Z and Enter end the input", "Grüße 東京\r")
    console.type("\x1a\r")
    assert console.end() == 0, console.shown()
    assert run("decrypt", "-k", "key", "-o", "-", "typed") == "Grüße 東京\r\n".encode()

    run("encrypt", "-k", "key", "-o", "sealed", "in")
    console = Console("decrypt", "-k", "key", "-o", "-", "sealed")
    assert console.end() == 0
    assert TEXT.decode() in console.shown(), console.raw()


def colours():
    colour = re.compile(r"\x1b\[[0-9;]*[1-9][0-9;]*m")
    for value, wanted in [("", True), ("1", False)]:
        console = Console("--help", env={**os.environ, "NO_COLOR": value})
        assert console.end() == 0
        assert "Usage" in console.shown()
        assert bool(colour.search(console.raw())) == wanted, console.raw()


def progress():
    for columns in (100, 30):
        reader, writer = os.pipe()
        console = Console("encrypt", "-k", "key", "-f", "-o", "out", stdin=reader, columns=columns)
        os.close(reader)
        end = time.monotonic() + 30
        while "MB" not in console.shown():
            assert time.monotonic() < end, console.raw()
            os.write(writer, bytes(1 << 16))
            console.read(0.02)
        os.close(writer)
        assert console.end() == 0, console.shown()


WINE, PROGRAM = sys.argv[1], str(Path(sys.argv[2]).resolve())
os.environ.update(TERM="xterm", LANG="C.UTF-8", LC_ALL="C.UTF-8")
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["APPDATA"] = folder
    Path("in").write_bytes(TEXT)
    run("keygen", "-o", "key", stderr=subprocess.DEVNULL)
    for test in [passphrases, interrupted, text, colours, progress]:
        if len(sys.argv) > 3 and test.__name__ not in sys.argv[3:]:
            continue
        print("console:", test.__name__, flush=True)
        test()
    os.chdir("/")
