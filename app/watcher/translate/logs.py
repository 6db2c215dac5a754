"""Translate the logs of some blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.domain.keys import BlockNumber
from app.domain.watching.blocks import Header, Log
from app.domain.watching.network import WatchedNetwork
from app.domain.watching.steps import Waiting, WaitingKey, WaitingKind
from app.domain.watching.terms import WatchTerms
from app.watcher.decode import values
from app.watcher.decode.events import SHAPES, Role, decode
from app.watcher.decode.words import Undecodable
from app.watcher.translate.kept_logs import facts_of_log, log_from
from app.watcher.translate.payouts import payout_from, payout_of
from app.watcher.translate.places import Place, place_from, place_of
from app.watcher.translate.sends import NotConfigured, account
from app.watcher.translate.telling import Telling
from app.watcher.translate.translation import Translation, Unreadable

_Queue = frozenset[tuple[str, bytes, bytes]]
"""What was put into delay queues: transaction, contract, id of the payout."""


def translate(
    network: WatchedNetwork,
    chain: WatchTerms,
    logs: Sequence[Log],
    headers: Mapping[BlockNumber, Header],
    waiting: Sequence[Waiting],
    *,
    read_to: BlockNumber,
    final_to: BlockNumber | None = None,
) -> Translation:
    """What these logs say, and what has come due among all that waits.

    The logs of a block are handed in together: whether a payout waits in the delay queue is said by
    another log of its transaction. A log that is handed in again gives the same events again, by the same
    ids; ``retells`` says when that is not so.

    :param logs: of the chain's contracts, checked, in their order.
    :param headers: of every block that has one of the logs, by number.
    :param waiting: all that waits on this chain, without what the same step forgets.
    :param read_to: the newest block of the chain that is known to build on everything handed in.
    :param final_to: the highest block that no reorganisation is believed to replace; None where none is.
    """
    telling = Telling(network, chain, read_to, waiting)
    unreadable: list[Unreadable] = []
    read = list(_read(logs, unreadable))
    queue: _Queue = frozenset(
        (log.tx_hash, log.address, said.payout_id)
        for log, said in read
        if type(said) is values.DelayedTransferAdded
    )
    for log, said in read:
        place = place_of(chain.chain_id, log, headers[log.block].at)
        try:
            _tell(telling, said, log, place, queue)
        except NotConfigured as error:
            telling.unknown(place, str(error), facts_of_log(log))
        except Undecodable as error:
            unreadable.append(Unreadable(log, str(error)))
    for each in waiting:
        if each.kind is WaitingKind.UNKNOWN and each.facts["version"] != network.version:
            _try_again(telling, each)
    telling.come_due(waiting)
    if final_to is not None:
        telling.settle(final_to)
    return Translation(telling.events, list(telling.waiting.values()), list(telling.done), unreadable)


def retells(log: Log) -> bool:
    """Whether a log that was missed at first changes what others of its transaction said.

    Such a log says that a payout was queued, which was told as paid. What was told has to be taken back from
    this block on, by a reorganisation, before the block is told again.
    """
    shape = SHAPES.get(log.topics[0]) if log.topics else None
    return shape is not None and shape.read is values.DelayedTransferAdded


def _read(logs: Sequence[Log], unreadable: list[Unreadable]) -> Iterator[tuple[Log, values.Said]]:
    for log in logs:
        try:
            yield log, decode(log)
        except Undecodable as error:
            unreadable.append(Unreadable(log, str(error)))


def _tell(telling: Telling, said: values.Said, log: Log, place: Place, queue: _Queue) -> None:
    """Tell what a log says.

    :raises Undecodable: for one that no contract in its place should have logged.
    :raises NotConfigured: while the configuration does not say what it names.
    """
    if not _heard(telling.chain, log):
        return
    match said:
        case values.Send() | values.Deposited() | values.Burn():
            telling.sent(said, place, log.address)
        case values.LiquidityAdded():
            telling.liquidity_added(said, place)
        case values.SignersUpdated():
            telling.rotated(said, place)
        case values.DelayedTransferExecuted():
            telling.executed(said, place, log.address)
        case values.Relay() | values.WithdrawDone() | values.Withdrawn() | values.Mint():
            if isinstance(said, values.WithdrawDone):
                telling.withdrawn(said, place)
            payout = payout_of(said, telling.chain.chain_id)
            if payout is not None and (log.tx_hash, log.address, payout.payout_id) in queue:
                telling.queued(payout, place, log.address)
            elif payout is not None:
                telling.paid_at_once(payout, place)


def _heard(chain: WatchTerms, log: Log) -> bool:
    """Whether the log is the word of the contract that logged it.

    Vaults and pegged bridges may keep a validator set of their own, which is not the chain's.

    :raises Undecodable: for any other event that is not its contract's, as the configuration has it.
    :raises NotConfigured: for a contract that the configuration does not have (any more).
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


def _try_again(telling: Telling, kept: Waiting) -> None:
    """Tell what waited for another configuration than the one of before, or let it wait on."""
    place = place_from(kept.facts["place"])
    telling.done[WaitingKey(kept.kind, kept.key)] = None
    try:
        if "payout" in kept.facts:
            telling.paid(payout_from(kept.facts["payout"]), place)
        else:
            log = log_from(kept.facts, place)
            _tell(telling, decode(log), log, place, frozenset())
    except (NotConfigured, Undecodable) as error:
        telling.unknown(place, str(error), kept.facts)
