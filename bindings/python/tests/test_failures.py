"""File objects that fail, files that are not finished, and exceptions that travel."""

from __future__ import annotations

import copy
import errno
import gc
import importlib
import importlib.util
import inspect
import io
import os
import pathlib
import pickle
import pkgutil
import shutil
import subprocess
import sys
import textwrap
import threading
import warnings
import weakref
from typing import Any, Callable

import palladion
import pytest
from palladion import files, raf

KEY = bytes(range(32))
CHUNK = 1024
TEXT = palladion.KeyStream(bytes(32)).read(5 * CHUNK + 7)


def sealed(content: bytes = TEXT) -> bytes:
    out = io.BytesIO()
    files.encrypt_file(io.BytesIO(content), out, key=KEY, chunk_size=CHUNK)
    return out.getvalue()


def is_complete(content: bytes) -> bool:
    """Whether it is an encrypted file with an end."""
    try:
        files.decrypt_file(io.BytesIO(content), io.BytesIO(), key=KEY)
    except files.FileError:
        return False
    return True


# File objects that fail


class Odd(Exception):
    pass


class Faulty(io.RawIOBase):
    """A file in memory. One call of one method does something else."""

    def __init__(self, method: str, call: int, fault: Any, content: bytes = b"") -> None:
        self.inner = io.BytesIO(content)
        self.method, self.left, self.fault = method, call, fault

    def _due(self, method: str) -> bool:
        if method != self.method:
            return False
        self.left -= 1
        return self.left == -1

    def _failed(self, size: int) -> Any:
        if isinstance(self.fault, BaseException):
            raise self.fault
        return self.fault(size) if callable(self.fault) else self.fault

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, data: Any) -> Any:
        return self._failed(len(data)) if self._due("write") else self.inner.write(data)

    def read(self, size: int = -1) -> Any:
        return self._failed(size) if self._due("read") else self.inner.read(size)

    def readinto(self, buffer: Any) -> Any:
        data = self.read(len(buffer))
        if isinstance(data, bytes):
            buffer[: len(data)] = data
            return len(data)
        return data

    def flush(self) -> None:
        if self.method == "flush" and self._due("flush"):
            self._failed(0)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.inner.seek(offset, whence)

    def tell(self) -> int:
        return self.inner.tell()

    def truncate(self, size: int | None = None) -> int:
        return self.inner.truncate(size)


#: What a write may do, and what comes out.
WRITE_FAULTS: dict[str, tuple[Any, type[BaseException]]] = {
    "raises": (Odd("odd"), Odd),
    "interrupted by Ctrl-C": (KeyboardInterrupt(), KeyboardInterrupt),
    "disk is full": (OSError(28, "full"), OSError),
    "None": (None, BlockingIOError),
    "0": (0, OSError),
    "too many": (lambda size: size + 1, OSError),
    "negative": (-1, OSError),
    "huge": (1 << 70, OSError),
    "no number": ("5", TypeError),
}
READ_FAULTS: dict[str, tuple[Any, type[BaseException]]] = {
    "raises": (Odd("odd"), Odd),
    "None": (None, BlockingIOError),
    "too many": (lambda size: bytes(size + 1), OSError),
    "text": ("text", TypeError),
    "a number": (5, TypeError),
}


def whole(target: Any) -> None:
    files.encrypt_file(io.BytesIO(TEXT), target, key=KEY, chunk_size=CHUNK)


def decrypted(target: Any) -> None:
    files.decrypt_file(io.BytesIO(sealed()), target, key=KEY)


def pieces(target: Any) -> None:
    with files.EncryptWriter(target, key=KEY, chunk_size=CHUNK) as writer:
        for start in range(0, len(TEXT), 100):
            writer.write(TEXT[start : start + 100])


def opened(target: Any) -> None:
    with files.open(target, "wb", key=KEY, chunk_size=CHUNK) as file:
        file.write(TEXT)


def opened_as_text(target: Any) -> None:
    with files.open(
        target, "wt", key=KEY, chunk_size=CHUNK, encoding="latin-1", newline="\n"
    ) as file:
        file.write(TEXT.decode("latin-1"))


