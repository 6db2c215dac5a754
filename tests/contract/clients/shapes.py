"""The fields of each answer as clients have them, and the readers made of them."""

from __future__ import annotations

from typing import Any

from tests.contract.clients.readers import (
    Fields,
    Reader,
    amount,
    data,
    flag,
    go_struct,
    list_of,
    map_of,
    number,
    one_of,
    or_null,
    text,
    uint,
    zod_object,
)
from tests.contract.recorded_answers import own_of_tokens

Object = Any
"""``go_struct`` or ``zod_object``."""

CODES = (500, 1001, 1002, 1004, 1005, 1009, 1012, 1015, 1016, 1017, 1018)


def error(made: Object) -> Reader:
    return or_null(made({"code": one_of(*CODES), "msg": text}))


def estimate(made: Object) -> Fields:
    return {
        "err": error(made),
        "eq_value_token_amt": amount,
        "bridge_rate": number,
        "perc_fee": amount,
        "base_fee": amount,
        "slippage_tolerance": uint(32),
        "max_slippage": uint(32),
        "estimated_receive_amt": amount,
        "drop_gas_amt": amount,
    }


def published_status(made: Object) -> Fields:
    """The fields of the interface: what a gateway with ``COMPAT_CLIENTS=0`` answers, and no more."""
    return {
        "err": error(made),
        "status": one_of(*range(12)),
        "wd_onchain": or_null(data()),
        "sorted_sigs": list_of(data(65)),
        "signers": list_of(data(20)),
        "powers": list_of(data()),
        "refund_reason": one_of(*range(10)),
        "block_delay": uint(32),
        "src_block_tx_link": text,
        "dst_block_tx_link": text,
    }


def status(made: Object) -> Fields:
    """Those of the message: clients that know burns from sends by the type of the bridge need it."""
    return published_status(made) | {"bridge_type": one_of(*range(5))}


def latency(made: Object) -> Fields:
    return {"err": error(made), "median_transfer_latency_in_second": number}


def token(made: Object) -> Fields:
    return {"symbol": text, "address": text, "decimal": uint(31), "xfer_disabled": flag}


def chain(made: Object) -> Fields:
    return {
        "id": uint(32),
        "name": text,
        "icon": text,
        "block_delay": uint(32),
        "gas_token_symbol": text,
        "explore_url": text,
        "contract_addr": text,
        "drop_gas_amt": amount,
    }


def chain_config(made: Object) -> Fields:
    return chain(made) | {
        "drop_gas_cost_amt": text,
        "drop_gas_balance_alert": text,
        "suggested_gas_cost": text,
        "flat_usd_fee": number,
        "farming_reward_contract_addr": text,
        "transfer_agent_contract_addr": text,
        "disabled": flag,
    }


def transfer(made: Object) -> Fields:
    """A transfer of a history."""
    leg = made({"chain": made(chain(made)), "token": made(token(made)), "amount": amount})
    shared = status(made)
    return {name: shared[name] for name in ("status", "refund_reason", "bridge_type", *_LINKS)} | {
        "transfer_id": text,
        "src_send_info": leg,
        "dst_received_info": leg,
        "ts": amount,
        "sender": text,
        "receiver": text,
        "update_ts": amount,
        "dst_deadline": amount,
    }


def progress(*not_known: str) -> Fields:
    """How far a transfer has come.

    :param not_known: the actor of a transfer that is not known.
    """
    return {
        "terminal": flag,
        "next_actor": one_of("network", "user", "nobody", *not_known),
        "next_poll_seconds": uint(32),
        "final_by": one_of("", "block", "reported"),
        "as_of": text,
    }


def history(made: Object) -> Fields:
    return {
        "err": error(made),
        "history": list_of(made(transfer(made))),
        "next_page_token": amount,
        "current_size": amount,
    }


def found(made: Object) -> Fields:
    evidence_too = {name: field for name, field in status(made).items() if name != "err"}
    certainty = dict.fromkeys(("chain_id", "block", "as_of_block"), or_null(uint(64))) | {
        "level": one_of("proven", "reported", "unknown"),
        "event": text,
        "reported_by": one_of("gateway", "reporter", ""),
    }
    words = dict.fromkeys(("lang", "headline", "now", "next", "certainty"), text)
    second_opinion = {"certainty": made(certainty), "words": or_null(made(words))}
    return {
        "err": error(made),
        "state": one_of("unknown", "announced", "known"),
        "transfers": list_of(made(transfer(made) | evidence_too | progress() | second_opinion)),
        "read_to": map_of(made({"block": or_null(uint(63)), "at": text})),
    }


