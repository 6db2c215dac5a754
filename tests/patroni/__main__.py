"""What the loss of a node costs: ``python -m tests.patroni`` makes each fault several times under load.

Events are reported to two gateways, and statuses, estimates and medians requested. Each fault takes about a
minute and a half.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from app.db.database import Database
from app.http.application import part_of
from tests.faults_rig.figures import longest_gap, p99
from tests.faults_rig.programs import Gateway, Nginx, status_of, wait_for
from tests.load.events import TOKEN
from tests.load.requests import (
    estimate_requests,
    fill,
    latency_requests,
    status_requests,
    transfer_ids,
    write_requests,
)
from tests.load.steady import GOOD, steady_load
from tests.patroni.faults import FAULTS, Fault
from tests.patroni.nodes import Cluster, cluster, lacking
from tests.patroni.reporters import Twins
from tests.postgres import gateway_on

HEADER: Final = (
    "| fault | reads failed | longest gap | p99 of reads before, since | writes back after | acknowledged "
    "| lost | accepted twice |\n|---|---|---|---|---|---|---|---|"
)


EVENTS: Final = 1_000_000
"""More than are reported during a fault."""


class Result(Struct, frozen=True):
    """What came of one fault.

    :param failed: reads, by outcome.
    :param gap: the longest time in which no read was answered, in seconds.
    :param p99_before: of the reads before the fault, in milliseconds; ``p99_since`` of those from then on.
    :param back: seconds until both reporters had acknowledgements again.
    :param archived: whether PostgreSQL's log comes into the archive again, once the nodes are whole.
    """

    fault: Fault
    reads: int
    failed: Counter[str]
    gap: float
    back: float
    acknowledged: int
    lost: int
    twice: int
    again: Counter[str]
    p99_before: float
    p99_since: float
    archived: bool = True

    @property
    def complaints(self) -> list[str]:
        """What is not as it has to be."""
        found = {
            f"{self.failed.total()} reads failed: {dict(self.failed)}": self.failed.total(),
            f"{self.lost} events lost": self.lost,
            f"{self.twice} events accepted twice": self.twice,
            f"writes back after {self.back:.1f} s": self.back > self.fault.within,
            "nothing is archived any more": not self.archived,
        }
        return [f"{self.fault.name}: {words}" for words, wrong in found.items() if wrong]

    def line(self) -> str:
        """A row of the table."""
        failed = f"{self.failed.total()} of {self.reads}"
        p99s = f"{self.p99_before:.0f}, {self.p99_since:.0f} ms"
        cells = (self.fault.name, failed, f"{self.gap:.2f} s", p99s, f"{self.back:.1f} s", self.acknowledged,
                 self.lost, self.twice)  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"


class Served(Struct, frozen=True):
    """Everything that runs."""

    cluster: Cluster
    gateways: list[Gateway]
    nginx: Nginx
    requests: Path
    folder: Path


@contextmanager
def served() -> Iterator[Served]:
    """Three nodes, two gateways whose URLs name no single one, and nginx."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gw-p-")))
        folder.chmod(0o755)
        nodes = stack.enter_context(cluster(folder))
        with gateway_on(nodes.url("gateway_owner", "read-write", "postgresql+psycopg")) as app:
            fill(app, 500)
            ids = transfer_ids(part_of(app, Database))
        requests = status_requests(ids)
        others = estimate_requests(len(requests) // 3) + latency_requests() * (len(requests) // 50 + 1)
        settings = {
            "DATABASE_URL": nodes.url("gateway", "read-write"),
            "DATABASE_REPLICA_URL": nodes.url("gateway", "standby"),
            "SECRET_KEY": "only for measurements " * 2,
            "AUDIT_KEY": "only for measurements " * 2,
            "INGEST_TOKENS": TOKEN,
            "TRUSTED_PROXIES": "1",
            "WEB_CONCURRENCY": "1",
        }
        for name in ("a", "b", "nginx"):
            (folder / name).mkdir()
        gateways = [Gateway(folder / name, settings) for name in ("a", "b")]
        nginx = Nginx(folder / "nginx", [gateway.port for gateway in gateways])
        for program in (*gateways, nginx):
            stack.callback(program.end)
            program.start()
        wait_for("nginx", lambda: status_of(nginx.port, "/healthz") == 200)
        file = write_requests(requests + others, folder / "requests")
        yield Served(nodes, gateways, nginx, file, folder)


def measure(running: Served, fault: Fault, first: int, *, rate: float = 60, before: float = 6) -> Result:
    """Load, the fault, and the time until the nodes are whole again."""
    nodes = running.cluster
    nodes.wait()
    reporters = Twins([gateway.port for gateway in running.gateways], first)
    with reporters.at_work(), steady_load(running.nginx.port, rate, running.requests, running.folder) as seen:
        time.sleep(before)
        node = fault.whom(nodes)
        warm = began = time.monotonic()
        fault.begin(node)
        print(f"{fault.name}: {node.name}", file=sys.stderr, flush=True)
        time.sleep(fault.seconds or fault.within)
        if fault.end:
            fault.end(node)
            time.sleep(15)
        back = reporters.back_after(began)
        nodes.repair()
        time.sleep(5)
    ids = reporters.acknowledged()
    there = nodes.query("SELECT count(DISTINCT event_id) FROM events WHERE event_id = ANY(%s)", ids)
    counted = [one for one in seen if one.due > warm - before / 2]
    return Result(
        fault,
        reads=len(counted),
        failed=Counter(one.outcome for one in counted if one.outcome != GOOD),
        gap=longest_gap(counted),
        back=back,
        acknowledged=len(ids),
        lost=len(ids) - there,
        twice=reporters.accepted_twice(),
        again=reporters.failures,
        p99_before=p99([one for one in counted if one.due < began]),
        p99_since=p99([one for one in counted if one.due >= began]),
        archived=nodes.archives(),
    )


def main(arguments: list[str] | None = None) -> int:
    """Make the faults and print the table; 1 where one cost more than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10, help="how often each fault is made")
    parser.add_argument("--only", nargs="*", help="faults whose name has one of these words")
    parser.add_argument("--logs", type=Path, help="a folder for what the programs wrote")
    options = parser.parse_args(arguments)
    if lack := lacking():
        raise SystemExit(f"python -m tests.patroni: {lack}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that what was started is ended, too
    words = options.only or [""]
    chosen = [fault for fault in FAULTS if any(word in fault.name for word in words)]
    complaints = []
    with served() as running:
        print(HEADER, flush=True)
        for number, fault in enumerate(chosen * options.times):
            result = measure(running, fault, number * EVENTS)
            print(result.line(), flush=True)
            print(f"sent again: {dict(result.again)}", file=sys.stderr, flush=True)
            complaints += result.complaints
            if options.logs:
                for file in running.folder.glob("*/*"):
                    if file.name in {"output", "patroni.log", "etcd.log"}:
                        (options.logs / f"{file.parent.name}.{file.name}").write_bytes(file.read_bytes())
    good = "No read failed, no event was lost or accepted twice, and writes were back in time."
    print("\n" + ("\n".join(complaints) or good))
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
