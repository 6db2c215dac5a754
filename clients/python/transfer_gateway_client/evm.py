"""Sends and refunds on EVM chains, with web3 (the extra ``evm``): simulate the call, send it."""

from __future__ import annotations

from collections.abc import Collection, Coroutine
from dataclasses import dataclass
from typing import Any, overload

from web3 import AsyncWeb3, Web3
from web3.exceptions import ContractLogicError
from web3.types import TxParams

from transfer_gateway_client.evidence import (
    CALL,
    EvidenceError,
    Refund,
    demand,
    known_contracts,
    lowered,
    verify_evidence,
)
from transfer_gateway_client.faces import Either, Steps, finish
from transfer_gateway_client.gateway import AsyncGateway, Gateway, State
from transfer_gateway_client.sending import (
    AnyGateway,
    AnyWeb3,
    Approval,
    AsyncQuote,
    Quote,
    QuoteError,
    QuoteExpired,
    SendRefused,
    Transaction,
    get_quote,
    transfer_id,
)
from transfer_gateway_client.types import ConfigsAnswer, EvidenceAnswer
from transfer_gateway_client.waiting import wait_until

TO_BE_REFUNDED, REQUESTING, TO_BE_CONFIRMED = 6, 7, 8
BEFORE = (TO_BE_REFUNDED, REQUESTING)
DELAYED_CALL = "executeDelayedTransfer(bytes32)"

__all__ = [
    "Approval",
    "AsyncQuote",
    "EvidenceError",
    "Quote",
    "QuoteError",
    "QuoteExpired",
    "Refund",
    "RefundRefused",
    "SendRefused",
    "Transaction",
    "claim_refund",
    "execute_delayed",
    "get_quote",
    "native_wrap",
    "pays_native",
    "transfer_id",
    "verify_evidence",
]


class RefundRefused(Exception):
    """The contract would refuse the call now. The evidence stays valid: try again later."""


@overload
def native_wrap(w3: Web3, contract: str) -> str: ...
@overload
def native_wrap(w3: AsyncWeb3[Any], contract: str) -> Coroutine[Any, Any, str]: ...
def native_wrap(w3: AnyWeb3, contract: str) -> Either[str]:
    """The token that the contract takes and pays as native coin; the zero address where it has none."""
    return finish(_native_wrap(w3, contract), awaited=isinstance(w3, AsyncWeb3))


def _native_wrap(w3: AnyWeb3, contract: str) -> Steps[str]:
    returned = [{"name": "", "type": "address"}]
    usual = {"type": "function", "inputs": [], "stateMutability": "view"}
    abi: list[Any] = [{"name": "nativeWrap", "outputs": returned, **usual}]
    made = w3.eth.contract(address=Web3.to_checksum_address(contract), abi=abi)
    return Web3.to_checksum_address((yield made.functions.nativeWrap().call()))


@overload
def pays_native(w3: Web3, refund: Refund) -> bool: ...
@overload
def pays_native(w3: AsyncWeb3[Any], refund: Refund) -> Coroutine[Any, Any, bool]: ...
def pays_native(w3: AnyWeb3, refund: Refund) -> Either[bool]:
    """Whether a proven refund comes as native coin. What is minted never does."""
    return finish(_pays_native(w3, refund), awaited=isinstance(w3, AsyncWeb3))


def _pays_native(w3: AnyWeb3, refund: Refund) -> Steps[bool]:
    return refund.function == "withdraw" and (yield from _native_wrap(w3, refund.contract)) == refund.token


@overload
def claim_refund(
    gateway: Gateway,
    transfer: str,
    w3: Web3,
    *,
    account: str | None = None,
    receiver: str | None = None,
    contracts: Collection[str] = (),
    timeout: float = 3600,
) -> str: ...
@overload
def claim_refund(
    gateway: AsyncGateway,
    transfer: str,
    w3: AsyncWeb3[Any],
    *,
    account: str | None = None,
    receiver: str | None = None,
    contracts: Collection[str] = (),
    timeout: float = 3600,
) -> Coroutine[Any, Any, str]: ...
def claim_refund(
    gateway: AnyGateway,
    transfer: str,
    w3: AnyWeb3,
    *,
    account: str | None = None,
    receiver: str | None = None,
    contracts: Collection[str] = (),
    timeout: float = 3600,
) -> Either[str]:
    """Have a refund paid: request it at status 6, wait for 8, verify, simulate, send.

    Returns the hash of the transaction. Afterwards wait with ``wait_until`` until the state is terminal: the
    transfer stays at 8 until the gateway has read that transaction.

    :param w3: a node of the source chain, with a middleware that signs or an account of the node's.
    :param account: who sends, and pays the gas; ``w3.eth.default_account`` where it is left out.
    :param receiver: who must be paid; the account where it is left out.
    :param timeout: seconds to wait for the evidence.
    :raises EvidenceError: nothing can be claimed, or the evidence is not good.
    :raises RefundRefused: the contract would refuse the call now.
    """
    who = Web3.to_checksum_address(account or str(w3.eth.default_account))
    steps = _claim_refund(gateway, transfer, w3, who, receiver or who, contracts, timeout)
    return finish(steps, awaited=isinstance(gateway, AsyncGateway))


