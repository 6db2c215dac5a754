"""From the logs and headers of some blocks to events of the feed and to waiting facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from app.network.rules.watch_terms import WatchedNetwork, WatchTerms
from app.transfers.rules.events.event_types import ChainHead, ChainReorged, Event
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.watcher.rules.blocks import Header, Log
from app.watcher.rules.logs import values
from app.watcher.rules.logs.chain_report import ChainReport
from app.watcher.rules.logs.contracts import SHAPES, Role, decode
from app.watcher.rules.logs.payouts import (
    NotConfigured,
    NotSent,
    Place,
    account,
    own_reference,
    payout_from,
    place_from,
    place_of,
)
from app.watcher.rules.logs.values import Undecodable
from app.watcher.rules.steps import Waiting, WaitingKey, WaitingKind


class Unreadable(Struct, frozen=True):
    """A log of a watched contract that cannot be reported as an event; the reason is for operators."""

    log: Log
    reason: str


class Translation(Struct, frozen=True):
    """What a step writes of the logs that it read.

    :param events: in the order of their logs, then what became due.
    :param waiting: to be stored; each replaces the stored one of the same kind and key.
    :param done: what waits no longer.
    :param unreadable: faults to be shown. The step is written all the same: the logs stay on the chain, and
        their range can be read again.
    """

    events: Sequence[Event]
    waiting: Sequence[Waiting]
    done: Sequence[WaitingKey]
    unreadable: Sequence[Unreadable]


def facts_of_log(log: Log) -> dict[str, Any]:
    """The facts of a log, without its place."""
    return {
        "address": log.address.hex(),
        "topics": [topic.hex() for topic in log.topics],
        "data": log.data.hex(),
    }


def log_from(facts: Mapping[str, Any], place: Place) -> Log:
    return Log(
        block=place.block,
        block_hash=place.block_hash,
        tx_hash=place.tx_hash,
        index=place.log_index,
        address=bytes.fromhex(facts["address"]),
        topics=tuple(map(bytes.fromhex, facts["topics"])),
        data=bytes.fromhex(facts["data"]),
    )


def head_event(chain_id: ChainId, header: Header) -> ChainHead:
    """The chain has been read up to this block."""
    return ChainHead(
        id=f"{chain_id}:{header.hash}",
        at=header.at,
        chain_id=chain_id,
        block=header.number,
        block_hash=header.hash,
    )


def reorged_event(chain_id: ChainId, from_block: BlockNumber, replaced: str, header: Header) -> ChainReorged:
    """Blocks from ``from_block`` on were replaced by others.

    The id is made of two blocks. So the same reorganisation seen twice is one fact, and the one back to the
    former blocks is another fact.

    :param replaced: the hash of a block that was read and is orphaned.
    :param header: of the block that took its place, or of another block of the new branch.
    """
    return ChainReorged(
        id=f"{chain_id}:{replaced}:{header.hash}:{ChainReorged.type}",
        at=header.at,
        chain_id=chain_id,
        from_block=from_block,
    )


_Queue = frozenset[tuple[str, bytes, bytes]]  # put into delay queues: transaction, contract, id of the payout


def translate(
    network: WatchedNetwork,
    chain: WatchTerms,
    logs: Sequence[Log],
    headers: Mapping[BlockNumber, Header],
    waiting: Sequence[Waiting],
    *,
    read_to: BlockNumber,
    final_to: BlockNumber | None = None,
    doubts: Collection[BlockNumber] = (),
) -> Translation:
    """What these logs say, and which waiting facts are due.

    All logs of a block are needed together: only another log of its transaction says whether a payout waits
    in the delay queue. The same logs give the same events with the same ids, unless a log of their
    transaction was missing.

    :param logs: of the chain's contracts, checked, in their order.
    :param headers: of every block that has one of the logs, by number.
    :param waiting: all that waits on this chain, without what the same step removes.
    :param read_to: the newest block of the chain that is known to build on all these logs.
    :param final_to: the highest block that nothing replaces, but ``doubts``; None where there is none.
    """
    report = ChainReport(network, chain, read_to, waiting)
    unreadable: list[Unreadable] = []
    read = list(_read(logs, unreadable))
    report.look_up(_all_withdrawn(read, waiting, chain.chain_id))
    unreadable += _report_all(report, read, headers)
    for each in waiting:
        if each.kind is WaitingKind.UNKNOWN and _is_new(report, network, each):
            _try_again(report, each)
    report.come_due(waiting)
    report.settle(-1 if final_to is None else final_to, doubts)
    return Translation(report.events, list(report.waiting.values()), list(report.done), unreadable)


def _report_all(
    report: ChainReport, read: Sequence[tuple[Log, values.Said]], headers: Mapping[BlockNumber, Header]
) -> Iterator[Unreadable]:
    """Report what the logs say, or let it wait. Yields those that cannot be understood."""
    queue = _queued(read)
    place: Place | None = None
    for log, said in read:
        place = place_of(report.chain.chain_id, log, headers[log.block].at, place)
        try:
            _report_or_wait(report, said, log, place, queue)
        except Undecodable as error:
            yield Unreadable(log, str(error))


def _queued(read: Sequence[tuple[Log, values.Said]]) -> _Queue:
    return frozenset(
        (log.tx_hash, log.address, said.payout_id)
        for log, said in read
        if type(said) is values.DelayedTransferAdded
    )


def _all_withdrawn(
    read: Sequence[tuple[Log, values.Said]], waiting: Sequence[Waiting], chain_id: ChainId
) -> list[TransferId]:
    """The transfers that withdrawals name: those of the logs and those that wait."""
    withdrawn = {own_reference(said, chain_id) for _, said in read} | set(map(_withdrawn, waiting))
    return [transfer_id for transfer_id in withdrawn if transfer_id is not None]


def _read(logs: Sequence[Log], unreadable: list[Unreadable]) -> Iterator[tuple[Log, values.Said]]:
    for log in logs:
        try:
            yield log, decode(log)
        except Undecodable as error:
            unreadable.append(Unreadable(log, str(error)))


def _report_or_wait(report: ChainReport, said: values.Said, log: Log, place: Place, queue: _Queue) -> None:
    """As :func:`_report`, but let a log wait for what it names and is not known yet."""
    try:
        _report(report, said, log, place, queue)
    except NotSent as error:
        facts = {"transfer_id": error.transfer_id.hex(), "queued": _is_queued(said, log, queue)}
        report.unknown(place, str(error), facts_of_log(log) | facts)
    except NotConfigured as error:
        report.unknown(place, str(error), facts_of_log(log))


def _report(report: ChainReport, said: values.Said, log: Log, place: Place, queue: _Queue) -> None:
    """Report what a log says.

    :raises Undecodable: no contract in its place should have logged it.
    :raises NotConfigured: the configuration does not have what it names yet.
    """
    if not _heard(report.chain, log):
        return
    match said:
        case values.Send() | values.Deposited() | values.Burn():
            report.sent(said, place, log.address)
        case values.LiquidityAdded():
            report.liquidity_added(said, place)
        case values.SignersUpdated():
            report.rotated(said, place)
        case values.DelayedTransferExecuted():
            report.executed(said, place, log.address)
        case values.Relay() | values.WithdrawDone() | values.Withdrawn() | values.Mint():
            if isinstance(said, values.WithdrawDone):
                report.withdrawn(said, place)
            payout = report.payout(said)
            if payout is not None and _is_queued(said, log, queue):
                report.queued(payout, place, log.address)
            elif payout is not None:
                report.paid_at_once(payout, place)


def _is_queued(said: values.Said, log: Log, queue: _Queue) -> bool:
    return (log.tx_hash, log.address, getattr(said, "payout_id", b"")) in queue


def _heard(chain: WatchTerms, log: Log) -> bool:
    """Whether a log of this contract counts.

    Vaults and pegged bridges may have a validator set of their own, which is not the chain's.

    :raises Undecodable: any other event that the contract, as configured, does not log.
    :raises NotConfigured: the contract is not configured (any more).
    """
    shape = SHAPES[log.topics[0]]
    roles = set()
    if log.address == chain.pool_bridge:
        roles.add(Role.POOL)
    if log.address in chain.vaults:
        roles.add(Role.VAULT)
    if log.address in chain.bridges:
        roles.add(Role.BRIDGE)
    if roles & shape.logged_by:
        return True
    if not roles:
        raise NotConfigured(f"contract {account(log.address)} is not configured for this chain")
    if Role.POOL in shape.logged_by and shape.size is None:
        return False
    what = " and ".join(sorted(roles))
    raise Undecodable(f"{shape.signature} was logged by a contract that is configured as {what}")


def _withdrawn(stored: Waiting) -> TransferId | None:
    """The transfer that a withdrawal names, which waits until it is known."""
    named = stored.facts.get("transfer_id") if stored.kind is WaitingKind.UNKNOWN else None
    return None if named is None else TransferId(bytes.fromhex(named))


def _is_new(report: ChainReport, network: WatchedNetwork, stored: Waiting) -> bool:
    """Whether a waiting fact may be reported now: the configuration has changed, or the transfer is known."""
    if stored.facts["version"] != network.version:
        return True
    transfer_id = _withdrawn(stored)
    if transfer_id is None:
        return False
    said = decode(log_from(stored.facts, place_from(stored.facts["place"])))
    return report.is_sent(transfer_id, said)


def _try_again(report: ChainReport, stored: Waiting) -> None:
    """Report what waited for another configuration or a transfer, or let it wait longer."""
    place = place_from(stored.facts["place"])
    report.done[WaitingKey(stored.kind, stored.key)] = None
    try:
        if "payout" in stored.facts:
            report.paid(payout_from(stored.facts["payout"]), place)
        else:
            log = log_from(stored.facts, place)
            said = decode(log)
            queue = {(log.tx_hash, log.address, getattr(said, "payout_id", b""))}
            _report(report, said, log, place, frozenset(queue if stored.facts.get("queued") else ()))
    except (NotConfigured, Undecodable) as error:
        report.unknown(place, str(error), stored.facts)
