"""A reorganisation that is repeated too late to be believed if it were new takes back what it took before.

A reporter that lost its state sends everything again from its beginning (docs/ingest.md#the-cursor): also
the reorganisations of long ago. What others reported since then stays, for nobody reports it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from app.credentials.rules.ingest_token import Scope
from app.db.engine import writing
from app.db.models import db
from app.feed.services.ingest import ingest_lines
from app.feed.services.log import export_log
from app.feed.services.prune import prune
from app.feed.services.retract import retract_ids
from app.transfers.rules.events.event_types import EVENT_CLASSES
from tests.actors import TESTER
from tests.feed.services.belated import (
    DAY,
    FAR,
    answers,
    from_nothing,
    head,
    liquidity,
    log,
    others,
    reorg,
    rotation,
    withdrawn,
)
from tests.feed.services.world import (
    NETWORK_TABLES,
    NOW,
    about,
    event,
    feed,
    released,
    sent,
)
from tests.gateway import Gateway

pytestmark = pytest.mark.every_database


def test_what_others_reported_stays(gateway: Gateway, status: Callable[[int], Any]) -> None:
    early = [head(1001, at=-31 * DAY), reorg()]
    feed(gateway, *early, reporter="a")
    feed(gateway, *others(), reporter="b")
    before = answers(gateway)
    (refused,) = feed(gateway, reorg(name="new"), reporter="a").refused
    assert refused.reason.startswith("from_block: is 504000 blocks below")
    verdict = feed(gateway, *early, reporter="a")
    assert (verdict.accepted, verdict.repeated, verdict.refused) == (1, 1, [])
    assert [status(n).status for n in (1, 2, 3)] == [5, 5, 5]
    assert answers(gateway) == before


def test_nothing_is_logged_that_takes_nothing(gateway: Gateway) -> None:
    feed(gateway, liquidity("gone", 1000), reorg(), *others())
    logged = log(gateway)
    assert feed(gateway, reorg()).repeated == 1
    assert log(gateway) == logged


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
    liquidity("kept", 1001, 11),
]
"""What the new blocks have, as another reporter told it."""


@pytest.mark.parametrize("batch", [100, 3, 1])
def test_the_dead_branch_falls_again(gateway: Gateway, status: Callable[[int], Any], batch: int) -> None:
    """And nothing else: not the confirmation of the send in the new block either."""
    feed(gateway, *DEAD, reorg(), reporter="a")
    feed(gateway, *ALIVE, *others()[6:], reporter="b")
    before = answers(gateway)
    assert (status(1).status, status(2).dst_tx_hash) == (3, "0x" + "aa" * 32)
    again = [*DEAD, reorg()]
    for _ in range(2):
        accepted = 0
        for start in range(0, len(again), batch):
            accepted += feed(gateway, *again[start : start + batch], reporter="a").accepted
        assert accepted == len(DEAD) - 1
        assert answers(gateway) == before
    from_nothing(gateway)
    assert log(gateway)[-1] == ("R", 2)


def test_how_far_the_chain_was_read_stays(gateway: Gateway) -> None:
    """Before the latest reorganisation that was not belated, where nothing above that counts."""
    feed(gateway, *DEAD, reorg(), *others(), reorg(FAR + 4500, "high", at=-50))
    before = answers(gateway)
    assert before["chain_progress"][1][:2] == (2, FAR + 4499)
    feed(gateway, *DEAD, reorg())
    assert log(gateway)[-1] == ("R", 1)
    assert answers(gateway) == before


def test_resent_without_the_reorganisation_it_counts(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """As anything that comes again, until the reorganisation does."""
    feed(gateway, *DEAD, reorg(), *ALIVE, *others()[6:])
    before = answers(gateway)
    feed(gateway, *DEAD[3:5])
    assert answers(gateway)["pool_counters"] != before["pool_counters"]
    assert status(2).dst_tx_hash == "0x" + "ee" * 32
    feed(gateway, reorg())
    assert answers(gateway) == before
    assert feed(gateway, *DEAD[3:5]).accepted == 2, "and it is known to have fallen"


@pytest.mark.parametrize(("above", "fallen"), [(1000, True), (1001, False)])
def test_within_the_limit_it_takes_back_everything(
    gateway: Gateway, status: Callable[[int], Any], above: int, fallen: bool
) -> None:
    feed(gateway, head(1010, at=-31 * DAY), reorg())
    feed(gateway, sent(1), released(1, block=1400), head(1000 + above))
    assert feed(gateway, reorg()).repeated == 1
    assert (status(1).status == 1) is fallen
    answers(gateway)


def test_an_earlier_one_within_the_limit_changes_nothing(gateway: Gateway) -> None:
    """What came between the first acceptance and a repetition of it was never of the dead branch."""
    feed(gateway, *DEAD, reorg(), *ALIVE, reorg(), *ALIVE, *others())
    before = answers(gateway)
    feed(gateway, *DEAD, reorg())
    assert answers(gateway) == before


def test_a_deep_one_under_a_limit_that_was_raised(gateway: Gateway) -> None:
    """As docs/chains.md has operators do once."""
    deep = [liquidity("low", 1001), liquidity("high", 5900, 40), head(6000, at=-31 * DAY)]
    feed(gateway.but(max_reorg_blocks=5000), *deep, reorg(), reporter="a")
    feed(gateway, *others(), reporter="b")
    before = answers(gateway)
    verdict = feed(gateway, *deep, reorg(), reporter="a")
    assert (verdict.accepted, verdict.repeated) == (3, 1)
    assert answers(gateway) == before


def test_it_reaches_ten_thousand_blocks(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """So that what came again is found by its block, among all that was reported since."""
    deep = [liquidity("reached", 11_000), liquidity("above", 11_001, 40)]
    deep += [sent(7, block=90), released(7, block=11_001)]
    feed(gateway.but(max_reorg_blocks=20_000), *deep, reorg(), reporter="a")
    feed(gateway, *others(), reporter="b")
    added = answers(gateway)["pool_counters"][1][2]
    feed(gateway, *deep, reorg(), reporter="a")
    assert answers(gateway)["pool_counters"][1][2] == added + 40
    assert status(7).status == 5


@pytest.fixture
def later(gateway: Gateway) -> Gateway:
    """The same gateway after 30 days."""
    return gateway.but(clock=lambda: NOW + timedelta(days=30))


def test_into_what_was_pruned(gateway: Gateway, later: Gateway) -> None:
    """The chain is not read far, but a new one would be refused."""
    first = reorg(90, chain_id=1, at=-200)
    dead = [sent(3, event_id="dead", block=95), withdrawn("dead-id", 96, chain_id=1)]
    over = [sent(1, block=100), released(1, block=500), head(110, chain_id=1)]
    feed(gateway, *dead, first, *over, reporter="a")
    assert prune(later.database, later.audit_keys, later.intake, NOW, actor=TESTER).transfers.total() == 1
    feed(later, sent(2, at=20 * DAY, block=115), liquidity("l", 116, chain_id=1), reporter="b")
    before = answers(later)
    assert "which is final" in feed(later, reorg(90, "new", chain_id=1)).refused[0].reason
    assert feed(later, *over, first, reporter="a").accepted == 0
    assert answers(later) == before
    verdict = feed(later, *dead, first, reporter="a")
    assert (verdict.accepted, verdict.repeated) == (2, 1)
    assert answers(later) == before
    from_nothing(later)


@pytest.mark.parametrize("size", [1, 500])
def test_what_fell_again_is_pruned_as_a_whole(
    gateway: Gateway, later: Gateway, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Its first acceptance says that the second fell with a belated repetition."""
    monkeypatch.setattr("app.feed.services.prune.OTHERS", size)
    dead = [liquidity("gone", 1001, 900), liquidity("out", 1002, 3, "withdrawn")]
    feed(gateway, *dead, reorg(), *others())
    feed(gateway, *dead, reorg())
    before = answers(gateway)
    dry = prune(later.database, later.audit_keys, later.intake, NOW, actor=TESTER, dry_run=True)
    assert prune(later.database, later.audit_keys, later.intake, NOW, actor=TESTER) == dry
    assert dry.others["liquidity"] == 4
    assert answers(gateway)["pool_counters"] == before["pool_counters"]
    assert not {"gone", "out"} & {event_id for event_id, _ in log(gateway)}


