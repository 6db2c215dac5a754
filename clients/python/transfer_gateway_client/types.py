"""Made by `make clients` from the OpenAPI document sha256:31dc34dffee018fb6e3dc833887f7407c1731489d5d6195f93c25efb6f396737. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class StatusChange(TypedDict):
    transfer_id: str
    status: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    previous_status: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    refund_reason: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    seq: int
    taken_back: NotRequired[bool]


class StatusChanged(TypedDict):
    type: Literal["transfer.status"]
    timestamp: str
    data: StatusChange


class Err(TypedDict):
    code: Literal[500, 1001, 1002, 1004, 1005, 1009, 1012, 1015, 1016, 1017, 1018]
    msg: str


class EstimateAnswer(TypedDict):
    err: Err | None
    eq_value_token_amt: str
    bridge_rate: float
    perc_fee: str
    base_fee: str
    slippage_tolerance: int
    max_slippage: int
    estimated_receive_amt: str
    drop_gas_amt: str


class Transaction(TypedDict):
    chain_id: int
    to: str
    data: str
    value: str


class Approval(TypedDict):
    token: str
    spender: str
    amount: str
    transaction: Transaction


class SendAnswer(TypedDict):
    err: Err | None
    eq_value_token_amt: str
    bridge_rate: float
    perc_fee: str
    base_fee: str
    slippage_tolerance: int
    max_slippage: int
    estimated_receive_amt: str
    drop_gas_amt: str
    transaction: Transaction | None
    approval: Approval | None
    transfer_id: str | None
    valid_until: str


class StatusBody(TypedDict):
    transfer_id: str


class TransactionBody(TypedDict):
    tx_hash: str
    src_chain_id: int


class StatusAnswer(TypedDict):
    err: Err | None
    status: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    wd_onchain: str | None
    sorted_sigs: list[str]
    signers: list[str]
    powers: list[str]
    refund_reason: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    block_delay: int
    src_block_tx_link: str
    dst_block_tx_link: str


class LatencyAnswer(TypedDict):
    err: Err | None
    median_transfer_latency_in_second: float


class CallArgument(TypedDict):
    name: str
    type: str
    value: str | list[str]


class ContractCall(TypedDict):
    function: str
    signature: str
    arguments: list[CallArgument]
    data: str | None


class Domain(TypedDict):
    text: str
    separator: str


class SignerRow(TypedDict):
    address: str
    power: str
    signed: bool
    signature: str | None


class OwnReason(TypedDict):
    reason: Literal["already_done", "balance", "native_receiver", "paused", "supply_cap", "volume_cap"]
    words: str


class DelayedFunds(TypedDict):
    funds: Literal["refund", "payout"]
    delayed_id: str | None
    chain_id: int | None
    contract: str | None
    tx_hash: str | None
    tx_link: str
    call: ContractCall | None


class OtherRequest(TypedDict):
    wd_onchain: str
    digest: str | None
    power_signed: str
    reached: bool
    contradictions: list[str]


class EvidenceAnswer(TypedDict):
    err: Err | None
    valid: bool
    proven: bool
    status: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    transfer_id: str | None
    kind: Literal["pool", "deposit", "burn"] | None
    chain_id: int | None
    contract: str | None
    contract_role: str | None
    call: ContractCall | None
    transaction: Transaction | None
    domain: Domain | None
    digest: str | None
    wd_onchain: str | None
    request: dict[str, Any] | None
    withdraw_id: str | None
    contradictions: list[str]
    signers: list[SignerRow]
    power_signed: str
    power_total: str | None
    quorum: str | None
    validator_set_version: int | None
    validator_set_hash: str | None
    missing: list[str]
    not_signed: list[str]
    may_refuse: list[OwnReason]
    delayed: DelayedFunds | None
    notes: list[str]
    other_requests: list[OtherRequest]


class WithdrawBody(TypedDict):
    withdraw_req: str
    estimated_received_amt: NotRequired[Any]
    method_type: NotRequired[Any]


class WithdrawAnswer(TypedDict):
    err: Err | None
    seq_num: str


class Chain(TypedDict):
    id: int
    name: str
    icon: str
    block_delay: int
    gas_token_symbol: str
    explore_url: str
    contract_addr: str
    drop_gas_amt: str
    drop_gas_cost_amt: str
    drop_gas_balance_alert: str
    suggested_gas_cost: str


class Token(TypedDict):
    symbol: str
    address: str
    decimal: int
    xfer_disabled: bool


class TransferInfo(TypedDict):
    chain: Chain
    token: Token
    amount: str


class HistoryTransfer(TypedDict):
    transfer_id: str
    src_send_info: TransferInfo
    dst_received_info: TransferInfo
    ts: str
    src_block_tx_link: str
    dst_block_tx_link: str
    status: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    refund_reason: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    sender: str
    receiver: str
    update_ts: str
    bridge_type: Literal[0, 1, 2, 3, 4]
    dst_deadline: str


class HistoryAnswer(TypedDict):
    err: Err | None
    history: list[HistoryTransfer]
    next_page_token: str
    current_size: str


class StatusCertainty(TypedDict):
    level: Literal["proven", "reported", "unknown"]
    event: str
    reported_by: Literal["gateway", "reporter", ""]
    chain_id: int | None
    block: int | None
    as_of_block: int | None


class TransferWords(TypedDict):
    lang: str
    headline: str
    now: str
    next: str
    certainty: str


class FoundTransfer(TypedDict):
    terminal: bool
    final_by: Literal["block", "reported", ""]
    next_actor: Literal["network", "user", "nobody", ""]
    next_poll_seconds: int
    as_of: str
    transfer_id: str
    src_send_info: TransferInfo
    dst_received_info: TransferInfo
    ts: str
    src_block_tx_link: str
    dst_block_tx_link: str
    status: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    refund_reason: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    sender: str
    receiver: str
    update_ts: str
    bridge_type: Literal[0, 1, 2, 3, 4]
    dst_deadline: str
    wd_onchain: str | None
    sorted_sigs: list[str]
    signers: list[str]
    powers: list[str]
    block_delay: int
    certainty: StatusCertainty
    words: TransferWords | None


class ReadTo(TypedDict):
    block: int | None
    at: str


class FindAnswer(TypedDict):
    err: Err | None
    state: Literal["unknown", "announced", "known"]
    transfers: list[FoundTransfer]
    read_to: dict[str, ReadTo]


TransferId: TypeAlias = str


class StatusesBody(TypedDict):
    transfer_ids: list[TransferId]


class OneStatus(TypedDict):
    terminal: bool
    final_by: Literal["block", "reported", ""]
    next_actor: Literal["network", "user", "nobody", ""]
    next_poll_seconds: int
    as_of: str
    err: Err | None
    status: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    wd_onchain: str | None
    sorted_sigs: list[str]
    signers: list[str]
    powers: list[str]
    refund_reason: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    block_delay: int
    src_block_tx_link: str
    dst_block_tx_link: str
    bridge_type: Literal[0, 1, 2, 3, 4]
    transfer_id: str


class StatusesAnswer(TypedDict):
    err: Err | None
    statuses: list[OneStatus]


class ExplainedRefusal(TypedDict):
    code: Literal[500, 1001, 1002, 1004, 1005, 1009, 1012, 1015, 1016, 1017, 1018]
    reason: Literal["bad_request", "path_not_found", "method_not_allowed", "body_too_large", "line_too_long", "unsupported_media_type", "unauthorized", "insufficient_scope", "rate_limited", "internal", "unavailable", "wait_busy", "transfer_not_found", "refund_not_available", "no_latency_data", "webhook_not_found", "network_blocked", "address_blocked", "same_chain", "chain_unknown", "chain_disabled", "token_not_on_src", "token_not_on_dst", "no_route", "no_pegged_pair", "transfer_disabled", "direction_blocked", "amount_zero", "amount_under_minimum", "amount_over_maximum", "amount_too_small", "amount_too_large", "bad_slippage_tolerance", "fee_stale", "inbound_limit", "epoch_cap", "total_cap", "not_enough_liquidity", "curve_unsettled", "slippage_too_high", "contract_unknown", "not_evm", "native_refused", "sandbox"]
    msg: str
    check: Literal["access", "same_chain", "chain_known", "chain_enabled", "src_token", "dst_token", "route", "token_enabled", "direction", "amount", "min_send", "max_send", "slippage_tolerance", "fees_known", "base_fee_age", "inbound_limit", "epoch_cap", "total_cap", "dst_balance", "curve", "fees", "result_size", "max_slippage"]
    largest_passing_amt: str | None
    smallest_passing_amt: str | None
    largest_passing_tolerance: int | None


class TermInput(TypedDict):
    name: str
    value: str


class ExplainedTerm(TypedDict):
    name: str
    formula: str
    inputs: list[TermInput]
    value: str
    unit: str
    rounding: Literal["up", "down", "none"]


class ExplainedLimit(TypedDict):
    name: str
    formula: str
    value: str
    counted: str
    left: str
    unit: str
    largest_amt: str | None
    binds: bool


class ExplainedCheck(TypedDict):
    name: Literal["access", "same_chain", "chain_known", "chain_enabled", "src_token", "dst_token", "route", "token_enabled", "direction", "amount", "min_send", "max_send", "slippage_tolerance", "fees_known", "base_fee_age", "inbound_limit", "epoch_cap", "total_cap", "dst_balance", "curve", "fees", "result_size", "max_slippage"]
    outcome: Literal["passed", "refused", "not_reached", "not_made"]


class PassingAmounts(TypedDict):
    least_amt: str
    most_amt: str


class ExplainedAnswer(TypedDict):
    err: Err | None
    refusal: ExplainedRefusal | None
    bridge_type: Literal[0, 1, 2, 3, 4]
    rate_model: Literal["fixed", "stableswap", "pegged", ""]
    base_fee_source: Literal["configured", "reported", "pinned", ""]
    base_fee_since: str | None
    terms: list[ExplainedTerm]
    limits: list[ExplainedLimit]
    checks: list[ExplainedCheck]
    passing: PassingAmounts | None
    config_version: int
    config_changed_at: str | None
    facts_age_seconds: float | None


class LatencyStatsAnswer(TypedDict):
    err: Err | None
    count: int
    window_seconds: int
    median: float
    p90: float
    p99: float
    as_of: str


class PlainAnswer(TypedDict):
    err: Err | None


class Webhook(TypedDict):
    id: str
    name: str
    url: str
    everything: bool
    accounts: list[str]
    transfer_ids: list[str]
    state: Literal["active", "paused", "off"]
    waiting: int
    created_at: str


class WebhooksAnswer(TypedDict):
    err: Err | None
    webhooks: list[Webhook]
    secret: str


Account: TypeAlias = str


class WebhookBody(TypedDict):
    url: str
    name: NotRequired[str]
    accounts: NotRequired[list[Account]]
    transfer_ids: NotRequired[list[TransferId]]
    everything: NotRequired[bool]


class ChainConfig(TypedDict):
    id: int
    name: str
    icon: str
    block_delay: int
    gas_token_symbol: str
    explore_url: str
    contract_addr: str
    drop_gas_amt: str
    drop_gas_cost_amt: str
    drop_gas_balance_alert: str
    suggested_gas_cost: str
    flat_usd_fee: float
    farming_reward_contract_addr: str
    transfer_agent_contract_addr: str
    disabled: bool
    native_wrap: str


class TokenInfo(TypedDict):
    token: Token
    name: str
    icon: str
    inbound_lmt: str
    inbound_epoch_cap: str
    transfer_disabled: bool
    liq_add_disabled: bool
    liq_rm_disabled: bool
    liq_agg_rm_src_disabled: bool
    delay_threshold: str
    delay_period: int
    min_send: str
    max_send: str


class ChainTokens(TypedDict):
    token: list[TokenInfo]


class PeggedPair(TypedDict):
    org_chain_id: int
    org_token: TokenInfo
    pegged_chain_id: int
    pegged_token: TokenInfo
    pegged_deposit_contract_addr: str
    pegged_burn_contract_addr: str
    canonical_token_contract_addr: str
    vault_version: int
    bridge_version: int
    migration_peg_burn_contract_addr: str


class BlockedDirection(TypedDict):
    symbol: str
    src_chain_id: str
    dst_chain_id: str


class ConfigsAnswer(TypedDict):
    err: Err | None
    chains: list[ChainConfig]
    chain_token: dict[str, ChainTokens]
    farming_reward_contract_addr: str
    pegged_pair_configs: list[PeggedPair]
    blocked_bridge_direct: list[BlockedDirection]
    redirect_to_aggregators_config: list[Any]


class TokenInfoAnswer(TypedDict):
    err: Err | None
    token_info: TokenInfo | None


class WatchedChainShape(TypedDict):
    chain_id: int
    state: str
    head: int | None
    head_at: str | None
    read_to: int | None
    backfill_left: int | None
    reread_to: int | None
    reread_at: str | None
    proven_to: int | None
    proven_at: str | None
    unproven_blocks: int


class StaleFeedShape(TypedDict):
    chain_id: int
    newest_at: str | None
    max_age_seconds: int


class ReadyAnswer(TypedDict):
    err: Err | None
    watching: list[WatchedChainShape]
    stale_feeds: list[StaleFeedShape]


class VersionAnswer(TypedDict):
    err: Err | None
    version: str
    commit: str | None
    schema: str
    api_versions: list[str]


class EstimateForm(TypedDict):
    src_chain_id: int
    dst_chain_id: int
    token_symbol: str
    amt: str
    usr_addr: NotRequired[str]
    slippage_tolerance: int
    is_pegged: NotRequired[bool]


class EstimateBody(EstimateForm):
    pass
