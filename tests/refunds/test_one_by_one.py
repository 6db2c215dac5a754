"""Refunds of all three kinds, fed one event after the other: status 8 exactly with a provable quorum."""

from __future__ import annotations

from typing import Any

import pytest

from app.values.codes import SendKind
from tests.feed.services.world import about, event, released, signed
from tests.refunds.kit import KINDS, PEOPLE, Asker, Powers, Story, flip, rotation
from tests.refunds.rules.evidence_kit import twin

POWERS: Powers = dict(zip(PEOPLE, (100, 7, 7, 30, 30, 1, 55), strict=False))
QUORUM = sum(POWERS.values()) * 2 // 3 + 1


@pytest.fixture(params=KINDS)
def story(request: pytest.FixtureRequest) -> Story:
    return Story(request.param)


def begin(ask: Asker, story: Story, powers: Powers = POWERS) -> None:
    ask.take(rotation(story.chain, powers), story.sent(), story.prepared())


def test_status_8_exactly_at_quorum(ask: Asker, story: Story) -> None:
    begin(ask, story)
    power = 0
    assert ask.status(story)["status"] == 7
    for key, more in POWERS.items():
        ask.take(story.signed(key))
        power += more
        answer = ask.status(story)
        assert answer["status"] == (8 if power >= QUORUM else 7)
        assert story.contract_takes(answer, POWERS) is (power >= QUORUM)
        assert ask.evidence(story)["power_signed"] == str(power)
    assert not story.contract_takes(answer, POWERS | {PEOPLE[0]: 99})


def test_a_flipped_signature_is_refused(ask: Asker, story: Story) -> None:
    begin(ask, story)
    genuine = story.signature(PEOPLE[0])
    spoiled = [flip(genuine, bit) for bit in range(0, 65 * 8, 13)]
    spoiled += [twin(genuine), genuine[:64], genuine + b"\0", b""]
    verdict = ask.feed(*(signed(story.n, each) for each in spoiled))
    assert (verdict.accepted, len(verdict.refused)) == (0, len(spoiled))
    assert all(refused.reason.startswith("signature: ") for refused in verdict.refused)
    assert ask.evidence(story)["power_signed"] == "0"
    ask.take(*(story.signed(key) for key in POWERS))
    assert ask.status(story)["status"] == 8


def test_early_flipped_signature_never_counts(ask: Asker, story: Story) -> None:
    """Before request and send are known it cannot be told from a true one: it is kept, for nothing."""
    spoiled = [signed(story.n, flip(story.signature(key), 300)) for key in POWERS]
    ask.feed(*spoiled)
    begin(ask, story)
    assert ask.status(story)["status"] == 7
    assert ask.evidence(story)["power_signed"] == "0"


def test_flipped_request_never_reaches_status_8(ask: Asker, story: Story) -> None:
    ask.take(rotation(story.chain, POWERS), story.sent())
    request = story.request()
    flipped = [flip(request, bit) for bit in range(0, len(request) * 8, 7)]
    refused = ask.feed(*map(story.prepared, flipped)).refused
    assert 0 < len(refused) < len(flipped)
    for key in POWERS:
        assert len(ask.feed(story.signed(key)).refused) == 1
        assert ask.status(story)["status"] <= 7
    ask.take(story.prepared())
    again = ask.feed(*(story.signed(key) for key in POWERS))
    assert (again.repeated, again.refused) == (len(POWERS), []), "they were kept aside"
    answer = ask.status(story)
    assert answer["status"] == 8
    assert story.contract_takes(answer, POWERS)


def test_flipped_request_precedes_its_send(ask: Asker, story: Story) -> None:
    """Kept while nothing is known that it contradicts; then it counts for nothing."""
    stolen = story.request(receiver=bytes(19) + b"\1")
    ask.take(story.prepared(stolen), *(story.signed(key, stolen) for key in POWERS))
    assert ask.status(story)["status"] == 7
    ask.take(rotation(story.chain, POWERS), story.sent())
    assert ask.status(story)["status"] == 1
    evidence = ask.evidence(story)
    assert "contradicts the transfer" in evidence["missing"][0]
    assert len(evidence["contradictions"]) == 1


