"""What is worked out once reads and writes as marshmallow itself does."""

from __future__ import annotations

from typing import Any

import pytest
from marshmallow import Schema, ValidationError, fields, post_dump

from app.api.compiled import dumper, loader
from app.api.door import Door
from app.api.schemas import CompatEstimateQuery, EstimateQuery, StatusAnswer, StatusBody
from app.domain.codes import TransferHistoryStatus, XferStatus
from app.services.transfers.status import TransferStatus

ANSWERS = sorted(
    {type(shape) for shape in Door.make(trusted_proxies=0, compat_clients=True).answers.values()}, key=str
)
RIGHT = {
    "src_chain_id": "1",
    "dst_chain_id": "56",
    "token_symbol": "USDT",
    "amt": "1000000",
    "slippage_tolerance": "3000",
}


@pytest.mark.parametrize("shape", ANSWERS)
@pytest.mark.parametrize("values", [{}, {"err": None}, {"err": {"code": 500, "msg": "no"}}])
def test_answers_without_values_have_their_defaults(shape: type[Schema], values: dict[str, Any]) -> None:
    assert dumper(shape())(values) == shape().dump(values)


def test_objects_are_written_alike() -> None:
    status = TransferStatus(
        TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED,
        XferStatus.UNKNOWN,
        wd_onchain="AA==",
        sorted_sigs=["AA=="],
        block_delay=3,
    )
    assert dumper(StatusAnswer())(status) == StatusAnswer().dump(status)


@pytest.mark.parametrize(
    "values",
    [
        RIGHT,
        RIGHT | {"is_pegged": "T", "usr_addr": "x", "unknown": "y"},
        {},
        RIGHT | {"amt": "-1", "src_chain_id": "²"},
        RIGHT | {"amt": None},
        {name: value for name, value in RIGHT.items() if name != "slippage_tolerance"},
    ],
)
@pytest.mark.parametrize("shape", [EstimateQuery, CompatEstimateQuery, StatusBody])
def test_questions_are_read_alike(shape: type[Schema], values: dict[str, Any]) -> None:
    assert outcome(loader(shape()), values) == outcome(shape().load, values)


def outcome(load: Any, values: dict[str, Any]) -> Any:
    """What is loaded, or every fault."""
    try:
        return load(values)
    except ValidationError as error:
        return error.messages


def test_a_shape_with_hooks_is_refused() -> None:
    class Hooked(Schema):
        name = fields.String()

        @post_dump
        def _shout(self, document: dict[str, Any], **_: Any) -> dict[str, Any]:
            return document

    with pytest.raises(ValueError, match="Hooked has hooks"):
        dumper(Hooked())
