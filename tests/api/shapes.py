"""What every answer of a path must have, written down apart from the code that makes it."""

from __future__ import annotations

from typing import Any

from werkzeug.test import TestResponse

ESTIMATE = "/v2/estimateAmt"
SEND = "/v2/getSendTransaction"
STATUS = "/v2/getTransferStatus"
LATENCY = "/v2/getLatest7DayTransferLatencyForQuery"
EVIDENCE = "/v2/getRefundEvidence"
ASK = "/v2/withdrawLiquidity"
CONFIGS = "/v2/getTransferConfigs"
CONFIGS_FOR_ALL = "/v2/getTransferConfigsForAll"
TOKEN_INFO = "/v2/getTokenInfo"
HISTORY = "/v2/transferHistory"
FIND = "/v2/getTransfer"
STATUSES = "/v2/getTransferStatuses"
EXPLAIN = "/v2/explainEstimate"
LATENCY_STATS = "/v2/getTransferLatencyStats"
WEBHOOKS = "/v2/webhooks"
WAIT = "/v2/waitTransferStatus"
READY = "/readyz"
VERSION = "/version"

ZEROES: dict[str, dict[str, Any]] = {
    ESTIMATE: {
        "eq_value_token_amt": "", "bridge_rate": 0, "perc_fee": "", "base_fee": "", "slippage_tolerance": 0,
        "max_slippage": 0, "estimated_receive_amt": "", "drop_gas_amt": "",
    },
    STATUS: {
        "status": 0, "wd_onchain": None, "sorted_sigs": [], "signers": [], "powers": [], "refund_reason": 0,
        "block_delay": 0, "src_block_tx_link": "", "dst_block_tx_link": "", "bridge_type": 0,
    },
    LATENCY: {"median_transfer_latency_in_second": 0},
    HISTORY: {"history": [], "next_page_token": "", "current_size": "0"},
    FIND: {"state": "unknown", "transfers": [], "read_to": {}},
    STATUSES: {"statuses": []},
    EXPLAIN: {
        "refusal": None, "bridge_type": 0, "rate_model": "", "base_fee_source": "", "base_fee_since": None,
        "terms": [], "limits": [], "checks": [], "passing": None, "config_version": 0,
        "config_changed_at": None, "facts_age_seconds": None,
    },
    LATENCY_STATS: {"count": 0, "window_seconds": 0, "median": 0, "p90": 0, "p99": 0, "as_of": ""},
    WEBHOOKS: {"webhooks": [], "secret": ""},
    READY: {"watching": [], "stale_feeds": []},
    VERSION: {"version": "", "commit": None, "schema": "", "api_versions": []},
    EVIDENCE: {
        "valid": False, "proven": False, "status": 0, "transfer_id": None, "kind": None, "chain_id": None,
        "contract": None, "contract_role": None, "call": None, "transaction": None, "domain": None,
        "digest": None, "wd_onchain": None, "request": None, "withdraw_id": None, "contradictions": [],
        "signers": [], "power_signed": "", "power_total": None, "quorum": None,
        "validator_set_version": None, "validator_set_hash": None, "missing": [], "not_signed": [],
        "may_refuse": [], "delayed": None, "notes": [], "other_requests": [],
    },
    ASK: {"seq_num": "0"},
    CONFIGS: {
        "chains": [], "chain_token": {}, "farming_reward_contract_addr": "", "pegged_pair_configs": [],
        "blocked_bridge_direct": [], "redirect_to_aggregators_config": [],
    },
}  # fmt: skip
ZEROES[SEND] = ZEROES[ESTIMATE] | {
    "transaction": None,
    "approval": None,
    "transfer_id": None,
    "valid_until": "",
}
ZEROES[TOKEN_INFO] = {"token_info": None}
ZEROES[CONFIGS_FOR_ALL] = ZEROES[CONFIGS]


def assert_refused(
    response: TestResponse, status: int, reason: str, path: str | None, code: int = 500
) -> str:
    """The envelope of an error, whole: returns its message."""
    assert response.status_code == status, response.get_data(as_text=True)
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["X-Gateway-Reason"] == reason
    assert response.headers["Cache-Control"] == "no-store"
    body = response.get_json()
    err = body.pop("err")
    assert err == {"code": code, "msg": err["msg"]}
    assert isinstance(err["msg"], str)
    assert err["msg"]
    assert body == ZEROES.get(path or "", {}), "ZEROES has each field of an answer with its zero"
    return str(err["msg"])
