"""The configuration as one process holds it in memory, indexed by what a transfer names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from msgspec import Struct

from app.db.models import Base
from app.json_documents import WholeNumber
from app.network.models import Chain, Token
from app.network.models.columns import published_columns
from app.network.models.document_fields import Flag
from app.network.queries import PartVersion
from app.network.rules.blocking import BlockedAddresses, BlockedNetworks
from app.network.rules.quorum import ValidatorSet
from app.network.rules.terms import NetworkTerms
from app.network.rules.validation_facts import NetworkFacts
from app.network.rules.watch_terms import WatchTerms
from app.values.codes import SendKind
from app.values.identifiers import MAX_CHAIN_ID, ChainId, PoolKey, RouteKey

Json = Mapping[str, Any]


def _zeroes(model: type[Base]) -> Json:
    """The fields that messages have of a table's rows, each with the zero value of its type."""
    return {
        name: 0 if isinstance(each.shape, WholeNumber) else False if isinstance(each.shape, Flag) else ""
        for name, (_, each, published) in published_columns(model).items()
        if published.briefly
    }


_NO_CHAIN: Final = _zeroes(Chain)
_NO_TOKEN: Final = _zeroes(Token)


class ConfigIndex:
    """Chain and token objects as in the configs' answer, with only the fields of the messages. Never changed
    once built. One that the configs do not have gets the same fields, each with its zero value.
    """

    __slots__ = ("_chains", "_pair_tokens", "_pairs", "_tokens")

    def __init__(self, answer: Json) -> None:
        """``answer`` is that of getTransferConfigs, as plain data."""
        self._chains: dict[int, Json] = {
            chain["id"]: {name: chain[name] for name in _NO_CHAIN} for chain in answer["chains"]
        }
        self._tokens: dict[PoolKey, Json] = {
            PoolKey(ChainId(int(chain_id)), info["token"]["symbol"]): info["token"]
            for chain_id, listed in answer["chain_token"].items()
            for info in listed["token"]
        }
        self._pairs: dict[RouteKey, tuple[Json, Json]] = {}
        self._pair_tokens: dict[PoolKey, Json] = {}
        for pair in answer["pegged_pair_configs"]:
            self._add_pair(pair)

    def _add_pair(self, pair: Json) -> None:
        org, pegged = pair["org_token"]["token"], pair["pegged_token"]["token"]
        deposit = RouteKey(org["symbol"], pair["org_chain_id"], pair["pegged_chain_id"])
        self._pairs[deposit], self._pairs[deposit.reverse] = (org, pegged), (pegged, org)
        self._pair_tokens.setdefault(deposit.dst, pegged)

    def chain(self, chain_id: ChainId | None) -> Json:
        """The chain; one without a name where it is not configured, and without an id beyond the wire's."""
        number = 0 if chain_id is None or chain_id > MAX_CHAIN_ID else chain_id
        return self._chains.get(number) or {**_NO_CHAIN, "id": number}

    def unlisted_token(self, address: str) -> Json:
        """A token that is known only by its address, which is used as its symbol."""
        return {**_NO_TOKEN, "symbol": address, "address": address}

    def tokens(
        self, kind: str | None, symbol: str | None, src: ChainId | None, dst: ChainId | None
    ) -> tuple[Json, Json]:
        """The tokens that a transfer takes on its source and pays on its destination chain: a pair's own
        where it is pegged, which may differ from those that the chains list. ``kind`` is that of the send.
        """
        ends = (PoolKey(src or ChainId(0), symbol or ""), PoolKey(dst or ChainId(0), symbol or ""))
        if kind in (SendKind.DEPOSIT, SendKind.BURN):
            pair = self._pairs.get(RouteKey(symbol or "", ends[0].chain_id, ends[1].chain_id))
            return pair or (self._pegged(ends[0]), self._pegged(ends[1]))
        return self._token(ends[0]), self._token(ends[1])

    def _pegged(self, key: PoolKey) -> Json:
        return self._pair_tokens.get(key) or self._token(key)

    def _token(self, key: PoolKey) -> Json:
        return self._tokens.get(key) or {**_NO_TOKEN, "symbol": key.symbol}


class TransferConfigs(Struct, frozen=True):
    """The answer, ready to send: as plain data, as JSON in UTF-8, and that JSON's strong ETag (unquoted)."""

    answer: Mapping[str, Any]
    body: bytes
    etag: str


class NetworkSnapshot(Struct, frozen=True):
    """The whole configuration at one moment. Parts that did not change are shared with earlier ones."""

    versions: Mapping[str, PartVersion]
    terms: NetworkTerms
    configs: TransferConfigs
    blocked_addresses: BlockedAddresses
    blocked_networks: BlockedNetworks
    config_index: ConfigIndex
    facts: NetworkFacts
    """Without the validators, which the feed reports."""
    opening_sets: Mapping[ChainId, ValidatorSet]
    """The validators that are configured, which count until the feed reports others."""
    watch_terms: Mapping[ChainId, WatchTerms]
    next_end: datetime | None = None
    """When the first of the route blocks in it ends; None where none does."""
    core_at: datetime = datetime.min.replace(tzinfo=UTC)
    """When the core was built, without the route blocks that had ended by then."""


class SnapshotSource(Protocol):
    """Where use cases read the configuration."""

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
