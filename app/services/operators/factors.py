"""Second factors as a whole: who must have one, and forgetting those that their owner has lost."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, delete, select

from app.db.engine import reading, writing
from app.db.upserts import upsert
from app.domain.audit import Actor, AuditedChange
from app.domain.operators import SessionEnd
from app.models.factors import OperatorPasskey, OperatorRecoveryCode, OperatorRules
from app.models.operators import Operator, OperatorSession
from app.queries.operators import accounts_with_passkeys, has_second_factor, second_factor_is_demanded
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.operators.accounts import (
    Account,
    AccountRefused,
    change_account,
    new_uniquifier,
    require_account,
)
from app.services.operators.leave import require_account_leave
from app.services.operators.sessions import end_sessions

_RULES_ID = 1

RULE: Final = "second factor for everyone"
"""What records and proposals call it."""


def forget_second_factors(
    gateway: Gateway, account_id: int, *, actor: Actor, break_glass: str | None = None
) -> Account:
    """Forget the account's one-time codes, passkeys and recovery codes, and end its sessions.

    :param break_glass: why one person alone does so where ``TWO_PERSONS`` names accounts.
    :raises AccountRefused: there is no such account.
    :raises SecondPersonNeeded: it waits for a second administrator, and ``break_glass`` is not given.
    """
    with writing(gateway.engine) as connection:
        email = require_account(connection, account_id).email
        require_account_leave(connection, gateway, actor, email, break_glass)
        return forget_within(connection, gateway, account_id, actor=actor)


def forget_within(
    connection: Connection, gateway: Gateway, account_id: int, *, actor: Actor, note: str = ""
) -> Account:
    """As :func:`forget_second_factors`, in a writing transaction of the caller, who has asked for leave.

    :param note: stands before what the audit record says.
    """
    forgotten: dict[str, Any] = {"tf_primary_method": None, "tf_totp_secret": None}
    forgotten |= {"fs_uniquifier": new_uniquifier()}
    account = change_account(connection, gateway, account_id, forgotten, actor=actor, note=note)
    passkeys = OperatorPasskey.operator_id == account_id
    removed = list(connection.scalars(select(OperatorPasskey.name).where(passkeys)))
    connection.execute(delete(OperatorPasskey).where(passkeys))
    connection.execute(delete(OperatorRecoveryCode).where(OperatorRecoveryCode.operator_id == account_id))
    if removed:
        subject, detail = f"operator {account.email}", "forgotten: " + ", ".join(removed)
        now = gateway.clock()
        record(connection, gateway.audit_keys, actor, "passkey.remove", subject, now=now, detail=detail)
    return account


def accounts_that_have_passkeys(gateway: Gateway) -> frozenset[int]:
    """The ids of the accounts that have a passkey."""
    with reading(gateway.engine) as connection:
        return accounts_with_passkeys(connection)


def second_factor_demanded(gateway: Gateway) -> bool:
    """Whether every account must have a second factor."""
    with reading(gateway.engine) as connection:
        return second_factor_is_demanded(connection)


def demand_second_factor(gateway: Gateway, account_id: int, *, actor: Actor) -> None:
    """Demand a second factor of every account, at once also where ``TWO_PERSONS`` names accounts.

    Who has none is signed out, and sets one up at the next sign-in.

    :param account_id: who demands it. They must have one, so that they know what they ask.
    :raises AccountRefused: they have none.
    """
    with writing(gateway.engine) as connection:
        if second_factor_is_demanded(connection):
            return
        with_one = select(Operator.id).where(has_second_factor())
        if connection.scalar(with_one.where(Operator.id == account_id)) is None:
            raise AccountRefused(
                "Set up a second factor for your own account before you require one for everyone."
            )
        without = OperatorSession.operator_id.not_in(with_one)
        ended = end_sessions(connection, gateway.clock(), SessionEnd.SECOND_FACTOR, without)
        detail = f"{ended} sessions without a second factor ended"
        _keep_rule(connection, gateway, demanded=True, actor=actor, detail=detail)


def relax_within(connection: Connection, gateway: Gateway, *, actor: Actor, note: str = "") -> int | None:
    """Demand a second factor of everyone no longer, in a writing transaction of the caller, who has leave.

    :param note: what the audit record says.
    :returns: the id of the record; None where nothing was demanded.
    """
    if not second_factor_is_demanded(connection):
        return None
    return _keep_rule(connection, gateway, demanded=False, actor=actor, detail=note)


def relaxing() -> AuditedChange:
    """What demanding a second factor no longer changes."""
    return _change(demanded=False)


def _change(*, demanded: bool) -> AuditedChange:
    return AuditedChange(RULE, {"demanded": not demanded}, {"demanded": demanded})


def _keep_rule(connection: Connection, gateway: Gateway, *, demanded: bool, actor: Actor, detail: str) -> int:
    upsert(connection, OperatorRules, [{"id": _RULES_ID, "second_factor_required": demanded}])
    return record(
        connection,
        gateway.audit_keys,
        actor,
        "operators.rules",
        RULE,
        now=gateway.clock(),
        detail=detail,
        changes=[_change(demanded=demanded)],
    )
