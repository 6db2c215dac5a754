"""The Python client computes call, id and approval of a quote itself, and refuses an answer that differs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from app.values.codes import SendKind
from app.values.crypto import checksum_address
from demo.chains import COIN, LEFT, RIGHT, VAULT_V2
from demo.contracts import Call
from demo.transfers import Send
from tests.clients import workshop
from tests.clients.network import AMOUNT, NONCE, demo_configs, demo_sends
from tests.clients.scripted import STATUS, Say, Script, serving
from tests.clients.wallet_node import HASH, Node

CONFIGS, TRANSACTION = "getTransferConfigs", "getSendTransaction"
EQUAL, RECEIVED = 2 * 10**18, 19 * 10**17
"""What the estimate says that arrives without slippage, and with fees."""

LATER, BEFORE = "2099-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"
STRANGER = b"\x66" * 20
SENDS = demo_sends() | {
    "native": replace(demo_sends()["pool"], token=COIN, native=True),
}
SYMBOLS = {"pool": "USDX", "native": "COIN", "deposit 1": "OLD", "burn 1": "OLD", "burn, minted": "TRI"}
FACES = ("quote", "quote_awaited")

Answer = dict[str, Any]
Change = Callable[[Answer], object]


def transaction(chain: int, call: Call) -> Answer:
    assert call.to is not None
    to = checksum_address(call.to)
    return {"chain_id": chain, "to": to, "data": f"0x{call.data.hex()}", "value": str(call.value)}


def approval(send: Send, spender: bytes, amount: int) -> Answer:
    call = send.token.call(send.sender, "approve", spender, amount)
    return {
        "token": send.token.text,
        "spender": checksum_address(spender),
        "amount": str(amount),
        "transaction": transaction(send.chain, call),
    }


def answer_to(send: Send) -> Answer:
    """What a gateway answers, from the demonstration's own calls and ids."""
    return {
        "err": None,
        "eq_value_token_amt": str(EQUAL),
        "bridge_rate": 1.0,
        "perc_fee": "0",
        "base_fee": "0",
        "slippage_tolerance": 5000,
        "max_slippage": send.max_slippage,
        "estimated_receive_amt": str(RECEIVED),
        "drop_gas_amt": "0",
        "transaction": transaction(send.chain, send.call()),
        "approval": None if send.native else approval(send, send.contract.address, send.amount),
        "transfer_id": send.text,
        "valid_until": LATER,
    }


def question(name: str) -> dict[str, Any]:
    send = SENDS[name]
    return {
        "src_chain_id": send.chain,
        "dst_chain_id": RIGHT if send.chain == LEFT else LEFT,
        "token_symbol": SYMBOLS.get(name, "PEG"),
        "amount": send.amount,
        "slippage_tolerance": 5000,
        "sender": checksum_address(send.sender),
        "receiver": checksum_address(send.receiver),
        "nonce": NONCE,
        "native": send.native,
    }


def quoted(name: str) -> dict[str, Any]:
    """What the client makes of the right answer."""
    send, answer = SENDS[name], answer_to(SENDS[name])
    least = EQUAL * (1_000_000 - send.max_slippage) // 1_000_000 if send.kind is SendKind.POOL else RECEIVED
    names = ("transaction", "approval", "transfer_id")
    return {"value": [*(answer[each] for each in names), str(least), str(NONCE)]}


def other_call(**changes: Any) -> Change:
    def change(answer: Answer) -> None:
        call = replace(SENDS["pool"], **changes).call()
        answer["transaction"]["data"] = f"0x{call.data.hex()}"

    return change


def other_approval(spender: bytes = SENDS["pool"].contract.address, amount: int = AMOUNT) -> Change:
    return lambda answer: answer.update(approval=approval(SENDS["pool"], spender, amount))


def field(path: str, value: object) -> Change:
    *folders, name = path.split(".")

    def change(answer: Answer) -> None:
        for folder in folders:
            answer = answer[folder]
        answer[name] = value

    return change


