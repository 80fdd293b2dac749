from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, Literal, Protocol, TypeVar, final, overload

from . import Algorithm
from .raf import MerkleHasher, Storage

class HasBuffer(Protocol):
    """Any object that has the buffer protocol: `collections.abc.Buffer` of Python 3.12."""
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Array(Protocol):
    """A NumPy array. NumPy tells type checkers about the buffer protocol from Python 3.12 on."""
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

Buffer = HasBuffer | Array

Name = Literal[
    "AEGIS-128L", "AEGIS-128X2", "AEGIS-128X4", "AEGIS-256", "AEGIS-256X2", "AEGIS-256X4"
]
AlgorithmName = Name | Algorithm
TagSize = Literal[16, 32]

_B = TypeVar("_B", bound=Buffer)

__version__: str

class PalladionError(Exception):
    """The base of the exceptions of this package."""

class VerificationError(PalladionError):
    """The data is not authentic.

    The key, the nonce, the associated data, the algorithm or the tag size is wrong, or the
    ciphertext or the tag was changed. Nothing tells which.
    """
    index: int | None
    """The index of the first message that is not authentic, if open_many() raised it."""

def generate_key(algorithm: AlgorithmName = "AEGIS-256X2") -> bytes:
    """A new random key for an algorithm: 16 or 32 bytes."""
def generate_nonce(algorithm: AlgorithmName = "AEGIS-256X2") -> bytes:
    """A random nonce for an algorithm: 16 or 32 bytes."""
def backend() -> str:
    """The name of the backend in use, for example "vaes-avx512" or "portable"."""
def key_size(algorithm: AlgorithmName) -> int: ...
def mac(
    key: Buffer,
    data: Buffer,
    *,
    algorithm: AlgorithmName = "AEGIS-256X2",
    nonce: Buffer | None = None,
    digest_size: TagSize = 32,
) -> bytes:
    """Computes a message authentication code in one call; see Mac."""

