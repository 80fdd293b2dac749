"""Encrypted files for asyncio."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import palladion
import pytest
from palladion import aio, files

KEY = bytes(range(32))


class Odd(Exception):
    pass


def content(path: pathlib.Path) -> bytes:
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    with files.open(path, key=KEY) as file:
        return file.read()


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "file"
    with files.open(path, "wb", key=KEY) as file:
        file.write(b"old")
    return path


def test_reads_and_writes(path: pathlib.Path) -> None:
    text = palladion.KeyStream(KEY).read(3_000_000)

    async def main() -> None:
        async with aio.open(path, "wb", key=KEY, chunk_size=1024) as file:
            assert file.mode == "wb" and file.name == path and not file.closed
            places = range(0, len(text), 10_000)
            await asyncio.gather(*(file.write(text[at : at + 10_000]) for at in places))
            assert await file.tell() == len(text)
            await file.flush()
        assert file.closed and content(path) == text
        async with await aio.open(path, key=KEY) as file:
            assert await file.read(1000) == text[:1000]
            assert await file.seek(-5, os.SEEK_END) == len(text) - 5
            assert await file.read(10) == text[-5:]
            with pytest.raises(io.UnsupportedOperation, match="opened to read"):
                await file.commit()
            await file.seek(0)
            assert await file.read() == text
        lines = ["Grüße\n", "und mehr\n", "Ende"]
        written = await aio.open(path, "wt", key=KEY, encoding="utf-16")
        await written.write("".join(lines))
        await written.close()
        async with aio.open(path, "rt", key=KEY, encoding="utf-16") as text_file:
            assert await text_file.readline() == lines[0]
            assert [line async for line in text_file] == lines[1:]
            await text_file.seek(0)
            assert await text_file.read() == "".join(lines)
        with pytest.raises(ValueError, match="closed"):
            await text_file.read()
        with pytest.raises(ValueError, match="not open"):
            await aio.open(path, key=KEY).read()
        with pytest.raises(files.WrongKeyError):
            async with aio.open(path, key=bytes(32)):
                pass
        with pytest.raises(FileExistsError):
            await aio.open(path, "xb", key=KEY)
        with pytest.raises(TypeError, match="pass key"):
            aio.open(path)
        async with aio.open(path, key=[bytes(32), KEY]) as several:
            await several.read()
        with pytest.raises(TypeError, match="exactly one"):
            await aio.open(path, "wb", key=[KEY])
        slots = io.BytesIO()
        async with aio.open(slots, "wb", recipients=[bytes(32), KEY]) as several:
            await several.write(b"text")
        slots.seek(0)
        async with aio.open(slots, key=KEY, slots=True) as several:
            assert await several.read() == b"text"
        with pytest.raises(TypeError, match="for a new file"):
            await aio.open(slots, recipients=[KEY])
        memory = io.BytesIO()
        async with aio.open(memory, "wb", key=KEY) as file:
            await file.write(b"text")
        memory.seek(0)
        async with aio.open(memory, key=KEY) as file:
            assert await file.read() == b"text"

    asyncio.run(main())


def test_reads_at_offsets(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = palladion.KeyStream(KEY).read(300_000)

    async def main() -> None:
        async with aio.open(path, "wb", key=KEY, chunk_size=1024) as new:
            await new.write(text)
            with pytest.raises(io.UnsupportedOperation, match="mode rb"):
                await new.pread(1, 0)
        content = path.read_bytes()
        sources: list[Any] = [path, io.BytesIO(content), Held(content)]
        for source in sources:
            async with aio.open(source, key=KEY) as file:
                assert await file.read(10) == text[:10]
                offsets = range(0, len(text), 2999)
                parts = await asyncio.gather(
                    *(file.pread(3000, at) for at in offsets), file.read(20), file.pread(9, 1 << 60)
                )
                assert parts.pop() == b"" and parts.pop() == text[10:30]
                assert parts == [text[at : at + 3000] for at in offsets]
                assert await file.tell() == 30
                for size, offset in ((-1, 0), (0, -1)):
                    with pytest.raises(ValueError, match="must not be negative"):
                        await file.pread(size, offset)
            with pytest.raises(ValueError, match="closed"):
                await file.pread(1, 0)
        with pytest.raises(ValueError, match="not open"):
            await aio.open(path, key=KEY).pread(1, 0)
        async with aio.open(path, "rt", key=KEY, encoding="latin-1") as as_text:
            with pytest.raises(io.UnsupportedOperation, match="mode rb"):
                await as_text.pread(1, 0)
        read, write = os.pipe()
        with open(write, "wb") as below:
            below.write(content[:3000])
        with open(read, "rb") as below:
            async with aio.open(below, key=KEY) as file:
                with pytest.raises(io.UnsupportedOperation, match="cannot seek"):
                    await file.pread(1, 0)

    asyncio.run(main())


def test_reads_at_offsets_take_no_turn(path: pathlib.Path) -> None:
    """A read that waits holds up no other."""

    async def main() -> None:
        async with aio.open(path, key=KEY) as file:
            async with file._turn:
                assert await asyncio.wait_for(file.pread(3, 0), 60) == b"old"
            task = asyncio.create_task(file.pread(3, 0))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await file.read() == b"old"

    asyncio.run(main())


Work = Callable[..., Awaitable[Any]]


async def with_statement(path: Any, mode: str, work: Work) -> None:
    async with aio.open(path, mode, key=KEY) as file:
        await work(file)


async def opened_before(path: Any, mode: str, work: Work) -> None:
    file = await aio.open(path, mode, key=KEY)
    async with file:
        await work(file)


async def by_finally(path: Any, mode: str, work: Work) -> None:
    file = await aio.open(path, mode, key=KEY)
    try:
        await work(file)
    finally:
        await file.close()


async def closing(path: Any, mode: str, work: Work) -> None:
    async with contextlib.AsyncExitStack() as stack:
        file = await aio.open(path, mode, key=KEY)
        stack.push_async_callback(file.aclose)
        await work(file)


async def older_exception(path: Any, mode: str, work: Work) -> None:
    """A bare `raise` would look the same."""
    try:
        raise KeyError
    except KeyError:
        await by_finally(path, mode, work)


@pytest.mark.parametrize("mode", ["wb", "wt"])
@pytest.mark.parametrize(
    "way", [with_statement, opened_before, by_finally, closing, older_exception]
)
def test_an_exception_discards_the_file(way: Any, mode: str, path: pathlib.Path) -> None:
    async def fails(file: Any) -> None:
        await file.write("half" if mode == "wt" else b"half")
        raise error

    async def waits(file: Any) -> None:
        await file.write("half" if mode == "wt" else b"half")
        writes.set()
        await asyncio.Event().wait()

    async def works(file: Any) -> None:
        await file.write("new" if mode == "wt" else b"new")

    async def cancel() -> None:
        nonlocal writes
        writes = asyncio.Event()
        task = asyncio.create_task(way(path, mode, waits))
        await writes.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    error, writes = Odd(), asyncio.Event()
    with pytest.raises(Odd) as raised:
        asyncio.run(way(path, mode, fails))
    assert raised.value is error and content(path) == b"old"
    asyncio.run(cancel())
    assert content(path) == b"old"
    if way is older_exception:
        with pytest.raises(KeyError):
            asyncio.run(way(path, mode, works))
    else:
        asyncio.run(way(path, mode, works))
    assert content(path) == (b"old" if way is older_exception else b"new")


def test_commit_discard_and_other_tasks(path: pathlib.Path) -> None:
    async def main() -> None:
        file = await aio.open(path, "wb", key=KEY)
        await file.write(b"half")
        with pytest.raises(palladion.PalladionError, match="another thread, task or"):
            await asyncio.create_task(file.close())
        assert file.closed and content(path) == b"old"
        file = await aio.open(path, "wb", key=KEY)
        await file.write(b"new")
        await asyncio.create_task(file.commit())
        await file.close()
        assert content(path) == b"new"
        async with aio.open(path, "wb", key=KEY) as file:
            await file.discard()
        assert content(path) == b"new"

    asyncio.run(main())


class Held(io.BytesIO):
    """A file whose methods wait."""

    def __init__(self, content: bytes = b"") -> None:
        super().__init__(content)
        self.waits, self.goes_on = threading.Event(), threading.Event()

    def write(self, data: Any) -> int:
        self.waits.set()
        assert self.goes_on.wait(60)
        return super().write(data)


def test_bind(path: pathlib.Path) -> None:
    async def main() -> None:
        async with aio.open(path, "wb", key=KEY, bind="a") as file:
            await file.write(b"text")
        async with aio.open(path, key=KEY, bind=b"a") as file:
            assert await file.read() == b"text"
        with pytest.raises(files.WrongPlaceError):
            await aio.open(path, key=KEY, bind="b")
        with pytest.raises(files.BoundError):
            await aio.open(path, key=KEY)

    asyncio.run(main())


def test_whole_files(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text, back, calls = palladion.KeyStream(KEY).read(10_000), io.BytesIO(), list[int]()

    async def main() -> None:
        source, options = io.BytesIO(text), {"chunk_size": 4096, "progress": calls.append}
        with pytest.raises(FileExistsError):
            await aio.encrypt_file(source, path, key=KEY)
        assert content(path) == b"old"
        made = await aio.encrypt_file(
            source, path, recipients=["words", KEY], overwrite=True, bind="a", **options
        )
        assert made == len(text) == calls[-1] and len(calls) > 1
        opens: dict[str, Any] = {"slots": True, "bind": "a", "progress": calls.append}
        assert await aio.decrypt_file(path, back, key=[bytes(32), KEY], **opens) == len(text)
        assert back.getvalue() == text and calls[-1] == len(text)
        with pytest.raises(files.NoSlotError):
            await aio.decrypt_file(path, tmp_path / "new", key=bytes(32), **opens)
        with pytest.raises(Odd):
            await aio.decrypt_file(path, tmp_path / "new", key=KEY, **{**opens, "progress": odd})
        for wrong in ({}, {"key": KEY, "recipients": [KEY]}, {"key": KEY, "modes": 1}):
            with pytest.raises(TypeError):
                await aio.decrypt_file(path, tmp_path / "new", **wrong)
        assert [each.name for each in tmp_path.iterdir()] == [path.name]

    def odd(count: int) -> None:
        raise Odd

    asyncio.run(main())


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("work", [aio.encrypt_file, aio.decrypt_file])
def test_a_cancelled_task_stops_with_a_whole_file(
    work: Any, times: int, path: pathlib.Path
) -> None:
    """It waits until nothing is left of the new file."""
    text, sealed = bytes(1_000_000), io.BytesIO()
    files.encrypt_file(io.BytesIO(text), sealed, key=KEY, chunk_size=1024)
    begun, goes_on, calls = threading.Event(), threading.Event(), list[int]()

    def progress(count: int) -> None:
        calls.append(count)
        begun.set()
        assert goes_on.wait(60)

    async def main() -> None:
        source = io.BytesIO(text if work is aio.encrypt_file else sealed.getvalue())
        options = {"chunk_size": 1024} if work is aio.encrypt_file else {}
        task = asyncio.create_task(
            work(source, path, key=KEY, overwrite=True, progress=progress, **options)
        )
        while not begun.is_set():
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
            for _ in range(10):
                await asyncio.sleep(0)
        assert not task.done() and len(os.listdir(path.parent)) == 2
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(calls) == 1 and content(path) == b"old"

    asyncio.run(main())


@pytest.mark.parametrize("times", [1, 3])
def test_a_cancelled_task_waits_for_its_call(times: int) -> None:
    """So nothing changes afterwards. Meanwhile, the loop goes on."""

    async def main() -> None:
        target = Held()
        target.goes_on.set()

        async def use() -> None:
            async with aio.open(target, "wb", key=KEY, chunk_size=1024) as file:
                target.goes_on.clear()
                target.waits.clear()
                await file.write(bytes(3_000_000))

        task = asyncio.create_task(use())
        while not (target.waits.is_set() and not target.goes_on.is_set()):
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
            for _ in range(10):
                await asyncio.sleep(0)
        assert not task.done()
        target.goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        written = target.getvalue()
        with pytest.raises(files.TruncatedError):
            files.decrypt_file(io.BytesIO(written), io.BytesIO(), key=KEY)
        await asyncio.to_thread(int)
        assert target.getvalue() == written

    asyncio.run(main())


ARGON2 = """
import asyncio, io, os, sys
from palladion import aio

