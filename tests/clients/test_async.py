"""The Python client's two faces are alike, and a call of asyncio that is cancelled leaves nothing behind."""

from __future__ import annotations

from typing import Any

from tests.clients import workshop

CALLS = ("status", "configs", "wait", "history", "events")
EVENT = '{"transfer_id":"0x0","status":5,"previous_status":1,"refund_reason":0,"seq":7}'
MANY = 110
"""More than httpx has connections where it is not asked for more."""

BEFORE_CANCELLED_AFTER = [1, True, 0]


def check(*cases: dict[str, Any]) -> None:
    named = [{"name": f"{case['do']} {case.get('call', '')}", **case} for case in cases]
    workshop.check_python(named, {}, program=workshop.AWAITED)


def test_cancelled_call_closes_its_connection() -> None:
    check(*({"do": "cancelled", "call": call, "expect": {"value": BEFORE_CANCELLED_AFTER}} for call in CALLS))


def test_both_faces_end_calls_that_nobody_answers() -> None:
    check({"do": "silent", "expect": {"value": [["ReadTimeout", True]] * 2}})


def test_stream_that_is_left_closes_its_connection() -> None:
    check({"do": "left_stream", "data": EVENT, "expect": {"value": 0}})


def test_waiting_calls_do_not_wait_for_each_other() -> None:
    check({"do": "crowd", "many": MANY, "expect": {"value": MANY}})


def test_both_faces_have_the_same_methods() -> None:
    check({"do": "faces", "expect": {"value": []}})