@final
class Cipher:
    """An authenticated cipher with its key.

    algorithm is one of palladion.ALGORITHMS. Keys and nonces have 16 bytes for the AEGIS-128
    family and 32 bytes for the AEGIS-256 family. Tags have 16 or 32 bytes. Any number of
    threads can use a cipher at once.

    >>> import palladion
    >>> cipher = palladion.Cipher(palladion.generate_key())
    >>> sealed = cipher.seal(b"attack at dawn", b"header")
    >>> cipher.open(sealed, b"header")
    b'attack at dawn'
    """
    def __new__(
        cls, key: Buffer, algorithm: AlgorithmName = "AEGIS-256X2", *, tag_size: TagSize = 32
    ) -> Cipher: ...
    @property
    def algorithm(self) -> Name:
        """The standard's name of the cipher."""
    @property
    def key_size(self) -> int:
        """Bytes in the key: 16 or 32."""
    @property
    def nonce_size(self) -> int:
        """Bytes in a nonce: 16 or 32, the same as in the key."""
    @property
    def tag_size(self) -> int:
        """Bytes in a tag: 16 or 32."""
    @property
    def overhead(self) -> int:
        """How much longer seal() makes a message: nonce_size + tag_size."""
    @overload
    def seal(self, message: Buffer, ad: Buffer | None = None, *, into: None = None) -> bytes:
        """Encrypts a message under a random nonce; returns nonce, ciphertext and tag in one.

        A key of the AEGIS-256 family can encrypt any number of messages, a key of the
        AEGIS-128 family 2**48. ad is data that is authenticated with the message but is not
        part of the result; pass the same to open(). into is a writable buffer of len(message)
        + overhead bytes; if given, the result is written there, and into is returned.
        """
    @overload
    def seal(self, message: Buffer, ad: Buffer | None = None, *, into: _B) -> _B: ...
    @overload
    def open(self, sealed: Buffer, ad: Buffer | None = None, *, into: None = None) -> bytes:
        """Decrypts the output of seal(). Raises VerificationError and zeroes into if it is not
        authentic.
        """
    @overload
    def open(self, sealed: Buffer, ad: Buffer | None = None, *, into: _B) -> _B: ...
    @overload
    def encrypt(
        self, nonce: Buffer, message: Buffer, ad: Buffer | None = None, *, into: None = None
    ) -> bytes:
        """Encrypts a message; returns ciphertext and tag in one. Never use a nonce twice with
        one key.

        into is a writable buffer of len(message) + tag_size bytes; if given, the result is
        written there, and into is returned. It may start at the same address as the message.
        """
    @overload
    def encrypt(
        self, nonce: Buffer, message: Buffer, ad: Buffer | None = None, *, into: _B
    ) -> _B: ...
    @overload
    def decrypt(
        self, nonce: Buffer, ciphertext: Buffer, ad: Buffer | None = None, *, into: None = None
    ) -> bytes:
        """Decrypts the output of encrypt(). Raises VerificationError and zeroes into if it is
        not authentic.
        """
    @overload
    def decrypt(
        self, nonce: Buffer, ciphertext: Buffer, ad: Buffer | None = None, *, into: _B
    ) -> _B: ...
    @overload
    def encrypt_detached(
        self, nonce: Buffer, message: Buffer, ad: Buffer | None = None, *, into: None = None
    ) -> tuple[bytes, bytes]:
        """Encrypts a message; returns a pair of the ciphertext, which is as long as the message,
        and the tag.
        """
    @overload
    def encrypt_detached(
        self, nonce: Buffer, message: Buffer, ad: Buffer | None = None, *, into: _B
    ) -> tuple[_B, bytes]: ...
    @overload
    def decrypt_detached(
        self,
        nonce: Buffer,
        ciphertext: Buffer,
        tag: Buffer,
        ad: Buffer | None = None,
        *,
        into: None = None,
    ) -> bytes:
        """Decrypts a ciphertext with a separate tag. Raises VerificationError and zeroes into if
        they are not authentic.
        """
    @overload
    def decrypt_detached(
        self, nonce: Buffer, ciphertext: Buffer, tag: Buffer, ad: Buffer | None = None, *, into: _B
    ) -> _B: ...
    def encrypt_in_place(
        self, nonce: Buffer, buffer: Buffer, ad: Buffer | None = None
    ) -> bytes:
        """Encrypts a message in place, in a writable buffer, and returns the tag."""
    def decrypt_in_place(
        self, nonce: Buffer, buffer: Buffer, tag: Buffer, ad: Buffer | None = None
    ) -> None:
        """Decrypts a ciphertext in place, in a writable buffer. Raises VerificationError and
        zeroes the buffer if it is not authentic.
        """
    def verify(self, nonce: Buffer, ciphertext: Buffer, ad: Buffer | None = None) -> None:
        """Checks the output of encrypt() without returning the message. Raises VerificationError
        if it is not authentic.
        """
    def encryptor(self, nonce: Buffer, ad: Buffer | None = None) -> Encryptor:
        """Starts to encrypt a message in pieces."""
    def decryptor(self, nonce: Buffer, ad: Buffer | None = None) -> Decryptor:
        """Starts to decrypt a message in pieces. It is kept in memory and returned only if it is
        authentic.
        """
    def unverified_decryptor(
        self, nonce: Buffer, ad: Buffer | None = None
    ) -> UnverifiedDecryptor:
        """Starts to decrypt a message in pieces, each returned at once and UNVERIFIED.

        Do not use any of them before verify() has succeeded.
        """
    def seal_many(
        self, messages: Sequence[Buffer], ads: Sequence[Buffer | None] | None = None
    ) -> list[bytes]:
        """Encrypts many messages like seal(), each under its own random nonce; returns a list.

        This is faster than a loop, above all for small messages on CPUs that can process
        several at once. ads, if given, has one item for each message: bytes or None.

        >>> import palladion
        >>> cipher = palladion.Cipher(palladion.generate_key())
        >>> cipher.open_many(cipher.seal_many([b"one", b"two"]))
        [b'one', b'two']
        """
    def open_many(
        self, sealed: Sequence[Buffer], ads: Sequence[Buffer | None] | None = None
    ) -> list[bytes]:
        """Decrypts many outputs of seal() or seal_many(); returns a list. If one is not
        authentic, raises VerificationError with the position of the first such message as
        index.
        """

@final
class Encryptor:
    """Encrypts a message in pieces; created by Cipher.encryptor().

    >>> import palladion
    >>> cipher = palladion.Cipher(palladion.generate_key())
    >>> nonce = palladion.generate_nonce()
    >>> encryptor = cipher.encryptor(nonce, b"header")
    >>> ciphertext = encryptor.update(b"attack ") + encryptor.update(b"at dawn")
    >>> tag = encryptor.finalize()
    >>> cipher.decrypt(nonce, ciphertext + tag, b"header")
    b'attack at dawn'
    """
    @overload
    def update(self, data: Buffer, *, into: None = None) -> bytes:
        """Encrypts the next piece to as many bytes, in a new object or in into, which may be the
        piece itself.
        """
    @overload
    def update(self, data: Buffer, *, into: _B) -> _B: ...
    def finalize(self) -> bytes:
        """Ends the message and returns its tag."""

@final
class Decryptor:
    """Decrypts a message in pieces and returns it only if it is authentic; created by
    Cipher.decryptor().

    It keeps the whole message in memory. For long messages use encrypted files
    (palladion.files), which are verified in chunks.
    """
    def update(self, data: Buffer) -> None:
        """Adds the next piece of the ciphertext."""
    def finalize(self, tag: Buffer) -> bytes:
        """Ends the ciphertext and returns the message. Raises VerificationError if it is not
        authentic.
        """

