"""Columns: encrypt and decrypt many values in one call, each on its own.

>>> import palladion
>>> from palladion import columns
>>> cipher = palladion.Cipher(palladion.generate_key(), "AEGIS-256", tag_size=16)
>>> sealed = columns.encrypt(["Ada", None, "Grace"], cipher, ad="people.name")
>>> columns.decrypt(sealed, cipher, ad="people.name", type="string")
['Ada', None, 'Grace']

Each value becomes what :meth:`Cipher.seal` makes of it: a random nonce of its own, ciphertext and tag. So rows can be filtered, sorted,
sampled and written to any file, and a single value can be opened without the others:

>>> cipher.open(sealed[2], b"people.name")
b'Grace'

Nulls stay null: they, the number of rows and the length of each value can be seen.

What ``ad`` is for: a value that is encrypted can still be moved to another row or column, where it is as authentic as before. It cannot if
the associated data says where it belongs: one value for the name of the column, or a column for the primary keys. It is not stored, and
decryption needs the same.

Containers, and what comes back:

==============================================================  ===========================================================================
values                                                          result
==============================================================  ===========================================================================
list of bytes, str or None                                      list of bytes or None
NumPy array of objects (bytes, str, None), ``S``, ``U``, ``T``  array of objects (bytes or None)
NumPy array of ``uint8`` with two dimensions: a row is a value  array of ``uint8`` with two dimensions, whose rows are longer
pyarrow ``Array`` or ``ChunkedArray`` of (large) binary or      the same of binary, or large binary if the values are, or if the result
string, a view or a dictionary of them, or null                 does not fit into binary
pyarrow ``Array`` or ``ChunkedArray`` of fixed-size binary      the same of longer fixed-size binary
pandas ``Series`` of objects, as above, or strings in Python    ``Series`` of objects (bytes or None), with index and name
pandas ``Series`` in Arrow's memory (``ArrowDtype`` and others) ``Series`` of ``ArrowDtype``, likewise
Polars ``Series`` of Binary or String                           ``Series`` of Binary, with its name
==============================================================  ===========================================================================

Arrow, Polars and Arrow's memory in pandas need pyarrow (``pip install palladion[arrow]``); their buffers are used where they are. All cores
work at once, without the interpreter's lock.

Which cipher: the AEGIS-256 family, because one of its keys is good for any number of random nonces (of the AEGIS-128 family, for 2**48
values). For values of up to some hundred bytes, AEGIS-256 is the fastest of it; with ``tag_size=16`` a value takes 48 bytes more.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Callable, Literal, Optional, Union, overload

from . import _native
from ._native import Cipher, VerificationError

__all__ = ["ColumnError", "decrypt", "encrypt"]

#: A column as native code takes it: a list of objects, or (data, offsets or None, width of an
#: offset or a value, bit mask or None, first).
_Parts = tuple[Any, Any, int, Any, int]
_Source = Union[list[Any], _Parts]

#: The most bytes that offsets of 32 bits can tell apart. (Tests make it smaller.)
_MOST_32 = 2**31 - 1

_SUPPORTED = (
    "a list, a NumPy array (of objects, S, U, or uint8 with two dimensions), a pyarrow Array or ChunkedArray (binary, string, fixed-size "
    "binary), a pandas Series or a Polars Series (Binary, String)"
)


class ColumnError(VerificationError):
    """Values of a column are not authentic: the key is wrong, or they or their associated data were changed.

    ``row`` is the first of them, counted from 0, and ``failed`` says how many there are.
    """

    def __init__(self, row: int, failed: int) -> None:
        others = f", and so are {failed - 1} more" if failed > 1 else ""
        super().__init__(f"row {row} is not authentic{others}")
        self.row = row
        self.failed = failed

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnError, (self.row, self.failed)


@overload
def encrypt(
    values: list[Any], cipher: Cipher, ad: Any = None, *, threads: Optional[int] = None
) -> list[Optional[bytes]]: ...
@overload
def encrypt(values: Any, cipher: Cipher, ad: Any = None, *, threads: Optional[int] = None) -> Any: ...
def encrypt(values: Any, cipher: Cipher, ad: Any = None, *, threads: Optional[int] = None) -> Any:
    """Encrypts each value of a column: nonce, ciphertext and tag in one. Strings become UTF-8.

    ``ad`` is data that is authenticated with the values but not part of the result: one for all (bytes or str), or a column of as many
    rows, of any of the containers, which has no null where there is a value. (Rows count, not the index of pandas.) ``threads`` says how many
    threads are to work; without it, all cores do if there is enough to do.

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
    """Decrypts what :func:`encrypt` made, with the same ``ad``.

    Values are bytes; with ``type="string"`` they are strings, which must be UTF-8 (:class:`ValueError` if one is not). For columns in
    Arrow's memory ``type`` may be any of its types that binary can be cast to.

    If a value is not authentic, :class:`ColumnError` (a :class:`VerificationError`) names its row, and nothing is returned. With
    ``errors="null"``, such values become null instead, and all the others are returned: whoever can change the column can then make a
    value disappear, and nobody is told.

    >>> import palladion
    >>> from palladion import columns
    >>> cipher = palladion.Cipher(bytes(32))
    >>> sealed = columns.encrypt([b"a", b"b", b"c"], cipher)
    >>> columns.decrypt([sealed[0], sealed[1][:-1], sealed[2]], cipher, errors="null")
    [b'a', None, b'c']
    >>> columns.decrypt([sealed[0], sealed[1][:-1], sealed[2]], cipher)
    Traceback (most recent call last):
    ...
    palladion.columns.ColumnError: row 1 is not authentic
    """
    if errors not in ("raise", "null"):
        raise ValueError(f'errors is "raise" or "null", not {errors!r}')
    return _convert(values, _Call(cipher, ad, threads, opens=True, type=type, keep=errors == "null"))


