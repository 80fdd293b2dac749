"""Encrypted files for :mod:`asyncio`: those of :mod:`palladion.files`.

>>> import asyncio, palladion
>>> from palladion import aio
>>> key = palladion.generate_key()
>>> async def main():
...     async with aio.open("notes.pld", "wt", key=key) as file:
...         await file.write("remember the milk")
...     async with aio.open("notes.pld", "rt", key=key) as file:
...         return await file.read()
>>> asyncio.run(main())
'remember the milk'

Encryption, Argon2id and the calls of the system or of a file object run in threads of this package,
so the event loop goes on, and so does :func:`asyncio.to_thread`. Regular files, by path or opened,
and :class:`io.BytesIO` share 4 threads more than there are CPUs, and at most 32. Each other file
has a thread of its own while it is open: a pipe, a socket, a terminal or any other file object may
wait for another program.

A task that is cancelled waits for the call that runs, and its ``async with`` then discards the new
file. So neither :func:`asyncio.timeout` nor Ctrl-C ends a read of a pipe before something comes:
close its other end. Only Argon2id is not waited for. It goes on in its thread for a moment.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import io
import os
import stat
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from typing import IO, TYPE_CHECKING, Any, AnyStr, BinaryIO, Generic, TypeVar, cast, overload

from . import _output, files

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Unpack

    from ._native import Buffer, Secret, _Age, _Recipient

__all__ = ["File", "decrypt_file", "encrypt_file", "open"]

_T = TypeVar("_T")


@functools.cache
def _pool(process: int) -> concurrent.futures.Executor:
    # A forked child has none of its parent's threads.
    return concurrent.futures.ThreadPoolExecutor(min(32, (os.cpu_count() or 1) + 4), "palladion")


def _may_wait(place: Any) -> bool:
    """Whether a file may wait for another program."""
    if (found := _output._status(place)) is not None:
        return not stat.S_ISREG(found.st_mode)
    return not _output.is_path(place) and type(place) is not io.BytesIO


async def run(
    work: Callable[..., _T],
    *arguments: Any,
    pool: concurrent.futures.Executor | None = None,
    on_cancel: Callable[[], object] | None = None,
    always: bool = False,
) -> _T:
    """Calls a function in a thread. If the task is cancelled, that waits for the function, unless
    it has not begun and may be left out.
    """
    call = (pool or _pool(os.getpid())).submit(work, *arguments)
    future = asyncio.wrap_future(call)
    cancelled = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            if not always and call.cancel():
                raise
            cancelled = error
            if on_cancel is not None:
                on_cancel()
    try:
        if cancelled is not None:
            future.exception()  # which nobody else asks for
            raise cancelled
        return future.result()
    finally:
        # Else an exception, whose traceback has this frame, would keep all callers' memory.
        del future, cancelled


class File(Generic[AnyStr]):
    """A file for asyncio, opened by :func:`open`.

    Its methods are those of the file that :func:`palladion.files.open` returns, as coroutines. They
    take turns, in the order of the calls, except :meth:`pread`.
    """

    #: A thread of its own.
    _pool: concurrent.futures.Executor | None = None

    def __init__(
        self, place: Any, begin: Callable[[], IO[AnyStr]], interrupt: Callable[[], None]
    ) -> None:
        self._place = place
        self._begin: Callable[[], IO[AnyStr]] = begin
        self._interrupt = interrupt
        self._file: Any = None
        self._turn = asyncio.Lock()

    def __await__(self) -> Generator[Any, Any, File[AnyStr]]:
        return self._open().__await__()

    async def __aenter__(self) -> File[AnyStr]:
        return await self._open()

    async def _open(self) -> File[AnyStr]:
        if self._file is not None:
            return self
        self._task = asyncio.current_task()

        def begin() -> None:
            self._file = self._begin()

        try:
            if await run(_may_wait, self._place):
                self._pool = concurrent.futures.ThreadPoolExecutor(1, "palladion")
            await run(begin, pool=self._pool, on_cancel=self._interrupt)
        except BaseException:
            await self._abandon()
            raise
        return self

    async def __aexit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        try:
            if exc_type in (None, GeneratorExit):
                await self._call("__exit__", exc_type, exc_value, traceback)
        finally:
            await self._abandon()

    async def _abandon(self) -> None:
        file = self._file
        if file is not None and not file.closed:
            end = file.discard if isinstance(file, _output.NewFile) else file.close
            await run(end, pool=self._pool, always=True)
        self._pool = None  # ends the thread

    async def _call(self, method: str, *arguments: Any) -> Any:
        async with self._turn:
            try:
                return await run(getattr(self._opened(), method), *arguments, pool=self._pool)
            finally:
                if self._file is not None and self._file.closed:
                    self._pool = None

    def _opened(self) -> Any:
        if self._file is None:
            raise ValueError("the file is not open: use async with, or await it")
        return self._file

    def _is_new(self) -> bool:
        return isinstance(self._opened(), _output.NewFile)

    async def commit(self) -> None:
        """Completes the new file. An error discards it."""
        if not self._is_new():
            raise io.UnsupportedOperation("commit: the file was opened to read it")
        await self._call("commit")

    async def discard(self) -> None:
        """Discards the new file, unless it is complete."""
        await self._call("discard" if self._is_new() else "close")

    async def close(self) -> None:
        """Closes the file.

        A new one is completed. While an exception is handled, it is discarded instead, and that
        exception raised again; in another task than the one that opened it, it is discarded, and
        that raises :class:`PalladionError`. Call :meth:`commit` there.
        """
        if self._is_new():
            handled, task = sys.exc_info()[1:], asyncio.current_task()
            await self._call("_close", handled, task is self._task)
        else:
            await self._call("close")

    aclose = close

    async def read(self, size: int = -1) -> AnyStr:
        """Reads up to ``size`` bytes or characters, or everything to the end."""
        return cast(AnyStr, await self._call("read", size))

    async def pread(self, size: int, offset: int) -> bytes:
        """Reads up to ``size`` bytes at ``offset``, without moving the position.

        Fewer come only at the end of the file. Several tasks may call it at once: it takes no turn,
        and such reads of a path run side by side. Needs a file opened with ``"rb"`` that can seek.
        """
        raw = getattr(self._opened(), "raw", None)
        if not isinstance(raw, files.DecryptReader):
            raise io.UnsupportedOperation("pread: open the file with mode rb")
        return await run(raw.pread, size, offset, pool=self._pool)

    async def readline(self) -> AnyStr:
        """Reads a line."""
        return cast(AnyStr, await self._call("readline"))

    def __aiter__(self) -> File[AnyStr]:
        return self

    async def __anext__(self) -> AnyStr:
        if line := await self.readline():
            return line
        raise StopAsyncIteration

    async def write(self, data: AnyStr | Buffer) -> int:
        """Writes all of ``data``, which must not change before the end."""
        held: Any = data
        if not isinstance(data, (bytes, str)):
            with contextlib.suppress(TypeError, ValueError):
                held = memoryview(held)  # keeps its length
        return cast(int, await self._call("write", held))

    async def flush(self) -> None:
        """Passes what is complete on to the file below."""
        await self._call("flush")

    async def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves the position of a file that is read."""
        return cast(int, await self._call("seek", offset, whence))

    async def tell(self) -> int:
        """The position."""
        return cast(int, await self._call("tell"))

    @property
    def name(self) -> Any:
        """The name of the file, if it has one."""
        return self._opened().name

    @property
    def mode(self) -> str:
        """The mode."""
        return cast(str, self._opened().mode)

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return cast(bool, self._opened().closed)


