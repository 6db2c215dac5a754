"""Whose report of a fact counts for a transfer, and which two chains the transfer has.

Reports of one fact are merged first. Then it is decided whether the fact counts (docs/ingest.md#tokens,
docs/interface/events.md#standing). Nothing here depends on the order of the reports.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from app.transfers.rules.events.contract_ids import Proof, is_proven, proof_of
from app.transfers.rules.events.event_types import (
    Event,
    PlacedEvent,
    TransferEvent,
    TransferFailed,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.rules.events.keys import Side
from app.transfers.rules.events.merging import agree, together
from app.values.identifiers import ChainId

E_co = TypeVar("E_co", bound=Event, covariant=True)
T_co = TypeVar("T_co", bound=TransferEvent, covariant=True)


class Logged(Struct, Generic[E_co], frozen=True):
    """One acceptance of an event; ``seq`` is its position in the log.

    ``chains`` are those that its reporter was limited to, None without a limit. Events of other chains do
    not count. ``first`` is the position of the event's first acceptance; None: this one, or it is not known.
    """

    seq: int
    event: E_co
    chains: frozenset[int] | None = None
    first: int | None = None

    @property
    def known_since(self) -> int:
        return self.seq if self.first is None else self.first


def as_reported(log: Sequence[Logged[E_co]]) -> Sequence[Logged[E_co]]:
    """Acceptances of one subject, each with all that reporters with the same limits said under its id, and
    with the position of the first of these. ``log`` is in its order.
    """
    known: dict[tuple[str, frozenset[int] | None], Any] = {}
    for logged in log:
        key = logged.event.id, logged.chains
        known[key] = _combined(known[key], logged.event) if key in known else logged.event
    if len(known) == len(log):
        return log
    keys = [(each.event.id, each.chains) for each in log]
    first = {key: each.seq for key, each in zip(reversed(keys), reversed(log), strict=True)}
    return [
        Logged(each.seq, known[key], each.chains, first[key]) for each, key in zip(log, keys, strict=True)
    ]


def merged(log: Sequence[Logged[T_co]]) -> Sequence[Logged[T_co]]:
    """Acceptances of one subject, each with all that any reporter said of its fact.

    Reports under one id that contradict each other are of several facts. But where one is by a reporter
    without limits, those that contradict it are left out.
    """
    if all(each.chains is None for each in log):
        return log
    by_id: dict[str, list[Logged[T_co]]] = {}
    for each in log:
        by_id.setdefault(each.event.id, []).append(each)
    contents: dict[int, T_co] = {}
    for reports in by_id.values():
        contents |= _contents(sorted(reports, key=_trust))
    return [
        Logged(each.seq, contents[each.seq], each.chains, each.first) for each in log if each.seq in contents
    ]


def _contents(reports: Sequence[Logged[T_co]]) -> dict[int, T_co]:
    """The contents of the facts that reports under one id are of, by their positions. ``reports`` are the
    most trusted first. A submission adds nothing to another: it is only a claim.
    """
    facts: list[T_co] = []
    numbers: dict[int, int] = {}
    for each in reports:
        number = next((n for n, fact in enumerate(facts) if agree(fact, each.event)), len(facts))
        if number == len(facts):
            if facts and reports[0].chains is None:
                continue
            facts.append(each.event)
        elif not isinstance(each.event, TransferSubmitted):
            facts[number] = together(facts[number], each.event)
        numbers[each.seq] = number
    return {seq: facts[number] for seq, number in numbers.items()}


def _combined(known: Event, reported: Event) -> Event:
    return together(known, reported) if agree(known, reported) else known


def _trust(logged: Logged[TransferEvent]) -> tuple[Any, ...]:
    return logged.chains is not None, sorted(logged.chains or ()), logged.seq


class Origin(Struct, frozen=True):
    """A transfer's two chains: those of its send, else of its submission, canonical or not."""

    src_chain_id: ChainId | None = None
    dst_chain_id: ChainId | None = None
    is_sent: bool = False
    """Whether a send, which is on a chain, names them. A submission is only a claim."""
    is_proven: bool = False
    """Whether that send's fields give its id. Then no other event that names chains counts."""

    def own_chain_of(self, event: TransferEvent) -> ChainId | None:
        """The transfer's chain on which such an event happens; None where it is not known yet."""
        if event.side is Side.DESTINATION:
            return self.dst_chain_id
        return self.src_chain_id

    def chain_of(self, event: TransferEvent) -> ChainId | None:
        """The chain that the event's block belongs to; None where it is not known yet."""
        if isinstance(event, TransferSent):
            return event.src_chain_id
        if isinstance(event, PlacedEvent) and event.chain_id is not None:
            return event.chain_id
        return self.own_chain_of(event) if event.side is not None else None

    def is_misplaced(self, event: TransferEvent) -> bool:
        if not isinstance(event, PlacedEvent) or event.chain_id is None:
            return False
        return self.own_chain_of(event) not in (None, event.chain_id)


Retracted = Mapping[str, int]
"""Ids of events of one subject to the position in the log of the latest canonical retraction of each."""

_NONE: Final[Retracted] = MappingProxyType({})

Key = TypeVar("Key", bound=Hashable)


def is_retracted(seq: int, key: Key, retracted: Mapping[Key, int]) -> bool:
    """Whether a canonical retraction names the event and came after this acceptance of it.

    :param seq: the position of the acceptance in the log.
    """
    return seq <= retracted.get(key, 0)