def buffered(target: Any) -> None:
    with io.BufferedWriter(files.EncryptWriter(target, key=KEY, chunk_size=CHUNK)) as file:
        file.write(TEXT)


def with_random_access(target: Any) -> None:
    with raf.open(target, "w+b", key=KEY, chunk_size=CHUNK) as file:
        file.write(TEXT)
        file.sync()


WRITERS = [whole, decrypted, pieces, opened, opened_as_text, buffered, with_random_access]


def contents(writer: Callable[[Any], None], stored: bytes) -> bytes:
    """What can be read from what a writer stored."""
    if writer is decrypted:
        return stored
    if writer is with_random_access:
        with raf.open(io.BytesIO(stored), key=KEY) as file:
            return file.read()
    out = io.BytesIO()
    files.decrypt_file(io.BytesIO(stored), out, key=KEY)
    return out.getvalue()


@pytest.mark.parametrize("fault", WRITE_FAULTS)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_fault_at_every_write(writer: Callable[[Any], None], fault: str) -> None:
    result, error = WRITE_FAULTS[fault]
    for call in range(1000):
        target = Faulty("write", call, result)
        try:
            writer(target)
        except BaseException as raised:
            # io adds the error of close() to that of the write.
            assert isinstance(raised, error) or isinstance(raised.__context__, error), repr(raised)
            stored = target.inner.getvalue()
            if writer is decrypted:
                assert stored == TEXT[: len(stored)]
            elif writer is not with_random_access:
                assert not is_complete(stored), f"call {call}"
            continue
        assert target.left >= 0, f"nothing was raised for write {call}"
        assert contents(writer, target.inner.getvalue()) == TEXT
        assert call > 3
        return
    raise AssertionError("it never ends")


@pytest.mark.parametrize("writer", [w for w in WRITERS if w is not with_random_access])
def test_a_fault_at_every_flush(writer: Callable[[Any], None]) -> None:
    target = Faulty("flush", 0, Odd("odd"))
    with pytest.raises(Odd):
        writer(target)


