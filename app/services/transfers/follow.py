"""Following a transfer or an account: every change of a status, from any position of the log on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.cooperation import in_turns
from app.domain.following.changes import PlacedChange, changes_after
from app.domain.following.past import Past
from app.domain.following.position import BEGINNING, Position
from app.domain.keys import TransferId
from app.domain.network_facts import NetworkFacts
from app.domain.transfer.events import RefundPrepared
from app.queries.feed.facts import load_network_facts, load_opening_sets
from app.queries.past import load_pasts
from app.queries.transfers.status import TransferRow
from app.queries.waiting import MOST_TO_READ, Heads, load_heads, transfers_of_account
from app.runtime.gateway import Gateway
from app.runtime.waiting import Key, Waiter

_NO_FACTS = NetworkFacts(tokens={}, pool_bridges={}, pairs=(), validators={})
"""Enough for transfers without refund requests: nothing else of the configuration decides a status."""


class Follower(Waiter):
    """Somebody who is told of every change of a transfer or an account until they leave."""

    __slots__ = ("_told_at", "behind", "stopped")

    def __init__(self, key: Key) -> None:
        super().__init__(key, math.inf)
        self.behind = True
        """Whether there may be something that was not told yet."""
        self.stopped = False
        """Whether the server ends."""
        self._told_at: Heads | None = None

    def told(self, row: TransferRow | None, heads: Heads, *, last: bool) -> bool:
        """See ``Waiter.told``."""
        self.behind, self._told_at = True, heads
        return False

    def failed(self, error: Exception) -> None:
        """See ``Waiter.failed``; nothing is due, so it never comes."""

    def stop(self) -> None:
        """Nothing more is told: the client hears the rest from another process."""
        self.stopped = True
        self.wake()

    def is_older(self, heads: Heads) -> bool:
        """Whether what was read reaches less far than what there was to be told of: a replica was behind."""
        told_at = self._told_at
        return told_at is not None and (heads.seq < told_at.seq or heads.asks < told_at.asks)

    @property
    def was_told(self) -> bool:
        """Whether the thread that looks knows of this follower."""
        return self._told_at is not None


@dataclass(frozen=True, slots=True)
class Told:
    """What follows a position. ``changes`` is None where nobody can say: statuses are to be read anew."""

    changes: Sequence[PlacedChange] | None
    until: Position
    """Behind all that was looked at."""
    heads: Heads


def follow(gateway: Gateway, key: Key, network: str | None = None) -> Follower:
    """Somebody who follows a transfer or an account from now on.

    :param network: where they come from, as ``Waiting.add`` takes it.
    :raises GatewayError: too many wait already.
    """
    follower = Follower(key)
    gateway.waiting.add(follower, network)
    return follower


def present_position(gateway: Gateway) -> Position:
    """Behind everything there is."""
    return _behind(gateway.public_reads.ask(load_heads))


def nothing_until(gateway: Gateway, follower: Follower) -> Position:
    """How far there was nothing to tell to one who was told everything else."""
    looked_to = gateway.waiting.looked_to
    return BEGINNING if looked_to is None or not follower.was_told else _behind(looked_to)


def told_after(gateway: Gateway, key: Key, after: Position) -> Told:
    """What is to be told to one who was told everything up to a position.

    One stream of the process at a time: each takes some milliseconds of the processor, gives way to whatever
    else is to be done, and holds a connection to the database meanwhile. So hundreds of them that are far
    behind wait for each other, and nobody else waits for them.
    """
    with gateway.waiting.reading_pasts:
        read = gateway.public_reads.ask_consistently(_read_after, key, after)
        if read.pasts is None:
            return Told(None, read.until, read.heads)
        account = key if isinstance(key, str) else None
        changes = changes_after(read.pasts, read.facts, after, account, in_turns)
        return Told(changes, read.until, read.heads)


@dataclass(frozen=True, slots=True)
class _Read:
    """From what the changes behind a position follow; ``pasts`` is None where there is too much to read."""

    pasts: Sequence[Past] | None
    until: Position
    heads: Heads
    facts: NetworkFacts = _NO_FACTS


def _read_after(connection: Connection, key: Key, after: Position) -> _Read:
    heads = load_heads(connection)
    until = max(after, _behind(heads))
    pasts: Sequence[Past] | None = None
    if not isinstance(key, str):
        pasts = load_pasts(connection, [key])
    elif (found := transfers_of_account(connection, key, after, heads)) is not None:
        pasts = load_pasts(connection, found, MOST_TO_READ)
    if pasts is None:
        return _Read(None, until, heads)
    return _Read(pasts, until, heads, _facts(connection, pasts))


def _behind(heads: Heads) -> Position:
    return Position(heads.seq, heads.asks) if heads.seq else BEGINNING


def _facts(connection: Connection, pasts: Sequence[Past]) -> NetworkFacts:
    """The facts by which refunds are judged, with the validators that were configured."""
    if not any(isinstance(each.event, RefundPrepared) for past in pasts for each in past.log):
        return _NO_FACTS
    return replace(load_network_facts(connection), validators=load_opening_sets(connection))


def key_of(transfer_id: TransferId | None, account: str | None) -> Key | None:
    """What is followed; None unless it is exactly one of the two."""
    if (transfer_id is None) == (account is None):
        return None
    return account if transfer_id is None else transfer_id
