#!/usr/bin/env python3
"""Checks that pyaegis, which is libaegis, and Palladion read each other's RAF files.

    check.py vectors FILE   pyaegis reads the files of vectors/raf.txt, refuses the invalid ones,
                            writes the same bytes with the same nonces, and derives the same keys
                            and Merkle commitments
    check.py make FOLDER    pyaegis writes files for others to read
    check.py check FOLDER   pyaegis reads files that others wrote

A folder has NAME.raf, its master key in NAME.key, and its contents in NAME.txt. There may be
NAME.commitment, in hexadecimal, of the Merkle tree with room for 64 chunks; and NAME.app-key and
NAME.context, from which NAME.key is derived.
"""

import hashlib
import os
import sys
from pathlib import Path

from pyaegis import raf

MAX_CHUNKS = 64
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


class Model:
    """A file, and what it should contain."""

    def __init__(self, folder, name, cls, key, chunk_size):
        self.stem, self.key, self.contents = folder / name, key, bytearray()
        self.storage = raf.FileStorage(self.path("raf"), "w+b")
        self.file = cls(
            self.storage,
            key,
            chunk_size=chunk_size,
            create=True,
            merkle=True,
            merkle_max_chunks=MAX_CHUNKS,
        )

    def path(self, suffix):
        return self.stem.with_name(f"{self.stem.name}.{suffix}")

    def write(self, offset, length):
        data = os.urandom(length)
        require(self.file.pwrite(data, offset) == length, "a short write")
        if length:
            self.contents.extend(bytes(max(0, offset + length - len(self.contents))))
            self.contents[offset : offset + length] = data

    def truncate(self, size):
        self.file.truncate(size)
        del self.contents[size:]
        self.contents.extend(bytes(size - len(self.contents)))

    def close(self):
        root = self.file.root_hash
        self.file.close()
        self.storage.close()
        self.path("key").write_bytes(self.key)
        self.path("txt").write_bytes(self.contents)
        self.path("commitment").write_text(root.hex() + "\n")


def make_dir(folder):
    """Writes files with all algorithms, in all ways in which a file can come about."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for cls in CLASSES:
        name = cls.__name__.removeprefix("AegisRaf").lower()

        def model(what, chunk_size=1024, key=None):
            return Model(folder, f"{name}-{what}", cls, key or cls.random_key(), chunk_size)

        for length in (0, 1, 1023, 1024, 1025, 10_000):
            file = model(f"length-{length}")
            file.write(0, length)
            file.close()
        for what, chunk_size, steps in [
            ("large-chunks", 65536, [("write", 0, 200_000)]),
            ("odd-chunks", 1040, [("write", 0, 1040), ("write", 1040, 5000), ("write", 1000, 100)]),
            ("shrunk", 1024, [("write", 0, 5000), ("truncate", 3700)]),
            ("shrunk-to-a-chunk", 1024, [("write", 0, 5000), ("truncate", 2048)]),
            ("shrunk-to-nothing", 1024, [("write", 0, 5000), ("truncate", 0)]),
            ("regrown", 1024, [("write", 0, 5000), ("truncate", 1300), ("truncate", 4000)]),
            ("rewritten", 1024, [("write", 0, 5000), ("truncate", 1300), ("write", 1900, 50),
                                 ("write", 10, 3)]),
            ("gap", 1024, [("write", 10, 20), ("write", 7000, 1)]),
            ("gap-in-a-chunk", 1024, [("write", 0, 10), ("write", 500, 10)]),
            ("zeros", 1024, [("truncate", 3000)]),
        ]:
            file = model(what, chunk_size)
            for step, *arguments in steps:
                getattr(file, step)(*arguments)
            file.close()
        longest = bytes(range(120 if cls.KEY_SIZE == 16 else 72))
        for what, context in [("empty", b""), ("short", b"docs/a.txt"), ("longest", longest)]:
            app_key = cls.random_key()
            file = model(f"derived-{what}", key=raf.raf_derive_master_key(app_key, context))
            file.write(0, 1500)
            file.path("app-key").write_bytes(app_key)
            file.path("context").write_bytes(context)
            file.close()
    print(f"{folder}: {len(list(folder.glob('*.raf')))} files written")


def check_dir(folder):
    """Reads files, and compares them with what they should contain."""
    files = sorted(Path(folder).glob("*.raf"))
    require(files, f"no files in {folder}")
    algorithms = set()
    for path in files:
        data, key = path.read_bytes(), path.with_suffix(".key").read_bytes()
        algorithms.add(raf.raf_probe(raf.BytesIOStorage(data))[0])
        with raf.raf_open(raf.BytesIOStorage(data), key) as file:
            require(file.read() == path.with_suffix(".txt").read_bytes(), f"{path}: other contents")
        if path.with_suffix(".commitment").exists():
            expected = unhex(path.with_suffix(".commitment").read_text().strip())
            require(commitment(data, key, MAX_CHUNKS) == expected, f"{path}: another commitment")
        if path.with_suffix(".app-key").exists():
            app_key = path.with_suffix(".app-key").read_bytes()
            derived = raf.raf_derive_master_key(app_key, path.with_suffix(".context").read_bytes())
            require(derived == key, f"{path}: another derived key")
    print(f"{folder}: {len(files)} files read, with {len(algorithms)} algorithms")


if __name__ == "__main__":
    commands = {"vectors": check_vectors, "make": make_dir, "check": check_dir}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    commands[sys.argv[1]](sys.argv[2])
