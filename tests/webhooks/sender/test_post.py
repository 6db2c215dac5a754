"""One attempt: where it goes, what is read of the answer, and where it never goes."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from app.webhooks import post as module
from app.webhooks.post import Answer, Poster, Unsent
from app.webhooks.rules.addresses import parse_networks
from tests.webhooks.sender.receiver import HANG, Names, Receiver

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
LOOPBACK = parse_networks(["127.0.0.0/8"])


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work(), 20)

    asyncio.run(bounded())


async def send(url: str, names: Names, opened: bool = True) -> Answer:
    poster = Poster(names, LOOPBACK if opened else ())
    try:
        return await poster.post(url, b"{}", {"webhook-id": "msg_1"}, NOW)
    finally:
        await poster.close()


def test_request_uses_checked_address_and_name() -> None:
    async def work() -> None:
        async with Receiver() as receiver:
            names = Names(hooks_example=[["127.0.0.1"]])
            answer = await send(receiver.url("hooks.example"), names)
            assert (answer.status, answer.retry_after) == (204, None)
            (got,) = receiver.seen
            assert got.line == "POST /hooks?token=hidden HTTP/1.1"
            assert got.headers["host"] == f"hooks.example:{receiver.port}"
            assert got.headers["webhook-id"] == "msg_1"
            assert got.headers["content-type"] == "application/json"
            assert got.body == b"{}"
            assert names.requested == ["hooks.example"]

    run(work)


def test_name_changing_address_is_never_connected() -> None:
    """It was public when the subscription was made. Each attempt resolves it once."""

    async def work() -> None:
        async with Receiver() as receiver:
            names = Names(moves_example=[["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"]])
            for _ in range(4):
                with pytest.raises(Unsent, match="refused"):
                    await send(f"https://moves.example:{receiver.port}/", names, opened=False)
            assert receiver.seen == []
            assert names.requested == ["moves.example"] * 4

    run(work)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "localhost"]
)
def test_loopback_needs_an_opened_network(host: str) -> None:
    async def work() -> None:
        async with Receiver() as receiver:
            names = Names(localhost=[["127.0.0.1"]])
            for scheme in ("https", "http"):
                with pytest.raises(Unsent, match="refused"):
                    await send(f"{scheme}://{host}:{receiver.port}/", names, opened=False)
            assert receiver.seen == []

    run(work)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    async def work() -> None:
        other = Receiver()
        redirect = Receiver(lambda _r: (status, f"Location: {other.url()}\r\n"))
        async with other, redirect:
            assert (await send(redirect.url(), Names())).status == status
            assert (len(redirect.seen), other.seen) == (1, [])

    run(work)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("120", timedelta(minutes=2)),
        ("Mon, 01 Jun 2026 13:00:00 GMT", timedelta(hours=1)),
        ("Mon, 01 Jun 2020 13:00:00 GMT", timedelta(0)),
        ("-5", None),
        ("soon", None),
        ("9" * 500, timedelta(seconds=10**9)),
        (f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT", None),
        (f"Mon, 01 Jun 2026 13:00:00 +{'9' * 20}", None),
    ],
)
def test_retry_after_reads_seconds_or_date(header: str, expected: timedelta | None) -> None:
    async def work() -> None:
        async with Receiver(lambda _r: (503, f"Retry-After: {header}\r\n")) as receiver:
            assert (await send(receiver.url(), Names())).retry_after == expected

    run(work)


def test_hanging_receiver_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that never ends its head."""
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.3)

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        try:
            while True:
                writer.write(b"X-More: 1\r\n")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            writer.close()

    async def work() -> None:
        async with Receiver(lambda _r: (HANG, "")) as receiver:
            with pytest.raises(Unsent, match="no answer") as caught:
                await send(receiver.url(), Names())
            assert caught.value.hung
        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unsent):
            await send(f"http://127.0.0.1:{port}/", Names())
        server.close()

    run(work)


def test_bodies_are_not_waited_for() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 1000)
        try:
            await writer.drain()
            await reader.read()
        except ConnectionError:
            pass
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(endless, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        answer = await asyncio.wait_for(send(f"http://127.0.0.1:{port}/", Names()), 5)
        assert answer.status == 200
        server.close()

    run(work)


def test_cookie_is_never_sent_back() -> None:
    """Nor to another receiver at the address."""

    async def work() -> None:
        async with Receiver(lambda _r: (200, "Set-Cookie: left=behind; Path=/\r\n")) as receiver:
            poster = Poster(Names(one_example=[["127.0.0.1"]], two_example=[["127.0.0.1"]]), LOOPBACK)
            for host in ("one.example", "two.example", "one.example"):
                await poster.post(receiver.url(host), b"{}", {"webhook-id": "msg_1"}, NOW)
            await poster.close()
            assert [got.headers.get("cookie") for got in receiver.seen] == [None] * 3

    run(work)


def test_next_address_is_tried() -> None:
    async def work() -> None:
        async with Receiver() as receiver:
            names = Names(two_example=[["127.0.0.2", "127.0.0.1"]])
            assert (await send(receiver.url("two.example"), names)).status == 204

    run(work)


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"SSH-2.0-OpenSSH\r\n"])
def test_words_of_receiver_are_never_repeated(answer: bytes) -> None:
    async def odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(odd, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unsent) as caught:
            await send(f"http://127.0.0.1:{port}/?token=hidden", Names())
        assert "hidden" not in str(caught.value)
        assert "SSH" not in str(caught.value)
        server.close()

    run(work)


def test_unknown_name_and_closed_port() -> None:
    async def work() -> None:
        with pytest.raises(Unsent, match="no address"):
            await send("https://nowhere.example/", Names())
        with pytest.raises(Unsent, match="no connection"):
            await send("http://127.0.0.1:9/", Names())

    run(work)
