"""Recovery codes: for whoever has lost the second factor. Each works once; only digests are kept."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from sqlalchemy import delete, insert

from app.db.engine import reading, writing
from app.domain.audit import Actor
from app.domain.operators import RECOVERY_CODES
from app.models.factors import OperatorRecoveryCode
from app.queries.operators import count_recovery_codes
from app.runtime.gateway import Gateway
from app.services.audit.record import record

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
"""32 digits and letters without those that are mistaken for another: i, l, o, u."""

_GROUPS, _GROUP = 4, 4
"""16 digits of 5 bits: 80 bits, more than anybody tries and any table of digests holds."""

_MISTAKEN: Final = str.maketrans({"o": "0", "i": "1", "l": "1"})


def make_recovery_codes(gateway: Gateway, operator_id: int, *, actor: Actor) -> list[str]:
    """New recovery codes for the account, to be shown this once; the old ones end."""
    codes = [_new_code() for _ in range(RECOVERY_CODES)]
    rows = [{"operator_id": operator_id, "digest": _digest(code)} for code in codes]
    with writing(gateway.engine) as connection:
        connection.execute(
            delete(OperatorRecoveryCode).where(OperatorRecoveryCode.operator_id == operator_id)
        )
        connection.execute(insert(OperatorRecoveryCode), rows)
        subject = f"operator {actor.name}"
        now, detail = gateway.clock(), f"{len(codes)} codes; earlier codes no longer work"
        record(connection, gateway.audit_keys, actor, "recovery_codes.make", subject, now=now, detail=detail)
    return codes


def recovery_codes_left(gateway: Gateway, operator_id: int) -> int:
    """How many of the account's codes are not used yet."""
    with reading(gateway.engine) as connection:
        return count_recovery_codes(connection, operator_id)


def use_recovery_code(gateway: Gateway, operator_id: int, code: str, *, actor: Actor) -> bool:
    """Use up one of the account's codes; whether it was one.

    Of several requests with the same code, in any processes, only one gets True. Letter case, spaces and
    dashes do not count.
    """
    table = OperatorRecoveryCode
    which = (table.operator_id == operator_id, table.digest == _digest(code))
    with writing(gateway.engine) as connection:
        if not connection.execute(delete(table).where(*which)).rowcount:
            return False
        left = count_recovery_codes(connection, operator_id)
        subject, detail = f"operator {actor.name}", f"{left} left"
        now = gateway.clock()
        record(connection, gateway.audit_keys, actor, "recovery_code.use", subject, now=now, detail=detail)
    return True


def _new_code() -> str:
    digits = [secrets.choice(_ALPHABET) for _ in range(_GROUPS * _GROUP)]
    return "-".join("".join(digits[start : start + _GROUP]) for start in range(0, len(digits), _GROUP))


def _digest(code: str) -> bytes:
    """SHA-256 of the code as it was meant. It needs no salt: a code has 80 random bits."""
    plain = "".join(code.lower().replace("-", "").split()).translate(_MISTAKEN)
    return hashlib.sha256(plain.encode()).digest()
