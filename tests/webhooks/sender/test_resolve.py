"""Names to addresses: servers of names that hang."""

from __future__ import annotations

import asyncio
import threading

import pytest

from app.webhooks import post as module
from app.webhooks.post import THREADS, NotResolved, Resolver


def test_resolver_is_not_blocked_by_hanging_names(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def resolve(host: str, _port: int) -> list[str]:
        if host.startswith("hangs"):
            ended.wait(10)  # longer than the caller waits
        return ["192.0.2.1"]

    monkeypatch.setattr(module, "_resolve", resolve)
    monkeypatch.setattr(module, "RESOLVE_SECONDS", 0.3)

    async def work() -> None:
        resolver = Resolver()
        assert await resolver("good.example", 443) == ["192.0.2.1"]
        hanging = [resolver(f"hangs{n}.example", 443) for n in range(2 * THREADS)]
        results = await asyncio.gather(*hanging, return_exceptions=True)
        assert {type(each) for each in results} == {NotResolved}
        assert await asyncio.gather(*(resolver("good.example", 443) for _ in range(3))) == [["192.0.2.1"]] * 3
        resolver.close()

    try:
        asyncio.run(work())
    finally:
        ended.set()


def test_name_hanging_once_resolves_among_new(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved_by: list[str] = []
    fails = False

    def resolve(_host: str, _port: int) -> list[str]:
        resolved_by.append(threading.current_thread().name.rpartition("_")[0])
        if fails:
            raise OSError
        return ["192.0.2.1"]

    monkeypatch.setattr(module, "_resolve", resolve)

    async def work() -> None:
        nonlocal fails
        resolver = Resolver()
        for fails in (False, True, False, False):
            try:
                await resolver("some.example", 443)
            except NotResolved:
                assert fails
        resolver.close()

    asyncio.run(work())
    assert resolved_by == ["resolve-new", "resolve", "resolve-new", "resolve"]
