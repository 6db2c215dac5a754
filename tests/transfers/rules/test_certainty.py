"""How sure a status is: by the event that it rests on, who reported that, and what is proven of its chain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from app.transfers.rules.certainty import UNKNOWN, Certainty, ChainProof, Level, ReportedBy, certainty_of
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import (
    NetworkStatus,
    RefundCompleted,
    RefundDelayed,
    RefundFailed,
    RefundSubmitted,
    TransferConfirmed,
    TransferDelayed,
    TransferEvent,
    TransferFailed,
    TransferReleased,
    TransferSent,
)
from app.transfers.rules.events.reorganisations import Reorg
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.status import TABLE
from app.values.codes import SendKind, XferStatus
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import BlockNumber, ChainId, TransferId

ID = TransferId(b"\x5a" * 32)
AT = datetime(2026, 3, 8, 12, tzinfo=UTC)
SOURCE, DESTINATION = ChainId(1), ChainId(56)
PROOFS = {
    SOURCE: ChainProof(BlockNumber(130), BlockNumber(60), BlockNumber(110)),
    DESTINATION: ChainProof(BlockNumber(230), BlockNumber(160), BlockNumber(210)),
}
HASH = "0x" + "ab" * 32


def event(of: type[TransferEvent], name: str = "", **fields: Any) -> Any:
    """An event of the transfer with an id of its own."""
    return of(id=name or of.type, at=AT, transfer_id=ID, **fields)


SENT = event(
    TransferSent, kind=SendKind.POOL, src_chain_id=SOURCE, dst_chain_id=DESTINATION, symbol="USDT", amount=1,
    sender="a", receiver="b", src_tx_hash=HASH, block=BlockNumber(100),
)  # fmt: skip


def certainty(
    status: Status, *events: TransferEvent, read: Sequence[int] = (), reorgs: Sequence[Reorg] = ()
) -> Certainty:
    """Of a transfer with the send and these events.

    :param read: positions of what the gateway read: the send has 1, the first event 2.
    """
    log = [Logged(seq, each) for seq, each in enumerate((SENT, *events), 1)]
    return certainty_of(status, TransferHistory(ID, log, reorgs), read, PROOFS)


def on(chain: ChainId, of: type[TransferEvent], name: str = "", **fields: Any) -> TransferEvent:
    """An event in a proven block of the chain."""
    block = {SOURCE: 105, DESTINATION: 205}[chain]
    return event(of, name, **{"chain_id": chain, "block": BlockNumber(block)} | fields)


@pytest.mark.parametrize(
    ("status", "rests_on", "chain"),
    [
        (Status.TRANSFER_FAILED, on(SOURCE, TransferFailed), SOURCE),
        (Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION, on(SOURCE, TransferConfirmed), SOURCE),
        (Status.TRANSFER_COMPLETED, on(DESTINATION, TransferReleased, dst_tx_hash=HASH), DESTINATION),
        (Status.TRANSFER_CONFIRMING_YOUR_REFUND, on(SOURCE, RefundSubmitted, tx_hash=HASH), SOURCE),
        (Status.TRANSFER_CONFIRMING_YOUR_REFUND, on(SOURCE, RefundDelayed, delayed_id=HASH), SOURCE),
        (Status.TRANSFER_REFUNDED, on(SOURCE, RefundCompleted, tx_hash=HASH), SOURCE),
        (Status.TRANSFER_DELAYED, on(DESTINATION, TransferDelayed), DESTINATION),
    ],
)
def test_event_in_read_block_is_proven(status: Status, rests_on: Any, chain: ChainId) -> None:
    proof = PROOFS[chain]
    assert certainty(status, rests_on, read=[2]) == Certainty(
        Level.PROVEN, rests_on.type, ReportedBy.GATEWAY, chain, rests_on.block, proof.proven_to
    )
    assert certainty(status, rests_on, read=[1]) == Certainty(
        Level.REPORTED, rests_on.type, ReportedBy.REPORTER, chain, rests_on.block, proof.read_to
    )


@pytest.mark.parametrize(
    ("block", "level"),
    [(59, Level.REPORTED), (60, Level.PROVEN), (110, Level.PROVEN), (111, Level.REPORTED)],
)
def test_only_blocks_that_are_proven_prove(block: int, level: Level) -> None:
    failed = on(SOURCE, TransferFailed, block=BlockNumber(block))
    found = certainty(Status.TRANSFER_FAILED, failed, read=[2])
    assert (found.level, found.reported_by) == (level, ReportedBy.GATEWAY)
    assert found.as_of_block == (110 if level is Level.PROVEN else 130)


@pytest.mark.parametrize(
    "status",
    [
        Status.TRANSFER_WAITING_FOR_FUND_RELEASE,
        Status.TRANSFER_TO_BE_REFUNDED,
        Status.TRANSFER_REQUESTING_REFUND,
        Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
        Status.TRANSFER_REFUNDED,
    ],
)
def test_network_decision_is_on_no_chain(status: Status) -> None:
    decision = event(NetworkStatus, xfer_status=XferStatus.BAD_LIQUIDITY)
    assert certainty(status, decision, read=[1]) == Certainty(
        Level.REPORTED, "network.status", ReportedBy.REPORTER
    )


def test_signature_status_names_no_event() -> None:
    assert certainty(Status.TRANSFER_REFUND_TO_BE_CONFIRMED, read=[1]) == Certainty(Level.REPORTED)


def test_every_status_has_a_certainty() -> None:
    """At 0 nothing is canonical; all others were reported by somebody."""
    assert certainty(Status.TRANSFER_UNKNOWN) == UNKNOWN
    for status, _ in TABLE:
        assert certainty(status).level is Level.REPORTED


def test_of_several_the_surest_counts() -> None:
    paid = on(SOURCE, RefundCompleted, tx_hash=HASH)
    unplaced = event(RefundCompleted, "elsewhere")
    decision = event(NetworkStatus, xfer_status=XferStatus.REFUND_DONE)
    found = certainty(Status.TRANSFER_REFUNDED, decision, unplaced, paid, read=[4])
    assert (found.level, found.block) == (Level.PROVEN, 105)
    found = certainty(Status.TRANSFER_REFUNDED, decision, unplaced, paid)
    assert (found.level, found.event, found.block) == (Level.REPORTED, "refund.completed", 105)


def test_what_is_not_canonical_does_not_count() -> None:
    reorg = Reorg(9, SOURCE, BlockNumber(105))
    gone = on(SOURCE, RefundCompleted, tx_hash=HASH)
    assert certainty(Status.TRANSFER_REFUNDED, gone, read=[2], reorgs=[reorg]) == Certainty(Level.REPORTED)
    claim, failed = on(SOURCE, RefundSubmitted, tx_hash=HASH), on(SOURCE, RefundFailed, tx_hash=HASH)
    delayed = on(SOURCE, RefundDelayed, delayed_id=HASH)
    found = certainty(Status.TRANSFER_CONFIRMING_YOUR_REFUND, claim, failed, delayed, read=[2])
    assert (found.event, found.level) == ("refund.delayed", Level.REPORTED)


def test_retracted_proof_belongs_to_reporter() -> None:
    """An event that a reorganisation took back, and that a reporter then reported again."""
    paid = on(DESTINATION, TransferReleased, dst_tx_hash=HASH)
    log = [Logged(1, SENT), Logged(2, paid), Logged(4, paid)]
    history = TransferHistory(ID, log, [Reorg(3, DESTINATION, BlockNumber(205))])
    found = certainty_of(Status.TRANSFER_COMPLETED, history, {2}, PROOFS)
    assert (found.level, found.reported_by) == (Level.REPORTED, ReportedBy.REPORTER)
