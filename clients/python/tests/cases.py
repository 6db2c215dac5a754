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
    EstimateQuestion,
    Gateway,
    GatewayError,
    Reset,
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
        minimal_max_slippage=case.get("minimal_max_slippage", 0), native=case.get("native", False),
    )  # fmt: skip


def send(case: Case) -> list[Any]:
    made = made_send(case)
    return [
        made.chain_id, made.contract, made.token, made.signature, made.function,
        [str(each) for each in made.arguments], str(made.minimum_received), str(made.value),
    ]  # fmt: skip


def webhook(case: Case) -> Any:
    return verify_webhook(case["body"], case["headers"], case["secrets"], now=case["now"])


def state_of(state: State) -> list[Any]:
    return [state.status, state.terminal, state.next_actor, state.next_poll_seconds, state.as_of]


def wait(case: Case) -> list[Any]:
    with Gateway(case["base"]) as gateway:
        options = {name: case[name] for name in ("timeout", "unknown_for") if name in case}

        def failing(_: State) -> bool:
            raise TypeError(case["fails"])

        if "fails" in case:
            wait_until(gateway, case["transfer"], failing, **options)
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


def events(case: Case) -> list[list[Any]]:
    """The first changes that somebody hears of who follows a transfer or an account."""
    about = {name: case[name] for name in ("transfer_id", "account", "last_id") if name in case}
    heard: list[list[Any]] = []
    with Gateway(case["base"]) as gateway:
        for change in gateway.events(**about):
            if isinstance(change, Reset):
                heard.append(["reset", change.id])
            else:
                what = [change.previous_status, change.status, change.refund_reason, change.taken_back]
                heard.append([change.transfer_id, *what, *([change.id] if case.get("ids") else [])])
            if len(heard) == case["many"]:
                break
    return heard


def keyed(case: Case) -> list[Any]:
    """What an API key is for: webhooks are made, listed and removed."""
    with Gateway(case["base"], api_key=case["key"]) as gateway:
        made = gateway.create_webhook({"url": case["url"], "transfer_ids": [case["transfer"]]})
        listed = gateway.webhooks()["webhooks"]
        left = gateway.remove_webhook(listed[-1]["id"])["webhooks"]
        return [made["secret"][:6], [each["url"] for each in listed], left]


def session(case: Case) -> dict[str, Any]:
    """Every operation, of a gateway that serves."""
    with Gateway(case["base"] + "/", api_key=case.get("api_key")) as gateway:
        configs = gateway.configs()
        way = find_way(configs, "USDT", 1, 56)
        asked: EstimateQuestion = {
            "src_chain_id": 1, "dst_chain_id": 56, "token_symbol": "USDT", "amount": 1_000_000,
            "slippage_tolerance": 3000, "usr_addr": "0x00", "is_pegged": way.is_pegged,
        }  # fmt: skip
        estimate, explained = gateway.estimate(**asked), gateway.explain_estimate(**asked)
        try:
            gateway.find("no key")
        except GatewayError as error:
            refused = [error.code, error.reason, error.http_status, error.is_temporary]
        found, state = gateway.find(case["transfer"], "es"), gateway.status(case["transfer"])
        words = found["transfers"][0]["words"]
        return {
            "same": gateway.configs() is configs,
            "received": estimate["estimated_receive_amt"],
            "state": [*state_of(state)[:4], state.as_of is not None],
            "evidence": gateway.evidence(case["transfer"])["valid"],
            "found": [found["state"], found["transfers"][0]["certainty"]["level"]],
            "words": words and words["headline"],
            "asked": gateway.ask_for_refund(case["transfer"])["err"],
            "refused": refused,
            "ways": sum(way == other for way, other in zip(ways(configs), gateway.ways(), strict=True)) > 9,
            "explained": explained["refusal"],
            "latency": [gateway.latency(1, 56), gateway.latency_stats(1, 56, "USDT")["median"]],
            "history": [each["status"] for each in gateway.history([case["account"]], page_size=1)],
            "statuses": [each["status"] for each in gateway.statuses([case["transfer"]])["statuses"]],
        }


DOES: dict[str, Do] = {
    "ways": all_ways,
    "send": send,
    "webhook": webhook,
    "wait": wait,
    "follow": follow,
    "events": events,
    "keyed": keyed,
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
