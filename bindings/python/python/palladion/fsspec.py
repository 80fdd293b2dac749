"""Encrypted files by URL, for pandas, Dask, Polars, xarray, DuckDB and whatever else uses fsspec.

Put ``palladion::`` before the URL of any file system that fsspec knows. Installing this package
registers it; it needs fsspec (``pip install "palladion[fsspec]"``).

>>> import fsspec
>>> import palladion
>>> key = palladion.generate_key()
>>> with fsspec.open("palladion::memory://notes.txt.pld", "wt", key=key) as file:
...     _ = file.write("remember the milk")
>>> with fsspec.open("palladion::memory://notes.txt.pld", "rt", key=key) as file:
...     file.read()
'remember the milk'
>>> fsspec.filesystem("memory").size("notes.txt.pld")  # as encrypted
181

Options, such as pandas' ``storage_options``, are those of :class:`PalladionFileSystem`. Options of
the file system below are under its name: ``{"key_file": "my.key", "s3": {"anon": True}}``.

Only the chunks that are read are fetched and decrypted, and a damaged, cut or extended file raises
one of the errors of :mod:`palladion.files`. Names, times and lengths of the files stay visible to
those who can see the file system below. The key authenticates what is in a file, not its name:
someone who can write to the file system can swap two files, or put back an old one.

Write ``palladion::`` first. A file system before it, as in ``simplecache::palladion::s3://...``,
may write plaintext to a disk, and is pickled with all options, a key too. With
``palladion::simplecache::s3://...``, the cache holds encrypted files.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem, filesystem  # type: ignore[import-untyped]
from fsspec.core import get_compression  # type: ignore[import-untyped]
from fsspec.implementations.chained import ChainedFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from fsspec.spec import AbstractBufferedFile  # type: ignore[import-untyped]

from . import _native, _output, files
from ._native import PalladionError

if TYPE_CHECKING:
    from ._native import Buffer

__all__ = ["PalladionFileSystem"]

_DEFAULT_CHUNK_SIZE = 1 << 20


class PalladionFileSystem(ChainedFileSystem):  # type: ignore[misc]
    """A file system of fsspec that encrypts the files of another one.

    ``fs`` is that other one, or ``target_protocol`` and ``target_options`` say what it is, which
    fsspec passes for a URL with ``palladion::``. Paths are those of the file system below.

    The secret is one of ``key_file``, ``key`` and ``passphrase``, as in :mod:`palladion.files`.
    Without one, the environment variable ``PALLADION_KEY_FILE`` names the key file, as for the
    command; there is no other default. The key file is read whenever a file is opened. A file
    system that was pickled, such as for the workers of Dask, keeps the name of its key file, or
    uses the variable of the process that it came to. One with a ``key`` or a ``passphrase`` cannot
    be pickled: the secret would be in the tasks.

    ``max_kdf_memory`` is as for :func:`palladion.files.decrypt_file`, and ``algorithm``,
    ``chunk_size`` and ``kdf`` of new files as for :func:`palladion.files.encrypt_file`. Choose
    smaller chunks for files of which little is read at a time.

    A new file appears when it is closed. If an exception leaves the ``with`` block, it is discarded
    where the file system below can do that; otherwise it has no end, and readers reject it. Calling
    ``close()`` in ``except`` or ``finally``, while an exception is handled that is newer than the
    file, discards it too and raises an error. To complete a file there, use ``with``.

    :meth:`info` reads a header to tell the length of a file's plaintext. :meth:`ls` and
    :meth:`find` tell it as if all chunks had the size ``chunk_size``, or None if there is no such
    length. Only opening a file verifies its length.
    """

    protocol = "palladion"
    # fsspec would keep instances, with their keys, and find them by options without the keys.
    cachable = False
    _strip_tokenize_options = ("key", "passphrase")

    def __init__(
        self,
        fs: AbstractFileSystem | None = None,
        *,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        fo: str | None = None,  # the path in a URL, which every call gets too
        key: Buffer | None = None,
        key_file: files.Path | None = None,
        passphrase: str | Buffer | None = None,
        max_kdf_memory: int | None = None,
        algorithm: str = "AEGIS-256X2",
        chunk_size: int = _DEFAULT_CHUNK_SIZE,
        kdf: tuple[int, int, int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if (key is not None) + (key_file is not None) + (passphrase is not None) > 1:
            raise TypeError("pass one of key (32 bytes), key_file and passphrase")
        if fs is None and target_protocol is None:
            raise ValueError("name the file system below, as in palladion::file:///some/file")
        self.fs = filesystem(target_protocol, **(target_options or {})) if fs is None else fs
        self._secret_of_caller = (key, key_file, passphrase)
        self._max_kdf_memory = max_kdf_memory
        self._chunk_size = chunk_size
        self._new: dict[str, Any] = {"algorithm": algorithm, "chunk_size": chunk_size, "kdf": kdf}
        _native.plaintext_size(chunk_size, 0)  # raises if it is no size of a chunk
        # fsspec calls that of the class for URLs, which does not know what is below.
        setattr(self, "_strip_protocol", self._strip)

    def _strip(self, path: Any) -> Any:
        return self.fs._strip_protocol(type(self)._strip_protocol(path))

    def __reduce__(self) -> Any:
        self._refuse_to_tell()
        return super().__reduce__()

    def to_dict(self, *, include_password: bool = True) -> dict[str, Any]:
        """Describes it for JSON, without a secret: one with a key or a passphrase is refused."""
        self._refuse_to_tell()
        return dict(super().to_dict(include_password=include_password))

    def _refuse_to_tell(self) -> None:
        key, _, passphrase = self._secret_of_caller
        if key is not None or passphrase is not None:
            raise TypeError(
                "the key or passphrase must not be pickled, nor sent to other processes: pass "
                "key_file, or set PALLADION_KEY_FILE in each of them"
            )

    def _secret(self) -> dict[str, Any]:
        key, key_file, passphrase = self._secret_of_caller
        if key is None and passphrase is None and key_file is None:
            key_file = os.environ.get("PALLADION_KEY_FILE")
            if not key_file:
                raise ValueError("no key: pass key_file, or set PALLADION_KEY_FILE")
        return {"key": key, "key_file": key_file, "passphrase": passphrase}

    def open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        cache_options: dict[str, Any] | None = None,
        compression: str | None = None,
        **options: Any,
    ) -> Any:
        """Opens a file to read it, or to write a new one.

        To compress a new file, use :func:`fsspec.open`.
        """
        if "r" not in mode and get_compression(path, compression) is not None:
            # Compressors do not close the file below, which would then be discarded.
            raise ValueError("use fsspec.open(url, mode, compression=...) to compress a new file")
        if "r" not in mode and "b" not in mode:
            text = [options.pop(option, None) for option in ("encoding", "errors", "newline")]
            mode = mode.replace("t", "") + "b"
            file = super().open(path, mode, block_size, cache_options, compression, **options)
            return files._Text(file, *text)
        return super().open(path, mode, block_size, cache_options, compression, **options)

    # Reading

    def _reader(self, path: str) -> files.DecryptReader:
        """Opens a file."""
        secret: dict[str, Any] = {**self._secret(), "max_kdf_memory": self._max_kdf_memory}
        if type(self.fs) is LocalFileSystem:
            return files.DecryptReader(path, **secret)
        info = self.fs.info(path)
        if info["type"] == "directory":
            raise IsADirectoryError(path)
        has_ranges = self.fs.async_impl or type(self.fs).cat_file is not AbstractFileSystem.cat_file
        if has_ranges and info.get("size") is not None:
            ranges: Any = _Ranges(self.fs, path, info["size"])
            return files.DecryptReader(ranges, **secret)
        below = self.fs.open(path, "rb")
        try:
            reader = files.DecryptReader(below, **secret)
        except BaseException:
            below.close()
            raise
        reader._owned = below
        return reader

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | str | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        path = self._strip(path)
        if mode in ("wb", "xb"):
            return self._new_file(path, mode, block_size, autocommit, options)
        if mode != "rb":
            raise ValueError(
                f"mode must be rb, wb or xb, not {mode!r}: an encrypted file is written once"
            )
        reader = self._reader(path)
        if type(self.fs) is LocalFileSystem or not reader.seekable():
            file = files._Reader(reader)
            setattr(file, "size", reader._open().size)  # as files of fsspec have it
            return file
        cache_type = options.get("cache_type", "readahead")
        return _File(self, path, reader, block_size, cache_type, cache_options)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **options: Any
    ) -> bytes:
        """Returns a part of a file; negative numbers count from its end."""
        with self._reader(self._strip(path)) as reader:
            return _part(reader, start, end)

    def cat_ranges(
        self,
        paths: Any,
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Returns parts of files. Each file is opened once."""
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
        if not len(paths) == len(starts) == len(ends):
            raise ValueError("paths, starts and ends must have the same length")
        parts: list[Any] = []
        with contextlib.ExitStack() as stack:
            readers: dict[str, files.DecryptReader] = {}
            for path, start, end in zip(map(self._strip, paths), starts, ends):
                try:
                    if path not in readers:
                        readers[path] = stack.enter_context(self._reader(path))
                    parts.append(_part(readers[path], start, end))
                except Exception as error:
                    if on_error != "return":
                        raise
                    parts.append(error)
        return parts

    # Writing

    def _new_file(
        self,
        path: str,
        mode: str,
        block_size: int | str | None,
        autocommit: bool,
        options: dict[str, Any],
    ) -> _Writer:
        secret = self._secret()
        with contextlib.ExitStack() as stack:
            below: Any
            pending = None
            if type(self.fs) is LocalFileSystem and autocommit:
                if self.fs.auto_mkdir:
                    self.fs.makedirs(self.fs._parent(path), exist_ok=True)
                key_file = secret["key_file"]
                file = _output.complete(path, mode == "wb", key_file=key_file)
                below = stack.enter_context(file)
            else:
                below = self.fs._open(
                    path, mode=mode, block_size=block_size, autocommit=False, **options
                )
                pending = _Pending(self.fs, path, below)
                stack.enter_context(pending.ending(autocommit))
            raw = files.EncryptWriter(below, **secret, **self._new)
            raw.name, raw.mode = path, mode
            return _Writer(raw, stack.pop_all(), pending)

    # What is there

    def _shown(self, info: dict[str, Any], chunk_size: int | None = None) -> dict[str, Any]:
        """Replaces the length of a file by that of its plaintext."""
        if info.get("type") != "file" or info.get("size") is None:
            return info
        size = _native.plaintext_size(chunk_size or self._chunk_size, info["size"])
        return {**info, "size": size}

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Describes a file or directory. Raises an error for a file that is not encrypted."""
        path = self._strip(path)
        info = self.fs.info(path, **options)
        if info["type"] != "file":
            return dict(info)
        try:
            chunk_size = _native.chunk_size_of(self.fs.cat_file(path, start=0, end=128))
        except files.FileError as error:
            error.filename = path
            raise
        return self._shown(info, chunk_size)

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """Lists a directory."""
        found = self.fs.ls(self._strip(path), detail=detail, **options)
        return [self._shown(each) for each in found] if detail else found

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **options: Any,
    ) -> Any:
        """Lists the files in a directory and all below it."""
        found = self.fs.find(
            self._strip(path), maxdepth=maxdepth, withdirs=withdirs, detail=detail, **options
        )
        return {name: self._shown(each) for name, each in found.items()} if detail else found

    def exists(self, path: str, **options: Any) -> bool:
        """Whether there is a file or directory."""
        return bool(self.fs.exists(self._strip(path), **options))

    def isdir(self, path: str) -> bool:
        """Whether it is a directory."""
        return bool(self.fs.isdir(self._strip(path)))

    def isfile(self, path: str) -> bool:
        """Whether it is a file, encrypted or not."""
        return bool(self.fs.isfile(self._strip(path)))

    def created(self, path: str) -> Any:
        """When it was created."""
        return self.fs.created(self._strip(path))

    def modified(self, path: str) -> Any:
        """When it was changed last."""
        return self.fs.modified(self._strip(path))

    def ukey(self, path: str) -> Any:
        """Identifies a version of a file."""
        return self.fs.ukey(self._strip(path))

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forgets listings."""
        self.fs.invalidate_cache(path if path is None else self._strip(path))
        super().invalidate_cache(path)

    # Changes that need no key

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        """Creates a directory."""
        self.fs.mkdir(self._strip(path), create_parents=create_parents, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Creates a directory and those above it."""
        self.fs.makedirs(self._strip(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        """Removes an empty directory."""
        self.fs.rmdir(self._strip(path))

    def rm_file(self, path: str) -> None:
        """Removes a file."""
        self.fs.rm_file(self._strip(path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes files, and directories if ``recursive``."""
        self.fs.rm(self._strip(path), recursive=recursive, maxdepth=maxdepth)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copies a file as it is, under the same key."""
        self.fs.cp_file(self._strip(path1), self._strip(path2), **options)

    def mv(
        self,
        path1: Any,
        path2: Any,
        recursive: bool = False,
        maxdepth: int | None = None,
        **options: Any,
    ) -> None:
        """Moves files."""
        path1, path2 = self._strip(path1), self._strip(path2)
        self.fs.mv(path1, path2, recursive=recursive, maxdepth=maxdepth, **options)


def _part(reader: files.DecryptReader, start: int | None, end: int | None) -> bytes:
    first, last, _ = slice(start, end).indices(reader.seek(0, os.SEEK_END))
    return reader.pread(max(0, last - first), first)


class _Ranges:
    """A file of which each read is a request of its own."""

    def __init__(self, fs: AbstractFileSystem, name: str, size: int) -> None:
        self._fs, self.name, self._size, self._position = fs, name, size, 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = self._size + offset if whence == os.SEEK_END else offset
        return self._position

    def read(self, size: int) -> bytes:
        end = min(self._position + size, self._size)
        if self._position >= end:
            return b""
        data: bytes = self._fs.cat_file(self.name, start=self._position, end=end)
        self._position += len(data)
        return data


class _File(AbstractBufferedFile):  # type: ignore[misc]
    """Reads a file through a cache of fsspec, whose blocks are whole chunks."""

    def __init__(
        self,
        fs: PalladionFileSystem,
        path: str,
        reader: files.DecryptReader,
        block_size: int | str | None,
        cache_type: str,
        cache_options: dict[str, Any] | None,
    ) -> None:
        self._reader = reader
        chunk_size = reader._open().chunk_size or 1
        if block_size in (None, "default"):
            block_size = self.DEFAULT_BLOCK_SIZE
        block_size = -(-int(block_size or 1) // chunk_size) * chunk_size
        size = reader._open().size
        super().__init__(
            fs,
            path,
            block_size=block_size,
            cache_type=cache_type,
            cache_options=cache_options,
            size=size,
        )

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self._reader.pread(max(0, end - start), start)

    def close(self) -> None:
        super().close()
        self._reader.close()


class _Pending:
    """A file of the file system below that is to appear once it is committed."""

    def __init__(self, fs: AbstractFileSystem, path: str, file: Any) -> None:
        self._fs, self._path, self._file = fs, path, file

    @contextlib.contextmanager
    def ending(self, commits: bool) -> Iterator[None]:
        try:
            yield
            self._file.close()
        except BaseException:
            # It has no end, so readers will reject it wherever it cannot be discarded.
            try:
                self._file.close()
            finally:
                self.discard()
            raise
        if commits:
            self.commit()

    def commit(self) -> None:
        self._end("commit")

    def discard(self) -> None:
        self._end("discard")

    def _end(self, method: str) -> None:
        file, self._file = self._file, None
        if file is not None:
            getattr(file, method, lambda: None)()
            self._fs.invalidate_cache(self._path)


def _leaves_with(error: BaseException) -> bool | None:
    """Returns whether the exception leaves the ``with`` statement that closes a file.

    None if no such statement closes it. fsspec's OpenFile and others like it close a file at the
    end of their own ``with`` statement, and do not tell it whether an exception leaves that.
    """
    # The function in which the exception is handled, or which it leaves next.
    reached = error.__traceback__ and error.__traceback__.tb_frame
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame is not reached:
        if frame.f_code.co_name == "__exit__":
            values = frame.f_locals.values()
            told = [x for value in values for x in (value if type(value) is tuple else [value])]
            return any(x is error for x in told)
        frame = frame.f_back
    return None


class _Writer(files._Appearing):
    """A new file."""

    def __init__(
        self, raw: files.EncryptWriter, finish: contextlib.ExitStack, pending: _Pending | None
    ) -> None:
        super().__init__(raw, finish)
        self._pending = pending
        self._handled = sys.exc_info()[1]

    def close(self) -> None:
        error = sys.exc_info()[1]
        if self.closed or error is None:
            super().close()
            return
        leaves = _leaves_with(error)
        if leaves is False or (leaves is None and error is self._handled):
            super().close()
            return
        self._abandon(type(error), error, error.__traceback__)
        message = f"discarded {self.name!r}, which was closed while an exception was handled"
        if leaves or not isinstance(error, Exception):
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        else:
            raise PalladionError(f"{message}: use a `with` statement") from error

    def commit(self) -> None:
        """Ends a transaction of fsspec."""
        self.close()
        if self._pending is not None:
            self._pending.commit()

    def discard(self) -> None:
        """Ends a transaction that failed."""
        if not self.closed:
            self._abandon(None, None, None)
        if self._pending is not None:
            self._pending.discard()
