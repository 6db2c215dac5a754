"""The chains that the gateway reads itself, and the switch that stops and starts their reading."""

from __future__ import annotations

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import READ, Access, Audience
from app.admin.formats import sentence
from app.admin.pages.watching import WatchedPage, watched_lines, watched_page
from app.admin.requests import actor
from app.admin.views.base import ConsoleView
from app.domain.keys import MAX_CHAIN_ID, ChainId
from app.runtime.gateway import current_gateway
from app.services.watching.lease import MAX_REASON
from app.services.watching.switch import SwitchRefused, start, stop


class WatchingView(ConsoleView):
    """How far the watched chains are read."""

    section = "Network"
    access = {
        "index": READ,
        "show": READ,
        "stop": Access(Audience.NOBODY, Audience.OPERATOR, grave=True),
        "start": Access(Audience.NOBODY, Audience.OPERATOR),
    }

    def __init__(self) -> None:
        super().__init__(name="Watched chains", endpoint="watching")

    def badge(self) -> int:
        """Chains that are not read."""
        return sum(not line.is_read for line in watched_lines(current_gateway()))

    @expose("/")
    def index(self) -> str:
        """Every chain that is configured to be watched."""
        return self.render("console/watching/index.html", lines=watched_lines(current_gateway()))

    @expose("/<int:chain_id>")
    def show(self, chain_id: int) -> str:
        """One chain: what was read, what differed, and the switch."""
        return self.render("console/watching/show.html", page=_page(chain_id), longest=MAX_REASON)

    @expose("/<int:chain_id>/stop", methods=("POST",))
    def stop(self, chain_id: int) -> ResponseReturnValue:
        """Stop the reading of a chain."""
        name = _page(chain_id).line.chain.name
        try:
            reason = request.form.get("reason", "")[:MAX_REASON]
            stop(current_gateway(), ChainId(chain_id), reason, actor=actor())
        except SwitchRefused as refused:
            flash(sentence(str(refused)), "error")
        else:
            flash(f"Stopped reading {name}. What was read is kept.", "success")
        return redirect(url_for("watching.show", chain_id=chain_id))

    @expose("/<int:chain_id>/start", methods=("POST",))
    def start(self, chain_id: int) -> ResponseReturnValue:
        """Let the reading go on."""
        name = _page(chain_id).line.chain.name
        try:
            start(current_gateway(), ChainId(chain_id), actor=actor())
        except SwitchRefused as refused:
            flash(sentence(str(refused)), "error")
        else:
            flash(f"Started reading {name}. A running watcher picks it up within seconds.", "success")
        return redirect(url_for("watching.show", chain_id=chain_id))


def _page(chain_id: int) -> WatchedPage:
    page = watched_page(current_gateway(), ChainId(chain_id)) if chain_id <= MAX_CHAIN_ID else None
    if page is None:
        abort(404)
    return page
