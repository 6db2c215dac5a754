"""Operators stop and start the reading of a chain."""

from __future__ import annotations

from sqlalchemy import update

from app.db.engine import writing
from app.db.upserts import lock_or_insert
from app.domain.audit import Actor, AuditedChange
from app.domain.keys import ChainId
from app.models.watching import ChainWatch
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.watching.lease import stopped
from app.services.watching.terms import watch_terms


class SwitchRefused(ValueError):
    """The reading was not stopped or started; the message says why."""


def stop(gateway: Gateway, chain_id: ChainId, reason: str, *, actor: Actor) -> None:
    """Stop the reading of a chain. Whoever reads it writes nothing more from now on.

    What was read stays, and the cursor: after :func:`start` the reading goes on where it was.

    :raises SwitchRefused: no reason is given, the chain is not configured to be watched, or stopped already.
    """
    if not reason.strip():
        raise SwitchRefused("enter a reason: other operators will see it")
    if chain_id not in watch_terms(gateway):
        raise SwitchRefused(f"chain {chain_id} is not configured to be watched")
    with writing(gateway.engine) as connection:
        now = gateway.clock()
        (row,) = lock_or_insert(connection, ChainWatch, [{"chain_id": chain_id, "epoch": 0}])
        if row.stopped is not None:
            raise SwitchRefused(f"reading of chain {chain_id} is already stopped: {row.stopped}")
        values = stopped(row.epoch, reason.strip(), now, by=actor.name)
        connection.execute(update(ChainWatch).where(ChainWatch.chain_id == chain_id).values(**values))
        subject = f"reading of chain {chain_id}"
        record(
            connection,
            gateway.audit_keys,
            actor,
            "watch.stop",
            subject,
            now=now,
            detail=reason.strip(),
            changes=[AuditedChange(subject, {"stopped": None}, {"stopped": values["stopped"]})],
        )


def start(gateway: Gateway, chain_id: ChainId, *, actor: Actor) -> None:
    """Let the reading of a stopped chain go on where it was; a watcher that runs takes it within seconds.

    :raises SwitchRefused: it is not stopped.
    """
    with writing(gateway.engine) as connection:
        now = gateway.clock()
        (row,) = lock_or_insert(connection, ChainWatch, [{"chain_id": chain_id, "epoch": 0}])
        if row.stopped is None:
            raise SwitchRefused(f"reading of chain {chain_id} is not stopped")
        connection.execute(
            update(ChainWatch)
            .where(ChainWatch.chain_id == chain_id)
            .values(stopped=None, stopped_at=None, stopped_by=None, epoch=row.epoch + 1)
        )
        subject = f"reading of chain {chain_id}"
        record(
            connection,
            gateway.audit_keys,
            actor,
            "watch.start",
            subject,
            now=now,
            detail=f"was stopped: {row.stopped}",
            changes=[AuditedChange(subject, {"stopped": row.stopped}, {"stopped": None})],
        )
