"""What a transfer waits for: one answer for every status, and for everything that a refund can lack."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from app.network.rules.quorum import ValidatorSet
from app.refunds.rules.explanation import explain_refund
from app.refunds.rules.waits import RefundView, Wait, refund_view, waiting_for
from app.transfers.rules.refunds.claimable import validate_refund
from app.transfers.rules.refunds.request_checks import RefundContext
from app.values.codes import FINISHED_STATUSES, SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, checksum_address
from app.values.identifiers import TransferId
from tests.refunds.rules.evidence_kit import POLYGON, context, key, members, sign, some, wd_for

KEYS = [key(name) for name in range(4)]
SET = members(dict(zip(KEYS, (10, 20, 30, 40), strict=True)))
SINCE = datetime(2026, 11, 21, 12, tzinfo=UTC)
KNOWN = context(SendKind.POOL)
FIRST, SECOND = wd_for(KNOWN), wd_for(KNOWN, seqnum=78)
WRONG = wd_for(KNOWN, receiver=some("thief"))
EMPTY = ValidatorSet.of(POLYGON, 1, [])


def refund(
    ctx: RefundContext,
    requests: Sequence[bytes],
    signers: Sequence[int] = (),
    validators: ValidatorSet | None = SET,
    status: Status = Status.TRANSFER_REQUESTING_REFUND,
) -> RefundView:
    """The refund, each of whose requests these have signed."""
    signatures = [sign(KNOWN, each, KEYS[number]) for each in requests for number in signers]
    verdict = validate_refund(ctx, requests, signatures, validators)
    return refund_view(explain_refund(verdict, ctx, validators, status))


NOTHING = refund(KNOWN, [])


@pytest.mark.parametrize(
    ("lacking", "wait", "detail"),
    [
        (NOTHING, Wait.REFUND_REQUEST, ""),
        (refund(RefundContext(transfer_id=TransferId(bytes(32))), [], (), None), Wait.REFUND_REQUEST, ""),
        (refund(KNOWN, [WRONG], (1, 2, 3)), Wait.CORRECT_REQUEST, "contradicts the transfer"),
        (refund(KNOWN, [b"\xff"]), Wait.CORRECT_REQUEST, "cannot be read"),
        (refund(KNOWN, [FIRST, SECOND], (1, 2, 3)), Wait.ONE_REQUEST, "signed by a quorum"),
        (refund(replace(KNOWN, contract=None), [FIRST]), Wait.FACTS, "pool bridge"),
        (refund(replace(KNOWN, token=None), [FIRST]), Wait.FACTS, "the token's address"),
        (refund(replace(KNOWN, src_chain_id=None), [FIRST], (), None), Wait.FACTS, "the source chain"),
        (refund(KNOWN, [FIRST], (), None), Wait.VALIDATORS, "the validator set of the source chain"),
        (refund(KNOWN, [FIRST], (), EMPTY), Wait.OTHER_VALIDATORS, "is empty"),
        (refund(KNOWN, [FIRST]), Wait.SIGNATURES, ""),
        (refund(KNOWN, [FIRST], (0, 1)), Wait.SIGNATURES, ""),
        (refund(KNOWN, [FIRST, WRONG], (0, 1)), Wait.SIGNATURES, ""),
    ],
)  # fmt: skip
def test_refund_wait_names_missing_part(lacking: RefundView, wait: Wait, detail: str) -> None:
    waiting = waiting_for(Status.TRANSFER_REQUESTING_REFUND, SINCE, lacking, {})
    assert waiting and waiting.what is wait
    assert waiting.since == SINCE
    assert detail in " ".join(waiting.details)
    assert bool(waiting.signers) == (wait is Wait.SIGNATURES)


def test_absent_signer_has_contact_and_share() -> None:
    contacts = {address_of(KEYS[3]): ("Staking Ltd", "duty@validator.example")}
    waiting = waiting_for(Status.TRANSFER_REQUESTING_REFUND, SINCE, refund(KNOWN, [FIRST], (0, 1)), contacts)
    assert waiting
    assert (waiting.share_signed, waiting.share_needed) == ("30.0 %", "67.0 %")
    strongest, other = waiting.signers
    assert strongest.address == checksum_address(address_of(KEYS[3]))
    assert (strongest.name, strongest.contact) == ("Staking Ltd", "duty@validator.example")
    assert (strongest.share, strongest.enough) == ("40.0 %", True)
    assert (other.name, other.contact, other.share, other.enough) == ("", "", "30.0 %", False)


@pytest.mark.parametrize("status", Status)
def test_every_unfinished_transfer_waits(status: Status) -> None:
    waiting = waiting_for(status, SINCE, NOTHING, {})
    assert (waiting is None) == (status in FINISHED_STATUSES)


def test_announced_transfer_waits_for_block() -> None:
    waiting = waiting_for(Status.TRANSFER_SUBMITTING, SINCE, NOTHING, {}, in_a_block=False)
    assert waiting and waiting.what is Wait.BLOCK


def test_a_proven_refund_lacks_nothing() -> None:
    proven = refund(KNOWN, [FIRST], (1, 2, 3), status=Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
    assert proven.lacks is None
    waiting = waiting_for(Status.TRANSFER_REFUND_TO_BE_CONFIRMED, SINCE, proven, {})
    assert waiting and waiting.what is Wait.USER_CLAIM
