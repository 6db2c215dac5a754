"""Examples of answers, in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import asdict

from app.refunds.explanation import own_reasons
from app.values.codes import SendKind

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
        "1,000 USDT from Ethereum to BNB Chain",
        err=None,
        eq_value_token_amt="1000001000000000000000",  # noqa: S106  an amount, not a secret
        bridge_rate=1.000001,
        perc_fee="0",
        base_fee="605437528092011966",
        slippage_tolerance=3000,
        max_slippage=3604,
        estimated_receive_amt="999395562471907988034",
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
            "transfer not found; newest events: Ethereum 12 s ago (block 21000000), "
            "BNB Chain 3 min ago (block 44000000)",
            _NO_STATUS,
        ),
    ),
}


def compat_status_examples() -> dict[str, Any]:
    """The same as a gateway answers them unless ``COMPAT_CLIENTS=0``."""
    kinds = {"completed": 1, "to be refunded": 1, "not found": 0}
    return {
        name: example | {"value": example["value"] | {"bridge_type": kinds[name]}}
        for name, example in STATUS_EXAMPLES.items()
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
_NO_EVIDENCE: Final[dict[str, Any]] = {
    "valid": False,
    "proven": False,
    "status": 0,
    "transfer_id": None,
    "kind": None,
    "chain_id": None,
    "contract": None,
    "contract_role": None,
    "call": None,
    "domain": None,
    "digest": None,
    "wd_onchain": None,
    "request": None,
    "withdraw_id": None,
    "contradictions": [],
    "signers": [],
    "power_signed": "",
    "power_total": None,
    "quorum": None,
    "validator_set_version": None,
    "validator_set_hash": None,
    "missing": [],
    "not_signed": [],
    "may_refuse": [],
    "delayed": None,
    "notes": [],
    "other_requests": [],
}
_TRANSFER: Final = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
_SIGNERS: Final = (
    ("0x0714E930C3238208F5Ba1663E975d096e9fa9eAF", "20", None),
    ("0x0b31A55B2453a802db60F4AEbB59aC246aFa0CF1", "50", "0x198ce6a9…461c"),
    ("0x2797099B61819A36DA100b6412030C2ef38c0ADb", "30", "0x1ca924a7…c61c"),
)
_COLLECTING: Final[dict[str, Any]] = _NO_EVIDENCE | {
    "status": 7,
    "transfer_id": _TRANSFER,
    "kind": "pool",
    "chain_id": 1,
    "contract": "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820",
    "contract_role": "pool bridge",
    "call": {
        "function": "withdraw",
        "signature": "withdraw(bytes,bytes[],address[],uint256[])",
        "arguments": [],
        "data": None,
    },
    "domain": {"text": "WithdrawMsg", "separator": "0x7dab912a…c812"},
    "digest": "0x504e46a073f8268602e62f12342454f7587b0a195a678a3019ab03e879e2597a",
    "wd_onchain": "CAEQTRoUGhoaGhoaGhoaGhoaGhoaGhoaGhoiFNrBf5WNLuUj…",
    "request": {
        "chainid": "1",
        "seqnum": "77",
        "receiver": "0x1a1A1A1A1a1A1A1a1A1a1a1a1a1a1a1A1A1a1a1a",
        "token": "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "amount": "1000000",
        "refid": _TRANSFER,
    },
    "withdraw_id": "0xb3b638401bba5b0ecd238e5ce71d6c8b306e19ab53b48d3388aec88bfe6fdb7b",
    "signers": [
        {"address": who, "power": power, "signed": bool(signature), "signature": signature}
        for who, power, signature in (*_SIGNERS[:2], (*_SIGNERS[2][:2], None))
    ],
    "power_signed": "50",
    "power_total": "100",
    "quorum": "67",
    "validator_set_version": 3,
    "validator_set_hash": "0xc8b7ba6ed4efce71dc1a4d633337bbc01594fd4910b39ac5ce20dbef1341a347",
    "missing": [
        "signed power 50 of 100 is below the quorum of 67: 17 more needed",
        "not signed yet: 0x0714E930C3238208F5Ba1663E975d096e9fa9eAF (power 20), "
        "0x2797099B61819A36DA100b6412030C2ef38c0ADb (power 30)",
    ],
    "not_signed": [_SIGNERS[0][0], _SIGNERS[2][0]],
}
EVIDENCE_EXAMPLES: Final[dict[str, Any]] = {
    "valid": _example(
        "A pool refund that can be claimed",
        err=None,
        **_COLLECTING
        | {
            "valid": True,
            "proven": True,
            "status": 8,
            "call": {
                "function": "withdraw",
                "signature": "withdraw(bytes,bytes[],address[],uint256[])",
                "arguments": [
                    {"name": "wdmsg", "type": "bytes", "value": "0x0801104d1a14…"},
                    {"name": "sigs", "type": "bytes[]", "value": [s for _, _, s in _SIGNERS if s]},
                    {"name": "signers", "type": "address[]", "value": [who for who, _, _ in _SIGNERS]},
                    {"name": "powers", "type": "uint256[]", "value": [power for _, power, _ in _SIGNERS]},
                ],
                "data": "0xa21a92800000000000000000000000000000000000000000000000000000000000000080…",
            },
            "signers": [
                {"address": who, "power": power, "signed": bool(signature), "signature": signature}
                for who, power, signature in _SIGNERS
            ],
            "power_signed": "80",
            "missing": [],
            "not_signed": [_SIGNERS[0][0]],
            "may_refuse": [asdict(each) for each in own_reasons(SendKind.POOL)],
        },
    ),
    "collecting": _example("The same before the second signature", err=None, **_COLLECTING),
    "no refund": _example(
        "A transfer without a refund",
        err=None,
        **_COLLECTING
        | {"status": 5}
        | {name: _NO_EVIDENCE[name] for name in ("digest", "wd_onchain", "request", "withdraw_id")}
        | {
            "power_signed": "0",
            "signers": [
                {"address": who, "power": power, "signed": False, "signature": None}
                for who, power, _ in _SIGNERS
            ],
            "missing": ["the transfer was completed, so there is nothing to claim"],
            "not_signed": [],
        },
    ),
    "not found": _example(
        "X-Gateway-Reason: transfer_not_found",
        **_failed(
            500,
            "transfer not found; newest events: Ethereum 12 s ago (block 21000000), "
            "BNB Chain 3 min ago (block 44000000)",
            _NO_EVIDENCE,
        ),
    ),
}
