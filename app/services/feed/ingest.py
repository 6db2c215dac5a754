"""Lines in, facts kept and folded, a verdict out: the only way a fact comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from app.models.engine import writing
from app.services.feed.acceptance import Acceptance
from app.services.feed.lines import Read, Refused, read_line
from app.services.gateway import Gateway

BATCH = 500
"""Lines in one transaction: large enough to share its cost, small enough not to hold up others."""


@dataclass(slots=True)
class Verdict:
    """What became of the lines."""

    accepted: int = 0
    repeated: int = 0
    refused: list[Refused] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """The wire's shape."""
        refused = [{"line": r.line, "id": r.id, "reason": r.reason} for r in self.refused]
        return {"accepted": self.accepted, "repeated": self.repeated, "refused": refused}


def ingest_lines(
    gateway: Gateway,
    lines: Iterable[bytes],
    reporter: str,
    progress: Callable[[int], None] = lambda _lines: None,
) -> Verdict:
    """Take a feed of lines, each batch of them in a transaction of its own.

    A fact and everything that follows from it are committed together. When this returns, what
    it counts as accepted is committed; when it raises, sending the lines again is harmless.

    :param reporter: the name kept with every event: of the ingest token, or ``cli``.
    :param progress: told the number of lines after each batch.
    """
    verdict = Verdict()
    numbered = enumerate(lines, start=1)
    while batch := list(islice(numbered, BATCH)):
        _ingest_batch(gateway, batch, reporter, verdict)
        progress(len(batch))
    return verdict


def _ingest_batch(gateway: Gateway, batch: list[tuple[int, bytes]], reporter: str, verdict: Verdict) -> None:
    now = gateway.clock()
    readable: list[Read] = []
    refused: list[Refused] = []
    for number, text in batch:
        line = read_line(number, text, now)
        if isinstance(line, Read):
            readable.append(line)
        elif line is not None:
            refused.append(line)
    if readable:
        with writing(gateway.engine) as connection:
            acceptance = Acceptance(connection, reporter, now, gateway.max_reorg_blocks)
            for segment in _segments(readable):
                acceptance.take(segment)
        verdict.accepted += acceptance.accepted
        verdict.repeated += acceptance.repeated
        refused += acceptance.refused
    verdict.refused += sorted(refused, key=lambda r: r.line)


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
