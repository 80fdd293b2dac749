"""Messages: buffers of all kinds, failures, threads."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import io
import mmap
import os
import pathlib
import pickle
import re
import subprocess
import sys
import threading
import time
from typing import Any, Callable

import palladion
import palladion.files
import palladion.raf
import pytest
from palladion import Cipher, VerificationError, columns

np = pytest.importorskip("numpy")

MESSAGE = bytes(range(200))


@pytest.mark.parametrize("size", [0, 5, 100, 1000])
def test_associated_data_where_the_result_goes(cipher: Cipher, size: int) -> None:
    nonce, message = bytes(cipher.nonce_size), (MESSAGE * 5)[:size]
    buffer = bytearray(MESSAGE * 6)
    view = memoryview(buffer)
    for start in (0, 3, cipher.nonce_size + 7):
        part = view[start : start + 20]
        ad = bytes(part)
        cipher.seal(message, part, into=view[: size + cipher.overhead])
        assert cipher.open(bytes(view[: size + cipher.overhead]), ad) == message
        part[:] = ad
        sealed = cipher.encrypt(nonce, message, ad)
        assert cipher.encrypt(nonce, message, part, into=view[: len(sealed)]) == sealed
        part[:] = ad
        assert cipher.decrypt(nonce, sealed, part, into=view[:size]) == message
        view[:size] = message
        ad = bytes(part)
        ciphertext, tag = cipher.encrypt_detached(nonce, message, ad)
        assert cipher.encrypt_in_place(nonce, view[:size], part) == tag
        assert view[:size] == ciphertext


def test_seal_and_open(cipher: Cipher, key: bytes, algorithm: str, tag_size: int) -> None:
    sealed = cipher.seal(MESSAGE, b"header")
    assert len(sealed) == len(MESSAGE) + cipher.overhead
    assert cipher.open(sealed, b"header") == MESSAGE
    assert cipher.seal(MESSAGE, b"header") != sealed
    size = cipher.nonce_size
    assert cipher.encrypt(sealed[:size], MESSAGE, b"header") == sealed[size:]
    options: Any = {"algorithm": algorithm, "tag_size": tag_size}
    assert palladion.open(key, sealed, b"header", **options) == MESSAGE
    assert cipher.open(palladion.seal(key, MESSAGE, **options)) == MESSAGE
    assert (cipher.algorithm, cipher.tag_size, cipher.key_size) == (algorithm, tag_size, len(key))
    assert repr(cipher) == f"<palladion.Cipher {algorithm}, tag_size={tag_size}>"


def buffers(content: bytes) -> list[Any]:
    mapped = mmap.mmap(-1, max(len(content), 1))
    mapped[: len(content)] = content
    return [
        content,
        bytearray(content),
        memoryview(content),
        memoryview(b"x" + content + b"x")[1:-1],
        array.array("B", content),
        np.frombuffer(content, dtype=np.uint8),
        np.frombuffer(content, dtype=np.uint32),
        np.frombuffer(content, dtype=np.uint16).reshape(2, -1),
        memoryview(mapped)[: len(content)],
    ]


def test_any_buffer(cipher: Cipher, nonce: bytes) -> None:
    expected = cipher.encrypt(nonce, MESSAGE, MESSAGE)
    for given_ in buffers(MESSAGE):
        assert cipher.encrypt(nonce, given_, given_) == expected
    for given_ in buffers(nonce):
        assert cipher.encrypt(given_, MESSAGE, MESSAGE) == expected
    for target in (
        bytearray(len(expected)),
        memoryview(bytearray(len(expected))),
        np.zeros(len(expected), dtype=np.uint8),
        np.zeros((2, len(expected) // 2), dtype=np.int8),
        array.array("B", bytes(len(expected))),
    ):
        assert cipher.encrypt(nonce, MESSAGE, MESSAGE, into=target) is target
        assert bytes(memoryview(target)) == expected


@pytest.mark.parametrize("wrong", ["text", 7, None, ["a"], object()])
def test_wrong_types(wrong: Any) -> None:
    key, nonce = bytes(32), bytes(32)
    cipher = Cipher(key)
    with pytest.raises(TypeError):
        Cipher(wrong)
    with pytest.raises(TypeError):
        cipher.encrypt(wrong, b"")
    with pytest.raises(TypeError):
        cipher.encrypt(nonce, wrong)
    with pytest.raises(TypeError):
        palladion.Mac(key).update(wrong)
    with pytest.raises(TypeError):
        cipher.seal_many([wrong])
    for messages, ads in (([b"", wrong], None), ([b"", b""], [None, 1])):
        with pytest.raises(TypeError, match="^message 1: " if ads is None else "^ad 1: "):
            cipher.seal_many(messages, ads)
    if wrong is not None:
        with pytest.raises(TypeError):
            cipher.encrypt(nonce, b"", wrong)
        with pytest.raises(TypeError):
            cipher.encrypt(nonce, b"", into=wrong)


def test_buffers_that_do_not_fit() -> None:
    cipher, nonce = Cipher(bytes(32)), bytes(32)
    with pytest.raises((ValueError, BufferError)):
        cipher.encrypt(nonce, np.zeros(100, dtype=np.uint8)[::2])
    with pytest.raises((ValueError, BufferError)):
        cipher.encrypt(nonce, b"", into=np.zeros(64, dtype=np.uint8)[::2])
    with pytest.raises((TypeError, BufferError)):
        cipher.encrypt(nonce, b"", into=bytes(32))  # type: ignore[call-overload]
    for size in (0, 31, 33):
        with pytest.raises(ValueError, match=f"into must have 32 bytes, but has {size}"):
            cipher.encrypt(nonce, b"", into=bytearray(size))
    buffer = bytearray(100)
    for into in (memoryview(buffer)[1:42], memoryview(buffer)[9:50]):
        with pytest.raises(ValueError, match="overlaps"):
            cipher.encrypt(nonce, memoryview(buffer)[10:19], into=into)
    for start in (0, 32):
        with pytest.raises(ValueError, match="overlaps"):
            cipher.seal(memoryview(buffer)[start : start + 4], into=memoryview(buffer)[:68])
    assert buffer == bytes(100)


def test_wrong_lengths(algorithm: str, nonce: bytes) -> None:
    size = len(nonce)
    cipher = Cipher(bytes(size), algorithm)
    for wrong in (0, size - 1, size + 1, 48 - size):
        for make in (Cipher, lambda key, name: palladion.Mac(key, algorithm=name)):
            with pytest.raises(ValueError, match=f"key must have {size} bytes, but has {wrong}"):
                make(bytes(wrong), algorithm)  # type: ignore[no-untyped-call]
        for call in (cipher.encrypt, cipher.decrypt, cipher.encrypt_detached, cipher.verify):
            with pytest.raises(ValueError, match=f"nonce must have {size} bytes, but has {wrong}"):
                call(bytes(wrong), bytes(64))  # type: ignore[operator]
    makers: list[Callable[[Any], Any]] = [
        lambda tag: Cipher(bytes(size), algorithm, tag_size=tag),
        lambda tag: palladion.Mac(bytes(size), algorithm=algorithm, digest_size=tag),
        lambda tag: palladion.mac(bytes(size), b"", algorithm=algorithm, digest_size=tag),
    ]
    for wrong in (0, 15, 17, 33):
        for make in makers:
            with pytest.raises(ValueError, match=f"tags have 16 or 32 bytes, not {wrong}"):
                make(wrong)
        with pytest.raises(VerificationError, match="failed: the tag must have 32 bytes"):
            cipher.decrypt_detached(nonce, b"", bytes(wrong))
    for least, work in (
        (32, lambda short: cipher.decrypt(nonce, short)),
        (32, lambda short: cipher.verify(nonce, short)),
        (cipher.overhead, cipher.open),
        (64, lambda short: palladion.open(bytes(32), short)),
    ):
        for length in (0, least - 1):
            message = f"at least {least} bytes, but has {length}"
            with pytest.raises(VerificationError, match=message):
                work(bytes(length))
    with pytest.raises(ValueError, match="unknown algorithm; expected one of AEGIS-128L"):
        Cipher(bytes(32), "AES")


def test_algorithms() -> None:
    assert [str(algorithm) for algorithm in palladion.Algorithm] == list(palladion.ALGORITHMS)
    for algorithm in palladion.Algorithm:
        assert Cipher(palladion.generate_key(algorithm), algorithm).algorithm == algorithm
    assert Cipher(bytes(16), "aegis-128l").algorithm == "AEGIS-128L"


def test_many(cipher: Cipher) -> None:
    messages = [os.urandom(i) for i in range(150)]
    ads: list[bytes | None] = [None if i % 3 == 0 else bytes([i]) for i in range(150)]
    sealed = cipher.seal_many(messages, ads)
    assert len({one[: cipher.nonce_size] for one in sealed}) == 150
    for message, ad, one in zip(messages, ads, sealed):
        assert cipher.open(one, ad) == message
    assert cipher.open_many(sealed, ads) == messages
    assert cipher.open_many(cipher.seal_many([])) == []
    for index in (0, 77, 149):
        changed = list(sealed)
        changed[index] = sealed[index][:-1] + bytes([sealed[index][-1] ^ 1])
        with pytest.raises(VerificationError, match=f"message {index}: .*tag_size") as raised:
            cipher.open_many(changed, ads)
        assert raised.value.index == index
    with pytest.raises(ValueError, match="ads must have 2 items"):
        cipher.seal_many([b"", b""], [b""])
    with pytest.raises(VerificationError, match="message 1: .*at least") as raised:
        cipher.open_many([sealed[0], b"short"])
    assert raised.value.index == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_process_has_nonces_of_its_own(cipher: Cipher) -> None:
    def nonces() -> list[bytes]:
        sealed = [*(cipher.seal(b"") for _ in range(70)), *cipher.seal_many([b""] * 70)]
        return [one[: cipher.nonce_size] for one in sealed]

    before = nonces()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, b"".join(nonces()))
        finally:
            os._exit(0)
    after = nonces()
    os.waitpid(child, 0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        theirs = pipe.read()
    assert len(theirs) == 140 * cipher.nonce_size
    size = cipher.nonce_size
    forked = [theirs[at : at + size] for at in range(0, len(theirs), size)]
    assert len({*before, *after, *forked}) == 3 * 140


def test_pieces_end_once(cipher: Cipher, nonce: bytes) -> None:
    encryptor = cipher.encryptor(nonce)
    encryptor.update(b"a")
    tag = encryptor.finalize()
    decryptor, unverified = cipher.decryptor(nonce), cipher.unverified_decryptor(nonce)
    wrong = bytes(len(tag))
    with pytest.raises(VerificationError):
        decryptor.finalize(wrong)
    with pytest.raises(VerificationError):
        unverified.verify(wrong)
    for call in (
        lambda: encryptor.update(b""),
        encryptor.finalize,
        lambda: decryptor.update(b""),
        lambda: decryptor.finalize(tag),
        lambda: unverified.update_unverified(b""),
        lambda: unverified.verify(tag),
    ):
        with pytest.raises(palladion.PalladionError, match="has ended"):
            call()
    # A tag of the wrong length does not end the message.
    decryptor = cipher.decryptor(nonce)
    with pytest.raises(VerificationError):
        decryptor.finalize(b"")
    decryptor.update(b"")


def test_mac_objects(algorithm: str, key: bytes) -> None:
    mac = palladion.Mac(key, b"some ", algorithm=algorithm, digest_size=16)
    fork = mac.copy()
    mac.update(b"data")
    assert mac.digest() == palladion.mac(key, b"some data", algorithm=algorithm, digest_size=16)
    assert mac.digest() == mac.digest() and bytes.fromhex(mac.hexdigest()) == mac.digest()
    assert fork.digest() == copy.copy(fork).digest() == copy.deepcopy(fork).digest() != mac.digest()
    mac.verify(mac.digest())
    with pytest.raises(VerificationError, match="the tag must have 16 bytes, but has 3"):
        mac.verify(b"tag")
    with pytest.raises(VerificationError, match="key, nonce or algorithm is wrong"):
        mac.verify(fork.digest())
    mac.reset()
    assert mac.digest() == palladion.mac(key, b"", algorithm=algorithm, digest_size=16)
    assert (mac.name, mac.digest_size, mac.algorithm) == (f"{algorithm}-MAC", 16, algorithm)
    other = palladion.Mac(key, algorithm=algorithm, nonce=b"\1" * len(key), digest_size=16)
    assert other.digest() != mac.digest()
    with pytest.raises(ValueError, match="the nonce must have"):
        palladion.Mac(key, algorithm=algorithm, nonce=b"")


def test_key_streams(algorithm: str, key: bytes, nonce: bytes) -> None:
    whole = palladion.KeyStream(key, nonce, algorithm=algorithm).read(10_000)
    stream = palladion.KeyStream(key, nonce, algorithm=algorithm)
    into = bytearray(3)
    assert stream.read(into=into) is into
    assert bytes(into) + stream.read(0) + stream.read(97) == whole[:100]
    data = os.urandom(9900)
    assert stream.xor(data) == bytes(a ^ b for a, b in zip(data, whole[100:]))
    in_place = bytearray(data)
    stream = palladion.KeyStream(key, nonce, algorithm=algorithm)
    stream.xor(in_place, into=in_place)
    assert in_place == bytes(a ^ b for a, b in zip(data, whole))
    # RFC 10032, section 7: the key stream is the encryption of zeros without associated data.
    cipher = Cipher(key, algorithm, tag_size=16)
    assert cipher.encrypt(nonce, bytes(10_000))[:-16] == whole
    with pytest.raises(ValueError, match="pass a size"):
        stream.read()  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="must not be negative, but is -1"):
        stream.read(-1)
    with pytest.raises(ValueError, match="into must have"):
        stream.read(4, into=into)


def test_secrets_are_not_shown() -> None:
    key = b"\x5a" * 32
    cipher = Cipher(key)
    for secret in (
        cipher,
        palladion.Mac(key),
        palladion.KeyStream(key),
        cipher.encryptor(bytes(32)),
    ):
        assert "5a5a" not in repr(secret) and "ZZ" not in repr(secret)
        with pytest.raises(TypeError):
            pickle.dumps(secret)


def test_threads(cipher: Cipher, nonce: bytes) -> None:
    message = os.urandom(1 << 18)
    expected = cipher.encrypt(nonce, message)
    mac = palladion.Mac(bytes(32), b"")
    encryptor = cipher.encryptor(nonce)
    failed: list[BaseException] = []
    pieces: list[bytes] = []

    def work() -> None:
        try:
            for _ in range(10):
                assert cipher.encrypt(nonce, message) == expected
                assert cipher.open(cipher.seal(message)) == message
                mac.update(bytes(1 << 17))
                pieces.append(encryptor.update(bytes(1 << 16)))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert mac.digest() == palladion.mac(bytes(32), bytes(80 << 17))
    # The pieces form one message, in whatever order the threads came.
    whole = cipher.encrypt(nonce, bytes(80 << 16))
    assert sorted(pieces) == sorted(whole[i << 16 : (i + 1) << 16] for i in range(80))
    assert encryptor.finalize() == whole[80 << 16 :]


class Owner(ctypes.Structure):
    _fields_ = [("Owner", ctypes.c_int), ("Zone", ctypes.c_double)]


class Pointing(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("text", ctypes.c_char_p)]


#: Buffers that hold addresses of their values.
ADDRESSES: list[Any] = [
    np.array([b"some", b"text", None, 7], object),
    np.array([b"text"] * 32, object)[:4],
    np.array(b"text", object),
    np.zeros((2, 2), object),
    np.zeros(0, object),
    np.zeros(2, [("number", "i8"), ("value", "O")]),
    np.zeros(2, [("date", "M8[s]"), ("value", "O")]),
    np.zeros(2, [("inner", [("value", "O")], (2,))]),
    np.zeros(2, [("number", "i8"), ("value", "O")])[["value"]][:1],
    memoryview(np.array([b"some", b"text"], object)),
    pickle.PickleBuffer(np.array([b"some", b"text"], object)),
    (ctypes.py_object * 2)(b"some", b"text"),
    (ctypes.c_char_p * 2)(b"some", b"text"),
    (ctypes.c_wchar_p * 2)("some", "text"),
    (ctypes.POINTER(ctypes.c_int) * 2)(),
    (ctypes.c_void_p * 2)(),
    (ctypes.CFUNCTYPE(None) * 2)(),
    Pointing(1, b"text"),
    (Pointing * 2)(),
]
if hasattr(np.dtypes, "StringDType"):
    ADDRESSES.append(np.array(["some", "text" * 100], np.dtypes.StringDType()))

#: Buffers of plain numbers, whatever they are called.
NUMBERS: list[Any] = [
    np.arange(5),
    np.arange(5, dtype=">i2"),
    np.arange(6, dtype="f4").reshape(2, 3),
    np.zeros(2, "c16"),
    np.zeros(2, "g"),
    np.zeros(2, "?"),
    np.zeros(2, "V5"),
    np.array([b"some", b"text"]),
    np.array(["some", "text"]),
    np.zeros(2, "M8[s]"),
    np.zeros(2, "m8[D]"),
    np.zeros(2, [("Owner", "i4"), ("PZ", "c16"), ("O", "u1"), ("date", "M8[s]")]),
    np.zeros(2, [("Owner", "i4"), ("PZ", "c16"), ("O", "u1")]),
    (Owner * 2)(),
    (ctypes.c_char * 8)(),
    (ctypes.c_wchar * 8)(),
    array.array("d", [1.0, 2.0]),
    memoryview(b"some text"),
]


@pytest.mark.parametrize("buffer", ADDRESSES)
def test_addresses_are_refused(buffer: Any, tmp_path: pathlib.Path) -> None:
    """Encrypting them would lose the values; decrypting to them would break the process."""
    key, nonce = bytes(32), bytes(32)
    cipher = Cipher(key)
    size = len(bytes(buffer)) if isinstance(buffer, ctypes.Array) else 32
    sealed = cipher.seal(bytes(size))
    out = io.BytesIO()
    disk = palladion.raf.open(io.BytesIO(), "w+b", key=key)
    disk.write(bytes(100))
    disk.seek(0)
    made = io.BytesIO()
    palladion.files.encrypt_file(io.BytesIO(bytes(1000)), made, key=key)
    made.seek(0)
    calls: list[Callable[[], object]] = [
        lambda: palladion.seal(key, buffer),
        lambda: palladion.seal(key, b"", buffer),
        lambda: palladion.seal(buffer, b""),
        lambda: palladion.open(key, buffer),
        lambda: palladion.open(key, sealed, buffer),
        lambda: Cipher(buffer),
        lambda: cipher.seal(buffer),
        lambda: cipher.seal(b"", buffer),
        lambda: cipher.seal(b"", into=buffer),
        lambda: cipher.open(buffer),
        lambda: cipher.open(sealed, buffer),
        lambda: cipher.open(sealed, into=buffer),
        lambda: cipher.encrypt(nonce, buffer),
        lambda: cipher.encrypt(buffer, b""),
        lambda: cipher.encrypt(nonce, b"", buffer),
        lambda: cipher.encrypt(nonce, b"", into=buffer),
        lambda: cipher.decrypt(nonce, buffer),
        lambda: cipher.encrypt_detached(nonce, buffer),
        lambda: cipher.encrypt_detached(nonce, b"", into=buffer),
        lambda: cipher.decrypt_detached(nonce, buffer, bytes(32)),
        lambda: cipher.decrypt_detached(nonce, b"", buffer),
        lambda: cipher.encrypt_in_place(nonce, buffer),
        lambda: cipher.decrypt_in_place(nonce, buffer, bytes(32)),
        lambda: cipher.verify(nonce, buffer),
        lambda: cipher.seal_many([buffer]),
        lambda: cipher.seal_many([b""], [buffer]),
        lambda: cipher.open_many([buffer]),
        lambda: cipher.encryptor(buffer),
        lambda: cipher.encryptor(nonce, buffer),
        lambda: cipher.encryptor(nonce).update(buffer),
        lambda: cipher.encryptor(nonce).update(bytes(size), into=buffer),
        lambda: cipher.decryptor(nonce).update(buffer),
        lambda: cipher.decryptor(nonce).finalize(buffer),
        lambda: cipher.unverified_decryptor(nonce).update_unverified(buffer),
        lambda: palladion.KeyStream(buffer),
        lambda: palladion.KeyStream(key, buffer),
        lambda: palladion.KeyStream(key).read(into=buffer),
        lambda: palladion.KeyStream(key).xor(buffer),
        lambda: palladion.mac(key, buffer),
        lambda: palladion.mac(buffer, b""),
        lambda: palladion.mac(key, b"", nonce=buffer),
        lambda: palladion.Mac(key, buffer),
        lambda: palladion.Mac(key).update(buffer),
        lambda: palladion.Mac(key).verify(buffer),
        lambda: palladion.files.encrypt_file(io.BytesIO(), out, key=buffer),
        lambda: palladion.files.encrypt_file(io.BytesIO(), out, passphrase=buffer),
        lambda: palladion.files.EncryptWriter(out, key=key).write(buffer),
        lambda: palladion.files.DecryptReader(made, key=key).readinto(buffer),
        lambda: palladion.files.save_key(tmp_path / "key", buffer),
        lambda: disk.write(buffer),
        lambda: disk.pwrite(buffer, 0),
        lambda: disk.readinto(buffer),
        lambda: disk.preadinto(buffer, 0),
        lambda: palladion.raf.open(io.BytesIO(), "w+b", key=buffer),
        lambda: palladion.raf.open(io.BytesIO(), "w+b", passphrase=buffer),
        lambda: palladion.raf.open(io.BytesIO(), "w+b", key=key, context=buffer),
        lambda: palladion.raf.derive_master_key(buffer),
        lambda: columns.encrypt([buffer], cipher),
        lambda: columns.encrypt([b""], cipher, [buffer]),
        lambda: columns.decrypt([buffer], cipher),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(TypeError) as raised:
            call()
        assert re.search("addresses|bytes, str or None", str(raised.value)), (number, raised.value)
    with palladion.files.open(tmp_path / "file", "wb", key=key) as file:
        with pytest.raises(TypeError, match="addresses"):
            file.write(buffer)
    made.seek(0)
    with palladion.files.open(made, key=key) as file:
        for read in (file.readinto, file.readinto1):
            with pytest.raises(TypeError, match="addresses"):
                read(buffer)
        assert file.read() == bytes(1000)
    assert disk.pread(100, 0) == bytes(100)


@pytest.mark.parametrize("buffer", NUMBERS)
def test_numbers_are_taken(buffer: Any) -> None:
    content = buffer.tobytes() if hasattr(buffer, "tobytes") else bytes(buffer)
    assert palladion.open(bytes(32), palladion.seal(bytes(32), buffer)) == content
    assert palladion.mac(bytes(32), buffer) == palladion.mac(bytes(32), content)


def test_others_run_meanwhile() -> None:
    """Long work releases the interpreter's lock: this thread runs while another one encrypts."""
    cipher, message = Cipher(bytes(32)), bytes(64 << 20)
    into = bytearray(len(message) + 32)
    span: list[float] = []

    def encrypt() -> None:
        span.append(time.perf_counter())
        cipher.encrypt(bytes(32), message, into=into)
        span.append(time.perf_counter())

    # A busy machine may make some rounds fail. If the lock were held, all would.
    for _ in range(20):
        span.clear()
        thread = threading.Thread(target=encrypt)
        thread.start()
        turns = []
        while thread.is_alive():
            turns.append(time.perf_counter())
            time.sleep(0.0005)
        thread.join()
        if sum(span[0] < turn < span[1] for turn in turns) > 3:
            return
    pytest.fail("nothing else ran while it encrypted")


