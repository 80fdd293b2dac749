"""What the tests share."""

from __future__ import annotations

import os
import pathlib

import pytest
from hypothesis import settings

import palladion

settings.register_profile("ci", deadline=None, max_examples=60)
settings.load_profile("ci")

#: The project's vectors: in the repository, or where the environment says.
VECTORS = pathlib.Path(
    os.environ.get("PALLADION_VECTORS", pathlib.Path(__file__).parents[3] / "vectors")
)


def fill(seed: int, length: int) -> bytes:
    """Reads a file in the format of vectors/README.md."""
    return bytes((seed + 7 * i) % 251 for i in range(length))


@pytest.fixture(params=palladion.ALGORITHMS)
def algorithm(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[16, 32])
def tag_size(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def key(algorithm: str) -> bytes:
    return palladion.generate_key(algorithm)


@pytest.fixture
def nonce(algorithm: str) -> bytes:
    return palladion.generate_nonce(algorithm)


@pytest.fixture
def cipher(key: bytes, algorithm: str, tag_size: int) -> palladion.Cipher:
    return palladion.Cipher(key, algorithm, tag_size=tag_size)
