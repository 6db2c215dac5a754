"""Verify the refund evidence in a saved status answer of any gateway of this kind, offline.

Everything the judgement needs is in the answer but the chain and the contract. The one thing that cannot
be known offline is whether the set in the answer is the one that the contract keeps: the contract
compares its hash. So the hash is shown, and compared where the caller knows it.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.codes import SendKind
from app.domain.crypto import BadSignature, checksum_address, parse_evm_address, recover_signer
from app.domain.keys import ChainId, TransferId
from app.domain.refund.evidence import RequestJudgement, collect_signed
from app.domain.refund.explanation import Findings, RefundExplanation, explain
from app.domain.refund.request import RefundRequest, UnreadableRequest, decode_request
from app.domain.refund.rules import signing_digest
from app.domain.validators import BadValidatorSet, ValidatorSet

MAX_SIGNATURES: Final = 1_000
"""More than any quorum needs; a longer list is refused before any curve arithmetic."""

_SAVED_SET_VERSION: Final = 0


class UnreadableAnswer(ValueError):
    """The answer holds no evidence that could be judged; the message says why."""


@dataclass(frozen=True, slots=True)
class SavedEvidence:
    """The four fields of a status answer, out of base64, and their set as a validator set."""

    wd_onchain: bytes
    sorted_sigs: tuple[bytes, ...]
    validators: ValidatorSet


def verify_saved_answer(
    answer: Mapping[str, object],
    chain_id: ChainId,
    contract: bytes,
    kind: SendKind | None = None,
    *,
    transfer_id: TransferId | None = None,
    set_hash: bytes | None = None,
) -> RefundExplanation:
    """Judge the evidence of a saved ``getTransferStatus`` answer as the contract would, and explain it.

    ``chain_id`` is the source chain, ``contract`` the 20-byte address of the one that pays there. Without
    ``kind`` the kind is found by the domain under which the signatures recover to the answer's signers.
    ``set_hash`` is what the contract keeps of its validator set (``ssHash()``), ``transfer_id`` what the
    request must refer to; both are compared when given. So is what the file itself states beside the
    answer: ``signed_power`` and ``quorum`` (decimal), ``signer_addresses``, ``chain_id``,
    ``bridge_contract``. Every signature must be by a listed signer: the contract would skip some others,
    but no gateway serves them. Never raises for anything in the answer: then it is ``valid`` false, and
    ``missing`` says why.
    """
    try:
        evidence = read_evidence(answer, chain_id)
    except UnreadableAnswer as unreadable:
        return explain(_nothing(chain_id, contract, kind, transfer_id, str(unreadable)))
    found, judgement = _judge_best(evidence, chain_id, contract, kind)
    faults = [
        *judgement.contradictions,
        *_order_faults(evidence, judgement),
        *_request_faults(judgement.request, chain_id, transfer_id),
        *_power_faults(evidence.validators, judgement),
        *_set_faults(evidence.validators, set_hash),
        *_claim_faults(answer, evidence.validators, judgement, chain_id, contract),
    ]
    signed_by = {signer for signer, _ in judgement.signed}
    return explain(
        Findings(
            kind=found,
            chain_id=chain_id,
            contract=contract,
            transfer_id=transfer_id or _reference(judgement.request),
            shown=judgement if found else replace(judgement, digest=None),
            validators=evidence.validators,
            validator_set_version=None,
            proven=not faults,
            valid=not faults,
            missing=tuple(faults),
            not_signed=tuple(who for who in evidence.validators.signers if who not in signed_by),
            notes=_notes(judgement.request, set_hash),
        )
    )


def read_evidence(answer: Mapping[str, object], chain_id: ChainId) -> SavedEvidence:
    """Take the evidence out of a status answer's JSON. Raises UnreadableAnswer."""
    if answer.get("err") is not None:
        raise UnreadableAnswer("the answer is an error and has no evidence")
    if not answer.get("wd_onchain"):
        raise UnreadableAnswer("the answer has no refund request (wd_onchain)")
    wd_onchain = _base64(answer["wd_onchain"], "wd_onchain")
    sorted_sigs = _base64_list(answer, "sorted_sigs", MAX_SIGNATURES)
    signers = _base64_list(answer, "signers")
    powers = _base64_list(answer, "powers")
    if len(signers) != len(powers):
        raise UnreadableAnswer(f"{len(signers)} signers, but {len(powers)} powers")
    for index, power in enumerate(powers):
        # A power of 0 is one zero byte; gateways of this kind have written it as no byte, too.
        if len(power) > 32 or (power[:1] == b"\0" and power != b"\0"):
            raise UnreadableAnswer(f"powers[{index}] is not a minimal big-endian uint256")
    members = tuple((who, int.from_bytes(power, "big")) for who, power in zip(signers, powers, strict=True))
    try:
        return SavedEvidence(wd_onchain, sorted_sigs, ValidatorSet(chain_id, _SAVED_SET_VERSION, members))
    except BadValidatorSet as bad:
        raise UnreadableAnswer(f"the validator set is not valid: {bad}") from None


