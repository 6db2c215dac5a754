"""What both clients derive and compute: ways, sends, ids of transfers, webhooks. Both get each case."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from demo.chains import LEFT, OLD, PEG, RIGHT, TRI, USDX
from demo.transfers import Send
from tests.clients import workshop
from tests.clients.deliveries import BODY, NOW, OTHER, SECRET, signature
from tests.clients.network import AMOUNT, NONCE, RECEIVER, SENDER, demo_configs, demo_sends
from tests.contract.ways import burn_mint_ways, pegged_ways, pool_ways

VECTORS = Path(__file__).parent.parent / "contract" / "vectors"
MAINNET: dict[str, Any] = json.loads((VECTORS / "transfer_configs_mainnet.json").read_text())
RECORDED: dict[str, Any] = json.loads((VECTORS / "estimate_usdt_1_to_56.json").read_text())["recorded"]
REAL: dict[str, Any] = json.loads((VECTORS / "send_id.json").read_text())
POOL_SEND = "send(address,address,uint256,uint64,uint64,uint32)"
DEPOSIT = "deposit(address,uint256,uint64,address,uint64)"
BURN = "burn(address,uint256,uint64,address,uint64)"
OLD_BURN = "burn(address,uint256,address,uint64)"
ESTIMATE = {
    "eq_value_token_amt": "1000000999999999872",
    "max_slippage": 608436,
    "estimated_receive_amt": "394563471907987906",
}
MINIMUM = str(1000000999999999872 * (1_000_000 - 608436) // 1_000_000)
RECEIVED = ESTIMATE["estimated_receive_amt"]
DOCUMENTS = {"mainnet": MAINNET, "demo": demo_configs()}


def _send(name: str, way: tuple[str, int, int], expected: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {
        "configs": "demo",
        "estimate": ESTIMATE,
        "amount": str(AMOUNT),
        "receiver": RECEIVER,
        "nonce": NONCE,
    }
    return {"name": name, "do": "send", "way": way, **given, **more, "expect": expected}


def _sent(send: Send, signature: str, received: object, *arguments: object, value: int = 0) -> dict[str, Any]:
    contract, token = send.contract.text, send.token.text
    function = signature.partition("(")[0]
    said = [str(each) for each in arguments]
    return {"value": [send.chain, contract, token, signature, function, said, received, str(value)]}


SENDS = demo_sends()
USDX_AT, PEG_AT, OLD_AT, TRI_AT = (each.text for each in (USDX, PEG, OLD, TRI))
POOLED = _sent(SENDS["pool"], POOL_SEND, MINIMUM, RECEIVER, USDX_AT, AMOUNT, RIGHT, NONCE, 608436)
SEND_CASES = [
    _send("pool", ("USDX", LEFT, RIGHT), POOLED),
    _send("over the contract's minimum", ("USDX", LEFT, RIGHT), POOLED, minimal_max_slippage=608435),
    _send(
        "at the contract's minimum", ("USDX", LEFT, RIGHT),
        {"error": "SlippageTooLow", "says": "more than 608436"}, minimal_max_slippage=608436,
    ),
    _send(
        "a slippage of 0", ("USDX", LEFT, RIGHT), {"error": "SlippageTooLow", "says": "more than 0"},
        estimate=ESTIMATE | {"max_slippage": 0},
    ),
    _send(
        "deposit, where slippage does not count", ("PEG", LEFT, RIGHT),
        _sent(SENDS["deposit"], DEPOSIT, RECEIVED, PEG_AT, AMOUNT, RIGHT, RECEIVER, NONCE),
        estimate=ESTIMATE | {"max_slippage": 0},
    ),
    _send(
        "deposit, version 1", ("OLD", LEFT, RIGHT),
        _sent(SENDS["deposit 1"], DEPOSIT, RECEIVED, OLD_AT, AMOUNT, RIGHT, RECEIVER, NONCE),
    ),
    _send(
        "burn towards the original chain", ("PEG", RIGHT, LEFT),
        _sent(SENDS["burn"], BURN, RECEIVED, PEG_AT, AMOUNT, 0, RECEIVER, NONCE),
    ),
    _send(
        "burn, version 1", ("OLD", RIGHT, LEFT),
        _sent(SENDS["burn 1"], OLD_BURN, RECEIVED, OLD_AT, AMOUNT, RECEIVER, NONCE),
    ),
    _send(
        "burn and mint", ("TRI", RIGHT, LEFT),
        _sent(SENDS["burn, minted"], BURN, RECEIVED, TRI_AT, AMOUNT, LEFT, RECEIVER, NONCE),
    ),
    _send(
        "no such way", ("PEG", LEFT, RIGHT),
        {"error": "NoWay", "says": "no way of PEG from chain 7001 to 7002"}, is_pegged=False,
    ),
    _send(
        "pool, native coin", ("USDX", LEFT, RIGHT),
        _sent(
            SENDS["pool"], "sendNative(address,uint256,uint64,uint64,uint32)", MINIMUM, RECEIVER, AMOUNT,
            RIGHT, NONCE, 608436, value=AMOUNT,
        ),
        native=True,
    ),
    _send(
        "deposit, native coin", ("PEG", LEFT, RIGHT),
        _sent(
            SENDS["deposit"], "depositNative(uint256,uint64,address,uint64)", RECEIVED, AMOUNT, RIGHT,
            RECEIVER, NONCE, value=AMOUNT,
        ),
        native=True,
    ),
    _send(
        "a burn of native coin", ("PEG", RIGHT, LEFT),
        {"error": "NoWay", "says": "a burn takes no native coin"}, native=True,
    ),
]  # fmt: skip
ID_CASES = [
    case
    | {
        "name": f"id, {case['name']}",
        "do": "transfer_id",
        "sender": SENDER,
        "expect": {"value": SENDS[name].text},
    }
    for case, name in zip(
        [SEND_CASES[place] for place in (0, 4, 5, 6, 7, 8, 10, 11)],
        ("pool", "deposit", "deposit 1", "burn", "burn 1", "burn, minted", "pool", "deposit"),
        strict=True,
    )
]


def _webhook(name: str, error: str = "", /, **changes: Any) -> dict[str, Any]:
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(NOW), "webhook-signature": signature()}
    headers |= changes.pop("headers", {})
    given = {"body": BODY, "headers": headers, "secrets": SECRET, "now": NOW} | changes
    expected = {"error": "WebhookError", "says": error} if error else {"value": json.loads(BODY)}
    return {"name": f"webhook, {name}", "do": "webhook", **given, "expect": expected}


NAMES = ("webhook-id", "webhook-timestamp", "webhook-signature")
SPELLINGS = [tuple(map(spell, NAMES)) for spell in (str.title, str.upper)]


def spelled(names: tuple[str, ...]) -> dict[str, str | None]:
    """The headers of a delivery under these names, and none under their own."""
    return dict.fromkeys(NAMES) | dict(zip(names, ("msg_1", str(NOW), signature()), strict=True))


PUBLISHED = {
    "name": "webhook, the example that libraries of Standard Webhooks are tested with",
    "do": "webhook",
    "body": '{"test": 2432232314}',
    "headers": {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    "secrets": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "now": 1_614_265_330,
    "expect": {"value": {"test": 2432232314}},
}
BAD, FAR = "no signature is by this secret", "too far from now"
UNREADABLE = "a secret cannot be read"
FORGED = {"webhook-signature": signature("whsec_")}
"""What anybody can make: the key is empty."""
WEBHOOK_CASES = [
    _webhook("signed"),
    PUBLISHED,
    _webhook("by the second of two secrets", secrets=[OTHER, SECRET]),
    _webhook(
        "signed twice while secrets change",
        headers={"webhook-signature": f"{signature(OTHER)} {signature()}"},
    ),
    _webhook("with another version first", headers={"webhook-signature": f"v1a,AAAA {signature()}"}),
    *(_webhook(f"with headers like {names[0]}", headers=spelled(names)) for names in SPELLINGS),
    _webhook("headers of others before", headers={"Webhook-Id-2": "msg_2"} | spelled(SPELLINGS[0])),
    _webhook("five minutes old", now=NOW + 300),
    _webhook("five minutes early", now=NOW - 300),
    _webhook("older", FAR, now=NOW + 301),
    _webhook("earlier", FAR, now=NOW - 301),
    _webhook("another secret", BAD, secrets=OTHER),
    _webhook("another body", BAD, body=BODY + " "),
    _webhook("another id", BAD, headers={"webhook-id": "msg_2"}),
    _webhook("another time", BAD, headers={"webhook-timestamp": str(NOW + 1)}),
    _webhook("of another version", BAD, headers={"webhook-signature": signature().replace("v1,", "v2,")}),
    _webhook("no signature", BAD, headers={"webhook-signature": ""}),
    _webhook("a broken signature", BAD, headers={"webhook-signature": "v1,é! v1 ,"}),
    _webhook("a time that is none", "webhook-timestamp cannot be read", headers={"webhook-timestamp": "now"}),
    *(
        _webhook(
            f"signed with nothing, for the secret {secret!r}", UNREADABLE, secrets=secret, headers=FORGED
        )
        for secret in ("", " ", "whsec_", "whsec_?", "whsec_\n", "?!", ["", SECRET], [SECRET, "whsec_"])
    ),
    _webhook("a secret that is no base64", UNREADABLE, secrets="my secret, not theirs"),
    _webhook("a secret with the end of its line", secrets=f" {SECRET}\r\n"),
    _webhook("no secret at all", BAD, secrets=[], headers=FORGED),
    _webhook("no id", "a header is missing: webhook-id", headers={"webhook-id": None}),
]
for case in WEBHOOK_CASES:
    case["headers"] = {name: value for name, value in case["headers"].items() if value is not None}

CORE = [*SEND_CASES, *WEBHOOK_CASES]


def way_cases() -> list[dict[str, Any]]:
    return [{"name": f"ways of {name}", "do": "ways", "configs": name, "expect": {}} for name in DOCUMENTS]


@pytest.fixture(scope="module")
def found_ways() -> list[dict[str, Any]]:
    """What the Python client finds in each document; it makes sends, ids and webhooks as expected."""
    cases = [*way_cases(), *CORE, *ID_CASES]
    results = workshop.ask_python(cases, DOCUMENTS, evm=True)
    workshop.check_results(cases[len(DOCUMENTS) :], results[len(DOCUMENTS) :])
    return results[: len(DOCUMENTS)]


def test_python_finds_ways_of_production(found_ways: list[dict[str, Any]]) -> None:
    for configs, result in zip(DOCUMENTS.values(), found_ways, strict=True):
        found = [tuple(way[1:4]) for way in result["value"] if way[0] == "pool"]
        assert Counter(found) == Counter(pool_ways(configs))
        pegged = [tuple(way[1:4]) for way in result["value"] if way[0] != "pool"]
        assert Counter(pegged) == Counter(itertools.chain(pegged_ways(configs), burn_mint_ways(configs)))
        bridges = {chain["id"]: chain["contract_addr"] for chain in configs["chains"]}
        assert all(way[4] == bridges[way[2]] for way in result["value"] if way[0] == "pool")


@pytest.mark.system
def test_typescript_does_the_same(found_ways: list[dict[str, Any]], tmp_path: Path) -> None:
    expected = [case | {"expect": result} for case, result in zip(way_cases(), found_ways, strict=True)]
    workshop.check_typescript([*expected, *CORE, *ID_CASES], DOCUMENTS, tmp_path)
