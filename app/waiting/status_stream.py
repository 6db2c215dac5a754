"""Changes of statuses, as a stream tells them: the same ones whoever asks, from any position on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import chain, groupby

from msgspec import Struct
from msgspec.structs import replace

from app.network.facts import NetworkFacts
from app.transfers.status_changes import MAX_SEQ, WHOLE, Position, StatusChange, StatusThen
from app.transfers.status_history import Forward, Past


class PlacedChange(Struct, frozen=True):
    """A change, its place in the stream, and when the gateway learned of it."""

    position: Position
    at: datetime
    change: StatusChange


Turns = Callable[[Iterator[PlacedChange | None]], Iterator[PlacedChange | None]]
"""Passes steps on, and lets others have their turn in between."""


def changes_after(
    pasts: Iterable[Past],
    facts: NetworkFacts,
    after: Position,
    account: str | None = None,
    in_turns: Turns = iter,
) -> list[PlacedChange]:
    """The changes of transfers behind a position, in the order in which they are told.

    What one entry of the log changed at once is told in the order of the transfers' ids, each at a position
    of its own: nothing is lost or told twice to one who heard of the first alone.

    :param account: as ``account_key`` writes it, for the stream of an account: a transfer is told of from the
        entry on by which it is listed under it.
    """
    # Of an entry that was told in part the other part is to be found again.
    start = after if after.part == WHOLE else Position(after.seq - 1, MAX_SEQ)
    steps = chain.from_iterable(_steps(past, facts, start, account) for past in pasts)
    found = [step for step in in_turns(steps) if step is not None]
    found.sort(key=lambda each: (each.position, each.change.transfer_id))
    told: list[PlacedChange] = []
    for position, group in groupby(found, key=lambda each: each.position):
        *firsts, last = group
        told += [replace(each, position=position._replace(part=n)) for n, each in enumerate(firsts, start=1)]
        told.append(last)
    return [each for each in told if each.position > after]


def _steps(
    past: Past, facts: NetworkFacts, after: Position, account: str | None
) -> Iterator[PlacedChange | None]:
    """The changes of one transfer, with a step for each entry of its log in between."""
    forward = Forward(past, facts)
    yield from forward.until(after)
    before = forward.status(after)
    for position in sorted(position for position in past.learned if position > after):
        yield from forward.until(position)
        now = forward.status(position)
        if now is not None and (_is_published(before, account) or _is_published(now, account)):
            told_before = before if _is_published(before, account) else None
            change = StatusChange.between(past.transfer_id, position.seq, told_before, now)
            if change.status is not change.previous_status:
                yield PlacedChange(position, past.learned[position], change)
        before = now


def _is_published(then: StatusThen | None, account: str | None) -> bool:
    return then is not None and (account is None or account in then.accounts)
