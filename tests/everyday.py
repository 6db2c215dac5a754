"""Which tests run everyday, where nobody names any: every function that is tested, with a part of its cases.

With ``FULL_TESTS=1`` (``make test-all`` and continuous integration) every test runs, and also where a file, a
test or a word (``-k``) is given. Otherwise three rules take away what would try the same code again:

- a test that runs on two databases runs on one of them, always on the same; half of them on each
  (``on_one_of``);
- a test with many cases that uses a database or a server runs ``CASES`` of them (``part``);
- a test marked ``full`` is left out; its mark says why.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import pytest

from tests.volume import FULL

CASES = 4
"""How many cases of a test run everyday: the first, the last, and those in equal distances between them."""

COSTLY = frozenset({"backend", "browser", "sandbox", "server"})
"""Fixtures that make a case cost more than a thousandth of a second."""

ON_BOTH = ("queries", "models")
"""Folders that run on both databases everyday: what they test is SQL."""


def is_everyday(config: pytest.Config) -> bool:
    """Whether everything was asked for without any name, and not in full."""
    named = config.option.keyword or config.args != config.getini("testpaths")
    return not FULL and not named


def on_one_of(databases: Sequence[str], test: pytest.Item) -> tuple[str, ...]:
    """One of the databases, by the name of the test: the same on every machine."""
    return (databases[zlib.crc32(test.nodeid.encode()) % len(databases)],)


def spread(cases: Sequence[pytest.Item], number: int = CASES) -> list[pytest.Item]:
    """As many of the cases, from the first to the last in equal distances."""
    last = len(cases) - 1
    return list(cases) if last < number else [cases[last * step // (number - 1)] for step in range(number)]


def part(tests: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests of which everyday runs consist."""
    functions: dict[str, list[pytest.Item]] = {}
    kept = set()
    for test in tests:
        if test.get_closest_marker("full"):
            continue
        if COSTLY.isdisjoint(getattr(test, "fixturenames", ())):
            kept.add(test)
        else:
            functions.setdefault(test.nodeid.partition("[")[0], []).append(test)
    return kept.union(*map(spread, functions.values()))
