"""Every recorded request is answered as it was recorded, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask

from tests.contract.recorded_answers import RECORDED, STRICT, ask, sandbox_on

Exchange = dict[str, Any]


def exchanges() -> list[Exchange]:
    recorded: list[Exchange] = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert len(recorded) > 200
    return recorded


def assert_given_again(app: Flask, recorded: list[Exchange]) -> None:
    changed = [
        (exchange["request"], exchange["answer"], answer)
        for exchange in recorded
        if (answer := ask(app, exchange["request"])) != exchange["answer"]
    ]
    assert not changed, f"{len(changed)} answers changed; the first: {changed[0]}"


def test_every_recorded_answer_is_given_again(empty_url: str) -> None:
    assert_given_again(sandbox_on(empty_url), exchanges())


@pytest.mark.one_database
def test_so_it_is_where_clients_are_read_strictly(empty_url: str) -> None:
    """But for what is recorded apart."""
    apart: list[Exchange] = json.loads(STRICT.read_text(encoding="utf-8"))
    answers = {json.dumps(each["request"]): each["answer"] for each in apart}
    assert len(answers) == len(apart)
    recorded = [
        each | {"answer": answers.pop(json.dumps(each["request"]), each["answer"])} for each in exchanges()
    ]
    assert not answers
    assert_given_again(sandbox_on(empty_url, compat_clients=False), recorded)
