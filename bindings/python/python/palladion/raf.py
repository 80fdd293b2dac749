"""Encrypted files with random access, in libaegis's RAF format, with all six ciphers.

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

``palladion raf``, libaegis and ``pyaegis`` read and write the same files. :func:`open` returns a
:class:`RafFile`, a raw file of :mod:`io`, which works wherever a file does: with ``zipfile``,
``shutil``, pandas, ``io.TextIOWrapper``. Each write encrypts at least one chunk (64 KiB by
default). If your reads or writes are small, wrap the file in an ``io.BufferedRandom``,
``io.BufferedWriter`` or ``io.BufferedReader``. Reads and writes of 256 KiB or more use all cores.

**Keys.** A file has a secret of one of three kinds:

- ``key=``: the master key itself, 16 bytes for the AEGIS-128 family and 32 for the AEGIS-256
  family; ``pyaegis`` calls it the key, the command line ``--raw-key``;
- ``key_file=``: the path of a key file made by ``palladion keygen``, as for ``palladion raf -k``.
  The master key is derived from the key in it, because a key file may have other uses too;
- ``passphrase=``: as for ``palladion raf -p``. Deriving the key takes 64 MiB of memory and a few
  tenths of a second.

``context=`` derives the master key for one purpose, like ``palladion raf --context`` and
:func:`derive_master_key`.

**What it protects.** Without the key, nobody can change a chunk, move it or change the size
unnoticed: reading it raises :class:`DamagedChunkError` and returns no wrong data. Someone who can
write to the file *can* restore an older version of it or of single chunks. To detect that, keep a
commitment elsewhere (see :meth:`RafFile.commitment`).

**After an error.** If a change fails, each chunk and the size are old or new, and the file can be
used further. Only a commitment raises :class:`PoisonedError` until the tree has been rebuilt. Once
:meth:`RafFile.sync` has failed, it raises :class:`SyncFailedError` until the file is opened again,
because systems forget what they could not write.
"""

from __future__ import annotations

import errno
import hmac
import io
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Union, cast, runtime_checkable

from . import _native, _output
from ._native import PalladionError, VerificationError

if TYPE_CHECKING:
    from typing import Literal

    Mode = Literal[
        "r", "rb", "r+", "r+b", "rb+", "w", "wb", "w+", "w+b", "wb+",
        "x", "xb", "x+", "x+b", "xb+", "a", "ab", "a+", "a+b", "ab+",
    ]
    from ._native import AlgorithmName, Buffer, Name