def test_references_do_not_leak(cipher: Cipher, nonce: bytes) -> None:
    message, into, tag = bytearray(100), bytearray(200), bytearray(32)
    view = memoryview(into)[: 100 + cipher.tag_size]

    def calls() -> None:
        cipher.seal(message, message)
        cipher.encrypt(nonce, message, message, into=view)
        cipher.encrypt_in_place(nonce, message)
        cipher.encrypt_detached(nonce, message)
        for call in (
            lambda: cipher.decrypt(nonce, into),
            lambda: cipher.decrypt_in_place(nonce, bytearray(9), tag[: cipher.tag_size]),
            lambda: cipher.encrypt(nonce, message, into=message),
            lambda: cipher.encrypt(message, message),
            lambda: cipher.open_many([message, into]),
        ):
            with pytest.raises((ValueError, VerificationError)):
                call()
        encryptor = cipher.encryptor(nonce, message)
        encryptor.update(message, into=message)
        encryptor.finalize()
        cipher.seal_many([message, into], [None, message])

    calls()
    gc.collect()
    held = [message, into, view, nonce, tag]
    before = [sys.getrefcount(one) for one in held]
    for _ in range(50):
        calls()
    gc.collect()
    assert [sys.getrefcount(one) for one in held] == before
    # No buffer is still held: a bytearray could not grow then.
    message.append(0)
    view.release()
    into.append(0)


