"""Accounts of the console, their second factors, sessions, failed sign-ins, and proposals."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, RowMapping, Select, case, func, literal, or_, select

from app.accounts import models as table
from app.accounts.models import (
    Operator,
    OperatorPasskey,
    OperatorRecoveryCode,
    OperatorRules,
    OperatorSession,
    SignInFailure,
)
from app.accounts.rules.sessions import SESSION_IDLE, SESSION_LIFETIME
from app.accounts.rules.two_persons import ONE_ROW, Proposal, ProposalState


def account_where(connection: Connection, which: ColumnElement[bool]) -> RowMapping | None:
    """All columns of the one account that meets the condition; None where there is none."""
    return connection.execute(select(Operator.__table__).where(which)).mappings().one_or_none()


def all_accounts(connection: Connection) -> Sequence[RowMapping]:
    """All columns of every account, by email."""
    return connection.execute(select(Operator.__table__).order_by(Operator.email)).mappings().all()


def count_active_with_role(connection: Connection, role: str) -> int:
    """How many accounts that may sign in have the role."""
    counted = select(func.count()).select_from(Operator).where(Operator.active, Operator.role == role)
    return connection.scalar(counted) or 0


def passkeys_of(connection: Connection, operator_id: int) -> Sequence[RowMapping]:
    """All columns of the account's passkeys, the oldest first."""
    query = select(OperatorPasskey.__table__).where(OperatorPasskey.operator_id == operator_id)
    return connection.execute(query.order_by(OperatorPasskey.id)).mappings().all()


def passkey_by_credential(connection: Connection, credential_id: bytes) -> RowMapping | None:
    """All columns of the passkey with this credential id, of any account."""
    query = select(OperatorPasskey.__table__).where(OperatorPasskey.credential_id == credential_id)
    return connection.execute(query).mappings().one_or_none()


def count_recovery_codes(connection: Connection, operator_id: int) -> int:
    """How many recovery codes the account has left."""
    counted = select(func.count()).select_from(OperatorRecoveryCode)
    return connection.scalar(counted.where(OperatorRecoveryCode.operator_id == operator_id)) or 0


def second_factor_rule(connection: Connection) -> bool:
    """Whether every account must have a second factor."""
    return bool(connection.scalar(select(OperatorRules.second_factor_required)))


def has_second_factor() -> ColumnElement[bool]:
    """The condition that an account has one-time codes or a passkey."""
    passkey = select(OperatorPasskey.id).where(OperatorPasskey.operator_id == Operator.id)
    return or_(Operator.tf_totp_secret.is_not(None), passkey.exists())


def session_ended(now: datetime) -> ColumnElement[bool]:
    """The condition that a session was ended, was idle for too long, or has reached its greatest age."""
    return or_(
        OperatorSession.ended_at.is_not(None),
        OperatorSession.seen_at <= now - SESSION_IDLE,
        OperatorSession.created_at <= now - SESSION_LIFETIME,
    )


def session_forgotten(now: datetime) -> ColumnElement[bool]:
    """The condition that no browser has a session's cookie any more.

    A cookie lives for ``SESSION_LIFETIME`` after its last use, which is at most that long after its sign-in.
    """
    return OperatorSession.created_at <= now - 2 * SESSION_LIFETIME


def session_by_digest(connection: Connection, digest: bytes) -> Row[*tuple[Any, ...]] | None:
    """The session with this digest, open or ended: ``email`` of its account and ``ended_why``."""
    query = (
        select(Operator.email, OperatorSession.ended_why)
        .join(Operator, Operator.id == OperatorSession.operator_id)
        .where(OperatorSession.digest == digest)
    )
    return connection.execute(query).one_or_none()


def find_open_session(
    connection: Connection, operator_id: int, digest: bytes, now: datetime
) -> Row[*tuple[Any, ...]] | None:
    """When the account's open session with this digest was last used (``seen_at``), and when its owner last
    proved their identity (``proved_at``); None where there is none.
    """
    proved_at = func.coalesce(OperatorSession.proved_at, OperatorSession.created_at).label("proved_at")
    query = select(OperatorSession.seen_at, proved_at).where(
        OperatorSession.digest == digest, OperatorSession.operator_id == operator_id, ~session_ended(now)
    )
    return connection.execute(query).one_or_none()


def open_sessions_of(
    connection: Connection, operator_id: int, digest: bytes, now: datetime
) -> Sequence[RowMapping]:
    """The account's open sessions, the last used first; ``current`` is the one with the digest."""
    query = (
        select(
            OperatorSession.id,
            OperatorSession.created_at,
            OperatorSession.seen_at,
            OperatorSession.address,
            OperatorSession.browser,
            (OperatorSession.digest == digest).label("current"),
        )
        .where(OperatorSession.operator_id == operator_id, ~session_ended(now))
        .order_by(OperatorSession.seen_at.desc(), OperatorSession.id.desc())
    )
    return connection.execute(query).mappings().all()


class FailureRow(Struct, frozen=True):
    """The failures under one key: how many, and when the last one was."""

    key: str
    failures: int
    last_at: datetime


