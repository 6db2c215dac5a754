"""What was reported, what of it counts, and what is canonical (docs/interface/events.md; docs/ingest.md).

Nothing here is worked out step by step: each answer is made from all that was reported so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from tests.feed.oracle.reading import Body, contradicts_its_id, is_proven, prefixed
from tests.feed.oracle.world import World

Chains = frozenset[int] | None
"""Those that a token is limited to; None for a token without limits."""
Subject = str | int
"""A transfer's id, or a chain's."""

ON_DESTINATION: Final = {"transfer.delayed", "transfer.released"}
ON_NO_CHAIN: Final = {
    "transfer.submitted",
    "network.status",
    "refund.requested",
    "refund.prepared",
    "refund.signed",
}


@dataclass(frozen=True)
class Report:
    """One line that was accepted, or a signature that was quarantined.

    :ivar place: its position among all that happened.
    """

    place: int
    chains: Chains
    body: Body

    @property
    def at(self) -> datetime:
        at: datetime = self.body["at"]
        return at


@dataclass(frozen=True)
class Reorganisation:
    place: int
    event_id: str
    chain_id: int
    from_block: int
    at: datetime


@dataclass(frozen=True)
class Retraction:
    """An operator's. ``event_id`` is its own, for it can be retracted."""

    place: int
    event_id: str
    subject: Subject
    of: str


@dataclass
class Log:
    """All that happened, in its order."""

    reports: list[Report] = field(default_factory=list)
    reorganisations: list[Reorganisation] = field(default_factory=list)
    retractions: list[Retraction] = field(default_factory=list)
    requested: set[str] = field(default_factory=set)
    """Transfers whose users requested the refund while it could be requested."""
    place: int = 0
    _of_id: dict[tuple[Subject, str], list[Report]] = field(default_factory=dict)

    def next_place(self) -> int:
        self.place += 1
        return self.place

    def accept(self, body: Body, chains: Chains) -> None:
        """Add a line that was accepted, or a signature that was quarantined."""
        place = self.next_place()
        if body["type"] == "chain.reorged":
            reorg = Reorganisation(place, body["id"], body["subject"], body["from_block"], body["at"])
            self.reorganisations.append(reorg)
        else:
            report = Report(place, chains, body)
            self.reports.append(report)
            self._of_id.setdefault((body["subject"], body["id"]), []).append(report)

    def of_same_id(self, body: Body) -> list[Report]:
        return self._of_id.get((body["subject"], body["id"]), [])

    def of(self, subject: Subject, now: datetime) -> list[Report]:
        """What was reported about a transfer or a chain and is not ahead of the clock."""
        return [each for each in self.reports if each.body["subject"] == subject and each.at <= now]

    def subjects(self) -> set[Subject]:
        return {each.body["subject"] for each in self.reports}

    def reorganisations_of(self, chain_id: int) -> Iterator[Reorganisation]:
        """Those of a chain that no operator took back."""
        back = [(each.of, each.place) for each in self.in_force() if each.subject == chain_id]
        for each in self.reorganisations:
            if each.chain_id == chain_id and not any(
                each.event_id == of and each.place < place for of, place in back
            ):
                yield each

    def in_force(self) -> Iterator[Retraction]:
        """The retractions that no later one takes back."""
        gone: set[str] = set()
        for each in reversed(self.retractions):
            if each.event_id not in gone:
                gone.add(each.of)
                yield each


@dataclass
class Fact:
    """What all reports of one id have together.

    :ivar reports: those of them that count.
    """

    body: Body
    reports: list[Report]

    @property
    def type(self) -> str:
        return str(self.body["type"])

    @property
    def is_proven(self) -> bool:
        return is_proven(self.body)

    @property
    def is_unlimited(self) -> bool:
        return any(each.chains is None for each in self.reports)

    @property
    def in_block(self) -> tuple[float, float]:
        """Its place in the chain. What has none comes after all that have one."""
        return self.body.get("block", math.inf), self.body.get("log_index", math.inf)

    @property
    def at_and_id(self) -> tuple[datetime, str]:
        return self.body["at"], self.body["id"]


