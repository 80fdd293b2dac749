"""Columns: every container against Cipher.open on single values; invalid arguments."""

import array
import concurrent.futures
import os
import subprocess
import sys

import palladion
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palladion import VerificationError, _native, columns

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

#: Whether pandas has a dtype str, as it has from version 3 on.
STR = isinstance(pd.Series(["text"]).dtype, pd.StringDtype)
CASES = [(algorithm, tag) for algorithm in palladion.ALGORITHMS for tag in (16, 32)]
VALUES = [b"", b"a", None, b"x" * 100, bytes(range(256)) * 9, None, b"last"]
TEXTS = ["", "a", None, "Grüße", "x" * 1000, None, "last"]


def new_cipher(algorithm="AEGIS-256", tag_size=16):
    return palladion.Cipher(palladion.generate_key(algorithm), algorithm, tag_size=tag_size)


CIPHER = new_cipher()
OVERHEAD = CIPHER.overhead


def open_all(sealed, ads=None):
    """Decrypts values one by one with Cipher.open."""
    ads = [None] * len(sealed) if ads is None else ads
    return [None if value is None else CIPHER.open(value, ad) for value, ad in zip(sealed, ads)]


def convert_column(values, ad=None, keep=None, allocate=bytearray):
    return _native.convert_column(CIPHER, values, ad, allocate, 2**31 - 1, 0, keep)


def flip(value):
    return value[:-1] + bytes([value[-1] ^ 1])


def to_list(column):
    return column.to_pylist() if isinstance(column, (pa.Array, pa.ChunkedArray)) else list(column)


def series(values, dtype):
    return pd.Series(values, dtype=dtype, name="n")


# A name, a function from a list and a type to a column, and that type for bytes and for str.
CONTAINERS = {
    "list": (lambda v, _: v, list, list),
    "tuple": (lambda v, _: tuple(v), tuple, tuple),
    "numpy": (lambda v, dtype: np.array(v + [None], dtype)[:-1], object, object),
    "binary": (pa.array, pa.binary(), pa.string()),
    "large": (pa.array, pa.large_binary(), pa.large_string()),
    "view": (pa.array, pa.binary_view(), pa.string_view()),
    "dictionary": (lambda v, t: pa.array(v, t).dictionary_encode(), pa.binary(), pa.string()),
    "sliced": (
        lambda v, t: pa.array(["before", None, "x"] + v + ["after"], t)[3:-1],
        pa.binary(),
        pa.string(),
    ),
    "chunked": (
        lambda v, t: pa.chunked_array([v[:2], [], v[2:3], v[3:]], t),
        pa.binary(),
        pa.string(),
    ),
    "pandas": (series, object, object),
    "pandas-str": (series, None, str if STR else object),
    "pandas-string": (series, None, "string[python]"),
    "pandas-arrow-string": (series, None, "string[pyarrow]"),
    "pandas-arrow": (series, pd.ArrowDtype(pa.binary()), pd.ArrowDtype(pa.large_string())),
    "polars": (lambda v, dtype: pl.Series("n", v, dtype), pl.Binary, pl.String),
}


def is_null(value):
    return value is None or value is pd.NA or value != value


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("ad", [None, b"header", "each"])
@pytest.mark.parametrize("text", [False, True])
def test_containers(name, ad, text):
    make, *kinds = CONTAINERS[name]
    if kinds[text] is None:
        pytest.skip("strings only")
    plain = TEXTS if text else VALUES
    for values in (plain, plain[:1], [], [None, None], plain * 7):
        ads = None if ad is None else [ad] * len(values)
        if ad == "each":
            ads = [str(i).encode() for i in range(len(values))]
        column = make(values, kinds[text])
        given_ad = ads if ad == "each" else ad
        sealed = columns.encrypt(column, CIPHER, given_ad)
        found = [None if is_null(v) else v for v in to_list(sealed)]
        assert open_all(found, ads) == [v.encode() if isinstance(v, str) else v for v in values]
        opened = columns.decrypt(sealed, CIPHER, given_ad, type="string" if text else None)
        assert [None if is_null(v) else v for v in to_list(opened)] == values
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            large = name in ("large", "view")
            assert sealed.type == (pa.large_binary() if large else pa.binary())
            sealed.validate(full=True)
            opened.validate(full=True)
            if isinstance(column, pa.ChunkedArray):
                assert opened.num_chunks == column.num_chunks
        elif isinstance(column, pd.Series):
            assert sealed.name == opened.name == "n" and sealed.index.equals(column.index)
            kept = isinstance(column.dtype, pd.ArrowDtype) or (
                getattr(column.dtype, "storage", None) == "pyarrow"
            )
            assert isinstance(sealed.dtype, pd.ArrowDtype) if kept else sealed.dtype == object
        elif isinstance(column, pl.Series):
            assert (sealed.name, sealed.dtype) == ("n", pl.Binary)
            assert (opened.name, opened.dtype) == ("n", pl.String if text else pl.Binary)
        else:
            assert type(sealed) is (list if isinstance(column, tuple) else type(column))