def sign_in_failures(
    connection: Connection, keys: Iterable[str], *, locked: bool = False
) -> list[FailureRow]:
    """The failures by key; keys without any are left out.

    :param locked: the rows stay locked until the end of this transaction, which ``counting`` opened.
    """
    columns = (SignInFailure.key, SignInFailure.failures, SignInFailure.last_at)
    query = select(*columns).where(SignInFailure.key.in_(sorted(keys))).order_by(SignInFailure.key)
    rows = connection.execute(query.with_for_update() if locked else query)
    return [FailureRow(*row) for row in rows]


def forgotten_failures(connection: Connection, until: datetime, limit: int) -> list[str]:
    """Keys under which nothing was counted after ``until``, without those that another transaction is
    changing.
    """
    old = select(SignInFailure.key).where(SignInFailure.last_at <= until).order_by(SignInFailure.last_at)
    return list(connection.scalars(old.limit(limit).with_for_update(skip_locked=True)))


MOST_LISTED: Final = 500
"""How many waiting proposals one page lists."""

_OPEN = table.Proposal.state == ProposalState.OPEN.value


def proposal_by_id(connection: Connection, proposal_id: int) -> Proposal | None:
    """The proposal; None where there is none."""
    query = select(table.Proposal.__table__).where(table.Proposal.id == proposal_id)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _read(row)


def proposals_page(
    connection: Connection, without: Collection[str], before: int | None, limit: int
) -> list[Proposal]:
    """The newest proposals with an id under ``before``, without those of the sections ``without``."""
    query = _listed().where(_not_of(without)).order_by(table.Proposal.id.desc()).limit(limit)
    if before is not None:
        query = query.where(table.Proposal.id < before)
    return [_read(row) for row in connection.execute(query).mappings()]


def waiting_proposals(connection: Connection, without: Collection[str], now: datetime) -> list[Proposal]:
    """The proposals that can still be decided, the one that ends first at the top."""
    query = _listed().where(_OPEN, table.Proposal.expires_at > now, _not_of(without))
    query = query.order_by(table.Proposal.expires_at, table.Proposal.id).limit(MOST_LISTED)
    return [_read(row) for row in connection.execute(query).mappings()]


def waiting_about(connection: Connection, subject: str, now: datetime) -> list[Proposal]:
    """The proposals that can still be decided and would change this row, with or without others.

    :param subject: the row as the audit log names it.
    """
    changes_it = table.Proposal.changes.contains(f'"subject":{json.dumps(subject)}', autoescape=True)
    query = _listed().where(_OPEN, table.Proposal.expires_at > now, changes_it)
    return [_read(row) for row in connection.execute(query.order_by(table.Proposal.id)).mappings()]


_MOST_DECIDED: Final = 5


def decided_by_others(connection: Connection, proposed_by: str, since: datetime) -> list[Proposal]:
    """The newest proposals of an account that somebody else decided, or that expired, after a time.

    Searched by the end of their time, which is indexed and later than the decision.
    """
    decided = ProposalState.APPROVED, ProposalState.REJECTED, ProposalState.EXPIRED
    query = _listed().where(
        table.Proposal.state.in_([state.value for state in decided]),
        table.Proposal.expires_at > since,
        table.Proposal.proposed_by == proposed_by,
        or_(table.Proposal.decided_at > since, table.Proposal.state == ProposalState.EXPIRED.value),
    )
    query = query.order_by(table.Proposal.id.desc()).limit(_MOST_DECIDED)
    return [_read(row) for row in connection.execute(query).mappings()]


def expired_unnoticed(connection: Connection, now: datetime) -> Sequence[int]:
    """Ids of the proposals that are open although their time is over, in their order."""
    query = select(table.Proposal.id).where(_OPEN, table.Proposal.expires_at <= now)
    return connection.scalars(query.order_by(table.Proposal.id)).all()


def count_waiting(
    connection: Connection, now: datetime, without: Collection[str] = (), proposed_by: str | None = None
) -> int:
    """How many proposals can still be decided, of all accounts or of one."""
    query = select(func.count()).select_from(table.Proposal)
    query = query.where(_OPEN, table.Proposal.expires_at > now, _not_of(without))
    if proposed_by is not None:
        query = query.where(table.Proposal.proposed_by == proposed_by)
    return connection.scalar(query) or 0


def _not_of(sections: Collection[str]) -> ColumnElement[bool]:
    return table.Proposal.section.not_in(sorted(sections))


def _listed() -> Select[*tuple[object, ...]]:
    """Columns for lists: without what was entered, and without the rows of changes that affect many."""
    columns = [column for column in table.Proposal.__table__.c if column.name not in ("input", "changes")]
    one_row = case((table.Proposal.kind == ONE_ROW, table.Proposal.changes), else_="[]")
    return select(*columns, literal("{}").label("input"), one_row.label("changes"))


def _read(row: RowMapping) -> Proposal:
    return Proposal(**{**row, "state": ProposalState(row["state"])})
