"""Base fees of all routes to one chain at once: set, or multiplied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection

from app.audit.previews import Effect
from app.audit.services import fingerprint
from app.network.edits.plan import EDITABLE, Edit, plan_edits
from app.network.edits.refusals import FieldError, Invalid, counted
from app.network.edits.route_changes import fee_effect, fee_times, route_text
from app.network.edits.save import Description, NetworkChange, Shown
from app.network.handed_in import REPORTED_FEES
from app.network.models import Route
from app.network.queries import chain_names, load_rows, token_decimals
from app.network.rules.terms import outranking, pinned_fee
from app.network.rules.validation_facts import route_key
from app.network.sections import Row
from app.values.amounts import MAX_UINT256, mul_div_up
from app.values.identifiers import ChainId, RouteKey

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

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        """The change that the edit makes to the present rows, with one effect a route.

        :raises Invalid: impossible values, or no route leads to the chain.
        """
        routes = _routes_to(connection, self)
        edits = tuple(_edits(routes, self))

        def effects(connection: Connection, change: NetworkChange, now: datetime) -> Iterator[FeeEffect]:
            return _effects(connection, routes, self, now)

        label = EDITABLE["routes"].describe
        fees = {
            label(row): "not known" if row["base_fee"] is None else str(row["base_fee"]) for row in routes
        }
        to = chain_names(connection).get(ChainId(self.dst_chain_id), f"chain {self.dst_chain_id}")
        described = Description(
            BASE_FEES,
            self.as_input(),
            "network.base_fees",
            effects,
            words=f"set base fees of {counted(len(edits), 'route')} to {to}",
            seen=Shown("one of the base fees", self.shown, fees),
        )
        return plan_edits(connection, described, edits, now)

    @classmethod
    def of_input(cls, data: Mapping[str, Any]) -> FeeEdit:
        return cls(
            data["dst_chain_id"],
            data["symbol"],
            None if data["amount"] is None else int(data["amount"]),
            None if data["factor"] is None else Fraction(data["factor"]),
            data["shown"],
        )


class FeeEffect(Effect, frozen=True, kw_only=True):
    """The effect of the edit on one route: its fees in smallest units of the destination token.

    A fee of None is not known.
    """

    route_key: RouteKey
    name: str
    before: int | None
    after: int | None
    decimals: int

    @property
    def times(self) -> str:
        return fee_times(self.before, self.after)


def _effects(
    connection: Connection, routes: Sequence[Row], edit: FeeEdit, now: datetime
) -> Iterator[FeeEffect]:
    """The change of each route that the edit is about, in order, also where the fee does not change."""
    decimals = token_decimals(connection)
    names: Mapping[Any, str] = chain_names(connection)
    reported = REPORTED_FEES(connection)
    for row in routes:
        key, fee = route_key(row), _new_fee(row, edit)
        name, places = route_text(key, names), decimals[key.dst]
        over = outranking(pinned_fee(row), reported.get(key), now)
        effect = fee_effect(name, row["base_fee"], fee, (places, key.symbol), over)
        yield FeeEffect(
            effect.text, effect.severity,
            route_key=key, name=name, before=row["base_fee"], after=fee, decimals=places,
        )  # fmt: skip


def _edits(routes: Sequence[Row], edit: FeeEdit) -> Iterator[Edit]:
    """The routes whose fee would change."""
    section = EDITABLE["routes"]
    for row in routes:
        if (fee := _new_fee(row, edit)) != row["base_fee"]:
            values = {"base_fee": None if fee is None else str(fee)}
            yield Edit(section.name, row["id"], values, fingerprint(section.documented(row)))


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
    too_much = [route_key(row)[0] for row in routes if (_new_fee(row, edit) or 0) > MAX_UINT256]
    if too_much:
        raise Invalid(
            [
                FieldError(
                    "factor", f"The fee of {too_much[0]} would be above 2^256-1. Enter a smaller factor."
                )
            ]
        )
    return sorted(routes, key=route_key)


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
    """The new fee of a route. An unknown fee cannot be multiplied and stays unknown."""
    if edit.factor is not None:
        fee: int | None = row["base_fee"]
        return None if fee is None else multiplied_up(fee, edit.factor)
    assert edit.amount is not None  # noqa: S101  checked by _check
    return edit.amount
