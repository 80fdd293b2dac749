"""A typical program for the type checkers; run by scripts/test-python.sh."""

from __future__ import annotations

import io

import numpy as np
import palladion
from numpy.typing import NDArray
from palladion import aio, files, raf


def messages(key: bytes) -> bytes:
    cipher = palladion.Cipher(key, palladion.Algorithm.AEGIS_256, tag_size=16)
    sealed: bytes = cipher.seal(b"message", bytearray(b"header"))
    target = bytearray(len(sealed))
    same: bytearray = cipher.seal(b"message", into=target)
    nonce: bytes = palladion.generate_nonce()
    ciphertext, tag = cipher.encrypt_detached(nonce, memoryview(same))
    encryptor = cipher.encryptor(nonce)
    pieces: bytes = encryptor.update(b"piece") + encryptor.finalize()
    many: list[bytes] = cipher.open_many(cipher.seal_many([sealed, target], [None, b"ad"]))
    try:
        return cipher.decrypt_detached(nonce, ciphertext, tag) + pieces + many[0]
    except palladion.VerificationError as error:
        return b"" if error.index is None else str(error.index + 1).encode()


def authentic(key: bytes, data: bytearray) -> str:
    mac = palladion.Mac(key, data, digest_size=16)
    mac.update(data)
    mac.verify(mac.copy().digest())
    return mac.hexdigest() + palladion.mac(key, data).hex()


def encrypted_files(key: bytes) -> str | None:
    target = io.BytesIO()
    written: int = files.encrypt_file("source", target, key=key, progress=print)
    try:
        with files.open("notes", "wt", passphrase="secret", bind="notes") as text:
            text.write(str(written))
            text.commit()
        with files.open("notes", "wb", key=key, chunk_size=1024) as binary:
            binary.discard()
        with files.open("notes", key=files.load_key("my.key"), max_kdf_memory=1 << 21) as file:
            file.seek(3)
            return file.read().decode()
    except files.DamagedError as error:
        return error.hint


async def whole_files(path: str, key: bytes) -> int:
    await aio.encrypt_file(path, "sealed", recipients=[key, "words"], overwrite=True)
    await aio.decrypt_file(path, "sealed", mode="rb")  # type: ignore[call-arg]
    return await aio.decrypt_file("sealed", io.BytesIO(), key=[key], slots=True, progress=print)


def arrays(cipher: palladion.Cipher, array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    cipher.seal(array, array)
    files.save_key(b"my.key", array)
    raf.open("disk.raf", key=array).readinto(array)
    return cipher.open(array, into=array)


def middle(path: str, key: bytes) -> bytes:
    with files.DecryptReader(path, key=key) as reader:
        return reader.pread(10, reader.seek(-10, 2))


def several(path: str, keys: list[bytes], age: palladion.Cipher) -> bytes:
    with files.open(path, "wb", recipients=[keys[0], "words", lambda key: age.seal(key)]) as new:
        new.write(b"text")
    files.decrypt_file(path, "back", key=(*keys, bytearray(32)), passphrase=["old", b"new"])
    with files.open(path, key=keys, slots=[lambda age_file: None, age.open]) as file:
        return file.read()


def mistakes(key: bytes) -> None:
    palladion.Cipher(key, "AEGIS-257")  # type: ignore[arg-type]
    palladion.Cipher(key, tag_size=12)  # type: ignore[arg-type]
    raf.open("disk.raf", "rt", key=key)  # type: ignore[arg-type]
    files.open("notes", chunk_sizes=1024)  # type: ignore[call-overload]


def any_mode(mode: str, path: bytes) -> tuple[str, int]:
    with files.open(path, mode, key_file=b"my.key") as file:
        return file.mode, file.tell()
