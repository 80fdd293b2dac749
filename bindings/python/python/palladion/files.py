"""Encrypted files of any size, in bounded memory, as ``palladion encrypt`` makes them.

>>> import io, palladion.files
>>> key = palladion.generate_key()
>>> sealed = io.BytesIO()
>>> palladion.files.encrypt_file(io.BytesIO(b"some text"), sealed, key=key)
9
>>> sealed.seek(0)
0
>>> with palladion.files.open(sealed, "rb", key=key) as file:
...     file.read()
b'some text'

The secret is one of three: ``key``, 32 random bytes from :func:`palladion.generate_key`;
``key_file``, the path of a key file made by :func:`save_key` or ``palladion keygen``; or
``passphrase``, str or bytes, which is stretched with Argon2id: for each file again, in tenths of a
second and 64 MiB of memory. To use one passphrase for many files, keep their key in a file with
that passphrase.

For reading, each of the three may be a list or tuple, and they go together: a file opens with any
of the secrets. To change the key, write with the new one and read with ``key=[new, old]``. A new
file has one secret, so lists are refused there.

To write a file that several people open, pass ``recipients`` instead, a list: keys, passphrases as
str, and functions that make slots for age (https://age-encryption.org). Each of them gets a key
slot. A function takes the 32 bytes of the file's key and returns them encrypted with age, without
armour: ``lambda key: pyrage.encrypt(key, recipients)``. The file is only as safe as the weakest of
its recipients.

Readers open key slots only with ``slots=True``, or with ``slots`` a function, or a list of them,
that decrypts an age file to those 32 bytes, or returns None if the file is for others:
``lambda age_file: pyrage.decrypt(age_file, identities)``. What it raises is raised only if no other
slot opens. **A key slot does not prove who wrote the file:** everyone who could ever open it can
have written it. Changing the slots later is left to ``palladion rewrap``.

Files under one key can be swapped or moved, and each opens as before. To make that an error, write
and read with ``bind``, a str or bytes that says which file is meant, such as its path, its version
or its tenant. It is authenticated, but not stored. Only the same bytes open the file: text is
encoded in UTF-8 and not normalised. An older file with the same ``bind`` is accepted. A file that
is bound does not open without ``bind``, nor one that is not bound with it.

Decryption returns verified data only. A wrong key, a damaged file, a truncated file and data after
the end raise distinct errors, whose ``hint`` says what to do. A file that can seek is checked for
its end when it is opened, so a truncated or extended one is an error at once; a damaged chunk
spoils the reads that touch it and no others. What cannot seek, such as a pipe, is read front to
back: what was returned before an error is a correct beginning of the original. The repository's
``docs/file-format.md`` describes the format.

A target given as a path is written under a temporary name in the same directory and renamed once it
is complete. A replaced file keeps its permissions, and a new one gets those of the source, as far
as the umask allows. Devices and FIFOs are written directly, and names like ``/dev/stdout`` and
``/dev/fd/3`` mean the open descriptor, as they do for sources and key files. A target that is also
the source or the key file, a directory, or a file that cannot be replaced, such as a mount point,
is refused before the work starts. An unfinished file belongs to the process that created it: a
forked child neither finishes nor removes it. A process that ends without cleaning up, such as by
:func:`os._exit` or as a forked child of :mod:`multiprocessing`, leaves the temporary name.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import stat
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TextIO, Union, cast, overload

from . import _native, _output
from ._native import PalladionError, VerificationError

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from typing_extensions import Unpack

    from ._native import AlgorithmName, Buffer, _Age, _Recipient

    class _Options(TypedDict, total=False):
        key: Buffer | Sequence[Buffer] | None
        key_file: Path | Sequence[Path] | None
        passphrase: str | Buffer | Sequence[str | Buffer] | None
        max_kdf_memory: int | None
        algorithm: AlgorithmName
        chunk_size: int
        kdf: tuple[int, int, int] | None
        slots: bool | _Age | Sequence[_Age]
        recipients: _Recipient | Sequence[_Recipient] | None
        bind: str | Buffer | None

    class _TextOptions(_Options, total=False):
        encoding: str | None
        errors: str | None
        newline: str | None

    class _WholeOptions(_Options, total=False):
        threads: int | None
        overwrite: bool
        progress: Callable[[int], object] | None

__all__ = [
    "BoundError",
    "DamagedError",
    "DecryptReader",
    "EncryptWriter",
    "FileError",
    "NeedsKeyError",
    "NeedsPassphraseError",
    "NoSlotError",
    "NotBoundError",
    "NotPalladionError",
    "TooCostlyError",
    "TrailingDataError",
    "TruncatedError",
    "UnsupportedError",
    "WrongKeyError",
    "WrongPassphraseError",
    "WrongPlaceError",
    "decrypt_file",
    "encrypt_file",
    "load_key",
    "needs_passphrase",
    "open",
    "save_key",
]

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class FileError(PalladionError):
    """A file could not be decrypted. ``hint`` says what to do."""

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        chunk: int | None = None,
        offset: int | None = None,
        filename: str | None = None,
    ) -> None:
        super().__init__(message, hint, chunk, offset, filename)
        #: What the error means, or what to do about it.
        self.hint = hint
        #: The chunk with the error, counted from 0.
        self.chunk = chunk
        #: The offset of the error in the file, in bytes.
        self.offset = offset
        #: The name of the file, if it has one.
        self.filename = filename

    def __str__(self) -> str:
        message = str(self.args[0])
        if self.hint:
            message = f"{message} ({self.hint})"
        return f"{message}: {self.filename!r}" if self.filename else message


class NotPalladionError(FileError):
    """The input is not a Palladion file."""


class DamagedError(FileError, VerificationError):
    """The key is right, but the file was changed."""


class TruncatedError(FileError):
    """The file is incomplete."""


class TrailingDataError(FileError):
    """There is data after the end of the file."""


class UnsupportedError(FileError):
    """The file needs a newer version of this package."""


class WrongKeyError(FileError, VerificationError):
    """The key is wrong."""


class NoSlotError(WrongKeyError):
    """None of the file's key slots opens with the secrets given."""


