"""GET /v2/getSendTransaction: the transaction of each kind of transfer, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from eth_abi.abi import decode
from flask import Flask
from flask.testing import FlaskClient

from app.values.crypto import keccak256
from demo.chains import (
    BRIDGE_V1,
    BRIDGE_V2,
    COIN,
    ELSEWHERE,
    LEFT,
    OLD,
    PEG,
    POOL,
    RIGHT,
    TRI,
    USDX,
    VAULT_V1,
    VAULT_V2,
)
from demo.contracts import Contract
from tests.api.sends import RECEIVER, SENDER, UNIT, USDX_UNIT, send_query, sending_network
from tests.api.shapes import ESTIMATE, SEND, ZEROES, assert_refused
from tests.api.world import NOW, configure, event, report_events
from tests.applications import OpenApp
from tests.databases import SharedDatabase
from tests.site.snippets import block_of, fits

SHOWN = block_of("docs/api/getSendTransaction.md", '{\n  "err": null')
RUN = [SHOWN]

pytestmark = pytest.mark.both_interfaces

ZERO_ADDRESS = "0x" + "00" * 20
BLOCKED = "0x88DCDC47D2f83a99CF0000FDF667A468bB958a78"
SOLANA = "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"
LARGEST_NONCE = 2**64 - 1


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase) -> Flask:
    """A gateway of the local chains."""
    app = open_app()
    shared_database.fill("tests.api.sends", lambda: configure(app, sending_network()))
    return app


def changed(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """The network with something changed."""
    document = sending_network()
    change(document)
    return document


def chain_of(document: dict[str, Any], chain_id: int) -> dict[str, Any]:
    [row] = [row for row in document["chains"] if row["id"] == chain_id]
    return row


def pair_of(document: dict[str, Any], symbol: str) -> dict[str, Any]:
    return next(row for row in document["pegged_pairs"] if row["symbol"] == symbol)


def token_of(document: dict[str, Any], symbol: str, chain_id: int) -> dict[str, Any]:
    return next(row for row in document["tokens"] if (row["symbol"], row["chain_id"]) == (symbol, chain_id))


def sent(client: FlaskClient, **changes: Any) -> dict[str, Any]:
    """A successful answer."""
    response = client.get(SEND, query_string=send_query(**changes))
    assert response.status_code == HTTPStatus.OK
    body: dict[str, Any] = response.get_json()
    assert body["err"] is None
    return body


def arguments(signature: str, data: str) -> tuple[Any, ...]:
    """Those of a call of this function."""
    assert data[:10] == f"0x{keccak256(signature.encode())[:4].hex()}"
    types = signature.partition("(")[2].rstrip(")").split(",")
    values: tuple[Any, ...] = decode(types, bytes.fromhex(data[10:]))
    return values


def refused(
    client: FlaskClient, reason: str, *, code: int = 500, status: int = HTTPStatus.OK, **changes: Any
) -> str:
    return assert_refused(client.get(SEND, query_string=send_query(**changes)), status, reason, SEND, code)


AMOUNT, NONCE, LOW_RECEIVER = 1000 * UNIT, 1764504000000, RECEIVER.lower()
DEPOSIT = "deposit(address,uint256,uint64,address,uint64)"
BURN_V2, BURN_V1 = "burn(address,uint256,uint64,address,uint64)", "burn(address,uint256,address,uint64)"
CALLS: list[tuple[str, int, int, Contract, Contract, str, tuple[Any, ...]]] = [
    # symbol, source, destination, contract, token, function, arguments
    ("USDX", LEFT, RIGHT, POOL, USDX, "send(address,address,uint256,uint64,uint64,uint32)",
     (LOW_RECEIVER, USDX.text.lower(), 1000 * USDX_UNIT, RIGHT, NONCE, 5400)),
    ("PEG", LEFT, RIGHT, VAULT_V2, PEG, DEPOSIT, (PEG.text.lower(), AMOUNT, RIGHT, LOW_RECEIVER, NONCE)),
    ("OLD", LEFT, RIGHT, VAULT_V1, OLD, DEPOSIT, (OLD.text.lower(), AMOUNT, RIGHT, LOW_RECEIVER, NONCE)),
    ("PEG", RIGHT, LEFT, BRIDGE_V2, PEG, BURN_V2, (PEG.text.lower(), AMOUNT, 0, LOW_RECEIVER, NONCE)),
    ("OLD", RIGHT, LEFT, BRIDGE_V1, OLD, BURN_V1, (OLD.text.lower(), AMOUNT, LOW_RECEIVER, NONCE)),
    ("TRI", RIGHT, LEFT, BRIDGE_V2, TRI, BURN_V2, (TRI.text.lower(), AMOUNT, LEFT, LOW_RECEIVER, NONCE)),
]  # fmt: skip
KINDS = ["pool", "deposit", "deposit of version 1", "burn", "burn of version 1", "burn and mint"]


@pytest.mark.parametrize(("symbol", "src", "dst", "contract", "token", "function", "given"), CALLS, ids=KINDS)
def test_send_calls_the_contract(
    client: FlaskClient,
    symbol: str,
    src: int,
    dst: int,
    contract: Contract,
    token: Contract,
    function: str,
    given: tuple[Any, ...],
) -> None:
    query = send_query(symbol, src, dst)
    body = sent(client, symbol=symbol, src=src, dst=dst)
    transaction, approval = body["transaction"], body["approval"]
    assert arguments(function, transaction.pop("data")) == given
    assert transaction == {"chain_id": src, "to": contract.text, "value": "0"}
    data = approval["transaction"].pop("data")
    assert arguments("approve(address,uint256)", data) == (contract.text.lower(), int(query["amt"]))
    assert approval == {
        "token": token.text,
        "spender": contract.text,
        "amount": query["amt"],
        "transaction": {"chain_id": src, "to": token.text, "value": "0"},
    }


@pytest.mark.parametrize(
    ("symbol", "contract", "function", "given"),
    [
        ("COIN", POOL, "sendNative(address,uint256,uint64,uint64,uint32)",
         (LOW_RECEIVER, AMOUNT, RIGHT, NONCE, 5400)),
        ("PEG", VAULT_V2, "depositNative(uint256,uint64,address,uint64)",
         (AMOUNT, RIGHT, LOW_RECEIVER, NONCE)),
    ],
    ids=["pool", "deposit"],
)  # fmt: skip
def test_native_coin_is_the_value(
    app: Flask, client: FlaskClient, symbol: str, contract: Contract, function: str, given: tuple[Any, ...]
) -> None:
    if symbol == "PEG":
        configure(app, changed(lambda document: chain_of(document, LEFT).update(native_wrap=PEG.text)))
    body = sent(client, symbol=symbol, native="true")
    transaction = body["transaction"]
    assert arguments(function, transaction.pop("data")) == given
    assert transaction == {"chain_id": LEFT, "to": contract.text, "value": str(AMOUNT)}
    assert body["approval"] is None
    # The event of the contract names the wrapped token, and so does the id.
    assert body["transfer_id"] == sent(client, symbol=symbol)["transfer_id"]


def test_page_shows_an_answer(client: FlaskClient) -> None:
    shown = json.loads(SHOWN.code)
    assert fits(shown, sent(client, receiver=None))


def test_send_has_the_estimate(client: FlaskClient) -> None:
    query = send_query()
    estimate = client.get(ESTIMATE, query_string=query | {"usr_addr": SENDER}).get_json()
    response = client.get(SEND, query_string=query)
    body = response.get_json()
    assert {name: body[name] for name in estimate} == estimate
    assert list(body) == ["err", *ZEROES[SEND]]
    assert response.headers["Cache-Control"] == "no-store"


def test_nonce_left_out_is_random(client: FlaskClient) -> None:
    once, again = (sent(client, nonce=None) for _ in range(2))
    assert once["transfer_id"] != again["transfer_id"]


def test_receiver_left_out_is_the_sender(client: FlaskClient) -> None:
    assert sent(client, receiver=None) == sent(client, receiver=SENDER)


@pytest.mark.parametrize("spelled", [SENDER.lower(), "0x" + SENDER[2:].upper(), "0X" + SENDER[2:]])
def test_accounts_may_have_any_case(client: FlaskClient, spelled: str) -> None:
    assert sent(client, sender=spelled, receiver=spelled) == sent(client, receiver=SENDER)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sender": None}, "sender: is missing"),
        ({"receiver": ZERO_ADDRESS}, "receiver: must not be the zero address, which belongs to nobody"),
        ({"sender": ZERO_ADDRESS}, "sender: must not be the zero address, which belongs to nobody"),
        ({"receiver": RECEIVER.replace("DE", "De")}, "receiver: has letters in a case that is not that of"),
        ({"nonce": "-1"}, "nonce: must be a string of digits"),
        ({"nonce": str(LARGEST_NONCE + 1)}, f"nonce: must be at most {LARGEST_NONCE}"),
        ({"nonce": "0x1"}, "nonce: must be a string of digits"),
        ({"native": "yes"}, "native: must be true or false"),
        ({"reciever": RECEIVER}, "reciever: is not a parameter here, which are amt, "),
        ({"usr_addr": SENDER}, "usr_addr: is not a parameter here, which are amt, "),
        ({"amt": "1.5"}, "amt: "),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_malformed_sends_are_refused(client: FlaskClient, changes: dict[str, Any], message: str) -> None:
    said = refused(client, "bad_request", status=HTTPStatus.BAD_REQUEST, **changes)
    assert said.startswith(message)


@pytest.mark.parametrize("compat", [True, False])
def test_pool_send_needs_a_tolerance(open_app: OpenApp, app: Flask, compat: bool) -> None:
    client = open_app(compat_clients=compat).test_client()
    message = refused(client, "bad_request", status=HTTPStatus.BAD_REQUEST, slippage_tolerance=None)
    assert message == "slippage_tolerance: is missing: a transfer through the pools needs it"
    assert sent(client, symbol="PEG", slippage_tolerance=None)["max_slippage"] == 0


@pytest.mark.parametrize(
    ("symbol", "contract"),
    [("USDX", USDX), ("USDX", POOL), ("PEG", PEG), ("PEG", BRIDGE_V2)],
    ids=["token", "pool bridge", "pegged token", "pegged bridge"],
)
def test_send_refuses_a_contract_as_receiver(client: FlaskClient, symbol: str, contract: Contract) -> None:
    message = refused(
        client, "bad_request", status=HTTPStatus.BAD_REQUEST, symbol=symbol, receiver=contract.text
    )
    assert message.startswith("receiver: is a contract of the token or of the bridge on Right")


@pytest.mark.parametrize("who", ["sender", "receiver"])
@pytest.mark.parametrize("spelled", [BLOCKED, BLOCKED.lower()])
def test_send_refuses_blocked_accounts(app: Flask, client: FlaskClient, who: str, spelled: str) -> None:
    row = {"address": BLOCKED, "reason": "secret reason"}
    configure(app, sending_network() | {"blocked_addresses": [row]})
    changes: dict[str, Any] = {who: spelled}
    assert "secret" not in refused(client, "address_blocked", code=1015, **changes)


@pytest.mark.parametrize(
    ("changes", "reason", "code"),
    [
        ({"dst": LEFT}, "same_chain", 500),
        ({"src": 1}, "chain_unknown", 500),
        ({"symbol": "GOLD"}, "token_not_on_src", 1002),
        ({"dst": ELSEWHERE}, "token_not_on_dst", 1001),
        ({"amt": "0"}, "amount_zero", 500),
        ({"amt": str(10**31)}, "inbound_limit", 1005),
        ({"slippage_tolerance": 0}, "bad_slippage_tolerance", 1012),
        ({"slippage_tolerance": 1_000_000}, "bad_slippage_tolerance", 1012),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_send_is_refused_as_the_estimate(
    client: FlaskClient, changes: dict[str, Any], reason: str, code: int
) -> None:
    query = {name: value for name, value in send_query(**changes).items() if name != "sender"}
    estimated = assert_refused(
        client.get(ESTIMATE, query_string=query), HTTPStatus.OK, reason, ESTIMATE, code
    )
    assert refused(client, reason, code=code, **changes) == estimated


OTHER_CHAINS = {
    "flow": ("A.231cc0dbbcffc4b7.ceAVAX.Vault", "0x00000000000000000000000008dd120226EC2213"),
    "aptos": ("0x8d87a65ba30e09357fa2edea2c80dbac296e5dec2b18287113500b902942929d::celer_coin::BnbCoin",
              "8d87a65ba30e09357fa2edea2c80dbac296e5dec2b18287113500b902942929d"),
    "aura": ("0xc21dcaa1608a7f2559cee58352794db567f5576a7803bb5ae422314766191f15",
             "0xd7b9bfd73a44ef9b002b6d071a2805c2b78aac97d9a3cf09d8235cc9f7f2e0d7"),
}  # fmt: skip
"""A token and the bridge of chains of production."""


@pytest.mark.parametrize("other", OTHER_CHAINS)
@pytest.mark.parametrize("symbol", ["USDX", "PEG"])
@pytest.mark.parametrize(("src", "dst"), [(LEFT, RIGHT), (RIGHT, LEFT)], ids=["to", "from"])
def test_send_refuses_other_chains(
    app: Flask, client: FlaskClient, other: str, symbol: str, src: int, dst: int
) -> None:
    token, contract = OTHER_CHAINS[other]

    def change(document: dict[str, Any]) -> None:
        token_of(document, symbol, RIGHT)["address"] = token
        chain_of(document, RIGHT)["contract_addr"] = contract
        pair_of(document, "PEG")["pegged_burn_contract_addr"] = contract

    configure(app, changed(change))
    message = refused(client, "not_evm", symbol=symbol, src=src, dst=dst)
    assert message.startswith("Right is not an EVM chain")


@pytest.mark.parametrize("symbol", ["USDX", "PEG"])
def test_send_refuses_a_bridge_of_32_bytes(app: Flask, client: FlaskClient, symbol: str) -> None:
    injective = "0x000000000000000000000000e559e36196b88f03423c2ee5708dd83b1d8505e7"
    configure(app, changed(lambda document: chain_of(document, RIGHT).update(contract_addr=injective)))
    refused(client, "not_evm", symbol=symbol)


@pytest.mark.parametrize("who", ["sender", "receiver"])
@pytest.mark.parametrize("account", [SOLANA, SENDER[2:], SENDER + "00", "vitalik.eth"])
def test_send_refuses_other_accounts(client: FlaskClient, who: str, account: str) -> None:
    changes: dict[str, Any] = {who: account}
    message = refused(client, "not_evm", **changes)
    assert message == f"{who} is not an account of an EVM chain: send 0x and 40 hex digits"


NO_CONTRACT: list[tuple[str, str, int, int, Callable[[dict[str, Any]], Any]]] = [
    # what is changed, symbol, source, destination, how
    ("no bridge", "USDX", LEFT, RIGHT, lambda d: chain_of(d, LEFT).update(contract_addr="")),
    ("short", "USDX", LEFT, RIGHT, lambda d: chain_of(d, LEFT).update(contract_addr="08dd120226ec2213")),
    ("zero bridge", "USDX", LEFT, RIGHT, lambda d: chain_of(d, LEFT).update(contract_addr=ZERO_ADDRESS)),
    ("no vault", "PEG", LEFT, RIGHT, lambda d: pair_of(d, "PEG").update(pegged_deposit_contract_addr="")),
    ("no burn", "PEG", RIGHT, LEFT, lambda d: pair_of(d, "PEG").update(pegged_burn_contract_addr="")),
    ("zero token", "USDX", LEFT, RIGHT, lambda d: token_of(d, "USDX", LEFT).update(address=ZERO_ADDRESS)),
    ("zero paid", "USDX", LEFT, RIGHT, lambda d: token_of(d, "USDX", RIGHT).update(address=ZERO_ADDRESS)),
    ("vault 3", "PEG", LEFT, RIGHT, lambda d: pair_of(d, "PEG").update(vault_version=3)),
    ("bridge 3", "PEG", RIGHT, LEFT, lambda d: pair_of(d, "PEG").update(bridge_version=3)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("symbol", "src", "dst", "change"), [row[1:] for row in NO_CONTRACT], ids=[row[0] for row in NO_CONTRACT]
)
def test_send_refuses_unknown_contracts(
    app: Flask,
    client: FlaskClient,
    symbol: str,
    src: int,
    dst: int,
    change: Callable[[dict[str, Any]], Any],
) -> None:
    configure(app, changed(change))
    assert refused(client, "contract_unknown", symbol=symbol, src=src, dst=dst).startswith(
        "The gateway does not know the "
    )


@pytest.mark.parametrize(
    ("changes", "wrap", "why"),
    [
        (
            {"symbol": "PEG", "src": RIGHT, "dst": LEFT},
            PEG.text,
            "a transfer of PEG from Right burns the token",
        ),
        ({"symbol": "COIN"}, "", "the gateway does not know what the coin of Left is wrapped as"),
        ({"symbol": "USDX"}, COIN.text, "USDX is not the wrapped coin of Left"),
        ({"symbol": "PEG"}, COIN.text, "PEG is not the wrapped coin of Left"),
        ({"symbol": "COIN"}, SOLANA, "COIN is not the wrapped coin of Left"),
    ],
    ids=["burn", "no key", "other token", "other pegged token", "no address"],
)
def test_send_refuses_native_coin(
    app: Flask, client: FlaskClient, changes: dict[str, Any], wrap: str, why: str
) -> None:
    def change(document: dict[str, Any]) -> None:
        for row in document["chains"]:
            row["native_wrap"] = wrap

    configure(app, changed(change))
    symbol = changes["symbol"]
    assert refused(client, "native_refused", native="1", **changes) == (
        f"Native coin cannot be sent here, as {why}: omit native to send {symbol} as a token"
    )


def test_pair_is_sent_by_its_own_token(app: Flask, client: FlaskClient) -> None:
    own = "0x" + "5a" * 20

    document = sending_network()
    pair_of(document, "PEG")["org_token"] = {"address": own}
    configure(app, document)
    body = sent(client, symbol="PEG")
    assert body["approval"]["token"].lower() == own
    assert arguments(DEPOSIT, body["transaction"]["data"])[0] == own


@pytest.mark.parametrize(
    ("ago", "limit", "ends"),
    [
        (timedelta(seconds=290), 300, "2026-03-08T12:00:10.000Z"),
        (timedelta(seconds=300), 300, "2026-03-08T12:00:00.000Z"),
        (timedelta(seconds=200), 300, "2026-03-08T12:01:00.000Z"),
    ],
    ids=["10 seconds left", "none left", "more than a minute left"],
)
def test_quote_ends_with_the_base_fee(
    app: Flask, client: FlaskClient, ago: timedelta, limit: int, ends: str
) -> None:
    document = sending_network()
    for way in document["routes"]:
        way["base_fee_max_age_seconds"] = limit
    configure(app, document)
    report_events(
        app, event("fee.updated", ago, symbol="USDX", src_chain_id=LEFT, dst_chain_id=RIGHT, base_fee="7")
    )
    body = sent(client)
    assert (body["valid_until"], body["base_fee"]) == (ends, "7")


def test_quote_ends_with_the_pin(app: Flask, client: FlaskClient) -> None:
    document = sending_network()
    for way in document["routes"]:
        ends = (NOW + timedelta(seconds=7)).isoformat()
        way |= {"pinned_base_fee": "9", "pinned_until": ends, "base_fee_max_age_seconds": 1}
    configure(app, document)
    body = sent(client)
    assert (body["valid_until"], body["base_fee"]) == ("2026-03-08T12:00:07.000Z", "9")


def test_sandbox_gives_no_transaction(app: Flask, client: FlaskClient) -> None:
    fee = {"symbol": "USDX", "src_chain_id": LEFT, "dst_chain_id": RIGHT, "base_fee": "7"}
    report_events(app, event("fee.updated", **fee), reporter="sandbox")
    message = refused(client, "sandbox")
    assert "make demo" in message
    assert refused(client, "amount_zero", amt="0") == "amount should > 0"
