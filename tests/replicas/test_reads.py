"""Which reads go to the replica, and that none fails with it."""

from __future__ import annotations

import time

import pytest
from flask import Flask
from flask.testing import FlaskClient
from msgspec.structs import replace
from sqlalchemy import Engine, event, func, select, text
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.db.database import Database
from app.db.engine import run_read
from app.db.timeouts import REPLICA, set_timeouts, within
from app.http.application import part_of
from tests.feed.services.world import event as fact
from tests.feed.views.kit import TOKEN, bearer, ndjson
from tests.replicas.cluster import Cluster
from tests.replicas.conftest import eventually, replica_of

pytestmark = pytest.mark.postgresql

REFUNDABLE = "0x" + "8".zfill(64)
UNKNOWN = "0x" + "ff" * 32
ESTIMATE = "src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000"
LATENCY = "src_chain_id=1&dst_chain_id=56"


class Statements:
    """Counts the statements on the primary and on the replica, without those of the replica's watch."""

    def __init__(self, app: Flask) -> None:
        database = part_of(app, Database)
        self.primary = self.replica = 0
        for engine in (database.engine, database.reads):
            event.listen(engine, "before_cursor_execute", self._on_primary)
        event.listen(replica_of(database).engine, "before_cursor_execute", self._on_replica)

    def _on_primary(self, *args: object) -> None:
        statement = str(args[2])
        self.primary += "network_parts" not in statement and "pg_current_wal" not in statement

    def _on_replica(self, *args: object) -> None:
        self.replica += "pg_last_wal" not in str(args[2])


def public_answers(client: FlaskClient) -> list[bytes]:
    """Of every public operation that reads."""
    answers = [
        client.post("/v2/getTransferStatus", json={"transfer_id": REFUNDABLE}),
        client.post("/v2/getTransferStatus", json={"transfer_id": UNKNOWN}),
        client.get(f"/v2/estimateAmt?{ESTIMATE}"),
        client.get(f"/v2/getLatest7DayTransferLatencyForQuery?{LATENCY}"),
        client.get(f"/v2/getRefundEvidence?transfer_id={REFUNDABLE}"),
    ]
    assert [answer.status_code for answer in answers] == [200] * 5
    return [answer.data for answer in answers]


def test_public_answers_are_read_from_the_replica(app: Flask, client: FlaskClient) -> None:
    client.get("/readyz")  # the configuration is read from the primary before
    sent = Statements(app)
    answers = public_answers(client)
    assert b'"status":8' in answers[0]
    assert b"transfer not found; newest events" in answers[1]
    assert sent.replica >= 6
    assert sent.primary == 0


def test_reporters_and_readiness_use_primary(app: Flask, client: FlaskClient) -> None:
    sent = Statements(app)
    head = fact("chain.head", chain_id=1, block=1)
    kind = {"Content-Type": "application/x-ndjson"}
    assert (
        client.post("/ingest/v1/events", data=ndjson(head), headers=bearer(TOKEN) | kind).status_code == 200
    )
    assert client.get("/ingest/v1/cursor", headers=bearer(TOKEN)).status_code == 200
    assert client.get("/ingest/v1/cursor", headers=bearer("gwi_" + "0" * 16 + "_x")).status_code == 401
    assert client.get("/readyz").status_code == 200
    assert (sent.replica, sent.primary > 4) == (0, True)


def test_killed_replica_costs_no_answer(
    servers: Cluster, app: Flask, database: Database, client: FlaskClient
) -> None:
    before = public_answers(client)
    servers.replica.kill()
    try:
        sent = Statements(app)
        assert public_answers(client)[2:] == before[2:]
        assert sent.primary > 0
        assert client.get("/readyz").status_code == 200
    finally:
        servers.replica.start()
    eventually(replica_of(database).is_usable)
    public_answers(client)
    assert sent.replica > 0


def hurry(engine: Engine, seconds: float) -> None:
    """Have its connections wait for so long."""
    set_timeouts(engine, replace(REPLICA, within=seconds))


def test_hanging_replica_costs_no_answer(servers: Cluster, database: Database, client: FlaskClient) -> None:
    public_answers(client)
    hurry(replica_of(database).engine, 0.3)
    with servers.replica.hanging():
        public_answers(client)
        eventually(lambda: not replica_of(database).is_usable())
        public_answers(client)
    eventually(replica_of(database).is_usable)


def test_late_answer_answers_no_other_statement(servers: Cluster, database: Database) -> None:
    """A statement that was given up takes its connection with it."""
    engine = replica_of(database).engine
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 1")) == 1
        hurry(engine, 0.1)
        with pytest.raises(Exception, match="timeout expired") as given_up:
            connection.scalar(select(func.pg_sleep(0.5)))
        assert getattr(given_up.value, "connection_invalidated", False)
    set_timeouts(engine, REPLICA)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 2")) == 2


def test_restarted_primary_costs_nothing(servers: Cluster, client: FlaskClient, database: Database) -> None:
    """Without a replica: connections that died in the pool are neither a reader's nor a reporter's fault."""
    alone = database.public
    alone.replica = None
    before = public_answers(client)
    servers.primary.kill()
    servers.primary.start()
    assert run_read(database.reads, lambda connection: connection.scalar(text("SELECT 7"))) == 7
    assert public_answers(client)[2:] == before[2:]
    servers.primary.kill()
    servers.primary.start()
    kind = {"Content-Type": "application/x-ndjson"}
    head = fact("chain.head", chain_id=1, block=int(time.time()))
    verdict = client.post("/ingest/v1/events", data=ndjson(head), headers=bearer(TOKEN) | kind)
    assert verdict.json == {"accepted": 1, "repeated": 0, "refused": []}


def test_expired_request_keeps_replica_usable(database: Database) -> None:
    """It waited for something else before, and gets no connection."""
    with within(0), pytest.raises(PoolTimeout):
        database.public.run_read(lambda connection: connection.scalar(text("SELECT 1")))
    assert replica_of(database).is_usable()
