"""URLs that say different things of one block: what stays, what is found, who is named. One row each."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.watcher.kit import Watched, send
from tests.watcher.loop.table import DELIVERED, INVENTED, PENDING, RIGHT, Chain, World, does, told


@dataclass(frozen=True)
class Row:
    """A row of the table.

    :param urls: what each URL does with a block with a send and a payout.
    :param right: what is right then.
    :param on: what can be verified on the chain.
    :param after: it does so only after the block was read.
    """

    urls: tuple[str, ...]
    right: str
    on: Chain = Chain.ALL
    after: bool = False

    def __str__(self) -> str:
        names = ", ".join(f"{name} {words}" for name, words in zip("ABC", self.urls, strict=False))
        return f"{names}{' after it was read' if self.after else ''}, on a chain with {self.on.value}"


def rows(
    *urls: str, right: str, on: tuple[Chain, ...] = (Chain.ALL,), after: tuple[bool, ...] = (False,)
) -> list[Row]:
    """The same on several chains, before the block is read and after it."""
    return [Row(urls, right, chain, late) for chain in on for late in after]


WITH_ROOTS = (Chain.ALL, Chain.NO_FILTERS)
WITHOUT_ROOTS = (Chain.NO_ROOTS, Chain.NO_RECEIPTS)
ALL = (*WITH_ROOTS, *WITHOUT_ROOTS)
INVENTIONS = [
    f"{lie}, with {receipts}"
    for lie in ("invents a payout", "invents a payout beside another", "alters an amount")
    for receipts in ("true receipts", "receipts that hold it", "empty receipts", "no receipts")
]
LIE = "LIE"


def each_lie(*urls: str, right: str, on: tuple[Chain, ...]) -> list[Row]:
    """The same for each payout that is invented or altered, whatever the receipts of its URL say."""
    told = [tuple(lie if words == LIE else words for words in urls) for lie in INVENTIONS]
    return [row for each in told for row in rows(*each, right=right, on=on)]


GONE, ALL_GONE = "returns no logs", "returns neither logs nor receipts"

TABLE = [
    *rows(
        "honest",
        right="found at once, no false payout, never in doubt, heals, nobody is named",
        on=WITH_ROOTS,
    ),
    *rows("honest", "honest", right="found at once, all is found, never in doubt, heals", on=ALL),
    # The index of one URL breaks.
    *rows(GONE, right="all is found, nobody is named, heals"),
    *rows(GONE, right="all stays, all is found, nobody is named, heals", on=WITH_ROOTS, after=(True,)),
    *rows(ALL_GONE, right="stays in doubt, nobody is named, heals"),
    *rows(ALL_GONE, right="all stays, stays in doubt, nobody is named, heals", after=(True,)),
    *rows(GONE, right="all stays, nobody is named", on=WITHOUT_ROOTS, after=(True,)),
    *rows(GONE, "honest", right="found at once, nobody is named, heals", on=(Chain.ALL, *WITHOUT_ROOTS)),
    *rows(GONE, "honest", right="all is found, nobody is named, heals", on=(Chain.NO_FILTERS,)),
    *rows("honest", GONE, right="found at once, nobody is named, heals", on=ALL),
    *rows(GONE, "honest", right="all stays, nobody is named, heals", on=ALL, after=(True,)),
    *rows("honest", ALL_GONE, right="all stays, nobody is named, heals", on=ALL, after=(False, True)),
    *rows(ALL_GONE, "honest", right="all stays, nobody is named, heals", on=ALL, after=(True,)),
    *rows(ALL_GONE, "honest", right="nobody is named, heals", on=ALL),
    # Those of both break.
    *rows(GONE, GONE, right="all is found, nobody is named, heals"),
    *rows(GONE, GONE, right="all stays, nobody is named", on=ALL, after=(True,)),
    *rows(ALL_GONE, ALL_GONE, right="stays in doubt, nobody is named, heals", on=(Chain.ALL, *WITHOUT_ROOTS)),
    *rows(ALL_GONE, ALL_GONE, right="all stays, nobody is named, heals", on=ALL, after=(True,)),
    *rows(GONE, GONE, right="stays in doubt, nobody is named, heals", on=WITHOUT_ROOTS),
    *rows(GONE, GONE, "honest", right="nobody is named, heals", on=(Chain.ALL, *WITHOUT_ROOTS)),
    # A header says that the block is empty, its filter says that it is not.
    *rows(
        "returns an empty root and no transactions",
        right="stays in doubt, nobody is named, heals",
        on=WITH_ROOTS,
    ),
    *rows(
        "returns an empty root and no transactions", right="all stays, stays in doubt, heals", after=(True,)
    ),
    *rows("returns an empty root and no transactions", "honest", right="all is found, heals", on=ALL),
    # An old send is left out.
    *rows("leaves out the send", right="all is found, heals", on=WITH_ROOTS),
    *rows("leaves out the send", "honest", right="found at once, heals", on=ALL),
    *rows("honest", "leaves out the send", right="found at once, heals", on=ALL),
    *rows("leaves out the send", "leaves out the send", right="all is found, heals"),
    *rows("leaves out the send, also in its receipts", right="all stays, heals", after=(True,)),
    *rows("leaves out the payout, also in its receipts", right="all stays, heals", after=(True,)),
    *rows("leaves out the send, also in its receipts", right="all stays", on=WITHOUT_ROOTS, after=(True,)),
    *rows("leaves out the send, also in its receipts", "honest", right="all is found, A is named"),
    # What it returned before it cannot deny: several machines may answer behind its URL.
    *rows(
        "leaves out the send, also in its receipts",
        "honest",
        right="all stays, all is found, nobody is named",
        after=(True,),
    ),
    *rows(
        "honest",
        "leaves out the send, also in its receipts",
        right="found at once, B is named",
        after=(False,),
    ),
    *rows(
        "honest",
        "leaves out the payout, also in its receipts",
        right="the payout is suspended, nobody is named, heals",
        on=(Chain.NO_ROOTS,),
    ),
    # The first or the second of two URLs invents a payout or alters an amount.
    *each_lie(
        LIE, "honest", right="no false payout, all is found, A is named, at once, heals", on=WITH_ROOTS
    ),
    *each_lie("honest", LIE, right="no false payout, all is found, B is named, heals", on=WITH_ROOTS),
    *each_lie(
        LIE,
        "honest",
        right="no false payout, the send is confirmed, nobody is named, stays in doubt",
        on=(Chain.NO_ROOTS,),
    ),
    *each_lie(
        "honest",
        LIE,
        right="no false payout, the send is confirmed, nobody is named, stays in doubt",
        on=(Chain.NO_ROOTS,),
    ),
    *each_lie(
        LIE,
        "honest",
        "honest",
        right="no false payout, all is found, A is named",
        on=(Chain.ALL, Chain.NO_ROOTS),
    ),
    *each_lie(
        "honest",
        LIE,
        "honest",
        right="no false payout, all is found, B is named",
        on=(Chain.ALL, Chain.NO_ROOTS),
    ),
    # The hash is kept; root, filter, receipts and logs are forged together.
    *rows("forges", right="claimed at most, nobody is named, heals"),
    *rows("forges", "honest", right="no false payout, all is found, A is named", after=(False, True)),
    *rows("honest", "forges", right="no false payout, all is found, B is named", after=(False, True)),
    *rows("forges", "honest", right="no false payout, A is named, stays in doubt", on=(Chain.NO_ROOTS,)),
    *rows(
        "forges",
        "honest",
        "honest",
        right="no false payout, all is found, A is named",
        on=ALL,
        after=(False, True),
    ),
    *rows(
        "honest",
        "forges",
        "honest",
        right="no false payout, all is found, B is named",
        on=ALL,
        after=(False, True),
    ),
    # They count differently, or answer later.
    *rows(
        "honest",
        "numbers logs differently",
        right="found at once, never in doubt, nobody is named, heals",
        on=ALL,
    ),
    *rows(
        "numbers logs differently",
        "honest",
        right="found at once, never in doubt, nobody is named, heals",
        on=ALL,
    ),
    *rows("honest", "does not answer", right="found at once, all is found, nobody is named, heals", on=ALL),
    *rows("does not answer", "honest", right="found at once, all is found, nobody is named, heals", on=ALL),
]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_block_of_which_urls_say_different_things(
    app: Flask, watched: Watched, client: FlaskClient, row: Row
) -> None:
    story = told(World(app, watched, client, len(row.urls), row.on), row.urls, read_before=row.after)
    wrong = [words for words in row.right.split(", ") if not RIGHT[words](story)]
    assert not wrong, story


@pytest.mark.parametrize("minutes", [1, 12, 50])
def test_invented_payout_is_taken_back_when_the_other_url_answers_again(
    app: Flask, watched: Watched, client: FlaskClient, minutes: int
) -> None:
    world = World(app, watched, client, 2, Chain.NO_ROOTS)
    number = watched.chain.head.number + 1
    does("does not answer")(watched.nodes[1], number)
    does("invents a payout, with receipts that hold it")(watched.nodes[0], number)
    world.mine()
    world.polls(minutes * 6, seconds=10)
    assert world.status(INVENTED) == DELIVERED
    watched.nodes[1].fault = lambda _body: None
    watched.time.go(60)  # so long a URL that failed is not asked
    world.polls(2)
    assert world.status(INVENTED) == PENDING


def test_url_that_is_down_is_not_asked_about_each_block(
    app: Flask, watched: Watched, client: FlaskClient
) -> None:
    world = World(app, watched, client, 2)
    does("does not answer")(watched.nodes[1], 0)
    for number in range(20):
        world.mine(1, send(100 + number))
    before = watched.nodes[1].requests
    world.polls(60)
    assert len(world.doubts) == 20
    assert watched.nodes[1].requests - before < 50
