"""What transfers are listed by: their accounts and since when, and what each receiver was paid.

On PostgreSQL every row of ``transfers`` is written once, a range of ids at a time: some minutes at ten
million transfers, about the same for the list of accounts. VACUUM the table afterwards.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from alembic import op

from app.db.migrating import add_columns, by_range, is_postgresql, refuse_rows_offline, without_transaction

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

CHUNK = 5_000
EXACT = sa.Text().with_variant(sa.Numeric(), "postgresql")
UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TRANSFERS = sa.table(
    "transfers",
    sa.column("transfer_id", sa.LargeBinary(32)),
    sa.column("symbol", sa.String(64)),
    sa.column("src_chain_id", sa.BigInteger()),
    sa.column("dst_chain_id", sa.BigInteger()),
    sa.column("amount", EXACT),
    sa.column("sender", sa.String(128)),
    sa.column("receiver", sa.String(128)),
    sa.column("began_at", sa.DateTime(timezone=True)),
    sa.column("released_at", sa.DateTime(timezone=True)),
    sa.column("received_amount", EXACT),
)
EVENTS = sa.table(
    "events",
    sa.column("event_id", sa.String(128)),
    sa.column("seq", sa.BigInteger()),
    sa.column("transfer_id", sa.LargeBinary(32)),
    sa.column("type", sa.String(32)),
    sa.column("at", sa.DateTime(timezone=True)),
    sa.column("body", sa.Text()),
)
ASCII_ONLY = "octet_length({0}) = char_length({0})"
ASCII_ONLY_SQLITE = "length(CAST({0} AS BLOB)) = length({0})"


def upgrade() -> None:
    op.create_table(
        "transfer_accounts",
        sa.Column("account", sa.String(length=384), nullable=False),
        sa.Column("began_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("account", "began_ms", "transfer_id", name=op.f("pk_transfer_accounts")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )
    # Without a batch: SQLite would write the table anew, and dropping the old one empties what refers to it.
    add_columns(
        "transfers",
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("received_amount", EXACT, nullable=True),
    )
    with without_transaction():
        pass  # commits: the rows are written after the lock on their table has gone
    _fill_times_and_pool_payouts()
    _fill_accounts()
    if refuse_rows_offline("transfers"):
        return
    with without_transaction():
        _fill_other_payouts()
        _fold_in_python()


def downgrade() -> None:
    op.drop_column("transfers", "received_amount")
    op.drop_column("transfers", "began_at")
    op.drop_table("transfer_accounts")


def _fill_times_and_pool_payouts() -> None:
    """The earliest submission or send that no operator retracted; without a log, what the row has."""
    by_range(
        "transfers",
        "transfer_id",
        """
        UPDATE transfers SET
            received_amount = relayed_amount,
            began_at = coalesce(
                (
                    SELECT min(e.at) FROM events AS e
                    WHERE e.transfer_id = transfers.transfer_id
                        AND e.type IN ('transfer.submitted', 'transfer.sent')
                        AND NOT EXISTS (
                            SELECT 1 FROM retracted_events AS r
                            WHERE r.event_id = e.event_id AND r.seq >= e.seq
                        )
                ),
                sent_at,
                updated_at
            )
        WHERE src_chain_id IS NOT NULL AND {range}
        """,
    )


def _fill_other_payouts() -> None:
    """What other releases paid: what the event says, else the amount sent in destination units."""
    connection = op.get_bind()
    tokens = connection.execute(sa.text("SELECT chain_id, symbol, decimal FROM tokens")).all()
    decimals = {(row.chain_id, row.symbol): row.decimal for row in tokens}
    exact = Decimal if connection.dialect.name == "postgresql" else str
    change = (
        TRANSFERS.update()
        .where(TRANSFERS.c.transfer_id == sa.bindparam("id"))
        .values(received_amount=sa.bindparam("paid"))
    )
    for rows in _released_without_payout(connection):
        paid = [(bytes(row.transfer_id), _paid(row, decimals)) for row in rows]
        known = [
            {"id": transfer_id, "paid": exact(amount)} for transfer_id, amount in paid if amount is not None
        ]
        if known:
            connection.execute(change, known)


def _released_without_payout(connection: sa.Connection) -> Iterator[list[Any]]:
    """A chunk at a time, in the order of ids, each with the body of the release that counts."""
    body = (
        sa.select(EVENTS.c.body)
        .where(EVENTS.c.transfer_id == TRANSFERS.c.transfer_id)
        .where(EVENTS.c.type == "transfer.released", EVENTS.c.at == TRANSFERS.c.released_at)
        .order_by(EVENTS.c.event_id, EVENTS.c.seq.desc())
        .limit(1)
        .scalar_subquery()
        .label("body")
    )
    wanted = (
        sa.select(
            *(TRANSFERS.c[n] for n in ("transfer_id", "symbol", "src_chain_id", "dst_chain_id", "amount")),
            body,
        )
        .where(TRANSFERS.c.released_at.is_not(None), TRANSFERS.c.received_amount.is_(None))
        .order_by(TRANSFERS.c.transfer_id)
        .limit(CHUNK)
    )
    last = b""
    while rows := connection.execute(wanted.where(TRANSFERS.c.transfer_id > last)).all():
        last = bytes(rows[-1].transfer_id)
        yield list(rows)


def _paid(row: Any, decimals: dict[tuple[int, str], int]) -> int | None:
    said = json.loads(row.body).get("amount") if row.body else None
    if said is not None:
        return int(said)
    src, dst = (decimals.get((chain_id, row.symbol)) for chain_id in (row.src_chain_id, row.dst_chain_id))
    if row.amount is None or src is None or dst is None:
        return None
    paid: int = int(row.amount) * 10**dst // 10**src
    return paid


def _fill_accounts() -> None:
    """An entry for the sender, and one for the receiver where it is another account.

    Letter case is folded by SQL where text is ASCII, which nearly all is, and by Python elsewhere: the
    databases do not agree on other alphabets.
    """
    if is_postgresql():
        fold, ascii_only = 'lower({} COLLATE "C")', ASCII_ONLY
        ms = "CAST(extract(epoch FROM date_trunc('milliseconds', began_at)) * 1000 AS bigint)"
    else:
        fold, ascii_only = "lower({})", ASCII_ONLY_SQLITE
        ms = (
            "CAST(strftime('%s', substr(began_at, 1, 19)) AS INTEGER) * 1000"
            " + CAST(substr(began_at, 21, 3) AS INTEGER)"
        )
    for party, other in (("sender", None), ("receiver", "sender")):
        only_new = f"AND ({other} IS NULL OR {fold.format(party)} <> {fold.format(other)})" if other else ""
        by_range(
            "transfers",
            "transfer_id",
            f"""
            INSERT INTO transfer_accounts (account, began_ms, transfer_id)
            SELECT {fold.format(party)}, {ms}, transfer_id FROM transfers
            WHERE began_at IS NOT NULL AND {party} <> '' AND {ascii_only.format(party)} {only_new}
                AND {{range}}
            ORDER BY 1, 2
            ON CONFLICT DO NOTHING
            """,  # noqa: S608  constants of this file
        )


def _fold_in_python() -> None:
    connection = op.get_bind()
    ascii_only = ASCII_ONLY if is_postgresql() else ASCII_ONLY_SQLITE
    rest = " OR ".join(f"NOT ({ascii_only.format(party)})" for party in ("sender", "receiver"))
    columns = (TRANSFERS.c[name] for name in ("transfer_id", "began_at", "sender", "receiver"))
    wanted = sa.select(*columns).where(TRANSFERS.c.began_at.is_not(None), sa.text(f"({rest})"))
    entries = {
        (party.casefold(), _milliseconds(row.began_at), bytes(row.transfer_id))
        for row in connection.execute(wanted)
        for party in (row.sender, row.receiver)
        if party and not party.isascii()
    }
    if entries:
        names = ("account", "began_ms", "transfer_id")
        written = sa.text(
            "INSERT INTO transfer_accounts (account, began_ms, transfer_id)"
            " VALUES (:account, :began_ms, :transfer_id) ON CONFLICT DO NOTHING"
        )
        connection.execute(written, [dict(zip(names, entry, strict=True)) for entry in entries])


def _milliseconds(at: datetime) -> int:
    return (at.replace(tzinfo=at.tzinfo or UTC) - UNIX_EPOCH) // timedelta(milliseconds=1)
