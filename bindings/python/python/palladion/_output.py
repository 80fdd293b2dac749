"""Output files that appear only once they are complete, for the modules of this package.

:class:`NewFile` has the rule. The Rust crate ``palladion_output`` says how a file appears.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, BinaryIO, cast

from . import _native
from ._native import PalladionError


def is_path(place: object) -> bool:
    """Whether it is a path rather than a file object."""
    return isinstance(place, (str, bytes, os.PathLike))


def create(
    target: Any, overwrite: bool, *, private: bool = False, **inputs: Any
) -> _native.Output:
    """Opens a file, which gets the name ``target`` when it is committed, as by ``with``.

    ``inputs`` are what it must not be, or None: paths or file objects, or lists of them. A new file
    gets the permissions of ``source``, as far as the umask allows.
    """
    return _native.Output(
        os.fsdecode(target),
        overwrite=overwrite,
        private=private,
        inputs=[(_words(name), there) for name, there in _there(inputs) if there is not None],
    )


def refuse_same(target: Any, **inputs: Any) -> None:
    """Refuses a target, a path or a file object, that is one of the inputs."""
    for name, place in _named(inputs):
        found = [_status(each if is_path(each) else _beneath(each)) for each in (place, target)]
        if None in found:
            # Compare objects in memory. A path to a missing file cannot be one.
            same = not is_path(target) and _beneath(place) is _beneath(target)
            same = same and not _has_two_directions(target)
        else:
            # A terminal or a socket may well be both.
            ours, its = cast("list[os.stat_result]", found)
            if stat.S_ISBLK(ours.st_mode) and stat.S_ISBLK(its.st_mode):
                same = ours.st_rdev == its.st_rdev
            else:
                same = stat.S_ISREG(ours.st_mode) and os.path.samestat(ours, its)
        if same:
            raise ValueError(f"{_words(name)} and target are the same file: {place!r}")


def open_input(path: Any, buffering: int = -1) -> BinaryIO:
    """Opens a file, or the descriptor that its name means, which is not opened again."""
    number = _native.descriptor(os.fsdecode(path))
    return io.open(path if number is None else os.dup(number), "rb", buffering)


def _words(name: str) -> str:
    return name.replace("_", " ")


def each(given: Any) -> list[Any]:
    """An object, or each of several."""
    return [*given] if isinstance(given, (list, tuple)) else [given]


def _named(inputs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The name and the place of each input."""
    for name, places in inputs.items():
        for place in each(places):
            if place is not None:
                yield name, place


