"""A past taken in entry by entry comes to the same as one that is folded anew at each of its positions."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace

from app.db.engine import reading
from app.feed.lines import ReadLine, read_line
from app.network.facts import NetworkFacts
from app.network.queries import load_network_facts, load_opening_sets
from app.transfers import status_history
from app.transfers.contents import agree, together
from app.transfers.events import TransferEvent, TransferSent, ValidatorsUpdated
from app.transfers.reorganisations import Logged, Reorg, Retraction, as_reported_last, counting, retracted_by
from app.transfers.reported import TransferHistory
from app.transfers.state import status_answer
from app.transfers.status_changes import BEGINNING, Position, StatusThen, account_keys
from app.transfers.status_history import KeyedReorg, Past, UserRequest, reported_set
from app.transfers.subjects import OPERATORS, EventKey, subject_of_chain, subject_of_transfer
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.waiting.status_stream import changes_after
from tests.databases import SharedDatabase
from tests.everyday import volume
from tests.feed.services.any_order import SHARED, of_transfer
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    of,
    prepared,
    proven,
    released,
    request,
    sent,
    signature,
    signed,
    small_network,
)
from tests.gateway import Gateway

SEND = proven(1, block=100)
LIES = [
    sent(1, src_chain_id=3, dst_chain_id=1, block=90, at=-110),
    sent(1, receiver="0x" + "bb" * 20, block=104, at=-90),
    about(1, "transfer.submitted", at=-300, src_chain_id=3, sender="0x" + "dd" * 20),
    released(1, block=150, chain_id=3),
    about(1, "refund.completed", block=106, chain_id=2),
    about(1, "transfer.confirmed", at=-60, block=100, chain_id=1),
]
LIMITS = [None, None, None, frozenset({1}), frozenset({2}), frozenset({1, 2}), frozenset({3})]


def read(line: dict[str, Any]) -> Any:
    found = read_line(1, json.dumps(line).encode(), NOW)
    assert isinstance(found, ReadLine), found
    return found.event


TOLD = [read(of(SEND, each)) for each in (*of_transfer(1), *LIES)] + [read(SEND)] * 3
SEND_ID = TransferId(bytes.fromhex(SEND["transfer_id"][2:]))
REFUND = request(1, ref_id=SEND_ID)
SIGNED = [signed(1, signature(REFUND, key)) for key in KEYS[:4]]
OF_THE_REFUND = [read(of(SEND, each)) for each in (SEND, prepared(1, REFUND), *SIGNED)]
TOLD += OF_THE_REFUND * 2
TOLD += [replace(read(SEND), block=None), replace(read(SEND), id="again", block=BlockNumber(103))]
WORD = read(of(SEND, about(1, "network.status", xfer_status=2)))
ROTATIONS = [each for each in map(read, SHARED) if isinstance(each, ValidatorsUpdated)]


@pytest.fixture
def facts(app: Flask, database: SharedDatabase) -> NetworkFacts:
    gateway: Gateway = small_network(database, clock=lambda: NOW)
    with reading(gateway.engine) as connection:
        return replace(load_network_facts(connection), validators=load_opening_sets(connection))


def any_past(rng: random.Random) -> Past:
    """Entries of every kind in any order."""
    log: list[Logged[TransferEvent]] = []
    reorgs: list[KeyedReorg] = []
    retractions: list[Retraction] = []
    rotations: list[Logged[ValidatorsUpdated]] = []
    latest: dict[Any, TransferEvent] = {}
    ids = [each.id for each in rng.sample(TOLD, 4)]
    told_of = rng.sample(TOLD, rng.randrange(5, len(TOLD)))
    if rng.random() < 0.4:
        told_of = [*rng.sample(TOLD, 4), *OF_THE_REFUND * 2]
    for seq in range(1, rng.randrange(2, 60)):
        kind = rng.random()
        if kind < 0.12:
            chain_id = ChainId(rng.choice([1, 1, 2, 3]))
            key = EventKey(subject_of_chain(chain_id), f"reorg {rng.randrange(6)}")
            reorgs.append(KeyedReorg(key, Reorg(seq, chain_id, BlockNumber(rng.randrange(95, 210)))))
        elif kind < 0.22:
            known = [EventKey(subject_of_transfer(each.event.transfer_id), each.event.id) for each in log]
            known += [each.key for each in reorgs] + [each.event.key for each in rotations]
            known += [each.key for each in retractions] + [EventKey("route:1:2:USDT", "fee")]
            key = EventKey(OPERATORS, f"retraction {seq}")
            retractions.append(Retraction(seq, key, rng.sample(known, min(len(known), rng.randrange(1, 4)))))
        elif kind < 0.32:
            rotations.append(Logged(seq, rng.choice(ROTATIONS)))
        else:
            told = rng.choice(told_of)
            if rng.random() < 0.15:
                told = replace(told, id=rng.choice(ids))
            limits = rng.choice(LIMITS)
            before = latest.get((told.id, limits), told)
            if agree(before, told):  # no feed takes anything else
                latest[told.id, limits] = together(before, told)
                log.append(Logged(seq, latest[told.id, limits], limits))
    last = 60
    ask = None
    if rng.random() < 0.6:
        position = Position(rng.randrange(last), rng.randrange(1, 4)) if rng.random() < 0.8 else None
        ask = UserRequest(NOW, position)
    learned = {Position(seq): NOW for seq in range(1, last)}
    if ask is not None and ask.position is not None:
        learned[ask.position] = NOW
    return Past(SEND_ID, log, reorgs, retractions, rotations, ask, {}, learned)


def folded_anew(past: Past, position: Position, facts: NetworkFacts) -> StatusThen | None:
    """What a fold of everything up to the position gives."""
    log = as_reported_last([logged for logged in past.log if logged.seq <= position.seq])
    if not log:
        return None
    retracted = retracted_by(each for each in past.retractions if each.seq <= position.seq)
    reorgs = [
        each.reorg for each in past.reorgs if retracted.get(each.key, 0) < each.reorg.seq <= position.seq
    ]
    subject = subject_of_transfer(past.transfer_id)
    of_transfer = {key.id: seq for key, seq in retracted.items() if key.subject == subject}
    history = TransferHistory(
        past.transfer_id, log, reorgs, of_transfer, past.paid_ids, past.asked_at(position)
    )
    if not history.is_known:
        return None
    latest = {each.event.key: each for each in past.rotations if each.seq <= position.seq}
    rotations = [
        each.event
        for key, each in latest.items()
        if each.seq > retracted.get(key, 0)
        and not any(r.reaches(each.event.chain_id, each.event.block, each.seq) for r in reorgs)
    ]
    sets = {each.chain_id: reported_set(each, 1) for each in sorted(rotations, key=lambda e: e.order)}
    answer = status_answer(history, replace(facts, validators={**facts.validators, **sets}))
    standing = history.standing()
    origin = history.origin_event(standing)
    accounts = account_keys(origin.sender, origin.receiver) if origin else frozenset()
    return StatusThen(answer, accounts, is_sent=standing.first(TransferSent) is not None)


@pytest.mark.one_database
def test_each_status_is_that_of_a_fold_of_everything_up_to_it(facts: NetworkFacts) -> None:
    seen = set()
    for seed in range(volume(400, 80)):
        past = any_past(random.Random(seed))
        unfolded = status_history.Forward(past, facts)
        start = Position(random.Random(seed).randrange(10))
        for position in [start, *sorted(each for each in past.learned if each > start)]:
            list(unfolded.until(position))
            found = unfolded.status(position)
            assert found == folded_anew(past, position, facts), (seed, position)
            seen.add(None if found is None else int(found.answer.status))
    assert seen == {None, *range(12)}


def test_twice_as_many_entries_are_twice_as_much_work(
    facts: NetworkFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []

    def noted(log: Any, origin: Any) -> Any:
        looked_at.append(len(log))
        return counting(log, origin)

    monkeypatch.setattr(status_history, "counting", noted)
    works = []
    for size in (100, 200):
        looked_at.clear()
        words = [replace(WORD, id=f"word {n}") for n in range(size)]
        log = [Logged(seq, told) for seq, told in enumerate([read(SEND), *words], start=1)]
        reorgs = [
            KeyedReorg(EventKey("chain:1", f"r{n}"), Reorg(size + 2 + n, ChainId(1), BlockNumber(101)))
            for n in range(size)
        ]
        learned = {Position(seq): NOW for seq in range(1, 2 * size + 2)}
        past = Past(SEND_ID, log, reorgs, learned=learned)
        changes_after([past], facts, BEGINNING)
        works.append(sum(looked_at))
    assert works[1] <= 2 * works[0]
