"""How both clients wait: by the gateway's wait, by its headers, and without either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients import workshop
from tests.clients.scripted import STATUS, WAIT, Say, Script, serving

ID = "0x" + "ab" * 32
OVER = {"X-Transfer-Terminal": "true", "X-Transfer-Next-Actor": "nobody", "X-Transfer-Next-Poll-Seconds": "0"}
SOON = {
    "X-Transfer-Terminal": "false",
    "X-Transfer-Next-Actor": "network",
    "X-Transfer-Next-Poll-Seconds": "3",
}
USER = {
    "X-Transfer-Terminal": "false",
    "X-Transfer-Next-Actor": "user",
    "X-Transfer-As-Of": "2026-01-01T00:00:00Z",
}
UNKNOWN = Say(reason="transfer_not_found")
BUSY = Say(http=503, reason="wait_busy", headers={"Retry-After": "3"})
CROWDED = Say(http=429, reason="rate_limited", headers={"Retry-After": "3"})
DOWN = Say(http=503, reason="unavailable", headers={"Retry-After": "3"})

FOREIGN = {
    "a text": {"err": "upstream down"},
    "no code": {"err": {"message": "upstream down"}},
    "no text": {"err": {"code": 502}},
    "nothing in it": {"err": {}},
    "null": {"err": None},
    "a list": [1],
    "of lists": {"err": [["code", "msg"]]},
}
"""What proxies answer in JSON, with an `err` of their own."""

FIRST, NAMED, LATE = 2, 3, 10
"""Seconds: the first pause without a header, the one of the script's header, and what a busy machine adds."""

Check = Callable[[Script], object]


def operations(*expected: str) -> Check:
    return lambda script: expect_same(script.operations, list(expected))


def expect_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    assert found == expected, (found, expected)


def by_the_wait(script: Script) -> None:
    assert script.operations == [STATUS, WAIT, WAIT]
    assert script.requests[1][2] == {"transfer_id": [ID], "after_status": ["3"], "timeout": ["30"]}
    assert script.requests[2][2]["after_status"] == ["4"]
    assert script.pauses[1] < 2, "a status that changed is not waited for again"


def by_the_header(script: Script) -> None:
    assert script.operations == [STATUS, WAIT, STATUS]
    assert script.pauses[0] < 2
    assert NAMED - 0.1 < script.pauses[1] < NAMED + LATE


def while_too_many_wait(script: Script) -> None:
    assert script.operations == [STATUS, WAIT, STATUS, WAIT]
    assert NAMED - 0.1 < script.pauses[1] < NAMED + LATE, "as long as the header names"
    assert script.pauses[2] < 2


def requested_again(script: Script) -> None:
    assert len(script.operations) in (2, 3)


def by_growing_pauses(script: Script) -> None:
    assert script.operations == [STATUS, WAIT, STATUS, STATUS]
    assert FIRST - 0.1 < script.pauses[-2] < FIRST + LATE
    assert script.pauses[-1] > 1.5 * FIRST - 0.1


def slept(seconds: float) -> Check:
    return lambda script: expect_same([seconds - 0.1 < script.pauses[-1] < seconds + LATE], [True])


def given_up_after(seconds: float) -> Check:
    return lambda script: expect_same([each < seconds + LATE for each in script.given_up], [True])