def statuses(made: Object) -> Fields:
    each = status(made) | {"transfer_id": text} | progress("")
    return {"err": error(made), "statuses": list_of(made(each))}


def explained(made: Object) -> Fields:
    term_input = made({"name": text, "value": text})
    term = made(
        {
            "name": text,
            "formula": text,
            "inputs": list_of(term_input),
            "value": text,
            "unit": text,
            "rounding": one_of("up", "down", "none"),
        }
    )
    limit = made(
        {
            "name": text,
            "formula": text,
            "value": amount,
            "counted": text,
            "left": text,
            "unit": text,
            "largest_amt": or_null(amount),
            "binds": flag,
        }
    )
    refusal = made(
        {
            "code": one_of(*CODES),
            "reason": text,
            "msg": text,
            "check": text,
            "largest_passing_amt": or_null(amount),
            "smallest_passing_amt": or_null(amount),
            "largest_passing_tolerance": or_null(uint(32)),
        }
    )
    outcome = one_of("passed", "refused", "not_reached", "not_made")
    return {
        "err": error(made),
        "refusal": or_null(refusal),
        "bridge_type": one_of(*range(5)),
        "rate_model": one_of("fixed", "stableswap", "pegged", ""),
        "base_fee_source": one_of("configured", "reported", "pinned", ""),
        "base_fee_since": or_null(text),
        "terms": list_of(term),
        "limits": list_of(limit),
        "checks": list_of(made({"name": text, "outcome": outcome})),
        "passing": or_null(made({"least_amt": amount, "most_amt": amount})),
        "config_version": uint(63),
        "config_changed_at": or_null(text),
        "facts_age_seconds": or_null(number),
    }


def latency_stats(made: Object) -> Fields:
    return {
        "err": error(made),
        "count": uint(63),
        "window_seconds": uint(32),
        "median": number,
        "p90": number,
        "p99": number,
        "as_of": text,
    }


def webhooks(made: Object) -> Fields:
    one = {
        "id": text,
        "name": text,
        "url": text,
        "everything": flag,
        "accounts": list_of(text),
        "transfer_ids": list_of(text),
        "state": one_of("active", "paused", "off"),
        "waiting": uint(32),
        "created_at": text,
    }
    return {"err": error(made), "webhooks": list_of(made(one)), "secret": text}


_LINKS = ("src_block_tx_link", "dst_block_tx_link")


def configs(made: Object) -> Fields:
    token_info = made(
        {
            "token": made(token(made)),
            "name": text,
            "icon": text,
            "inbound_lmt": amount,
            "inbound_epoch_cap": amount,
            "transfer_disabled": flag,
            "liq_add_disabled": flag,
            "liq_rm_disabled": flag,
            "liq_agg_rm_src_disabled": flag,
            "delay_threshold": text,
            "delay_period": number,
            **dict.fromkeys(own_of_tokens(), text),
        }
    )
    pair = made(
        {
            "org_chain_id": uint(32),
            "org_token": token_info,
            "pegged_chain_id": uint(32),
            "pegged_token": token_info,
            "pegged_deposit_contract_addr": text,
            "pegged_burn_contract_addr": text,
            "canonical_token_contract_addr": text,
            "vault_version": uint(32),
            "bridge_version": uint(32),
        }
    )
    return {
        "err": error(made),
        "chains": list_of(made(chain_config(made))),
        "chain_token": map_of(made({"token": list_of(token_info)})),
        "farming_reward_contract_addr": text,
        "pegged_pair_configs": list_of(pair),
        "blocked_bridge_direct": list_of(
            made({"symbol": text, "src_chain_id": _chain_id, "dst_chain_id": _chain_id})
        ),
    }


def _chain_id(value: Any, place: str) -> None:
    """A 64-bit number: protobuf's JSON writes it as a text, and readers take both."""
    if isinstance(value, str):
        amount(value, place)
    else:
        uint(64)(value, place)