OTHER = checksum_address(STRANGER)
TAMPERED: dict[str, tuple[Change, str]] = {
    "another contract": (field("transaction.to", OTHER), "transaction.to"),
    "another receiver": (other_call(receiver=STRANGER), "transaction.data"),
    "a larger amount": (other_call(amount=10 * AMOUNT), "transaction.data"),
    "another token": (other_call(token=COIN), "transaction.data"),
    "another destination": (other_call(to_chain=1), "transaction.data"),
    "another slippage": (other_call(max_slippage=999_999), "transaction.data"),
    "another nonce": (other_call(nonce=NONCE + 1), "transaction.data"),
    "a value": (field("transaction.value", "1"), "transaction.value"),
    "a value that is a number": (field("transaction.value", 0), "transaction.value"),
    "another chain": (field("transaction.chain_id", 1), "transaction.chain_id"),
    "no transaction": (field("transaction", None), "transaction"),
    "another spender": (other_approval(spender=STRANGER), "approval.spender"),
    "another spender in the call alone": (
        field("approval.transaction", approval(SENDS["pool"], STRANGER, AMOUNT)["transaction"]),
        "approval.transaction.data",
    ),
    "all is allowed": (other_approval(amount=2**256 - 1), "approval.amount"),
    "all is allowed in the call alone": (
        field(
            "approval.transaction",
            approval(SENDS["pool"], SENDS["pool"].contract.address, 2**256 - 1)["transaction"],
        ),
        "approval.transaction.data",
    ),
    "approval of another token": (field("approval.token", OTHER), "approval.token"),
    "approval sent elsewhere": (field("approval.transaction.to", OTHER), "approval.transaction.to"),
    "approval with a value": (field("approval.transaction.value", "1"), "approval.transaction.value"),
    "no approval": (field("approval", None), "approval"),
    "another id": (field("transfer_id", f"0x{'66' * 32}"), "transfer_id"),
}


POOL_ANSWER = answer_to(SENDS["pool"])
NO_NONCE = "no nonce: a new one, so the answer to another is refused"
Case = tuple[Answer, dict[str, Any], dict[str, Any]]
"""The gateway's answer, what the client is given, and what it makes of it."""


def another(differs: str) -> dict[str, Any]:
    return {"error": "QuoteError", "says": f"another transaction: {differs}"}


def quotes() -> dict[str, Case]:
    cases: dict[str, Case] = {
        name: (answer_to(send), {"question": question(name)}, quoted(name)) for name, send in SENDS.items()
    }
    for name, (change, differs) in TAMPERED.items():
        answer = deepcopy(POOL_ANSWER)
        change(answer)
        cases[name] = answer, {"question": question("pool")}, another(differs)
    native = answer_to(SENDS["native"]) | {"approval": POOL_ANSWER["approval"]}
    cases["an approval for native coin"] = native, {"question": question("native")}, another("approval")
    without_nonce = question("pool") | {"nonce": None}
    cases[NO_NONCE] = POOL_ANSWER, {"question": without_nonce}, {"error": "QuoteError", "says": "transfer_id"}
    for name, (contracts, expected) in LISTS.items():
        cases[name] = POOL_ANSWER, {"question": question("pool"), "contracts": contracts}, expected
    return cases


NOT_LISTED = {"error": "QuoteError", "says": "none of the contracts"}
LISTS = {
    "a contract that the application lists": ([SENDS["pool"].contract.text.lower()], quoted("pool")),
    "a contract that it does not list": ([VAULT_V2.text], NOT_LISTED),
    "an empty list": ([], NOT_LISTED),
}


def test_quote_is_computed_and_compared() -> None:
    """By both faces. Where the application's list refuses a contract, nothing is requested."""
    cases = quotes()
    configs = [Say(foreign={"err": None, **demo_configs()})]
    scripts = {
        name: Script({CONFIGS: configs, TRANSACTION: [Say(foreign=answer)]})
        for name, (answer, _, _) in cases.items()
    }
    with serving({str(place): script for place, script in enumerate(scripts.values())}) as base:
        requests = [
            {"name": f"{name}, {face}", "do": face, "base": f"{base}/{place}", **given, "expect": expected}
            for place, (name, (_, given, expected)) in enumerate(cases.items())
            for face in FACES
        ]
        workshop.check_python(requests, {}, evm=True)
    queries = {
        name: [query for _, operation, query in script.requests if operation == TRANSACTION]
        for name, script in scripts.items()
    }
    for name, send in SENDS.items():
        query, again = queries[name]
        assert query == again
        given = question(name)
        assert query["amt"] == [str(AMOUNT)]
        assert query["nonce"] == [str(NONCE)]
        assert query["native"] == [str(given["native"]).lower()]
        assert query["is_pegged"] == [str(send.kind is not SendKind.POOL).lower()]
        assert (query["sender"], query["receiver"]) == ([given["sender"]], [given["receiver"]])
    assert [bool(queries[name]) for name in LISTS] == [True, False, False]
    nonces = {int(query["nonce"][0]) for query in queries[NO_NONCE]}
    assert len(nonces) == len(FACES)
    assert max(nonces) < 2**63


UNKNOWN = Say(reason="transfer_not_found")