@pytest.mark.parametrize("algorithm,tag_size", CASES)
def test_ciphers(algorithm, tag_size):
    cipher = new_cipher(algorithm, tag_size)
    values = [os.urandom(i % 300) for i in range(5000)] + [os.urandom(3 << 20)]
    sealed = columns.encrypt(pa.array(values), cipher, b"ad")
    assert [cipher.open(value.as_py(), b"ad") for value in sealed[:300]] == values[:300]
    assert columns.decrypt(sealed, cipher, b"ad").to_pylist() == values
    assert columns.decrypt([cipher.seal(value) for value in values[:300]], cipher) == values[:300]


@pytest.mark.parametrize("threads", [None, 1, 2, 7])
def test_threads(threads):
    values = [os.urandom(i % 100) if i % 5 else None for i in range(20000)]
    column = pa.array(values)
    sealed = columns.encrypt(column, CIPHER, threads=threads)
    assert columns.decrypt(sealed, CIPHER, threads=threads) == column
    assert (
        columns.decrypt(columns.encrypt(values, CIPHER, threads=threads), CIPHER, threads=threads)
        == values
    )
    changed = sealed.to_pylist()
    for row in (19999, 7001, 12344):
        changed[row] = flip(changed[row])
    for column in (pa.array(changed), changed):
        with pytest.raises(columns.ColumnError) as caught:
            columns.decrypt(column, CIPHER, threads=threads)
        assert (caught.value.row, caught.value.failed) == (7001, 3)


def test_threads_of_python():
    values = pa.array([os.urandom(50) for _ in range(10000)])

    def there_and_back(_):
        return columns.decrypt(columns.encrypt(values, CIPHER), CIPHER) == values

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(there_and_back, range(12)))


def test_nonces_differ():
    values = pa.array([b""] * 100_000)
    for algorithm in ("AEGIS-256", "AEGIS-128L"):
        cipher = new_cipher(algorithm)
        nonces = set()
        for _ in range(2):
            sealed = columns.encrypt(values, cipher).to_pylist() + columns.encrypt(
                [b""] * 5000, cipher
            )
            nonces.update(value[: cipher.nonce_size] for value in sealed)
        assert len(nonces) == 210_000
    # Each bit is 1 in about half of the nonces. A deviation of 2% would be more than twelve sigma.
    bits = np.unpackbits(np.frombuffer(b"".join(nonces), np.uint8).reshape(-1, 16), axis=1).mean(
        axis=0
    )
    assert abs(bits - 0.5).max() < 0.02


# Fixed-size values


