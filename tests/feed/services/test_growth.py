"""What a request or a change costs has a bound, however much was retracted, reported or sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import ReportedFee
from app.feed.services.retract import retract_ids, retract_reporter
from app.transfers.queries.logged import retracted_keys
from app.transfers.rules.events.bounds import MAX_OF_A_TYPE, MAX_REQUESTS
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.published_changes import BEGINNING, Position
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import keccak256, sign_digest
from app.waiting.services import published_after
from tests.actors import TESTER
from tests.applications import Audited, audited_of
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    event,
    feed,
    id_of,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
)
from tests.steps import statements, steps

KEY = id_of(1)
MANY = 1_500
ROUTE: dict[str, Any] = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 2}


def statuses(database: Database, key: Any, after: Position = BEGINNING) -> list[int]:
    changes = published_after(database, key, after).changes
    assert changes is not None
    return [int(each.change.status) for each in changes]


def retract_many(app: Flask, name: str) -> None:
    """Have a reporter's events about another chain retracted."""
    reported = [event("chain.head", f"{name}-{n}", chain_id=3, block=n) for n in range(MANY)]
    feed(app, *reported, reporter=name)
    retract_reporter(*audited_of(app), name, NOW - timedelta(days=1), "wrong", actor=TESTER)


def grows_little(work: Callable[[], object], meanwhile: Callable[[], object]) -> None:
    """Whether the same work is about the same before and after something else came."""
    work()  # what is done only once
    before = steps(work)
    meanwhile()
    work()
    after = steps(work)
    assert after < 1.3 * before + 200, (before, after)


def test_followers_skip_foreign_retractions(app: Flask, database: Database) -> None:
    feed(app, sent(1), about(1, "transfer.confirmed"))
    grows_little(lambda: statuses(database, KEY), lambda: retract_many(app, "rogue"))
    assert statuses(database, KEY) == [
        Status.TRANSFER_SUBMITTING,
        Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
    ]


def test_retracting_does_not_slow_with_retractions(app: Flask, audited: Audited) -> None:
    feed(app, *(sent(n) for n in range(1, 8)))
    ids = iter([sent(n)["id"] for n in range(1, 8)])
    work = lambda: retract_ids(*audited, [next(ids)], "wrong", actor=TESTER)  # noqa: E731
    grows_little(work, lambda: retract_many(app, "rogue"))


def fees(first: int, last: int, **fields: Any) -> list[dict[str, Any]]:
    return [
        event("fee.updated", f"fee-{n}", at=n - 10_000, base_fee=str(n), **(ROUTE | fields))
        for n in range(first, last + 1)
    ]


def fee(database: Database) -> int | None:
    with reading(database.engine) as connection:
        return connection.scalar(select(ReportedFee.base_fee))


def test_retracting_a_fee_reads_no_others(app: Flask, database: Database, audited: Audited) -> None:
    feed(app, *fees(1, 4))
    latest = iter((4, MANY + 4, MANY + 3, 3, 2))

    def work() -> None:
        retract_ids(*audited, [f"fee-{next(latest)}"], "wrong", actor=TESTER)

    work()
    before = steps(lambda: retract_ids(*audited, ["fee-3"], "wrong", actor=TESTER))
    assert fee(database) == 2
    feed(app, *fees(5, MANY + 4))
    work()
    assert fee(database) == MANY + 3
    after = steps(work)
    assert fee(database) == MANY + 2
    assert after < 1.3 * before + 200, (before, after)


@pytest.mark.every_database
@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_highest_id_wins_among_simultaneous_fees(
    app: Flask, database: Database, audited: Audited, order: list[str]
) -> None:
    """A database may sort ``B`` between ``a`` and ``c``."""
    ids = {"a": "B", "b": "a"}
    reported = {name: event("fee.updated", ids[name], base_fee=str(ord(name)), **ROUTE) for name in order}
    feed(app, *(reported[name] for name in order), event("fee.updated", "z", at=-1, base_fee="9", **ROUTE))
    feed(app, event("fee.updated", "wrong", at=1, base_fee="7", **ROUTE))
    retract_ids(*audited, ["z"], "wrong", actor=TESTER)
    assert fee(database) == ord("b")


def transfers(first: int, count: int) -> list[dict[str, Any]]:
    return [
        e for n in range(first, first + count) for e in (sent(n), about(n, "transfer.confirmed"), released(n))
    ]


