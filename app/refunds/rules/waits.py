"""What a transfer waits for, and from whom: one rule for the console's pages, replies and look-ups."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.network.rules.quorum import MAX_TOTAL_POWER
from app.refunds.rules.explanation import RefundExplanation
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import parse_evm_address


class Wait(StrEnum):
    """What a transfer waits for. One that has ended waits for nothing."""

    EVENT = "event"
    """No event of it is canonical."""
    BLOCK = "block"
    FINALITY = "finality"
    DECISION = "decision"
    PAYOUT = "payout"
    PAYOUT_DELAY = "payout_delay"
    USER_REQUEST = "user_request"
    REFUND_REQUEST = "refund_request"
    """No refund request is known."""
    CORRECT_REQUEST = "correct_request"
    """The only refund requests contradict the transfer."""
    ONE_REQUEST = "one_request"
    """Several refund requests have a quorum, so none counts."""
    FACTS = "facts"
    """The send, the token or the contract is not known, so no signature can be counted."""
    VALIDATORS = "validators"
    """The validators of the source chain are not known."""
    OTHER_VALIDATORS = "other_validators"
    """The set of the source chain cannot sign anything."""
    SIGNATURES = "signatures"
    USER_CLAIM = "user_claim"
    REFUND_FINALITY = "refund_finality"
    FINALITY_REPORT = "finality_report"
    """Enough blocks are known on top of the send or of the refund, but nobody reported that it is final."""
    REFUND_DELAY = "refund_delay"


class SignerLine(Struct, frozen=True):
    """One validator of the source chain's current set. ``share`` is of all power, such as ``27.0 %``."""

    address: str
    power: int
    share: str
    signed: bool
    signature: str | None


class RefundView(Struct, frozen=True):
    """The signatures of a refund, and what is missing.

    ``power_signed`` must reach ``quorum``, of ``power_total``. The latter two are None while the source
    chain's validators are not known, and ``quorum`` where their set cannot sign. ``valid``: the contract pays
    when called now. ``missing`` says in words why not. ``explanation`` is the whole of ``getRefundEvidence``.
    """

    valid: bool
    proven: bool
    signers: tuple[SignerLine, ...]
    not_signed: tuple[str, ...]
    power_signed: int
    quorum: int | None
    power_total: int | None
    share_signed: str
    share_needed: str
    missing: tuple[str, ...]
    explanation: RefundExplanation

    def is_enough(self, signer: SignerLine) -> bool:
        """Whether the signature of this validator is the last one that is needed."""
        return self.quorum is not None and self.power_signed + signer.power >= self.quorum

    @property
    def lacks(self) -> Wait | None:
        """What the refund lacks until its user can claim it; None if its evidence is complete."""
        shown = self.explanation
        if self.proven:
            return None
        if shown.wd_onchain is None:
            return Wait.REFUND_REQUEST
        if any(other.reached for other in shown.other_requests):
            return Wait.ONE_REQUEST
        if shown.contradictions:
            return Wait.CORRECT_REQUEST
        if shown.not_signed:
            return Wait.SIGNATURES
        if shown.chain_id is not None and self.power_total is None:
            return Wait.VALIDATORS
        if self.power_total is not None and self.quorum is None:
            return Wait.OTHER_VALIDATORS
        return Wait.FACTS


def refund_view(evidence: RefundExplanation) -> RefundView:
    total = int(evidence.power_total) if evidence.power_total is not None else None
    can_sign = total is not None and 0 < total <= MAX_TOTAL_POWER
    quorum = int(evidence.quorum) if evidence.quorum is not None and can_sign else None
    signed = int(evidence.power_signed)
    return RefundView(
        valid=evidence.valid,
        proven=evidence.proven,
        signers=tuple(
            SignerLine(
                row.address, int(row.power), share_down(int(row.power), total), row.signed, row.signature
            )
            for row in evidence.signers
        ),
        not_signed=tuple(row.address for row in evidence.signers if not row.signed),
        power_signed=signed,
        quorum=quorum,
        power_total=total,
        share_signed=share_down(signed, total),
        share_needed=share_up(quorum, total) if quorum is not None else "",
        missing=evidence.missing,
        explanation=evidence,
    )


