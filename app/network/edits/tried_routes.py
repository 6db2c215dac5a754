"""Tries the routes that a change of the configuration opens or changes, and shows the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection

from app.audit.previews import TrialFigures, TriedRoute
from app.db.engine import HandedIn
from app.network.edits.route_changes import is_open, open_routes, route_text
from app.network.rules.far_rates import (
    Quote,
    RouteTrial,
    Trial,
    dangers,
    has_high_impact,
    has_moved,
    rate_down,
)
from app.network.rules.terms import NetworkTerms, blocked_routes, build_terms, in_force
from app.network.rules.validation_facts import route_key
from app.network.sections import Row
from app.values.amounts import parse_decimal, tokens_text
from app.values.identifiers import RouteKey

Trials = Mapping[RouteKey, RouteTrial]

TRIAL_ESTIMATES: Final = HandedIn[[NetworkTerms, NetworkTerms, Sequence[RouteKey], datetime], Trials](
    "trial_estimates"
)
"""Prices routes of a planned configuration with the pools' present counters, by the code of the estimates.
It gets the present configuration, the planned one, the routes, and the time."""

Rows = Mapping[str, list[Row]]


def planned_terms(before: Rows, after: Rows, now: datetime) -> tuple[NetworkTerms, NetworkTerms]:
    """The terms of the present and of the planned rows that count now.

    A new route, and one with a new base fee, gets its time here, before it is saved.
    """
    since = {(route_key(row), row["base_fee"]): row["base_fee_changed_at"] for row in before["routes"]}
    dated: list[Row] = [
        row | {"base_fee_changed_at": since.get((route_key(row), row["base_fee"]), now)}
        for row in after["routes"]
    ]
    return build_terms(in_force(before, now)), build_terms({**in_force(after, now), "routes": dated})


def try_change(connection: Connection, before: Rows, after: Rows, now: datetime) -> Trials:
    """The trials of the routes that the change of the rows opens or changes.

    The routes of a stopped chain are tried as if it ran: it may be resumed long after the change. So are
    those that are blocked until a time: the block ends without a change.
    """
    was, will = planned_terms(before, after, now)
    opened = open_routes(will) - open_routes(was)
    resumed = {route.route_key for route in opened if not route.is_pegged}
    was, will = _running(was, before), _running(will, after)
    routes = sorted(key for key in will.routes if key in resumed or _is_changed(was, will, key))
    return TRIAL_ESTIMATES(connection, was, will, routes, now) if routes else {}


def _running(terms: NetworkTerms, rows: Rows) -> NetworkTerms:
    """The configuration as if no chain were stopped, and no route blocked until a time."""
    chains = {chain_id: replace(chain, disabled=False) for chain_id, chain in terms.chains.items()}
    lasting = [row for row in rows["route_blocks"] if row["expires_at"] is None]
    return replace(terms, chains=chains, blocks=blocked_routes(lasting))


def _is_changed(was: NetworkTerms, will: NetworkTerms, key: RouteKey) -> bool:
    if not is_open(will, key, is_pegged=False):
        return False
    if key not in was.routes or not is_open(was, key, is_pegged=False):
        return True
    return _prices(was, key) != _prices(will, key)


def _prices(terms: NetworkTerms, key: RouteKey) -> tuple[object, ...]:
    """Everything in the configuration that the route's estimates depend on, except stops and names."""
    ends = key.src, key.dst
    return (
        terms.routes[key],
        *(terms.pools[end] for end in ends),
        *(terms.tokens[end] for end in ends),
        terms.chains[key.src_chain_id].minimal_max_slippage,
    )


def names_in(rows: Rows) -> Mapping[int, str]:
    """The names of the chains among the rows, by id; none where only blocked accounts and networks change."""
    return {row["chain_id"]: row["name"] for row in rows.get("chains", ())}


def risky(trials: Trials) -> list[RouteKey]:
    """The routes whose rate has to be confirmed by a typed name."""
    return [key for key, trial in trials.items() if has_high_impact(trial)]


def risks_of(trials: Trials) -> str:
    """How many routes are :func:`risky`, the lowest of their rates and the highest; empty where none is.

    A form has it, so that what is confirmed is what was shown.
    """
    rates = _risky_rates(trials)
    return f"{len(rates)} {rate_down(min(rates))} {rate_down(max(rates))}" if rates else ""


def are_worse(trials: Trials, shown: str) -> bool:
    """Whether more routes are risky than were shown, or a rate is farther off by more than is accepted.

    :param shown: their :func:`risks_of` when they were shown.
    """
    rates, parts = _risky_rates(trials), shown.split()
    try:
        number, lowest, highest = int(parts[0]), *map(parse_decimal, parts[1:])
    except (ValueError, IndexError):
        return True
    lowest, highest = min(lowest, Fraction(1)), max(highest, Fraction(1))
    low, high = min((lowest, *rates)), max((highest, *rates))
    return len(rates) > number or has_moved(lowest, low) or has_moved(highest, high)


def _risky_rates(trials: Trials) -> list[Fraction]:
    """Of their small amounts."""
    smalls = [trials[key].after.small for key in risky(trials)]
    return [small.rate for small in smalls if small is not None]


def shown(trials: Trials, names: Mapping[int, str]) -> tuple[TriedRoute, ...]:
    """The trials in words, those with a warning first.

    :param names: of the chains, by id.
    """
    found = [
        TriedRoute(
            route_text(key, names),
            tuple(_figures(trial)),
            tuple(dangers(trial)),
            trial.after.refused_by,
            has_high_impact(trial),
        )
        for key, trial in trials.items()
    ]
    return tuple(sorted(found, key=lambda tried: (not tried.high_impact, not tried.warnings)))


def _figures(trial: RouteTrial) -> Iterator[TrialFigures]:
    """Figures of the small amount, and of the largest where that is another one."""
    before, after = trial.before or Trial(), trial.after
    pairs = [(None if before.refused_by else before.small, after.small), (before.large, after.large)]
    decimals = trial.src_decimals, trial.dst_decimals
    for pair in dict.fromkeys(pairs):
        then, now = (
            None if quote is None else _Brought.of(quote, of, trial.symbol)
            for quote, of in zip(pair, (trial.decimals_before or decimals, decimals), strict=True)
        )
        shown = now or then
        if shown is not None:
            texts = ("" if each is None else each.for_amount(shown.sent) for each in (then, now))
            yield TrialFigures(shown.sent, *texts)


class _Brought(NamedTuple):
    """A quote in words: what is sent, and what that brings before fees."""

    sent: str
    brings: str

    @classmethod
    def of(cls, quote: Quote, decimals: tuple[int, int], symbol: str) -> _Brought:
        src, dst = decimals
        brings = f"{tokens_text(quote.eq, dst, symbol)} (rate {rate_down(quote.rate)})"
        return cls(tokens_text(quote.amt, src, symbol), brings)

    def for_amount(self, sent: str) -> str:
        """What it brings; with its own amount where another one is shown."""
        return self.brings if self.sent == sent else f"{self.brings} for {self.sent}"
