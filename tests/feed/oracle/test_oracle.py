"""What the oracle answers about the known feeds, by hand: a table that is wrong itself would find nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.transfers.rules.events.event_types import REPORTED
from tests.feed.oracle.facts import Log, Reorganisation, Report, Retraction
from tests.feed.oracle.items import REPORTERS, Again, Reported, Retract, read_items
from tests.feed.oracle.reading import FIELDS, event_id, read
from tests.feed.oracle.story import WORLD
from tests.feed.oracle.table import Transfer, pools
from tests.feed.oracle.world import NOW

SCAN = {n: f"https://scan{n}.example/tx/" for n in (1, 2)}
FIRST = "0x048be4ad99b3e0bcbad76da970c5f393474e0d4c59942304fe55f4809fa672fc"
"""The transaction of the first send in the chain, by the first transfer of a feed."""

SECOND = "0x509223e7101bfe7d74ebe4e214e7a3a09d3ed577224100667af26b26850f5de9"
"""That of the same transfer's send in another block."""

KNOWN = Path(__file__).parent / "known"


def reported(name: str) -> Log:
    """All that a known feed has, as if nothing of it were refused."""
    log = Log()
    items = read_items((KNOWN / f"{name}.jsonl").read_text())
    for item in items:
        lines = [item] if isinstance(item, Reported) else []
        if isinstance(item, Again):
            lines_of = [
                each for each in items if isinstance(each, Reported) and each.reporter == item.reporter
            ]
            lines = lines_of * item.times
        elif isinstance(item, Retract):
            retraction = Retraction(log.next_place(), "a retraction", item.subject, event_id(item.event_id))
            log.retractions.append(retraction)
        for each in lines:
            report(log, each)
    return log


def report(log: Log, reported: Reported) -> None:
    body, place = read(reported.line, WORLD), log.next_place()
    if body["type"] == "chain.reorged":
        reorg = Reorganisation(place, body["id"], body["subject"], body["from_block"], body["at"])
        log.reorganisations.append(reorg)
    else:
        log.reports.append(Report(place, REPORTERS[reported.reporter], body))


def test_oracle_reads_every_type() -> None:
    in_no_answer = {"fee.updated"}
    assert set(FIELDS) == set(REPORTED) - in_no_answer, (
        "write its fields into reading.py, what follows into table.py, and let story.py report it"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ahead-under-the-id-of-another", {"status": 3}),
        ("amount-of-a-retracted-report", {"status": 5}),
        ("crash-loop", {"status": 1, "block_delay": 10}),
        ("link", {"status": 1, "src_block_tx_link": SCAN[1] + FIRST}),
        ("order", {"status": 1, "dst_block_tx_link": ""}),
        ("send-that-only-a-limited-token-left", {"status": 1, "src_block_tx_link": SCAN[2] + SECOND}),
        ("signature", {"status": 8}),
        ("spelling-of-a-nonce", {"status": 1, "block_delay": 20}),
        ("spelling-of-an-account", {"status": 1, "src_block_tx_link": SCAN[2] + FIRST}),
        ("symbol-of-a-pool", {"status": 1}),
        ("takeover", {"status": 5, "block_delay": 0, "src_block_tx_link": ""}),
        ("two-limits-one-id", {"status": 5}),
    ],
)
def test_oracle_answers_known_feed(name: str, expected: dict[str, Any]) -> None:
    log = reported(name)
    answer = transfer_of(log).answer()
    assert {field: answer[field] for field in expected} == expected


def transfer_of(log: Log) -> Transfer:
    (transfer_id,) = (each for each in log.subjects() if isinstance(each, str))
    return Transfer(log, WORLD, transfer_id, NOW)


@pytest.mark.parametrize(
    ("name", "paid_in"),
    [("amount-of-a-retracted-report", -990_000_000_000_000_000), ("symbol-of-a-pool", 7000)],
)
def test_oracle_counts_pool_of_known_feed(name: str, paid_in: int) -> None:
    log = reported(name)
    assert pools(log, WORLD, [transfer_of(log)], NOW)[2, "USDT"] == (paid_in, paid_in)
