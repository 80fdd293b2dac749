"""One answer to one file, from every reader: vectors/file-answers.txt has files of every kind."""

from __future__ import annotations

import io
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import VECTORS
from palladion import files

CHUNK = 1024
ERRORS: dict[type[files.FileError], set[str]] = {
    files.NotPalladionError: {"not-palladion"},
    files.TruncatedError: {"truncated"},
    files.DamagedError: {"damaged", "damaged-header"},
    files.UnsupportedError: {"unsupported-version", "unsupported-header"},
    files.NeedsKeyError: {"needs-key"},
    files.NeedsPassphraseError: {"needs-passphrase"},
    files.TooCostlyError: {"too-costly"},
    files.WrongKeyError: {"wrong-key"},
    files.WrongPassphraseError: {"wrong-key"},
    files.TrailingDataError: {"trailing-data"},
    files.BoundError: {"bound"},
    files.NotBoundError: {"not-bound"},
    files.WrongPlaceError: {"wrong-place"},
}


def crafted() -> Iterator[tuple[str, bytes, dict[str, Any], str, str, str]]:
    """Name, bytes, secret, and the answers at the start, from the middle and for each chunk."""
    named: dict[str, bytes] = {}
    secrets: dict[str, dict[str, Any]] = {}
    for line in (VECTORS / "file-answers.txt").read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "key":
            secrets["key"] = {"key": bytes.fromhex(rest)}
        elif word == "passphrase":
            secrets["passphrase"] = {"passphrase": rest}
        elif word == "bytes":
            name, _, value = rest.partition(" ")
            named[name] = bytes.fromhex(value)
        elif word in ("file", "bound"):
            name, secret, *answers = rest.split()
            options = dict(secrets[secret])
            if word == "bound":
                place, *answers = answers
                options["bind"] = None if place == "-" else bytes.fromhex(place)
            start, middle, chunks, *pieces = answers
            content = b""
            for piece in pieces:
                part, _, bounds = piece.partition("[")
                one = bytes.fromhex(part[1:]) if part[0] == "=" else named[part]
                first, _, last = bounds.rstrip("]").partition("..")
                content += one[int(first or 0) : int(last or len(one))]
            yield name, content, options, start, middle, chunks


def plaintext(size: int) -> bytes:
    return bytes(i % 251 for i in range(size))


def answer(work: Callable[[], bytes], start: int = 0) -> str:
    """The answer of a reader: ok, or the word of the table for its error."""
    try:
        content = work()
    except files.FileError as error:
        [words] = [words for kind, words in ERRORS.items() if type(error) is kind]
        if len(words) == 1:
            return words.copy().pop()
        if isinstance(error, files.DamagedError):
            return "damaged-header" if error.chunk is None else "damaged"
        return "unsupported-version" if "version" in str(error.args[0]) else "unsupported-header"
    assert content == plaintext(start + len(content))[start:]
    return "ok"


class Pipe(io.RawIOBase):
    def __init__(self, content: bytes) -> None:
        self.inner = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self.inner.read(min(size, 100) if size > 0 else size)


def test_readers_from_the_start() -> None:
    count = 0
    for name, content, secret, start, _, _ in crafted():
        expected, _, released = start.partition(":")
        for source in (io.BytesIO(content), Pipe(content)):
            out = io.BytesIO()

            def whole(source: Any = source) -> bytes:
                files.decrypt_file(source, out, **secret)
                return out.getvalue()

            assert answer(whole) == expected, name
            assert out.getvalue() == plaintext(int(released)), name
        out = io.BytesIO()

        def pieces() -> bytes:
            pipe: Any = Pipe(content)
            with files.open(pipe, **secret) as file:
                for piece in iter(lambda: file.read1(300), b""):
                    out.write(piece)
            return out.getvalue()

        assert answer(pieces) == expected, name
        assert out.getvalue() == plaintext(int(released)), name
        count += 1
    assert count > 400


@pytest.mark.parametrize("kind", ["path", "object", "memory://", "file://"])
def test_readers_from_the_middle(kind: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    if "://" in kind:
        fsspec = pytest.importorskip("fsspec", minversion="2025.10")
        below = fsspec.filesystem(kind[:-3])
    for name, content, secret, _, middle, chunks in crafted():
        if "://" in kind:
            below.pipe_file(str(path), content)
            fs = fsspec.filesystem("palladion", fs=below, **secret)
        else:
            path.write_bytes(content)

        def part(start: int, size: int) -> bytes:
            if "://" in kind:
                return bytes(fs.cat_file(str(path), start, start + size))
            place: Any = path if kind == "path" else io.BytesIO(content)
            with files.DecryptReader(place, **secret) as reader:
                return reader.pread(size, start)

        expected, _, size = middle.partition(":")
        if expected != "ok":
            assert answer(lambda: part(0, 0)) == expected, name
            continue
        answers = chunks.split(",")
        first_error = next((each for each in answers if each != "ok"), "ok")
        assert answer(lambda: part(0, 1 << 40)) == first_error, name
        for number, one in enumerate(answers):
            # Chunks are of 1 KiB but in a few files, which have one chunk.
            start = number * CHUNK
            length = int(size) if len(answers) == 1 else min(CHUNK, int(size) - start)
            assert answer(lambda: part(start, length), start) == one, (name, number)
