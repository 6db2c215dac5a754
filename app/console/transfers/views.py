"""The pages of transfers: a list, the same as a CSV file, and a page for each. Facts are not changed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from flask import Response, abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from flask_login import current_user

from app.accounts.rules.roles import Role
from app.audit.keys import AuditKeys
from app.audit.services import EditRefused
from app.console.latency import medians_of_the_week
from app.console.shell.access import OPERATOR_BUTTON, READ
from app.console.shell.caller import actor, page_of_user
from app.console.shell.formats import csv_line
from app.console.shell.row_pages import ROWS, some_rows
from app.console.shell.views import ConsoleView, flash_saved
from app.console.transfers.components import TransferLine
from app.console.transfers.detail import (
    line_without_log,
    reply_about_unknown,
    reply_to_user,
    timeline_of,
    transfer_detail,
)
from app.console.transfers.list_request import AGES, ORDERS, WITHIN, ListRequest, read_list_request
from app.console.transfers.lists import list_transfers
from app.console.transfers.stuck import count_stuck, limit_if_stuck, stuck_transfers
from app.db.database import Database
from app.http.application import current
from app.network.snapshot import SnapshotSource
from app.transfers.rules.stuck import MustAct
from app.transfers.services import notes
from app.values.errors import GatewayError, Unavailable
from app.values.identifiers import TransferId
from app.values.times import rfc3339
from app.values.wire_values import parse_transfer_id

_PAGE: Final = 1000
_COLUMNS: Final = (
    "transfer_id", "status", "state", "refund_reason", "state_since", "changed_at", "sent_at", "released_at",
    "src_chain_id", "src_chain", "dst_chain_id", "dst_chain", "token", "amount", "amount_smallest_units",
    "sender", "receiver",
)  # fmt: skip


def transfers_csv(database: Database, snapshots: SnapshotSource, requested: ListRequest) -> Iterator[str]:
    """The lines: times in UTC, amounts exact, in tokens and in smallest units.

    :raises Unavailable: the configuration cannot be read.
    """
    yield csv_line(_COLUMNS)
    page, count = None, None
    while True:
        if requested.stuck is None:
            found = list_transfers(
                database, snapshots, requested.filters, page, _PAGE, requested.order, count
            )
            lines, page, count = found.transfers, found.next_page, found.count
        else:
            stuck = stuck_transfers(
                database,
                snapshots,
                page,
                _PAGE,
                filters=requested.filters,
                who=requested.stuck,
                acknowledged=requested.acknowledged,
            )
            lines, page = tuple(each.line for each in stuck.transfers), stuck.next_page
        yield "".join(csv_line(_cells(line)) for line in lines)
        if page is None:
            return


def _cells(line: TransferLine) -> tuple[Any, ...]:
    src, dst, amount = line.src, line.dst, line.amount
    return (
        line.transfer_id,
        int(line.status),
        line.words.label,
        line.refund_reason.name if line.refund_reason else "",
        *map(_time, (line.since, line.updated_at, line.sent_at, line.released_at)),
        src.id if src else "",
        src.name if src else "",
        dst.id if dst else "",
        dst.name if dst else "",
        line.symbol or "",
        amount.text if amount else "",
        amount.units if amount else "",
        line.sender or "",
        line.receiver or "",
    )


def _time(at: datetime | None) -> str:
    return "" if at is None else rfc3339(at)


_MOST_AT_ONCE: Final = 500

_MOST_SIGNERS: Final = 10
"""Absent signers that are listed where a refund waits for them. The section about the refund has all."""


class TransfersView(ConsoleView):
    """The list of transfers, and the page of one."""

    section = "Overview"
    access = {
        "index": READ,
        "transfer": READ,
        "export_csv": READ,
        "acknowledge": OPERATOR_BUTTON,
        "add_note": OPERATOR_BUTTON,
        "remove_note": OPERATOR_BUTTON,
    }

    def __init__(self) -> None:
        super().__init__(name="Transfers", endpoint="transfers")

    @expose("/")
    def index(self) -> ResponseReturnValue:
        """The transfers in the requested order, or the stuck ones, the longest first."""
        database = current(Database)
        snapshots = current(SnapshotSource)
        requested = read_list_request(database, snapshots, request.args)
        for complaint in requested.complaints:
            flash(complaint, "warning")
        if requested.search:  # old links to the search, which has its own page now
            return redirect(url_for("search.index", q=requested.search))
        if requested.stuck is not None:
            return self._stuck(requested, requested.stuck)
        page = list_transfers(database, snapshots, requested.filters, requested.page, order=requested.order)
        return self._list(requested, lines=page.transfers, page=page, count=page.count)

    @expose("/export.csv")
    def export_csv(self) -> Response:
        """Every transfer that matches the filters, streamed, in the order of the list."""
        database = current(Database)
        snapshots = current(SnapshotSource)
        requested = read_list_request(database, snapshots, request.args)
        name = "transfers" if requested.stuck is None else f"stuck-{requested.stuck.value}"
        return Response(
            transfers_csv(database, snapshots, requested),
            mimetype="text/csv",
            headers={"Content-Disposition": f"attachment; filename={name}.csv"},
        )

    @expose("/acknowledge", methods=("POST",))
    def acknowledge(self) -> ResponseReturnValue:
        """Acknowledge the selected stuck transfers with a note: all of them, or none."""
        page = url_for("transfers.index", stuck=request.form.get("stuck", MustAct.BRIDGE.value))
        shown: dict[bytes, str] = {}
        for picked in request.form.getlist("pick")[:_MOST_AT_ONCE]:
            text, _, fingerprint = picked.partition(" ")
            with suppress(ValueError):
                shown[parse_transfer_id(text)] = fingerprint
        if not shown:
            flash("Select at least one transfer, then acknowledge it.", "warning")
            return redirect(page)
        try:
            saved = notes.acknowledge_stuck(
                current(Database), current(AuditKeys), shown, request.form.get("note", ""), actor=actor()
            )
        except EditRefused as refused:
            flash(f"Nothing was acknowledged: {refused}.", "error")
        else:
            flash_saved(saved)
        return redirect(page)

    @expose("/<transfer_id>")
    def transfer(self, transfer_id: str) -> ResponseReturnValue:
        wanted = _id(transfer_id)
        if transfer_id != f"0x{wanted.hex()}":
            return redirect(url_for("transfers.transfer", transfer_id=f"0x{wanted.hex()}"))
        return self._page(wanted)

    @expose("/<transfer_id>/notes", methods=("POST",))
    def add_note(self, transfer_id: str) -> ResponseReturnValue:
        """Add a note. A refused one stays in its field."""
        wanted, typed = _id(transfer_id), request.form.get("text", "")
        try:
            notes.add_note(
                current(Database),
                current(AuditKeys),
                wanted,
                typed,
                operator_id=current_user.id,
                actor=actor(),
            )
        except notes.NoteRefused as refused:
            return self._page(wanted, typed=typed, refused=str(refused))
        flash("Note added.", "success")
        return redirect(_notes(wanted))

    @expose("/<transfer_id>/notes/<int:note_id>/remove", methods=("POST",))
    def remove_note(self, transfer_id: str, note_id: int) -> ResponseReturnValue:
        """Remove an own note, or as an administrator any note."""
        wanted = _id(transfer_id)
        try:
            notes.remove_note(
                current(Database),
                current(AuditKeys),
                wanted,
                note_id,
                operator_id=current_user.id,
                of_others=current_user.role.may_act_as(Role.ADMIN),
                actor=actor(),
            )
        except notes.NoteRefused as refused:
            flash(f"Nothing was removed: {refused}.", "error")
        else:
            flash("Note removed.", "success")
        return redirect(_notes(wanted))

    def _page(self, wanted: TransferId, typed: str = "", refused: str = "") -> ResponseReturnValue:
        database = current(Database)
        snapshots = current(SnapshotSource)
        try:
            detail = transfer_detail(database, snapshots, wanted)
        except Unavailable:
            raise
        except GatewayError as error:
            line, unknown = line_without_log(database, snapshots, wanted), "console/transfers/unknown.html"
            if line is not None:
                return self.render(unknown, line=line)
            reply = reply_about_unknown(f"the id 0x{wanted.hex()}")
            return self.render(unknown, why=error.msg, reply=reply), HTTPStatus.NOT_FOUND
        page = page_of_user(detail.line.transfer_id)
        timeline = timeline_of(detail)
        return self.render(
            "console/transfers/transfer.html",
            detail=detail,
            line=detail.line,
            limit=limit_if_stuck(database, detail.line, detail.now),
            timeline=timeline,
            others=some_rows(timeline.others, section="events"),
            signers=some_rows(detail.refund.signers if detail.refund else (), section="signers"),
            most_events=ROWS,
            most_signers=_MOST_SIGNERS,
            reply=reply_to_user(detail, page),
            page=page,
            notes=some_rows(notes.transfer_notes(database, wanted), section="notes"),
            typed=typed,
            refused=refused,
            removes_every_note=current_user.role.may_act_as(Role.ADMIN),
            sender_is_blocked=snapshots.current().blocked_addresses.blocks(
                detail.line.sender or "", database.clock()
            ),
        )

    def _stuck(self, requested: ListRequest, who: MustAct) -> str:
        database = current(Database)
        snapshots = current(SnapshotSource)
        medians = medians_of_the_week(database)
        page = stuck_transfers(
            database,
            snapshots,
            requested.page,
            medians=medians,
            filters=requested.filters,
            who=who,
            acknowledged=requested.acknowledged,
        )
        return self._list(
            requested,
            lines=[each.line for each in page.transfers],
            stuck={each.line.transfer_id: each for each in page.transfers},
            counts={each: count_stuck(database, each, medians) for each in MustAct},
            page=page,
        )

    def _list(self, requested: ListRequest, *, lines: Sequence[TransferLine], **shown: object) -> str:
        database = current(Database)
        noted = notes.count_notes(database, [bytes.fromhex(line.transfer_id[2:]) for line in lines])
        return self.render(
            "console/transfers/index.html",
            requested=requested,
            lines=lines,
            ages=[(key, label) for key, (label, *_) in AGES.items()],
            spans=[(key, label) for key, (label, _) in WITHIN.items()],
            orders=[(order.value, label) for order, label in ORDERS.items()],
            now=database.clock(),
            noted={f"0x{transfer_id.hex()}": count for transfer_id, count in noted.items()},
            **shown,
        )


def _id(text: str) -> TransferId:
    try:
        return parse_transfer_id(text)
    except ValueError:
        abort(404)


def _notes(transfer_id: TransferId) -> str:
    return url_for("transfers.transfer", transfer_id=f"0x{transfer_id.hex()}", _anchor="notes")
