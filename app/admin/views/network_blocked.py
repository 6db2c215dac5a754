"""Blocked addresses and networks, one by one and many at once."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from flask import flash, redirect, request
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import EDIT
from app.admin.formats import pill, when
from app.admin.forms import fields
from app.admin.forms.network import STEPS
from app.admin.requests import actor, unexpected_field_complaint
from app.admin.views.lists import Choice
from app.admin.views.network import NetworkView, flash_saved
from app.models.blocked import BlockedAddress, BlockedNetwork
from app.runtime.gateway import current_gateway
from app.services.network.edits.blocks import BlockEdit, preview_blocks, save_blocks
from app.services.network.edits.pasted_lines import COLUMNS
from app.services.network.edits.results import Invalid

_LARGEST_LIST: Final = 16 * 1024 * 1024
"""Bytes of a form with a pasted list: a hundred thousand lines with a reason each."""

_NOT_TEXT: Final = "The file is no text in UTF-8: save it as CSV (UTF-8) and send it again."


class InForce(Choice):
    """Whether a block still stops anybody."""

    def __init__(self, column: Any) -> None:
        super().__init__(column, "State", [("1", "in force"), ("0", "ended"), ("never", "without end")])

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        column, now = self.get_column(alias), current_gateway().clock()
        if value == "never":
            return query.filter(column.is_(None))
        return query.filter(column.is_(None) | (column > now) if value == "1" else column <= now)


class BlockedView(NetworkView):
    """What both kinds of blocks share: ends, and the page that adds many."""

    section = "Protection"
    many: ClassVar[str]
    """What a pasted list holds, such as ``addresses``."""
    example: ClassVar[str]
    access = {**NetworkView.access, "add_many": EDIT}
    largest_form = _LARGEST_LIST

    def state_cell(self, row: Any) -> Any:
        """Whether the block stops anybody, and until when."""
        if row.expires_at is None:
            return pill("in force", "bad")
        if row.expires_at <= current_gateway().clock():
            return pill("ended", "plain")
        return pill("in force", "bad")

    @expose("/add", methods=("GET", "POST"))
    def add_many(self) -> ResponseReturnValue:
        """Add what a pasted list or a file names, after a look at each line."""
        columns = COLUMNS[self.of.name]
        inputs = ("text", *columns[1:])
        texts = {name: request.form.get(name, "") for name in inputs}
        errors: dict[str, list[str]] = {}
        if request.method == "POST":
            if complaint := unexpected_field_complaint({*inputs, "file", *STEPS}):
                errors[""] = [complaint]
            else:
                self._add_file(texts, errors)
                if not errors and "back" not in request.form:
                    answer = self._attempt(texts, columns, errors)
                    if answer is not None:
                        return answer
        page = self.render("console/network/blocks.html", texts=texts, errors=errors, columns=columns)
        return (page, 400) if errors.get("") else page

    def _add_file(self, texts: dict[str, str], errors: dict[str, list[str]]) -> None:
        """Put the lines of a file under those that were pasted."""
        sent = request.files.get("file")
        if sent is None or not sent.filename:
            return
        content = sent.stream.read(_LARGEST_LIST + 1)
        try:
            lines = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            errors["file"] = [_NOT_TEXT]
            return
        pasted = texts["text"].rstrip()
        texts["text"] = f"{pasted}\n{lines}" if pasted else lines

    def _attempt(
        self, texts: dict[str, str], columns: tuple[str, ...], errors: dict[str, list[str]]
    ) -> ResponseReturnValue | None:
        if not texts["text"].strip():
            errors["text"] = ["paste at least one line, or choose a file"]
            return None
        shared: dict[str, Any] = {name: texts[name].strip() for name in columns[1:]}
        shared["expires_at"] = fields.read_end(texts["expires_at"])
        edit = BlockEdit(self.of.name, texts["text"], shared)
        try:
            preview = preview_blocks(current_gateway(), edit)
            if "confirm" in request.form and not preview.invalid:
                saved = save_blocks(current_gateway(), edit, actor=actor())
                if saved.record_id is None:
                    flash("All of them were blocked already: nothing was changed.", "warning")
                else:
                    flash_saved(saved)
                return redirect(self.get_url(".index_view"))
        except Invalid as refused:
            for error in refused.errors:
                errors.setdefault(error.field, []).append(error.message)
            return None
        return self.render(
            "console/network/blocks_preview.html", preview=preview, texts=texts, columns=columns
        )


class BlockedAddressesView(BlockedView):
    """Accounts that get no estimate."""

    model_class = BlockedAddress
    title = "Blocked addresses"
    one = "blocked address"
    many = "addresses"
    example = "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca, sanctions list, case 7, 2027-01-31T00:00:00Z"
    explanation = (
        "Accounts that get no estimate, compared without regard to letter case. The reason is never told."
    )
    nothing = "No address is blocked."
    row_endpoint = "blocked_addresses.edit"
    new_endpoint = "blocked_addresses.new"
    new_label = "Block an address"
    column_list = ("address", "state", "reason", "source", "expires_at")
    column_labels = {"expires_at": "Ends"}
    column_sortable_list = ("address", "reason", "source", "expires_at")
    column_searchable_list = ("address", "reason", "source")
    column_default_sort = ("id", True)
    column_filters = (InForce(BlockedAddress.expires_at),)
    column_formatters = {
        "address": lambda v, c, m, p: m.address,
        "state": lambda v, c, m, p: v.state_cell(m),
        "expires_at": lambda v, c, m, p: when(m.expires_at),
    }
    fields = (
        fields.line("address", "Address", "An account on any chain, in any letter case."),
        fields.note("reason", "Reason", "For operators. Users are never told."),
        fields.line("source", "Source", "Which list or case it comes from.", needed=False),
        fields.end(),
    )


class BlockedNetworksView(BlockedView):
    """Ranges of callers that get no estimate."""

    model_class = BlockedNetwork
    title = "Blocked networks"
    one = "blocked network"
    many = "networks"
    example = "203.0.113.0/24, VPN exit, 2027-01-31T00:00:00Z"
    explanation = "Callers' networks that get no estimate, such as a VPN's exits. The reason is never told."
    nothing = "No network is blocked."
    row_endpoint = "blocked_networks.edit"
    new_endpoint = "blocked_networks.new"
    new_label = "Block a network"
    column_list = ("cidr", "state", "reason", "expires_at")
    column_labels = {"cidr": "Network", "expires_at": "Ends"}
    column_sortable_list = ("cidr", "reason", "expires_at")
    column_searchable_list = ("cidr", "reason")
    column_default_sort = ("id", True)
    column_filters = (InForce(BlockedNetwork.expires_at),)
    column_formatters = {
        "state": lambda v, c, m, p: v.state_cell(m),
        "expires_at": lambda v, c, m, p: when(m.expires_at),
    }
    fields = (
        fields.line("cidr", "Network", "IPv4 or IPv6, such as 203.0.113.0/24 or 2001:db8::/32."),
        fields.note("reason", "Reason", "For operators. Users are never told."),
        fields.end(),
    )
