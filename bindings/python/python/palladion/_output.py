"""Output files that appear only once they are complete, for the modules of this package.

The documentation of the Rust module ``palladion_file::output`` has the rule.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from . import _native


def is_path(place: object) -> bool:
    """Whether it is a path rather than a file object."""
    return isinstance(place, (str, bytes, os.PathLike))


@contextlib.contextmanager
def complete(
    target: Any, overwrite: bool, *, private: bool = False, **inputs: Any
) -> Iterator[_native.Output]:
    """Yields a file, which gets the name ``target`` on success and is removed on failure.

    ``inputs`` are what it must not be, or None: paths or file objects.
    """
    output = _native.Output(
        os.fsdecode(target),
        overwrite=overwrite,
        private=private,
        inputs=[(_words(name), there) for name, there in _there(inputs) if there is not None],
    )
    try:
        yield output
        output.commit()
    except BaseException:
        output.discard()
        raise


def refuse_same(target: Any, **inputs: Any) -> None:
    """Refuses a target, a path or a file object, that is one of the inputs."""
    for name, place in inputs.items():
        if place is None:
            continue
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


def _there(inputs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The paths of files and the descriptors of file objects."""
    for name, place in inputs.items():
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
