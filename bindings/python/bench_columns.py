"""Measures a column of small values: palladion.columns against a loop over AES-GCM.

    python bench_columns.py [--values 1000000] [--size 64] [--rounds 5] [--containers]

Each round runs everything once, one after another, so that other load on the machine affects all
alike; the result is the minimum. The loop is what a program without this package would do with
AESGCM of `cryptography`: a random 12-byte nonce for each value, and nonce and ciphertext in one.
The values are in memory, for the loop as a list of bytes and for palladion as an Arrow array (with
--containers also as other columns).
"""

import argparse
import os
import platform
import time

import palladion
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from palladion import columns

ALGORITHMS = [
    ("AEGIS-256", 16),
    ("AEGIS-256", 32),
    ("AEGIS-256X2", 32),
    ("AEGIS-128L", 16),
    ("AEGIS-128X2", 16),
]


def loops(key):
    cipher = AESGCM(key)

    def encrypt(values):
        sealed = []
        for value in values:
            nonce = os.urandom(12)
            sealed.append(nonce + cipher.encrypt(nonce, value, None))
        return sealed

    def decrypt(values):
        return [cipher.decrypt(value[:12], value[12:], None) for value in values]

    return encrypt, decrypt


def containers(array):
    """The same values in other containers."""
    import numpy as np
    import pandas as pd
    import polars as pl

    values = array.to_pylist()
    return {
        "pyarrow, fixed size": array.cast(pa.binary(len(values[0]))),
        "NumPy, uint8": np.frombuffer(b"".join(values), np.uint8).reshape(len(values), -1),
        "NumPy, objects": np.array(values, object),
        "pandas, Arrow": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))),
        "pandas, objects": pd.Series(values, dtype=object),
        "Polars": pl.Series(values),
        "list": values,
    }


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--containers", action="store_true", help="other columns than Arrow's, too")
    options = parser.parse_args()
    count = options.values

    values = [os.urandom(options.size) for _ in range(count)]
    array = pa.array(values, pa.binary())
    encrypt, decrypt = loops(AESGCM.generate_key(256))
    ways = {"loop over AES-256-GCM": (values, encrypt, decrypt)}

    def way(column, algorithm, tag_size, threads=None):
        cipher = palladion.Cipher(palladion.generate_key(algorithm), algorithm, tag_size=tag_size)
        return (
            column,
            lambda column: columns.encrypt(column, cipher, threads=threads),
            lambda column: columns.decrypt(column, cipher, threads=threads),
        )

    for algorithm, tag_size in ALGORITHMS:
        ways[f"{algorithm}, tags of {tag_size}"] = way(array, algorithm, tag_size)
    ways["AEGIS-256, tags of 16, one thread"] = way(array, "AEGIS-256", 16, 1)
    if options.containers:
        for name, column in containers(array).items():
            ways[f"AEGIS-256, tags of 16: {name}"] = way(column, "AEGIS-256", 16)

    best = {name: [float("inf")] * 2 for name in ways}
    for _ in range(options.rounds):
        for name, (column, there, back) in ways.items():
            seconds, sealed = timed(there, column)
            best[name][0] = min(best[name][0], seconds)
            seconds, opened = timed(back, sealed)
            best[name][1] = min(best[name][1], seconds)
            assert (
                len(opened) == count
                and bytes(opened[0].as_py() if hasattr(opened[0], "as_py") else opened[0])
                == values[0]
            )
            del sealed, opened

    print(
        f"{count} values of {options.size} bytes; {os.cpu_count()} CPUs, {platform.machine()}, "
        f"backend {palladion.backend()}; "
        f"minima of {options.rounds} rounds"
    )
    print(f"{'':42}{'encrypt':>20}{'decrypt':>22}")
    first = best[next(iter(best))]
    for name, times in best.items():
        cells = (
            f"{1e9 * seconds / count:8.0f} ns {base / seconds:6.1f}x"
            for seconds, base in zip(times, first)
        )
        print(f"{name:42}" + "    ".join(cells))


if __name__ == "__main__":
    main()
