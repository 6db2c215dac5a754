"""Which signatures of a transfer's refund are taken, wait aside, or are not needed, and how many.

None of these bounds makes an answer depend on the order of arrival, once refused events are sent again:

- of the signatures by one signer over one request the least one counts, by bytes, then time and id. It is the
  same in any order, and the others are not folded;
- a signature over no known request waits. Beyond ``MAX_WAITING`` it is refused, until its request is known:
  then its signer is known, too;
- a signature by no current validator is refused and kept aside, up to ``MAX_ASIDE``; beyond that it has to be
  sent again once its signer is current.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from msgspec import Struct

from app.network.facts import NetworkFacts
from app.refunds.quorum import contradictions, signature_is_provably_false, signature_waits, signers_of
from app.transfers.events import RefundPrepared, RefundSigned, TransferSent
from app.transfers.reported import TransferHistory
from app.transfers.state import refund_context
from app.values.crypto import HASH_BYTES, BadSignature, recover_signer
from app.values.identifiers import ChainId

MAX_WAITING: Final = 64
"""Signatures of one transfer that wait for a request or for the validator set."""

MAX_ASIDE: Final = 64
"""Refused signatures of one transfer that are kept aside."""


class NotTaken(Struct, frozen=True):
    """Why a request or a signature is refused; ``aside``: it may turn out right without being sent again."""

    reason: str
    aside: bool = False


def request_refusal(event: RefundPrepared, history: TransferHistory, facts: NetworkFacts) -> NotTaken | None:
    """Why a refund request is refused; None where it is taken."""
    context = refund_context(event.transfer_id, history.standing().first(TransferSent), facts)
    if found := contradictions(event.wd_onchain, context):
        return NotTaken(f"wd_onchain: {found[0]}")
    return None


def signature_refusal(event: RefundSigned, history: TransferHistory, facts: NetworkFacts) -> NotTaken | None:
    """Why a signature is refused; None where it is taken."""
    standing = history.standing()
    context = refund_context(event.transfer_id, standing.first(TransferSent), facts)
    requests = [prepared.wd_onchain for prepared in standing.every(RefundPrepared)]
    validators = facts.validators.get(context.src_chain_id or ChainId(0))
    reason = signature_is_provably_false(context, requests, event.signature, validators)
    if reason:
        return NotTaken(f"signature: {reason}", aside=_well_formed(event.signature))
    if signature_waits(context, requests, validators) and len(standing.every(RefundSigned)) >= MAX_WAITING:
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
    """Positions in the log of signatures beside which a lesser one of their signer over their request stands.

    Lesser by bytes, then by time and id: the one that is served (docs/interface.md#signatures). It must count
    wherever the other does: of a reporter of the same limits, or of one without.
    """
    kept = [
        (event.signature, event.order, logged.seq, logged.chains)
        for logged in history.kept()
        if isinstance(event := logged.event, RefundSigned)
    ]
    if len(kept) < 2:
        return set()
    standing = history.standing()
    context = refund_context(history.transfer_id, standing.first(TransferSent), facts)
    requests = sorted({prepared.wd_onchain for prepared in standing.every(RefundPrepared)})
    least: dict[frozenset[int] | None, set[tuple[bytes, bytes]]] = defaultdict(set)
    found: set[int] = set()
    for signature, _, seq, chains in sorted(kept, key=lambda each: each[:3]):
        signed = list(signers_of(context, requests, signature))
        if any(each in least[None] or each in least[chains] for each in signed):
            # Nobody but a signer can make a second one, so what it gives with other requests is nobody.
            found.add(seq)
        else:
            least[chains].update(signed)
    return found


def without(history: TransferHistory, positions: set[int]) -> TransferHistory:
    """The history without the acceptances at these positions."""
    if not positions:
        return history
    return history.with_log([logged for logged in history.log if logged.seq not in positions])