@pytest.mark.every_database
def test_large_batch_takes_as_many_statements(app: Flask, database: Database) -> None:
    feed(app, *transfers(1, 1))
    with statements(database.feed) as of_one:
        assert feed(app, *transfers(2, 1)).accepted == 3
    with statements(database.feed) as of_many:
        assert feed(app, *transfers(3, 40)).accepted == 120
    assert 0 < len(of_many) == len(of_one) <= 27


def test_batch_reads_only_what_it_needs(app: Flask, database: Database) -> None:
    """The configuration and histories are for transfers; what is pruned, where anything was."""
    feed(app, event("chain.head", chain_id=1, block=1))
    with statements(database.feed) as executed:
        assert feed(app, event("chain.head", chain_id=1, block=2)).accepted == 1
    read = " ".join(executed)
    assert not any(table in read for table in ("tokens", "transfer_blocks", "pruned_events", "fed_fees"))
    assert 0 < len(executed) <= 10


@pytest.mark.every_database
def test_more_ids_than_statement_parameters(app: Flask, database: Database) -> None:
    """A chain reports a fee a minute: 70,000 of them are seven weeks of one route."""
    feed(app, sent(1))
    with writing(database.engine) as connection:
        keys = (EventKey("route:1:2:USDT", f"fee {n}") for n in range(70_000))
        assert retracted_keys(connection, keys) == {}


EVIL = "evil"


def many_statuses(first: int, count: int) -> list[dict[str, Any]]:
    """So many reports of one network status, each under an id of its own."""
    return [about(1, "network.status", at=-50, xfer_status=2) | {"id": f"s{first + n}"} for n in range(count)]


def many_requests(first: int, count: int) -> list[dict[str, Any]]:
    """Refund many_requests that nothing contradicts: they differ only in their sequence number."""
    return [prepared(1, request(1, seqnum=1000 + first + n)) for n in range(count)]


def test_network_statuses_of_one_transfer_are_bounded(app: Flask, status: Callable[[int], Any]) -> None:
    """100,000 of them made each request for its evidence cost a second."""
    feed(app, sent(1))
    first = feed(app, *many_statuses(0, MAX_OF_A_TYPE - 10), reporter=EVIL)
    assert (first.accepted, first.refused) == (MAX_OF_A_TYPE - 10, [])
    second = feed(app, *many_statuses(MAX_OF_A_TYPE - 10, 100), reporter=EVIL)
    assert (second.accepted, len(second.refused)) == (10, 90)
    assert second.refused[0].reason.startswith(
        f"type: this reporter may send at most {MAX_OF_A_TYPE} events network.status"
    )
    again = feed(app, *many_statuses(0, 50), reporter=EVIL)
    assert (again.repeated, again.refused) == (50, []), "what is known is repeated as ever"


def test_bound_is_per_reporter_type_and_transfer(app: Flask, status: Callable[[int], Any]) -> None:
    feed(app, sent(1))
    feed(app, *many_statuses(0, MAX_OF_A_TYPE + 50), reporter=EVIL)
    honest = feed(app, about(1, "network.status", at=-10, xfer_status=9), reporter="honest")
    assert (honest.accepted, honest.refused) == (1, [])
    other = feed(app, about(1, "transfer.confirmed", at=-10), reporter=EVIL)
    assert other.accepted == 1, "another type"
    elsewhere = feed(app, sent(2), about(2, "network.status", at=-10, xfer_status=2), reporter=EVIL)
    assert elsewhere.accepted == 2, "another transfer"


def test_operator_may_ingest_any_log(app: Flask) -> None:
    many = feed(app, sent(1), *many_statuses(0, MAX_OF_A_TYPE + 50), reporter="cli")
    assert (many.accepted, many.refused) == (MAX_OF_A_TYPE + 51, [])


def test_refund_preparations_of_one_transfer_are_bounded(app: Flask, status: Callable[[int], Any]) -> None:
    """Beside a thousand of them a signature cost 70 ms, and its refusal was 44 kB long."""
    feed(app, sent(1))
    result = feed(app, *many_requests(0, MAX_REQUESTS + 36), reporter=EVIL)
    assert (result.accepted, len(result.refused)) == (MAX_REQUESTS, 36)
    wrong = feed(app, signed(1, sign_digest(keccak256(b"wrong"), keccak256(b"stranger"))), reporter=EVIL)
    assert len(wrong.refused[0].reason) < 400
    right = request(1)
    signatures = [signed(1, signature(right, key)) for key in KEYS[:3]]
    honest = feed(app, prepared(1, right), *signatures, reporter="honest")
    assert (honest.accepted, honest.refused) == (4, [])
    assert status(1).status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
