"""Refunds in the console: who has signed what, and the list of users' requests."""

from __future__ import annotations

from typing import Any

from flask import url_for
from markupsafe import Markup
from msgspec import Struct

from app.console.formats import when
from app.console.lists import ListView
from app.network.validators import MAX_TOTAL_POWER
from app.refunds.explanation import RefundExplanation
from app.refunds.models import UserRefundRequest


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


class UserRequestsView(ListView):
    """Refund requests of users."""

    section = "Overview"
    model_class = UserRefundRequest
    title = "Requested refunds"
    explanation = (
        "Refunds that were requested through the API. Any client can request one, so a request proves "
        "nothing: it moves a transfer that is to be refunded to status 7, and the validators can read it and "
        "prepare the refund."
    )
    nothing = "No refunds were requested. They appear as soon as a user requests one through the API."
    column_list = ("transfer_id", "at", "seq")
    column_labels = {"seq": "No.", "transfer_id": "Transfer", "at": "Requested"}
    column_sortable_list = ("seq", "at")
    column_default_sort = ("seq", True)
    numbers = frozenset({"seq"})
    column_formatters = {
        "transfer_id": lambda v, c, m, p: _transfer(m),
        "at": lambda v, c, m, p: when(m.at),
    }


def _id(row: UserRefundRequest) -> str:
    return f"0x{row.transfer_id.hex()}"


def _transfer(row: UserRefundRequest) -> Any:
    whole = _id(row)
    return Markup('<a class="mono" href="{}transfers/{}">{}…{}</a>').format(
        url_for("admin.index"), whole, whole[:10], whole[-8:]
    )
