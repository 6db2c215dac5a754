"""Blocked addresses, networks and routes: their lists, and the form that blocks one or many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from flask import flash, redirect, request
from flask.typing import ResponseReturnValue
from flask_admin import expose
from marshmallow import ValidationError
from msgspec import Struct
from sqlalchemy import Connection

from app.audit.previews import Effect, Preview
from app.audit.services import Saved
from app.console.network.editing import LONGEST_GIVEN, NetworkView
from app.console.network.forms import LARGEST_LIST, BlocksForm, row_inputs
from app.console.network.names import ChainIs, SymbolIs
from app.console.network.previewed import previewed, saved_or_previewed
from app.console.shell.formats import pill
from app.console.shell.lists import Choice, Flag
from app.console.shell.views import flash_saved
from app.db.database import Database
from app.http.application import current
from app.network.changes import Change
from app.network.document import messages_by_path
from app.network.edits.plan import EDITABLE, present_rows
from app.network.edits.preview import block_effects
from app.network.edits.refusals import FieldError, Invalid
from app.network.edits.save import Description, NetworkChange, network_change
from app.network.models import BlockedAddress, BlockedNetwork, RouteBlock
from app.network.rules.blocking import as_network
from app.network.sections import Row, Section
from app.values.amounts import grouped

MAX_LINES: Final = 100_000
LONGEST_SHOWN: Final = 120
_SEPARATORS: Final = re.compile(r"[,;\t]")


class GoodLine(Struct, frozen=True):
    """A valid line, and what was typed."""

    row: Row
    typed: str


class InvalidLine(Struct, frozen=True):
    """An invalid line: its number from 1, the part of its text that is shown, and the reason."""

    number: int
    text: str
    reason: str


class BlockEdit(Struct, frozen=True):
    """Addresses or networks to block, each once, in ``blocked_addresses`` or ``blocked_networks``."""

    section: str
    lines: Sequence[GoodLine]

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        """The change that the lines make to the present rows. Saving twice adds nothing.

        An entry that is already blocked at least as long does not change. The edit only blocks more, so it
        needs no second person.
        """
        section = EDITABLE[self.section]
        blocked = present_rows(connection, section, [line.row for line in self.lines])
        changes, typed = [], []
        for line in self.lines:
            row, before = line.row, blocked.get(section.identity(line.row))
            if before is None:
                changes.append(Change(section, None, row, None))
                typed.append(line.typed)
            elif _lasts_longer(row["expires_at"], before["expires_at"]):
                changes.append(Change(section, before, row | {section.key[0]: before[section.key[0]]}, None))

        def effects(connection: Connection, change: NetworkChange, now: datetime) -> Iterator[Effect]:
            coming = [each.after for each in change.rows if each.after is not None]
            return block_effects(connection, section.name, coming, typed, now)

        return network_change(Description("blocks", {}, "network.block", effects), changes, {}, {}, {})

    def by_outcome(self, preview: Preview) -> dict[str, list[str]]:
        """The lines by their effect.

        ``added`` are not blocked yet; ``extended`` are blocked, but end earlier than requested; ``unchanged``
        are blocked at least as long.
        """
        section = EDITABLE[self.section]
        (key,) = section.key
        found: dict[str, list[str]] = {"added": [], "extended": [], "unchanged": []}
        changed = set()
        for change in preview.audited:
            row = dict(change.after or {})
            changed.add(section.identity(row))
            found["extended" if change.before else "added"].append(row[key])
        rows = (line.row for line in self.lines)
        found["unchanged"] += (row[key] for row in rows if section.identity(row) not in changed)
        return found


class BlockLines(Struct, frozen=True):
    """The typed lines. With an invalid one among them, none is saved.

    ``repeated`` counts the lines that repeat an earlier one.
    """

    good: BlockEdit
    repeated: int
    invalid: tuple[InvalidLine, ...]

    @property
    def edit(self) -> BlockEdit:
        """The edit that blocks all of it.

        :raises Invalid: with every invalid line.
        """
        if self.invalid:
            raise Invalid(FieldError("text", f"line {line.number} {line.reason}") for line in self.invalid)
        return self.good


def read_blocks(section_name: str, text: str, shared: Mapping[str, Any]) -> BlockLines:
    """Read what to block: an address or a network on each line.

    Blank lines, and comments that begin with ``#``, are skipped.

    :param shared: reason, source and end of all of them, as the network document writes them.
    :raises Invalid: a shared value is impossible.
    """
    section = EDITABLE[section_name]
    _check_shared(section, shared)
    invalid: list[InvalidLine] = []
    wanted: dict[tuple[Any, ...], GoodLine] = {}
    repeated = 0
    for line in _read_lines(section, text, shared):
        if isinstance(line, InvalidLine):
            invalid.append(line)
        elif section.identity(line.row) in wanted:
            repeated += 1
        else:
            wanted[section.identity(line.row)] = line
    return BlockLines(BlockEdit(section_name, tuple(wanted.values())), repeated, tuple(invalid))


def _read_lines(section: Section, text: str, shared: Mapping[str, Any]) -> Iterator[GoodLine | InvalidLine]:
    # Numbered as in a form, without the byte order mark that spreadsheets write before the first.
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(map(str.strip, lines), 1):
        if number > MAX_LINES:
            words = f"there are more than {grouped(MAX_LINES)} lines: block the rest afterwards"
            yield InvalidLine(number, "", words)
            return
        if line and not line.startswith("#"):
            yield _read(section, number, line, shared)


def _read(section: Section, number: int, line: str, shared: Mapping[str, Any]) -> GoodLine | InvalidLine:
    if _SEPARATORS.search(line):  # "address,reason" could be taken for an account of another chain
        return InvalidLine(
            number, line[:LONGEST_SHOWN], "must be a single entry: no commas, semicolons or tabs"
        )
    (column,) = section.key
    value = as_network(line) if section.name == "blocked_networks" else line
    try:
        return GoodLine(section.schema.load({**shared, column: value}), line)
    except ValidationError as error:
        found = messages_by_path(error.messages)
        reason = "; ".join(f"{path} {message}" for path, message in found)
        return InvalidLine(number, line[:LONGEST_SHOWN], reason)


def _check_shared(section: Section, shared: Mapping[str, Any]) -> None:
    """Check the shared values by themselves: otherwise every line would report the same error."""
    try:
        section.schema.load(dict(shared), partial=True)
    except ValidationError as error:
        raise Invalid(FieldError(*pair) for pair in messages_by_path(error.messages)) from None


def _lasts_longer(until: datetime | None, than: datetime | None) -> bool:
    """Whether one end is later than the other; None is never."""
    return than is not None and (until is None or until > than)


class InForce(Choice):
    """Whether a block is in force."""

    def __init__(self, column: Any) -> None:
        super().__init__(column, "State", [("1", "active"), ("0", "ended"), ("never", "no end")])

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        column, now = self.get_column(alias), current(Database).clock()
        if value == "never":
            return query.filter(column.is_(None))
        return query.filter(column.is_(None) | (column > now) if value == "1" else column <= now)


def state_of_block(row: Any) -> Any:
    """Whether a block is in force."""
    ended = row.expires_at is not None and row.expires_at <= current(Database).clock()
    return pill("ended", "plain") if ended else pill("active", "bad")


BLOCKS: Final = (
    ("blocked_addresses", "Addresses"), ("blocked_networks", "Networks"), ("route_blocks", "Routes"),
)  # fmt: skip
"""The lists that are tabs of one page, by their endpoints."""


class BlockedView(NetworkView):
    """The base of both kinds of blocked callers: when a block ends, and how to add one or many."""

    tabs = BLOCKS
    many: ClassVar[str]
    """What is blocked, such as ``addresses``."""
    lines_help: ClassVar[str]
    largest_form = LARGEST_LIST

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        """Block one or many, after a preview of each line. It never needs a second person."""
        given = {"text": request.args.get(self.of.key[0], "")[:LONGEST_GIVEN]}
        names = f"{self.many.capitalize()}, one per line"
        inputs = {
            name: each for name, each in row_inputs(self.model_class).items() if name not in self.of.key
        }
        form: BlocksForm = type("BlocksForm", (BlocksForm,), inputs)(names, self.lines_help, data=given)
        if form.validate_on_submit() and not form.back.data:
            answer = self._preview_or_save(form)
            if answer is not None:
                return answer
        page = self.render("console/network/blocks.html", form=form)
        return (page, 400) if form.form_errors else page

    def _preview_or_save(self, form: BlocksForm) -> ResponseReturnValue | None:
        try:
            lines = read_blocks(self.of.name, form.text.text, form.shared())
            outcome = previewed(form, lines.good) if lines.invalid else saved_or_previewed(form, lines.edit)
        except Invalid as refused:
            form.add_errors(refused.errors)
            return None
        if isinstance(outcome, Saved):
            if outcome.record_id is None:
                flash("Every entry was blocked already. Nothing was changed.", "warning")
            else:
                flash_saved(outcome)
            return redirect(self.get_url(".index_view"))
        return self.render(
            "console/network/blocks_preview.html",
            preview=outcome,
            lines=lines,
            **lines.good.by_outcome(outcome),
            form=form,
        )


class BlockedAddressesView(BlockedView):
    """Accounts that get no estimate."""

    model_class = BlockedAddress
    title = "Blocked addresses"
    menu_name = "Blocks"
    one = "blocked address"
    many = "addresses"
    lines_help = (
        "Accounts on any chain, in upper or lower case. To give each its own reason, use the network "
        "document."
    )
    explanation = (
        "Accounts that get no estimates. Upper and lower case are the same. Users never see the reason."
    )
    nothing = "No address is blocked. Block one or a whole list here."
    new_label = "Block addresses"
    column_list = ("address", "state", "reason", "source", "expires_at")
    column_sortable_list = ("address", "reason", "source", "expires_at")
    column_searchable_list = ("address", "reason", "source")
    column_default_sort = ("id", True)
    column_filters = (InForce(BlockedAddress.expires_at),)
    column_formatters = {
        "state": lambda v, c, m, p: state_of_block(m),
    }


class BlockedNetworksView(BlockedView):
    """Ranges of callers that get no estimate."""

    model_class = BlockedNetwork
    title = "Blocked networks"
    one = "blocked network"
    many = "networks"
    lines_help = "IPv4 or IPv6, such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32."
    explanation = (
        "Networks and single IP addresses of callers that get no estimates, such as VPN exits. Users never "
        "see the reason."
    )
    nothing = "No network is blocked. Block one or a whole list here."
    new_label = "Block networks"
    column_list = ("cidr", "state", "reason", "expires_at")
    column_sortable_list = ("cidr", "reason", "expires_at")
    column_searchable_list = ("cidr", "reason")
    column_default_sort = ("id", True)
    column_filters = (InForce(BlockedNetwork.expires_at),)
    column_formatters = {
        "state": lambda v, c, m, p: state_of_block(m),
    }


class RouteBlocksView(NetworkView):
    """Routes that are stopped."""

    model_class = RouteBlock
    title = "Route blocks"
    one = "route block"
    tabs = BLOCKS
    explanation = (
        "Stops one token between two chains, in one or both directions. Applies to pegged pairs too."
    )
    nothing = "No route is blocked. Block one to stop a token between two chains at once."
    new_label = "Block route"
    column_list = (
        "symbol", "src_chain_id", "dst_chain_id", "state", "both_directions", "reason", "expires_at",
    )  # fmt: skip
    column_labels = {"both_directions": "Directions"}
    column_sortable_list = ("symbol", "src_chain_id", "dst_chain_id", "both_directions", "expires_at")
    column_searchable_list = ("symbol", "reason")
    column_default_sort = [("symbol", False), ("src_chain_id", False)]
    column_filters = (
        SymbolIs(RouteBlock.symbol),
        ChainIs(RouteBlock.src_chain_id, "Chain", RouteBlock.dst_chain_id),
        Flag(RouteBlock.both_directions, "Directions", "both", "one"),
        InForce(RouteBlock.expires_at),
    )
    column_formatters = {
        "state": lambda v, c, m, p: state_of_block(m),
        "both_directions": lambda v, c, m, p: (
            pill("both", "bad") if m.both_directions else pill("one", "warn")
        ),
    }
