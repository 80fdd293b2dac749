"""AEGIS (RFC 10032): fast authenticated encryption, MACs and key streams, in constant time.

>>> import palladion
>>> key = palladion.generate_key()
>>> sealed = palladion.seal(key, b"attack at dawn", b"header")
>>> palladion.open(key, sealed, b"header")
b'attack at dawn'

Data that is not authentic raises :class:`VerificationError`, and none of it is returned. A wrong
length raises :class:`ValueError`, a wrong type :class:`TypeError`. Wherever bytes are expected, any
object with the buffer protocol will do if it is contiguous in memory: ``bytes``, ``bytearray``,
``memoryview``, NumPy arrays, ``mmap`` and so on. It is not copied. Other threads run during long
calls.

Other modules:

- :mod:`palladion.files`: encrypted files of any size, as the command line makes them, which can be
  read from the middle;
- :mod:`palladion.aio`: the same for :mod:`asyncio`;
- :mod:`palladion.raf`: encrypted files that can be read and changed at any offset;
- :mod:`palladion.columns`: columns of Arrow, NumPy, pandas and Polars, each value encrypted
  separately;
- :mod:`palladion.fsspec`: encrypted files by URL, for pandas, Dask and others;
- :mod:`palladion.compat.pyaegis`: the interface of ``pyaegis``.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from ._native import (
    Cipher,
    Decryptor,
    Encryptor,
    KeyStream,
    Mac,
    PalladionError,
    UnverifiedDecryptor,
    VerificationError,
    __version__,
    backend,
    generate_key,
    generate_nonce,
    mac,
)

if TYPE_CHECKING:
    from ._native import AlgorithmName, Buffer, Name, TagSize

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Cipher",
    "Decryptor",
    "Encryptor",
    "KeyStream",
    "Mac",
    "PalladionError",
    "UnverifiedDecryptor",
    "VerificationError",
    "__version__",
    "backend",
    "generate_key",
    "generate_nonce",
    "mac",
    "open",
    "seal",
]


class Algorithm(str, enum.Enum):
    """The six ciphers. A name such as ``"AEGIS-256"`` can be used instead of a member.

    ``AEGIS_256X2`` is the default: it has 32-byte keys, and random nonces are safe for any number
    of messages. ``AEGIS_256`` and ``AEGIS_128L`` are in every other implementation. ``AEGIS_128X2``
    is the fastest if nonces come from a counter.
    """

    AEGIS_128L = "AEGIS-128L"
    AEGIS_128X2 = "AEGIS-128X2"
    AEGIS_128X4 = "AEGIS-128X4"
    AEGIS_256 = "AEGIS-256"
    AEGIS_256X2 = "AEGIS-256X2"
    AEGIS_256X4 = "AEGIS-256X4"

    def __str__(self) -> str:
        return self.value


#: The names of the six ciphers.
ALGORITHMS: tuple[Name, ...] = tuple(algorithm.value for algorithm in Algorithm)


def seal(
    key: Buffer,
    message: Buffer,
    ad: Buffer | None = None,
    *,
    algorithm: AlgorithmName = "AEGIS-256X2",
    tag_size: TagSize = 32,
) -> bytes:
    """Encrypts a message under a random nonce; returns nonce, ciphertext and tag in one.

    ``ad`` is data that is authenticated with the message but is not part of the result: pass the
    same to :func:`open`. A key of the AEGIS-256 family can encrypt any number of messages, a key of
    the AEGIS-128 family 2**48.
    """
    return Cipher(key, algorithm, tag_size=tag_size).seal(message, ad)


def open(
    key: Buffer,
    sealed: Buffer,
    ad: Buffer | None = None,
    *,
    algorithm: AlgorithmName = "AEGIS-256X2",
    tag_size: TagSize = 32,
) -> bytes:
    """Decrypts the output of :func:`seal`. Raises :class:`VerificationError` if not authentic."""
    return Cipher(key, algorithm, tag_size=tag_size).open(sealed, ad)
