"""Encrypted files with random access: as files of io, with the command line, and failures."""

import errno
import gc
import hashlib
import io
import os
import random
import shutil
import subprocess
import threading
import weakref

import palladion
import pytest
from palladion import raf

KEY = bytes(range(32))
CHUNK = 1024
#: Sizes in a file with AEGIS-256X2 and the smallest chunks.
RECORD = 32 + CHUNK + 16
POSIX = os.name == "posix"
#: The program palladion, if it was built.
PROGRAM = os.environ.get("PALLADION_PROGRAM") or shutil.which("palladion")


def key_for(algorithm):
    return KEY[:16] if "128" in algorithm else KEY


class Memory:
    """A storage in memory that counts its calls and can be made to fail."""

    def __init__(self, data=b""):
        self.data = bytearray(data)
        self.calls = []
        self.failing = {}

    def _call(self, name):
        self.calls.append(name)
        if name in self.failing:
            raise self.failing[name]

    def read_at(self, buf, offset):
        self._call("read_at")
        if offset + len(buf) > len(self.data):
            raise EOFError("no more")
        buf[:] = self.data[offset : offset + len(buf)]

    def write_at(self, data, offset):
        self._call("write_at")
        self.data.extend(bytes(max(0, offset - len(self.data))))
        self.data[offset : offset + len(data)] = data

    def get_size(self):
        self._call("get_size")
        return len(self.data)

    def set_size(self, size):
        self._call("set_size")
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))

    def sync(self):
        self._call("sync")


def make(storage, contents=b"", **options):
    options = {"key": KEY, "chunk_size": CHUNK, **options}
    file = raf.open(storage, "w+b", **options)
    file.write(contents)
    return file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.raf"


# A file of io


@pytest.mark.parametrize("algorithm", palladion.ALGORITHMS)
def test_like_a_file_in_memory(algorithm):
    number, storage, model = random.Random(41), io.BytesIO(), io.BytesIO()
    options = {"key": key_for(algorithm), "merkle": True, "max_chunks": 64}
    file = make(storage, algorithm=algorithm, **options)
    for _ in range(400):
        size = number.choice([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, number.randrange(5000)])
        step = number.choice(
            [
                lambda file: file.read(size),
                lambda file: file.read(),
                lambda file: (file.readinto(into := bytearray(b"x" * size)), into),
                lambda file: file.write(bytes([size % 251]) * size),
                lambda file: file.seek(size),
                lambda file: file.seek(-min(size, file.tell()), 1),
                lambda file: file.seek(size, 2),
                # Bytes in memory do not grow.
                lambda file: file.truncate(min(size, len(model.getvalue()))),
                lambda file: file.truncate() if file.tell() < len(model.getvalue()) else None,
            ]
        )
        assert step(file) == step(model) and file.tell() == model.tell()
        assert file.size == len(model.getvalue())
        assert file.pread(size, 1000) == model.getvalue()[1000:][:size]
    commitment = file.commitment()
    file.close()
    with raf.open(storage, **options) as file:
        file.verify(commitment)
        assert file.read() == model.getvalue()


