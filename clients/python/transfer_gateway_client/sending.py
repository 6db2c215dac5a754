"""Sends on EVM chains, with web3 (the extra ``evm``): a quote that is verified, and sent in one call."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Coroutine, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias, Unpack, cast, overload

from eth_abi.abi import encode
from eth_utils.abi import function_signature_to_4byte_selector
from web3 import AsyncWeb3, Web3
from web3.exceptions import ContractLogicError
from web3.types import TxParams

from transfer_gateway_client.answers import GatewayError
from transfer_gateway_client.faces import Either, Steps, finish, finish_awaited, finish_called
from transfer_gateway_client.gateway import AsyncGateway, Gateway, SendQuestion
from transfer_gateway_client.types import ConfigsAnswer, SendAnswer
from transfer_gateway_client.ways import Send, find_way, send_arguments

AnyGateway: TypeAlias = Gateway | AsyncGateway
AnyWeb3: TypeAlias = Web3 | AsyncWeb3[Any]
"""The functions take both of one face, and are awaited for those of asyncio."""

NONCE_BITS = 63
"""Others may store a nonce as a signed number of 64 bits."""


class QuoteError(Exception):
    """The gateway answered something else than what was requested: do not send."""


class QuoteExpired(Exception):
    """The quote's time is over, and the same transfer would bring less now: show the user a new quote."""


class SendRefused(Exception):
    """The contract or the token would refuse the call now, as where the balance is too small."""


@dataclass(frozen=True)
class Transaction:
    """What a wallet signs."""

    chain_id: int
    to: str
    data: str
    value: int


@dataclass(frozen=True)
class Approval:
    """What the contract must be allowed to take first: exactly the amount."""

    token: str
    spender: str
    amount: int
    transaction: Transaction


@dataclass(frozen=True)
class _Quote:
    """A transfer that can be sent: everything here was computed, and is what the gateway answered.

    Show ``minimum_received``, in the destination token's smallest unit, before the user signs. Store
    ``nonce``: with the same one the same request is the same transfer, which the contract takes once.
    """

    sender: str
    made: Send
    transaction: Transaction
    approval: Approval | None
    transfer_id: str
    valid_until: datetime
    answer: SendAnswer
    _gateway: AnyGateway = field(repr=False)
    _again: Callable[[], Steps[_Quote]] = field(repr=False)
    """Requests it again, with the same nonce."""

    @property
    def nonce(self) -> int:
        return self.made.nonce

    @property
    def minimum_received(self) -> int:
        return self.made.minimum_received


class Quote(_Quote):
    """A quote of ``Gateway``."""

    def send(self, w3: Web3, *, timeout: float = 600) -> str:
        """Allow the contract to take the amount where it may not yet, and send. The hash of the transaction.

        It can be called again after an error: the contract takes the transfer once. After ``valid_until`` it
        requests the quote again, and sends it unless it would bring less.

        :param w3: a node of the source chain, with a middleware that signs or an account of the node's.
        :param timeout: seconds until an approval must be in a block.
        :raises SendRefused: it was sent already, or the contract would refuse it now. Nothing was sent but
            approvals.
        :raises QuoteExpired: it would bring less now.
        """
        return finish_called(_send(self, w3, timeout))


class AsyncQuote(_Quote):
    """A quote of ``AsyncGateway``."""

    async def send(self, w3: AsyncWeb3[Any], *, timeout: float = 600) -> str:
        return await finish_awaited(_send(self, w3, timeout))


