"""What real nodes do, as functions from a request and the right answer to the answer that they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import DROPPED, TOO_LATE, Answer, Behaviour, Call, Request


def error(message: str, code: int = -32000) -> dict[str, Any]:
    """The JSON-RPC error of a call."""
    return {"code": code, "message": message}


def refuse(message: str, code: int = -32000, when: Callable[[Request], bool] = lambda _: True) -> Behaviour:
    """Answer every call of such a request with an error."""

    def behave(request: Request, right: Answer) -> Answer:
        if not when(request):
            return right
        refused = [
            {"jsonrpc": "2.0", "id": call["id"], "error": error(message, code)} for call in request.calls
        ]
        return Answer(refused if request.batch else refused[0])

    return behave


def page(
    status: int,
    text: str = "<html>no</html>",
    *,
    when: Callable[[Request], bool] = lambda _: True,
    **headers: str,
) -> Behaviour:
    """Answer with a page for people."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def behave(request: Request, right: Answer) -> Answer:
        return Answer(text.encode(), status, named) if when(request) else right

    return behave


def body(change: Callable[[bytes], bytes], status: int = 200) -> Behaviour:
    """Change the body of each answer, and its status."""
    return lambda _request, right: replace(right, content=change(orjson.dumps(right.content)), status=status)


def silent(to_id: int) -> Behaviour:
    """Leave calls with this id unanswered."""

    def behave(_request: Request, right: Answer) -> Answer:
        if isinstance(right.content, list):
            return replace(right, content=[answer for answer in right.content if answer["id"] != to_id])
        return Answer(b"") if right.content["id"] == to_id else right

    return behave


def drop(when: Callable[[Request], bool] = lambda _: True) -> Behaviour:
    """End the connection without an answer."""
    return lambda request, right: Answer(DROPPED) if when(request) else right


def late(when: Callable[[Request], bool]) -> Behaviour:
    """Take too long."""
    return lambda request, right: Answer(TOO_LATE) if when(request) else right


def each_call(change: Callable[[Call, dict[str, Any]], dict[str, Any]]) -> Behaviour:
    """Change the answer to each call: the call, the right answer with ``result`` or ``error``."""

    def behave(request: Request, right: Answer) -> Answer:
        calls = {call["id"]: call for call in request.calls}

        def changed(answer: dict[str, Any]) -> dict[str, Any]:
            call = calls.get(answer.get("id"))
            return answer if call is None else change(call, answer)

        content = right.content
        if isinstance(content, list):
            return replace(right, content=[changed(answer) for answer in content])
        return replace(right, content=changed(content)) if isinstance(content, dict) else right

    return behave


def results(method: str, change: Callable[[Any], Any]) -> Behaviour:
    """Change the results of one method."""

    def changed(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
        if call["method"] != method or "result" not in answer:
            return answer
        return answer | {"result": change(answer["result"])}

    return each_call(changed)


def receipts(of: Callable[[int], bool], change: Callable[[Any], Any]) -> Behaviour:
    """Change the receipts of some blocks."""

    def changed(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
        if call["method"] != "eth_getBlockReceipts" or not of(int(call["params"][0], 16)):
            return answer
        return answer | {"result": change(answer["result"])} if answer.get("result") else answer

    return each_call(changed)


def refused_calls(message: str, code: int = -32000, *, when: Callable[[Call], bool]) -> Behaviour:
    """Answer some calls with an error, the others rightly."""

    def changed(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": call["id"], "error": error(message, code)} if when(call) else answer

    return each_call(changed)


def calls_over(most: int) -> Callable[[Request], bool]:
    """Whether a request has more calls."""
    return lambda request: len(request.calls) > most


def blocks_over(most: int) -> Callable[[Request], bool]:
    """Whether a request is for logs of more blocks."""
    return lambda request: request.blocks() > most


def is_logs(call: Call) -> bool:
    """Whether a call is for logs."""
    return bool(call["method"] == "eth_getLogs")


def both(first: Behaviour, second: Behaviour) -> Behaviour:
    """Do one after the other."""
    return lambda request, right: second(request, first(request, right))


def blocks(tag: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Behaviour:
    """Change the header that was requested by this tag; None for no header."""

    def changed(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
        if call["method"] != "eth_getBlockByNumber" or call["params"][0] != tag or not answer.get("result"):
            return answer
        new = change(answer["result"])
        return answer | {"result": new and answer["result"] | new}

    return each_call(changed)


def every_block(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Behaviour:
    """Change every header."""
    return results("eth_getBlockByNumber", lambda block: block and block | change(block))


def later(quantity: str) -> str:
    """A number that is far higher."""
    return hex(int(quantity, 16) + 10**7)


def right(_request: Request, answer: Answer) -> Answer:
    """Do nothing wrong."""
    return answer


def after(number: int, behaviour: Behaviour) -> Behaviour:
    """Do it after so many requests."""
    return lambda request, right: behaviour(request, right) if request.number > number else right


def every(nth: int, behaviour: Behaviour) -> Behaviour:
    """Do it with every n-th request."""
    return lambda request, right: behaviour(request, right) if request.number % nth == 0 else right


def until(number: int, behaviour: Behaviour) -> Behaviour:
    """Do it with the first requests."""
    return lambda request, right: behaviour(request, right) if request.number <= number else right


def counting(chain: FakeChain, index: Callable[[int, int], int], *methods: str) -> Behaviour:
    """Give each log another index in the results of these methods.

    :param index: of a log by its place in its block and in its transaction.
    """
    methods = methods or ("eth_getLogs", "eth_getBlockReceipts")

    def again(log: dict[str, Any]) -> dict[str, Any]:
        block = chain.blocks[int(log["blockNumber"], 16)]
        first = dict(block.transactions)[log["transactionHash"]][0][0]
        place = int(log["logIndex"], 16)
        return log | {"logIndex": hex(index(place, place - first))}

    def changed(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
        if call["method"] not in methods or not answer.get("result"):
            return answer
        if call["method"] == "eth_getLogs":
            return answer | {"result": [again(log) for log in answer["result"]]}
        receipts = answer["result"]
        return answer | {"result": [each | {"logs": list(map(again, each["logs"]))} for each in receipts]}

    return each_call(changed)
