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


def each(reader: Reader, names: str) -> Fields:
    """Several fields of one type."""
    return dict.fromkeys(names.split(), reader)


def error(made: Object) -> Fields:
    return {"err": or_null(made({"code": one_of(*CODES), "msg": text}))}


def estimate(made: Object) -> Fields:
    return {
        **error(made),
        **each(amount, "eq_value_token_amt perc_fee base_fee estimated_receive_amt drop_gas_amt"),
        **each(uint(32), "slippage_tolerance max_slippage"),
        "bridge_rate": number,
    }


TRANSACTION: Fields = {"chain_id": uint(32), **each(text, "to data"), "value": amount}


def send(made: Object) -> Fields:
    approval = {**each(text, "token spender"), "amount": amount, "transaction": made(TRANSACTION)}
    return {
        **estimate(made),
        "transaction": or_null(made(TRANSACTION)),
        "approval": or_null(made(approval)),
        "transfer_id": or_null(text),
        "valid_until": text,
    }


def published_status(made: Object) -> Fields:
    """The fields of the interface: those of a gateway with ``COMPAT_CLIENTS=0``, and no other."""
    return {
        **error(made),
        "status": one_of(*range(12)),
        "wd_onchain": or_null(data()),
        "sorted_sigs": list_of(data(65)),
        "signers": list_of(data(20)),
        "powers": list_of(data()),
        "refund_reason": one_of(*range(10)),
        "block_delay": uint(32),
        **each(text, "src_block_tx_link dst_block_tx_link"),
    }


def status(made: Object) -> Fields:
    """Those of the message: clients that know burns from sends by the type of the bridge need it."""
    return {**published_status(made), "bridge_type": one_of(*range(5))}


def latency(made: Object) -> Fields:
    return {**error(made), "median_transfer_latency_in_second": number}


def token(made: Object) -> Reader:
    return made({**each(text, "symbol address"), "decimal": uint(31), "xfer_disabled": flag})


CHAIN: Fields = {
    **each(uint(32), "id block_delay"),
    **each(text, "name icon gas_token_symbol explore_url contract_addr"),
    "drop_gas_amt": amount,
    **each(text, "drop_gas_cost_amt drop_gas_balance_alert suggested_gas_cost"),
}
CHAIN_CONFIG: Fields = {
    **CHAIN,
    **each(text, "farming_reward_contract_addr transfer_agent_contract_addr"),
    "flat_usd_fee": number,
    "disabled": flag,
    "native_wrap": text,
}


def transfer(made: Object) -> Fields:
    """A transfer of a history."""
    leg = made({"chain": made(CHAIN), "token": token(made), "amount": amount})
    shared = status(made)
    names = ("status", "refund_reason", "bridge_type", "src_block_tx_link", "dst_block_tx_link")
    return {
        **{name: shared[name] for name in names},
        **each(text, "transfer_id sender receiver"),
        **each(leg, "src_send_info dst_received_info"),
        **each(amount, "ts update_ts dst_deadline"),
    }


def progress(*unknown: str) -> Fields:
    """How far a transfer has come.

    :param unknown: the actor of a transfer that is not known.
    """
    return {
        "terminal": flag,
        "next_actor": one_of("network", "user", "nobody", *unknown),
        "next_poll_seconds": uint(32),
        "final_by": one_of("", "block", "reported"),
        "as_of": text,
    }


def history(made: Object) -> Fields:
    listed = {"history": list_of(made(transfer(made)))}
    return {**error(made), **listed, **each(amount, "next_page_token current_size")}


def found(made: Object) -> Fields:
    evidence_too = {name: field for name, field in status(made).items() if name != "err"}
    certainty = {
        **each(or_null(uint(64)), "chain_id block as_of_block"),
        "level": one_of("proven", "reported", "unknown"),
        "event": text,
        "reported_by": one_of("gateway", "reporter", ""),
    }
    second_opinion = {
        "certainty": made(certainty),
        "words": or_null(made(each(text, "lang headline now next certainty"))),
    }
    one = {**transfer(made), **evidence_too, **progress(), **second_opinion}
    return {
        **error(made),
        "state": one_of("unknown", "announced", "known"),
        "transfers": list_of(made(one)),
        "read_to": map_of(made({"block": or_null(uint(63)), "at": text})),
    }


def statuses(made: Object) -> Fields:
    one = {**status(made), "transfer_id": text, **progress("")}
    return {**error(made), "statuses": list_of(made(one))}


def explained(made: Object) -> Fields:
    term = {
        **each(text, "name formula value unit"),
        "inputs": list_of(made(each(text, "name value"))),
        "rounding": one_of("up", "down", "none"),
    }
    limit = {
        **each(text, "name formula counted left unit"),
        "value": amount,
        "largest_amt": or_null(amount),
        "binds": flag,
    }
    refusal = {
        "code": one_of(*CODES),
        **each(text, "reason msg check"),
        **each(or_null(amount), "largest_passing_amt smallest_passing_amt"),
        "largest_passing_tolerance": or_null(uint(32)),
    }
    check = {"name": text, "outcome": one_of("passed", "refused", "not_reached", "not_made")}
    return {
        **error(made),
        "refusal": or_null(made(refusal)),
        "bridge_type": one_of(*range(5)),
        "rate_model": one_of("fixed", "stableswap", "pegged", ""),
        "base_fee_source": one_of("configured", "reported", "pinned", ""),
        **each(or_null(text), "base_fee_since config_changed_at"),
        "terms": list_of(made(term)),
        "limits": list_of(made(limit)),
        "checks": list_of(made(check)),
        "passing": or_null(made(each(amount, "least_amt most_amt"))),
        "config_version": uint(63),
        "facts_age_seconds": or_null(number),
    }


