"""Comparing a document of many rows, or going far back, delays no other request for long."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise

import pytest

from app import cooperation
from app.accounts.rules.two_persons import TwoPersons
from app.console.network.document import Picked, compare_document, picked_edits
from app.db.database import Database
from app.network.document import import_network
from app.network.edits.save import preview_edit
from app.network.history import network_at
from tests.actors import TESTER
from tests.applications import Editing
from tests.network.services.network_kit import network as small_network

ROWS = 3_000
LONGEST = 7
"""How long a piece of work may take, in times that this machine needs to count to a million: some 0.15 s
where nothing else runs."""

LARGEST = 2 / 3
"""Of the whole work, which ends with others having had no turn where it is done in one piece."""


def large() -> bytes:
    rows = small_network()
    rows["blocked_addresses"] = [{"address": f"0x{n:040x}", "reason": "listed"} for n in range(1, ROWS)]
    return json.dumps(rows).encode()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """When the others had their turn."""
    found: list[float] = []
    monkeypatch.setattr(cooperation, "yield_to_others", lambda: found.append(time.process_time()))
    gc.disable()  # what other tests have left would be collected in one piece
    yield found
    gc.enable()


@pytest.mark.one_database  # work in Python
def test_it_gives_way(
    turns: list[float], database: Database, two_persons: TwoPersons, editing: Editing
) -> None:

    def pieces(work: Callable[[], object]) -> list[float]:
        turns[:] = [time.process_time()]
        work()
        turns.append(time.process_time())
        return [after - before for before, after in pairwise(turns)]

    text = large()
    import_network(*editing, json.dumps(small_network()).encode(), actor=TESTER)
    long_ago = database.clock() - timedelta(days=1)
    found = {}
    found["compare"] = pieces(lambda: compare_document(database, text))
    shown = compare_document(database, text).fingerprint
    picked = Picked((), ("blocked_addresses",))
    edits = picked_edits(database, text, picked, shown=shown)
    found["pick"] = pieces(lambda: picked_edits(database, text, picked, shown=shown))
    found["preview"] = pieces(lambda: preview_edit(database, two_persons, edits))
    import_network(*editing, text, actor=TESTER)
    found["at"] = pieces(lambda: network_at(database, long_ago))
    (counting,) = pieces(lambda: sum(number for number in range(1_000_000)))
    for name, each in found.items():
        print(f"{name}: at most {max(each):.3f} of {sum(each):.3f} s; counting took {counting:.3f} s")
    assert [name for name, each in found.items() if max(each) > LONGEST * counting] == []
    assert [name for name, each in found.items() if max(each) > LARGEST * sum(each)] == []