@overload
def get_quote(
    gateway: Gateway,
    *,
    contracts: Collection[str] | None = None,
    minimal_max_slippage: int = 0,
    **question: Unpack[SendQuestion],
) -> Quote: ...
@overload
def get_quote(
    gateway: AsyncGateway,
    *,
    contracts: Collection[str] | None = None,
    minimal_max_slippage: int = 0,
    **question: Unpack[SendQuestion],
) -> Coroutine[Any, Any, AsyncQuote]: ...
def get_quote(
    gateway: AnyGateway,
    *,
    contracts: Collection[str] | None = None,
    minimal_max_slippage: int = 0,
    **question: Unpack[SendQuestion],
) -> Either[Any]:
    """What a transfer would bring, and the transactions that send it.

    Call, id and approval are computed here, and an answer that differs is refused.

    :param contracts: the contracts that may take the funds; those of the transfer configs where it is None.
    :param minimal_max_slippage: the pool bridge's own ``minimalMaxSlippage``, read from it.
    :raises QuoteError: the answer is another transfer, or goes to another contract.
    :raises GatewayError: the gateway gives no transaction, such as ``not_evm``.
    :raises NoWay: the gateway offers no such way.
    :raises SlippageTooLow: a pool send that the contract would refuse.
    """
    known = None if contracts is None else frozenset(each.lower() for each in contracts)
    return finish(
        _quoted(gateway, question, known, minimal_max_slippage), awaited=isinstance(gateway, AsyncGateway)
    )


def _quoted(
    gateway: AnyGateway,
    question: SendQuestion,
    contracts: frozenset[str] | None,
    minimal_max_slippage: int,
) -> Steps[_Quote]:
    configs: ConfigsAnswer = yield gateway.configs()
    way = find_way(
        configs,
        question["token_symbol"],
        question["src_chain_id"],
        question["dst_chain_id"],
        is_pegged=question.get("is_pegged"),
    )
    if contracts is not None and way.contract.lower() not in contracts:
        raise QuoteError(
            f"the funds would go to {way.contract}, which is none of the contracts that may take them"
        )
    nonce, sender = question.get("nonce"), question["sender"]
    receiver, native = question.get("receiver") or sender, bool(question.get("native"))
    nonce = secrets.randbits(NONCE_BITS) if nonce is None else nonce
    full: SendQuestion = {
        **question, "is_pegged": way.is_pegged, "receiver": receiver, "nonce": nonce, "native": native
    }  # fmt: skip
    answer: SendAnswer = yield gateway.send_transaction(**full)
    made = send_arguments(
        way, answer, amount=question["amount"], receiver=receiver, nonce=nonce,
        minimal_max_slippage=minimal_max_slippage, native=native,
    )  # fmt: skip
    transaction = Transaction(
        made.chain_id, made.contract, call_data(made.signature, *made.arguments), made.value
    )
    approval = None if native else _approval(made)
    name = transfer_id(sender, made)
    expected = {
        "transaction": asdict(transaction),
        "approval": None if approval is None else asdict(approval),
        "transfer_id": name,
    }
    if differs := [*_differences("", expected, answer)]:
        raise QuoteError(f"the gateway answered another transaction: {', '.join(differs)}")
    until = datetime.fromisoformat(answer["valid_until"])
    again = partial(_quoted, gateway, full, contracts, minimal_max_slippage)
    face = AsyncQuote if isinstance(gateway, AsyncGateway) else Quote
    return face(sender, made, transaction, approval, name, until, answer, gateway, again)


def call_data(signature: str, *arguments: object) -> str:
    """A call of a contract, 0x hex."""
    types = signature.partition("(")[2].rstrip(")").split(",")
    return Web3.to_hex(function_signature_to_4byte_selector(signature) + encode(types, arguments))


def transfer_id(sender: str, send: Send) -> str:
    """The id that the contract gives a send (docs/interface/contracts.md#transfer-ids), known before it is
    sent.
    """
    way, number = send.way, int(send.chain_id)
    sender, receiver, token, contract = (
        Web3.to_checksum_address(each) for each in (sender, send.receiver, send.token, send.contract)
    )
    what: list[tuple[str, Any]] = [("address", sender)]
    if way.kind == "pool":
        what += [
            ("address", receiver),
            ("address", token),
            ("uint256", send.amount),
            ("uint64", way.dst_chain_id),
        ]
    else:
        what += [("address", token), ("uint256", send.amount)]
        if way.kind == "deposit" or way.version == 2:
            what += [("uint64", way.dst_chain_id if way.kind == "deposit" else way.to_chain)]
        what += [("address", receiver)]
    what += [("uint64", send.nonce), ("uint64", number)]
    if way.is_pegged and way.version == 2:
        what += [("address", contract)]
    return Web3.to_hex(Web3.solidity_keccak([kind for kind, _ in what], [value for _, value in what]))


