"""The keys that encrypt the secrets of one-time codes, and moving those secrets to the newest one.

They are derived from ``SECRET_KEY`` and from its predecessors. Each encrypted secret names its key, by an
HMAC of the key: a number would have to be the same on every machine. The cipher has no check sum, so the
wrong key gives a wrong secret and no error.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from passlib.totp import TOTP
from sqlalchemy import update

from app.accounts.models import Operator
from app.accounts.queries import all_accounts
from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, key_id
from app.audit.services import record
from app.db.database import Database
from app.db.engine import reading, writing

UNNAMED: Final = "1"
"""What the first versions wrote instead of a key's name. It does not say which key."""


class KeyNotNamed(ValueError):
    """Some secrets do not say which of several keys encrypts them. Nothing was changed."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} secrets do not name their key")
        self.count = count


class Reencrypted(Struct, frozen=True):
    """The result for the secrets of one-time codes: how many were moved to the present key, how many were
    under it already, and the accounts whose secret needs a key that is not configured, by their email.
    """

    moved: int
    already: int
    unreadable: tuple[str, ...]


def derived(secret_key: str, purpose: str) -> str:
    """A separate key for each purpose, as 64 hexadecimal digits."""
    return hmac.new(secret_key.encode(), purpose.encode(), hashlib.sha256).hexdigest()


class CodeKeys:
    """The key for new secrets, and its predecessors."""

    def __init__(self, present: str, old: Sequence[str]) -> None:
        """Derive them.

        :param present: ``SECRET_KEY``.
        :param old: ``SECRET_KEYS_OLD``.
        """
        derivatives = [derived(key, "one-time codes") for key in (*old, present)]
        self.by_name: Mapping[str, str] = {key_id(key.encode()): key for key in derivatives}
        self.oldest, self.present = (key_id(derivatives[at].encode()) for at in (0, -1))

    def named(self, secret: str, name: str) -> str:
        """The encrypted secret, marked with the name of this key instead of any other."""
        document = json.loads(secret)
        document["enckey"]["t"] = name
        return json.dumps(document)

    def readings(self, secret: str) -> list[str]:
        """The encrypted secret, marked with each known key that may have encrypted it: several only if it
        names none.
        """
        name = key_name(secret)
        return [self.named(secret, known) for known in self.by_name if name in (known, UNNAMED)]

    def factory(self) -> Any:
        """Passlib's class of one-time codes, which encrypts with the present key and decrypts with all."""
        made = TOTP.using(secrets=dict(self.by_name))
        made.wallet.default_tag = self.present  # passlib would take the last one by the alphabet
        return made


def key_name(secret: str) -> str:
    """The name of the key that encrypts the secret."""
    return str(json.loads(secret)["enckey"]["t"])


def reencrypt(
    database: Database, audit_keys: AuditKeys, keys: CodeKeys, *, actor: Actor, unnamed: str | None = None
) -> Reencrypted:
    """Encrypt every secret of one-time codes with the present key. It can be repeated.

    Codes and sessions stay valid. A secret that is changed meanwhile is left, and counted in neither number.

    :param unnamed: the name of the key of the secrets that name none; optional where there is one key.
    :raises KeyNotNamed: it is missing, there are several keys, and some secrets name none.
    """
    with reading(database.engine) as connection:
        accounts = [(row["id"], row["email"], row["tf_totp_secret"]) for row in all_accounts(connection)]
    secrets = {number: secret for number, _email, secret in accounts if secret}
    ambiguous = unnamed is None and len(keys.by_name) > 1
    if ambiguous and (found := sum(key_name(secret) == UNNAMED for secret in secrets.values())):
        raise KeyNotNamed(found)
    totp = keys.factory()
    moved: dict[int, str] = {}
    already, unreadable = 0, []
    for number, email, secret in accounts:
        if not secret:
            continue
        name = key_name(secret)
        readable = keys.named(secret, unnamed or keys.present) if name == UNNAMED else secret
        if name == keys.present:
            already += 1
        elif key_name(readable) not in keys.by_name:
            unreadable.append(email)
        else:
            moved[number] = totp.from_json(readable).to_json(encrypt=True)
    return Reencrypted(_store(database, audit_keys, secrets, moved, actor), already, tuple(unreadable))


def _store(
    database: Database,
    audit_keys: AuditKeys,
    before: Mapping[int, str],
    moved: Mapping[int, str],
    actor: Actor,
) -> int:
    """Write the secrets that are still as they were read. Returns how many."""
    if not moved:
        return 0
    with writing(database.engine) as connection:
        stored = 0
        for number, secret in moved.items():
            unchanged = (Operator.id == number, Operator.tf_totp_secret == before[number])
            statement = update(Operator).where(*unchanged).values(tf_totp_secret=secret)
            stored += connection.execute(statement).rowcount
        if stored:
            detail = f"secrets of one-time codes encrypted with the present key: {stored}"
            record(
                connection,
                audit_keys,
                actor,
                "operator.reencrypt",
                "operators",
                now=database.clock(),
                detail=detail,
            )
    return stored
