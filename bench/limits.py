"""What limits cost a request: ``python -m bench.limits``.

Applications with and without limits answer transfer configs in one process, in turns; what one needs more
than the one without any is what its limits cost. With a Redis where ``redis-server`` is installed.
``--quick`` is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from werkzeug.test import create_environ

from app import create_app
from app.runtime.gateway import current_gateway
from app.sandbox.loader import load_sandbox
from app.services.approvals.api_keys import request_key
from bench.database import gateway_on
from bench.dataset import OPERATOR
from bench.duels.in_process import Ask, Case, asking, costs
from bench.duels.ratios import Bound
from bench.duels.report import print_bars
from bench.programs import found
from config import Settings
from tests.limits.redis_server import running_redis

PATH: Final = "/v2/getTransferConfigs"
MOST: Final = "100000000/hour"
ONE, TWO = MOST, f"{MOST};100000000/minute"
IN_MEMORY: Final = Bound(at_most=30.0)
"""Microseconds of CPU."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed on a quiet machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--rounds", type=int, default=125)
    parser.add_argument("--requests", type=int, default=128, help="of each kind in a round")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.requests = 3, 20
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-limits-")))
        url = f"sqlite:///{folder / 'gateway.db'}"
        free, limited = _database(url)
        plain = _asking(url)
        cases = [
            Case("no key, by RATE_LIMIT", IN_MEMORY, _asking(url, RATE_LIMIT=ONE)),
            Case("no key, two limits", IN_MEMORY, _asking(url, RATE_LIMIT=TWO)),
            Case("no key, IPv6", IN_MEMORY, _asking(url, peer="2001:db8::1", RATE_LIMIT=ONE)),
            Case("a key without a limit", Bound(), _asking(url, free)),
            Case("a key with a limit", Bound(), _asking(url, limited)),
        ]
        if found("redis-server") is not None:
            redis = stack.enter_context(running_redis())
            shared = {"RATE_LIMIT_STORAGE_URL": redis.url}
            cases += [
                Case("no key, in Redis", Bound(), _asking(url, RATE_LIMIT=ONE, **shared)),
                Case("no key, two limits in Redis", Bound(), _asking(url, RATE_LIMIT=TWO, **shared)),
            ]
        taken = costs(cases, plain, options.rounds, options.requests)
    held = print_bars([cost.line() for cost in taken])
    rows = [cost.row() for cost in taken]
    print("\n| request | µs CPU more | µs more |\n|---|---:|---:|", *rows, sep="\n")
    return int(not held and not options.quick)


def _database(url: str) -> tuple[str, str]:
    """Fill a new database; keys without and with a limit."""
    with gateway_on(url):
        gateway = current_gateway()
        load_sandbox(gateway, actor=OPERATOR)
        free, _ = request_key(gateway, "free", ("read",), "", actor=OPERATOR)
        limited, _ = request_key(gateway, "limited", ("read",), ONE, actor=OPERATOR)
    return free, limited


def _asking(url: str, key: str = "", peer: str = "198.51.100.7", **settings: str) -> Ask:
    """A request to an application with these settings."""
    given = {"database_url": url, "secret_key": "bench" * 8, "audit_key": "bench" * 8}
    lower = {name.lower(): value for name, value in settings.items()}
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    environ = create_environ(PATH, headers=headers, environ_overrides={"REMOTE_ADDR": peer})
    return asking(create_app(Settings.model_validate(given | lower)), environ)


if __name__ == "__main__":
    sys.exit(main())