async def main():
    options = {"passphrase": "x", "kdf": (1 << 16, 1_000_000, 1)}
    async def use():
        if sys.argv[1] == "whole":
            await aio.encrypt_file(io.BytesIO(), "file", **options)
        async with aio.open("file", "wb", **options):
            pass
    task = asyncio.create_task(use())
    while not os.listdir():
        await asyncio.sleep(0.01)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print(os.listdir())
    os._exit(0)

asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["whole", "in pieces"])
def test_a_task_does_not_wait_for_argon2(way: str, tmp_path: pathlib.Path) -> None:
    """It takes hours here."""
    run = [sys.executable, "-c", ARGON2, way]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.stdout == "[]\n", done.stderr


def test_threads_of_others_stay_free(path: pathlib.Path) -> None:
    """Calls that wait do not keep asyncio.to_thread waiting."""

    async def use(target: Held) -> None:
        async with aio.open(target, "wb", key=KEY):
            pass

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
        targets = [Held() for _ in range(3)]
        tasks = [asyncio.create_task(use(each)) for each in targets]
        while not all(each.waits.is_set() for each in targets):
            await asyncio.sleep(0)
        assert await asyncio.to_thread(int) == 0
        for each in targets:
            each.goes_on.set()
        await asyncio.gather(*tasks)

    asyncio.run(main())


