"""Writes and reads an encrypted, partitioned data set with Dask, in several worker processes.

Each partition is a Parquet file that a worker encrypts or decrypts. Workers read only the row
groups and columns that they need, and decrypt only the chunks that hold them.

The key is never part of the work: Dask sends tasks between processes and shows them on its
dashboard. Each worker reads the key file that the variable PALLADION_KEY_FILE of its own
environment names. The operator of the cluster puts the file there, for example from a Kubernetes
secret, readable by the workers' user only.

    palladion keygen -o my.key
    export PALLADION_KEY_FILE=$PWD/my.key
    python dask_dataset.py /tmp/events            # or s3://bucket/events, with s3fs

This program needs dask[dataframe]; it and the workers need palladion[fsspec].
"""

from __future__ import annotations

import sys
from typing import Any


def encrypted(url: str) -> str:
    """The URL of the data set, for those with the key."""
    return f"palladion::{url}" if "://" in url else f"palladion::file://{url}"


def write(url: str, partitions: int = 4) -> None:
    """Writes some events."""
    import dask.dataframe as dd
    import pandas as pd

    events = pd.DataFrame({"user": [n % 97 for n in range(100_000)], "seconds": range(100_000)})
    dd.from_pandas(events, npartitions=partitions).to_parquet(encrypted(url), write_index=False)


def busiest(url: str) -> Any:
    """The users who spent the most time, from two columns of all partitions."""
    import dask.dataframe as dd

    events = dd.read_parquet(encrypted(url), columns=["user", "seconds"])
    return events.groupby("user").seconds.sum().nlargest(3).compute()


def main() -> None:
    import dask

    # On a cluster: dask.distributed.Client("scheduler:8786")
    with dask.config.set(scheduler="processes", num_workers=2):
        write(sys.argv[1])
        print(busiest(sys.argv[1]))


if __name__ == "__main__":
    main()
