"""Encrypted files that can be read, written, extended and truncated at any place: the RAF format of libaegis, with all six ciphers.

>>> import os, tempfile
>>> import palladion
>>> from palladion import raf
>>> key = palladion.generate_key()
>>> path = os.path.join(tempfile.mkdtemp(), "notes.raf")
>>> with raf.open(path, "w+b", key=key) as file:
...     _ = file.write(b"attack at dawn")
...     _ = file.seek(10)
...     _ = file.write(b"noon")
>>> with raf.open(path, key=key) as file:
...     file.read()
b'attack at noon'

Files are those of ``palladion raf``, of libaegis and of ``pyaegis``: each reads what the others wrote. :func:`open` returns a
:class:`RafFile`, which is a raw file of :mod:`io`, so that everything that works on files works on it: ``zipfile``, ``shutil``, pandas,
``io.TextIOWrapper``. Each write encrypts a chunk at least (64 KiB if you do not say otherwise): put an ``io.BufferedRandom``,
``io.BufferedWriter`` or ``io.BufferedReader`` in front of it if yours are small. From 256 KiB on, all cores help.

**Keys.** There are three, of which a file has one:

- ``key=``: the master key itself, 16 bytes for the AEGIS-128 family and 32 for the AEGIS-256 family; what ``pyaegis`` calls the key and
  the command line ``--raw-key``;
- ``key_file=``: the path of a key file of ``palladion keygen``, as with ``palladion raf -k``. One key file serves several purposes, so the
  master key is derived from its bytes, and is not the same as those;
- ``passphrase=``: as with ``palladion raf -p``. It takes 64 MiB and some tenths of a second to make a key of it.

With ``context=`` the master key is derived for one purpose, as ``palladion raf --context`` and :func:`derive_master_key` do it.

**What is promised.** Nobody without the key can change a chunk, move it, or change the size without being noticed when that is read, which
raises :class:`DamagedChunkError`; wrong data is never given out. Who can write to the file *can* bring back an older version of it, or
of single chunks: only a commitment that was kept elsewhere tells (see :meth:`RafFile.commitment`).
"""

from __future__ import annotations

import contextlib
import hmac
import io
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Union, cast, runtime_checkable

from . import _native
from ._native import PalladionError, VerificationError

if TYPE_CHECKING:
    from ._native import Buffer

__all__ = [
    "ChunkSizeError",
    "ContextLengthError",
    "DamagedChunkError",
    "ExistsError",
    "HashLengthError",
    "Info",
    "KeyLengthError",
    "MerkleHasher",
    "NoTreeError",
    "NotRafError",
    "PoisonedError",
    "RafError",
    "RafFile",
    "ReadOnlyError",
    "Storage",
    "TooLargeError",
    "TreeFullError",
    "TreeMismatchError",
    "TreeSizeError",
    "TruncatedError",
    "UnsupportedRafError",
    "WrongKeyError",
    "derive_master_key",
    "open",
    "probe",
]


class RafError(PalladionError):
    """What can go wrong with encrypted files, beside what the system says (which is an :class:`OSError`)."""


class NotRafError(RafError):
    """It does not begin as a RAF file does."""


class UnsupportedRafError(RafError):
    """It begins as a RAF file, but says something that this version does not know."""

    def __init__(self, message: str, value: int) -> None:
        super().__init__(message)
        #: What is not known.
        self.value = value


class WrongKeyError(RafError, VerificationError):
    """The key is another one, or the header was changed."""


class KeyLengthError(RafError, ValueError):
    """A key of the wrong length for the cipher."""

    def __init__(self, message: str, expected: int, actual: int) -> None:
        super().__init__(message)
        #: Bytes that it must have.
        self.expected = expected
        #: Bytes that it has.
        self.actual = actual


class ContextLengthError(RafError, ValueError):
    """The context of a derived key is too long."""

    def __init__(self, message: str, max: int, actual: int) -> None:
        super().__init__(message)
        #: Bytes that it may have.
        self.max = max
        #: Bytes that it has.
        self.actual = actual


