"""Reads one chain under a lease: polls, backfills, rereads, writes what it reads, and gives way to others."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Final

from msgspec import Struct, field

from app.db.database import Database
from app.feed.services.ingest import Intake
from app.values.identifiers import BlockNumber
from app.watcher.loop.backfill import read_range, report_range
from app.watcher.loop.branches import request_others
from app.watcher.loop.faults import FaultBook
from app.watcher.loop.fetch import Fetched
from app.watcher.loop.poll import Outcome, poll
from app.watcher.loop.verify import (
    Unverifiable,
    compare,
    compare_arrived,
    compare_reported,
    due,
    examine,
    span_to_verify,
    unknown,
    verify,
)
from app.watcher.loop.view import View
from app.watcher.loop.writer_share import WriterShare
from app.watcher.rpc.faults import RpcFault
from app.watcher.rpc.nodes import Trouble
from app.watcher.rules.steps import Span, SpanState, Step
from app.watcher.services.advance import advance
from app.watcher.services.contradicting_reports import arrived, to_compare
from app.watcher.services.lease import Lease
from app.watcher.services.readings import Reported, load, reported

SEEN_SECONDS: Final = 10.0
"""At least so often it is written that the chain was polled, even if nothing is new."""

LOGS_A_STEP: Final = 300
"""Of the backfill. They make about as many events as a batch of the feed, so others wait no longer."""

REREAD_EVERY: Final = 4
"""Polls from one reread to the next, so that it costs a fraction of the calls."""

VERIFY_SECONDS: Final = 0.5
"""From one range whose headers are read to the next, at least: so many blocks of a backfill are not read in
one go."""

EARLIER_SECONDS: Final = 2.0
"""The same for ranges that a release before the rule of evidence proved."""

EARLIER_AGAIN_SECONDS: Final = 3600.0
"""Until the next ones are tried where some could not be read."""

EXAMINED: Final = 20
EXAMINED_SECONDS: Final = 2.0
"""Blocks in doubt about which URLs are requested after one poll, and for how long others are begun."""

UNVERIFIABLE_SECONDS: Final = 60.0
LONGEST_UNVERIFIABLE_SECONDS: Final = 3600.0
"""Until headers are read again where nothing could be agreed or proven. They double while that lasts."""


class Reader(Struct):
    """One chain, as long as its lease is held.

    :param share: how much of the writer's time the backfill may take.
    :param waiting: the parts of a range of the backfill that were read and not written yet.
    :param to_compare: a range of the backfill was written of which nothing is agreed: it is requested of
        another voice before the next one is read.
    :param unverified: ranges in a row that could not be verified.
    :param accepted: events of the last step that were new to the feed, and not only reported again.
    """

    database: Database
    intake: Intake
    lease: Lease
    view: View
    share: WriterShare
    faults: FaultBook
    waiting: deque[Fetched] = field(default_factory=deque)
    seen_at: float = float("-inf")
    since_reread: int = 0
    to_compare: bool = False
    verified_at: float = float("-inf")
    verifiable_at: float = float("-inf")
    earlier_at: float = float("-inf")
    unverified: int = 0
    accepted: int = 0

    def poll(self) -> bool:
        """Read the newest blocks once. Returns whether more of them can be read at once.

        :raises RpcFault: no node answers, or the answers do not fit together.
        :raises TooDeep: a reorganisation deeper than is accepted.
        :raises LeaseLost: another watcher reads the chain now.
        :raises StepRefused: see ``advance``.
        """
        self._write(poll(self.view, self._reported()))
        now = self.view.monotonic()
        if now - self.seen_at >= SEEN_SECONDS and self.view.look is not None:
            self._write(Outcome(self._seen()))
        if (node := self.view.nodes.named(self.view.source)) is not None:
            request_others(self.view, node)
        self.examine()
        self.compare_reports()
        self.since_reread += 1
        if self.view.lag == 0 and self.since_reread >= REREAD_EVERY:
            self.reread()
        return self.view.lag > 0

    def reread(self) -> bool:
        """Read final blocks a second time. Returns whether there were any."""
        self.since_reread = 0
        outcome = compare(self.view, self._reported())
        if outcome is None:
            return False
        self._note_differences(outcome)
        self._write(outcome)
        return True

    def background(self) -> float | None:
        """Do one piece of what is not urgent. Returns the seconds until the next; None where nothing waits.

        :raises RpcFault: as :meth:`poll`, also its other errors.
        """
        if self.view.readings.live_to is None:
            return None
        if self.to_compare and not self.waiting:
            self.to_compare = False
            if self._is_long():
                self.reread()
                return 0.0
        if not self.waiting and (fetched := read_range(self.view)) is not None:
            self.waiting.extend(fetched.pieces(LOGS_A_STEP))
        if self.waiting:
            with self.share.turn() as mine:
                if mine:
                    fetched = self.waiting.popleft()
                    self._write(report_range(self.view, fetched, self._reported()), backfill=True)
                    self.to_compare = not fetched.agreed and len(self.view.nodes.voices) > 1
            # The next range is read while others write.
            return (self.share.wait() if self.waiting else 0.0) if mine else max(self.share.wait(), 0.01)
        if len(due(self.view)) > REREAD_EVERY or self._is_long() or unknown(self.view) is not None:
            self.reread()
            return 0.0
        return self._until_verified()

    def _until_verified(self) -> float | None:
        """Verify the next range if it is its turn. Returns the seconds until the next; None for none."""
        span, now = span_to_verify(self.view), self.view.monotonic()
        if span is None:
            self.view.earlier_below = None
        if span is None or now < self.verifiable_at:
            return None
        is_earlier = span.state is SpanState.PROVEN
        if is_earlier and now < self.earlier_at:
            return None
        pause = EARLIER_SECONDS if is_earlier else VERIFY_SECONDS
        if now - self.verified_at < pause:
            return pause - (now - self.verified_at)
        return pause if self.prove() else None

    def examine(self) -> None:
        """Request what is missing of blocks in doubt that are due."""
        started = self.view.monotonic()
        for _ in range(EXAMINED):
            if self.view.monotonic() - started > EXAMINED_SECONDS:
                break  # a URL is slow: the next poll must not wait
            if (outcome := examine(self.view, self._reported())) is None:
                break
            self._write(outcome)
            self._note_differences(outcome)
        doubts, requested_at = self.view.readings.doubts, self.view.requested_at
        self.view.requested_at = {block: at for block, at in requested_at.items() if block in doubts}

    def compare_reports(self) -> None:
        chain_id = self.view.terms.chain_id
        if (noted := compare_arrived(self.view, partial(arrived, self.database, chain_id))) is not None:
            self._write(noted)
        started = self.view.monotonic()
        for block in to_compare(self.database, chain_id, self.view.clock()):
            if self.view.monotonic() - started > EXAMINED_SECONDS:
                break
            self._write_difference(compare_reported(self.view, block, self._reported()))

    def prove(self) -> bool:
        """Verify the next range by its headers. Returns whether there was any."""
        self.verified_at = self.view.monotonic()
        span = span_to_verify(self.view)
        if span is None:
            return False
        is_earlier = span.state is SpanState.PROVEN
        try:
            outcome = verify(self.view, span, self._reported())
        except RpcFault as fault:
            if not is_earlier:
                raise
            self._pass_over(span, str(fault))
            return True
        except Unverifiable as cannot:
            if is_earlier:
                self._pass_over(span, str(cannot))
                return True
            pause = min(UNVERIFIABLE_SECONDS * 2**self.unverified, LONGEST_UNVERIFIABLE_SECONDS)
            self.unverified = min(self.unverified + 1, 16) if cannot.lasts else 0
            self.verifiable_at = self.verified_at + pause
            self.faults.note(Trouble(self.view.source, f"blocks cannot be verified: {cannot}"))
            if cannot.found is not None and cannot.found.step is not None and cannot.found.step.events:
                self._write_difference(cannot.found)
            return False
        self.unverified = 0
        self._write_difference(outcome)
        return True

    def _pass_over(self, span: Span, why: str) -> None:
        """Wait before going on below a span that a release before proved and that cannot be read.

        They are read from the newest to the oldest, so what is pruned comes last.
        """
        self.view.earlier_below = span.first
        self.earlier_at = self.verified_at + EARLIER_AGAIN_SECONDS
        what = f"blocks {span.first} to {span.last}, which an earlier release proved, cannot be read again"
        self.faults.note(Trouble(self.view.source, f"{what}: {why}"))

    def _write_difference(self, outcome: Outcome) -> None:
        self._write(outcome)
        if self.accepted:
            self._note_differences(outcome)

    def _is_long(self) -> bool:
        """Whether what is to be reread is a range of the backfill."""
        spans = due(self.view)
        return bool(spans) and spans[0].first < (self.view.readings.live_from or 0)

    def _write(self, outcome: Outcome, *, backfill: bool = False) -> None:
        self.faults.note_unreadable(outcome.unreadable, self.view.source)
        if outcome.step is not None:
            written = advance(self.database, self.intake, self.lease, outcome.step)
            self.accepted = written.accepted
            if backfill:
                self.share.wrote(written)
            self.view.taken(outcome.step)
            self.seen_at = self.view.monotonic()
            if outcome.step.forget_from is not None:
                self.waiting.clear()
            if written.taken_back_from is not None:
                self._taken_back(written.taken_back_from)

    def _taken_back(self, from_block: BlockNumber) -> None:
        """After another reporter's reorganisation: what is stored has changed, and is read again at once."""
        words = f"somebody else reported a reorganisation from block {from_block}: its blocks are read again"
        self.faults.note(Trouble("", words))
        self.view.readings = load(self.database, self.view.terms.chain_id)
        self.accepted, self.since_reread = 0, REREAD_EVERY
        self.waiting.clear()

    def _reported(self) -> Reported:
        return partial(reported, self.database, self.view.terms.chain_id)

    def _seen(self) -> Step:
        look = self.view.look
        return Step(
            at=self.view.clock(),
            head=None if look is None else look.head,
            final=self.view.final,
            source=self.view.source,
            calls=self.view.calls(),
        )

    def _note_differences(self, outcome: Outcome) -> None:
        for missed in () if outcome.step is None else outcome.step.missed:
            words = (
                f"blocks {missed.first} to {missed.last} were read incompletely at first ({missed.missing} "
                f"logs missing, {missed.surplus} too many); this was corrected"
            )
            self.faults.note(Trouble(missed.source, words))
