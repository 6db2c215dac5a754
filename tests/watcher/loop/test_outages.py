"""What runs all chains, while the database does not answer for longer than the configuration may be old."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from app.db.database import Database
from app.feed.services.ingest import Intake
from app.values.errors import Unavailable
from app.values.identifiers import ChainId
from app.watcher.loop.watcher import ChainTask, Watcher
from tests.watcher.kit import CHAIN, OTHER, Watched


class Answers:
    """The configuration's chains, one answer for each look. None is an outage."""

    def __init__(self, *chains: set[ChainId] | None) -> None:
        self.left = list(chains)

    def current(self) -> Any:
        found = self.left.pop(0)
        if found is None:
            raise Unavailable("the gateway cannot read its configuration: try again in a few seconds")
        return SimpleNamespace(watch_terms=dict.fromkeys(sorted(found)))


def test_watcher_waits_during_outage(
    database: Database,
    intake: Intake,
    watched: Watched,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    started: list[ChainId] = []
    monkeypatch.setattr(ChainTask, "run", lambda task: started.append(task.chain_id))
    answers = Answers({CHAIN}, None, None, None, {CHAIN, OTHER}, None, {CHAIN, OTHER})
    seen: list[int] = []
    watcher = Watcher(database, answers, intake, {}, watched.time)  # type: ignore[arg-type]

    def every() -> None:
        seen.append(len(watcher.tasks))
        if not answers.left:
            watcher.stop()

    with caplog.at_level(logging.WARNING, "app.watcher"):
        watcher.run(every, 0)
    assert seen == [1, 1, 1, 1, 2, 2, 2], "it looks again and again, and shows that it is alive"
    assert started == [CHAIN, OTHER], "each once"
    words = "the configuration cannot be read: no chain is added until it can"
    assert [record.getMessage() for record in caplog.records] == [words] * 2, "once an outage"