@final
class UnverifiedDecryptor:
    """Decrypts a message in pieces, each returned at once and UNVERIFIED; created by
    Cipher.unverified_decryptor().
    """
    @overload
    def update_unverified(self, data: Buffer, *, into: None = None) -> bytes:
        """Decrypts the next piece to as many bytes, in a new object or in into, which may be the
        piece itself.
        """
    @overload
    def update_unverified(self, data: Buffer, *, into: _B) -> _B: ...
    def verify(self, tag: Buffer) -> None:
        """Ends the ciphertext. Raises VerificationError if it is not authentic; discard all
        pieces then.
        """

@final
class KeyStream:
    """An endless stream of bytes from a key and a nonce (RFC 10032, section 7), without
    authentication.

    The default nonce is all zeros; a key then always gives the same stream.

    >>> import palladion
    >>> key = bytes(32)
    >>> stream = palladion.KeyStream(key)
    >>> stream.read(3) + stream.read(5) == palladion.KeyStream(key).read(8)
    True
    """
    def __new__(
        cls, key: Buffer, nonce: Buffer | None = None, *, algorithm: AlgorithmName = "AEGIS-256X2"
    ) -> KeyStream: ...
    @overload
    def read(self, size: int, *, into: None = None) -> bytes:
        """Returns the next size bytes, or fills the writable buffer into with the next bytes."""
    @overload
    def read(self, size: int | None = None, *, into: _B) -> _B: ...
    @overload
    def xor(self, data: Buffer, *, into: None = None) -> bytes:
        """XORs data with the next bytes of the stream. This encrypts or decrypts without
        authentication.
        """
    @overload
    def xor(self, data: Buffer, *, into: _B) -> _B: ...

@final
class Mac:
    """A message authentication code (RFC 10032, section 8), used like hashlib.

    The key has 16 or 32 bytes; do not use it for encryption too. The nonce may be the same
    for all messages; the default is all zeros. Tags have digest_size bytes: 16 or 32.

    >>> import palladion
    >>> key = palladion.generate_key()
    >>> mac = palladion.Mac(key)
    >>> mac.update(b"some ")
    >>> mac.update(b"data")
    >>> mac.digest() == palladion.mac(key, b"some data")
    True
    >>> mac.verify(palladion.mac(key, b"some data"))
    """
    def __new__(
        cls,
        key: Buffer,
        data: Buffer | None = None,
        *,
        algorithm: AlgorithmName = "AEGIS-256X2",
        nonce: Buffer | None = None,
        digest_size: TagSize = 32,
    ) -> Mac: ...
    @property
    def algorithm(self) -> Name:
        """The standard's name of the cipher."""
    @property
    def name(self) -> str:
        """The algorithm followed by "-MAC"; corresponds to the name of hashlib's objects."""
    @property
    def digest_size(self) -> int:
        """Bytes in the tag: 16 or 32."""
    def update(self, data: Buffer) -> None:
        """Adds data, in pieces of any size."""
    def digest(self) -> bytes:
        """The tag of all data so far. More can be added afterwards."""
    def hexdigest(self) -> str:
        """The tag in hexadecimal digits."""
    def verify(self, tag: Buffer) -> None:
        """Compares the tag of all data so far with another, in constant time. Raises
        VerificationError if they differ.
        """
    def copy(self) -> Mac:
        """Returns a copy with the same key, nonce and data."""
    def reset(self) -> None:
        """Starts again with the same key and nonce."""
    def __copy__(self) -> Mac: ...
    def __deepcopy__(self, memo: Any) -> Mac: ...

# Decrypts an age file; makes one.
_Age = Callable[[bytes], Buffer | None]
_Recipient = Buffer | str | Callable[[bytes], Buffer]

@final
class Secret:
    """The secrets of files, any of which may open one."""
    def __new__(
        cls,
        key: Buffer | Sequence[Buffer] | None,
        key_file: str | Sequence[str] | None,
        passphrase: str | Buffer | Sequence[str | Buffer] | None,
        slots: bool | _Age | Sequence[_Age],
        bind: str | Buffer | None,
    ) -> Secret: ...
    @staticmethod
    def of_recipients(
        recipients: _Recipient | Sequence[_Recipient], bind: str | Buffer | None
    ) -> Secret: ...
    def interrupt(self) -> None: ...
    def bind(self, bind: str | Buffer) -> Secret: ...
    def first(self) -> Secret: ...
    def check(self, new: bool) -> None: ...

