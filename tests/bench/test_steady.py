"""Requests at a steady rate: who gets no answer is not forgotten."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bench.migrating.steady import LATE_SECONDS, Load

RATE = 10


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    return tmp_path / "answers.txt"


def test_who_gets_no_answer_counts_as_failed_and_slow(answers: Path) -> None:
    lines = [f"{100 + number / RATE:.6f} 2.50 200\n" for number in range(2 * RATE) if number != 3]
    answers.write_text("".join(lines))
    load = Load(answers, RATE)
    first, second = load.between(100, 101), load.between(101, 102)
    assert [answer.status for answer in first] == [200] * (RATE - 1) + [0]
    assert first[-1].ms == LATE_SECONDS * 1000
    assert {answer.status for answer in second} == {200}
    assert len(second) == RATE


def test_a_server_that_answers_nobody_ends_the_run(answers: Path) -> None:
    answers.touch()
    load = Load(answers, RATE)
    with pytest.raises(SystemExit, match="does not answer"):
        load.begin()
    with pytest.raises(SystemExit, match="does not answer 10 requests a second"):
        load.catch_up()