def test_what_counts_again_and_was_the_highest(gateway: Gateway) -> None:
    """Also how far the chain was read falls back, where only pruning made the repetition too late."""
    first = reorg(90, chain_id=1, at=-200)
    over = [sent(1, at=-300, block=100), released(1, at=-300, block=500)]
    feed(gateway, head(140, chain_id=1, at=-100), first, *over)
    later = gateway.but(clock=lambda: NOW + timedelta(days=30))
    assert prune(later.database, later.audit_keys, later.intake, NOW, actor=TESTER).transfers.total() == 1
    before = answers(later)
    assert before["chain_progress"][0][:2] == (1, 100)
    feed(later, head(140, chain_id=1, at=-100))
    assert answers(later)["chain_progress"][0][:2] == (1, 140)
    assert feed(later, first).repeated == 1
    assert answers(later) == before


def forget_log(gateway: Gateway) -> None:
    with writing(gateway.engine) as connection:
        for table in reversed(db.metadata.sorted_tables):
            if table.name not in NETWORK_TABLES:
                connection.execute(table.delete())


def read_in(gateway: Gateway, lines: list[bytes]) -> None:
    verdict = ingest_lines(gateway.database, gateway.intake, lines, "cli", types=EVENT_CLASSES)
    assert verdict.refused == []


def test_an_export_tells_the_same(gateway: Gateway) -> None:
    """By what the lines say: the limit may be another one by then."""
    feed(gateway, *DEAD, reorg(), *ALIVE, *others()[6:])
    feed(gateway, *DEAD, reorg())
    feed(gateway, *DEAD, reorg(), *DEAD[3:5])
    before, lines = answers(gateway), list(export_log(gateway.database))
    told = [json.loads(line) for line in lines]
    assert [each.get("belated") for each in told if each["id"] == "R"] == [None, True, True]
    for most in (1000, 10**9):
        another = gateway.but(max_reorg_blocks=most)
        forget_log(another)
        read_in(another, lines)
        assert answers(another) == before
    read_in(gateway, lines)
    after = answers(gateway)
    assert after["transfers"] == before["transfers"], "read in again, what the lines do is the same"


