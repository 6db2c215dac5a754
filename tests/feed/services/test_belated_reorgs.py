"""A reorganisation that is repeated too late to be believed if it were new takes back what it took before.

A reporter that lost its state sends everything again from its beginning (docs/ingest.md#the-cursor): also
the reorganisations of long ago. What others reported since then stays, for nobody reports it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.log import export_log
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.feed.verifying.comparing import Difference
from app.feed.verifying.run import verify
from app.http.application import add_part, part_of
from app.transfers.models import Event
from app.transfers.rules.events.event_types import EVENT_CLASSES
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import Audited, audited_of, change_part
from tests.feed.services.everything import everything, forget_projections
from tests.feed.services.pruning import prune_later
from tests.feed.services.world import (
    NOW,
    about,
    event,
    feed,
    forget_events,
    released,
    sent,
)

DAY = 86_400
FAR = 500_000
Line = dict[str, Any]


def reorg(from_block: int = 1000, name: str = "R", **changes: Any) -> Line:
    return event(
        "chain.reorged", name, **{"at": -30 * DAY, "chain_id": 2, "from_block": from_block} | changes
    )


def head(block: int, **changes: Any) -> Line:
    return event("chain.head", **{"at": -60, "chain_id": 2, "block": block} | changes)


def liquidity(name: str, block: int, amount: int = 7, kind: str = "added", **changes: Any) -> Line:
    pool = {"chain_id": 2, "symbol": "USDT", "amount": str(amount)}
    return event(f"liquidity.{kind}", name, at=-29 * DAY, block=block, **pool | changes)


def withdrawn(name: str, block: int, **changes: Any) -> Line:
    used = {"chain_id": 2, "withdraw_id": "0x" + "d7" * 32}
    return event("withdraw.done", name, at=-29 * DAY, block=block, **used | changes)


def rotation(name: str, block: int, member: int) -> Line:
    signers = ["0x" + f"{member:02x}" * 20]
    return event("validators.updated", name, chain_id=2, block=block, signers=signers, powers=["1"])


def others(chain: int = 2) -> list[Line]:
    """What another reporter has reported since, far above."""
    return [
        *(sent(n, at=-3 * DAY, block=100) for n in (1, 2, 3)),
        *(released(n, at=-3 * DAY + 60, block=FAR + n) for n in (1, 2, 3)),
        liquidity("L", FAR),
        withdrawn("W", FAR),
        rotation("V", FAR, 9),
        head(FAR + 5000),
    ]


def answers(app: Flask) -> dict[str, list[tuple[Any, ...]]]:
    """All that follows from the log, which a replay finds as well."""
    database = part_of(app, Database)
    before = everything(database)
    reported: list[Difference] = []
    verify(database, reported.append)
    assert not reported, [str(each) for each in reported]
    replay(*audited_of(app), actor=TESTER)
    assert everything(database) == before
    return before


def from_nothing(app: Flask) -> None:
    """A replay from only the log gives the same."""
    database = part_of(app, Database)
    before = everything(database)
    forget_projections(database)
    replay(*audited_of(app), actor=TESTER)
    assert everything(database) == before


def log(database: Database) -> list[tuple[str, int]]:
    with reading(database.engine) as connection:
        rows = connection.execute(select(Event.event_id, Event.occurrence).order_by(Event.seq))
        return [(row.event_id, row.occurrence) for row in rows]


@pytest.mark.every_database
def test_belated_reorg_leaves_events_of_others(app: Flask, status: Callable[[int], Any]) -> None:
    early = [head(1001, at=-31 * DAY), reorg()]
    feed(app, *early, reporter="a")
    feed(app, *others(), reporter="b")
    before = answers(app)
    (refused,) = feed(app, reorg(name="new"), reporter="a").refused
    assert refused.reason.startswith("from_block: is 504000 blocks below")
    verdict = feed(app, *early, reporter="a")
    assert (verdict.accepted, verdict.repeated, verdict.refused) == (1, 1, [])
    assert [status(n).status for n in (1, 2, 3)] == [
        Status.TRANSFER_COMPLETED,
        Status.TRANSFER_COMPLETED,
        Status.TRANSFER_COMPLETED,
    ]
    assert answers(app) == before


def test_reorg_without_effect_is_not_logged(app: Flask, database: Database) -> None:
    feed(app, liquidity("gone", 1000), reorg(), *others())
    logged = log(database)
    assert feed(app, reorg()).repeated == 1
    assert log(database) == logged


DEAD = [
    sent(1, event_id="S", block=1000, src_chain_id=2, dst_chain_id=1),
    about(1, "transfer.confirmed", event_id="C", block=1000),
    sent(2, event_id="S2", at=-40, block=90),
    released(2, event_id="P", block=1001),
    liquidity("gone", 1001, 900),
    liquidity("out", 1002, 3, "withdrawn"),
    withdrawn("gone-id", 1002),
    rotation("gone-set", 1003, 8),
    head(1003, at=-31 * DAY),
]
"""Of the branch that is orphaned, except for S2, on another chain."""
ALIVE = [
    sent(1, event_id="S'", at=-90, block=1002, src_chain_id=2, dst_chain_id=1),
    about(1, "transfer.confirmed", event_id="C'", at=-30),
    released(2, event_id="P'", at=-5, block=1004, dst_tx_hash="0x" + "aa" * 32),
    liquidity("common", 1001, 11),
]
"""What the new blocks have, as another reporter sent it."""


@pytest.mark.parametrize("batch", [100, 3])
def test_belated_reorg_orphans_its_branch_again(
    app: Flask, database: Database, status: Callable[[int], Any], batch: int
) -> None:
    """And nothing else: not the confirmation of the send in the new block either."""
    feed(app, *DEAD, reorg(), reporter="a")
    feed(app, *ALIVE, *others()[6:], reporter="b")
    before = answers(app)
    assert (status(1).status, status(2).dst_tx_hash) == (
        Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
        "0x" + "aa" * 32,
    )
    again = [*DEAD, reorg()]
    for _ in range(2):
        accepted = 0
        for start in range(0, len(again), batch):
            accepted += feed(app, *again[start : start + batch], reporter="a").accepted
        assert accepted == len(DEAD) - 1
        assert answers(app) == before
    from_nothing(app)
    assert log(database)[-1] == ("R", 2)


def test_belated_reorg_reaches_ten_thousand_blocks(
    app: Flask, intake: Intake, status: Callable[[int], Any]
) -> None:
    """So that what came again is found by its block, among all that was reported since."""
    deep = [liquidity("reached", 11_000), liquidity("above", 11_001, 40)]
    deep += [sent(7, block=90), released(7, block=11_001)]
    change_part(app, Intake, max_reorg_blocks=20_000)
    feed(app, *deep, reorg(), reporter="a")
    add_part(app, Intake, intake)
    feed(app, *others(), reporter="b")
    added = answers(app)["pool_counters"][1][2]
    feed(app, *deep, reorg(), reporter="a")
    assert answers(app)["pool_counters"][1][2] == added + 40
    assert status(7).status == Status.TRANSFER_COMPLETED


def test_repeated_reorg_below_pruned_is_belated(app: Flask) -> None:
    """The chain is not read far, but a new one would be refused."""
    first = reorg(90, chain_id=1, at=-200)
    dead = [sent(3, event_id="dead", block=95), withdrawn("dead-id", 96, chain_id=1)]
    over = [sent(1, block=100), released(1, block=500), head(110, chain_id=1)]
    feed(app, *dead, first, *over, reporter="a")
    assert prune_later(app, NOW).transfers.total() == 1
    feed(app, sent(2, at=20 * DAY, block=115), liquidity("l", 116, chain_id=1), reporter="b")
    before = answers(app)
    assert "which is final" in feed(app, reorg(90, "new", chain_id=1)).refused[0].reason
    assert feed(app, *over, first, reporter="a").accepted == 0
    assert answers(app) == before
    verdict = feed(app, *dead, first, reporter="a")
    assert (verdict.accepted, verdict.repeated) == (2, 1)
    assert answers(app) == before
    from_nothing(app)


def read_in(app: Flask, lines: list[bytes]) -> None:
    verdict = ingest_lines(part_of(app, Database), part_of(app, Intake), lines, "cli", types=EVENT_CLASSES)
    assert verdict.refused == []


def test_export_of_belated_reorgs_gives_the_same(app: Flask, database: Database, intake: Intake) -> None:
    """By the field of the line: the limit may be another one by then."""
    feed(app, *DEAD, reorg(), *ALIVE, *others()[6:])
    feed(app, *DEAD, reorg())
    feed(app, *DEAD, reorg(), *DEAD[3:5])
    before, lines = answers(app), list(export_log(database))
    reported = [json.loads(line) for line in lines]
    assert [each.get("belated") for each in reported if each["id"] == "R"] == [None, True, True]
    for most in (1000, 10**9):
        change_part(app, Intake, max_reorg_blocks=most)
        forget_events(app)
        read_in(app, lines)
        assert answers(app) == before
    add_part(app, Intake, intake)
    read_in(app, lines)
    after = answers(app)
    assert after["transfers"] == before["transfers"], "read in again, what the lines do is the same"


def test_reporters_cannot_set_belated(app: Flask, database: Database, status: Callable[[int], Any]) -> None:
    """To them it is a field that does not exist."""
    feed(app, sent(1), reorg(100, chain_id=1) | {"belated": True})
    assert status(1).status == Status.TRANSFER_UNKNOWN
    feed(app, sent(1), reorg(100, chain_id=1) | {"belated": True}, released(2))
    assert status(1).status == Status.TRANSFER_UNKNOWN
    assert all("belated" not in json.loads(line) for line in export_log(database))


def test_retracting_reorg_undoes_repetitions(
    app: Flask, audited: Audited, status: Callable[[int], Any]
) -> None:
    """A wrong one is undone with all of its repetitions; taken back itself, it is refused as any new one."""
    feed(app, *DEAD, reorg(), *others()[6:])
    feed(app, *DEAD[2:5], reorg())
    assert status(2).status == Status.TRANSFER_SUBMITTING
    (first,) = retract_ids(*audited, ["R"], "wrong", actor=TESTER, subject="chain:2")
    assert status(2).status == Status.TRANSFER_COMPLETED
    with_all = answers(app)
    assert "504000 blocks below" in feed(app, reorg()).refused[0].reason
    retract_ids(*audited, [first], "it was right", actor=TESTER)
    assert status(2).status == Status.TRANSFER_SUBMITTING
    assert answers(app)["pool_counters"] != with_all["pool_counters"]
    from_nothing(app)


class Chain:
    """What a reporter sends of a chain that grows and reorganises, also back to blocks of before."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.branch: list[int] = []
        """The number of each block, from block 1000 on."""
        self.former: list[list[int]] = []
        self.blocks = 0

    def grow(self) -> None:
        self.blocks += 1
        self.branch = [*self.branch, self.blocks]
        self._report(len(self.branch) - 1)

    def reorganise(self, depth: int, *, back: bool) -> None:
        common = self.branch[: max(len(self.branch) - depth, 0)]
        earlier = [b for b in self.former if b[: len(common)] == common and 0 < len(b) - len(common) <= DEPTH]
        if len(common) == len(self.branch) or (back and not earlier):
            return
        old, self.branch = self.branch, [*common, self.blocks + 1]
        if not back:
            self.blocks += 1
        elif earlier[-1][len(common)] == old[len(common)]:  # they have further blocks in common
            self.branch = old
            return
        else:
            self.branch = earlier[-1]
        self.former.append(old)
        first = len(common)
        name = f"{old[-1]}:{self.branch[first]}"
        self.lines.append(reorg(1000 + first, name))
        for place in range(first, len(self.branch)):
            self._report(place)

    def _report(self, place: int) -> None:
        n, block = self.branch[place], 1000 + place
        at = {"at": -29 * DAY + n, "block": block}
        self.lines += [
            head(block, event_id=f"head:{n}", at=-29 * DAY + n),
            liquidity(f"liquidity:{n}", block, n),
            sent(n % 5 + 1, event_id=f"sent:{n}", src_chain_id=2, dst_chain_id=1, **at),
            about(n % 5 + 1, "transfer.confirmed", event_id=f"confirmed:{n}", **at),
            released(n % 4 + 11, event_id=f"paid:{n}", dst_tx_hash=f"0x{n:064x}", chain_id=2, **at),
            sent(n % 4 + 11, event_id="sent", at=-29 * DAY, block=50),
            event("withdraw.done", f"used:{n}", chain_id=2, withdraw_id=f"0x{n % 3:064x}", **at),
        ]


