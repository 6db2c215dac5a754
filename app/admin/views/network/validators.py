"""Validator sets by chain and version. They come from the network document and the feed alone."""

from __future__ import annotations

from flask import request
from flask_admin import expose

from app.admin.access import READ
from app.admin.network_names import percent
from app.admin.pages.validator_sets import validator_sets
from app.admin.views.base import ConsoleView
from app.runtime.gateway import current_gateway


class ValidatorsView(ConsoleView):
    """The validators that sign refunds, by chain: the set in force and earlier ones."""

    section = "Network"
    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Validators", endpoint="validators")

    @expose("/")
    def index(self) -> str:
        """Every chain, or the one that the address names."""
        chains = validator_sets(current_gateway())
        wanted = request.args.get("chain", "")
        shown = [chain for chain in chains if str(chain.chain_id) == wanted] or chains
        return self.render(
            "console/validators.html", chains=chains, shown=shown, wanted=wanted, percent=percent
        )
