"""Examples of answers, in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

_NO_ESTIMATE: Final[dict[str, Any]] = {
    "eq_value_token_amt": "",
    "bridge_rate": 0,
    "perc_fee": "",
    "base_fee": "",
    "slippage_tolerance": 0,
    "max_slippage": 0,
    "estimated_receive_amt": "",
    "drop_gas_amt": "",
}
_NO_STATUS: Final[dict[str, Any]] = {
    "status": 0,
    "wd_onchain": None,
    "sorted_sigs": [],
    "signers": [],
    "powers": [],
    "refund_reason": 0,
    "block_delay": 0,
    "src_block_tx_link": "",
    "dst_block_tx_link": "",
}


def _example(summary: str, **value: Any) -> dict[str, Any]:
    return {"summary": summary, "value": value}


def _failed(code: int, msg: str, rest: dict[str, Any]) -> dict[str, Any]:
    return {"err": {"code": code, "msg": msg}} | rest


ESTIMATE_EXAMPLES: Final[dict[str, Any]] = {
    "estimated": _example(
        "1 USDT from Ethereum to BNB Chain",
        err=None,
        eq_value_token_amt="1000001000000000000",  # noqa: S106  an amount, not a secret
        bridge_rate=1.000001,
        perc_fee="0",
        base_fee="605437528092011966",
        slippage_tolerance=3000,
        max_slippage=608436,
        estimated_receive_amt="394563471907988034",
        drop_gas_amt="0",
    ),
    "refused": _example("X-Gateway-Reason: amount_zero", **_failed(500, "amount should > 0", _NO_ESTIMATE)),
}
STATUS_EXAMPLES: Final[dict[str, Any]] = {
    "completed": _example(
        "Completed, from Fantom to Arbitrum One",
        err=None,
        **_NO_STATUS
        | {
            "status": 5,
            "block_delay": 30,
            "src_block_tx_link": (
                "https://ftmscan.com/tx/0x5817041ff87994234a74edbff7f25afb659a5519c1ce0b90b7d886aca67eaccc"
            ),
            "dst_block_tx_link": (
                "https://arbiscan.io/tx/0xe73db1fff7407a72d4755cd52252d29afd2e5326b755725df56befba4ff7594b"
            ),
        },
    ),
    "to be refunded": _example(
        "To be refunded, because slippage was too low",
        err=None,
        **_NO_STATUS | {"status": 6, "refund_reason": 4, "block_delay": 12},
    ),
    "not found": _example(
        "X-Gateway-Reason: transfer_not_found",
        **_failed(
            500,
            "transfer not found; the newest events here: Ethereum 12 s ago, BNB Chain 3 min ago",
            _NO_STATUS,
        ),
    ),
}
LATENCY_EXAMPLES: Final[dict[str, Any]] = {
    "median": _example("A median", err=None, median_transfer_latency_in_second=612.5),
    "no transfers": _example(
        "X-Gateway-Reason: no_latency_data",
        **_failed(
            500,
            "no transfer from Ethereum to BNB Chain was released in the last 7 days",
            {"median_transfer_latency_in_second": 0},
        ),
    ),
}
