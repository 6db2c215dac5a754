"""The story as a feed: every line is one that the feed takes, in order, and nothing is missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl

import pytest

from app.sandbox.catalogue import SANDBOX_ERRORS
from app.sandbox.feed import fresh_events, sandbox_events
from app.transfers.rules.events.event_types import REPORTED, Event, NetworkStatus
from app.values.codes import Reason, XferStatus
from tests.sandbox.conftest import NOW, Reported, read

MOMENTS = (
    datetime(2026, 11, 21, tzinfo=UTC),
    datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2031, 7, 1, 3, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 12, 31, 20, 30, tzinfo=timezone(timedelta(hours=-5))),
)


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_is_well_formed_at_any_moment(moment: datetime) -> None:
    reported: list[Reported] = list(sandbox_events(moment))
    events = read(reported, moment - timedelta(minutes=10))  # the feed allows ten minutes ahead
    assert max(event.at for event in events) <= moment
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert [id_ for id_, times in Counter(event.id for event in events).items() if times > 1] == []
    assert all(each["at"].endswith("+00:00") for each in reported)


def test_events_are_repeatable_for_a_moment(reported: list[Reported]) -> None:
    assert list(sandbox_events(NOW)) == reported


def test_time_without_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        next(sandbox_events(datetime(2026, 1, 1)))  # noqa: DTZ001  what is refused
    with pytest.raises(ValueError, match="offset"):
        next(fresh_events(datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1)))  # noqa: DTZ001


def test_uses_every_event_type_and_every_word(events: list[Event]) -> None:
    types = {event.type for event in events}
    assert types == set(REPORTED), "have the sandbox report it: app/sandbox/feed.py"
    words = {event.xfer_status for event in events if isinstance(event, NetworkStatus)}
    assert words == set(XferStatus) - {XferStatus.UNKNOWN}


def test_blocks_grow_with_time_on_every_chain(reported: list[Reported]) -> None:
    origins = {
        each["transfer_id"]: (each["src_chain_id"], each["dst_chain_id"])
        for each in reported
        if each["type"] in ("transfer.submitted", "transfer.sent")
    }
    blocks: dict[int, list[int]] = defaultdict(list)
    hashes: dict[tuple[int, int], set[str]] = defaultdict(set)
    for each in reported:
        if "block" not in each:
            continue
        chain_id = each.get("chain_id")
        if chain_id is None:
            arrives = each["type"] in ("transfer.released", "transfer.delayed")
            chain_id = origins[each["transfer_id"]][arrives]
        blocks[chain_id].append(each["block"])
        hashes[chain_id, each["block"]].add(each["block_hash"])
        assert each["block_hash"][:18] in each["id"], "reporters put the block's hash into the id"
    assert {chain_id: sorted(numbers) for chain_id, numbers in blocks.items()} == dict(blocks)
    assert {len(of_block) for of_block in hashes.values()} == {1}
    assert len({block_hash for of_block in hashes.values() for block_hash in of_block}) == len(hashes)


def test_every_chain_is_read_up_to_now(reported: list[Reported], document: Reported) -> None:
    heads = {each["chain_id"]: each for each in reported if each["type"] == "chain.head"}
    assert set(heads) == {chain["id"] for chain in document["chains"]}
    for head in heads.values():
        assert NOW - datetime.fromisoformat(head["at"]) < timedelta(seconds=13)


def test_topping_up_repeats_and_adds(reported: list[Reported]) -> None:
    later = NOW + timedelta(days=2)
    known = {each["id"]: each for each in reported}
    topped_up: list[Reported] = list(fresh_events(later, NOW - timedelta(days=3)))
    repeated = [each for each in topped_up if each["id"] in known]
    assert len(repeated) > 100
    assert all(known[each["id"]] == each for each in repeated)
    added = [each for each in topped_up if each["id"] not in known]
    assert {each["type"] for each in added} == {"transfer.sent", "transfer.released", "chain.head"}
    assert all(
        NOW < datetime.fromisoformat(each["at"]) <= later for each in added if "transfer_id" not in each
    )
    assert list(fresh_events(later, NOW - timedelta(days=3))) == topped_up


def route_of(row: Mapping[str, Any]) -> tuple[str, int, int]:
    return row["symbol"], row["src_chain_id"], row["dst_chain_id"]


def test_stale_fee_stays_stale(document: Reported, reported: list[Reported]) -> None:
    """However the sandbox ages: nothing reports the fee of that estimate again, nor the recorded one's."""
    (error,) = [error for error in SANDBOX_ERRORS if error.reason is Reason.FEE_STALE]
    query = dict(parse_qsl(error.query))
    stale = query["token_symbol"], int(query["src_chain_id"]), int(query["dst_chain_id"])
    (route,) = [route for route in document["routes"] if route_of(route) == stale]
    fees = [each for each in reported if each["type"] == "fee.updated"]
    assert len(fees) == 2
    assert ("USDT", 1, 56) not in map(route_of, fees)
    newest = max(datetime.fromisoformat(each["at"]) for each in fees if route_of(each) == stale)
    assert NOW - newest > timedelta(seconds=route["base_fee_max_age_seconds"])
