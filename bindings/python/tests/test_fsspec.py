"""Encrypted files by URL."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import importlib.util
import io
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import palladion
import pytest
from palladion import files
from test_answers import crafted

fsspec = pytest.importorskip("fsspec", minversion="2025.10")
from fsspec.asyn import AsyncFileSystem  # noqa: E402
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper  # noqa: E402
from fsspec.implementations.dirfs import DirFileSystem  # noqa: E402
from fsspec.implementations.local import LocalFileSystem  # noqa: E402
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402
from fsspec.spec import AbstractFileSystem  # noqa: E402
from palladion.fsspec import PalladionFileSystem  # noqa: E402

KEY = bytes(range(32))
CHUNK = 1024
EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "dask_dataset.py"


def text(size: int) -> bytes:
    return palladion.KeyStream(bytes(32)).read(size)


def sealed(content: bytes, chunk_size: int = CHUNK) -> bytes:
    out = io.BytesIO()
    files.encrypt_file(io.BytesIO(content), out, key=KEY, chunk_size=chunk_size)
    return out.getvalue()


def is_complete(content: bytes) -> bool:
    try:
        files.decrypt_file(io.BytesIO(content), io.BytesIO(), key=KEY)
    except files.FileError:
        return False
    return True


class Memory(MemoryFileSystem):
    """A store of its own that counts what is read."""

    cachable = False

    def __init__(self, **contents: bytes) -> None:
        super().__init__()
        self.store, self.pseudo_dirs, self.requests = {}, [""], []
        for name, content in contents.items():
            self.pipe_file(f"/{name}", content)

    def cat_file(  # with the order of s3fs
        self, path: str, version_id: Any = None, start: Any = None, end: Any = None
    ) -> bytes:
        data: bytes = super().cat_file(path, start, end)
        self.requests.append(len(data))
        return data


class Slow(AbstractFileSystem):
    """A file system with nothing but open()."""

    cachable = False
    seeks = True

    def __init__(self, **contents: bytes) -> None:
        super().__init__()
        self.contents, self.opened = contents, []

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "type": "file", "size": len(self.contents[path])}

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        file = io.BytesIO(self.contents.get(path, b""))
        if mode == "wb":
            file.close = lambda: self.keep(path, file)  # type: ignore[method-assign]
        if not self.seeks:
            file.seekable = lambda: False  # type: ignore[method-assign]
        self.opened.append(file)
        return file

    def keep(self, path: str, file: io.BytesIO) -> None:
        if not file.closed:
            self.contents[path] = file.getvalue()
            io.BytesIO.close(file)


@pytest.fixture(params=["file", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[tuple[Any, str]]:
    """An encrypted file system, and a directory in it."""
    if request.param == "file":
        yield PalladionFileSystem(LocalFileSystem(), key=KEY, chunk_size=CHUNK), str(tmp_path)
    else:
        yield PalladionFileSystem(Memory(), key=KEY, chunk_size=CHUNK), "/some/where"


def test_urls(tmp_path: pathlib.Path) -> None:
    for url in (f"palladion::file://{tmp_path}/notes", "palladion::memory://notes"):
        with fsspec.open(url, "wt", key=KEY, encoding="utf-8") as file:
            file.write("Grüße\n")
        with fsspec.open(url, "rt", key=KEY, encoding="utf-8") as file:
            assert file.read() == "Grüße\n"
        fs, path = fsspec.url_to_fs(url, key=KEY)
        assert isinstance(fs, PalladionFileSystem) and path.endswith("/notes")
        assert fs.cat(path) == fs.cat(url) == fs.cat(f"palladion://{path}") == "Grüße\n".encode()
        assert fs.fs.cat(path)[1:4] == b"PLD"
        assert fs.cat(fs.unstrip_protocol(path)) == "Grüße\n".encode()
    assert os.listdir(tmp_path) == ["notes"]
    # Options of the file system below.
    with fsspec.open(
        f"palladion::file://{tmp_path}/new/notes", "wb", key=KEY, file={"auto_mkdir": True}
    ) as file:
        file.write(b"text")
    assert is_complete((tmp_path / "new" / "notes").read_bytes())
    # Below a cache.
    for cache in ("simplecache", "filecache", "blockcache"):
        with fsspec.open(f"{cache}::palladion::file://{tmp_path}/notes", palladion={"key": KEY}) as file:
            assert file.read() == "Grüße\n".encode()
    with pytest.raises(ValueError, match="file system below"):
        fsspec.open("palladion:///some/file", key=KEY)


def test_what_is_there(place: tuple[Any, str]) -> None:
    fs, folder = place
    fs.makedirs(f"{folder}/sub", exist_ok=True)
    sizes = {"a": 0, "b": 1, "c": CHUNK, "sub/d": 3 * CHUNK + 5}
    for name, size in sizes.items():
        fs.pipe_file(f"{folder}/{name}", text(size))
    whole = {f"{folder}/{name}": size for name, size in sizes.items()}
    assert {name: fs.size(name) for name in whole} == whole
    assert set(fs.find(folder, detail=True)) == set(whole)
    assert fs.find(folder) == fs.glob(f"{folder}/**") or set(whole) < set(fs.glob(f"{folder}/**"))
    assert sorted(fs.ls(folder, detail=False)) == [f"{folder}/{n}" for n in ("a", "b", "c", "sub")]
    assert fs.glob(f"{folder}/*/d") == [f"{folder}/sub/d"]
    assert [sorted(names) for _, _, names in fs.walk(folder)] == [["a", "b", "c"], ["d"]]
    assert fs.du(folder) == sum(sizes.values())
    assert fs.isdir(folder) and fs.isfile(f"{folder}/a") and fs.exists(f"{folder}/sub/d")
    assert not fs.exists(f"{folder}/none") and fs.info(folder)["type"] == "directory"
    assert fs.modified(f"{folder}/a") and fs.created(f"{folder}/a")
    with pytest.raises(FileNotFoundError):
        fs.info(f"{folder}/none")
    for work in (lambda: fs.open(f"{folder}/none"), lambda: fs.cat_file(f"{folder}/none")):
        with pytest.raises(FileNotFoundError):
            work()
    with pytest.raises((IsADirectoryError, files.FileError)):
        fs.open(folder)

    fs.cp_file(f"{folder}/c", f"{folder}/copy")
    fs.mv(f"{folder}/copy", f"{folder}/moved")
    assert fs.cat_file(f"{folder}/moved") == text(CHUNK) and not fs.exists(f"{folder}/copy")
    fs.touch(f"{folder}/empty")
    assert fs.cat_file(f"{folder}/empty") == b""
    fs.rm_file(f"{folder}/moved")
    fs.rm(f"{folder}/sub", recursive=True)
    assert {pathlib.Path(name).name for name in fs.find(folder)} == {"a", "b", "c", "empty"}

    # Only a header tells the size, and only that of an encrypted file.
    fs.fs.pipe_file(f"{folder}/other", sealed(text(5000), 2048))
    fs.fs.pipe_file(f"{folder}/plain", b"plain text")
    fs.fs.pipe_file(f"{folder}/damaged", sealed(b"text")[:100] + bytes(28))
    assert fs.sizes([f"{folder}/{n}" for n in ("other", "plain", "damaged")]) == [5000, None, None]
    for found in (fs.ls(folder), fs.find(folder, detail=True).values()):
        assert {each["size"] for each in found if each["type"] == "file"} == {None}
    assert fs.du(folder) == 5001 + CHUNK and None in fs.du(folder, total=False).values()
    for work in (fs.cat_file, fs.open):
        with pytest.raises(files.NotPalladionError) as raised:
            work(f"{folder}/plain")
        assert raised.value.filename == f"{folder}/plain"
    if importlib.util.find_spec("pyarrow"):
        from pyarrow.fs import FileSelector, FSSpecHandler, PyFileSystem

        seen = PyFileSystem(FSSpecHandler(fs))
        assert len(seen.get_file_info(FileSelector(folder))) == len(fs.ls(folder))
        assert [each.size for each in seen.get_file_info(fs.ls(folder, detail=False))]

    fs.rm([f"{folder}/other", f"{folder}/plain"])
    fs.delete([f"{folder}/damaged"])
    fs.mv(path1=f"{folder}/a", path2=f"{folder}/z")
    assert {pathlib.Path(name).name for name in fs.find(folder)} == {"b", "c", "empty", "z"}


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors")
def test_many_files(tmp_path: pathlib.Path) -> None:
    """Reading parts of many files keeps few of them open."""
    resource = pytest.importorskip("resource")
    fs = PalladionFileSystem(LocalFileSystem(), key=KEY, chunk_size=CHUNK)
    one = sealed(b"text")
    paths = [f"{tmp_path}/{number}" for number in range(5000)]
    for path in paths:
        pathlib.Path(path).write_bytes(one)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = len(os.listdir("/proc/self/fd")) + 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare, before[1]))
    try:
        assert fs.cat_ranges(paths * 2, 1, 3, on_error="raise") == [b"ex"] * 10_000
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_parts(place: tuple[Any, str]) -> None:
    fs, folder = place
    content, number = text(20 * CHUNK + 7), random.Random(41)
    path, other = f"{folder}/file", f"{folder}/other"
    fs.pipe({path: content, other: content[::-1]})
    ends = [None, *(number.randrange(-len(content), len(content) + 10) for _ in range(12))]
    for start in ends:
        for end in ends:
            assert fs.cat_file(path, start, end) == content[slice(start, end)]
    starts = [number.randrange(len(content)) for _ in range(20)]
    parts = fs.cat_ranges([path, other] * 10, tuple(starts), [start + 100 for start in starts])
    assert parts == [
        (content if n % 2 == 0 else content[::-1])[start : start + 100]
        for n, start in enumerate(starts)
    ]
    assert fs.cat_ranges([path, f"{folder}/none"], 0, 5)[0] == content[:5]
    assert isinstance(fs.cat_ranges([f"{folder}/none"], 0, 5)[0], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges([f"{folder}/none"], 0, 5, on_error="raise")
    with pytest.raises(ValueError, match="same length"):
        fs.cat_ranges([path], [1, 2], [3])
    assert fs.cat([path, other]) == {path: content, other: content[::-1]}
    with fs.open(path) as file:
        assert file.size == len(content)
    assert fs.head(path, 10) == content[:10] and fs.tail(path, 10) == content[-10:]


@pytest.mark.parametrize(
    "cache", ["readahead", "none", "bytes", "blockcache", "background", "first", "all"]
)
def test_like_a_file_in_memory(cache: str) -> None:
    fs = PalladionFileSystem(Memory(), key=KEY, chunk_size=CHUNK)
    number = random.Random(41)
    for size in (0, 1, CHUNK - 1, CHUNK, 3 * CHUNK, 50 * CHUNK + 7):
        content = text(size)
        fs.pipe_file("file", content)
        with fs.open("file", cache_type=cache, block_size=3000) as file:
            assert file.blocksize == 3 * CHUNK and file.size == size
            for _ in range(100 if size else 3):
                start, length = number.randrange(size + 1), number.randrange(1, 5 * CHUNK)
                file.seek(start)
                assert file.read(length) == content[start : start + length]
            file.seek(0)
            assert file.read() == content
            file.seek(-min(size, 10), 2)
            assert file.read() == content[-10:]


def test_few_requests() -> None:
    below, size = Memory(), 1 << 20
    content = text(40 * size)
    fs = PalladionFileSystem(below, key=KEY)
    fs.pipe_file("file", content)
    chunk = size + 36
    with fs.open("file", cache_type="none") as file:
        assert below.requests == [132, chunk]  # header and first frame, last chunk
        for start, length, expected in (
            (5 * size + 7, 4096, [chunk]),
            (5 * size + 9000, 4096, []),
            (8 * size - 100, 4096, [2 * chunk]),
            (10 * size + 1, 3 * size, [4 * chunk]),
            (13 * size + 1, 3 * size, [3 * chunk]),  # read on: one chunk is kept
        ):
            below.requests.clear()
            file.seek(start)
            assert file.read(length) == content[start : start + length]
            assert below.requests == expected, start
    with fs.open("file") as file:
        below.requests.clear()
        while file.read(100_000):
            pass
        # Read ahead, in requests of five blocks or more, and nothing twice.
        assert sum(below.requests) <= 42 * chunk and len(below.requests) < 10
    below.requests.clear()
    assert fs.size("file") == len(content) and below.requests == [128]


class Concurrent(AsyncFileSystem):
    """An asynchronous file system that notes what is asked for, and what at once."""

    cachable = False

    def __init__(self, below: Memory, **options: Any) -> None:
        super().__init__(**options)
        self.below, self.requests, self.in_flight, self.most = below, [], 0, 0

    async def _cat_file(self, path: str, start: Any = None, end: Any = None, **_: Any) -> bytes:
        data = self.below.cat_file(path, start=start, end=end)
        self.requests.append((path.lstrip("/"), start or 0, len(data)))
        self.in_flight += len(data)
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= len(data)
        return data

    async def _info(self, path: str, **options: Any) -> Any:
        return self.below.info(path, **options)

    async def _ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        return self.below.ls(path, detail=detail, **options)

    async def _pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        self.below.pipe_file(path, value, mode=mode)

    async def _put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        self.below.put_file(lpath, rpath, **options)

    async def _rm_file(self, path: str, **options: Any) -> None:
        self.below.rm_file(path)

    async def _cp_file(self, path1: str, path2: str, **options: Any) -> None:
        self.below.cp_file(path1, path2)


def test_many_ranges_at_once() -> None:
    content, number = text(300 * CHUNK + 7), random.Random(41)
    below = Concurrent(Memory(file=sealed(content), small=sealed(b"text"), empty=sealed(b"")))
    fs = PalladionFileSystem(below, key=KEY)
    ends = [None, *(number.randrange(-len(content), len(content) + 10) for _ in range(12))]
    for start in ends:
        for end in ends:
            assert fs.cat_file("file", start, end) == content[slice(start, end)]
    below.requests.clear()
    assert fs.cat(["small", "empty"]) == {"small": b"text", "empty": b""}
    assert fs.cat_file("small", 1, 3) == b"ex"
    assert sorted(name for name, _, _ in below.requests) == ["empty", "small", "small"]
    starts = [number.randrange(len(content)) for _ in range(500)]
    lengths = [number.randrange(3 * CHUNK) for _ in starts]
    stops = [start + length for start, length in zip(starts, lengths)]
    below.requests.clear()
    parts = fs.cat_ranges(["file", "none", "small"] * 500, sorted(starts * 3), 10**9)
    assert len(parts) == 1500 and isinstance(parts[1], FileNotFoundError)
    parts = fs.cat_ranges(["file"] * 500, starts, stops)
    assert parts == [content[start:stop] for start, stop in zip(starts, stops)]
    below.requests.clear()
    fs.cat_ranges(["file"] * 500, starts, stops)
    # Nothing twice, but the start of the file and its last chunk, which open it.
    whole = below.below.cat_file("file")
    asked = sum(size for _, _, size in below.requests)
    assert asked <= len(whole) + (32 << 10) + CHUNK + 36 and len(below.requests) < 10
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges(["none"], 0, 5, on_error="raise")
    # A damaged chunk spoils the ranges that need it.
    place = 128 + 200 * (CHUNK + 36) + 50
    below.below.pipe_file("file", whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    for start, stop, part in zip(starts, stops, fs.cat_ranges(["file"] * 500, starts, stops)):
        if start < 201 * CHUNK and stop > max(start, 200 * CHUNK):
            assert isinstance(part, files.DamagedError) and part.chunk == 200
        else:
            assert part == content[start:stop]
    # As if the file became shorter after it was opened.
    below.below.pipe_file("file", whole)
    original = below._cat_file

    async def cut(path: str, start: Any = None, end: Any = None, **options: Any) -> bytes:
        data = await original(path, start, end, **options)
        return data[:-1] if 0 < start < 200_000 else data

    below._cat_file = cut
    with pytest.raises(files.TruncatedError):
        fs.cat_file("file", 100_000, 150_000)


def test_memory_for_ranges_is_bounded() -> None:
    content = text(100 << 20)
    below = Concurrent(Memory(file=sealed(content, 1 << 20)))
    fs = PalladionFileSystem(below, key=KEY)
    starts = list(range(0, len(content), 3 << 20))
    parts = fs.cat_ranges(["file"] * len(starts), starts, [start + 10 for start in starts])
    assert parts == [content[start : start + 10] for start in starts]
    assert fs.cat_file("file") == content
    assert 16 << 20 < below.most <= 33 << 20


def test_asynchronous(tmp_path: pathlib.Path) -> None:
    content = text(20 * CHUNK + 7)
    (tmp_path / "source").write_bytes(content)

    async def main() -> None:
        below = Concurrent(Memory(), asynchronous=True)
        fs = PalladionFileSystem(below, key=KEY, chunk_size=CHUNK, asynchronous=True)
        assert fs.async_impl and fs.asynchronous
        await fs._pipe_file("/d/one", content)
        await fs._put(str(tmp_path / "source"), "/d/two")
        assert is_complete(below.below.cat_file("/d/one"))
        for name in ("one", "two"):
            assert await fs._cat_file(f"/d/{name}") == content
        parts = await fs._cat_ranges(["/d/one", "/d/none"], [1, 2], [5, 6], batch_size=1)
        assert parts[0] == content[1:5] and isinstance(parts[1], FileNotFoundError)
        assert (await fs._info("/d/one"))["size"] == len(content)
        assert await fs._du("/d") == 2 * len(content)
        await fs._get("/d", str(tmp_path / "got"), recursive=True)
        assert {each.name for each in (tmp_path / "got").iterdir()} == {"one", "two"}
        assert (tmp_path / "got" / "one").read_bytes() == content
        assert [each["size"] for each in await fs._ls("/d")] == [None, None]
        assert await fs._find("/d") == ["/d/one", "/d/two"]
        assert await fs._glob("/d/o*") == ["/d/one"] and await fs._exists("/d/one")
        file = await fs.open_async("/d/one")
        assert await file.read(10) == content[:10] and await file.read() == content[10:]
        await file.close()
        with pytest.raises(ValueError, match="closed"):
            await file.read()
        await fs._cp_file("/d/one", "/d/three")
        await fs._rm_file("/d/one")
        assert await fs._cat_file("/d/three", -5) == content[-5:]
        for work in (
            fs._cat_file("/d/two", key=KEY), fs._info("/d/two", keyfile="x"),
            fs._pipe_file("/d/two", b"", chunksize=1), fs.open_async("/d/two", version=1),
        ):
            with pytest.raises(TypeError, match="option"):
                await work
        with pytest.raises(ValueError, match="_pipe_file"):
            await fs.open_async("/d/two", "wb")

    asyncio.run(main())
    with pytest.raises(ValueError, match="asynchronous"):
        PalladionFileSystem(Memory(), key=KEY, asynchronous=True)


def test_servers_without_ranges() -> None:
    """They send the whole file, once."""

    class Whole(Memory):
        def cat_file(self, path: str, *_: Any, **__: Any) -> bytes:
            return super().cat_file(path)

    content = text(5 * CHUNK)
    below = Whole(file=sealed(content))
    for fs in (below, Concurrent(below)):
        fs = PalladionFileSystem(fs, key=KEY)
        for start, end in ((0, None), (CHUNK + 1, 4 * CHUNK)):
            below.requests.clear()
            assert fs.cat_file("file", start, end) == content[start:end]
            assert len(below.requests) == 1
        assert fs.size("file") == len(content)
    below.info = lambda path, **_: {"name": path, "type": "file", "size": 1000}
    for fs in (below, Concurrent(below)):
        with pytest.raises(OSError, match="may not support ranges"):
            PalladionFileSystem(fs, key=KEY).cat_file("file")


def test_file_systems_that_only_open() -> None:
    content = text(5 * CHUNK)
    below = Slow(file=sealed(content), cut=sealed(content)[:-1])
    fs = PalladionFileSystem(below, key=KEY)
    with fs.open("file") as file:
        assert file.seek(CHUNK) == CHUNK and file.read(5) == content[CHUNK:][:5]
    with pytest.raises(files.TruncatedError):
        fs.open("cut")
    below.seeks = False
    with fs.open("file") as file:
        assert not file.seekable() and file.read() == content
    assert all(file.closed for file in below.opened)


def test_threads() -> None:
    fs = PalladionFileSystem(Memory(), key=KEY, chunk_size=CHUNK)
    content = text(50 * CHUNK)
    fs.pipe_file("file", content)
    wrong: list[int] = []

    def work(seed: int) -> None:
        number = random.Random(seed)
        for _ in range(50):
            start = number.randrange(len(content))
            if fs.cat_file("file", start, start + 3000) != content[start : start + 3000]:
                wrong.append(start)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Writing


class Odd(Exception):
    pass


def test_new_files(tmp_path: pathlib.Path) -> None:
    """test_complete.py tests when they are complete."""
    fs = PalladionFileSystem(LocalFileSystem(), key=KEY)
    (tmp_path / "file").write_bytes(sealed(b"text"))
    with pytest.raises(FileExistsError):
        fs.open(f"{tmp_path}/file", "xb")
    for wrong in ("ab", "r+b"):
        with pytest.raises(ValueError, match="written once"):
            fs.open(f"{tmp_path}/file", wrong)
    with pytest.raises(FileExistsError):
        PalladionFileSystem(Memory(file=sealed(b"text")), key=KEY).open("/file", "xb")
    # What cannot be discarded has no end.
    below = Slow()
    fs = PalladionFileSystem(below, key=KEY, chunk_size=CHUNK)
    with pytest.raises(Odd), fs.open("file", "wb") as file:
        file.write(text(5000))
        raise Odd
    assert below.opened[0].closed and not is_complete(below.contents["file"])
    with pytest.raises(files.TruncatedError):
        fs.open("file")


def test_file_systems_around_others(tmp_path: pathlib.Path) -> None:
    """What AbstractFileSystem opens stores nothing. Some of its subclasses open nothing else."""
    folder, memory = str(tmp_path), Memory()
    memory.makedirs("/sub")
    local = LocalFileSystem()
    for below, path in (
        (DirFileSystem(folder, local), "file"),
        (DirFileSystem(".", DirFileSystem(folder, local)), "file"),
        (DirFileSystem("/sub", memory), "file"),
        (AsyncFileSystemWrapper(local), f"{folder}/file"),
        (DirFileSystem(folder, AsyncFileSystemWrapper(local)), "file"),
        (fsspec.filesystem("simplecache", fs=DirFileSystem("/sub", memory)), "cached"),
    ):
        fs = PalladionFileSystem(below, key=KEY)
        for content in (b"old", b"new"):
            fs.pipe_file(path, content)
            assert fs.cat_file(path) == content and is_complete(below.cat_file(path))
        with fs.open(path) as file, pytest.raises(Odd), fs.transaction:
            assert file.read() == b"new"
            fs.pipe_file(path, b"discarded")
            raise Odd
        with fs.transaction:
            fs.pipe_file(path, b"last")
        assert fs.cat(path) == fs.cat_ranges([path], 0, 9)[0] == b"last" and fs.size(path) == 4
        fs.put_file(__file__, path)
        fs.get(path, f"{folder}/copy")
        assert (tmp_path / "copy").read_bytes() == pathlib.Path(__file__).read_bytes()
    # Others say so, at once or once they have lost a file.
    fs = PalladionFileSystem(AbstractFileSystem(), key=KEY)
    with pytest.raises(NotImplementedError, match="AbstractFileSystem"):
        fs.pipe_file("file", b"text")

    class Loses(Slow):
        def keep(self, path: str, file: io.BytesIO) -> None:
            pass

    for contents in ({}, {"file": sealed(b"new")}):
        with pytest.raises(palladion.PalladionError, match="Loses.* 'file'"):
            PalladionFileSystem(Loses(**contents), key=KEY).pipe_file("file", b"new")
    # Until an archive is complete, its files cannot be read.
    archive = fsspec.filesystem("zip", fo=f"{folder}/new.zip", mode="w")
    with contextlib.closing(archive):
        PalladionFileSystem(archive, key=KEY).pipe_file("file", b"new")
    archive = fsspec.filesystem("zip", fo=f"{folder}/new.zip")
    assert PalladionFileSystem(archive, key=KEY).cat_file("file") == b"new"


def test_sources_and_key_files_stay(tmp_path: pathlib.Path) -> None:
    key_file, plain, encrypted = (str(tmp_path / name) for name in ("key", "plain", "encrypted"))
    files.save_key(key_file, KEY)
    pathlib.Path(plain).write_bytes(b"text")
    local = LocalFileSystem()
    fs = PalladionFileSystem(local, key_file=key_file)
    fs.put_file(plain, encrypted)
    before = {path: pathlib.Path(path).read_bytes() for path in (key_file, plain, encrypted)}
    concurrent = AsyncFileSystemWrapper(local, asynchronous=True)

    def in_transaction() -> None:
        with fs.transaction:
            fs.pipe_file(key_file, b"text")

    def through(below: Any, path: str) -> None:
        PalladionFileSystem(below, key_file=key_file).pipe_file(path, b"text")

    def coroutine(name: str, *paths: str) -> None:
        other = PalladionFileSystem(concurrent, key_file=key_file, asynchronous=True)
        asyncio.run(getattr(other, name)(*paths))

    def into_an_open_file() -> None:
        with open(key_file, "r+b") as target:
            fs.get_file(encrypted, target)

    for work in (
        in_transaction,
        lambda: fs.open(key_file, "wt"),
        lambda: fs.cp_file(encrypted, key_file),
        lambda: fs.mv(path1=encrypted, path2=key_file),
        lambda: through(fsspec.filesystem("simplecache", fs=local), key_file),
        lambda: through(DirFileSystem(str(tmp_path), local), "key"),
        lambda: fs.get_file(encrypted, encrypted),
        lambda: fs.put_file(plain, plain),
        lambda: coroutine("_pipe_file", key_file, b"text"),
        lambda: coroutine("_cp_file", encrypted, key_file),
        lambda: fs.get_file(encrypted, key_file),
        into_an_open_file,
        *(lambda t=t: coroutine("_put_file", plain, t) for t in (key_file, plain)),
        *(lambda t=t: coroutine("_get_file", encrypted, t) for t in (key_file, encrypted)),
    ):
        with pytest.raises(ValueError, match="and target are the same file: '"):
            work()
        for path, content in before.items():
            assert pathlib.Path(path).read_bytes() == content


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_text(place: tuple[Any, str], encoding: str) -> None:
    """With a byte order mark where there must be one, as of the files of io and gzip."""
    fs, folder = place
    path, content = f"{folder}/text", "Grüße\nund mehr"
    expected = io.BytesIO()
    with io.TextIOWrapper(expected, encoding, newline="") as layer:
        layer.write(content)
        layer.flush()
        bytes_of_text = expected.getvalue()
    opened = fsspec.core.OpenFile(fs, path, "wt", encoding=encoding, newline="")
    for new in (lambda: opened, lambda: fs.open(path, "wt", encoding=encoding, newline="")):
        with new() as file:
            file.write(content[:2])
            file.write(content[2:])
        assert fs.cat_file(path) == bytes_of_text
        with fs.open(path, "rt", encoding=encoding) as file:
            assert file.read() == content


def test_compression(place: tuple[Any, str]) -> None:
    fs, folder = place
    path, content = f"{folder}/text.gz", text(10) * 1000
    with fsspec.core.OpenFile(fs, path, "wb", compression="infer") as file:
        file.write(content)
    assert fs.size(path) < 1000 and gzip.decompress(fs.cat_file(path)) == content
    with fs.open(path, compression="infer") as file:
        assert file.read() == content
    # Nothing would close the encrypted file, so it would be discarded.
    with pytest.raises(ValueError, match="fsspec.open"):
        fs.open(path, "wb", compression="gzip")
    with fs.open(f"{folder}/text", "wb", compression="infer") as file:
        file.write(content)
    assert fs.size(f"{folder}/text") == 10_000


def test_simplecache_below() -> None:
    """Its files do not take over what they are asked: to wait for a commit."""
    plain = fsspec.filesystem("palladion", target_protocol="memory", key=KEY)
    fs, path = fsspec.core.url_to_fs("palladion::simplecache::memory://simplecache/a", key=KEY)
    plain.pipe_file(path, b"old")
    with pytest.raises(Odd), fs.transaction:
        fs.pipe_file(path, b"new")
        assert plain.cat_file(path) == b"old"
        raise Odd
    file = fs.open(path, "wb")
    file.write(b"half")
    file.discard()
    assert plain.cat_file(path) == b"old"
    fs.pipe_file(path, b"new")
    assert plain.cat_file(path) == b"new"


def test_local_transactions_replace_files_in_their_folder(tmp_path: pathlib.Path) -> None:
    fs, path = fsspec.filesystem("palladion", target_protocol="file", key=KEY), tmp_path / "one"
    fs.pipe(str(path), b"old")
    path.chmod(0o600)
    with fs.transaction:
        fs.pipe(str(path), b"new")
        # Moved from another disk, it would replace the old one piece by piece.
        assert len(list(tmp_path.iterdir())) == 2
    assert fs.cat(str(path)) == b"new"
    assert list(tmp_path.iterdir()) == [path] and path.stat().st_mode & 0o777 == 0o600


def test_transactions(place: tuple[Any, str]) -> None:
    fs, folder = place

    def there() -> dict[str, bytes]:
        names = {path: pathlib.Path(path).name for path in fs.find(folder)}
        return {name: fs.cat_file(path) for path, name in names.items() if name[0] != "."}

    with fs.transaction:
        for name in ("one", "two"):
            with fs.open(f"{folder}/{name}", "wt") as file:
                file.write("text")
        assert there() == {}
    assert there() == {"one": b"text", "two": b"text"}
    with pytest.raises(Odd), fs.transaction:
        with fs.open(f"{folder}/one", "wb") as file:
            file.write(b"new")
        with fs.open(f"{folder}/four", "wb") as file:
            raise Odd
    assert there() == {"one": b"text", "two": b"text"}
    # A file that is still open at the end may be incomplete.
    with pytest.raises(palladion.PalladionError, match="two'.* not closed in its transaction"):
        with fs.transaction:
            fs.pipe_file(f"{folder}/one", b"new")
            file = fs.open(f"{folder}/two", "wt")
            file.write("half")
    assert file.closed and there() == {"one": b"text", "two": b"text"}
    # All or none, even if the program goes on after an exception.
    with pytest.raises(palladion.PalladionError, match="one'.* discarded, so no file"):
        with fs.transaction:
            fs.pipe_file(f"{folder}/two", b"new")
            with contextlib.suppress(Odd), fs.open(f"{folder}/one", "wb") as other:
                raise Odd
    assert other.closed and there() == {"one": b"text", "two": b"text"}
    # A file that the program takes out.
    with fs.transaction:
        file = fs.open(f"{folder}/two", "wb")
        file.write(b"new")
        file.commit()
        assert there()["two"] == b"text"
        fs.open(f"{folder}/one", "wb").discard()
    assert file.closed and there() == {"one": b"text", "two": b"new"}
    # One that cannot be committed.
    with pytest.raises(Odd), fs.transaction:
        for name in ("one", "two", "three"):
            fs.pipe_file(f"{folder}/{name}", b"last")
        second = list(fs.transaction.files)[1]

        def fails() -> None:
            raise error

        error, second._publish = Odd(), fails
    assert there() == {"one": b"last", "two": b"new"}
    if hasattr(error, "__notes__"):
        assert "one' appeared, and no other" in error.__notes__[0]
    fs.pipe_file(f"{folder}/one", b"text")
    with pytest.raises(Odd), fs.transaction:
        file = fs.open(f"{folder}/two", "wb")
        file.write(b"newer")
        raise Odd
    file.close()
    assert there() == {"one": b"text", "two": b"new"}


# Keys


def test_key_files(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key_file = tmp_path / "my.key"
    files.save_key(key_file, KEY)
    monkeypatch.delenv("PALLADION_KEY_FILE", raising=False)
    for empty in (False, True):
        with pytest.raises(ValueError, match="PALLADION_KEY_FILE"):
            PalladionFileSystem(Memory())
        if not empty:
            monkeypatch.setenv("PALLADION_KEY_FILE", "")
    with pytest.raises(FileNotFoundError, match="none"):
        PalladionFileSystem(Memory(), key_file=tmp_path / "none")
    monkeypatch.setenv("PALLADION_KEY_FILE", str(key_file))
    fs = PalladionFileSystem(Memory())
    passed_on = pickle.dumps(PalladionFileSystem(LocalFileSystem()))
    monkeypatch.delenv("PALLADION_KEY_FILE")
    unpickled = pickle.loads(pickle.dumps(pickle.loads(passed_on)))
    for each in (fs, unpickled):
        with pytest.raises(ValueError, match="PALLADION_KEY_FILE"):
            each.open("file", "wb")
    monkeypatch.setenv("PALLADION_KEY_FILE", str(key_file))
    fs.pipe_file("file", b"text")
    for other in ({"key": KEY}, {"key_file": key_file}, {}):
        assert PalladionFileSystem(fs.fs, **other).cat_file("file") == b"text"
    monkeypatch.setenv("PALLADION_KEY_FILE", str(tmp_path / "none"))
    assert PalladionFileSystem(fs.fs, key=KEY).cat_file("file") == b"text"
    with pytest.raises(FileNotFoundError):
        fs.open("file")
    secret = PalladionFileSystem(fs.fs, passphrase="x", kdf=(64, 17, 1), max_kdf_memory=272)
    secret.pipe_file("secret", b"text")
    assert secret.cat_file("secret") == b"text"
    with pytest.raises(files.TooCostlyError, match="max_kdf_memory allows more"):
        PalladionFileSystem(fs.fs, passphrase="x").open("secret")
    with pytest.raises(files.NeedsPassphraseError):
        PalladionFileSystem(fs.fs, key=KEY).open("secret")
    with pytest.raises(TypeError, match="pass one of"):
        PalladionFileSystem(fs.fs, key=KEY, passphrase="x")
    for wrong, text in (
        ({"chunk_size": 1000}, "power of two"),
        ({"algorithm": "AES"}, "unknown algorithm"),
        ({"kdf": (-1, 3, 4)}, "kdf must be"),
        ({"max_kdf_memory": -1}, "max_kdf_memory must be .*, not -1"),
    ):
        with pytest.raises(ValueError, match=text):
            PalladionFileSystem(fs.fs, key=KEY, **wrong)


def test_change_of_keys(tmp_path: pathlib.Path) -> None:
    names = [tmp_path / name for name in ("new.key", "old.key")]
    keys = [palladion.generate_key() for _ in names]
    for name, key in zip(names, keys):
        files.save_key(name, key)
    for several in (
        {"key": keys},
        {"key_file": tuple(names)},
        {"passphrase": ["new", b"old"], "kdf": (64, 1, 1)},
    ):
        ((kind, (new, old)), *others) = several.items()
        below = Memory()
        of_old, of_new = (
            PalladionFileSystem(below, **{kind: secret}, **dict(others)) for secret in (old, new)
        )
        fs = PalladionFileSystem(below, **several)
        of_old.pipe_file("/old", b"text")
        fs.pipe_file("/new", b"more")
        with fs.open("/third", "wb") as file:
            file.write(b"most")
        contents = {"/old": b"text", "/new": b"more", "/third": b"most"}
        assert fs.cat([*contents]) == contents
        assert of_new.cat_file("/new") == b"more" and of_new.cat_file("/third") == b"most"
        with pytest.raises((files.WrongKeyError, files.WrongPassphraseError)):
            of_new.cat_file("/old")
        tokens = {of_old._fs_token, of_new._fs_token, fs._fs_token}
        assert len(tokens) == 3
        with pytest.raises(ValueError, match=f"list {kind} is empty"):
            PalladionFileSystem(below, **{kind: []})
    local = PalladionFileSystem(LocalFileSystem(), key_file=[str(name) for name in names])
    local.pipe_file(str(tmp_path / "file"), b"text")
    assert pickle.loads(pickle.dumps(local)).cat_file(str(tmp_path / "file")) == b"text"
    for name in names:
        with pytest.raises(ValueError, match="same file"):
            local.open(str(name), "wb")
    with pytest.raises(FileNotFoundError, match="none.key"):
        PalladionFileSystem(below, key_file=[names[0], tmp_path / "none.key"])


def test_bind(tmp_path: pathlib.Path) -> None:
    path, key_file = str(tmp_path / "file"), tmp_path / "key"
    files.save_key(key_file, KEY)
    for secret in ({"key": KEY}, {"key_file": key_file}):
        one, other, none = (
            fsspec.filesystem("palladion", target_protocol="file", **secret, **bind)
            for bind in ({"bind": "a"}, {"bind": b"b"}, {})
        )
        one.pipe_file(path, b"text")
        with one.open(path) as file:
            assert file.read() == b"text"
        assert one.cat_file(path) == b"text" and one.size(path) == 4
        with files.open(path, key=KEY, bind="a") as file:
            assert file.read() == b"text"
        for fs, error in ((other, files.WrongPlaceError), (none, files.BoundError)):
            with pytest.raises(error):
                fs.cat_file(path)
        none.pipe_file(path, b"text")
        with pytest.raises(files.NotBoundError):
            one.cat_file(path)
        assert one._fs_token != other._fs_token != none._fs_token
        with pytest.raises(ValueError, match="bind is empty"):
            fsspec.filesystem("palladion", target_protocol="file", **secret, bind="")
    assert pickle.loads(pickle.dumps(one)).storage_options["bind"] == "a"
    one.pipe_file(path, b"text")
    assert pickle.loads(pickle.dumps(one)).cat_file(path) == b"text"


@pytest.mark.parametrize("kind", ["key", "key_file", "passphrase"])
def test_bind_to_path(kind: str, place: tuple[Any, str], tmp_path: pathlib.Path) -> None:
    key_file = tmp_path.parent / f"{tmp_path.name}.key"
    files.save_key(key_file, KEY)
    secrets = {"key": KEY, "key_file": key_file, "passphrase": "correct horse"}
    options = {kind: secrets[kind], "kdf": (8, 1, 1)}
    below, folder = place[0].fs, place[1]
    fs = PalladionFileSystem(below, **options, bind_to_path=True)
    one, two, content = f"{folder}/one", f"{folder}/caf\xe9/two", text(3000)
    fs.makedirs(f"{folder}/caf\xe9")
    fs.pipe_file(one, content)
    with fs.open(two, "wb") as file:
        file.write(b"other")
    fs.put_file(EXAMPLE, f"{folder}/put")
    fs.get_file(f"{folder}/put", tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == EXAMPLE.read_bytes()
    for _ in range(2):
        assert fs.cat_file(one) == content and fs.cat_file(below.unstrip_protocol(two)) == b"other"
        assert fs.cat_ranges([one, two], 1, 3) == [content[1:3], b"th"] and fs.size(one) == 3000
    # The place is the path as UTF-8, without a slash at its start and a directory below.
    name = below._strip_protocol(two).lstrip("/")
    relative = PalladionFileSystem(DirFileSystem(folder, below), **options, bind_to_path=True)
    relative.pipe_file("caf\xe9/three", b"three")
    read = {kind: secrets[kind]}
    for path, bind in ((two, name), (f"{folder}/caf\xe9/three", "caf\xe9/three")):
        files.decrypt_file(io.BytesIO(below.cat_file(path)), io.BytesIO(), **read, bind=bind)
    said = "another place: .*; the place of this path is bind='caf\xe9/two'"
    with pytest.raises(files.WrongPlaceError, match=said):
        relative.cat_file("caf\xe9/two")
    # Nothing is copied that could not be read.
    three = f"{folder}/three"
    for copy in (fs.cp_file, fs.copy, fs.cp, fs.mv, fs.move, fs.rename):
        verb, end = ("copy", "anew") if "c" in copy.__name__ else ("move", "remove the old one")
        said = f"cannot {verb} .*one to .*three: each file is bound to its path; .*{end}$"
        with pytest.raises(NotImplementedError, match=said):
            copy(one, three)
    with pytest.raises(NotImplementedError, match="cannot move"):
        fs.mv(path1=one, path2=three)
    assert not fs.exists(three) and fs.cat_file(one) == content
    # Someone without the key swaps them, or the file system and the file differ.
    below.mv(one, three)
    below.mv(two, one)
    below.mv(three, two)
    for path in (one, two):
        with pytest.raises(files.WrongPlaceError):
            fs.cat_file(path)
        with pytest.raises(files.BoundError):
            PalladionFileSystem(below, **options).cat_file(path)
    PalladionFileSystem(below, **options).pipe_file(one, b"text")
    with pytest.raises(files.NotBoundError):
        fs.cat_file(one)
    with pytest.raises(TypeError, match="not both"):
        PalladionFileSystem(below, **options, bind="a", bind_to_path=True)
    for wrong in ("false", 0, 1, None):
        with pytest.raises(TypeError, match=f"must be True or False, not {wrong!r}"):
            PalladionFileSystem(below, **options, bind_to_path=wrong)
    if kind == "key_file":
        assert pickle.loads(pickle.dumps(fs))._bind_to_path
        assert fs._fs_token != PalladionFileSystem(below, **options)._fs_token


def test_bind_to_path_has_one_place_for_a_local_file(tmp_path: pathlib.Path) -> None:
    os.makedirs(tmp_path / "a" / "b")
    os.symlink("a", tmp_path / "link")
    spelled = ("a//one", "a/./one", "./a/one", "a/b/../one", "a/b/./..//one")
    local, secret = LocalFileSystem(), {"key": KEY, "bind_to_path": True}
    whole = str(tmp_path)[1:]
    cached = fsspec.filesystem("simplecache", fs=local, cache_storage=str(tmp_path / "cache"))
    for below, base, place in (
        (local, f"{tmp_path}/", f"{whole}/a/one"),
        (DirFileSystem(str(tmp_path), local), "", "a/one"),
        (DirFileSystem(f"{tmp_path}/a/..", DirFileSystem("/", local)), "/", "a/one"),
    ):
        fs = PalladionFileSystem(below, **secret)
        for path in spelled:
            fs.pipe_file(base + path, path.encode())
            with files.open(tmp_path / "a" / "one", key=KEY, bind=place) as file:
                assert file.read() == path.encode()
            for other in ("a/one", *spelled):
                assert fs.cat_file(base + other) == path.encode()
            for folder in ("a", "a/b/..", "a//"):
                there = fs.ls(base + folder, detail=False)
                [listed] = [each for each in there if each.endswith("/one")]
                assert fs.cat_file(listed) == path.encode()
        # Links are not followed.
        with pytest.raises(files.WrongPlaceError, match=r"place of this path is bind='.*link/one'"):
            fs.cat_file(f"{base}link/one")
    fs = PalladionFileSystem(cached, **secret)
    fs.pipe_file(f"{tmp_path}/a//two", b"text")
    assert fs.cat_file(f"{tmp_path}/a/two") == b"text"
    # An object store has three files of these names.
    fs = PalladionFileSystem(Memory(), **secret)
    for path in ("a/one", "a//one", "a/./one"):
        fs.pipe_file(path, path.encode())
        files.decrypt_file(io.BytesIO(fs.fs.cat_file(path)), io.BytesIO(), key=KEY, bind=path)
    assert [fs.cat_file(path) for path in ("a/one", "a//one")] == [b"a/one", b"a//one"]


def test_bind_to_path_of_no_file(tmp_path: pathlib.Path) -> None:
    """The directory at the top has no place, and the error is that of each directory."""
    below = DirFileSystem(str(tmp_path), LocalFileSystem())
    for bind in (False, True):
        fs = PalladionFileSystem(below, key=KEY, bind_to_path=bind)
        for read in (fs.open, fs.cat_file, lambda path: fs.cat(path, recursive=True)):
            with pytest.raises(PermissionError if os.name == "nt" else IsADirectoryError):
                read("")


def test_bind_to_path_that_is_not_text(tmp_path: pathlib.Path) -> None:
    below = DirFileSystem(str(tmp_path), LocalFileSystem())
    fs = PalladionFileSystem(below, key=KEY, bind_to_path=True)
    name = os.fsdecode(b"\xff")
    fs.pipe_file(name, b"text")
    with files.open(tmp_path / name, key=KEY, bind=b"\xff") as file:
        assert file.read() == b"text"
    os.rename(tmp_path / name, tmp_path / f"{name}2")
    with pytest.raises(files.WrongPlaceError, match=r"place of this path is bind=b'\\xff2'"):
        fs.cat_file(f"{name}2")


def test_bind_to_path_below_a_directory_by_url(tmp_path: pathlib.Path) -> None:
    os.makedirs(tmp_path / "customers")
    url = f"palladion::dir://customers/x.pld::file://{tmp_path}"
    with fsspec.open(url, "wb", key=KEY, bind_to_path=True) as file:
        file.write(b"text")
    with files.open(tmp_path / "customers" / "x.pld", key=KEY, bind="customers/x.pld") as file:
        assert file.read() == b"text"
    moved = tmp_path.parent / f"{tmp_path.name}-moved"
    os.rename(tmp_path, moved)
    url = f"palladion::dir://customers/x.pld::file://{moved}"
    with fsspec.open(url, "rb", key=KEY, bind_to_path=True) as file:
        assert file.read() == b"text"


def test_bind_to_path_like_other_programs() -> None:
    """The crate palladion-object-store reads the same file at this path in its tests."""
    [(content, secret, start)] = [
        (content, options, start)
        for name, content, options, start, *_ in crafted()
        if name == "bound"
    ]
    assert secret.pop("bind") == b"reports/2026/january" and start == "ok:1500"
    below = Memory()
    below.pipe_file("/reports/2026/january", content)
    fs = PalladionFileSystem(below, **secret, bind_to_path=True)
    assert fs.cat_file("reports/2026/january") == fs.cat_file("/reports/2026/january")
    assert len(fs.cat_file("reports/2026/january")) == 1500


def test_bind_to_path_in_asyncio(tmp_path: pathlib.Path) -> None:
    async def main() -> None:
        below = Concurrent(Memory(), asynchronous=True)
        fs = PalladionFileSystem(below, key=KEY, bind_to_path=True, asynchronous=True)
        (tmp_path / "plain").write_bytes(text(5000))
        await fs._pipe_file("a/one", text(3000))
        await fs._put_file(tmp_path / "plain", "a/two")
        assert await fs._cat_file("a/one") == text(3000)
        file = await fs.open_async("a/two")
        assert await file.read() == text(5000)
        await file.close()
        await fs._get_file("a/two", tmp_path / "got")
        assert (tmp_path / "got").read_bytes() == text(5000)
        for copy in (fs._cp_file, fs._copy):
            with pytest.raises(NotImplementedError, match="bound to its path"):
                await copy("a/one", "a/three")
        await fs._cp_file("a/one", "a/one")
        await below._cp_file("a/one", "a/two")
        with pytest.raises(files.WrongPlaceError):
            await fs._cat_file("a/two")

    asyncio.run(main())


def test_keys_do_not_travel(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key_file, target = tmp_path / "my.key", {"target_protocol": "file"}
    files.save_key(key_file, KEY)
    for secret in ({"key": KEY}, {"passphrase": "correct horse"}):
        fs = fsspec.filesystem("palladion", **target, **secret)
        for work in (lambda: pickle.dumps(fs), fs.to_json, fs.to_dict):
            with pytest.raises(TypeError, match="PALLADION_KEY_FILE"):
                work()
        assert fs.storage_options == target
        monkeypatch.setenv("PALLADION_KEY_FILE", str(key_file))
        same = fsspec.filesystem("palladion", **target, **secret)
        assert same is not fs and same == fs and hash(same) == hash(fs)
        for other in ({"key": bytes(32)}, {"passphrase": KEY}, {}):
            assert fs != fsspec.filesystem("palladion", **target, **other)
        for seen in (repr(fs), repr(vars(type(fs)))):
            assert "horse" not in seen and repr(KEY) not in seen
    path = str(tmp_path / "file")
    for secret in ({"key_file": str(key_file)}, {}):
        monkeypatch.setenv("PALLADION_KEY_FILE", str(key_file))
        fs = fsspec.filesystem("palladion", **target, **secret, chunk_size=2048)
        fs.pipe_file(path, b"text")
        for other in (
            pickle.loads(pickle.dumps(fs)),
            fsspec.AbstractFileSystem.from_json(fs.to_json()),
        ):
            monkeypatch.setenv("PALLADION_KEY_FILE", "" if secret else str(key_file))
            assert other.cat_file(path) == b"text" and other._new["chunk_size"] == 2048
        for options in ({}, {"cache_type": "readahead"}):
            with fs.open(path, **options) as file:
                file.seek(2)
                with pickle.loads(pickle.dumps(file)) as same:
                    assert same.read() == b"xt"
        assert repr(KEY)[2:-1].encode() not in pickle.dumps(fs)
        assert KEY.hex() not in json.dumps(fs.to_dict())


def test_unknown_options(tmp_path: pathlib.Path) -> None:
    for wrong, hint in (("chunksize", "chunk_size"), ("algoritm", "algorithm"), ("anon", "s3")):
        with pytest.raises(TypeError, match=f"'{wrong}'.*{hint}"):
            fsspec.filesystem("palladion", target_protocol="memory", key=KEY, **{wrong: 1})
    for known in ("skip_instance_cache", "use_listings_cache"):
        fsspec.filesystem("palladion", target_protocol="memory", key=KEY, **{known: True})
    fs = PalladionFileSystem(Memory(), key=KEY)
    fs.pipe_file("file", b"text")
    for wrong in ("key", "keyfile", "chunksize"):
        for work in (
            lambda **options: fs.cat("file", **options),
            lambda **options: fs.cat(["file"], **options),
            lambda **options: fs.cat_file("file", **options),
            lambda **options: fs.cat_ranges(["file"], 0, 1, **options),
            lambda **options: fs.info("file", **options),
            lambda **options: fs.ls("", **options),
            lambda **options: fs.find("", **options),
            lambda **options: fs.cp_file("file", "copy", **options),
            lambda **options: fs.open("file", **options),
            lambda **options: fs.open("file", "wb", **options),
            lambda **options: fs.get("file", str(tmp_path / "file"), **options),
        ):
            with pytest.raises(TypeError, match=f"{wrong}.*"):
                work(**{wrong: KEY})
    with pytest.raises(TypeError, match="version"):
        fs.cat_file("file", version=1)
    assert fs.info("file", refresh=True)["size"] == 4 and os.listdir(tmp_path) == []


def test_a_damaged_file_replaces_nothing(place: tuple[Any, str], tmp_path: pathlib.Path) -> None:
    fs, folder = place
    target, content = tmp_path / "new" / "target", text(5 * CHUNK)
    fs.pipe_file(f"{folder}/file", content)
    fs.get(f"{folder}/file", str(target))
    assert target.read_bytes() == content
    whole = fs.fs.cat_file(f"{folder}/file")
    fs.fs.pipe_file(f"{folder}/file", whole[:4000] + bytes([whole[4000] ^ 1]) + whole[4001:])
    for path in (f"{folder}/file", f"{folder}/none"):
        with pytest.raises((files.DamagedError, FileNotFoundError)) as raised:
            fs.get_file(path, str(target))
        assert path in str(raised.value)
    assert target.read_bytes() == content and os.listdir(target.parent) == ["target"]
    with pytest.raises(files.DamagedError), open(target, "wb") as file:
        fs.get_file(f"{folder}/file", file)


# Libraries


def test_pandas(tmp_path: pathlib.Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": range(1000), "b": [str(n) for n in range(1000)]})
    options = {"key": KEY}
    for url in (f"palladion::file://{tmp_path}/t", "palladion::memory://t"):
        frame.to_parquet(url, storage_options=options)
        assert pd.read_parquet(url, storage_options=options).equals(frame)
        frame.to_csv(f"{url}.csv", storage_options=options, index=False)
        read = pd.read_csv(f"{url}.csv", storage_options=options, dtype={"b": str})
        assert read.equals(frame)
        chunks = pd.read_csv(f"{url}.csv", storage_options=options, chunksize=300)
        with chunks:
            assert sum(len(each) for each in chunks) == 1000
    assert (tmp_path / "t.csv").read_bytes()[1:4] == b"PLD"


def test_duckdb(tmp_path: pathlib.Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    fs = fsspec.filesystem("palladion", target_protocol="file", key=KEY)
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        url = f"palladion://{tmp_path}/t.parquet"
        with fs.open(url, "wb") as file:
            pytest.importorskip("pyarrow.parquet").write_table(
                connection.sql("select range as x from range(1000)").to_arrow_table(), file
            )
        for each in (url, url.replace("t.parquet", "*.parquet")):
            query = connection.execute(f"select sum(x) from read_parquet('{each}')")
            assert query.fetchall() == [(499_500,)]
    assert (tmp_path / "t.parquet").read_bytes()[1:4] == b"PLD"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("dask_dataset", EXAMPLE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_dask(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example, with the key in the environment of two worker processes."""
    pytest.importorskip("dask.dataframe")
    files.save_key(tmp_path / "my.key", KEY)
    folder = tmp_path / "events"
    run = [sys.executable, "-W", "ignore", str(EXAMPLE), str(folder)]
    environment = {**os.environ, "PALLADION_KEY_FILE": str(tmp_path / "my.key")}
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert len(list(folder.iterdir())) == 4
    assert all(is_complete(part.read_bytes()) for part in folder.iterdir())
    monkeypatch.setenv("PALLADION_KEY_FILE", str(tmp_path / "my.key"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = load()
        totals = {u: sum(range(u, 100_000, 97)) for u in range(97)}
        best = example.busiest(str(folder))
        assert best.to_dict() == dict(sorted(totals.items(), key=lambda each: -each[1])[:3])
        assert str(best.iloc[0]) in done.stdout
        # A key would be part of the tasks.
        import dask
        import dask.dataframe as dd

        url, secret = example.encrypted(str(folder)), {"key": KEY}
        with dask.config.set(scheduler="processes", num_workers=1):
            with pytest.raises(TypeError, match="PALLADION_KEY_FILE"):
                dd.read_parquet(url, storage_options=secret).seconds.sum().compute()
        # In threads it stays in this process.
        with dask.config.set(scheduler="threads"):
            data = dd.read_parquet(url, storage_options=secret)
            assert data.seconds.sum().compute() == sum(range(100_000))


# A server of S3


@pytest.fixture(scope="module")
def bucket() -> Iterator[tuple[str, dict[str, Any]]]:
    """The URL of a bucket, and options."""
    if sys.flags.dev_mode:
        pytest.skip("aiohttp refuses what moto answers in this mode: leave out -X dev")
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    options = {
        "endpoint_url": f"http://{host}:{port}",
        "key": "testing",
        "secret": "testing",
        "client_kwargs": {"region_name": "eu-central-1"},
    }
    fsspec.filesystem("s3", **options).mkdir("bucket")
    yield "s3://bucket", {"key": KEY, "s3": options}
    server.stop()


def test_s3(bucket: tuple[str, dict[str, Any]]) -> None:
    url, options = bucket
    fs, folder = fsspec.url_to_fs(f"palladion::{url}", **options)
    content = text((12 << 20) + 7)
    for name, size in (("small", 100), ("empty", 0), ("large", len(content))):
        path = f"{folder}/{name}"
        with fs.open(path, "wb") as file:
            file.write(content[:size])
            assert not fs.exists(path)
        assert fs.size(path) == size and fs.cat_file(path) == content[:size]
        assert is_complete(fs.fs.cat_file(path))
    with fs.open(f"{folder}/large") as file:
        for start in (5_000_000, 100, len(content) - 50):
            file.seek(start)
            assert file.read(100) == content[start : start + 100]
    fs.mkdir(f"{folder}/sub")
    fs.cp_file(f"{folder}/small", f"{folder}/sub/copy")
    fs.mv(f"{folder}/sub/copy", f"{folder}/sub/moved")
    assert fs.sizes(fs.find(f"{folder}/sub")) == [100]
    fs.rm(f"{folder}/sub", recursive=True)
    parts = fs.cat_ranges([f"{folder}/large"] * 2, [1, 7_000_000], [9, 7_000_100])
    assert parts == [content[1:9], content[7_000_000:7_000_100]]
    with pytest.raises(Odd), fs.open(f"{folder}/new", "wb") as file:
        file.write(content)
        raise Odd
    with pytest.raises(Odd):
        with fsspec.open(f"palladion::{url}/new", "wb", **options) as file:
            file.write(content)
            raise Odd
    assert sorted(fs.ls(folder, detail=False, refresh=True)) == [
        f"{folder}/{name}" for name in ("empty", "large", "small")
    ]
    uploads = fs.fs.call_s3("list_multipart_uploads", Bucket="bucket")
    assert not uploads.get("Uploads")
