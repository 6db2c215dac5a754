"""The public API's answers, for the console to show. They are handed in: doors do not import each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import orjson
from flask import current_app

from app.domain.estimate.inputs import EstimateInputs
from app.domain.keys import TransferId
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class PublicAnswers:
    """Functions that give the bodies of the public operations, byte for byte.

    ``status`` takes a known transfer's id (32 bytes), ``estimate`` the inputs of one moment.
    """

    status: Callable[[Gateway, TransferId], bytes]
    estimate: Callable[[EstimateInputs], bytes]


def public_answers() -> PublicAnswers:
    """Those of the running console."""
    answers = current_app.extensions["console"].public_answers
    assert isinstance(answers, PublicAnswers)  # noqa: S101  narrows the type of an untyped registry
    return answers


def laid_out(body: bytes) -> str:
    """A JSON body, indented; values and their order stay."""
    return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
