"""Plays a feed to a gateway over HTTP, and compares its answers with the oracle's."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, Final

from flask import Flask

from tests.builders.clock import MovableClock
from tests.feed.oracle.facts import Log, Retraction, fault
from tests.feed.oracle.items import REPORTERS, Again, Item, RefundRequest, Retract, TakeBack, Wait, posts
from tests.feed.oracle.reading import event_id as event_id_of
from tests.feed.oracle.reading import hex32, read
from tests.feed.oracle.table import Transfer, median_latency, pools
from tests.feed.oracle.world import ADDED, CHAINS, DECIMALS, NOW, WIDE, World

LINES_OF_A_POST: Final = 900
_callers = count(1)


class Differs(AssertionError):
    """The gateway answers something else than the oracle."""


@dataclass
class Play:
    """One feed, played to a gateway and to the oracle.

    :param tokens: the bearer token of each reporter.
    """

    app: Flask
    clock: MovableClock
    world: World
    tokens: Mapping[str, str]
    log: Log = field(default_factory=Log)
    said: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock.now = NOW
        self.client = self.app.test_client()

    def play(self, items: Sequence[Item]) -> None:
        """Play all of it; compare on the way where the clock or an operator comes in, and at the end."""
        for each in posts(items):
            if isinstance(each, tuple):
                self.post(*each)
            elif isinstance(each, Again):
                self._send_again(each)
            elif isinstance(each, Wait):
                self.compare()
                self.clock.now += timedelta(seconds=each.seconds)
            elif isinstance(each, RefundRequest):
                self._request_refund(each)
            else:
                self._retract(each)
        self.compare()

    def post(self, reporter: str, lines: list[dict[str, Any]], first_time: bool = True) -> None:
        """Post lines, and compare the verdict where the documents decide it."""
        if first_time:
            self.said.setdefault(reporter, []).extend(lines)
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        headers = {"Authorization": f"Bearer {self.tokens[reporter]}"}
        answer = self.client.post(
            "/ingest/v1/events", data=body, headers=headers, content_type="application/x-ndjson"
        )
        verdict = answer.get_json()
        if answer.status_code != 200:
            raise Differs(f"a post by {reporter}: HTTP {answer.status_code} {verdict}")
        refused = {each["line"]: each["reason"] for each in verdict["refused"]}
        for number, line in enumerate(lines, start=1):
            self._take(reporter, line, refused.get(number))
        if verdict["accepted"] + verdict["repeated"] + len(refused) != len(lines):
            raise Differs(f"{len(lines)} lines were posted: {verdict}")

    def _take(self, reporter: str, line: dict[str, Any], reason: str | None) -> None:
        """Add to the oracle's log a line that was accepted, or a signature that was quarantined."""
        chains, body = REPORTERS[reporter], read(line, self.world)
        must = fault(self.log, self.world, body, chains, self.clock.now)
        if must is not None and must != (reason is not None):
            raise Differs(
                f"{reporter} sent {json.dumps(line)}: {'accepted' if must else 'refused, ' + str(reason)}"
            )
        if reason is None or body["type"] == "refund.signed":
            self.log.accept(body, chains)

    def _send_again(self, again: Again) -> None:
        lines = self.said.get(again.reporter, []) * again.times
        for first in range(0, len(lines), LINES_OF_A_POST):
            self.post(again.reporter, lines[first : first + LINES_OF_A_POST], first_time=False)

    def _retract(self, wanted: Retract | TakeBack) -> None:
        self.compare()
        if isinstance(wanted, TakeBack):
            if not self.log.retractions:
                return
            about: list[str] = []
            subject: str | int = "operators"
            event_id = self.log.retractions[-1].event_id
        else:
            subject = hex32(wanted.subject) if isinstance(wanted.subject, str) else wanted.subject
            about = ["--transfer", subject] if isinstance(subject, str) else ["--chain", str(subject)]
            event_id = wanted.event_id
        args = ["events", "retract", "--id", event_id, *about, "--reason", "a random feed"]
        done = self.app.test_cli_runner().invoke(args=args)
        if done.exit_code == 0:
            own = done.stdout.strip()
            of = event_id if isinstance(wanted, TakeBack) else event_id_of(event_id)
            self.log.retractions.append(Retraction(self.log.next_place(), own, subject, of))

    def _request_refund(self, wanted: RefundRequest) -> None:
        expected = Transfer(self.log, self.world, wanted.transfer_id, self.clock.now).status
        text = wanted.transfer_id.encode()
        request = base64.b64encode(b"\x0a" + bytes([len(text)]) + text + b"\x28\x01").decode()
        number = next(_callers)
        caller = {"REMOTE_ADDR": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
        body = {"withdraw_req": request, "estimated_received_amt": "1", "method_type": 1}
        answer = self.client.post("/v2/withdrawLiquidity", json=body, environ_base=caller).get_json()
        if (answer["err"] is None) != (6 <= expected <= 10):
            raise Differs(f"a refund was requested at status {expected}: {answer}")
        if expected == 6:
            self.log.requested.add(wanted.transfer_id)

    # What is compared.

    def compare(self) -> None:
        """Every answer about every transfer, the pools and the latencies."""
        now = self.clock.now
        ids = sorted(each for each in self.log.subjects() if isinstance(each, str))
        transfers = [Transfer(self.log, self.world, each, now) for each in ids]
        for each in transfers:
            self._compare_status(each)
        self._compare_pools(pools(self.log, self.world, transfers, now))
        for source in CHAINS:
            for destination in CHAINS:
                if source != destination:
                    self._compare_latency(source, destination, median_latency(transfers, source, destination))

    def _compare_status(self, transfer: Transfer) -> None:
        expected = transfer.answer()
        got = self.client.post(
            "/v2/getTransferStatus", json={"transfer_id": transfer.facts.subject}
        ).get_json()
        if got["err"] is not None and not transfer.facts.canonical and not transfer.status:
            return  # nothing that counts was ever reported of it
        wrong = {name: (got[name], value) for name, value in expected.items() if got[name] != value}
        if wrong:
            reported = "; ".join(
                f"{name} is {was}, should be {should}" for name, (was, should) in wrong.items()
            )
            raise Differs(f"transfer {transfer.facts.subject}: {reported}")

    def _compare_pools(self, changes: Mapping[tuple[int, str], tuple[int, int]]) -> None:
        """A pool's inbound limit and balance are the greatest amounts that estimates let through."""
        for chain_id in CHAINS:
            unit = 10 ** DECIMALS[chain_id]
            balance, limit = (ADDED * unit + each for each in changes.get((chain_id, "USDT"), (0, 0)))
            wide = 10 ** (DECIMALS[WIDE] - DECIMALS[chain_id])
            self._compare_limit(chain_id, WIDE, limit, 1, 1005)
            self._compare_limit(WIDE, chain_id, balance * wide, wide, 1004)

    def _compare_limit(self, source: int, destination: int, most: int, more: int, code: int) -> None:
        query = {
            "src_chain_id": source,
            "dst_chain_id": destination,
            "token_symbol": "USDT",
            "slippage_tolerance": 5000,
        }
        answers = []
        for amount in (most, most + more):
            err = self.client.get("/v2/estimateAmt", query_string=query | {"amt": str(amount)}).get_json()[
                "err"
            ]
            answers.append(err["code"] if err else None)
        if answers != [None, code]:
            raise Differs(
                f"{most} from {source} to {destination} is not the most that its pools take: {answers}"
            )

    def _compare_latency(self, source: int, destination: int, expected: float | None) -> None:
        query = {"src_chain_id": source, "dst_chain_id": destination}
        got = self.client.get("/v2/getLatest7DayTransferLatencyForQuery", query_string=query).get_json()
        found = None if got["err"] else got["median_transfer_latency_in_second"]
        if found != expected:
            raise Differs(f"the latency from {source} to {destination} is {found}, should be {expected}")


def smallest(items: Sequence[Item], differs: Callable[[list[Item]], bool]) -> list[Item]:
    """A part of the feed that still differs, and does not without any one of its items."""
    found, size = list(items), max(1, len(items) // 2)
    while True:
        start = 0
        while start < len(found):
            fewer = found[:start] + found[start + size :]
            if differs(fewer):
                found = fewer
            else:
                start += size
        if size == 1:
            return found
        size = max(1, size // 2)
