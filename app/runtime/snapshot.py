"""The configuration as one process holds it in memory. ``services/network/snapshot.py`` loads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from app.domain.blocking import BlockedAddresses, BlockedNetworks
from app.domain.estimate.network_terms import NetworkTerms
from app.domain.watching.configured import Watching
from app.queries.network import PartVersion
from app.runtime.config_index import ConfigIndex


@dataclass(frozen=True, slots=True)
class TransferConfigs:
    """The answer, ready to send: as plain data, as JSON in UTF-8, and that JSON's strong ETag (unquoted)."""

    answer: Mapping[str, Any]
    body: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class NetworkSnapshot:
    """The whole configuration at one moment. Parts that did not change are shared with earlier ones."""

    versions: Mapping[str, PartVersion]
    terms: NetworkTerms
    configs: TransferConfigs
    blocked_addresses: BlockedAddresses
    blocked_networks: BlockedNetworks
    config_index: ConfigIndex
    watching: Watching
    next_end: datetime | None = None
    """When the first of the route blocks in it ends; None where none does."""


class SnapshotSource(Protocol):
    """Where use cases ask for the configuration."""

    @property
    def good_at(self) -> float | None:
        """When the configuration in memory was last known to be the newest, in seconds of the system's
        monotonic clock; None before there is one."""

    def current(self) -> NetworkSnapshot:
        """The configuration now.

        :raises Unavailable: when there is none that is new enough to be trusted.
        """

    def newest(self) -> NetworkSnapshot:
        """The configuration of this moment: for a page that somebody opens after their own change.

        :raises Unavailable: as ``current`` does.
        """