def origin_of(log: Sequence[Logged[TransferEvent]], retracted: Retracted = _NONE) -> Origin:
    """The origin that follows from all acceptances of one transfer that operators did not retract.

    It is that of its send: a proven one first, then one of a reporter without limits, then the earliest in
    the chain. Without a send it is that of the first submission of a reporter without limits. The submission
    of a limited one names no chains.
    """
    sends: list[Logged[TransferSent]] = []
    submissions: list[TransferSubmitted] = []
    for logged in log:
        event = logged.event
        if isinstance(event, TransferSent):
            if _may_be_sent(logged, event):
                sends.append(logged)  # type: ignore[arg-type]  # its event was checked
        elif (
            isinstance(event, TransferSubmitted)
            and logged.chains is None
            and not is_retracted(logged.seq, event.id, retracted)
        ):
            submissions.append(event)
    left = [each for each in merged(sends) if not is_retracted(each.seq, each.event.id, retracted)]
    if left:
        first = left[0] if len(left) == 1 else min(left, key=_rank)
        proven = _needs_proof(log) and is_proven(first.event)
        return Origin(first.event.src_chain_id, first.event.dst_chain_id, True, proven)
    if submissions:
        announced = min(submissions, key=lambda each: each.order)
        return Origin(announced.src_chain_id, announced.dst_chain_id)
    return Origin()


def _may_be_sent(logged: Logged[TransferEvent], send: TransferSent) -> bool:
    """Whether a report of a send counts for anything: its fields do not contradict its id, and those of a
    limited reporter give it."""
    if logged.chains is None:
        return proof_of(send) is not Proof.CONTRADICTED
    return is_proven(send) and send.src_chain_id in logged.chains


def _rank(send: Logged[TransferSent]) -> tuple[Any, ...]:
    """The order of sends, the one that decides first."""
    return not is_proven(send.event), send.chains is not None, send.event.order


def _needs_proof(log: Sequence[Logged[TransferEvent]]) -> bool:
    """Whether other events than the send name chains, so that a proof decides something."""
    return sum(isinstance(each.event, TransferSent | TransferSubmitted) for each in log) > 1


def concerned_chain(event: TransferEvent, origin: Origin) -> ChainId | None:
    """The chain that the event's reporter must be admitted to for it to count; None where it is not known.

    For a send or submission it is the source chain. For other events it is the chain that they happen on,
    and the source chain for those without a block (the network's status, the steps of a refund). A
    submission is only an announcement: its chains only count for a failure, which no send precedes.
    """
    if isinstance(event, TransferSubmitted | TransferSent):
        return event.src_chain_id
    if origin.is_sent or isinstance(event, TransferFailed):
        return origin.own_chain_of(event)
    return None


def counting(log: Sequence[Logged[TransferEvent]], origin: Origin) -> Sequence[Logged[TransferEvent]]:
    """The acceptances that count for the transfer, by their reporters and by the chain they were read on."""
    return [each for each in admitted(log, origin) if not origin.is_misplaced(each.event)]


def contradicting(log: Sequence[Logged[TransferEvent]]) -> Sequence[TransferEvent]:
    """Sends whose fields contradict their id, each once: 1.0 accepted them without reading their nonce."""
    found = {
        each.event.id: each.event
        for each in log
        if isinstance(each.event, TransferSent) and proof_of(each.event) is Proof.CONTRADICTED
    }
    return list(found.values())


def admitted(log: Sequence[Logged[TransferEvent]], origin: Origin) -> Sequence[Logged[TransferEvent]]:
    """The acceptances whose reporters may report them of the transfer, merged."""
    return merged([each for each in log if _is_admitted(each, origin)])


def _is_admitted(logged: Logged[TransferEvent], origin: Origin) -> bool:
    event = logged.event
    if isinstance(event, TransferSent):
        return _may_be_sent(logged, event)
    if isinstance(event, TransferSubmitted):
        is_decided = origin.is_proven or (logged.chains is not None and origin.src_chain_id is not None)
        if is_decided and not _names(event, origin):
            return False
    return logged.chains is None or concerned_chain(event, origin) in logged.chains


def _names(submission: TransferSubmitted, origin: Origin) -> bool:
    """Whether a submission names the chains of the origin, as far as both name any."""
    return submission.src_chain_id == origin.src_chain_id and (
        None in (submission.dst_chain_id, origin.dst_chain_id)
        or submission.dst_chain_id == origin.dst_chain_id
    )


def announcing_only(counted: Sequence[Logged[TransferEvent]]) -> Set[str]:
    """Ids of the submissions that give status 1 and nothing else: no link, no amount, no account. Only
    limited reporters sent these, and somebody else reported anything, too.
    """
    if all(each.chains is None for each in counted):
        return frozenset()
    found = {each.event.id for each in counted if isinstance(each.event, TransferSubmitted)}
    found -= {each.event.id for each in counted if each.chains is None}
    is_alone = len({each.chains for each in counted}) == 1 and all(
        isinstance(each.event, TransferSubmitted) for each in counted
    )
    return frozenset() if is_alone else found


def most_trusted(canonical: Sequence[Logged[TransferEvent]]) -> Sequence[Logged[TransferEvent]]:
    """Each canonical event once, as the report that is trusted most. Two events with one id are two facts, of
    which reporters with other limits spoke (:func:`merged`). Where a send of a reporter without limits is
    proven, sends of limited reporters are left out.
    """
    if all(each.chains is None for each in canonical):
        return list({each.event.id: each for each in canonical}.values())
    chosen: dict[TransferEvent, Logged[TransferEvent]] = {}
    for each in sorted(canonical, key=_trust):
        known = chosen.get(each.event)
        if known is None or known.chains == each.chains:  # the newest of the most trusted
            chosen[each.event] = each
    is_proven_without_limits = any(each.chains is None and is_proven(each.event) for each in chosen.values())
    return [
        each
        for each in chosen.values()
        if each.chains is None or not (is_proven_without_limits and isinstance(each.event, TransferSent))
    ]
