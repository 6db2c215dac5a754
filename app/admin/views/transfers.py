"""The pages of transfers: search, list, and a page for each. Facts are not changed here."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import Final

from flask import Response, abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import READ, Access, Audience
from app.admin.forms.transfer_filters import ListRequest, read_list_request
from app.admin.pages.detail import line_without_log, transfer_detail
from app.admin.pages.latencies import latencies_by_pair
from app.admin.pages.replies import reply_to_user
from app.admin.pages.search import Found, SearchResult, search
from app.admin.pages.stuck import MustAct, count_stuck, stuck_transfers
from app.admin.pages.timeline import timeline_of
from app.admin.pages.transfers import list_transfers
from app.admin.public_answers import laid_out, public_answers
from app.admin.requests import actor
from app.admin.views.base import ConsoleView
from app.admin.views.flashes import flash_saved
from app.admin.views.transfers_csv import transfers_csv
from app.domain.errors import GatewayError, Unavailable
from app.domain.wire_values import parse_transfer_id
from app.runtime.gateway import current_gateway
from app.services.audit.results import EditRefused
from app.services.transfers.stuck import acknowledge_stuck

_ACKNOWLEDGE: Final = Access(Audience.NOBODY, Audience.OPERATOR)
_MOST_AT_ONCE: Final = 500


class TransfersView(ConsoleView):
    """The list of transfers, and the page of one."""

    section = "Overview"
    access = {"index": READ, "transfer": READ, "export_csv": READ, "acknowledge": _ACKNOWLEDGE}

    def __init__(self) -> None:
        super().__init__(name="Transfers", endpoint="transfers")

    @expose("/")
    def index(self) -> ResponseReturnValue:
        """The transfers that changed last; or those that the search finds; or the stuck, longest first."""
        gateway = current_gateway()
        asked = read_list_request(gateway, request.args)
        for complaint in asked.complaints:
            flash(complaint, "warning")
        if asked.search:
            return self._found(asked, search(gateway, asked.search))
        if asked.stuck is not None:
            return self._stuck(asked, asked.stuck)
        page = list_transfers(gateway, asked.filters, asked.page)
        return self._list(asked, lines=page.transfers, page=page)

    @expose("/export.csv")
    def export_csv(self) -> Response:
        """Every transfer that matches the filters, streamed, in the order of the list."""
        gateway = current_gateway()
        asked = read_list_request(gateway, request.args)
        name = "transfers" if asked.stuck is None else f"stuck-{asked.stuck.value}"
        return Response(
            transfers_csv(gateway, asked),
            mimetype="text/csv",
            headers={"Content-Disposition": f"attachment; filename={name}.csv"},
        )

    @expose("/acknowledge", methods=("POST",))
    def acknowledge(self) -> ResponseReturnValue:
        """Acknowledge the picked stuck transfers with a note: all of them, or none."""
        page = url_for("transfers.index", stuck=request.form.get("stuck", MustAct.BRIDGE.value))
        shown: dict[bytes, str] = {}
        for picked in request.form.getlist("pick")[:_MOST_AT_ONCE]:
            text, _, fingerprint = picked.partition(" ")
            with suppress(ValueError):
                shown[parse_transfer_id(text)] = fingerprint
        if not shown:
            flash("Pick at least one transfer, then acknowledge it.", "warning")
            return redirect(page)
        try:
            saved = acknowledge_stuck(current_gateway(), shown, request.form.get("note", ""), actor=actor())
        except EditRefused as refused:
            flash(f"Nothing was acknowledged: {refused}.", "error")
        else:
            flash_saved(saved)
        return redirect(page)

    @expose("/<transfer_id>")
    def transfer(self, transfer_id: str) -> ResponseReturnValue:
        """Everything about one transfer."""
        try:
            wanted = parse_transfer_id(transfer_id)
        except ValueError:
            abort(404)
        if transfer_id != f"0x{wanted.hex()}":
            return redirect(url_for("transfers.transfer", transfer_id=f"0x{wanted.hex()}"))
        gateway = current_gateway()
        try:
            detail = transfer_detail(gateway, wanted)
            answer = public_answers().status(gateway, wanted)
        except Unavailable:
            raise
        except GatewayError as error:
            line, page = line_without_log(gateway, wanted), "console/transfers/unknown.html"
            if line is not None:
                return self.render(page, line=line)
            return self.render(page, why=error.msg), HTTPStatus.NOT_FOUND
        return self.render(
            "console/transfers/transfer.html",
            detail=detail,
            line=detail.line,
            timeline=timeline_of(detail),
            reply=reply_to_user(detail),
            answer=laid_out(answer),
        )

    def _found(self, asked: ListRequest, result: SearchResult) -> ResponseReturnValue:
        if len(result.transfers) == 1:
            if result.kind is not Found.TRANSFER:
                flash(result.message, "info")
            return redirect(url_for("transfers.transfer", transfer_id=result.transfers[0].transfer_id))
        return self._list(asked, lines=result.transfers, result=result)

    def _stuck(self, asked: ListRequest, who: MustAct) -> str:
        gateway = current_gateway()
        orders = latencies_by_pair(gateway)
        page = stuck_transfers(
            gateway, asked.page, orders=orders, filters=asked.filters, who=who, seen_to=asked.seen_to
        )
        return self._list(
            asked,
            lines=[each.line for each in page.transfers],
            stuck={each.line.transfer_id: each for each in page.transfers},
            counts={each: count_stuck(gateway, each, orders) for each in MustAct},
            page=page,
        )

    def _list(self, asked: ListRequest, **shown: object) -> str:
        return self.render("console/transfers/index.html", asked=asked, **shown)
