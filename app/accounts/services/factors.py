"""Second factors: which accounts must have one, passkeys, recovery codes, and removing factors that their
owner has lost.

The database has the public half of a passkey, and each challenge is answered once. The console verifies the
signatures.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import Connection, delete, insert, or_, select, update

from app.accounts.models import (
    Operator,
    OperatorPasskey,
    OperatorRecoveryCode,
    OperatorRules,
    OperatorSession,
)
from app.accounts.queries import (
    account_where,
    count_recovery_codes,
    has_second_factor,
    passkey_by_credential,
    passkeys_of,
    second_factor_rule,
)
from app.accounts.rules.sessions import SessionEnd
from app.accounts.rules.sign_in import RECOVERY_CODES
from app.accounts.services.accounts import Account, AccountRefused
from app.accounts.services.sessions import end_sessions
from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, AuditedChange
from app.audit.services import record
from app.db.database import Database
from app.db.engine import reading, writing
from app.db.upserts import upsert

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
"""32 digits and letters without those that are mistaken for another: i, l, o, u."""

_GROUPS, _GROUP = 4, 4
"""16 digits of 5 bits: 80 bits, too many to try or to put into a table of digests."""

_MISTAKEN: Final = str.maketrans({"o": "0", "i": "1", "l": "1"})


def make_recovery_codes(
    database: Database, audit_keys: AuditKeys, operator_id: int, *, actor: Actor
) -> list[str]:
    """Make new recovery codes for the account, to be shown once; the old ones end."""
    codes = [_new_code() for _ in range(RECOVERY_CODES)]
    rows = [{"operator_id": operator_id, "digest": _digest(code)} for code in codes]
    with writing(database.engine) as connection:
        connection.execute(
            delete(OperatorRecoveryCode).where(OperatorRecoveryCode.operator_id == operator_id)
        )
        connection.execute(insert(OperatorRecoveryCode), rows)
        subject = f"operator {actor.name}"
        now, detail = database.clock(), f"{len(codes)} codes; earlier codes no longer work"
        record(connection, audit_keys, actor, "recovery_codes.make", subject, now=now, detail=detail)
    return codes


def recovery_codes_left(database: Database, operator_id: int) -> int:
    """How many of the account's codes are not used yet."""
    with reading(database.engine) as connection:
        return count_recovery_codes(connection, operator_id)


def use_recovery_code(
    database: Database, audit_keys: AuditKeys, operator_id: int, code: str, *, actor: Actor
) -> bool:
    """Use up one of the account's codes. Returns whether it was one.

    Of several requests with the same code, in any processes, only one gets True. Letter case, spaces and
    dashes do not count.
    """
    which = (OperatorRecoveryCode.operator_id == operator_id, OperatorRecoveryCode.digest == _digest(code))
    with writing(database.engine) as connection:
        if not connection.execute(delete(OperatorRecoveryCode).where(*which)).rowcount:
            return False
        left = count_recovery_codes(connection, operator_id)
        subject, detail = f"operator {actor.name}", f"{left} left"
        now = database.clock()
        record(connection, audit_keys, actor, "recovery_code.use", subject, now=now, detail=detail)
    return True


def _new_code() -> str:
    digits = [secrets.choice(_ALPHABET) for _ in range(_GROUPS * _GROUP)]
    return "-".join("".join(digits[start : start + _GROUP]) for start in range(0, len(digits), _GROUP))


def _digest(code: str) -> bytes:
    """SHA-256 of the code in its normal form. It needs no salt: a code has 80 random bits."""
    plain = "".join(code.lower().replace("-", "").split()).translate(_MISTAKEN)
    return hashlib.sha256(plain.encode()).digest()


_RULES_ID = 1

RULE: Final = "second factor for everyone"
"""Its name in records and proposals."""


def delete_factors(
    connection: Connection, database: Database, audit_keys: AuditKeys, account: Account, *, actor: Actor
) -> None:
    """Delete the account's passkeys and recovery codes; its one-time codes are columns of the account.

    :param connection: in a writing transaction of the caller, who has the permission.
    """
    passkeys = OperatorPasskey.operator_id == account.id
    removed = list(connection.scalars(select(OperatorPasskey.name).where(passkeys)))
    connection.execute(delete(OperatorPasskey).where(passkeys))
    connection.execute(delete(OperatorRecoveryCode).where(OperatorRecoveryCode.operator_id == account.id))
    if removed:
        subject, detail = f"operator {account.email}", "forgotten: " + ", ".join(removed)
        now = database.clock()
        record(connection, audit_keys, actor, "passkey.remove", subject, now=now, detail=detail)


def accounts_that_have_passkeys(database: Database) -> frozenset[int]:
    """The ids of the accounts that have a passkey."""
    with reading(database.engine) as connection:
        return frozenset(connection.scalars(select(OperatorPasskey.operator_id).distinct()))


def everyone_needs_second_factor(database: Database) -> bool:
    """Whether every account must have a second factor."""
    with reading(database.engine) as connection:
        return second_factor_rule(connection)


