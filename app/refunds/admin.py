"""Refunds in the console: who has signed what, and those that wait, by the signer that is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from flask import request
from flask_admin import expose
from msgspec import Struct

from app.console.access import READ
from app.console.row_pages import some_rows
from app.console.views import ConsoleView
from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.http.application import current
from app.network.queries import load_contacts, load_network_facts
from app.network.snapshot import SnapshotSource
from app.network.validators import MAX_TOTAL_POWER
from app.refunds.explanation import RefundExplanation
from app.refunds.queries import load_histories
from app.refunds.services import evidence_of
from app.transfers.admin.components import Count, TransferLine, transfer_line
from app.transfers.queries.lists import transfers_with_ids
from app.transfers.queries.status import count_at_status, oldest_at_status
from app.transfers.state import transfer_state
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import parse_evm_address


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


MOST: Final = 100
"""Refunds on the page, the longest waiting: the evidence of each is validated again."""


class WaitingRefund(Struct, frozen=True):
    """A refund that waits for its request or for signatures, and what is missing.

    ``requested_at``: when its user requested it; None where the network began it without.
    """

    line: TransferLine
    refund: RefundView
    requested_at: datetime | None = None

    @property
    def can_be_signed(self) -> bool:
        """Whether a request is known that the source chain's validators can sign."""
        return self.refund.quorum is not None and self.refund.explanation.request is not None

    def is_enough(self, signer: SignerLine) -> bool:
        """Whether the signature of this validator is the last one that is needed."""
        return (
            self.refund.quorum is not None and self.refund.power_signed + signer.power >= self.refund.quorum
        )


class MissingSigner(Struct, frozen=True):
    """A validator whose signature is missing, whom to call, and the refunds that wait for it."""

    address: str
    name: str
    contact: str
    refunds: tuple[tuple[WaitingRefund, SignerLine], ...]

    @property
    def last(self) -> int:
        """How many refunds need nobody else's signature."""
        return sum(refund.is_enough(signer) for refund, signer in self.refunds)


def waiting_refunds(
    database: Database, snapshots: SnapshotSource, size: int = MOST
) -> tuple[WaitingRefund, ...]:
    """Refunds that have begun and are not ready, the longest waiting first, each computed again."""
    terms = snapshots.current().terms
    with reading_consistently(database.engine) as connection:
        ids = oldest_at_status(connection, int(Status.TRANSFER_REQUESTING_REFUND), size)
        if not ids:
            return ()
        histories, facts = load_histories(connection, ids), load_network_facts(connection)
        stored = {row.transfer_id: row for row in transfers_with_ids(connection, ids)}
    found = []
    for transfer_id in ids:
        history = histories[transfer_id]
        # Without a log nothing can be projected: the stored row of the transfer is used.
        state = transfer_state(history, facts) if history.log else stored[transfer_id]
        evidence = evidence_of(history, Status(state.status), facts, terms.chain_infos)
        found.append(WaitingRefund(transfer_line(terms, state), refund_view(evidence), history.asked_at))
    return tuple(found)


def by_missing_signer(
    waiting: Iterable[WaitingRefund], contacts: Mapping[bytes, tuple[str, str]]
) -> list[MissingSigner]:
    """The validators whose signatures are missing, first those that complete and hold up the most refunds.

    :param contacts: names and contacts by address.
    """
    missing: dict[str, list[tuple[WaitingRefund, SignerLine]]] = defaultdict(list)
    for refund in waiting:
        for signer in refund.refund.signers if refund.can_be_signed else ():
            if not signer.signed:
                missing[signer.address].append((refund, signer))
    signers = [
        MissingSigner(address, *contacts.get(parse_evm_address(address) or b"", ("", "")), tuple(refunds))
        for address, refunds in missing.items()
    ]
    return sorted(signers, key=lambda each: (-each.last, -len(each.refunds), each.address))


_MOST_OF_SIGNER: Final = 10
"""Refunds that are listed for each validator. The same refund waits for many of them."""


class WaitingRefundsView(ConsoleView):
    """Refunds that wait, by the validator whose signature is missing."""

    section = "Overview"
    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Waiting refunds", endpoint="refunds")

    @expose("/")
    def index(self) -> str:
        """All of them, or only those that their users requested."""
        database = current(Database)
        requested = request.args.get("requested") == "1"
        waiting = waiting_refunds(database, current(SnapshotSource))
        with reading(database.reads) as connection:
            contacts = load_contacts(connection)
            number = Count(count_at_status(connection, int(Status.TRANSFER_REQUESTING_REFUND)))
        shown = [refund for refund in waiting if refund.requested_at is not None or not requested]
        return self.render(
            "console/refunds.html",
            requested=requested,
            signers=some_rows(by_missing_signer(shown, contacts)),
            most_refunds=_MOST_OF_SIGNER,
            others=[refund for refund in shown if not refund.can_be_signed],
            shown=shown,
            most=MOST,
            number=number,
            now=database.clock(),
        )
