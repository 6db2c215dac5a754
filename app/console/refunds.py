"""Refunds in the console: who has signed what, and those that wait, by the signer that is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from flask import request
from flask_admin import expose
from msgspec import Struct

from app.console.shell.access import READ
from app.console.shell.row_pages import some_rows
from app.console.shell.views import ConsoleView
from app.console.transfers.components import Count, TransferLine, transfer_line
from app.console.transfers.waits import WaitWords, wait_words
from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.http.application import current
from app.network.queries import load_contacts, load_network_facts
from app.network.snapshot import SnapshotSource
from app.refunds.queries import load_histories
from app.refunds.rules.waits import (
    Contacts,
    RefundView,
    SignerLine,
    Wait,
    contact_of,
    refund_view,
    refund_waits_for,
)
from app.refunds.services import evidence_of
from app.transfers.queries.lists import transfers_with_ids
from app.transfers.queries.status import count_at_status, oldest_at_status
from app.transfers.rules.projected import transfer_state
from app.values.codes import TransferHistoryStatus as Status

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
        return self.refund.lacks is Wait.SIGNATURES

    def is_enough(self, signer: SignerLine) -> bool:
        """Whether the signature of this validator is the last one that is needed."""
        return self.refund.is_enough(signer)

    @property
    def words(self) -> WaitWords | None:
        """What it waits for, from whom, and what to do; None if it is ready by now."""
        waiting = refund_waits_for(self.refund, self.line.since, {})
        return None if waiting is None else wait_words(waiting, self.line.src, self.line.dst)


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
        found.append(WaitingRefund(transfer_line(terms, state), refund_view(evidence), history.requested_at))
    return tuple(found)


def by_missing_signer(waiting: Iterable[WaitingRefund], contacts: Contacts) -> list[MissingSigner]:
    """The validators whose signatures are missing, first those that complete and hold up the most refunds.

    :param contacts: names and contacts by address.
    """
    missing: dict[str, list[tuple[WaitingRefund, SignerLine]]] = defaultdict(list)
    for refund in waiting:
        for signer in refund.refund.signers if refund.can_be_signed else ():
            if not signer.signed:
                missing[signer.address].append((refund, signer))
    signers = [
        MissingSigner(address, *contact_of(contacts, address), tuple(refunds))
        for address, refunds in missing.items()
    ]
    return sorted(signers, key=lambda each: (-each.last, -len(each.refunds), each.address))


_MOST_OF_SIGNER: Final = 10
"""Refunds that are listed for each validator. The same refund waits for many of them."""


class WaitingRefundsView(ConsoleView):
    """Refunds that wait, by the validator whose signature is missing."""

    section = "Overview"
    access = {"index": READ}

    @expose("/")
    def index(self) -> str:
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
