"""Requests that break a rule, and the name that their refusals must have."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from tests.api.shapes import ESTIMATE, EVIDENCE, LATENCY

ID = "77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
GOOD = {
    "src_chain_id": "1",
    "dst_chain_id": "56",
    "token_symbol": "USDT",
    "amt": "1000000",
    "slippage_tolerance": "3000",
}

PAIR = {"src_chain_id": "1", "dst_chain_id": "56"}

NOT_UINTS = [
    "-1", "+1", "%201", "1%20", "1+", "1.0", "1.5", "1e18", "1E3", "0x10", "1_000", "1,000", "one", "null",
    "NaN", "Infinity", "true", "%D9%A3", "%C2%B2", "%EF%BC%91", "%E0%A5%A7", "1%00", "%00", "1%0A", "1%0D%0A",
    "%FF", "%ED%A0%80", "%C0%B1", "%", "%4", "%zz", "1%", "[1]", "\"1\"", "9" * 5000, "\u0661",
]  # fmt: skip


def with_raw(good: dict[str, str], name: str, raw: str) -> str:
    """The query string with one value that is not encoded."""
    return "&".join((urlencode({k: v for k, v in good.items() if k != name}), f"{name}={raw}"))


def queries() -> Iterator[tuple[str, str, str]]:
    """Path, query string and the name that the message must have."""
    for name, good in GOOD.items():
        without = {key: value for key, value in GOOD.items() if key != name}
        yield ESTIMATE, urlencode(without), name
        yield ESTIMATE, urlencode(without | {name: ""}), name
        yield ESTIMATE, urlencode(GOOD) + f"&{name}={good}", name
        yield ESTIMATE, urlencode(GOOD) + f"&{name}=", name
    for name in ("src_chain_id", "dst_chain_id", "slippage_tolerance", "amt"):
        for raw in NOT_UINTS:
            yield ESTIMATE, with_raw(GOOD, name, raw), name
    for name in ("src_chain_id", "dst_chain_id", "slippage_tolerance"):
        for raw in (str(2**32), str(2**64), str(2**256), "9" * 78, "9" * 79):
            yield ESTIMATE, with_raw(GOOD, name, raw), name
    for raw in (str(2**256), "9" * 78, "0" * 79, "1" + "0" * 78):
        yield ESTIMATE, with_raw(GOOD, "amt", raw), "amt"
    for raw in ("yes", "no", "2", "-1", "01", "on", "null", "%00", "%FF", "tru", "true%20", "ｔ"):
        yield ESTIMATE, with_raw(GOOD, "is_pegged", raw), "is_pegged"
    yield ESTIMATE, urlencode(GOOD) + "&is_pegged=true&is_pegged=true", "is_pegged"
    for raw in ("a" * 129, "%00", "a%00b", "%FF", "%ED%A0%80", "%E4%B8", "%u0041", "é" * 129):
        yield ESTIMATE, with_raw(GOOD, "usr_addr", raw), "usr_addr"
    yield ESTIMATE, urlencode(GOOD) + "&usr_addr=a&usr_addr=b", "usr_addr"
    for raw in ("US%00DT", "%FF", "%ED%BF%BF", "T" * 129):
        yield ESTIMATE, with_raw(GOOD, "token_symbol", raw), "token_symbol"
    yield ESTIMATE, urlencode(GOOD) + "&%61mt=1000000", "amt"
    yield ESTIMATE, "", "amt"
    yield ESTIMATE, "&&&", "amt"
    yield ESTIMATE, "=1&=2", "amt"
    yield ESTIMATE, urlencode(GOOD).replace("&", ";"), "dst_chain_id"
    yield ESTIMATE, urlencode(GOOD).replace("amt", "Amt"), "amt"
    for name in PAIR:
        without = {key: value for key, value in PAIR.items() if key != name}
        yield LATENCY, urlencode(without), name
        yield LATENCY, urlencode(without | {name: ""}), name
        yield LATENCY, urlencode(PAIR) + f"&{name}=1", name
        for raw in (*NOT_UINTS, str(2**64), str(2**256), "9" * 79):
            yield LATENCY, with_raw(PAIR, name, raw), name
    for query in ("", "transfer_id=", f"transfer_id={ID}&transfer_id={ID}", f"transferId={ID}"):
        yield EVIDENCE, query, "transfer_id"
    for raw in ("0x", ID[1:], f"{ID}0", f"0x0x{ID[2:]}", f"{ID}%00", f"%20{ID}", "g" * 64, "\u0661" * 64):
        yield EVIDENCE, f"transfer_id={raw}", "transfer_id"
