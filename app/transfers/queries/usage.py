"""Counts and finds the transfers that concern a chain, a token, a route or an account, or part of an id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    exists,
    func,
    or_,
    select,
    tuple_,
)

from app.db.types import at_most
from app.network.handed_in import COUNT_LIMIT
from app.network.models import Chain, Token
from app.transfers.models import (
    PrunedPool,
    Transfer,
    TransferAccount,
    TrendCount,
    transfer_is_open,
)
from app.transfers.queries.trends import HOURLY
from app.values.codes import RESTING_STATUSES, SendKind, TransferHistoryStatus
from app.values.identifiers import ChainId, PoolKey, RouteKey
from app.values.times import hour_of, unix_milliseconds

T = TypeVar("T")

_SUBMITTED_BEFORE: Final = timedelta(hours=24)
"""How long before its send a transfer may have been submitted. Accounts list it by the earlier time."""

_CHUNK: Final = 500
"""Accounts named in one statement."""

UNDER_WAY: Final = tuple(status.value for status in TransferHistoryStatus if status not in RESTING_STATUSES)


def transfers_using(
    connection: Connection, chain_id: ChainId, symbol: str | None, limit: int
) -> tuple[int, list[bytes]]:
    """How many transfers use a chain, or a token of it, up to ``COUNT_LIMIT`` + 1, and the ids of some."""
    which = or_(Transfer.src_chain_id == chain_id, Transfer.dst_chain_id == chain_id)
    if symbol is not None:
        which &= Transfer.symbol == symbol
    some = connection.scalars(select(Transfer.transfer_id).where(which).limit(at_most(limit)))
    return _count(connection, which), list(some)


def _count(connection: Connection, which: ColumnElement[bool]) -> int:
    bounded = select(Transfer.transfer_id).where(which).limit(at_most(COUNT_LIMIT + 1)).subquery()
    return connection.scalar(select(func.count()).select_from(bounded)) or 0


def count_under_way(connection: Connection, chain_id: ChainId) -> int:
    # They are few, and found by their status. The sums stop SQLite from using the chains' indexes, by which
    # it would read every transfer that the chain ever had.
    of_either = or_(Transfer.src_chain_id + 0 == chain_id, Transfer.dst_chain_id + 0 == chain_id)
    return _count(connection, Transfer.status.in_(UNDER_WAY) & of_either)


def transfers_of_tokens(connection: Connection, tokens: Collection[tuple[int, str]]) -> Sequence[bytes]:
    """The ids of the transfers of any of the tokens, each given by chain id and symbol, on either side."""
    of_tokens = or_(
        tuple_(Transfer.src_chain_id, Transfer.symbol).in_(tokens),
        tuple_(Transfer.dst_chain_id, Transfer.symbol).in_(tokens),
    )
    return connection.scalars(select(Transfer.transfer_id).where(of_tokens)).all()


def paid_out_on_routes(connection: Connection, routes: Collection[RouteKey]) -> Sequence[bytes]:
    """The ids of the pool transfers on any of the routes that have a canonical release."""
    route = (Transfer.symbol, Transfer.src_chain_id, Transfer.dst_chain_id)
    paid_out = (Transfer.kind == SendKind.POOL.value, Transfer.released_at.is_not(None))
    return connection.scalars(
        select(Transfer.transfer_id).where(tuple_(*route).in_(list(routes)), *paid_out)
    ).all()


def transfers_naming_contracts(
    connection: Connection,
    src_chain_ids: Collection[ChainId],
    symbol: str | None,
    contracts: Collection[str] | None,
) -> Sequence[bytes]:
    """The ids of transfers from these chains whose send names one of the contracts.

    :param symbol: None for every token. Of other tokens and of unknown ones those that name ``contracts``.
    :param contracts: None for any contract that a send names.
    """
    query = select(Transfer.transfer_id).where(Transfer.src_chain_id.in_(src_chain_ids))
    if contracts is not None:
        query = query.where(Transfer.contract.in_(contracts))
    else:
        query = query.where(Transfer.contract.is_not(None))
        if symbol is not None:
            query = query.where(or_(Transfer.symbol == symbol, Transfer.symbol.is_(None)))
    return connection.scalars(query).all()


def transfers_naming_tokens(
    connection: Connection, src_chain_ids: Collection[ChainId], symbols: Collection[str]
) -> Sequence[bytes]:
    """The ids of transfers from these chains whose send names its token's address, of these symbols or of
    none.
    """
    query = select(Transfer.transfer_id).where(
        Transfer.src_chain_id.in_(src_chain_ids),
        or_(Transfer.symbol.is_(None), Transfer.symbol.in_(symbols)),
        Transfer.token.is_not(None),
    )
    return connection.scalars(query).all()


def tokens_of_one_address(connection: Connection, symbols: Collection[str]) -> list[PoolKey]:
    """The tokens at an address that has one of these symbols and at least one other on its chain."""
    address = func.lower(Token.address)
    of_symbols = select(Token.chain_id, address.label("address")).where(Token.symbol.in_(symbols))
    named = of_symbols.distinct().subquery()
    same = (Token.chain_id == named.c.chain_id) & (address == named.c.address)
    rows = connection.execute(select(Token.chain_id, named.c.address, Token.symbol).join(named, same)).all()
    listed = Counter((chain_id, address) for chain_id, address, _ in rows)
    return [PoolKey(chain_id, symbol) for chain_id, address, symbol in rows if listed[chain_id, address] > 1]


def sent_since(
    connection: Connection, since: datetime, route_keys: Collection[RouteKey]
) -> dict[RouteKey, int]:
    """How many transfers were sent on each of the routes in the hour of that time and since then. Routes
    without any are omitted. Read from the feed's counts, so that nobody who stops a chain waits for it.
    """
    if not route_keys:
        return {}
    ends = TrendCount.symbol, TrendCount.src_chain_id, TrendCount.dst_chain_id
    counts = connection.execute(
        select(*ends, func.sum(TrendCount.begun))
        .where(TrendCount.hours == HOURLY, TrendCount.span >= hour_of(since), TrendCount.kind != "")
        .group_by(*ends)
    )
    found = {(symbol, src, dst): int(count) for symbol, src, dst, count in counts if count > 0}
    return {route_key: found[route_key] for route_key in route_keys if route_key in found}


def transfers_of_accounts(
    connection: Connection, since: datetime, accounts: Collection[str]
) -> list[tuple[datetime, bytes]]:
    """Times and ids of the transfers sent since then that have one of the accounts (``account_key``) on
    either side.
    """
    found: set[tuple[datetime, bytes]] = set()
    began = unix_milliseconds(since - _SUBMITTED_BEFORE)
    wanted = sorted(accounts)
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        rows = connection.execute(
            select(Transfer.sent_at, Transfer.transfer_id)
            .join(TransferAccount, TransferAccount.transfer_id == Transfer.transfer_id)
            .where(
                TransferAccount.account.in_(chunk),
                TransferAccount.began_ms >= began,
                Transfer.sent_at >= since,
            )
        )
        found.update((at, transfer_id) for at, transfer_id in rows if at is not None)
    return sorted(found, reverse=True)


def transfers_use_chain(connection: Connection, chain_id: ChainId) -> bool:
    return _any(connection, Transfer.src_chain_id == chain_id) or _any(
        connection, Transfer.dst_chain_id == chain_id
    )


def chains_in_use(connection: Connection, chain_ids: Collection[int]) -> set[int]:
    of_either = (
        _exists(Transfer.src_chain_id == Chain.chain_id),
        _exists(Transfer.dst_chain_id == Chain.chain_id),
    )
    found: set[int] = set()
    for some in _chunks(chain_ids):
        found.update(
            connection.scalars(select(Chain.chain_id).where(Chain.chain_id.in_(some), or_(*of_either)))
        )
    return found


def tokens_in_use(connection: Connection, tokens: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
    """As :func:`transfers_use_token`, of many configured tokens in few statements."""
    of_symbol = Transfer.symbol == Token.symbol
    in_use = or_(
        _exists((PrunedPool.chain_id == Token.chain_id) & (PrunedPool.symbol == Token.symbol)),
        _exists(of_symbol & (Transfer.src_chain_id == Token.chain_id)),
        _exists(of_symbol & (Transfer.dst_chain_id == Token.chain_id)),
    )
    key, found = tuple_(Token.chain_id, Token.symbol), set[tuple[int, str]]()
    for some in _chunks(tokens):
        rows = connection.execute(select(Token.chain_id, Token.symbol).where(key.in_(some), in_use))
        found.update((chain_id, symbol) for chain_id, symbol in rows)
    return found


def tokens_of_open_sends(connection: Connection, tokens: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
    key, found = tuple_(Transfer.src_chain_id, Transfer.symbol), set[tuple[int, str]]()
    for some in _chunks(tokens):
        query = select(Transfer.src_chain_id, Transfer.symbol).where(transfer_is_open, key.in_(some))
        rows = connection.execute(query.distinct())
        found.update((chain_id, symbol) for chain_id, symbol in rows if chain_id is not None and symbol)
    return found


def _chunks(keys: Collection[T]) -> Iterator[list[T]]:
    every = list(dict.fromkeys(keys))
    return (every[start : start + _CHUNK] for start in range(0, len(every), _CHUNK))


def _exists(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(condition)


def transfers_use_token(connection: Connection, chain_id: ChainId, symbol: str) -> bool:
    of_symbol = Transfer.symbol == symbol
    if _any(connection, (PrunedPool.chain_id == chain_id) & (PrunedPool.symbol == symbol)):
        return True
    return _any(connection, of_symbol & (Transfer.src_chain_id == chain_id)) or _any(
        connection, of_symbol & (Transfer.dst_chain_id == chain_id)
    )


def open_transfers_use_contract(
    connection: Connection,
    kind: SendKind,
    symbol: str,
    chains: tuple[ChainId, ChainId | None],
    contracts: Collection[str | None],
) -> bool:
    """Whether a transfer that is not over was sent through one of a pegged pair's contracts.

    :param chains: the source chain, and the destination where it matters.
    :param contracts: as sends name them; None means sends that name none.
    """
    named = [contract for contract in contracts if contract is not None]
    unnamed = [Transfer.contract.is_(None)] if None in contracts else []
    through = or_(Transfer.contract.in_(named), *unnamed)
    src_chain_id, dst_chain_id = chains
    to = [] if dst_chain_id is None else [Transfer.dst_chain_id == dst_chain_id]
    of_pair = and_(Transfer.src_chain_id == src_chain_id, Transfer.symbol == symbol, *to)
    return _any(connection, and_(transfer_is_open, of_pair, Transfer.kind == kind.value, through))


def _any(connection: Connection, condition: ColumnElement[bool]) -> bool:
    return bool(connection.scalar(select(exists().where(condition))))


LOOKED_AT: Final = 5_000
"""Ids with the first digits that are compared with the last."""

_BYTES: Final = 32

ACCOUNTS_LOOKED_AT: Final = 100
"""Accounts, each found by a step along the index."""


def ids_with_part(connection: Connection, start: str, end: str, size: int) -> Sequence[bytes]:
    """The ids with this beginning and end, at most ``size``, in their order.

    :param start: lower-case hex digits, as ``end``; at least four.
    """
    first, last = (bytes.fromhex(start.ljust(2 * _BYTES, digit)) for digit in "0f")
    within = select(Transfer.transfer_id).where(Transfer.transfer_id.between(first, last))
    ids = connection.scalars(within.order_by(Transfer.transfer_id).limit(at_most(LOOKED_AT)))
    return [each for each in ids if each.hex().endswith(end)][:size]


def accounts_with_part(connection: Connection, start: str, end: str, size: int) -> list[str]:
    """The EVM accounts of transfers with this beginning and end, as ``account_key`` writes them.

    :param start: lower-case hex digits, at least four.
    """
    account = TransferAccount.account
    # No digit of hex sorts after g, in any order of letters that a database may use.
    last, beyond = f"0x{start}", f"0x{start}g"
    found: list[str] = []
    for _ in range(ACCOUNTS_LOOKED_AT):
        following = connection.scalar(select(func.min(account)).where(account > last, account < beyond))
        if following is None or len(found) == size:
            break
        last = following
        if following.startswith(f"0x{start}") and following.endswith(end):
            found.append(following)
    return found
