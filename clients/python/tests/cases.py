"""Runs cases that both client libraries must answer alike: JSON comes in, the results go out.

A case names what is to be done and with what; its result is ``{"value": …}``, or the class and the text of an
error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from transfer_gateway_client import (
    Gateway,
    GatewayError,
    Send,
    State,
    Way,
    find_way,
    send_arguments,
    verify_webhook,
    wait_until,
    wait_until_done,
    ways,
)

Case = Mapping[str, Any]
Do = Callable[[Case], Any]


def way_of(way: Way) -> list[Any]:
    return [
        way.kind, way.symbol, way.src_chain_id, way.dst_chain_id, way.contract, way.token, way.decimal,
        way.version, way.to_chain,
    ]  # fmt: skip


def all_ways(case: Case) -> list[list[Any]]:
    return [way_of(way) for way in ways(case["configs"])]


def made_send(case: Case) -> Send:
    way = find_way(case["configs"], *case["way"], is_pegged=case.get("is_pegged"))
    return send_arguments(
        way, case["estimate"], amount=int(case["amount"]), receiver=case["receiver"], nonce=case["nonce"],
        minimal_max_slippage=case.get("minimal_max_slippage", 0),
    )  # fmt: skip


def send(case: Case) -> list[Any]:
    made = made_send(case)
    return [
        made.chain_id, made.contract, made.token, made.signature, made.function,
        [str(each) for each in made.arguments], str(made.minimum_received),
    ]  # fmt: skip


def webhook(case: Case) -> Any:
    return verify_webhook(case["body"], case["headers"], case["secrets"], now=case["now"])


def state_of(state: State) -> list[Any]:
    return [state.status, state.terminal, state.next_actor, state.next_poll_seconds, state.as_of]


def wait(case: Case) -> list[Any]:
    with Gateway(case["base"]) as gateway:
        options = {name: case[name] for name in ("timeout", "unknown_for") if name in case}
        if case.get("terminal"):
            return state_of(wait_until(gateway, case["transfer"], lambda state: state.terminal, **options))
        return state_of(wait_until_done(gateway, case["transfer"], **options))


def follow(case: Case) -> list[int]:
    """The statuses that somebody sees who waits until it is over."""
    seen: list[int] = []

    def over(state: State) -> bool:
        seen.append(state.status)
        return state.terminal

    with Gateway(case["base"]) as gateway:
        wait_until(gateway, case["transfer"], over, timeout=case["timeout"])
    return list(dict.fromkeys(seen))


def session(case: Case) -> dict[str, Any]:
    """Every operation, of a gateway that serves."""
    with Gateway(case["base"] + "/", api_key=case.get("api_key")) as gateway:
        configs = gateway.configs()
        way = find_way(configs, "USDT", 1, 56)
        estimate = gateway.estimate(
            src_chain_id=1, dst_chain_id=56, token_symbol="USDT", amount=1_000_000, slippage_tolerance=3000,
            usr_addr="0x00", is_pegged=way.is_pegged,
        )  # fmt: skip
        try:
            gateway.find("no key")
        except GatewayError as error:
            refused = [error.code, error.reason, error.http_status, error.is_temporary]
        found, state = gateway.find(case["transfer"]), gateway.status(case["transfer"])
        return {
            "same": gateway.configs() is configs,
            "received": estimate["estimated_receive_amt"],
            "state": [*state_of(state)[:4], state.as_of is not None],
            "evidence": gateway.evidence(case["transfer"])["valid"],
            "found": found["state"],
            "asked": gateway.ask_for_refund(case["transfer"])["err"],
            "refused": refused,
        }


DOES: dict[str, Do] = {
    "ways": all_ways,
    "send": send,
    "webhook": webhook,
    "wait": wait,
    "follow": follow,
    "session": session,
}


def main(does: Mapping[str, Do]) -> None:
    given = json.load(sys.stdin)
    documents = given["documents"]

    def result(case: Case) -> dict[str, Any]:
        full = {name: documents[each] if name == "configs" else each for name, each in case.items()}
        try:
            return {"value": does[case["do"]](full)}
        except Exception as error:
            return {"error": type(error).__name__, "says": str(error)}

    with ThreadPoolExecutor(32) as threads:
        json.dump(list(threads.map(result, given["cases"])), sys.stdout)


if __name__ == "__main__":
    main(DOES)
