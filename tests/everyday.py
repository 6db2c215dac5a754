"""Which tests run everyday, where nobody names any: most test functions, with a part of their cases.

With ``FULL_TESTS=1`` (``make test-all`` and continuous integration) every test runs, and so it does where a
file, a test or a word (``-k``) is given. Otherwise three rules take away what would try the same code again:

- a test that runs on both databases runs on one, each file on its own (``database_of_file``), except where it
  is marked ``every_database`` or in the folders of ``ON_BOTH``;
- a test with many cases that uses a database, a process or a browser runs ``CASES`` of them (``spread``);
- a test marked ``full`` is left out; its mark says why.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TypeVar

import pytest

from tests.databases import BACKENDS
from tests.volume import FULL

Case = TypeVar("Case")

CASES = 2
"""How many cases of a test run everyday: the first and the last, and further ones at equal distances."""

COSTLY = frozenset({"backend", "browser", "postgres_server", "server", "sqlite_template", "tmp_path"})
"""Fixtures of tests whose cases take more than a few thousandths of a second."""

ON_BOTH = frozenset({"models", "queries"})
"""Folders whose tests run on both databases everyday: they are about SQL."""


def is_everyday(config: pytest.Config) -> bool:
    """Whether everything is run without a name, and not in full."""
    named = config.option.keyword or config.args != config.getini("testpaths")
    return not FULL and not named


def part(tests: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that run everyday."""
    functions: dict[str, list[pytest.Item]] = {}
    for test in tests:
        if not test.get_closest_marker("full"):
            functions.setdefault(test.nodeid.partition("[")[0], []).append(test)
    return {test for cases in functions.values() for test in _part_of_function(cases)}


def _part_of_function(cases: Sequence[pytest.Item]) -> Sequence[pytest.Item]:
    """The cases of one test function that run everyday."""
    first = cases[0]
    if not first.get_closest_marker("every_database") and ON_BOTH.isdisjoint(first.path.parts):
        chosen = database_of_file(first.nodeid.partition("::")[0])
        cases = [case for case in cases if _database_of(case) in (None, chosen)] or cases
    return cases if COSTLY.isdisjoint(getattr(first, "fixturenames", ())) else spread(cases)


def spread(cases: Sequence[Case], number: int = CASES) -> list[Case]:
    """As many of the cases, from the first to the last in equal distances."""
    last = len(cases) - 1
    return list(cases) if last < number else [cases[last * step // (number - 1)] for step in range(number)]


def database_of_file(file: str) -> str:
    """The database that the tests of a file run on everyday: by its name, so the same on every machine."""
    return BACKENDS[zlib.crc32(PurePath(file).as_posix().encode()) % len(BACKENDS)]


def _database_of(test: pytest.Item) -> str | None:
    """The database that a case is about, whatever its parameter is called."""
    values = test.callspec.params.values() if hasattr(test, "callspec") else ()
    return next((value for value in values if isinstance(value, str) and value in BACKENDS), None)
