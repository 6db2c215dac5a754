"""Statuses of a process whose URL leads to several replicas, of which one is behind."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import Connection, make_url, text

from app import create_app
from app.db.database import READ_CONNECTIONS, Database
from app.http.application import part_of
from app.transfers.services.status import TransferStatus
from app.values.identifiers import TransferId
from tests.applications import close_connections, make_settings
from tests.replicas.cluster import Cluster, Node, cluster
from tests.replicas.conftest import eventually, fill, move, replica_of, status
from tests.transfers.services.followed import Process

pytestmark = pytest.mark.soak("a database server and two replicas")


@pytest.fixture(scope="module")
def servers() -> Iterator[Cluster]:
    """The second one replays only what a test lets it."""
    with tempfile.TemporaryDirectory(prefix="gw-") as folder, cluster(Path(folder), replicas=2) as running:
        fill(running)
        yield running


@contextmanager
def gateway_on(servers: Cluster, url: str) -> Iterator[Flask]:
    """A gateway that reads from this URL; nothing looks at the replica but the test."""
    settings = make_settings(servers.primary.url, database_replica_url=url)
    app = create_app(settings)
    with app.app_context():
        database = part_of(app, Database)
        eventually(replica_of(database).is_usable)
        replica_of(database).close()
        try:
            yield app
        finally:
            close_connections()


def folder_of(node: Node) -> str:
    """Where its socket is."""
    folder = make_url(node.url).query["host"]
    assert isinstance(folder, str)
    return folder


def url_at(servers: Cluster, host: str) -> str:
    url = make_url(servers.primary.url).update_query_dict({"host": host})
    return url.render_as_string(hide_password=False)


@contextmanager
def only_from(database: Database, node: Node) -> Iterator[None]:
    """All that is read in the block comes from this server: the connections to the other one are taken."""
    engine, taken = replica_of(database).engine, list[Connection]()
    folder = node.run("SHOW data_directory")
    while (connection := engine.connect()).scalar(text("SHOW data_directory")) != folder:
        taken.append(connection)
        if len(taken) == READ_CONNECTIONS - 1:
            close(taken)
            engine.dispose()
    connection.close()
    try:
        yield
    finally:
        close(taken)


def close(taken: list[Connection]) -> None:
    while taken:
        taken.pop().close()


@contextmanager
def paused(node: Node) -> Iterator[None]:
    """It replays nothing in the block, and everything after it."""
    node.run("SELECT pg_wal_replay_pause()")
    try:
        eventually(lambda: node.run("SELECT pg_get_wal_replay_pause_state()") == "paused")
        yield
    finally:
        node.run("SELECT pg_wal_replay_resume()")


def follow_and_change(servers: Cluster, app: Flask, process: Process) -> tuple[TransferId, int]:
    """Let a transfer change while the second replica is behind. The journal is read from the first, then the
    row from the second.

    :returns: the transfer and its new status.
    """
    database = part_of(app, Database)
    first, second = servers.replicas
    begun = move(app, 1, story="0005")
    transfer_id = TransferId(bytes.fromhex(begun.transfer_id[2:]))
    for node in servers.replicas:
        with only_from(database, node):
            eventually(lambda: status(process, transfer_id) == begun.status)
    with paused(second):
        ended = move(app, 1 + len(begun.left), transfer_id=transfer_id)
        with only_from(database, first):
            eventually(lambda: stored_status(app, transfer_id) == ended.status)
            process.look()
        with only_from(database, second):
            process.ask(transfer_id)
    for node in servers.replicas:
        with only_from(database, node):
            eventually(lambda: stored_status(app, transfer_id) == ended.status)
    return transfer_id, ended.status


def stored_status(app: Flask, transfer_id: TransferId) -> int:
    """What a process without memory answers."""
    answer = Process(app).ask(transfer_id)
    return answer.status if isinstance(answer, TransferStatus) else 0


@pytest.mark.parametrize("minds_servers", [True, False])
def test_row_of_a_replica_that_is_behind_is_dropped(servers: Cluster, minds_servers: bool) -> None:
    url = url_at(servers, ",".join(map(folder_of, servers.replicas))) + "&load_balance_hosts=random"
    with gateway_on(servers, url) as app:
        process = Process(app, minds_servers=minds_servers)
        transfer_id, now = follow_and_change(servers, app, process)
        assert [status(process, transfer_id) for _ in range(3)] == [now] * 3


def test_url_with_several_hosts_caches_no_rows(
    servers: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    url = url_at(servers, ",".join(map(folder_of, servers.replicas)))
    with gateway_on(servers, url) as app:
        assert_nothing_is_cached(app, monkeypatch)
    assert [each.getMessage() for each in caplog.records if "no rows" in each.getMessage()] == [
        "a URL names several servers: no rows of statuses are cached"
    ]


def test_name_that_leads_to_several_servers_caches_no_rows(
    servers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = tmp_path / "replica"
    name.symlink_to(folder_of(servers.replicas[0]))
    with gateway_on(servers, url_at(servers, str(name))) as app:
        assert part_of(app, Database).public.is_one_server()
        engine = replica_of(part_of(app, Database)).engine
        name.unlink()
        name.symlink_to(folder_of(servers.replicas[1]))
        with ExitStack() as stack:
            for _ in range(READ_CONNECTIONS):
                stack.enter_context(engine.connect())
        name.unlink()
        name.symlink_to(folder_of(servers.replicas[0]))
        engine.dispose()
        assert_nothing_is_cached(app, monkeypatch)
    assert [each.getMessage() for each in caplog.records if "no rows" in each.getMessage()] == [
        "the connections of one URL have led to several servers: no rows of statuses are cached"
    ]


def test_server_that_was_started_again_is_one(servers: Cluster) -> None:
    node = servers.replicas[0]
    with gateway_on(servers, node.url) as app:
        node.kill()
        node.start()
        replica_of(part_of(app, Database)).engine.dispose()
        part_of(app, Database).public.run_read(lambda connection: connection.scalar(text("SELECT 1")))
        assert part_of(app, Database).public.is_one_server()


def assert_nothing_is_cached(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = move(app, 1, story="0005")
    transfer_id = TransferId(bytes.fromhex(begun.transfer_id[2:]))
    eventually(lambda: stored_status(app, transfer_id) == begun.status)
    process = Process(app)
    process.note_reads(monkeypatch)
    assert [status(process, transfer_id) for _ in range(3)] == [begun.status] * 3
    assert process.reads == [transfer_id] * 3