def _claim_refund(
    gateway: AnyGateway,
    transfer: str,
    w3: AnyWeb3,
    who: str,
    receiver: str,
    contracts: Collection[str],
    timeout: float,
) -> Steps[str]:
    state: State = yield gateway.status(transfer)
    if state.status == TO_BE_REFUNDED:
        yield gateway.ask_for_refund(transfer)
    if state.status in BEFORE:
        state = yield wait_until(gateway, transfer, lambda each: each.status not in BEFORE, timeout=timeout)
    demand(state.status == TO_BE_CONFIRMED, f"there is nothing to claim at status {state.status}")
    evidence: EvidenceAnswer = yield gateway.evidence(transfer)
    configs: ConfigsAnswer = yield gateway.configs()
    refund = verify_evidence(evidence, configs, transfer, receiver=receiver, contracts=contracts)
    call = _Call(refund.chain_id, refund.contract, CALL.format(refund.function), refund.arguments)
    return (yield from _send(w3, call, who, ", ".join(each["reason"] for each in evidence["may_refuse"])))


@overload
def execute_delayed(
    gateway: Gateway,
    transfer: str,
    w3: Web3,
    *,
    account: str | None = None,
    contracts: Collection[str] = (),
) -> str: ...
@overload
def execute_delayed(
    gateway: AsyncGateway,
    transfer: str,
    w3: AsyncWeb3[Any],
    *,
    account: str | None = None,
    contracts: Collection[str] = (),
) -> Coroutine[Any, Any, str]: ...
def execute_delayed(
    gateway: AnyGateway,
    transfer: str,
    w3: AnyWeb3,
    *,
    account: str | None = None,
    contracts: Collection[str] = (),
) -> Either[str]:
    """Have a large refund paid that waits in the delay queue of its contract (at status 9), after the delay.

    :raises EvidenceError: no refund of the transfer waits.
    :raises RefundRefused: the delay is not over yet.
    """
    who = Web3.to_checksum_address(account or str(w3.eth.default_account))
    steps = _execute_delayed(gateway, transfer, w3, who, contracts)
    return finish(steps, awaited=isinstance(gateway, AsyncGateway))


def _execute_delayed(
    gateway: AnyGateway, transfer: str, w3: AnyWeb3, who: str, contracts: Collection[str]
) -> Steps[str]:
    evidence: EvidenceAnswer = yield gateway.evidence(transfer)
    delayed, kind = evidence["delayed"], evidence["kind"]
    if not delayed or delayed["funds"] != "refund" or kind is None:
        raise EvidenceError("no refund waits in a delay queue")
    name, chain_id, contract = delayed["delayed_id"], delayed["chain_id"], delayed["contract"]
    if name is None or chain_id is None or contract is None:
        raise EvidenceError("it is not known yet where the refund waits")
    configs: ConfigsAnswer = yield gateway.configs()
    known = known_contracts(configs, kind, chain_id) | lowered(contracts)
    demand(contract.lower() in known, "its contract is not known")
    call = _Call(chain_id, contract, DELAYED_CALL, (bytes.fromhex(name[2:]),))
    return (yield from _send(w3, call, who, "delay"))


@dataclass(frozen=True)
class _Call:
    """A call of a contract that returns nothing that matters."""

    chain_id: int
    contract: str
    signature: str
    arguments: tuple[Any, ...]

    def on(self, w3: AnyWeb3) -> Any:
        """The function of the contract, with its arguments."""
        function, _, types = self.signature.rstrip(")").partition("(")
        inputs = [{"name": f"a{place}", "type": each} for place, each in enumerate(types.split(","))]
        usual = {"type": "function", "outputs": [], "stateMutability": "nonpayable"}
        abi: list[Any] = [{"name": function, "inputs": inputs, **usual}]
        contract = w3.eth.contract(address=Web3.to_checksum_address(self.contract), abi=abi)
        return contract.functions[function](*self.arguments)


def _send(w3: AnyWeb3, call: _Call, account: Any, reasons: str) -> Steps[str]:
    """Simulate the call, then send it; the hash of the transaction."""
    node: int = yield w3.eth.chain_id
    demand(node == call.chain_id, f"the refund is paid on chain {call.chain_id}, the node is of {node}")
    function, sender = call.on(w3), TxParams({"from": account})
    try:
        yield function.call(sender)
    except ContractLogicError as refused:
        raise RefundRefused(f"the contract refuses the call ({reasons}): {refused}") from refused
    return Web3.to_hex((yield function.transact(sender)))