class DamagedChunkError(RafError, VerificationError):
    """A chunk is not authentic: it was changed, moved, or written only in part."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        #: Its index; the first is 0.
        self.index = index


class TruncatedError(RafError):
    """There are fewer bytes than the header says, or than a header has."""

    def __init__(self, message: str, expected: int, actual: int) -> None:
        super().__init__(message)
        #: Bytes that there must be.
        self.expected = expected
        #: Bytes that there are.
        self.actual = actual


class ChunkSizeError(RafError, ValueError):
    """Chunks have a multiple of 16 bytes, from 1 KiB to 1 MiB."""

    def __init__(self, message: str, chunk_size: int) -> None:
        super().__init__(message)
        #: What was asked for.
        self.chunk_size = chunk_size


class TooLargeError(RafError):
    """The file would be larger than the format allows."""


class ExistsError(RafError, FileExistsError):
    """There is something already where a file is to be made."""


class PoisonedError(RafError):
    """An earlier change failed in the middle. Open the file anew."""


class ReadOnlyError(RafError, io.UnsupportedOperation):
    """The file was opened for reading alone."""


class NoTreeError(RafError):
    """The file was opened without a Merkle tree."""


class TreeFullError(RafError):
    """The file has more chunks, or would have, than the Merkle tree has places."""

    def __init__(self, message: str, max_chunks: int) -> None:
        super().__init__(message)
        #: Its places.
        self.max_chunks = max_chunks


class TreeSizeError(RafError, ValueError):
    """There can be no Merkle tree with so many places: with none, or with more than fit into memory."""

    def __init__(self, message: str, max_chunks: int) -> None:
        super().__init__(message)
        #: What was asked for.
        self.max_chunks = max_chunks


class TreeMismatchError(RafError, VerificationError):
    """The file is not the one that the Merkle tree, or the commitment, was made of."""

    def __init__(self, message: str, chunk: int | None = None) -> None:
        super().__init__(message)
        #: The index of a chunk that is another one, if that is known.
        self.chunk = chunk


class HashLengthError(RafError, ValueError):
    """Hashes have from 8 to 64 bytes."""

    def __init__(self, message: str, length: int) -> None:
        super().__init__(message)
        #: What was asked for.
        self.length = length


@runtime_checkable
class Storage(Protocol):
    """What can keep a file: bytes that can be read and written at any place. It is that of ``pyaegis``.

    Whatever it raises comes out where the file was used. It must not use the file itself.
    """

    def read_at(self, buf: bytearray, offset: int) -> None:
        """Fills all of ``buf`` with the bytes that begin at ``offset``. Raises :class:`EOFError` if there are fewer."""

    def write_at(self, data: bytes, offset: int) -> None:
        """Writes all of ``data`` from ``offset`` on."""

    def get_size(self) -> int:
        """How many bytes there are."""

    def set_size(self, size: int) -> None:
        """Makes it so many bytes; new ones are zero."""

    def sync(self) -> None:
        """Makes sure that all that was written outlives a loss of power."""


@runtime_checkable
class MerkleHasher(Protocol):
    """A hash function in the four ways that a Merkle tree uses it: no input of one may give the hash of another.

    It is that of ``pyaegis``.
    """

    @property
    def hash_len(self) -> int:
        """Bytes in a hash: from 8 to 64."""

    def hash_leaf(self, chunk: bytes, chunk_len: int, chunk_idx: int) -> bytes:
        """Of the contents of a chunk."""

    def hash_parent(self, left: bytes, right: bytes, level: int, node_idx: int) -> bytes:
        """Of two nodes on a level (that of leaves is 0), for their parent of that index on the level above."""

    def hash_empty(self, level: int, node_idx: int) -> bytes:
        """Of a place that holds nothing."""

    def hash_commitment(self, structural_root: bytes, ctx: bytes, file_size: int) -> bytes:
        """Of the tree as a whole."""


class Info(NamedTuple):
    """What the header of a file says."""

    #: The standard's name of the cipher.
    algorithm: str
    #: Bytes in a chunk.
    chunk_size: int
    #: Bytes in the file, as those who have the key see it.
    size: int
    #: What tells the file from all others: 24 random bytes.
    file_id: bytes

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.size // self.chunk_size)


_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class _FileObject:
    """A storage in a file of :mod:`io` that can be sought."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read_at(self, buf: bytearray, offset: int) -> None:
        self._file.seek(offset)
        view = memoryview(buf)
        while view:
            piece = self._file.read(len(view))
            if not piece:
                raise EOFError("the file ends within a chunk")
            view[: len(piece)] = piece
            view = view[len(piece) :]

    def write_at(self, data: bytes, offset: int) -> None:
        self._file.seek(offset)
        view = memoryview(data)
        while view:
            # None says that all was written, for there are files that say nothing.
            written = self._file.write(view)
            view = view[len(view) if written is None else written :]

    def get_size(self) -> int:
        return cast(int, self._file.seek(0, os.SEEK_END))

    def set_size(self, size: int) -> None:
        # Not all files grow when they are truncated.
        there = self.get_size()
        if there < size:
            for start in range(there, size, 1 << 20):
                self.write_at(bytes(min(1 << 20, size - start)), start)
        else:
            self._file.truncate(size)

    def sync(self) -> None:
        self._file.flush()
        with contextlib.suppress(OSError, AttributeError):  # what is no file of the system has no number
            os.fsync(self._file.fileno())