def test_two_requests_at_quorum_serve_none(ask: Asker, story: Story) -> None:
    begin(ask, story)
    other = story.request(amount=999_999_999)
    ask.take(story.prepared(other), *(story.signed(key) for key in POWERS))
    assert ask.status(story)["status"] == 8
    for number, key in enumerate(POWERS):
        ask.take(story.signed(key, other))
        answer = ask.status(story)
        at_quorum = sum(list(POWERS.values())[: number + 1]) >= QUORUM
        assert answer["status"] == (7 if at_quorum else 8)
        if not at_quorum:
            assert story.contract_takes(answer, POWERS)
    evidence = ask.evidence(story)
    assert evidence["missing"][0].startswith("2 different requests are signed by a quorum")
    assert evidence["other_requests"][0]["reached"] is True


def test_rotation_restarts_collection_at_7(ask: Asker, story: Story) -> None:
    begin(ask, story)
    ask.take(*(story.signed(key) for key in POWERS))
    assert ask.status(story)["status"] == 8
    stayed = {PEOPLE[1]: 7, PEOPLE[2]: 7}
    after = stayed | {PEOPLE[20]: 10, PEOPLE[21]: 10, PEOPLE[22]: 10}
    ask.take(rotation(story.chain, after, at=-20))
    assert ask.status(story)["status"] == 7
    evidence = ask.evidence(story)
    assert (evidence["power_signed"], evidence["quorum"]) == ("14", "30")
    assert evidence["validator_set_version"] == 2
    assert len(evidence["not_signed"]) == 3
    assert evidence["missing"][0].endswith("16 more needed")
    ask.take(story.signed(PEOPLE[20]))
    assert ask.status(story)["status"] == 7
    ask.take(story.signed(PEOPLE[21]))
    answer = ask.status(story)
    assert answer["status"] == 8
    assert story.contract_takes(answer, after)
    assert not story.contract_takes(answer, POWERS)


def test_a_rotation_alone_can_bring_the_quorum(ask: Asker, story: Story) -> None:
    begin(ask, story)
    ask.take(story.signed(PEOPLE[1]), story.signed(PEOPLE[2]))
    assert ask.status(story)["status"] == 7
    after = {PEOPLE[1]: 5, PEOPLE[2]: 5}
    ask.take(rotation(story.chain, after, at=-20))
    answer = ask.status(story)
    assert answer["status"] == 8
    assert story.contract_takes(answer, after)


def test_a_rotation_of_another_chain_changes_nothing(ask: Asker, story: Story) -> None:
    begin(ask, story)
    ask.take(*(story.signed(key) for key in POWERS))
    before = ask.status(story)
    ask.take(rotation(3 - story.chain, {PEOPLE[30]: 1}, at=-20))
    assert ask.status(story) == before


def test_reorganised_rotation_restores_old_set(ask: Asker, story: Story) -> None:
    begin(ask, story)
    ask.take(*(story.signed(key) for key in POWERS))
    before = ask.status(story)
    ask.take(rotation(story.chain, {PEOPLE[30]: 1}, at=-20, block=150))
    assert ask.status(story)["status"] == 7
    ask.take(event("chain.reorged", chain_id=story.chain, from_block=150))
    assert ask.status(story) == before


def test_reorganised_send_serves_nothing(ask: Asker, story: Story) -> None:
    begin(ask, story)
    ask.take(*(story.signed(key) for key in POWERS))
    ask.take(event("chain.reorged", chain_id=story.chain, from_block=100))
    assert ask.status(story)["status"] == 7
    assert ask.evidence(story)["missing"][0] == "not known yet: the kind of the send"
    ask.feed(story.sent())
    answer = ask.status(story)
    assert answer["status"] == 8
    assert story.contract_takes(answer, POWERS)


OVERTAKEN: list[tuple[dict[str, Any], int, str]] = [
    (about(1, "refund.submitted", tx_hash="0x" + "dd" * 32), 9, "already in a block"),
    (about(1, "transfer.delayed"), 11, "waits in the contract's delay queue"),
    (released(1), 5, "was completed"),
    (about(1, "refund.completed"), 10, "has been paid"),
]


@pytest.mark.parametrize(("told", "status", "words"), OVERTAKEN, ids=[each[2] for each in OVERTAKEN])
@pytest.mark.parametrize("proven", [True, False])
def test_what_is_past_its_refund_serves_nothing(
    ask: Asker, told: dict[str, Any], status: int, words: str, proven: bool
) -> None:
    story = Story(SendKind.POOL)
    begin(ask, story)
    ask.take(*(story.signed(key) for key in list(POWERS)[: None if proven else 2]), told)
    assert ask.status(story)["status"] == status
    evidence = ask.evidence(story)
    assert evidence["proven"] is proven
    assert len(evidence["missing"]) == 1
    assert words in evidence["missing"][0]
