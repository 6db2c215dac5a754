"""Any field of any answer may be missing, empty, short or of another type.

Nothing stops, and nothing false is reported. As soon as the answers are right again, everything is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

import pytest

from tests.amounts import few_or_many
from tests.watcher.fake_node import Answer, Behaviour, Call, Request
from tests.watcher.kit import Watched, send
from tests.watcher.nodes.behaviours import each_call

MISSING: Final = object()
MUTATIONS: Final[dict[str, Any]] = {
    "missing": MISSING,
    "null": None,
    "empty text": "",
    "no digits": "0x",
    "short": "0x1f",
    "long": "0x" + "f" * 200,
    "no hex": "0xzz",
    "words": "unknown",
    "a number": 7,
    "a negative number": -1,
    "a fraction": 1.5,
    "true": True,
    "false": False,
    "an empty list": [],
    "a list": [[], None, {}],
    "an empty object": {},
    "an object": {"result": "0x1"},
}

QUANTITY: Final = ("short", "a number")
RIGHT: Final[dict[tuple[str, tuple[str | int, ...]], Collection[str]]] = {
    ("eth_getBlockByNumber", ("timestamp",)): QUANTITY,
    ("eth_getLogs", ()): ("null", "an empty list"),
    ("eth_getLogs", ("*",)): ("missing",),
    ("eth_getLogs", ("*", "data")): ("no digits", "short", "long"),
    ("eth_getLogs", ("*", "logIndex")): QUANTITY,
}
"""Mutations that are right values: whether such an answer is true is another matter."""

Path = tuple[str | int, ...]
"""Where a field is in an answer; ``EACH`` is every element of a list."""

EACH: Final = "*"
HEADER: Final = ("number", "hash", "parentHash", "timestamp", "logsBloom", "receiptsRoot", "transactions")
LOG: Final = (
    "address", "topics", "data", "blockNumber", "blockHash", "transactionHash", "transactionIndex",
    "logIndex", "removed",
)  # fmt: skip
RECEIPT: Final = (
    "type", "status", "cumulativeGasUsed", "logsBloom", "transactionHash", "transactionIndex", "logs",
)  # fmt: skip
FIELDS: Final[dict[str, list[Path]]] = {
    "eth_chainId": [()],
    "eth_getBlockByNumber": [(), *((name,) for name in HEADER)],
    "eth_getLogs": [(), (EACH,), (EACH, "topics", 0), *((EACH, name) for name in LOG)],
    "eth_getBlockReceipts": [
        *((), (EACH,)),
        *((EACH, name) for name in RECEIPT),
        *((EACH, "logs", EACH, name) for name in LOG),
    ],
}
OF_ERRORS: Final[list[Path]] = [
    ("error",),
    ("error", "code"),
    ("error", "message"),
    ("error", "data"),
    ("id",),
]
OF_ANSWERS: Final[list[Path]] = [(), ("id",), ("jsonrpc",), ("result",), ("error",)]
TAGS: Final = {"eth_getBlockByNumber": ("latest", "finalized", "a number")}


def changed(content: Any, path: Path, value: Any) -> Any:
    """The same with one field, or that of every element, replaced."""
    if not path:
        return value
    copy, (at, *rest) = deepcopy(content), path
    for key in _keys(copy, at):
        if not rest and value is MISSING:
            del copy[key]
        else:
            copy[key] = changed(copy[key], tuple(rest), value)
    return copy


def _keys(content: Any, at: str | int) -> Iterator[str | int]:
    if at == EACH:
        yield from reversed(range(len(content))) if isinstance(content, list) else ()
    elif _has(content, at):
        yield at


def _has(content: Any, key: str | int) -> bool:
    if isinstance(content, dict):
        return key in content
    return isinstance(content, list) and isinstance(key, int) and key < len(content)


def in_results(method: str, path: Path, value: Any, tag: str = "") -> Behaviour:
    """Change this field of the results of a method, of blocks only those that were requested by this tag."""

    def change(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
        if call["method"] != method or not answer.get("result") or not _is_of(call, tag):
            return answer
        whole = changed(answer, ("result", *path), value)
        assert isinstance(whole, dict)
        return whole

    return each_call(change)


def _is_of(call: Call, tag: str) -> bool:
    if not tag:
        return True
    number = call["params"][0]
    return bool(number == tag or (tag == "a number" and number.startswith("0x")))


def in_answers(path: Path, value: Any) -> Behaviour:
    """Change this field of every answer."""

    def behave(_request: Request, right: Answer) -> Answer:
        parts = right.content if isinstance(right.content, list) else [right.content]
        made = [changed(part, path, value) for part in parts]
        made = ["" if part is MISSING else part for part in made]
        return Answer(made if isinstance(right.content, list) else made[0])

    return behave


def in_errors(path: Path, value: Any) -> Behaviour:
    """Answer every call with an error of which one field is changed."""

    def change(call: Call, _answer: dict[str, Any]) -> dict[str, Any]:
        error = {"code": -32000, "message": "header not found", "data": "0x"}
        whole = changed({"jsonrpc": "2.0", "id": call["id"], "error": error}, path, value)
        assert isinstance(whole, dict)
        return whole

    return each_call(change)


Wrongs = Iterable[tuple[str, Behaviour]]
"""What a node does wrong, one after another, each with a name."""


def live_through(watched: Watched, wrongs: Wrongs) -> None:
    """Read a chain while each of these lasts, and after it."""
    for number in range(1, 20):
        watched.chain.mine(*(send(number * 10 + n) for n in range(number % 3)))
    reader = watched.reader()
    watched.settle(reader)
    for name, behaviour in wrongs:
        watched.nodes[0].behaviours = [behaviour]
        for _ in range(3):
            watched.chain.mine(send(1000 + watched.chain.head.number * 10))
            reader.since_reread, reader.verified_at = 100, 0
            watched.turn(reader)
        assert reports_only_what_was_sent(watched), name
        watched.nodes[0].behaviours = []
        watched.time.go(4000)
        watched.chain.mine()
        reader.verifiable_at = 0
        watched.turn(reader)
        assert watched.row.live_to == watched.chain.head.number, name
    watched.chain.mine_many(7)
    watched.time.go(4000)
    watched.settle(reader)
    final = 6 if watched.finality == 6 else watched.nodes[0].finalized_depth
    assert watched.row.reread_to == watched.chain.head.number - final
    assert not watched.missed
    watched.expect_undisturbed()


def reports_only_what_was_sent(watched: Watched) -> bool:
    """Whether every transfer that is answered was sent on the chain."""
    sent = sum(len(block.logs) for block in watched.chain.blocks)
    found = watched.answers
    return len(found) - 1 <= sent and not any(name.startswith("paid") for name in found)


KINDS = [
    *(f"{method} {tag}" for method in FIELDS for tag in TAGS.get(method, ("",))),
    "answers",
    "errors",
]


def wrongs_of(kind: str, values: int) -> Wrongs:
    """Each field of a kind of answers with so many wrong values, others for each field."""
    names = itertools.cycle(MUTATIONS)
    method, _, tag = kind.partition(" ")
    paths = FIELDS.get(method) or (OF_ANSWERS if kind == "answers" else OF_ERRORS)
    for path in paths:
        for name in itertools.islice(names, values if method in FIELDS else min(3 * values, len(MUTATIONS))):
            value = MUTATIONS[name]
            if method in FIELDS:
                behaviour = in_results(method, path, value, tag)
            else:
                behaviour = in_answers(path, value) if kind == "answers" else in_errors(path, value)
            if name not in RIGHT.get((method, path), ()):
                yield f"{'.'.join(map(str, path))} {name}", behaviour


@pytest.mark.parametrize("values", few_or_many(1, len(MUTATIONS)))
@pytest.mark.parametrize("kind", KINDS)
def test_watcher_tolerates_wrong_fields(watched: Watched, kind: str, values: int) -> None:
    watched.finality = "finalized" if kind.endswith("finalized") else 6
    live_through(watched, wrongs_of(kind, values))
