"""Encrypted files: round trips, failures, and the command line."""

from __future__ import annotations

import io
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import palladion
import palladion.compat.pyaegis as pyaegis
import pytest
from palladion import files, raf

KEY = bytes(range(32))
CHEAP = (64, 1, 1)
#: The program palladion, if it was built.
PROGRAM = os.environ.get("PALLADION_PROGRAM") or shutil.which("palladion")


def text(size: int) -> bytes:
    return palladion.KeyStream(bytes(32)).read(size)


def sealed(content: bytes, **options: Any) -> bytes:
    out = io.BytesIO()
    options.setdefault("key", KEY)
    assert files.encrypt_file(io.BytesIO(content), out, **options) == len(content)
    return out.getvalue()


def opened(content: bytes, **options: Any) -> bytes:
    out = io.BytesIO()
    options.setdefault("key", KEY)
    files.decrypt_file(io.BytesIO(content), out, **options)
    return out.getvalue()


def test_round_trips(tmp_path: pathlib.Path, algorithm: str) -> None:
    source, target, back = (tmp_path / name for name in ("source", "target", "back"))
    options: dict[str, Any] = {"key": KEY, "overwrite": True}
    for size in (0, 1024, 100_000):
        content, done = text(size), list[int]()
        source.write_bytes(content)
        new = {**options, "algorithm": algorithm, "chunk_size": 1024, "progress": done.append}
        assert files.encrypt_file(source, target, **new) == size
        assert done[-1] == size and done == sorted(done)
        assert target.stat().st_size == 128 + size + 36 * max(1, -(-size // 1024))
        assert files.decrypt_file(target, str(back), threads=1, **options) == size
        assert back.read_bytes() == opened(target.read_bytes()) == content
        with files.open(target, key=KEY) as file:
            assert file.read() == content
    assert sorted(os.listdir(tmp_path)) == ["back", "source", "target"]


def test_pieces(tmp_path: pathlib.Path) -> None:
    content, path = text(50_000), tmp_path / "file"
    with files.open(path, "wb", key=KEY, chunk_size=1024) as file:
        for start in range(0, len(content), 777):
            assert file.write(content[start : start + 777]) == len(content[start : start + 777])
        assert not path.exists()
    with files.open(path, "rb", key=KEY) as file:
        assert file.readable() and file.seekable() and not file.writable()
        assert b"".join(iter(lambda: file.read(999), b"")) == content
        for read in (file.read, file.read1, file.raw.read):  # type: ignore[attr-defined]
            file.seek(49_990)
            assert read(1 << 40) == content[49_990:]
    for encoding in ("utf-8", "utf-16", "utf-32"):
        with files.open(path, "wt", key=KEY, encoding=encoding, newline="\n") as lines:
            lines.write("Grüße\nund mehr\n")
        with files.open(path, "rt", key=KEY, encoding=encoding) as lines:
            assert list(lines) == ["Grüße\n", "und mehr\n"]
    with pytest.raises(FileExistsError, match="overwrite"):
        files.open(path, "xb", key=KEY)
    for mode in ("a", "r+b", "rbt", "", "wbx"):
        with pytest.raises(ValueError, match="mode"):
            files.open(path, mode, key=KEY)
    with pytest.raises(ValueError, match="need a text mode"):
        files.open(path, "rb", key=KEY, encoding="utf-8")
    assert os.listdir(tmp_path) == ["file"]


def test_names_modes_and_positions(tmp_path: pathlib.Path) -> None:
    """The same as those of the files that io opens."""
    content, path = text(3_000_000), tmp_path / "file"
    for mode in ("wb", "xb", "wt", "xt", "rb", "rt", "r"):
        if mode[0] == "x":
            path.unlink()
        with files.open(path, mode, key=KEY) as file:
            assert (file.name, file.mode) == (path, mode if len(mode) == 2 else "rb")
    with files.open(path, "wb", key=KEY, chunk_size=1024) as file:
        for end in (0, 10, 5000, 2_500_000, 2_500_001, len(content)):
            file.write(content[file.tell() : end])
            assert file.tell() == end
            if end == 5000:
                file.flush()
    with files.open(path, key=KEY) as file:
        for size in (0, 10, 5000, 2_500_000, -1):
            start = file.tell()
            assert file.read(size) == content[start : file.tell()]
        assert file.tell() == len(content)
    with pytest.raises(ValueError, match="closed"):
        file.tell()
    # A file object's name is that of the one below, if there is one.
    with io.open(path, "rb") as below, files.open(below, key=KEY) as file:
        assert file.name == below.name
    writer = files.EncryptWriter(io.BytesIO(), key=KEY)
    assert not hasattr(writer, "name") and writer.mode == "wb" and writer.tell() == 0
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.tell()


def test_passphrases() -> None:
    made = sealed(b"text", key=None, passphrase="Grüße", kdf=CHEAP)
    assert opened(made, key=None, passphrase="Grüße") == b"text"
    assert opened(made, key=None, passphrase="Grüße".encode()) == b"text"
    assert not files.needs_passphrase(io.BytesIO(sealed(b"")))
    source = io.BytesIO(b"before" + made)
    source.seek(6)
    assert files.needs_passphrase(source) and source.tell() == 6
    with pytest.raises(files.WrongPassphraseError, match="capitals") as raised:
        opened(made, key=None, passphrase="grüße")
    assert raised.value.hint and isinstance(raised.value, palladion.VerificationError)
    with pytest.raises(TypeError, match="pass key"):
        opened(made, key=None)
    with pytest.raises(ValueError, match="32 bytes, but has 16"):
        opened(made, key=bytes(16))
    with pytest.raises(ValueError, match="power of two"):
        sealed(b"", chunk_size=1025)


def test_costs_that_the_caller_allows(tmp_path: pathlib.Path) -> None:
    """Like --max-kdf-memory of the command: any costs, with the work of four passes."""
    path = tmp_path / "file"
    path.write_bytes(sealed(b"text", key=None, kdf=(64, 17, 1), passphrase="x"))

    def read(limit: int | None) -> bytes:
        with files.open(path, passphrase="x", max_kdf_memory=limit) as file:
            return file.read()

    for work in (read, lambda limit: opened(path.read_bytes(), **secret, max_kdf_memory=limit)):
        secret: dict[str, Any] = {"key": None, "passphrase": "x"}
        for limit in (None, 271):
            with pytest.raises(files.TooCostlyError):
                work(limit)
        assert work(272) == b"text"  # 64 * 17 = 272 * 4
        for wrong in (-1, 1 << 32):
            with pytest.raises(ValueError, match=f"max_kdf_memory must be .*, not {wrong}"):
                work(wrong)
    for kdf in (65536, (64, 1), (-1, 1, 1), (64, 0, 1), (8, 1, 2)):
        with pytest.raises((TypeError, ValueError), match="kdf must be"):
            sealed(b"text", key=None, kdf=kdf, passphrase="x")


def test_errors_name_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "some file"
    content = bytearray(sealed(text(3000), chunk_size=1024))
    content[1500] ^= 1
    path.write_bytes(content)
    with open(path, "rb") as below:
        for work in (
            lambda: files.open(path, key=KEY).read(),
            lambda: files.open(os.fsencode(path), key=KEY).read(),
            lambda: files.open(below, key=KEY).read(),
            lambda: files.open(path, key=bytes(32)),
            lambda: files.decrypt_file(path, io.BytesIO(), key=KEY),
            lambda: files.decrypt_file(below, io.BytesIO(), key=KEY),
        ):
            below.seek(0)
            with pytest.raises(files.FileError, match="some file") as raised:
                work()
            assert raised.value.filename == str(path)
    with pytest.raises(files.FileError) as raised:
        opened(bytes(content))
    assert raised.value.filename is None and str(raised.value).endswith(")")
    for missing in (
        lambda: files.open(tmp_path / "none", key=KEY),
        lambda: files.DecryptReader(tmp_path / "none", key=KEY),
        lambda: files.open(tmp_path, key=KEY),
    ):
        with pytest.raises(OSError) as failed:
            missing()
        assert failed.value.filename in (str(tmp_path / "none"), str(tmp_path))


@pytest.mark.skipif(
    sys.platform != "linux", reason="nowhere else can memory be taken away so simply"
)
def test_too_little_memory() -> None:
    program = """
        import io, resource
        import palladion
        from palladion import files

        cipher = palladion.Cipher(bytes(32))
        piece = bytes(1 << 24)
        with open("/proc/self/statm") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (150 << 20), resource.RLIM_INFINITY))
        for kdf in ((64, 1, 1), (1 << 20, 1, 1)):
            try:
                files.encrypt_file(
                    io.BytesIO(b""), io.BytesIO(), passphrase="x", kdf=kdf, threads=1
                )
                print("it went well")
            except MemoryError as error:
                print(f"MemoryError: {error}")
        decryptor = cipher.decryptor(palladion.generate_nonce())
        try:
            for n in range(64):
                decryptor.update(piece)
        except MemoryError as error:
            print(f"MemoryError: {error}" if n > 1 else f"after {n} pieces: {error}")
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert result.stdout.splitlines() == [
        "it went well",
        "MemoryError: not enough memory for the passphrase",
        "MemoryError: not enough memory for the message",
    ]


def test_paths(tmp_path: pathlib.Path) -> None:
    """test_output.py has what is refused."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"text")
    target.write_bytes(b"old")
    with pytest.raises(FileExistsError):
        files.encrypt_file(source, target, key=KEY)
    with pytest.raises(files.NotPalladionError):
        files.decrypt_file(source, target, key=KEY, overwrite=True)
    assert target.read_bytes() == b"old" and len(os.listdir(tmp_path)) == 2
    names = [os.fsencode(tmp_path / name) for name in ("source", "target", "key")]
    files.save_key(names[2], KEY)
    files.encrypt_file(names[0], names[1], key_file=names[2], overwrite=True)
    files.decrypt_file(names[1], names[0], key_file=names[2], overwrite=True)
    with files.open(names[1], key=files.load_key(names[2])) as file:
        assert file.read() == b"text" and not files.needs_passphrase(names[1])
    if os.name != "nt":
        target.chmod(0o640)
        files.encrypt_file(source, target, key=KEY, overwrite=True)
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        source.chmod(0o600)
        files.encrypt_file(source, tmp_path / "new", key=KEY)
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_key_files(tmp_path: pathlib.Path) -> None:
    path, key = tmp_path / "my.key", palladion.generate_key()
    files.save_key(path, key)
    assert files.load_key(path) == key
    assert path.read_text().startswith(f"palladion-key-1:{key.hex()}\n# check: ")
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        files.save_key(path, key)
    files.save_key(path, KEY, overwrite=True)
    assert files.load_key(path) == KEY
    text = path.read_text()
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert files.load_key(path) == KEY
    for wrong, message in {
        b"": "no line begins",
        b"palladion-key-1:00": "64 hexadecimal digits",
        b"ssh-rsa": "not a Palladion key",
        text.encode("utf-16"): "save it as UTF-8",
        b"# " + bytes(100_000): "longer than 64 KiB",
    }.items():
        path.write_bytes(wrong)
        for use in (
            lambda: files.load_key(path),
            lambda: files.encrypt_file(path, tmp_path / "new", key_file=path),
            lambda: raf.open(tmp_path / "new", "w+b", key_file=path),
        ):
            with pytest.raises(ValueError, match=message) as raised:
                use()
            assert str(raised.value).startswith(f"{path}: ")
    assert os.listdir(tmp_path) == ["my.key"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_key_files_of_others(tmp_path: pathlib.Path) -> None:
    """As with the command, other users must not have access."""
    path, target = tmp_path / "my.key", tmp_path / "new"
    files.save_key(path, KEY)
    for mode, what in ((0o644, "read"), (0o622, "change"), (0o666, "read and change")):
        path.chmod(mode)
        for use in (
            lambda: files.load_key(path),
            lambda: files.encrypt_file(path, target, key_file=path),
            lambda: files.open(target, "wb", key_file=path),
            lambda: raf.open(target, "w+b", key_file=path),
        ):
            with pytest.raises(PermissionError, match=f"can {what} the .*chmod 600") as raised:
                use()
            assert raised.value.filename == str(path)
        with open(path, "rb") as file:
            assert files.load_key(f"/dev/fd/{file.fileno()}") == KEY
    for mode in (0o600, 0o400, 0o444):  # the last as services get them
        path.chmod(mode)
        assert files.load_key(path) == KEY
    assert os.listdir(tmp_path) == ["my.key"]


def test_key_file_instead_of_key(tmp_path: pathlib.Path) -> None:
    path, plain, sealed = (str(tmp_path / name) for name in ("my.key", "plain", "sealed"))
    files.save_key(path, KEY)
    pathlib.Path(plain).write_bytes(b"text")
    files.encrypt_file(plain, sealed, key_file=path)
    back = io.BytesIO()
    files.decrypt_file(sealed, back, key_file=path)
    with files.open(sealed, key=KEY) as file:
        assert file.read() == back.getvalue() == b"text"
    with files.open(sealed, "wb", key_file=path) as file:
        file.write(b"more")
    with files.open(sealed, "rt", key_file=path) as file:
        assert file.read() == "more"
    beneath = io.BytesIO()
    with files.EncryptWriter(beneath, key_file=path) as writer:
        writer.write(b"pieces")
    beneath.seek(0)
    assert files.DecryptReader(beneath, key_file=path).read() == b"pieces"
    with pytest.raises(FileNotFoundError, match="none.key"):
        files.decrypt_file(sealed, back, key_file=tmp_path / "none.key")
    with pytest.raises(TypeError, match="pass exactly one of key"):
        files.encrypt_file(plain, tmp_path / "new", key=KEY, key_file=path)
    assert sorted(os.listdir(tmp_path)) == ["my.key", "plain", "sealed"]


def test_several_secrets(tmp_path: pathlib.Path) -> None:
    old, new, other = (palladion.generate_key() for _ in range(3))
    path, old_file, new_file = tmp_path / "file", tmp_path / "old.key", tmp_path / "new.key"
    files.save_key(old_file, old)
    files.save_key(new_file, new)
    made = sealed(b"text", key=old)
    path.write_bytes(made)
    of_passphrase = sealed(b"text", key=None, passphrase="old", kdf=CHEAP)
    secrets: list[dict[str, Any]] = [
        {"key": [new, old]},
        {"key": (bytearray(old), new)},
        {"key_file": [new_file, str(old_file)]},
        {"key": new, "key_file": old_file, "passphrase": "x"},
    ]
    for each in secrets:
        assert opened(made, **{"key": None, **each}) == b"text"
        assert files.DecryptReader(io.BytesIO(made), **each).read() == b"text"
        with files.open(path, "rt", **each) as file:
            assert file.read() == "text"
    for passphrases in ("old", ["new", b"old"]):
        assert opened(of_passphrase, key=[new, old], passphrase=passphrases) == b"text"
    with pytest.raises(files.WrongKeyError, match="the other keys"):
        opened(made, key=[new, other])
    with pytest.raises(files.NeedsKeyError):
        opened(made, key=None, passphrase=["new", "old"])
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"key": []}, ValueError, "list key is empty"),
        ({"key": [new, None]}, TypeError, r"key\[1\]: .*NoneType"),
        ({"key": [new, bytes(16)]}, ValueError, r"key\[1\]: .*32 bytes, but has 16"),
        ({"passphrase": ["new", 5]}, TypeError, r"passphrase\[1\]: .*a str or bytes: .*int"),
        ({"key_file": [new_file, tmp_path / "none"]}, FileNotFoundError, "none"),
        ({"key_file": [new_file, 5]}, TypeError, "int"),
    ]
    for options, kind, message in wrong:
        with pytest.raises(kind, match=message):
            files.open(path, **options)
    # A new file has one secret, even if a list has only one.
    lists: list[dict[str, Any]] = [{"key": [new]}, {"key_file": (new_file, old_file)}]
    for options in (*lists, {"key": new, "passphrase": "x"}):
        with pytest.raises(TypeError, match="exactly one"):
            files.open(tmp_path / "new", "wb", **options)
        with pytest.raises(TypeError, match="exactly one"):
            files.EncryptWriter(io.BytesIO(), **options)
        with pytest.raises(TypeError, match="exactly one"):
            files.encrypt_file(path, tmp_path / "new", **options)
    # No key file is overwritten.
    for target in (old_file, new_file):
        with pytest.raises(ValueError, match="key file and target are the same"):
            files.decrypt_file(path, target, key_file=[new_file, old_file], overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["file", "new.key", "old.key"]


class Age:
    """Stands for age: a recipient and an identity."""

    def __init__(self) -> None:
        self.cipher, self.threads = palladion.Cipher(palladion.generate_key()), set[int]()

    def encrypt(self, key: bytes) -> bytes:
        self.threads.add(threading.get_ident())
        assert len(key) == 32
        return b"age-encryption.org/v1\n" + self.cipher.seal(key)

    def decrypt(self, age_file: bytes) -> bytes | None:
        self.threads.add(threading.get_ident())
        try:
            return self.cipher.open(age_file[22:])
        except palladion.VerificationError:
            return None


def test_bind(tmp_path: pathlib.Path) -> None:
    content, path = text(3000), tmp_path / "file"
    writes: dict[str, Any]
    reads: dict[str, Any]
    for writes, reads in (
        ({"key": KEY}, {"key": KEY}),
        ({"passphrase": "x", "kdf": CHEAP}, {"passphrase": ["y", "x"]}),
        ({"recipients": [KEY, "x"], "kdf": CHEAP}, {"key": KEY, "slots": True}),
    ):
        writes, reads = {"key": None, **writes}, {"key": None, **reads}
        made = sealed(content, bind="naïve/1", chunk_size=1024, **writes)
        with files.open(path, "wb", bind="naïve/1", **writes) as file:
            file.write(content)
        for place in ("naïve/1", b"na\xc3\xafve/1", bytearray(b"na\xc3\xafve/1")):
            for each in (made, path.read_bytes()):
                assert opened(each, bind=place, **reads) == content
            with files.DecryptReader(path, bind=place, **reads) as reader:
                assert reader.pread(10, 2000) == content[2000:2010]
        for each, bind, error, hint in (
            (made, "naïve/2", files.WrongPlaceError, "mistyped"),
            (made, None, files.BoundError, "pass the same bind"),
            (sealed(content, **writes), "naïve/1", files.NotBoundError, "without bind"),
        ):
            with pytest.raises(error, match="bound to a") as raised:
                opened(each, bind=bind, **reads)
            assert hint in raised.value.hint
            path.write_bytes(each)
            with pytest.raises(error) as raised:
                files.open(path, bind=bind, **reads)
            assert raised.value.filename == str(path)
    # Swapped.
    one, two = tmp_path / "1", tmp_path / "2"
    for name in (one, two):
        files.encrypt_file(io.BytesIO(content), name, key=KEY, bind=os.fsencode(name))
    one.rename(path)
    two.rename(one)
    path.rename(two)
    for name in (one, two):
        with pytest.raises(palladion.VerificationError, match="moved, renamed or swapped"):
            files.decrypt_file(name, io.BytesIO(), key=KEY, bind=os.fsencode(name))


def test_a_long_bind() -> None:
    """The file of docs/file-format.md whose place is the longest."""
    file = bytes.fromhex(
        "89504c440d0a1a0a0105001450000000808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c"
        "9d9e9f000000000000000000000000c56965deeea2b3bd6d2581d581d7423154bb6eb864ca775e41ed4b1da07e"
        "192db3cdf4c7cf5ba41102c36d5c312cd8192327e8e18ff4fa06bb9ad3fbc0b63eaa8f947fd012000080d707f9"
        "5d4ff5057d4f200137d441ed1f2fe126bc725ef37dbbb04188b50c2724f724ff374008a67b5beada6736fd08b6"
        "caf7"
    )
    place = bytes(i % 251 for i in range(300_000))
    assert opened(file, key=KEY, bind=place) == b"Hello, Palladion!\n"
    for other in (place[1:], place[:-1], place[:65536]):
        with pytest.raises(files.WrongPlaceError):
            opened(file, key=KEY, bind=other)
    for size in (1, 65536, 65537, 1 << 20):
        made = sealed(b"text", key=KEY, bind=bytes(size))
        assert opened(made, key=KEY, bind=bytes(size)) == b"text"
        with pytest.raises(files.WrongPlaceError):
            opened(made, key=KEY, bind=bytes(size + 1))


@pytest.mark.parametrize("secret", [{"key": KEY}, {"recipients": [KEY]}])
def test_no_bind(secret: dict[str, Any], tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    for bind, error, message in (
        ("", ValueError, "bind is empty"),
        (b"", ValueError, "bind is empty"),
        (5, TypeError, "bind must be a str or bytes: .*int"),
        (["a"], TypeError, "bind must be a str or bytes: .*list"),
        (tmp_path, TypeError, "bind must be a str or bytes: .*Path"),
        (True, TypeError, "bind must be a str or bytes: .*bool"),
        ("\udc80", ValueError, "bind has a surrogate.* pass it as bytes"),
    ):
        with pytest.raises(error, match=message):
            files.open(path, "wb", **secret, bind=bind)
        with pytest.raises(error, match=message):
            files.EncryptWriter(io.BytesIO(), **secret, bind=bind)
        with pytest.raises(error, match=message):
            files.encrypt_file(io.BytesIO(), path, **secret, bind=bind)
        for read in (files.DecryptReader, files.open):
            with pytest.raises(error, match=message):
                read(io.BytesIO(), key=KEY, bind=bind)
        with pytest.raises(error, match=message):
            files.decrypt_file(io.BytesIO(), path, key=KEY, bind=bind)
    assert not path.exists()


def test_key_slots(tmp_path: pathlib.Path) -> None:
    one, two, other = (palladion.generate_key() for _ in range(3))
    ours, theirs, content, path = Age(), Age(), text(5000), tmp_path / "file"
    options: dict[str, Any] = {
        "key": None,
        "recipients": [one, bytearray(two), "words", ours.encrypt],
        "kdf": CHEAP,
        "chunk_size": 1024,
    }
    with files.open(path, "wb", **options) as file:
        file.write(content)
    opens: list[dict[str, Any]] = [
        {"key": two, "slots": True},
        {"key": [other, one], "slots": True},
        {"passphrase": ["x", "words"], "slots": True},
        {"slots": ours.decrypt},
        {"slots": [theirs.decrypt, ours.decrypt], "key": other},
    ]
    for made in (sealed(content, **options), path.read_bytes()):
        for each in opens:
            assert opened(made, **{"key": None, **each}) == content
            with files.open(io.BytesIO(made), **each) as file:
                assert file.seek(3000) == 3000 and file.read() == content[3000:]
        # Readers open slots only if asked.
        with pytest.raises(files.UnsupportedError, match="slots=True"):
            opened(made, key=one)
        for each in ({"key": other, "slots": True}, {"key": None, "slots": theirs.decrypt}):
            with pytest.raises(files.NoSlotError, match="other secrets"):
                opened(made, **each)
        damaged = bytearray(made)
        damaged[-1] ^= 1
        with pytest.warns(RuntimeWarning, match="second copy .* is damaged"):
            assert opened(damaged, key=one, slots=True) == content
    # Functions are called by the thread that called.
    assert ours.threads | theirs.threads == {threading.get_ident()}
    # Files without slots open all the same.
    assert opened(sealed(content, key=one), key=one, slots=True) == content
    with pytest.raises(files.FileError, match="no key slots"):
        opened(sealed(content, key=one), key=None, slots=ours.decrypt)

    def fails(_: bytes) -> bytes:
        raise LookupError("no token")

    def stops(_: bytes) -> bytes:
        raise KeyboardInterrupt

    made = path.read_bytes()
    assert opened(made, key=None, slots=[fails, ours.decrypt]) == content
    for function, error, message in (
        (fails, LookupError, "no token"),
        (lambda _: b"short", ValueError, "expected 32 bytes"),
        (lambda _: 5, TypeError, "bytes-like"),
        (stops, KeyboardInterrupt, None),
    ):
        with pytest.raises(error, match=message):
            opened(made, key=None, slots=function)
        with pytest.raises(error, match=message):
            files.DecryptReader(path, slots=function)
    with pytest.raises(KeyboardInterrupt):
        opened(made, key=None, passphrase="words", slots=stops)
    new: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"recipients": [fails]}, LookupError, "no token"),
        ({"recipients": [one, lambda _: None]}, ValueError, "expected an age file"),
        ({"recipients": [lambda _: b"-----BEGIN AGE"]}, ValueError, "without armour"),
        ({"recipients": [lambda _: b"age-encryption.org/v1\n" * 3000]}, ValueError, "65535"),
        ({"recipients": [one, bytes(16)]}, ValueError, r"recipients\[1\]: .*32 bytes"),
        ({"recipients": [one, 5]}, TypeError, r"recipients\[1\]: "),
        ({"key": "my.key"}, TypeError, "pass the name of a key file as key_file"),
        ({"recipients": []}, ValueError, "list recipients is empty"),
        ({"recipients": ["x\n"]}, ValueError, "line break"),
        ({"recipients": ["age1ql3z7"]}, ValueError, r"a recipient is not .*\[lambda key: pyrage"),
        ({"recipients": [one, "AGE-SECRET-KEY-1"]}, ValueError, "an identity is not a passphrase"),
        ({"passphrase": b"ssh-rsa AAAA"}, ValueError, "a recipient is not a passphrase"),
        ({"passphrase": "palladion-key-1:00"}, ValueError, "a key is not .*files.load_key"),
        ({"recipients": ["x"] * 9}, ValueError, "at most 8"),
        ({"recipients": [one], "key": two}, TypeError, "not both"),
        ({"key": one, "slots": True}, TypeError, "recipients="),
    ]
    for each, kind, message in new:
        with pytest.raises(kind, match=message):
            files.open(tmp_path / "new", "wb", kdf=CHEAP, **each)
    with pytest.raises(TypeError, match="for a new file"):
        files.open(path, recipients=[one])
    with pytest.raises(TypeError, match="slots must be True, a function"):
        files.open(path, key=one, slots="yes")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(
    PROGRAM is None, reason="the command line is not there: PALLADION_PROGRAM says where it is"
)
def test_the_command_line(tmp_path: pathlib.Path) -> None:
    assert PROGRAM
    content = text(3_000_000)
    (tmp_path / "in").write_bytes(content)

    def run(*arguments: str) -> None:
        subprocess.run([PROGRAM, *arguments], cwd=tmp_path, check=True)

    run("keygen", "-o", "key")
    key = files.load_key(tmp_path / "key")
    run("encrypt", "-k", "key", "-o", "theirs", "in")
    with files.open(tmp_path / "theirs", key=key) as file:
        assert file.read() == content
    files.save_key(tmp_path / "ours.key", KEY)
    files.encrypt_file(
        tmp_path / "in", tmp_path / "ours", key=KEY, algorithm="AEGIS-128X4", chunk_size=4096
    )
    run("decrypt", "-k", "ours.key", "-o", "back", "ours")
    assert (tmp_path / "back").read_bytes() == content