class WrongPassphraseError(FileError, VerificationError):
    """The passphrase is wrong."""


class NeedsKeyError(FileError):
    """A passphrase was given, but the file was encrypted with a key."""


class NeedsPassphraseError(FileError):
    """A key was given, but the file was encrypted with a passphrase."""


class TooCostlyError(FileError):
    """Checking the passphrase would take more time or memory than allowed."""


class BoundError(FileError):
    """The file is bound to a place, and ``bind`` was not given.

    ``palladion encrypt --bind-to-path`` binds to paths such as ``"2026/january.txt.pld"``.
    """


class NotBoundError(FileError):
    """The file is not bound to a place, but ``bind`` was given."""


class WrongPlaceError(FileError, VerificationError):
    """The secret is right, but the file is bound to another place than ``bind``."""


_DEFAULT_CHUNK_SIZE = 1 << 20


def _secret(
    key: Buffer | Sequence[Buffer] | _native.Secret | None,
    key_file: Path | Sequence[Path] | None = None,
    passphrase: str | Buffer | Sequence[str | Buffer] | None = None,
    *,
    slots: bool | _Age | Sequence[_Age] = False,
    recipients: _Recipient | Sequence[_Recipient] | None = None,
    bind: str | Buffer | None = None,
    new: bool | None = None,
) -> _native.Secret:
    """Returns a copy of the secrets: for a new file, for an old one, or for any if it is None."""
    if isinstance(key, _native.Secret):
        secret = key if bind is None else key.bind(bind)
    elif recipients is not None:
        if not (key is key_file is passphrase is None and slots is False):
            raise TypeError("pass recipients, or one of key, key_file and passphrase, not both")
        secret = _native.Secret.of_recipients(recipients, bind)
    else:
        names: Any = key_file
        if isinstance(key_file, (list, tuple)):
            names = [os.fsdecode(each) for each in key_file]
        elif key_file is not None:
            names = os.fsdecode(cast(Path, key_file))
        secret = _native.Secret(key, names, passphrase, slots, bind)
    if new is not None:
        secret.check(new)
    return secret


