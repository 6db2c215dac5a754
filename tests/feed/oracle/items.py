"""What a feed is made of, and its text: one line of JSON for each step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.feed.oracle.facts import Chains
from tests.feed.oracle.story import Line

REPORTERS: Final[dict[str, Chains]] = {
    "all": None,
    "all too": None,
    "of 1": frozenset({1}),
    "of 2": frozenset({2}),
    "of 3": frozenset({3}),
    "of 1 and 2": frozenset({1, 2}),
    "of 2 and 3": frozenset({2, 3}),
}
"""The chains that their tokens are limited to."""


@dataclass(frozen=True)
class Reported:
    """A line of a reporter. ``joins`` the lines before it in one post, where those are by the same."""

    reporter: str
    line: Line
    joins: bool = False


@dataclass(frozen=True)
class Retract:
    """An operator takes back what has this id about the transfer, or about the chain."""

    event_id: str
    subject: str | int


@dataclass(frozen=True)
class TakeBack:
    """An operator retracts the latest retraction."""


@dataclass(frozen=True)
class RefundRequest:
    """The user requests the refund."""

    transfer_id: str


@dataclass(frozen=True)
class Wait:
    """The clock goes on."""

    seconds: int


@dataclass(frozen=True)
class Again:
    """A reporter sends its whole log again, so many times."""

    reporter: str
    times: int


Item = Reported | Retract | TakeBack | RefundRequest | Wait | Again


Post = tuple[str, list[Line]]


def posts(items: Sequence[Item]) -> Iterator[Post | Again | Wait | RefundRequest | Retract | TakeBack]:
    """The items, with lines that are sent together as one."""
    post: Post | None = None
    for each in items:
        if isinstance(each, Reported) and post and each.joins and post[0] == each.reporter:
            post[1].append(each.line)
            continue
        if post:
            yield post
        post = (each.reporter, [each.line]) if isinstance(each, Reported) else None
        if not isinstance(each, Reported):
            yield each
    if post:
        yield post


def as_text(items: Sequence[Item]) -> str:
    """Who posted what, and what else happened."""
    return "\n".join(json.dumps(_step(each)) for each in posts(items))


def _step(step: Post | Item) -> dict[str, Any]:
    if isinstance(step, tuple):
        return {"reporter": step[0], "chains": sorted(REPORTERS[step[0]] or ()), "events": step[1]}
    return {type(step).__name__: vars(step)}
