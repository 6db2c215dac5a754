"""The secrets that subscriptions sign with, from their salts and the gateway's keys.

The keys are those of the audit log, which are kept outside of the database and can be replaced without
forgetting the former ones (docs/decisions/0042-webhooks.md).
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from app.domain.audit import key_id
from app.domain.webhooks.signature import secret_of
from app.runtime.audit_keys import AuditKeys


class SecretMissing(Exception):
    """The key that a secret follows from is not among the configured ones."""


def new_salt(keys: AuditKeys) -> dict[str, Any]:
    """The columns of a new secret.

    :raises AuditKeyUnusable: there is no key.
    """
    return {"salt": secrets.token_bytes(32), "key_id": key_id(keys.present)}


def secrets_of(keys: AuditKeys, row: Row[*tuple[Any, ...]], now: datetime) -> tuple[bytes, ...]:
    """What signs for a subscription now: its secret, and the former one while it is being replaced.

    :raises SecretMissing: the key of its secret is not configured any more.
    :raises AuditKeyUnusable: there is no key at all.
    """
    if row.key_id not in keys.by_id:
        raise SecretMissing(
            f"its secret follows from the key {row.key_id}, which is not configured: rotate it"
        )
    found = [secret_of(keys.by_id[row.key_id], row.salt)]
    if row.old_salt is not None and row.old_until > now and row.old_key_id in keys.by_id:
        found.append(secret_of(keys.by_id[row.old_key_id], row.old_salt))
    return tuple(found)