def test_matrix():
    values = np.arange(3000 * 7, dtype=np.uint8).reshape(3000, 7)
    sealed = columns.encrypt(values, CIPHER, b"m")
    assert sealed.dtype == np.uint8 and sealed.shape == (3000, 7 + OVERHEAD)
    assert open_all([row.tobytes() for row in sealed], [b"m"] * 3000) == [
        row.tobytes() for row in values
    ]
    assert (columns.decrypt(sealed, CIPHER, b"m") == values).all()
    # Neither the order in memory nor gaps matter.
    for other in (values[::2, 1:5], np.asfortranarray(values), values[:0], values[:, :0]):
        back = columns.decrypt(columns.encrypt(other, CIPHER), CIPHER)
        assert back.shape == other.shape and (back == other).all()
    sealed[1234, 5] ^= 1
    with pytest.raises(columns.ColumnError, match="row 1234 failed"):
        columns.decrypt(sealed, CIPHER, b"m")
    with pytest.raises(ValueError, match="at least 48 bytes"):
        columns.decrypt(values, CIPHER)
    with pytest.raises(TypeError):
        columns.decrypt(sealed, CIPHER, b"m", type="string")
    with pytest.raises(TypeError):
        columns.decrypt(sealed, CIPHER, b"m", errors="null")


@pytest.mark.parametrize("width", [0, 1, 5, 64])
def test_fixed_size(width):
    values = [os.urandom(width) if i % 3 else None for i in range(1000)]
    column = pa.array([None] * 3 + values, pa.binary(width))[3:]
    for column in (column, pa.chunked_array([column[:100], column[100:]])):
        sealed = columns.encrypt(column, CIPHER)
        sealed.validate(full=True)
        assert sealed.type == pa.binary(width + OVERHEAD)
        assert open_all(sealed.to_pylist()) == values
        opened = columns.decrypt(sealed, CIPHER)
        assert opened.type == column.type and opened.to_pylist() == values
    changed = pa.array(
        [flip(v) if i == 4 else v for i, v in enumerate(sealed.to_pylist())], sealed.type
    )
    opened = columns.decrypt(changed, CIPHER, errors="null")
    opened.validate(full=True)
    assert opened.to_pylist() == [None if i == 4 else v for i, v in enumerate(values)]
    with pytest.raises(columns.ColumnError, match="^row 4 failed authentication$"):
        columns.decrypt(pa.chunked_array([changed[:2], changed[2:]]), CIPHER)
    with pytest.raises(ValueError, match="too short"):
        columns.decrypt(pa.array([b"abc"], pa.binary(3)), CIPHER)


def test_nulls_of_fixed_size_are_zeros():
    data = pa.py_buffer(b"secretSECRETsecret")
    column = pa.Array.from_buffers(pa.binary(6), 3, [pa.py_buffer(b"\x05"), data])
    sealed = columns.encrypt(column, CIPHER)
    width = 6 + OVERHEAD
    assert bytes(sealed.buffers()[1])[width : 2 * width] == bytes(width)


# Too large


def test_wider_offsets(monkeypatch):
    values = [b"x" * 50, None, b"y"] * 10
    monkeypatch.setattr(columns, "_MOST_32", 500)
    column = pa.array(values)
    sealed = columns.encrypt(column, CIPHER)
    assert sealed.type == pa.large_binary() and open_all(sealed.to_pylist()) == values
    monkeypatch.undo()
    assert columns.decrypt(sealed, CIPHER).to_pylist() == values
    monkeypatch.setattr(columns, "_MOST_32", 500)
    # If one chunk needs 64-bit offsets, the other gets them too.
    sealed = columns.encrypt(pa.chunked_array([column[:1], column]), CIPHER)
    assert sealed.type == pa.large_binary() and open_all(sealed.to_pylist()) == values[:1] + values
    assert columns.decrypt(sealed, CIPHER, type="string").type == pa.large_string()


# Failures


