"""The upgrade from the release before this one as docs/operations.md has it, under load; and back.

``python -m tests.migrating.rehearsal --transfers 100000 --database sqlite`` prints what was found.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson
import psutil
from sqlalchemy import create_engine, text

from app.webhooks.rules.subscription import SECRET_PREFIX, headers
from tests.deploy.files import ROOT, free_port
from tests.deploy.nginx import OPERATORS, PUBLIC, install_busy, running
from tests.load.requests import Request, status_requests
from tests.load.served import GATEWAY, Served, serving
from tests.migrating.callers import COMPLETED, Connection, Load, Receiver, answers_to, places_that_differ
from tests.migrating.old_release import LOADED_PAIR, SEED, Seeded
from tests.migrating.older import LAST_RELEASE, checked_out
from tests.postgres import postgres_server
from tests.serving.guessing import Browser
from tests.soak.stage import EMAIL, PASSWORD, sending

SETTLE_SECONDS: Final = 5.0
SETTINGS: Final = {
    "SECRET_KEY": "rehearsal" * 4,
    "AUDIT_KEY": "rehearsal" * 4,
    "WEB_CONCURRENCY": "2",
    "LOG_LEVEL": "WARNING",
    "TRUSTED_PROXIES": "1",
    "MAX_REORG_BLOCKS": "10000",
    "WEBHOOK_ALLOW_NETWORKS": "127.0.0.0/8",
    "GUNICORN_CMD_ARGS": "--no-control-socket",
    "OPERATOR_PASSWORD": PASSWORD,
}
"""Reorganisations are deep."""

SCOPES: Final = tuple(word for scope in ("read", "webhooks", "webhooks:all") for word in ("--scope", scope))
"""Of the integrator's key."""

MOVING: Final = (
    "/v2/getTransfer?",
    "/v2/getTransferLatencyStats",
    "/v2/explainEstimate",
    "/v2/getRefundEvidence",
)
"""Answers with a value of ``MOVES``, which differs with time."""


