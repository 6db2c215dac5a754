"""Facts that contradict each other. The events stay in the log, the status table decides the answer, and
operators see the anomaly (docs/interface/events.md#anomalies).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from app.network.rules.quorum import ValidatorSet
from app.network.rules.validation_facts import NetworkFacts
from app.transfers.rules.events.event_types import (
    Event,
    NetworkStatus,
    PlacedEvent,
    RefundCompleted,
    RefundDelayed,
    RefundPrepared,
    TransferDelayed,
    TransferEvent,
    TransferFailed,
    TransferReleased,
    TransferSent,
    ValidatorsUpdated,
)
from app.transfers.rules.refunds.request_message import PaidIds, paid_for_words, withdraw_id_of
from app.transfers.rules.status import CanonicalEvents
from app.values.codes import XferStatus

LARGEST_PAYOUT = Fraction(105, 100)
"""A payout above this share of what the amount sent is worth cannot be a payout of that transfer."""

LEAST_RETAINED_POWER = Fraction(1, 3)


class AnomalyKind(StrEnum):
    REFUND_AND_RELEASE = "refund_and_release"
    RELEASED_TWICE = "released_twice"
    DIFFERENT_SENDS = "different_sends"
    PAYOUT_TOO_LARGE = "payout_too_large"
    FAILED_AND_SENT = "failed_and_sent"
    BAD_AND_SUCCESS = "bad_and_success"
    DIFFERENT_REQUESTS = "different_requests"
    RELEASE_BEFORE_SEND = "release_before_send"
    DELAY_PAYS_AT_ONCE = "delay_pays_at_once"
    ID_WITH_TWO_CONTENTS = "id_with_two_contents"
    ROTATION_KEEPS_TOO_LITTLE = "rotation_keeps_too_little"
    UNLISTED_CONTRACT = "unlisted_contract"
    WITHDRAW_ID_PAID = "withdraw_id_paid"
    READ_ON_ANOTHER_CHAIN = "read_on_another_chain"
    SEND_CONTRADICTS_ID = "send_contradicts_id"
    POOL_UNDER_ZERO = "pool_under_zero"
    REPORT_CONTRADICTS_BLOCK = "report_contradicts_block"


class Anomaly(Struct, frozen=True):
    """One contradiction, its events, and when the first and the last of them happened."""

    kind: AnomalyKind
    detail: str
    event_ids: tuple[str, ...]
    first_at: datetime
    last_at: datetime


def _of(kind: AnomalyKind, detail: str, events: Iterable[Event]) -> Anomaly:
    ordered = sorted(events, key=lambda e: (e.at, e.id))
    return Anomaly(kind, detail, tuple(e.id for e in ordered), ordered[0].at, ordered[-1].at)


def anomalies_of_transfer(
    canonical: CanonicalEvents,
    uncontradicted: Sequence[RefundPrepared],
    facts: NetworkFacts,
    paid_ids: PaidIds,
    misplaced: Sequence[TransferEvent] = (),
    contradicting: Sequence[TransferEvent] = (),
) -> list[Anomaly]:
    """At most one of each kind.

    ``uncontradicted`` are the canonical refund requests that no fact proves false, ``paid_ids`` withdraw ids
    of its requests that were paid for other transfers, ``misplaced`` events that were read on another chain
    than its own, and ``contradicting`` sends whose fields give another id.
    """
    found = (
        _refund_and_release(canonical),
        _released_twice(canonical),
        _different_sends(canonical),
        _payout_too_large(canonical, facts),
        _failed_and_sent(canonical),
        _bad_and_success(canonical),
        _different_requests(uncontradicted),
        _release_before_send(canonical),
        _delay_pays_at_once(canonical),
        _unlisted_contract(canonical, facts),
        _withdraw_id_paid(canonical, paid_ids),
        _read_on_another_chain(misplaced),
        _send_contradicts_id(contradicting),
    )
    return [anomaly for anomaly in found if anomaly is not None]


def _refund_and_release(canonical: CanonicalEvents) -> Anomaly | None:
    refunds: list[Event] = [*canonical.withdraws]
    refunds += [e for e in canonical.every(NetworkStatus) if e.xfer_status is XferStatus.REFUND_DONE]
    releases = canonical.every(TransferReleased)
    if not refunds or not releases:
        return None
    return _of(
        AnomalyKind.REFUND_AND_RELEASE,
        "paid out on the destination and refunded on the source",
        [*refunds, *releases],
    )


def _released_twice(canonical: CanonicalEvents) -> Anomaly | None:
    releases = canonical.every(TransferReleased)
    hashes = {release.dst_tx_hash for release in releases}
    if len(hashes) < 2:
        return None
    return _of(AnomalyKind.RELEASED_TWICE, f"released by {len(hashes)} different transactions", releases)


def _different_sends(canonical: CanonicalEvents) -> Anomaly | None:
    sends = canonical.every(TransferSent)
    contents = {
        (e.kind, e.src_chain_id, e.dst_chain_id, e.amount, e.sender, e.receiver, e.src_tx_hash) for e in sends
    }
    # A report that leaves one of these out does not contradict a report that has it.
    left_out = ({getattr(e, name) for e in sends} - {None} for name in ("symbol", "token", "contract"))
    different = max(len(contents), *map(len, left_out))
    if different < 2:
        return None
    return _of(AnomalyKind.DIFFERENT_SENDS, f"{different} different sends", sends)


def _payout_too_large(canonical: CanonicalEvents, facts: NetworkFacts) -> Anomaly | None:
    send = canonical.first(TransferSent)
    if send is None:
        return None
    amounts = [
        (event, event.amount) for event in canonical.every(TransferReleased) if event.amount is not None
    ]
    if not amounts:
        return None
    worth = facts.worth(send.amount, send.taken)
    if worth is None:
        return None
    excessive = [event for event, amount in amounts if amount > LARGEST_PAYOUT * worth]
    if not excessive:
        return None
    return _of(
        AnomalyKind.PAYOUT_TOO_LARGE,
        "a payout worth more than 105 % of the amount sent at the route's rate",
        [send, *excessive],
    )


def _failed_and_sent(canonical: CanonicalEvents) -> Anomaly | None:
    failures, sends = canonical.every(TransferFailed), canonical.every(TransferSent)
    if not failures or not sends:
        return None
    return _of(
        AnomalyKind.FAILED_AND_SENT, "reported as failed and as included in a block", [*failures, *sends]
    )


def _bad_and_success(canonical: CanonicalEvents) -> Anomaly | None:
    statuses = canonical.every(NetworkStatus)
    bad = [event for event in statuses if event.xfer_status.is_bad]
    success = [event for event in statuses if event.xfer_status is XferStatus.SUCCESS]
    if not bad or not success:
        return None
    return _of(
        AnomalyKind.BAD_AND_SUCCESS, "the network reported both a failure and a success", [*bad, *success]
    )


def _different_requests(uncontradicted: Sequence[RefundPrepared]) -> Anomaly | None:
    requests = {event.wd_onchain for event in uncontradicted}
    if len(requests) < 2:
        return None
    return _of(AnomalyKind.DIFFERENT_REQUESTS, f"{len(requests)} different refund requests", uncontradicted)


def _release_before_send(canonical: CanonicalEvents) -> Anomaly | None:
    send, release = canonical.first(TransferSent), canonical.first(TransferReleased)
    if send is None or release is None or release.at >= send.at:
        return None
    return _of(AnomalyKind.RELEASE_BEFORE_SEND, "released before it was sent", [release, send])


def _delay_pays_at_once(canonical: CanonicalEvents) -> Anomaly | None:
    """A delay queue pays in a later transaction than the one that queues. A reporter mixed them up."""
    delays: list[TransferDelayed | RefundDelayed] = [
        *canonical.every(TransferDelayed),
        *canonical.every(RefundDelayed),
    ]
    payouts: list[TransferReleased | RefundCompleted] = [
        *canonical.every(TransferReleased),
        *canonical.every(RefundCompleted),
    ]
    found: list[Event] = []
    for delay in delays:
        queued = _transaction(delay)
        paid = [each for each in payouts if each.side is delay.side and _transaction(each) == queued]
        if queued is not None and paid:
            found += [delay, *paid]
    if not found:
        return None
    detail = "the same transaction was reported as queued by the delay rule and as the payout"
    return _of(AnomalyKind.DELAY_PAYS_AT_ONCE, detail, {event.id: event for event in found}.values())


def _transaction(event: TransferDelayed | TransferReleased | RefundDelayed | RefundCompleted) -> str | None:
    return event.dst_tx_hash if isinstance(event, TransferDelayed | TransferReleased) else event.tx_hash


def _unlisted_contract(canonical: CanonicalEvents, facts: NetworkFacts) -> Anomaly | None:
    send = canonical.first(TransferSent)
    if send is None or not facts.is_unlisted(send.taken):
        return None
    return _of(
        AnomalyKind.UNLISTED_CONTRACT,
        f"sent through {send.contract}, which is not one of the contracts configured for it; its "
        "refund waits",
        [send],
    )


def _withdraw_id_paid(canonical: CanonicalEvents, paid_ids: PaidIds) -> Anomaly | None:
    if not paid_ids:
        return None
    ids = {event.id: withdraw_id_of(event.wd_onchain) for event in canonical.every(RefundPrepared)}
    requests = [event for event in canonical.every(RefundPrepared) if ids[event.id] in paid_ids]
    if not requests:
        return None
    paid_id = ids[min(requests, key=lambda e: e.order).id] or b""
    return _of(
        AnomalyKind.WITHDRAW_ID_PAID,
        f"the withdraw id 0x{paid_id.hex()} of the refund request was already paid "
        f"{paid_for_words(paid_ids[paid_id])}; the contract pays each id once",
        requests,
    )


def _read_on_another_chain(misplaced: Sequence[TransferEvent]) -> Anomaly | None:
    if not misplaced:
        return None
    found = {event.chain_id for event in misplaced if isinstance(event, PlacedEvent)}
    chains = ", ".join(str(chain_id) for chain_id in sorted(filter(None, found)))
    detail = f"reported as read on chain {chains}, which is not the transfer's own; it counts for nothing"
    return _of(AnomalyKind.READ_ON_ANOTHER_CHAIN, detail, misplaced)


def _send_contradicts_id(contradicting: Sequence[TransferEvent]) -> Anomaly | None:
    if not contradicting:
        return None
    detail = "a send was accepted whose fields give another transfer id; it counts for nothing"
    return _of(AnomalyKind.SEND_CONTRADICTS_ID, detail, contradicting)


def anomalies_of_rotations(
    opening: ValidatorSet | None, rotations: Sequence[tuple[ValidatorsUpdated, ValidatorSet]]
) -> Iterator[Anomaly]:
    """Rotations that retain less than a third of the previous power. ``opening`` is the set before the first
    one, where one is configured; ``rotations`` are the canonical ones in their order
    (``ValidatorsUpdated.order``).
    """
    previous = opening
    for event, members in rotations:
        if previous is not None and members.retained_power_share(previous) < LEAST_RETAINED_POWER:
            yield _of(
                AnomalyKind.ROTATION_KEEPS_TOO_LITTLE,
                f"the new validator set of chain {event.chain_id} keeps less than a third of the "
                "previous power",
                [event],
            )
        previous = members