class _Call:
    """What is to be done with a column, whatever it is in."""

    def __init__(
        self,
        cipher: Cipher,
        ad: Any,
        threads: Optional[int],
        *,
        opens: bool = False,
        type: Any = None,
        keep: bool = False,
    ) -> None:
        if not isinstance(cipher, Cipher):
            raise TypeError(f"cipher is a palladion.Cipher, not {_name(cipher)}")
        if threads is not None and threads < 1:
            raise ValueError("threads is at least 1")
        if isinstance(ad, str):
            ad = ad.encode()
        self.cipher = cipher
        self.ad = ad
        self.threads = threads or 0
        self.opens = opens
        self.type = type
        self.keep = keep
        self.failed = 0
        self.first = 0

    def ads_of(self, count: int) -> Callable[[int, int], Any]:
        """What native code takes as the associated data of rows: the first of them, and how many."""
        ad = self.ad
        if ad is None or isinstance(ad, (bytes, bytearray, memoryview)):
            return lambda start, rows: ad
        column = _column_of(ad)
        if len(column) != count:
            raise ValueError(f"ad has {len(column)} rows, and values has {count}")
        return lambda start, rows: _source(column, start, rows)

    def failures(self, failed: int, first: int, start: int = 0) -> None:
        """Notes what was not authentic."""
        if failed and not self.failed:
            self.first = start + first
        self.failed += failed

    def check(self) -> None:
        """The end of a column: nothing is returned if something was not authentic."""
        if self.failed and not self.keep:
            raise ColumnError(self.first, self.failed)

    def objects(self, values: list[Any], missing: Any = None) -> list[Any]:
        """For a list."""
        ad = self.ads_of(len(values))(0, len(values))
        if not self.opens:
            return _native.seal_list(self.cipher, values, ad, missing, self.threads)
        if self.type not in (None, "binary", "string"):
            raise TypeError(f'type is "binary" or "string" for values that are Python objects, not {self.type!r}')
        text = self.type == "string"
        done, failed, first = _native.open_list(self.cipher, values, ad, missing, self.threads, self.keep, text)
        self.failures(failed, first)
        self.check()
        assert done is not None
        return done

    def matrix(self, values: Any) -> Any:
        """For rows of an array of NumPy."""
        np = _import("numpy")

        rows, width = values.shape
        width += -self.cipher.overhead if self.opens else self.cipher.overhead
        if width < 0:
            raise ValueError(f"rows have at least {self.cipher.overhead} bytes if they have been encrypted")
        data = np.ascontiguousarray(values)
        out = np.empty((rows, width), np.uint8)
        # (A view of no bytes has no shape that the buffer protocol likes.)
        parts = (_flat(data), None, values.shape[1], None, 0)
        ad = self.ads_of(rows)(0, rows)
        if not self.opens:
            _native.seal_column(self.cipher, parts, rows, ad, _flat(out), None, None, self.threads)
        elif self.keep:
            raise TypeError("rows of an array cannot be null; decrypt them as a column of objects")
        else:
            result = _native.open_column(self.cipher, parts, rows, ad, _flat(out), None, None, self.threads, False)
            self.failures(*result)
            self.check()
        return out

    def arrow(self, values: Any) -> Any:
        """For an Array or a ChunkedArray of pyarrow."""
        pa = _pyarrow()
        chunked = isinstance(values, pa.ChunkedArray)
        column = _column_of(values)
        ads = self.ads_of(len(values))
        results, start, outs = [], 0, []
        for chunk in column.chunks if chunked else [column]:
            result, out = self._arrow_chunk(pa, chunk, start, ads)
            results.append(result)
            outs.append(out)
            start += len(chunk)
        if self.failed and not self.keep:
            # Of those chunks that are authentic, too, nothing is left.
            for out in outs:
                memoryview(out).cast("B")[:] = bytes(out.size)
        self.check()
        if chunked and not results:
            results = [pa.array([], _result_type(pa, column.type, self))]
        # Chunks that differ in the width of their offsets become alike.
        if any(result.type != results[0].type for result in results):
            results = [result.cast(pa.large_binary()) for result in results]
        wanted = self._arrow_type(pa, results[0].type)
        if wanted != results[0].type:
            results = [result.cast(wanted) for result in results]
        return pa.chunked_array(results, wanted) if chunked else results[0]

    def _arrow_type(self, pa: Any, actual: Any) -> Any:
        """The type that is asked for."""
        if self.type is None:
            return actual
        if self.type == "string":
            return pa.large_string() if pa.types.is_large_binary(actual) else pa.string()
        if self.type == "binary":
            return pa.large_binary() if pa.types.is_large_binary(actual) else pa.binary()
        if isinstance(self.type, pa.DataType):
            return self.type
        raise TypeError(f'type is "binary", "string" or a pyarrow.DataType, not {self.type!r}')

    def _arrow_chunk(self, pa: Any, values: Any, start: int, ads: Callable[[int, int], Any]) -> tuple[Any, Any]:
        """For an array of one of the types that native code takes; returns the result, and the buffer of its bytes."""
        count, parts = len(values), _arrow_parts(pa, values)
        ad = ads(start, count)
        wanted = _result_type(pa, values.type, self)
        fixed = pa.types.is_fixed_size_binary(wanted)
        if fixed:
            size = count * wanted.byte_width
        else:
            size = _native.column_size(self.cipher, parts, count, not self.opens)
            if size > _MOST_32:
                wanted = pa.large_binary()
        out = pa.allocate_buffer(size)
        valid = pa.allocate_buffer((count + 7) // 8) if parts[3] is not None or self.keep else None
        offsets = None
        if not fixed:
            offsets = pa.allocate_buffer((count + 1) * (8 if pa.types.is_large_binary(wanted) else 4))
        if self.opens:
            result = _native.open_column(
                self.cipher, parts, count, ad, out, offsets, valid, self.threads, self.keep
            )
            self.failures(*result, start)
        else:
            _native.seal_column(self.cipher, parts, count, ad, out, offsets, valid, self.threads)
        buffers = [valid, out] if fixed else [valid, offsets, out]
        return pa.Array.from_buffers(wanted, count, buffers), out


def _convert(values: Any, call: _Call) -> Any:
    """Does it with whatever the values are in."""
    if isinstance(values, (list, tuple)):
        return call.objects(list(values))
    kind = _kind(values)
    if kind == "numpy":
        return _numpy(values, call)
    if kind == "pyarrow":
        return call.arrow(values)
    if kind == "pandas":
        return _pandas(values, call)
    if kind == "polars":
        return _polars(values, call)
    raise TypeError(f"values is {_SUPPORTED}, not {_name(values)}")


def _numpy(values: Any, call: _Call) -> Any:
    np = _import("numpy")

    column = _column_of(values)
    if isinstance(column, list):
        return _to_objects(call.objects(column))
    if call.opens and call.type not in (None, "binary"):
        raise TypeError("rows of uint8 are bytes; decrypt them without a type")
    assert isinstance(column, np.ndarray)
    return call.matrix(column)


def _to_objects(values: list[Any]) -> Any:
    """An array of objects. (That is not what numpy.array makes of bytes.)"""
    np = _import("numpy")

    array = np.empty(len(values), object)
    array[:] = values
    return array


def _pandas(values: Any, call: _Call) -> Any:
    pd = _import("pandas")

    column = _column_of(values)
    if isinstance(column, list):
        done = _to_objects(call.objects(column, pd.NA))
        return pd.Series(done, index=values.index, name=values.name, dtype=object)
    result = call.arrow(column)
    array = pd.arrays.ArrowExtensionArray(result)
    return pd.Series(array, index=values.index, name=values.name)


def _polars(values: Any, call: _Call) -> Any:
    pl = _import("polars")

    column = _column_of(values)
    if call.type is pl.String or call.type is pl.Binary:
        call.type = "string" if call.type is pl.String else "binary"
    return pl.Series(values.name, call.arrow(column))


def _column_of(values: Any) -> Any:
    """A column in what native code takes without a copy, if it can be had: a list, an array of uint8 with two dimensions, or an Array or
    ChunkedArray of pyarrow of one of the types that `_arrow_parts` knows."""
    if isinstance(values, (list, tuple)):
        return list(values)
    kind = _kind(values)
    if kind == "numpy":
        return _column_of_numpy(values)
    if kind == "pyarrow":
        return _column_of_arrow(values)
    if kind == "pandas":
        return _column_of_pandas(values)
    if kind == "polars":
        return _column_of_polars(values)
    raise TypeError(f"a column is {_SUPPORTED}, not {_name(values)}")


def _column_of_numpy(values: Any) -> Any:
    np = _import("numpy")

    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("a masked array is not supported: use values.astype(object).filled(None)")
    if values.ndim == 2 and values.dtype == np.uint8:
        return values
    if values.ndim == 1 and values.dtype.kind in "OSUT":
        return values.tolist()
    raise TypeError(
        f"a NumPy array has one dimension and objects (bytes, str, None), S, U or T, or it has two and uint8; this has {values.ndim} and "
        f"{values.dtype}"
    )


def _column_of_arrow(values: Any) -> Any:
    pa = _pyarrow()
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = values.type
    views = [getattr(pa.types, name, None) for name in ("is_binary_view", "is_string_view")]
    if any(is_view is not None and is_view(kind) for is_view in views):
        return values.cast(pa.large_binary() if "binary" in str(kind) else pa.large_string())
    if pa.types.is_null(kind):
        return values.cast(pa.binary())
    if not _is_binary(pa, kind):
        raise TypeError(f"a pyarrow column has values of binary or string, not {kind}; cast it")
    return values


def _column_of_pandas(values: Any) -> Any:
    pd = _import("pandas")

    if not isinstance(values, pd.Series):
        raise TypeError(f"a column of pandas is a Series, not {_name(values)}")
    dtype = values.dtype
    if isinstance(dtype, getattr(pd, "ArrowDtype", ())) or getattr(dtype, "storage", None) in ("pyarrow", "pyarrow_numpy"):
        return _column_of_arrow(values.array.__arrow_array__())
    if dtype == object or isinstance(dtype, pd.StringDtype):
        return values.to_numpy(object).tolist()
    raise TypeError(f"a Series has objects (bytes, str, None), strings or binary of Arrow, not {dtype}; use astype")


def _column_of_polars(values: Any) -> Any:
    pl = _import("polars")

    if not isinstance(values, pl.Series):
        raise TypeError(f"a column of Polars is a Series, not {_name(values)}")
    if values.dtype not in (pl.Binary, pl.String, pl.Null):
        raise TypeError(f"a Series of Polars is of Binary or String, not {values.dtype}; cast it")
    _pyarrow()
    # Polars has views, and makes offsets of them faster than pyarrow does.
    level = getattr(pl, "CompatLevel", None)
    array = values.to_arrow(compat_level=level.oldest()) if level else values.to_arrow()
    return _column_of_arrow(array)


def _is_binary(pa: Any, kind: Any) -> bool:
    types = pa.types
    tests = (types.is_binary, types.is_large_binary, types.is_string, types.is_large_string, types.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def _result_type(pa: Any, kind: Any, call: _Call) -> Any:
    """What becomes of values of a type."""
    if pa.types.is_fixed_size_binary(kind):
        # Of one length before, of one length after: no offsets, and in Parquet no lengths.
        width = kind.byte_width + (-call.cipher.overhead if call.opens else call.cipher.overhead)
        if width < 0:
            raise ValueError(f"values of {kind} are too short to have been encrypted")
        return pa.binary(width)
    large = pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)
    return pa.large_binary() if large else pa.binary()


def _arrow_parts(pa: Any, values: Any) -> _Parts:
    """The buffers of an array."""
    buffers, kind = values.buffers(), values.type
    valid = buffers[0] if values.null_count else None
    data = buffers[-1] if buffers[-1] is not None else b""
    if pa.types.is_fixed_size_binary(kind):
        return data, None, kind.byte_width, valid, values.offset
    # (An array of no rows may have no offsets.)
    offsets = buffers[1] if buffers[1] is not None else b""
    width = 8 if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind) else 4
    return data, offsets, width, valid, values.offset


