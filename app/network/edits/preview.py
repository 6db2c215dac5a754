"""The effects of an edit of the configuration, with warnings, computed before it is saved."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any, Final

from sqlalchemy import Connection

from app.audit.previews import Effect, Severity
from app.network.changes import Change
from app.network.edits.refusals import counted
from app.network.edits.route_changes import (
    chain_effects,
    chain_names,
    open_routes,
    price_effects,
    route_effects,
    watching_effects,
)
from app.network.edits.save import NetworkChange, stops
from app.network.edits.tried_routes import planned_terms
from app.network.handed_in import COUNT_LIMIT, POOL_USE, REPORTED_FEES, TRANSFER_USE
from app.network.models.columns import declared_columns
from app.network.models.document_fields import ConfiguredAccount, Different
from app.network.models.route_tables import PairToken
from app.network.queries import load_rows
from app.network.rules.terms import NetworkTerms
from app.network.sections import BLOCKED, SECTIONS, Part, Row
from app.values.amounts import grouped, tokens_text
from app.values.crypto import checksum_address, parse_evm_address
from app.values.identifiers import PoolKey, RouteKey, account_key
from app.values.times import Epoch

SHOWN: Final = 10
"""Accounts and networks that are named one by one."""

RECENT: Final = timedelta(hours=24)

WIDE: Final = {4: 8, 6: 19}
"""Prefix lengths by IP version: a network with this length or a shorter one covers whole providers."""

_HASH: Final = re.compile(r"0[xX][0-9a-fA-F]{64}", re.ASCII)
_ENDED: Final = "its end is in the past: it blocks nothing"


def effects_of(
    connection: Connection, plan: NetworkChange, now: datetime, *, typed: Mapping[str, Any] | None = None
) -> Iterator[Effect]:
    """Every effect of the planned changes, from the same view of the database as the plan.

    :param typed: the values as they were typed, where one row is edited.
    """
    by_part = {part: [change for change in plan.rows if change.section.part is part] for part in Part}
    for changes in map(by_part.get, BLOCKED):
        yield from _of_blocked(connection, changes or (), typed or {}, now)
    yield from _of_validators(by_part[Part.VALIDATORS], plan)
    if by_part[Part.CORE]:
        yield from _of_core(connection, by_part[Part.CORE], plan, now)


def _of_blocked(
    connection: Connection, changes: Sequence[Change], typed: Mapping[str, Any], now: datetime
) -> Iterator[Effect]:
    """The effects of changed addresses or networks of one section."""
    if any(change.after is None for change in changes):
        yield Effect("blocked callers get estimates again at once")
    rows = [change.after for change in changes if change.after is not None]
    new = [
        str(typed.get("address", change.row["address"])).strip()
        for change in changes
        if change.before is None and "address" in change.row
    ]
    if rows:
        yield from block_effects(connection, changes[0].section.name, rows, new, now)


def block_effects(
    connection: Connection, section: str, rows: Sequence[Row], typed: Collection[str], now: datetime
) -> Iterator[Effect]:
    """The effects of blocked addresses or networks.

    :param typed: the addresses that were not blocked before, as they were typed: the checksum of an EVM
        address is in its letter case.
    """
    if ended := sum(_has_ended(row, now) for row in rows):
        several = f"{counted(ended, 'entry', 'entries')} with an end in the past: no effect"
        yield Effect(_ENDED if len(rows) == 1 else several)
    if section == "blocked_networks":
        wide = [n for n in (ip_network(row["cidr"]) for row in rows) if n.prefixlen <= WIDE[n.version]]
        if wide:
            name = "a very wide network" if len(wide) == 1 else f"{grouped(len(wide))} very wide networks"
            lines = tuple(f"{n}: {grouped(n.num_addresses)} addresses" for n in wide[:SHOWN])
            yield Effect(f"{name}: check that you want to block all of it", Severity.GRAVE, lines)
        return
    own = _own_contracts(connection) if typed else {}
    ours = [f"{text}: {own[account_key(text)]}" for text in typed if account_key(text) in own]
    yield from _doubt(ours, "is one of our contracts", "are our own contracts", Severity.GRAVE)
    none = [f"{text}: {reason}" for text in typed if (reason := _why_no_account(text))]
    yield from _doubt(none, "does not look like an account", "do not look like accounts", Severity.NOTICE)
    accounts = {row["address"].casefold() for row in rows}
    if count := len(TRANSFER_USE(connection).transfers_of_accounts(connection, now - RECENT, accounts)):
        many = f"{counted(count, 'transfer')} in the last 24 hours"
        one = f"this address sent or received {many}"
        yield Effect(one if len(rows) == 1 else f"{many} came from or went to one of these")


def _doubt(lines: list[str], one: str, several: str, severity: Severity) -> Iterator[Effect]:
    """A warning about accounts, each with the reason after a colon."""
    if len(lines) == 1:
        text, _, reason = lines[0].partition(": ")
        yield Effect(f"{text} {one}: {reason}", severity)
    elif lines:
        shown = lines[:SHOWN] + ([f"and {grouped(len(lines) - SHOWN)} more"] if len(lines) > SHOWN else [])
        yield Effect(f"{grouped(len(lines))} of these {several}", severity, tuple(shown))


def _why_no_account(text: str) -> str:
    """Why a text does not look like an account; empty where it does."""
    raw = parse_evm_address(text)
    if raw is None:
        if _HASH.fullmatch(text):
            return "32 bytes are a transaction hash or a transfer ID on most chains"
        return "it is not an EVM address; check that the chain uses such accounts"
    if not any(raw):
        return "it is the zero address"
    digits = text[2:]
    if digits not in (digits.lower(), digits.upper()) and checksum_address(raw)[2:] != digits:
        return "its checksum is wrong, so it probably has a typing error"
    return ""


def _own_contracts(connection: Connection) -> dict[str, str]:
    """What each configured contract is, by its account key."""
    found: dict[str, str] = {}
    for section in SECTIONS:
        columns = {
            name: each.label or name.removesuffix("_addr").replace("_", " ")
            for name, each in declared_columns(section.model).items()
            if section.part is Part.CORE and isinstance(each.shape, ConfiguredAccount | Different | PairToken)
        }
        for row in load_rows(connection, section.model) if columns else ():
            for name, label in columns.items():
                value = row[name]
                several = value if isinstance(value, list) else [value]
                for address in (each.get("address") if isinstance(each, dict) else each for each in several):
                    if address:
                        what = f"{label[:1].lower()}{label[1:]} of {section.describe(row)}"
                        found.setdefault(account_key(address), what)
    return found


def _of_core(
    connection: Connection, changes: Sequence[Change], plan: NetworkChange, now: datetime
) -> Iterator[Effect]:
    """The effects on chains, tokens, routes and prices."""
    before, after = planned_terms(plan.before, plan.after, now)
    names = chain_names(before) | chain_names(after)
    was, will = open_routes(before), open_routes(after)
    for change in changes:
        yield from _of_chain(connection, change, plan.after["validators"])
    keys = {route.route_key for route in was - will}
    recent = TRANSFER_USE(connection).sent_since(connection, now - RECENT, keys)
    yield from route_effects(was - will, will - was, names, recent)
    yield from price_effects(before, after, REPORTED_FEES(connection), now)
    for change in changes:
        yield from _of_unknown_fees(change)
        yield from _of_token(change)
        yield from _of_pool(connection, change, after, now)
        yield from _of_route_block(change, {route.route_key for route in was}, now)
    yield from watching_effects(plan.before, plan.after)


def _of_validators(changes: Sequence[Change], plan: NetworkChange) -> Iterator[Effect]:
    """The effects on who signs refunds of existing chains, where no rotation is reported yet."""
    names = {row["chain_id"]: row["name"] for row in plan.before["chains"]}
    signed = {row["chain_id"] for row in plan.after["validators"]}
    for chain_id in sorted({change.row["chain_id"] for change in changes} & names.keys()):
        text = f"refunds on {names[chain_id]} are verified against the new opening validators until the feed"
        if chain_id not in signed:
            what = f"no opening validators of {names[chain_id]} are left"
            text = f"{what}: refunds there cannot be verified until the feed"
        yield Effect(f"{text} reports a rotation", Severity.GRAVE)


def _of_chain(connection: Connection, change: Change, validators: Sequence[Row]) -> Iterator[Effect]:
    if change.section.name == "chains" and change.after is not None:
        yield from chain_effects(change.before, change.after, validators)
    if not stops(change):
        return
    count = TRANSFER_USE(connection).count_under_way(connection, change.row["chain_id"])
    if count:
        over = "over " if count > COUNT_LIMIT else ""
        many = counted(min(count, COUNT_LIMIT), "transfer")
        verb = "is" if count == 1 else "are"
        yield Effect(
            f"{over}{many} {verb} in progress from or to {change.row['name']}: no change, and clients still "
            "see the status"
        )
    yield Effect(f"no estimates from or to {change.row['name']} until it is resumed", Severity.GRAVE)


def _of_unknown_fees(change: Change) -> Iterator[Effect]:
    """A new route or pair without quotes. What an edit makes unknown is among the effects on prices."""
    row = change.after
    if change.before is not None or row is None:
        return
    names = ("base_fee", "deposit_base_fee", "burn_base_fee", "perc_fee_tiers")
    if any(row.get(name, ()) is None for name in names):
        yield Effect("a fee is not known: no estimates that need it", Severity.GRAVE)


def _of_token(change: Change) -> Iterator[Effect]:
    before, after = change.before, change.after
    if change.section.name != "tokens" or before is None or after is None:
        return
    if before["decimal"] != after["decimal"]:
        yield Effect(
            f"amounts of {change.section.describe(before)} are read with {after['decimal']} decimals "
            f"instead of {before['decimal']}: caps, fees and counters keep their number of smallest units",
            Severity.GRAVE,
        )
    if before["address"] != after["address"]:
        yield Effect(f"clients see a new contract: {after['address']}", Severity.GRAVE)


def _of_pool(connection: Connection, change: Change, after: NetworkTerms, now: datetime) -> Iterator[Effect]:
    """New caps below the balance or the volume of this epoch (docs/interface/pools-and-latency.md#pools)."""
    row = change.after
    if change.section.name != "pools" or row is None:
        return
    key = PoolKey(row["chain_id"], row["symbol"])
    epoch = None if row["epoch_cap"] is None else Epoch.at(now, row["epoch_seconds"])
    counters, epoch_volume = POOL_USE(connection, key, epoch)
    name = f"{row['symbol']} on {chain_names(after)[row['chain_id']]}"
    for column, what, used, until in (
        ("total_cap", "total cap", after.pools[key].moved_by(counters).balance, "the balance is lower"),
        ("epoch_cap", f"epoch cap ({grouped(row['epoch_seconds'])} s)", epoch_volume, "the next epoch"),
    ):
        cap = row[column]
        if column in change.columns and cap is not None and cap <= used:
            decimals = after.tokens[key].decimals
            shown = [tokens_text(each, decimals, key.symbol) for each in (cap, used)]
            text = f"the new {what} of {name} is {shown[0]}, but {shown[1]} is used already"
            yield Effect(f"{text}: no transfers to it until {until}", Severity.GRAVE)


def _of_route_block(change: Change, were_open: Collection[RouteKey], now: datetime) -> Iterator[Effect]:
    """A new block that stops nothing now may name another route than the operator meant, so it is noted."""
    row = change.after
    if change.section.name != "route_blocks" or row is None or change.before is not None:
        return
    key = RouteKey(row["symbol"], row["src_chain_id"], row["dst_chain_id"])
    if _has_ended(row, now):
        yield Effect(_ENDED)
    elif not {key, *((key.reverse,) if row["both_directions"] else ())}.intersection(were_open):
        yield Effect("no route or pegged pair is open there: the block has no effect now")


def _has_ended(row: Row, now: datetime) -> bool:
    return row["expires_at"] is not None and row["expires_at"] <= now
