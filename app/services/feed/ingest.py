"""Lines in, facts kept and folded, a verdict out: the only way a fact comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from marshmallow import Schema
from sqlalchemy import Connection

from app.domain.reporting.scope import EVERYTHING, Scope
from app.domain.transfer.events import EventType
from app.models.engine import writing
from app.runtime.gateway import Gateway
from app.services.feed.acceptance import Acceptance
from app.services.feed.latencies import follow_window
from app.services.feed.lines import Read, Refused, read_line
from app.services.feed.schema import SCHEMAS

BATCH = 500
"""Lines in one transaction: large enough to share its cost, small enough not to hold up others."""

BATCH_BYTES = 1 << 20
"""What the lines of a batch may add up to, for it is held in memory; common events are half a kilobyte."""


@dataclass(slots=True)
class Verdict:
    """What became of the lines."""

    accepted: int = 0
    repeated: int = 0
    refused: list[Refused] = field(default_factory=list)

    def add(self, other: Verdict) -> None:
        """Count another verdict in; what was refused stays in the order of the lines."""
        self.accepted += other.accepted
        self.repeated += other.repeated
        self.refused = sorted([*self.refused, *other.refused], key=lambda refused: refused.line)

    def as_json(self) -> dict[str, object]:
        """The wire's shape."""
        refused = [{"line": r.line, "id": r.id, "reason": r.reason} for r in self.refused]
        return {"accepted": self.accepted, "repeated": self.repeated, "refused": refused}


def ingest_lines(
    gateway: Gateway,
    lines: Iterable[bytes],
    reporter: str,
    progress: Callable[[int], None] = lambda _lines: None,
    schemas: Mapping[EventType, Schema] = SCHEMAS,
    *,
    scope: Scope = EVERYTHING,
    admit: Callable[[Connection], None] = lambda _connection: None,
) -> Verdict:
    """Take a feed of lines, each batch of them in a transaction of its own.

    A fact and everything that follows from it are committed together. When this returns, what
    it counts as accepted is committed; when it raises, sending the lines again is harmless. A batch
    is read to its end before its transaction is begun: no writer waits for another's network.

    :param reporter: the name kept with every event: of the ingest token, or ``cli``.
    :param progress: told the number of lines after each batch.
    :param schemas: the event types that can be read from this kind of sender.
    :param scope: what this sender may report of them; the rest is refused, line by line.
    :param admit: called in each transaction before anything is taken; what it raises ends the feed.
    """
    verdict = Verdict()
    for batch in _batches(lines):
        readable = _read(batch, gateway.clock(), verdict, schemas)
        if readable:
            with writing(gateway.engine) as connection:
                admit(connection)
                taken = _take(connection, readable, reporter, gateway, scope)
            verdict.add(taken)
        progress(len(batch))
    return verdict


def ingest_within(connection: Connection, gateway: Gateway, lines: Iterable[bytes], reporter: str) -> Verdict:
    """As :func:`ingest_lines`, all within a transaction that the caller opened by ``writing``."""
    verdict = Verdict()
    for batch in _batches(lines):
        if readable := _read(batch, gateway.clock(), verdict, SCHEMAS):
            verdict.add(_take(connection, readable, reporter, gateway))
    return verdict


def _batches(lines: Iterable[bytes]) -> Iterator[list[tuple[int, bytes]]]:
    batch: list[tuple[int, bytes]] = []
    size = 0
    for number, line in enumerate(lines, start=1):
        batch.append((number, line))
        size += len(line)
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _read(
    batch: list[tuple[int, bytes]], now: datetime, verdict: Verdict, schemas: Mapping[EventType, Schema]
) -> list[Read]:
    readable: list[Read] = []
    for number, text in batch:
        line = read_line(number, text, now, schemas)
        if isinstance(line, Read):
            readable.append(line)
        elif line is not None:
            verdict.refused.append(line)
    return readable


def _take(
    connection: Connection,
    lines: list[Read],
    reporter: str,
    gateway: Gateway,
    scope: Scope = EVERYTHING,
) -> Verdict:
    acceptance = Acceptance(connection, reporter, gateway.clock(), gateway.max_reorg_blocks, scope)
    for segment in _segments(lines):
        acceptance.take(segment)
    follow_window(connection, gateway.clock())
    return Verdict(acceptance.accepted, acceptance.repeated, acceptance.refused)


def _segments(lines: Iterable[Read]) -> Iterator[list[Read]]:
    """Split so that what changes how others are judged stands alone, in its place."""
    segment: list[Read] = []
    for line in lines:
        if Acceptance.is_barrier(line.event):
            if segment:
                yield segment
            yield [line]
            segment = []
        else:
            segment.append(line)
    if segment:
        yield segment