CASES: dict[str, tuple[dict[str, list[Say]], dict[str, Any], dict[str, Any], Check]] = {
    "the wait answers": (
        {STATUS: [Say(3, headers=SOON)], WAIT: [Say(4, headers=SOON, after=0.2), Say(5, headers=OVER)]},
        {}, {"value": [5, True, "nobody", 0, None]}, by_the_wait,
    ),
    "an end that is not final": (
        {
            STATUS: [Say(4, headers=SOON)],
            WAIT: [Say(5, headers=SOON), Say(5, headers=SOON, after=1.2), Say(5, headers=OVER)],
        },
        {}, {"value": [5, True, "nobody", 0, None]}, operations(STATUS, WAIT, WAIT, WAIT),
    ),
    "the user's turn": (
        {STATUS: [Say(6, headers=USER)]},
        {}, {"value": [6, False, "user", None, "2026-01-01T00:00:00Z"]}, operations(STATUS),
    ),
    "beyond the user's turn": (
        {STATUS: [Say(8, headers=USER | {"X-Transfer-Next-Poll-Seconds": "60"}), Say(10)]},
        {"terminal": True}, {"value": [10, True, "nobody", None, None]}, slept(FIRST),
    ),
    "the header outranks the status": (
        {STATUS: [Say(3, headers=OVER)]}, {}, {"value": [3, True, "nobody", 0, None]}, operations(STATUS),
    ),
    "no wait, a header": (
        {STATUS: [Say(3, headers=SOON), Say(5)]},
        {}, {"value": [5, True, "nobody", None, None]}, by_the_header,
    ),
    "no wait, no header": (
        {STATUS: [Say(3), Say(3), Say(8)]},
        {}, {"value": [8, False, "user", None, None]}, by_growing_pauses,
    ),
    "too many wait": (
        {STATUS: [Say(3, headers=SOON)], WAIT: [BUSY, Say(10, headers=OVER)]},
        {}, {"value": [10, True, "nobody", 0, None]}, while_too_many_wait,
    ),
    "too many of one network wait": (
        {STATUS: [Say(3, headers=SOON)], WAIT: [CROWDED, Say(10, headers=OVER)]},
        {}, {"value": [10, True, "nobody", 0, None]}, while_too_many_wait,
    ),
    "a wait that does not wait": (
        {STATUS: [Say(3)], WAIT: [Say(3, headers=SOON), Say(5)]},
        {}, {"value": [5, True, "nobody", None, None]}, slept(NAMED),
    ),
    "the gateway is down for a moment": (
        {STATUS: [DOWN, Say(5)]}, {}, {"value": [5, True, "nobody", None, None]}, slept(NAMED),
    ),
    "too many requests": (
        {STATUS: [Say(http=429, reason="rate_limited", headers={"Retry-After": "3"}), Say(2)]},
        {}, {"value": [2, True, "nobody", None, None]}, slept(NAMED),
    ),
    "no answer of a gateway": (
        {STATUS: [Say(broken=True)]}, {},
        {"error": "GatewayError", "says": "no answer of a gateway"}, operations(STATUS),
    ),
    **{
        f"a proxy's own err while it is down, {name}": (
            {STATUS: [Say(http=502, foreign=foreign), Say(5)]},
            {}, {"value": [5, True, "nobody", None, None]}, slept(FIRST),
        )
        for name, foreign in FOREIGN.items()
    },
    **{
        f"a proxy's own err, {name}": (
            {STATUS: [Say(http=400, foreign=foreign)]}, {},
            {"error": "GatewayError", "says": "no answer of a gateway: HTTP 400"}, operations(STATUS),
        )
        for name, foreign in FOREIGN.items()
    },
    "a proxy's own err with the status 200": (
        {STATUS: [Say(foreign=FOREIGN["a text"])]}, {},
        {"error": "GatewayError", "says": "no answer of a gateway: HTTP 200"}, operations(STATUS),
    ),
    "a proxy's own err in place of the wait": (
        {STATUS: [Say(3, headers=SOON), Say(5)], WAIT: [Say(http=502, foreign=FOREIGN["a text"])]},
        {}, {"value": [5, True, "nobody", None, None]}, by_the_header,
    ),
    "just sent": (
        {STATUS: [UNKNOWN, Say(5)]}, {}, {"value": [5, True, "nobody", None, None]}, slept(FIRST),
    ),
    "unknown for too long": (
        {STATUS: [UNKNOWN]}, {"unknown_for": 3},
        {"error": "GatewayError", "says": "transfer_not_found"}, requested_again,
    ),
    "a wrong request": (
        {STATUS: [Say(http=400, reason="bad_request")]}, {},
        {"error": "GatewayError", "says": "bad_request"}, operations(STATUS),
    ),
    "the caller's own callback fails": (
        {STATUS: [Say(3, headers=SOON)]}, {"fails": "of the caller", "timeout": 5},
        {"error": "TypeError", "says": "of the caller"}, operations(STATUS),
    ),
    "not over in time": (
        {STATUS: [Say(3, headers=SOON)]}, {"timeout": 2},
        {"error": "WaitTimeout", "says": "is at status 3 after 2"}, lambda script: None,
    ),
    "no answer in time": (
        {STATUS: [Say(5, after=60)]}, {"timeout": 2},
        {"error": "WaitTimeout", "says": "is at status unknown after 2"}, given_up_after(2),
    ),
    "no answer of the wait in time": (
        {STATUS: [Say(3, headers=SOON)], WAIT: [Say(5, after=60)]}, {"timeout": 2},
        {"error": "WaitTimeout", "says": "is at status 3 after 2"}, given_up_after(2),
    ),
}  # fmt: skip


def waited(check: Callable[[list[dict[str, Any]]], None]) -> None:
    """All cases at once, for most of their time is spent with waiting."""
    scripts = {str(number): Script(says) for number, (says, *_) in enumerate(CASES.values())}
    with serving(scripts) as base:
        check(
            [
                {
                    "name": name,
                    "do": "wait",
                    "base": f"{base}/{number}",
                    "transfer": ID,
                    **given,
                    "expect": expected,
                }
                for number, (name, (_, given, expected, _)) in enumerate(CASES.items())
            ]
        )
    for script, (*_, looks) in zip(scripts.values(), CASES.values(), strict=True):
        looks(script)


@pytest.mark.parametrize("program", ["cases.py", workshop.AWAITED])
def test_python_waits(program: str) -> None:
    waited(lambda cases: workshop.check_python(cases, {}, program=program))


@pytest.mark.system
def test_typescript_waits(tmp_path: Path) -> None:
    waited(lambda cases: workshop.check_typescript(cases, {}, tmp_path))
