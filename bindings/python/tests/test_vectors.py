"""The project's vectors, which come from a reference that was written from the standard's pseudocode."""

from __future__ import annotations

import palladion
from conftest import VECTORS, fill


def unhex(text: str) -> bytes:
    return b"" if text == "-" else bytes.fromhex(text)


def test_vectors(algorithm: str) -> None:
    key = nonce = ciphertext = ad = b""
    seed, counts = 0, {"tag": 0, "mac": 0, "stream": 0}
    for line in (VECTORS / f"{algorithm.lower()}.txt").read_text().splitlines():
        kind, *words = line.split()
        if kind == "variant":
            assert words[0] == algorithm
            seed = int(words[3])
        elif kind == "key":
            key = unhex(words[0])
        elif kind == "nonce":
            nonce = unhex(words[0])
        elif kind in ("stream", "stream0"):
            stream = palladion.KeyStream(key, nonce if kind == "stream" else None, algorithm=algorithm)
            expected = unhex(words[0])
            assert stream.read(5) + stream.read(len(expected) - 5) == expected
            counts["stream"] += 1
        elif kind == "aead":
            ad, ciphertext = fill(seed + 120, int(words[0])), unhex(words[1])
        elif kind == "tag":
            message = fill(seed + 180, int(words[0]))
            for tag in map(unhex, words[1:]):
                sealed = ciphertext[: len(message)] + tag
                cipher = palladion.Cipher(key, algorithm, tag_size=len(tag))
                assert cipher.encrypt(nonce, message, ad) == sealed
                assert cipher.decrypt(nonce, sealed, ad) == message
                assert cipher.encrypt_detached(nonce, message, ad) == (sealed[: len(message)], tag)
                encryptor = cipher.encryptor(nonce, ad)
                third = len(message) // 3
                pieces = encryptor.update(message[:third]) + encryptor.update(message[third:])
                assert pieces + encryptor.finalize() == sealed
                counts["tag"] += 1
        elif kind == "mac":
            data = fill(seed + 180, int(words[0]))
            for tag in map(unhex, words[1:]):
                options = {"algorithm": algorithm, "nonce": nonce, "digest_size": len(tag)}
                assert palladion.mac(key, data, **options) == tag
                mac = palladion.Mac(key, data[:1], **options)
                mac.update(data[1:])
                assert mac.digest() == tag
                counts["mac"] += 1
    assert counts["tag"] > 100 and counts["mac"] > 100 and counts["stream"] == 2


def test_the_rfc() -> None:
    """RFC 10032, appendix A.2.2 (AEGIS-128L) and A.3.2 (AEGIS-256), test vector 1."""
    nonce = bytes.fromhex("10000200000000000000000000000000")
    key = bytes.fromhex("10010000000000000000000000000000")
    cipher = palladion.Cipher(key, "AEGIS-128L", tag_size=16)
    sealed = cipher.encrypt(nonce, bytes(16))
    assert sealed.hex() == "c1c0e58bd913006feba00f4b3cc3594eabe0ece80c24868a226a35d16bdae37a"
    nonce, key = nonce + bytes(16), key + bytes(16)
    sealed = palladion.Cipher(key, "AEGIS-256", tag_size=16).encrypt(nonce, bytes(16))
    assert sealed.hex() == "754fc3d8c973246dcc6d741412a4b2363fe91994768b332ed7f570a19ec5896e"
