"""How soon webhooks arrive, also while half of the receivers hang: ``python -m bench.webhooks``.

Rounds with all answering and rounds with half hanging take turns, on SQLite and on PostgreSQL. ``--quick``
is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.domain.webhooks.addresses import parse_networks
from app.runtime.gateway import Gateway, current_gateway
from app.sender.loop import Sender
from app.sender.post import Poster
from bench.database import gateway_on, postgres_server
from bench.duels.noise import cores, read_clocks, share_of_others
from bench.duels.ratios import Bound, Estimate, estimate
from bench.duels.report import Line, judged, print_bars
from tests.sender.receiver import HANG, Names, Received, Receiver
from tests.services.feed.world import feed, sent, transfer_id, write_network
from tests.services.webhooks.hooks import to_everything

RECEIVERS: Final = 20
PAUSE_SECONDS: Final = 0.4
"""Between two events."""

SOON: Final = Bound(at_most=1.0)
"""Seconds from the commit of an event until 99 of 100 first attempts have arrived."""

BESIDE: Final = Bound(at_most=2.0)
"""Of the same while half of the receivers hang, in comparison."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed on a quiet machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--rounds", type=int, default=6, help="of each kind")
    parser.add_argument("--events", type=int, default=15, help="in a round")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.events = 1, 2
    lines: list[Line] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-webhooks-")))
        postgres = stack.enter_context(postgres_server())
        for name, url in (("SQLite", f"sqlite:///{folder / 'gateway.db'}"), ("PostgreSQL", postgres.url)):
            with gateway_on(url):
                gateway = replace(current_gateway(), webhook_networks=parse_networks(["127.0.0.0/8"]))
                write_network(gateway.engine)
                before = read_clocks([])
                rounds = asyncio.run(_rounds(gateway, options.rounds, options.events))
                others = share_of_others(before, read_clocks([]), cores())
            lines += _lines(name, rounds, others)
    held = print_bars(lines)
    return int(not held and not options.quick)


def _lines(name: str, rounds: Sequence[tuple[float, float]], others: float) -> list[Line]:
    """Of the 99th percentiles of neighbouring rounds, with all answering and with half hanging."""
    answering = estimate([whole for whole, _ in rounds])
    ratio = estimate([half / whole for whole, half in rounds])
    found = (
        (f"webhooks, {name}: first attempts, p99 in seconds", SOON, answering),
        (f"webhooks, {name}: the same while half hang / answer", BESIDE, ratio),
    )
    return [
        Line(what, bound, _text(each), "", others, judged(bound, each.interval, others))
        for what, bound, each in found
    ]


def _text(found: Estimate) -> str:
    return f"{found.median:.2f} ({found.interval.low:.2f} to {found.interval.high:.2f})"


async def _rounds(gateway: Gateway, rounds: int, events: int) -> list[tuple[float, float]]:
    found = []
    async with AsyncExitStack() as stack:
        receivers = [await stack.enter_async_context(Receiver()) for _ in range(RECEIVERS)]
        for receiver in receivers:
            to_everything(gateway, receiver.url())
        first = 1
        for _ in range(rounds):
            took = []
            for hanging in ([], receivers[::2]):
                for receiver in hanging:
                    receiver.answer = _hang
                took.append(_p99(await _waits(gateway, receivers, range(first, first + events))))
                first += events
                for receiver in hanging:
                    receiver.answer = Receiver().answer
            found.append((took[0], took[1]))
    return found


async def _waits(gateway: Gateway, receivers: Sequence[Receiver], transfers: range) -> list[float]:
    """How long after its commit each event came to each receiver that answers, in seconds.

    :raises TimeoutError: not all came.
    """
    loop = asyncio.get_running_loop()
    poster = Poster(Names(), gateway.webhook_networks)
    sender = Sender(gateway, poster)
    running = asyncio.create_task(sender.run())
    good = [receiver for receiver in receivers if receiver.answer is not _hang]
    for receiver in receivers:
        receiver.seen.clear()
    committed: dict[str, float] = {}
    for number in transfers:
        await asyncio.to_thread(feed, gateway, sent(number))
        committed[transfer_id(number)] = loop.time()
        await asyncio.sleep(PAUSE_SECONDS)
    async with asyncio.timeout(60):
        while not all(_first_heard(receiver).keys() >= committed.keys() for receiver in good):
            await asyncio.sleep(PAUSE_SECONDS)
    sender.stop()
    await running
    await poster.close()
    return [_first_heard(receiver)[transfer] - at for receiver in good for transfer, at in committed.items()]


def _first_heard(receiver: Receiver) -> dict[str, float]:
    """When a receiver first heard of each transfer: it may hear again of what it did not answer."""
    heard: dict[str, float] = {}
    for received in receiver.seen:
        heard.setdefault(json.loads(received.body)["data"]["transfer_id"], received.at)
    return heard


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]


def _hang(_received: Received) -> tuple[int, str]:
    return HANG, ""


if __name__ == "__main__":
    sys.exit(main())
