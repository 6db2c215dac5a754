"""What an edit of the configuration will do, worked out before it is saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Final

from sqlalchemy import Connection

from app.domain.amounts import format_units
from app.domain.estimate.network_terms import NetworkTerms, build_terms
from app.domain.keys import PoolKey, RouteKey
from app.domain.times import Epoch
from app.models.network import Token
from app.queries.estimates.facts import estimate_facts
from app.queries.estimates.reported_fees import reported_fees
from app.queries.network.rows import load_rows
from app.queries.transfers.usage import COUNT_LIMIT, count_transfers, of_chain, parties_since, sent_since
from app.services.network.changes import Change
from app.services.network.edits.open_routes import RouteChanges, chain_names, is_open
from app.services.network.edits.planning import BLOCKED, PlannedEdit
from app.services.network.edits.prices import price_effects
from app.services.network.edits.results import Effect, Severity, counted
from app.services.network.edits.watching import watching_effects
from app.services.network.sections import Row

RECENT: Final = timedelta(hours=24)

WIDE: Final = {4: 8, 6: 19}
"""Prefix lengths by IP version: so short, or shorter, a network takes in whole providers."""


def effects_of(connection: Connection, plan: PlannedEdit, now: datetime) -> Iterator[Effect]:
    """Every effect of the planned change, from the same view of the database as the plan."""
    change = plan.change
    if change is None:
        return
    if plan.section.part in BLOCKED:
        yield from _of_block(connection, change, now)
        return
    before, after = (build_terms(_dated(rows, now)) for rows in (plan.before, plan.after))
    yield from _of_chain(connection, change)
    route_changes = RouteChanges.between(before, after)
    recent = sent_since(connection, now - RECENT, {stopped.route_key for stopped in route_changes.stopped})
    yield from route_changes.effects(recent)
    yield from price_effects(before, after, reported_fees(connection))
    yield from _of_unknown_fees(change)
    yield from _of_token(change)
    yield from _of_pool(connection, change, after, now)
    yield from _of_route_block(change, before, route_changes)
    yield from watching_effects(plan.before, plan.after)


def needs_typed(change: Change | None) -> str | None:
    """The name to type before the change is saved: of a chain that it stops."""
    if change is None or change.section.name != "chains" or change.before is None or change.after is None:
        return None
    name: str = change.before["name"]
    return name if change.after["disabled"] and not change.before["disabled"] else None


def _dated(rows: Mapping[str, list[Row]], now: datetime) -> Mapping[str, list[Row]]:
    """The rows, with the time that a new route gets only when it is saved."""
    return {**rows, "routes": [{"base_fee_changed_at": now} | row for row in rows["routes"]]}


def _of_chain(connection: Connection, change: Change) -> Iterator[Effect]:
    if needs_typed(change) is None:
        return
    count = count_transfers(connection, of_chain(change.row["chain_id"]), under_way=True)
    if count:
        over = "over " if count > COUNT_LIMIT else ""
        many = counted(min(count, COUNT_LIMIT), "transfer")
        verb = "is" if count == 1 else "are"
        yield Effect(
            f"{over}{many} {verb} under way from or to {change.row['name']}: they go on, and their status "
            "is answered as before"
        )
    yield Effect(f"no estimate is given from or to {change.row['name']} until it is enabled", Severity.GRAVE)


def _of_unknown_fees(change: Change) -> Iterator[Effect]:
    """A new route or pair that cannot be quoted. What an edit makes unknown is told with the prices."""
    row = change.after
    if change.before is not None or row is None:
        return
    names = ("base_fee", "deposit_base_fee", "burn_base_fee", "perc_fee_tiers")
    if any(row.get(name, ()) is None for name in names):
        yield Effect("a fee is not known: no estimate that needs it is given", Severity.GRAVE)


def _of_token(change: Change) -> Iterator[Effect]:
    before, after = change.before, change.after
    if change.section.name != "tokens" or before is None or after is None:
        return
    if before["decimal"] != after["decimal"]:
        yield Effect(
            f"amounts of {change.section.describe(before)} are read with {after['decimal']} decimals "
            f"instead of {before['decimal']}: caps, fees and counters keep their smallest units",
            Severity.GRAVE,
        )
    if before["address"] != after["address"]:
        yield Effect(f"clients are told another contract: {after['address']}", Severity.GRAVE)


def _of_pool(connection: Connection, change: Change, after: NetworkTerms, now: datetime) -> Iterator[Effect]:
    """What new caps mean for the balance and the volume of this epoch (docs/interface.md#pools)."""
    row = change.after
    if change.section.name != "pools" or row is None:
        return
    pool_key = PoolKey(row["chain_id"], row["symbol"])
    terms, token = after.pools[pool_key], after.tokens[pool_key]
    epoch = None if row["epoch_cap"] is None else Epoch.at(now, row["epoch_seconds"])
    facts = estimate_facts(connection, RouteKey(pool_key.symbol, pool_key.chain_id, pool_key.chain_id), epoch)
    pool = terms.moved_by(facts.src)
    name = f"{row['symbol']} from {chain_names(after)[row['chain_id']]}"
    for column, cap, used, until in (
        ("total_cap", row["total_cap"], pool.balance, "until the pool holds less"),
        ("epoch_cap", row["epoch_cap"], facts.epoch_volume, "until the next epoch"),
    ):
        if column not in change.columns:
            continue
        what = "total cap" if column == "total_cap" else f"cap of an epoch of {row['epoch_seconds']:,} s"
        if cap is None:
            yield Effect(f"the {what} of {name} is lifted: there is none any more")
        elif cap <= used:
            shown = (f"{format_units(amount, token.decimals)} {row['symbol']}" for amount in (cap, used))
            yield Effect(
                f"the {what} of {name} is {next(shown)}, and {next(shown)} is used already: "
                f"no transfer is taken {until}",
                Severity.GRAVE,
            )
        else:
            left = f"{format_units(cap - used, token.decimals)} {row['symbol']}"
            yield Effect(f"under the new {what} of {name} there is room for {left} now", Severity.PLAIN)


def _of_route_block(change: Change, before: NetworkTerms, route_changes: RouteChanges) -> Iterator[Effect]:
    """A new block that stops nothing now may name another route than the operator meant, so it is noted."""
    row = change.after
    if (
        change.section.name != "route_blocks"
        or row is None
        or change.before is not None
        or route_changes.stopped
    ):
        return
    route_key = RouteKey(row["symbol"], row["src_chain_id"], row["dst_chain_id"])
    known = [w for w in (route_key, route_key.reverse) if w in before.routes or w in before.pegged]
    if not known:
        yield Effect("there is no such route or pegged pair: the block stops nothing now")
    elif not any(is_open(before, key) for key in known):
        yield Effect("nothing it names is open now: the block stops nothing more")


def _of_block(connection: Connection, change: Change, now: datetime) -> Iterator[Effect]:
    """The effects of a blocked address or network."""
    row = change.after
    if row is None:
        yield Effect("callers it stopped are given estimates again at once")
        return
    if row["expires_at"] is not None and row["expires_at"] <= now:
        yield Effect("its end has passed already: it blocks nothing")
    if change.section.name == "blocked_networks":
        yield from network_effects([row["cidr"]])
        return
    if count := recent_transfers(connection, {row["address"].casefold()}, now):
        yield Effect(f"this address sent or received {counted(count, 'transfer')} in the last 24 hours")


def network_effects(cidrs: list[str]) -> Iterator[Effect]:
    """A warning where networks are so wide that they block more than was likely meant."""
    wide = [n for n in map(ip_network, cidrs) if n.prefixlen <= WIDE[n.version]]
    if wide:
        lines = tuple(f"{n}: {n.num_addresses:,} addresses" for n in wide[:10])
        name = "a very wide network" if len(wide) == 1 else f"{len(wide):,} very wide networks"
        yield Effect(f"{name}: make sure that all of it is meant", Severity.GRAVE, lines)


def recent_transfers(connection: Connection, addresses: set[str], now: datetime) -> int:
    """How many transfers of the last 24 hours have one of the (casefolded) addresses on either side."""
    tokens = {(row["chain_id"], row["symbol"]) for row in load_rows(connection, Token)}
    return sum(
        any(party is not None and party.casefold() in addresses for party in parties)
        for parties in parties_since(connection, now - RECENT, tokens)
    )
