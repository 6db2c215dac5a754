"""The status of transfers, and how far each has come (docs/interface/progress.md#progress)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, Row

from app.db.database import Database
from app.network.rules.terms import ChainInfo, NetworkTerms
from app.network.snapshot import NetworkSnapshot, SnapshotSource
from app.transfers.handed_in import CHAIN_DEPTHS, ROUTE_TIMES
from app.transfers.queries.history import NamedBy, TransferEntry, send_ids, transfers_sent_by, unknown_ids
from app.transfers.queries.status import TransferRow, transfer_row, transfer_rows
from app.transfers.queries.trends import last_event, newest_events, newest_of_chain
from app.transfers.rules.events.keys import in_block_order
from app.transfers.rules.progress import (
    UNKNOWN_TIMES,
    UNREAD,
    FinalBy,
    Progress,
    RouteTimes,
    follows_route,
    is_final,
    progress_of,
)
from app.values.codes import (
    FINISHED_STATUSES,
    BridgeType,
    Reason,
    SendKind,
    TransferHistoryStatus,
    XferStatus,
)
from app.values.codes import TransferHistoryStatus as Status
from app.values.errors import GatewayError
from app.values.identifiers import MAX_CHAIN_ID, BlockNumber, ChainId, RouteKey, TransferId
from app.values.times import age_in_words

T = TypeVar("T")


class Known(Protocol):
    """The facts that progress follows from: the row of a transfer, or its state as projected from its log."""

    @property
    def status(self) -> int:
        """A ``TransferHistoryStatus``."""

    @property
    def sent_at(self) -> datetime | None:
        """When its canonical send happened."""

    @property
    def status_since(self) -> datetime | None:
        """When the event happened that decides the status."""

    @property
    def settled_block(self) -> BlockNumber | None:
        """The block that its end rests on; None where none is known."""

    @property
    def src_chain_id(self) -> ChainId | None:
        """Where it is sent from."""

    @property
    def dst_chain_id(self) -> ChainId | None:
        """Where it is paid out."""


def read_as_of(
    database: Database, question: Callable[[Connection], T], *, several: bool = False
) -> tuple[T, datetime | None]:
    """The result of a query, and a time up to which it contains every accepted event.

    The time is when the newest event was accepted, as read a moment before; None before the first event. If a
    replica does not have that event yet, the time is that of its own newest event.

    :param several: whether it takes several statements, which must see the same snapshot.
    """
    run = database.public.run_reads if several else database.public.run_read
    (as_of, named_by), _ = database.cached.run_read(
        last_event, lambda: database.public.run_read(_and_engine, _newest_taken_in)
    )
    found, engine = run(_and_engine, question)
    replica = database.public.replica
    if replica is not None and engine is replica.engine and named_by is not engine:
        return run(_and_as_of, question)
    return found, as_of


def _and_engine(connection: Connection, question: Callable[[Connection], T]) -> tuple[T, Engine]:
    return question(connection), connection.engine


def _and_as_of(connection: Connection, question: Callable[[Connection], T]) -> tuple[T, datetime | None]:
    as_of = _newest_taken_in(connection)
    return question(connection), as_of


def _newest_taken_in(connection: Connection) -> datetime | None:
    event = last_event(connection)
    return None if event is None else event.received_at


def progress_of_row(database: Database, snapshot: NetworkSnapshot, row: Known) -> Progress:
    status = TransferHistoryStatus(row.status)
    return progress_of(
        status,
        sent_at=row.sent_at,
        status_since=row.status_since,
        now=database.clock(),
        times=_times(database, row) if follows_route(status) else UNKNOWN_TIMES,
        final_by=_final_by(database, snapshot, row, status) if status in FINISHED_STATUSES else None,
    )


def _final_by(
    database: Database, snapshot: NetworkSnapshot, row: Known, status: TransferHistoryStatus
) -> FinalBy | None:
    """Why the end of a transfer is final; None while its block is not.

    The depth of the chains may be a moment old: then an end is final a moment later.
    """
    if row.settled_block is None:
        return FinalBy.REPORTED
    is_paid_out = status is TransferHistoryStatus.TRANSFER_COMPLETED
    chain_id = row.dst_chain_id if is_paid_out else row.src_chain_id
    if chain_id is None:
        return None
    chain = snapshot.terms.chain_infos.get(chain_id)
    depths, _ = database.cached.run_read(CHAIN_DEPTHS, lambda: database.public.run_read(CHAIN_DEPTHS))
    finality, block_delay = (chain.finality, chain.block_delay) if chain else (None, None)
    depth = depths.get(chain_id, UNREAD)
    if chain_id not in snapshot.watch_terms:
        depth = replace(depth, finalized=None)  # a watcher that read it once left its last word
    return FinalBy.BLOCK if is_final(row.settled_block, depth, finality, block_delay) else None


def _times(database: Database, row: Known) -> RouteTimes:
    if row.src_chain_id is None or row.dst_chain_id is None:
        return UNKNOWN_TIMES
    return route_times(database, row.src_chain_id, row.dst_chain_id)


def route_times(database: Database, src_chain_id: ChainId, dst_chain_id: ChainId) -> RouteTimes:
    """How long transfers between two chains usually take. Some minutes old, so only for hints.

    Chains need not be known. ``UNKNOWN_TIMES`` where no transfer was released, and for numbers that no chain
    can be configured with.
    """
    if max(src_chain_id, dst_chain_id) > MAX_CHAIN_ID:
        return UNKNOWN_TIMES
    times, _ = database.hints.run_read(
        (ROUTE_TIMES, src_chain_id, dst_chain_id),
        lambda: database.public.run_read(ROUTE_TIMES, src_chain_id, dst_chain_id, database.clock()),
    )
    return times


NAMED_CHAINS: Final = 24
"""Chains in the message about an unknown transfer."""


class TransferStatus(Struct, frozen=True):
    """The answer. Evidence is base64, and present only at status 8. An unknown link is ``""``."""

    status: Status
    refund_reason: XferStatus
    wd_onchain: str | None = None
    sorted_sigs: list[str] = field(default_factory=list)
    signers: list[str] = field(default_factory=list)
    powers: list[str] = field(default_factory=list)
    block_delay: int = 0
    src_block_tx_link: str = ""
    dst_block_tx_link: str = ""
    bridge_type: BridgeType = BridgeType.UNDEFINED
    progress: Progress | None = None
    as_of: datetime | None = None
    """When the newest fact was taken in that the answer can rest on. Histories have neither."""
    meant: TransferId | None = None
    """Which transfer it is, where the request named a transaction."""
    meant_count: int = 1
    """How many transfers that transaction has."""


def transfer_status(database: Database, snapshots: SnapshotSource, transfer_id: TransferId) -> TransferStatus:
    """:raises GatewayError: no such transfer; the message says how fresh the gateway's view is.
    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = snapshots.current()
    row, as_of = read_as_of(database, lambda connection: transfer_row(connection, transfer_id))
    if row is None:
        raise transfer_not_found(database, snapshot, transfer_id)
    return status_of(snapshot.terms, row, progress_of_row(database, snapshot, row), as_of)