def test_ctrl_c_stops_it(tmp_path: pathlib.Path) -> None:
    if os.name == "nt":
        pytest.skip("signals of POSIX")
    program = textwrap.dedent(
        """
        import signal, sys, palladion.files
        signal.signal(signal.SIGINT, signal.default_int_handler)
        class Endless:
            def read(self, size): return bytes(size)
        def told(n):
            if n == 5 << 20: print("working", flush=True)
        try:
            palladion.files.encrypt_file(Endless(), sys.argv[1], key=bytes(32), progress=told)
        except KeyboardInterrupt:
            print("stopped")
        """
    )
    target = tmp_path / "target"
    command = [sys.executable, "-c", program, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        timer = threading.Timer(30, process.kill)
        timer.start()
        assert process.stdout.read() == "stopped\n" and process.wait() == 0
        timer.cancel()
    assert os.listdir(tmp_path) == []


def test_threads_share_a_writer() -> None:
    out = io.BytesIO()
    writer = files.EncryptWriter(out, key=KEY, chunk_size=1024)

    def write(i: int) -> None:
        for _ in range(50):
            assert writer.write(bytes([i]) * 100) == 100

    threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    content = opened(out.getvalue())
    # Each write is in one piece, in whatever order they came.
    found = sorted(content[i : i + 100] for i in range(0, len(content), 100))
    assert found == [bytes([i]) * 100 for i in range(4) for _ in range(50)]


# Secrets


def written(file: Any, target: io.BytesIO, secret: dict[str, Any]) -> bytes:
    with file:
        file.write(b"text")
    return opened(target.getvalue(), **{"key": None, **secret})


def on_disk(wipe: Callable[[], None], secret: Any, **options: Any) -> Any:
    fsspec = pytest.importorskip("fsspec", minversion="2025.10")
    costs = list(CHEAP)
    fs = fsspec.filesystem("palladion", target_protocol="memory", kdf=costs, **options, **secret)
    wipe()
    costs[0] = 0
    fs.pipe_file("secret", b"text")
    return opened(fs.fs.cat_file("secret"), **{"key": None, **TRUE[[*secret][0]]})


def raf_file(wipe: Callable[[], None], secret: Any, **options: Any) -> bytes:
    store = io.BytesIO()
    file = raf.open(store, "w+b", **secret, **options)
    wipe()
    with file:
        file.write(b"text")
    with raf.open(store, **TRUE[[*secret][0]], **{name: KEY for name in options}) as again:
        return again.read()


def stream(make: Callable[..., Any]) -> Callable[..., bytes]:
    def work(wipe: Callable[[], None], secret: dict[str, Any]) -> bytes:
        target = io.BytesIO()
        file = make(target, kdf=CHEAP, **secret)
        wipe()
        return written(file, target, TRUE[[*secret][0]])

    return work


def used(make: Callable[[Any], Any], use: Callable[[Any], bytes]) -> Callable[..., bytes]:
    def work(wipe: Callable[[], None], secret: dict[str, Any]) -> bytes:
        made = make(secret["key"])
        wipe()
        return use(made)

    return work


TRUE: dict[str, dict[str, Any]] = {"key": {"key": KEY}, "passphrase": {"passphrase": KEY}}
KEEPERS: list[tuple[str, Callable[..., bytes]]] = [
    ("key", used(palladion.Cipher, lambda cipher: cipher.encrypt(KEY, b"text"))),
    ("key", used(lambda key: palladion.Cipher(KEY).encryptor(key), lambda e: e.update(b"text"))),
    ("key", used(palladion.Mac, lambda mac: mac.digest())),
    ("key", used(lambda key: palladion.Mac(KEY, nonce=key), lambda mac: mac.digest())),
    ("key", used(palladion.KeyStream, lambda stream: stream.read(9))),
    ("key", used(lambda key: pyaegis.AegisMac256(key, KEY), lambda mac: mac.final())),
    ("key", used(lambda key: pyaegis.AegisStreamEncrypt256(key, KEY), lambda e: e.final()[1])),
    *[
        (kind, work)
        for kind in ("key", "passphrase")
        for work in (
            stream(files.EncryptWriter),
            stream(lambda target, **options: files.open(target, "wb", **options)),
            on_disk,
            raf_file,
        )
    ],
    ("key", lambda wipe, secret: raf_file(wipe, secret, context=secret["key"])),
]


@pytest.mark.parametrize("kind,work", KEEPERS)
def test_secrets_are_copied(kind: str, work: Callable[..., bytes]) -> None:
    """A caller may wipe its buffer as soon as something has been made with it."""
    secret = bytearray(KEY)
    result = work(lambda: secret.__setitem__(slice(None), bytes(32)), {kind: secret})
    assert secret == bytes(32) and result == work(lambda: None, {kind: bytearray(KEY)})
