"""A day of all public bridges (``bench.day``), as large a share of it as this machine takes.

``make bench ONLY=world`` takes about five minutes. First it measures the floor, which is whole transfers in
posts of 1,000 lines, and the pace, which is the day's events as fast as they can be posted. Then it replays
the busiest minute in real time, and hours around it at 100 times the speed. Both have the share of transfers
whose events take a part of the pace: in that minute, and on average.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import count
from math import inf
from pathlib import Path
from typing import Final

import orjson
from sqlalchemy import text

from app.db.database import Database
from app.db.engine import run_read
from app.http.application import current
from app.network.document import import_network
from app.values.codes import TransferHistoryStatus as Status
from bench import day
from bench.contenders import GUNICORN, OURS, POSTGRES, Setting, command, settings_for
from bench.duels.noise import cores, read_clocks, share_of_others
from bench.duels.rounds import rate
from bench.feed import LARGE, Reporters, token
from tests.applications import editing_of
from tests.load.requests import OPERATOR, status_requests, write_requests
from tests.load.served import Served, send_request, serving
from tests.load.steady import GOOD, Seen, steady_load
from tests.postgres import PostgresServer, gateway_on, postgres_server

SPEED: Final = 100
PART: Final = 0.5
"""Of the pace, that the events of a replay take."""

PAUSE_SECONDS: Final = 0.1
"""Of a reporter that has posted all that was due."""

READS: Final = 50
"""Requests for a status, a second."""

LOOK_SECONDS: Final = 0.05
GIVE_UP_SECONDS: Final = 120


class Replay:
    """Reporters who post what is due, and look for payouts that were accepted. Times are in seconds."""

    def __init__(self, port: int, events: Sequence[day.Due], speed: float, share: float) -> None:
        """
        :param speed: of the day's clock; ``inf`` where everything is due at once.
        :param share: of the day's transfers.
        """
        self.events, self.speed, self.share = events, speed, share
        self.paid = [each.paid for each in events if each.paid]
        self.seen: list[float] = []
        """From when a payout was due to a status that says so, in the order of the statuses."""
        self.again = 0
        """How often a post was sent again, because the gateway was too busy."""
        self._port, self._began = port, 0.0

    def run(self) -> float:
        self._began = time.monotonic()
        with ThreadPoolExecutor(day.REPORTERS) as looking, ThreadPoolExecutor(day.REPORTERS) as reporting:
            list(reporting.map(self._report, range(day.REPORTERS), [looking] * day.REPORTERS))
        return time.monotonic() - self._began

    def _due_at(self, event: day.Due) -> float:
        return self._began + (event.second - self.events[0].second) / self.speed

    def _report(self, number: int, looking: ThreadPoolExecutor) -> None:
        feed = [each for each in self.events if each.reporter == number]
        connection = HTTPConnection("127.0.0.1", self._port, timeout=GIVE_UP_SECONDS)
        done, look = 0, looking.submit(lambda: None)
        while done < len(feed):
            time.sleep(max(0.0, self._due_at(feed[done]) - time.monotonic()))
            part = feed[done : min(bisect(feed, time.monotonic(), key=self._due_at), done + LARGE)]
            self._post(connection, part)
            done += len(part)
            if look.done() and (paid := next((each for each in part if each.paid), None)):
                look.result()
                look = looking.submit(self._look, paid)
            if len(part) < LARGE:
                time.sleep(PAUSE_SECONDS)
        look.result()

    def _post(self, connection: HTTPConnection, part: Sequence[day.Due]) -> None:
        authorization = f"Bearer {token(part[0].reporter)}"
        headers = {"Content-Type": "application/x-ndjson", "Authorization": authorization}
        body = b"\n".join(each.line for each in part)
        while True:
            connection.request("POST", "/ingest/v1/events", body, headers)
            response = connection.getresponse()
            answer = orjson.loads(response.read())
            if response.status != HTTPStatus.SERVICE_UNAVAILABLE:
                break
            self.again += 1
            time.sleep(PAUSE_SECONDS)
        planned = [number for number, each in enumerate(part, 1) if each.refused]
        refused = [each["line"] for each in answer.get("refused", ())]
        taken = answer.get("accepted", 0) + answer.get("repeated", 0)
        if (taken, refused) != (len(part) - len(planned), planned):
            raise SystemExit(f"the feed was not taken: {answer}")

    def _look(self, event: day.Due) -> None:
        """Request the status of a payout until it says so."""
        (request,) = status_requests([event.paid])
        give_up = time.monotonic() + GIVE_UP_SECONDS
        while True:
            answer = orjson.loads(send_request(self._port, request.method, request.path, request.body))
            if answer["status"] == Status.TRANSFER_COMPLETED:
                break
            if time.monotonic() > give_up:
                raise SystemExit(f"{event.paid} was paid, and answered as {answer}")
            time.sleep(LOOK_SECONDS)
        self.seen.append(time.monotonic() - self._due_at(event))


class World:
    """A served gateway that is given the day."""

    def __init__(self, served: Served, database: PostgresServer, folder: Path) -> None:
        self._served, self._database, self._folder = served, database, folder
        self._today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        self._requests = folder / "requests"
        self._alone: Sequence[float] = ()

    def measure(self, seconds: int) -> None:
        """Print all figures.

        :param seconds: of each replay.
        """
        firsts = count(10_000_000, 100_000)
        reporters = Reporters([self._served], self._database.process, seconds / 30, firsts)
        floor = statistics.median(rate(reporters.round(1, LARGE)) for _ in range(3))
        first = 60 * day.BUSIEST - seconds // 6
        warm = self._replay(2, seconds / 200, first - day.LONGEST, first, inf)
        pace = len(warm.events) / warm.run()
        print(f"Floor {floor:,.0f} events a second, pace {pace:,.0f}, which is {pace / floor:.2f} of it.")
        write_requests(status_requests(warm.paid), self._requests)
        with self._reads() as alone:
            time.sleep(seconds / 10)
        self._alone = _times(alone)
        print(f"Statuses without a feed: {_written(self._alone, 1000)} ms.\n\n{HEAD}")
        peak = PART * pace / day.events_per_second(day.BUSIEST, day.BUSIEST + 1)
        self._show(self._replay(2, min(1.0, peak), first, first + seconds, 1))
        minutes = seconds * SPEED // 60
        begin = day.BUSIEST - minutes // 2
        share = PART * pace / day.events_per_second(begin, begin + minutes) / SPEED
        self._show(self._replay(1, share, 60 * begin, 60 * (begin + minutes), SPEED))

    def _replay(self, days_ago: int, share: float, first: float, until: float, speed: float) -> Replay:
        events = day.events_of_day(self._today - timedelta(days=days_ago), share, first, until)
        return Replay(self._served.port, events, speed, share)

    def _reads(self) -> AbstractContextManager[list[Seen]]:
        """Request statuses of transfers that were completed before, while the block runs."""
        return steady_load(self._served.port, READS, self._requests, self._folder)

    def _show(self, replay: Replay) -> None:
        clocks, bytes_before = read_clocks([self._database.process]), _database_bytes()
        with self._reads() as reads:
            seconds = replay.run()
        others = share_of_others(clocks, read_clocks([self._database.process]), cores())
        times, grown = _times(reads), _database_bytes() - bytes_before
        hours = (timedelta(seconds=int(each.second)) for each in (replay.events[0], replay.events[-1]))
        cells = (
            " to ".join(map(str, hours)),
            f"{replay.speed} ×",
            f"{replay.share:.1%}",
            f"{len(replay.events) / seconds:,.0f}",
            _written(sorted(replay.seen)),
            f"{statistics.mean(replay.seen[-day.REPORTERS :]):.2f}",
            f"{_written(times, 1000)}, {_at(times, 0.99) / _at(self._alone, 0.99):.1f} ×",
            f"{grown / len(replay.events) * day.EVENTS_PER_TRANSFER:,.0f}",
            f"{others:.0%}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)
        if replay.again:
            print(f"Posts sent again after 503: {replay.again}.", flush=True)


HEAD: Final = """\
| hours of the day | speed | transfers | events a second | from due to seen, s | at the end \
| status, ms; p99 / without a feed | bytes, ten events | others |
|---|---:|---:|---:|---:|---:|---:|---:|---:|"""


def _times(reads: Sequence[Seen]) -> Sequence[float]:
    """Seconds of each, in order. Those that failed are printed."""
    if failed := Counter(each.outcome for each in reads if each.outcome != GOOD):
        print(f"Of {len(reads)} reads failed: {dict(failed)}")
    return sorted(each.seconds for each in reads)


def _at(times: Sequence[float], part: float) -> float:
    return times[int(part * (len(times) - 1))]


def _written(times: Sequence[float], unit: float = 1) -> str:
    """Median, 99th percentile and longest."""
    return ", ".join(f"{unit * _at(times, part):.3g}" for part in (0.5, 0.99, 1))


def _database_bytes() -> int:
    """Of all tables and indexes."""
    size = text("SELECT pg_database_size(current_database())")
    return int(run_read(current(Database).reads, lambda connection: connection.scalar(size)) or 0)


def main(arguments: list[str] | None = None) -> int:
    """Print the figures. There is no bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    quick = parser.parse_args(arguments).quick
    with (
        postgres_server() as database,
        gateway_on(database.url) as app,
        tempfile.TemporaryDirectory(prefix="gateway-bench-world-") as name,
    ):
        import_network(*editing_of(app), day.document(), actor=OPERATOR)
        server, setting = (GUNICORN, OURS, POSTGRES), Setting("", database.url)
        settings = settings_for(server, setting) | {
            "INGEST_TOKENS": ",".join(map(token, range(day.REPORTERS)))
        }
        with serving(command(server, setting), settings, Path(name) / "log") as served:
            World(served, database, Path(name)).measure(12 if quick else 72)
    return 0


if __name__ == "__main__":
    sys.exit(main())
