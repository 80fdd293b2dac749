"""Encrypted files of any size, in bounded memory: those of the command line ``palladion encrypt`` and ``decrypt``.

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

The secret is either ``key``, 32 random bytes (:func:`palladion.generate_key`; :func:`save_key` and :func:`load_key` keep it in a key file
of the command line), or ``passphrase``, a text or bytes, which is stretched with Argon2id.

What comes out was verified: before an error, a true beginning of the original, in order, never a wrong byte. Files are written under another
name and get theirs when they are complete. The errors tell apart a wrong key, a damaged, a truncated and an extended file, and say what to do
(``hint``). The format is in ``docs/file-format.md`` of the repository.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, Union, cast, overload

from . import _native
from ._native import PalladionError, VerificationError

if TYPE_CHECKING:
    from typing import Literal

    from ._native import Buffer

__all__ = [
    "DamagedError",
    "DecryptReader",
    "EncryptWriter",
    "FileError",
    "NeedsKeyError",
    "NeedsPassphraseError",
    "NotPalladionError",
    "TooCostlyError",
    "TrailingDataError",
    "TruncatedError",
    "UnsupportedError",
    "WrongKeyError",
    "WrongPassphraseError",
    "decrypt_file",
    "encrypt_file",
    "load_key",
    "needs_passphrase",
    "open",
    "save_key",
]

Path = Union[str, "os.PathLike[str]"]


class FileError(PalladionError):
    """A file could not be decrypted. ``hint`` says what to do about it."""

    def __init__(
        self, message: str, hint: str | None = None, chunk: int | None = None, offset: int | None = None
    ) -> None:
        super().__init__(message)
        #: What the error means for the user, or what to do about it.
        self.hint = hint
        #: Which chunk it is about, counted from 0.
        self.chunk = chunk
        #: Where in the file, in bytes.
        self.offset = offset

    def __str__(self) -> str:
        message = str(self.args[0])
        return f"{message} ({self.hint})" if self.hint else message


class NotPalladionError(FileError):
    """It does not begin like an encrypted file."""


class DamagedError(FileError, VerificationError):
    """The key is right, but the file was changed."""


class TruncatedError(FileError):
    """The file ends before it should."""


class TrailingDataError(FileError):
    """Something follows the end."""


class UnsupportedError(FileError):
    """The file needs a newer version of this package."""


class WrongKeyError(FileError, VerificationError):
    """The key is another one."""


class WrongPassphraseError(FileError, VerificationError):
    """The passphrase is another one."""


class NeedsKeyError(FileError):
    """A passphrase was given, but the file was encrypted with a key."""


class NeedsPassphraseError(FileError):
    """A key was given, but the file was encrypted with a passphrase."""


class TooCostlyError(FileError):
    """To check the passphrase would take more time or memory than is allowed."""


_DEFAULT_CHUNK_SIZE = 1 << 20


@contextlib.contextmanager
def _complete(target: Path, overwrite: bool, *, private: bool = False) -> Iterator[str]:
    """A name for a new file, which becomes ``target`` if all goes well, and else vanishes."""
    target = os.fspath(target)
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(17, "exists already (overwrite=True replaces it)", target)
    if overwrite:
        target = os.path.realpath(target)  # a symbolic link stays one
    mode = None
    if not private:
        # What is replaced passes its permissions on; a new file has those of others that the
        # program makes.
        try:
            mode = stat.S_IMODE(os.stat(target).st_mode) & 0o777
        except FileNotFoundError:
            umask = os.umask(0o077)
            os.umask(umask)
            mode = 0o666 & ~umask
    descriptor, name = tempfile.mkstemp(dir=os.path.dirname(target) or ".", prefix=".palladion-", suffix=".tmp")
    try:
        os.close(descriptor)
        yield name
        if mode is not None and os.name != "nt":
            os.chmod(name, mode)
        with io.open(name, "rb+") as file:
            os.fsync(file.fileno())
        if overwrite:
            os.replace(name, target)
        else:
            _rename_new(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _rename_new(name: str, target: str) -> None:
    """Renames a file, and replaces none."""
    if os.name == "nt":
        os.rename(name, target)  # refuses to replace
        return
    try:
        os.link(name, target)
    except FileExistsError:
        raise FileExistsError(17, "exists already (overwrite=True replaces it)", target) from None
    except OSError:
        # Not every file system has links. Between this question and the answer somebody else may
        # make the file.
        if os.path.lexists(target):
            raise FileExistsError(17, "exists already (overwrite=True replaces it)", target) from None
        os.replace(name, target)
    else:
        os.unlink(name)


def _is_path(place: object) -> bool:
    return isinstance(place, (str, os.PathLike))


def encrypt_file(
    source: Path | BinaryIO,
    target: Path | BinaryIO,
    *,
    key: Buffer | None = None,
    passphrase: str | Buffer | None = None,
    algorithm: str = "AEGIS-256X2",
    chunk_size: int = _DEFAULT_CHUNK_SIZE,
    kdf: tuple[int, int, int] | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Encrypts a whole file, on all cores (or ``threads``), and returns the number of bytes that were encrypted.

    ``source`` and ``target`` are paths, or binary file objects. A target that is a path appears when it is complete, and replaces a file only
    with ``overwrite``. ``progress`` is called with the number of bytes that are done. ``kdf`` is what to spend on a passphrase: KiB of memory,
    passes and lanes of Argon2id (64 MiB, 3, 4).
    """

    def run(place: Any) -> int:
        return _native.encrypt_file(
            source,
            place,
            key=key,
            passphrase=passphrase,
            algorithm=algorithm,
            chunk_size=chunk_size,
            kdf=kdf,
            threads=threads,
            progress=progress,
        )

    return _to(source, target, overwrite, run)


