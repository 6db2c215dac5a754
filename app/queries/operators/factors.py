"""Which second factors does an account have, and what is demanded of all accounts?"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, RowMapping, func, or_, select

from app.models.factors import OperatorPasskey, OperatorRecoveryCode, OperatorRules
from app.models.operators import Operator


def passkeys_of(connection: Connection, operator_id: int) -> Sequence[RowMapping]:
    """All columns of the account's passkeys, the oldest first."""
    query = select(OperatorPasskey.__table__).where(OperatorPasskey.operator_id == operator_id)
    return connection.execute(query.order_by(OperatorPasskey.id)).mappings().all()


def passkey_by_credential(connection: Connection, credential_id: bytes) -> RowMapping | None:
    """All columns of the passkey with this credential id, whoever has it."""
    query = select(OperatorPasskey.__table__).where(OperatorPasskey.credential_id == credential_id)
    return connection.execute(query).mappings().one_or_none()


def accounts_with_passkeys(connection: Connection) -> frozenset[int]:
    """The ids of the accounts that have a passkey."""
    return frozenset(connection.scalars(select(OperatorPasskey.operator_id).distinct()))


def count_recovery_codes(connection: Connection, operator_id: int) -> int:
    """How many recovery codes the account has left."""
    counted = select(func.count()).select_from(OperatorRecoveryCode)
    return connection.scalar(counted.where(OperatorRecoveryCode.operator_id == operator_id)) or 0


def second_factor_is_demanded(connection: Connection) -> bool:
    """Whether every account must have a second factor."""
    return bool(connection.scalar(select(OperatorRules.second_factor_required)))


def has_second_factor() -> ColumnElement[bool]:
    """The condition that an account has one-time codes or a passkey."""
    passkey = select(OperatorPasskey.id).where(OperatorPasskey.operator_id == Operator.id)
    return or_(Operator.tf_totp_secret.is_not(None), passkey.exists())