@pytest.mark.parametrize(
    "name",
    ["list", "numpy", "binary", "large", "sliced", "chunked", "pandas", "pandas-arrow", "polars"],
)
def test_failures(name):
    make, kind, _ = CONTAINERS[name]
    rows = [3, 8, 20]
    sealed = columns.encrypt(VALUES * 3, CIPHER)
    changes = [flip, lambda v: v[:20], lambda v: b""]
    changed = list(sealed)
    for row, change in zip(rows, changes):
        changed[row] = change(changed[row])
    column = make(changed, kind)
    with pytest.raises(columns.ColumnError) as caught:
        columns.decrypt(column, CIPHER)
    assert (caught.value.row, caught.value.failed) == (3, 3)
    assert isinstance(caught.value, VerificationError)
    assert str(caught.value) == "3 rows failed authentication; the first is row 3"
    opened = columns.decrypt(column, CIPHER, errors="null")
    expected = [None if i in rows else v for i, v in enumerate(VALUES * 3)]
    assert [None if is_null(v) else v for v in to_list(opened)] == expected
    # A value moved to another row is authentic only if nothing binds it to its row.
    ads = [str(i) for i in range(21)]
    sealed = columns.encrypt(make(VALUES * 3, kind), CIPHER, ads)
    moved = [None if is_null(v) else v for v in to_list(sealed)]
    moved[0], moved[1] = moved[1], moved[0]
    for ad, first, failed in ((ads, 0, 2), (b"other", 0, 15)):
        with pytest.raises(columns.ColumnError) as caught:
            columns.decrypt(make(moved, kind), CIPHER, ad)
        assert (caught.value.row, caught.value.failed) == (first, failed)


def test_values_that_failed_are_zeros():
    values = [os.urandom(40) for _ in range(5000)]
    sealed = columns.encrypt(values, CIPHER)
    sealed[4000] = flip(sealed[4000])
    _, offsets, data = pa.array(sealed).buffers()
    parts = (data, offsets, 4, None, 0, 5000)
    assert convert_column(parts, keep=False) == (None, 1, 4000)
    (out, _, width, valid, first, rows), *failed = convert_column(parts, keep=True)
    assert (width, first, rows, failed) == (4, 0, 5000, [1, 4000])
    assert valid == bytes([255] * 500 + [254] + [255] * 124)
    values[4000] = bytes(40)
    assert out == b"".join(values)


def test_nothing_is_left_if_one_failed(monkeypatch):
    sealed = columns.encrypt([b"secret"] * 3, CIPHER)
    column = pa.chunked_array([sealed, sealed[:2] + [flip(sealed[2])]])
    rooms, allocate = [], pa.allocate_buffer
    monkeypatch.setattr(
        pa, "allocate_buffer", lambda size: rooms.append(allocate(size)) or rooms[-1]
    )
    with pytest.raises(columns.ColumnError, match="^row 5 failed"):
        columns.decrypt(column, CIPHER)
    assert [room.to_pybytes() for room in rooms] == [bytes(18)] * 2


def test_text_must_be_text():
    sealed = [b"ok", b"\xff"]
    for column in (sealed, pa.array(sealed), pd.Series(sealed), pl.Series(sealed)):
        with pytest.raises(ValueError):
            columns.decrypt(columns.encrypt(column, CIPHER), CIPHER, type="string")


# Associated data


def test_ads():
    values = [b"a", None, b"c"]
    ads = [b"1", b"2", b"3"]
    sealed = columns.encrypt(values, CIPHER, ads)
    for column in (
        tuple(ads),
        ["1", "2", "3"],
        np.array(ads),
        np.array([[49], [50], [51]], np.uint8),
        pa.array(ads),
        pa.array([b"0"] + ads)[1:],
        pa.array(ads, pa.binary(1)),
        pa.array(["1", "2", "3"], pa.string_view()),
        pa.chunked_array([ads[:1], ads[1:]]),
        pd.Series(ads, index=[5, 6, 7]),
        pd.Series(["1", "2", "3"], dtype="string[pyarrow]"),
        pl.Series(ads),
        [b"1", None, b"3"],  # null where the value is null
        pa.array([b"1", None, b"3"]),
    ):
        for container in (
            values,
            pa.array(values),
            pa.chunked_array([values[:2], values[2:]]),
            pl.Series(values),
        ):
            resealed = columns.encrypt(container, CIPHER, column)
            assert columns.decrypt(sealed, CIPHER, column) == values
            assert open_all(to_list(resealed), ads) == values
    for one in (b"same", "same", bytearray(b"same"), memoryview(b"same")):
        assert open_all(columns.encrypt(values, CIPHER, one), [b"same"] * 3) == values


