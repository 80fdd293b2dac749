"""AEGIS (RFC 10032): authenticated encryption, MACs and key streams built from the AES round; fast, and constant time.

>>> import palladion
>>> key = palladion.generate_key()
>>> sealed = palladion.seal(key, b"attack at dawn", b"header")
>>> palladion.open(key, sealed, b"header")
b'attack at dawn'

Whatever fails to be authentic raises :class:`VerificationError`; nothing of it is shown. Wrong lengths raise :class:`ValueError`, wrong
types :class:`TypeError`. Everything that takes bytes takes any object with the buffer protocol that is contiguous in memory (``bytes``,
``bytearray``, ``memoryview``, NumPy arrays, ``mmap`` ...), without a copy; while long work is done, other threads run.

Further modules:

- :mod:`palladion.files`: encrypted files of any size, those of the command line;
- :mod:`palladion.raf`: encrypted files that can be read and changed at any place;
- :mod:`palladion.columns`: columns of Arrow, NumPy, pandas and Polars, each value encrypted on its own;
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
    from ._native import Buffer

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
    """The six ciphers. Wherever one is asked for, its name will do.

    ``AEGIS_256X2`` is the default: 32-byte keys, and nonces that can be drawn at random without a limit. ``AEGIS_256`` and ``AEGIS_128L``
    are those that every other implementation has. ``AEGIS_128X2`` is the fastest where nonces are counted.
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
ALGORITHMS = tuple(algorithm.value for algorithm in Algorithm)


def seal(
    key: Buffer,
    message: Buffer,
    ad: Buffer | None = None,
    *,
    algorithm: str = "AEGIS-256X2",
    tag_size: int = 32,
) -> bytes:
    """Encrypts a message under a random nonce: nonce, ciphertext and tag in one.

    ``ad`` is data that is authenticated with the message but is not part of the result: :func:`open` needs the same. With the AEGIS-256
    family, one key is good for any number of messages; with the AEGIS-128 family for 2**48.
    """
    return Cipher(key, algorithm, tag_size=tag_size).seal(message, ad)


def open(
    key: Buffer,
    sealed: Buffer,
    ad: Buffer | None = None,
    *,
    algorithm: str = "AEGIS-256X2",
    tag_size: int = 32,
) -> bytes:
    """Decrypts what :func:`seal` made. Raises :class:`VerificationError` if it is not authentic."""
    return Cipher(key, algorithm, tag_size=tag_size).open(sealed, ad)
