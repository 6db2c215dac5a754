"""Projects what is reported about chains: how far they are read, their validators, reorgs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import cast

from sqlalchemy import Connection, delete

from app.db.upserts import upsert
from app.feed.projection.anomalies import sync_rotation_anomalies
from app.feed.projection.pools import move_liquidity, sums_of_parts, take_back_liquidity
from app.feed.projection.shared import advance, find_newest, find_progress, go_back
from app.feed.projection.transfers import project_again
from app.feed.queries.belated import accepted_again
from app.feed.queries.chains import (
    accepted_of_chain,
    canonical_of_chain,
    is_reported_from_block,
    load_chain_events,
    load_progress,
    newest_change,
    transfers_from_block,
)
from app.feed.queries.log import latest_rotation
from app.feed.queries.pools import Part, conditions_of
from app.feed.queries.transfers import transfers_in_status, transfers_with_aside
from app.network.models import ReportedValidatorSet
from app.network.queries import load_network_facts, load_opening_sets
from app.network.rules.quorum import ValidatorSet
from app.refunds.queries import UsedId, transfers_with_ids, used_by_events, with_several_ids
from app.refunds.used_ids import write_used
from app.transfers.queries.logged import Reach, load_reorgs
from app.transfers.rules.anomalies import anomalies_of_rotations
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.events.event_types import (
    ChainEvent,
    ChainReorged,
    LiquidityWithdrawn,
    ValidatorsUpdated,
    WithdrawDone,
)
from app.transfers.rules.events.fields import MAX_BLOCK
from app.transfers.rules.events.reorganisations import Reorg
from app.values.codes import TransferHistoryStatus
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId

WITHDRAWS = (WithdrawDone, LiquidityWithdrawn)
"""Events that use up a withdraw id."""

REFUND_OPEN = (
    TransferHistoryStatus.TRANSFER_REQUESTING_REFUND,
    TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED,
)


def project_chain_readings(connection: Connection, accepted: Iterable[ChainEvent]) -> None:
    readings: dict[ChainId, ChainReading] = {}
    for event in accepted:
        reading = ChainReading(event.block, event.at)
        readings[event.chain_id] = reading.furthest(readings.get(event.chain_id))
    advance(connection, readings)


def project_validators(connection: Connection, chain_id: ChainId, now: datetime) -> None:
    """Use the chain's latest canonical validator set, and validate its open refunds again."""
    events = load_chain_events(connection, chain_id, [ValidatorsUpdated.type])
    canonical = sorted(cast("list[ValidatorsUpdated]", events), key=lambda e: e.order)
    rotations = [(event, reported_set(event, version)) for version, event in enumerate(canonical, start=1)]
    if rotations:
        _write_set(connection, *rotations[-1])
    else:
        connection.execute(delete(ReportedValidatorSet).where(ReportedValidatorSet.chain_id == chain_id))
    opening = load_opening_sets(connection, chain_id).get(chain_id)
    sync_rotation_anomalies(connection, chain_id, anomalies_of_rotations(opening, rotations))
    validate_open_refunds(connection, {chain_id}, now)


def project_new_validators(
    connection: Connection, chain_id: ChainId, reported: Iterable[ValidatorsUpdated], now: datetime
) -> None:
    """As :func:`project_validators`, after some sets became canonical.

    Nearly always they come after all others in the chain's order. Then the others are not read.
    """
    latest, version = latest_rotation(connection, chain_id)
    new = sorted(reported, key=lambda event: event.order)
    if version and (latest is None or latest.order > new[0].order):
        project_validators(connection, chain_id, now)
        return
    if latest is None:
        before = load_opening_sets(connection, chain_id).get(chain_id)
    else:
        before = reported_set(latest, version)
    rotations = [(event, reported_set(event, number)) for number, event in enumerate(new, start=version + 1)]
    _write_set(connection, *rotations[-1])
    sync_rotation_anomalies(connection, chain_id, anomalies_of_rotations(before, rotations), new)
    validate_open_refunds(connection, {chain_id}, now)


def reported_set(event: ValidatorsUpdated, version: int) -> ValidatorSet:
    addresses = (parse_evm_address(signer) or b"" for signer in event.signers)
    return ValidatorSet.of(event.chain_id, version, zip(addresses, event.powers, strict=True))


def _write_set(connection: Connection, event: ValidatorsUpdated, members: ValidatorSet) -> None:
    row = {
        "chain_id": event.chain_id,
        "version": members.version,
        "members": [["0x" + address.hex(), str(power)] for address, power in members.members],
        "at": event.at,
        "event_id": event.id,
    }
    upsert(connection, ReportedValidatorSet, [row])


def project_accepted_withdraws(connection: Connection, accepted: Iterable[ChainEvent], now: datetime) -> None:
    ids: dict[ChainId, set[str]] = defaultdict(set)
    for event in accepted:
        if isinstance(event, WITHDRAWS) and event.withdraw_id is not None:
            ids[event.chain_id].add(event.id)
    for chain_id, of_chain in sorted(ids.items()):
        project_withdraws(connection, chain_id, Part(ids=of_chain), now)


