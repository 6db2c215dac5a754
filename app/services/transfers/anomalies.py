"""Anomalies as operators work through them: listed, counted, acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import update

from app.domain.audit import Actor, AuditedChange
from app.domain.transfer.anomalies import AnomalyKind
from app.models import anomalies as table
from app.models.engine import reading, writing
from app.queries.transfers.anomalies import (
    AnomalyRow,
    anomalies_by_id,
    anomalies_of_transfer,
    anomalies_page,
    open_anomalies_by_kind,
)
from app.runtime.gateway import Gateway
from app.services.audit.fingerprint import fingerprint, require_seen
from app.services.audit.record import record
from app.services.audit.results import Conflict, Saved


@dataclass(frozen=True, slots=True)
class AnomalyRecord:
    """An anomaly that holds. ``seen`` is to be handed back when it is acknowledged.

    ``subject`` is ``transfer:0x…``, ``rotation:CHAIN:EVENT``, ``pool:CHAIN:SYMBOL`` or ``event:ID``.
    """

    id: int
    kind: AnomalyKind
    subject: str
    transfer_id: bytes | None
    chain_id: int | None
    detail: str
    event_ids: tuple[str, ...]
    first_at: datetime
    last_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    seen: str


def list_anomalies(
    gateway: Gateway,
    *,
    open_only: bool = True,
    kind: AnomalyKind | None = None,
    limit: int = 50,
    offset: int = 0,
) -> list[AnomalyRecord]:
    """A page: those that wait first, each the newest first."""
    with reading(gateway.reads) as connection:
        rows = anomalies_page(
            connection,
            open_only=open_only,
            kind=None if kind is None else kind.value,
            limit=limit,
            offset=offset,
        )
    return [_record(row) for row in rows]


def anomalies_about(gateway: Gateway, transfer_id: bytes) -> list[AnomalyRecord]:
    """All of one transfer, the oldest first."""
    with reading(gateway.reads) as connection:
        return [_record(row) for row in anomalies_of_transfer(connection, transfer_id)]


def count_open(gateway: Gateway) -> Mapping[AnomalyKind, int]:
    """How many wait to be acknowledged, by kind."""
    with reading(gateway.reads) as connection:
        return {AnomalyKind(kind): count for kind, count in open_anomalies_by_kind(connection).items()}


def acknowledge(gateway: Gateway, seen: Mapping[int, str], *, actor: Actor) -> Saved:
    """Note that an operator has seen to the anomalies. All of them or none; recorded.

    Those acknowledged already keep who did it and when.

    :param seen: what was shown of each, by its id.
    :raises Conflict: one of them no longer holds, or rests on other events now.
    """
    with writing(gateway.engine) as connection:
        now = gateway.clock()
        rows = {row.id: row for row in anomalies_by_id(connection, seen)}
        for anomaly_id, shown in seen.items():
            row = rows.get(anomaly_id)
            if row is None:
                raise Conflict("one of the anomalies no longer holds: there is nothing to acknowledge", ())
            require_seen(f"the anomaly of {row.subject}", shown, _facts(row))
        waiting = [row for row in rows.values() if row.acknowledged_at is None]
        if not waiting:
            return Saved((), None)
        connection.execute(
            update(table.Anomaly)
            .where(table.Anomaly.id.in_([row.id for row in waiting]))
            .values(acknowledged_at=now, acknowledged_by=actor.name)
        )
        record_id = record(
            connection,
            gateway.audit_keys,
            actor,
            "anomaly.acknowledge",
            waiting[0].subject if len(waiting) == 1 else f"{len(waiting):,} anomalies",
            now=now,
            detail=_sentence(waiting),
            changes=[_change(row, now, actor) for row in waiting],
        )
    return Saved(tuple(f"acknowledge {row.kind} of {row.subject}" for row in waiting), record_id)


def seen_of(row: AnomalyRow | table.Anomaly) -> str:
    """What is to be handed back with the acknowledgement of an anomaly that was shown."""
    return fingerprint(_facts(row))


def _record(row: AnomalyRow) -> AnomalyRecord:
    values = dict(row._mapping) | {"kind": AnomalyKind(row.kind), "event_ids": tuple(row.event_ids)}
    return AnomalyRecord(**values, seen=seen_of(row))


def _facts(row: AnomalyRow | table.Anomaly) -> dict[str, Any]:
    """What an operator judges by: an anomaly that rests on more by now is not the one they saw.

    One that rests on no events is told of again with every transfer, in other figures.
    """
    facts = {"kind": row.kind, "subject": row.subject, "event_ids": list(row.event_ids)}
    return facts | {"last_at": row.last_at.isoformat()} if row.event_ids else facts


def _sentence(rows: list[AnomalyRow]) -> str:
    if len(rows) == 1:
        return f"acknowledge {rows[0].kind} of {rows[0].subject}: {rows[0].detail}"
    return f"acknowledge {len(rows):,} anomalies"


def _change(row: AnomalyRow, now: datetime, actor: Actor) -> AuditedChange:
    facts = _facts(row) | {"detail": row.detail}
    acknowledged = {"acknowledged_at": now.isoformat(), "acknowledged_by": actor.name}
    return AuditedChange(row.subject, facts | dict.fromkeys(acknowledged), facts | acknowledged)
