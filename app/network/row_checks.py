"""Refuses rows that contradict each other, and changes of what transfers use."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Self

from msgspec import Struct
from sqlalchemy import Connection

from app.network.changes import Change
from app.network.handed_in import TRANSFER_USE
from app.network.rules.quorum import MAX_TOTAL_POWER
from app.network.rules.terms import LONGEST_PIN
from app.network.sections import SECTIONS, Row, Section
from app.values.codes import SendKind
from app.values.json_values import read_time

_PAIRS_OF_CHAINS: Final = {
    "routes": ("src_chain_id", "dst_chain_id"),
    "route_blocks": ("src_chain_id", "dst_chain_id"),
    "pegged_pairs": ("org_chain_id", "pegged_chain_id"),
}

PIN: Final = ("pinned_base_fee", "pinned_until")

Rows = Mapping[str, list[Row]]


def faults(document: Rows) -> Iterator[str]:
    """Every rule that the rows break, each line after the JSON path it is about."""
    yield from _repeated(document)
    yield from _unknown_chains(document)
    yield from _unknown_tokens(document)
    yield from _unknown_pools(document)
    yield from _circular(document)
    yield from _pegged_both_ways(document["pegged_pairs"])
    yield from _further_contracts(document["pegged_pairs"])
    yield from _powers(document["validators"])
    for index, row in enumerate(document["chains"]):
        if row["retired"] and not row["disabled"]:
            yield f"chains[{index}].retired: only a chain that is stopped can be retired"


def _repeated(document: Rows) -> Iterator[str]:
    for section in SECTIONS:
        first: dict[tuple[object, ...], int] = {}
        for index, row in enumerate(document[section.name]):
            earlier = first.setdefault(section.identity(row), index)
            if earlier != index:
                yield (
                    f"{section.name}[{index}]: {section.describe(row)} "
                    f"must not be given twice, first in {section.name}[{earlier}]"
                )


def _unknown_chains(document: Rows) -> Iterator[str]:
    known = {row["chain_id"] for row in document["chains"]}
    for name in ("tokens", "validators"):
        for index, row in enumerate(document[name]):
            if row["chain_id"] not in known:
                yield f"{name}[{index}].chain_id: chain {row['chain_id']} is not among the chains"


def _unknown_tokens(document: Rows) -> Iterator[str]:
    known = {(row["chain_id"], row["symbol"]) for row in document["tokens"]}
    for index, row in enumerate(document["pools"]):
        if (row["chain_id"], row["symbol"]) not in known:
            yield f"pools[{index}]: there is no token {row['symbol']} on chain {row['chain_id']}"
    for index, row in enumerate(document["routes"]):  # a block may name what is not configured yet
        for column in _PAIRS_OF_CHAINS["routes"]:
            if (row[column], row["symbol"]) not in known:
                yield f"routes[{index}].{column}: there is no token {row['symbol']} on chain {row[column]}"
    chains = {row["chain_id"] for row in document["chains"]}
    for index, row in enumerate(document["pegged_pairs"]):
        for side in PAIR_SIDES:
            chain_id = row[side.source]
            if (chain_id, row["symbol"]) in known:
                continue
            lacking = [key for key in ("address", "decimal") if key not in row[side.token]]
            if chain_id not in chains or lacking:
                hint = f'; add it, or give its address and decimal under "{side.token}"' if lacking else ""
                yield (
                    f"pegged_pairs[{index}].{side.source}: there is no token {row['symbol']} "
                    f"on chain {chain_id}{hint}"
                )


def _unknown_pools(document: Rows) -> Iterator[str]:
    known = {(row["chain_id"], row["symbol"]) for row in document["pools"]}
    for index, row in enumerate(document["routes"]):
        for column in _PAIRS_OF_CHAINS["routes"]:
            if (row[column], row["symbol"]) not in known:
                yield f"routes[{index}].{column}: there is no pool of {row['symbol']} on chain {row[column]}"


def _circular(document: Rows) -> Iterator[str]:
    for name, (one, other) in _PAIRS_OF_CHAINS.items():
        for index, row in enumerate(document[name]):
            if row[one] == row[other]:
                yield f"{name}[{index}].{other}: must be a different chain than {one}"


def _pegged_both_ways(pairs: Iterable[Row]) -> Iterator[str]:
    """Of two chains only one can be the original of a token. Otherwise a transfer would be both kinds."""
    first: dict[tuple[str, int, int], int] = {}
    for index, row in enumerate(pairs):
        org, pegged = row["org_chain_id"], row["pegged_chain_id"]
        first.setdefault((row["symbol"], org, pegged), index)
        earlier = first.get((row["symbol"], pegged, org), index)
        if earlier != index:
            yield (
                f"pegged_pairs[{index}]: must not name chain {org} as the original of {row['symbol']} "
                f"for chain {pegged}: pegged_pairs[{earlier}] has the opposite direction"
            )


def _further_contracts(pairs: Iterable[Row]) -> Iterator[str]:
    for index, row in enumerate(pairs):
        for side in PAIR_SIDES:
            if row[side.own] in row[side.further]:
                place = row[side.further].index(row[side.own])
                yield f"pegged_pairs[{index}].{side.further}[{place}]: must not repeat the pair's {side.own}"


def _powers(validators: Iterable[Row]) -> Iterator[str]:
    totals: dict[int, int] = {}
    for row in validators:
        totals[row["chain_id"]] = totals.get(row["chain_id"], 0) + row["power"]
    for chain_id, total in totals.items():
        if not 0 < total <= MAX_TOTAL_POWER:
            yield f"validators: the powers of chain {chain_id} must add up to more than 0 and less than 2^255"


class PairSide(Struct, frozen=True):
    """One side of a pegged pair: the columns of its contracts, and the sends that these take.

    ``destination`` is set where only sends of the pair use this side; a burn may go to a third chain.
    ``token`` is the column with the pair's values for the token that they send.
    """

    kind: SendKind
    own: str
    further: str
    version: str
    source: str
    destination: str | None
    token: str


PAIR_SIDES: Final = (
    PairSide(
        SendKind.DEPOSIT, "pegged_deposit_contract_addr", "deposit_contracts", "vault_version",
        "org_chain_id", "pegged_chain_id", "org_token",
    ),
    PairSide(
        SendKind.BURN, "pegged_burn_contract_addr", "burn_contracts", "bridge_version",
        "pegged_chain_id", None, "pegged_token",
    ),
)  # fmt: skip


class UsedRows(Struct, frozen=True):
    """What transfers use among the rows that changes are about, read in few statements for all of them.

    ``open_sends`` are tokens by the chain from which a transfer that is not over was sent.
    """

    chains: Container[int]
    tokens: Container[tuple[int, str]]
    open_sends: Container[tuple[int, str]]

    @classmethod
    def by(cls, connection: Connection, changes: Iterable[Change]) -> Self:
        """The rows in use among the present ones that are changed or removed."""
        rows: dict[str, list[Row]] = {}
        for change in changes:
            if change.before is not None:
                rows.setdefault(change.section.name, []).append(change.before)
        pairs = [
            (pair[side.source], pair["symbol"])
            for pair in rows.get("pegged_pairs", ())
            for side in PAIR_SIDES
        ]
        tokens = [(row["chain_id"], row["symbol"]) for row in rows.get("tokens", ())]
        use = TRANSFER_USE(connection)
        return cls(
            use.chains_in_use(connection, [row["chain_id"] for row in rows.get("chains", ())]),
            use.tokens_in_use(connection, tokens),
            use.tokens_of_open_sends(connection, pairs),
        )


def refusals(connection: Connection, changes: Sequence[Change]) -> Iterator[str]:
    """The reason for each refused change, after its JSON path (docs/network.md#rules)."""
    in_use = UsedRows.by(connection, changes)
    for change in changes:
        if change.section.name == "chains":
            yield from _of_chain(in_use, change)
        elif change.section.name == "tokens":
            yield from _of_token(in_use, change)
        elif change.section.name == "pegged_pairs":
            yield from _of_pair(connection, in_use, change)


def _of_chain(in_use: UsedRows, change: Change) -> Iterator[str]:
    row = change.before
    # Where there was no contract yet, nothing can have been signed for one.
    replaced = row is not None and bool(row["contract_addr"]) and "contract_addr" in change.columns
    if row is None or not (change.after is None or replaced):
        return
    if row["chain_id"] not in in_use.chains:
        return
    if change.after is None:
        yield (
            f"chains: transfers use chain {row['chain_id']}, so it cannot be removed; "
            'keep it and set its "disabled" to true'
        )
    else:
        yield (
            f"chains[{change.index}].contract_addr: transfers use chain {row['chain_id']}, and refunds are "
            f"signed for its contract; keep {row['contract_addr']} "
            '(to stop new transfers, set "disabled" to true)'
        )


def _of_token(in_use: UsedRows, change: Change) -> Iterator[str]:
    row = change.before
    edited = [column for column in ("address", "decimal") if column in change.columns]
    if row is None or not edited:
        return
    if (row["chain_id"], row["symbol"]) not in in_use.tokens:
        return
    name = f"{row['symbol']} on chain {row['chain_id']}"
    if change.after is None:
        yield (
            f"tokens: transfers use {name}, so it cannot be removed; "
            'keep it and set its "xfer_disabled" to true'
        )
        return
    for column in edited:
        yield (
            f"tokens[{change.index}].{column}: transfers use {name}, and their amounts and refunds depend "
            f'on it; keep {row[column]} (for another contract, set "xfer_disabled" to true here '
            "and list that one under a new symbol)"
        )


def _of_pair(connection: Connection, in_use: UsedRows, change: Change) -> Iterator[str]:
    before, after = change.before, change.after
    if before is None:
        return
    for side in PAIR_SIDES:
        if (before[side.source], before["symbol"]) not in in_use.open_sends:
            continue
        if after is None:
            gone = {None, before[side.own], *before[side.further]}
            if sent_through(connection, side, before, gone):
                yield (
                    f"pegged_pairs: open transfers use {change.section.describe(before)}, and refunds are "
                    "signed for its contracts, so it cannot be removed; keep it and stop new transfers with "
                    "a route block"
                )
                return
            continue
        for column in _changed_under(connection, side, before, after):
            contract = _as_text(before[column])
            listed = f'; list further contracts under "{side.further}"' if column == side.own else ""
            yield (
                f"pegged_pairs[{change.index}].{column}: open {side.kind.value} transfers of "
                f"{before['symbol']} from chain {before[side.source]} use it, and refunds are signed for it; "
                f"keep {contract}{listed}"
            )


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        parts = (f"{key} {value[key]}" for key in ("address", "decimal") if key in value)
        return " and ".join(parts) or "the chain's own token"
    return str(value)


def _changed_under(connection: Connection, side: PairSide, before: Row, after: Row) -> Iterator[str]:
    """The columns whose change concerns open transfers. One more contract concerns none."""
    own = before[side.own]
    still = {after[side.own], *after[side.further]}
    if after[side.own] != own:
        # Sends that name no contract were taken by the pair's own contract. Where there was none yet,
        # nothing can have been signed for it.
        if own and sent_through(connection, side, before, {None} if own in still else {None, own}):
            yield side.own
    elif after[side.version] != before[side.version] and sent_through(connection, side, before, {None, own}):
        yield side.version
    gone = set(before[side.further]) - still
    if gone and sent_through(connection, side, before, gone):
        yield side.further
    was, will = ([row[side.token].get(key) for key in ("address", "decimal")] for row in (before, after))
    every = {None, own, *before[side.further]}
    if was != will and sent_through(connection, side, before, every):
        yield side.token


def sent_through(
    connection: Connection, side: PairSide, pair: Mapping[str, Any], contracts: set[str | None]
) -> bool:
    """Whether open transfers of the pair were sent through one of these; None: without naming one."""
    destination = None if side.destination is None else pair[side.destination]
    return TRANSFER_USE(connection).open_transfers_use_contract(
        connection, side.kind, pair["symbol"], (pair[side.source], destination), contracts
    )


def pins_too_long(changes: Iterable[Change], now: datetime) -> Iterator[str]:
    """The reason for each pin that would last too long, after its JSON path. A stored pin is not validated
    again. One that has ended may be imported, as an export contains both.
    """
    for change in changes:
        row = change.after
        if change.section.name != "routes" or row is None or "pinned_until" not in change.columns:
            continue
        until = row["pinned_until"]
        if until is not None and until - now > LONGEST_PIN:
            latest = f"{now + LONGEST_PIN:%Y-%m-%d %H:%M}Z"
            yield (
                f"routes[{change.index}].pinned_until: must be at most {LONGEST_PIN.days} days ahead, "
                f"no later than {latest}: a pinned fee hides what the event feed reports"
            )


def makes_ended_pin(section: Section, before: Row | None, row: Row, now: datetime) -> bool:
    """Whether a row gets a pin that has ended. A document may contain one, but an edit may not make one."""
    if section.name != "routes" or row["pinned_until"] is None or row["pinned_until"] > now:
        return False
    return before is None or any(row[column] != before[column] for column in PIN)


def without_ended_pin(documented: Mapping[str, Any], now: datetime) -> dict[str, None]:
    """Null for the columns of a pin that has ended: it would not count, and cannot be made again."""
    until = documented.get("pinned_until")
    return {} if until is None or read_time(until) > now else dict.fromkeys(PIN)