@overload
def open(
    file: files.Path | BinaryIO,
    mode: Literal["rb", "r", "wb", "xb", "w", "x"] = ...,
    **options: Unpack[files._Options],
) -> File[bytes]: ...
@overload
def open(
    file: files.Path | BinaryIO,
    mode: Literal["rt", "wt", "xt"],
    **options: Unpack[files._TextOptions],
) -> File[str]: ...
@overload
def open(
    file: files.Path | BinaryIO, mode: str, **options: Unpack[files._TextOptions]
) -> File[Any]: ...
def open(
    file: files.Path | BinaryIO,
    mode: str = "rb",
    *,
    key: Buffer | Sequence[Buffer] | None = None,
    key_file: files.Path | Sequence[files.Path] | None = None,
    passphrase: str | Buffer | Sequence[str | Buffer] | None = None,
    slots: bool | _Age | Sequence[_Age] = False,
    recipients: _Recipient | Sequence[_Recipient] | None = None,
    bind: str | Buffer | None = None,
    **options: Any,
) -> File[Any]:
    """Opens an encrypted file, with the arguments of :func:`palladion.files.open`.

    The result is for ``async with``, or for ``await``, which returns the open file. A new file is
    complete at the end of ``async with``, or by its methods ``commit()`` or ``close()``, and is
    discarded if an exception leaves ``async with``, such as that of a task that is cancelled, or by
    its method ``discard()``. Functions in ``slots`` and ``recipients`` are called in its thread.
    """
    secret: Secret = files._secret(
        key, key_file, passphrase, slots=slots, recipients=recipients, bind=bind
    )
    begin = functools.partial(files.open, file, mode, key=secret, key_file=key_file, **options)
    return File(file, cast("Callable[[], IO[Any]]", begin), secret.interrupt)


async def encrypt_file(
    source: files.Path | BinaryIO,
    target: files.Path | BinaryIO,
    **options: Unpack[files._WholeOptions],
) -> int:
    """Encrypts a whole file, with the arguments of :func:`palladion.files.encrypt_file`.

    A task that is cancelled waits until the current chunk is done and what was written to a path is
    removed, unless the file was complete by then. ``progress`` and functions in ``recipients`` are
    called in its thread.
    """
    return await _whole(files.encrypt_file, source, target, **options)


async def decrypt_file(
    source: files.Path | BinaryIO,
    target: files.Path | BinaryIO,
    **options: Unpack[files._WholeOptions],
) -> int:
    """Decrypts a whole file, with the arguments of :func:`palladion.files.decrypt_file`.

    It ends as :func:`encrypt_file` does. Functions in ``slots`` are called in its thread too.
    """
    return await _whole(files.decrypt_file, source, target, **options)


async def _whole(
    work: Callable[..., int], *places: Any, progress: Any = None, key: Any = None, **options: Any
) -> int:
    names = options.keys() & {"passphrase", "slots", "recipients", "bind"}
    given = {name: options.pop(name) for name in names}
    secret = files._secret(key, options.get("key_file"), **given)
    stopped = threading.Event()

    def told(count: int) -> None:
        if stopped.is_set():
            raise asyncio.CancelledError
        if progress is not None:
            progress(count)

    def stop() -> None:
        stopped.set()
        secret.interrupt()

    may_wait = [await run(_may_wait, place) for place in places]
    pool = concurrent.futures.ThreadPoolExecutor(1, "palladion") if any(may_wait) else None
    call = functools.partial(work, *places, key=secret, progress=told, **options)
    return await run(call, pool=pool, on_cancel=stop)
