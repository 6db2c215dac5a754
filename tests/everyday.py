"""Which tests run, and with how much, where nobody names any: everyday most, with a part of their cases.

Three rules take away what would try the same code again:

- a test that runs on both databases runs on one, each file on its own (``database_of_file``), except where it
  is marked ``every_database`` or in the folders of ``ON_BOTH``;
- a test with many cases that uses a database, a process or a browser runs one of them (``one_of``);
- a test marked ``soak`` or ``minutes`` is left out; its mark says why.

``make test`` names the areas that the change at hand is about (``TEST_NEAR``). Of the tests of other areas
that use a database, a process or a browser one in three runs, and at least one of each file (``sample``).

They do not hold where a file, a test or a word (``-k``) is given, in the areas that ``TEST_AREAS`` names (CI:
those that a change is about, ``scripts/areas.py``), and with ``SOAK=1`` (``make soak``). Where ``TEST_AREAS``
names all areas, those marked ``soak`` run too, and the first two rules choose differently: the database that
does not run everyday, and mostly another case. Who passed here and there tried both. Only ``SOAK`` also tries
all inputs of tests that try many (``volume``, ``some``).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import TypeVar

import pytest

from scripts.areas import ALL
from tests.databases import BACKENDS

Case = TypeVar("Case")

SOAK = bool(os.environ.get("SOAK"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
"""Of what is tried at random."""

AREAS = frozenset(os.environ.get("TEST_AREAS", "").split())

NEAR = frozenset(os.environ.get("TEST_NEAR", ALL).split())
"""The areas whose everyday tests all run."""

SAMPLE = 3
"""One of so many tests that cost runs everyday in areas that the change is not about."""

PART = 8
"""One of so many inputs, where a test does not say how many it needs."""

COSTLY = frozenset({"backend", "browser", "postgres_server", "server", "sqlite_template", "tmp_path"})
"""Fixtures of tests whose cases take more than a few thousandths of a second."""

ON_BOTH = frozenset({"db", "queries"})
"""Folders whose tests run on both databases everyday: they are about SQL."""

TESTS = Path(__file__).parent


def volume(soak: int, everyday: int | None = None) -> int:
    """How many inputs a test tries: ``soak``, or everyday an eighth of these or as many as it says."""
    if SOAK:
        return soak
    return -(-soak // PART) if everyday is None else everyday


def some(inputs: Sequence[Case], part: int = PART) -> Sequence[Case]:
    """Those of the inputs that a test tries: all, or everyday one of so many, from the first."""
    return inputs if SOAK else inputs[::part]


def chosen(config: pytest.Config, tests: Sequence[pytest.Item]) -> Iterable[pytest.Item]:
    """Those of the tests that run."""
    is_named = config.option.keyword or config.args != config.getini("testpaths")
    if SOAK or is_named:
        return tests
    return part(tests)


def part(tests: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that run everyday, and those of the areas that are named."""
    chosen = set[pytest.Item]()
    functions: dict[str, list[pytest.Item]] = {}
    for test in tests:
        if area_of(test) in AREAS:
            chosen.add(test)
        elif not test.get_closest_marker("minutes") and (ALL in AREAS or not test.get_closest_marker("soak")):
            functions.setdefault(test.nodeid.partition("[")[0], []).append(test)
    return chosen.union(*map(_part_of_function, sample(functions.values())))


def sample(functions: Iterable[list[pytest.Item]]) -> Iterator[list[pytest.Item]]:
    """The test functions, each its cases, that run: of files far from the change some of those that cost."""
    of_far: dict[Path, list[list[pytest.Item]]] = {}
    for cases in functions:
        if _is_far(cases[0]) and _costs(cases[0]):
            of_far.setdefault(cases[0].path, []).append(cases)
        else:
            yield cases
    for far in of_far.values():
        by_name = {cases[0].nodeid.partition("[")[0]: cases for cases in far}
        found = [cases for name, cases in by_name.items() if zlib.crc32(name.encode()) % SAMPLE == 0]
        yield from found or [one_of(far, far[0][0].path.name)]


def _is_far(test: pytest.Item) -> bool:
    """Whether a test is of an area that the change is not about."""
    return ALL not in NEAR | AREAS and area_of(test) not in {"", *NEAR}


def area_of(test: pytest.Item) -> str:
    """The folder of ``tests/`` that a test is in; empty where it is in none."""
    folders = _file_of([test]).split("/")[1:-1]
    return folders[0] if folders else ""


def _costs(test: pytest.Item) -> bool:
    return not COSTLY.isdisjoint(getattr(test, "fixturenames", ()))


def _part_of_function(cases: Sequence[pytest.Item]) -> Sequence[pytest.Item]:
    """The cases of one test function that run everyday, or where all areas are named."""
    name, costs = cases[0].nodeid.partition("[")[0], _costs(cases[0])
    everyday = _on_one_database(cases)
    if costs:
        everyday = [one_of(everyday, name)]
    if ALL not in AREAS:
        return everyday
    database = database_of(everyday[0])
    others = [case for case in cases if database_of(case) != database] or cases
    return [one_of(others, name + ALL)] if costs else others


def _on_one_database(cases: Sequence[pytest.Item]) -> Sequence[pytest.Item]:
    first = cases[0]
    if first.get_closest_marker("every_database") or not ON_BOTH.isdisjoint(first.path.parts):
        return cases
    database = database_of_file(_file_of(cases))
    return [case for case in cases if database_of(case) in (None, database)] or cases


def _file_of(cases: Sequence[pytest.Item]) -> str:
    return cases[0].nodeid.partition("::")[0]


def one_of(cases: Sequence[Case], name: str) -> Case:
    """One of them, by a name: the same on every machine, and of many tests not always the first."""
    return cases[zlib.crc32(name.encode()) % len(cases)]


@cache
def database_of_file(file: str) -> str:
    """The database that the tests of a file run on everyday: by its name, so the same on every machine."""
    return one_of(BACKENDS, PurePath(file).as_posix())


def database_of(test: pytest.Item) -> str | None:
    """The database that a case is about, whatever its parameter is called."""
    values = test.callspec.params.values() if hasattr(test, "callspec") else ()
    return next((value for value in values if isinstance(value, str) and value in BACKENDS), None)