def test_reporters_cannot_say_what_is_belated(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """To them it is a field that does not exist."""
    feed(gateway, sent(1), reorg(100, chain_id=1) | {"belated": True})
    assert status(1).status == 0
    feed(gateway, sent(1), reorg(100, chain_id=1) | {"belated": True}, released(2))
    assert status(1).status == 0
    assert all("belated" not in json.loads(line) for line in export_log(gateway.database))


@pytest.mark.parametrize("wrong", [1, "true", []])
@pytest.mark.one_database
def test_an_exported_line_may_be_wrong(gateway: Gateway, wrong: object) -> None:
    lines = [json.dumps(reorg() | {"belated": wrong}).encode()]
    verdict = ingest_lines(gateway.database, gateway.intake, lines, "cli", types=EVENT_CLASSES)
    assert verdict.refused[0].reason == "belated: must be true or false"


def test_a_part_of_an_export_takes_nothing(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """Where the reorganisation itself is not in it, nothing is known that it took before."""
    feed(gateway, sent(1), *others())
    read_in(gateway, [json.dumps(reorg() | {"belated": True}).encode()])
    assert status(1).status == 5
    from_nothing(gateway)


def test_a_retracted_reorganisation_takes_nothing(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """A wrong one is undone with all of its repetitions; taken back itself, it is refused as any new one."""
    feed(gateway, *DEAD, reorg(), *others()[6:])
    feed(gateway, *DEAD[2:5], reorg())
    assert status(2).status == 1
    (first,) = retract_ids(*gateway.audited, ["R"], "wrong", actor=TESTER, subject="chain:2")
    assert status(2).status == 5
    with_all = answers(gateway)
    assert "504000 blocks below" in feed(gateway, reorg()).refused[0].reason
    retract_ids(*gateway.audited, [first], "it was right", actor=TESTER)
    assert status(2).status == 1
    assert answers(gateway)["pool_counters"] != with_all["pool_counters"]
    from_nothing(gateway)


def test_a_fallen_send_that_is_retracted(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """It fell again before, and takes no confirmation of the send in the new block."""
    feed(gateway, *DEAD, reorg(), *ALIVE, *others()[6:])
    feed(gateway, *DEAD, reorg())
    assert status(1).status == 3
    retract_ids(*gateway.audited, ["S"], "wrong", actor=TESTER)
    assert status(1).status == 3
    from_nothing(gateway)
    retract_ids(*gateway.audited, ["C'"], "wrong", actor=TESTER)
    assert status(1).status == 1, "the early confirmation stays away"


def test_once_its_chain_is_known(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """No send says yet that the payout's block is of the chain: when it does, the payout had fallen."""
    payout = released(1, block=1001)
    feed(gateway, payout, reorg(), head(FAR))
    feed(gateway, payout, reorg())
    assert status(1).status == 5
    feed(gateway, sent(1))
    assert status(1).status == 1
    from_nothing(gateway)
    feed(gateway, payout)
    assert status(1).status == 5


def test_blocks_of_another_chain_are_others(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """Though they have the same numbers, and their events came again as well."""
    dead, elsewhere = sent(1, event_id="S", block=1000), liquidity("L", 1001, chain_id=1)
    first = [dead, elsewhere, event("chain.reorged", "other", chain_id=1, from_block=1000), dead, elsewhere]
    feed(gateway, released(2, block=1001), sent(2), *first, reorg(1400, "before"), reorg(), head(FAR))
    before = answers(gateway)
    assert status(2).status == 1
    feed(gateway, released(2, block=1001), reorg(1400, "before"), reorg())
    assert answers(gateway) == before
    assert status(1).status == 1


def test_an_id_that_another_token_used_first(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """What a token for other chains said about a block to come makes no fact older."""
    late = released(1, event_id="P", block=1001, chain_id=2)
    lines = [json.dumps(late | {"dst_tx_hash": "0x" + "bb" * 32}).encode()]
    scope = Scope(chains=frozenset({3}))
    ingest_lines(gateway.database, gateway.intake, lines, "hostile", scope=scope)
    assert len(log(gateway)) == 0, "it may not even"
    of_any = [json.dumps({k: v for k, v in late.items() if k != "chain_id"}).encode()]
    ingest_lines(gateway.database, gateway.intake, of_any, "hostile", scope=scope)
    dead = liquidity("gone", 1000)
    feed(gateway, dead, reorg())
    feed(gateway, sent(1), late, head(FAR), reporter="b")
    feed(gateway, late | {"log_index": 4}, reporter="b")
    assert ("P", 2) in log(gateway)
    assert status(1).status == 5
    feed(gateway, dead, reorg(), reporter="a")
    assert log(gateway)[-1] == ("R", 1)
    assert status(1).status == 5
    from_nothing(gateway)
