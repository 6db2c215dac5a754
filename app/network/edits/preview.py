"""What an edit of the configuration will do, with warnings, computed before it is saved."""

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
    RouteChanges,
    chain_effects,
    chain_names,
    is_open,
    price_effects,
    watching_effects,
)
from app.network.edits.save import NetworkChange, Rows, stops
from app.network.edits.tried_routes import planned_terms
from app.network.handed_in import COUNT_LIMIT, POOL_USE, REPORTED_FEES, TRANSFER_USE
from app.network.models import Chain, PeggedPair, Token
from app.network.queries import load_rows
from app.network.rules.terms import NetworkTerms
from app.network.sections import BLOCKED, Part, Row
from app.values.amounts import grouped, tokens_text
from app.values.crypto import checksum_address, parse_evm_address
from app.values.identifiers import PoolKey, RouteKey, account_key
from app.values.times import Epoch

SHOWN: Final = 10
"""Accounts that are named one by one."""

_HASH: Final = re.compile(r"0[xX][0-9a-fA-F]{64}", re.ASCII)
_OF_PAIRS: Final = (
    ("pegged_deposit_contract_addr", "vault"),
    ("pegged_burn_contract_addr", "bridge"),
    ("canonical_token_contract_addr", "canonical token"),
    ("migration_peg_burn_contract_addr", "earlier bridge"),
)
_LISTS_OF_PAIRS: Final = (("deposit_contracts", "further vault"), ("burn_contracts", "further bridge"))
_OF_CHAINS: Final = (
    ("contract_addr", "bridge contract"),
    ("farming_reward_contract_addr", "farming contract"),
    ("transfer_agent_contract_addr", "transfer agent"),
)


def account_doubts(connection: Connection, typed: Collection[str]) -> Iterator[Effect]:
    """Warnings about accounts that are to be blocked.

    :param typed: as they were typed: the checksum of an EVM address is in its letter case.
    """
    own = _own_contracts(connection)
    ours = [f"{text}: {own[account_key(text)]}" for text in typed if account_key(text) in own]
    if ours:
        yield _effect(ours, "is one of our contracts", "are our own contracts", Severity.GRAVE)
    none = [f"{text}: {reason}" for text in typed if (reason := _why_no_account(text))]
    if none:
        yield _effect(none, "does not look like an account", "do not look like accounts", Severity.NOTICE)


def _effect(lines: list[str], one: str, several: str, severity: Severity) -> Effect:
    shown = lines[:SHOWN] + ([f"and {grouped(len(lines) - SHOWN)} more"] if len(lines) > SHOWN else [])
    if len(lines) == 1:
        text, _, reason = lines[0].partition(": ")
        return Effect(f"{text} {one}: {reason}", severity)
    return Effect(f"{grouped(len(lines))} of these {several}", severity, tuple(shown))


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
    chains = load_rows(connection, Chain)
    names = {row["chain_id"]: row["name"] for row in chains}
    found: dict[str, str] = {}
    every = (
        *((row[column], f"the {what} of {row['name']}") for row in chains for column, what in _OF_CHAINS),
        *(
            (row["address"], f"the token {row['symbol']} on {names[row['chain_id']]}")
            for row in load_rows(connection, Token)
        ),
        *(of for row in load_rows(connection, PeggedPair) for of in _of_pair(row, names)),
    )
    for address, what in every:
        if address:
            found.setdefault(account_key(address), what)
    return found