def _source(column: Any, start: int, rows: int) -> _Source:
    """Some rows of a column, as native code takes them."""
    if isinstance(column, list):
        return column if len(column) == rows else column[start : start + rows]
    if hasattr(column, "ndim"):
        np = _import("numpy")

        return _flat(np.ascontiguousarray(column[start : start + rows])), None, column.shape[1], None, 0
    pa = _pyarrow()
    part = column.slice(start, rows)
    if isinstance(part, pa.ChunkedArray):
        chunks = [chunk for chunk in part.chunks if len(chunk)]
        # Its chunks need not be those of the values; then this is copied.
        part = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks) if chunks else pa.array([], part.type)
    return _arrow_parts(pa, part)


def _flat(array: Any) -> Any:
    """All bytes of an array of NumPy."""
    return array.reshape(-1)


def _kind(values: Any) -> str:
    """Whose it is. Asking the modules that are loaded imports none, and what is an object of one has loaded it."""
    for module, names in (
        ("numpy", ("ndarray",)),
        ("pyarrow", ("Array", "ChunkedArray")),
        ("pandas", ("Series", "DataFrame", "Index")),
        ("polars", ("Series", "DataFrame", "LazyFrame")),
    ):
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(values, tuple(getattr(loaded, n) for n in names if hasattr(loaded, n))):
            return module
    return ""


def _name(value: Any) -> str:
    kind = value.__class__
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _import(name: str) -> Any:
    """A module that need not be there, nor have types that can be checked."""
    return importlib.import_module(name)


def _pyarrow() -> Any:
    try:
        return _import("pyarrow")
    except ImportError as error:
        raise ImportError("columns of Arrow, pandas and Polars need pyarrow: pip install palladion[arrow]") from error
