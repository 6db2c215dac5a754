"""Counts failed sign-ins in the database, so that all processes slow a guesser down together."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete

from app.domain.audit import Actor
from app.domain.operators import FAILURES_FORGOTTEN, FailureScope, wait_after
from app.models.engine import reading, writing
from app.models.operators import SignInFailure
from app.models.upsert import upsert
from app.queries.operators.sign_in_failures import sign_in_failures
from app.runtime.gateway import Gateway
from app.services.audit.record import record

_LONGEST_NAME = 254


def wait_before(gateway: Gateway, account: str, address: str) -> timedelta:
    """How long sign-ins of this account from this address are still refused; zero if they are not."""
    with reading(gateway.engine) as connection:
        return _wait(connection, _keys(account, address), gateway.clock())


def note_failure(gateway: Gateway, account: str, actor: Actor, reason: str) -> timedelta:
    """Count a failed sign-in, record it in the audit log, and return how long to wait now.

    :param account: the email that was typed, whether or not there is such an account.
    """
    address = actor.address or "-"
    keys, now = _keys(account, address), gateway.clock()
    with writing(gateway.engine) as connection:
        connection.execute(delete(SignInFailure).where(SignInFailure.last_at <= now - FAILURES_FORGOTTEN))
        counts = {row.key: row.failures for row in sign_in_failures(connection, keys.values())}
        upsert(
            connection,
            SignInFailure,
            [{"key": key, "failures": counts.get(key, 0) + 1, "last_at": now} for key in keys.values()],
        )
        subject = f"operator {account}"
        record(connection, gateway.audit_keys, actor, "sign_in.failed", subject, now=now, detail=reason)
        return _wait(connection, keys, now)


def forget_failures(gateway: Gateway, account: str, address: str) -> None:
    """After a complete sign-in, forget the failures of this account from this address.

    Those of the address with other accounts stay counted.
    """
    keys = _keys(account, address)
    mine = [keys[FailureScope.PAIR]]
    with writing(gateway.engine) as connection:
        connection.execute(delete(SignInFailure).where(SignInFailure.key.in_(mine)))


def _keys(account: str, address: str) -> dict[FailureScope, str]:
    name = account.strip().lower()[:_LONGEST_NAME]
    return {
        FailureScope.PAIR: f"pair:{address} {name}",
        FailureScope.ADDRESS: f"address:{address}",
        FailureScope.ACCOUNT: f"account:{name}",
    }


def _wait(connection: Connection, keys: dict[FailureScope, str], now: datetime) -> timedelta:
    scopes = {key: scope for scope, key in keys.items()}
    waits: list[timedelta] = [
        row.last_at + wait_after(scopes[row.key], row.failures) - now
        for row in sign_in_failures(connection, keys.values())
        if now - row.last_at < FAILURES_FORGOTTEN
    ]
    return max([timedelta(), *waits])