def decrypt_file(
    source: Path | BinaryIO,
    target: Path | BinaryIO,
    *,
    key: Buffer | None = None,
    passphrase: str | Buffer | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Decrypts a whole file, on all cores (or ``threads``), and returns the number of bytes that came out.

    Raises one of the errors of this module if it cannot be decrypted. A target that is a path does not appear then; to a file object, a true
    beginning of the original may have been written.
    """

    def run(place: Any) -> int:
        return _native.decrypt_file(
            source, place, key=key, passphrase=passphrase, threads=threads, progress=progress
        )

    return _to(source, target, overwrite, run)


def _to(source: Any, target: Any, overwrite: bool, run: Callable[[Any], int]) -> int:
    if not _is_path(target):
        return run(target)
    if _is_path(source):
        # Else a missing source would leave no trace of which name was wrong.
        with io.open(source, "rb"):
            pass
        with contextlib.suppress(FileNotFoundError):
            if os.path.samefile(source, target):
                raise ValueError(f"source and target are the same file: {os.fspath(target)!r}")
    with _complete(target, overwrite) as name:
        return run(name)


class EncryptWriter(io.RawIOBase):
    """A binary file object: what is written to it is encrypted into another one.

    Its end is written by :meth:`close`, so that what a program wrote before it failed is not taken for the whole: within ``with``, an exception
    leaves the file without an end. The file object beneath is not closed.
    """

    def __init__(
        self,
        target: BinaryIO,
        *,
        key: Buffer | None = None,
        passphrase: str | Buffer | None = None,
        algorithm: str = "AEGIS-256X2",
        chunk_size: int = _DEFAULT_CHUNK_SIZE,
        kdf: tuple[int, int, int] | None = None,
    ) -> None:
        self._native: _native.FileWriter | None = None
        self._native = _native.FileWriter(
            target, key=key, passphrase=passphrase, algorithm=algorithm, chunk_size=chunk_size, kdf=kdf
        )

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: Any) -> int:
        """Encrypts all of the data; what does not fill a chunk waits for more."""
        if self._native is None:
            raise ValueError("I/O operation on closed file")
        return self._native.write(data)

    def close(self) -> None:
        """Writes the end."""
        native, self._native = self._native, None
        try:
            if native is not None:
                native.finish()
        finally:
            super().close()

    def abandon(self) -> None:
        """Closes it without an end: nobody will take it for complete."""
        self._native = None
        super().close()

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if exc_type is None:
            self.close()
        else:
            self.abandon()

    def __del__(self) -> None:
        # It was forgotten, so nobody said that it is complete.
        self._native = None


class DecryptReader(io.RawIOBase):
    """A binary file object that reads from an encrypted one, front to back. Only verified bytes come out.

    Who does not read to the end does not know whether the file was complete. The file object beneath is not closed.
    """

    def __init__(
        self, source: BinaryIO, *, key: Buffer | None = None, passphrase: str | Buffer | None = None
    ) -> None:
        self._native = _native.FileReader(source, key=key, passphrase=passphrase)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills a buffer, as far as there is something."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._native.readinto(memoryview(buffer).cast("B"))


class _Closing(io.BufferedReader):
    """Closes the encrypted file too."""

    def __init__(self, raw: DecryptReader, beneath: BinaryIO | None) -> None:
        super().__init__(raw, _DEFAULT_CHUNK_SIZE)
        self._beneath = beneath

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self._beneath is not None:
                self._beneath.close()


class _Appearing(io.BufferedWriter):
    """Gives the file its name when it is complete."""

    def __init__(self, raw: EncryptWriter, finish: contextlib.ExitStack) -> None:
        super().__init__(raw, _DEFAULT_CHUNK_SIZE)
        self._finish = finish

    def close(self) -> None:
        if self.closed:
            return
        with self._finish:
            super().close()

    def __exit__(self, *exc: Any) -> None:
        if exc[0] is None:
            self.close()
        else:
            self._abandon(*exc)

    def _abandon(self, *exc: Any) -> None:
        cast(EncryptWriter, self.raw).abandon()
        with contextlib.suppress(ValueError):
            super().close()
        self._finish.__exit__(*exc)

    def __del__(self) -> None:
        if not self.closed:
            message = "an encrypted file was not closed, so it does not appear"
            warnings.warn(message, ResourceWarning, stacklevel=2, source=self)
            self._abandon(ResourceWarning, ResourceWarning(message), None)


class _Text(io.TextIOWrapper):
    """Text, whose end is that of what is beneath."""

    def __exit__(self, *exc: Any) -> None:
        if exc[0] is not None and isinstance(self.buffer, _Appearing):
            self.buffer._abandon(*exc)
            return
        self.close()


@overload
def open(
    file: Path | BinaryIO,
    mode: Literal["rt", "wt", "xt"],
    *,
    key: Buffer | None = ...,
    passphrase: str | Buffer | None = ...,
    algorithm: str = ...,
    chunk_size: int = ...,
    kdf: tuple[int, int, int] | None = ...,
    encoding: str | None = ...,
    errors: str | None = ...,
    newline: str | None = ...,
) -> TextIO: ...
@overload
def open(
    file: Path | BinaryIO,
    mode: Literal["rb", "wb", "xb", "r", "w", "x"] = ...,
    *,
    key: Buffer | None = ...,
    passphrase: str | Buffer | None = ...,
    algorithm: str = ...,
    chunk_size: int = ...,
    kdf: tuple[int, int, int] | None = ...,
) -> BinaryIO: ...
def open(
    file: Path | BinaryIO,
    mode: str = "rb",
    *,
    key: Buffer | None = None,
    passphrase: str | Buffer | None = None,
    algorithm: str = "AEGIS-256X2",
    chunk_size: int = _DEFAULT_CHUNK_SIZE,
    kdf: tuple[int, int, int] | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> BinaryIO | TextIO:
    """Opens an encrypted file, like :func:`gzip.open`: ``"rb"`` to read it, ``"wb"`` to write it anew, ``"xb"`` to write one that must not
    exist; with ``t`` instead of ``b`` for text.

    What is written appears under its name when it is closed, or at the end of ``with``; if an exception ends that, nothing appears and what was
    there stays. ``file`` may be a binary file object, too.
    """
    kind, text = mode.replace("t", "").replace("b", ""), "t" in mode
    if kind not in ("r", "w", "x") or len(mode) > 2 or ("b" in mode and text):
        raise ValueError(f"mode must be r, w or x, with b or t, not {mode!r}")
    if not text and (encoding, errors, newline) != (None, None, None):
        raise ValueError("encoding, errors and newline are for text: mode rt, wt or xt")
    binary: io.BufferedReader | io.BufferedWriter
    with contextlib.ExitStack() as stack:
        if kind == "r":
            beneath = cast(BinaryIO, stack.enter_context(io.open(file, "rb")) if _is_path(file) else file)  # type: ignore[arg-type]
            reader = DecryptReader(beneath, key=key, passphrase=passphrase)
            binary = _Closing(reader, beneath if _is_path(file) else None)
            stack.pop_all()
        else:
            target = cast(BinaryIO, file)
            if _is_path(file):
                name = stack.enter_context(_complete(cast(Path, file), kind == "w"))
                target = cast(BinaryIO, stack.enter_context(io.open(name, "wb")))
            writer = EncryptWriter(
                target, key=key, passphrase=passphrase, algorithm=algorithm, chunk_size=chunk_size, kdf=kdf
            )
            binary = _Appearing(writer, stack.pop_all())
    if text:
        return _Text(binary, encoding, errors, newline)
    return cast(BinaryIO, binary)


def needs_passphrase(file: Path | BinaryIO) -> bool:
    """Whether an encrypted file needs a passphrase, else a key. A file object is read from where it is."""
    if _is_path(file):
        with io.open(cast(Path, file), "rb") as opened:
            return _native.needs_passphrase(opened.read(128))
    return _native.needs_passphrase(cast(BinaryIO, file).read(128))


def load_key(path: Path) -> bytes:
    """The key in a key file, as :func:`save_key` and ``palladion keygen`` make them."""
    with io.open(path, encoding="utf-8") as file:
        try:
            return _native.parse_key_file(file.read(65536))
        except UnicodeDecodeError:
            raise ValueError(f"{os.fspath(path)!r} is not a key file") from None


def save_key(path: Path, key: Buffer, *, overwrite: bool = False) -> None:
    """Writes a key of 32 bytes to a new file that only its owner can read. Keep a copy somewhere safe."""
    with _complete(path, overwrite, private=True) as name, io.open(name, "w", encoding="utf-8") as file:
        file.write(_native.format_key_file(key))