def test_wrong_ads():
    for values in ([b"a", b"b"], pa.array([b"a", b"b"])):
        for ad in ([b"1", None], pa.array([b"1", None])):
            with pytest.raises(ValueError, match="row 1: the associated data is null"):
                columns.encrypt(values, CIPHER, ad)
            with pytest.raises(ValueError, match="row 1: the associated data is null"):
                columns.decrypt(columns.encrypt(values, CIPHER, b"1"), CIPHER, ad)
        with pytest.raises(
            ValueError, match=r"ad must have as many rows as values \(2\), but has 1"
        ):
            columns.encrypt(values, CIPHER, [b"1"])
        for ad in (7, pa.array([1, 2]), np.array([1, 2]), {}):
            with pytest.raises(TypeError):
                columns.encrypt(values, CIPHER, ad)


# Wrong arguments


def test_wrong_types():
    for values in (
        7,
        b"bytes",
        "str",
        {"a": 1},
        [1, 2],
        [b"a", 1.5],
        pa.array([1]),
        pa.array([[b"a"]]),
        np.array([1]),
        np.array([[b"a"]]),
        np.zeros((2, 2)),
        np.ma.masked_array([b"a", b"b"], [True, False]),
        pd.Series([1]),
        pd.Series([b"a"], dtype="category"),
        pd.DataFrame({"a": [b"a"]}),
        pl.Series([1]),
        pl.DataFrame({"a": [b"a"]}),
        iter([b"a"]),
    ):
        for call in (columns.encrypt, columns.decrypt):
            with pytest.raises(TypeError):
                call(values, CIPHER)
    with pytest.raises(TypeError, match="not dict"):
        columns.encrypt({}, CIPHER)
    with pytest.raises(TypeError, match="row 1: values must be bytes, str or None, not int"):
        columns.encrypt([b"a", 5], CIPHER)
    for keys in ([1], (1,)):
        with pytest.raises(TypeError, match="^ad: row 0: values must be .*, not int"):
            columns.encrypt([b"a"], CIPHER, ad=keys)
    with pytest.raises(TypeError, match="^ad: a column must be a list"):
        columns.encrypt([b"a"], CIPHER, ad=1)
    with pytest.raises(TypeError, match="not bytes"):
        columns.encrypt([b"a"], bytes(32))
    with pytest.raises(TypeError, match="type must"):
        columns.decrypt([], CIPHER, type="utf-8")
    with pytest.raises(TypeError, match="type must"):
        columns.decrypt(pa.array([b""]).slice(1), CIPHER, type="utf-8")
    with pytest.raises(ValueError, match="errors must"):
        columns.decrypt([], CIPHER, errors="ignore")
    with pytest.raises(ValueError, match="threads"):
        columns.encrypt([], CIPHER, threads=0)


def test_objects():
    """Other items that a list or an array may have."""
    values = [bytearray(b"a"), memoryview(b"b"), np.bytes_(b"c"), "d", float("nan"), None]
    assert open_all(columns.encrypt(values, CIPHER)) == [b"a", b"b", b"c", b"d", None, None]
    missing = pd.Series([b"a", pd.NA, None, float("nan")], dtype=object)
    assert columns.encrypt(missing, CIPHER).isna().tolist() == [False, True, True, True]
    for dtype in ("S10", "U10", object):
        sealed = columns.encrypt(np.array(["a", "bc"]).astype(dtype), CIPHER)
        assert sealed.dtype == object and open_all(sealed) == [b"a", b"bc"]


def test_null_type_and_empty():
    for column in (pa.nulls(3), pa.chunked_array([pa.nulls(3)])):
        sealed = columns.encrypt(column, CIPHER)
        assert sealed.type == pa.binary() and sealed.to_pylist() == [None] * 3
        assert columns.decrypt(column, CIPHER, type="string").type == pa.string()
    empty = pa.chunked_array([], pa.string())
    assert columns.encrypt(empty, CIPHER).type == pa.binary()
    assert (
        columns.decrypt(columns.encrypt(empty, CIPHER), CIPHER, type="string").type == pa.string()
    )
    assert columns.encrypt(pl.Series("n", [None, None]), CIPHER).dtype == pl.Binary
    assert (
        columns.decrypt(pa.array([b""], pa.binary())[:0], CIPHER, type=pa.large_string()).type
        == pa.large_string()
    )


