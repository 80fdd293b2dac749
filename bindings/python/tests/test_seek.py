"""Encrypted files read from the middle, by this package and by libraries that seek."""

from __future__ import annotations

import io
import os
import pathlib
import random
import shutil
import sys
import threading
from typing import Any, Callable

import palladion
import pytest
from palladion import files

KEY = bytes(range(32))
CHUNK = 1024
BIG = 1 << 20


def text(size: int) -> bytes:
    return palladion.KeyStream(bytes(32)).read(size)


def sealed(content: bytes, chunk_size: int = CHUNK, **options: Any) -> bytes:
    out = io.BytesIO()
    files.encrypt_file(io.BytesIO(content), out, key=KEY, chunk_size=chunk_size, **options)
    return out.getvalue()


class Counting(io.BytesIO):
    """Counts the bytes that are read."""

    count = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.count += len(data)
        return data


class Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise io.UnsupportedOperation("seek")

    tell = seek  # type: ignore[assignment]


def compare(one: Any, other: io.BytesIO, size: int, rounds: int, number: random.Random) -> None:
    """Does the same with two files."""
    borders = [k * CHUNK + d for k in range(size // CHUNK + 2) for d in (-1, 0, 1)]
    for _ in range(rounds):
        place = number.choice([number.randrange(size + 50), max(0, number.choice(borders))])
        whence = number.randrange(3)
        offset = {0: place, 1: place - other.tell(), 2: place - size}[whence]
        if number.randrange(4):
            assert one.seek(offset, whence) == other.seek(offset, whence) == place
        length = number.choice([0, 1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, size, -1])
        if number.randrange(3):
            assert one.read(length) == other.read(length)
        else:
            ours, its = bytearray(abs(length)), bytearray(abs(length))
            assert one.readinto(ours) == other.readinto(its)
            assert ours == its
        assert one.tell() == other.tell()


@pytest.mark.parametrize("below", ["path", "object"])
def test_like_a_file_in_memory(below: str, tmp_path: pathlib.Path) -> None:
    number, path = random.Random(41), tmp_path / "file"
    sizes = [0, 1, *(k * CHUNK + d for k in (1, 2, 5) for d in (-1, 0, 1)), 200_000, 9_000_003]
    for size in sizes:
        content = text(size)
        path.write_bytes(sealed(content))
        place: Any = path if below == "path" else io.BytesIO(path.read_bytes())
        with files.open(place, key=KEY) as file:
            compare(file, io.BytesIO(content), size, 60, number)
            assert file.seek(0) == 0 and file.read() == content
            assert file.read() == file.read(5) == b""
        if below == "object":
            place.seek(0)
        raw = files.DecryptReader(place, key=KEY)
        for _ in range(60):
            start, length = number.randrange(size + 50), number.randrange(3 * CHUNK)
            assert raw.pread(length, start) == content[start : start + length]
        assert raw.tell() == 0 and raw.readall() == content and raw.tell() == size
        raw.close()


def test_positions(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(sealed(text(3000)))
    for place in (lambda: path, lambda: io.BytesIO(path.read_bytes())):
        for file in (files.open(place(), key=KEY), files.DecryptReader(place(), key=KEY)):
            assert file.seekable() and file.readable() and not file.writable()
            for offset, whence in ((-1, 0), (-3001, 2), (-1, 1)):
                with pytest.raises(ValueError, match="negative"):
                    file.seek(offset, whence)
            with pytest.raises(ValueError, match="whence"):
                file.seek(0, 3)
            assert file.seek(1 << 62) == 1 << 62 and file.read(1) == b""
            assert file.seek(-5, 2) == 2995 and file.read() == text(3000)[-5:]
            if isinstance(file, io.BufferedReader):
                file.seek(1000)
                assert file.peek(1)[:10] == file.read1(10) == text(3000)[1000:1010]
            file.close()
            for use in (file.seekable, file.tell, file.read, lambda: file.seek(0)):
                with pytest.raises(ValueError, match="closed"):
                    use()
    raw = files.DecryptReader(path, key=KEY)
    for size, start in ((-1, 0), (1, -1)):
        with pytest.raises(ValueError, match="must not be negative"):
            raw.pread(size, start)
    with files.open(path, "rt", key=KEY, encoding="latin-1") as lines:
        lines.read(100)
        place = lines.tell()
        following = lines.read(50)
        lines.seek(place)
        assert lines.read(50) == following


def test_the_file_may_begin_in_the_middle(tmp_path: pathlib.Path) -> None:
    content = text(5000)
    path, whole = tmp_path / "file", b"something else" + sealed(content)
    path.write_bytes(whole)
    with open(path, "rb") as real:
        for below in (io.BytesIO(whole), real):
            below.seek(14)
            with files.open(below, key=KEY) as file:
                assert file.seek(-100, 2) == 4900 and file.read() == content[-100:]
                assert file.seek(3) == 3 and file.read() == content[3:]
        if os.path.exists("/dev/fd"):
            real.seek(14)
            with files.open(f"/dev/fd/{real.fileno()}", key=KEY) as file:
                assert file.seek(3) == 3 and file.read() == content[3:]
            assert real.tell() == 14
    with pytest.raises(files.TruncatedError):
        below = io.BytesIO(whole)
        below.seek(1 << 40)
        files.open(below, key=KEY)


def test_what_cannot_seek_is_read_front_to_back() -> None:
    content = text(5000)
    whole = sealed(content)
    for make in (files.open, files.DecryptReader):
        file: Any = make(Unseekable(whole), key=KEY)
        assert not file.seekable() and file.read(100) == content[:100] and file.tell() == 100
        with pytest.raises(io.UnsupportedOperation):
            file.seek(0)
        assert file.read() == content[100:]
    with pytest.raises(io.UnsupportedOperation, match="pread"):
        files.DecryptReader(Unseekable(whole), key=KEY).pread(1, 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_fifos(tmp_path: pathlib.Path) -> None:
    path, content = tmp_path / "fifo", text(100_000)
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(sealed(content),))
    writer.start()
    with files.open(path, key=KEY) as file:
        assert not file.seekable() and file.name == path and file.read() == content
    writer.join()


# Damage: see test_answers.py


@pytest.mark.parametrize("below", ["path", "object"])
def test_a_file_that_changes(below: str, tmp_path: pathlib.Path) -> None:
    content, path = text(20 * CHUNK), tmp_path / "file"
    path.write_bytes(sealed(content))
    with open(path, "r+b", buffering=0) as real:
        place: Any = path if below == "path" else real
        file = files.DecryptReader(place, key=KEY)
        real.truncate(5000)
        with pytest.raises(files.TruncatedError) as raised:
            file.pread(15 * CHUNK, 4 * CHUNK + 10)
        assert raised.value.offset == 5000
        assert file.pread(10, CHUNK) == content[CHUNK:][:10]


# Threads


@pytest.mark.parametrize("below", ["path", "object"])
def test_threads_share_a_reader(below: str, tmp_path: pathlib.Path) -> None:
    content, path = text(300_000), tmp_path / "file"
    path.write_bytes(sealed(content))
    used: set[int] = set()

    class Object(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            used.add(threading.get_ident())
            return super().read(size)

    place: Any = path if below == "path" else Object(path.read_bytes())
    raw = files.DecryptReader(place, key=KEY)
    pieces: list[bytes] = []
    wrong: list[int] = []

    def work(seed: int) -> None:
        number = random.Random(seed)
        for _ in range(50):
            start, size = number.randrange(len(content)), number.choice([10, 2000, 50_000])
            if raw.pread(size, start) != content[start : start + size]:
                wrong.append(start)
        for piece in iter(lambda: raw.read(777), b""):
            pieces.append(piece)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    # Each piece went to one thread, and lies in one place.
    assert sum(map(len, pieces)) == len(content)
    assert len({content.find(piece) for piece in pieces}) == len(pieces)
    assert below == "path" or len(used) > 1
    # No other threads than those that call use an object.
    assert used <= {threading.get_ident(), *(thread.ident for thread in threads)}


# What is read from below


def test_little_is_fetched() -> None:
    """Header, first frame and last chunk to open, then the chunks that are read, each once."""
    size = 20 * BIG
    below = Counting(sealed(text(size), BIG))
    sealed_len = BIG + 36
    with files.open(below, key=KEY) as file:
        assert below.count == 132 + sealed_len
        for start, fetched in ((5 * BIG + 1000, 1), (5 * BIG + 9000, 0), (7 * BIG - 100, 2)):
            below.count = 0
            file.seek(start)
            file.read(4096)
            assert below.count == fetched * sealed_len, start
        below.count = 0
        file.seek(0)
        shutil.copyfileobj(file, io.BytesIO(), 300_000)
        # Reading on fetches nothing twice, except what was kept.
        assert below.count <= len(below.getvalue())


@pytest.mark.skipif(sys.platform != "linux", reason="needs a table of descriptors")
def test_files_are_closed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(sealed(b"text"))
    path.with_name("cut").write_bytes(sealed(b"text")[:-1])

    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    def fails(work: Callable[[], Any]) -> None:
        with pytest.raises(files.FileError):
            work()

    before = count()
    with files.open(path, key=KEY) as file:
        assert count() == before + 1
    file = files.open(path, key=KEY)
    file.close()
    fails(lambda: files.open(path, key=bytes(32)))
    fails(lambda: files.open(path.with_name("cut"), key=KEY))
    with pytest.raises(LookupError):
        files.open(path, "rt", key=KEY, encoding="nonsense")
    assert count() == before