def _place(place: object) -> Any:
    """What the native part takes: a path as a string, or a storage."""
    if isinstance(place, (str, bytes, os.PathLike)):
        return os.fsdecode(place)
    if isinstance(place, Storage):
        return place
    if hasattr(place, "seek") and hasattr(place, "read"):
        return _FileObject(place)
    raise TypeError(f"a path, a file or a storage is needed, not {type(place).__name__}")


def _secret(
    key: Buffer | None,
    key_file: _Path | None,
    passphrase: str | Buffer | None,
    context: str | Buffer | None,
) -> Any:
    """Returns the secret from exactly one of a key, a key file and a passphrase."""
    if (key is None) + (key_file is None) + (passphrase is None) != 2:
        raise TypeError("one of key, key_file and passphrase is needed")
    if isinstance(context, str):
        context = context.encode()
    if key_file is not None:
        return "key_file", os.fsdecode(key_file), context
    if passphrase is not None:
        return "passphrase", passphrase.encode() if isinstance(passphrase, str) else passphrase, context
    return "key", key, context


def _number(what: str, number: int) -> int:
    if number < 0:
        raise ValueError(f"{what} must not be negative, but is {number}")
    return number


class RafFile(io.RawIOBase):
    """An encrypted file that is open, as a raw file of :mod:`io`; made by :func:`open`.

    Any number of threads can use it, one after another; those that want to read at places of their own use :meth:`pread`.
    """

    def __init__(self, native: _native.Raf, mode: str, name: object) -> None:
        self._raf = native
        self._mode = mode
        #: The path, or the storage, that was opened.
        self.name = name
        self._position = native.size if "a" in mode else 0
        # For what moves the position. A storage that comes back here is refused by the native part,
        # and must not wait for itself.
        self._moving = threading.RLock()

    @property
    def mode(self) -> str:
        """What it was opened for: "rb", "rb+", "wb", "wb+", "xb", "xb+", "ab" or "ab+"."""
        return self._mode

    def __repr__(self) -> str:
        state = "closed" if self.closed else self._raf.algorithm
        return f"<palladion.raf.RafFile {state}, mode={self._mode!r}, name={self.name!r}>"

    def _check(self) -> _native.Raf:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._raf

    def _check_readable(self) -> _native.Raf:
        raf = self._check()
        if not self.readable():
            raise io.UnsupportedOperation("not readable")
        return raf

    def _check_writable(self) -> _native.Raf:
        raf = self._check()
        if not self.writable():
            raise ReadOnlyError("the file was opened for reading alone")
        return raf

    def readable(self) -> bool:
        """Whether it can be read."""
        self._check()
        return "r" in self._mode or "+" in self._mode

    def writable(self) -> bool:
        """Whether it can be changed."""
        self._check()
        return self._mode != "rb"

    def seekable(self) -> bool:
        """It always is."""
        self._check()
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Reads up to ``size`` bytes, or all that there are."""
        raf = self._check_readable()
        with self._moving:
            data = raf.read_at(None if size is None or size < 0 else size, self._position)
            self._position += len(data)
        return data

    def readall(self) -> bytes:
        """Reads all that there is from here on."""
        return self.read()

    def readinto(self, buffer: Buffer) -> int:
        """Reads into a writable buffer, and tells how many bytes. If it fails, all of the buffer is zeroed."""
        raf = self._check_readable()
        with self._moving:
            count = raf.read_into(buffer, self._position)
            self._position += count
        return count

    def write(self, data: Buffer) -> int:
        """Writes all of ``data``: here, or at the end if the file was opened to append."""
        raf = self._check_writable()
        with self._moving:
            if "a" in self._mode:
                self._position = raf.append(data)
            else:
                raf.write_at(data, self._position)
                self._position += memoryview(data).nbytes
        return memoryview(data).nbytes

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to a place, which may be behind the end."""
        raf = self._check()
        with self._moving:
            if whence == os.SEEK_SET:
                position = offset
            elif whence == os.SEEK_CUR:
                position = self._position + offset
            elif whence == os.SEEK_END:
                position = raf.size + offset
            else:
                raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
            self._position = _number("position", position)
        return position

    def tell(self) -> int:
        """The place where it is."""
        self._check()
        return self._position

    def truncate(self, size: int | None = None) -> int:
        """Makes the file ``size`` bytes long, or as long as it is to here; new bytes are zeros. The place stays the same."""
        raf = self._check_writable()
        with self._moving:
            size = self._position if size is None else _number("size", size)
            raf.set_size(size)
        return size

    def flush(self) -> None:
        """Does nothing: nothing waits to be written. To have it outlive a loss of power, see :meth:`sync`."""
        self._check()

    def sync(self) -> None:
        """Makes sure that all that was written outlives a loss of power."""
        self._check().sync()

    def close(self) -> None:
        """Closes the file, and wipes its keys from memory. A storage, or a file that was given to :func:`open`, stays open."""
        try:
            super().close()
        finally:
            # What was never opened has none.
            raf = getattr(self, "_raf", None)
            if raf is not None:
                raf.close()

    def pread(self, size: int, offset: int) -> bytes:
        """Reads up to ``size`` bytes from a place, and stays where it is."""
        return self._check_readable().read_at(_number("size", size), _number("offset", offset))

    def preadinto(self, buffer: Buffer, offset: int) -> int:
        """Reads into a writable buffer from a place, stays where it is, and tells how many bytes.

        If it fails, all of the buffer is zeroed.
        """
        return self._check_readable().read_into(buffer, _number("offset", offset))

    def pwrite(self, data: Buffer, offset: int) -> int:
        """Writes all of ``data`` to a place, and stays where it is. What lies between the old end and there is zeros."""
        self._check_writable().write_at(data, _number("offset", offset))
        return memoryview(data).nbytes

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._check().size

    @property
    def info(self) -> Info:
        """What the header says, which is verified."""
        raf = self._check()
        return Info(raf.algorithm, raf.chunk_size, raf.size, raf.file_id)

    def verify(self, commitment: Buffer | None = None) -> None:
        """Reads every chunk. Raises :class:`DamagedChunkError` for the first that is damaged.

        With a commitment that was kept elsewhere, for which the file must have been opened with ``merkle``, it also raises
        :class:`TreeMismatchError` if the contents are not those of then.
        """
        raf = self._check()
        if commitment is None:
            raf.verify()
            return
        expected = bytes(commitment)
        raf.rebuild_tree()
        if not hmac.compare_digest(raf.commitment(), expected):
            raise TreeMismatchError("the file is not the one that the commitment was made of")

    def damaged_chunks(self) -> list[int]:
        """Reads every chunk, and tells the indices of all that are damaged."""
        raf, damaged = self._check(), []
        info = self.info
        for index in range(info.chunks):
            try:
                raf.read_at(info.chunk_size, index * info.chunk_size)
            except DamagedChunkError:
                damaged.append(index)
        return damaged

    def set_barriers(self, on: bool = True) -> None:
        """Whether to sync within a change, between parts whose order matters.

        Then the size is right (the old or the new one) even if the *machine* stops in the middle of a change. That costs a sync whenever
        the size changes; a process that is killed does no harm without it.
        """
        self._check().set_barriers(on)

    def commitment(self) -> bytes:
        """What stands for all contents of the file, its size and its id: 32 bytes, with SHA-256.

        It is to be kept where those who can write to the file cannot. The file must have been opened with ``merkle``; then this follows all
        changes.

        It is that of ``palladion raf verify --commitment`` and the ``root_hash`` of ``pyaegis``, if the tree has as many places.
        """
        return self._check().commitment()

    def verify_tree(self) -> None:
        """Compares every chunk with the Merkle tree in memory. Raises :class:`TreeMismatchError` for the first that is another one."""
        self._check().verify_tree()

    def rebuild_tree(self) -> None:
        """Makes the Merkle tree anew, of what is in the file."""
        self._check().rebuild_tree()