def demand_second_factor(database: Database, audit_keys: AuditKeys, account_id: int, *, actor: Actor) -> None:
    """Require a second factor of every account, at once even where ``TWO_PERSONS`` names accounts.

    Accounts without one are signed out, and set one up at the next sign-in.

    :param account_id: of the person who requires it. They must have one, so that they know what it means.
    :raises AccountRefused: they have none.
    """
    with writing(database.engine) as connection:
        if second_factor_rule(connection):
            return
        with_one = select(Operator.id).where(has_second_factor())
        if connection.scalar(with_one.where(Operator.id == account_id)) is None:
            raise AccountRefused(
                "Set up a second factor for your own account before you require one for everyone."
            )
        without = OperatorSession.operator_id.not_in(with_one)
        ended = end_sessions(connection, database.clock(), SessionEnd.SECOND_FACTOR, without)
        detail = f"{ended} sessions without a second factor ended"
        store_rule(connection, database, audit_keys, demanded=True, actor=actor, detail=detail)


def change_of_rule(*, demanded: bool) -> AuditedChange:
    """The change of the rule, for previews and the audit log."""
    return AuditedChange(RULE, {"demanded": not demanded}, {"demanded": demanded})


def store_rule(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    *,
    demanded: bool,
    actor: Actor,
    detail: str,
) -> int:
    """Write whether every account must have a second factor, in a writing transaction of the permitted
    caller. Returns the id of the audit record.

    :param detail: the text of the record.
    """
    upsert(connection, OperatorRules, [{"id": _RULES_ID, "second_factor_required": demanded}])
    now, change = database.clock(), change_of_rule(demanded=demanded)
    return record(
        connection, audit_keys, actor, "operators.rules", RULE, now=now, detail=detail, changes=[change]
    )


MOST_PASSKEYS: Final = 20
"""Of one account. More would come from a program, not from a person."""


class PasskeyRefused(ValueError):
    """A passkey is not added or removed; the message says why."""


class NewPasskey(Struct, frozen=True):
    """What a browser has registered, checked."""

    name: str
    credential_id: bytes
    public_key: bytes
    sign_count: int
    transports: list[str]
    synced: bool


class Passkey(NewPasskey, frozen=True):
    """A passkey of an account."""

    id: int
    operator_id: int
    created_at: datetime
    last_used_at: datetime | None
    challenge_at: datetime | None


def list_passkeys(database: Database, operator_id: int) -> list[Passkey]:
    """The account's passkeys, the oldest first."""
    with reading(database.engine) as connection:
        return [Passkey(**row) for row in passkeys_of(connection, operator_id)]


def find_passkey(database: Database, credential_id: bytes) -> Passkey | None:
    """The passkey with this credential id, of any account."""
    with reading(database.engine) as connection:
        row = passkey_by_credential(connection, credential_id)
    return None if row is None else Passkey(**row)


def add_passkey(
    database: Database, audit_keys: AuditKeys, operator_id: int, new: NewPasskey, *, actor: Actor
) -> None:
    """Store a passkey that was just registered.

    :raises PasskeyRefused: its name or the passkey is taken, or the account has too many.
    """
    now = database.clock()
    with writing(database.engine) as connection:
        own = passkeys_of(connection, operator_id)
        if any(row["name"] == new.name for row in own):
            raise PasskeyRefused(f"You already have a passkey “{new.name}”. Enter another name.")
        if len(own) >= MOST_PASSKEYS:
            raise PasskeyRefused(f"An account can have {MOST_PASSKEYS} passkeys at most. Remove one first.")
        if passkey_by_credential(connection, new.credential_id) is not None:
            raise PasskeyRefused("That passkey is already registered.")
        row = asdict(new) | {"operator_id": operator_id, "created_at": now}
        connection.execute(insert(OperatorPasskey).values(row))
        subject = f"operator {actor.name}"
        record(connection, audit_keys, actor, "passkey.add", subject, now=now, detail=new.name)


def remove_passkey(
    database: Database, audit_keys: AuditKeys, operator_id: int, name: str, *, actor: Actor
) -> None:
    """Remove one of the account's passkeys.

    :raises PasskeyRefused: there is none of this name, or it is the last factor where one is demanded.
    """
    where = (OperatorPasskey.operator_id == operator_id, OperatorPasskey.name == name)
    with writing(database.engine) as connection:
        if refusal := _why_it_stays(connection, operator_id):
            raise PasskeyRefused(refusal)
        if not connection.execute(delete(OperatorPasskey).where(*where)).rowcount:
            raise PasskeyRefused(f"You have no passkey “{name}”. Reload the page.")
        subject = f"operator {actor.name}"
        now = database.clock()
        record(connection, audit_keys, actor, "passkey.remove", subject, now=now, detail=name)


def use_passkey(database: Database, passkey_id: int, challenge_at: datetime, sign_count: int) -> bool:
    """Mark a challenge, by the time when it was made, as answered. Returns whether it was still open.

    Of several requests with the same answer, in any processes, only one gets True. A challenge older than one
    that was already answered is not open either.
    """
    challenge = OperatorPasskey.challenge_at
    still_open = or_(challenge.is_(None), challenge < challenge_at)
    used = {"challenge_at": challenge_at, "sign_count": sign_count, "last_used_at": database.clock()}
    with writing(database.engine) as connection:
        result = connection.execute(
            update(OperatorPasskey).where(OperatorPasskey.id == passkey_id, still_open).values(used)
        )
        return result.rowcount == 1


def _why_it_stays(connection: Connection, operator_id: int) -> str | None:
    account = account_where(connection, Operator.id == operator_id)
    if account is None:
        return "This account no longer exists."
    demanded = account["second_factor_required"] or second_factor_rule(connection)
    if demanded and not account["tf_totp_secret"] and len(passkeys_of(connection, operator_id)) == 1:
        return "It is your only second factor, and your account needs one. Set up another one first."
    return None
