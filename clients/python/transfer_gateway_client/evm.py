"""Refunds on EVM chains, with web3 (the extra ``evm``): simulate the call that pays, send it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from web3 import Web3
from web3.contract.contract import ContractFunction
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
from transfer_gateway_client.gateway import Gateway
from transfer_gateway_client.waiting import wait_until
from transfer_gateway_client.ways import Send

TO_BE_REFUNDED, REQUESTING, TO_BE_CONFIRMED = 6, 7, 8
BEFORE = (TO_BE_REFUNDED, REQUESTING)
DELAYED_CALL = "executeDelayedTransfer(bytes32)"

__all__ = [
    "EvidenceError",
    "Refund",
    "RefundRefused",
    "claim_refund",
    "execute_delayed",
    "native_wrap",
    "pays_native",
    "transfer_id",
    "verify_evidence",
]


class RefundRefused(Exception):
    """The contract would refuse the call now. The evidence stays valid: try again later."""


def transfer_id(sender: str, send: Send) -> str:
    """The id that the contract gives a send (docs/interface.md#transfer-ids), known before it is sent."""
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


def native_wrap(w3: Web3, contract: str) -> str:
    """The token that the contract takes and pays as native coin; the zero address where it has none."""
    returned = [{"name": "", "type": "address"}]
    usual = {"type": "function", "inputs": [], "stateMutability": "view"}
    abi: list[Any] = [{"name": "nativeWrap", "outputs": returned, **usual}]
    made = w3.eth.contract(address=Web3.to_checksum_address(contract), abi=abi)
    return Web3.to_checksum_address(made.functions.nativeWrap().call())


def pays_native(w3: Web3, refund: Refund) -> bool:
    """Whether a proven refund comes as native coin. What is minted never does."""
    return refund.function == "withdraw" and native_wrap(w3, refund.contract) == refund.token


def claim_refund(
    gateway: Gateway,
    transfer: str,
    w3: Web3,
    *,
    account: str | None = None,
    receiver: str | None = None,
    contracts: Collection[str] = (),
    timeout: float = 3600,
) -> str:
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
    state = gateway.status(transfer)
    if state.status == TO_BE_REFUNDED:
        gateway.ask_for_refund(transfer)
    if state.status in BEFORE:
        state = wait_until(gateway, transfer, lambda each: each.status not in BEFORE, timeout=timeout)
    demand(state.status == TO_BE_CONFIRMED, f"there is nothing to claim at status {state.status}")
    evidence = gateway.evidence(transfer)
    refund = verify_evidence(
        evidence, gateway.configs(), transfer, receiver=receiver or who, contracts=contracts
    )
    call = _Call(refund.chain_id, refund.contract, CALL.format(refund.function), refund.arguments)
    return _send(w3, call, who, ", ".join(each["reason"] for each in evidence["may_refuse"]))


def execute_delayed(
    gateway: Gateway,
    transfer: str,
    w3: Web3,
    *,
    account: str | None = None,
    contracts: Collection[str] = (),
) -> str:
    """Have a large refund paid that waits in the delay queue of its contract (at status 9), after the delay.

    :raises EvidenceError: no refund of the transfer waits.
    :raises RefundRefused: the delay is not over yet.
    """
    evidence = gateway.evidence(transfer)
    delayed, kind = evidence["delayed"], evidence["kind"]
    if not delayed or delayed["funds"] != "refund" or kind is None:
        raise EvidenceError("no refund waits in a delay queue")
    name, chain_id, contract = delayed["delayed_id"], delayed["chain_id"], delayed["contract"]
    if name is None or chain_id is None or contract is None:
        raise EvidenceError("it is not known yet where the refund waits")
    known = known_contracts(gateway.configs(), kind, chain_id) | lowered(contracts)
    demand(contract.lower() in known, "its contract is not known")
    who = Web3.to_checksum_address(account or str(w3.eth.default_account))
    return _send(w3, _Call(chain_id, contract, DELAYED_CALL, (bytes.fromhex(name[2:]),)), who, "delay")


@dataclass(frozen=True)
class _Call:
    """A call of a contract that returns nothing that matters."""

    chain_id: int
    contract: str
    signature: str
    arguments: tuple[Any, ...]

    def on(self, w3: Web3) -> ContractFunction:
        node = w3.eth.chain_id
        demand(node == self.chain_id, f"the refund is paid on chain {self.chain_id}, the node is of {node}")
        function, _, types = self.signature.rstrip(")").partition("(")
        inputs = [{"name": f"a{place}", "type": each} for place, each in enumerate(types.split(","))]
        usual = {"type": "function", "outputs": [], "stateMutability": "nonpayable"}
        abi: list[Any] = [{"name": function, "inputs": inputs, **usual}]
        contract = w3.eth.contract(address=Web3.to_checksum_address(self.contract), abi=abi)
        made: ContractFunction = contract.functions[function](*self.arguments)
        return made


def _send(w3: Web3, call: _Call, account: Any, reasons: str) -> str:
    """Simulate the call, then send it; the hash of the transaction."""
    function, sender = call.on(w3), TxParams({"from": account})
    try:
        function.call(sender)
    except ContractLogicError as refused:
        raise RefundRefused(f"the contract refuses the call ({reasons}): {refused}") from refused
    return Web3.to_hex(function.transact(sender))
