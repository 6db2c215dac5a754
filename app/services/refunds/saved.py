"""Verifying refund evidence from a file, without a database: a saved answer of any gateway of this kind."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.domain.codes import SendKind
from app.domain.crypto import parse_evm_address
from app.domain.keys import ChainId, TransferId
from app.domain.refund.explanation import RefundExplanation
from app.domain.refund.request import UnreadableRequest, decode_request
from app.domain.refund.saved_answer import UnreadableAnswer, read_evidence, verify_saved_answer
from app.domain.validators import power_bytes
from app.services.strict_json import UnreadableJson, loads

MAX_DOCUMENT_BYTES: Final = 1024 * 1024
"""A status answer with a thousand validators is a quarter of it."""


class UnusableInput(ValueError):
    """There is nothing to judge, or too little to judge it by; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known apart from the answer; None is not known.

    ``chain_id`` is the source chain, ``contract`` (20 bytes) the one that pays there, ``set_hash`` (32)
    what it keeps of its validators, ``transfer_id`` (32) what the request must refer to.
    """

    chain_id: ChainId | None = None
    contract: bytes | None = None
    kind: SendKind | None = None
    set_hash: bytes | None = None
    transfer_id: TransferId | None = None


def verify_document(text: bytes, known: Known) -> RefundExplanation:
    """Judge a saved answer of ``getTransferStatus`` or ``getRefundEvidence`` as the contract would.

    Chain and contract are taken from the document where they are not given. The judgement is made anew from
    the request, the signatures and the set; nothing else in the document is trusted.

    :raises UnusableInput: it is no such answer, or chain or contract are neither given nor in it.
    """
    if len(text) > MAX_DOCUMENT_BYTES:
        raise UnusableInput(f"must have at most {MAX_DOCUMENT_BYTES} bytes, as an answer has")
    try:
        document = loads(text)
    except UnreadableJson as error:
        raise UnusableInput(str(error)) from None
    if not isinstance(document, dict) or "wd_onchain" not in document:
        raise UnusableInput("is not a saved answer: it has no wd_onchain")
    answer, known = _from_evidence(document, known) if "call" in document else (document, known)
    return verify_saved_answer(
        answer,
        known.chain_id or _chain_in(answer),
        known.contract or _contract_in(answer),
        known.kind,
        transfer_id=known.transfer_id,
        set_hash=known.set_hash,
    )


def _chain_in(answer: Mapping[str, Any]) -> ChainId:
    stated = answer.get("chain_id")
    if type(stated) is int and 0 < stated < 1 << 64:
        return ChainId(stated)
    named = _chain_named(answer)
    hint = f" (its request names {named})" if named else ""
    raise UnusableInput(f"does not say which chain pays{hint}: add --chain")


def _chain_named(answer: Mapping[str, Any]) -> int | None:
    """The chain that a readable request names: a hint only, for it is the request that is in question."""
    try:
        wd_onchain = read_evidence(answer, ChainId(0)).wd_onchain
    except UnreadableAnswer:
        return None
    for kind in SendKind:
        try:
            return decode_request(kind, wd_onchain).stated_chain_id
        except UnreadableRequest:
            continue
    return None


def _contract_in(answer: Mapping[str, Any]) -> bytes:
    stated = answer.get("bridge_contract")
    address = parse_evm_address(stated) if isinstance(stated, str) else None
    if address is None:
        raise UnusableInput("does not say which contract pays: add --contract")
    return address


def _from_evidence(document: Mapping[str, Any], known: Known) -> tuple[dict[str, Any], Known]:
    """A ``getRefundEvidence`` answer in the shape of a status answer.

    :raises UnusableInput: its signers are not as the gateway writes them.
    """
    try:
        rows = [(row["address"], int(row["power"]), row["signature"]) for row in document["signers"]]
        answer = {
            "err": document.get("err"),
            "wd_onchain": document["wd_onchain"],
            "sorted_sigs": [_base64(bytes.fromhex(signature[2:])) for _, _, signature in rows if signature],
            "signers": [_base64(parse_evm_address(address) or b"") for address, _, _ in rows],
            "powers": [_base64(power_bytes(power)) for _, power, _ in rows],
            "signer_addresses": [address for address, _, _ in rows],
            "signed_power": document["power_signed"],
            "quorum": document["quorum"],
            "chain_id": document["chain_id"],
            "bridge_contract": document["contract"],
        }
        kind = document["kind"] and SendKind(document["kind"])
        transfer_id = document["transfer_id"] and TransferId(bytes.fromhex(document["transfer_id"][2:]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UnusableInput("is not a getRefundEvidence answer") from None
    return answer, Known(
        known.chain_id,
        known.contract,
        known.kind or kind or None,
        known.set_hash,
        known.transfer_id or transfer_id or None,
    )


def _base64(value: bytes) -> str:
    return b64encode(value).decode("ascii")
