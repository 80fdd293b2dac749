"""A drop-in replacement for ``pyaegis`` 0.3.1.

It has the same names, arguments, defaults, results and exceptions. A program written for
``pyaegis`` needs one line changed:

>>> import palladion.compat.pyaegis as pyaegis
>>> cipher = pyaegis.Aegis128L()
>>> key, nonce = cipher.random_key(), cipher.random_nonce()
>>> ciphertext = cipher.encrypt(key, nonce, b"attack at dawn", b"header")
>>> cipher.decrypt(key, nonce, ciphertext, b"header")
b'attack at dawn'

It adds a few things:

- Arguments of bytes may be any object with the buffer protocol.
- All six ciphers have ``stream``.
- MACs have ``copy()``.
- :class:`FileStorage` works on Windows too.
- Other threads run during long calls.
- The ``__cause__`` of a :class:`RAFIOError` is the exception that the storage raised.

It differs on purpose in these cases:

- An output that is read-only, such as ``bytes``, raises :class:`TypeError`; it is never written.
- A nonce of the wrong length for ``stream`` raises :class:`ValueError`.
- A tag that does not have ``tag_size`` bytes raises :class:`DecryptionError` from a MAC or an
  ``AegisStreamDecrypt*``.
- After the ``with`` block of an ``AegisStreamDecrypt*``, ``verify`` raises :class:`AegisError`
  instead of returning an empty message.
- ``truncate`` of a RAF file to an offset within a damaged chunk raises
  :class:`RAFAuthenticationError`. It encrypts the rest of the chunk again, so that nothing of what
  was cut off stays in the file.
- ``read_into`` of a RAF file zeroes the buffer if it fails. A long read or write accesses the
  storage several chunks at a time.

New programs should use :mod:`palladion` and :mod:`palladion.raf`.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
import threading
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ClassVar,
    Literal,
    Protocol,
    TypeVar,
    cast,
    runtime_checkable,
)

from .. import _native, raf

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._native import HasBuffer as Buffer
    from .._native import Name, TagSize

__version__ = "0.2.0"  # the value in pyaegis 0.3.1

__all__ = [
    "Aegis128L",
    "Aegis128X2",
    "Aegis128X4",
    "Aegis256",
    "Aegis256X2",
    "Aegis256X4",
    "AegisError",
    "AegisMac128L",
    "AegisMac128X2",
    "AegisMac128X4",
    "AegisMac256",
    "AegisMac256X2",
    "AegisMac256X4",
    "AegisRaf128L",
    "AegisRaf128X2",
    "AegisRaf128X4",
    "AegisRaf256",
    "AegisRaf256X2",
    "AegisRaf256X4",
    "AegisStreamDecrypt128L",
    "AegisStreamDecrypt128X2",
    "AegisStreamDecrypt128X4",
    "AegisStreamDecrypt256",
    "AegisStreamDecrypt256X2",
    "AegisStreamDecrypt256X4",
    "AegisStreamEncrypt128L",
    "AegisStreamEncrypt128X2",
    "AegisStreamEncrypt128X4",
    "AegisStreamEncrypt256",
    "AegisStreamEncrypt256X2",
    "AegisStreamEncrypt256X4",
    "BytesIOStorage",
    "DecryptionError",
    "FileStorage",
    "MerkleHasher",
    "RAFAuthenticationError",
    "RAFConfigError",
    "RAFError",
    "RAFIOError",
    "RAFStorage",
    "SHA256MerkleHasher",
    "raf_derive_master_key",
    "raf_open",
    "raf_probe",
]

_T = TypeVar("_T")


class AegisError(Exception):
    """The base of the exceptions of this module."""


class DecryptionError(AegisError):
    """The data is not authentic."""


class RAFError(AegisError):
    """The base of the exceptions of RAF files."""


class RAFIOError(RAFError):
    """The storage failed, or the file cannot be used after an earlier failure."""


class RAFAuthenticationError(RAFError):
    """A chunk, the header or the Merkle root is not authentic."""


class RAFConfigError(RAFError):
    """The arguments are invalid or do not fit the file."""


def _length(data: Buffer) -> int:
    """Bytes in a buffer."""
    return len(data) if isinstance(data, bytes) else memoryview(data).nbytes


def _check_length(what: str, data: Buffer, expected: int) -> None:
    actual = _length(data)
    if actual != expected:
        raise ValueError(f"{what} must be {expected} bytes, got {actual}")


def _check_output(buffer: Buffer, expected: int) -> None:
    """Checks that a result can be written to a buffer."""
    view = memoryview(buffer)
    if view.readonly:
        raise TypeError(f"the buffer must be writable, but {type(buffer).__name__} is read-only")
    _check_length("Output buffer", view, expected)


def _tag_size(tag_size: int) -> TagSize:
    if tag_size in (16, 32):
        return cast("TagSize", tag_size)
    raise ValueError(f"tag_size must be 16 or 32, got {tag_size}")


class _Keyed:
    """The base of all classes with a key. Each cipher has its own class, so that isinstance
    works."""

    _ALGORITHM: ClassVar[Name]
    #: Bytes in a key.
    KEY_SIZE: ClassVar[int]
    #: Bytes in a nonce.
    NONCE_SIZE: ClassVar[int]

    def __init_subclass__(cls, algorithm: Name | None = None) -> None:
        if algorithm is not None:
            cls.__doc__ = f"{algorithm}. {cls.__mro__[1].__doc__}"
            cls._ALGORITHM = algorithm
            cls.KEY_SIZE = cls.NONCE_SIZE = _native.key_size(algorithm)

    @classmethod
    def random_key(cls) -> bytes:
        """A new random key."""
        return os.urandom(cls.KEY_SIZE)


class _Nonced(_Keyed):
    #: Bytes in a short tag.
    TAG_SIZE_MIN: ClassVar[int] = 16
    #: Bytes in a long tag.
    TAG_SIZE_MAX: ClassVar[int] = 32

    @classmethod
    def random_nonce(cls) -> bytes:
        """A random nonce."""
        return os.urandom(cls.NONCE_SIZE)

    @classmethod
    def _check(cls, key: Buffer, nonce: Buffer) -> None:
        _check_length("Key", key, cls.KEY_SIZE)
        _check_length("Nonce", nonce, cls.NONCE_SIZE)


class _Cipher(_Nonced):
    """Authenticated encryption of messages. Never use a nonce twice with one key."""

    def __init__(self, tag_size: int = 32) -> None:
        #: Bytes in a tag.
        self.tag_size = _tag_size(tag_size)

    def _with(self, key: Buffer, nonce: Buffer, tag_size: TagSize | None = None) -> _native.Cipher:
        # Creating the cipher also checks the length of the key.
        cipher = _native.Cipher(
            key, self._ALGORITHM, tag_size=self.tag_size if tag_size is None else tag_size
        )
        _check_length("Nonce", nonce, self.NONCE_SIZE)
        return cipher

    def encrypt(
        self,
        key: Buffer,
        nonce: Buffer,
        plaintext: Buffer,
        associated_data: Buffer | None = None,
        into: Buffer | None = None,
    ) -> bytes:
        """Encrypts a message and returns ciphertext and tag.

        They are also written to ``into``, which must have exactly as many bytes.
        """
        cipher = self._with(key, nonce)
        if into is None:
            return cipher.encrypt(nonce, plaintext, associated_data)
        _check_output(into, _length(plaintext) + self.tag_size)
        cipher.encrypt(nonce, plaintext, associated_data, into=into)
        return bytes(into)

    def decrypt(
        self,
        key: Buffer,
        nonce: Buffer,
        ciphertext: Buffer,
        associated_data: Buffer | None = None,
        into: Buffer | None = None,
    ) -> bytes:
        """Decrypts ciphertext and tag and returns the message.

        The message is also written to ``into``, which is zeroed if they are not authentic.
        """
        cipher = self._with(key, nonce)
        length = _length(ciphertext) - self.tag_size
        if length < 0:
            raise DecryptionError("the ciphertext is shorter than a tag")
        if into is not None:
            _check_output(into, length)
        try:
            if into is None:
                return cipher.decrypt(nonce, ciphertext, associated_data)
            cipher.decrypt(nonce, ciphertext, associated_data, into=into)
        except _native.VerificationError as error:
            raise DecryptionError(str(error)) from None
        return bytes(into)

    def encrypt_detached(
        self,
        key: Buffer,
        nonce: Buffer,
        plaintext: Buffer,
        associated_data: Buffer | None = None,
        ciphertext_into: Buffer | None = None,
    ) -> tuple[bytes, bytes]:
        """Encrypts a message and returns ciphertext and tag separately.

        The ciphertext is also written to ``ciphertext_into``.
        """
        cipher = self._with(key, nonce)
        if ciphertext_into is None:
            return cipher.encrypt_detached(nonce, plaintext, associated_data)
        _check_output(ciphertext_into, _length(plaintext))
        _, tag = cipher.encrypt_detached(nonce, plaintext, associated_data, into=ciphertext_into)
        return bytes(ciphertext_into), tag

    def decrypt_detached(
        self,
        key: Buffer,
        nonce: Buffer,
        ciphertext: Buffer,
        tag: Buffer,
        associated_data: Buffer | None = None,
        into: Buffer | None = None,
    ) -> bytes:
        """Decrypts a ciphertext with a separate tag of 16 or 32 bytes and returns the message.

        The message is also written to ``into``.
        """
        self._check(key, nonce)
        if into is not None:
            _check_output(into, _length(ciphertext))
        cipher = self._with(key, nonce, self._tag_size(tag))
        try:
            if into is None:
                return cipher.decrypt_detached(nonce, ciphertext, tag, associated_data)
            cipher.decrypt_detached(nonce, ciphertext, tag, associated_data, into=into)
        except _native.VerificationError as error:
            raise DecryptionError(str(error)) from None
        return bytes(into)

    @staticmethod
    def _tag_size(tag: Buffer) -> TagSize:
        size = _length(tag)
        if size not in (16, 32):
            raise DecryptionError(f"the tag must have 16 or 32 bytes, but has {size}")
        return cast("TagSize", size)

    def encrypt_inplace(
        self, key: Buffer, nonce: Buffer, buffer: Buffer, associated_data: Buffer | None = None
    ) -> bytes:
        """Encrypts a message in place and returns the tag."""
        cipher = self._with(key, nonce)
        _check_output(buffer, _length(buffer))
        return cipher.encrypt_in_place(nonce, buffer, associated_data)

    def decrypt_inplace(
        self,
        key: Buffer,
        nonce: Buffer,
        buffer: Buffer,
        tag: Buffer,
        associated_data: Buffer | None = None,
    ) -> None:
        """Decrypts a ciphertext in place. If it is not authentic, the buffer is zeroed."""
        self._check(key, nonce)
        _check_output(buffer, _length(buffer))
        try:
            cipher = self._with(key, nonce, self._tag_size(tag))
            cipher.decrypt_in_place(nonce, buffer, tag, associated_data)
        except _native.VerificationError as error:
            raise DecryptionError(str(error)) from None
        except DecryptionError:
            view = memoryview(buffer).cast("B")
            view[:] = bytes(len(view))
            raise

    @classmethod
    def stream(cls, key: Buffer, nonce: Buffer, length: int, into: Buffer | None = None) -> bytes:
        """Returns ``length`` bytes of the key stream; they are also written to ``into``."""
        cls._check(key, nonce)
        if length < 0:
            raise ValueError(f"length must not be negative, but is {length}")
        stream = _native.KeyStream(key, nonce, algorithm=cls._ALGORITHM)
        if into is None:
            return stream.read(length)
        _check_output(into, length)
        stream.read(into=into)
        return bytes(into)


class Aegis128L(_Cipher, algorithm="AEGIS-128L"): ...
class Aegis128X2(_Cipher, algorithm="AEGIS-128X2"): ...
class Aegis128X4(_Cipher, algorithm="AEGIS-128X4"): ...
class Aegis256(_Cipher, algorithm="AEGIS-256"): ...
class Aegis256X2(_Cipher, algorithm="AEGIS-256X2"): ...
class Aegis256X4(_Cipher, algorithm="AEGIS-256X4"): ...


class _Mac(_Nonced):
    """A message authentication code. Its key must not be used for encryption too."""

    def __init__(self, key: Buffer, nonce: Buffer, tag_size: int = 32) -> None:
        self._check(key, nonce)
        #: Bytes in a tag.
        self.tag_size = _tag_size(tag_size)
        self._mac = _native.Mac(
            key, algorithm=self._ALGORITHM, nonce=nonce, digest_size=self.tag_size
        )
        self._ended = False

    def _check_open(self) -> None:
        if self._ended:
            raise AegisError("the MAC has ended; call reset() to use it again")

    def update(self, data: Buffer) -> None:
        """Adds data."""
        self._check_open()
        self._mac.update(data)

    def final(self) -> bytes:
        """Ends the MAC and returns the tag."""
        self._check_open()
        self._ended = True
        return self._mac.digest()

    def verify(self, tag: Buffer) -> None:
        """Ends the MAC and compares its tag with ``tag`` in constant time."""
        self._check_open()
        length = _length(tag)
        self._ended = True
        if length != self._mac.digest_size:
            raise DecryptionError(
                f"the tag must have {self._mac.digest_size} bytes, but has {length}"
            )
        try:
            self._mac.verify(tag)
        except _native.VerificationError as error:
            raise DecryptionError(str(error)) from None

    def reset(self) -> None:
        """Starts again with the same key and nonce."""
        self._mac.reset()
        self._ended = False

    def copy(self) -> Self:
        """Returns a copy with the same key, nonce and data."""
        copy = object.__new__(type(self))
        copy.tag_size, copy._mac, copy._ended = self.tag_size, self._mac.copy(), self._ended
        return copy


class AegisMac128L(_Mac, algorithm="AEGIS-128L"): ...
class AegisMac128X2(_Mac, algorithm="AEGIS-128X2"): ...
class AegisMac128X4(_Mac, algorithm="AEGIS-128X4"): ...
class AegisMac256(_Mac, algorithm="AEGIS-256"): ...
class AegisMac256X2(_Mac, algorithm="AEGIS-256X2"): ...
class AegisMac256X4(_Mac, algorithm="AEGIS-256X4"): ...


class _Pieces(_Nonced):
    """A message in pieces."""

    def __init__(
        self, key: Buffer, nonce: Buffer, associated_data: Buffer | None = None, tag_size: int = 32
    ) -> None:
        self._check(key, nonce)
        #: Bytes in the tag.
        self.tag_size = _tag_size(tag_size)
        cipher = _native.Cipher(key, self._ALGORITHM, tag_size=self.tag_size)
        self._begin(cipher, nonce, associated_data)
        self._ended = False

    def _begin(self, cipher: _native.Cipher, nonce: Buffer, associated_data: Buffer | None) -> None:
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._ended:
            raise AegisError("the message has ended")

    def __enter__(self) -> Self:
        return self


class _StreamEncrypt(_Pieces):
    """Encrypts a message in pieces."""

    def _begin(self, cipher: _native.Cipher, nonce: Buffer, associated_data: Buffer | None) -> None:
        self._session = cipher.encryptor(nonce, associated_data)

    def update(self, plaintext: Buffer) -> bytes:
        """Encrypts the next piece and returns its ciphertext, which has the same length."""
        self._check_open()
        return self._session.update(plaintext)

    def final(self) -> bytes:
        """Ends the message and returns its tag."""
        self._check_open()
        self._ended = True
        return self._session.finalize()

    def __exit__(self, *_: object) -> Literal[False]:
        if not self._ended:
            self.final()
        return False


class _StreamDecrypt(_Pieces):
    """Decrypts a message in pieces. It is kept in memory and returned only if it is authentic."""

    def _begin(self, cipher: _native.Cipher, nonce: Buffer, associated_data: Buffer | None) -> None:
        self._session: _native.Decryptor | None = cipher.decryptor(nonce, associated_data)

    def update(self, ciphertext: Buffer) -> None:
        """Adds the next piece of the ciphertext."""
        self._check_open()
        assert self._session is not None
        self._session.update(ciphertext)

    def verify(self, tag: Buffer) -> bytes:
        """Ends the message and returns all of it."""
        self._check_open()
        length = _length(tag)
        session, self._session, self._ended = self._session, None, True
        assert session is not None
        if length != self.tag_size:
            raise DecryptionError(f"the tag must have {self.tag_size} bytes, but has {length}")
        try:
            return session.finalize(tag)
        except _native.VerificationError as error:
            raise DecryptionError(str(error)) from None

    def __exit__(self, *_: object) -> Literal[False]:
        # Dropping the session wipes what was decrypted but not verified.
        self._session, self._ended = None, True
        return False


class AegisStreamEncrypt128L(_StreamEncrypt, algorithm="AEGIS-128L"): ...
class AegisStreamEncrypt128X2(_StreamEncrypt, algorithm="AEGIS-128X2"): ...
class AegisStreamEncrypt128X4(_StreamEncrypt, algorithm="AEGIS-128X4"): ...
class AegisStreamEncrypt256(_StreamEncrypt, algorithm="AEGIS-256"): ...
class AegisStreamEncrypt256X2(_StreamEncrypt, algorithm="AEGIS-256X2"): ...
class AegisStreamEncrypt256X4(_StreamEncrypt, algorithm="AEGIS-256X4"): ...


class AegisStreamDecrypt128L(_StreamDecrypt, algorithm="AEGIS-128L"): ...
class AegisStreamDecrypt128X2(_StreamDecrypt, algorithm="AEGIS-128X2"): ...
class AegisStreamDecrypt128X4(_StreamDecrypt, algorithm="AEGIS-128X4"): ...
class AegisStreamDecrypt256(_StreamDecrypt, algorithm="AEGIS-256"): ...
class AegisStreamDecrypt256X2(_StreamDecrypt, algorithm="AEGIS-256X2"): ...
class AegisStreamDecrypt256X4(_StreamDecrypt, algorithm="AEGIS-256X4"): ...


@runtime_checkable
class RAFStorage(raf.Storage, Protocol):
    """A place that can hold a RAF file; see :class:`palladion.raf.Storage`."""


MerkleHasher = raf.MerkleHasher


class SHA256MerkleHasher:
    """SHA-256 with a prefix for each use, as with ``merkle=True``."""

    hash_len: int = 32

    @staticmethod
    def _hash(kind: int, *parts: bytes) -> bytes:
        return hashlib.sha256(b"".join((bytes([kind]), *parts))).digest()

    def hash_leaf(self, chunk: bytes, chunk_len: int, chunk_idx: int) -> bytes:
        """Hashes a chunk."""
        return self._hash(0, chunk_idx.to_bytes(8, "little"), chunk[:chunk_len])

    def hash_parent(self, left: bytes, right: bytes, level: int, node_idx: int) -> bytes:
        """Hashes two nodes."""
        return self._hash(
            1, level.to_bytes(4, "little"), node_idx.to_bytes(8, "little"), left, right
        )

    def hash_empty(self, level: int, node_idx: int) -> bytes:
        """The hash of an empty node."""
        return self._hash(2, level.to_bytes(4, "little"), node_idx.to_bytes(8, "little"))

    def hash_commitment(self, structural_root: bytes, ctx: bytes, file_size: int) -> bytes:
        """Hashes the root, the header and the size of the file."""
        return self._hash(3, structural_root, ctx, file_size.to_bytes(8, "little"))


class _Stored(raf._FileObject):
    """A storage in a file object. Threads take turns to move its position."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self._going = threading.RLock()

    def read_at(self, buf: bytearray, offset: int) -> None:
        """Fills ``buf`` with the bytes from ``offset`` on."""
        data = bytearray(len(buf))
        try:
            with self._going:
                super().read_at(data, offset)
        except EOFError:
            raise OSError(f"Short read: expected {len(buf)} bytes") from None
        buf[:] = data

    def write_at(self, data: bytes, offset: int) -> None:
        """Writes ``data`` from ``offset`` on."""
        with self._going:
            super().write_at(data, offset)

    def get_size(self) -> int:
        """How many bytes there are."""
        with self._going:
            return super().get_size()

    def set_size(self, size: int) -> None:
        """Makes it so many bytes."""
        with self._going:
            self._file.truncate(size)
            more = size - self._file.seek(0, os.SEEK_END)  # BytesIO does not grow
            _native.write_fully(self._file, bytes(max(0, more)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FileStorage(_Stored):
    """A file of the system. ``mode`` is "r+b", "w+b" or "x+b"."""

    def __init__(self, path: str | os.PathLike[str], mode: str = "r+b") -> None:
        if mode not in ("r+b", "w+b", "x+b"):
            raise ValueError(f"Unsupported mode: {mode!r} (use r+b, w+b or x+b)")
        super().__init__(open(path, mode, buffering=0))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()


class BytesIOStorage(_Stored):
    """A file in memory."""

    def __init__(self, initial_data: Buffer = b"") -> None:
        super().__init__(io.BytesIO(initial_data))

    def getvalue(self) -> bytes:
        """All bytes of the file."""
        return cast(bytes, self._file.getvalue())


class _Guarded:
    """A caller's storage or hash function; turns its exceptions into :class:`RAFIOError`."""

    def __init__(self, target: Any) -> None:
        self._target = target

    @staticmethod
    def _call(name: str, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except Exception as error:
            raise RAFIOError(f"{name} failed: {error!r}") from error


class _GuardedStorage(_Guarded):
    def read_at(self, buf: bytearray, offset: int) -> Any:
        def read() -> Any:
            length = len(buf)
            count = self._target.read_at(buf, offset)
            if len(buf) != length:
                raise ValueError(f"the buffer had {length} bytes, and now has {len(buf)}")
            return count

        return self._call("read_at", read)

    def get_size(self) -> int:
        def size() -> int:
            size = int(self._target.get_size())
            struct.pack("Q", size)  # raises if it does not fit in 64 bits
            return size

        return self._call("get_size", size)

    def __getattr__(self, name: str) -> Any:
        """write_at, set_size or sync."""
        return lambda *each: self._call(name, lambda: getattr(self._target, name)(*each))


class _GuardedHasher(_Guarded):
    def __init__(self, target: Any) -> None:
        super().__init__(target)
        self.hash_len: int = target.hash_len

    def __getattr__(self, name: str) -> Any:
        """hash_leaf, hash_parent, hash_empty or hash_commitment."""

        def hash_it(*arguments: Any) -> bytes:
            digest = bytes(getattr(self._target, name)(*arguments))
            if len(digest) != self.hash_len:
                raise ValueError(f"a hash must have {self.hash_len} bytes, but has {len(digest)}")
            return digest

        return lambda *arguments: self._call(name, lambda: hash_it(*arguments))


def _raf_error(error: Exception, action: str) -> RAFError:
    """Converts an exception of native code to one of this module."""
    kind: type[RAFError]
    if isinstance(error, (raf.WrongKeyError, raf.DamagedChunkError, raf.TreeMismatchError)):
        kind = RAFAuthenticationError
    elif isinstance(error, (raf.NotRafError, raf.UnsupportedRafError, raf.ExistsError)):
        kind = RAFError
    elif isinstance(
        error, (raf.ChunkSizeError, raf.TreeSizeError, raf.HashLengthError, raf.NoTreeError)
    ):
        kind = RAFConfigError
    else:
        kind = RAFIOError
    if isinstance(error, raf.TreeSizeError):
        return kind(f"merkle_max_chunks overflows: {error}")
    return kind(f"{action} failed: {error}")


#: What native code raises for RAF files. (`_Guarded` has converted what a storage raises.)
_FAILURES = (raf.RafError, OSError)


def _not_negative(what: str, value: int) -> None:
    if value < 0:
        raise ValueError(f"{what} must be non-negative, got {value}")


class _Raf(_Keyed):
    """An encrypted file that can be read and changed at any offset.

    ``create`` creates a file with chunks of ``chunk_size`` bytes; ``truncate`` replaces an existing
    one. ``merkle`` adds a Merkle tree for up to ``merkle_max_chunks`` chunks, with SHA-256 or your
    hash function. For an existing file, call :meth:`merkle_rebuild` first.
    """

    #: The number of the algorithm in the file.
    ALG_ID: ClassVar[int]
    #: Bytes in the smallest chunk.
    CHUNK_MIN: ClassVar[int] = 1024
    #: Bytes in the largest chunk.
    CHUNK_MAX: ClassVar[int] = 1048576
    #: Bytes in the shortest hash.
    MERKLE_HASH_MIN: ClassVar[int] = 8
    #: Bytes in the longest hash.
    MERKLE_HASH_MAX: ClassVar[int] = 64
    #: Bytes in a chunk by default.
    DEFAULT_CHUNK_SIZE: ClassVar[int] = 65536

    def __init_subclass__(cls, algorithm: Name | None = None) -> None:
        super().__init_subclass__(algorithm)
        if algorithm is not None:
            cls.ALG_ID = len(_RAF_CLASSES) + 1
            _RAF_CLASSES[algorithm] = cls

    def __init__(
        self,
        storage: RAFStorage,
        key: Buffer,
        *,
        chunk_size: int = 65536,
        create: bool = False,
        truncate: bool = False,
        merkle: bool | MerkleHasher = False,
        merkle_max_chunks: int | None = None,
    ) -> None:
        _check_length("Key", key, self.KEY_SIZE)
        self._closed = False
        self._position = 0
        self._hash_len: int | None = None
        if create:
            if not self.CHUNK_MIN <= chunk_size <= self.CHUNK_MAX or chunk_size % 16:
                raise RAFConfigError(
                    f"chunk_size must be from {self.CHUNK_MIN} to {self.CHUNK_MAX} and a "
                    f"multiple of 16, got {chunk_size}"
                )
        else:
            number, chunk_size, _ = raf_probe(storage)
            if number != self.ALG_ID:
                raise RAFConfigError(f"File uses algorithm {number}, expected {self.ALG_ID}")
        hasher: Any = None
        max_chunks = 16384 if merkle_max_chunks is None else merkle_max_chunks
        if merkle is not False:
            self._hash_len = 32 if merkle is True else merkle.hash_len
            if not self.MERKLE_HASH_MIN <= self._hash_len <= self.MERKLE_HASH_MAX:
                raise RAFConfigError(f"hashes must have from 8 to 64 bytes, not {self._hash_len}")
            if max_chunks <= 0:
                raise RAFConfigError(f"merkle_max_chunks must be > 0, got {max_chunks}")
            hasher = True if merkle is True else _GuardedHasher(merkle)
        place, secret = cast(Any, _GuardedStorage(storage)), ("key", key, None)
        try:
            if create:
                self._raf = _native.Raf.create(
                    place,
                    "w" if truncate else "x",
                    secret,
                    algorithm=self._ALGORITHM,
                    chunk_size=chunk_size,
                    merkle=hasher,
                    max_chunks=max_chunks,
                )
            else:
                self._raf = _native.Raf.open(
                    place, secret, write=True, merkle=hasher, max_chunks=max_chunks, rebuild=False
                )
        except _FAILURES as error:
            raise _raf_error(error, "create" if create else "open") from error

    def _do(self, action: str, work: Callable[[_native.Raf], _T]) -> _T:
        if self._closed:
            raise ValueError("the file is closed")
        try:
            # pyaegis refuses everything then, though the file could be used further.
            if self._raf.poisoned:
                raise raf.PoisonedError(
                    "an earlier change failed in the middle; open the file again"
                )
            return work(self._raf)
        except _FAILURES as error:
            raise _raf_error(error, action) from error

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the file is closed")

    def _place(self, offset: int | None) -> int:
        self._check_open()
        if offset is None:
            return self._position
        _not_negative("offset", offset)
        return offset

    def read(self, size: int = -1, offset: int | None = None) -> bytes:
        """Reads up to ``size`` bytes, or all, at the position or ``offset``; moves past them."""
        offset = self._place(offset)
        if size == 0:
            return b""
        wanted = None if size < 0 else size
        if wanted is None and offset >= self.size:
            return b""
        data = self._do("read", lambda raf: raf.read_at(wanted, offset))
        self._position = offset + len(data)
        return data

    def pread(self, size: int, offset: int) -> bytes:
        """Reads up to ``size`` bytes at ``offset``, without moving the position."""
        self._check_open()
        _not_negative("offset", offset)
        _not_negative("size", size)
        return b"" if size == 0 else self._do("pread", lambda raf: raf.read_at(size, offset))

    def read_into(self, buf: Buffer, offset: int | None = None) -> int:
        """Reads into a buffer at the position or ``offset`` and moves past what was read.

        Returns the number of bytes.
        """
        offset = self._place(offset)
        length = _length(buf)
        if length == 0:
            return 0
        _check_output(buf, length)
        count = self._do("read_into", lambda raf: raf.read_into(buf, offset))
        self._position = offset + count
        return count

    def write(self, data: Buffer, offset: int | None = None) -> int:
        """Writes all of ``data`` at the position or ``offset`` and moves past it."""
        offset = self._place(offset)
        count = self._write("write", data, offset)
        if count:
            self._position = offset + count
        return count

    def pwrite(self, data: Buffer, offset: int) -> int:
        """Writes all of ``data`` at ``offset``, without moving the position."""
        self._check_open()
        _not_negative("offset", offset)
        return self._write("pwrite", data, offset)

    def _write(self, action: str, data: Buffer, offset: int) -> int:
        length = _length(data)
        if length:
            try:
                self._do(action, lambda raf: raf.write_at(data, offset))
            except RAFIOError as error:
                # The caller chose too small a tree. (For truncate, pyaegis raises RAFIOError.)
                if isinstance(error.__cause__, raf.TreeFullError):
                    message = f"{error}; create it with a larger merkle_max_chunks"
                    raise RAFConfigError(message) from error.__cause__
                raise
        return length

    def truncate(self, size: int | None = None) -> int:
        """Sets the length to ``size`` bytes, by default to the position, which does not move."""
        self._check_open()
        wanted = self._position if size is None else size
        self._do("truncate", lambda raf: raf.set_size(wanted))
        return wanted

    def seek(self, offset: int, whence: int = 0) -> int:
        """Moves the position, relative to the start (0), to itself (1) or to the end (2)."""
        self._check_open()
        if whence not in (0, 1, 2):
            raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
        place = offset + (0 if whence == 0 else self._position if whence == 1 else self.size)
        _not_negative("the position", place)
        self._position = place
        return place

    def tell(self) -> int:
        """The position."""
        return self._position

    def sync(self) -> None:
        """Waits until everything written would survive a loss of power."""
        self._do("sync", lambda raf: raf.sync())

    def close(self) -> None:
        """Closes the file and wipes its keys from memory. The storage stays open."""
        if not self._closed:
            self._closed = True
            self._raf.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def _check_tree(self) -> int:
        self._check_open()
        if self._hash_len is None:
            raise RAFConfigError("Merkle tree is not enabled: open the file with merkle=True")
        return self._hash_len

    def merkle_rebuild(self) -> None:
        """Computes the Merkle tree again from the file."""
        self._check_tree()
        self._do("merkle_rebuild", lambda raf: raf.rebuild_tree())

    def merkle_verify(self) -> int | None:
        """Compares every chunk with the Merkle tree.

        Returns the index of the first chunk that differs, or None.
        """
        self._check_tree()
        try:
            self._do("merkle_verify", lambda raf: raf.verify_tree())
        except RAFAuthenticationError as error:
            cause = error.__cause__
            if isinstance(cause, raf.DamagedChunkError):
                return cause.index
            # If only the tree itself was changed, there is no such chunk.
            return (cause.chunk or 0) if isinstance(cause, raf.TreeMismatchError) else 0
        return None

    def verify_root(self, expected_root: Buffer) -> None:
        """Computes the Merkle tree again and compares its root with one that was kept elsewhere."""
        _check_length("expected_root", expected_root, self._check_tree())
        self.merkle_rebuild()
        if self.root_hash != bytes(expected_root):
            raise RAFAuthenticationError("Merkle root mismatch: expected_root is of other contents")

    @property
    def size(self) -> int:
        """Bytes in the file."""

        return self._do("size", lambda raf: raf.size)

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed

    @property
    def root_hash(self) -> bytes | None:
        """The commitment of the Merkle tree, or None without one."""
        self._check_open()
        return (
            None if self._hash_len is None else self._do("root_hash", lambda raf: raf.commitment())
        )


_RAF_CLASSES: dict[str, type[_Raf]] = {}


# The order of the classes gives them their numbers.
class AegisRaf128L(_Raf, algorithm="AEGIS-128L"): ...
class AegisRaf128X2(_Raf, algorithm="AEGIS-128X2"): ...
class AegisRaf128X4(_Raf, algorithm="AEGIS-128X4"): ...
class AegisRaf256(_Raf, algorithm="AEGIS-256"): ...
class AegisRaf256X2(_Raf, algorithm="AEGIS-256X2"): ...
class AegisRaf256X4(_Raf, algorithm="AEGIS-256X4"): ...


def _probe(storage: RAFStorage) -> tuple[type[_Raf], int, int]:
    header = bytearray(64)
    try:
        # Read the header only, as pyaegis does; opening the file checks the rest.
        _GuardedStorage(storage).read_at(header, 0)
        algorithm, chunk_size, size, _ = _native.raf_probe(BytesIOStorage(header))
    except (*_FAILURES, RAFError) as error:
        raise RAFError(f"cannot read a RAF header: {error}") from error
    return _RAF_CLASSES[algorithm], chunk_size, size


def raf_probe(storage: RAFStorage) -> tuple[int, int, int]:
    """Reads the header of a file without verifying it.

    Returns the number of the algorithm, the chunk size and the size of the contents.
    """
    cls, chunk_size, size = _probe(storage)
    return cls.ALG_ID, chunk_size, size


def raf_open(
    storage: RAFStorage,
    key: Buffer,
    *,
    merkle: bool | MerkleHasher = False,
    merkle_max_chunks: int | None = None,
    **kwargs: Any,
) -> _Raf:
    """Opens a file with the class for the algorithm in its header."""
    return _probe(storage)[0](
        storage, key, merkle=merkle, merkle_max_chunks=merkle_max_chunks, **kwargs
    )


def raf_derive_master_key(master_key: Buffer, context: Buffer = b"") -> bytes:
    """Derives a key for one purpose from a master key."""
    for what, value in (("master_key", master_key), ("context", context)):
        if isinstance(value, str):
            raise TypeError(f"{what} must be bytes, not str")
    if _length(master_key) not in (16, 32):
        raise ValueError(f"master_key must be 16 or 32 bytes, got {_length(master_key)}")
    try:
        return _native.raf_derive_master_key(master_key, context)
    except raf.RafError as error:
        raise ValueError(str(error)) from None
