"""The pages of transfers: a list, and a page for each. Facts are not changed here."""

from __future__ import annotations

from http import HTTPStatus

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import READ
from app.admin.forms.transfer_filters import ListRequest, read_list_request
from app.admin.pages.detail import transfer_detail
from app.admin.pages.replies import reply_to_user
from app.admin.pages.stuck import RULE, stuck_transfers
from app.admin.pages.timeline import timeline_of
from app.admin.pages.transfers import list_transfers
from app.admin.public_answers import laid_out, public_answers
from app.admin.views.base import ConsoleView
from app.domain.errors import GatewayError, Unavailable
from app.domain.wire_values import parse_transfer_id
from app.runtime.gateway import current_gateway


class TransfersView(ConsoleView):
    """The list of transfers, and the page of one."""

    section = "Overview"
    access = {"index": READ, "transfer": READ}

    def __init__(self) -> None:
        super().__init__(name="Transfers", endpoint="transfers")

    @expose("/")
    def index(self) -> ResponseReturnValue:
        """The transfers that changed last; or the stuck, longest first."""
        gateway = current_gateway()
        asked = read_list_request(gateway, request.args)
        for complaint in asked.complaints:
            flash(complaint, "warning")
        if asked.search:  # links to the search as it was before it had a page of its own
            return redirect(url_for("search.index", q=asked.search))
        if asked.stuck:
            stuck = stuck_transfers(gateway, asked.page, filters=asked.filters)
            lasting = {each.line.transfer_id: each for each in stuck.transfers}
            lines = [each.line for each in stuck.transfers]
            return self._list(asked, lines=lines, lasting=lasting, page=stuck, rule=RULE)
        page = list_transfers(gateway, asked.filters, asked.page)
        return self._list(asked, lines=page.transfers, page=page)

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
            return self.render("console/transfers/unknown.html", why=error.msg), HTTPStatus.NOT_FOUND
        return self.render(
            "console/transfers/transfer.html",
            detail=detail,
            line=detail.line,
            timeline=timeline_of(detail),
            reply=reply_to_user(detail),
            answer=laid_out(answer),
        )

    def _list(self, asked: ListRequest, **shown: object) -> str:
        return self.render("console/transfers/index.html", asked=asked, **shown)
