"""Operators acknowledge anomalies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import update

from app.domain.audit import Actor, AuditedChange
from app.models import anomalies as table
from app.models.engine import writing
from app.queries.anomalies import (
    AnomalyRow,
    anomalies_by_id,
)
from app.runtime.gateway import Gateway
from app.services.audit.fingerprint import fingerprint, require_seen
from app.services.audit.record import record
from app.services.audit.results import Conflict, Saved


def acknowledge(gateway: Gateway, shown: Mapping[int, str], *, actor: Actor) -> Saved:
    """Note that an operator has dealt with the anomalies: all of them or none. Audited.

    Those acknowledged already keep who did it and when.

    :param shown: the fingerprint of each as the operator was shown it, by its id.
    :raises Conflict: one of them no longer holds, or is based on other events now.
    """
    with writing(gateway.engine) as connection:
        now = gateway.clock()
        rows = {row.id: row for row in anomalies_by_id(connection, shown)}
        for anomaly_id, of_it in shown.items():
            row = rows.get(anomaly_id)
            if row is None:
                raise Conflict("one of the anomalies no longer holds: there is nothing to acknowledge", ())
            require_seen(f"the anomaly of {row.subject}", of_it, _facts(row))
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


def fingerprint_of(row: AnomalyRow | table.Anomaly) -> str:
    """The fingerprint of an anomaly as it is shown, to be handed back when it is acknowledged."""
    return fingerprint(_facts(row))


def _facts(row: AnomalyRow | table.Anomaly) -> dict[str, Any]:
    """What the operator decides by: an anomaly with more events than were shown is another one.

    An anomaly without events (a pool under zero) is found again with every transfer, with other figures, so
    its time is left out.
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