def test_memory_does_not_leak(cipher: Cipher, nonce: bytes) -> None:
    resource = pytest.importorskip("resource")
    big = bytes(1 << 20)

    def calls(times: int) -> int:
        for _ in range(times):
            sealed = cipher.seal(big)
            cipher.open(sealed)
            with pytest.raises(VerificationError):
                cipher.open(sealed, b"other")
            decryptor = cipher.decryptor(nonce)
            decryptor.update(big)
            palladion.Mac(bytes(32), big).copy().digest()
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = calls(10)
    assert calls(60) - before < 20 * 1024


def available_memory() -> int:
    """The available memory in bytes; 0 if the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            return next(
                int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")
            )
    except OSError:
        return 0


@pytest.mark.skipif(available_memory() < 8 << 30, reason="takes 5 GiB of memory")
def test_five_gibibytes() -> None:
    cipher, nonce = Cipher(bytes(32), tag_size=16), bytes(32)
    size = 5 << 30
    buffer = mmap.mmap(-1, size + 16)
    buffer[:5] = b"first"
    buffer[size - 4 : size] = b"last"
    message = memoryview(buffer)[:size]
    mac = palladion.mac(bytes(32), message)
    cipher.encrypt(nonce, message, into=memoryview(buffer))
    # The same in pieces.
    encryptor = cipher.encryptor(nonce)
    assert encryptor.update(b"first" + bytes(100)) == message[:105]
    cipher.decrypt(nonce, memoryview(buffer), into=message)
    assert buffer[:5] == b"first" and buffer[size - 4 : size] == b"last"
    assert palladion.mac(bytes(32), message) == mac
    message[size // 2] = 1
    with pytest.raises(VerificationError):
        cipher.decrypt(nonce, memoryview(buffer), into=message)
    message.release()


def test_a_backend_that_is_not_there() -> None:
    program = (
        "import palladion; print(palladion.open(bytes(32), palladion.seal(bytes(32), b'text')))"
    )
    for backend, message in (("portable", None), ("abacus", "RuntimeError: .*abacus")):
        result = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PALLADION_BACKEND": backend},
            capture_output=True,
            text=True,
            timeout=60,
        )
        if message is None:
            assert result.stdout == "b'text'\n", result.stderr
        else:
            assert result.returncode == 1 and re.search(message, result.stderr), result.stderr