def _there(inputs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The paths of files and the descriptors of file objects."""
    for name, place in _named(inputs):
        yield name, os.fsdecode(place) if is_path(place) else _number(place)


def _number(file: Any) -> int | None:
    """The descriptor of a file object, if it has one."""
    try:
        number = file.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return number if isinstance(number, int) and number >= 0 else None


def _status(place: Any) -> os.stat_result | None:
    at = place if is_path(place) else _number(place)
    try:
        return None if at is None else os.stat(at)
    except OSError:
        return None


def _has_two_directions(file: Any) -> bool:
    """Whether what is written does not change what is read, as with a socket."""
    return hasattr(file, "seekable") and not file.seekable()


def _beneath(file: Any) -> Any:
    """The file object that a buffer of :mod:`io` or an encrypted file reads or writes."""
    while True:
        if isinstance(file, (io.BufferedReader, io.BufferedWriter, io.BufferedRandom)):
            file = file.raw
        elif isinstance(file, Layer):
            file = file._under
        else:
            return file


class Layer(io.RawIOBase):
    """A file object that reads or writes another one."""

    _under: Any = None
    _native: Any = None
    #: The mode: "rb", "wb" or "xb".
    mode = "rb"
    #: The name of the file, if it has one, as given to open().
    name: Any

    def __init__(self, under: Any, native: Any) -> None:
        self._under, self._native = under, native
        if hasattr(under, "name"):
            self.name = under.name

    def tell(self) -> int:
        """The number of decrypted bytes before the position."""
        if self.closed or self._native is None:
            raise ValueError("I/O operation on closed file")
        return cast(int, self._native.tell())


_OPEN, _WRITTEN, _COMMITTED, _DISCARDED = range(4)
#: The new files that were opened in this context. Functions like asyncio.to_thread give each call a
#: copy of the context of its own.
_opened: ContextVar[frozenset[weakref.ref[NewFile]]] = ContextVar("_opened", default=frozenset())


class NewFile:
    """A file that is being written, and the rule that tells when it is complete.

    ``with`` completes it at its normal end, and discards it if an exception leaves it.
    :meth:`commit` completes it and :meth:`discard` discards it, at any time and in any thread.
    :meth:`close` completes it too, but cannot know why it is called. So it discards the file

    - if an exception is being handled that was not being handled when the file was opened. It then
      raises that exception again, so that nothing hides it;
    - in another thread than the one that opened the file, or in another call of a function like
      :func:`asyncio.to_thread`, where it would see no exception. It then raises
      :class:`PalladionError`.

    A file that is collected, or left open at the end of the program, is discarded, and so is one
    of which a write failed, or one whose wrapper is collected without being closed.

    Some things ``close()`` cannot see: an exception that was handled before, as if ``finally``
    closes the file after an ``except`` that does not raise; one that was being handled when the
    file was opened, and that ``raise`` raises again; one in another thread or task, if an executor
    calls both :func:`open` and ``close()`` in one of its threads; a finalizer or a signal handler
    that calls ``close()`` on a half-written file. Use ``with``, or :meth:`commit`, there.
    """

    #: Until :meth:`_begin`, there is nothing to complete or discard.
    _state = _DISCARDED
    #: Whether a write failed, so that something is missing.
    _failed = False
    #: Whether to say so if nobody closed it.
    _warns = True
    #: Whether it was discarded because it, or a wrapper around it, was collected.
    _lost = False

    def _begin(self, deferred: bool = False) -> None:
        """Starts it. If ``deferred``, only commit() publishes it."""
        self._state, self._deferred = _OPEN, deferred
        self._process, self._thread = os.getpid(), threading.current_thread()
        self._handled = sys.exc_info()[1:]
        known = [each for each in _opened.get() if (file := each()) and file._state == _OPEN]
        _opened.set(frozenset([*known, weakref.ref(self)]))

    def _finish(self) -> None:
        """Writes the rest, and closes it."""

    def _publish(self) -> None:
        """Gives it its name."""

    def _drop(self) -> None:
        """Closes and removes it."""

    def _note_failure(self, error: BaseException) -> None:
        """Remembers that a write failed, unless the caller passed no bytes."""
        self._failed |= not isinstance(error, (TypeError, BufferError))

    def _reach(self, state: int, work: Callable[[], None]) -> None:
        if self._state >= state:
            return
        try:
            if self._failed:
                raise OSError("an earlier write failed, so the file was discarded")
            work()
        except BaseException:
            self._discard()
            raise
        self._state, self._handled = state, (None, None)

    def _complete(self) -> None:
        self._reach(_WRITTEN, self._finish)
        if not self._deferred:
            self._reach(_COMMITTED, self._publish)

    def commit(self) -> None:
        """Completes the file. An error discards it."""
        self._check_lost()
        if self._state == _DISCARDED:
            raise PalladionError(f"{self._called()} was discarded, so it cannot be completed")
        self._reach(_WRITTEN, self._finish)
        if not self._waits():
            self._reach(_COMMITTED, self._publish)

    def _waits(self) -> bool:
        """Whether something else will publish it."""
        return False

    def discard(self) -> None:
        """Discards the file, unless it is complete."""
        self._discard()

    def _discard(self) -> None:
        if self._state < _COMMITTED:
            self._state, self._handled = _DISCARDED, (None, None)
            self._drop()

    def _discard_for(self, kind: type[BaseException]) -> None:
        """Discards it because of an exception. Python says nothing of the one that ends generators,
        even if they are only dropped."""
        was_open = self._state == _OPEN
        self._discard()
        if was_open and issubclass(kind, GeneratorExit):
            self._warn("was left open by a generator that was closed", 4)

    def _warn(self, why: str, level: int, source: object = None) -> None:
        # In a forked child, the file belongs to the parent.
        if self._warns and self._process == os.getpid():
            message = f"{self._called()} {why}, so it was discarded"
            warnings.warn(message, RuntimeWarning, stacklevel=level, source=source)

    def close(self) -> None:
        """Completes the file, or discards it and raises the exception that is being handled."""
        self._close(sys.exc_info()[1:], self._is_at_home())

    def _close(self, handling: Any, is_at_home: bool) -> None:
        if self._state != _OPEN:
            self._check_lost()
            return
        error, trace = handling
        # An exception that is raised again has a longer traceback, except by a bare `raise`.
        handled, trace_then = self._handled
        if error is not None and not (error is handled and trace is trace_then):
            try:
                self._discard_for(type(error))
            finally:
                if hasattr(error, "add_note"):
                    error.add_note(
                        f"{self._called()} was discarded, because close() was called while this "
                        "was handled: commit() keeps such a file"
                    )
                raise error
        if not is_at_home:
            self._discard()
            raise PalladionError(
                f"{self._called()} was closed in another thread, task or call than the one that "
                "opened it, so it was discarded: call commit() before"
            )
        self._complete()

    def _is_at_home(self) -> bool:
        """Whether an exception of those who use the file would be seen here."""
        thread = threading.current_thread()
        if _is_foreign(thread) and _is_foreign(self._thread):
            return True
        in_main = thread is threading.main_thread()
        return thread is self._thread and (in_main or weakref.ref(self) in _opened.get())

    def _check_lost(self) -> None:
        if self._lost:
            raise PalladionError(
                f"{self._called()} was discarded, because an object that wrote to it was collected "
                "without close(): keep that object, and call its close() or detach()"
            )

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if exc_type is not None:
            self._discard_for(exc_type)
        elif self._state == _OPEN:
            self._complete()
        else:
            self._check_lost()

    def _forgotten(self, source: object) -> None:
        """Discards the file because it, or a layer above it, was collected without close()."""
        if self._state == _OPEN and not cast(Any, self).closed:
            self._lost = True
            self._discard()
            self._warn("was not closed", 4, source)

    def _dealloc_warn(self, source: object) -> None:
        # The layers of io call this if one of them was collected and now closes those below it.
        self._forgotten(source)

    def __del__(self) -> None:
        self._forgotten(self)

    def _called(self) -> str:
        name = getattr(self, "name", None)
        return "the encrypted file" if name is None else f"the encrypted file {name!r}"


def _is_foreign(thread: threading.Thread) -> bool:
    """Whether another language started the thread. No Python code waits above what it calls.

    pyarrow.dataset opens, writes and closes each file in several such threads. It closes only
    complete files: after an error, it drops the others, which are collected.
    """
    return isinstance(thread, threading._DummyThread)
