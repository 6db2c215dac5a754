"""What the public is answered while operators work."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.serving.server import Server

ASKED = 24
"""Connections of their own: each worker is all but surely among those that answer."""


CONFIG_MAX_AGE_SECONDS = 1.0
"""The default, which the servers of these tests have: a change counts everywhere within it."""


def estimate(
    server: Server, src: int = 1, dst: int = 56, usr: str = "", token: str = "USDT", amt: int = 10**9
) -> dict[str, Any]:
    query = f"src_chain_id={src}&dst_chain_id={dst}&token_symbol={token}&amt={amt}&slippage_tolerance=3000"
    answer = server.ask("GET", f"/v2/estimateAmt?{query}" + (f"&usr_addr={usr}" if usr else ""))
    found: dict[str, Any] = json.loads(answer.read())
    return found


def in_time(server: Server, holds: Callable[[dict[str, Any]], bool], **asked: Any) -> None:
    """Once the promised time is over, every worker's answer is as it should be."""
    time.sleep(CONFIG_MAX_AGE_SECONDS)
    answers = [estimate(server, **asked) for _ in range(ASKED)]
    assert all(map(holds, answers)), answers


def code(answer: dict[str, Any]) -> int | None:
    return (answer.get("err") or {}).get("code")
