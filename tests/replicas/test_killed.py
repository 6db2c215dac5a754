"""A real gunicorn under load, while its replica is killed and started again: no request fails."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.amounts import few_or_many
from tests.replicas.cluster import Cluster, Node
from tests.replicas.conftest import eventually
from tests.serving.server import Server, serving

READERS = 2
PAUSE_SECONDS = 0.05
"""Between two rounds of one reader: without it the servers that start would have no processor."""
REQUESTS = (
    ("POST", "/v2/getTransferStatus", json.dumps({"transfer_id": "0x" + "5".zfill(64)})),
    ("GET", "/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56", None),
    (
        "GET",
        "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000",
        None,
    ),
    ("GET", "/v2/getRefundEvidence?transfer_id=0x" + "8".zfill(64), None),
)
KIND = {"Content-Type": "application/json"}


@dataclass(slots=True)
class Reader:
    """Sends every request over one connection until it is stopped, and stores the answers."""

    server: Server
    stopped: threading.Event
    answers: dict[str, Counter[bytes]] = field(default_factory=lambda: {q[1]: Counter() for q in REQUESTS})
    failures: list[str] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """How often the first request was answered."""
        return self.answers[REQUESTS[0][1]].total()

    def run(self) -> None:
        connection = self.server.connect()
        while not self.stopped.is_set():
            for method, path, body in REQUESTS:
                try:
                    connection.request(method, path, body, KIND)
                    response = connection.getresponse()
                    answer = response.read()
                except (HTTPException, OSError) as error:
                    self.failures.append(f"{path}: {error!r}")
                    connection = self.server.connect()
                    continue
                if response.status != 200:
                    self.failures.append(f"{path}: {response.status} {answer!r}")
                self.answers[path][answer] += 1
            self.stopped.wait(PAUSE_SECONDS)
        connection.close()


def reads_of(node: Node) -> int:
    """How many connections to the replica last read transfers or their journal, which answers from memory
    follow."""
    read, others = r"query ~ 'FROM (transfers|status_changes)\M'", "pid <> pg_backend_pid()"
    return int(node.run(f"SELECT count(*) FROM pg_stat_activity WHERE {read} AND {others}"))


def more_than(readers: list[Reader], rounds: list[int]) -> bool:
    """Whether every one of them was answered at least twenty times since."""
    return all(reader.rounds > before + 20 for reader, before in zip(readers, rounds, strict=True))


@pytest.mark.postgresql
@pytest.mark.parametrize("kills", few_or_many(1, 5))
def test_no_request_fails_with_the_replica(servers: Cluster, tmp_path: Path, kills: int) -> None:
    settings = {"DATABASE_URL": servers.primary.url, "DATABASE_REPLICA_URL": servers.replica.url}
    settings["WEB_CONCURRENCY"] = "1"
    log = tmp_path / "log"
    stopped = threading.Event()
    with serving("wsgi:app", log, **settings) as server:
        readers = [Reader(server, stopped) for _ in range(READERS)]
        threads = [threading.Thread(target=reader.run) for reader in readers]
        for thread in threads:
            thread.start()
        try:
            for _ in range(kills):
                eventually(lambda: reads_of(servers.replica) > 0)
                servers.replica.kill()
                eventually(partial(more_than, readers, [reader.rounds for reader in readers]))
                servers.replica.start()
            eventually(lambda: reads_of(servers.replica) > 0)
        finally:
            stopped.set()
            for thread in threads:
                thread.join()
    assert [failure for reader in readers for failure in reader.failures] == []
    for _, path, _ in REQUESTS:
        given = {answer for reader in readers for answer in reader.answers[path]}
        assert len(given) == 1, "the primary and the replica answer the same"
        assert json.loads(given.pop())["err"] is None
    assert "Traceback" not in log.read_text()
    assert "the replica is not used: it does not respond" in log.read_text()
