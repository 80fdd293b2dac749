"""When a new file is complete: one rule for palladion.files and palladion.fsspec."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import io
import pathlib
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import palladion
import pytest
from palladion import files

KEY = bytes(range(32))


class Odd(Exception):
    pass


class Place:
    """A file of which there is an old version, and a way to write a new one."""

    def __init__(self, kind: str, folder: pathlib.Path) -> None:
        self.kind, self.folder = kind, folder
        if "files" not in kind:
            fsspec = pytest.importorskip("fsspec", minversion="2025.10")
            below = "memory" if "memory" in kind else "file"
            self.fs = fsspec.filesystem("palladion", target_protocol=below, key=KEY)
            self.path = str(folder / "file")
            self.url = f"palladion::{below}://{self.path}"
            self.open_url = fsspec.open
        with self.new("wb") as file:
            file.write(b"old")

    def new(self, mode: str) -> Any:
        if "files" in self.kind:
            return files.open(self.folder / "file", mode, key=KEY)
        if "url" in self.kind:
            return self.open_url(self.url, mode, key=KEY)
        return self.fs.open(self.path, mode)

    def begin(self, mode: str = "wb") -> Any:
        """Opens it without `with`."""
        file = self.new(mode)
        return file.open() if "url" in self.kind else file

    def content(self) -> bytes:
        if "files" in self.kind:
            assert [path.name for path in self.folder.iterdir()] == ["file"]
            with files.open(self.folder / "file", key=KEY) as file:
                return file.read()
        assert self.fs.find(str(self.folder)) == [self.path]
        content: bytes = self.fs.cat_file(self.path)
        return content


@pytest.fixture(params=["files", "fs", "fs, memory", "url", "url, memory"])
def place(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Place:
    return Place(request.param, tmp_path)


Work = Callable[[Any], None]


def with_statement(place: Place, mode: str, work: Work) -> None:
    with place.new(mode) as file:
        work(file)


def closed_by_finally(place: Place, mode: str, work: Work) -> None:
    file = place.begin(mode)
    try:
        work(file)
    finally:
        file.close()


def closed_by_a_handler(place: Place, mode: str, work: Work) -> None:
    file = place.begin(mode)
    try:
        work(file)
    except BaseException:
        file.close()
    file.close()


def closing(place: Place, mode: str, work: Work) -> None:
    with contextlib.closing(place.begin(mode)) as file:
        work(file)


def stack(place: Place, mode: str, work: Work) -> None:
    with contextlib.ExitStack() as stack:
        file = place.begin(mode)
        stack.callback(file.close)
        work(stack.enter_context(file))


def older_exception(place: Place, mode: str, work: Work) -> None:
    """An exception that was being handled already tells nothing about the file."""
    try:
        raise KeyError
    except KeyError:
        closed_by_finally(place, mode, work)


def outer_buffer(place: Place, mode: str, work: Work) -> None:
    with io.BufferedWriter(place.begin()) as file:
        work(file)


def outer_text(place: Place, mode: str, work: Work) -> None:
    with io.TextIOWrapper(place.begin(), "utf-8") as file:
        work(file)


def archive(place: Place, mode: str, work: Work) -> None:
    """zipfile ends its archive at an exception too, and then the file is discarded."""
    with place.new("wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("name", "text")
        work(file)


def arrow(place: Place, mode: str, work: Work) -> None:
    with pytest.importorskip("pyarrow").PythonFile(place.begin(), "w") as file:
        work(file)


WAYS = [
    *[(way, mode) for way in (with_statement, closed_by_finally, closed_by_a_handler, closing)
      for mode in ("wb", "wt")],
    (stack, "wb"), (older_exception, "wb"), (outer_buffer, "wb"), (outer_text, "wt"), (arrow, "wb"),
    (archive, "wb"),
]


@pytest.mark.parametrize("way,mode", WAYS)
def test_an_exception_discards_the_file(
    way: Callable[[Place, str, Work], None], mode: str, place: Place
) -> None:
    def fails(file: Any) -> None:
        file.write("half" if mode == "wt" else b"half")
        raise error

    def works(file: Any) -> None:
        file.write("new" if mode == "wt" else b"new")

    for error in (Odd(), KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised:
            way(place, mode, fails)
        if way is closed_by_finally and hasattr(error, "__notes__"):
            assert "was discarded" in error.__notes__[0] and "file'" in error.__notes__[0]
        assert raised.value is error and error.__context__ is None or way is older_exception
        assert place.content() == b"old"
    way(place, mode, works)
    assert place.content() == b"new" or way is archive and b"new" in place.content()


def test_commit_and_discard(place: Place) -> None:
    for mode in ("wb", "wt"):
        if mode == "wt" and "url" in place.kind:
            continue  # that layer is fsspec's
        file = place.begin(mode)
        file.discard()
        file.discard()
        file.close()
        assert file.closed and place.content() == b"old"
        with pytest.raises(palladion.PalladionError, match="file'.* was discarded"):
            file.commit()
        with pytest.raises(ValueError, match="closed"):
            file.write("x" if mode == "wt" else b"x")
        file = place.begin(mode)
        file.write("new" if mode == "wt" else b"new")
        try:
            raise Odd
        except Odd:
            file.commit()
            file.commit()
            file.discard()
            file.close()
        assert file.closed and place.content() == b"new"
        with place.begin() as file:
            file.write(b"old")
        with place.begin(mode) as file:
            file.discard()
        assert place.content() == b"old"


def test_other_threads(place: Place) -> None:
    """close() sees no exception there, such as that of a task of asyncio."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        file = place.begin()
        file.write(b"half")
        with pytest.raises(palladion.PalladionError, match="another thread.*call commit"):
            pool.submit(file.close).result()
        assert file.closed and place.content() == b"old"
        file = place.begin()
        file.write(b"half")
        pool.submit(file.discard).result()
        assert place.content() == b"old"
        file = place.begin()
        file.write(b"new")
        pool.submit(file.commit).result()
        assert place.content() == b"new"
        pool.submit(closed_by_finally, place, "wb", lambda file: file.write(b"newer")).result()
        assert place.content() == b"newer"