def encrypt_file(
    source: Any,
    target: Any,
    *,
    secret: Secret,
    algorithm: AlgorithmName,
    chunk_size: int,
    kdf: tuple[int, int, int] | None,
    threads: int | None,
    progress: Callable[[int], object] | None,
) -> int: ...
def decrypt_file(
    source: Any,
    target: Any,
    *,
    secret: Secret,
    max_kdf_memory: int | None,
    threads: int | None,
    progress: Callable[[int], object] | None,
) -> int: ...

@final
class FileWriter:
    def __new__(
        cls,
        target: BinaryIO,
        *,
        secret: Secret,
        algorithm: AlgorithmName,
        chunk_size: int,
        kdf: tuple[int, int, int] | None,
    ) -> FileWriter: ...
    def write(self, data: Buffer) -> int: ...
    def tell(self) -> int: ...
    def flush(self) -> None: ...
    def finish(self) -> None: ...

@final
class FileReader:
    def __new__(
        cls,
        source: str | BinaryIO,
        *,
        secret: Secret,
        max_kdf_memory: int | None,
    ) -> FileReader: ...
    @property
    def size(self) -> int | None: ...
    @property
    def chunk_size(self) -> int | None: ...
    def tell(self) -> int: ...
    def seek(self, offset: int, whence: int) -> int: ...
    def readinto(self, buffer: Buffer) -> int: ...
    def readall(self) -> bytes: ...
    def pread(self, size: int, offset: int) -> bytes: ...

@final
class Output:
    def __new__(
        cls,
        path: str,
        *,
        overwrite: bool,
        private: bool,
        inputs: list[tuple[str, str | int]],
    ) -> Output: ...
    def write(self, data: Buffer) -> int: ...
    def commit(self) -> None: ...
    def discard(self) -> None: ...
    def __enter__(self) -> Output: ...
    def __exit__(self, kind: Any, _value: Any, _traceback: Any) -> None: ...

def descriptor(path: str) -> int | None: ...
def check_costs(kdf: tuple[int, int, int] | None, max_kdf_memory: int | None) -> None: ...
def needs_passphrase(beginning: Buffer) -> bool: ...
def chunk_size_of(beginning: Buffer) -> int: ...
def plaintext_size(chunk_size: int, file_len: int) -> int | None: ...
def read_fully(file: Any, buffer: Buffer) -> int: ...
def write_fully(file: Any, data: bytes) -> None: ...
def check_buffer(_data: Buffer) -> None: ...
def load_key(path: str) -> bytes: ...
def format_key_file(key: Buffer) -> str: ...

# A column: data, offsets or None, width of an offset or of a value, bit mask or None, first row,
# number of rows.
_Parts = tuple[Any, Any, int, Any, int, int]

def convert_column(
    cipher: Cipher,
    values: list[Any] | _Parts,
    ad: Any,
    allocate: Callable[[int], Any],
    most: int,
    threads: int,
    keep: bool | None,
) -> tuple[_Parts | None, int, int]: ...
def column_to_list(column: _Parts, text: bool) -> list[Any]: ...

_Secret = tuple[
    str, Buffer | str, Buffer | None
]  # "key", "key_file" or "passphrase"; that; the context

@final
class Raf:
    @staticmethod
    def create(
        storage: str | Storage,
        access: str,  # "w" or "x"
        secret: _Secret,
        *,
        algorithm: AlgorithmName,
        chunk_size: int,
        merkle: Literal[True] | MerkleHasher | None = None,
        max_chunks: int | None = None,
    ) -> Raf: ...
    @staticmethod
    def open(
        storage: str | Storage,
        secret: _Secret,
        *,
        write: bool = False,
        beside_writer: bool = False,
        merkle: Literal[True] | MerkleHasher | None = None,
        max_chunks: int | None = None,
        rebuild: bool = True,
    ) -> Raf: ...
    @property
    def algorithm(self) -> Name: ...
    @property
    def chunk_size(self) -> int: ...
    @property
    def file_id(self) -> bytes: ...
    @property
    def size(self) -> int: ...
    def refresh(self) -> int: ...
    @property
    def poisoned(self) -> bool: ...
    @property
    def closed(self) -> bool: ...
    def read_at(self, size: int | None, offset: int) -> bytes: ...
    def read_into(self, buffer: Buffer, offset: int) -> int: ...
    def write_at(self, data: Buffer, offset: int) -> int: ...
    def append(self, data: Buffer) -> tuple[int, int]: ...
    def set_size(self, size: int) -> None: ...
    def sync(self) -> None: ...
    def verify(self) -> None: ...
    def set_barriers(self, on: bool) -> None: ...
    def commitment(self) -> bytes: ...
    def rebuild_tree(self) -> None: ...
    def verify_tree(self) -> None: ...
    def close(self) -> None: ...

def raf_probe(storage: str | Storage) -> tuple[Name, int, int, bytes]: ...
def raf_derive_master_key(key: Buffer, context: Buffer | None = None) -> bytes: ...
