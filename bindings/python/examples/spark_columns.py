"""Encrypt and decrypt a column of a Spark DataFrame, on all workers.

Each value is encrypted on its own (see palladion.columns), with the row's id as associated data: a value that somebody moves to another row
does not decrypt there.

The key never travels with the job. What Spark sends to the workers, and shows in its web pages and logs, is the plan, and with it the
functions; so the key must not be in them, nor in a variable that they use. Each worker reads it from its own environment, where whoever
runs the cluster has put it: from a secret of Kubernetes (`spark.kubernetes.executor.secretKeyRef.PALLADION_KEY=palladion:key`), or a file
that only the executors' user can read. (Not with `spark.executorEnv.PALLADION_KEY=...`: Spark's configuration is shown in its web pages.)

    export PALLADION_KEY=$(python -c "import base64, palladion; print(base64.b64encode(palladion.generate_key('AEGIS-256')).decode())")
    python spark_columns.py

Needs pyspark and pyarrow here, and palladion and pyarrow where the workers are. A job that imports this file as a module sends it along
(`spark-submit --py-files spark_columns.py`).
"""

from __future__ import annotations

import base64
import os
from typing import Any, Callable, Iterator

VARIABLE = "PALLADION_KEY"


def cipher_of_worker() -> Any:
    """The cipher, with the key from the environment of the process that calls this: base64, or hexadecimal digits."""
    import palladion

    text = os.environ.get(VARIABLE, "")
    try:
        key = bytes.fromhex(text) if len(text) == 64 else base64.b64decode(text, validate=True)
        return palladion.Cipher(key, "AEGIS-256", tag_size=16)
    except ValueError:
        # Without the cause, which might show what is wrong with the text, and so the text.
        raise RuntimeError(f"{VARIABLE} has no key of 32 bytes, in base64 or hexadecimal digits") from None


def _change(column: str, ad: str | None, opens: bool, text: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that workers run. All that it takes along is what it is called with here: names, and no key."""

    def change(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from palladion import columns

        cipher = cipher_of_worker()
        for batch in batches:
            # An id may be a number; its digits are the associated data.
            ads = None if ad is None else batch.column(ad).cast(pa.string())
            values = batch.column(column)
            # One thread: Spark runs a worker on each core already.
            if opens:
                kind = "string" if text else "binary"
                done = columns.decrypt(values, cipher, ads, type=kind, threads=1)
            else:
                done = columns.encrypt(values, cipher, ads, threads=1)
            place = batch.schema.get_field_index(column)
            yield pa.RecordBatch.from_arrays(
                [done if i == place else array for i, array in enumerate(batch.columns)], names=batch.schema.names
            )

    return change


def _with_type(df: Any, column: str, kind: Any) -> Any:
    """The schema of a DataFrame, with another type for a column."""
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(f.name, kind, f.nullable) if f.name == column else f for f in df.schema.fields]
    if column not in df.columns:
        raise ValueError(f"there is no column {column!r}")
    return StructType(fields)


def encrypt_column(df: Any, column: str, *, ad: str | None = None) -> Any:
    """Encrypts a column of strings or binary, which becomes binary. ``ad`` is the name of a column that has no nulls."""
    from pyspark.sql.types import BinaryType

    return df.mapInArrow(_change(column, ad, False, False), _with_type(df, column, BinaryType()))


def decrypt_column(df: Any, column: str, *, ad: str | None = None, text: bool = False) -> Any:
    """Decrypts such a column, to binary, or to strings. A value that is not authentic fails the job."""
    from pyspark.sql.types import BinaryType, StringType

    kind = StringType() if text else BinaryType()
    return df.mapInArrow(_change(column, ad, True, text), _with_type(df, column, kind))


def main() -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").appName("columns").getOrCreate()
    people = spark.createDataFrame([(1, "Ada"), (2, None), (3, "Grace")], "id long, name string")
    sealed = encrypt_column(people, "name", ad="id")
    sealed.show()
    # What is read back later, from Parquet say, on any cluster that has the key.
    decrypt_column(sealed, "name", ad="id", text=True).show()
    spark.stop()


if __name__ == "__main__":
    main()