def _go_configs(fields: Fields) -> Reader:
    """Production's answers have fields beyond the published ones: no client of them refuses unknown names."""
    return go_struct(fields, unknown_refused=False)


def evidence(made: Object) -> Fields:
    texts = or_null(text)
    argument = made({"name": text, "type": text, "value": _text_or_texts})
    call = made({"function": text, "signature": text, "arguments": list_of(argument), "data": texts})
    signer = made({"address": text, "power": amount, "signed": flag, "signature": texts})
    other = made(
        {
            "wd_onchain": data(),
            "digest": texts,
            "power_signed": amount,
            "reached": flag,
            "contradictions": list_of(text),
        }
    )
    reason = made({"reason": text, "words": text})
    delayed = made(
        {
            "funds": one_of("refund", "payout"),
            "delayed_id": texts,
            "chain_id": or_null(uint(64)),
            "contract": texts,
            "tx_hash": texts,
            "tx_link": text,
            "call": or_null(call),
        }
    )
    return {
        "err": error(made),
        "valid": flag,
        "proven": flag,
        "status": one_of(*range(12)),
        "transfer_id": texts,
        "kind": or_null(one_of("pool", "deposit", "burn")),
        "chain_id": or_null(uint(64)),
        "contract": texts,
        "contract_role": texts,
        "call": or_null(call),
        "domain": or_null(made({"text": text, "separator": text})),
        "digest": texts,
        "wd_onchain": or_null(data()),
        "request": _null_or_texts,
        "withdraw_id": texts,
        "contradictions": list_of(text),
        "signers": list_of(signer),
        "power_signed": amount,
        "power_total": or_null(amount),
        "quorum": or_null(amount),
        "validator_set_version": or_null(uint(63)),
        "validator_set_hash": texts,
        "missing": list_of(text),
        "not_signed": list_of(text),
        "may_refuse": list_of(reason),
        "delayed": or_null(delayed),
        "notes": list_of(text),
        "other_requests": list_of(other),
    }


def _text_or_texts(value: Any, place: str) -> None:
    (list_of(text) if isinstance(value, list) else text)(value, place)


def _null_or_texts(value: Any, place: str) -> None:
    """A record of texts by name."""
    list_of(text)(list((value or {}).values()), place)


GO: dict[str, Reader] = {
    "estimateAmt": go_struct(estimate(go_struct)),
    "getTransferStatus": go_struct(status(go_struct)),
    "getLatest7DayTransferLatencyForQuery": go_struct(latency(go_struct)),
    "getTransferConfigs": _go_configs(configs(_go_configs)),
    "getTransferConfigsForAll": _go_configs(configs(_go_configs)),
    "getRefundEvidence": go_struct(evidence(go_struct)),
    "transferHistory": go_struct(history(go_struct)),
    "getTransfer": go_struct(found(go_struct)),
    "getTransferStatuses": go_struct(statuses(go_struct)),
    "explainEstimate": go_struct(explained(go_struct)),
    "getTransferLatencyStats": go_struct(latency_stats(go_struct)),
}
"""A Go program's readers, by operation."""

ZOD: dict[str, Reader] = {
    "estimateAmt": zod_object(estimate(zod_object)),
    "getTransferStatus": zod_object(status(zod_object)),
    "getLatest7DayTransferLatencyForQuery": zod_object(latency(zod_object)),
    "getTransferConfigs": zod_object(configs(zod_object)),
    "getTransferConfigsForAll": zod_object(configs(zod_object)),
    "getRefundEvidence": zod_object(evidence(zod_object)),
    "transferHistory": zod_object(history(zod_object)),
    "getTransfer": zod_object(found(zod_object)),
    "getTransferStatuses": zod_object(statuses(zod_object)),
    "explainEstimate": zod_object(explained(zod_object)),
    "getTransferLatencyStats": zod_object(latency_stats(zod_object)),
}
"""A validating SDK's readers, by operation."""

OF_WEBHOOKS: tuple[Reader, ...] = (go_struct(webhooks(go_struct)), zod_object(webhooks(zod_object)))
"""Readers of what is answered to those who have a key."""
