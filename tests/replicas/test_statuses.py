"""Statuses from memory of a process that reads a replica: they follow the replica's journal."""

from __future__ import annotations

import pytest
from flask import Flask

from app.values.identifiers import TransferId
from tests.replicas.cluster import Cluster
from tests.replicas.conftest import eventually, move, status
from tests.transfers.services.followed import Process

pytestmark = pytest.mark.soak("a database server and its replica")


def test_memory_follows_the_replicas_journal(
    servers: Cluster, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = move(app, 1, story="0005")
    transfer_id = TransferId(bytes.fromhex(begun.transfer_id[2:]))
    process = Process(app)
    eventually(lambda: status(process, transfer_id) == begun.status)
    servers.replica.run("SELECT pg_wal_replay_pause()")
    try:
        eventually(lambda: servers.replica.run("SELECT pg_get_wal_replay_pause_state()") == "paused")
        ended = move(app, 1 + len(begun.left), transfer_id=transfer_id)
        assert (ended.status != begun.status, ended.left) == (True, ())
        process.note_reads(monkeypatch)
        assert [status(process, transfer_id) for _ in range(3)] == [begun.status] * 3
        assert process.reads == [], "nothing has changed where it reads"
    finally:
        servers.replica.run("SELECT pg_wal_replay_resume()")
    eventually(lambda: status(process, transfer_id) == ended.status)
    process.reads.clear()
    assert [status(process, transfer_id) for _ in range(3)] == [ended.status] * 3
    assert process.reads == [], "and now from memory again"
