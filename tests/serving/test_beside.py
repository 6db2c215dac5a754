"""The process beside the workers is started again, also where that fails at first."""

from __future__ import annotations

import os
from types import SimpleNamespace

import gevent
import pytest

from serving.side.beside import Beside


def test_a_start_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Beside()
    ended, runs = SimpleNamespace(poll=lambda: 1), SimpleNamespace(poll=lambda: None)
    pauses: list[float] = []
    starts: list[object] = [OSError(11, "Resource temporarily unavailable"), runs]

    def started() -> object:
        found = starts.pop(0)
        if isinstance(found, OSError):
            raise found
        beside._ending = True
        return found

    monkeypatch.setattr(beside, "_process", ended)
    monkeypatch.setattr(beside, "_started", started)
    monkeypatch.setattr(gevent, "sleep", pauses.append)
    beside._keep(os.getpid())
    assert beside._process is runs
    assert not starts and pauses[-1] > pauses[1], "it is tried less and less often"