class Release:
    """The code of a release, and what runs it."""

    def __init__(self, code: Path, python: str, settings: Mapping[str, str]) -> None:
        self.code, self.python, self.settings = code, python, dict(settings)

    def run(self, *words: str, allowed: tuple[int, ...] = (0,)) -> str:
        """What a command printed.

        :raises AssertionError: it ended otherwise.
        """
        arguments = words if words[0] == "-c" else ("-m", "flask", "--app", "wsgi", *words)
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        done = subprocess.run(
            ["nice", self.python, *arguments], cwd=self.code, env=environment | self.settings,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in allowed, f"{words}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout


class Place:
    """Two gateways behind the shipped proxy and a sender, each of either release."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._folder = folder
        self._ports = free_port(), free_port()
        self.gateways = {port: stack.enter_context(ExitStack()) for port in self._ports}
        self._sender = stack.enter_context(ExitStack())
        self._log = 0
        (folder / "nginx").mkdir()
        self.nginx = install_busy(folder / "nginx", self._ports)

    def replace(self, release: Release) -> None:
        """Replace one process after the other, as docs/operations.md#upgrade has it."""
        for port, gateway in self.gateways.items():
            gateway.close()
            self._log += 1
            log = self._folder / f"{self._log}-{release.code.name}.log"
            start = serving(
                GATEWAY, release.settings, log, code=release.code, port=port, ready="/readyz",
                python=release.python,
            )  # fmt: skip
            gateway.enter_context(start)
            time.sleep(SETTLE_SECONDS)
        self._sender.close()
        log = self._folder / f"{self._log}-sender.log"
        start_sender = sending(release.settings, log, code=release.code, python=release.python)
        self._sender.enter_context(start_sender)

    @property
    def one(self) -> Served:
        """A gateway, past the proxy."""
        return Served(self._ports[0], psutil.Process())


def differing(before: Mapping[Request, bytes], after: Mapping[Request, bytes]) -> list[str]:
    """The requests with other answers, and what differs."""
    found = []
    for request, old in before.items():
        new = after[request]
        changes = [f"status {old[:3]!r}, {new[:3]!r}"] if old[:3] != new[:3] else []
        if old != new:
            changes += places_that_differ(orjson.loads(old[4:]), orjson.loads(new[4:]))
        if changes:
            found.append(f"{request.path} {request.body} {changes}")
    return found


def requests_of(seeded: Seeded) -> list[Request]:
    """Everything that is compared."""
    pairs = [(src, dst) for src in (1, 2, 3) for dst in (1, 2, 3) if src != dst and (src, dst) != LOADED_PAIR]
    ways = [f"src_chain_id={src}&dst_chain_id={dst}" for src, dst in pairs]
    amounts = [10**n + 7 * n for n in range(3, 22, 2)]
    estimates = [
        f"{way}&token_symbol={symbol}&amt={amount}&slippage_tolerance=3000"
        for way in ways for symbol in ("USDT", "CELR") for amount in amounts
    ]  # fmt: skip
    some = seeded.ids[:: max(1, len(seeded.ids) // 500)]
    return [
        *status_requests(seeded.ids),
        *(Request(f"/v2/getRefundEvidence?transfer_id={each}") for each in seeded.refunds),
        *(Request(f"/v2/getTransfer?key={each}") for each in some),
        *(Request(f"/v2/{path}?{each}") for path in ("estimateAmt", "explainEstimate") for each in estimates),
        *(Request(f"/v2/getLatest7DayTransferLatencyForQuery?{way}") for way in ways),
        *(Request(f"/v2/getTransferLatencyStats?{way}") for way in ways),
        *(Request("/v2/getTransferConfigs"), Request("/v2/getTransferConfigsForAll")),
    ]


class Rehearsal:
    """The databases, processes and callers of one upgrade; ``report`` has what was found."""

    def __init__(self, stack: ExitStack, database: str, transfers: int) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-rehearsal-")))
        self.url = f"sqlite:///{folder / 'gateway.db'}"
        if database != "sqlite":
            self.url = stack.enter_context(postgres_server()).url
        settings = {**SETTINGS, "DATABASE_URL": self.url}
        self.old = Release(checked_out(folder / "old", LAST_RELEASE), sys.executable, settings)
        self.new = Release(ROOT, sys.executable, settings)
        self.receiver = Receiver()
        stack.enter_context(self.receiver.at_work())
        self.place = Place(stack, folder)
        self.report: dict[str, Any] = {"database": database}
        self.wrong: list[str] = []
        self._seed(folder, transfers)
        stack.enter_context(running(self.place.nginx))
        self.place.replace(self.old)
        self.public, operators = (self.place.nginx.ports[port] for port in (PUBLIC, OPERATORS))
        hook = {"url": f"http://127.0.0.1:{self.receiver.server_port}/", "everything": True}
        made = self._with_key("POST", orjson.dumps(hook))
        self._secret = str(orjson.loads(made[4:])["secret"])
        self._hooks = self._with_key("GET")
        self.before = self._answers("before")
        stays = {
            request: answer for request, answer in self.before.items() if not request.path.startswith(MOVING)
        }
        self.load = Load(self.public, operators, self._token, self.seeded.account, stays)

    def _with_key(self, method: str, body: bytes = b"") -> bytes:
        """The answer about webhooks to the integrator's key."""
        key = {"Authorization": f"Bearer {self._key}"}
        return Connection(self.public, key).request(method, "/v2/webhooks", body)

    def _seed(self, folder: Path, transfers: int) -> None:
        self.old.run("db", "upgrade")
        seeded = self.old.run("-c", SEED, str(transfers), str(folder))
        self.seeded = msgspec.json.decode(seeded.strip().splitlines()[-1], type=Seeded)
        self.old.run("network", "import", str(folder / "network"))
        self.old.run("operators", "create", EMAIL, "--role", "admin")
        self._key = self.old.run("api-keys", "create", "integrator", *SCOPES).strip()
        token = self.old.run("ingest-tokens", "create", "reporter")
        self._token = next(word for word in token.split() if word.startswith("gwi_"))
        verdict = orjson.loads(self.old.run("events", "ingest", str(folder / "events"), allowed=(0, 2)))
        first = next(line for line in (folder / "events").read_text().splitlines() if "released" in line)
        self.old.run("events", "retract", "--id", orjson.loads(first)["id"], "--reason", "rehearsed")
        self.found("transfers", len(self.seeded.ids))
        self.found("events", verdict["accepted"], verdict["refused"][:3])
        self._log = self._logged()

    def found(self, name: str, value: object, wrong: object = None) -> None:
        """Note a figure, and what is wrong with it."""
        self.report[name] = value
        print(f"{name}: {value}", flush=True)
        if wrong:
            self.wrong.append(f"{name}: {wrong}")
            print(f"WRONG: {name}: {str(wrong)[:3000]}", flush=True)

    def _answers(self, when: str) -> dict[Request, bytes]:
        began = time.monotonic()
        found = answers_to(self.public, requests_of(self.seeded))
        seconds = round(time.monotonic() - began, 1)
        self.found(f"answers {when}", f"{len(found)} in {seconds} s")
        return found

    def _logged(self) -> dict[str, int]:
        """The events of the log and their positions."""
        engine = create_engine(self.url)
        with engine.connect() as connection:
            rows = connection.execute(text("SELECT seq, event_id FROM events")).all()
        engine.dispose()
        assert sorted(row.seq for row in rows) == list(range(1, len(rows) + 1))
        return {row.event_id: row.seq for row in rows}

    def during(self, when: str, steps: Callable[[], None]) -> None:
        """Do something under load, and note what the callers saw."""
        load = self.load
        reads, load.longest_pause = load.reads, 0.0
        with load.at_work():
            time.sleep(SETTLE_SECONDS)
            steps()
            time.sleep(SETTLE_SECONDS)
        self.found(f"{when}: reads", load.reads - reads)
        for name in ("failed", "differing", "stale", "refused"):
            seen = getattr(load, name)
            self.found(f"{when}: {name}", len(seen), seen and str(seen))
            seen.clear()
        self.found(f"{when}: posts sent again", dict(load.repeated))
        self.found(f"{when}: seconds without writes", round(load.longest_pause, 2))
        load.repeated.clear()

    def upgrade(self, release: Release) -> None:
        """The steps of docs/operations.md#upgrade."""
        began = time.monotonic()
        release.run("db", "upgrade")
        self.found("seconds of db upgrade", round(time.monotonic() - began, 1))
        self.place.replace(release)
        began = time.monotonic()
        release.run("backfill")
        self.found("seconds of backfill", round(time.monotonic() - began, 1))

    def go_back(self) -> None:
        """The steps of docs/operations.md#roll-back."""
        self.new.run("backfill", "--reopen")
        self.place.replace(self.old)

    def compare(self, when: str, release: Release) -> None:
        """All answers with those of the release before; the log, and what a release reports of both logs."""
        answers = self._answers(when)
        different = differing(self.before, answers)
        self.found(f"{when}: differing answers", len(different), different[:20])
        log = self._logged()
        moved = [each for each, seq in self._log.items() if log.get(each) != seq]
        self.found(f"{when}: events moved or lost", len(moved), moved[:3])
        lost = self.load.acknowledged - log.keys()
        self.found(f"{when}: of {len(self.load.acknowledged)} acknowledged lost", len(lost), lost)
        release.run("audit", "verify")
        hooks = self._with_key("GET")
        self.found(f"{when}: webhooks of the key", len(hooks), hooks != self._hooks and hooks)
        open_ = answers_to(self.public, status_requests(self.load.completed))
        wrong = [each for each, answer in open_.items() if orjson.loads(answer[4:])["status"] != COMPLETED]
        self.found(f"{when}: payouts that count as open", len(wrong), wrong[:3])
        verified = release.run("events", "verify", allowed=(0, 1)).strip().splitlines()
        self.found(f"{when}: events verify", verified[-1], verified[:-1][:5])
        assert Browser(self.place.one).sign_in(EMAIL, PASSWORD) == 302

    def delivered(self) -> None:
        """Every payout has come to the receiver, signed with the secret of before."""
        end, missing = time.monotonic() + 60, set(self.load.completed)
        while missing and time.monotonic() < end:
            time.sleep(1)
            events = [self._verified(body, given) for body, given in list(self.receiver.deliveries)]
            came = [each["transfer_id"] for each in events if each.get("status") == COMPLETED]
            missing = set(self.load.completed) - set(came)
        self.found("payouts delivered", len(came))
        self.found("payouts not delivered", len(missing), sorted(missing)[:3])
        self.found("payouts delivered twice", len(came) - len(set(came)))

    def _verified(self, body: bytes, given: Mapping[str, str]) -> dict[str, Any]:
        secret = b64decode(self._secret.removeprefix(SECRET_PREFIX))
        signed = headers(given["webhook-id"], int(given["webhook-timestamp"]), body, [secret])
        assert given["webhook-signature"] == signed["webhook-signature"]
        return dict(orjson.loads(body)["data"])


def rehearse(database: str, transfers: int) -> Rehearsal:
    """Upgrade from the release before, go back to it, and upgrade again; what was found."""
    with ExitStack() as stack:
        rehearsal = Rehearsal(stack, database, transfers)
        rehearsal.during("upgraded", lambda: rehearsal.upgrade(rehearsal.new))
        rehearsal.compare("upgraded", rehearsal.new)
        rehearsal.during("back", rehearsal.go_back)
        rehearsal.compare("back", rehearsal.old)
        rehearsal.during("again", lambda: rehearsal.upgrade(rehearsal.new))
        rehearsal.compare("again", rehearsal.new)
        rehearsal.delivered()
        return rehearsal


def main() -> int:
    """Rehearse, and end with 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transfers", type=int, default=2_000)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that what was started is ended, too
    rehearsal = rehearse(options.database, options.transfers)
    print("\n".join(["", "Wrong:", *rehearsal.wrong] if rehearsal.wrong else ["", "All as before."]))
    return int(bool(rehearsal.wrong))


if __name__ == "__main__":
    sys.exit(main())
