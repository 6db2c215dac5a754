"""Every recorded request is answered as it was recorded, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

from tests.contract.recorded_answers import RECORDED, ask, sandbox_app


def test_every_recorded_answer_is_given_again(tmp_path: Path) -> None:
    exchanges = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert len(exchanges) > 200
    app = sandbox_app(tmp_path)
    changed = [
        (exchange["request"], exchange["answer"], answer)
        for exchange in exchanges
        if (answer := ask(app, exchange["request"])) != exchange["answer"]
    ]
    assert not changed, f"{len(changed)} answers changed; the first: {changed[0]}"