def transfer_statuses(
    database: Database, snapshots: SnapshotSource, transfer_ids: Sequence[TransferId]
) -> list[TransferStatus | GatewayError]:
    """The status of each transfer, or the error that :func:`transfer_status` raises, in the order requested.

    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = snapshots.current()
    wanted = list(dict.fromkeys(transfer_ids))
    found, as_of = read_as_of(database, lambda connection: transfer_rows(connection, wanted))
    unknown = [transfer_id for transfer_id in transfer_ids if transfer_id not in found]
    missing = _not_found(database, snapshot.terms, unknown) if unknown else {}
    return [
        status_of(snapshot.terms, row, progress_of_row(database, snapshot, row), as_of)
        if (row := found.get(transfer_id)) is not None
        else missing[transfer_id]
        for transfer_id in transfer_ids
    ]


def transfer_status_by_transaction(
    database: Database, snapshots: SnapshotSource, tx_hash: str, chain_id: ChainId
) -> TransferStatus:
    """The status of the transfer that a transaction (``wire_values.parse_tx_hash``) of its source chain sent.
    Of several the first in its block counts (docs/api/getTransferStatus.md#by-transaction).

    :raises GatewayError: no such transfer; the message says how fresh the gateway's view is.
    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = snapshots.current()
    (found, count), as_of = read_as_of(
        database, lambda connection: _first_of_transaction(connection, tx_hash, chain_id)
    )
    if found is None:
        raise _no_transfer(f"; {_freshness_of(database, snapshot.terms, chain_id)}")
    status = status_of(snapshot.terms, found.status, progress_of_row(database, snapshot, found.status), as_of)
    return replace(status, meant=found.transfer_id, meant_count=count)


def _first_of_transaction(
    connection: Connection, tx_hash: str, chain_id: ChainId
) -> tuple[TransferEntry | None, int]:
    """The transfer that the transaction sent, the first in the block where it sent several; where it is the
    send of none, the one whose log names it otherwise. And how many such there are.
    """
    entries = transfers_sent_by(connection, chain_id, tx_hash)
    sent = [entry for entry in entries if entry.status.src_tx_hash == tx_hash] or entries
    if len(sent) < 2:
        return (sent[0] if sent else None), 1
    ids = send_ids(connection, [entry.transfer_id for entry in sent])

    def place(entry: TransferEntry) -> tuple[datetime, Any]:
        return entry.status.sent_at or entry.updated_at, in_block_order(ids.get(entry.transfer_id, ""))

    return min(sent, key=place), len(sent)


def transfer_not_found(
    database: Database, snapshot: NetworkSnapshot, transfer_id: TransferId
) -> GatewayError:
    """The error for an id that is not known, or no longer, for the caller to raise.

    Its message says how far each chain was read and how long ago, the configured chains first and not more
    than ``NAMED_CHAINS``: users whose transfer is missing see whether their chain is read. Of the hash of a
    transaction it names the transfer instead (docs/api/getTransferStatus.md#transaction-as-id).
    """
    return _not_found(database, snapshot.terms, [transfer_id])[transfer_id]


def _not_found(
    database: Database, terms: NetworkTerms, transfer_ids: Sequence[TransferId]
) -> dict[TransferId, GatewayError]:
    """:func:`transfer_not_found` of several, in one select. All unknown ids share one error."""
    pruned, named = database.public.run_read(unknown_ids, transfer_ids)
    errors = dict[TransferId, GatewayError]()
    for tx_hash, (meant, count) in _transfers_meant(database, named).items():
        others = "" if count == 1 else f", the first of {count}"
        said = (
            f"this is the hash of a transaction of transfer 0x{meant.hex()}{others}; send that as transfer_id"
        )
        errors[TransferId(bytes.fromhex(tx_hash[2:]))] = _no_transfer(f": {said}", meant, count)
    for transfer_id, status in pruned.items():
        errors[transfer_id] = _no_transfer(f": it {_ENDS[Status(status)]} long ago and is no longer stored")
    if len(errors) < len(set(transfer_ids)):
        unknown = _no_transfer(f"; {_freshness(database, terms)}")
        errors = dict.fromkeys(transfer_ids, unknown) | errors
    return errors


def _no_transfer(more: str, meant: TransferId | None = None, count: int = 1) -> GatewayError:
    msg = f"transfer not found{more}"
    return GatewayError(msg, reason=Reason.TRANSFER_NOT_FOUND, meant=meant, meant_count=count)


def _transfers_meant(database: Database, named: Iterable[NamedBy]) -> Mapping[str, tuple[TransferId, int]]:
    """The transfer that each transaction sent, the first in the block where it sent several, and how many
    these are; otherwise the earliest whose log names it.
    """
    by_hash: dict[str, list[NamedBy]] = {}
    for each in named:
        by_hash.setdefault(each.tx_hash, []).append(each)
    by_hash = {tx_hash: [each for each in all_ if each.sent] or all_ for tx_hash, all_ in by_hash.items()}
    several = [each.transfer_id for all_ in by_hash.values() if len(all_) > 1 for each in all_]
    ids = database.public.run_read(send_ids, several) if several else {}

    def place(each: NamedBy) -> tuple[datetime, Any, TransferId]:
        return each.at, in_block_order(ids.get(each.transfer_id, "")), each.transfer_id

    return {
        tx_hash: (min(all_, key=place).transfer_id, len({each.transfer_id for each in all_}))
        for tx_hash, all_ in by_hash.items()
    }


def _freshness(database: Database, terms: NetworkTerms) -> str:
    """How far each chain was read and how long ago that was, for people: of ``NAMED_CHAINS`` at most."""
    chains = tuple(terms.chain_infos)
    newest, _ = database.cached.run_read(
        (newest_events, chains),
        lambda: database.public.run_read(newest_events, chains, NAMED_CHAINS),
    )
    now = database.clock()
    ages = [
        _seen(terms, progress, now)
        for progress in sorted(newest, key=lambda progress: progress.newest_at, reverse=True)
    ]
    if newest and newest[0].reporting > len(newest):
        ages.append(f"and {newest[0].reporting - len(newest)} more")
    return f"newest events: {', '.join(ages)}" if ages else "no chain has reported yet"


def _freshness_of(database: Database, terms: NetworkTerms, chain_id: ChainId) -> str:
    progress = database.public.run_read(newest_of_chain, chain_id)
    if progress is None:
        return f"{_chain_name(terms, chain_id)} has not reported anything yet"
    return f"newest events: {_seen(terms, progress, database.clock())}"


def _seen(terms: NetworkTerms, progress: Row[*tuple[Any, ...]], now: datetime) -> str:
    """Such as ``Ethereum 12 s ago (block 21000000)``; without the block where no event named one."""
    block = "" if progress.highest_block is None else f" (block {progress.highest_block})"
    return f"{_chain_name(terms, progress.chain_id)} {age_in_words(now - progress.newest_at)}{block}"


def _chain_name(terms: NetworkTerms, chain_id: ChainId) -> str:
    chain = terms.chain_infos.get(chain_id)
    return chain.name if chain else f"chain {chain_id}"


_ENDS: Final = {
    Status.TRANSFER_FAILED: "failed before any funds left,",
    Status.TRANSFER_COMPLETED: "was completed",
    Status.TRANSFER_REFUNDED: "was refunded",
}


def status_of(
    terms: NetworkTerms,
    row: TransferRow,
    progress: Progress | None = None,
    as_of: datetime | None = None,
) -> TransferStatus:
    """The answer for a transfer's row: the rule for every operation that answers statuses."""
    src, dst = _chain(terms, row.src_chain_id), _chain(terms, row.dst_chain_id)
    status = Status(row.status)
    to_be_refunded = status is Status.TRANSFER_TO_BE_REFUNDED
    evidence: dict[str, Any] = {}
    if status is Status.TRANSFER_REFUND_TO_BE_CONFIRMED and row.wd_onchain is not None:
        evidence = {
            "wd_onchain": b64encode(row.wd_onchain).decode(),
            "sorted_sigs": row.sorted_sigs,
            "signers": row.signers,
            "powers": row.powers,
        }
    return TransferStatus(
        status=status,
        refund_reason=XferStatus(row.refund_reason) if to_be_refunded else XferStatus.UNKNOWN,
        block_delay=src.block_delay if src else 0,
        src_block_tx_link=src.tx_link(row.src_tx_hash) if src else "",
        dst_block_tx_link=dst.tx_link(row.dst_tx_hash) if dst else "",
        bridge_type=_bridge_type(terms, row),
        progress=progress,
        as_of=as_of,
        **evidence,
    )


def _chain(terms: NetworkTerms, chain_id: ChainId | None) -> ChainInfo | None:
    return None if chain_id is None else terms.chain_infos.get(chain_id)


def _bridge_type(terms: NetworkTerms, row: TransferRow) -> BridgeType:
    """How the transfer crosses. For a burn the pegged pair decides whether it is withdrawn or minted."""
    if row.kind == SendKind.POOL:
        return BridgeType.POOL
    if row.kind == SendKind.DEPOSIT:
        return BridgeType.DEPOSIT_MINT
    if row.kind is None or row.symbol is None or row.src_chain_id is None or row.dst_chain_id is None:
        return BridgeType.UNDEFINED
    route_key = RouteKey(row.symbol, ChainId(row.src_chain_id), ChainId(row.dst_chain_id))
    pegged = terms.pegged.get(route_key)
    return pegged.bridge_type if pegged else BridgeType.UNDEFINED
