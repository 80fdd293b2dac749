"""Columns: encrypt or decrypt many values in one call, each separately.

>>> import palladion
>>> from palladion import columns
>>> cipher = palladion.Cipher(palladion.generate_key(), "AEGIS-256", tag_size=16)
>>> sealed = columns.encrypt(["Ada", None, "Grace"], cipher, ad="people.name")
>>> columns.decrypt(sealed, cipher, ad="people.name", type="string")
['Ada', None, 'Grace']

Each value is encrypted as by :meth:`Cipher.seal`: it becomes a random nonce, ciphertext and tag.
Rows can therefore be filtered, sorted, sampled and written to any file, and a single value can be
decrypted without the others:

>>> cipher.open(sealed[2], b"people.name")
b'Grace'

Nulls stay null. Anyone can see which values are null, the number of rows and the length of each
value.

``ad`` binds values to their place. Without it, an encrypted value can be moved to another row or
column and is still authentic there. Pass the name of the column to bind values to the column, or a
column of primary keys to bind each value to its row; make numbers text first, as with ``str`` or
``astype``. The associated data is not stored; pass the same for decryption.

The result depends on the type of the values:

===================================================  ===========================================
values                                               result
===================================================  ===========================================
list of bytes, str or None                           list of bytes or None
NumPy array of objects (bytes, str or None),         array of objects (bytes or None)
``S``, ``U`` or ``T``
NumPy array of ``uint8`` with two dimensions; each   array of ``uint8`` with longer rows
row is a value
pyarrow ``Array`` or ``ChunkedArray`` of binary,     the same container of binary, or of large
string, their large or view types, a dictionary of   binary if the values are large or the
them, or null                                        result needs it
pyarrow ``Array`` or ``ChunkedArray`` of fixed-size  the same container of longer fixed-size
binary                                               binary
pandas ``Series`` of objects (bytes, str or None)    ``Series`` of objects (bytes or None) with
or of Python strings                                 the same index and name
pandas ``Series`` backed by Arrow, which ``str`` of  ``Series`` of ``ArrowDtype`` with the same
pandas 3 is too                                      index and name
Polars ``Series`` of Binary or String                ``Series`` of Binary with the same name
===================================================  ===========================================

NumPy drops zero bytes at the end of values of dtype ``S``, which ``numpy.array(values)`` makes.
Never put encrypted values into such an array, nor plain ones that may end with zero bytes;
``numpy.array(values, dtype=object)`` keeps them.

Arrow, Polars and pandas backed by Arrow need pyarrow (``pip install palladion[arrow]``). Their
buffers are not copied. All cores work at once, without the interpreter's lock.

Choose a cipher of the AEGIS-256 family: with one key, random nonces are safe for any number of
values. The AEGIS-128 family allows 2**48 values per key. For values of up to a few hundred bytes,
AEGIS-256 is the fastest of its family; with ``tag_size=16`` a value grows by 48 bytes.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any, Callable, Literal, Optional, Union, overload

from . import _native
from ._native import Cipher, VerificationError

__all__ = ["ColumnError", "decrypt", "encrypt"]

#: A column of native code: data, offsets or None, the width of an offset or of a value, bit mask or
#: None, first row, number of rows. Instead, it takes a list of objects too.
_Parts = tuple[Any, Any, int, Any, int, int]
_Source = Union[list[Any], _Parts]

#: The most bytes that 32-bit offsets can address. Tests lower it.
_MOST_32 = 2**31 - 1

_SUPPORTED = (
    "a list, a NumPy array (of objects, S, U, or uint8 with two dimensions), a pyarrow Array or "
    "ChunkedArray (binary, string, fixed-size binary), a pandas Series or a Polars Series (Binary, "
    "String)"
)


class ColumnError(VerificationError):
    """Some values are not authentic.

    The key is wrong, or the values or their associated data were changed. ``failed`` is the number
    of such values, ``row`` the first of their rows, counted from 0.
    """

    def __init__(self, row: int, failed: int) -> None:
        if failed == 1:
            message = f"row {row} failed authentication"
        else:
            message = f"{failed} rows failed authentication; the first is row {row}"
        super().__init__(message)
        self.row = row
        self.failed = failed

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row, self.failed), self.__dict__


@overload
def encrypt(
    values: list[Any], cipher: Cipher, ad: Any = None, *, threads: Optional[int] = None
) -> list[Optional[bytes]]: ...
@overload
def encrypt(
    values: Any, cipher: Cipher, ad: Any = None, *, threads: Optional[int] = None
) -> Any: ...
def encrypt(values: Any, cipher: Cipher, ad: Any = None, *, threads: Optional[int] = None) -> Any:
    """Encrypts each value of a column to nonce, ciphertext and tag in one. Strings become UTF-8.

    ``ad`` is data that is authenticated with the values but is not part of the result. It is bytes
    or str, used for all rows, or a column of bytes or text with the same number of rows, which must
    not be null where there is a value. Rows are matched by position, not by the index of pandas.
    ``threads`` is the number of threads; the default is all cores for a long column.

    >>> import numpy, palladion
    >>> from palladion import columns
    >>> cipher = palladion.Cipher(bytes(32), "AEGIS-256", tag_size=16)
    >>> pixels = numpy.zeros((1000, 3), numpy.uint8)
    >>> columns.encrypt(pixels, cipher).shape
    (1000, 51)
    """
    return _convert(values, _Call(cipher, ad, threads))


@overload
def decrypt(
    values: list[Any],
    cipher: Cipher,
    ad: Any = None,
    *,
    type: Literal[None, "binary"] = None,
    errors: Literal["raise", "null"] = "raise",
    threads: Optional[int] = None,
) -> list[Optional[bytes]]: ...
@overload
def decrypt(
    values: list[Any],
    cipher: Cipher,
    ad: Any = None,
    *,
    type: Literal["string"],
    errors: Literal["raise", "null"] = "raise",
    threads: Optional[int] = None,
) -> list[Optional[str]]: ...
@overload
def decrypt(
    values: Any,
    cipher: Cipher,
    ad: Any = None,
    *,
    type: Any = None,
    errors: Literal["raise", "null"] = "raise",
    threads: Optional[int] = None,
) -> Any: ...
def decrypt(
    values: Any,
    cipher: Cipher,
    ad: Any = None,
    *,
    type: Any = None,
    errors: Literal["raise", "null"] = "raise",
    threads: Optional[int] = None,
) -> Any:
    """Decrypts the output of :func:`encrypt`, with the same ``ad``.

    Values are bytes, or strings with ``type="string"``; a value that is not UTF-8 then raises
    :class:`ValueError`. For columns backed by Arrow, ``type`` may also be any Arrow type that
    binary can be cast to. For a ``Series`` of pandas it may be a dtype of strings, such as that of
    the original. With ``"string"``, ``str`` of pandas 3 comes back as such, objects as objects and
    other strings as Arrow's.

    If a value is not authentic, this raises :class:`ColumnError`, a :class:`VerificationError` that
    names the row, and returns nothing. With ``errors="null"`` such values become null instead, and
    the others are returned. Someone who can change the column can then remove values unnoticed.

    >>> import palladion
    >>> from palladion import columns
    >>> cipher = palladion.Cipher(bytes(32))
    >>> sealed = columns.encrypt([b"a", b"b", b"c"], cipher)
    >>> columns.decrypt([sealed[0], sealed[1][:-1], sealed[2]], cipher, errors="null")
    [b'a', None, b'c']
    >>> columns.decrypt([sealed[0], sealed[1][:-1], sealed[2]], cipher)
    Traceback (most recent call last):
    ...
    palladion.columns.ColumnError: row 1 failed authentication
    """
    if errors not in ("raise", "null"):
        raise ValueError(f'errors must be "raise" or "null", not {errors!r}')
    return _convert(values, _Call(cipher, ad, threads, type=type, keep=errors == "null"))


class _Call:
    """The arguments of a call, and the work on each kind of column.

    ``keep`` says whether values that are not authentic become null; it is None for encryption.
    """

    def __init__(
        self,
        cipher: Cipher,
        ad: Any,
        threads: Optional[int],
        *,
        type: Any = None,
        keep: Optional[bool] = None,
    ) -> None:
        if not isinstance(cipher, Cipher):
            raise TypeError(f"cipher must be a palladion.Cipher, not {_name(cipher)}")
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.cipher = cipher
        self.ad = ad.encode() if isinstance(ad, str) else ad
        self.threads = threads or 0
        self.type = type
        self.keep = keep
        self.opens = keep is not None
        self.failed = 0
        self.first = 0

    def ads_of(self, count: int) -> Callable[[int, int], Any]:
        """A function from the first row and the number of rows to their associated data."""
        ad = self.ad
        if ad is None or isinstance(ad, (bytes, bytearray, memoryview)):
            return lambda start, rows: ad
        try:
            column = _column_of(ad)
        except TypeError as error:
            raise TypeError(f"ad: {error}") from None
        if len(column) != count:
            raise ValueError(
                f"ad must have as many rows as values ({count}), but has {len(column)}"
            )
        return lambda start, rows: _source(column, start, rows)

    def native(
        self, values: _Source, ad: Any, allocate: Callable[[int], Any], start: int = 0
    ) -> Any:
        """Converts values, of which ``start`` is the first row; returns None if it failed."""
        column, failed, first = _native.convert_column(
            self.cipher, values, ad, allocate, _MOST_32, self.threads, self.keep
        )
        if failed and not self.failed:
            self.first = start + first
        self.failed += failed
        return column

    def check(self, parts: list[Optional[_Parts]]) -> None:
        """Raises at the end of a column if a value was not authentic, unless those become null.

        Then nothing is returned of the authentic parts either.
        """
        if self.failed and not self.keep:
            for part in parts:
                _wipe(part)
            raise ColumnError(self.first, self.failed)

    def objects(self, values: list[Any]) -> list[Any]:
        """Converts a list."""
        if self.opens and self.type not in (None, "binary", "string"):
            raise TypeError(
                f'type must be "binary" or "string" for Python objects, not {self.type!r}'
            )
        column = self.native(values, self.ads_of(len(values))(0, len(values)), bytearray)
        self.check([column])
        try:
            return _native.column_to_list(column, self.opens and self.type == "string")
        finally:
            if self.opens:
                _wipe(column)

    def matrix(self, values: Any) -> Any:
        """Converts the rows of a NumPy array."""
        np = _import("numpy")

        rows, width = values.shape
        if self.opens and self.type not in (None, "binary"):
            raise TypeError("rows of uint8 always become bytes; decrypt them without a type")
        if self.opens and width < self.cipher.overhead:
            raise ValueError(
                f"encrypted rows must have at least {self.cipher.overhead} bytes, but have {width}"
            )
        if self.keep:
            raise TypeError("rows of an array cannot be null; decrypt them as a column of objects")
        column = self.native(
            _source(values, 0, rows),
            self.ads_of(rows)(0, rows),
            lambda size: np.empty(size, np.uint8),
        )
        self.check([column])
        data, _, width, *_ = column
        return data.reshape(rows, width)

    def arrow(self, column: Any) -> Any:
        """Converts an Array or a ChunkedArray of pyarrow."""
        pa = _pyarrow()
        kind = column.type
        if self.opens and "string" in str(kind):
            raise TypeError(f"encrypted values must be binary, not {kind}")
        ads = self.ads_of(len(column))
        start, parts = 0, []
        for chunk in _chunks(pa, column):
            ad = ads(start, len(chunk))
            parts.append(self.native(_arrow_parts(pa, chunk), ad, pa.allocate_buffer, start))
            start += len(chunk)
        self.check(parts)
        results = [_arrow_array(pa, part) for part in parts]
        # If one chunk needs 64-bit offsets, all get them.
        kinds = {result.type for result in results}
        wanted = self._arrow_type(pa, kinds.pop() if len(kinds) == 1 else pa.large_binary())
        results = [array if array.type == wanted else array.cast(wanted) for array in results]
        return pa.chunked_array(results) if isinstance(column, pa.ChunkedArray) else results[0]

    def _arrow_type(self, pa: Any, actual: Any) -> Any:
        """The type of the result."""
        if self.type is None:
            return actual
        if self.type == "string":
            return pa.large_string() if pa.types.is_large_binary(actual) else pa.string()
        if self.type == "binary":
            return pa.large_binary() if pa.types.is_large_binary(actual) else pa.binary()
        if isinstance(self.type, pa.DataType):
            return self.type
        raise TypeError(f'type must be "binary", "string" or a pyarrow.DataType, not {self.type!r}')


def _convert(values: Any, call: _Call) -> Any:
    """Converts a column. The container of the values says which one the result gets."""
    if isinstance(values, (list, tuple)):
        return call.objects(list(values))
    if call.opens and getattr(getattr(values, "dtype", None), "kind", "") == "S":
        raise TypeError(
            "NumPy drops zero bytes at the end of values of dtype S, so some encrypted values are "
            "incomplete; keep them in what encrypt returned, or in "
            "numpy.array(values, dtype=object)"
        )
    column, kind = _column_of(values, "values"), _kind(values)
    if kind == "pandas":
        return _pandas(values, column, call)
    if kind == "polars":
        return _polars(values, column, call)
    if kind == "pyarrow":
        return call.arrow(column)
    return _to_objects(call.objects(column)) if isinstance(column, list) else call.matrix(column)


def _to_objects(values: list[Any]) -> Any:
    """Makes an array of objects. (numpy.array would make an array of fixed-size bytes.)"""
    np = _import("numpy")

    array = np.empty(len(values), object)
    array[:] = values
    return array


def _pandas(values: Any, column: Any, call: _Call) -> Any:
    pd = _import("pandas")

    wanted: Any = None  # a dtype for strings, unless the container decides
    if isinstance(call.type, pd.StringDtype):
        wanted, call.type = call.type, "string"
    else:
        call.type = getattr(call.type, "pyarrow_dtype", call.type)  # of an ArrowDtype
    usual = pd.Series(["text"]).dtype  # str from pandas 3 on, objects before
    has_str = isinstance(usual, pd.StringDtype)
    text = call.opens and call.type == "string" and wanted is None and has_str
    if isinstance(column, list):
        if text and usual.storage == "python":  # there is no pyarrow, and str becomes objects
            wanted = usual
        done = _to_objects(call.objects(column))
        return pd.Series(done, index=values.index, name=values.name, dtype=wanted or object)
    pa, result = _pyarrow(), call.arrow(column)
    if text and pa.types.is_large_string(result.type):
        wanted = usual
    if wanted is not None:
        array = wanted.__from_arrow__(result)
    else:
        if has_str and pa.types.is_large_string(column.type) and values.dtype != usual:
            # Large binary is for str, so that decryption can tell it from other strings.
            with contextlib.suppress(pa.ArrowInvalid):  # too long for 32-bit offsets
                result = result.cast(pa.binary())
        array = pd.arrays.ArrowExtensionArray(result)
    return pd.Series(array, index=values.index, name=values.name)


def _polars(values: Any, column: Any, call: _Call) -> Any:
    pl = _import("polars")

    if call.type is pl.String or call.type is pl.Binary:
        call.type = "string" if call.type is pl.String else "binary"
    return pl.Series(values.name, call.arrow(column))


def _column_of(values: Any, what: str = "a column") -> Any:
    """The column as a type that native code knows, without a copy if possible.

    That is a list, an array of uint8 with two dimensions, or an Array or ChunkedArray of pyarrow of
    a type that `_arrow_parts` knows.
    """
    if isinstance(values, (list, tuple)):
        return list(values)
    of = {
        "numpy": _column_of_numpy,
        "pyarrow": _column_of_arrow,
        "pandas": _column_of_pandas,
        "polars": _column_of_polars,
    }.get(_kind(values))
    if of is None:
        raise TypeError(f"{what} must be {_SUPPORTED}, not {_name(values)}")
    return of(values)


def _column_of_numpy(values: Any) -> Any:
    np = _import("numpy")

    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("masked arrays are not supported; use values.astype(object).filled(None)")
    if values.ndim == 2 and values.dtype == np.uint8:
        return values
    if values.ndim == 1 and values.dtype.kind in "OSUT":
        return values.tolist()
    raise TypeError(
        "a NumPy array must have one dimension of objects (bytes, str, None), S, U or T, or "
        f"two dimensions of uint8, not {values.ndim} of {values.dtype}"
    )


def _column_of_arrow(values: Any) -> Any:
    pa = _pyarrow()
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = str(values.type)
    if kind == "null":
        return values.cast(pa.binary())
    if kind in ("binary_view", "string_view"):  # which older versions of pyarrow lack
        return values.cast(pa.large_binary() if kind == "binary_view" else pa.large_string())
    plain = kind in ("binary", "large_binary", "string", "large_string")
    if not plain and not pa.types.is_fixed_size_binary(values.type):
        raise TypeError(f"a pyarrow column must be of binary or string, not {kind}; cast it")
    return values


def _column_of_pandas(values: Any) -> Any:
    pd = _import("pandas")

    if not isinstance(values, pd.Series):
        raise TypeError(f"a column of pandas must be a Series, not {_name(values)}")
    dtype = values.dtype
    if isinstance(dtype, getattr(pd, "ArrowDtype", ())) or getattr(dtype, "storage", None) in (
        "pyarrow",
        "pyarrow_numpy",
    ):
        return _column_of_arrow(values.array.__arrow_array__())
    if dtype == object or isinstance(dtype, pd.StringDtype):
        return values.to_numpy(object, na_value=None).tolist()
    raise TypeError(
        "a Series must be of objects (bytes, str, None), of strings or of Arrow's binary, "
        f"not {dtype}; use astype"
    )


def _column_of_polars(values: Any) -> Any:
    pl = _import("polars")

    if not isinstance(values, pl.Series):
        raise TypeError(f"a column of Polars must be a Series, not {_name(values)}")
    if values.dtype not in (pl.Binary, pl.String, pl.Null):
        raise TypeError(f"a Polars Series must be of Binary or String, not {values.dtype}; cast it")
    _pyarrow()
    # Polars stores views, and converts them to offsets faster than pyarrow does.
    level = getattr(pl, "CompatLevel", None)
    array = values.to_arrow(compat_level=level.oldest()) if level else values.to_arrow()
    return _column_of_arrow(array)


def _arrow_parts(pa: Any, values: Any) -> _Parts:
    """The buffers of an array. One without rows may lack some."""
    buffers, kind = values.buffers(), values.type
    valid = buffers[0] if values.null_count else None
    data = buffers[-1] or b""
    if pa.types.is_fixed_size_binary(kind):
        return data, None, kind.byte_width, valid, values.offset, len(values)
    width = 8 if str(kind).startswith("large") else 4
    return data, buffers[1] or b"", width, valid, values.offset, len(values)


def _arrow_array(pa: Any, parts: _Parts) -> Any:
    """The array of a column from native code."""
    data, offsets, width, valid, _, rows = parts
    if offsets is None:
        kind, buffers = pa.binary(width), [valid, data]
    else:
        kind = pa.large_binary() if width == 8 else pa.binary()
        buffers = [valid, offsets, data]
    buffers = [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers]
    return pa.Array.from_buffers(kind, rows, buffers)


def _chunks(pa: Any, column: Any) -> list[Any]:
    """The arrays of a column, of which there is at least one."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return chunks or [pa.array([], column.type)]


