"""Callers that use an installation at the same time, each in a thread, next to the load of wrk."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

import orjson

from app.grpcweb import gateway_pb2 as pb
from tests.load.events import TOKEN
from tests.load.served import Served
from tests.serving.guessing import Browser
from tests.soak.stage import EMAIL, PASSWORD, Stage

SENDS_A_SECOND: Final = 5
"""Transfers that begin each second. Each is confirmed and released a few seconds later."""

WAITERS: Final = 20
STREAMS: Final = 10
WAIT_SECONDS: Final = 10
STREAM_SECONDS: Final = 45
SESSION_SECONDS: Final = 60
"""A browser signs in again after so long."""

_TIMEOUT: Final = 40


class Callers:
    """All of them. They send requests until the block ends, and note what went wrong."""

    def __init__(self, stage: Stage) -> None:
        self.done: Counter[str] = Counter()
        """Answers by caller."""

        self.failed: Counter[str] = Counter()
        """Failures by caller and by what came instead."""

        self._stage = stage
        self._ended = threading.Event()
        self._fresh: deque[str] = deque(maxlen=2 * SENDS_A_SECOND)
        roles: list[tuple[str, Callable[[], None], int]] = [
            ("reporter", self._report, 1),
            ("waits", self._wait, WAITERS),
            ("streams", self._follow, STREAMS),
            ("gRPC-Web", self._call, 1),
            ("API key", self._use_key, 1),
            ("console", self._click, 1),
        ]
        self._threads = [
            threading.Thread(target=self._repeat, args=(name, work), daemon=True)
            for name, work, count in roles
            for _ in range(count)
        ]

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(_TIMEOUT)

    def _repeat(self, name: str, work: Callable[[], None]) -> None:
        """Begin again where it failed: that is counted, and reported at the end."""
        while not self._ended.is_set():
            try:
                work()
            except (OSError, HTTPException, AssertionError, ValueError) as error:
                self.failed[f"{name}: {type(error).__name__} {str(error)[:100]}"] += 1
                self._ended.wait(1)

    def _pauses(self, seconds: float, span: float) -> Any:
        """Once every so many seconds, for so long a span."""
        until = time.monotonic() + span
        while not self._ended.wait(seconds) and time.monotonic() < until:
            yield

    def _report(self) -> None:
        """New transfers each second, and what becomes of earlier ones, over one connection."""
        wire = self._connection(self._stage.gateway)
        headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {TOKEN}"}
        steps: deque[list[str]] = deque(maxlen=11)
        for _ in self._pauses(1, 600):
            ids = [f"0x{secrets.token_hex(32)}" for _ in range(SENDS_A_SECOND)]
            steps.append(ids)
            lines = [_sent(each, self._stage.account) for each in ids]
            for age, kind, more in _LATER:
                if len(steps) > age:
                    lines += [_event(kind, each, **more) for each in steps[-1 - age]]
            wire.request("POST", "/ingest/v1/events", b"\n".join(lines), headers)
            verdict = self._answer(wire, "reporter")
            assert verdict.get("accepted") == len(lines), str(verdict)[:300]
            self._fresh.extend(ids)
        wire.close()

    def _wait(self) -> None:
        """For a transfer that has just begun to change."""
        wire = self._connection(self._stage.waiting)
        for _ in self._pauses(0.05, 120):
            if not self._fresh:
                continue
            about = secrets.choice(list(self._fresh))
            path = f"/v2/waitTransferStatus?transfer_id={about}&after_status=1&timeout={WAIT_SECONDS}"
            wire.request("GET", path)
            self._answer(wire, "waits")
        wire.close()

    def _follow(self) -> None:
        """The stream of an account, for a while, and once more from where it broke."""
        wire = self._connection(self._stage.waiting)
        wire.request("GET", f"/v2/transferEvents?account={self._stage.account}")
        response = wire.getresponse()
        assert response.status == 200, response.status
        until = time.monotonic() + STREAM_SECONDS * (0.5 + secrets.randbelow(100) / 100)
        while time.monotonic() < until and not self._ended.is_set():
            line = response.readline()
            if not line:  # a stream that cannot go on ends, and its client comes again
                self.done["streams that were ended"] += 1
                self._ended.wait(2)
                break
            self.done["events of streams"] += line.startswith(b"data:")
        wire.close()

    def _call(self) -> None:
        """The interface of wallets."""
        wire = self._connection(self._stage.gateway)
        message = pb.GetTransferStatusRequest(transfer_id=self._stage.ids[0]).SerializeToString()
        body = b"\0" + len(message).to_bytes(4, "big") + message
        headers = {"Content-Type": "application/grpc-web+proto"}
        for _ in self._pauses(0.05, 300):
            wire.request("POST", "/sgn.gateway.v1.Web/GetTransferStatus", body, headers)
            response = wire.getresponse()
            answer = response.read()
            assert response.status == 200, response.status
            assert b"grpc-status:0" in answer, answer[-100:]
            self.done["gRPC-Web"] += 1
        wire.close()

    def _use_key(self) -> None:
        """An integrator: estimates, a batch of statuses, its webhooks made and removed."""
        wire = self._connection(self._stage.gateway)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._stage.api_key}"}
        receiver = f"http://127.0.0.1:{self._stage.receiver.server_port}/"
        for number, _ in enumerate(self._pauses(0.1, 300)):
            batch = orjson.dumps({"transfer_ids": self._stage.ids[:20]})
            wire.request("POST", "/v2/getTransferStatuses", batch, headers)
            self._answer(wire, "API key")
            if number % 50 == 0:
                wanted = orjson.dumps({"url": receiver, "transfer_ids": self._stage.ids[:1]})
                wire.request("POST", "/v2/webhooks", wanted, headers)
                (made,) = self._answer(wire, "API key")["webhooks"]
                wire.request("DELETE", f"/v2/webhooks?id={made['id']}", headers=headers)
                self._answer(wire, "API key")
        wire.close()

    def _click(self) -> None:
        """An operator signs in, looks at pages, and signs out."""
        browser = Browser(self._stage.gateway)
        assert browser.sign_in(EMAIL, PASSWORD) == 302
        pages = [
            "/admin/", "/admin/refresh", "/admin/transfers/", f"/admin/transfers/{self._stage.ids[0]}",
            "/admin/chains/", "/admin/pools/", "/admin/routes/", "/admin/audit/", "/admin/history/at",
            "/admin/anomalies/", "/admin/api_keys/", "/admin/webhooks/", "/admin/estimates/",
            "/admin/search/?q=0x", "/admin/chains/1", "/admin/transfers/export.csv",
        ]  # fmt: skip
        for number, _ in enumerate(self._pauses(1, SESSION_SECONDS)):
            status, _ = browser.request("GET", pages[number % len(pages)])
            assert status == 200, (pages[number % len(pages)], status)
            self.done["console"] += 1
        browser.sign_out()

    def _connection(self, served: Served) -> HTTPConnection:
        return HTTPConnection(served.host, served.port, timeout=_TIMEOUT)

    def _answer(self, wire: HTTPConnection, name: str) -> dict[str, Any]:
        response = wire.getresponse()
        body = response.read()
        assert response.status == 200, f"{response.status} {body[:200]!r}"
        self.done[name] += 1
        answer: dict[str, Any] = orjson.loads(body)
        return answer


def _event(type_: str, about: str, **fields: Any) -> bytes:
    at = datetime.now(UTC) - timedelta(seconds=1)
    return orjson.dumps(
        {"id": f"{type_}-{about}", "type": type_, "at": at.isoformat(), "transfer_id": about} | fields
    )


def _sent(about: str, account: str) -> bytes:
    party = {"sender": account, "receiver": account, "src_tx_hash": about, "block": 1_000_000}
    route = {"kind": "pool", "src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": "25000000"}
    return _event("transfer.sent", about, **party, **route)


_LATER: Final[list[tuple[int, str, dict[str, Any]]]] = [
    (4, "transfer.confirmed", {"block": 1_000_000}),
    (10, "transfer.released", {"dst_tx_hash": "0x" + "22" * 32, "block": 5_000_000}),
]
"""After so many seconds, what becomes of a transfer."""
