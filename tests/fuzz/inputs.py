"""Which input has which number. Seed and number alone choose it, so that each can be sent again."""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz.api_doors import (
    grpc_question,
    ingest_question,
    json_question,
    waiting_question,
    webhook_question,
)
from tests.fuzz.page_doors import operator_question, public_question, stranger_question
from tests.fuzz.questions import Question, World
from tests.fuzz.raw_door import raw_question

SHARES: Final = {
    json_question: 400,
    grpc_question: 290,
    raw_question: 120,
    ingest_question: 70,
    public_question: 40,
    webhook_question: 20,
    waiting_question: 20,
    stranger_question: 20,
    operator_question: 20,
}
"""Of a thousand inputs."""


def question(seed: int, number: int, world: World, cookie: bytes = b"", token: str = "") -> Question:
    """The input of this number.

    :param cookie: of a session of the console, and ``token`` of its forms.
    """
    chance = random.Random(f"{seed}/{number}")
    (make,) = chance.choices(list(SHARES), list(SHARES.values()))
    if make is operator_question:
        return operator_question(chance, world, cookie, token)
    return make(chance, world)  # type: ignore[operator]
