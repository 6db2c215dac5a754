"""A reporter that sends everything again changes nothing, however its chain has reorganised."""

from __future__ import annotations

from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from app.db.database import Database
from app.feed.services.ingest import Intake
from tests.amounts import costly
from tests.applications import change_part
from tests.feed.services.belated import DAY, Line, answers, head, liquidity, others, reorg
from tests.feed.services.everything import everything
from tests.feed.services.world import about, event, feed, forget_events, released, sent


class Chain:
    """What a reporter tells of a chain that grows and reorganises, also back to blocks of before."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.branch: list[int] = []
        """The number of each block, from block 1000 on."""
        self.former: list[list[int]] = []
        self.blocks = 0

    def grow(self) -> None:
        self.blocks += 1
        self.branch = [*self.branch, self.blocks]
        self._tell(len(self.branch) - 1)

    def reorganise(self, depth: int, *, back: bool) -> None:
        kept = self.branch[: max(len(self.branch) - depth, 0)]
        earlier = [b for b in self.former if b[: len(kept)] == kept and 0 < len(b) - len(kept) <= DEPTH]
        if len(kept) == len(self.branch) or (back and not earlier):
            return
        old, self.branch = self.branch, [*kept, self.blocks + 1]
        if not back:
            self.blocks += 1
        elif earlier[-1][len(kept)] == old[len(kept)]:  # they have further blocks in common
            self.branch = old
            return
        else:
            self.branch = earlier[-1]
        self.former.append(old)
        first = len(kept)
        name = f"{old[-1]}:{self.branch[first]}"
        self.lines.append(reorg(1000 + first, name))
        for place in range(first, len(self.branch)):
            self._tell(place)

    def _tell(self, place: int) -> None:
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


@costly
@given(story=stories(), since=st.integers(0, 2**30), batch=st.integers(1, 60), times=st.integers(1, 2))
def test_a_reporter_that_sends_everything_again_changes_nothing(
    app: Flask, database: Database, story: list[Line], since: int, batch: int, times: int
) -> None:
    """However its chain had reorganised, and whatever another reporter said of the last blocks since then."""
    change_part(app, Intake, max_reorg_blocks=10)
    forget_events(app)
    assert feed(app, *story, reporter="a").refused == []
    told = [each | {"id": f"b:{each['id']}"} for each in others()]
    last = [1000 + since % 5, 1000 + since % 7]
    told += [liquidity("b:low", last[0], 5), released(3, event_id="b:paid", block=last[1], chain_id=2)]
    assert feed(app, *told, reporter="b").refused == []
    before = everything(database)
    for _ in range(times):
        for start in range(0, len(story), batch):
            assert feed(app, *story[start : start + batch], reporter="a").refused == []
        assert everything(database) == before
    answers(app)
