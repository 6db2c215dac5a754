"""The evidence of a refund: who has signed, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.refund.explanation import RefundExplanation
from app.domain.validators import MAX_TOTAL_POWER


@dataclass(frozen=True, slots=True)
class SignerLine:
    """One validator of the source chain's current set. ``share`` is of all power, such as ``27.0 %``."""

    address: str
    power: int
    share: str
    signed: bool
    signature: str | None


@dataclass(frozen=True, slots=True)
class RefundView:
    """What signatures there are for a refund, and what is missing.

    ``power_signed`` of the ``quorum`` that is needed of ``power_total``; the latter two are None while
    the source chain's validators are not known, and the quorum where their set cannot sign. ``valid``: the
    contract pays when called now. ``missing`` says in words what keeps it from that. ``explanation`` is all
    of ``getRefundEvidence``.
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


def refund_view(evidence: RefundExplanation) -> RefundView:
    """The evidence as the console shows it."""
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
    """A share in percent, rounded up to hundredths, so that it is never below what is needed.

    ``66.67 %``; a hundredth of zero is left out: ``67.0 %``. Empty where the whole is zero or unknown.
    """
    if not whole:
        return ""
    hundredths = -(-part * 10_000 // whole)
    return f"{hundredths // 100}.{hundredths % 100:02}".removesuffix("0") + " %"
