"""Counts guesses at passwords and codes in the database, so that all processes slow a guesser down together.

A try is counted before anything typed is checked, and removed from the count when it was right. So parallel
tries get no more checks than successive ones (docs/decisions/0013-counted-before-validated.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, delete, update

from app.accounts.models import SignInFailure
from app.accounts.queries import FailureRow, forgotten_failures, sign_in_failures
from app.accounts.rules.guesses import (
    FAILURES_FORGOTTEN,
    FailureScope,
    forgotten_after,
    has_failed,
    typed_name,
    wait_after,
)
from app.accounts.services.accounts import Account
from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor
from app.audit.services import record_separately
from app.db.database import Database
from app.db.engine import counting, reading
from app.db.upserts import lock_or_insert, upsert

_SHORT_NAME: Final = 12
_SWEPT_AT_ONCE: Final = 500


class Guess(Struct, frozen=True):
    """A try to sign in, before it is known whether it is right.

    :param typed: what was typed as the email; it is not stored.
    :param account: the one that it names, None where there is none.
    :param network: the caller's address, of IPv6 its /64.
    :param device: the name of a browser that signed in to the account before, where it proves to be one.
    """

    typed: str
    network: str
    account: Account | None = None
    device: str | None = None


class Attempt(Struct, frozen=True):
    """A guess that was counted as a failure and may be checked now.

    ``before`` is the row of each key before this guess; None where nothing counted.
    """

    before: Mapping[str, FailureRow | None]
    at: datetime


class MustWait(Exception):
    """A guess is refused without a check, and not counted. The text is for the guesser.

    ``seconds`` is how long after it the next one is checked.
    """

    def __init__(self, wait: timedelta, why: str = "Too many failed sign-ins.") -> None:
        self.seconds = int(wait.total_seconds()) + 1
        shown = f"{self.seconds} seconds" if self.seconds < 120 else f"{-(-self.seconds // 60)} minutes"
        super().__init__(f"{why} Try again in {shown}.")


def network_has_failed(database: Database, network: str) -> bool:
    """Whether other networks go before this one, because it has failed lately."""
    scopes = {_lately(network): FailureScope.LATELY}
    with reading(database.engine) as connection:
        return _has_failed(scopes, sign_in_failures(connection, scopes), database.clock())


def reserve(database: Database, audit_keys: AuditKeys, guess: Guess) -> Attempt:
    """Count a guess as a failure, before it is checked.

    :raises MustWait: there were too many failures; the guess must not be checked.
    """
    scopes, now = _keys(audit_keys, guess), database.clock()
    with reading(database.engine) as connection:
        known = sign_in_failures(connection, scopes)
    if any(row.last_at > now for row in known):
        known = _brought_back(database, scopes, now)
    try:
        _require_no_wait(scopes, known, now)
    except MustWait:
        _note_early(database, guess, scopes, known, now)
        raise
    with counting(database.engine) as connection:
        new = [{"key": key, "failures": 0, "last_at": now} for key in sorted(scopes)]
        rows = [FailureRow(*row) for row in lock_or_insert(connection, SignInFailure, new)]
        _require_no_wait(scopes, rows, now)
        counted = {row.key: row for row in _recent(scopes, rows, now) if row.failures}
        counts = {row.key: row.failures if row.key in counted else 0 for row in rows}
        tried = [{"key": key, "failures": count + 1, "last_at": now} for key, count in counts.items()]
        upsert(connection, SignInFailure, tried)
        _sweep(connection, now)
    return Attempt({key: counted.get(key) for key in scopes}, now)


def release(database: Database, attempt: Attempt) -> None:
    """Remove a right guess from the count, as if there had been none."""
    with counting(database.engine) as connection:
        for row in sign_in_failures(connection, attempt.before, locked=True):
            before, failures = attempt.before[row.key], row.failures - 1
            if failures <= 0:
                connection.execute(delete(SignInFailure).where(SignInFailure.key == row.key))
                continue
            last_at = before.last_at if before is not None and row.last_at == attempt.at else row.last_at
            upsert(connection, SignInFailure, [{"key": row.key, "failures": failures, "last_at": last_at}])


def note_failure(database: Database, audit_keys: AuditKeys, guess: Guess, actor: Actor, reason: str) -> None:
    """Record in the audit log that a guess was wrong. It was counted when it was reserved.

    :param actor: the account that is signed in or was tried: never what was typed.
    """
    record_separately(
        database, audit_keys, actor, "sign_in.failed", _subject(audit_keys, guess), detail=reason
    )


def forget_failures(database: Database, audit_keys: AuditKeys, guess: Guess) -> None:
    """Delete the failures of this account from this network or browser after a complete sign-in.

    Those of the network with other accounts stay counted, and so do those of others with this account.
    """
    mine = [
        key
        for key, scope in _keys(audit_keys, guess).items()
        if scope in (FailureScope.PAIR, FailureScope.DEVICE)
    ]
    with counting(database.engine) as connection:
        found = [row.key for row in sign_in_failures(connection, mine, locked=True)]
        connection.execute(delete(SignInFailure).where(SignInFailure.key.in_(found)))


def _subject(audit_keys: AuditKeys, guess: Guess) -> str:
    if guess.account is not None:
        return f"operator {guess.account.email}"
    return f"no account, typed {typed_name(audit_keys.present, guess.typed)[:_SHORT_NAME]}"


def _keys(audit_keys: AuditKeys, guess: Guess) -> dict[str, FailureScope]:
    """The keys by which the guess is counted.

    A browser that signed in before is counted only by itself, so that no guesser can lock its owner out.
    """
    if guess.account is not None and guess.device is not None:
        return {f"device:{guess.account.id} {guess.device}": FailureScope.DEVICE}
    name = name_of(audit_keys, guess)
    return {
        f"pair:{guess.network} {name}": FailureScope.PAIR,
        f"address:{guess.network}": FailureScope.ADDRESS,
        f"account:{name}": FailureScope.ACCOUNT,
        _lately(guess.network): FailureScope.LATELY,
    }


def name_of(audit_keys: AuditKeys, guess: Guess) -> str:
    """The name of the account that is tried; it need not exist."""
    if guess.account is not None:
        return f"#{guess.account.id}"
    return typed_name(audit_keys.present, guess.typed)


def _lately(network: str) -> str:
    return f"lately:{network}"


def _recent(
    scopes: Mapping[str, FailureScope], rows: Iterable[FailureRow], now: datetime
) -> list[FailureRow]:
    """The rows whose failures still count."""
    return [row for row in rows if now - row.last_at < forgotten_after(scopes[row.key])]


def _has_failed(scopes: Mapping[str, FailureScope], rows: Iterable[FailureRow], now: datetime) -> bool:
    return any(has_failed(scopes[row.key], row.failures) for row in _recent(scopes, rows, now))


def _brought_back(database: Database, keys: Collection[str], now: datetime) -> list[FailureRow]:
    """The counts, with times in the future replaced by now.

    They come from a clock that was ahead and has been corrected. No one has to wait for that difference, too.
    """
    with counting(database.engine) as connection:
        ahead = SignInFailure.key.in_(keys), SignInFailure.last_at > now
        connection.execute(update(SignInFailure).where(*ahead).values(last_at=now))
        return sign_in_failures(connection, keys)


def _require_no_wait(scopes: Mapping[str, FailureScope], rows: list[FailureRow], now: datetime) -> None:
    failed = _has_failed(scopes, rows, now)
    waits = [
        row.last_at + wait_after(scopes[row.key], row.failures, failed=failed) - now
        for row in _recent(scopes, rows, now)
    ]
    wait = max(waits, default=timedelta())
    if wait > timedelta():
        raise MustWait(wait)


def _note_early(
    database: Database,
    guess: Guess,
    scopes: Mapping[str, FailureScope],
    known: list[FailureRow],
    now: datetime,
) -> None:
    """Count an early retry against its network if the network was already refused after the account's last
    failure.

    The count decides who is checked first. Guessers go on sending, to be there when the wait ends. The tries
    of people who wait as the refusal says do not count.
    """
    of_account = [
        row.last_at
        for row in _recent(scopes, known, now)
        if scopes[row.key] is FailureScope.ACCOUNT and wait_after(FailureScope.ACCOUNT, row.failures)
    ]
    if not of_account or _has_failed(scopes, known, now):
        return
    key = _lately(guess.network)
    early = any(row.key == key and row.last_at > max(of_account) for row in known)
    with counting(database.engine) as connection:
        new = {"key": key, "failures": 0, "last_at": now}
        (row,) = (FailureRow(*row) for row in lock_or_insert(connection, SignInFailure, [new]))
        count = sum(row.failures for row in _recent(scopes, [row], now))
        upsert(connection, SignInFailure, [new | {"failures": count + early}])


def _sweep(connection: Connection, now: datetime) -> None:
    old = forgotten_failures(connection, now - FAILURES_FORGOTTEN, _SWEPT_AT_ONCE)
    connection.execute(delete(SignInFailure).where(SignInFailure.key.in_(old)))
