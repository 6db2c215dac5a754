"""contracts of pegged pairs and sends, ids of withdraws, powers of nought

Powers of 0 in stored evidence become one zero byte. The ids of refund requests that were reported before are
written by ``events replay``. All that was reported of a refund is its basis until it is folded next.
"""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import add_columns, refuse_rows_offline, without_transaction

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

SQUAWK = {"adding-not-nullable-field": "pegged_pairs has tens of rows"}

NO_BYTE, ZERO_BYTE = "", "AA=="

REFUNDS = sa.table("refunds", sa.column("transfer_id", sa.LargeBinary()), sa.column("powers", sa.JSON()))


def upgrade() -> None:
    _add_further_contracts()
    add_columns("transfers", sa.Column("contract", sa.String(128), nullable=True))
    op.create_table(
        "withdraw_ids",
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.Column("withdraw_id", sa.LargeBinary(32), nullable=False),
        sa.Column("paid", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_withdraw_ids_transfer_id_transfers"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", "withdraw_id", name=op.f("pk_withdraw_ids")),
        if_not_exists=True,
    )
    op.create_index(op.f("ix_withdraw_ids_withdraw_id"), "withdraw_ids", ["withdraw_id"], if_not_exists=True)
    op.create_table(
        "pruned_withdraws",
        sa.Column("withdraw_id", sa.LargeBinary(32), nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("withdraw_id", "transfer_id", name=op.f("pk_pruned_withdraws")),
        if_not_exists=True,
    )
    op.create_table(
        "refund_basis",
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.Column("event_id", sa.String(256), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_refund_basis_transfer_id_transfers"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", "event_id", name=op.f("pk_refund_basis")),
        if_not_exists=True,
    )
    with without_transaction():  # the log is read, which must not keep the tables above locked
        op.execute(
            "INSERT INTO refund_basis (transfer_id, event_id) SELECT DISTINCT e.transfer_id, e.event_id"
            " FROM events e JOIN transfers t ON t.transfer_id = e.transfer_id"
            " WHERE e.type IN ('refund.prepared', 'refund.signed') ON CONFLICT DO NOTHING"
        )
        _write_powers_of_nought(NO_BYTE, ZERO_BYTE)


def downgrade() -> None:
    op.drop_table("refund_basis")
    op.drop_table("pruned_withdraws")
    op.drop_table("withdraw_ids")
    _write_powers_of_nought(ZERO_BYTE, NO_BYTE)
    # Never in a batch, which on SQLite drops the table, and the rows of others that hang on it.
    op.drop_column("transfers", "contract")
    op.drop_column("pegged_pairs", "burn_contracts")
    op.drop_column("pegged_pairs", "deposit_contracts")


def _add_further_contracts() -> None:
    names = ("deposit_contracts", "burn_contracts")
    for name in names:
        add_columns("pegged_pairs", sa.Column(name, sa.JSON(), nullable=True))
        op.execute(f"UPDATE pegged_pairs SET {name} = '[]' WHERE {name} IS NULL")  # noqa: S608  names of this file
    with op.batch_alter_table("pegged_pairs") as batch_op:
        for name in names:
            batch_op.alter_column(name, existing_type=sa.JSON(), nullable=False)


def _write_powers_of_nought(old: str, new: str) -> None:
    if refuse_rows_offline("refunds"):
        return
    connection = op.get_bind()
    for row in connection.execute(sa.select(REFUNDS.c.transfer_id, REFUNDS.c.powers)).all():
        if old in row.powers:
            powers = [new if power == old else power for power in row.powers]
            connection.execute(
                sa.update(REFUNDS).where(REFUNDS.c.transfer_id == row.transfer_id).values(powers=powers)
            )
