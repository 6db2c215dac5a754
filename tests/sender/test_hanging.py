"""How soon a first attempt arrives, and that receivers that hang do not hold up the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from app.runtime.gateway import Gateway, system_clock
from app.sender.loop import Sender
from app.sender.post import Poster
from tests.sender.receiver import HANG, Names, Received, Receiver
from tests.services.feed.world import feed, sent
from tests.services.webhooks.hooks import to_everything

RECEIVERS, EVENTS, PAUSE = 20, 30, 0.4


async def waits(gateway: Gateway, receivers: list[Receiver], first: int) -> list[float]:
    """How long after its commit each event came to each receiver that answers, in seconds, ascending."""
    committed: list[float] = []
    loop = asyncio.get_running_loop()
    poster = Poster(Names(), gateway.webhook_networks)
    sender = Sender(gateway, poster)
    running = asyncio.create_task(sender.run())
    for receiver in receivers:
        receiver.seen.clear()
    for n in range(first, first + EVENTS):
        await asyncio.to_thread(feed, gateway, sent(n))
        committed.append(loop.time())
        await asyncio.sleep(PAUSE)
    await asyncio.sleep(2)
    sender.stop()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await poster.close()
    good = [receiver for receiver in receivers if receiver.answer(NOBODY)[0] != HANG]
    assert all(len(receiver.seen) == EVENTS for receiver in good)
    return sorted(got.at - at for receiver in good for got, at in zip(receiver.seen, committed, strict=True))


NOBODY = Received("", {}, b"", 0)


def p99(values: list[float]) -> float:
    return values[len(values) * 99 // 100]


@pytest.mark.alone
@pytest.mark.full("sends for ten seconds, to measure")
def test_half_of_the_receivers_hang(gateway: Gateway) -> None:
    now = replace(gateway, clock=system_clock)

    async def work() -> tuple[float, float]:
        receivers = [await Receiver().__aenter__() for _ in range(RECEIVERS)]
        for receiver in receivers:
            to_everything(now, receiver.url())
        before = await waits(now, receivers, 1)
        for receiver in receivers[::2]:
            receiver.answer = lambda _received: (HANG, "")
        during = await waits(now, receivers, 1 + EVENTS)
        for receiver in receivers:
            await receiver.__aexit__()
        return p99(before), p99(during)

    before, during = asyncio.run(work())
    print(f"p99 of first attempts: {before * 1000:.0f} ms, with half hanging {during * 1000:.0f} ms")
    assert before <= 1.0
    assert during <= max(2 * before, 0.1)
