"""The fields of the transfer configs, in their order: the one list that the answer and the document share."""

from __future__ import annotations

from typing import Final

CHAIN_COLUMNS: Final = (
    ("id", "chain_id"),
    ("name", "name"),
    ("icon", "icon"),
    ("block_delay", "block_delay"),
    ("gas_token_symbol", "gas_token_symbol"),
    ("explore_url", "explore_url"),
    ("contract_addr", "contract_addr"),
    ("drop_gas_amt", "drop_gas_amt"),
    ("drop_gas_cost_amt", "drop_gas_cost_amt"),
    ("drop_gas_balance_alert", "drop_gas_balance_alert"),
    ("suggested_gas_cost", "suggested_gas_cost"),
    ("flat_usd_fee", "flat_usd_fee"),
    ("farming_reward_contract_addr", "farming_reward_contract_addr"),
    ("transfer_agent_contract_addr", "transfer_agent_contract_addr"),
    ("disabled", "disabled"),
)
"""A chain's fields, and the columns that they come from."""

CHAIN_FIELDS: Final = tuple(field for field, _ in CHAIN_COLUMNS)

TOKEN_PASSED: Final = (
    "liq_add_disabled",
    "liq_rm_disabled",
    "liq_agg_rm_src_disabled",
    "delay_threshold",
    "delay_period",
)
"""Fields of a token that are answered as they are configured; a pair's tokens have their zero values."""

TOKEN_FIELDS: Final = (
    "token",
    "name",
    "icon",
    "inbound_lmt",
    "inbound_epoch_cap",
    "transfer_disabled",
    *TOKEN_PASSED,
    "min_send",
    "max_send",
)

PAIR_COLUMNS: Final = (
    "pegged_deposit_contract_addr",
    "pegged_burn_contract_addr",
    "canonical_token_contract_addr",
    "vault_version",
    "bridge_version",
    "migration_peg_burn_contract_addr",
)
"""Fields of a pair that are columns of the same name."""

PAIR_FIELDS: Final = ("org_chain_id", "org_token", "pegged_chain_id", "pegged_token", *PAIR_COLUMNS)

TOP_FIELDS: Final = frozenset(
    {"err", "chains", "chain_token", "pegged_pair_configs", "blocked_bridge_direct"}
)
"""Fields of the answer itself that come from the sections of the document."""

TOP_TEXTS: Final = frozenset({"farming_reward_contract_addr"})
"""Further ones of known type, which ``config_fields`` may set."""
