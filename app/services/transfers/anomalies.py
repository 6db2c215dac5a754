"""Acknowledging anomalies: an operator notes that they have been looked at."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import update

from app.db.engine import writing
from app.domain.amounts import grouped
from app.domain.audit import Actor, AuditedChange
from app.models import anomalies as table
from app.queries.transfers.anomalies import AnomalyRow, anomalies_by_id
from app.runtime.gateway import Gateway
from app.services.audit.fingerprint import fingerprint, require_unchanged
from app.services.audit.record import record
from app.services.audit.results import Conflict, Saved


def acknowledge(gateway: Gateway, shown: Mapping[int, str], *, actor: Actor) -> Saved:
    """Note that an operator has looked at the anomalies: all of them or none, with a record in the audit log.

    Those that are acknowledged already keep who did it and when.

    :param shown: by the id of each, its fingerprint as the operator was shown it (``anomaly_fingerprint``).
    :raises Conflict: one of them is gone, or rests on other events now.
    """
    with writing(gateway.engine) as connection:
        now = gateway.clock()
        rows = {row.id: row for row in anomalies_by_id(connection, shown)}
        for anomaly_id, shown_fingerprint in shown.items():
            row = rows.get(anomaly_id)
            if row is None:
                raise Conflict("one of the anomalies no longer exists: reload the list", ())
            require_unchanged(f"the anomaly of {row.subject}", shown_fingerprint, _facts(row))
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
            waiting[0].subject if len(waiting) == 1 else f"{grouped(len(waiting))} anomalies",
            now=now,
            detail=_sentence(waiting),
            changes=[_change(row, now, actor) for row in waiting],
        )
    return Saved(tuple(f"acknowledge {row.kind} of {row.subject}" for row in waiting), record_id)


def anomaly_fingerprint(row: AnomalyRow | table.Anomaly) -> str:
    """The fingerprint of an anomaly that is shown, for the acknowledgement to hand back."""
    return fingerprint(_facts(row))


def _facts(row: AnomalyRow | table.Anomaly) -> dict[str, Any]:
    """The facts that must not have changed since the anomaly was shown: the events it rests on.

    An anomaly without events, such as a pool under zero, is reported again with every transfer and in
    other figures. Its time and figures may change.
    """
    facts = {"kind": row.kind, "subject": row.subject, "event_ids": list(row.event_ids)}
    return facts | {"last_at": row.last_at.isoformat()} if row.event_ids else facts


def _sentence(rows: list[AnomalyRow]) -> str:
    if len(rows) == 1:
        return f"acknowledge {rows[0].kind} of {rows[0].subject}: {rows[0].detail}"
    return f"acknowledge {grouped(len(rows))} anomalies"


def _change(row: AnomalyRow, now: datetime, actor: Actor) -> AuditedChange:
    facts = _facts(row) | {"detail": row.detail}
    acknowledged = {"acknowledged_at": now.isoformat(), "acknowledged_by": actor.name}
    return AuditedChange(row.subject, facts | dict.fromkeys(acknowledged), facts | acknowledged)
