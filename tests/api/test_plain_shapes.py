"""The public shapes are read and written plainly, and marshmallow itself would give the same."""

from __future__ import annotations

from dataclasses import make_dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from marshmallow import Schema, ValidationError
from marshmallow.fields import List

from app import json_documents
from app.api import public_answers
from app.estimates.schemas import EstimateAnswer, Moment, estimate_query
from app.latency.schemas import LatencyAnswer, LatencyQuery, LatencyStatsQuery
from app.refunds.schemas import EvidenceQuery, WithdrawBody
from app.transfers.schemas.look_ups import AnyFindQuery, AnyHistoryQuery
from app.transfers.schemas.status_answers import StatusBody, StatusesBody, TransactionBody, status_answer
from app.webhooks.schemas import WebhookBody, WebhookQuery

KINDS = (
    AnyFindQuery,
    AnyHistoryQuery,
    EvidenceQuery,
    LatencyQuery,
    LatencyStatsQuery,
    StatusBody,
    StatusesBody,
    TransactionBody,
    WebhookBody,
    WebhookQuery,
    WithdrawBody,
)
QUESTIONS: dict[str, Schema] = {
    type(shape).__name__: shape
    for shape in (*(kind() for kind in KINDS), *(estimate_query(compat) for compat in (False, True)))
}
ANSWERS = {
    type(shape).__name__: shape
    for compat in (False, True)
    for shape in public_answers(compat_clients=compat).values()
}
WRONG: tuple[Any, ...] = (
    "",
    "0",
    "-1",
    "x",
    "x" * 5000,
    "Δ",
    "1 ",
    0,
    7,
    -1,
    2**64,
    1.5,
    True,
    [],
    ["e"],
    {},
    "a\0",
)


def examples(shape: Schema) -> dict[str, Any]:
    """A value of each field, as the OpenAPI document shows it; nothing where it shows none."""
    return {
        field.data_key or name: field.metadata["example"]
        for name, field in shape.load_fields.items()
        if "example" in field.metadata
    }


def outcome(load: Any, data: dict[str, Any]) -> Any:
    try:
        return load(data)
    except ValidationError as error:
        return error.messages
    except AttributeError as error:  # of fields that are only ever read from a query, whose values are texts
        return str(error)


@pytest.mark.parametrize("shape", QUESTIONS.values(), ids=QUESTIONS)
def test_questions_are_read_as_marshmallow_reads_them(shape: Schema) -> None:
    right = examples(shape) | {"unknown": "x"}
    known = [field.data_key or name for name, field in shape.load_fields.items()]
    tried = [right, {}, *({key: right[key] for key in right if key != name} for name in known)]
    tried += [right | {name: wrong} for name in known for wrong in WRONG]
    for data in tried:
        assert outcome(lambda given: json_documents.load(shape, given), data) == outcome(shape.load, data), (
            data
        )


@pytest.mark.parametrize("shape", ANSWERS.values(), ids=ANSWERS)
def test_answers_are_written_as_marshmallow_writes_them(shape: Schema) -> None:
    full = {name: field.metadata.get("example") for name, field in shape.dump_fields.items()}
    full |= {name: 3 for name in full if name.endswith(("amt", "fee", "_rate"))}
    full |= {
        name: datetime.now(UTC) for name, field in shape.dump_fields.items() if isinstance(field, Moment)
    }
    error = {"err": {"code": 500, "msg": "why"}}
    lists = {name: [] for name, field in shape.dump_fields.items() if isinstance(field, List)}
    for values in ({}, error, full | lists, full | lists | error):
        as_object = make_dataclass("Values", values)(**values)
        for given in (values, as_object):
            assert json_documents.dump(shape, given) == shape.dump(given), given
            assert list(json_documents.dump(shape, given)) == list(shape.dump(given)), given


def test_three_operations_bypass_marshmallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing would be compared here."""

    def by_marshmallow(*_: Any, **__: Any) -> Any:
        raise AssertionError("marshmallow was asked")

    monkeypatch.setattr(Schema, "load", by_marshmallow)
    monkeypatch.setattr(Schema, "dump", by_marshmallow)
    for question in (estimate_query(compat_clients=False), StatusBody(), LatencyQuery()):
        assert json_documents.load(question, examples(question))
    for shape in (EstimateAnswer(), status_answer(compat_clients=False), LatencyAnswer()):
        assert json_documents.dump(shape, {})["err"] is None
