"""Which signatures of a transfer's refund are accepted, quarantined or not needed, and how many.

With these bounds an answer does not depend on the order of arrival, once refused events are sent again:

- of several signatures by one signer over one request the least one counts, by bytes, then time and id. It is
  the same in any order, and the others are not projected;
- a signature over no known request waits. Beyond ``MAX_WAITING`` it is refused until its request is known,
  and with it its signer;
- a signature that no current validator made is refused and quarantined, up to ``MAX_ASIDE``. Beyond that it
  has to be sent again once its signer is a current validator.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from msgspec import Struct

from app.network.rules.validation_facts import NetworkFacts
from app.transfers.rules.events.event_types import RefundPrepared, RefundSigned, TransferSent
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.refund_evidence import refund_context
from app.transfers.rules.refunds.claimable import signature_is_provably_false, signature_waits, signers_of
from app.transfers.rules.refunds.request_checks import contradictions
from app.values.crypto import HASH_BYTES, BadSignature, recover_signer
from app.values.identifiers import ChainId

MAX_WAITING: Final = 64
"""Signatures of one transfer that wait for a request or for the validator set."""

MAX_ASIDE: Final = 64
"""Refused signatures of one transfer that are quarantined."""


class NotTaken(Struct, frozen=True):
    """Why a request or a signature is refused. ``aside``: it may become valid without being sent again."""

    reason: str
    aside: bool = False


def request_refusal(event: RefundPrepared, history: TransferHistory, facts: NetworkFacts) -> NotTaken | None:
    """Why a refund request is refused; None where it is accepted."""
    context = refund_context(event.transfer_id, history.canonical().first(TransferSent), facts)
    if found := contradictions(event.wd_onchain, context):
        return NotTaken(f"wd_onchain: {found[0]}")
    return None


def signature_refusal(
    event: RefundSigned, history: TransferHistory, facts: NetworkFacts, *, may_wait: bool = False
) -> NotTaken | None:
    """Why a signature is refused; None where it is accepted.

    :param may_wait: it was accepted before, so it may wait with any number of others.
    """
    canonical = history.canonical()
    context = refund_context(event.transfer_id, canonical.first(TransferSent), facts)
    requests = [prepared.wd_onchain for prepared in canonical.every(RefundPrepared)]
    validators = facts.validators.get(context.src_chain_id or ChainId(0))
    reason = signature_is_provably_false(context, requests, event.signature, validators)
    if reason:
        return NotTaken(f"signature: {reason}", aside=_well_formed(event.signature))
    if may_wait or not signature_waits(context, requests, validators):
        return None
    if len(canonical.every(RefundSigned)) >= MAX_WAITING:
        return NotTaken(
            f"signature: {MAX_WAITING} signatures of this transfer already wait for their refund request or "
            "for the validators of the source chain; send it again when those are known",
            aside=True,
        )
    return None


def _well_formed(signature: bytes) -> bool:
    try:
        recover_signer(bytes(HASH_BYTES), signature)
    except BadSignature:
        return False
    return True


def not_needed(history: TransferHistory, facts: NetworkFacts) -> set[int]:
    """Positions in the log of signatures that a lesser one by their signer over their request replaces.

    Lesser by bytes, then by time and id: that one is served (docs/interface/contracts.md#signatures). It must
    count wherever the other does, so its reporter has the same limits or none.
    """
    signatures = [
        (event.signature, event.order, logged.seq, logged.chains)
        for logged in history.valid()
        if isinstance(event := logged.event, RefundSigned)
    ]
    if len(signatures) < 2:
        return set()
    canonical = history.canonical()
    context = refund_context(history.transfer_id, canonical.first(TransferSent), facts)
    requests = sorted({prepared.wd_onchain for prepared in canonical.every(RefundPrepared)})
    least: dict[frozenset[int] | None, set[tuple[bytes, bytes]]] = defaultdict(set)
    found: set[int] = set()
    for signature, _, seq, chains in sorted(signatures, key=lambda each: each[:3]):
        signed = list(signers_of(context, requests, signature))
        if any(each in least[None] or each in least[chains] for each in signed):
            # Only a signer can make a second signature. With other requests it gives an unknown address.
            found.add(seq)
        else:
            least[chains].update(signed)
    return found


def without(history: TransferHistory, positions: set[int]) -> TransferHistory:
    if not positions:
        return history
    return history.with_log([logged for logged in history.log if logged.seq not in positions])
