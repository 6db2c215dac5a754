"""Every recorded request is answered as it was recorded, byte for byte."""

from __future__ import annotations

import json

from tests.contract.recorded_answers import RECORDED, ask, sandbox_on


def test_every_recorded_answer_is_given_again(empty_url: str) -> None:
    exchanges = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert len(exchanges) > 200
    app = sandbox_on(empty_url)
    changed = [
        (exchange["request"], exchange["answer"], answer)
        for exchange in exchanges
        if (answer := ask(app, exchange["request"])) != exchange["answer"]
    ]
    assert not changed, f"{len(changed)} answers changed; the first: {changed[0]}"
