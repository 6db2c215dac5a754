"""Examples of histories and look-ups, in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

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