def _mode_of(mode: str) -> str:
    """The mode in one spelling."""
    kinds = [letter for letter in mode if letter in "rwxa"]
    if len(kinds) != 1 or len(set(mode)) != len(mode) or set(mode) - set("rwxab+"):
        raise ValueError(f"mode must be one of rb, wb, xb and ab, with or without +, not {mode!r}")
    return kinds[0] + "b" + ("+" if "+" in mode else "")


def open(  # noqa: A001 - as io.open
    file: _Path | Storage | Any,
    mode: str = "rb",
    *,
    key: Buffer | None = None,
    key_file: _Path | None = None,
    passphrase: str | Buffer | None = None,
    context: str | Buffer | None = None,
    algorithm: str = "AEGIS-256X2",
    chunk_size: int = 65536,
    merkle: bool | MerkleHasher | None = None,
    max_chunks: int | None = None,
) -> RafFile:
    """Opens, or makes, an encrypted file.

    ``file`` is a path, a binary file that can be sought (``io.BytesIO()``, say), or any :class:`Storage`. What is opened by its path is
    locked: many may read it, or one may change it; otherwise this raises :class:`BlockingIOError`. Programs other than ``palladion`` may
    not care for that.

    ``mode`` is as for ``io.open``: "rb", "r+b", "w+b", "x+b" or "a+b"; or "wb", "xb" and "ab", which cannot be read.

    One of ``key``, ``key_file`` and ``passphrase`` must be given, and perhaps ``context``: see :mod:`palladion.raf`. ``algorithm`` and
    ``chunk_size`` are for files that are made; those that are there say so themselves. A chunk is read and written as a whole, so small
    ones (1024 bytes at least) are for small changes here and there.

    With ``merkle=True``, the file has a Merkle tree of SHA-256 in memory, from which :meth:`RafFile.commitment` comes; a
    :class:`MerkleHasher` brings another hash function. All that is there is read to make it. It has room for ``max_chunks`` chunks: for
    16384, or the next power of two that is enough when the file is opened, if you do not say.

    >>> import io
    >>> store, key = io.BytesIO(), bytes(32)  # in earnest: palladion.generate_key()
    >>> with open(store, "w+b", key=key, merkle=True) as file:
    ...     _ = file.write(b"attack at dawn")
    ...     commitment = file.commitment()
    >>> with open(store, key=key, merkle=True) as file:
    ...     file.verify(commitment)
    ...     file.pread(4, 10)
    b'dawn'
    """
    spelled = _mode_of(mode)
    place, secret = _place(file), _secret(key, key_file, passphrase, context)
    hasher = None if merkle is None or merkle is False else merkle

    def there(write: bool) -> _native.Raf:
        return _native.Raf.open(place, secret, write=write, merkle=hasher, max_chunks=max_chunks)

    def new(access: str) -> _native.Raf:
        return _native.Raf.create(
            place,
            access,
            secret,
            algorithm=algorithm,
            chunk_size=chunk_size,
            merkle=hasher,
            max_chunks=max_chunks,
        )

    if spelled[0] == "r":
        native = there(spelled == "rb+")
    elif spelled[0] in "wx":
        native = new(spelled[0])
    elif isinstance(place, str):
        try:
            native = there(True)
        except FileNotFoundError:
            native = new("x")
    else:
        native = there(True) if place.get_size() else new("x")
    return RafFile(native, spelled, file)


def probe(file: _Path | Storage | Any) -> Info:
    """What the header of a file says, without its key: which algorithm the key must be for, say. It is not verified.

    >>> import io
    >>> store = io.BytesIO()
    >>> open(store, "xb", key=bytes(16), algorithm="AEGIS-128L").close()
    >>> probe(store).algorithm
    'AEGIS-128L'
    """
    return Info(*_native.raf_probe(_place(file)))


def derive_master_key(key: Buffer, context: str | Buffer = b"") -> bytes:
    """A key for one purpose, from a key that serves several: as long as that, which has 16 or 32 bytes.

    ``context`` is at most 120 bytes with a key of 16, and 72 with one of 32. It is what libaegis calls ``aegis_raf_derive_master_key``.

    >>> len(derive_master_key(bytes(32), "backups"))
    32
    """
    return _native.raf_derive_master_key(key, context.encode() if isinstance(context, str) else context)
