"""Progress for programs: headers of a status over both interfaces, fields of statuses and look-ups."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import insert, update
from werkzeug.datastructures import Headers

from app.db.database import Database
from app.db.engine import reading, writing
from app.grpcweb import gateway_pb2 as pb
from app.http.application import part_of
from app.http.headers import PROGRESS_HEADERS
from app.watcher.models import ChainWatch
from app.watcher.queries import chain_depths
from tests.api.shapes import FIND, STATUS, STATUSES
from tests.api.world import configure, event, network, released, report_events, sent
from tests.applications import OpenApp, renew_parts
from tests.grpcweb.wire import frame, post
from tests.steps import statements

ID = "0x" + "5a" * 32
LATE = "0x" + "5b" * 32
SEND = "0x" + "ab" * 32
NOON = "2026-03-08T12:00:00Z"
HOUR = timedelta(hours=1)


def progress_in(headers: Headers) -> dict[str, str]:
    """The headers of progress, by the ends of their names."""
    return {name.removeprefix("X-Transfer-"): headers[name] for name in PROGRESS_HEADERS if name in headers}


def headers_of(client: FlaskClient, **fields: Any) -> dict[str, str]:
    """The headers of a status; both interfaces and both paths answer the same."""
    response = client.post(STATUS, json=fields)
    assert response.get_json()["err"] is None
    found = progress_in(response.headers)
    assert progress_in(client.post(STATUS.replace("v2", "v1"), json=fields).headers) == found
    if "transfer_id" in fields:
        message = frame(pb.GetTransferStatusRequest(**fields).SerializeToString())
        assert progress_in(post(client, "GetTransferStatus", message).response.headers) == found
    return found


def fields_of(client: FlaskClient, transfer_id: str) -> dict[str, str]:
    """The fields of the other operations, as headers."""
    (status,) = client.post(STATUSES, json={"transfer_ids": [transfer_id]}).get_json()["statuses"]
    (transfer,) = client.get(f"{FIND}?key={transfer_id}").get_json()["transfers"]
    names = ("terminal", "final_by", "next_actor", "next_poll_seconds", "as_of")
    assert {name: status[name] for name in names} == {name: transfer[name] for name in names}
    expected = {
        "Terminal": str(status["terminal"]).lower(),
        "Final-By": status["final_by"],
        "Next-Actor": status["next_actor"],
        "Next-Poll-Seconds": str(status["next_poll_seconds"]),
        "As-Of": status["as_of"],
    }
    return {name: value for name, value in expected.items() if value not in ("", "0")}


def test_completed_transfer_is_terminal(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID), released(ID, timedelta(seconds=1)))
    expected = {"Terminal": "true", "Final-By": "reported", "Next-Actor": "nobody", "As-Of": NOON}
    assert headers_of(client, transfer_id=ID) == headers_of(client, tx_hash=SEND, src_chain_id=1) == expected
    assert fields_of(client, ID) == expected


ENDS = {
    2: (1, [event("transfer.failed", transfer_id=ID, block=200)]),
    5: (56, [sent(ID, block=100), released(ID, timedelta(seconds=1), block=200)]),
    10: (1, [sent(ID, block=100), event("refund.completed", transfer_id=ID, block=200)]),
}
"""Of each end the chain that it rests on, and what leads to it."""

SUBMITTED = event("transfer.submitted", transfer_id=ID, src_chain_id=1, dst_chain_id=56)


def finality(app: Flask, value: int | str | None, *, watched: bool = False) -> None:
    """Configure when blocks are final, and whether the gateway reads the chains itself."""
    document = network()
    for chain in document["chains"]:
        chain["finality"] = value
        if watched:
            chain |= {"watch_from_block": 1, "rpc": ["RPC_URL_TEST"]}
    configure(app, document)


def head(app: Flask, chain_id: int, block: int) -> None:
    report_events(app, event("chain.head", timedelta(seconds=20_000 - block), chain_id=chain_id, block=block))


@pytest.mark.parametrize("status", ENDS)
def test_ended_transfer_is_terminal_at_final_block(open_app: OpenApp, status: int) -> None:
    app = open_app()
    chain_id, story = ENDS[status]
    configure(app)
    client = app.test_client()
    report_events(app, SUBMITTED, *story)
    delay = {1: 12, 56: 15}[chain_id]
    head(app, 57 - chain_id, 10_000)  # the other chain has no effect
    head(app, chain_id, 200 + delay - 1)
    before = headers_of(client, transfer_id=ID)
    assert (before["Terminal"], before["Next-Actor"]) == ("false", "network")
    assert "Final-By" not in before and int(before["Next-Poll-Seconds"]) >= 2
    assert fields_of(client, ID) == before
    head(app, chain_id, 200 + delay)
    over = headers_of(client, transfer_id=ID)
    assert (over["Terminal"], over["Final-By"], over["Next-Actor"]) == ("true", "block", "nobody")
    assert "Next-Poll-Seconds" not in over
    assert fields_of(client, ID) == over
    finality(app, 100)
    assert headers_of(client, transfer_id=ID)["Terminal"] == "false"
    head(app, chain_id, 300)
    assert headers_of(client, transfer_id=ID)["Final-By"] == "block"
    report_events(app, event("chain.reorged", chain_id=chain_id, from_block=150))
    assert headers_of(client, transfer_id=ID)["Terminal"] == "false"


def test_invented_chains_are_not_read(app: Flask, database: Database) -> None:
    """They would be read for each terminal transfer."""
    for chain_id in (1, 424_242, 56):
        head(app, chain_id, 100)
    with reading(database.engine) as connection:
        assert chain_depths(connection).keys() == {1, 56}


def test_node_finality_counts_on_watched_chain(open_app: OpenApp) -> None:
    app = open_app()
    database = part_of(app, Database)
    finality(app, "finalized")
    client = app.test_client()
    report_events(app, sent(ID, block=100), released(ID, timedelta(seconds=1), block=200))
    head(app, 56, 215)
    assert headers_of(client, transfer_id=ID)["Final-By"] == "block", (
        "the gateway does not read the chain: by its delay"
    )
    finality(app, "finalized", watched=True)
    with writing(database.engine) as connection:
        connection.execute(insert(ChainWatch).values(chain_id=56))
    for final in (None, 199):
        with writing(database.engine) as connection:
            connection.execute(update(ChainWatch).values(final=final))
        assert headers_of(client, transfer_id=ID)["Terminal"] == "false"
    with writing(database.engine) as connection:
        connection.execute(update(ChainWatch).values(final=200))
    assert headers_of(client, transfer_id=ID)["Final-By"] == "block"


def test_stopped_watcher_delays_no_finality(open_app: OpenApp) -> None:
    app = open_app()
    finality(app, "finalized", watched=True)
    client = app.test_client()
    report_events(app, sent(ID, block=100), released(ID, timedelta(seconds=1), block=200))
    with writing(part_of(app, Database).engine) as connection:
        connection.execute(insert(ChainWatch).values(chain_id=56, final=150))
    head(app, 56, 10_000)
    assert headers_of(client, transfer_id=ID)["Terminal"] == "false", "its watcher may come back"
    finality(app, "finalized")
    assert headers_of(client, transfer_id=ID)["Final-By"] == "block"


def test_status_without_block_is_final(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID, block=100), event("network.status", transfer_id=ID, xfer_status=7))
    expected = headers_of(client, transfer_id=ID)
    assert (expected["Terminal"], expected["Final-By"]) == ("true", "reported")


def test_next_poll_follows_route_latency(app: Flask, client: FlaskClient, database: Database) -> None:
    report_events(app, sent(ID))
    of_nothing = {"Terminal": "false", "Next-Actor": "network", "Next-Poll-Seconds": "7", "As-Of": NOON}
    assert headers_of(client, transfer_id=ID) == of_nothing
    for n, seconds in enumerate((200, 220, 240, 900)):
        past = f"0x{n:064x}"
        report_events(
            app,
            sent(past, HOUR, src_tx_hash=past),
            released(past, HOUR - timedelta(seconds=seconds)),
        )
    assert headers_of(client, transfer_id=ID) == of_nothing, "how long a route takes is cached for minutes"
    renew_parts(app, database.clock)
    under_way = of_nothing | {"Next-Poll-Seconds": "42"}
    assert headers_of(client, transfer_id=ID) == headers_of(client, tx_hash=SEND, src_chain_id=1) == under_way
    assert fields_of(client, ID) == under_way
    report_events(app, sent(LATE, timedelta(minutes=10)), event("transfer.confirmed", transfer_id=LATE))
    assert headers_of(client, transfer_id=LATE)["Next-Poll-Seconds"] == "83"


def test_newest_event_gives_as_of_time(app: Flask, client: FlaskClient, database: Database) -> None:
    report_events(app, sent(ID))
    clock = database.clock
    renew_parts(app, lambda: clock() + timedelta(minutes=5, seconds=0.9))
    assert headers_of(client, transfer_id=ID)["As-Of"] == NOON
    report_events(app, event("chain.head", chain_id=1, block=5))
    assert headers_of(client, transfer_id=ID)["As-Of"] == "2026-03-08T12:05:00Z"


def test_errors_have_no_progress(client: FlaskClient) -> None:
    for body in ({"transfer_id": ID}, {"transfer_id": "0x12"}):
        response = client.post(STATUS, json=body)
        assert response.get_json()["err"] is not None
        assert progress_in(response.headers) == {}
    (status,) = client.post(STATUSES, json={"transfer_ids": [ID]}).get_json()["statuses"]
    assert (status["terminal"], status["next_actor"]) == (False, "")
    assert (status["next_poll_seconds"], status["as_of"]) == (0, "")


@pytest.mark.parametrize("path", ["/v2/getTransferStatus", "/sgn.gateway.v1.Web/GetTransferStatus"])
def test_cors_exposes_progress_headers(client: FlaskClient, path: str) -> None:
    exposed = client.post(path, json={"transfer_id": ID}).headers["Access-Control-Expose-Headers"].split(", ")
    assert set(PROGRESS_HEADERS) < set(exposed)


def test_status_reads_by_one_statement(open_app: OpenApp) -> None:
    """What the headers need next to the transfer's row is cached."""
    app = open_app()
    report_events(app, sent(ID))
    client = app.test_client()
    before = headers_of(client, transfer_id=ID)
    with statements(part_of(app, Database).reads) as executed:
        response = client.post(STATUS, json={"transfer_id": ID})
    assert progress_in(response.headers).keys() == before.keys()
    assert len([each for each in executed if "transfers" in each]) == 1
    assert not [each for each in executed if "latency" in each or "FROM events" in each]
