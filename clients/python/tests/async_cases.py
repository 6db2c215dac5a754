"""The same cases with ``AsyncGateway``, and what happens to a call that is cancelled."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from cases import DOES, Case, Do, main, state_of
from transfer_gateway_client import (
    AsyncGateway,
    EstimateQuestion,
    Gateway,
    GatewayError,
    Reset,
    State,
    find_way,
    wait_until,
    wait_until_done,
    ways,
)

SECONDS = 60
"""Until what must happen soon counts as not happened."""


async def wait(case: Case) -> list[Any]:
    async with AsyncGateway(case["base"]) as gateway:
        options = {name: case[name] for name in ("timeout", "unknown_for") if name in case}

        def failing(_: State) -> bool:
            raise TypeError(case["fails"])

        if "fails" in case:
            await wait_until(gateway, case["transfer"], failing, **options)
        if case.get("terminal"):
            return state_of(
                await wait_until(gateway, case["transfer"], lambda state: state.terminal, **options)
            )
        return state_of(await wait_until_done(gateway, case["transfer"], **options))


async def follow(case: Case) -> list[int]:
    seen: list[int] = []

    def over(state: State) -> bool:
        seen.append(state.status)
        return state.terminal

    async with AsyncGateway(case["base"]) as gateway:
        await wait_until(gateway, case["transfer"], over, timeout=case["timeout"])
    return list(dict.fromkeys(seen))


async def events(case: Case) -> list[list[Any]]:
    about = {name: case[name] for name in ("transfer_id", "account", "last_id") if name in case}
    heard: list[list[Any]] = []
    async with AsyncGateway(case["base"]) as gateway:
        async for change in gateway.events(**about):
            if isinstance(change, Reset):
                heard.append(["reset", change.id])
            else:
                what = [change.previous_status, change.status, change.refund_reason, change.taken_back]
                heard.append([change.transfer_id, *what, *([change.id] if case.get("ids") else [])])
            if len(heard) == case["many"]:
                break
    return heard


async def keyed(case: Case) -> list[Any]:
    async with AsyncGateway(case["base"], api_key=case["key"]) as gateway:
        made = await gateway.create_webhook({"url": case["url"], "transfer_ids": [case["transfer"]]})
        listed = (await gateway.webhooks())["webhooks"]
        left = (await gateway.remove_webhook(listed[-1]["id"]))["webhooks"]
        return [made["secret"][:6], [each["url"] for each in listed], left]


async def session(case: Case) -> dict[str, Any]:
    async with AsyncGateway(case["base"] + "/", api_key=case.get("api_key")) as gateway:
        configs = await gateway.configs()
        way = find_way(configs, "USDT", 1, 56)
        asked: EstimateQuestion = {
            "src_chain_id": 1, "dst_chain_id": 56, "token_symbol": "USDT", "amount": 1_000_000,
            "slippage_tolerance": 3000, "usr_addr": "0x00", "is_pegged": way.is_pegged,
        }  # fmt: skip
        estimate, explained = await asyncio.gather(
            gateway.estimate(**asked), gateway.explain_estimate(**asked)
        )
        try:
            await gateway.find("no key")
        except GatewayError as error:
            refused = [error.code, error.reason, error.http_status, error.is_temporary]
        found, state = await asyncio.gather(
            gateway.find(case["transfer"], "es"), gateway.status(case["transfer"])
        )
        words = found["transfers"][0]["words"]
        offered = [way async for way in gateway.ways()]
        latency = await gateway.latency(1, 56)
        return {
            "same": await gateway.configs() is configs,
            "received": estimate["estimated_receive_amt"],
            "state": [*state_of(state)[:4], state.as_of is not None],
            "evidence": (await gateway.evidence(case["transfer"]))["valid"],
            "found": [found["state"], found["transfers"][0]["certainty"]["level"]],
            "words": words and words["headline"],
            "asked": (await gateway.ask_for_refund(case["transfer"]))["err"],
            "refused": refused,
            "ways": offered == list(ways(configs)) and len(offered) > 9,
            "explained": explained["refusal"],
            "latency": [latency, (await gateway.latency_stats(1, 56, "USDT"))["median"]],
            "history": [each["status"] async for each in gateway.history([case["account"]], page_size=1)],
            "statuses": [each["status"] for each in (await gateway.statuses([case["transfer"]]))["statuses"]],
        }


@dataclass
class Silent:
    """A server that takes requests and never ends an answer."""

    base: str = ""
    connections: int = 0
    requested: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def serving(self, begun: str) -> AsyncIterator[Silent]:
        """:param begun: the beginning of each answer."""

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            with suppress(asyncio.CancelledError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(begun.encode())
                self.requested.set()
                await reader.read()  # until the client has left
            writer.close()
            self.connections -= 1
            self.left.set()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server:
            self.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield self


Call = Callable[[AsyncGateway], Coroutine[Any, Any, object]]
ID = "0x" + "ab" * 32


async def first_event(gateway: AsyncGateway) -> object:
    async for change in gateway.events(transfer_id=ID):
        return change
    return None


async def first_transfer(gateway: AsyncGateway) -> object:
    async for transfer in gateway.history("0x00"):
        return transfer
    return None


CALLS: dict[str, Call] = {
    "status": lambda gateway: gateway.status(ID),
    "configs": lambda gateway: gateway.configs(),
    "wait": lambda gateway: wait_until_done(gateway, ID),
    "history": first_transfer,
    "events": first_event,
}
STREAM = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 10\nid: 5\n\n"


async def cancelled(case: Case) -> list[Any]:
    """How many connections a cancelled call leaves, and that the gateway can still be used."""
    begun = STREAM if case["call"] == "events" else ""
    async with Silent().serving(begun) as server, AsyncGateway(server.base) as gateway:
        call = asyncio.create_task(CALLS[case["call"]](gateway))
        await soon(server.requested.wait())
        before = server.connections
        call.cancel()
        await asyncio.wait([call])
        await soon(server.left.wait())
        after = server.connections
        server.requested.clear()
        again = asyncio.create_task(gateway.latency(1, 56))
        await soon(server.requested.wait())
        again.cancel()
        return [before, call.cancelled(), after]


async def silent(_: Case) -> list[Any]:
    """How calls end that nobody answers, and whether both faces wait for as long."""

    def called(base: str) -> object:
        with Gateway(base) as gateway:
            return gateway.status(ID)

    async def awaited(base: str) -> object:
        async with AsyncGateway(base) as gateway:
            return await gateway.status(ID)

    async def ended(call: Awaitable[object]) -> list[Any]:
        began = time.monotonic()
        try:
            await call
        except httpx.TimeoutException as error:
            return [type(error).__name__, 20 <= time.monotonic() - began < 20 + SECONDS]
        return []

    async with Silent().serving("") as server:
        calls = asyncio.to_thread(called, server.base), awaited(server.base)
        return [*await asyncio.gather(*map(ended, calls))]


async def left_stream(case: Case) -> int:
    """How many connections are left when the loop over a stream has ended, though the gateway goes on."""
    event = f'id: 6\nevent: transfer.status\ndata: {{"timestamp":"2026","data":{case["data"]}}}\n\n'
    async with Silent().serving(STREAM + event) as server, AsyncGateway(server.base) as gateway:
        async for _ in gateway.events(transfer_id=ID):
            break
        await soon(server.left.wait())
        return server.connections


async def crowd(case: Case) -> int:
    """How many calls of one client are at a gateway that answers none."""
    async with Silent().serving("") as server, AsyncGateway(server.base) as gateway:
        calls = [asyncio.create_task(gateway.status(ID)) for _ in range(case["many"])]
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                while server.connections < len(calls):
                    await asyncio.sleep(0.05)
        reached = server.connections
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        return reached


def faces(_: Case) -> list[str]:
    """The methods of the two that have not the same parameters."""
    renamed = {"close": "aclose"}
    awaited = dict(inspect.getmembers(AsyncGateway, inspect.isfunction))
    methods = inspect.getmembers(Gateway, inspect.isfunction)
    called = {renamed.get(name, name): each for name, each in methods}
    public = {name for name in called | awaited if not name.startswith("_")}

    def parameters(face: dict[str, Any], name: str) -> object:
        return name in face and [*inspect.signature(face[name]).parameters.values()]

    return sorted(name for name in public if parameters(called, name) != parameters(awaited, name))


async def soon(happens: Awaitable[object]) -> None:
    await asyncio.wait_for(happens, SECONDS)


def run(does: Callable[[Case], Coroutine[Any, Any, Any]]) -> Do:
    return lambda case: asyncio.run(does(case))


AWAITED = {each.__name__: run(each) for each in (wait, follow, events, keyed, session)}
OWN = {each.__name__: run(each) for each in (cancelled, silent, left_stream, crowd)}

if __name__ == "__main__":
    main({**DOES, **AWAITED, **OWN, "faces": faces})
