"""Since when a chain is stopped; of those that are stopped already as the audit log tells it."""

import json
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from app.db.migrating import refuse_rows_offline

revision = "0025"
down_revision = "0023"
branch_labels = None
depends_on = None

CHUNK = 200

CHAINS = sa.table(
    "chains",
    sa.column("chain_id", sa.BigInteger),
    sa.column("disabled", sa.Boolean),
    sa.column("disabled_at"),
)
RECORDS = sa.table(
    "audit_records",
    sa.column("id", sa.BigInteger),
    sa.column("at"),
    sa.column("action"),
    sa.column("changes"),
)
MADE = sa.or_(RECORDS.c.action.like("network.%"), RECORDS.c.action == "sandbox.load")


def upgrade() -> None:
    # The audit log is read first: from the new column on, nobody can read the chains until the end.
    found = {} if refuse_rows_offline("audit_records") else records_of_stops(op.get_bind())
    op.add_column("chains", sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True))
    for chain_id, record_id in found.items():
        at = sa.select(RECORDS.c.at).where(RECORDS.c.id == record_id).scalar_subquery()
        op.execute(sa.update(CHAINS).where(CHAINS.c.chain_id == chain_id).values(disabled_at=at))


def downgrade() -> None:
    op.drop_column("chains", "disabled_at")


def records_of_stops(connection: sa.Connection) -> dict[int, int]:
    """The chains that are stopped, each with the last record that stopped it."""
    open_ = set(connection.scalars(sa.select(CHAINS.c.chain_id).where(CHAINS.c.disabled)))
    found: dict[int, int] = {}
    for record_id, chain_id in stops(connection):
        if chain_id in open_:
            found.setdefault(chain_id, record_id)
        if len(found) == len(open_):
            break
    return found


def stops(connection: sa.Connection) -> Iterator[tuple[int, int]]:
    """The records that stopped a chain, newest first, each with the chain."""
    last: int | None = None
    while True:
        page = sa.select(RECORDS.c.id, RECORDS.c.changes).where(MADE).order_by(RECORDS.c.id.desc())
        records = connection.execute(
            (page if last is None else page.where(RECORDS.c.id < last)).limit(CHUNK)
        ).all()
        if not records:
            return
        last = records[-1].id
        for record in records:
            yield from ((record.id, chain_id) for chain_id in stopped_by(record.changes))


def stopped_by(changes: str) -> Iterator[int]:
    """The chains that changes stopped; any text that the gateway did not write names none."""
    try:
        read = json.loads(changes)
    except ValueError:
        return
    for change in (each for each in (read if isinstance(read, list) else ()) if isinstance(each, dict)):
        before, after = change.get("before") or {}, change.get("after") or {}
        is_chain = change.get("subject") == f"chain {after.get('id')}"
        if is_chain and after.get("disabled") is True and before.get("disabled") is not True:
            yield after["id"]
