"""The tokens of reporters of events: which event types, of which chains, how many in a period.

A token made here is ``gwi_``, a public id of 16 hex digits, ``_`` and 43 characters that only its bearer
knows (256 random bits).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from math import ceil
from typing import Final

from msgspec import Struct

from app.credentials.rules.credential import Credential, digest_of, is_plain_name
from app.transfers.rules.events.contract_ids import is_proven
from app.transfers.rules.events.counting import Origin, concerned_chain
from app.transfers.rules.events.event_types import (
    REPORTED,
    ChainEvent,
    ChainReorged,
    Event,
    FeeUpdated,
    PlacedEvent,
    TransferEvent,
    TransferSent,
)
from app.values.amounts import grouped
from app.values.identifiers import MAX_CHAIN_ID
from app.values.times import Epoch

MAX_EVENTS: Final = 1_000_000_000
MAX_SECONDS: Final = 31 * 24 * 3600


class Quota(Struct, frozen=True):
    """At most so many events in each period of so many seconds, counted from the Unix epoch."""

    events: int
    seconds: int

    def period(self, now: datetime) -> Epoch:
        return Epoch.at(now, self.seconds)

    def retry_after(self, now: datetime) -> int:
        """Whole seconds until the next period begins, at least one."""
        return max(1, ceil((self.period(now).ends_at - now).total_seconds()))

    def __str__(self) -> str:
        return f"{grouped(self.events)} events in {grouped(self.seconds)} s"


def quota_fault(events: int | None, seconds: int | None) -> str | None:
    """What is wrong with such a quota; None where it is valid, or where there is none."""
    if events is None and seconds is None:
        return None
    if events is None or seconds is None:
        return "a quota needs both a number of events and a number of seconds; give both"
    if not 1 <= events <= MAX_EVENTS:
        return f"the events of a quota must be from 1 to {grouped(MAX_EVENTS)} events, not {events}"
    if not 1 <= seconds <= MAX_SECONDS:
        return (
            f"the period of a quota must be from 1 to {grouped(MAX_SECONDS)} seconds (31 days), not {seconds}"
        )
    return None


UNPROVEN = (
    "transfer_id: this token is limited to some chains, so the fields of a send must give its transfer id by "
    "the contract's formula: send nonce and token, and for a deposit or burn contract, as the log has them"
)


class Scope(Struct, frozen=True):
    """Event types and chains; None is all of them.

    ``is_exported``: the events were admitted before under these limits, and are only read in again.
    """

    types: frozenset[str] | None = None
    chains: frozenset[int] | None = None
    is_exported: bool = False

    def refusal(self, event: Event, known: Callable[[], Origin]) -> str | None:
        """Why the event is outside of the scope; None where it is inside, or where that is not known yet.
        ``known`` returns the known chains of its transfer.
        """
        if self.types is not None and event.type not in self.types:
            return f"type: {event.type} is outside this token's scope"
        if self.chains is None or self.is_exported:
            return None
        outside = sorted(_chains_of(event, known) - self.chains)
        if outside:
            return f"chain {outside[0]} is outside this token's scope"
        is_unproven = isinstance(event, TransferSent) and not is_proven(event)
        return UNPROVEN if is_unproven else None

    def has_chain(self, chain_id: int | None) -> bool:
        """Whether the scope includes this chain; None: the chain is not known."""
        return self.chains is None or chain_id in self.chains


EVERYTHING = Scope()


def _chains_of(event: Event, known: Callable[[], Origin]) -> frozenset[int]:
    """The chains of an event; empty where they are not known (yet). A fee is of both chains of its route."""
    if isinstance(event, ChainEvent | ChainReorged):
        return frozenset({event.chain_id})
    if isinstance(event, FeeUpdated):
        return frozenset({event.src_chain_id, event.dst_chain_id})
    if not isinstance(event, TransferEvent):
        return frozenset()
    read_on = event.chain_id if isinstance(event, PlacedEvent) else None
    return frozenset(
        chain_id for chain_id in (concerned_chain(event, known()), read_on) if chain_id is not None
    )


SECRET_BYTES = 32

ENVIRONMENT = "env-"
FROM_FILES = "cli"
"""The reporter of what commands read from files, and of what they retract."""

OWN_REPORTERS = frozenset({FROM_FILES, "operator", "sandbox", "watcher"})
"""Reporters of this gateway itself. A token must not have their names."""

_MADE_HERE = re.compile(rb"gwi_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")


class IngestToken(Credential, frozen=True):
    """``name`` is its reporter's. ``key_id`` is the public part of its text; None for one of the
    environment.
    """

    scope: Scope = EVERYTHING
    key_id: str | None = None
    expires_at: datetime | None = None
    quota: Quota | None = None


def token_text(key_id: str, secret: str) -> str:
    return f"gwi_{key_id}_{secret}"


def key_id_of(presented: bytes) -> str | None:
    """The public id in a token that was made here; None for any other text."""
    match = _MADE_HERE.fullmatch(presented)
    return match[1].decode() if match else None


class EnvironmentTokens(tuple[IngestToken, ...]):
    """Reporters' tokens from the settings; the others are in the database."""

    __slots__ = ()


def environment_token(token: str) -> IngestToken:
    """A token of the environment, which may report everything. It is named by its fingerprint, not by its
    position in the list: otherwise a reporter could get the cursor of another because the list was reordered.
    """
    digest = digest_of(token.encode(errors="surrogateescape"))  # the bytes in the environment
    return IngestToken(ENVIRONMENT + digest.hex()[:8], digest)


def is_token_name(name: str) -> bool:
    return is_plain_name(name) and name not in OWN_REPORTERS and not name.startswith(ENVIRONMENT)


def token_fault(name: str, types: Sequence[str], chains: Sequence[int]) -> str | None:
    if not is_token_name(name):
        return (
            f"{name!r} is not a valid name; enter 1 to 64 of a-z, 0-9, '.', '_' and '-', starting with "
            "a letter or digit, and not a name of the gateway's own (cli, operator, sandbox, watcher, env-…)"
        )
    for event_type in types:
        if event_type not in REPORTED:
            return f"{event_type!r} is not an event type; choose from {', '.join(REPORTED)}"
    for chain_id in chains:
        if not 1 <= chain_id <= MAX_CHAIN_ID:
            return f"{chain_id} is not a chain id; enter one from 1 to {MAX_CHAIN_ID}"
    return None
