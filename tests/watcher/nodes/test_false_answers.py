"""What a URL returned that cannot be true fails ``watch --check`` for a day, whatever was read meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.db.database import Database
from app.watcher.check import check_chain
from app.watcher.services.chains import watch_details
from tests.watcher.fake_node import Behaviour, served
from tests.watcher.kit import CHAIN, NAMES, Watched, send
from tests.watcher.nodes.behaviours import blocks, every_block, later, results

FALSE: dict[str, tuple[Behaviour, str]] = {
    "another chain": (results("eth_chainId", lambda _id: "0x539"), "wrong chain: it is a node of chain 1337"),
    "times far ahead": (
        every_block(lambda block: {"timestamp": later(block["timestamp"])}),
        "seconds ahead of the gateway's clock",
    ),
    "a newest block far ahead": (
        blocks("latest", lambda block: {"number": later(block["number"])}),
        "false: its newest block is 10000011, but it does not have block",
    ),
    "logs of elsewhere": (
        results("eth_getLogs", lambda logs: [log | {"address": f"0x{'77' * 20}"} for log in logs]),
        "that was not requested",
    ),
}


@pytest.mark.parametrize(("kind", "urls"), list(zip(FALSE, (1, 2, 1, 2), strict=True)))
def test_false_answer_fails_check_for_a_day(
    database: Database, watched: Watched, kind: str, urls: int
) -> None:
    behaviour, words = FALSE[kind]
    watched.add_urls(urls - 1)
    watched.chain.mine_many(10)
    reader = watched.reader()
    watched.settle(reader)
    watched.nodes[0].behaviours = [behaviour]
    watched.chain.mine(send(1))
    watched.turn(reader)
    reader.faults.write(reader.lease)
    watched.nodes[0].behaviours = []
    watched.chain.mine_many(9)
    watched.settle(reader)
    reader.faults.write(reader.lease)
    known = watch_details(database, CHAIN)
    assert [(false.source, words in false.words) for false in known.false_answers] == [(NAMES[0], True)]
    with served(watched.nodes[0]) as url:
        for hours, good in ((0, False), (23, False), (25, True)):
            now = database.clock() + timedelta(hours=hours)
            checked = check_chain(watched.terms(), dict.fromkeys(NAMES, url), now, watched.time, known)
            passes = {name: all(finding.good for finding in found) for name, found in checked.urls.items()}
            assert passes == {name: good or name != NAMES[0] for name in watched.terms().rpc}


@pytest.mark.parametrize("independent", [(), NAMES[:2]])
def test_check_shows_urls_of_one_provider(
    database: Database, watched: Watched, independent: tuple[str, ...]
) -> None:
    watched.add_urls(1)
    watched.changes["independent"] = independent
    watched.chain.mine_many(3)
    with served(watched.nodes[0]) as url:
        urls = dict.fromkeys(watched.terms().rpc, url)
        checked = check_chain(watched.terms(), urls, database.clock(), watched.time, None)
    words = [finding.words for finding in checked.chain]
    assert any("all URLs are of one provider" in each for each in words) == (not independent)


def test_check_names_no_provider_of_one_url(database: Database, watched: Watched) -> None:
    watched.add_urls(1)
    watched.chain.mine_many(3)
    with served(watched.nodes[0]) as url:
        checked = check_chain(watched.terms(), {NAMES[0]: url}, database.clock(), watched.time, None)
    assert not any("of one provider" in finding.words for finding in checked.chain)
    assert any("not set" in finding.words for finding in checked.urls[NAMES[1]])