@dataclass(frozen=True)
class Sent:
    """A quote that is sent: by whom, the answers of the gateway in turn, the node, and what is expected."""

    node: Node
    expect: dict[str, Any]
    name: str = "pool"
    answers: tuple[dict[str, Any], ...] = ({},)
    """Fields of each answer that are not as ``answer_to`` has them."""

    status: Say = UNKNOWN
    approved: tuple[int, ...] = ()
    sends: bool = True
    requests: int = 1


HASHED = {"value": HASH}
WORSE = {"max_slippage": 900_000}
REFUSED = {"error": "SendRefused"}
SENDINGS = {
    "nothing is allowed": Sent(Node(LEFT), HASHED, approved=(AMOUNT,)),
    "too little is allowed": Sent(Node(LEFT, AMOUNT - 1), HASHED, approved=(0, AMOUNT)),
    "enough is allowed": Sent(Node(LEFT, AMOUNT), HASHED),
    "native coin": Sent(Node(LEFT), HASHED, "native"),
    "a burn": Sent(Node(RIGHT), HASHED, "burn", approved=(AMOUNT,)),
    "its time is over": Sent(
        Node(LEFT, AMOUNT), HASHED, answers=({"valid_until": BEFORE}, {}), requests=2
    ),
    "its time is over, and it is worse now": Sent(
        Node(LEFT, AMOUNT), {"error": "QuoteExpired"}, answers=({"valid_until": BEFORE}, WORSE), sends=False,
        requests=2,
    ),
    "its time is over, and the answer is tampered with": Sent(
        Node(LEFT, AMOUNT), {"error": "QuoteError"}, sends=False, requests=2,
        answers=({"valid_until": BEFORE}, {"transfer_id": "0x00"}),
    ),
    "a node of another chain": Sent(Node(RIGHT), REFUSED | {"says": "the node is of 7002"}, sends=False),
    "the contract refuses it": Sent(
        Node(LEFT, AMOUNT, refuses=True), REFUSED | {"says": "the contract refuses the call"}, sends=False
    ),
    "it was sent already": Sent(
        Node(LEFT), REFUSED | {"says": "was sent already"}, status=Say(status=1), sends=False
    ),
    "the gateway does not know whether it was sent": Sent(
        Node(LEFT), {"error": "GatewayError", "says": "unavailable"}, sends=False,
        status=Say(http=503, reason="unavailable"),
    ),
    "the approval fails": Sent(
        Node(LEFT, fails=True), REFUSED | {"says": "has refused the approval"}, approved=(AMOUNT,),
        sends=False,
    ),
}  # fmt: skip


def answer_in_turn(sent: Sent, changes: dict[str, Any]) -> Answer:
    send = SENDS[sent.name]
    return answer_to(replace(send, max_slippage=changes.get("max_slippage", send.max_slippage))) | changes


def test_quote_is_sent_once_allowed() -> None:
    """By a node that has accounts. An approval that is too small and not 0 is set to 0 first."""
    rows = [
        (name, sent, face) for name, sent in SENDINGS.items() for face in ("send_quote", "send_quote_awaited")
    ]
    nodes = [replace(sent.node, sent=[]) for _, sent, _ in rows]
    configs = [Say(foreign={"err": None, **demo_configs()})]
    scripts = {
        str(place): Script(
            {
                CONFIGS: configs,
                STATUS: [sent.status],
                TRANSACTION: [Say(foreign=answer_in_turn(sent, each)) for each in sent.answers],
            }
        )
        for place, (_, sent, _) in enumerate(rows)
    }
    with ExitStack() as stack:
        base = stack.enter_context(serving(scripts))
        cases = [
            {
                "name": f"{name}, {face}", "do": face, "base": f"{base}/{place}",
                "question": question(sent.name), "node": stack.enter_context(nodes[place].serving()),
                "expect": sent.expect,
            }
            for place, (name, sent, face) in enumerate(rows)
        ]  # fmt: skip
        workshop.check_python(cases, {}, evm=True)
    for row, node, script in zip(rows, nodes, scripts.values(), strict=True):
        check_sent(row[1], node, script)


def check_sent(sent: Sent, node: Node, script: Script) -> None:
    """What reached the node and the gateway."""
    send, calls = SENDS[sent.name], node.sent[len(sent.approved) :]
    assert node.approved == [*sent.approved]
    assert all(each["to"].lower() == send.token.text.lower() for each in node.sent[: len(sent.approved)])
    wanted = (send.contract.text.lower(), f"0x{send.call().data.hex()}", send.call().value)
    assert [(each["to"].lower(), each["data"], int(each["value"], 16)) for each in calls] == [
        wanted
    ] * sent.sends
    asked = [query for _, operation, query in script.requests if operation == TRANSACTION]
    assert asked == [asked[0]] * sent.requests, "with the same nonce"
