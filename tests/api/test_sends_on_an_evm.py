"""Transactions of random requests, sent to the contracts on a real EVM: each is accepted, with the id that
the gateway answered, and the receiver is paid at least the minimum.

What the bridge's network does in between is done here: it reads the event of the source, and pays what is
left of the amount after the fees, if that is at least what the event's slippage allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.values.codes import SendKind
from app.values.crypto import parse_evm_address
from demo.chains import (
    COIN,
    DECIMALS,
    DEPLOYER,
    LEFT,
    NAMES,
    OLD,
    PEG,
    PLENTY,
    RIGHT,
    TRI,
    USDX,
    at,
    rotation,
)
from demo.contracts import Contract
from demo.transfers import Send
from demo.validators import Validators
from tests.amounts import few_or_many
from tests.api.sends import send_query, sending_network
from tests.api.shapes import SEND
from tests.api.world import configure
from tests.applications import OpenApp
from tests.contract.evm.machine import Chain, Placed, Receipt, Reverted
from tests.databases import SharedDatabase

MILLION = 10**6
VALIDATORS = Validators.of(1, 1, 1)
MINIMUM_SLIPPAGE = 779
"""Of the contract: the network document has it plus 1."""

LEAST_TOLERANCE = 2
"""Slippage is cut to whole parts per million: at 1 the cut can be more than the tolerance."""

RATES = {
    ("USDX", LEFT): "0.9973",
    ("USDX", RIGHT): "1.0021",
    ("COIN", LEFT): "1",
    ("COIN", RIGHT): "1.000001",
}
FEES = {"USDX": {LEFT: 31 * 10**16, RIGHT: 290_000}, "COIN": {LEFT: 10**15, RIGHT: 2 * 10**15}}
"""Of a pool transfer from this chain, in units of the other."""

PEGGED_FEE = {"deposit_base_fee": 1000, "burn_base_fee": 2000}
POOL_PPM, PEGGED_PPM = 400, 500
CONTRACTS = {"USDX": USDX, "COIN": COIN, "PEG": PEG, "OLD": OLD, "TRI": TRI}
EVENTS = {SendKind.POOL: ("Send", "transferId"), SendKind.DEPOSIT: ("Deposited", "depositId"),
          SendKind.BURN: ("Burn", "burnId")}  # fmt: skip


def rated_network() -> dict[str, Any]:
    """Rates other than 1, and a base fee of each direction."""
    made = sending_network()
    for way in made["routes"]:
        symbol, src = way["symbol"], way["src_chain_id"]
        way.update(rate={"model": "fixed", "value": RATES[symbol, src]}, base_fee=str(FEES[symbol][src]))
    pegged = next(pair for pair in made["pegged_pairs"] if pair["symbol"] == "PEG")
    made["pegged_pairs"].append(pegged | {"symbol": "COIN"})  # so that native coin can be deposited, too
    return made


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase) -> Flask:
    app = open_app()
    shared_database.fill("tests.api.sends_on_an_evm", lambda: configure(app, rated_network()))
    return app


class LocalChain:
    """One of the two chains with all contracts on it."""

    def __init__(self, chain_id: int) -> None:
        self.chain = Chain(chain_id)
        self.placed = {name: self.chain.place(kind, at(name).address) for name, kind in NAMES.items()}
        for name in ("pool", "vault", "vault1", "bridge", "bridge1"):
            call = rotation(at(name), VALIDATORS)
            self.chain.transact(at(name).address, call.data)
            self.placed[name].call("setWrapped", COIN.address)
        self.placed["pool"].call("setMinimalMaxSlippage", MINIMUM_SLIPPAGE)
        for name in ("pool", "vault", "vault1"):
            for token in ("usdx", "peg", "old", "coin"):
                self.placed[token].call("mint", at(name).address, PLENTY * PLENTY)
        self.chain.give_coins(COIN.address, PLENTY * PLENTY)

    def token(self, token: Contract) -> Placed:
        return next(placed for placed in self.placed.values() if placed.address == token.address)

    def send(self, transaction: dict[str, str], sender: bytes) -> Receipt:
        """A transaction as the gateway answers it, sent by this account."""
        to = parse_evm_address(transaction["to"])
        assert to is not None
        data, value = bytes.fromhex(transaction["data"][2:]), int(transaction["value"])
        if value:
            self.chain.give_coins(sender, value)
        return self.chain.transact(to, data, sender, value)


@dataclass(frozen=True)
class Quoted(Send):
    """A send whose payout is what the network pays."""

    paid: int = 0

    @property
    def arriving(self) -> int:
        return self.paid

    @property
    def id(self) -> bytes:
        """A burn names the original chain by the number 0."""
        if self.kind is SendKind.BURN and self.token != TRI and self.to_chain:
            return replace(self, to_chain=0).id
        return super().id


def random_send(chance: Random) -> Quoted:
    """A transfer of any kind, of any size from a thousandth of a token on."""
    symbol = chance.choice(list(CONTRACTS))
    src, dst = chance.choice([(LEFT, RIGHT), (RIGHT, LEFT)])
    kind = SendKind.POOL
    if symbol in ("PEG", "OLD", "TRI"):
        kind = SendKind.DEPOSIT if src == LEFT and symbol != "TRI" else SendKind.BURN
    elif symbol == "COIN" and src == LEFT and chance.random() < 0.5:
        kind = SendKind.DEPOSIT
    digits = DECIMALS[src] if symbol == "USDX" else 18
    whole = chance.randint(1, 10 ** chance.randint(1, 9))
    return Quoted(
        kind=kind,
        chain=src,
        to_chain=dst,
        amount=whole * 10**digits + chance.randint(-(10 ** (digits - 1)), 10 ** (digits - 1)),
        nonce=chance.getrandbits(chance.choice((1, 32, 63, 64))),
        sender=chance.randbytes(20),
        receiver=chance.randbytes(20),
        version=1 if symbol == "OLD" else 2,
        native=symbol == "COIN" and chance.random() < 0.5,
        token=CONTRACTS[symbol],
    )


def symbol_of(send: Send) -> str:
    return next(symbol for symbol, token in CONTRACTS.items() if token == send.token)


def pays(send: Send, logged: dict[str, Any]) -> tuple[int, int]:
    """What the network pays of a logged send, and the minimum that its slippage allows.

    At a rate above 1 the slippage of the formula leaves a part of the amount sent, not of what it is worth
    (docs/interface/estimates.md#max-slippage).
    """
    symbol = symbol_of(send)
    src, dst = (DECIMALS[chain] if symbol == "USDX" else 18 for chain in (send.chain, send.to_chain))
    rate, ppm, base = Fraction(1), PEGGED_PPM, PEGGED_FEE["burn_base_fee"]
    if send.kind is SendKind.POOL:
        rate, ppm, base = Fraction(RATES[symbol, send.chain]), POOL_PPM, FEES[symbol][send.chain]
    elif send.kind is SendKind.DEPOSIT or symbol == "TRI":
        base = PEGGED_FEE["deposit_base_fee"]
    scaled = logged["amount"] * Fraction(10) ** (dst - src)
    worth = scaled * rate // 1
    fee = -(-worth * ppm // MILLION)
    paid = int(worth - fee - base)
    least = paid
    if send.kind is SendKind.POOL:
        least = -int(-(min(scaled, Fraction(worth)) * (MILLION - logged["maxSlippage"]) / MILLION) // 1)
    return paid, least


def balance(chain: LocalChain, send: Send, who: bytes) -> int:
    """What an account has of the token; of the wrapped coin, which the pool pays as coin, also that."""
    held = chain.token(send.token).read("balanceOf", who)
    return held + (chain.chain.coins(who) if send.token == COIN else 0)


@pytest.mark.parametrize("count", few_or_many(20, 1000))
def test_every_quote_is_accepted_and_paid(client: FlaskClient, count: int) -> None:
    chance = Random(f"quotes {count}")
    chains = {LEFT: LocalChain(LEFT), RIGHT: LocalChain(RIGHT)}
    kinds = set()
    for _ in range(count):
        send = random_send(chance)
        quote = quoted(client, send, tolerance=chance.randint(LEAST_TOLERANCE, 20_000))
        source, destination = chains[send.chain], chains[send.to_chain]
        logged = begin(source, send, quote)
        paid, least = pays(send, logged)
        assert paid == int(quote["estimated_receive_amt"])
        assert paid >= least
        arrives(destination, send, paid)
        kinds.add((send.kind, send.version, send.native, symbol_of(send) == "TRI"))
    assert count < 1000 or len(kinds) == 8


def quoted(client: FlaskClient, send: Send, tolerance: int) -> dict[str, Any]:
    query = send_query(
        symbol_of(send),
        send.chain,
        send.to_chain,
        amt=str(send.amount),
        sender=f"0x{send.sender.hex()}",
        receiver=f"0x{send.receiver.hex()}",
        nonce=str(send.nonce),
        native=str(send.native),
        is_pegged=str(send.kind is not SendKind.POOL),
        slippage_tolerance=tolerance,
    )
    quote: dict[str, Any] = client.get(SEND, query_string=query).get_json()
    assert quote["err"] is None, query
    return quote


def begin(source: LocalChain, send: Send, quote: dict[str, Any]) -> dict[str, Any]:
    """Send what the gateway answered, once and again; the event of the contract.

    The sender has exactly the amount, and allows what the approval says: nothing of either is left.
    """
    token, approval = source.token(send.token), quote["approval"]
    if send.native:
        assert approval is None
    else:
        token.call("mint", send.sender, send.amount)
        source.send(approval["transaction"], send.sender)
        spender = parse_evm_address(approval["spender"])
        assert token.read("allowance", send.sender, spender) == send.amount
    receipt = source.send(quote["transaction"], send.sender)
    name, id_name = EVENTS[send.kind]
    logged = receipt.event(name)
    assert f"0x{logged[id_name].hex()}" == quote["transfer_id"]
    assert quote["transfer_id"] == send.text
    assert (logged["amount"], parse_evm_address(logged["token"])) == (send.amount, send.token.address)
    assert token.read("balanceOf", send.sender) == 0
    if send.kind is not SendKind.BURN and not send.native:
        assert token.read("allowance", send.sender, send.contract.address) == 0
    if approval is not None:
        token.call("mint", send.sender, send.amount)
        source.send(approval["transaction"], send.sender)
    with pytest.raises(Reverted, match="AlreadySent"):
        source.send(quote["transaction"], send.sender)
    return logged


def arrives(destination: LocalChain, send: Quoted, paid: int) -> None:
    """The network pays, and the receiver has that much more."""
    before = balance(destination, send, send.receiver)
    call = replace(send, paid=paid).payout(VALIDATORS)
    assert call.to is not None
    destination.chain.transact(call.to, call.data, DEPLOYER)
    assert balance(destination, send, send.receiver) - before == paid
