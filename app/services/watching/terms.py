"""What is configured about watching chains, as new as the configuration that the process holds."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.keys import ChainId
from app.domain.watching.network import WatchedNetwork
from app.domain.watching.terms import WatchTerms
from app.runtime.gateway import Gateway


def watch_terms(gateway: Gateway) -> Mapping[ChainId, WatchTerms]:
    """The chains that are to be watched: those with a ``watch_from_block``.

    :raises Unavailable: the configuration cannot be read.
    """
    return gateway.snapshots.current().watching.terms


def watched_network(gateway: Gateway) -> WatchedNetwork:
    """What logs mean.

    :raises Unavailable: the configuration cannot be read.
    """
    return gateway.snapshots.current().watching.network