def test_modes(path):
    with pytest.raises(FileNotFoundError) as raised:
        raf.open(path, key=KEY)
    assert raised.value.filename == str(path)
    with pytest.raises(FileNotFoundError):
        raf.open(path, "r+b", key=KEY)
    with raf.open(path, "x+b", key=KEY) as file:
        assert (file.mode, file.name) == ("xb+", path)
        assert file.readable() and file.writable() and file.seekable()
        file.write(b"one")
    with pytest.raises(FileExistsError) as raised:
        raf.open(path, "xb", key=KEY)
    assert raised.value.errno == errno.EEXIST
    with raf.open(path, "ab", key=KEY) as file:
        assert file.tell() == 3
        file.seek(0)
        file.write(b" two")
        assert file.tell() == 7
        with pytest.raises(io.UnsupportedOperation):
            file.read()
        with pytest.raises(io.UnsupportedOperation):
            file.pread(1, 0)
    with raf.open(path, "rb", key=KEY) as file:
        assert file.read() == b"one two"
        for change in (
            lambda: file.write(b"x"),
            lambda: file.truncate(0),
            lambda: file.pwrite(b"x", 0),
        ):
            with pytest.raises(io.UnsupportedOperation) as raised:
                change()
            assert isinstance(raised.value, raf.ReadOnlyError)
    with raf.open(path, "wb", key=KEY) as file:
        assert file.size == 0 and not file.readable()
    with raf.open(path.with_suffix(".new"), "a+b", key=KEY) as file:
        file.write(b"new")
        assert file.pread(9, 0) == b"new"
    raf.open(path, "r", key=KEY).close()
    for mode in ("", "rw", "rt", "rbb", "+b", "b", "U", "r++"):
        with pytest.raises(ValueError):
            raf.open(path, mode, key=KEY)
    with pytest.raises(IsADirectoryError if POSIX else OSError):
        raf.open(path.parent, key=KEY)


def test_paths(path):
    make(os.fsencode(path), b"text").close()
    for name in (str(path), os.fsencode(path), path):
        with raf.open(name, key=KEY) as file:
            assert file.read() == b"text"
    with pytest.raises(TypeError):
        raf.open(5, key=KEY)


def test_buffered_and_text(path):
    with io.BufferedRandom(raf.open(path, "w+b", key=KEY, chunk_size=CHUNK)) as file:
        for i in range(1000):
            file.write(b"%d\n" % i)
        file.seek(3)
        assert file.readline() == b"\n" or file.readline()
        file.seek(0)
        assert sum(int(line) for line in file) == 499500
    with io.TextIOWrapper(raf.open(path, "r+b", key=KEY), encoding="utf-8") as file:
        assert file.readline() == "0\n"
        file.seek(0, 2)
        file.write("Ende: ä\n")
    with io.TextIOWrapper(io.BufferedReader(raf.open(path, key=KEY)), encoding="utf-8") as file:
        assert file.read().endswith("999\nEnde: ä\n")