def agree(one: Body, other: Body) -> bool:
    """Whether two reports can be of one fact: a field that one of them lacks is no difference."""
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def merged(reports: Iterable[Report]) -> list[Fact]:
    """The facts of the reports: those of tokens without limits, and what others add to them.

    Where a token with limits reports something else under an id, that is another fact. Next to a token
    without limits it adds nothing. Its submission adds nothing to that of others: it is a claim.
    """
    facts: dict[str, list[Fact]] = {}
    ordered = sorted(
        reports, key=lambda each: (each.chains is not None, sorted(each.chains or ()), each.place)
    )
    for report in ordered:
        of_id = facts.setdefault(report.body["id"], [])
        same = next((each for each in of_id if agree(each.body, report.body)), None)
        if same is not None:
            if report.body["type"] != "transfer.submitted" or report.chains == same.reports[0].chains:
                same.body |= report.body
            same.reports.append(report)
        elif not any(each.is_unlimited for each in of_id):
            of_id.append(Fact(dict(report.body), [report]))
    return [each for of_id in facts.values() for each in of_id]


def first_send(sends: Iterable[Fact]) -> Fact | None:
    """A proven one, of these one by a token without limits, then the first in the chain."""
    return min(
        sends,
        key=lambda each: (not each.is_proven, not each.is_unlimited, each.in_block, each.at_and_id),
        default=None,
    )


def first(facts: Iterable[Fact]) -> Fact | None:
    """Of any other type: one in a block, then the first by time and id."""
    return min(facts, key=lambda each: ("block" not in each.body, each.at_and_id), default=None)


class Canonical:
    """The facts about one transfer or one chain that count and are canonical at a moment.

    :ivar reported: all reports about it that are not ahead of the clock.
    :ivar source: the transfer's chains, None where nothing that counts names them.
    """

    def __init__(self, log: Log, subject: Subject, now: datetime) -> None:
        self.log, self.subject = log, subject
        self.reported = log.of(subject, now)
        self.retractions = [each for each in log.in_force() if each.subject == subject]
        self.source, self.destination = self._chains()
        self.facts = merged(filter(self._counts, self.reported))
        self.facts = [each for each in self.facts if self._is_on_its_chain(each)]

    # Whose transfer it is.

    def _is_retracted(self, report: Report) -> bool:
        """Whether an operator took it back."""
        return any(each.of == report.body["id"] and report.place < each.place for each in self.retractions)

    def _named(self, event_type: str) -> list[Fact]:
        """The facts that name the transfer's chains: canonical or not, unless operators took them back."""
        reported = merged(
            each
            for each in self.reported
            if each.body["type"] == event_type and (each.chains is None or event_type == "transfer.sent")
        )
        left = [[report for report in each.reports if not self._is_retracted(report)] for each in reported]
        return [Fact(each.body, reports) for each, reports in zip(reported, left, strict=True) if reports]

    @cached_property
    def sends(self) -> list[Fact]:
        return self._named("transfer.sent")

    @cached_property
    def announcements(self) -> list[Fact]:
        """The submissions of tokens without limits."""
        return self._named("transfer.submitted")

    def _chains(self) -> tuple[int | None, int | None]:
        if isinstance(self.subject, int):
            return self.subject, None
        found = first_send(self.sends) or first(self.announcements)
        return (found.body["src_chain_id"], found.body.get("dst_chain_id")) if found else (None, None)

    def _counts(self, report: Report) -> bool:
        """Whether it counts for this transfer, by its reporter's token."""
        body, chains = report.body, report.chains
        names_another = body["type"] == "transfer.submitted" and body["src_chain_id"] != self.source
        if names_another and any(each.is_proven for each in self.sends):
            return False
        if chains is None or isinstance(self.subject, int) or body["type"] == "transfer.sent":
            return True
        if body["type"] == "transfer.submitted":
            return self.source is None or body["src_chain_id"] == self.source
        if not self.sends and body["type"] != "transfer.failed":
            return False
        return self._own_chain(body["type"]) in chains

    def _own_chain(self, event_type: str) -> int | None:
        return self.destination if event_type in ON_DESTINATION else self.source

    def _chain(self, fact: Fact) -> int | None:
        """The chain whose reorganisations take it back."""
        if fact.type in ON_NO_CHAIN:
            return None
        own = self._own_chain(fact.type)
        return fact.body.get("chain_id") if own is None else own

    def _is_on_its_chain(self, fact: Fact) -> bool:
        """What was read on another chain than the transfer's own counts for nothing."""
        own, read_on = self._own_chain(fact.type), fact.body.get("chain_id")
        return own is None or read_on is None or own == read_on

    # What is canonical.

    def _taken_back(self, fact: Fact) -> list[int]:
        """The places of all that takes back what was reported of the fact before it."""
        chain, block = self._chain(fact), fact.body.get("block")
        places = [each.place for each in self.retractions if each.of == fact.body["id"]]
        if chain is not None and block is not None:
            reorganised = (each for each in self.log.reorganisations_of(chain) if block >= each.from_block)
            places += [each.place for each in reorganised]
        return sorted(places)

    @cached_property
    def _sends_taken(self) -> list[int]:
        """Where canonical sends were orphaned: what confirmed them before was orphaned with them."""
        places = []
        sends = [each for each in self.facts if each.type == "transfer.sent"]
        proven = [each for each in sends if each.is_proven]
        for send in proven or sends:
            before = 0
            for place in self._taken_back(send):
                if any(before < each.place < place for each in send.reports):
                    places.append(place)
                before = place
        return places

    def _left(self, fact: Fact) -> list[Report]:
        """The reports of it that nothing took back."""
        ends = self._taken_back(fact)
        if fact.type == "transfer.confirmed":
            ends = sorted([*ends, *self._sends_taken])
        last = ends[-1] if ends else 0
        return [each for each in fact.reports if each.place > last]

    @cached_property
    def canonical(self) -> list[Fact]:
        """Its reporters are those whose reports are left; its content is that of all."""
        return [Fact(each.body, left) for each in self.facts if (left := self._left(each))]

    def all(self, event_type: str) -> list[Fact]:
        return [each for each in self.canonical if each.type == event_type]

    @cached_property
    def send(self) -> Fact | None:
        """The canonical send that decides."""
        return first_send(self.all("transfer.sent"))