def test_other_calls(place: Place) -> None:
    """asyncio may open and close a file in one thread, which sees no exception of its task."""

    async def use(commits: bool) -> None:
        file = await asyncio.to_thread(place.begin)
        try:
            await asyncio.to_thread(file.write, b"half")
            if commits:
                await asyncio.to_thread(file.commit)
        finally:
            await asyncio.to_thread(file.close)

    with pytest.raises(palladion.PalladionError, match="another thread, task or call"):
        asyncio.run(use(False))
    assert place.content() == b"old"
    asyncio.run(use(True))
    assert place.content() == b"half"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_wrapper_that_is_collected(place: Place) -> None:
    with pytest.raises(palladion.PalladionError, match="collected without close"):
        with place.begin() as file:
            with pytest.warns(RuntimeWarning, match="not closed"):
                io.TextIOWrapper(file).write("text")
    assert place.content() == b"old"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_is_collected_is_discarded(place: Place) -> None:
    for mode in ("wb", "wt"):
        file = place.begin(mode)
        file.write("half" if mode == "wt" else b"half")
        with pytest.warns(RuntimeWarning, match="not closed, so it was discarded"):
            del file
        assert place.content() == b"old"


@pytest.mark.parametrize("mode", ["wb", "wt"])
def test_a_generator_that_is_closed(place: Place, mode: str) -> None:
    """Python closes it if it is dropped, and does not show the exception."""

    def by_with() -> Iterator[None]:
        with place.begin(mode) as file:
            file.write("half" if mode == "wt" else b"half")
            yield

    def by_finally() -> Iterator[None]:
        file = place.begin(mode)
        try:
            yield
        finally:
            file.close()

    for begin in (by_with, by_finally):
        generator = begin()
        next(generator)
        with pytest.warns(RuntimeWarning, match="generator.*, so it was discarded"):
            del generator
        assert place.content() == b"old"


def test_a_failed_write(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer of io calls close() although its flush() has failed, and shows it no exception."""

    def fails(*_: Any) -> None:
        raise Odd

    outer = io.BufferedWriter(place.begin())
    outer.write(b"half")
    with monkeypatch.context() as patch, pytest.raises((Odd, OSError)):
        patch.setattr(palladion._native, "check_buffer", fails)
        outer.close()
    assert place.content() == b"old"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_streams_get_no_end() -> None:
    """What goes into a file object of the caller's cannot be taken back."""
    for begin in (
        lambda target: files.EncryptWriter(target, key=KEY),
        lambda target: io.BufferedWriter(files.EncryptWriter(target, key=KEY)),
        lambda target: files.open(target, "wb", key=KEY),
        lambda target: io.TextIOWrapper(files.open(target, "wb", key=KEY)),
    ):
        for collected in (True, False):
            target = io.BytesIO()
            file: Any = begin(target)
            file.write("half" if isinstance(file, io.TextIOWrapper) else b"half")
            if collected:
                with pytest.warns(RuntimeWarning, match="not closed, so it was discarded"):
                    del file
            else:
                with pytest.raises(Odd), file:
                    raise Odd
            with pytest.raises(files.TruncatedError):
                files.decrypt_file(io.BytesIO(target.getvalue()), io.BytesIO(), key=KEY)


def test_data_sets_of_arrow(place: Place) -> None:
    """Threads of C++ open, write and close each file, and drop those that are not complete."""
    ds = pytest.importorskip("pyarrow.dataset")
    import pyarrow as pa

    if "fs" not in place.kind:
        pytest.skip("needs a file system")
    table = pa.table({"a": range(50_000), "part": [n % 5 for n in range(50_000)]})

    def batches() -> Iterator[Any]:
        for _ in range(20):
            yield from table.to_batches()
        raise Odd

    folder = f"{place.folder}/set"
    options = {"filesystem": place.fs, "partitioning": ["part"], "format": "parquet"}
    ds.write_dataset(table, folder, **options)
    there = place.fs.find(folder)
    assert len(there) == 5
    read = ds.dataset(folder, format="parquet", filesystem=place.fs).to_table(columns=["a"])
    assert sorted(read["a"].to_pylist()) == list(range(50_000))
    with pytest.raises(Odd):
        ds.write_dataset(
            batches(), folder, schema=table.schema, existing_data_behavior="overwrite_or_ignore",
            max_rows_per_group=1000, **options,
        )
    assert place.fs.find(folder) == there
    read = ds.dataset(folder, format="parquet", filesystem=place.fs).to_table(columns=["a"])
    assert sorted(read["a"].to_pylist()) == list(range(50_000))
