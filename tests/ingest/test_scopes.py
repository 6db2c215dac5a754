"""A token's scope, seen from outside: what is not shown to be inside is refused, line by line."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select

from app.domain.reporting.scope import UNKNOWN_YET
from app.models.anomalies import Anomaly
from app.models.engine import reading
from app.runtime.gateway import Gateway
from app.services.feed.retract import retract_ids
from app.services.reporters.new_tokens import create_token
from tests.actors import TESTER
from tests.ingest.kit import kept, post, verdict
from tests.services.feed.world import about, address, event, prepared, released, request, sent


def reasons(client: FlaskClient, token: str, *events: dict[str, Any]) -> dict[int, str]:
    """The reason by line of those that were refused."""
    return {line["line"]: line["reason"] for line in verdict(post(client, events, token))["refused"]}


def test_types(client: FlaskClient, gateway: Gateway) -> None:
    token = create_token(gateway, "sends", ["transfer.sent", "chain.head"], actor=TESTER)
    head = event("chain.head", chain_id=77, block=5)
    told = reasons(client, token, sent(1), released(1), head)
    assert told == {2: "type: transfer.released is outside this token's scope"}
    assert [name for name, _ in kept(gateway)] == [sent(1)["id"], head["id"]]


FEE = {"symbol": "USDT", "base_fee": "1"}
SIGNERS = {"signers": [address(1)], "powers": ["1"]}


@pytest.mark.parametrize(
    ("reported", "outside"),
    [
        (event("chain.head", chain_id=1, block=1), None),
        (event("chain.head", chain_id=3, block=1), 3),
        (event("chain.reorged", chain_id=2, from_block=1), None),
        (event("chain.reorged", chain_id=3, from_block=1), 3),
        (event("liquidity.added", chain_id=3, symbol="USDT", amount="1"), 3),
        (event("liquidity.withdrawn", chain_id=4, symbol="USDT", amount="1"), 4),
        (event("validators.updated", chain_id=3, **SIGNERS), 3),
        (event("fee.updated", src_chain_id=1, dst_chain_id=2, **FEE), None),
        (event("fee.updated", src_chain_id=1, dst_chain_id=3, **FEE), 3),
        (event("fee.updated", src_chain_id=3, dst_chain_id=1, **FEE), 3),
        (about(9, "transfer.submitted", src_chain_id=1, dst_chain_id=3), None),
        (about(9, "transfer.submitted", src_chain_id=3, dst_chain_id=1), 3),
        (sent(9, src_chain_id=2, dst_chain_id=3), None),
        (sent(9, src_chain_id=3, dst_chain_id=1), 3),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else str(value),
)
def test_events_that_name_their_chain(
    client: FlaskClient, gateway: Gateway, reported: dict[str, Any], outside: int | None
) -> None:
    token = create_token(gateway, "one-and-two", chains=[1, 2], actor=TESTER)
    expected = {} if outside is None else {1: f"chain {outside} is outside this token's scope"}
    assert reasons(client, token, reported) == expected


SOURCE = [
    ("transfer.confirmed", {}),
    ("transfer.failed", {}),
    ("network.status", {"xfer_status": 2}),
    ("refund.requested", {}),
    ("refund.submitted", {"tx_hash": "0x" + "aa" * 32}),
    ("refund.failed", {"tx_hash": "0x" + "ab" * 32}),
    ("refund.delayed", {"delayed_id": "0x" + "ac" * 32}),
    ("refund.completed", {}),
]
DESTINATION = [("transfer.delayed", {}), ("transfer.released", {"dst_tx_hash": "0x" + "bb" * 32})]


@pytest.mark.parametrize(("kind", "fields"), SOURCE + DESTINATION)
def test_events_whose_chain_the_send_tells(
    client: FlaskClient, gateway: Gateway, kind: str, fields: dict[str, Any]
) -> None:
    of_source = (kind, fields) in SOURCE
    of_one, of_two = (
        create_token(gateway, f"only-{chain}", chains=[chain], actor=TESTER) for chain in (1, 2)
    )
    inside, outside = (of_one, of_two) if of_source else (of_two, of_one)
    follows = about(1, kind, **fields)
    assert reasons(client, inside, follows) == {1: UNKNOWN_YET}
    assert reasons(client, outside, follows) == {1: UNKNOWN_YET}
    assert kept(gateway) == []
    assert reasons(client, of_one, sent(1)) == {}
    chain = 1 if of_source else 2
    assert reasons(client, outside, follows) == {1: f"chain {chain} is outside this token's scope"}
    assert reasons(client, inside, follows) == {}


def test_refund_requests_are_of_the_source(client: FlaskClient, gateway: Gateway) -> None:
    of_one, of_two = (
        create_token(gateway, f"only-{chain}", chains=[chain], actor=TESTER) for chain in (1, 2)
    )
    post(client, [sent(1)])
    ready = prepared(1, request(1))
    assert reasons(client, of_two, ready) == {1: "chain 1 is outside this token's scope"}
    assert reasons(client, of_one, ready) == {}


def test_a_send_earlier_in_the_same_upload_counts_a_later_one_does_not(
    client: FlaskClient, gateway: Gateway
) -> None:
    token = create_token(gateway, "only-1", chains=[1], actor=TESTER)
    confirmed = [about(n, "transfer.confirmed") for n in (1, 2)]
    assert reasons(client, token, sent(1), confirmed[0], confirmed[1], sent(2)) == {3: UNKNOWN_YET}
    assert reasons(client, token, confirmed[1]) == {}


def test_a_submission_tells_the_chain_of_a_failure_only(client: FlaskClient, gateway: Gateway) -> None:
    of_one, of_two = (
        create_token(gateway, f"only-{chain}", chains=[chain], actor=TESTER) for chain in (1, 2)
    )
    post(client, [about(1, "transfer.submitted", src_chain_id=1, dst_chain_id=2)])
    assert reasons(client, of_one, about(1, "transfer.confirmed")) == {1: UNKNOWN_YET}
    assert reasons(client, of_two, released(1)) == {1: UNKNOWN_YET}
    assert reasons(client, of_two, about(1, "transfer.failed")) == {
        1: "chain 1 is outside this token's scope"
    }
    assert reasons(client, of_one, about(1, "transfer.failed")) == {}


def test_a_false_send_opens_no_other_chain(client: FlaskClient, gateway: Gateway) -> None:
    """Whoever may report chain 3 cannot make a transfer between 1 and 2 its own by another send."""
    of_three = create_token(gateway, "only-3", chains=[3], actor=TESTER)
    false = sent(1, at=-1000, src_chain_id=3, dst_chain_id=3)
    post(client, [sent(1)])
    assert reasons(client, of_three, false) == {}
    for kind in ("transfer.confirmed", "refund.completed"):
        assert reasons(client, of_three, about(1, kind)) == {1: "chain 1 is outside this token's scope"}
    assert reasons(client, of_three, released(1)) == {1: "chain 2 is outside this token's scope"}
    of_one = create_token(gateway, "only-1", chains=[1], actor=TESTER)
    assert reasons(client, of_one, about(1, "transfer.confirmed")) == {
        1: "chain 3 is outside this token's scope"
    }
    retract_ids(gateway, [false["id"]], "wrong", actor=TESTER)
    assert reasons(client, of_one, about(1, "transfer.confirmed")) == {}


def test_what_a_reorg_took_back_still_tells_the_chain(client: FlaskClient, gateway: Gateway) -> None:
    token = create_token(gateway, "only-1", chains=[1], actor=TESTER)
    reorg = event("chain.reorged", chain_id=1, from_block=100)
    assert reasons(client, token, sent(1), reorg, about(1, "transfer.failed")) == {}


def test_a_reporter_learns_and_raises_nothing_outside_its_scope(
    client: FlaskClient, gateway: Gateway
) -> None:
    token = create_token(gateway, "only-1", chains=[1], actor=TESTER)
    foreign = sent(1, src_chain_id=2, dst_chain_id=1)
    post(client, [foreign])
    outside = "chain 2 is outside this token's scope"
    assert reasons(client, token, foreign, foreign | {"amount": "1"}) == {1: outside, 2: outside}
    with reading(gateway.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(Anomaly)) == 0


def test_both_limits_together(client: FlaskClient, gateway: Gateway) -> None:
    token = create_token(gateway, "heads-of-2", ["chain.head"], [2], actor=TESTER)
    told = reasons(
        client,
        token,
        event("chain.head", chain_id=2, block=1),
        event("chain.head", chain_id=1, block=1),
        event("chain.reorged", chain_id=2, from_block=1),
    )
    assert told == {
        2: "chain 1 is outside this token's scope",
        3: "type: chain.reorged is outside this token's scope",
    }
