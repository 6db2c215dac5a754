"""Compares and repairs what follows from events about chains, routes and retractions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import Connection, delete, select

from app.estimates.models import PoolCounter, ReportedFee
from app.feed.projection import pools
from app.feed.projection.anomalies import Subject, anomaly_row
from app.feed.projection.chains import WITHDRAWS, project_validators, project_withdraws, reported_set
from app.feed.projection.sums import find_progress, highest_of, newest_of
from app.feed.projection.transfers import project_again
from app.feed.queries.chains import load_chain_events
from app.feed.queries.log import every_retraction, every_target
from app.feed.queries.pools import canonical_liquidity, latest_fee, load_liquidity
from app.feed.services.retract import rebuild_retracted
from app.feed.verifying.mismatches import Difference, Values, differences, rows_of
from app.network.models import ReportedValidatorSet
from app.network.queries import load_network_facts, load_opening_sets
from app.refunds.models import WithdrawDone as UsedWithdraw
from app.refunds.queries import transfers_with_ids
from app.transfers import models as table
from app.transfers.anomalies import AnomalyKind, anomalies_of_rotations
from app.transfers.events import LiquidityWithdrawn, ValidatorsUpdated, WithdrawDone
from app.transfers.models import ChainProgress, RetractedEvent, RetractionTarget
from app.transfers.queries.logged import every_retracted_key
from app.transfers.reorganisations import retracted_by
from app.values.identifiers import ChainId, RouteKey

_USED: Final = (WithdrawDone.type, LiquidityWithdrawn.type)
_OF_EVENT: Final = ("subject", "event_id")
_OF_SUBJECT: Final = ("subject", "kind")


def compare_retractions(connection: Connection) -> list[Difference]:
    """Which events are retracted, and what the retractions name."""
    retractions = every_retraction(connection)
    noted = [
        {"subject": key.subject, "event_id": key.id, "seq": seq}
        for seq, keys in every_target(connection).items()
        for key in keys
    ]
    named = [
        {"subject": key.subject, "event_id": key.id, "seq": each.seq}
        for each in retractions
        for key in each.targets
    ]
    stored, expected = (
        [{"subject": key.subject, "event_id": key.id, "seq": seq} for key, seq in found.items()]
        for found in (every_retracted_key(connection), retracted_by(retractions))
    )
    return [
        *differences(RetractionTarget, noted, named),
        *differences(RetractedEvent, stored, expected, key=_OF_EVENT),
    ]


def repair_retractions(connection: Connection, _found: Iterable[Difference], _now: datetime) -> None:
    """Write them again."""
    rebuild_retracted(connection)


def compare_chain(connection: Connection, chain_id: ChainId) -> list[Difference]:
    """Validators, used withdraw ids and liquidity of a chain."""
    return [
        *_validators(connection, chain_id),
        *_withdraws(connection, chain_id),
        *_liquidity(connection, chain_id),
    ]


def _validators(connection: Connection, chain_id: ChainId) -> Iterator[Difference]:
    events = load_chain_events(connection, chain_id, [ValidatorsUpdated.type])
    canonical = sorted(cast("list[ValidatorsUpdated]", events), key=lambda event: event.order)
    rotations = [(event, reported_set(event, number)) for number, event in enumerate(canonical, start=1)]
    expected = [
        {
            "chain_id": chain_id,
            "version": members.version,
            "members": [["0x" + address.hex(), str(power)] for address, power in members.members],
            "at": event.at,
            "event_id": event.id,
        }
        for event, members in rotations[-1:]
    ]
    yield from differences(
        ReportedValidatorSet, _of_chain(connection, ReportedValidatorSet, chain_id), expected
    )
    raised = [
        anomaly_row(Subject(f"rotation:{chain_id}:{anomaly.event_ids[0]}", chain_id=chain_id), anomaly)
        for anomaly in anomalies_of_rotations(load_opening_sets(connection).get(chain_id), rotations)
    ]
    of_kind = table.Anomaly.kind == AnomalyKind.ROTATION_KEEPS_TOO_LITTLE.value
    stored = _of_chain(connection, table.Anomaly, chain_id, of_kind)
    yield from differences(table.Anomaly, stored, raised, key=_OF_SUBJECT)


def _withdraws(connection: Connection, chain_id: ChainId) -> Iterator[Difference]:
    expected = [
        {
            "withdraw_id": event.withdraw_id,
            "chain_id": chain_id,
            "event_id": event.id,
            "ref_id": event.ref_id if isinstance(event, WithdrawDone) else None,
        }
        for event in load_chain_events(connection, chain_id, _USED)
        if isinstance(event, WITHDRAWS) and event.withdraw_id is not None
    ]
    return differences(UsedWithdraw, _of_chain(connection, UsedWithdraw, chain_id), expected)


def _liquidity(connection: Connection, chain_id: ChainId) -> Iterator[Difference]:
    stored, expected = (
        [
            {"chain_id": chain_id, "symbol": symbol, "added": sums.added, "withdrawn": sums.withdrawn}
            for symbol, sums in found.items()
            if sums.added or sums.withdrawn
        ]
        for found in (load_liquidity(connection, chain_id), canonical_liquidity(connection, chain_id))
    )
    return differences(PoolCounter, stored, expected)


def _of_chain(connection: Connection, model: Any, chain_id: ChainId, *conditions: Any) -> list[Values]:
    return rows_of(connection, select(model.__table__).where(model.chain_id == chain_id, *conditions))


def repair_chain(
    connection: Connection, found: Collection[Difference], now: datetime, *, chain_id: ChainId
) -> None:
    """Write again what differs of a chain, and validate again what depends on it."""
    tables = {each.table for each in found}
    if UsedWithdraw.__tablename__ in tables:
        of_chain = UsedWithdraw.chain_id == chain_id
        ids = set(connection.scalars(select(UsedWithdraw.withdraw_id).where(of_chain)))
        connection.execute(delete(UsedWithdraw).where(of_chain))
        project_withdraws(connection, chain_id, None, now)
        affected = transfers_with_ids(connection, set(map(bytes, ids)))
        project_again(connection, sorted(affected), load_network_facts(connection), now)
    if tables & {ReportedValidatorSet.__tablename__, table.Anomaly.__tablename__}:
        project_validators(connection, chain_id, now)
    if PoolCounter.__tablename__ in tables:
        pools.recount_liquidity(connection, chain_id, now)


def compare_progress(connection: Connection, chain_id: ChainId) -> list[Difference]:
    """How far a chain was read. What is stored of transfers counts."""
    stored = _of_chain(connection, ChainProgress, chain_id)
    expected = []
    if (newest := newest_of(connection, chain_id)) is not None:
        highest = highest_of(connection, chain_id)
        expected.append({"chain_id": chain_id, "highest_block": highest, "newest_at": newest})
    return list(differences(ChainProgress, stored, expected))


def repair_progress(connection: Connection, found: Iterable[Difference], _now: datetime) -> None:
    """Find it again."""
    for each in found:
        find_progress(connection, each.key["chain_id"])


def compare_fees(connection: Connection, routes: Iterable[RouteKey]) -> list[Difference]:
    """Which reported fee of each of the routes counts."""
    found: list[Difference] = []
    for route in routes:
        of_route = (getattr(ReportedFee, name) == value for name, value in route._asdict().items())
        stored = rows_of(connection, select(ReportedFee.__table__).where(*of_route))
        fee = latest_fee(connection, route)
        found += differences(ReportedFee, stored, [] if fee is None else [pools.fee_row(fee)])
    return found


def repair_fees(connection: Connection, found: Iterable[Difference], _now: datetime) -> None:
    """Find them again."""
    pools.project_fees_again(
        connection, {RouteKey(*(each.key[n] for n in RouteKey._fields)) for each in found}
    )
