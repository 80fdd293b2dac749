"""The example for Spark, in local mode with two worker processes."""

import base64
import importlib.util
import os
import pathlib
import pickle
import shutil
import sys

import palladion
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("no Java", allow_module_level=True)

from pyspark import cloudpickle  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "spark_columns.py"
KEY = palladion.generate_key("AEGIS-256")
ROWS = 5000


def load():
    """Loads the example as a module that is sent to the workers by value, like a script."""
    spec = importlib.util.spec_from_file_location("spark_columns", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["spark_columns"] = module
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)
    return module


@pytest.fixture(scope="module")
def example():
    return load()


@pytest.fixture(scope="module")
def spark():
    # In local mode the workers inherit this environment, so they read the key from their own, as on
    # a cluster.
    kept = {name: os.environ.get(name) for name in ("PALLADION_KEY", "PYSPARK_PYTHON")}
    os.environ["PALLADION_KEY"] = base64.b64encode(KEY).decode()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("columns")
        .config("spark.ui.enabled", "false")
    )
    session = (
        builder.config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    for name, value in kept.items():
        os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


@pytest.fixture(scope="module")
def people(spark):
    rows = [(i, None if i % 7 == 0 else f"name {i}", bytes([i % 256]) * 20) for i in range(ROWS)]
    return spark.createDataFrame(rows, "id long, name string, data binary").repartition(4)


def forms(key):
    """The forms that a key can have."""
    return [
        key,
        base64.b64encode(key),
        base64.b64encode(key).rstrip(b"="),
        key.hex().encode(),
        repr(key).encode(),
    ]


def test_there_and_back(people, example):
    cipher = palladion.Cipher(KEY, "AEGIS-256", tag_size=16)
    sealed = example.encrypt_column(people, "name", ad="id").cache()
    assert sealed.schema["name"].dataType.typeName() == "binary"
    for row in sealed.collect():
        if row.id % 7 == 0:
            assert row.name is None
        else:
            assert cipher.open(bytes(row.name), str(row.id).encode()) == f"name {row.id}".encode()
    restored = example.decrypt_column(sealed, "name", ad="id", text=True)
    assert restored.schema == people.schema
    assert sorted(map(tuple, restored.collect())) == sorted(map(tuple, people.collect()))


def test_binary_without_ad(people, example):
    sealed = example.encrypt_column(people, "data")
    restored = example.decrypt_column(sealed, "data")
    key = lambda row: row[0]  # noqa: E731
    assert sorted(map(tuple, restored.collect()), key=key) == sorted(
        map(tuple, people.collect()), key=key
    )
    with pytest.raises(ValueError, match="no column"):
        example.encrypt_column(people, "other")


def test_tampering_fails(people, example):
    sealed = example.encrypt_column(people, "name", ad="id").cache()
    other = F.concat(F.col("name"), F.lit(b"!"))
    changed = sealed.withColumn("name", F.when(F.col("id") == 1234, other).otherwise(F.col("name")))
    moved = sealed.withColumn("id", F.col("id") + 1)
    for frame in (changed, moved):
        with pytest.raises(Exception, match="failed authentication"):
            example.decrypt_column(frame, "name", ad="id", text=True).collect()


def test_key_is_not_in_the_plan(people, example):
    sealed = example.encrypt_column(people, "name", ad="id")
    restored = example.decrypt_column(sealed, "name", ad="id", text=True)
    shown = [frame._jdf.queryExecution().toString() for frame in (sealed, restored)]
    pickled = [
        cloudpickle.dumps(example._change("name", "id", opens, True)) for opens in (False, True)
    ]
    for seen in [text.encode() for text in shown] + pickled:
        assert b"name" in seen
        for form in forms(KEY):
            assert form not in seen and base64.b64encode(form) not in seen
    # A pickled function works in another process.
    assert callable(pickle.loads(pickled[0]))


def test_key_is_needed(monkeypatch, example):
    for text in ("", "x", "00" * 31, base64.b64encode(bytes(16)).decode(), "g" * 64):
        monkeypatch.setenv("PALLADION_KEY", text)
        with pytest.raises(RuntimeError, match="PALLADION_KEY must hold a key"):
            example.cipher_of_worker()
    for text in (base64.b64encode(KEY).decode(), KEY.hex()):
        monkeypatch.setenv("PALLADION_KEY", text)
        assert (
            example.cipher_of_worker().open(
                palladion.seal(KEY, b"a", algorithm="AEGIS-256", tag_size=16)
            )
            == b"a"
        )
    monkeypatch.delenv("PALLADION_KEY")
    with pytest.raises(RuntimeError):
        example.cipher_of_worker()
