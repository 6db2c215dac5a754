"""Refunds on EVM chains, with web3 (the extra ``evm``): verify evidence, simulate the call, send it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from eth_account import Account
from eth_account.messages import encode_defunct
from web3 import Web3
from web3.contract.contract import ContractFunction
from web3.exceptions import ContractLogicError
from web3.types import TxParams

from transfer_gateway_client.gateway import Gateway
from transfer_gateway_client.types import ConfigsAnswer, EvidenceAnswer
from transfer_gateway_client.waiting import wait_until
from transfer_gateway_client.ways import Send

TO_BE_REFUNDED, REQUESTING, TO_BE_CONFIRMED = 6, 7, 8
BEFORE = (TO_BE_REFUNDED, REQUESTING)
DELAYED_CALL = "executeDelayedTransfer(bytes32)"
CALL = "{}(bytes,bytes[],address[],uint256[])"
HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""A contract refuses signatures whose s is larger."""


@dataclass(frozen=True)
class Kind:
    """How one kind of send is paid back, and which field of its request (proto/refund.proto) says what."""

    function: str
    text: str
    chain: int
    receiver: int
    token: int
    amount: int
    reference: int


KINDS: Mapping[str, Kind] = {
    "pool": Kind("withdraw", "WithdrawMsg", chain=1, receiver=3, token=4, amount=5, reference=6),
    "deposit": Kind("withdraw", "Withdraw", token=1, receiver=2, amount=3, chain=5, reference=6),
    "burn": Kind("mint", "Mint", token=1, receiver=2, amount=3, chain=5, reference=6),
}


class EvidenceError(Exception):
    """The evidence is not there, or does not prove what it says: do not send."""


class RefundRefused(Exception):
    """The contract would refuse the call now. The evidence stays valid: try again later."""


@dataclass(frozen=True)
class Refund:
    """A refund that is proven: what is paid to whom, and the call that has it paid."""

    kind: str
    chain_id: int
    contract: str
    function: str
    arguments: tuple[bytes, list[bytes], list[str], list[int]]
    receiver: str
    token: str
    amount: int


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


