"""Second factors as a whole: who must have one, and forgetting those that their owner has lost."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, select

from app.domain.audit import Actor, AuditedChange
from app.models.engine import reading, writing
from app.models.factors import OperatorPasskey, OperatorRecoveryCode, OperatorRules
from app.models.operators import Operator, OperatorSession
from app.models.upsert import upsert
from app.queries.operators.factors import (
    accounts_with_passkeys,
    has_second_factor,
    second_factor_is_demanded,
)
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.operators.accounts import Account, AccountRefused, change_account, new_uniquifier

_RULES_ID = 1
_SUBJECT = "second factor for everyone"


def forget_second_factors(gateway: Gateway, account_id: int, *, actor: Actor) -> Account:
    """Forget the account's one-time codes, passkeys and recovery codes, and end its sessions.

    :raises AccountRefused: there is no such account.
    """
    with writing(gateway.engine) as connection:
        return forget_within(connection, gateway, account_id, actor=actor)


def forget_within(connection: Connection, gateway: Gateway, account_id: int, *, actor: Actor) -> Account:
    """:func:`forget_second_factors` in a transaction of the caller."""
    forgotten: dict[str, Any] = {"tf_primary_method": None, "tf_totp_secret": None}
    forgotten |= {"fs_uniquifier": new_uniquifier()}
    account = change_account(connection, gateway, account_id, forgotten, actor=actor)
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


def demand_second_factor(gateway: Gateway, demanded: bool, account_id: int, *, actor: Actor) -> None:
    """Demand a second factor of every account, or no longer.

    Who has none is signed out, and sets one up at the next sign-in.

    :param account_id: who demands it. They must have one, so that they know what they ask.
    :raises AccountRefused: they have none.
    """
    now = gateway.clock()
    with writing(gateway.engine) as connection:
        if second_factor_is_demanded(connection) == demanded:
            return
        with_one = select(Operator.id).where(has_second_factor())
        detail = ""
        if demanded:
            if connection.scalar(with_one.where(Operator.id == account_id)) is None:
                raise AccountRefused("Set up a second factor of your own before you demand one of everyone.")
            without = OperatorSession.operator_id.not_in(with_one)
            ended = connection.execute(delete(OperatorSession).where(without)).rowcount
            detail = f"{ended} sessions without a second factor ended"
        upsert(connection, OperatorRules, [{"id": _RULES_ID, "second_factor_required": demanded}])
        change = AuditedChange(_SUBJECT, {"demanded": not demanded}, {"demanded": demanded})
        record(
            connection,
            gateway.audit_keys,
            actor,
            "operators.rules",
            _SUBJECT,
            now=now,
            detail=detail,
            changes=[change],
        )
