"""what clients are told of chains, tokens and pairs; tokens of pairs; fees that are not known

Going down removes what the schema before cannot hold: routes and pairs whose fees are not known, and pairs
with a token that its chain does not list. A fee of 0 in their place would be wrong.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

SQUAWK = {
    "ban-drop-not-null": "the code before never writes none, and none is written until an operator does",
    "ban-drop-constraint": "pegged_pairs has tens of rows, and the successor follows at once",
    "adding-foreign-key-constraint": "pegged_pairs has tens of rows, chains about as many",
    "constraint-missing-not-valid": "pegged_pairs has tens of rows, chains about as many",
}

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
AMOUNT = sa.Text().with_variant(sa.Numeric(), "postgresql")


def text(name: str, length: int, default: str) -> sa.Column:
    return sa.Column(name, sa.String(length), nullable=False, server_default=default)


def flag(name: str) -> sa.Column:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false())


def data(name: str, default: str) -> sa.Column:
    return sa.Column(name, sa.JSON(), nullable=False, server_default=default)


def of_chains() -> list[sa.Column]:
    return [
        text("tx_path", 64, "/tx/"),
        text("drop_gas_cost_amt", 128, "0"),
        text("drop_gas_balance_alert", 128, "0"),
        text("suggested_gas_cost", 128, "0"),
        data("flat_usd_fee", "0"),
        text("farming_reward_contract_addr", 128, ""),
        text("transfer_agent_contract_addr", 128, ""),
        data("extra", "{}"),
    ]


def of_tokens() -> list[sa.Column]:
    return [
        flag("pool_disabled"),
        flag("transfer_disabled"),
        sa.Column("min_send", AMOUNT, nullable=True),
        sa.Column("max_send", AMOUNT, nullable=True),
        flag("liq_add_disabled"),
        flag("liq_rm_disabled"),
        flag("liq_agg_rm_src_disabled"),
        text("delay_threshold", 128, ""),
        sa.Column("delay_period", sa.BigInteger(), nullable=False, server_default="0"),
        data("extra", "{}"),
    ]


OF_PAIRS = ("org_token", "pegged_token", "extra")
SIDES = ("org_chain_id", "pegged_chain_id")


def upgrade() -> None:
    # Other tables hang on these two: never in a batch, which on SQLite drops the table.
    for table, columns in (("chains", of_chains()), ("tokens", of_tokens())):
        for column in columns:
            op.add_column(table, column)
    with op.batch_alter_table("routes") as batch_op:
        batch_op.alter_column("base_fee", existing_type=AMOUNT, nullable=True)
        batch_op.alter_column("perc_fee_tiers", existing_type=sa.JSON(), nullable=True)
    with op.batch_alter_table("pegged_pairs") as batch_op:
        for name in OF_PAIRS:
            batch_op.add_column(data(name, "{}"))
        batch_op.add_column(text("migration_peg_burn_contract_addr", 128, ""))
        for name in ("deposit_base_fee", "burn_base_fee"):
            batch_op.alter_column(name, existing_type=AMOUNT, nullable=True)
        batch_op.alter_column("perc_fee_tiers", existing_type=sa.JSON(), nullable=True)
        for side in SIDES:
            batch_op.drop_constraint(op.f(f"fk_pegged_pairs_{side}_symbol"), type_="foreignkey")
            batch_op.create_foreign_key(
                op.f(f"fk_pegged_pairs_{side}_chains"), "chains", [side], ["chain_id"]
            )
    op.create_table(
        "config_fields",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_config_fields")),
        sa.UniqueConstraint("name", name=op.f("uq_config_fields_name")),
    )


def downgrade() -> None:
    op.drop_table("config_fields")
    op.execute("DELETE FROM routes WHERE base_fee IS NULL OR perc_fee_tiers IS NULL")
    op.execute(
        "DELETE FROM pegged_pairs"
        " WHERE deposit_base_fee IS NULL OR burn_base_fee IS NULL OR perc_fee_tiers IS NULL"
    )
    op.execute(
        "DELETE FROM pegged_pairs WHERE 2 > (SELECT count(*) FROM tokens"
        " WHERE tokens.symbol = pegged_pairs.symbol"
        " AND tokens.chain_id IN (pegged_pairs.org_chain_id, pegged_pairs.pegged_chain_id))"
    )
    with op.batch_alter_table("pegged_pairs") as batch_op:
        for side in SIDES:
            batch_op.drop_constraint(op.f(f"fk_pegged_pairs_{side}_chains"), type_="foreignkey")
            batch_op.create_foreign_key(
                op.f(f"fk_pegged_pairs_{side}_symbol"), "tokens", [side, "symbol"], ["chain_id", "symbol"]
            )
        batch_op.alter_column("perc_fee_tiers", existing_type=sa.JSON(), nullable=False)
        for name in ("deposit_base_fee", "burn_base_fee"):
            batch_op.alter_column(name, existing_type=AMOUNT, nullable=False)
        batch_op.drop_column("migration_peg_burn_contract_addr")
        for name in OF_PAIRS:
            batch_op.drop_column(name)
    with op.batch_alter_table("routes") as batch_op:
        batch_op.alter_column("perc_fee_tiers", existing_type=sa.JSON(), nullable=False)
        batch_op.alter_column("base_fee", existing_type=AMOUNT, nullable=False)
    for table, columns in (("chains", of_chains()), ("tokens", of_tokens())):
        for column in reversed(columns):
            op.drop_column(table, column.name)
