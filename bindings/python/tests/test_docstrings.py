"""Everything public has a docstring, and the examples of native code work.

Pytest runs the examples of the Python modules itself.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import palladion
import pytest
from palladion import _native

MODULES = [
    "palladion",
    "palladion.aio",
    "palladion.files",
    "palladion.raf",
    "palladion.columns",
    "palladion.fsspec",
    "palladion.compat.pyaegis",
]


def public(name: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(name)
    yield name, module
    for entry in getattr(module, "__all__", dir(module)):
        value = getattr(module, entry)
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        yield f"{name}.{entry}", value
        if inspect.isclass(value):
            for attribute, member in vars(value).items():
                if not attribute.startswith("_") and (
                    callable(member) or inspect.isdatadescriptor(member)
                ):
                    yield f"{name}.{entry}.{attribute}", getattr(value, attribute)


@pytest.mark.parametrize("name", MODULES)
def test_all_is_documented(name: str) -> None:
    if name == "palladion.fsspec":
        pytest.importorskip("fsspec")
    silent = [where for where, value in public(name) if not inspect.getdoc(value)]
    assert not silent


def test_examples_of_the_native_part() -> None:
    runner, parser, count = doctest.DocTestRunner(), doctest.DocTestParser(), 0
    for name, value in vars(_native).items():
        members = vars(value).items() if inspect.isclass(value) else []
        for where, one in [(name, value), *((f"{name}.{n}", m) for n, m in members)]:
            text = getattr(one, "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                result = runner.run(parser.get_doctest(text, {}, where, None, None))
                assert result.failed == 0, where
                count += result.attempted
    assert count > 15


def test_the_version_is_that_of_the_package() -> None:
    metadata = pytest.importorskip("importlib.metadata")
    assert palladion.__version__ == metadata.version("palladion")