def test_a_cancelled_call_that_has_not_begun_is_left_out() -> None:
    """It does not wait for a thread."""

    async def main() -> None:
        pool: Any = aio._pool(os.getpid())
        goes_on = threading.Event()
        calls = [pool.submit(goes_on.wait, 60) for _ in range(pool._max_workers)]
        late = asyncio.create_task(aio.run(int))
        await asyncio.sleep(0)
        late.cancel()
        done, _ = await asyncio.wait([late], timeout=60)
        goes_on.set()
        assert all(call.result() for call in calls)
        assert done and late.cancelled()

    asyncio.run(main())


def test_pipes_do_not_hold_up_other_files(path: pathlib.Path) -> None:
    """Nor do the readers of a program hold up its writers."""
    size, count = 1 << 18, 50

    async def read(number: int) -> int:
        with open(number, "rb") as below:
            if number % 4 < 2:  # about half of them
                return await aio.decrypt_file(below, io.BytesIO(), key=KEY)
            async with aio.open(below, key=KEY) as file:
                return len(await file.read())

    async def write(number: int) -> None:
        with open(number, "wb") as below:
            async with aio.open(below, "wb", key=KEY) as file:
                await file.write(bytes(size))

    async def main() -> None:
        pipes = [os.pipe() for _ in range(count)]
        reads = [asyncio.create_task(read(number)) for number, _ in pipes]
        async with aio.open(path, key=KEY) as file:
            assert await file.read() == b"old"
        await asyncio.gather(*(write(number) for _, number in pipes))
        assert await asyncio.gather(*reads) == [size] * count

    asyncio.run(asyncio.wait_for(main(), 100))


def test_data_keeps_its_length(path: pathlib.Path) -> None:
    async def main() -> None:
        async with aio.open(path, "wb", key=KEY) as file:
            data = bytearray(b"text")
            task = asyncio.create_task(file.write(data))
            await asyncio.sleep(0)
            with pytest.raises(BufferError):
                data.clear()
            assert await task == 4
        assert content(path) == b"text"

    asyncio.run(main())


def test_an_asynchronous_generator_that_is_closed(path: pathlib.Path) -> None:
    async def sink() -> AsyncGenerator[None, bytes]:
        async with aio.open(path, "wb", key=KEY) as file:
            while True:
                await file.write((yield))

    async def main() -> None:
        generator = sink()
        await generator.asend(None)  # type: ignore[arg-type]
        await generator.asend(b"half")
        await generator.aclose()

    with pytest.warns(RuntimeWarning, match="generator"):
        asyncio.run(main())
    assert content(path) == b"old"