def project_withdraws(connection: Connection, chain_id: ChainId, part: Part | None, now: datetime) -> None:
    """Store the withdraw ids that are used up on the chain, and project again the refunds that have them.

    :param part: of the chain's log that may have changed; None: all of it.
    """
    types = (WithdrawDone.type, LiquidityWithdrawn.type)
    conditions = [None] if part is None else conditions_of(connection, chain_id, part)
    accepted = [
        each for condition in conditions for each in accepted_of_chain(connection, chain_id, types, condition)
    ]
    # Events ahead of the clock are not among the accepted. Their ids were stored if they counted before.
    event_ids = {logged.event.id for logged in accepted}.union(() if part is None else part.ids)
    before = used_by_events(connection, chain_id, event_ids)
    after = {
        event.id: UsedId(event.withdraw_id, event.ref_id if isinstance(event, WithdrawDone) else None)
        for logged in canonical_of_chain(connection, chain_id, accepted)
        if isinstance(event := logged.event, WITHDRAWS) and event.withdraw_id is not None
    }
    gone = [event_id for event_id in before if before[event_id] != after.get(event_id)]
    new = [event_id for event_id in after if after[event_id] != before.get(event_id)]
    write_used(connection, chain_id, gone, {event_id: after[event_id] for event_id in new})
    changed = {before[each].withdraw_id for each in gone} | {after[each].withdraw_id for each in new}
    if affected := transfers_with_ids(connection, changed):
        project_again(connection, sorted(affected), load_network_facts(connection), now)


def has_open_refunds(connection: Connection, chain_ids: Collection[int]) -> bool:
    """Whether any refund's answer depends on these chains' validators or contracts."""
    return bool(_open_refunds(connection, chain_ids))


def validate_open_refunds(connection: Connection, chain_ids: Collection[int], now: datetime) -> None:
    """Project again the refunds whose answer depends on these chains' validators or contracts."""
    if affected := _open_refunds(connection, chain_ids):
        project_again(connection, affected, load_network_facts(connection), now)


def _open_refunds(connection: Connection, chain_ids: Collection[int]) -> list[bytes]:
    """Open refunds, those with quarantined signatures, and transfers with several requests: which of these
    was paid, also where the transfer was released, decides the answers of others with the same withdraw
    id.
    """
    return [
        *transfers_in_status(connection, chain_ids, REFUND_OPEN),
        *transfers_with_aside(connection, chain_ids),
        *with_several_ids(connection, chain_ids),
    ]


def project_reorganisation(connection: Connection, reorg: ChainReorged, seq: int, now: datetime) -> None:
    """Go back to the block before the reorg and project again everything that the orphaned blocks touched.

    The reorg itself is in the log already, which decides what is canonical (docs/interface/events.md#reorgs).
    A belated one removes only what came again. Nothing else changes how far the chain is read.

    :param seq: its position in the log.
    """
    in_log = load_reorgs(connection, {reorg.chain_id: Reach(seq - 1, MAX_BLOCK)})[0]
    if in_log.before is not None:
        _project_belated(connection, reorg, in_log, now)
        return
    known = load_progress(connection, [reorg.chain_id]).get(reorg.chain_id)
    advance(connection, {reorg.chain_id: ChainReading(None, reorg.at)})
    go_back(connection, reorg.chain_id, reorg.from_block)
    take_back_liquidity(connection, reorg.chain_id, reorg.from_block, seq, now)
    project_withdraws(connection, reorg.chain_id, Part(reorg.from_block), now)
    project_from_block(connection, reorg.chain_id, reorg.from_block, now)
    if known is not None and known.newest_at > reorg.at:
        find_newest(connection, reorg.chain_id)


def _project_belated(connection: Connection, reorg: ChainReorged, in_log: Reorg, now: datetime) -> None:
    advance(connection, {reorg.chain_id: ChainReading(None, reorg.at)})
    again = accepted_again(connection, in_log)
    if not again:
        return
    ids = {row.event_id for row in again if row.transfer_id is None}
    transfer_ids = sorted({row.transfer_id for row in again if row.transfer_id is not None})
    known = load_progress(connection, [reorg.chain_id])[reorg.chain_id]
    newest = newest_change(connection, transfer_ids) or again[0].at
    if ids:
        part = Part(ids=ids)
        before, after = (sums_of_parts(connection, {reorg.chain_id: part}, to) for to in (in_log.seq, None))
        move_liquidity(connection, before, after, now)
        project_withdraws(connection, reorg.chain_id, part, now)
    if any(row.type == ValidatorsUpdated.type for row in again):
        project_validators(connection, reorg.chain_id, now)
    project_again(connection, transfer_ids, load_network_facts(connection), now)
    times, blocks = [newest, *(row.at for row in again)], [row.block for row in again]
    if max(times) >= known.newest_at or max(blocks) >= (known.highest_block or 0):
        find_progress(connection, reorg.chain_id)


def project_from_block(connection: Connection, chain_id: ChainId, block: int, now: datetime) -> None:
    """Project again everything but liquidity that events of the chain from this block on contribute to."""
    if is_reported_from_block(connection, chain_id, block, ValidatorsUpdated.type):
        project_validators(connection, chain_id, now)
    reached = transfers_from_block(connection, chain_id, block)
    project_again(connection, reached, load_network_facts(connection), now)