def fault(log: Log, world: World, body: Body, chains: Chains, now: datetime) -> bool | None:
    """Whether the line must be refused. None where the documents leave it to what is known at the moment."""
    same = log.of_same_id(body)
    of_scope = [each for each in same if each.chains == chains]
    if (body["at"] - now).total_seconds() > 600:
        return True
    if body["type"] == "chain.reorged" and _is_another(log, body):
        return True
    if body["type"] == "transfer.sent":
        if contradicts_its_id(body) or _names_two_tokens(body, world):
            return True
        if chains is not None and not is_proven(body):
            return True
    if chains is not None and (named := _named_chain(body)) is not None and named not in chains:
        return True
    if chains is not None and body.get("chain_id", min(chains)) not in chains:
        return None  # read on a chain of others: it counts for nothing in any case
    if body["type"] == "refund.signed":
        return None  # known false today, quarantined, and true after a rotation
    if not all(agree(each.body, body) for each in of_scope):
        return True
    if not all(agree(each.body, body) for each in same):
        # what a token without limits reports, nobody else is an obstacle to
        return None if chains is not None else _unless_obstructed(same, body)
    if body["type"] == "refund.prepared":
        return None  # refused while a known send contradicts it
    if (
        chains is not None
        and isinstance(body["subject"], str)
        and body["type"] not in ("transfer.sent", "transfer.submitted")
    ):
        known = Canonical(log, body["subject"], now)
        return None if known.sends or known.announcements else False
    return False


def _is_another(log: Log, body: Body) -> bool:
    """Whether its id is that of another reorganisation of the chain."""
    same = (
        each
        for each in log.reorganisations
        if (each.event_id, each.chain_id) == (body["id"], body["subject"])
    )
    return any((each.at, each.from_block) != (body["at"], body["from_block"]) for each in same)


def _unless_obstructed(same: Sequence[Report], body: Body) -> bool | None:
    """What limited tokens reported under the id is no obstacle."""
    return not all(agree(each.body, body) for each in same if each.chains is None)


def _named_chain(body: Body) -> int | None:
    """The chain that a line itself names."""
    if isinstance(body["subject"], int):
        return body["subject"]
    return body["src_chain_id"] if body["type"] in ("transfer.sent", "transfer.submitted") else None


def _names_two_tokens(send: Body, world: World) -> bool:
    if "symbol" not in send or "token" not in send:
        return False
    configured: Any = world.token(send["src_chain_id"], send["symbol"])
    return configured is not None and bool(configured != prefixed(send["token"]))
