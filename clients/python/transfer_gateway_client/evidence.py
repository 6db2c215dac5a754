"""Whether the evidence of a refund is good, by its bytes. Needs the extra ``evm``."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_keys.exceptions import BadSignature
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from transfer_gateway_client.types import ConfigsAnswer, EvidenceAnswer

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
    :param contracts: further contracts of the bridge that are trusted like those of the configs.
    :raises EvidenceError: with what is wrong.
    """
    kind, chain_id, contract = evidence["kind"], evidence["chain_id"], evidence["contract"]
    if not evidence["valid"] or kind is None or chain_id is None or contract is None:
        raise EvidenceError(f"there is nothing to claim: {'; '.join(evidence['missing'])}")
    known = known_contracts(configs, kind, chain_id) | lowered(contracts)
    demand(contract.lower() in known, "its contract is not known")
    signers = [(each["address"], int(each["power"]), each["signature"]) for each in evidence["signers"]]
    rows = [(who, power, None if text is None else bytes.fromhex(text[2:])) for who, power, text in signers]
    request = b64decode(evidence["wd_onchain"] or "")
    refund = proven(
        kind, chain_id, contract, request, rows, transfer=bytes.fromhex(transfer.removeprefix("0x"))
    )
    demand(receiver is None or refund.receiver.lower() == receiver.lower(), "it pays somebody else")
    return refund


def proven(
    kind: str,
    chain_id: int,
    contract: str,
    request: bytes,
    rows: Sequence[tuple[str, int, bytes | None]],
    *,
    transfer: bytes | None,
) -> Refund:
    """What the request pays, once a quorum of these validators has signed it for this contract.

    :param rows: each validator of the set: address, power, and signature where there is one.
    :param transfer: what the request must refer to, unless it is None.
    :raises EvidenceError: with what is wrong.
    """
    how, said = KINDS[kind], request_fields(request)
    paid, token = (_address(said, place) for place in (how.receiver, how.token))
    demand(said.get(how.chain) == chain_id, "the request is for another chain")
    demand(transfer in (None, field_bytes(said, how.reference)), "it is for another transfer")
    signers: list[str] = [to_checksum_address(who) for who, _, _ in rows]
    demand(_ascending(signers), "the validators are not in order")
    powers = {who: power for who, (_, power, _) in zip(signers, rows, strict=True)}
    signed = {who: made for who, (_, _, made) in zip(signers, rows, strict=True) if made is not None}
    digest = signed_digest(kind, chain_id, contract, request)
    for who, signature in signed.items():
        demand(signer_of(digest, signature) == who, f"{who} has not signed it")
    enough = _fewest(powers, signed)
    arguments = (
        request,
        [signed[who] for who in signers if who in enough],
        signers,
        [powers[who] for who in signers],
    )
    return Refund(
        kind, chain_id, to_checksum_address(contract), how.function, arguments, paid,
        token, int.from_bytes(field_bytes(said, how.amount), "big"),
    )  # fmt: skip


def demand(holds: bool, otherwise: str) -> None:
    """:raises EvidenceError: ``otherwise``, unless it holds."""
    if not holds:
        raise EvidenceError(otherwise)


def lowered(addresses: Collection[str]) -> set[str]:
    return {each.lower() for each in addresses}


def known_contracts(configs: ConfigsAnswer, kind: str, chain_id: int) -> set[str]:
    if kind == "pool":
        return lowered([each["contract_addr"] for each in configs["chains"] if each["id"] == chain_id])
    pairs = configs["pegged_pair_configs"]
    if kind == "deposit":
        vaults = [each["pegged_deposit_contract_addr"] for each in pairs if each["org_chain_id"] == chain_id]
        return lowered(vaults)
    bridges = [each["pegged_burn_contract_addr"] for each in pairs if each["pegged_chain_id"] == chain_id]
    return lowered(bridges)


def signed_digest(kind: str, chain_id: int, contract: str, request: bytes) -> bytes:
    """What is signed, before the prefix of EIP-191 (docs/interface/contracts.md#signatures)."""
    place = chain_id.to_bytes(32, "big") + bytes.fromhex(contract[2:])
    return keccak(keccak(place + KINDS[kind].text.encode()) + request)


def signer_of(digest: bytes, signature: bytes) -> str:
    """Who made the signature, by the rule of the contract. Raises EvidenceError where the contract would
    refuse it.
    """
    good = len(signature) == 65 and signature[64] in (27, 28)
    demand(good and int.from_bytes(signature[32:64], "big") <= HALF_ORDER, "a signature is malformed")
    try:
        return str(Account.recover_message(encode_defunct(primitive=digest), signature=signature))
    except BadSignature:
        raise EvidenceError("a signature is malformed: nobody can have made it") from None


def _ascending(signers: Sequence[str]) -> bool:
    return all(int(one, 16) < int(other, 16) for one, other in pairwise(signers))


def _fewest(powers: Mapping[str, int], signed: Collection[str]) -> set[str]:
    """The fewest of those who signed that reach the quorum: each further signature costs gas."""
    total, enough, power = sum(powers.values()), set[str](), 0
    demand(total < 2**255, "the powers add up to more than the contract can compute with")
    quorum = total * 2 // 3 + 1
    for who in sorted(signed, key=lambda each: (-powers[each], int(each, 16))):
        if power < quorum:
            enough.add(who)
            power += powers[who]
    demand(power >= quorum, f"power {power} has signed, {quorum} is needed")
    return enough


def field_bytes(said: Mapping[int, int | bytes], place: int) -> bytes:
    """A field of bytes; one that is not there is empty."""
    value = said.get(place, b"")
    return value if isinstance(value, bytes) else b""


def _address(said: Mapping[int, int | bytes], place: int) -> str:
    value = field_bytes(said, place)
    demand(len(value) == 20, "the request cannot be read")
    return to_checksum_address(value)


def request_fields(request: bytes) -> dict[int, int | bytes]:
    """The fields of a protobuf message of numbers and bytes, each once and in ascending order."""
    fields: dict[int, int | bytes] = {}
    rest = request
    while rest:
        key, rest = _number(rest)
        value, rest = _number(rest)
        place = key >> 3
        demand(key & 7 in (0, 2) and place > max(fields, default=0), "the request cannot be read")
        if key & 7 == 2:
            demand(value <= len(rest), "the request cannot be read")
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
