"""Examples of histories, look-ups, explained estimates and figures, in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from app.estimates.explanation import CHECK_NAMES
from app.values.codes import BridgeType

_SRC: Final = "smallest units of USDT on Ethereum"
_DST: Final = "smallest units of USDT on BNB Chain"
_FEE_INPUTS: Final = {"eq_value_token_amt": "1000001000000000000", "ppm": "0", "tier_from": "0"}
_PASSING: Final = {"least_amt": "607261", "most_amt": "5000000000000"}


def _explained(terms: list[Any], limits: list[Any], checks: list[Any]) -> dict[str, Any]:
    return {
        "bridge_type": BridgeType.POOL.value,
        "rate_model": "fixed",
        "base_fee_source": "reported",
        "base_fee_since": "2026-11-21T12:00:00Z",
        "terms": terms,
        "limits": limits,
        "checks": checks,
        "passing": _PASSING,
        "config_version": 118,
        "config_changed_at": "2026-11-21T09:30:00Z",
        "facts_age_seconds": 0.4,
    }


def _insight_example(summary: str, **value: Any) -> dict[str, Any]:
    return {"summary": summary, "value": value}


def _term(name: str, formula: str, value: str, rounding: str, **inputs: str) -> dict[str, Any]:
    return {
        "name": name,
        "formula": formula,
        "inputs": [{"name": name, "value": value} for name, value in inputs.items()],
        "value": value,
        "unit": _DST,
        "rounding": rounding,
    }


_TERMS: Final = [
    _term(
        "perc_fee",
        "eq_value_token_amt * ppm / 1000000, rounded up, at the highest tier that starts at or under amt",
        "0",
        "up",
        **_FEE_INPUTS,
    ),
    _term(
        "estimated_receive_amt",
        "eq_value_token_amt - perc_fee - base_fee",
        "394563471907988034",
        "none",
        eq_value_token_amt="1000001000000000000",  # noqa: S106  an amount, not a secret
        perc_fee="0",
        base_fee="605437528092011966",
    ),
]


def _limits(counted: str, left: str) -> list[dict[str, Any]]:
    return [
        {
            "name": "inbound_limit",
            "formula": "amt is at most liquidity added - relayed - withdrawn of the source pool",
            "value": "5000000000000",
            "counted": counted,
            "left": left,
            "unit": _SRC,
            "largest_amt": "5000000000000",
            "binds": True,
        }
    ]


def _checks(refused: str | None = None) -> list[dict[str, str]]:
    at = len(CHECK_NAMES) if refused is None else CHECK_NAMES.index(refused)
    return [
        {
            "name": name,
            "outcome": "not_made"
            if name == "curve"
            else "passed"
            if place < at
            else "refused"
            if place == at
            else "not_reached",
        }
        for place, name in enumerate(CHECK_NAMES)
    ]


EXPLAIN_EXAMPLES: Final[dict[str, Any]] = {
    "estimated": _insight_example(
        "1 USDT from Ethereum to BNB Chain; two of the terms and one of the limits",
        err=None,
        refusal=None,
        **_explained(_TERMS, _limits("1000000", "4999999000000"), _checks()),
    ),
    "refused": _insight_example(
        "Over the inbound limit of the source pool",
        err=None,
        refusal={
            "code": 1005,
            "reason": "inbound_limit",
            "msg": "You can transfer up to 5000000 USDT at this moment",
            "check": "inbound_limit",
            "largest_passing_amt": "5000000000000",
            "smallest_passing_amt": None,
            "largest_passing_tolerance": None,
        },
        **_explained([], _limits("6000000000000", "-1000000000000"), _checks("inbound_limit")),
    ),
    "unreadable": _insight_example(
        "X-Gateway-Reason: bad_request, with HTTP 400",
        err={"code": 500, "msg": "amt: is missing"},
        refusal=None,
        bridge_type=0,
        rate_model="",
        base_fee_source="",
        base_fee_since=None,
        terms=[],
        limits=[],
        checks=[],
        passing=None,
        config_version=0,
        config_changed_at=None,
        facts_age_seconds=None,
    ),
}
LATENCY_STATS_EXAMPLES: Final[dict[str, Any]] = {
    "figures": _insight_example(
        "Of a week",
        err=None,
        count=1204,
        window_seconds=604800,
        median=612.5,
        p90=840.25,
        p99=2460,
        as_of="2026-11-21T12:00:00Z",
    ),
    "no transfers": _insight_example(
        "X-Gateway-Reason: no_latency_data",
        err={"code": 500, "msg": "no transfer from Ethereum to BNB Chain was released in the last 7 days"},
        count=0,
        window_seconds=0,
        median=0,
        p90=0,
        p99=0,
        as_of="",
    ),
}


_TRANSFER: Final = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
_ACCOUNT: Final = "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca"
_SRC_LINK: Final = (
    "https://etherscan.io/tx/0x5817041ff87994234a74edbff7f25afb659a5519c1ce0b90b7d886aca67eaccc"
)
_DST_LINK: Final = "https://bscscan.com/tx/0xe73db1fff7407a72d4755cd52252d29afd2e5326b755725df56befba4ff7594b"


def _chain(chain_id: int, name: str, *, delay: int, gas: str, explorer: str, contract: str) -> dict[str, Any]:
    return {
        "id": chain_id,
        "name": name,
        "icon": "",
        "block_delay": delay,
        "gas_token_symbol": gas,
        "explore_url": explorer,
        "contract_addr": contract,
        "drop_gas_amt": "0",
    }


def _leg(chain: dict[str, Any], address: str, decimal: int, amount: str) -> dict[str, Any]:
    token = {"symbol": "USDT", "address": address, "decimal": decimal, "xfer_disabled": False}
    return {"chain": chain, "token": token, "amount": amount}


_ETHEREUM: Final = _chain(
    1,
    "Ethereum",
    delay=12,
    gas="ETH",
    explorer="https://etherscan.io",
    contract="0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820",
)
_BNB_CHAIN: Final = _chain(
    56,
    "BNB Chain",
    delay=15,
    gas="BNB",
    explorer="https://bscscan.com",
    contract="0xdd90E5E87A2081Dcf0391920868eBc2FFB81a1aF",
)
_STATUS: Final[dict[str, Any]] = {
    "status": 5,
    "wd_onchain": None,
    "sorted_sigs": [],
    "signers": [],
    "powers": [],
    "refund_reason": 0,
    "block_delay": 12,
    "src_block_tx_link": _SRC_LINK,
    "dst_block_tx_link": _DST_LINK,
    "bridge_type": 1,
}
_PROGRESS: Final[dict[str, Any]] = {
    "terminal": True,
    "final_by": "block",
    "next_actor": "nobody",
    "next_poll_seconds": 0,
    "as_of": "2026-11-09T08:01:03Z",
}
_HISTORY_TRANSFER: Final[dict[str, Any]] = {
    "transfer_id": _TRANSFER,
    "src_send_info": _leg(_ETHEREUM, "0xdAC17F958D2ee523a2206206994597C13D831ec7", 6, "1000000"),
    "dst_received_info": _leg(
        _BNB_CHAIN, "0x55d398326f99059fF775485246999027B3197955", 18, "394563471907988034"
    ),
    "ts": "1794153600000",
    "src_block_tx_link": _SRC_LINK,
    "dst_block_tx_link": _DST_LINK,
    "status": 5,
    "refund_reason": 0,
    "sender": _ACCOUNT,
    "receiver": _ACCOUNT,
    "update_ts": "1794153660000",
    "bridge_type": 1,
    "dst_deadline": "0",
}
_READ_TO: Final = {
    "1": {"block": 21_000_000, "at": "2026-11-09T08:01:00Z"},
    "56": {"block": 44_000_000, "at": "2026-11-09T08:01:02Z"},
}


def _example(summary: str, **value: Any) -> dict[str, Any]:
    return {"summary": summary, "value": value}


HISTORY_EXAMPLES: Final[dict[str, Any]] = {
    "page": _example(
        "A page of one transfer",
        err=None,
        history=[_HISTORY_TRANSFER],
        next_page_token="1794153600000",  # noqa: S106  a time, not a secret
        current_size="1",
    ),
    "empty": _example("After the last page", err=None, history=[], next_page_token="", current_size="0"),
}
FIND_EXAMPLES: Final[dict[str, Any]] = {
    "known": _example(
        "A completed transfer",
        err=None,
        state="known",
        transfers=[_HISTORY_TRANSFER | _STATUS | _PROGRESS],
        read_to=_READ_TO,
    ),
    "unknown": _example("Not known, or not yet", err=None, state="unknown", transfers=[], read_to=_READ_TO),
}
STATUSES_EXAMPLES: Final[dict[str, Any]] = {
    "two": _example(
        "One of two is known",
        err=None,
        statuses=[
            {"err": None, **_STATUS, **_PROGRESS, "transfer_id": _TRANSFER},
            {
                "err": {
                    "code": 500,
                    "msg": "transfer not found; newest events: Ethereum 12 s ago (block 21000000)",
                },
                **{
                    name: None if value is None else type(value)()
                    for name, value in (_STATUS | _PROGRESS).items()
                },
                "transfer_id": "0x" + "ab" * 32,
            },
        ],
    ),
}
