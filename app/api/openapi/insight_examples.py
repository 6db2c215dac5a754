"""Examples of explained estimates and of figures about latencies, in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from app.api.insights.checks import CHECK_NAMES
from app.domain.codes import BridgeType

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


def _example(summary: str, **value: Any) -> dict[str, Any]:
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
    "estimated": _example(
        "1 USDT from Ethereum to BNB Chain; two of the terms and one of the limits",
        err=None,
        refusal=None,
        **_explained(_TERMS, _limits("1000000", "4999999000000"), _checks()),
    ),
    "refused": _example(
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
    "unreadable": _example(
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
    "figures": _example(
        "Of a week",
        err=None,
        count=1204,
        window_seconds=604800,
        median=612.5,
        p90=840.25,
        p99=2460,
        as_of="2026-11-21T12:00:00Z",
    ),
    "no transfers": _example(
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