def _source(column: Any, start: int, rows: int) -> _Source:
    """Some rows of a column, for native code."""
    if isinstance(column, list):
        return column if len(column) == rows else column[start : start + rows]
    if hasattr(column, "ndim"):
        np = _import("numpy")

        # Flat, because the buffer protocol rejects the shape of an empty view.
        data = np.ascontiguousarray(column[start : start + rows]).reshape(-1)
        return data, None, column.shape[1], None, 0, rows
    pa = _pyarrow()
    chunks = _chunks(pa, column.slice(start, rows))
    # If its chunks are not those of the values, the rows are copied.
    return _arrow_parts(pa, chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks))


def _wipe(parts: Optional[_Parts]) -> None:
    """Zeroes the values of a column from native code."""
    if parts is not None:
        memoryview(parts[0]).cast("B")[:] = bytes(len(parts[0]))


def _kind(values: Any) -> str:
    """The package that a container belongs to.

    Only loaded modules are asked: an object of a package can exist only if the package is loaded.
    """
    for module, names in (
        ("numpy", ("ndarray",)),
        ("pyarrow", ("Array", "ChunkedArray")),
        ("pandas", ("Series", "DataFrame", "Index")),
        ("polars", ("Series", "DataFrame", "LazyFrame")),
    ):
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(
            values, tuple(getattr(loaded, n) for n in names if hasattr(loaded, n))
        ):
            return module
    return ""


def _name(value: Any) -> str:
    kind = value.__class__
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _import(name: str) -> Any:
    """Imports an optional module, without types."""
    return importlib.import_module(name)


def _pyarrow() -> Any:
    try:
        return _import("pyarrow")
    except ImportError as error:
        raise ImportError(
            "columns of Arrow, pandas and Polars need pyarrow; run pip install palladion[arrow]"
        ) from error
