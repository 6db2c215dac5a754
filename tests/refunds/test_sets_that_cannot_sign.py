"""Every validator set that the contract accepts is in force, also one by which it pays nothing."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from app.feed.services.reprojection import replay
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import keccak256
from tests.actors import TESTER
from tests.applications import Audited
from tests.refunds.bridges import WatchedBridge, bridge_of, by_address, pays, served_call
from tests.refunds.kit import PEOPLE, Gateway, Powers, Story

STORY = Story(SendKind.POOL)
USUAL: Powers = {PEOPLE[0]: 3, PEOPLE[1]: 2, PEOPLE[2]: 2}
SIGNERS = sorted(by_address(USUAL))
MOST = 2**256 - 1


def others(count: int) -> dict[bytes, int]:
    """Validators who sign nothing, of power 1 each."""
    return {keccak256(f"other {n}".encode())[:20]: 1 for n in range(count)}


DEAD: dict[str, tuple[dict[bytes, int], str]] = {
    "empty": ({}, "is empty"),
    "no power": (dict.fromkeys(SIGNERS, 0), "has no power"),
    "2^255": ({SIGNERS[0]: 2**255}, "add up to 2^255 or more"),
    "over 2^256": (dict.fromkeys(SIGNERS, MOST), "add up to 2^255 or more"),
    "the sum overflows to a little": ({SIGNERS[0]: MOST, SIGNERS[1]: 2}, "add up to 2^255 or more"),
}
LIVE: dict[str, dict[bytes, int]] = {
    "the greatest total": {SIGNERS[0]: 2**255 - 3, SIGNERS[1]: 1, SIGNERS[2]: 1},
    "1,000 members": by_address(USUAL) | others(997) | dict.fromkeys(SIGNERS, 1000),
    "some without power": dict.fromkeys(SIGNERS, 0) | {SIGNERS[1]: 1},
}


def refund() -> list[dict[str, Any]]:
    return [STORY.sent(), STORY.prepared(), *(STORY.signed(key) for key in USUAL)]


def assert_frozen(gateway: Gateway, why: str) -> None:
    status, evidence = gateway.status(STORY), gateway.evidence(STORY)
    assert (status["status"], evidence["valid"], evidence["proven"]) == (
        Status.TRANSFER_REQUESTING_REFUND,
        False,
        False,
    )
    [missing] = evidence["missing"]
    assert why in missing and "cannot sign anything" in missing


@pytest.mark.parametrize("case", DEAD)
def test_unusable_set_withdraws_evidence(gateway: Gateway, case: str, app: Flask, audited: Audited) -> None:
    """Until the next set."""
    members, why = DEAD[case]
    watched = WatchedBridge(app, STORY, bridge_of(STORY, USUAL))
    bridge = watched.bridge
    watched.reset(by_address(USUAL))
    gateway.take(*refund())
    served = served_call(gateway.status(STORY))
    assert pays(bridge, served)

    watched.reset(members)
    assert bridge.outcome_of(served) == "WrongSet"
    with_new = served.but(signers=sorted(members), powers=[members[who] for who in sorted(members)])
    for call in (with_new, with_new.but(sigs=[])):
        assert not pays(bridge, call)
    assert_frozen(gateway, why)
    assert gateway.evidence(STORY)["validator_set_hash"] == f"0x{bridge.set_hash:064x}"
    assert [row["power"] for row in gateway.evidence(STORY)["signers"]] == [
        str(members[who]) for who in sorted(members)
    ]
    replay(*audited, actor=TESTER)
    assert_frozen(gateway, why)

    watched.reset(by_address(USUAL))
    again = served_call(gateway.status(STORY))
    assert again == served and pays(bridge, again)


@pytest.mark.parametrize("case", LIVE)
def test_usable_set_of_any_size_is_served(gateway: Gateway, case: str, app: Flask) -> None:
    watched = WatchedBridge(app, STORY, bridge_of(STORY, USUAL))
    watched.reset(LIVE[case])
    gateway.take(*refund())
    answer = gateway.status(STORY)
    assert answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert pays(watched.bridge, served_call(answer))
    assert len(answer["signers"]) == len(LIVE[case])