DEPTH = 4


@st.composite
def stories(draw: st.DrawFn) -> list[Line]:
    chain = Chain()
    for _ in range(draw(st.integers(4, 14))):
        match draw(st.sampled_from(["grow", "grow", "reorganise", "back"])):
            case "grow":
                chain.grow()
            case kind:
                chain.reorganise(draw(st.integers(1, DEPTH)), back=kind == "back")
    return chain.lines


@pytest.mark.every_database
@costly
@given(story=stories(), since=st.integers(0, 2**30), batch=st.integers(1, 60), times=st.integers(1, 2))
def test_log_sent_again_changes_nothing(
    app: Flask, database: Database, story: list[Line], since: int, batch: int, times: int
) -> None:
    """However its chain had reorganised, and whatever another reporter sent of the last blocks since then."""
    change_part(app, Intake, max_reorg_blocks=10)
    forget_events(app)
    assert feed(app, *story, reporter="a").refused == []
    reported = [each | {"id": f"b:{each['id']}"} for each in others()]
    last = [1000 + since % 5, 1000 + since % 7]
    reported += [liquidity("b:low", last[0], 5), released(3, event_id="b:paid", block=last[1], chain_id=2)]
    assert feed(app, *reported, reporter="b").refused == []
    before = everything(database)
    for _ in range(times):
        for start in range(0, len(story), batch):
            assert feed(app, *story[start : start + batch], reporter="a").refused == []
        assert everything(database) == before
    answers(app)


@pytest.mark.parametrize("wrong", [1, "true", []])
def test_wrong_field_in_exported_line_is_refused(database: Database, intake: Intake, wrong: object) -> None:
    lines = [json.dumps(reorg() | {"belated": wrong}).encode()]
    verdict = ingest_lines(database, intake, lines, "cli", types=EVENT_CLASSES)
    assert verdict.refused[0].reason == "belated: must be true or false"
