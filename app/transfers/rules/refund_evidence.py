"""The refund of one transfer: its requests and signatures, validated by its send and the validators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from app.network.rules.quorum import ValidatorSet
from app.network.rules.validation_facts import NetworkFacts
from app.transfers.rules.events.event_types import RefundPrepared, RefundSigned, TransferEvent, TransferSent
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.refunds.claimable import RefundVerdict, RequestValidation, basis_of, validate_refund
from app.transfers.rules.refunds.request_checks import RefundContext
from app.transfers.rules.refunds.request_message import PaidIds, withdraw_id_of
from app.transfers.rules.status import CanonicalEvents, RefundFacts
from app.values.crypto import parse_evm_address
from app.values.identifiers import TransferId


class RefundEvidence(Struct, frozen=True):
    """The evidence that the user submits on chain: the request, its signatures, the whole validator set."""

    wd_onchain: bytes
    sorted_sigs: tuple[bytes, ...]
    signers: tuple[bytes, ...]
    powers: tuple[bytes, ...]


def refund_context(
    transfer_id: TransferId, send: TransferEvent | None, facts: NetworkFacts, paid_ids: PaidIds | None = None
) -> RefundContext:
    """The context of a transfer's refund. It has only ids until the send is known."""
    paid_ids = paid_ids or {}
    if not isinstance(send, TransferSent):
        return RefundContext(transfer_id, paid_ids=paid_ids)
    return RefundContext(
        transfer_id,
        kind=send.kind,
        src_chain_id=send.src_chain_id,
        contract=facts.refund_contract(send.taken),
        unlisted_contract=send.contract if facts.is_unlisted(send.taken) else None,
        paid_ids=paid_ids,
        token=facts.token_address(send.taken),
        receiver=parse_evm_address(send.sender),
        amount=send.amount,
    )


def validate_transfer_refund(
    transfer_id: TransferId, canonical: CanonicalEvents, facts: NetworkFacts, paid_ids: PaidIds
) -> tuple[RefundContext, RefundVerdict]:
    """Validate the canonical requests by the canonical send, the signatures and the current validators.
    ``paid_ids``: withdraw ids of the requests that were paid for other transfers.
    """
    context = refund_context(transfer_id, canonical.first(TransferSent), facts, paid_ids)
    validators = facts.validators.get(context.src_chain_id) if context.src_chain_id is not None else None
    verdict = validate_refund(
        context,
        (event.wd_onchain for event in canonical.every(RefundPrepared)),
        (event.signature for event in canonical.every(RefundSigned)),
        validators,
    )
    return context, verdict


class TransferRefund(Struct, frozen=True):
    facts: RefundFacts
    evidence: RefundEvidence | None
    uncontradicted: Sequence[RefundPrepared]
    sound: Sequence[RequestValidation] = ()
    """The requests that no fact about this transfer contradicts, even if paid for other transfers."""
    basis: frozenset[str] = frozenset()


def validated_refund(
    history: TransferHistory, canonical: CanonicalEvents, facts: NetworkFacts
) -> TransferRefund:
    """``facts`` has the current validator set of the source chain where a refund is prepared."""
    if not canonical.first(RefundPrepared):
        return TransferRefund(RefundFacts(requested_at=history.requested_at), None, ())
    context, verdict = validate_transfer_refund(history.transfer_id, canonical, facts, {})
    sound = [each for each in verdict.requests if not each.contradictions]
    if history.paid_ids:
        context, verdict = validate_transfer_refund(history.transfer_id, canonical, facts, history.paid_ids)
    accepted = {each.wd_onchain for each in verdict.requests if not each.contradictions}
    prepared = [event for event in canonical.every(RefundPrepared) if event.wd_onchain in accepted]
    prepared_at = prepared[0].at if prepared else None
    served, basis = verdict.served, _basis(verdict, canonical, prepared[:1])
    if served is None or context.src_chain_id is None:
        return TransferRefund(
            RefundFacts(prepared_at, None, history.requested_at), None, prepared, sound, basis
        )
    validators = facts.validators[context.src_chain_id]
    evidence = RefundEvidence(served.wd_onchain, served.sorted_sigs, validators.signers, validators.powers)
    quorum_at = _quorum_at(served, canonical, validators)
    refund = RefundFacts(prepared_at, quorum_at, history.requested_at)
    return TransferRefund(refund, evidence, prepared, sound, basis)


def _basis(
    verdict: RefundVerdict, canonical: CanonicalEvents, first: Sequence[RefundPrepared]
) -> frozenset[str]:
    """Ids of the earliest event of each request and signature that the refund and its times need."""
    requests, signatures = basis_of(verdict)
    needed = {each.wd_onchain for each in requests} | {event.wd_onchain for event in first}
    ids: dict[bytes, str] = {}
    for prepared in canonical.every(RefundPrepared):
        if prepared.wd_onchain in needed:
            ids.setdefault(prepared.wd_onchain, prepared.id)
    for signed in canonical.every(RefundSigned):
        if signed.signature in signatures:
            ids.setdefault(signed.signature, signed.id)
    return frozenset(ids.values())


def withdraw_ids(refund: TransferRefund, *, is_taken: bool) -> tuple[tuple[bytes, bool], ...]:
    """Withdraw ids of the requests that no fact about this transfer contradicts, and whether each was paid.

    Where the contract took a request, it was one with a quorum. Where none has a quorum now, the validator
    set may have changed since, so every request counts as taken.
    """
    paying = [each for each in refund.sound if each.reached] or refund.sound
    paid = {each.wd_onchain for each in paying if is_taken}
    found: dict[bytes, bool] = {}
    for each in refund.sound:
        if (known := withdraw_id_of(each.wd_onchain)) is not None:
            found[known] = found.get(known, False) or each.wd_onchain in paid
    return tuple(sorted(found.items()))


def _quorum_at(served: RequestValidation, canonical: CanonicalEvents, validators: ValidatorSet) -> datetime:
    """The later of the request's time and the completing signature's."""
    requested = min(e.at for e in canonical.every(RefundPrepared) if e.wd_onchain == served.wd_onchain)
    signer_of = {signature: signer for signer, signature in served.signed}
    power = 0
    for event in canonical.every(RefundSigned):
        signer = signer_of.pop(event.signature, None)
        power += validators.power_of(signer) or 0 if signer else 0
        if power >= validators.quorum:
            return max(requested, event.at)
    return requested