def encrypt_file(
    source: Path | BinaryIO,
    target: Path | BinaryIO,
    *,
    key: Buffer | None = None,
    key_file: Path | None = None,
    passphrase: str | Buffer | None = None,
    recipients: _Recipient | Sequence[_Recipient] | None = None,
    bind: str | Buffer | None = None,
    algorithm: AlgorithmName = "AEGIS-256X2",
    chunk_size: int = _DEFAULT_CHUNK_SIZE,
    kdf: tuple[int, int, int] | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Encrypts a whole file on all cores, or ``threads``, and returns the number of bytes read.

    ``source`` and ``target`` are paths or binary file objects, which must block: one that returns
    None because it would block raises :class:`BlockingIOError`. If ``target`` is a path, the file
    appears once it is complete; an existing file is replaced only with ``overwrite=True``.
    ``progress`` is called after each chunk, with the number of bytes of the plaintext so far. An
    exception from it stops the work, as an error does, and is raised. The calling thread uses it
    and the file objects, so that Ctrl-C ends a read or write that waits. ``kdf`` sets the cost of
    Argon2id for a passphrase: KiB of memory, passes and lanes (by default 65536, 3 and 4). Readers
    refuse a cost above the limits in :func:`decrypt_file`, unless ``max_kdf_memory`` allows it.
    """
    run = functools.partial(
        _native.encrypt_file,
        secret=_secret(key, key_file, passphrase, recipients=recipients, bind=bind, new=True),
        algorithm=algorithm,
        chunk_size=chunk_size,
        kdf=kdf,
        threads=threads,
        progress=progress,
    )
    return _to(source, target, key_file, overwrite, threads, run)


def decrypt_file(
    source: Path | BinaryIO,
    target: Path | BinaryIO,
    *,
    key: Buffer | Sequence[Buffer] | None = None,
    key_file: Path | Sequence[Path] | None = None,
    passphrase: str | Buffer | Sequence[str | Buffer] | None = None,
    slots: bool | _Age | Sequence[_Age] = False,
    bind: str | Buffer | None = None,
    max_kdf_memory: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Decrypts a whole file on all cores, or ``threads``, and returns the number of bytes written.

    The secrets may be lists, of which any secret may open it. Raises one of the errors of this
    module if it cannot be decrypted. In that case a target given as a path does not appear; a
    target given as a file object may hold a correct beginning of the original. If the second copy
    of key slots is not as it should be, :class:`RuntimeWarning` says so: the data is complete.
    ``progress`` is as for :func:`encrypt_file`.

    The cost of a passphrase is in the file, which may come from an enemy. ``max_kdf_memory`` is the
    most KiB of memory for it, with at most the work of four passes over that (by default 1048576,
    and at most 16 passes). Files that ask for more raise :class:`TooCostlyError`.
    """
    run = functools.partial(
        _native.decrypt_file,
        secret=_secret(key, key_file, passphrase, slots=slots, bind=bind, new=False),
        max_kdf_memory=max_kdf_memory,
        threads=threads,
        progress=progress,
    )
    return _to(source, target, key_file, overwrite, threads, run)


def _to(
    source: Any,
    target: Any,
    key_file: Any,
    overwrite: bool,
    threads: int | None,
    run: Callable[[Any, Any], int],
) -> int:
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    if _output.is_path(source):
        source = os.fsdecode(source)
    # If the source is missing, the error names it.
    may_wait = _output.is_path(source) and not stat.S_ISREG(os.stat(source).st_mode)
    with contextlib.ExitStack() as stack:
        if _output.is_path(target):
            file = _output.create(target, overwrite, source=source, key_file=key_file)
            target = stack.enter_context(file)
        else:
            _output.refuse_same(target, source=source, key_file=key_file)
        if may_wait:
            # Native code would open and read it even after Ctrl-C.
            source = stack.enter_context(_output.open_input(source, 0))
        return run(source, target)


class EncryptWriter(_output.NewFile, _output.Layer):
    """A binary file object that encrypts what is written to it into another file object.

    It is complete by the rule of :func:`open`: only then, the encrypted file gets an end. Without
    one, readers reject it. After a failed write, all later calls raise :class:`OSError`. The
    underlying file object is not closed.
    """

    mode = "wb"

    def __init__(
        self,
        target: BinaryIO,
        *,
        key: Buffer | None = None,
        key_file: Path | None = None,
        passphrase: str | Buffer | None = None,
        recipients: _Recipient | Sequence[_Recipient] | None = None,
        bind: str | Buffer | None = None,
        algorithm: AlgorithmName = "AEGIS-256X2",
        chunk_size: int = _DEFAULT_CHUNK_SIZE,
        kdf: tuple[int, int, int] | None = None,
    ) -> None:
        secret = _secret(key, key_file, passphrase, recipients=recipients, bind=bind, new=True)
        _output.refuse_same(target, key_file=key_file)
        native = _native.FileWriter(
            target,
            secret=secret,
            algorithm=algorithm,
            chunk_size=chunk_size,
            kdf=kdf,
        )
        super().__init__(target, native)
        self._begin()

    def writable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes, like a file of :mod:`gzip`: io.TextIOWrapper then writes a byte order mark."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Raises :class:`io.UnsupportedOperation`."""
        raise io.UnsupportedOperation("seek: an encrypted file is written front to back")

    def write(self, data: Any) -> int:
        """Encrypts all of ``data``; an incomplete chunk is kept until more data comes."""
        if self._native is None:
            raise ValueError("I/O operation on closed file")
        try:
            return cast(int, self._native.write(data))
        except BaseException as error:
            self._note_failure(error)
            raise

    def flush(self) -> None:
        """Passes complete chunks on and flushes the underlying file object."""
        super().flush()
        if self._native is not None:
            self._native.flush()

    def _finish(self) -> None:
        native, self._native = self._native, None
        native.finish()
        io.RawIOBase.close(self)

    def _drop(self) -> None:
        self._native = None
        io.RawIOBase.close(self)


class DecryptReader(_output.Layer):
    """A raw binary file object that decrypts a file. It returns verified bytes only.

    ``source`` is a path or a binary file object, whose encrypted part begins at its position. If it
    can seek, so can this one, and any part is read without decrypting the rest. Opening it reads
    the header and the last chunk, and raises an error if the file was cut or extended. From a path,
    long reads use all cores. Otherwise, as from a pipe, it reads front to back: read to the end to
    learn whether the file is complete.

    Threads can share it. Their calls take turns, except :meth:`pread` of a path. A file object is
    used by the calling thread alone, which moves its position, and is not closed.
    """

    #: The file that was opened here, if the path is not that of a regular file.
    _owned: BinaryIO | None = None

    def __init__(
        self,
        source: Path | BinaryIO,
        *,
        key: Buffer | Sequence[Buffer] | None = None,
        key_file: Path | Sequence[Path] | None = None,
        passphrase: str | Buffer | Sequence[str | Buffer] | None = None,
        slots: bool | _Age | Sequence[_Age] = False,
        bind: str | Buffer | None = None,
        max_kdf_memory: int | None = None,
    ) -> None:
        secret = _secret(key, key_file, passphrase, slots=slots, bind=bind, new=False)
        place: Any = source
        with contextlib.ExitStack() as stack:
            if _output.is_path(source):
                place = os.fsdecode(cast("str", source))
                if not stat.S_ISREG(os.stat(place).st_mode):
                    # Opening a FIFO waits for its writer. Python's function stops at Ctrl-C.
                    place = self._owned = stack.enter_context(_output.open_input(place))
            native = _native.FileReader(place, secret=secret, max_kdf_memory=max_kdf_memory)
            super().__init__(place, native)
            stack.pop_all()
        if _output.is_path(source):
            self.name = source

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Whether the file below can seek."""
        return self._open().size is not None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves the position, which may be past the end."""
        if not self.seekable():
            return super().seek(offset, whence)  # raises io.UnsupportedOperation
        return self._open().seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """Reads up to ``len(buffer)`` bytes into a buffer; returns their number, 0 at the end."""
        return self._open().readinto(buffer)

    def read(self, size: int | None = -1) -> bytes:
        """Reads up to ``size`` bytes, or everything to the end."""
        return super().read(self._at_most(size))

    def _at_most(self, size: int | None) -> int:
        """The number of bytes to make room for: -1 to read all."""
        if size is None or size <= _DEFAULT_CHUNK_SIZE:
            return -1 if size is None else size
        whole = self._open().size
        return size if whole is None or size < whole else -1

    def readall(self) -> bytes:
        """Reads everything to the end."""
        return self._open().readall() if self.seekable() else super().readall()

    def pread(self, size: int, offset: int) -> bytes:
        """Reads up to ``size`` bytes at ``offset``, without moving the position.

        Fewer come only at the end of the file. Needs a file that can seek.
        """
        if not self.seekable():
            raise io.UnsupportedOperation("pread: the file cannot seek")
        for what, number in (("size", size), ("offset", offset)):
            if number < 0:
                raise ValueError(f"{what} must not be negative, but is {number}")
        return self._open().pread(size, offset)

    def close(self) -> None:
        """Closes it and wipes its key from memory."""
        self._native = None
        try:
            super().close()
        finally:
            if self._owned is not None:
                self._owned.close()

    def _open(self) -> _native.FileReader:
        native: _native.FileReader | None = self._native
        if native is None:
            raise ValueError("I/O operation on closed file")
        return native


class _Reader(io.BufferedReader):
    """A buffered reader, whose buffer is small if the file below keeps a chunk itself."""

    def __init__(self, raw: DecryptReader) -> None:
        chunk_size = raw._open().chunk_size
        small = None if chunk_size is None else min(max(chunk_size, 8 << 10), 128 << 10)
        super().__init__(raw, small or _DEFAULT_CHUNK_SIZE)

    def read(self, size: int | None = -1) -> bytes:
        return super().read(cast(DecryptReader, self.raw)._at_most(size))

    def read1(self, size: int = -1) -> bytes:
        return super().read1(min(size, _DEFAULT_CHUNK_SIZE))

    def readinto(self, buffer: Any) -> int:
        _native.check_buffer(buffer)  # io would overwrite addresses of objects
        return super().readinto(buffer)

    def readinto1(self, buffer: Any) -> int:
        _native.check_buffer(buffer)
        return super().readinto1(buffer)


class _Writer(_output.NewFile, io.BufferedWriter):
    """A buffered writer of a file that appears once it is complete."""

    def __init__(self, raw: EncryptWriter, output: Any = None, deferred: bool = False) -> None:
        super().__init__(raw, _DEFAULT_CHUNK_SIZE)
        raw._warns, self._raw, self._output = False, raw, output
        self._begin(deferred)

    def write(self, data: Any) -> int:
        try:
            _native.check_buffer(data)  # io would copy addresses of objects
            return super().write(data)
        except BaseException as error:
            self._note_failure(error)
            raise

    def detach(self) -> Any:
        raise io.UnsupportedOperation("detach: the file would never be complete")

    def _finish(self) -> None:
        self.flush()
        self._raw.commit()

    def _publish(self) -> None:
        if self._output is not None:
            self._output.commit()

    def _drop(self) -> None:
        self._raw.discard()
        if self._output is not None:
            self._output.discard()


class _Text(_output.NewFile, io.TextIOWrapper):
    """A text layer, which is complete or discarded together with the file below it."""

    def __init__(self, below: _Writer, *options: Any) -> None:
        super().__init__(below, *options)
        self._below = below
        self._begin(deferred=True)

    def detach(self) -> Any:
        below = super().detach()
        self._state = _output._DISCARDED
        return below

    def _finish(self) -> None:
        self.flush()
        self._below._complete()

    def _publish(self) -> None:
        self._below.commit()

    def discard(self) -> None:
        super().discard()
        self._below.discard()

    def _drop(self) -> None:
        self._below._discard()


@overload
def open(
    file: Path | BinaryIO, mode: Literal["rb", "r"] = ..., **options: Unpack[_Options]
) -> BinaryIO: ...
@overload
def open(
    file: Path | BinaryIO, mode: Literal["wb", "xb", "w", "x"], **options: Unpack[_Options]
) -> _Writer: ...
@overload
def open(
    file: Path | BinaryIO, mode: Literal["wt", "xt"], **options: Unpack[_TextOptions]
) -> _Text: ...
@overload
def open(
    file: Path | BinaryIO, mode: Literal["rt"], **options: Unpack[_TextOptions]
) -> TextIO: ...
@overload
def open(file: Path | BinaryIO, mode: str, **options: Unpack[_TextOptions]) -> IO[Any]: ...
def open(
    file: Path | BinaryIO,
    mode: str = "rb",
    *,
    key: Buffer | Sequence[Buffer] | None = None,
    key_file: Path | Sequence[Path] | None = None,
    passphrase: str | Buffer | Sequence[str | Buffer] | None = None,
    slots: bool | _Age | Sequence[_Age] = False,
    recipients: _Recipient | Sequence[_Recipient] | None = None,
    bind: str | Buffer | None = None,
    max_kdf_memory: int | None = None,
    algorithm: AlgorithmName = "AEGIS-256X2",
    chunk_size: int = _DEFAULT_CHUNK_SIZE,
    kdf: tuple[int, int, int] | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> IO[Any]:
    """Opens an encrypted file, like :func:`gzip.open`.

    ``mode`` is ``"rb"`` to read, ``"wb"`` to write a new file, or ``"xb"`` to write a file that
    must not exist yet; with ``t`` instead of ``b`` for text. ``file`` is a path or a binary file
    object. The result has ``name``, ``mode`` and, if binary, ``tell()``. If it is read from a
    regular file or a file object that can seek, it can seek too, and its beginning and its end are
    checked at once: see :class:`DecryptReader`. :func:`decrypt_file` describes ``max_kdf_memory``,
    :func:`encrypt_file` the options of a new file.

    A new file appears, and replaces an older one, once it is complete: at the end of ``with``, or
    by its methods ``commit()`` or ``close()``. It never appears if an exception leaves ``with``, or
    after its method ``discard()``, or if it is collected or left open at the end of the program, or
    if a write failed. ``close()`` cannot know why it is called. If an exception is being handled
    that was not being handled when the file was opened, ``close()`` discards the file and raises
    that exception again. In another thread than the one that opened the file, and in another call
    of :func:`asyncio.to_thread` and the like, it discards the file and raises
    :class:`PalladionError`: call ``commit()`` there. The README says what ``close()`` cannot see.
    """
    kind, text = mode.replace("t", "").replace("b", ""), "t" in mode
    if kind not in ("r", "w", "x") or len(mode) > 2 or ("b" in mode and text):
        raise ValueError(f"mode must be r, w or x, with b or t, not {mode!r}")
    if not text and (encoding, errors, newline) != (None, None, None):
        raise ValueError("encoding, errors and newline need a text mode: rt, wt or xt")
    new = kind != "r"
    copied = _secret(
        key, key_file, passphrase, slots=slots, recipients=recipients, bind=bind, new=new
    )
    secret = cast(bytes, copied)
    binary: io.BufferedReader | _Writer
    raw: _output.Layer
    with contextlib.ExitStack() as stack:
        if kind == "r":
            raw = reader = DecryptReader(file, key=secret, max_kdf_memory=max_kdf_memory)
            binary = _Reader(reader)
        else:
            target, output = cast(BinaryIO, file), None
            if _output.is_path(file):
                output = _output.create(file, kind == "w", key_file=key_file)
                target = cast(BinaryIO, stack.enter_context(output))
            else:
                _output.refuse_same(target, key_file=key_file)
            raw = writer = EncryptWriter(
                target, key=secret, algorithm=algorithm, chunk_size=chunk_size, kdf=kdf
            )
            raw.mode = f"{kind}b"
            binary = _Writer(writer, output)
        if _output.is_path(file):
            raw.name = file
        stack.push(binary)
        layer: Any = binary
        if text:
            kind_of_text: Any = io.TextIOWrapper if kind == "r" else _Text
            layer = kind_of_text(binary, encoding, errors, newline)
            layer.mode = mode  # as io.open does
        stack.pop_all()
    return cast("IO[Any]", layer)


def needs_passphrase(file: Path | BinaryIO) -> bool:
    """Whether an encrypted file needs a passphrase rather than a key.

    A file object is read from its current position, and put back there if it can seek.
    """
    start = bytearray(128)
    with contextlib.ExitStack() as stack:
        if _output.is_path(file):
            file = stack.enter_context(_output.open_input(file))
        elif getattr(file, "seekable", bool)():
            stack.callback(cast(BinaryIO, file).seek, cast(BinaryIO, file).tell())
        count = _native.read_fully(file, start)
    return _native.needs_passphrase(start[:count])


def load_key(path: Path) -> bytes:
    """Reads the key from a key file made by :func:`save_key` or ``palladion keygen``.

    Like the command, it raises :class:`PermissionError` if you own the file and other users can
    read or change it. ``key_file`` of all functions does the same.
    """
    return _native.load_key(os.fsdecode(path))


def save_key(path: Path, key: Buffer, *, overwrite: bool = False) -> None:
    """Writes a 32-byte key to a new file that only its owner can read. Keep a copy somewhere
    safe."""
    text = _native.format_key_file(key).encode()
    with _output.create(path, overwrite, private=True) as file:
        while text:
            text = text[file.write(text) :]