def test_positions():
    file = make(io.BytesIO(), b"0123456789")
    assert file.seek(-3, 2) == 7 and file.read(99) == b"789" and file.read(1) == b""
    assert file.seek(100) == 100 and file.read() == b"" and file.tell() == 100
    for wrong in (
        lambda: file.seek(-1),
        lambda: file.seek(0, 3),
        lambda: file.truncate(-1),
        lambda: file.pread(-1, 0),
        lambda: file.pread(1, -1),
        lambda: file.preadinto(bytearray(1), -1),
        lambda: file.pwrite(b"", -1),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(OverflowError):
        file.pread(1, 1 << 64)
    with pytest.raises(raf.TooLargeError):
        file.pwrite(b"x", (1 << 64) - 1)
    assert file.pread(2, 0) == b"01"


def test_buffers():
    file = make(io.BytesIO())
    import array

    numbers = array.array("I", range(1000))
    assert file.write(numbers) == 4000 and file.tell() == 4000
    into = array.array("I", bytes(4000))
    assert file.preadinto(into, 0) == 4000 and into == numbers
    with pytest.raises(TypeError):
        file.write("text")
    with pytest.raises((TypeError, BufferError)):
        file.readinto(b"12")


def test_long_reads_and_writes(path):
    """Files that several threads process, in the file system and in storages."""
    contents = os.urandom(9_000_001)
    for storage in (path, Memory(), io.BytesIO()):
        with make(storage, chunk_size=65536, merkle=True) as file:
            file.write(contents)
            file.pwrite(contents[:3_000_000], 65536)
        expected = contents[:65536] + contents[:3_000_000] + contents[3_065_536:]
        with raf.open(storage, key=KEY) as file:
            assert file.pread(5_000_000, 1000) == expected[1000:5_001_000]
            assert file.readall() == expected
            file.verify()


def test_closed(path):
    file = make(path, b"text")
    file.close()
    file.close()
    assert file.closed
    for use in (
        file.read,
        file.readable,
        file.writable,
        file.seekable,
        file.tell,
        file.flush,
        file.sync,
        file.verify,
        file.commitment,
        file.__enter__,
        lambda: file.seek(0),
        lambda: file.write(b""),
        lambda: file.truncate(0),
        lambda: file.size,
        lambda: file.info,
        lambda: file.pread(1, 0),
        lambda: file.pwrite(b"", 0),
        lambda: file.readinto(bytearray(1)),
    ):
        with pytest.raises(ValueError):
            use()
    assert "closed" in repr(file)
    # The storage belongs to the caller and stays open.
    storage = io.BytesIO()
    make(storage, b"text").close()
    assert not storage.closed


def test_circles_of_references_are_found():
    class Holder(Memory):
        pass

    class Hasher(Sha512):
        pass

    storage, hasher = Holder(), Hasher()
    seen = [weakref.ref(storage), weakref.ref(hasher)]
    storage.file = hasher.file = raf.open(storage, "w+b", key=KEY, merkle=hasher, max_chunks=4)
    storage.file.write(b"text")
    gc.collect()
    assert storage.file.pread(4, 0) == b"text"
    del storage, hasher
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_info_and_probe(path):
    with make(path, b"x" * 2500, key=KEY[:16], algorithm=palladion.Algorithm.AEGIS_128X4) as file:
        info = file.info
    assert info == raf.Info("AEGIS-128X4", 1024, 2500, info.file_id)
    assert len(info.file_id) == 24 and info.chunks == 3
    assert raf.probe(path) == info
    with open(path, "rb") as plain:
        assert raf.probe(plain) == info
        assert raf.probe(Memory(path.read_bytes())) == info
    make(path, key=KEY[:16], algorithm="AEGIS-128X4").close()
    assert raf.probe(path).file_id != info.file_id and raf.probe(path).chunks == 0


@pytest.mark.parametrize("algorithm", palladion.ALGORITHMS)
def test_file_objects(algorithm, path):
    """An open plain file is a storage too."""
    with open(path, "w+b") as plain:
        with make(plain, b"x" * 5000, key=key_for(algorithm), algorithm=algorithm) as file:
            file.truncate(100)
            file.sync()
        assert os.path.getsize(path) == 64 + 1024 + len(key_for(algorithm)) + 16
        with raf.open(plain, key=key_for(algorithm)) as file:
            assert file.read() == b"x" * 100


# Keys


def test_keys(path):
    with pytest.raises(raf.KeyLengthError) as raised:
        make(path, key=KEY[:16])
    assert (raised.value.expected, raised.value.actual) == (32, 16)
    assert isinstance(raised.value, ValueError) and not path.exists()
    with pytest.raises(raf.ChunkSizeError) as raised:
        make(path, chunk_size=1000)
    assert raised.value.chunk_size == 1000 and not path.exists()
    with pytest.raises(ValueError):
        make(path, algorithm="AES")
    make(path, b"text").close()
    with pytest.raises(raf.WrongKeyError) as raised:
        raf.open(path, key=KEY[::-1])
    assert isinstance(raised.value, palladion.VerificationError)
    with pytest.raises(raf.KeyLengthError):
        raf.open(path, key=b"")
    for secrets in ({}, {"key": KEY, "passphrase": "x"}, {"key": KEY, "key_file": "x"}):
        with pytest.raises(TypeError):
            raf.open(path, **secrets)
    with pytest.raises(TypeError):
        raf.open(path, key="x" * 32)


def test_derived_keys(path):
    derived = raf.derive_master_key(KEY, "docs/a.txt")
    assert raf.derive_master_key(bytearray(KEY), b"docs/a.txt") == derived
    assert raf.derive_master_key(KEY) != derived
    make(path, b"text", context="docs/a.txt").close()
    with raf.open(path, key=derived) as file:
        assert file.read() == b"text"
    with pytest.raises(raf.ContextLengthError) as raised:
        raf.derive_master_key(KEY, bytes(73))
    assert (raised.value.max, raised.value.actual) == (72, 73)
    with pytest.raises(raf.KeyLengthError):
        raf.derive_master_key(bytes(20))


def write_key_file(path):
    path.write_text(f"# a key\npalladion-key-1:{KEY.hex()}\n")
    path.chmod(0o600)


@pytest.mark.parametrize("algorithm", ["AEGIS-128L", "AEGIS-256X2"])
def test_key_files(path, tmp_path, algorithm):
    key_file = tmp_path / "my.key"
    write_key_file(key_file)
    make(path, b"text", key=None, key_file=key_file, algorithm=algorithm).close()
    purpose = "palladion raf AEGIS-" + algorithm[6:9]
    with raf.open(path, key=raf.derive_master_key(KEY, purpose)[: len(key_for(algorithm))]) as file:
        assert file.read() == b"text"
    with raf.open(path, key_file=os.fsencode(key_file)) as file:
        assert file.read() == b"text"
    with pytest.raises(FileNotFoundError) as raised:
        raf.open(path, key_file=tmp_path / "none.key")
    assert raised.value.filename == str(tmp_path / "none.key")
    with pytest.raises(ValueError, match="not a Palladion key"):
        raf.open(path, key_file=path)


def test_passphrases(path):
    make(path, b"text", key=None, passphrase="correct horse").close()
    with raf.open(path, passphrase=b"correct horse") as file:
        assert file.read() == b"text"
    with pytest.raises(raf.WrongKeyError):
        raf.open(path, passphrase="battery staple")
    with pytest.raises(ValueError, match="an identity is not a passphrase"):
        make(path.with_suffix(".new"), b"", key=None, passphrase="AGE-SECRET-KEY-1").close()


@pytest.mark.skipif(
    PROGRAM is None, reason="the command line is not there: PALLADION_PROGRAM says where it is"
)
def test_command_line(path, tmp_path):
    """The package and the program read each other's files."""

    def command(*arguments):
        command = [PROGRAM, "raf", *map(str, arguments)]
        return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout

    key_file, raw, phrase = (tmp_path / name for name in ("my.key", "raw.key", "phrase"))
    write_key_file(key_file)
    raw.write_bytes(KEY)
    phrase.write_text("correct horse\n")
    raw.chmod(0o600), phrase.chmod(0o600)
    for theirs, ours in [
        (("-k", key_file), {"key_file": key_file}),
        (("--raw-key", raw), {"key": KEY}),
        (("-k", key_file, "--context", "a b"), {"key_file": key_file, "context": "a b"}),
        (("--passphrase-file", phrase), {"passphrase": "correct horse"}),
    ]:
        with raf.open(path, "w+b", **ours, merkle=True) as file:
            file.write(b"ours" * 50_000)
            commitment = file.commitment()
        assert command("cat", *theirs, path) == b"ours" * 50_000
        command("verify", *theirs, "--expect", commitment.hex(), path)
        path.unlink()
        command("import", *theirs, __file__, path)
        with raf.open(path, **ours) as file, open(__file__, "rb") as plain:
            assert file.read() == plain.read()


# Failures


def test_damage(path):
    make(path, b"x" * 5000).close()
    data = bytearray(path.read_bytes())
    for chunk in (1, 3):
        data[64 + chunk * RECORD + 100] ^= 1
    path.write_bytes(data)
    into = bytearray(b"y" * 3000)
    with raf.open(path, "r+b", key=KEY) as file:
        file.seek(CHUNK)
        for work in (
            lambda: file.read(10),
            lambda: file.preadinto(into, 0),
            lambda: file.pwrite(b"z", CHUNK),
            file.verify,
        ):
            with pytest.raises(raf.DamagedChunkError) as raised:
                work()
            assert raised.value.index == 1 and isinstance(raised.value, palladion.VerificationError)
        assert file.tell() == CHUNK and into == bytes(3000)
        assert file.damaged_chunks() == [1, 3]
        # The whole chunk can be written again.
        assert file.pwrite(b"z" * CHUNK, CHUNK) == CHUNK
        assert file.damaged_chunks() == [3]


def test_headers(path):
    make(path, b"x" * 5000).close()
    data = path.read_bytes()
    for contents, error, values in (
        (b"", raf.NotRafError, {}),
        (data[:40], raf.TruncatedError, {"expected": 64, "actual": 40}),
        (data[:-1], raf.TruncatedError, {"expected": len(data), "actual": len(data) - 1}),
        (data[:10] + b"\x09" + data[11:], raf.UnsupportedRafError, {"value": 9}),
        (data[:16] + b"\x01" + data[17:], raf.WrongKeyError, {}),
    ):
        path.write_bytes(contents)
        for storage in (path, Memory(contents)):
            with pytest.raises(raf.RafError) as raised:
                raf.open(storage, key=KEY)
            assert type(raised.value) is error
            assert {name: getattr(raised.value, name) for name in values} == values


def test_truncated_under_our_hands():
    """A missing chunk is a damaged chunk."""
    for storage, truncate in ((Memory(), Memory.set_size), (io.BytesIO(), io.BytesIO.truncate)):
        with make(storage, b"x" * 5000) as file:
            truncate(storage, 64 + RECORD)
            with pytest.raises(raf.DamagedChunkError) as raised:
                file.pread(10, 3000)
            assert raised.value.index == 2


@pytest.mark.skipif(not POSIX, reason="locks are for POSIX here")
def test_locks(path):
    with make(path, b"text"):
        for mode in ("rb", "r+b", "w+b", "a+b"):
            with pytest.raises(BlockingIOError) as raised:
                raf.open(path, mode, key=KEY)
            assert raised.value.filename == str(path)
        assert raf.probe(path).size == 4
    with raf.open(path, key=KEY) as one, raf.open(path, key=KEY) as two:
        assert one.read() == two.read() == b"text"
        with pytest.raises(BlockingIOError):
            raf.open(path, "w+b", key=KEY)
    with raf.open(path, key=KEY) as file:
        assert file.read() == b"text"


@pytest.mark.skipif(not POSIX, reason="what is locked cannot be read there")
def test_beside_a_writer(path):
    with make(path, b"x" * 5000) as writer:
        with raf.open(path, key=KEY, beside_writer=True) as reader:
            assert reader.read() == b"x" * 5000
            writer.truncate(100)
            assert reader.size == 5000 and reader.refresh() == reader.size == 100
            with pytest.raises(raf.ReadOnlyError):
                reader.pwrite(b"x", 0)
    for mode in ("r+b", "w+b", "x+b", "a+b", "wb"):
        with pytest.raises(ValueError):
            raf.open(path, mode, key=KEY, beside_writer=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_read_in_a_forked_process(path):
    """The position of the file is not the system's, so the two do not disturb each other."""
    with make(path, bytes(range(200)) * 100) as file:
        file.seek(1000)
        child = os.fork()
        if child == 0:
            right = True
            for i in range(200):
                right &= file.pread(100, i * 90) == (bytes(range(200)) * 100)[i * 90 :][:100]
            right &= file.tell() == 1000 and file.read(5) == bytes(range(5))
            # The parent goes on writing, so the child may not.
            for change in (lambda: file.write(b"x"), lambda: file.truncate(5)):
                try:
                    change()
                    right = False
                except raf.RafError as error:
                    right &= "forked" in str(error)
            file.close()
            os._exit(0 if right else 1)
        for i in range(200):
            assert file.pread(100, i * 50) == (bytes(range(200)) * 100)[i * 50 :][:100]
        assert os.waitpid(child, 0)[1] == 0
        assert file.read(5) == bytes(range(5))
        with pytest.raises(BlockingIOError):  # the child has not given up the lock
            raf.open(path, key=KEY)
        file.write(b"x")


def test_left_in_every_way(path):
    """Nothing is buffered: what was written is there, however the file is left."""
    with pytest.raises(KeyError), make(path, b"one"):
        raise KeyError
    file = raf.open(path, "a+b", key=KEY)
    file.write(b"two")
    del file
    gc.collect()
    with raf.open(path, key=KEY) as file:
        assert file.read() == b"onetwo"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_what_has_no_positions(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path / "fifo"), "/dev/null"):
        for use in (raf.probe, *(lambda p, m=m: raf.open(p, m, key=KEY) for m in ("rb", "w+b"))):
            with pytest.raises(OSError, match="expected a regular file") as raised:
                use(path)
            assert raised.value.errno == errno.ESPIPE and raised.value.filename == path


def test_a_file_that_appends(path):
    with io.open(path, "a+b") as beneath, pytest.raises(OSError, match="open for appending"):
        raf.open(beneath, "w+b", key=KEY)
    path.unlink()
    raf.open(path, "w+b", key=KEY).close()
    with io.open(path, "a+b") as beneath, raf.open(beneath, "r+b", key=KEY) as file:
        with pytest.raises(OSError, match="open for appending"):
            file.write(b"a")


def test_what_storages_raise():
    class Odd(Exception):
        pass

    for name, use in {
        "read_at": lambda file: file.pread(1, 0),
        "write_at": lambda file: file.pwrite(b"x", 0),
        "set_size": lambda file: file.truncate(9000),
        "sync": lambda file: file.sync(),
    }.items():
        for error in (Odd("odd"), KeyboardInterrupt(), OSError(errno.ENOSPC, "full")):
            storage = Memory()
            with make(storage, b"x" * 5000) as file:
                storage.failing = {name: error}
                with pytest.raises(type(error)) as raised:
                    use(file)
                assert raised.value is error
                storage.failing = {}
                assert file.pread(1, 0) == b"x"
                assert file.size == 5000
                if name == "sync":
                    with pytest.raises(raf.SyncFailedError):
                        use(file)
    storage = Memory(b"x" * 99)
    storage.failing = {"read_at": Odd("odd")}
    for use in (raf.probe, lambda storage: raf.open(storage, key=KEY)):
        with pytest.raises(Odd):
            use(storage)


def test_storages_that_do_other_things():
    class Short(Memory):
        def read_at(self, buf, offset):
            del buf[1:]

    class Negative(Memory):
        def get_size(self):
            return -1

    data = Memory()
    make(data, b"x").close()
    with pytest.raises(ValueError):
        raf.open(Short(data.data), key=KEY)
    with pytest.raises(OverflowError):
        raf.open(Negative(data.data), key=KEY)

    class Back(Memory):
        file = None

        def read_at(self, buf, offset):
            super().read_at(buf, offset)
            if self.file is not None:
                self.file.pread(1, 0)

    storage = Back()
    with make(storage, b"x" * 10) as file:
        storage.file = file
        with pytest.raises(RuntimeError):
            file.pread(1, 0)
        file.seek(0)
        with pytest.raises(RuntimeError):
            file.read(1)
        storage.file = None
        assert file.pread(1, 0) == b"x"


def test_barriers():
    storage = Memory()
    with make(storage, b"x" * 5000) as file:
        file.set_barriers()
        storage.calls.clear()
        file.truncate(1000)
        assert "sync" in storage.calls
        file.set_barriers(False)
        storage.calls.clear()
        file.truncate(100)
        file.flush()
        assert "sync" not in storage.calls


def test_exists():
    storage = Memory(b"something")
    with pytest.raises(raf.ExistsError) as raised:
        raf.open(storage, "x+b", key=KEY)
    assert isinstance(raised.value, FileExistsError) and storage.data == b"something"
    with raf.open(storage, "w+b", key=KEY) as file:
        file.write(b"x")
    with raf.open(storage, "a+b", key=KEY) as file:
        file.write(b"y")
        assert file.pread(9, 0) == b"xy"
    with raf.open(Memory(), "a+b", key=KEY) as file:
        assert file.size == 0


# Merkle trees


class Sha512:
    """A caller's hash function."""

    hash_len = 64

    def _hash(self, *parts):
        return hashlib.sha512(repr(parts).encode()).digest()

    def hash_leaf(self, chunk, chunk_len, chunk_idx):
        assert len(chunk) == chunk_len
        return self._hash("leaf", chunk, chunk_idx)

    def hash_parent(self, left, right, level, node_idx):
        return self._hash("parent", left, right, level, node_idx)

    def hash_empty(self, level, node_idx):
        return self._hash("empty", level, node_idx)

    def hash_commitment(self, structural_root, ctx, file_size):
        assert len(ctx) == 32
        return self._hash("root", structural_root, ctx, file_size)


@pytest.mark.parametrize("merkle", [True, Sha512()])
def test_merkle(merkle):
    storage, options = Memory(), {"merkle": merkle, "max_chunks": 8}
    with make(storage, b"x" * 5000, **options) as file:
        first, old = file.commitment(), bytes(storage.data)
        assert len(first) == (32 if merkle is True else 64)
        file.pwrite(b"y", 3000)
        second = file.commitment()
        assert second != first
        file.verify_tree()
        # Restore an older version of a chunk.
        storage.data[64 + 2 * RECORD : 64 + 3 * RECORD] = old[64 + 2 * RECORD : 64 + 3 * RECORD]
        file.verify()
        with pytest.raises(raf.TreeMismatchError) as raised:
            file.verify_tree()
        assert raised.value.chunk == 2 and isinstance(raised.value, palladion.VerificationError)
        with pytest.raises(raf.TreeMismatchError):
            file.verify(second)
        file.rebuild_tree()
        assert file.commitment() != second
        with pytest.raises(raf.TreeFullError) as raised:
            file.truncate(8 * CHUNK + 1)
        assert raised.value.max_chunks == 8
    with raf.open(Memory(old), key=KEY, **options) as file:
        assert file.commitment() == first
        file.verify(first)
    for size, error in ((4, raf.TreeFullError), (1 << 62, raf.TreeSizeError)):
        with pytest.raises(error):
            raf.open(Memory(old), key=KEY, merkle=merkle, max_chunks=size)
    with raf.open(Memory(old), key=KEY) as file:
        uses = file.commitment, file.verify_tree, file.rebuild_tree, lambda: file.verify(first)
        for use in uses:
            with pytest.raises(raf.NoTreeError):
                use()


def test_merkle_hashers_that_fail():
    class Wrong(Sha512):
        def hash_leaf(self, chunk, chunk_len, chunk_idx):
            return b"short"

    with make(Memory(), merkle=Wrong(), max_chunks=8) as file, pytest.raises(ValueError):
        file.write(b"x")

    class Raising(Sha512):
        def hash_leaf(self, chunk, chunk_len, chunk_idx):
            raise KeyError("leaf")

    with make(Memory(), merkle=Raising(), max_chunks=8) as file:
        with pytest.raises(KeyError):
            file.write(b"x")
        with pytest.raises(raf.PoisonedError):
            file.commitment()

    class Long(Sha512):
        hash_len = 65

    with pytest.raises(raf.HashLengthError):
        make(Memory(), merkle=Long(), max_chunks=8)


# Threads and processes


@pytest.mark.parametrize("in_memory", [False, True])
def test_threads(path, in_memory):
    count, length = 8, 3000
    with make(Memory() if in_memory else path, bytes(count * length)) as file:
        failures = []

        def work(number):
            try:
                for i in range(20):
                    text = bytes([number, i]) * (length // 2)
                    file.pwrite(text, number * length)
                    assert file.pread(length, number * length) == text
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        file.verify()
        # Threads that share the position write one after another.
        file.seek(0)
        threads = [threading.Thread(target=file.write, args=(b"0123456789",)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert file.pread(10 * count, 0) == b"0123456789" * count


def test_close_while_others_read(path):
    with make(path, bytes(200_000)) as file:
        seen = []

        def work():
            try:
                while True:
                    file.pread(100_000, 5)
            except ValueError as error:
                seen.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        file.close()
        for thread in threads:
            thread.join(20)
        assert len(seen) == 3