def _judge_best(
    evidence: SavedEvidence, chain_id: ChainId, contract: bytes, kind: SendKind | None
) -> tuple[SendKind | None, RequestJudgement]:
    """Judge under the kind given, else under the one with the most signed power; unreadable ones last."""
    kinds = (kind,) if kind else tuple(SendKind)
    judged = [(each, _judge_as(each, evidence, chain_id, contract)) for each in kinds]
    best_kind, best = max(judged, key=lambda pair: (pair[1].request is not None, pair[1].power_signed))
    if kind is not None:
        return kind, best
    if best.request is None:
        return None, replace(
            best, contradictions=("the refund request cannot be read as any kind of refund",)
        )
    # A Withdraw and a Mint look alike: without a signature to tell them apart, the kind stays open.
    return (best_kind if best.power_signed > 0 or best_kind is SendKind.POOL else None), best


def _judge_as(
    kind: SendKind, evidence: SavedEvidence, chain_id: ChainId, contract: bytes
) -> RequestJudgement:
    request: RefundRequest | None = None
    unreadable: tuple[str, ...] = ()
    try:
        request = decode_request(kind, evidence.wd_onchain)
    except UnreadableRequest as fault:
        unreadable = (f"the refund request cannot be read: {fault}",)
    digest = signing_digest(kind, chain_id, contract, evidence.wd_onchain)
    signed = () if unreadable else collect_signed(digest, evidence.sorted_sigs, evidence.validators)
    power = sum(evidence.validators.power_of(signer) or 0 for signer, _ in signed)
    return RequestJudgement(
        wd_onchain=evidence.wd_onchain,
        request=request,
        contradictions=unreadable,
        provable=not unreadable,
        digest=digest,
        signed=signed,
        power_signed=power,
        reached=not unreadable and evidence.validators.reached_by(power),
    )


def _order_faults(evidence: SavedEvidence, judgement: RequestJudgement) -> list[str]:
    """Check each signature in its order: well formed, by a listed signer, signers strictly ascending."""
    if judgement.digest is None or judgement.contradictions:
        return []
    faults: list[str] = []
    previous = b""
    for index, signature in enumerate(evidence.sorted_sigs):
        try:
            signer = recover_signer(judgement.digest, signature)
        except BadSignature as bad:
            faults.append(f"sorted_sigs[{index}] is not valid: {bad}")
            continue
        if evidence.validators.power_of(signer) is None:
            faults.append(
                f"sorted_sigs[{index}] recovers to {checksum_address(signer)}, which is not a signer"
            )
        elif signer <= previous:
            faults.append(f"sorted_sigs[{index}] is not in strictly ascending order of signer")
        previous = max(previous, signer)
    return faults


def _request_faults(
    request: RefundRequest | None, chain_id: ChainId, transfer_id: TransferId | None
) -> list[str]:
    if request is None:
        return []
    faults: list[str] = []
    if request.stated_chain_id != chain_id:
        faults.append(f"the refund request names chain {request.stated_chain_id}, not {chain_id}")
    if transfer_id is not None and request.ref_id != transfer_id:
        faults.append(f"the refund request does not refer to transfer 0x{transfer_id.hex()}")
    return faults