# Dtypes of strings, and whether type="string" brings them back. For the others, pass the dtype.
PANDAS_STRINGS = {
    "objects": (object, True),
    "usual": (pd.Series(["text"]).dtype, True),
    "Arrow": (pd.ArrowDtype(pa.string()), True),
    "Arrow, large": (pd.ArrowDtype(pa.large_string()), not STR),
    "with NA": (pd.StringDtype("pyarrow"), False),
    "with NA, of Python": (pd.StringDtype("python"), False),
}


@pytest.mark.parametrize("name", PANDAS_STRINGS)
@pytest.mark.parametrize(
    "values", [["Ada", None, "Grüße"], ["Ada", "Grace"], [None, None], []], ids=len
)
def test_pandas_strings(name, values, tmp_path):
    dtype, comes_back = PANDAS_STRINGS[name]
    frame = pd.DataFrame({"id": range(len(values)), "name": pd.Series(values, dtype=dtype)})
    sealed = frame.assign(name=columns.encrypt(frame["name"], CIPHER))
    assert sealed["name"].isna().tolist() == [value is None for value in values]
    sealed.to_parquet(tmp_path / "file")
    for column in (sealed["name"], pd.read_parquet(tmp_path / "file")["name"]):
        if comes_back:
            opened = frame.assign(name=columns.decrypt(column, CIPHER, type="string"))
            pd.testing.assert_frame_equal(opened, frame)
        if dtype != object:
            if isinstance(dtype, pd.ArrowDtype) and column.dtype == object:
                continue
            opened = frame.assign(name=columns.decrypt(column, CIPHER, type=dtype))
            pd.testing.assert_frame_equal(opened, frame)


def test_encrypted_values_that_numpy_shortens():
    """An array of dtype S loses about one encrypted value in 256."""
    sealed = columns.encrypt([b"x"] * 2000, CIPHER)
    short = np.array(sealed)
    assert short.dtype.kind == "S" and short.tolist() != sealed
    for errors in ("raise", "null"):
        for values in (
            short,
            short[:0],
            np.rec.fromarrays([short], names="name")["name"],
            list(short),
            np.array(list(short) + [None], object),
            pd.Series(list(short), dtype=object),
        ):
            with pytest.raises(TypeError, match="zero bytes"):
                columns.decrypt(values, CIPHER, errors=errors)
        kept = np.array(sealed, object)
        assert columns.decrypt(kept, CIPHER, errors=errors).tolist() == [b"x"] * 2000
    # pandas from version 3 on keeps the dtype, and older ones make objects that are short.
    series = pd.Series(short)
    if series.dtype.kind == "S":
        with pytest.raises(TypeError, match="zero bytes"):
            columns.decrypt(series, CIPHER, errors="null")


def test_text_is_not_encrypted():
    """With errors="null", all of it would become null."""
    text = ["text", None]
    for values in (
        text,
        np.array(text, object),
        np.array(["text"]),
        np.array(["text"], np.dtypes.StringDType()),
        pa.array(text),
        pa.array(text, pa.large_string()),
        pa.array(text, pa.string_view()),
        pa.array(text).dictionary_encode(),
        pa.chunked_array([text, text]),
        pd.Series(text),
        pd.Series(text, dtype=object),
        pd.Series(text, dtype="string[python]"),
        pd.Series(text, dtype="string[pyarrow]"),
        pd.Series(text, dtype=pd.ArrowDtype(pa.string())),
        pl.Series(text),
    ):
        for errors in ("raise", "null"):
            with pytest.raises(TypeError, match="encrypted value"):
                columns.decrypt(values, CIPHER, errors=errors)


# Native functions