def _of_pair(row: Mapping[str, Any], names: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    pair = f"{row['symbol']} from {names[row['org_chain_id']]} to {names[row['pegged_chain_id']]}"
    for column, what in _OF_PAIRS:
        yield row[column], f"the {what} of {pair}"
    for column, what in _LISTS_OF_PAIRS:
        yield from ((address, f"a {what} of {pair}") for address in row[column])
    for side in ("org_token", "pegged_token"):
        yield row[side].get("address", ""), f"a token of {pair}"


RECENT: Final = timedelta(hours=24)

LISTED: Final = 20
"""Transfers that are listed one by one."""

ENDED: Final = "its end is in the past: it blocks nothing"

_BLOCKS_ONE_BY_ONE: Final = 20

WIDE: Final = {4: 8, 6: 19}
"""Prefix lengths by IP version: a network with this length or a shorter one covers whole providers."""


def effects_of(
    connection: Connection, plan: NetworkChange, now: datetime, *, typed: Mapping[str, Any] | None = None
) -> Iterator[Effect]:
    """Every effect of the planned changes, from the same view of the database as the plan.

    :param typed: the values as they were typed, where one row is edited.
    """
    blocks = [change for change in plan.rows if change.section.part in BLOCKED]
    for change in blocks[:_BLOCKS_ONE_BY_ONE]:
        yield from _of_block(connection, change, now, typed or {})
    if len(blocks) > _BLOCKS_ONE_BY_ONE:
        yield Effect(f"{counted(len(blocks) - _BLOCKS_ONE_BY_ONE, 'more change')} of blocked entries")
    yield from _of_validators(plan.rows, plan.after)
    changes = [change for change in plan.rows if change.section.part is Part.CORE]
    if changes:
        yield from _of_core(connection, changes, plan, now)


def _of_core(
    connection: Connection, changes: Sequence[Change], plan: NetworkChange, now: datetime
) -> Iterator[Effect]:
    """The effects on chains, tokens, routes and prices."""
    before, after = planned_terms(plan.before, plan.after, now)
    for change in changes:
        yield from _of_chain(connection, change, plan.after["validators"])
    route_changes = RouteChanges.between(before, after)
    use, stopped = TRANSFER_USE(connection), {each.route_key for each in route_changes.stopped}
    recent = use.sent_since(connection, now - RECENT, stopped)
    yield from route_changes.effects(recent)
    yield from price_effects(before, after, REPORTED_FEES(connection), now)
    for change in changes:
        yield from _of_unknown_fees(change)
        yield from _of_token(change)
        yield from _of_pool(connection, change, after, now)
        yield from _of_route_block(change, before, route_changes, now)
    if recent and any(change.section.name == "route_blocks" for change in changes):
        ids = use.latest_sent(connection, now - RECENT, recent.keys(), LISTED)
        yield Effect("the latest transfers there", Severity.PLAIN, transfer_ids=tuple(ids))
    yield from watching_effects(plan.before, plan.after)


def _of_validators(changes: Sequence[Change], after: Rows) -> Iterator[Effect]:
    """The effects on who signs refunds, where no rotation is reported yet."""
    by_chain: dict[int, list[Change]] = {}
    for change in changes:
        if change.section.part is Part.VALIDATORS:
            by_chain.setdefault(change.row["chain_id"], []).append(change)
    names = {row["chain_id"]: row["name"] for row in after["chains"]}
    new = {
        change.row["chain_id"] for change in changes if change.section.name == "chains" and not change.before
    }
    for chain_id, found in sorted(by_chain.items()):
        name = names.get(chain_id, f"chain {chain_id}")
        if chain_id in new:
            many = counted(len(found), "opening validator")
            yield Effect(f"refunds on {name} are verified against {many}", Severity.PLAIN)
        elif any(row["chain_id"] == chain_id for row in after["validators"]):
            yield Effect(
                f"refunds on {name} are verified against the new opening validators until the feed "
                "reports a rotation",
                Severity.GRAVE,
            )
        else:
            text = (
                f"no opening validators of {name} are left: refunds there cannot be verified until the feed"
            )
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
    """What new caps mean for the balance and the volume of this epoch (docs/interface.md#pools)."""
    row = change.after
    if change.section.name != "pools" or row is None:
        return
    pool_key = PoolKey(row["chain_id"], row["symbol"])
    terms, token = after.pools[pool_key], after.tokens[pool_key]
    epoch = None if row["epoch_cap"] is None else Epoch.at(now, row["epoch_seconds"])
    counters, epoch_volume = POOL_USE(connection, pool_key, epoch)
    pool = terms.moved_by(counters)
    name = f"{row['symbol']} on {chain_names(after)[row['chain_id']]}"
    for column, cap, used, until in (
        ("total_cap", row["total_cap"], pool.balance, "until the balance is lower"),
        ("epoch_cap", row["epoch_cap"], epoch_volume, "until the next epoch"),
    ):
        if column not in change.columns:
            continue
        what = "total cap" if column == "total_cap" else f"epoch cap ({grouped(row['epoch_seconds'])} s)"
        if cap is None and change.before is None:
            yield Effect(f"{name} has no {what}", Severity.PLAIN)
        elif cap is None:
            yield Effect(f"the {what} of {name} is removed: there is no limit")
        elif cap <= used:
            shown = (tokens_text(amount, token.decimals, row["symbol"]) for amount in (cap, used))
            yield Effect(
                f"the new {what} of {name} is {next(shown)}, but {next(shown)} is used already: "
                f"no transfers to it {until}",
                Severity.GRAVE,
            )
        else:
            left = tokens_text(cap - used, token.decimals, row["symbol"])
            yield Effect(f"the new {what} of {name} leaves room for {left} now", Severity.PLAIN)


def _of_route_block(
    change: Change, before: NetworkTerms, route_changes: RouteChanges, now: datetime
) -> Iterator[Effect]:
    """A new block that stops nothing now may name another route than the operator meant, so it is noted."""
    row = change.after
    if (
        change.section.name != "route_blocks"
        or row is None
        or change.before is not None
        or route_changes.stopped
    ):
        return
    if has_ended(row, now):
        yield Effect(ENDED)
        return
    route_key = RouteKey(row["symbol"], row["src_chain_id"], row["dst_chain_id"])
    known = [w for w in (route_key, route_key.reverse) if w in before.routes or w in before.pegged]
    if not known:
        yield Effect("there is no such route or pegged pair: the block has no effect now")
    elif not any(is_open(before, key) for key in known):
        yield Effect("these routes are stopped already: the block has no effect now")


def has_ended(row: Row, now: datetime) -> bool:
    """Whether the end of a block has passed."""
    return row["expires_at"] is not None and row["expires_at"] <= now


def _of_block(
    connection: Connection, change: Change, now: datetime, typed: Mapping[str, Any]
) -> Iterator[Effect]:
    """The effects of a blocked address or network."""
    row = change.after
    if row is None:
        yield Effect("blocked callers get estimates again at once")
        return
    new = [str(typed.get("address", row.get("address"))).strip()] if change.before is None else []
    yield from block_effects(connection, change.section.name, [row], new, now)


def block_effects(
    connection: Connection, section: str, rows: Sequence[Row], typed: Collection[str], now: datetime
) -> Iterator[Effect]:
    """The effects of blocked addresses or networks.

    :param typed: the addresses that were not blocked before, as they were typed.
    """
    if ended := sum(has_ended(row, now) for row in rows):
        several = f"{counted(ended, 'entry', 'entries')} with an end in the past: no effect"
        yield Effect(ENDED if len(rows) == 1 else several)
    if section == "blocked_networks":
        yield from network_effects([row["cidr"] for row in rows])
        return
    yield from account_doubts(connection, typed)
    accounts = {row["address"].casefold() for row in rows}
    use = TRANSFER_USE(connection)
    if rows and (recent := use.transfers_of_accounts(connection, now - RECENT, accounts)):
        ids = tuple(transfer_id for _, transfer_id in recent)  # the newest first
        many = f"{counted(len(ids), 'transfer')} in the last 24 hours"
        one = f"this address sent or received {many}"
        text = one if len(rows) == 1 else f"{many} came from or went to one of these"
        yield Effect(text, transfer_ids=ids[:LISTED])


def network_effects(cidrs: list[str]) -> Iterator[Effect]:
    """A warning where networks are so wide that they block more than was likely meant."""
    wide = [n for n in map(ip_network, cidrs) if n.prefixlen <= WIDE[n.version]]
    if wide:
        lines = tuple(f"{n}: {grouped(n.num_addresses)} addresses" for n in wide[:10])
        name = "a very wide network" if len(wide) == 1 else f"{grouped(len(wide))} very wide networks"
        yield Effect(f"{name}: check that you want to block all of it", Severity.GRAVE, lines)
