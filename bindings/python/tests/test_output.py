"""Output files: what names mean, what is refused, forks. The rule is in palladion_output."""

from __future__ import annotations

import io
import os
import pathlib
import platform
import socket
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

import pytest
from palladion import files, raf

KEY = bytes(range(32))

pytestmark = pytest.mark.skipif(os.name == "nt", reason="names and processes of Unix")


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A current directory with a key file and a file to encrypt."""
    monkeypatch.chdir(tmp_path)
    files.save_key("my.key", KEY)
    (tmp_path / "in").write_bytes(b"text")
    return tmp_path


def opened(sealed: bytes) -> bytes:
    out = io.BytesIO()
    files.decrypt_file(io.BytesIO(sealed), out, key=KEY)
    return out.getvalue()


def run(program: str) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0 and not result.stderr, result


def test_the_key_file_is_no_target(folder: pathlib.Path) -> None:
    key = (folder / "my.key").read_bytes()
    os.symlink("my.key", "link")
    os.link("my.key", "hard")
    files.encrypt_file("in", "in.pld", key=KEY)
    for name in ("my.key", "./my.key", "link", "hard"):
        writes: list[Callable[[], Any]] = [
            lambda: files.encrypt_file("in", name, key_file="my.key", overwrite=True),
            lambda: files.decrypt_file("in.pld", name, key_file="my.key", overwrite=True),
            lambda: files.open(name, "wb", key_file="my.key"),
            lambda: files.open(name, "wt", key_file="my.key"),
            lambda: raf.open(name, "w+b", key_file="my.key"),
        ]
        for write in writes:
            with pytest.raises(ValueError, match="key file and target are the same file"):
                write()
        with io.open(name, "r+b") as file:
            objects: list[Callable[[], Any]] = [
                lambda: files.encrypt_file("in", file, key_file="my.key"),
                lambda: files.EncryptWriter(file, key_file="my.key"),
                lambda: files.open(file, "wb", key_file="my.key"),
                lambda: raf.open(file, "w+b", key_file="my.key"),
            ]
            for write in objects:
                with pytest.raises(ValueError, match="key file and target are the same file"):
                    write()
    assert (folder / "my.key").read_bytes() == key
    # A missing key file is just that.
    with pytest.raises(FileNotFoundError, match="new.key"):
        raf.open("new.key", "w+b", key_file="new.key")


def test_the_source_is_no_target(folder: pathlib.Path) -> None:
    os.symlink("in", "link")
    os.link("in", "hard")
    memory = io.BytesIO(b"text")
    with io.open("in", "r+b") as one, io.open("hard", "r+b", buffering=0) as other:
        pairs: list[tuple[Any, Any]] = [
            ("in", "link"), ("hard", pathlib.Path("in")), ("in", one), (one, "in"), (one, one),
            (one, other), (memory, memory), (io.BufferedReader(memory), memory),
        ]
        for source, target in pairs:
            with pytest.raises(ValueError, match="source and target are the same file"):
                files.encrypt_file(source, target, key=KEY, overwrite=True)
            with pytest.raises(ValueError, match="source and target are the same file"):
                files.decrypt_file(source, target, key=KEY, overwrite=True)
        memory.seek(0)
    assert memory.getvalue() == b"text" and (folder / "in").read_bytes() == b"text"
    # A socket has two directions.
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rwb") as both:
        theirs.sendall(b"text")
        theirs.shutdown(socket.SHUT_WR)
        files.encrypt_file(both, both, key=KEY)
        both.flush()
        ours.shutdown(socket.SHUT_WR)
        assert opened(theirs.makefile("rb").read()) == b"text"


def test_the_file_beneath_the_source_is_no_target(folder: pathlib.Path) -> None:
    """To encrypt it again would overwrite what is still to be read."""
    text = bytes(3_000_000)
    files.encrypt_file(io.BytesIO(text), "sealed", key=KEY)
    content = pathlib.Path("sealed").read_bytes()
    memory = io.BytesIO(content)
    with open("sealed", "r+b") as file:
        for beneath in (file, memory):
            with files.open(beneath, key=KEY) as source:
                with pytest.raises(ValueError, match="source and target are the same"):
                    files.encrypt_file(source, beneath, key=bytes(32))
                with pytest.raises(ValueError, match="source and target are the same"):
                    files.decrypt_file(source.raw, beneath, key=KEY)
    assert memory.getvalue() == pathlib.Path("sealed").read_bytes() == content
    # A new file may take its place.
    with files.open("sealed", key=KEY) as source:
        files.encrypt_file(source, "sealed", key=bytes(32), overwrite=True)
    with files.open("sealed", key=bytes(32)) as source:
        assert source.read() == text


def test_numbers_of_threads(folder: pathlib.Path) -> None:
    for threads in (0, -1):
        for work in (files.encrypt_file, files.decrypt_file):
            with pytest.raises(ValueError, match=f"threads must be at least 1, not {threads}"):
                work(io.BytesIO(), "new", key=KEY, threads=threads)
    assert not os.path.exists("new")


def test_devices_and_fifos_are_written(folder: pathlib.Path) -> None:
    def with_open(mode: str) -> Callable[[str], Any]:
        def write(name: str) -> None:
            file: BinaryIO
            with files.open(name, mode, key=KEY) as file:  # type: ignore[call-overload]
                file.write(b"text")

        return write

    os.mkfifo("fifo")
    for write in (
        lambda name: files.encrypt_file("in", name, key=KEY),
        with_open("wb"),
        with_open("xb"),
    ):
        read: list[bytes] = []
        thread = threading.Thread(target=lambda: read.append(pathlib.Path("fifo").read_bytes()))
        thread.start()
        write("fifo")
        thread.join()
        assert opened(read[0]) == b"text"
        write("/dev/null")
        with pytest.raises(OSError, match="No space left"):
            write("/dev/full")
    # A FIFO as the source, which is opened once.
    thread = threading.Thread(target=lambda: pathlib.Path("fifo").write_bytes(b"text"))
    thread.start()
    out = io.BytesIO()
    files.encrypt_file("fifo", out, key=KEY)
    thread.join()
    assert opened(out.getvalue()) == b"text"
    assert stat.S_ISFIFO(os.stat("fifo").st_mode)
    assert sorted(os.listdir()) == ["fifo", "in", "my.key"]


def test_names_of_descriptors(folder: pathlib.Path) -> None:
    """Reading and writing go on at the position."""
    with io.open("out", "w+b", buffering=0) as out, io.open("in", "rb", buffering=0) as source:
        place = f"/dev/fd/{out.fileno()}"
        out.write(b"header")
        files.encrypt_file(f"/dev/fd/{source.fileno()}", place, key=KEY)
        end = out.tell()
        with files.open(place, "wb", key=KEY) as file:
            file.write(b"again")
        out.write(b"end")
        out.seek(end)
        content = out.read()
        assert content.endswith(b"end") and opened(content[:-3]) == b"again"
        out.truncate(end)
        out.seek(len(b"header"))
        assert files.needs_passphrase(place) is False
        out.seek(len(b"header"))
        with files.open(place, key=KEY) as file:
            assert file.read() == b"text"
        # It is no new file, so it cannot be the source.
        with pytest.raises(ValueError, match="same file"):
            files.encrypt_file("out", place, key=KEY)
    with io.open("my.key", "rb", buffering=0) as key:
        assert files.load_key(f"/dev/fd/{key.fileno()}") == KEY
        key.seek(0)
        raf.open("f.raf", "xb", key_file=f"/dev/fd/{key.fileno()}").close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.encrypt_file("in", "/dev/fd/1000", key=KEY)
    with pytest.raises(OSError, match="/dev/fd/1000"):
        files.encrypt_file("/dev/fd/1000", "new", key=KEY)
    assert sorted(os.listdir()) == ["f.raf", "in", "my.key", "out"]


def test_what_is_refused(folder: pathlib.Path) -> None:
    os.mkdir("folder")
    os.symlink("nowhere", "link")
    raf.open("f.raf", "xb", key=KEY).close()
    with raf.open("f.raf", "r+b", key=KEY):
        for source, target, overwrite, error, message in (
            ("in", "folder", True, IsADirectoryError, "name a file in it"),
            ("in", "new/", False, IsADirectoryError, "new/"),
            ("in", "none/new", False, FileNotFoundError, "create it first"),
            ("in", "link", False, FileExistsError, "overwrite=True"),
            ("in", "link", True, FileNotFoundError, "symbolic link to a missing file"),
            ("in", "f.raf", True, BlockingIOError, "in use by another program"),
            ("none", "in", True, FileNotFoundError, "none"),
        ):
            with pytest.raises(error, match=message):
                files.encrypt_file(source, target, key=KEY, overwrite=overwrite)
    with pytest.raises(IsADirectoryError):
        files.open("folder", "wb", key=KEY)
    assert sorted(os.listdir()) == ["f.raf", "folder", "in", "link", "my.key"]


def test_the_program_changes_its_directory(folder: pathlib.Path) -> None:
    os.mkdir("folder")
    with files.open("new", "wb", key=KEY) as file:
        file.write(b"text")
        os.chdir("folder")
    abandoned = files.open("other", "wb", key=KEY)
    os.chdir(folder)
    with pytest.warns(RuntimeWarning):
        del abandoned
    assert opened((folder / "new").read_bytes()) == b"text"
    assert os.listdir("folder") == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_cannot_go_on(tmp_path: pathlib.Path) -> None:
    # It would encrypt other data under the parent's nonces.
    with io.open(tmp_path / "sealed", "wb", buffering=0) as target:
        writer = files.EncryptWriter(target, key=KEY, chunk_size=1024)
        writer.write(b"a" * 2000)
        before = os.fstat(target.fileno()).st_size
        child = os.fork()
        if child == 0:
            status = 1
            try:
                writer.write(b"b" * 2000)
            except RuntimeError:
                with pytest.raises((OSError, RuntimeError, files.FileError)):
                    writer.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert os.fstat(target.fileno()).st_size == before
        writer.close()
    with files.open(tmp_path / "sealed", key=KEY) as file:
        assert file.read() == b"a" * 2000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("mode", ["wb", "wt"])
@pytest.mark.parametrize("end", ["sys.exit()", "del file", "file.close()"])
def test_a_forked_child_leaves_the_file_alone(
    folder: pathlib.Path, mode: str, end: str
) -> None:
    program = f"""
        import gc, os, sys
        from palladion import files
        text = "some text" if {mode!r} == "wt" else b"some text"
        file = files.open("out", {mode!r}, key=bytes(32), chunk_size=1024)
        file.write(text * 1000)
        child = os.fork()
        if child == 0:
            os.dup2(os.open("/dev/null", os.O_WRONLY), 2)  # exceptions of destructors
            try:
                {end}
                gc.collect()
            except RuntimeError as error:
                assert "belongs to the process that created it" in str(error)
                os._exit(0)
            sys.exit()
        assert os.waitpid(child, 0)[1] == 0
        assert not os.path.exists("out"), "the child finished it"
        file.write(text)
        file.close()
        with files.open("out", "rb", key=bytes(32)) as file:
            assert file.read() == b"some text" * 1001
    """
    run(program)
    assert sorted(os.listdir()) == ["in", "my.key", "out"]


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="the numbers of system calls are those of Linux on x86-64",
)
def test_a_file_system_that_lacks_much(folder: pathlib.Path) -> None:
    # As on exFAT, vboxsf, SMB and FUSE: no renames that refuse to replace, no links, permissions,
    # owners, fsync, locks. A filter of system calls lets them fail.
    program = """
        import ctypes, errno, os, struct, sys
        from palladion import files

        failures = {316: errno.EINVAL, 265: errno.EPERM, 86: errno.EPERM, 91: errno.EPERM,
                    93: errno.EPERM, 74: errno.EINVAL, 75: errno.EINVAL, 73: errno.ENOSYS}
        code = [struct.pack("HBBI", 0x20, 0, 0, 0)]
        for number, error in failures.items():
            code.append(struct.pack("HBBI", 0x15, 0, 1, number))
            code.append(struct.pack("HBBI", 0x06, 0, 0, 0x50000 | error))
        code.append(struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000))
        code = ctypes.create_string_buffer(b"".join(code))
        filter = struct.pack("HxxxxxxP", len(failures) * 2 + 2, ctypes.addressof(code))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(filter), 0, 0):
            sys.exit()  # no filters here
        try:
            os.link("in", "link")
        except PermissionError:
            pass
        files.encrypt_file("in", "new", key_file="my.key")
        files.encrypt_file("in", "new", key_file="my.key", overwrite=True)
        try:
            files.encrypt_file("in", "new", key_file="my.key")
        except FileExistsError:
            pass
        with files.open("second", "xb", key_file="my.key") as file:
            file.write(b"text")
        files.save_key("third", bytes(32))
        files.save_key("third", bytes(32), overwrite=True)
    """
    run(program)
    names = ["in", "my.key"]
    if os.path.exists("new"):
        names += ["new", "second", "third"]
        assert opened((folder / "new").read_bytes()) == b"text"
    assert sorted(os.listdir()) == names