def verify_evidence(
    evidence: EvidenceAnswer,
    configs: ConfigsAnswer,
    transfer: str,
    *,
    receiver: str | None = None,
    contracts: Collection[str] = (),
) -> Refund:
    """Check the evidence without believing it, and make the call of it.

    What the request says is read from its own bytes, and each signature is recovered. Whether the validators
    are those of the contract only the contract knows: simulate the call.

    :param receiver: who must be paid.
    :param contracts: further contracts of the bridge that are trusted beside those of the configs.
    :raises EvidenceError: with what is wrong.
    """
    kind, chain_id, contract = evidence["kind"], evidence["chain_id"], evidence["contract"]
    if not evidence["valid"] or kind is None or chain_id is None or contract is None:
        raise EvidenceError(f"there is nothing to claim: {'; '.join(evidence['missing'])}")
    _demand(
        contract.lower() in _known(configs, kind, chain_id) | _lower(contracts), "its contract is not known"
    )
    how, request = KINDS[kind], b64decode(evidence["wd_onchain"] or "")
    said = _fields(request)
    paid, token = (_address(said, place) for place in (how.receiver, how.token))
    _demand(said.get(how.chain) == chain_id, "the request is for another chain")
    _demand(
        _bytes(said, how.reference) == bytes.fromhex(transfer.removeprefix("0x")),
        "it is for another transfer",
    )
    _demand(receiver is None or paid.lower() == receiver.lower(), "it pays somebody else")
    digest = _digest(chain_id, contract, how.text, request)
    rows = [(Web3.to_checksum_address(each["address"]), each) for each in evidence["signers"]]
    signers: list[str] = [who for who, _ in rows]
    _demand(_ascending(signers), "the validators are not in order")
    powers: dict[str, int] = {who: int(each["power"]) for who, each in rows}
    signed: dict[str, bytes] = {
        who: _signature(each["signature"]) for who, each in rows if each["signature"] is not None
    }
    for who, signature in signed.items():
        _demand(_recover(digest, signature) == who.lower(), f"{who} has not signed it")
    enough = _fewest(powers, signed)
    arguments = (
        request,
        [signed[who] for who in signers if who in enough],
        signers,
        [powers[who] for who in signers],
    )
    return Refund(
        kind, chain_id, Web3.to_checksum_address(contract), how.function, arguments, paid,
        token, int.from_bytes(_bytes(said, how.amount), "big"),
    )  # fmt: skip


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
    """Have a refund paid: ask for it at status 6, wait for 8, verify, simulate, send.

    Gives the hash of the transaction. Afterwards wait with ``wait_until`` until the state is terminal: the
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
    _demand(state.status == TO_BE_CONFIRMED, f"there is nothing to claim at status {state.status}")
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
    known = _known(gateway.configs(), kind, chain_id) | _lower(contracts)
    _demand(contract.lower() in known, "its contract is not known")
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
        """The call through a node of its chain."""
        node = w3.eth.chain_id
        _demand(node == self.chain_id, f"the refund is paid on chain {self.chain_id}, the node is of {node}")
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


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise EvidenceError(otherwise)


def _lower(addresses: Collection[str]) -> set[str]:
    return {each.lower() for each in addresses}


def _known(configs: ConfigsAnswer, kind: str, chain_id: int) -> set[str]:
    """The contracts that the configs name for this kind of refund on this chain."""
    if kind == "pool":
        return _lower([each["contract_addr"] for each in configs["chains"] if each["id"] == chain_id])
    pairs = configs["pegged_pair_configs"]
    if kind == "deposit":
        vaults = [each["pegged_deposit_contract_addr"] for each in pairs if each["org_chain_id"] == chain_id]
        return _lower(vaults)
    bridges = [each["pegged_burn_contract_addr"] for each in pairs if each["pegged_chain_id"] == chain_id]
    return _lower(bridges)


def _digest(chain_id: int, contract: str, text: str, request: bytes) -> bytes:
    """What is signed, before the prefix of EIP-191 (docs/interface.md#signatures)."""
    domain = Web3.keccak(chain_id.to_bytes(32, "big") + bytes.fromhex(contract[2:]) + text.encode())
    return bytes(Web3.keccak(domain + request))


def _signature(text: str) -> bytes:
    signature = bytes.fromhex(text[2:])
    good = len(signature) == 65 and signature[64] in (27, 28)
    _demand(good and int.from_bytes(signature[32:64], "big") <= HALF_ORDER, "a signature is malformed")
    return signature


def _recover(digest: bytes, signature: bytes) -> str:
    return str(Account.recover_message(encode_defunct(primitive=digest), signature=signature)).lower()


def _ascending(signers: Sequence[str]) -> bool:
    return all(int(one, 16) < int(other, 16) for one, other in pairwise(signers))


def _fewest(powers: Mapping[str, int], signed: Collection[str]) -> set[str]:
    """The fewest of those who signed that reach the quorum: each further signature costs gas."""
    total, enough, power = sum(powers.values()), set[str](), 0
    _demand(total < 2**255, "the powers add up to more than the contract can compute with")
    quorum = total * 2 // 3 + 1
    for who in sorted(signed, key=lambda each: (-powers[each], int(each, 16))):
        if power < quorum:
            enough.add(who)
            power += powers[who]
    _demand(power >= quorum, f"power {power} has signed, {quorum} is needed")
    return enough


def _bytes(said: Mapping[int, int | bytes], place: int) -> bytes:
    value = said.get(place, b"")
    return value if isinstance(value, bytes) else b""


def _address(said: Mapping[int, int | bytes], place: int) -> str:
    value = _bytes(said, place)
    _demand(len(value) == 20, "the request cannot be read")
    return Web3.to_checksum_address(value)


def _fields(request: bytes) -> dict[int, int | bytes]:
    """The fields of a protobuf message of numbers and bytes, each once and in ascending order."""
    fields: dict[int, int | bytes] = {}
    rest = request
    while rest:
        key, rest = _number(rest)
        value, rest = _number(rest)
        place = key >> 3
        _demand(key & 7 in (0, 2) and place > max(fields, default=0), "the request cannot be read")
        if key & 7 == 2:
            _demand(value <= len(rest), "the request cannot be read")
            fields[place], rest = rest[:value], rest[value:]
        else:
            fields[place] = value
    return fields


def _number(rest: bytes) -> tuple[int, bytes]:
    value = 0
    for place, byte in enumerate(rest[:10]):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, rest[place + 1 :]
    raise EvidenceError("the request cannot be read")
