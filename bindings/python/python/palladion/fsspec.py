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
someone who can write to the file system can swap two files, or put back an old one. With
``bind_to_path=True``, each file is bound to its path, so only an old one of the same path is
accepted. With ``bind``, all files of a file system are bound to one place, such as a tenant or the
version of a data set, so files of other places are refused.

Write ``palladion::`` first. A file system before it, as in ``simplecache::palladion::s3://...``,
may write plaintext to a disk, and is pickled with all options, a key too. With
``palladion::simplecache::s3://...``, the cache holds encrypted files.
"""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import difflib
import functools
import inspect
import io
import os
import posixpath
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Optional, cast

from fsspec import AbstractFileSystem, filesystem  # type: ignore[import-untyped]
from fsspec.asyn import (  # type: ignore[import-untyped]
    AbstractAsyncStreamedFile,
    AsyncFileSystem,
    sync,
)
from fsspec.callbacks import DEFAULT_CALLBACK  # type: ignore[import-untyped]
from fsspec.core import get_compression  # type: ignore[import-untyped]
from fsspec.implementations.asyn_wrapper import (  # type: ignore[import-untyped]
    AsyncFileSystemWrapper,
)
from fsspec.implementations.cached import CachingFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.chained import ChainedFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.dirfs import DirFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]
from fsspec.spec import AbstractBufferedFile  # type: ignore[import-untyped]
from fsspec.transaction import Transaction  # type: ignore[import-untyped]
from fsspec.utils import isfilelike  # type: ignore[import-untyped]

from . import _native, _output, aio, files
from ._native import PalladionError

if TYPE_CHECKING:
    from ._native import AlgorithmName, Buffer

__all__ = ["PalladionFileSystem"]

#: The start and the end of a part of a file.
_Range = tuple[Optional[int], Optional[int]]

#: What else fsspec passes to a file system.
_OPTIONS_OF_FSSPEC = {
    "add_aliases", "add_docs", "asynchronous", "batch_size", "listings_expiry_time", "loop",
    "max_paths", "skip_instance_cache", "use_listings_cache",
}  # fmt: skip
#: Tells secrets apart in the tokens of file systems, without revealing them.
_TOKEN_KEY = _native.generate_key()


def _delegated(name: str, paths: int = 1) -> Any:
    """A method that does the same in the file system below."""
    original = getattr(AbstractFileSystem, name.lstrip("_"))
    names = list(inspect.signature(original).parameters)[1 : 1 + paths]

    @functools.wraps(original)
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        arguments = (*map(self._strip, arguments[:paths]), *arguments[paths:])
        for each in names:
            if each in options:
                options[each] = self._strip(options[each])
        _check_options(options)
        if paths == 2:
            given = {**options, **dict(zip(names, arguments))}
            verb = "move" if name == "mv" else "copy"
            self._check_copy(verb, given[names[0]], given[names[1]])
        return getattr(self.fs, name)(*arguments, **options)

    method.__doc__ = original.__doc__ or f"``{name}`` of the file system below."
    return method


class _Transaction(Transaction):  # type: ignore[misc]
    """A transaction whose files appear all or none, as far as the file system below permits."""

    fs: Any

    def complete(self, commit: bool = True) -> None:
        fs, new = self.fs, [*self.files]
        self.files.clear()
        done: list[str] = []
        try:
            for file in new if commit else []:
                if file._state == _output._OPEN:
                    raise PalladionError(
                        f"{file._called()} was not closed in its transaction, so no file of it "
                        "was written"
                    )
                if file._state == _output._DISCARDED:
                    raise PalladionError(
                        f"{file._called()} was discarded, so no file of its transaction was written"
                    )
            for file in new if commit else []:
                file.commit()
                done.append(file._called())
        except BaseException as error:
            if done and hasattr(error, "add_note"):
                error.add_note(f"before this, {', '.join(done)} appeared, and no other file will")
            raise
        finally:
            for file in new:
                with contextlib.suppress(Exception):
                    file.discard()  # unless it is complete
            fs._intrans, fs._transaction, self.fs = False, None, None


class PalladionFileSystem(AsyncFileSystem, ChainedFileSystem):  # type: ignore[misc]
    """A file system of fsspec that encrypts the files of another one.

    ``fs`` is that other one, or ``target_protocol`` and ``target_options`` say what it is, which
    fsspec passes for a URL with ``palladion::``. Paths are those of the file system below.

    The secret is one of ``key_file``, ``key`` and ``passphrase``, as in :mod:`palladion.files`, or
    a list of one kind: new files have the first, and a file opens with any. Without one, the
    environment variable ``PALLADION_KEY_FILE`` names the key file, as for the command; there is no
    other default. The key file is read whenever a file is opened, and first when the file system is
    made, which raises an error if there is no key. A file system that was pickled, such as for the
    workers of Dask, keeps the name of its key file, or uses the variable of the process that it
    came to. One with a ``key`` or a ``passphrase`` cannot be pickled: the secret would be in the
    tasks.

    ``bind`` is as in :mod:`palladion.files`, and the same for all files. With ``bind_to_path=True``
    instead, each file is bound to its path, so those who have no key can neither swap two files nor
    move one. The place is the path of the file system below, in UTF-8 and without a slash at its
    start. That includes the bucket of ``s3://bucket/a/b``, but not the directory of a
    ``DirFileSystem`` below: in ``PalladionFileSystem(DirFileSystem("bucket", s3), ...)`` the place
    is ``a/b``, as in the store of the Rust crate palladion-object-store, so that each reads the
    files of the other. Of a local file, ``//``, ``.`` and ``..`` are resolved first, from the path
    alone: links are not followed, so a file has another place by way of each link. Elsewhere the
    path counts as it is spelled, because object stores keep ``//`` in names. A
    :class:`~palladion.files.WrongPlaceError` names the place. A copy or a move raises
    :class:`NotImplementedError`, because it would copy encrypted bytes, which are bound to the old
    path: read the file, and write it at the new one.

    ``max_kdf_memory`` is as for :func:`palladion.files.decrypt_file`, and ``algorithm``,
    ``chunk_size`` and ``kdf`` of new files as for :func:`palladion.files.encrypt_file`. Choose
    smaller chunks for files of which little is read at a time.

    A new file is complete or discarded by the rule of :func:`palladion.files.open`, and has its
    methods ``commit()`` and ``discard()``. Where the file system below cannot discard it, it has no
    end, and readers reject it. ``with fsspec.open(...)`` closes the file without telling it whether
    an exception leaves ``with``, so ``close()`` decides. The files of a transaction appear at its
    end. If an exception leaves it, or has discarded one of its files, or one is still open, none of
    them does. They appear one after another: if the file system fails at one, those before it stay,
    and a note of the exception names them.

    Some file systems below drop what is written to their files: opening a new one raises
    :class:`NotImplementedError`, or completing it :class:`PalladionError`. ``DirFileSystem`` and
    ``AsyncFileSystemWrapper`` do so too, but what is below them is used instead.

    If the file system below is asynchronous, so is this one. With ``asynchronous=True`` it has the
    coroutines of fsspec, such as ``_cat_ranges`` and ``_pipe_file``; ``open_async`` only reads.

    Each new file of a ``passphrase`` stretches it, which takes long and much memory, and so does
    each file that is opened for the first time; the last 1024 are remembered. For many files, use a
    key, which may itself be in a file with a passphrase (see :mod:`palladion.files`).

    Only a header tells the length of a file's plaintext. So :meth:`info` reads it, which is what
    ``size()`` and ``du()`` use, and :meth:`ls` and :meth:`find` give the size None, which
    ``tree(display_size=True)`` cannot show. The size is
    None, too, if the file is not encrypted or its header is damaged. Only opening a file verifies
    its length.
    """

    protocol = "palladion"
    transaction_type = _Transaction
    mirror_sync_methods = False
    # fsspec would keep instances, with their keys, and find them by options without the keys.
    cachable = False
    _strip_tokenize_options = ("key", "passphrase", "_is_unpickled")

    def __init__(
        self,
        fs: AbstractFileSystem | None = None,
        *,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        fo: str | None = None,  # the path in a URL, which every call gets too
        key: Buffer | Sequence[Buffer] | None = None,
        key_file: files.Path | Sequence[files.Path] | None = None,
        passphrase: str | Buffer | Sequence[str | Buffer] | None = None,
        bind: str | Buffer | None = None,
        bind_to_path: bool = False,
        max_kdf_memory: int | None = None,
        algorithm: AlgorithmName = "AEGIS-256X2",
        chunk_size: int = files._DEFAULT_CHUNK_SIZE,
        kdf: tuple[int, int, int] | None = None,
        _is_unpickled: bool = False,
        **options: Any,
    ) -> None:
        unknown = options.keys() - _OPTIONS_OF_FSSPEC
        if unknown:
            raise TypeError(_unknown(sorted(unknown)[0]))
        # Without a loop, it would start a thread, which most file systems below do not need.
        super().__init__(**{"loop": True, **options})
        if (key is not None) + (key_file is not None) + (passphrase is not None) > 1:
            raise TypeError("pass one of key (32 bytes), key_file and passphrase, or a list of it")
        if not isinstance(bind_to_path, bool):  # "false" would count as true
            raise TypeError(f"bind_to_path must be True or False, not {bind_to_path!r}")
        if bind is not None and bind_to_path:
            raise TypeError("pass bind or bind_to_path=True, not both")
        if fs is None and target_protocol is None:
            raise ValueError("name the file system below, as in palladion::file:///some/file")
        if fs is None:
            below = {"asynchronous": True} if self.asynchronous else {}
            fs = filesystem(target_protocol, **{**below, **(target_options or {})})
        self.fs = fs
        while isinstance(fs, (DirFileSystem, CachingFileSystem)):
            fs = fs.fs  # DirFileSystem says that it is asynchronous whatever is below
        self.async_impl, fs = fs.async_impl, self.fs
        if self.asynchronous and not self.async_impl:
            raise ValueError(f"{type(fs).__name__}, the file system below, is not asynchronous")
        if self.asynchronous != getattr(fs, "asynchronous", False):
            raise ValueError("pass asynchronous=True to both file systems, or to none")
        self._key_files = None if key_file is None else [*map(os.fsdecode, _output.each(key_file))]
        if self._key_files == []:
            files._secret(None, self._key_files)  # raises
        #: The secrets that files are read with, and that of new ones.
        self._kept: tuple[Any, Any] | None = None
        self._bind, self._bind_to_path = bind, bind_to_path
        self._told = ""
        if key is not None or passphrase is not None:
            kept = files._secret(key, None, passphrase, bind=bind)
            self._kept = kept, kept.first()
            what, secrets = (b"key", key) if passphrase is None else (b"passphrase", passphrase)
            for secret in _output.each(secrets):
                mac = _native.Mac(_TOKEN_KEY, what, digest_size=16)
                mac.update(secret.encode() if isinstance(secret, str) else secret)
                self._told += mac.hexdigest()
        _native.check_costs(kdf, max_kdf_memory)
        self._max_kdf_memory = max_kdf_memory
        self._new: dict[str, Any] = {
            "algorithm": algorithm,
            "chunk_size": chunk_size,
            "kdf": None if kdf is None else tuple(kdf),
        }
        # These raise what opening a new file would.
        _native.plaintext_size(chunk_size, 0)
        _native.key_size(algorithm)
        # An error of a key now is better than one after pyarrow has deleted an older file. But it
        # may be missing where the file system is only passed on, as in Dask's scheduler.
        for name in [] if _is_unpickled else self._secret("").get("key_file", []):
            if _native.descriptor(name) is None and (
                os.path.isfile(name) or not os.path.exists(name)
            ):
                files._secret(None, name, bind=bind)
        # fsspec calls that of the class for URLs, which does not know what is below.
        setattr(self, "_strip_protocol", self._strip)

    def _strip(self, path: Any) -> Any:
        if isinstance(path, (list, tuple, set)):
            return [self._strip(each) for each in path]
        return self.fs._strip_protocol(type(self)._strip_protocol(path))

    def _place(self, path: str, caches: bool = False) -> tuple[AbstractFileSystem, str]:
        """The file system that opens a file, and the path there, both below those whose own files
        store nothing, and below caches if asked for."""
        fs = self.fs
        while True:
            if isinstance(fs, DirFileSystem):
                fs, path = fs.fs, fs._join(path)
            elif isinstance(fs, AsyncFileSystemWrapper):
                fs = fs.sync_fs
            elif caches and isinstance(fs, CachingFileSystem):
                fs = fs.fs
            else:
                return fs, path

    def _local(self, path: str) -> str | None:
        """The path on this machine of a file that is there, unless its system is unknown."""
        fs, path = self._place(self._strip(path), caches=True)
        return path if isinstance(fs, LocalFileSystem) else None

    def _check_target(self, path: str, source: Any = None) -> None:
        """Refuses to replace the key file, or the source of the new file."""
        if (local := self._local(path)) is not None:
            _output.refuse_same(local, source=source, key_file=self._paths_of_keys())

    def _check_copy(self, verb: str, source: Any, target: Any) -> None:
        """Refuses a copy to a path whose readers could not open it, or that is the key file."""
        if self._bind_to_path and source != target:
            last = ", then remove the old one" if verb == "move" else ""
            raise NotImplementedError(
                f"cannot {verb} {source} to {target}: each file is bound to its path; read it and "
                f"write it at the new one to encrypt it anew{last}"
            )
        self._check_target(target)

    def _paths_of_keys(self) -> list[str]:
        if self._kept is not None:
            return []
        if self._key_files is not None:
            return self._key_files
        name = os.environ.get("PALLADION_KEY_FILE")
        return [name] if name else []

    def __reduce__(self) -> Any:
        self._refuse_to_tell()
        return _unpickled, (type(self), self.storage_args, self.storage_options)

    @property
    def loop(self) -> Any:
        """The event loop of the file system below, if that has one."""
        return getattr(self.fs, "loop", None)

    def to_dict(self, *, include_password: bool = True) -> dict[str, Any]:
        """Describes it for JSON, without a secret: one with a key or a passphrase is refused."""
        self._refuse_to_tell()
        return dict(super().to_dict(include_password=include_password))

    @property
    def _fs_token(self) -> str:
        # fsspec and Dask take file systems with one token for the same.
        return f"{self._fs_token_}{self._told}"

    def _refuse_to_tell(self) -> None:
        if self._kept is not None:
            raise TypeError(
                "the key or passphrase must not be pickled, nor sent to other processes: pass "
                "key_file, or set PALLADION_KEY_FILE in each of them"
            )

    def _path_as_bind(self, path: str) -> str | bytes:
        """The place of the file at a path."""
        place = path.lstrip("/")
        if place and isinstance(self._place(path, caches=True)[0], LocalFileSystem):
            # Each spelling of its path opens a local file, and listings spell it in one way.
            place = posixpath.normpath(place.replace(os.sep, "/"))
        try:
            place.encode()
        except UnicodeEncodeError:
            return place.encode(errors="surrogateescape")
        return place

    def _secret(self, path: str, new: bool = False) -> dict[str, Any]:
        """The secrets that a file is read with, or that of a new one, and its place."""
        bind = self._path_as_bind(path) if self._bind_to_path else self._bind
        if self._kept is not None:
            return {"key": self._kept[new], "bind": bind}
        if not (key_files := self._paths_of_keys()):
            raise ValueError("no key: pass key_file, or set PALLADION_KEY_FILE")
        return {"key_file": key_files[0] if new else key_files, "bind": bind}

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

    def _decrypt(self, source: Any, path: str) -> files.DecryptReader:
        secret = self._secret(path)
        try:
            return files.DecryptReader(source, **secret, max_kdf_memory=self._max_kdf_memory)
        except files.WrongPlaceError as error:
            if not self._bind_to_path:
                raise
            message, hint, *rest = error.args
            hint = f"{hint}; the place of this path is bind={secret['bind']!r}"
            raise files.WrongPlaceError(message, hint, *rest) from None

    def _reader(self, path: str) -> files.DecryptReader:
        """Opens a file."""
        given, (fs, path) = path, self._place(path)
        if type(fs) is LocalFileSystem:
            if not given:  # no place, but it should be a directory, which this refuses
                io.open(path, "rb").close()
            return self._decrypt(path, given)
        info = fs.info(path)
        if info["type"] == "directory":
            raise IsADirectoryError(path)
        has_ranges = self.async_impl or type(fs).cat_file is not AbstractFileSystem.cat_file
        if has_ranges and info.get("size") is not None:
            return self._decrypt(_Ranges(fs, path, info["size"]), given)
        below = fs.open(path, "rb")
        try:
            reader = self._decrypt(below, given)
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
        is_here = type(self._place(path)[0]) is LocalFileSystem
        is_new_file_below = mode != "rb" and not is_here
        _check_options(options, None if is_new_file_below else ("cache_type", "size"))
        if mode in ("wb", "xb"):
            return self._new_file(path, mode, block_size, autocommit, options)
        if mode != "rb":
            raise ValueError(
                f"mode must be rb, wb or xb, not {mode!r}: an encrypted file is written once"
            )
        reader = self._reader(path)
        if (is_here and "cache_type" not in options) or not reader.seekable():
            return _Uncached(self, path, reader)
        cache_type = options.get("cache_type", "readahead")
        return _File(self, path, reader, block_size, cache_type, cache_options)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **options: Any
    ) -> bytes:
        """Returns a part of a file; negative numbers count from its end."""
        _check_options(options, ())
        if self.async_impl:
            return cast(bytes, sync(self.loop, self._cat_file, path, start, end))
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
        """Returns parts of files. Each file is opened once.

        If the file system below is asynchronous, it gets up to 32 requests at once, each for 1 MiB
        or a chunk, and for no chunk twice. ``batch_size`` limits the files.
        """
        _check_options(options, ("batch_size",))
        if self.async_impl:
            of_all = functools.partial(self._cat_ranges, on_error=on_error, **options)
            return cast("list[Any]", sync(self.loop, of_all, paths, starts, ends))
        parts: list[Any] = [None] * len(paths)
        for path, numbers, ranges in self._by_file(paths, starts, ends):
            with contextlib.ExitStack() as stack:
                reader = None
                for number, (start, end) in zip(numbers, ranges):
                    try:
                        reader = reader or stack.enter_context(self._reader(path))
                        parts[number] = _part(reader, start, end)
                    except Exception as error:
                        if on_error != "return":
                            raise
                        parts[number] = error
        return parts

    def cat(self, path: Any, *arguments: Any, **options: Any) -> Any:
        """Returns the content of one or more files."""
        if self.async_impl:
            return sync(self.loop, self._cat, path, *arguments, **options)
        return super().cat(path, *arguments, **options)

    def _by_file(
        self, paths: Any, starts: Any, ends: Any
    ) -> Iterator[tuple[str, tuple[int, ...], tuple[_Range, ...]]]:
        """The numbers and the ranges of the parts of each file."""
        starts = list(starts) if isinstance(starts, Iterable) else [starts] * len(paths)
        ends = list(ends) if isinstance(ends, Iterable) else [ends] * len(paths)
        if not len(paths) == len(starts) == len(ends):
            raise ValueError("paths, starts and ends must have the same length")
        found: dict[str, list[tuple[int, _Range]]] = {}
        for number, path in enumerate(map(self._strip, paths)):
            found.setdefault(path, []).append((number, (starts[number], ends[number])))
        for path, those in found.items():
            yield path, tuple(number for number, _ in those), tuple(each for _, each in those)

    def get_file(
        self,
        rpath: str,
        lpath: Any,
        callback: Any = DEFAULT_CALLBACK,
        outfile: Any = None,
        **options: Any,
    ) -> None:
        """Decrypts a file to a local one, which appears once it is complete."""
        if outfile is None and isfilelike(lpath):
            outfile = lpath
        if outfile is None and self.isdir(rpath):
            os.makedirs(lpath, exist_ok=True)
            return
        inputs: dict[str, Any] = {"source": self._local(rpath), "key_file": self._paths_of_keys()}
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(self.open(rpath, "rb", **options))
            if outfile is None:
                os.makedirs(os.path.dirname(lpath) or ".", exist_ok=True)
                outfile = stack.enter_context(_output.create(lpath, True, **inputs))
            else:
                _output.refuse_same(outfile, **inputs)
            callback.set_size(getattr(source, "size", None))
            while data := source.read(self.blocksize):
                _native.write_fully(outfile, data)
                callback.relative_update(len(data))

    # Writing

    def _new_file(
        self,
        path: str,
        mode: str,
        block_size: int | str | None,
        autocommit: bool,
        options: dict[str, Any],
    ) -> files._Writer:
        secret = self._secret(path, new=True)
        self._check_target(path)
        fs, path = self._place(path)
        with contextlib.ExitStack() as stack:
            output: Any
            if type(fs) is LocalFileSystem:
                if fs.auto_mkdir:
                    fs.makedirs(fs._parent(path), exist_ok=True)
                output = stack.enter_context(_output.create(path, mode == "wb"))
            else:
                if isinstance(fs, MemoryFileSystem):
                    file = _InMemory(fs, path, mode)
                else:
                    file = fs._open(
                        path, mode=mode, block_size=block_size, autocommit=False, **options
                    )
                    if getattr(file, "autocommit", False):
                        file.autocommit = False  # simplecache does not pass it on
                output = _Pending(fs, path, file)
                stack.callback(output.discard)
            raw = files.EncryptWriter(output, **secret, **self._new)
            raw.name, raw.mode = path, mode
            new = _Writer(raw, output, deferred=not autocommit)
            new.fs = self
            stack.pop_all()
        return new

    def put_file(self, lpath: Any, rpath: str, *arguments: Any, **options: Any) -> None:
        """Encrypts a local file."""
        self._check_target(rpath, lpath)
        super().put_file(lpath, rpath, *arguments, **options)

    # What is there

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Describes a file or directory."""
        path = self._strip(path)
        _check_options(options)
        found = self.fs.info(path, **options)
        return _info(found, _has_size(found) and self.fs.cat_file(path, start=0, end=_HEADER))

    def du(
        self, path: str, total: bool = True, maxdepth: int | None = None, **options: Any
    ) -> Any:
        """The length of all files below a path, as far as it is known."""
        sizes = super().du(path, total=False, maxdepth=maxdepth, **options)
        return _sum(sizes) if total else sizes

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """Lists a directory."""
        _check_options(options)
        found = self.fs.ls(self._strip(path), detail=detail, **options)
        return [_without_size(each) for each in found] if detail else found

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **options: Any,
    ) -> Any:
        """Lists the files in a directory and all below it."""
        _check_options(options)
        found = self.fs.find(
            self._strip(path), maxdepth=maxdepth, withdirs=withdirs, detail=detail, **options
        )
        return {name: _without_size(each) for name, each in found.items()} if detail else found

    exists = _delegated("exists")
    isdir = _delegated("isdir")
    isfile = _delegated("isfile")
    created = _delegated("created")
    modified = _delegated("modified")
    ukey = _delegated("ukey")

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forgets listings."""
        self.fs.invalidate_cache(path if path is None else self._strip(path))
        super().invalidate_cache(path)

    # Changes that need no key: a copy is under the same key

    mkdir = _delegated("mkdir")
    makedirs = _delegated("makedirs")
    rmdir = _delegated("rmdir")
    rm_file = _delegated("rm_file")
    rm = _delegated("rm")
    cp_file = _delegated("cp_file", 2)
    mv = _delegated("mv", 2)

    # The same, if the file system below is asynchronous

    async def set_session(self, *arguments: Any, **options: Any) -> Any:
        """Opens the session of the file system below, and returns it."""
        return await self.fs.set_session(*arguments, **options)

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **options: Any
    ) -> bytes:
        _check_options(options, ())
        with contextlib.closing(_Remote(self, self._strip(path))) as remote:
            (part,) = await remote.parts([(start, end)])
        return _or_raise(part)

    async def _cat_ranges(
        self,
        paths: Any,
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        batch_size: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        _check_options(options, ())
        parts: list[Any] = [None] * len(paths)
        turns = asyncio.Semaphore(batch_size or _AT_ONCE)
        requests = asyncio.Semaphore(_AT_ONCE)

        async def read(path: str, numbers: Any, ranges: Any) -> None:
            async with turns:
                with contextlib.closing(_Remote(self, path, requests)) as remote:
                    found = await remote.parts(ranges)
            for number, part in zip(numbers, found):
                parts[number] = part if on_error == "return" else _or_raise(part)

        await asyncio.gather(*(read(*each) for each in self._by_file(paths, starts, ends)))
        return parts

    async def _pipe_file(
        self, path: str, value: Any, mode: str = "overwrite", **options: Any
    ) -> None:
        _check_options(options)
        self._check_target(path)
        sealed = io.BytesIO()
        path = self._strip(path)
        await aio.run(self._encrypt, io.BytesIO(value), sealed, path)
        await self.fs._pipe_file(path, sealed.getvalue(), mode=mode, **options)

    async def _put_file(self, lpath: Any, rpath: str, **options: Any) -> None:
        _check_options(options)
        path = self._strip(rpath)
        if os.path.isdir(lpath):
            await self._makedirs(path, exist_ok=True)
            return
        self._check_target(path, lpath)
        with tempfile.TemporaryDirectory() as folder:
            sealed = os.path.join(folder, "sealed")
            await aio.run(self._encrypt, lpath, sealed, path)
            await self.fs._put_file(sealed, path, **options)

    async def _get_file(
        self, rpath: str, lpath: Any, callback: Any = DEFAULT_CALLBACK, **options: Any
    ) -> None:
        _check_options(options, ())
        with contextlib.closing(_Remote(self, self._strip(rpath))) as remote:
            try:
                await remote.open()
            except IsADirectoryError:
                os.makedirs(lpath, exist_ok=True)
                return
            os.makedirs(os.path.dirname(lpath) or ".", exist_ok=True)
            source, key_files = self._local(rpath), self._paths_of_keys()
            target = _output.create(lpath, True, source=source, key_file=key_files)
            try:
                callback.set_size(remote.size)
                step = max(_STEP, remote.chunk_size)
                for start in range(0, remote.size, step):
                    (part,) = await remote.parts([(start, start + step)])
                    await aio.run(_native.write_fully, target, _or_raise(part))
                    callback.relative_update(len(part))
                await aio.run(target.commit)
            finally:
                target.discard()

    def _encrypt(self, source: Any, target: Any, path: str) -> None:
        files.encrypt_file(source, target, **self._secret(path, new=True), **self._new)

    async def open_async(self, path: str, mode: str = "rb", **options: Any) -> Any:
        """Opens a file to read it with ``await file.read(size)``.

        To write a new one, use ``_pipe_file`` or ``_put_file``.
        """
        _check_options(options, ())
        if mode != "rb":
            raise ValueError(f"mode must be rb, not {mode!r}: use _pipe_file or _put_file to write")
        remote = _Remote(self, self._strip(path))
        await remote.open()
        return _AsyncFile(self, path, remote)

    async def _info(self, path: str, **options: Any) -> dict[str, Any]:
        _check_options(options)
        path = self._strip(path)
        found = await self.fs._info(path, **options)
        return _info(
            found, _has_size(found) and await self.fs._cat_file(path, start=0, end=_HEADER)
        )

    async def _du(
        self, path: str, total: bool = True, maxdepth: int | None = None, **options: Any
    ) -> Any:
        sizes = await super()._du(path, total=False, maxdepth=maxdepth, **options)
        return _sum(sizes) if total else sizes

    async def _ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        _check_options(options)
        found = await self.fs._ls(self._strip(path), detail=detail, **options)
        return [_without_size(each) for each in found] if detail else found

    async def _find(self, path: str, *arguments: Any, **options: Any) -> Any:
        _check_options(options)
        found = await self.fs._find(self._strip(path), *arguments, **options)
        if not isinstance(found, dict):
            return found
        return {name: _without_size(each) for name, each in found.items()}

    _exists = _delegated("_exists")
    _isdir = _delegated("_isdir")
    _isfile = _delegated("_isfile")
    _mkdir = _delegated("_mkdir")
    _makedirs = _delegated("_makedirs")
    _rm_file = _delegated("_rm_file")
    _rm = _delegated("_rm")
    _cp_file = _delegated("_cp_file", 2)


def _unpickled(kind: Any, arguments: Any, options: Any) -> Any:
    return kind(*arguments, **options, _is_unpickled=True)


def _check_options(options: dict[str, Any], known: Sequence[str] | None = None) -> None:
    """Refuses options of the file system, those misspelt, and, if ``known`` says which a method
    has, all others. What remains goes to the file system below."""
    ours = inspect.signature(PalladionFileSystem.__init__).parameters
    for option in options:
        if option in ours:
            raise TypeError(f"{option} is an option of the file system, not of its methods")
        if known is None:
            for close in difflib.get_close_matches(option, ours, 1, 0.8):
                raise TypeError(
                    f"unknown option {option!r}: {close!r} is an option of the file system"
                )
        elif option not in known:
            raise TypeError(f"unknown option {option!r}")


def _unknown(option: str) -> str:
    known = [*inspect.signature(PalladionFileSystem.__init__).parameters, *_OPTIONS_OF_FSSPEC]
    for close in difflib.get_close_matches(option, known, 1):
        return f"unknown option {option!r}: did you mean {close!r}?"
    return (
        f"unknown option {option!r}: options of the file system below go under its name, as in "
        '{"s3": {"anon": True}}'
    )


def _without_size(info: dict[str, Any]) -> dict[str, Any]:
    """The description of a file whose header was not read."""
    return {**info, "size": None} if info.get("type") == "file" else {**info}


def _sum(sizes: dict[str, int | None]) -> int:
    return sum(size or 0 for size in sizes.values())


def _has_size(info: dict[str, Any]) -> bool:
    return info["type"] == "file" and info.get("size") is not None


def _info(found: dict[str, Any], beginning: Any) -> dict[str, Any]:
    """The description of a file that begins with these 128 bytes, unless it is no such file."""
    info = _without_size(found)
    if _has_size(found):
        with contextlib.suppress(files.FileError):
            chunk_size = _native.chunk_size_of(beginning[:_HEADER])
            info["size"] = _native.plaintext_size(chunk_size, found["size"])
    return info


def _or_raise(part: Any) -> bytes:
    if isinstance(part, Exception):
        raise part
    return cast(bytes, part)


def _part(reader: files.DecryptReader, start: int | None, end: int | None) -> bytes:
    first, last, _ = slice(start, end).indices(reader.seek(0, os.SEEK_END))
    return reader.pread(max(0, last - first), first)


#: Bytes of a file that were fetched, where they begin, and where they should end.
_Fetched = tuple[int, int, bytes]


class _Ranges:
    """A file of which each read is a request of its own."""

    _whole: bytes | None = None

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
        data = self._fetched(self._position, end)
        self._position += len(data)
        return data

    def _fetched(self, start: int, end: int) -> bytes:
        if self._whole is None:
            data = self._fs.cat_file(self.name, start=start, end=end)
            if self._answer(start, end, data) == (start, end, data):
                return cast(bytes, data)
            self._whole = data
        return self._whole[start:end]

    def _answer(self, start: int, end: int, data: bytes) -> _Fetched:
        """What came when this range was asked for. A server without ranges sends the whole file."""
        if len(data) <= end - start:
            return start, end, data
        if len(data) == self._size:
            return 0, len(data), data
        raise OSError(
            f"{self.name}: asked for {end - start} bytes, but got {len(data)}: the server may "
            "not support ranges"
        )


#: The length of a header. No two files have the same header.
_HEADER = 128
#: The bytes at the start of a file to ask for: all of a small one.
_START = 32 << 10
#: The most bytes to ask for in a request, unless a chunk is larger.
_PIECE = 1 << 20
#: The bytes of a file to write at once.
_STEP = 8 << 20
#: The most requests for parts of files at once, and the most files.
_AT_ONCE = 32


class _Missing(Exception):
    """Bytes of a file are needed that were not fetched."""


class _Remote(_Ranges):
    """A file in an asynchronous file system. Where its reader needs bytes that were not fetched, it
    stops, they are fetched, and it tries again."""

    reader: files.DecryptReader | None = None

    def __init__(
        self, owner: PalladionFileSystem, path: str, requests: asyncio.Semaphore | None = None
    ) -> None:
        super().__init__(owner.fs, path, 0)
        self._owner, self._requests = owner, requests or asyncio.Semaphore(_AT_ONCE)
        self._have: list[_Fetched] = []
        self.opening = self._have
        self._turn = threading.Lock()

    def _fetched(self, start: int, end: int) -> bytes:
        for first, last, data in self._have:
            if first <= start and end <= last:
                return data[start - first : end - first]
        raise _Missing(start, end)

    async def _fetch(self, start: int, end: int) -> _Fetched:
        return self._answer(start, end, await self._fs._cat_file(self.name, start=start, end=end))

    def close(self) -> None:
        """Frees its memory."""
        self._have = self.opening = []
        if self.reader is not None:
            self.reader.close()

    async def open(self) -> None:
        """Reads the header and the last chunk."""
        if self.reader is not None:
            return
        info = await self._fs._info(self.name)
        if info["type"] == "directory":
            raise IsADirectoryError(self.name)
        if info.get("size") is None:
            data = await self._fs._cat_file(self.name)
            self._size, self._have = len(data), [(0, len(data), data)]
        elif info["size"]:
            self._size = info["size"]
            self._have = [await self._fetch(0, min(self._size, _START))]
        while True:
            self._position = 0
            try:
                self.reader = await aio.run(self._owner._decrypt, self, self.name)
            except _Missing as missing:
                self._have.append(await self._fetch(*missing.args))
            else:
                opened = self.reader._open()
                self.opening, self.size = self._have, opened.size or 0
                self.chunk_size = opened.chunk_size or 1
                return

    async def parts(self, ranges: Sequence[_Range]) -> list[Any]:
        """Returns these parts, or exceptions. What several need is fetched once."""
        try:
            await self.open()
        except Exception as error:
            return [error] * len(ranges)
        chunk_size = self.chunk_size
        wanted = [slice(*each).indices(self.size)[:2] for each in ranges]
        needed = set[int]()
        for start, end in wanted:
            needed.update(range(start // chunk_size, -(-end // chunk_size) if start < end else 0))
        pieces: list[tuple[int, int]] = []
        for chunk in sorted(needed):
            start, end = chunk * chunk_size, min((chunk + 1) * chunk_size, self.size)
            if pieces and pieces[-1][1] == start and end - pieces[-1][0] <= _PIECE:
                start = pieces.pop()[0]
            pieces.append((start, end))
        users: list[list[int]] = [[] for _ in pieces]
        for number, (start, end) in enumerate(wanted):
            first = bisect.bisect_right(pieces, (start, self.size)) - 1
            for piece in range(max(first, 0), bisect.bisect_left(pieces, (end, 0))):
                if start < end:
                    users[piece].append(number)
        found: list[dict[int, Any]] = [{} for _ in ranges]

        async def read(number: int) -> None:
            first, last = pieces[number]
            those = [wanted[user] for user in users[number]]
            cut = [(max(first, start), min(last, end)) for start, end in those]
            async with self._requests:
                texts = await self._piece(first, last, cut)
            for user, text in zip(users[number], texts):
                found[user][number] = text

        await asyncio.gather(*map(read, range(len(pieces))))
        return [_joined([each[piece] for piece in sorted(each)]) for each in found]

    async def _piece(self, first: int, last: int, ranges: list[tuple[int, int]]) -> list[Any]:
        have = self.opening
        while True:
            try:
                return await aio.run(self._decrypted, have, first, last, ranges)
            except _Missing as missing:
                try:
                    have = [await self._fetch(*missing.args)]
                except Exception as error:
                    return [error] * len(ranges)

    def _decrypted(
        self, have: list[_Fetched], first: int, last: int, ranges: list[tuple[int, int]]
    ) -> list[Any]:
        """Decrypts ranges of a piece. A damaged chunk spoils those that need it."""

        def pread(start: int, end: int) -> Any:
            try:
                return cast(files.DecryptReader, self.reader).pread(end - start, start)
            except files.FileError as error:
                return error

        with self._turn:
            self._have = have
            text = pread(first, last)
            if isinstance(text, Exception):
                return [pread(*each) for each in ranges]
        return [
            text if each == (first, last) else text[each[0] - first : each[1] - first]
            for each in ranges
        ]


def _joined(parts: list[Any]) -> Any:
    """The whole, or the first error."""
    for part in parts:
        if isinstance(part, Exception):
            return part
    return parts[0] if len(parts) == 1 else b"".join(parts)


class _AsyncFile(AbstractAsyncStreamedFile):  # type: ignore[misc]
    """A file that is read by a program of asyncio."""

    def __init__(self, fs: PalladionFileSystem, path: str, remote: _Remote) -> None:
        super().__init__(fs, path, size=remote.size, cache_type="none")
        self._remote = remote

    async def close(self) -> None:
        await super().close()
        self._remote.close()

    async def _fetch_range(self, start: int, end: int) -> bytes:
        (part,) = await self._remote.parts([(start, end)])
        return _or_raise(part)


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
        options = {"cache_type": cache_type, "cache_options": cache_options}
        super().__init__(fs, path, block_size=block_size, size=reader._open().size, **options)

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self._reader.pread(max(0, end - start), start)

    def close(self) -> None:
        super().close()
        self._reader.close()


class _Uncached(files._Reader):
    """Reads a file that fsspec need not cache."""

    def __init__(self, fs: PalladionFileSystem, path: str, reader: files.DecryptReader) -> None:
        super().__init__(reader)
        self._place = fs, path
        self.size = reader._open().size

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _reopened, (*self._place, self.tell())


def _reopened(fs: PalladionFileSystem, path: str, position: int) -> Any:
    file = fs.open(path)
    file.seek(position)
    return file


class _InMemory(io.BytesIO):
    """A new file of a file system in memory, which would replace an older one at once."""

    def __init__(self, fs: AbstractFileSystem, path: str, mode: str) -> None:
        super().__init__()
        self._fs, self._path = fs, path
        self._mode = "overwrite" if mode == "wb" else "create"
        if mode == "xb" and fs.exists(path):
            raise FileExistsError(path)

    def close(self) -> None:
        """Keeps it for commit()."""

    def commit(self) -> None:
        self._fs.pipe_file(self._path, self.getvalue(), mode=self._mode)


class _Pending:
    """A file of the file system below, which appears once it is committed."""

    def __init__(self, below: AbstractFileSystem, path: str, file: Any) -> None:
        self._below, self._path, self.file = below, path, file
        self._start = b""
        stub = [getattr(AbstractBufferedFile, name) for name in ("write", "flush", "_upload_chunk")]
        if all(getattr(type(file), each.__name__, None) is each for each in stub):
            raise NotImplementedError(
                f"{type(below).__name__}, the file system below, cannot write files: they would "
                "store nothing"
            )

    def write(self, data: bytes) -> int:
        self._start += data[: _HEADER - len(self._start)]
        _native.write_fully(self.file, data)
        return len(data)

    def flush(self) -> None:
        getattr(self.file, "flush", lambda: None)()

    def commit(self) -> None:
        self._end("commit")
        if hasattr(self.file, "commit"):
            return
        # Some file systems open a buffer, which drops what is written.
        try:
            there = self._below.cat_file(self._path, start=0, end=_HEADER)
        except FileNotFoundError:
            there = b""
        except Exception:
            return  # it cannot be read yet, as in a new archive
        if there[:_HEADER] != self._start:
            name = type(self._below).__name__
            raise PalladionError(f"{name}, the file system below, has not stored {self._path!r}")

    def discard(self) -> None:
        # It has no end, so readers will reject it wherever it cannot be discarded.
        try:
            self.file.close()
        finally:
            self._end("discard")

    def _end(self, method: str) -> None:
        getattr(self.file, method, lambda: None)()
        self._below.invalidate_cache(self._path)


class _Writer(files._Writer):
    """A new file."""

    fs: PalladionFileSystem

    def _finish(self) -> None:
        super()._finish()
        if isinstance(self._output, _Pending):
            self._output.file.close()

    def _waits(self) -> bool:
        """Whether it is one of a transaction, which publishes it at its end."""
        transaction = self.fs._transaction if self._deferred else None
        return transaction is not None and self in transaction.files

    def discard(self) -> None:
        super().discard()
        if self._waits():
            self.fs._transaction.files.remove(self)
