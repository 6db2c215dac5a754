"""URLs that return different things of one block: what stays, what is found, who is named. One row each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest
from flask import Flask

from tests.builders.clock import MovableClock
from tests.feed.services.world import NOW, forget_events
from tests.watcher.kit import Watched, send
from tests.watcher.loop.table import (
    CONFIRMED,
    DELIVERED,
    FALSE_AMOUNT,
    INVENTED,
    PAID,
    PAYOUT,
    PENDING,
    SEND,
    SENT,
    Chain,
    Seen,
    World,
    does,
)


@dataclass(frozen=True)
class Story:
    """What was seen of a block, in its order.

    :param first: before any URL did anything wrong; None where the block was mined afterwards.
    :param polls: after each of the first polls with it.
    :param end: when it was deep and old.
    :param healed: after all URLs were honest again.
    """

    first: Seen | None
    polls: tuple[Seen, ...]
    end: Seen
    healed: Seen

    @property
    def all(self) -> tuple[Seen, ...]:
        return (*([] if self.first is None else [self.first]), *self.polls, self.end, self.healed)


def _is_stored(story: Story) -> bool:
    return all(seen.shown[SENT] >= 1 and seen.shown[PAID] == DELIVERED for seen in story.all)


def _is_found(seen: Seen) -> bool:
    return (seen.shown[SENT], seen.shown[PAID], seen.paid) == (CONFIRMED, DELIVERED, {990})


def _is_true(seen: Seen) -> bool:
    return seen.shown[INVENTED] == PENDING and FALSE_AMOUNT not in seen.paid


RIGHT: Mapping[str, Callable[[Story], bool]] = {
    "all stays": _is_stored,
    "all is found": lambda story: _is_found(story.end),
    "found at once": lambda story: story.polls[0].shown[SENT] == 1 and _is_stored(story),
    "no false payout": lambda story: all(map(_is_true, (*story.polls[1:], story.end, story.healed))),
    "claimed at most": lambda story: story.end.shown[INVENTED] == PENDING or bool(story.end.doubts),
    "the send is confirmed": lambda story: story.end.shown[SENT] == CONFIRMED,
    "the payout is suspended": lambda story: (
        {seen.shown[PAID] for seen in (*story.polls[1:], story.end)} == {PENDING}
    ),
    "never in doubt": lambda story: not any(seen.doubts for seen in story.polls[1:]) and not story.end.doubts,
    "stays in doubt": lambda story: bool(story.end.doubts),
    "decided": lambda story: not story.end.doubts,
    "nobody is named": lambda story: story.end.named == "",
    "at once": lambda story: not story.polls[1].doubts and bool(story.polls[1].named),
    "A is named": lambda story: story.end.named == "A",
    "B is named": lambda story: story.end.named == "B",
    "heals": lambda story: _is_found(story.healed) and not story.healed.doubts,
}
"""What can be right, by the words of a row."""


def story_of(world: World, urls: tuple[str, ...], *, read_before: bool) -> Story:
    """What is seen of a block with a send and a payout.

    :param urls: what each does with it.
    :param read_before: it does so after the block was read.
    """
    number = world.watched.chain.head.number + 1
    first: Seen | None = None
    if read_before:
        world.mine(1, SEND, PAYOUT)
        world.polls(4)
        first = world.see()
    for words, node in zip(urls, world.nodes, strict=True):
        does(words)(node, number)
    if not read_before:
        world.mine(1, SEND, PAYOUT)
    polls = []
    for _ in range(4):
        world.polls()
        polls.append(world.see())
    world.goes_on()
    end = world.see()
    world.heals()
    return Story(first, tuple(polls), end, world.see())


@dataclass(frozen=True)
class Row:
    """A row of the table.

    :param urls: what each URL does with a block with a send and a payout.
    :param right: what is right then.
    :param on: what can be verified on the chain.
    :param after: it does so only after the block was read.
    :param is_first: of those that differ in the chain, in ``after`` or in what is invented only.
    """

    urls: tuple[str, ...]
    right: str
    on: Chain = Chain.ALL
    after: bool = False
    is_first: bool = True

    def __str__(self) -> str:
        names = ", ".join(f"{name} {words}" for name, words in zip("ABC", self.urls, strict=False))
        return f"{names}{' after it was read' if self.after else ''}, on a chain with {self.on.value}"


def rows(
    *urls: str, right: str, on: tuple[Chain, ...] = (Chain.ALL,), after: tuple[bool, ...] = (False,)
) -> list[Row]:
    """The same on several chains, before the block is read and after it."""
    return [
        Row(urls, right, chain, late, is_first=(chain, late) == (on[0], after[0]))
        for chain in on
        for late in after
    ]


WITH_ROOTS = (Chain.ALL, Chain.NO_FILTERS)
WITHOUT_ROOTS = (Chain.NO_ROOTS, Chain.NO_RECEIPTS)
ALL = (*WITH_ROOTS, *WITHOUT_ROOTS)
INVENTIONS = [
    f"{false}, with {receipts}"
    for false in ("invents a payout", "invents a payout next to another", "alters an amount")
    for receipts in ("true receipts", "receipts that hold it", "empty receipts", "no receipts")
]
_next_inventions = itertools.cycle(INVENTIONS[::5] + INVENTIONS[2::5] + INVENTIONS[1::5])
"""Each with other receipts than the one before it, and of another kind."""

FALSE = "FALSE"


def each_invention(*urls: str, right: str, on: tuple[Chain, ...]) -> list[Row]:
    """The same for each payout that is invented or altered, whatever the receipts of its URL say.

    Two of them are tried everyday, others in each line of the table.
    """
    found, tried = [], {next(_next_inventions), next(_next_inventions)}
    for false in INVENTIONS:
        all_rows = rows(*(false if words == FALSE else words for words in urls), right=right, on=on)
        found += [replace(row, is_first=row.is_first and false in tried) for row in all_rows]
    return found


GONE, ALL_GONE = "returns no logs", "returns neither logs nor receipts"

BLANK = "returns an empty root and no transactions"
LACKS = "leaves out the send"
DENIES = "leaves out the send, also in its receipts"
DOWN = "does not answer"
COUNTS = "numbers logs differently"
"""What URLs do with the block."""

BLAMELESS = "nobody is named, heals"
FOUND = "all is found, nobody is named, heals"
AT_ONCE = "found at once, nobody is named, heals"
STAYS = "all stays, nobody is named, heals"
DOUBT = "stays in doubt, nobody is named, heals"
A_IS_NAMED = "no false payout, all is found, A is named"
B_IS_NAMED = "no false payout, all is found, B is named"
HARMLESS = "found at once, never in doubt, nobody is named, heals"
SURVIVES = "found at once, all is found, nobody is named, heals"
UNDECIDED = "no false payout, the send is confirmed, nobody is named, stays in doubt"
"""What is right then."""

TABLE = [
    *rows(
        "honest",
        right="found at once, no false payout, never in doubt, heals, nobody is named",
        on=WITH_ROOTS,
    ),
    *rows("honest", "honest", right="found at once, all is found, never in doubt, heals", on=ALL),
    # The index of one URL breaks.
    *rows(GONE, right=FOUND),
    *rows(GONE, right="all stays, all is found, nobody is named, heals", on=WITH_ROOTS, after=(True,)),
    *rows(ALL_GONE, right=DOUBT),
    *rows(ALL_GONE, right="all stays, stays in doubt, nobody is named, heals", after=(True,)),
    *rows(GONE, right="all stays, nobody is named", on=WITHOUT_ROOTS, after=(True,)),
    *rows(GONE, "honest", right=AT_ONCE, on=(Chain.ALL, *WITHOUT_ROOTS)),
    *rows(GONE, "honest", right=FOUND, on=(Chain.NO_FILTERS,)),
    *rows("honest", GONE, right=AT_ONCE, on=ALL),
    *rows(GONE, "honest", right=STAYS, on=ALL, after=(True,)),
    *rows("honest", ALL_GONE, right=STAYS, on=ALL, after=(False, True)),
    *rows(ALL_GONE, "honest", right=STAYS, on=ALL, after=(True,)),
    *rows(ALL_GONE, "honest", right=BLAMELESS, on=ALL),
    # Those of both break.
    *rows(GONE, GONE, right=FOUND),
    *rows(GONE, GONE, right="all stays, nobody is named", on=ALL, after=(True,)),
    *rows(ALL_GONE, ALL_GONE, right=DOUBT, on=(Chain.ALL, *WITHOUT_ROOTS)),
    *rows(ALL_GONE, ALL_GONE, right=STAYS, on=ALL, after=(True,)),
    *rows(GONE, GONE, right=DOUBT, on=WITHOUT_ROOTS),
    *rows(GONE, GONE, "honest", right=BLAMELESS, on=(Chain.ALL, *WITHOUT_ROOTS)),
    # A header shows that the block is empty, its filter shows that it is not.
    *rows(BLANK, right=DOUBT, on=WITH_ROOTS),
    *rows(BLANK, right="all stays, stays in doubt, heals", after=(True,)),
    *rows(BLANK, "honest", right="all is found, heals", on=ALL),
    # An old send is left out.
    *rows(LACKS, right="all is found, heals", on=WITH_ROOTS),
    *rows(LACKS, "honest", right="found at once, heals", on=ALL),
    *rows("honest", LACKS, right="found at once, heals", on=ALL),
    *rows(LACKS, LACKS, right="all is found, heals"),
    *rows(DENIES, right="all stays, heals", after=(True,)),
    *rows("leaves out the payout, also in its receipts", right="all stays, heals", after=(True,)),
    *rows(DENIES, right="all stays", on=WITHOUT_ROOTS, after=(True,)),
    *rows(DENIES, "honest", right="all is found, A is named"),
    # What it returned before it cannot deny: several machines may answer behind its URL.
    *rows(DENIES, "honest", right="all stays, all is found, nobody is named", after=(True,)),
    *rows("honest", DENIES, right="found at once, B is named", after=(False,)),
    *rows(
        "honest",
        "leaves out the payout, also in its receipts",
        right="the payout is suspended, nobody is named, heals",
        on=(Chain.NO_ROOTS,),
    ),
    # The first or the second of two URLs invents a payout or alters an amount.
    *each_invention(
        FALSE, "honest", right="no false payout, all is found, A is named, at once, heals", on=WITH_ROOTS
    ),
    *each_invention("honest", FALSE, right="no false payout, all is found, B is named, heals", on=WITH_ROOTS),
    *each_invention(FALSE, "honest", right=UNDECIDED, on=(Chain.NO_ROOTS,)),
    *each_invention("honest", FALSE, right=UNDECIDED, on=(Chain.NO_ROOTS,)),
    *each_invention(FALSE, "honest", "honest", right=A_IS_NAMED, on=(Chain.ALL, Chain.NO_ROOTS)),
    *each_invention("honest", FALSE, "honest", right=B_IS_NAMED, on=(Chain.ALL, Chain.NO_ROOTS)),
    # The hash is that of the block; root, filter, receipts and logs are forged together.
    *rows("forges", right="claimed at most, nobody is named, heals"),
    *rows("forges", "honest", right=A_IS_NAMED, after=(False, True)),
    *rows("honest", "forges", right=B_IS_NAMED, after=(False, True)),
    *rows("forges", "honest", right="no false payout, A is named, stays in doubt", on=(Chain.NO_ROOTS,)),
    *rows("forges", "honest", "honest", right=A_IS_NAMED, on=ALL, after=(False, True)),
    *rows("honest", "forges", "honest", right=B_IS_NAMED, on=ALL, after=(False, True)),
    # They count differently, or answer later.
    *rows("honest", COUNTS, right=HARMLESS, on=ALL),
    *rows(COUNTS, "honest", right=HARMLESS, on=ALL),
    *rows("honest", DOWN, right=SURVIVES, on=ALL),
    *rows(DOWN, "honest", right=SURVIVES, on=ALL),
]


def wrong_in(watched: Watched, row: Row) -> list[str]:
    """What of a row is not right, with what was seen."""
    story = story_of(World(watched, len(row.urls), row.on), row.urls, read_before=row.after)
    return [f"{row}: {words}: {story}" for words in row.right.split(", ") if not RIGHT[words](story)]


@pytest.mark.parametrize("row", [row for row in TABLE if row.is_first], ids=str)
def test_conflicting_answers_are_decided(watched: Watched, row: Row) -> None:
    assert wrong_in(watched, row) == []


@pytest.mark.slow
def test_conflicting_answers_are_decided_on_every_chain(app: Flask, clock: MovableClock) -> None:
    for row in TABLE:
        if not row.is_first:
            forget_events(app)
            clock.now = NOW
            assert wrong_in(Watched(app), row) == []


@pytest.mark.parametrize("minutes", [1, 12, 50])
def test_invented_payout_is_retracted_after_outage(watched: Watched, minutes: int) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    number = watched.chain.head.number + 1
    does("does not answer")(watched.nodes[1], number)
    does("invents a payout, with receipts that hold it")(watched.nodes[0], number)
    world.mine()
    world.polls(minutes, seconds=60)
    assert world.status(INVENTED) == DELIVERED
    watched.nodes[1].fault = lambda _body: None
    watched.time.go(60)  # so long a URL that failed gets no request
    world.polls(2)
    assert world.status(INVENTED) == PENDING


@pytest.mark.parametrize("on", WITHOUT_ROOTS)
def test_false_payout_stays_out_when_its_block_is_read_again(watched: Watched, on: Chain) -> None:
    """The block above it is replaced. So it is read again, by the URL that invented the payout."""
    world = World(watched, 3, on)
    number = watched.chain.head.number + 1
    does("invents a payout, with receipts that hold it")(watched.nodes[1], number)
    world.mine(1, SEND, PAYOUT)
    world.mine()
    world.polls()
    assert world.named == "B"
    watched.chain.reorg(1)
    for _ in range(6):  # B is used again after a minute
        world.polls(seconds=100)
        assert (world.status(PAID), world.status(INVENTED)) == (DELIVERED, PENDING)


def test_url_that_is_down_gets_few_requests(watched: Watched) -> None:
    world = World(watched, 2)
    does("does not answer")(watched.nodes[1], 0)
    for number in range(10):
        world.mine(1, send(100 + number))
    before = watched.nodes[1].requests
    world.polls(40)
    assert len(world.doubts) == 10
    assert watched.nodes[1].requests - before < 30
