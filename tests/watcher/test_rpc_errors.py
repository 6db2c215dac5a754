"""Refusals as nodes word them, and what each means."""

from __future__ import annotations

import pytest

from app.watcher.rpc.faults import (
    HeaderMissing,
    Other,
    Pruned,
    RangeTooLarge,
    Refusal,
    TooManyRequests,
    refusal,
)

TOO_LARGE: list[tuple[str, int | None]] = [
    ("requested too many blocks from 0 to 16777215, maximum is set to 2048", 2048),
    ("Max range: 800", 800),
    ("Maximum allowed number of requested blocks is 1000", 1000),
    ("query returned more than 10000 results. Try with this block range [0x10, 0x1f].", 16),
    ("block range is too wide", None),
    (
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no "
        "limit on the response size, or you can request any block range with a cap of 10K logs in the "
        "response. Based on your parameters and the response size limit, this block range should work: "
        "[0x0, 0x79bcb3]",
        0x79BCB4,
    ),
    (
        "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on "
        "your parameters, this block range should work: [0x1180fca, 0x1180fd3].",
        10,
    ),
    ("eth_getLogs is limited to a 10,000 range", 10_000),
    ("eth_getLogs and eth_newFilter are limited to a 10,000 blocks range", 10_000),
    ("eth_getLogs is limited to 0 - 50 blocks range", 50),
    ("eth_getLogs is limited to 1024 block range. Please check the parameter requirements", 1024),
    ("response size should not greater than 10000000 bytes", None),
    ("query returned more than 10000 results", None),
    ("query exceeds max results 20000, retry with the range 24383075-24383096", 22),
    ("query exceeds max results 20000", None),
    ("backend response too large", None),
    ("Block range is too large", None),
    ("block range too large", None),
    ("logs matched by query exceeds limit of 10000", None),
    ("block range exceeds the range allowed for your plan (5000 > 500)", 500),
    ("Block range limit exceeded. See more details at https://docs.example.com/limits", None),
    ("please limit the query to at most 1,000 blocks", 1000),
    ("exceed maximum block range: 50000", 50_000),
    ("query exceeds max block range 1000", 1000),
    ("query exceeds max block range 100000", 100_000),
    ("block range greater than 500 max", 500),
    ("block range exceeds 1000", 1000),
    ("eth_getLogs range is too large, max is 10k blocks", 10_000),
    ("GetLogs query must be smaller than size 1024", 1024),
    ("block range is too wide (maximum 1024)", 1024),
    ("maximum [from, to] blocks distance: 2000", 2000),
    ("range 1000000 exceeds limit of 10000", 10_000),
    ("block range is larger than max block range, block range = 5120, max block range = 5000", 5000),
    ("block range is bigger than maxBlockRange", None),
    ("too wide blocks range, the limit is 100", 100),
    ("ranges over 10000 blocks are not supported on freetier", 10_000),
    ("query exceeds range, retry smaller (max blocks 1000)", 1000),
    ("max allowed of rounds in logs query is: 100", 100),
    ("Query timeout exceeded. Consider reducing your block range.", None),
    ("query timed out", None),
    ("Requested range exceeds maximum RPC range limit", None),
]

OTHERS: list[tuple[str, int | None, Refusal]] = [
    ("Your app has exceeded its compute units per second capacity.", 429, TooManyRequests()),
    ("daily request count exceeded, request rate limited", -32005, TooManyRequests()),
    ("Too Many Requests", -32005, TooManyRequests()),
    ("rate limit exceeded", -32016, TooManyRequests()),
    ("call rate limit exhausted, retry in 10s", -32097, TooManyRequests()),
    ("limit exceeded", -32005, TooManyRequests()),
    ("50/second request limit reached", -32007, TooManyRequests()),
    ("History has been pruned for this block", -32701, Pruned()),
    ("pruned history unavailable", 4444, Pruned()),
    ("missing trie node 0a1b (path ) state 0x0a1b is not available", -32000, Pruned()),
    ("Archive requests require a personal token", -32602, Pruned()),
    ("historical state is not available", -32000, Pruned()),
    ("header not found", -32000, HeaderMissing()),
    ("unknown block", -39001, HeaderMissing()),
    ("block not found: 0x10", -32001, HeaderMissing()),
    ("Resource not found.", -32001, HeaderMissing()),
    (
        "One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found",
        -32000,
        HeaderMissing(),
    ),
    ("block range extends beyond current head block", -32602, HeaderMissing()),
    (
        "cannot query unfinalized data: requested from block 100 after last accepted block 99",
        -32000,
        HeaderMissing(),
    ),
    ("failed to get logs for block #0 (0xd4e567..cb8fa3)", -32000, HeaderMissing()),
    ("invalid block range params", -32602, HeaderMissing()),
    ("the number of requests exceeds the limit", -32005, TooManyRequests()),
    ("block 0x10 is not available yet", -32000, HeaderMissing()),
    ("query block range exceeds server limit", -32000, RangeTooLarge()),
    ("execution reverted", 3, Other()),
    ("the method eth_getLogs does not exist/is not available", -32601, Other()),
    ("Internal error", -32603, Other()),
    ("", None, Other()),
]


@pytest.mark.parametrize(("message", "blocks"), TOO_LARGE)
def test_a_range_that_is_too_large(message: str, blocks: int | None) -> None:
    for code in (-32000, -32005, -32600, -32602):
        assert refusal(message, code) == RangeTooLarge(blocks)


@pytest.mark.parametrize(("message", "code", "meant"), OTHERS)
def test_other_refusals(message: str, code: int | None, meant: Refusal) -> None:
    assert refusal(message, code) == meant


def test_http_status_decides_if_present() -> None:
    assert refusal("<html>slow down</html>", status=429) == TooManyRequests()
    assert refusal("payment required", status=402) == TooManyRequests()
    assert refusal("", status=413) == RangeTooLarge()
    assert refusal("Bad Gateway", status=502) == Other()
    assert refusal("query exceeds max block range 1000", status=400) == RangeTooLarge(1000)


def test_long_and_hostile_words_are_read_quickly() -> None:
    assert refusal("x" * 10_000_000 + "query timed out") == Other()
    assert refusal("range " * 5_000) == Other()
    assert refusal("max block range " + "9" * 900) is not None
    assert refusal("[0x" + "f" * 900) == Other()