#: What the write() of a program's own class may return. Only raw files must return a count.
RETURNS: dict[str, Callable[[io.BytesIO, Any], Any]] = {
    "a part": lambda inner, data: inner.write(data[: max(1, len(data) // 3)]),
    "nothing": lambda inner, data: inner.write(data) and None,
    # As the count 1, it would write nearly everything many times.
    "True": lambda inner, data: inner.write(data) >= 0,
    "False": lambda inner, data: inner.write(data) < 0,
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("returns", RETURNS)
def test_what_own_classes_return(writer: Callable[[Any], None], returns: str) -> None:
    class Own:
        def __init__(self) -> None:
            inner = self.inner = io.BytesIO()
            self.read, self.seek, self.tell = inner.read, inner.seek, inner.tell
            self.truncate = inner.truncate

        def write(self, data: Any) -> Any:
            return RETURNS[returns](self.inner, data)

    target = Own()
    if returns in ("True", "False"):
        with pytest.raises(OSError, match=f"returned {returns}, expected a number"):
            writer(target)
    else:
        writer(target)
        assert contents(writer, target.inner.getvalue()) == TEXT


def test_text_files_are_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xff" * 1000)
    for works in (
        lambda file: files.encrypt_file(file, io.BytesIO(), key=KEY),
        lambda file: files.encrypt_file(io.BytesIO(TEXT), file, key=KEY),
        lambda file: files.decrypt_file(file, io.BytesIO(), key=KEY),
        lambda file: files.open(file, key=KEY),
        lambda file: files.open(file, "wb", key=KEY),
        lambda file: files.needs_passphrase(file),
        lambda file: raf.open(file, key=KEY),
        lambda file: raf.open(file, "w+b", key=KEY),
    ):
        with io.open(path, "r+", encoding="utf-8") as text:
            for file in (text, io.StringIO("text" * 100)):
                with pytest.raises(TypeError, match="expected a binary file"):
                    works(file)
    assert path.read_bytes() == b"\xff" * 1000


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_errors_have_their_number() -> None:
    for work in (
        lambda: files.encrypt_file(io.BytesIO(TEXT), "/dev/full", key=KEY),
        lambda: files.open("/dev/full", "wb", key=KEY).close(),
        lambda: files.save_key("/dev/full", KEY),
    ):
        with pytest.raises(OSError) as raised, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
        assert raised.value.errno == errno.ENOSPC


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
@pytest.mark.parametrize("threads", ["1", "4"])
def test_a_signal_ends_waiting(tmp_path: pathlib.Path, threads: str) -> None:
    """The other end of a FIFO or pipe does nothing, at once or after a while."""
    program = """
        import hashlib, io, os, signal, sys, threading
        from palladion import files, raf

        key, data, threads = bytes(32), bytes(5_000_000), int(sys.argv[1])

        class Alarm(BaseException):
            pass

        def alarm(*_):
            raise Alarm

        def both_ends():
            os.open("fifo", os.O_RDWR)
            return "fifo"

        def pipe():
            return os.pipe()[0]

        def pipe_with_some():
            reads, writes = os.pipe()
            threading.Thread(target=os.write, args=(writes, data)).start()
            return reads

        def encrypt(source, target):
            files.encrypt_file(source, target, key=key, threads=threads)

        signal.signal(signal.SIGALRM, alarm)
        os.mkfifo("fifo")
        costly = {"passphrase": "x", "kdf": (1024, 1_000_000, 1)}
        cheap = io.BytesIO()
        files.encrypt_file(io.BytesIO(), cheap, passphrase="x", kdf=(1024, 1, 1))
        header = bytearray(cheap.getvalue()[:96])
        header[52:56] = (1_000_000).to_bytes(4, "little")
        costly_file = bytes(header) + hashlib.sha256(header).digest() + cheap.getvalue()[128:]
        plain = lambda: io.BytesIO(data)
        for work in (
            lambda: encrypt("fifo", "new"),
            lambda: encrypt(plain(), "fifo"),
            lambda: files.load_key("fifo"),
            lambda: raf.open("new", "w+b", key_file="fifo"),
            lambda: encrypt(both_ends(), "new"),
            lambda: encrypt(plain(), both_ends()),
            lambda: encrypt(f"/dev/fd/{pipe()}", "new"),
            lambda: encrypt(open(pipe(), "rb"), "new"),
            lambda: encrypt(f"/dev/fd/{pipe_with_some()}", "new"),
            lambda: encrypt(open(pipe_with_some(), "rb", buffering=0), "new"),
            lambda: encrypt(plain(), open(os.pipe()[1], "wb", buffering=0)),
            lambda: files.decrypt_file(f"/dev/fd/{pipe()}", "new", key=key),
            # Argon2id, which would take minutes and is left to itself.
            lambda: files.encrypt_file(plain(), "new", **costly, threads=threads),
            lambda: files.open("new", "wb", **costly),
            lambda: files.open(io.BytesIO(costly_file), passphrase="x", max_kdf_memory=1 << 31),
            lambda: files.decrypt_file(
                io.BytesIO(costly_file), "new", passphrase="x", max_kdf_memory=1 << 31
            ),
        ):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            try:
                work()
            except Alarm:
                print("stopped", flush=True)
            assert os.listdir() == ["fifo"], os.listdir()
        os._exit(0)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program), threads],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        timeout=100,
        check=True,
    )
    assert done.stdout.split() == [b"stopped"] * 16


def test_objects_are_used_by_one_thread() -> None:
    """As the blobs of sqlite3 must be."""
    used: set[int] = set()

    class Object(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            used.add(threading.get_ident())
            return super().read(size)

        def write(self, data: Any) -> int:
            used.add(threading.get_ident())
            return super().write(data)

    def progress(done: int) -> None:
        used.add(threading.get_ident())

    sealed, back = Object(), Object()
    options = {"key": KEY, "threads": 4, "progress": progress}
    files.encrypt_file(Object(TEXT), sealed, chunk_size=CHUNK, **options)
    files.decrypt_file(Object(sealed.getvalue()), back, **options)
    assert back.getvalue() == TEXT and used == {threading.get_ident()}


def read_whole(source: Any) -> bytes:
    out = io.BytesIO()
    files.decrypt_file(source, out, key=KEY)
    return out.getvalue()


def read_to_encrypt(source: Any) -> bytes:
    out = io.BytesIO()
    files.encrypt_file(source, out, key=KEY)
    return read_whole(io.BytesIO(out.getvalue()))


def read_in_pieces(source: Any) -> bytes:
    with files.open(source, key=KEY) as file:
        return b"".join(iter(lambda: file.read(700), b""))


def read_with_random_access(source: Any) -> bytes:
    with raf.open(source, key=KEY) as file:
        return file.read()


@pytest.mark.parametrize("fault", READ_FAULTS)
@pytest.mark.parametrize(
    "reader", [read_whole, read_to_encrypt, read_in_pieces, read_with_random_access]
)
def test_a_fault_at_every_read(reader: Callable[[Any], bytes], fault: str) -> None:
    result, error = READ_FAULTS[fault]
    content = sealed()
    if reader is read_to_encrypt:
        content = TEXT
    elif reader is read_with_random_access:
        stored = io.BytesIO()
        with_random_access(stored)
        content = stored.getvalue()
    for call in range(1000):
        source = Faulty("read", call, result, content)
        try:
            read = reader(source)
        except error:
            continue
        assert source.left >= 0, f"nothing was raised for read {call}"
        assert read == TEXT and call > 1
        return
    raise AssertionError("it never ends")


class Passes:
    """A wrapper that has the methods of what it wraps."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@pytest.mark.skipif(not hasattr(os, "set_blocking"), reason="there are no such pipes")
def test_a_pipe_that_does_not_block() -> None:
    content = bytes(3 << 20)
    source = sealed(content)
    for write in (
        lambda file: files.decrypt_file(io.BytesIO(source), file, key=KEY),
        lambda file: files.encrypt_file(io.BytesIO(content), file, key=KEY),
        lambda file: shutil.copyfileobj(io.BytesIO(content), files.EncryptWriter(file, key=KEY)),
    ):
        for wrap in (lambda file: file, Passes):
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            with open(writing, "wb", buffering=0) as file, pytest.raises(BlockingIOError) as raised:
                write(wrap(file))
            assert "set_blocking" in str(raised.value)
            os.close(reading)


def test_a_failed_write_is_remembered() -> None:
    for method in ("write", "flush"):
        target = Faulty(method, 1 if method == "write" else 0, Odd("odd"))
        writer = files.EncryptWriter(target, key=KEY, chunk_size=CHUNK)  # type: ignore[arg-type]
        with pytest.raises(Odd):
            writer.write(TEXT)
            writer.flush()
        for later in (lambda: writer.write(b"more"), writer.flush, writer.close):
            with pytest.raises(OSError, match="an earlier write failed"):
                later()
        assert writer.closed
        writer.close()
        assert not is_complete(target.inner.getvalue())


def test_progress_that_raises(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "target"
    path.write_bytes(b"old")

    def progress(done: int) -> None:
        if done >= limit:
            raise Odd(done)

    for limit in (0, 3 * CHUNK, len(TEXT)):
        for threads in (1, 3):
            options: dict[str, Any] = {"key": KEY, "threads": threads, "progress": progress}
            for target in (path, io.BytesIO()):
                with pytest.raises(Odd):
                    files.encrypt_file(
                        io.BytesIO(TEXT), target, chunk_size=CHUNK, overwrite=True, **options
                    )
                with pytest.raises(Odd):
                    files.decrypt_file(io.BytesIO(sealed()), target, overwrite=True, **options)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["target"]


def test_storages_that_return_counts() -> None:
    class Counting:
        """Like os.pread and os.pwrite: moves a part and says how much."""

        def __init__(self) -> None:
            self.data = bytearray()
            self.fault: Any = None

        def read_at(self, buf: bytearray, offset: int) -> Any:
            piece = self.data[offset : offset + max(1, len(buf) // 2)]
            buf[: len(piece)] = piece
            return len(piece) if self.fault is None else self.fault

        def write_at(self, data: bytes, offset: int) -> Any:
            piece = data[: max(1, len(data) // 2)]
            self.data.extend(bytes(max(0, offset - len(self.data))))
            self.data[offset : offset + len(piece)] = piece
            return len(piece) if self.fault is None else self.fault

        def get_size(self) -> int:
            return len(self.data)

        def set_size(self, size: int) -> None:
            del self.data[size:]
            self.data.extend(bytes(size - len(self.data)))

        def sync(self) -> None:
            pass

    storage = Counting()
    with_random_access(storage)
    with raf.open(storage, key=KEY) as file:
        assert file.read() == TEXT
        del storage.data[-100:]
        with pytest.raises((raf.DamagedChunkError, raf.TruncatedError)):
            file.pread(len(TEXT), 0)
    for fault in (-1, 0, 1 << 20, 1 << 70):
        storage = Counting()
        with raf.open(storage, "w+b", key=KEY, chunk_size=CHUNK) as file:
            storage.fault = fault
            with pytest.raises(OSError, match="write_at"):
                file.write(TEXT)


def test_async_objects_are_refused() -> None:
    """Nothing would wait for what their methods return, so nothing would be written."""

    async def later(self: object, *_: object) -> None:
        pass

    file: Any = type("File", (), {"write": later, "read": later})()
    target = io.BytesIO()
    for work in (
        lambda: files.encrypt_file(io.BytesIO(TEXT), file, key=KEY),
        lambda: files.encrypt_file(file, target, key=KEY),
        lambda: files.EncryptWriter(file, key=KEY),
        lambda: files.DecryptReader(file, key=KEY),
    ):
        with pytest.raises(TypeError, match="must not be async"), pytest.warns(RuntimeWarning):
            work()
            gc.collect()
    for method in ("read_at", "write_at", "set_size", "sync"):
        storage: Any = raf._FileObject(io.BytesIO())
        disk = raf.open(storage, "w+b", key=KEY, chunk_size=CHUNK)
        disk.write(TEXT)
        setattr(storage, method, lambda *_: later(None))
        with pytest.raises(TypeError, match="must not be async"), pytest.warns(RuntimeWarning):
            disk.pread(1, 0)
            disk.write(TEXT)
            disk.truncate(0)
            disk.sync()


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="there is no os.pwrite")
def test_a_sync_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    with open(tmp_path / "file", "w+b") as beneath:
        with raf.open(beneath, "w+b", key=KEY) as file:
            file.sync()

            def fails(descriptor: int) -> None:
                raise OSError(5, "Input/output error")

            monkeypatch.setattr(os, "fsync", fails)
            with pytest.raises(OSError, match="Input/output"):
                file.sync()


# Files that are not finished


def test_cycles_are_collected() -> None:
    """Otherwise their keys would stay in memory."""

    class Owner(io.BytesIO):
        layer: object

    encrypted = io.BytesIO()
    files.encrypt_file(io.BytesIO(b"text"), encrypted, key=KEY)
    for layer in (files.EncryptWriter, files.DecryptReader):
        owner = Owner(encrypted.getvalue())
        owner.layer = layer(owner, key=KEY)  # type: ignore[operator]
        there = weakref.ref(owner)
        del owner
        gc.collect()
        assert there() is None


def test_text_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(LookupError):
        files.open(path, "wt", key=KEY, encoding="nonsense")
    with pytest.raises(UnicodeEncodeError):
        with files.open(path, "wt", key=KEY, encoding="ascii") as file:
            file.write("Grüße")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]
    files.encrypt_file(path, tmp_path / "new", key=KEY)
    with pytest.raises(LookupError):
        files.open(tmp_path / "new", "rt", key=KEY, encoding="nonsense")


def test_detach(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    text = files.open(path, "wt", key=KEY, encoding="utf-8")
    text.write("text")
    with text.detach() as binary:  # type: ignore[attr-defined]
        del text
        binary.write(b" and bytes")
        with pytest.raises(io.UnsupportedOperation):
            binary.detach()
    with files.open(path, key=KEY) as file:
        assert file.read() == b"text and bytes"


@pytest.mark.parametrize("ends", ["", "sys.exit()", "sys.exit(3)", "raise RuntimeError"])
@pytest.mark.parametrize(
    "kept",
    [
        "file = new()",
        "file = new(); file.me = [file]",
        "import builtins; builtins.kept = new()",
        "import string; string.kept = new()",
        "local = threading.local(); local.kept = new()",
        "def work():\n    file = new()\n    time.sleep(100)\n"
        "threading.Thread(target=work, daemon=True).start()\ntime.sleep(0.1)",
    ],
)
@pytest.mark.parametrize("mode", ["wb", "wt"])
def test_at_the_end_of_the_interpreter(
    mode: str, kept: str, ends: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    program = f"""
import sys, threading, time
from palladion import files
def new():
    file = files.open({str(path)!r}, {mode!r}, key=bytes(32))
    file.write("text" if {mode!r} == "wt" else b"text")
    return file
{kept}
{ends}
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == (3 if "3" in ends else 1 if "raise" in ends else 0), done.stderr
    assert path.read_bytes() == b"old"
    if kept.startswith("file"):
        assert os.listdir(tmp_path) == ["file"]


# Forked processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_while_a_thread_reads() -> None:
    """The child must not wait for the thread, which only its parent has."""
    program = """
        import io, os, signal, threading
        from palladion import files, raf

        key, waiting, go_on = bytes(32), threading.Event(), threading.Event()

        class Slow(io.BytesIO):
            waits = False
            def read(self, size=-1):
                if self.waits:
                    waiting.set()
                    go_on.wait()
                return super().read(size)

        def try_it(read, close, *others):
            waiting.clear(), go_on.clear()
            thread = threading.Thread(target=read)
            thread.start()
            waiting.wait()
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                for other in (read, *others):
                    try:
                        other()
                        os._exit(1)
                    except RuntimeError as error:
                        assert "forked" in str(error)
                close()
                os._exit(0)
            go_on.set()
            thread.join()
            read()
            assert os.waitpid(child, 0)[1] == 0

        store = Slow()
        with raf.open(store, "w+b", key=key) as file:
            file.write(bytes(100_000))
            file.seek(0)
            store.waits = True
            try_it(lambda: file.read(1), file.close, lambda: file.pread(1, 0))
            store.waits = False
        sealed = Slow()
        files.encrypt_file(io.BytesIO(bytes(3_000_000)), sealed, key=key)
        sealed.seek(0)
        reader = files.DecryptReader(sealed, key=key)
        sealed.waits = True
        try_it(lambda: reader.read(2_000_000), reader.close)
    """
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], timeout=100, check=True
    )


@pytest.mark.skipif(sys.platform != "linux", reason="limits and forks as on Linux")
def test_forked_without_threads() -> None:
    program = """
        import io, os, resource, signal, sys, threading
        import palladion
        from palladion import columns, files, raf

        key, contents = bytes(32), os.urandom(3_000_000)
        options = {"merkle": True, "max_chunks": 1024}

        def work(file):
            assert file.pread(len(contents), 0) == contents
            assert file.preadinto(bytearray(1_000_000), 9) == 1_000_000
            file.verify()
            file.verify_tree()
            new = io.BytesIO()
            with raf.open(new, "w+b", key=key) as other:
                other.write(contents)
                assert other.pread(len(contents), 0) == contents
            out, back = io.BytesIO(), io.BytesIO()
            files.encrypt_file(io.BytesIO(contents), out, key=key, chunk_size=65536, threads=4)
            files.decrypt_file(io.BytesIO(out.getvalue()), back, key=key, threads=4)
            assert back.getvalue() == contents
            files.encrypt_file(io.BytesIO(), io.BytesIO(), passphrase="x", kdf=(64, 1, 4))
            cipher = palladion.Cipher(key)
            messages = [contents[:1000]] * 1000
            assert cipher.open_many(cipher.seal_many(messages)) == messages
            values = [b"x" * 64] * 20000
            sealed = columns.encrypt(values, cipher, threads=4)
            assert columns.decrypt(sealed, cipher, threads=4) == values

        def try_it(file, threads=False):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                try:
                    if threads:
                        work(file)
                        os._exit(0)
                    if os.getuid() == 0:
                        os.setuid(65534)  # no limit holds for root
                    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
                    try:
                        threading.Thread(target=int).start()
                        print("there are threads", file=sys.stderr)
                        os._exit(77)
                    except RuntimeError:
                        pass
                    work(file)
                    os._exit(0)
                except PermissionError:
                    os._exit(77)
                finally:
                    sys.excepthook(*sys.exc_info())
                    os._exit(1)
            status = os.waitpid(child, 0)[1]
            if status == 77 << 8:
                sys.exit(77)
            assert status == 0, status

        # Before the parent has threads of its own, and after.
        with raf.open(io.BytesIO(), "w+b", key=key, **options) as file:
            file.write(contents[:100_000])
            file.write(contents[100_000:200_000])
            for start in range(200_000, len(contents), 100_000):
                file.write(contents[start : start + 100_000])
            try_it(file)
            work(file)
            try_it(file)
            try_it(file, threads=True)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], timeout=300
    )
    if done.returncode == 77:
        pytest.skip("threads cannot be forbidden here")
    assert done.returncode == 0


# Exceptions


def all_exceptions() -> list[type[BaseException]]:
    names = [info.name for info in pkgutil.walk_packages(palladion.__path__, "palladion.")]
    if importlib.util.find_spec("fsspec") is None:
        names.remove("palladion.fsspec")
    found: dict[type[BaseException], None] = {}
    for name in ["palladion", *names]:
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, type) and issubclass(value, BaseException):
                if value.__module__.split(".")[0] == "palladion":
                    found[value] = None
    return list(found)


def example(kind: type[BaseException]) -> BaseException:
    """An exception with something else in each argument."""
    if not inspect.isfunction(kind.__init__):
        return kind("a message")
    values: list[Any] = []
    for name in list(inspect.signature(kind.__init__).parameters)[1:]:
        if name == "details":
            values += range(100, 100 + len(vars(kind).get("__annotations__", ())))
        else:
            values.append(f"the {name}" if name in ("message", "hint") else 100 + len(values))
    return kind(*values)


def raised_by(work: Callable[[], Any]) -> BaseException:
    with pytest.raises(palladion.VerificationError) as raised:
        work()
    return raised.value


EXCEPTIONS = [
    *map(example, all_exceptions()),
    raised_by(lambda: palladion.Cipher(KEY).open_many([bytes(64)])),
]


def assert_same(one: BaseException, other: BaseException) -> None:
    assert type(one) is type(other) and str(one) == str(other) and one.args == other.args
    assert {k: v for k, v in vars(one).items() if k != "__notes__"} == {
        k: v for k, v in vars(other).items() if k != "__notes__"
    }


def test_exceptions_can_be_copied_and_pickled() -> None:
    assert len(EXCEPTIONS) > 30
    for error in EXCEPTIONS:
        assert str(error), type(error)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert_same(pickle.loads(pickle.dumps(error, protocol)), error)
        assert_same(copy.copy(error), error)
        assert_same(copy.deepcopy(error), error)
        changed = copy.copy(error)
        changed.note = "more"  # type: ignore[attr-defined]
        assert_same(pickle.loads(pickle.dumps(changed)), changed)


def test_exceptions_say_one_thing() -> None:
    error = raf.KeyLengthError("the key is wrong", 32, 16)
    assert str(error) == "the key is wrong" and (error.expected, error.actual) == (32, 16)
    with pytest.raises(raf.KeyLengthError) as raised:
        raf.open(io.BytesIO(), "w+b", key=b"short")
    assert str(raised.value).count("5") == 1 and raised.value.actual == 5
    assert palladion.VerificationError("not authentic").index is None


# Passphrases


@pytest.mark.parametrize("passphrase", ["", b"", bytearray(), memoryview(b""), "a whole file\n"])
def test_passphrases_that_are_refused(passphrase: Any) -> None:
    options: dict[str, Any] = {"passphrase": passphrase, "kdf": (64, 1, 1)}
    target = io.BytesIO()
    works: list[Callable[[], Any]] = [
        lambda: files.encrypt_file(io.BytesIO(b"x"), target, **options),
        lambda: files.EncryptWriter(target, **options),
        lambda: files.open(target, "wb", **options),
        lambda: files.open(target, "wt", **options),
    ]
    if not passphrase:
        for mode in ("w+b", "xb", "a+b"):
            works.append(lambda: raf.open(target, mode, passphrase=passphrase))
    for work in works:
        with pytest.raises(ValueError, match="line break" if passphrase else "passphrase is empty"):
            work()
    assert target.getvalue() == b""
    # Other front ends may have used one.
    with pytest.raises(files.NeedsKeyError):
        files.decrypt_file(io.BytesIO(sealed()), target, passphrase=passphrase)


def test_kinds_of_passphrases() -> None:
    class Text(str):
        def encode(self, *_: Any) -> bytes:
            return b"something else"

        def __str__(self) -> str:
            return "something else"

    class Bytes(bytes):
        pass

    for secret in ("Grüße", Text("Grüße"), Bytes("Grüße".encode()), bytearray("Grüße".encode())):
        target, back = io.BytesIO(), io.BytesIO()
        files.encrypt_file(io.BytesIO(b"x"), target, passphrase=secret, kdf=(64, 1, 1))
        target.seek(0)
        files.decrypt_file(target, back, passphrase="Grüße")
        assert back.getvalue() == b"x"
    target = io.BytesIO()
    raf.open(target, "w+b", passphrase=Text("Grüße")).close()
    raf.open(target, passphrase="Grüße".encode()).close()
    for work in (
        lambda: files.encrypt_file(io.BytesIO(), io.BytesIO(), passphrase="hunter2\udcff"),
        lambda: raf.open(io.BytesIO(), "w+b", passphrase="hunter2\udcff"),
    ):
        with pytest.raises(ValueError, match="surrogate.*bytes") as raised:
            work()
        # Python's own error has the passphrase in it.
        assert "hunter2" not in repr(raised.value) + repr(vars(raised.value))
        assert raised.value.__context__ is None


def test_files_that_use_themselves() -> None:
    """An error, where a call would wait for itself."""

    class Back(io.BytesIO):
        use: Callable[[], Any] | None = None

        def write(self, data: Any) -> int:
            if self.use is not None:
                self.use()
            return super().write(data)

        def read(self, size: int | None = -1) -> bytes:
            if self.use is not None:
                self.use()
            return super().read(size)

    for use in (
        lambda: writer.write(b"x"),
        lambda: writer.flush(),
        lambda: writer.close(),
    ):
        target = Back()
        writer = files.EncryptWriter(target, key=KEY, chunk_size=CHUNK)
        target.use = use
        with pytest.raises(RuntimeError, match="used again"):
            writer.write(TEXT)
        target.use = None
        assert not is_complete(target.getvalue())
    source = Back(sealed())
    reader = files.DecryptReader(source, key=KEY)
    source.use = lambda: reader.read(1)
    with pytest.raises(RuntimeError, match="used again"):
        reader.read(1)


@pytest.mark.skipif(not hasattr(os, "set_blocking"), reason="signals and pipes of POSIX")
def test_a_signal_that_closes_the_file() -> None:
    program = """
        import os, signal, threading
        from palladion import files
        reading, writing = os.pipe()
        writer = files.EncryptWriter(open(writing, "wb", buffering=0), key=bytes(32))
        signal.signal(signal.SIGTERM, lambda *_: writer.close())
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
        try:
            writer.write(bytes(10_000_000))  # nobody reads
        except RuntimeError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "used again" in done.stdout, done.stderr
