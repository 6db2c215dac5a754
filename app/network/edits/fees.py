"""Base fees of all routes to one chain at once: set, or multiplied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection

from app.accounts.proposal import TwoPersons
from app.audit.services import fingerprint, require_unchanged
from app.db.database import Database
from app.db.engine import reading_consistently
from app.estimates.queries import reported_fees
from app.network.changes import Change
from app.network.edits.consequences import fee_effect, fee_times, route_text
from app.network.edits.planning import EDITABLE
from app.network.edits.results import Effect, FieldError, Invalid, counted
from app.network.edits.saving import Planned, waits
from app.network.models import Chain, Route, Token
from app.network.queries import load_rows
from app.network.route_terms import outranking
from app.network.sections import Row
from app.network.terms import pinned_fee
from app.values.amounts import MAX_UINT256, mul_div_up
from app.values.identifiers import RouteKey

BASE_FEES: Final = "base_fees"
"""What proposals call new base fees."""


class FeeEdit(Struct, frozen=True):
    """New base fees of the configured routes to a chain: all of them, or those of one symbol.

    Either ``amount``, in the destination token's smallest units and then of one symbol, or
    ``factor``, by which each fee is multiplied and rounded up. ``shown`` is the fingerprint of the preview.
    """

    dst_chain_id: int
    symbol: str | None = None
    amount: int | None = None
    factor: Fraction | None = None
    shown: str = ""

    def as_input(self) -> dict[str, Any]:
        """The edit for a proposal; exact numbers as text."""
        return {
            "dst_chain_id": self.dst_chain_id,
            "symbol": self.symbol,
            "amount": None if self.amount is None else str(self.amount),
            "factor": None if self.factor is None else str(self.factor),
            "shown": self.shown,
        }

    def planned(self, connection: Connection, now: datetime) -> Planned:
        """What the edit comes to, from the rows of now (``saving.Command``).

        :raises Invalid: impossible values, or no route leads to the chain.
        :raises Conflict: a route was added or removed since the preview, or has another fee.
        """
        routes = _routes_to(connection, self)
        require_unchanged("one of the base fees", self.shown, _fees_by_route(routes))
        changes = _changes(routes, self)
        words = f"set base fees of {counted(len(changes), 'route')} to chain {self.dst_chain_id}"
        return Planned(BASE_FEES, self.as_input(), "network.base_fees", changes, words=words)

    @classmethod
    def of_input(cls, data: Mapping[str, Any]) -> FeeEdit:
        """The edit that a proposal was made of."""
        return cls(
            data["dst_chain_id"],
            data["symbol"],
            None if data["amount"] is None else int(data["amount"]),
            None if data["factor"] is None else Fraction(data["factor"]),
            data["shown"],
        )


class FeeRow(Struct, frozen=True):
    """One route: its fees in smallest units of the destination token, and what the new one means.

    A fee of None is not known.
    """

    route_key: RouteKey
    name: str
    before: int | None
    after: int | None
    decimals: int
    effect: Effect

    @property
    def times(self) -> str:
        """How much the fee changes."""
        return fee_times(self.before, self.after)


class FeesPreview(Struct, frozen=True):
    """Every route that the edit is about, in order, also those whose fee stays.

    ``fingerprint`` is that of the fees as they are shown, for the save to hand back. With ``waits``
    they are not saved but proposed to a second operator.
    """

    rows: tuple[FeeRow, ...]
    fingerprint: str
    waits: bool = False

    @property
    def changed(self) -> int:
        """How many fees would change."""
        return sum(row.before != row.after for row in self.rows)


def preview_fees(database: Database, two_persons: TwoPersons, edit: FeeEdit) -> FeesPreview:
    """What the new fee of each route would be. Nothing is written.

    :raises Invalid: impossible values, or no route leads to the chain.
    """
    now = database.clock()
    with reading_consistently(database.engine) as connection:
        routes = _routes_to(connection, edit)
        tokens = {(row["chain_id"], row["symbol"]): row for row in load_rows(connection, Token)}
        names = {row["chain_id"]: row["name"] for row in load_rows(connection, Chain)}
        reported = reported_fees(connection)
    rows = []
    for row in routes:
        route_key, fee = _route_key(row), _new_fee(row, edit)
        name, decimals = route_text(route_key, names), tokens[route_key[2], route_key[0]]["decimal"]
        over = outranking(pinned_fee(row), reported.get(route_key), now)
        effect = fee_effect(name, row["base_fee"], fee, (decimals, route_key[0]), over)
        rows.append(FeeRow(route_key, name, row["base_fee"], fee, decimals, effect))
    waiting = waits(two_persons, _changes(routes, edit))
    return FeesPreview(tuple(rows), fingerprint(_fees_by_route(routes)), waiting)


def _changes(routes: Sequence[Row], edit: FeeEdit) -> list[Change]:
    """The routes whose fee would be another."""
    return [
        Change(EDITABLE["routes"], row, row | {"base_fee": fee}, None)
        for row in routes
        if (fee := _new_fee(row, edit)) != row["base_fee"]
    ]


def multiplied_up(amount: int, factor: Fraction) -> int:
    """``amount * factor``, rounded up."""
    return mul_div_up(amount, factor.numerator, factor.denominator)


def _routes_to(connection: Connection, edit: FeeEdit) -> list[Row]:
    """The routes that the edit is about, by symbol and source."""
    _check(edit)
    routes = [
        row
        for row in load_rows(connection, Route)
        if row["dst_chain_id"] == edit.dst_chain_id and edit.symbol in (None, row["symbol"])
    ]
    if not routes:
        raise Invalid([FieldError("dst_chain_id", "No route leads there. Choose another chain or token.")])
    too_much = [_route_key(row)[0] for row in routes if (_new_fee(row, edit) or 0) > MAX_UINT256]
    if too_much:
        raise Invalid(
            [
                FieldError(
                    "factor", f"The fee of {too_much[0]} would be above 2^256-1. Enter a smaller factor."
                )
            ]
        )
    return sorted(routes, key=_route_key)


def _check(edit: FeeEdit) -> None:
    if (edit.amount is None) == (edit.factor is None):
        raise Invalid([FieldError("amount", "Enter either a new fee or a factor.")])
    if edit.amount is not None and not 0 <= edit.amount <= MAX_UINT256:
        raise Invalid([FieldError("amount", "Enter an amount from 0 to 2^256-1 smallest units.")])
    if edit.amount is not None and edit.symbol is None:
        raise Invalid([FieldError("symbol", "Choose a token: each token has its own unit.")])
    if edit.factor is not None and edit.factor <= 0:
        raise Invalid([FieldError("factor", "Enter a factor above 0.")])


def _new_fee(row: Row, edit: FeeEdit) -> int | None:
    """The new fee of a route. What is not known cannot be multiplied, and stays not known."""
    if edit.factor is not None:
        fee: int | None = row["base_fee"]
        return None if fee is None else multiplied_up(fee, edit.factor)
    assert edit.amount is not None  # noqa: S101  _check has made sure of it
    return edit.amount


def _route_key(row: Row) -> RouteKey:
    return RouteKey(row["symbol"], row["src_chain_id"], row["dst_chain_id"])


def _fees_by_route(routes: Sequence[Row]) -> Mapping[str, str]:
    """The fees by route, as they are fingerprinted and compared."""
    label = EDITABLE["routes"].describe
    return {label(row): "not known" if row["base_fee"] is None else str(row["base_fee"]) for row in routes}
