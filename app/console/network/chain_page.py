"""The page about one chain: its tokens, pools and routes, how it is read, who signs, what is stuck, what was
changed. Its form is the last section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from markupsafe import Markup
from msgspec import Struct

from app.audit.queries import AuditRow
from app.audit.rules.records import AuditFilter
from app.audit.services import list_audit
from app.console.network.chains import ChainsView
from app.console.network.names import percent
from app.console.network.pools import PoolLine, Severity, pool_lines
from app.console.network.routes import OtherEnd, other_ends
from app.console.network.token_state import state_pill
from app.console.network.validators import SetVersion, validator_sets
from app.console.transfers.stuck import StuckTransfer, stuck_of_chain
from app.console.watched_chains import STATE_WORDS, WAITING_WORDS, backfill_ppm, watch_pill, watched
from app.db.database import Database
from app.db.engine import reading
from app.http.application import current
from app.network.models import Pool, Token
from app.network.queries import load_contacts, rows_with
from app.network.snapshot import SnapshotSource
from app.transfers.queries.trends import progress_of_chain
from app.transfers.rules.events.canonical import ChainReading
from app.values.identifiers import ChainId
from app.watcher.rules.watched import WatchedChain, WatchState, is_reported
from app.watcher.services.chains import WatchDetails, watch_details
from app.watcher.services.lease import MAX_REASON

SHOWN: Final = 5
"""Stuck transfers and changes on the page."""

SETS: Final = 3
"""Validator sets on the page, the newest ones."""

SIGNERS: Final = 25
"""Members of each of them, the strongest ones."""

MOST_STUCK: Final = 50
"""The transfers that are looked at, the longest in their state first."""


class TokenLine(Struct, frozen=True):
    """A token of the chain, with its pool where it has one. The numbers are those of their rows."""

    symbol: str
    token_id: int
    state: Markup
    pool_id: int | None
    pool: PoolLine | None

    @property
    def worst(self) -> Severity | None:
        """The severity of the pool's first warning: those that are reached come first."""
        return self.pool.warnings[0].severity if self.pool and self.pool.warnings else None


class ChainAbout(Struct, frozen=True):
    """The content of the page. ``reported`` is how far reporters are, where the watcher does not read it;
    ``contacts`` are name and contact of validators.
    """

    tokens: Sequence[TokenLine]
    ends: Sequence[OtherEnd]
    watched: WatchedChain | None
    details: WatchDetails | None
    reported: ChainReading | None
    sets: Sequence[SetVersion]
    contacts: Mapping[bytes, tuple[str, str]]
    stuck: Sequence[StuckTransfer]
    changes: Sequence[AuditRow]
    now: datetime

    @property
    def reported_at(self) -> datetime | None:
        return None if self.reported is None else self.reported.newest_at

    @property
    def is_unheard(self) -> bool:
        """Whether reporters should read it and have not reported lately."""
        return self.watched is None and not is_reported(self.reported_at, self.now)

    @property
    def problems(self) -> Iterator[tuple[str, str]]:
        if self.watched is not None and self.watched.state is not WatchState.READING:
            yield "reading", STATE_WORDS[self.watched.state][2]
        if self.watched is not None and (disputed := self.watched.disputed):
            yield (
                "reading",
                f"Nodes contradict each other about {_some('block', disputed)}, and none is confirmed.",
            )
        if self.is_unheard:
            yield "reading", "No reporter has sent an event of this chain in the last 15 minutes."
        if not self.sets:
            yield "validators", "No validators are known, so refunds on this chain cannot be verified."
        elif self.sets[0].of.cannot_sign:
            yield "validators", f"Refunds cannot be signed: {self.sets[0].of.cannot_sign}."
        for severity, words in ((Severity.REACHED, "at a limit"), (Severity.NEAR, "near a limit")):
            symbols = [line.symbol for line in self.tokens if line.worst is severity]
            if symbols:
                yield "tokens", f"{_some('pool', len(symbols))} {words}: {', '.join(symbols)}."
        if too_old := sum(end.too_old for end in self.ends):
            yield (
                "routes",
                f"The base fee of {_some('route', too_old)} is too old or not known: no estimates.",
            )
        if self.stuck:
            more = " or more" if len(self.stuck) == MOST_STUCK else ""
            yield (
                "stuck",
                f"{len(self.stuck)}{more} stuck {'transfer' if len(self.stuck) == 1 else 'transfers'}.",
            )


def _some(what: str, number: int) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def chain_about(database: Database, snapshots: SnapshotSource, chain_id: ChainId) -> ChainAbout:
    """Everything about the chain but its form, in a number of statements that does not grow with the network.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = snapshots.current().terms, database.clock()
    pools = {line.symbol: line for line in pool_lines(database, snapshots, chain_id)}
    with reading(database.reads) as connection:
        rows = rows_with(connection, Token, "chain_id", [chain_id])
        pool_ids = {row["symbol"]: row["id"] for row in rows_with(connection, Pool, "chain_id", [chain_id])}
        progress, contacts = progress_of_chain(connection, chain_id), load_contacts(connection)
    tokens = [
        TokenLine(
            row["symbol"], row["id"], _state(row), pool_ids.get(row["symbol"]), pools.get(row["symbol"])
        )
        for row in rows
    ]
    order = list(pools)  # those with warnings first
    return ChainAbout(
        tokens=sorted(
            tokens, key=lambda line: (order.index(line.symbol) if line.pool else len(order), line.symbol)
        ),
        ends=other_ends(terms, chain_id, now),
        watched=watched(chain_id),
        details=watch_details(database, chain_id) if watched(chain_id) else None,
        reported=progress,
        sets=validator_sets(database, chain_id, SETS + 1),
        contacts=contacts,
        stuck=stuck_of_chain(database, snapshots, chain_id, MOST_STUCK),
        changes=_changes(database, chain_id),
        now=now,
    )


def _changes(database: Database, chain_id: ChainId) -> list[AuditRow]:
    """The newest records about the chain and about its reading, stops included."""
    subjects = f"chain {chain_id}", f"reading of chain {chain_id}"
    found = [
        row
        for subject in subjects
        for row in list_audit(database, AuditFilter(subject=f'"{subject}"'), limit=SHOWN)
    ]
    return sorted(found, key=lambda row: -row.id)[:SHOWN]


def _state(token: Mapping[str, Any]) -> Markup:
    return state_pill(token["xfer_disabled"] or token["transfer_disabled"], token["pool_disabled"])


class ChainPageView(ChainsView):
    """Chains, each with a page about it."""

    form_template = "console/chain/index.html"

    def more_about(self, key: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Everything but the form. Where the form comes back with errors, the page is only the form."""
        about = chain_about(current(Database), current(SnapshotSource), ChainId(key))
        return {
            "about": about,
            "percent": percent,
            "watch_pill": watch_pill,
            "backfill_ppm": backfill_ppm,
            "waiting_words": WAITING_WORDS,
            "shown": SHOWN,
            "longest": MAX_REASON,
            "most_sets": SETS,
            "most_signers": SIGNERS,
        }
