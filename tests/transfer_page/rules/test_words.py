"""The explanations for users: one for every status and reason, and none in the terms of the bridge."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from app.transfer_page.rules.steps import StepName, step_label
from app.transfer_page.rules.words import REFUSED, REFUSED_BECAUSE, Situation, explain
from app.values.codes import TransferHistoryStatus as Status
from app.values.codes import XferStatus

INTERNAL = re.compile(
    r"TRANSFER_|XferStatus|BAD_|wd_onchain|validator|quorum|signature|signer|status\b|feed\b|reorg|event\b"
    r"|retract|projection|None|smallest unit|ppm\b|\{|\}",
    re.IGNORECASE,
)
KNOWN = Situation(
    Status.TRANSFER_UNKNOWN,
    amount="25 USDT",
    paid_out="24.9 USDT",
    src="Ethereum",
    dst="BNB Chain",
    sender="0xaa",
    receiver="0xbb",
    block_delay=12,
)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("reason", [XferStatus.UNKNOWN, *REFUSED_BECAUSE])
@pytest.mark.parametrize("known", [KNOWN, Situation(Status.TRANSFER_UNKNOWN)], ids=["known", "unknown"])
def test_every_status_has_plain_words(status: Status, reason: XferStatus, known: Situation) -> None:
    explanation = explain(replace(known, status=status, refund_reason=reason))
    for text in (explanation.headline, explanation.now, explanation.next):
        assert text == text.strip() and text and "  " not in text
        assert not INTERNAL.search(text), text
    assert not explanation.headline.endswith(".")
    assert explanation.text == f"{explanation.now} {explanation.next}"
    assert explanation.now.endswith(".") and explanation.next.endswith(".")
    why = REFUSED_BECAUSE.get(reason, REFUSED).partition("%(transfer)s")[2]
    assert (why in explanation.now) == (status is Status.TRANSFER_TO_BE_REFUNDED)


def test_statuses_and_reasons_differ() -> None:
    explanations = [explain(replace(KNOWN, status=status)) for status in Status]
    assert len({explanation.headline for explanation in explanations}) == len(Status)
    assert len({explanation.text for explanation in explanations}) == len(Status)
    assert {reason for reason in XferStatus if reason.is_bad} == REFUSED_BECAUSE.keys()
    assert len(set(REFUSED_BECAUSE.values())) == len(REFUSED_BECAUSE)


def test_explanation_has_known_facts() -> None:
    submitting = replace(KNOWN, status=Status.TRANSFER_SUBMITTING)
    assert "25 USDT from Ethereum to BNB Chain is in a block on Ethereum" in explain(submitting).now
    assert "(12 blocks)" in explain(submitting).now
    assert "was announced" in explain(replace(submitting, in_a_block=False)).now
    completed = explain(replace(KNOWN, status=Status.TRANSFER_COMPLETED))
    assert "paid out on BNB Chain (24.9 USDT) to 0xbb" in completed.now
    assert "refunded on Ethereum to 0xaa" in explain(replace(KNOWN, status=Status.TRANSFER_REFUNDED)).now
    confirming = replace(KNOWN, status=Status.TRANSFER_CONFIRMING_YOUR_REFUND)
    assert "do not confirm the refund again" in explain(replace(confirming, refund_held=True)).next
    assert "do not confirm" not in explain(confirming).next


@pytest.mark.parametrize("situation", [KNOWN, Situation(Status.TRANSFER_UNKNOWN)])
def test_every_step_has_a_label(situation: Situation) -> None:
    for done in (True, False):
        labels = [step_label(name, situation, done=done) for name in StepName]
        assert all(label and not INTERNAL.search(label) for label in labels)
        assert len(set(labels)) == len(StepName) - 1  # two are held back