__all__ = [
    "ChangingChunkError",
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
    "SyncFailedError",
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
    """The base of the errors of this module. Errors of the system are :class:`OSError`."""

    def __init__(self, message: str = "", *details: Any) -> None:
        # The details are in args too, so that a copy and a pickled error have them.
        super().__init__(message, *details)
        for name, value in zip(getattr(type(self), "__annotations__", ()), details):
            setattr(self, name, value)

    def __str__(self) -> str:
        return str(self.args[0])


class NotRafError(RafError):
    """The input is not a RAF file."""


class UnsupportedRafError(RafError):
    """The file needs something that this version does not support."""

    #: The unsupported value in the header.
    value: int


class WrongKeyError(RafError, VerificationError):
    """The key is wrong, or the header was changed."""


class KeyLengthError(RafError, ValueError):
    """The key has the wrong length for the cipher."""

    #: The right length, in bytes.
    expected: int
    #: Its length, in bytes.
    actual: int


class ContextLengthError(RafError, ValueError):
    """The context of a derived key is too long."""

    #: The greatest length, in bytes.
    max: int
    #: Its length, in bytes.
    actual: int


class DamagedChunkError(RafError, VerificationError):
    """A chunk is not authentic: it was changed, moved or only partly written."""

    #: Its index; the first is 0.
    index: int


class ChangingChunkError(RafError):
    """A chunk kept changing while it was read beside a writer. Read it again."""

    #: Its index; the first is 0.
    index: int


class TruncatedError(RafError):
    """The file is shorter than a header, or than its header says."""

    #: The expected length, in bytes.
    expected: int
    #: The actual length, in bytes.
    actual: int


class ChunkSizeError(RafError, ValueError):
    """The chunk size is not a multiple of 16 from 1 KiB to 1 MiB."""

    #: The requested size.
    chunk_size: int


class TooLargeError(RafError):
    """The file would be larger than the format allows."""


class ExistsError(RafError, FileExistsError):
    """The file to be created exists already."""


class PoisonedError(RafError):
    """An earlier change failed in the middle, so the Merkle tree may not match the file.

    Rebuild it, or open the file again.
    """


class SyncFailedError(RafError):
    """An earlier sync failed, so part of what was written before it may be lost.

    Open the file again and verify it.
    """


class ReadOnlyError(RafError, io.UnsupportedOperation):
    """The file was opened for reading only."""


class NoTreeError(RafError):
    """The file was opened without a Merkle tree."""


class TreeFullError(RafError):
    """The file has more chunks than fit in the Merkle tree, or a change would make it so."""

    #: The number of chunks that fit.
    max_chunks: int


class TreeSizeError(RafError, ValueError):
    """The size of the Merkle tree is zero, or too large for memory."""

    #: The requested size.
    max_chunks: int


class TreeMismatchError(RafError, VerificationError):
    """The file does not match the Merkle tree or the commitment."""

    #: The index of a chunk that differs, if known.
    chunk: int | None = None


class HashLengthError(RafError, ValueError):
    """The length of a hash is not from 8 to 64 bytes."""

    #: The requested length.
    length: int


@runtime_checkable
class Storage(Protocol):
    """A place that can hold a file; the same interface as in ``pyaegis``.

    What its methods raise reaches the caller of the file. They must not use the file themselves. If
    ``read_at`` or ``write_at`` returns a number, as ``os.preadv`` and ``os.pwrite`` do, it is the
    number of bytes that were read or written, and the rest follows in another call.
    """

    def read_at(self, buf: bytearray, offset: int) -> None:
        """Fills all of ``buf`` from ``offset`` on. Raises :class:`EOFError` if too few bytes
        exist."""

    def write_at(self, data: bytes, offset: int) -> None:
        """Writes all of ``data`` from ``offset`` on."""

    def get_size(self) -> int:
        """The length in bytes."""

    def set_size(self, size: int) -> None:
        """Changes the length to ``size`` bytes; new bytes are zero."""

    def sync(self) -> None:
        """Waits until everything written would survive a loss of power."""


@runtime_checkable
class MerkleHasher(Protocol):
    """A hash function for a Merkle tree; the same interface as in ``pyaegis``.

    The four methods must be separated: no input of one may give the hash of an input of another.
    """

    @property
    def hash_len(self) -> int:
        """The length of a hash: 8 to 64 bytes."""

    def hash_leaf(self, chunk: bytes, chunk_len: int, chunk_idx: int) -> bytes:
        """Hashes the contents of a chunk."""

    def hash_parent(self, left: bytes, right: bytes, level: int, node_idx: int) -> bytes:
        """Hashes two nodes of a level (0 is that of the leaves) for their parent ``node_idx``."""

    def hash_empty(self, level: int, node_idx: int) -> bytes:
        """The hash of an empty node."""

    def hash_commitment(self, structural_root: bytes, ctx: bytes, file_size: int) -> bytes:
        """Hashes the root, the header and the size of the file."""


class Info(NamedTuple):
    """The contents of a file's header."""

    #: The standard's name of the cipher.
    algorithm: Name
    #: Bytes in a chunk.
    chunk_size: int
    #: Bytes in the decrypted file.
    size: int
    #: A random identifier of 24 bytes.
    file_id: bytes

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.size // self.chunk_size)


_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class _FileObject:
    """A storage in a seekable file of :mod:`io`."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read_at(self, buf: bytearray, offset: int) -> None:
        self._file.seek(offset)
        if _native.read_fully(self._file, buf) < len(buf):
            raise EOFError("the file ends within a chunk")

    def write_at(self, data: bytes, offset: int) -> None:
        self._file.seek(offset)
        _native.write_fully(self._file, data)

    def get_size(self) -> int:
        self._file.seek(0, os.SEEK_END)
        return cast(int, self._file.tell())

    def set_size(self, size: int) -> None:
        # Not every file object can grow by truncate().
        there = self.get_size()
        if there < size:
            for start in range(there, size, 1 << 20):
                self.write_at(bytes(min(1 << 20, size - start)), start)
        else:
            self._file.truncate(size)

    def sync(self) -> None:
        if hasattr(self._file, "flush"):
            self._file.flush()
        try:
            descriptor = self._file.fileno()
        except (OSError, AttributeError):
            return  # not a file of the system
        try:
            os.fsync(descriptor)
        except OSError as error:
            # Pipes and some devices cannot be synced. Other errors mean that data is lost.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise


def _place(place: object) -> Any:
    """The file for native code: a path as a string, or a storage."""
    if isinstance(place, (str, bytes, os.PathLike)):
        return os.fsdecode(place)
    if isinstance(place, Storage):
        return place
    if isinstance(place, io.TextIOBase):
        # Before it is truncated.
        raise TypeError('expected a binary file, not a text file; open it with "r+b"')
    if hasattr(place, "seek") and hasattr(place, "read"):
        return _FileObject(place)
    raise TypeError(f"expected a path, a seekable file or a storage, not {type(place).__name__}")


def _secret(
    key: Buffer | None,
    key_file: _Path | None,
    passphrase: str | Buffer | None,
    context: str | Buffer | None,
) -> Any:
    """Returns the secret from exactly one of a key, a key file and a passphrase."""
    if (key is None) + (key_file is None) + (passphrase is None) != 2:
        raise TypeError("pass exactly one of key, key_file and passphrase")
    if isinstance(context, str):
        context = context.encode()
    if key_file is not None:
        return "key_file", os.fsdecode(key_file), context
    if passphrase is not None:
        return "passphrase", passphrase, context
    return "key", key, context


def _number(what: str, number: int) -> int:
    if number < 0:
        raise ValueError(f"{what} must not be negative, but is {number}")
    return number


class RafFile(io.RawIOBase):
    """An open encrypted file, as a raw file of :mod:`io`; returned by :func:`open`.

    Threads can share it; their calls take turns. Use :meth:`pread` to read without moving the
    position that they share.
    """

    def __init__(self, native: _native.Raf, mode: str, name: object) -> None:
        self._raf = native
        self._mode = mode
        #: The path, file or storage that was opened.
        self.name = name
        self._position = native.size if "a" in mode else 0
        self._process = os.getpid()
        # Guards the position, in each process: a thread that only the parent of a forked child has
        # may hold the parent's. Reentrant, so that a storage that wrongly uses its own file gets
        # the error from native code instead of a deadlock.
        self._moving: dict[int, Any] = {}

    @property
    def mode(self) -> str:
        """The mode: "rb", "rb+", "wb", "wb+", "xb", "xb+", "ab" or "ab+"."""
        return self._mode

    def __repr__(self) -> str:
        state = "closed" if self.closed else self._raf.algorithm
        return f"<palladion.raf.RafFile {state}, mode={self._mode!r}, name={self.name!r}>"

    def _turn(self) -> Any:
        process = os.getpid()
        return self._moving.get(process) or self._moving.setdefault(process, threading.RLock())

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
            raise ReadOnlyError("the file was opened for reading only")
        if os.getpid() != self._process:
            # Each of the two would write the size that it knows.
            raise RafError(
                "the file was opened before this process was forked, which may only read it; "
                "close it in both and open it again"
            )
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
        """Always true."""
        self._check()
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Reads up to ``size`` bytes, or everything to the end."""
        raf = self._check_readable()
        with self._turn():
            data = raf.read_at(None if size is None or size < 0 else size, self._position)
            self._position += len(data)
        return data

    def readall(self) -> bytes:
        """Reads everything to the end."""
        return self.read()

    def readinto(self, buffer: Buffer) -> int:
        """Reads into a writable buffer and returns the number of bytes; zeroes it if that fails."""
        raf = self._check_readable()
        with self._turn():
            count = raf.read_into(buffer, self._position)
            self._position += count
        return count

    def write(self, data: Buffer) -> int:
        """Writes all of ``data`` at the position, or at the end in mode "ab"."""
        raf = self._check_writable()
        with self._turn():
            if "a" in self._mode:
                count, self._position = raf.append(data)
            else:
                count = raf.write_at(data, self._position)
                self._position += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves the position, which may be past the end."""
        raf = self._check()
        with self._turn():
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
        """The position."""
        self._check()
        return self._position

    def truncate(self, size: int | None = None) -> int:
        """Sets the length to ``size`` bytes, by default to the position, which does not move.

        New bytes are zero.
        """
        raf = self._check_writable()
        with self._turn():
            size = self._position if size is None else _number("size", size)
            raf.set_size(size)
        return size

    def flush(self) -> None:
        """Does nothing, because nothing is buffered. See :meth:`sync` about a loss of power."""
        self._check()

    def sync(self) -> None:
        """Waits until everything written would survive a loss of power."""
        self._check().sync()

    def close(self) -> None:
        """Closes the file and wipes its keys from memory.

        A storage or file object that was given to :func:`open` stays open.
        """
        try:
            super().close()
        finally:
            # Not set if __init__ failed.
            raf = getattr(self, "_raf", None)
            if raf is not None:
                raf.close()

    def pread(self, size: int, offset: int) -> bytes:
        """Reads up to ``size`` bytes at ``offset``, without moving the position."""
        return self._check_readable().read_at(_number("size", size), _number("offset", offset))

    def preadinto(self, buffer: Buffer, offset: int) -> int:
        """Reads into a writable buffer at ``offset``, without moving the position.

        Returns the number of bytes. If it fails, all of the buffer is zeroed.
        """
        return self._check_readable().read_into(buffer, _number("offset", offset))

    def pwrite(self, data: Buffer, offset: int) -> int:
        """Writes all of ``data`` at ``offset``, without moving the position.

        Bytes between the old end and ``offset`` become zero.
        """
        return self._check_writable().write_at(data, _number("offset", offset))

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._check().size

    def refresh(self) -> int:
        """Reads the header again, for files opened with ``beside_writer``, and returns the size."""
        return self._check().refresh()

    @property
    def info(self) -> Info:
        """The contents of the header, which are verified."""
        raf = self._check()
        return Info(raf.algorithm, raf.chunk_size, raf.size, raf.file_id)

    def verify(self, commitment: Buffer | None = None) -> None:
        """Reads every chunk. Raises :class:`DamagedChunkError` for the first damaged one.

        With a commitment that was kept elsewhere, it also raises :class:`TreeMismatchError` if the
        contents have changed since. This needs a file opened with ``merkle``.
        """
        raf = self._check()
        if commitment is None:
            raf.verify()
            return
        expected = bytes(cast(bytes, commitment))
        raf.rebuild_tree()
        if not hmac.compare_digest(raf.commitment(), expected):
            raise TreeMismatchError("the file does not match the commitment")

    def damaged_chunks(self) -> list[int]:
        """Reads every chunk and returns the indices of the damaged ones."""
        raf, damaged = self._check(), []
        info = self.info
        for index in range(info.chunks):
            try:
                raf.read_at(info.chunk_size, index * info.chunk_size)
            except DamagedChunkError:
                damaged.append(index)
        return damaged

    def set_barriers(self, on: bool = True) -> None:
        """Whether to sync between the parts of a change whose order matters.

        If on, the file has the old or the new size even if the *machine* stops in the middle of a
        change. That costs a sync each time the size changes. It is not needed against a killed
        process.
        """
        self._check().set_barriers(on)

    def commitment(self) -> bytes:
        """A hash of the file's contents, size and id: 32 bytes with SHA-256.

        Keep it where someone who can write to the file cannot change it. It is updated with every
        change. This needs a file opened with ``merkle``.

        ``palladion raf verify --commitment`` and the ``root_hash`` of ``pyaegis`` give the same if
        their tree has the same size.
        """
        return self._check().commitment()

    def verify_tree(self) -> None:
        """Compares every chunk with the Merkle tree in memory.

        Raises :class:`TreeMismatchError` for the first chunk that differs.
        """
        self._check().verify_tree()

    def rebuild_tree(self) -> None:
        """Computes the Merkle tree again from the file."""
        self._check().rebuild_tree()


def _mode_of(mode: str) -> str:
    """The mode in its normal spelling."""
    kinds = [letter for letter in mode if letter in "rwxa"]
    if len(kinds) != 1 or len(set(mode)) != len(mode) or set(mode) - set("rwxab+"):
        raise ValueError(f"mode must be one of rb, wb, xb and ab, with or without +, not {mode!r}")
    return kinds[0] + "b" + ("+" if "+" in mode else "")


def open(  # noqa: A001 - like io.open
    file: _Path | Storage | Any,
    mode: Mode = "rb",
    *,
    key: Buffer | None = None,
    key_file: _Path | None = None,
    passphrase: str | Buffer | None = None,
    context: str | Buffer | None = None,
    algorithm: AlgorithmName = "AEGIS-256X2",
    chunk_size: int = 65536,
    merkle: bool | MerkleHasher | None = None,
    max_chunks: int | None = None,
    beside_writer: bool = False,
) -> RafFile:
    """Opens or creates an encrypted file.

    ``file`` is a path, a seekable binary file such as ``io.BytesIO()``, or any :class:`Storage`. A
    file opened by its path is locked: it may be open several times for reading, or once for
    changing, in one process or several. Otherwise this raises :class:`BlockingIOError`. Programs
    other than ``palladion`` may ignore the lock. A forked process shares it, so it may only read.

    With ``beside_writer=True``, mode "rb" takes no lock, and another program may write meanwhile.
    Each chunk is read as it was before or after a change, and several chunks may be of different
    moments; :class:`ChangingChunkError` says that one kept changing. Call :meth:`RafFile.refresh`
    to learn a new size: until then, what was cut off may be read as zeros. On Windows, a file that
    is open for changing cannot be read.

    ``mode`` is as for ``io.open``: "rb", "r+b", "w+b", "x+b" or "a+b", or the write-only "wb", "xb"
    or "ab".

    Pass one of ``key``, ``key_file`` and ``passphrase``, and optionally ``context``; see
    :mod:`palladion.raf`. ``algorithm`` and ``chunk_size`` are for new files; existing files have
    theirs in the header. A chunk is read and written as a whole, so choose small chunks (1024 bytes
    or more) for small scattered changes.

    With ``merkle=True``, the file has a SHA-256 Merkle tree in memory, which
    :meth:`RafFile.commitment` needs; pass a :class:`MerkleHasher` for another hash function.
    Opening then reads the whole file. The tree has room for ``max_chunks`` chunks. The default is
    16384, or the next power of two if an existing file has more.

    >>> import io
    >>> store, key = io.BytesIO(), bytes(32)  # use palladion.generate_key()
    >>> with open(store, "w+b", key=key, merkle=True) as file:
    ...     _ = file.write(b"attack at dawn")
    ...     commitment = file.commitment()
    >>> with open(store, key=key, merkle=True) as file:
    ...     file.verify(commitment)
    ...     file.pread(4, 10)
    b'dawn'
    """
    spelled = _mode_of(mode)
    if beside_writer and spelled != "rb":
        raise ValueError(f"beside_writer is for mode 'rb', not {mode!r}")
    place, secret = _place(file), _secret(key, key_file, passphrase, context)
    hasher = None if merkle is None or merkle is False else merkle

    def there(write: bool) -> _native.Raf:
        return _native.Raf.open(
            place,
            secret,
            write=write,
            beside_writer=beside_writer,
            merkle=hasher,
            max_chunks=max_chunks,
        )

    def new(access: str) -> _native.Raf:
        _output.refuse_same(file, key_file=key_file)
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
    """Reads the header of a file without the key, for example to learn the algorithm.

    The header is not verified.

    >>> import io
    >>> store = io.BytesIO()
    >>> open(store, "xb", key=bytes(16), algorithm="AEGIS-128L").close()
    >>> probe(store).algorithm
    'AEGIS-128L'
    """
    return Info(*_native.raf_probe(_place(file)))


def derive_master_key(key: Buffer, context: str | Buffer = b"") -> bytes:
    """Derives a key for one purpose from a key of 16 or 32 bytes; it has the same length.

    ``context`` has at most 120 bytes for a key of 16 bytes and 72 for a key of 32. This is
    libaegis's ``aegis_raf_derive_master_key``.

    >>> len(derive_master_key(bytes(32), "backups"))
    32
    """
    return _native.raf_derive_master_key(
        key, context.encode() if isinstance(context, str) else context
    )