def latency_stats(made: Object) -> Fields:
    return {
        **error(made),
        "count": uint(63),
        "window_seconds": uint(32),
        **each(number, "median p90 p99"),
        "as_of": text,
    }


def webhooks(made: Object) -> Fields:
    one = {
        **each(text, "id name url created_at"),
        "everything": flag,
        **each(list_of(text), "accounts transfer_ids"),
        "state": one_of("active", "paused", "off"),
        "waiting": uint(32),
    }
    return {**error(made), "webhooks": list_of(made(one)), "secret": text}


def token_in_configs(made: Object) -> Fields:
    return {
        "token": token(made),
        **each(text, "name icon delay_threshold"),
        **each(amount, "inbound_lmt inbound_epoch_cap"),
        **each(flag, "transfer_disabled liq_add_disabled liq_rm_disabled liq_agg_rm_src_disabled"),
        "delay_period": number,
        **each(text, " ".join(own_of_tokens())),
    }


def token_info(made: Object) -> Fields:
    return {**error(made), "token_info": or_null(made(token_in_configs(made)))}


def configs(made: Object) -> Fields:
    info = token_in_configs(made)
    pair = {
        **each(uint(32), "org_chain_id pegged_chain_id vault_version bridge_version"),
        **each(made(info), "org_token pegged_token"),
        **each(text, "pegged_deposit_contract_addr pegged_burn_contract_addr canonical_token_contract_addr"),
    }
    blocked = {"symbol": text, **each(_chain_id, "src_chain_id dst_chain_id")}
    return {
        **error(made),
        "chains": list_of(made(CHAIN_CONFIG)),
        "chain_token": map_of(made({"token": list_of(made(info))})),
        "farming_reward_contract_addr": text,
        "pegged_pair_configs": list_of(made(pair)),
        "blocked_bridge_direct": list_of(made(blocked)),
    }


def _chain_id(value: Any, place: str) -> None:
    """A 64-bit number: protobuf's JSON writes it as a text, and readers take both."""
    (amount if isinstance(value, str) else uint(64))(value, place)


def evidence(made: Object) -> Fields:
    texts = or_null(text)
    argument = made({**each(text, "name type"), "value": _text_or_texts})
    call = made({**each(text, "function signature"), "arguments": list_of(argument), "data": texts})
    signer = {**each(text, "address"), "power": amount, "signed": flag, "signature": texts}
    other = {
        "wd_onchain": data(),
        "digest": texts,
        "power_signed": amount,
        "reached": flag,
        "contradictions": list_of(text),
    }
    delayed = {
        "funds": one_of("refund", "payout"),
        **each(texts, "delayed_id contract tx_hash"),
        "chain_id": or_null(uint(64)),
        "tx_link": text,
        "call": or_null(call),
    }
    return {
        **error(made),
        **each(flag, "valid proven"),
        "status": one_of(*range(12)),
        **each(texts, "transfer_id contract contract_role digest withdraw_id validator_set_hash"),
        "kind": or_null(one_of("pool", "deposit", "burn")),
        "chain_id": or_null(uint(64)),
        "call": or_null(call),
        "transaction": or_null(made(TRANSACTION)),
        "domain": or_null(made(each(text, "text separator"))),
        "wd_onchain": or_null(data()),
        "request": _null_or_texts,
        **each(list_of(text), "contradictions missing not_signed notes"),
        "signers": list_of(made(signer)),
        "power_signed": amount,
        **each(or_null(amount), "power_total quorum"),
        "validator_set_version": or_null(uint(63)),
        "may_refuse": list_of(made(each(text, "reason words"))),
        "delayed": or_null(made(delayed)),
        "other_requests": list_of(made(other)),
    }


def _text_or_texts(value: Any, place: str) -> None:
    (list_of(text) if isinstance(value, list) else text)(value, place)


def _null_or_texts(value: Any, place: str) -> None:
    """A record of texts by name."""
    list_of(text)(list((value or {}).values()), place)


def _go_configs(fields: Fields) -> Reader:
    """Production's answers have fields beyond the published ones: no client of them refuses unknown names."""
    return go_struct(fields, unknown_refused=False)


_OPERATIONS = {
    "estimateAmt": estimate,
    "getSendTransaction": send,
    "getTransferStatus": status,
    "getLatest7DayTransferLatencyForQuery": latency,
    "getTransferConfigs": configs,
    "getTransferConfigsForAll": configs,
    "getTokenInfo": token_info,
    "getRefundEvidence": evidence,
    "transferHistory": history,
    "getTransfer": found,
    "getTransferStatuses": statuses,
    "explainEstimate": explained,
    "getTransferLatencyStats": latency_stats,
}


def _go(fields: Any) -> Reader:
    made = _go_configs if fields is configs else go_struct
    return made(fields(made))


GO: dict[str, Reader] = {name: _go(fields) for name, fields in _OPERATIONS.items()}
"""A Go program's readers, by operation."""

ZOD: dict[str, Reader] = {name: zod_object(fields(zod_object)) for name, fields in _OPERATIONS.items()}
"""A validating SDK's readers, by operation."""

OF_WEBHOOKS: tuple[Reader, ...] = (go_struct(webhooks(go_struct)), zod_object(webhooks(zod_object)))
"""Readers of answers to requests with a key."""
