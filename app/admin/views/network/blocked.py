"""The pages of blocked addresses and networks, and the page that blocks many at once."""

from __future__ import annotations

from typing import Any, ClassVar

from flask import flash, redirect
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import EDIT
from app.admin.formats import pill, when
from app.admin.forms.bulk import LARGEST_LIST, BlockListForm
from app.admin.forms.sections import BlockedAddressForm, BlockedNetworkForm
from app.admin.requests import actor
from app.admin.views.filters import Choice
from app.admin.views.flashes import flash_saved
from app.admin.views.network.concerned import concerned_transfers
from app.admin.views.network.editing import NetworkView
from app.models.blocked import BlockedAddress, BlockedNetwork
from app.runtime.gateway import current_gateway
from app.services.network.edits.blocks import BlockEdit, preview_blocks, save_blocks
from app.services.network.edits.pasted_lines import COLUMNS
from app.services.network.edits.results import Invalid


class InForce(Choice):
    """Whether a block is in force."""

    def __init__(self, column: Any) -> None:
        super().__init__(column, "State", [("1", "active"), ("0", "ended"), ("never", "no end")])

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        column, now = self.get_column(alias), current_gateway().clock()
        if value == "never":
            return query.filter(column.is_(None))
        return query.filter(column.is_(None) | (column > now) if value == "1" else column <= now)


def state_of_block(row: Any) -> Any:
    """Whether a block is in force."""
    ended = row.expires_at is not None and row.expires_at <= current_gateway().clock()
    return pill("ended", "plain") if ended else pill("active", "bad")


class BlockedView(NetworkView):
    """What both kinds of blocks have in common: when they end, and the page that adds many."""

    section = "Protection"
    many: ClassVar[str]
    """What a pasted list holds, such as ``addresses``."""
    example: ClassVar[str]
    access = {**NetworkView.access, "add_many": EDIT}
    largest_form = LARGEST_LIST

    @expose("/add", methods=("GET", "POST"))
    def add_many(self) -> ResponseReturnValue:
        """Block what a pasted list or a file names, after a preview of each line."""
        form = BlockListForm(COLUMNS[self.of.name], self.example)
        if form.validate_on_submit() and not form.back.data:
            answer = self._preview_or_save(form)
            if answer is not None:
                return answer
        page = self.render("console/network/blocks.html", form=form)
        return (page, 400) if form.form_errors else page

    def _preview_or_save(self, form: BlockListForm) -> ResponseReturnValue | None:
        """The preview, or the list after the save; None where the form has errors now."""
        edit = BlockEdit(self.of.name, form.text.text, form.shared())
        try:
            preview = preview_blocks(current_gateway(), edit)
            if form.confirm.data and not preview.invalid:
                saved = save_blocks(current_gateway(), edit, actor=actor())
                if saved.record_id is None:
                    flash("Every entry was blocked already. Nothing was changed.", "warning")
                else:
                    flash_saved(saved)
                return redirect(self.get_url(".index_view"))
        except Invalid as refused:
            form.add_errors(refused.errors)
            return None
        return self.render(
            "console/network/blocks_preview.html",
            preview=preview,
            form=form,
            concerned=concerned_transfers(preview.effects),
        )


class BlockedAddressesView(BlockedView):
    """Accounts that get no estimate."""

    model_class = BlockedAddress
    title = "Blocked addresses"
    one = "blocked address"
    many = "addresses"
    example = "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca, sanctions list, case 7, 2027-01-31T00:00:00Z"
    explanation = (
        "Accounts that get no estimates. Upper and lower case are the same. Users never see the reason."
    )
    nothing = "No address is blocked. Block one here, or paste a list under “Block several”."
    row_endpoint = "blocked_addresses.edit"
    new_endpoint = "blocked_addresses.new"
    new_label = "Block address"
    column_list = ("address", "state", "reason", "source", "expires_at")
    column_labels = {"expires_at": "Ends"}
    column_sortable_list = ("address", "reason", "source", "expires_at")
    column_searchable_list = ("address", "reason", "source")
    column_default_sort = ("id", True)
    column_filters = (InForce(BlockedAddress.expires_at),)
    column_formatters = {
        "address": lambda v, c, m, p: m.address,
        "state": lambda v, c, m, p: state_of_block(m),
        "expires_at": lambda v, c, m, p: when(m.expires_at),
    }
    row_form = BlockedAddressForm


class BlockedNetworksView(BlockedView):
    """Ranges of callers that get no estimate."""

    model_class = BlockedNetwork
    title = "Blocked networks"
    one = "blocked network"
    many = "networks"
    example = "203.0.113.0/24, VPN exit, 2027-01-31T00:00:00Z"
    explanation = (
        "Networks and single IP addresses of callers that get no estimates, such as VPN exits. Users never "
        "see the reason."
    )
    nothing = "No network is blocked. Block one here, or paste a list under “Block several”."
    row_endpoint = "blocked_networks.edit"
    new_endpoint = "blocked_networks.new"
    new_label = "Block network"
    column_list = ("cidr", "state", "reason", "expires_at")
    column_labels = {"cidr": "Network", "expires_at": "Ends"}
    column_sortable_list = ("cidr", "reason", "expires_at")
    column_searchable_list = ("cidr", "reason")
    column_default_sort = ("id", True)
    column_filters = (InForce(BlockedNetwork.expires_at),)
    column_formatters = {
        "state": lambda v, c, m, p: state_of_block(m),
        "expires_at": lambda v, c, m, p: when(m.expires_at),
    }
    row_form = BlockedNetworkForm
