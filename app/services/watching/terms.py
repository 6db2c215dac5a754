"""What is configured about watching chains, as new as the configuration that the process holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from app.db.engine import reading
from app.domain.keys import ChainId, TransferId
from app.domain.watching.network import KnownSend, WatchedNetwork
from app.domain.watching.terms import WatchTerms
from app.queries.watching import known_sends
from app.runtime.gateway import Gateway


def watch_terms(gateway: Gateway) -> Mapping[ChainId, WatchTerms]:
    """The chains that are to be watched: those with a ``watch_from_block``.

    :raises Unavailable: the configuration cannot be read.
    """
    return gateway.snapshots.current().watching.terms


def watched_network(gateway: Gateway) -> WatchedNetwork:
    """What logs mean, with the transfers that are known.

    :raises Unavailable: the configuration cannot be read.
    """
    return replace(gateway.snapshots.current().watching.network, sends_of=partial(_sends_of, gateway))


def _sends_of(
    gateway: Gateway, chain_id: ChainId, transfer_ids: Collection[TransferId]
) -> Mapping[TransferId, KnownSend]:
    with reading(gateway.engine) as connection:
        return known_sends(connection, chain_id, transfer_ids)