def share_down(part: int, whole: int | None) -> str:
    """A share in percent, rounded down to tenths; empty where the whole is zero or unknown."""
    if not whole:
        return ""
    tenths = part * 1000 // whole
    return f"{tenths // 10}.{tenths % 10} %"


def share_up(part: int, whole: int | None) -> str:
    """A share in percent, rounded up to hundredths, so that it is never below what is needed: ``66.67 %``; a
    hundredth of zero is left out: ``67.0 %``. Empty where the whole is zero or unknown.
    """
    if not whole:
        return ""
    hundredths = -(-part * 10_000 // whole)
    return f"{hundredths // 100}.{hundredths % 100:02}".removesuffix("0") + " %"


class AbsentSigner(Struct, frozen=True):
    """A validator whose signature is missing, and whom to call. ``enough``: no other one is needed then."""

    address: str
    name: str
    contact: str
    share: str
    enough: bool


class Waiting(Struct, frozen=True):
    """What a transfer waits for, since when, and from whom.

    ``details`` say more, such as what contradicts what. ``signers`` are those who have not signed, the
    strongest first; only where signatures are missing. ``since`` is None where the time is not known.
    """

    what: Wait
    since: datetime | None
    share_signed: str = ""
    share_needed: str = ""
    signers: tuple[AbsentSigner, ...] = ()
    details: tuple[str, ...] = ()


Contacts = Mapping[bytes, tuple[str, str]]
"""Names and contacts of validators by their address."""

_BY_STATUS: Final[Mapping[Status, Wait]] = {
    Status.TRANSFER_UNKNOWN: Wait.EVENT,
    Status.TRANSFER_SUBMITTING: Wait.FINALITY,
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: Wait.DECISION,
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: Wait.PAYOUT,
    Status.TRANSFER_TO_BE_REFUNDED: Wait.USER_REQUEST,
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED: Wait.USER_CLAIM,
    Status.TRANSFER_CONFIRMING_YOUR_REFUND: Wait.REFUND_FINALITY,
    Status.TRANSFER_DELAYED: Wait.PAYOUT_DELAY,
}


def waiting_for(
    status: Status,
    since: datetime | None,
    refund: RefundView | None,
    contacts: Contacts,
    *,
    in_a_block: bool = True,
) -> Waiting | None:
    """What a transfer waits for; None where it has ended.

    :param since: when the event happened that decides the status.
    :param refund: of a transfer at 7 or 9; None where it was not read, and then 7 waits for nothing known.
    """
    if status is Status.TRANSFER_REQUESTING_REFUND:
        return None if refund is None else refund_waits_for(refund, since, contacts)
    what = _BY_STATUS.get(status)
    if what is Wait.FINALITY and not in_a_block:
        what = Wait.BLOCK
    if what is Wait.REFUND_FINALITY and refund is not None and refund.explanation.delayed is not None:
        what = Wait.REFUND_DELAY
    return None if what is None else Waiting(what, since)


def refund_waits_for(refund: RefundView, since: datetime | None, contacts: Contacts) -> Waiting | None:
    """What a refund that has begun waits for; None where its evidence is complete."""
    lacks = refund.lacks
    if lacks is None:
        return None
    if lacks is Wait.REFUND_REQUEST:
        return Waiting(lacks, since)
    if lacks is not Wait.SIGNATURES:
        return Waiting(lacks, since, details=refund.missing)
    absent = [signer for signer in refund.signers if not signer.signed]
    absent.sort(key=lambda signer: (-signer.power, signer.address))
    return Waiting(
        lacks,
        since,
        refund.share_signed,
        refund.share_needed,
        tuple(
            AbsentSigner(
                signer.address,
                *contact_of(contacts, signer.address),
                signer.share,
                refund.is_enough(signer),
            )
            for signer in absent
        ),
    )


def contact_of(contacts: Contacts, address: str) -> tuple[str, str]:
    """The name and the contact of a validator, each empty where it is not known."""
    return contacts.get(parse_evm_address(address) or b"", ("", ""))
