"""The examples of the OpenAPI document are what the sandbox answers.

The file that the document takes them from has the request of each, too. Where an answer is meant to change,
or an example is added with its summary and request, record them again, and then the recorded answers, which
hold the document::

    python -m tests.contract.documented_examples
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from app.api.openapi.documented_responses import EXAMPLES_FILE
from tests.contract.recorded_answers import sandbox_app

Example = dict[str, Any]
Examples = dict[str, dict[str, Example]]

STAND_INS = {
    re.compile(r'(?<="id":")whk_[0-9a-f]{16}(?=")'): "whk_0123456789abcdef",
    re.compile(r'(?<="secret":")whsec_[^"]+(?=")'): "whsec_bm90IGEgc2VjcmV0LCBidXQgMzIgYnl0ZXMgbG9uZyE=",
    re.compile(r'(?<="facts_age_seconds":)[0-9.]+'): "0.4",
}
"""What differs each time, and its stand-in in the examples."""

KEY = ("api-keys", "create", "examples", "--scope", "webhooks")
"""The command that makes the key of the examples that need one."""

PIECES_OF_A_STREAM = 2
"""Its opening, and what has happened so far."""


def examples() -> Examples:
    """Each example of an operation by its name, in the order of their requests: some change the state."""
    read: Examples = json.loads(EXAMPLES_FILE.read_text(encoding="utf-8"))
    return read


def answers(app: Flask) -> Iterator[tuple[str, str, Any]]:
    """Operation, name and the present answer of every example.

    :param app: holds the sandbox and nothing else, and serves ``api`` and ``wait``.
    """
    printed = app.test_cli_runner().invoke(args=KEY).output
    (key,) = re.findall(r"gwk_\w+", printed)
    made: dict[str, str] = {}
    for operation, of_operation in examples().items():
        for name, example in of_operation.items():
            yield operation, name, _send(app, example["request"], key, made)


def _send(app: Flask, request: Example, key: str, made: dict[str, str]) -> Any:
    """The body of one answer; of a stream its begin.

    :param made: what stand-ins of earlier answers stood for.
    """
    path = request["path"]
    for stand_in, meant in made.items():
        path = path.replace(stand_in, meant)
    response: TestResponse = app.test_client().open(
        path,
        method=request["method"],
        json=request.get("body"),
        headers={"Authorization": f"Bearer {key}"} if "/webhooks" in path else {},
        buffered=False,
    )
    if response.mimetype == "text/event-stream":
        begun = b"".join(islice(response.iter_encoded(), PIECES_OF_A_STREAM)).decode()
        response.close()
        return begun
    text = response.text
    for pattern, stand_in in STAND_INS.items():
        made.update((stand_in, meant) for meant in pattern.findall(text))
        text = pattern.sub(stand_in, text)
    return json.loads(text)


def record() -> None:
    """Send everything, and write the answers."""
    recorded = examples()
    with tempfile.TemporaryDirectory() as folder:
        for operation, name, answer in answers(sandbox_app(Path(folder), doors=("api", "wait"))):
            recorded[operation][name]["value"] = answer
    text = json.dumps(recorded, indent=1, ensure_ascii=False)
    EXAMPLES_FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
