"""The network document: chains, tokens, pools, routes, blocks, pegged pairs, block lists, validators."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blocked_addresses",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("address", sa.String(128), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blocked_addresses")),
        sa.UniqueConstraint("address", name=op.f("uq_blocked_addresses_address")),
    )
    op.create_table(
        "blocked_networks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("cidr", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blocked_networks")),
        sa.UniqueConstraint("cidr", name=op.f("uq_blocked_networks_cidr")),
    )
    op.create_table(
        "chains",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("icon", sa.String(length=2048), nullable=False),
        sa.Column("block_delay", sa.BigInteger(), nullable=False),
        sa.Column("gas_token_symbol", sa.String(length=64), nullable=False),
        sa.Column("explore_url", sa.String(length=2048), nullable=False),
        sa.Column("contract_addr", sa.String(128), nullable=False),
        sa.Column("drop_gas_amt", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("minimal_max_slippage", sa.Integer(), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chains")),
        sa.UniqueConstraint("chain_id", name=op.f("uq_chains_chain_id")),
    )
    op.create_table(
        "network_parts",
        sa.Column("part", sa.String(length=32), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("part", name=op.f("pk_network_parts")),
    )
    op.create_table(
        "opening_validators",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("signer", sa.String(128), nullable=False),
        sa.Column("power", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(
            ["chain_id"], ["chains.chain_id"], name=op.f("fk_opening_validators_chain_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_opening_validators")),
        sa.UniqueConstraint("chain_id", "signer", name=op.f("uq_opening_validators_chain_id_signer")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("icon", sa.String(length=2048), nullable=False),
        sa.Column("address", sa.String(128), nullable=False),
        sa.Column("decimal", sa.Integer(), nullable=False),
        sa.Column("xfer_disabled", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["chain_id"], ["chains.chain_id"], name=op.f("fk_tokens_chain_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("chain_id", "symbol", name=op.f("uq_tokens_chain_id_symbol")),
    )
    op.create_table(
        "pegged_pairs",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("org_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("pegged_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("pegged_deposit_contract_addr", sa.String(128), nullable=False),
        sa.Column("pegged_burn_contract_addr", sa.String(128), nullable=False),
        sa.Column("canonical_token_contract_addr", sa.String(128), nullable=False),
        sa.Column("vault_version", sa.BigInteger(), nullable=False),
        sa.Column("bridge_version", sa.BigInteger(), nullable=False),
        sa.Column("deposit_base_fee", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("burn_base_fee", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("perc_fee_tiers", sa.JSON(), nullable=False),
        sa.CheckConstraint("org_chain_id <> pegged_chain_id", name=op.f("ck_pegged_pairs_two_chains")),
        sa.ForeignKeyConstraint(
            ["org_chain_id", "symbol"],
            ["tokens.chain_id", "tokens.symbol"],
            name=op.f("fk_pegged_pairs_org_chain_id_symbol"),
        ),
        sa.ForeignKeyConstraint(
            ["pegged_chain_id", "symbol"],
            ["tokens.chain_id", "tokens.symbol"],
            name=op.f("fk_pegged_pairs_pegged_chain_id_symbol"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pegged_pairs")),
        sa.UniqueConstraint(
            "symbol",
            "org_chain_id",
            "pegged_chain_id",
            name=op.f("uq_pegged_pairs_symbol_org_chain_id_pegged_chain_id"),
        ),
    )
    op.create_table(
        "pools",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("liquidity_added", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("liquidity_sent", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("liquidity_relayed", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("liquidity_withdrawn", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("total_cap", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=True),
        sa.Column("epoch_cap", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=True),
        sa.Column("epoch_seconds", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("epoch_seconds > 0", name=op.f("ck_pools_epoch_seconds")),
        sa.ForeignKeyConstraint(
            ["chain_id", "symbol"],
            ["tokens.chain_id", "tokens.symbol"],
            name=op.f("fk_pools_chain_id_symbol"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pools")),
        sa.UniqueConstraint("chain_id", "symbol", name=op.f("uq_pools_chain_id_symbol")),
    )
    op.create_table(
        "route_blocks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("src_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("both_directions", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.CheckConstraint("src_chain_id <> dst_chain_id", name=op.f("ck_route_blocks_two_chains")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_route_blocks")),
        sa.UniqueConstraint(
            "symbol",
            "src_chain_id",
            "dst_chain_id",
            name=op.f("uq_route_blocks_symbol_src_chain_id_dst_chain_id"),
        ),
    )
    op.create_table(
        "routes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("src_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("rate_model", sa.String(length=16), nullable=False),
        sa.Column("rate_value", sa.String(length=80), nullable=True),
        sa.Column("amplification", sa.Integer(), nullable=True),
        sa.Column("base_fee", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("base_fee_changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("base_fee_max_age_seconds", sa.BigInteger(), nullable=True),
        sa.Column("perc_fee_tiers", sa.JSON(), nullable=False),
        sa.CheckConstraint(
            "(rate_model = 'fixed' AND rate_value IS NOT NULL AND amplification IS NULL)"
            " OR (rate_model = 'stableswap' AND rate_value IS NULL AND amplification IS NOT NULL)",
            name=op.f("ck_routes_rate"),
        ),
        sa.CheckConstraint("src_chain_id <> dst_chain_id", name=op.f("ck_routes_two_chains")),
        sa.ForeignKeyConstraint(
            ["dst_chain_id", "symbol"],
            ["pools.chain_id", "pools.symbol"],
            name=op.f("fk_routes_dst_chain_id_symbol"),
        ),
        sa.ForeignKeyConstraint(
            ["src_chain_id", "symbol"],
            ["pools.chain_id", "pools.symbol"],
            name=op.f("fk_routes_src_chain_id_symbol"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_routes")),
        sa.UniqueConstraint(
            "symbol", "src_chain_id", "dst_chain_id", name=op.f("uq_routes_symbol_src_chain_id_dst_chain_id")
        ),
    )


def downgrade() -> None:
    op.drop_table("routes")
    op.drop_table("route_blocks")
    op.drop_table("pools")
    op.drop_table("pegged_pairs")
    op.drop_table("tokens")
    op.drop_table("opening_validators")
    op.drop_table("network_parts")
    op.drop_table("chains")
    op.drop_table("blocked_networks")
    op.drop_table("blocked_addresses")
