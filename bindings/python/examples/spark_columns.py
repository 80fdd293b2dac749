"""Encrypts and decrypts a column of a Spark DataFrame on all workers.

Each value is encrypted separately (see palladion.columns), with the row's id as associated data. A
value moved to another row does not decrypt there.

The key is never part of the job. Spark sends the plan with its functions to the workers and shows
it in web pages and logs, so neither the functions nor the variables that they use may contain the
key. Each worker reads it from its own environment instead. The operator of the cluster puts it
there, for example from a Kubernetes secret
(`spark.kubernetes.executor.secretKeyRef.PALLADION_KEY=palladion:key`) or from a file that only the
executors' user can read. Do not use `spark.executorEnv.PALLADION_KEY=...`: Spark's web pages show
its configuration.

    export PALLADION_KEY=$(head -c 32 /dev/urandom | base64)
    python spark_columns.py

This program needs pyspark and pyarrow, the workers need palladion and pyarrow. A job that imports
this file as a module must send it along with `spark-submit --py-files spark_columns.py`.
"""

from __future__ import annotations

import base64
import os
from typing import Any, Callable, Iterator

VARIABLE = "PALLADION_KEY"


def cipher_of_worker() -> Any:
    """The cipher, with the key in base64 or hexadecimal digits from this process's environment."""
    import palladion

    text = os.environ.get(VARIABLE, "")
    try:
        key = bytes.fromhex(text) if len(text) == 64 else base64.b64decode(text, validate=True)
        return palladion.Cipher(key, "AEGIS-256", tag_size=16)
    except ValueError:
        # Drop the cause, which might show part of the key.
        raise RuntimeError(
            f"{VARIABLE} must hold a key of 32 bytes in base64 or hexadecimal digits"
        ) from None


def _change(
    column: str, ad: str | None, opens: bool, text: bool
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that workers run. It captures names, but no key."""

    def change(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from palladion import columns

        cipher = cipher_of_worker()
        for batch in batches:
            # If an id is a number, its digits are the associated data.
            ads = None if ad is None else batch.column(ad).cast(pa.string())
            values = batch.column(column)
            # One thread, because Spark runs a worker on each core already.
            if opens:
                kind = "string" if text else "binary"
                done = columns.decrypt(values, cipher, ads, type=kind, threads=1)
            else:
                done = columns.encrypt(values, cipher, ads, threads=1)
            place = batch.schema.get_field_index(column)
            yield pa.RecordBatch.from_arrays(
                [done if i == place else array for i, array in enumerate(batch.columns)],
                names=batch.schema.names,
            )

    return change


def _with_type(df: Any, column: str, kind: Any) -> Any:
    """The schema of a DataFrame with another type for one column."""
    from pyspark.sql.types import StructField, StructType

    fields = [
        StructField(f.name, kind, f.nullable) if f.name == column else f for f in df.schema.fields
    ]
    if column not in df.columns:
        raise ValueError(f"there is no column {column!r}")
    return StructType(fields)


def encrypt_column(df: Any, column: str, *, ad: str | None = None) -> Any:
    """Encrypts a column of strings or binary to binary. ``ad`` names a column without nulls."""
    from pyspark.sql.types import BinaryType

    return df.mapInArrow(_change(column, ad, False, False), _with_type(df, column, BinaryType()))


def decrypt_column(df: Any, column: str, *, ad: str | None = None, text: bool = False) -> Any:
    """Decrypts such a column to binary or strings. A value that is not authentic fails the job."""
    from pyspark.sql.types import BinaryType, StringType

    kind = StringType() if text else BinaryType()
    return df.mapInArrow(_change(column, ad, True, text), _with_type(df, column, kind))


def main() -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").appName("columns").getOrCreate()
    people = spark.createDataFrame([(1, "Ada"), (2, None), (3, "Grace")], "id long, name string")
    sealed = encrypt_column(people, "name", ad="id")
    sealed.show()
    # Later, any cluster with the key can read it back, for example from Parquet.
    decrypt_column(sealed, "name", ad="id", text=True).show()
    spark.stop()


if __name__ == "__main__":
    main()
