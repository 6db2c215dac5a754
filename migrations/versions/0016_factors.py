"""Passkeys, recovery codes, proofs of a session, passwords that must be changed."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0014"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column(
        "operators",
        sa.Column("must_change_password", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.add_column("operator_sessions", sa.Column("proved_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "operator_passkeys",
        sa.Column("id", ID, nullable=False),
        sa.Column("operator_id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("credential_id", sa.LargeBinary(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("transports", sa.JSON(), nullable=False),
        sa.Column("synced", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("challenge_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["operators.id"], name=op.f("fk_operator_passkeys_operator_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_passkeys")),
        sa.UniqueConstraint("credential_id", name=op.f("uq_operator_passkeys_credential_id")),
        sa.UniqueConstraint("operator_id", "name", name="uq_operator_passkeys_operator_id_name"),
    )
    op.create_table(
        "operator_recovery_codes",
        sa.Column("operator_id", ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["operators.id"], name=op.f("fk_operator_recovery_codes_operator_id")
        ),
        sa.PrimaryKeyConstraint("operator_id", "digest", name=op.f("pk_operator_recovery_codes")),
    )
    op.create_table(
        "operator_rules",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("second_factor_required", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_rules")),
    )


def downgrade() -> None:
    op.drop_table("operator_rules")
    op.drop_table("operator_recovery_codes")
    op.drop_table("operator_passkeys")
    op.drop_column("operator_sessions", "proved_at")
    op.drop_column("operators", "must_change_password")