def _approval(made: Send) -> Approval:
    transaction = _approving(made.chain_id, made.token, made.contract, made.amount)
    return Approval(made.token, made.contract, made.amount, transaction)


def _approving(chain_id: int, token: str, spender: str, amount: int) -> Transaction:
    return Transaction(chain_id, token, call_data("approve(address,uint256)", spender, amount), 0)


AMOUNTS = ("value", "amount")
"""Fields that an answer has as decimal strings."""


def _differences(name: str, expected: Any, answered: Any) -> Iterator[str]:
    """The names of the fields that are not as expected. Addresses and hex count in any case of letters."""
    if isinstance(expected, dict) and isinstance(answered, dict):
        for each, value in expected.items():
            wanted = str(value) if each in AMOUNTS else value
            yield from _differences(f"{name}.{each}".lstrip("."), wanted, answered.get(each))
    elif _plain(expected) != _plain(answered):
        yield name


def _plain(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _send(quote: _Quote, w3: AnyWeb3, timeout: float) -> Steps[str]:
    chain_id, node = quote.transaction.chain_id, (yield w3.eth.chain_id)
    if node != chain_id:
        raise SendRefused(f"the transfer is sent on chain {chain_id}, the node is of {node}")
    if quote.approval is not None:
        allowed = yield from _allowed(w3, quote.sender, quote.approval)
        if allowed < quote.approval.amount:
            yield from _demand_unsent(quote)
            yield from _allow(w3, quote.sender, quote.approval, allowed, timeout)
    transaction = quote.transaction
    if datetime.now(UTC) >= quote.valid_until:
        again = yield from quote._again()
        if again.minimum_received < quote.minimum_received:
            raise QuoteExpired(f"it would bring {again.minimum_received} now, not {quote.minimum_received}")
        transaction = again.transaction
    return Web3.to_hex((yield from _sent(w3, quote.sender, transaction)))


def _demand_unsent(quote: _Quote) -> Steps[None]:
    """A second attempt must not approve again what the contract has taken.

    :raises SendRefused: the gateway knows the transfer.
    """
    try:
        yield quote._gateway.status(quote.transfer_id)
    except GatewayError as error:
        if error.reason != "transfer_not_found":
            raise
    else:
        raise SendRefused("the transfer was sent already: see its status")


def _allowed(w3: AnyWeb3, owner: str, approval: Approval) -> Steps[int]:
    data = call_data("allowance(address,address)", owner, approval.spender)
    read: bytes = yield w3.eth.call(_params(owner, Transaction(0, approval.token, data, 0)))
    return int.from_bytes(read, "big")


def _allow(w3: AnyWeb3, owner: str, approval: Approval, allowed: int, timeout: float) -> Steps[None]:
    """Tokens such as USDT take no change from one amount to another: it is set to 0 first."""
    none = _approving(0, approval.token, approval.spender, 0)
    for transaction in [none, approval.transaction] if allowed else [approval.transaction]:
        sent = yield from _sent(w3, owner, transaction)
        receipt = yield w3.eth.wait_for_transaction_receipt(sent, timeout=timeout)
        if receipt["status"] != 1:
            raise SendRefused(f"the token has refused the approval {Web3.to_hex(sent)}")


def _sent(w3: AnyWeb3, sender: str, transaction: Transaction) -> Steps[Any]:
    """Simulate a transaction, then send it; its hash."""
    params = _params(sender, transaction)
    try:
        yield w3.eth.call(params)
    except ContractLogicError as refused:
        raise SendRefused(f"the contract refuses the call: {refused}") from refused
    return (yield w3.eth.send_transaction(params))


def _params(sender: str, transaction: Transaction) -> TxParams:
    params: Any = {
        "from": Web3.to_checksum_address(sender),
        "to": Web3.to_checksum_address(transaction.to),
        "data": transaction.data,
        "value": transaction.value,
    }
    return cast(TxParams, params)