@settings(max_examples=300, deadline=None)
@given(
    data=st.binary(max_size=200),
    wide=st.booleans(),
    offsets=st.lists(st.one_of(st.integers(-3, 210), st.integers(-(2**31), 2**31 - 1)), max_size=8),
    raw=st.none() | st.binary(max_size=40),
    valid=st.none() | st.binary(max_size=3),
    first=st.integers(0, 9) | st.sampled_from([2**63 - 1, 2**64 - 1]),
    count=st.integers(0, 9) | st.sampled_from([2**61, 2**63 - 1, 2**64 - 1]),
    fixed=st.none() | st.integers(0, 60) | st.just(2**63),
    keep=st.sampled_from([None, False, True]),
)
def test_fuzz(data, wide, offsets, raw, valid, first, count, fixed, keep):
    """Whatever the buffers hold, there is a result or an error."""
    code, width = ("q", 8) if wide else ("i", 4)
    buffer = raw if raw is not None else array.array(code, offsets).tobytes()
    parts = (
        (data, None, fixed, valid, first, count)
        if fixed is not None
        else (data, buffer, width, valid, first, count)
    )
    for ad in (None, parts, [b"x"] * min(count, 20)):
        try:
            convert_column(parts, ad, keep)
        except (ValueError, OverflowError):
            pass


def test_bad_offsets():
    def seal(offsets, data=b"0123456789", first=0, count=None, code="i"):
        count = len(offsets) - 1 if count is None else count
        offsets = array.array(code, offsets)
        convert_column((data, offsets, offsets.itemsize, None, first, count))

    seal([0, 4, 10])
    seal([0, 4, 10], code="q")
    for offsets in ([0, 11], [0, 5, 4, 10], [-1, 9], [0, -1], [4, 3], [0, 2**31 - 1], [10, 20]):
        with pytest.raises(ValueError):
            seal(offsets)
        with pytest.raises(ValueError):
            seal(offsets, code="q")
    with pytest.raises(ValueError):
        seal([0, 2**63 - 1], code="q")
    with pytest.raises(ValueError):
        seal([0, 4, 10], first=1)
    with pytest.raises(ValueError):
        seal([0, 4, 10], count=3)


def test_bad_columns():
    convert_column((b"abcdef", None, 3, None, 0, 2))
    for wrong in (
        (b"", None, 3),
        (b"", None, -1, None, 0, 1),
        (1, None, 3, None, 0, 1),
        (b"", b"", 5, None, 0, 0),
    ):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            convert_column(wrong)
    with pytest.raises(ValueError, match="too short"):
        convert_column((b"", None, 0, None, 0, 2**62), keep=True)
    with pytest.raises(ValueError, match="as many bytes"):
        convert_column([b"a"], allocate=lambda size: bytearray(size + 1))
    with pytest.raises(ValueError, match="as many rows"):
        convert_column((b"abcdef", None, 3, None, 0, 2), [b"a"])


def test_offsets_that_change_meanwhile():
    """Another thread writes to the input: this may give an error, but nothing worse."""
    offsets = np.arange(0, 20001 * 8, 8, dtype=np.int64)
    sound, data = offsets.copy(), bytes(20000 * 8)
    ended = False

    def disturb():
        places = np.random.default_rng(1)
        while not ended:
            offsets[places.integers(0, 20001, 50)] = places.integers(-(2**40), 2**40, 50)
            offsets[:] = sound

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        task = pool.submit(disturb)
        for _ in range(60):
            try:
                convert_column((data, offsets, 8, None, 0, 20000))
            except ValueError:
                pass
        ended = True
        task.result()


# Other properties


def test_without_pyarrow():
    script = """
import sys
sys.modules["pyarrow"] = None
import palladion
from palladion import columns
assert not {"numpy", "pandas", "polars"} & set(sys.modules)
cipher = palladion.Cipher(bytes(32))
assert columns.decrypt(columns.encrypt([b"a", None], cipher), cipher) == [b"a", None]
import numpy as np
matrix = np.zeros((3, 3), np.uint8)
assert (columns.decrypt(columns.encrypt(matrix, cipher), cipher) == matrix).all()
column = np.array([b"a", None], object)
assert columns.decrypt(columns.encrypt(column, cipher), cipher).tolist() == [b"a", None]
import polars as pl
try:
    columns.encrypt(pl.Series(["a"]), cipher)
except ImportError as error:
    assert "palladion[arrow]" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
