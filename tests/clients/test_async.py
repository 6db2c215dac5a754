"""The Python client's two faces are alike, and a call of asyncio that is cancelled leaves nothing behind."""

from __future__ import annotations

from typing import Any

from tests.clients import workshop

CALLS = ("status", "configs", "wait", "history", "events")
EVENT = '{"transfer_id":"0x0","status":5,"previous_status":1,"refund_reason":0,"seq":7}'
MANY = 110
"""More than httpx has connections where it is not asked for more."""

BEFORE_CANCELLED_AFTER = [1, True, 0]


CASES: list[dict[str, Any]] = [
    *({"do": "cancelled", "call": call, "expect": {"value": BEFORE_CANCELLED_AFTER}} for call in CALLS),
    {"do": "silent", "expect": {"value": [["ReadTimeout", True]] * 2}},
    {"do": "left_stream", "data": EVENT, "expect": {"value": 0}},
    {"do": "crowd", "many": MANY, "expect": {"value": MANY}},
    {"do": "faces", "expect": {"value": []}},
]
"""A call that is cancelled, one that nobody answers, a stream that is left, many waits at a time, and the
methods that one face lacks."""


def test_faces_are_alike_and_leave_no_connection() -> None:
    named = [{"name": f"{case['do']} {case.get('call', '')}", **case} for case in CASES]
    workshop.check_python(named, {}, program=workshop.AWAITED)
