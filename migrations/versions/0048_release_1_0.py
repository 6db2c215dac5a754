"""The schema of release 1.0.0, in one step."""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

from app.db.migrating import is_postgresql

revision = "0048"
down_revision = None
branch_labels = None
depends_on = None

PHASE = "contract"
NEEDED = True

EXACT = sa.Text().with_variant(sa.Numeric(), "postgresql")
"""Whole numbers of any length."""
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:  # noqa: PLR0915  one statement for each table and index
    op.create_table(
        "anomalies",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=512), nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=True),
        sa.Column("chain_id", sa.BigInteger(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("event_ids", sa.JSON(), nullable=False),
        sa.Column("first_at", TIME, nullable=False),
        sa.Column("last_at", TIME, nullable=False),
        sa.Column("acknowledged_at", TIME, nullable=True),
        sa.Column("acknowledged_by", sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_anomalies")),
        sa.UniqueConstraint("subject", "kind", name=op.f("uq_anomalies_subject_kind")),
    )
    op.create_index("ix_anomalies_acknowledged_at_last_at", "anomalies", ["acknowledged_at", "last_at"])
    op.create_index("ix_anomalies_transfer_id", "anomalies", ["transfer_id"])
    op.create_table(
        "api_keys",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("rate_limit", sa.String(length=200), nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("key_id", name=op.f("uq_api_keys_key_id")),
        sa.UniqueConstraint("name", name=op.f("uq_api_keys_name")),
    )
    op.create_table(
        "audit_records",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("actor", sa.String(length=255), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=True),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("mac", sa.LargeBinary(length=32), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_records")),
    )
    op.create_index("ix_audit_records_action", "audit_records", ["action"])
    op.create_index("ix_audit_records_actor", "audit_records", ["actor"])
    op.create_index("ix_audit_records_at", "audit_records", ["at"])
    op.create_index("ix_audit_records_subject", "audit_records", ["subject"])
    op.create_table(
        "audit_subjects",
        sa.Column("record_id", ID, autoincrement=False, nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=False),
        sa.PrimaryKeyConstraint("record_id", "subject", name=op.f("pk_audit_subjects")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "backfills",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("done_to", sa.LargeBinary(), nullable=False),
        sa.Column("looked_at", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("moved_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_backfills")),
    )
    op.create_table(
        "blocked_addresses",
        sa.Column("id", ID, nullable=False),
        sa.Column("address", sa.String(128), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("expires_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blocked_addresses")),
        sa.UniqueConstraint("address", name=op.f("uq_blocked_addresses_address")),
    )
    op.create_table(
        "blocked_networks",
        sa.Column("id", ID, nullable=False),
        sa.Column("cidr", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("expires_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blocked_networks")),
        sa.UniqueConstraint("cidr", name=op.f("uq_blocked_networks_cidr")),
    )
    op.create_table(
        "chain_progress",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("highest_block", sa.BigInteger(), nullable=True),
        sa.Column("newest_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_chain_progress")),
    )
    op.create_table(
        "chain_watches",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=True),
        sa.Column("until", TIME, nullable=True),
        sa.Column("live_from", sa.BigInteger(), nullable=True),
        sa.Column("live_to", sa.BigInteger(), nullable=True),
        sa.Column("live_to_hash", sa.String(length=66), nullable=True),
        sa.Column("backfill_from", sa.BigInteger(), nullable=True),
        sa.Column("backfilled_to", sa.BigInteger(), nullable=True),
        sa.Column("reread_to", sa.BigInteger(), nullable=True),
        sa.Column("reread_at", TIME, nullable=True),
        sa.Column("proven_to", sa.BigInteger(), nullable=True),
        sa.Column("proven_at", TIME, nullable=True),
        sa.Column("contracts", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("head", sa.BigInteger(), nullable=True),
        sa.Column("head_hash", sa.String(length=66), nullable=True),
        sa.Column("head_at", TIME, nullable=True),
        sa.Column("final", sa.BigInteger(), nullable=True),
        sa.Column("head_moved_at", TIME, nullable=True),
        sa.Column("read_at", TIME, nullable=True),
        sa.Column("found_at", TIME, nullable=True),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("minute", TIME, nullable=True),
        sa.Column("calls_now", sa.BigInteger(), nullable=False),
        sa.Column("calls_before", sa.BigInteger(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("fault_source", sa.String(length=64), nullable=False),
        sa.Column("fault_at", TIME, nullable=True),
        sa.Column("differed", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.BigInteger(), nullable=False),
        sa.Column("stopped", sa.Text(), nullable=True),
        sa.Column("stopped_at", TIME, nullable=True),
        sa.Column("stopped_by", sa.String(length=320), nullable=True),
        sa.Column("extra", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_chain_watches")),
    )
    op.create_table(
        "chains",
        sa.Column("id", ID, nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("icon", sa.String(length=2048), nullable=False),
        sa.Column("block_delay", sa.BigInteger(), nullable=False),
        sa.Column("gas_token_symbol", sa.String(length=64), nullable=False),
        sa.Column("explore_url", sa.String(length=2048), nullable=False),
        sa.Column("contract_addr", sa.String(128), nullable=False),
        sa.Column("drop_gas_amt", EXACT, nullable=False),
        sa.Column("minimal_max_slippage", sa.Integer(), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=False),
        sa.Column("retired", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("disabled_at", TIME, nullable=True),
        sa.Column("tx_path", sa.String(length=64), server_default="/tx/", nullable=False),
        sa.Column("drop_gas_cost_amt", sa.String(length=128), server_default="0", nullable=False),
        sa.Column("drop_gas_balance_alert", sa.String(length=128), server_default="0", nullable=False),
        sa.Column("suggested_gas_cost", sa.String(length=128), server_default="0", nullable=False),
        sa.Column("flat_usd_fee", sa.JSON(), server_default="0", nullable=False),
        sa.Column("farming_reward_contract_addr", sa.String(128), server_default="", nullable=False),
        sa.Column("transfer_agent_contract_addr", sa.String(128), server_default="", nullable=False),
        sa.Column("watch_from_block", sa.BigInteger(), nullable=True),
        sa.Column("finality", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("poll_seconds", sa.JSON(), server_default="5.0", nullable=False),
        sa.Column("rpc", sa.JSON(), server_default="[]", nullable=False),
        sa.Column("extra", sa.JSON(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chains")),
        sa.UniqueConstraint("chain_id", name=op.f("uq_chains_chain_id")),
    )
    op.create_table(
        "config_fields",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_config_fields")),
        sa.UniqueConstraint("name", name=op.f("uq_config_fields_name")),
    )
    op.create_table(
        "course_counts",
        sa.Column("hours", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("span", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("src_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("begun", sa.BigInteger(), nullable=False),
        sa.Column("completed", sa.BigInteger(), nullable=False),
        sa.Column("refund", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("sent", EXACT, nullable=False),
        sa.Column("paid_for", EXACT, nullable=False),
        sa.Column("received", EXACT, nullable=False),
        sa.PrimaryKeyConstraint(
            "hours", "span", "kind", "src_chain_id", "dst_chain_id", "symbol", name=op.f("pk_course_counts")
        ),
    )
    op.create_table(
        "estimate_counts",
        sa.Column("minute", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("code", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("minute", "code", "reason", name=op.f("pk_estimate_counts")),
    )
    op.create_table(
        "events",
        sa.Column("seq", ID, autoincrement=False, nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("subject", sa.String(length=96), nullable=False),
        sa.Column("occurrence", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("received_at", TIME, nullable=False),
        sa.Column("reporter", sa.String(length=64), nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=True),
        sa.Column("chain_id", sa.BigInteger(), nullable=True),
        sa.Column("block", sa.BigInteger(), nullable=True),
        sa.Column("limited_to", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events")),
        sa.UniqueConstraint(
            "event_id", "subject", "occurrence", name=op.f("uq_events_event_id_subject_occurrence")
        ),
    )
    op.create_index("ix_events_chain_id_type_block", "events", ["chain_id", "type", "block"])
    op.create_index(
        "ix_events_fees",
        "events",
        ["subject", "at"],
        sqlite_where=sa.text("type = 'fee.updated'"),
        postgresql_where=sa.text("type = 'fee.updated'"),
    )
    op.create_index(
        "ix_events_heads",
        "events",
        ["reporter", "chain_id", "block"],
        sqlite_where=sa.text("type = 'chain.head'"),
        postgresql_where=sa.text("type = 'chain.head'"),
    )
    op.create_index(
        "ix_events_reorgs",
        "events",
        ["seq", "chain_id"],
        sqlite_where=sa.text("type = 'chain.reorged'"),
        postgresql_where=sa.text("type = 'chain.reorged'"),
    )
    op.create_index("ix_events_reporter_seq", "events", ["reporter", "seq"])
    op.create_index("ix_events_transfer_id_seq", "events", ["transfer_id", "seq"])
    op.create_table(
        "events_ahead",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events_ahead")),
    )
    op.create_index("ix_events_ahead_at", "events_ahead", ["at"])
    op.create_table(
        "evidence_counts",
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("up_to", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("milliseconds", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stage", "up_to", name=op.f("pk_evidence_counts")),
    )
    op.create_table(
        "fed_fees",
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("src_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("base_fee", EXACT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.PrimaryKeyConstraint("symbol", "src_chain_id", "dst_chain_id", name=op.f("pk_fed_fees")),
    )
    op.create_table(
        "fed_validator_sets",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("members", sa.JSON(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_fed_validator_sets")),
    )
    op.create_table(
        "grown_database",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("transfers", sa.BigInteger(), nullable=False),
        sa.Column("grown_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grown_database")),
    )
    op.create_table(
        "ingest_tokens",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("types", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("chains", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("expires_at", TIME, nullable=True),
        sa.Column("quota_events", sa.BigInteger(), nullable=True),
        sa.Column("quota_seconds", sa.BigInteger(), nullable=True),
        sa.Column("id", ID, nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ingest_tokens")),
        sa.UniqueConstraint("key_id", name=op.f("uq_ingest_tokens_key_id")),
    )
    op.create_index("ix_ingest_tokens_name", "ingest_tokens", ["name"])
    op.create_table(
        "ingest_usage",
        sa.Column("reporter", sa.String(length=64), nullable=False),
        sa.Column("period_start", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("reporter", name=op.f("pk_ingest_usage")),
    )
    op.create_table(
        "latency_counts",
        sa.Column("src_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("width", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("bucket", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "src_chain_id", "dst_chain_id", "width", "bucket", name=op.f("pk_latency_counts")
        ),
    )
    op.create_table(
        "latency_window",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("since", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_latency_window")),
    )
    op.create_table(
        "network_parts",
        sa.Column("part", sa.String(length=32), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("part", name=op.f("pk_network_parts")),
    )
    op.create_table(
        "operator_rules",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("second_factor_required", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_rules")),
    )
    op.create_table(
        "operators",
        sa.Column("id", ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("password", sa.String(length=255), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("fs_uniquifier", sa.String(length=64), nullable=False),
        sa.Column("second_factor_required", sa.Boolean(), nullable=False),
        sa.Column("tf_primary_method", sa.String(length=32), nullable=True),
        sa.Column("tf_totp_secret", sa.String(length=512), nullable=True),
        sa.Column("totp_last_counter", sa.BigInteger(), nullable=True),
        sa.Column("must_change_password", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("signed_in_at", TIME, nullable=True),
        sa.Column("signed_in_from", sa.String(length=64), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operators")),
        sa.UniqueConstraint("email", name=op.f("uq_operators_email")),
        sa.UniqueConstraint("fs_uniquifier", name=op.f("uq_operators_fs_uniquifier")),
    )
    op.create_table(
        "pool_counters",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("added", EXACT, nullable=False),
        sa.Column("sent", EXACT, nullable=False),
        sa.Column("relayed", EXACT, nullable=False),
        sa.Column("withdrawn", EXACT, nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "symbol", name=op.f("pk_pool_counters")),
    )
    op.create_table(
        "pool_volumes",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("minute", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("amount", EXACT, nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "symbol", "minute", name=op.f("pk_pool_volumes")),
    )
    op.create_table(
        "proposals",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("section", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(length=255), nullable=True),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("proposed_by", sa.String(length=254), nullable=False),
        sa.Column("proposed_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("decided_by", sa.String(length=254), nullable=True),
        sa.Column("decided_at", TIME, nullable=True),
        sa.Column("decision_reason", sa.Text(), nullable=False),
        sa.Column("record_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposals")),
    )
    op.create_index("ix_proposals_state_expires_at", "proposals", ["state", "expires_at"])
    op.create_table(
        "pruned_chains",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("highest_block", sa.BigInteger(), nullable=True),
        sa.Column("newest_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_pruned_chains")),
    )
    op.create_table(
        "pruned_events",
        sa.Column("id_digest", sa.LargeBinary(length=16), nullable=False),
        sa.Column("subject_digest", sa.LargeBinary(length=8), nullable=False),
        sa.Column("content_digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id_digest", "subject_digest", name=op.f("pk_pruned_events")),
    )
    op.create_table(
        "pruned_pools",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("sent", EXACT, nullable=False),
        sa.Column("relayed", EXACT, nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "symbol", name=op.f("pk_pruned_pools")),
    )
    op.create_table(
        "pruned_reporters",
        sa.Column("reporter", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("received_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("reporter", name=op.f("pk_pruned_reporters")),
    )
    op.create_table(
        "pruned_transfers",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("transfer_id", name=op.f("pk_pruned_transfers")),
    )
    op.create_table(
        "pruned_withdraws",
        sa.Column("withdraw_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("withdraw_id", "transfer_id", name=op.f("pk_pruned_withdraws")),
    )
    op.create_table(
        "refund_asks",
        sa.Column("seq", ID, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("log_seq", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_refund_asks")),
        sa.UniqueConstraint("transfer_id", name=op.f("uq_refund_asks_transfer_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_refund_asks_log_seq", "refund_asks", ["log_seq"])
    op.create_table(
        "retracted_events",
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("subject", sa.String(length=96), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=True),
        sa.PrimaryKeyConstraint("event_id", "subject", name=op.f("pk_retracted_events")),
    )
    op.create_index("ix_retracted_events_seq", "retracted_events", ["seq"])
    op.create_index("ix_retracted_events_transfer_id", "retracted_events", ["transfer_id"])
    op.create_table(
        "retraction_targets",
        sa.Column("subject", sa.String(length=96), nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("subject", "event_id", "seq", name=op.f("pk_retraction_targets")),
    )
    op.create_index("ix_retraction_targets_seq", "retraction_targets", ["seq"])
    op.create_table(
        "route_blocks",
        sa.Column("id", ID, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("src_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("both_directions", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("expires_at", TIME, nullable=True),
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
        "schema_floors",
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("oldest_code", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_schema_floors")),
    )
    op.create_table(
        "sign_in_failures",
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_sign_in_failures")),
    )
    op.create_index("ix_sign_in_failures_last_at", "sign_in_failures", ["last_at"])
    op.create_table(
        "signatures_aside",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("received_at", TIME, nullable=False),
        sa.Column("reporter", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("transfer_id", "event_id", "signature", name=op.f("pk_signatures_aside")),
    )
    op.create_table(
        "signatures_not_needed",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_signatures_not_needed")),
    )
    op.create_index("ix_signatures_not_needed_transfer_id", "signatures_not_needed", ["transfer_id"])
    op.create_table(
        "status_changes",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("is_later", sa.Boolean(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("previous_status", sa.SmallInteger(), nullable=False),
        sa.Column("refund_reason", sa.SmallInteger(), nullable=False),
        sa.Column("taken_back", sa.Boolean(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("accounts_before", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_status_changes")),
    )
    op.create_index(
        "ix_status_changes_relisted",
        "status_changes",
        ["seq"],
        sqlite_where=sa.text("accounts_before IS NOT NULL"),
        postgresql_where=sa.text("accounts_before IS NOT NULL"),
    )
    op.create_index("ix_status_changes_seq", "status_changes", ["seq"])
    op.create_index("ix_status_changes_transfer_id_sequence", "status_changes", ["transfer_id", "sequence"])
    op.create_table(
        "stuck_acknowledgements",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("status_since", TIME, nullable=False),
        sa.Column("note", sa.String(length=500), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("by", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("transfer_id", name=op.f("pk_stuck_acknowledgements")),
    )
    op.create_table(
        "transfer_accounts",
        sa.Column("account", sa.String(length=384), nullable=False),
        sa.Column("began_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("account", "began_ms", "transfer_id", name=op.f("pk_transfer_accounts")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "transfers",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("refund_reason", sa.Integer(), nullable=False),
        sa.Column("status_since", TIME, nullable=True),
        sa.Column("kind", sa.String(length=8), nullable=True),
        sa.Column("src_chain_id", sa.BigInteger(), nullable=True),
        sa.Column("dst_chain_id", sa.BigInteger(), nullable=True),
        sa.Column("symbol", sa.String(length=64), nullable=True),
        sa.Column("token", sa.String(128), nullable=True),
        sa.Column("amount", EXACT, nullable=True),
        sa.Column("sender", sa.String(128), nullable=True),
        sa.Column("receiver", sa.String(128), nullable=True),
        sa.Column("contract", sa.String(128), nullable=True),
        sa.Column("src_tx_hash", sa.String(length=128), nullable=True),
        sa.Column("dst_tx_hash", sa.String(length=128), nullable=True),
        sa.Column("sent_at", TIME, nullable=True),
        sa.Column("released_at", TIME, nullable=True),
        sa.Column("relayed_amount", EXACT, nullable=True),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("began_at", TIME, nullable=True),
        sa.Column("received_amount", EXACT, nullable=True),
        sa.Column("settled_block", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("transfer_id", name=op.f("pk_transfers")),
    )
    op.create_index("ix_transfers_age", "transfers", [sa.text("coalesce(began_at, updated_at)")])
    op.create_index("ix_transfers_dst_chain_id", "transfers", ["dst_chain_id"])
    op.create_index("ix_transfers_dst_tx_hash", "transfers", ["dst_tx_hash"], postgresql_using="hash")
    op.create_index("ix_transfers_id_end", "transfers", [sa.text("substr(transfer_id, 31, 2)")])
    op.create_index(
        "ix_transfers_open",
        "transfers",
        ["status", "updated_at"],
        sqlite_where=sa.text("status NOT IN (2, 5, 10)"),
        postgresql_where=sa.text("status NOT IN (2, 5, 10)"),
    )
    op.create_index(
        "ix_transfers_pair_updated_at", "transfers", ["src_chain_id", "dst_chain_id", "updated_at"]
    )
    op.create_index("ix_transfers_receiver_updated_at", "transfers", ["receiver", "updated_at"])
    op.create_index("ix_transfers_sender_updated_at", "transfers", ["sender", "updated_at"])
    op.create_index(
        "ix_transfers_src_chain_id_symbol_sent_at", "transfers", ["src_chain_id", "symbol", "sent_at"]
    )
    op.create_index("ix_transfers_src_tx_hash", "transfers", ["src_tx_hash"], postgresql_using="hash")
    op.create_index("ix_transfers_status_since", "transfers", ["status", "status_since"])
    # Amounts are text on SQLite: by their length, then by their digits, they sort as numbers.
    by_number = "amount" if is_postgresql() else "substr('0' || length(amount), -2) || amount"
    op.create_index(
        "ix_transfers_token_amount", "transfers", ["symbol", "src_chain_id", sa.text(f"({by_number})")]
    )
    op.create_index("ix_transfers_updated_at", "transfers", ["updated_at"])
    op.create_table(
        "watch_headers",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(length=66), nullable=False),
        sa.Column("parent_hash", sa.String(length=66), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("bloom", sa.LargeBinary(), nullable=True),
        sa.Column("receipts_root", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("chain_id", "number", name=op.f("pk_watch_headers")),
    )
    op.create_table(
        "watch_misses",
        sa.Column("id", ID, nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("missing", sa.BigInteger(), nullable=False),
        sa.Column("surplus", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("reread_source", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watch_misses")),
    )
    op.create_index("ix_watch_misses_chain_id_id", "watch_misses", ["chain_id", "id"])
    op.create_table(
        "watch_spans",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "first", name=op.f("pk_watch_spans")),
    )
    op.create_index("ix_watch_spans_chain_id_last", "watch_spans", ["chain_id", "last"])
    op.create_table(
        "watch_waiting",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("key", sa.String(length=256), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=True),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "kind", "key", name=op.f("pk_watch_waiting")),
    )
    op.create_index("ix_watch_waiting_block", "watch_waiting", ["chain_id", "block"])
    op.create_index("ix_watch_waiting_due", "watch_waiting", ["chain_id", "kind", "due"])
    op.create_table(
        "webhook_alerts",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=512), nullable=False),
        sa.Column("since", TIME, nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", name=op.f("pk_webhook_alerts")),
    )
    op.create_table(
        "webhook_subscriptions",
        sa.Column("id", ID, nullable=False),
        sa.Column("public_id", sa.String(length=24), nullable=False),
        sa.Column("owner_key", sa.String(length=64), nullable=True),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("url", sa.String(length=2048), nullable=False),
        sa.Column("place", sa.String(length=300), nullable=False),
        sa.Column("audience", sa.String(length=16), nullable=False),
        sa.Column("alerts", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("state_reason", sa.String(length=200), nullable=False),
        sa.Column("state_at", TIME, nullable=False),
        sa.Column("salt", sa.LargeBinary(length=32), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("old_salt", sa.LargeBinary(length=32), nullable=True),
        sa.Column("old_key_id", sa.String(length=16), nullable=True),
        sa.Column("old_until", TIME, nullable=True),
        sa.Column("quiet_until", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", sa.String(length=320), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_subscriptions")),
        sa.UniqueConstraint("public_id", name=op.f("uq_webhook_subscriptions_public_id")),
    )
    op.create_index("ix_webhook_subscriptions_audience", "webhook_subscriptions", ["audience"])
    op.create_index("ix_webhook_subscriptions_owner_key", "webhook_subscriptions", ["owner_key"])
    op.create_table(
        "withdraws_done",
        sa.Column("withdraw_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("ref_id", sa.LargeBinary(length=32), nullable=True),
        sa.PrimaryKeyConstraint("withdraw_id", "chain_id", "event_id", name=op.f("pk_withdraws_done")),
    )
    op.create_table(
        "api_key_uses",
        sa.Column("api_key_id", ID, autoincrement=False, nullable=False),
        sa.Column("day", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("limited", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["api_key_id"], ["api_keys.id"], name=op.f("fk_api_key_uses_api_key_id")),
        sa.PrimaryKeyConstraint("api_key_id", "day", name=op.f("pk_api_key_uses")),
    )
    op.create_table(
        "latency_records",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("src_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("released_at", TIME, nullable=False),
        sa.Column("latency_us", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_latency_records_transfer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", name=op.f("pk_latency_records")),
    )
    op.create_index(
        "ix_latency_records_pair_fine",
        "latency_records",
        ["src_chain_id", "dst_chain_id", sa.text("(latency_us >> 19)"), "released_at", "latency_us"],
    )
    op.create_index(
        "ix_latency_records_pair_released_at",
        "latency_records",
        ["src_chain_id", "dst_chain_id", "released_at", "latency_us"],
    )
    op.create_index("ix_latency_records_released_at", "latency_records", ["released_at"])
    op.create_table(
        "opening_validators",
        sa.Column("id", ID, nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("signer", sa.String(128), nullable=False),
        sa.Column("power", EXACT, nullable=False),
        sa.Column("name", sa.String(length=120), server_default="", nullable=False),
        sa.Column("contact", sa.String(length=120), server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["chain_id"], ["chains.chain_id"], name=op.f("fk_opening_validators_chain_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_opening_validators")),
        sa.UniqueConstraint("chain_id", "signer", name=op.f("uq_opening_validators_chain_id_signer")),
    )
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
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME, nullable=True),
        sa.Column("challenge_at", TIME, nullable=True),
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
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["operators.id"], name=op.f("fk_operator_recovery_codes_operator_id")
        ),
        sa.PrimaryKeyConstraint("operator_id", "digest", name=op.f("pk_operator_recovery_codes")),
    )
    op.create_table(
        "operator_sessions",
        sa.Column("id", ID, nullable=False),
        sa.Column("operator_id", ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("seen_at", TIME, nullable=False),
        sa.Column("proved_at", TIME, nullable=True),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("browser", sa.String(length=255), nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("ended_why", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["operators.id"], name=op.f("fk_operator_sessions_operator_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_sessions")),
        sa.UniqueConstraint("digest", name=op.f("uq_operator_sessions_digest")),
    )
    op.create_index("ix_operator_sessions_operator_id", "operator_sessions", ["operator_id"])
    op.create_table(
        "pegged_pairs",
        sa.Column("id", ID, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("org_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("pegged_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("org_token", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("pegged_token", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("pegged_deposit_contract_addr", sa.String(128), nullable=False),
        sa.Column("pegged_burn_contract_addr", sa.String(128), nullable=False),
        sa.Column("deposit_contracts", sa.JSON(), nullable=False),
        sa.Column("burn_contracts", sa.JSON(), nullable=False),
        sa.Column("canonical_token_contract_addr", sa.String(128), nullable=False),
        sa.Column("migration_peg_burn_contract_addr", sa.String(128), server_default="", nullable=False),
        sa.Column("vault_version", sa.BigInteger(), nullable=False),
        sa.Column("bridge_version", sa.BigInteger(), nullable=False),
        sa.Column("deposit_base_fee", EXACT, nullable=True),
        sa.Column("burn_base_fee", EXACT, nullable=True),
        sa.Column("perc_fee_tiers", sa.JSON(), nullable=True),
        sa.Column("min_deposit", EXACT, nullable=True),
        sa.Column("max_deposit", EXACT, nullable=True),
        sa.Column("min_burn", EXACT, nullable=True),
        sa.Column("max_burn", EXACT, nullable=True),
        sa.Column("extra", sa.JSON(), server_default="{}", nullable=False),
        sa.CheckConstraint("org_chain_id <> pegged_chain_id", name=op.f("ck_pegged_pairs_two_chains")),
        sa.ForeignKeyConstraint(
            ["org_chain_id"], ["chains.chain_id"], name=op.f("fk_pegged_pairs_org_chain_id_chains")
        ),
        sa.ForeignKeyConstraint(
            ["pegged_chain_id"], ["chains.chain_id"], name=op.f("fk_pegged_pairs_pegged_chain_id_chains")
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
        "refund_basis",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_refund_basis_transfer_id_transfers"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", "event_id", name=op.f("pk_refund_basis")),
    )
    op.create_table(
        "refunds",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("wd_onchain", sa.LargeBinary(), nullable=False),
        sa.Column("sorted_sigs", sa.JSON(), nullable=False),
        sa.Column("signers", sa.JSON(), nullable=False),
        sa.Column("powers", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_refunds_transfer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", name=op.f("pk_refunds")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", ID, nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("icon", sa.String(length=2048), nullable=False),
        sa.Column("address", sa.String(128), nullable=False),
        sa.Column("decimal", sa.Integer(), nullable=False),
        sa.Column("xfer_disabled", sa.Boolean(), nullable=False),
        sa.Column("pool_disabled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("transfer_disabled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("min_send", EXACT, nullable=True),
        sa.Column("max_send", EXACT, nullable=True),
        sa.Column("liq_add_disabled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("liq_rm_disabled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("liq_agg_rm_src_disabled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("delay_threshold", sa.String(length=128), server_default="", nullable=False),
        sa.Column("delay_period", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("extra", sa.JSON(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["chain_id"], ["chains.chain_id"], name=op.f("fk_tokens_chain_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("chain_id", "symbol", name=op.f("uq_tokens_chain_id_symbol")),
    )
    op.create_table(
        "transfer_blocks",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("highest", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_transfer_blocks_transfer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", "chain_id", name=op.f("pk_transfer_blocks")),
    )
    op.create_index("ix_transfer_blocks_chain_id_highest", "transfer_blocks", ["chain_id", "highest"])
    op.create_table(
        "transfer_hashes",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("tx_hash", sa.String(length=128), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_transfer_hashes_transfer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", "tx_hash", name=op.f("pk_transfer_hashes")),
    )
    op.create_index("ix_transfer_hashes_tx_hash", "transfer_hashes", ["tx_hash"])
    op.create_table(
        "transfer_notes",
        sa.Column("id", ID, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("operator_id", ID, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("text", sa.String(length=2000), nullable=False),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["operators.id"], name=op.f("fk_transfer_notes_operator_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transfer_notes")),
    )
    op.create_index("ix_transfer_notes_transfer_id", "transfer_notes", ["transfer_id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", ID, nullable=False),
        sa.Column("message_id", sa.String(length=40), nullable=False),
        sa.Column("subscription_id", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=300), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("next_at", TIME, nullable=True),
        sa.Column("claims", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["webhook_subscriptions.id"],
            name=op.f("fk_webhook_deliveries_subscription_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index("ix_webhook_deliveries_created_at", "webhook_deliveries", ["created_at"])
    op.create_index(
        "ix_webhook_deliveries_subscription_id_id", "webhook_deliveries", ["subscription_id", "id"]
    )
    op.create_index(
        "ix_webhook_deliveries_waiting",
        "webhook_deliveries",
        ["subscription_id", "next_at", "id"],
        sqlite_where=sa.text("next_at IS NOT NULL"),
        postgresql_where=sa.text("next_at IS NOT NULL"),
    )
    op.create_table(
        "webhook_subjects",
        sa.Column("subject", sa.String(length=400), nullable=False),
        sa.Column("subscription_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["webhook_subscriptions.id"],
            name=op.f("fk_webhook_subjects_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("subject", "subscription_id", name=op.f("pk_webhook_subjects")),
    )
    op.create_index("ix_webhook_subjects_subscription_id", "webhook_subjects", ["subscription_id"])
    op.create_table(
        "withdraw_ids",
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("withdraw_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("paid", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_withdraw_ids_transfer_id_transfers"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", "withdraw_id", name=op.f("pk_withdraw_ids")),
    )
    op.create_index("ix_withdraw_ids_withdraw_id", "withdraw_ids", ["withdraw_id"])
    op.create_table(
        "pools",
        sa.Column("id", ID, nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("liquidity_added", EXACT, nullable=False),
        sa.Column("liquidity_sent", EXACT, nullable=False),
        sa.Column("liquidity_relayed", EXACT, nullable=False),
        sa.Column("liquidity_withdrawn", EXACT, nullable=False),
        sa.Column("total_cap", EXACT, nullable=True),
        sa.Column("epoch_cap", EXACT, nullable=True),
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
        "routes",
        sa.Column("id", ID, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("src_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), nullable=False),
        sa.Column("rate_model", sa.String(length=16), nullable=False),
        sa.Column("rate_value", sa.String(length=80), nullable=True),
        sa.Column("amplification", sa.Integer(), nullable=True),
        sa.Column("base_fee", EXACT, nullable=True),
        sa.Column("base_fee_changed_at", TIME, nullable=False),
        sa.Column("base_fee_max_age_seconds", sa.BigInteger(), nullable=True),
        sa.Column("pinned_base_fee", EXACT, nullable=True),
        sa.Column("pinned_until", TIME, nullable=True),
        sa.Column("perc_fee_tiers", sa.JSON(), nullable=True),
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
    op.execute("INSERT INTO schema_floors (revision, oldest_code) VALUES ('0048', '0047')")


def downgrade() -> None:
    raise CommandError("there is no schema before this one: to give the database up, drop it")