def _power_faults(validators: ValidatorSet, judgement: RequestJudgement) -> list[str]:
    if judgement.reached or judgement.contradictions:
        return []
    if validators.cannot_sign is not None:
        return [validators.cannot_sign]
    return [
        f"signed power {judgement.power_signed} of {validators.total_power} is below the quorum of "
        f"{validators.quorum}: {validators.quorum - judgement.power_signed} more needed"
    ]


def _set_faults(validators: ValidatorSet, set_hash: bytes | None) -> list[str]:
    if set_hash is None or set_hash == validators.contract_hash:
        return []
    return [
        f"the signers and powers hash to 0x{validators.contract_hash.hex()}, but the contract has "
        f"0x{set_hash.hex()}"
    ]


def _claim_faults(
    answer: Mapping[str, object],
    validators: ValidatorSet,
    judgement: RequestJudgement,
    chain_id: ChainId,
    contract: bytes,
) -> list[str]:
    """Compare what the file states beside the answer; a claim that is not there is not asked for."""
    stated_contract = answer.get("bridge_contract")
    addresses = answer.get("signer_addresses")
    claims: tuple[tuple[str, object, object], ...] = (
        ("chain_id", answer.get("chain_id"), chain_id),
        ("bridge_contract", _address_or_self(stated_contract), contract),
        ("signed_power", answer.get("signed_power"), str(judgement.power_signed)),
        ("quorum", answer.get("quorum"), str(validators.quorum)),
        (
            "signer_addresses",
            [_address_or_self(each) for each in addresses] if isinstance(addresses, list) else addresses,
            list(validators.signers),
        ),
    )
    return [
        f"the {name} in the file differs from that of the evidence"
        for name, stated, given in claims
        if stated is not None and stated != given
    ]


def _address_or_self(value: object) -> object:
    return (parse_evm_address(value) or value) if isinstance(value, str) else value


def _reference(request: RefundRequest | None) -> TransferId | None:
    return TransferId(request.ref_id) if request is not None and len(request.ref_id) == 32 else None


def _notes(request: RefundRequest | None, set_hash: bytes | None) -> tuple[str, ...]:
    notes: list[str] = []
    if set_hash is None:
        notes.append(
            "signers and powers are those of the answer: compare validator_set_hash with ssHash() of "
            "the contract"
        )
    if request is not None and len(request.ref_id) != 32:
        notes.append("the request refers to no transfer: it is a liquidity withdrawal, not a refund")
    return tuple(notes)


def _nothing(
    chain_id: ChainId, contract: bytes, kind: SendKind | None, transfer_id: TransferId | None, fault: str
) -> Findings:
    return Findings(
        kind=kind,
        chain_id=chain_id,
        contract=contract,
        transfer_id=transfer_id,
        shown=None,
        validators=None,
        validator_set_version=None,
        proven=False,
        valid=False,
        missing=(fault,),
        not_signed=(),
    )


def _base64_list(answer: Mapping[str, object], name: str, most: int | None = None) -> tuple[bytes, ...]:
    entries = answer.get(name)
    if not isinstance(entries, Sequence) or isinstance(entries, str | bytes):
        raise UnreadableAnswer(f"{name} is not a list")
    if most is not None and len(entries) > most:
        raise UnreadableAnswer(f"{name} has more than {most} entries")
    return tuple(_base64(entry, f"{name}[{index}]") for index, entry in enumerate(entries))


def _base64(value: object, name: str) -> bytes:
    """Decode standard padded base64 that has one spelling only: no stray bits, nothing skipped."""
    if not isinstance(value, str):
        raise UnreadableAnswer(f"{name} is not a string")
    try:
        decoded = b64decode(value, validate=True)
    except (Base64Error, ValueError):
        raise UnreadableAnswer(f"{name} is not base64") from None
    if b64encode(decoded).decode("ascii") != value:
        raise UnreadableAnswer(f"{name} is not standard base64")
    return decoded
