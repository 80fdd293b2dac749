#!/usr/bin/env python3
"""Checks vectors/raf.txt with pyaegis, which is libaegis.

    pyaegis_vectors.py FILE

pyaegis reads the files, refuses the invalid ones, writes the same bytes with the same nonces, and
derives the same keys and Merkle commitments.
"""

import hashlib
import os
import sys
from pathlib import Path

from pyaegis import raf

CLASSES = [
    raf.AegisRaf128L,
    raf.AegisRaf128X2,
    raf.AegisRaf128X4,
    raf.AegisRaf256,
    raf.AegisRaf256X2,
    raf.AegisRaf256X4,
]


def fill(seed, length):
    return bytes((seed + 7 * i) % 251 for i in range(length))


def unhex(text):
    return b"" if text == "-" else bytes.fromhex(text)


def require(condition, what):
    if not condition:
        raise SystemExit(f"error: {what}")


class Randomness:
    """Gives pyaegis these strings instead of random bytes, one for each call."""

    def __init__(self, strings):
        self.strings = list(strings)

    def __call__(self, length):
        string = self.strings.pop(0)
        require(len(string) == length, f"{length} random bytes were asked for, not {len(string)}")
        return string

    def __enter__(self):
        self.real, os.urandom = os.urandom, self
        return self

    def __exit__(self, *_):
        os.urandom = self.real
        require(not self.strings, f"{len(self.strings)} strings of random bytes were not asked for")


def commitment(data, key, max_chunks):
    """The Merkle commitment of a file, as pyaegis finds it when it reads all of it."""
    storage = raf.BytesIOStorage(data)
    with raf.raf_open(storage, key, merkle=True, merkle_max_chunks=max_chunks) as file:
        file.merkle_rebuild()
        require(file.merkle_verify() is None, "the tree that was just made does not verify")
        return file.root_hash


class Vectors:
    """The vectors of one algorithm. Counts what was checked."""

    def __init__(self, algorithm, name, seed, counts):
        self.algorithm, self.name, self.seed, self.counts = int(algorithm), name, int(seed), counts
        self.cls = CLASSES[self.algorithm - 1]
        require(self.cls.ALG_ID == self.algorithm, f"{name} has another number")
        self.kind = None

    def fail(self, what):
        raise SystemExit(f"error: {self.name}, {' '.join(self.kind or [])}: {what}")

    def require(self, condition, what):
        if not condition:
            self.fail(what)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def begin(self, kind):
        """A line that begins a file; what was there of the last one is complete."""
        self.end()
        self.kind, self.bytes, self.sha256, self.merkle = kind, None, None, []

    def end(self):
        if self.kind is None:
            return
        if self.kind[0] == "refused":
            self.refused(self.kind[1])
        else:
            self.readable(int(self.kind[1]), int(self.kind[2]))
        self.kind = None

    def readable(self, chunk_size, length):
        contents = fill(self.seed + 180, length)
        data = self.bytes
        if self.kind[0] == "file":
            written = self.write(chunk_size, contents)
            digest = hashlib.sha256(written).digest()
            self.require(digest == self.sha256, "pyaegis writes other bytes")
            self.require(data in (None, written), "the bytes are not those of the hash")
            self.count("written byte for byte")
            data = written
        probed = raf.raf_probe(raf.BytesIOStorage(data))
        self.require(probed == (self.algorithm, chunk_size, length), f"the header says {probed}")
        with raf.raf_open(raf.BytesIOStorage(data), self.key) as file:
            self.require(file.read() == contents, "other contents")
            for offset in (1, chunk_size - 1, chunk_size):
                expected = contents[offset : offset + chunk_size + 2]
                found = file.pread(chunk_size + 2, offset)
                self.require(found == expected, f"other contents from {offset} on")
        self.count("read")
        for max_chunks, expected in self.merkle:
            found = commitment(data, self.key, max_chunks)
            self.require(found == expected, f"other commitment for {max_chunks}")
            self.count("commitments")

    def write(self, chunk_size, contents):
        chunks = -(-len(contents) // chunk_size)
        nonces = [fill(self.seed + 60 + i, len(self.key)) for i in range(chunks)]
        storage = raf.BytesIOStorage()
        with Randomness([self.id] + nonces):
            with self.cls(storage, self.key, chunk_size=chunk_size, create=True) as file:
                file.write(contents)
        return storage.getvalue()

    def refused(self, reason):
        storage = raf.BytesIOStorage(self.bytes)
        # Truncated and too large files are an error of input and output here; what is not a header
        # at all, a plain one.
        expected = {
            "mac": raf.RAFAuthenticationError,
            "chunk": raf.RAFAuthenticationError,
            "truncated": raf.RAFIOError,
            "too-large": raf.RAFIOError,
        }.get(reason, raf.RAFError)
        try:
            file = raf.raf_open(storage, self.key)
        except raf.RAFError as error:
            self.require(reason != "chunk", "the file does not even open")
            self.require(type(error) is expected, f"refused with {error!r}")
        else:
            self.require(reason == "chunk", "the file opens")
            try:
                file.read()
            except raf.RAFError as error:
                self.require(type(error) is expected, f"refused with {error!r}")
            else:
                self.fail("the file can be read")
            file.close()
        self.count("refused")


def check_vectors(path):
    counts, vectors = {}, None
    for line in Path(path).read_text("ascii").splitlines():
        kind, *words = line.split(" ")
        if kind == "algorithm":
            if vectors:
                vectors.end()
            vectors = Vectors(*words, counts)
        elif kind == "key":
            vectors.key = unhex(words[0])
        elif kind == "id":
            vectors.id = unhex(words[0])
        elif kind == "derive":
            context = fill(vectors.seed + 120, int(words[0]))
            derived = raf.raf_derive_master_key(vectors.key, context)
            vectors.require(derived == unhex(words[1]), f"another key for {len(context)} bytes")
            vectors.count("derived keys")
        elif kind in ("file", "read", "refused"):
            vectors.begin([kind] + words)
        elif kind == "bytes":
            vectors.bytes = (vectors.bytes or b"") + unhex(words[0])
        elif kind == "sha256":
            vectors.sha256 = unhex(words[0])
        elif kind == "merkle":
            vectors.merkle.append((int(words[0]), unhex(words[2])))
    vectors.end()
    for what in ("derived keys", "read", "written byte for byte", "commitments", "refused"):
        require(counts.get(what), f"no {what} in {path}")
    print(f"{path}: " + ", ".join(f"{number} {what}" for what, number in counts.items()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    check_vectors(sys.argv[1])
