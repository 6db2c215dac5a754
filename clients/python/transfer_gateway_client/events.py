"""The stream of events: each change of a status once, in order, over breaks of the connection."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx

from transfer_gateway_client.answers import GatewayError, checked

SILENCE_SECONDS = 45
"""A gateway sends something every 15 s: a connection that is silent for longer is dead."""

FIRST_PAUSE, LONGEST_PAUSE, GROWTH = 2.0, 60.0, 1.5
"""Seconds until the next connection, each longer than the last; the first is what the gateway says."""


@dataclass(frozen=True)
class StatusEvent:
    """A change of a transfer's status.

    ``taken_back``: what the previous status rested on is no longer true, as after a reorganisation. So act on
    the end of a transfer only when ``Gateway.status`` says that it is terminal. ``timestamp`` is when the
    gateway learned of it (RFC 3339), ``seq`` a position in its log.
    """

    id: str
    transfer_id: str
    status: int
    previous_status: int
    refund_reason: int
    taken_back: bool
    seq: int
    timestamp: str


@dataclass(frozen=True)
class Reset:
    """Too much has happened since the last event: read the statuses again. What follows is not left out."""

    id: str


Change: TypeAlias = StatusEvent | Reset


class _Reader:
    """What the lines of one connection say; ``pause`` is when to connect again, where the gateway says it."""

    def __init__(self, last_id: str) -> None:
        self.pause: float | None = None
        self._id, self._name, self._data = last_id, "", ""
        self._rest = b""

    def changes(self, piece: bytes) -> Iterator[tuple[str, Change | None]]:
        """Each event with its id that a piece of the stream ends. A comment is none, and moves the id as
        well.
        """
        for line in self._lines(piece):
            if line:
                self._note(line)
                continue
            change: Change | None = None
            if self._name == "reset":
                change = Reset(self._id)
            elif self._name == "transfer.status":
                change = _status_event(self._id, json.loads(self._data))
            yield self._id, change
            self._name = self._data = ""

    def _lines(self, piece: bytes) -> Iterator[str]:
        """Other characters that end lines elsewhere may be within one."""
        *whole, self._rest = (self._rest + piece).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")

    def _note(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data += value
        elif name == "id":
            self._id = value
        elif name == "retry" and value.isdecimal():
            self.pause = int(value) / 1000


class _Stream:
    """How a stream connects, and when again. Its two faces do it."""

    def __init__(
        self, url: str, about: Mapping[str, str], headers: Mapping[str, str], last_id: str | None
    ) -> None:
        self._url, self._about, self._headers = url, about, headers
        self.last_id = last_id
        self._pause = FIRST_PAUSE

    def _request(self) -> dict[str, Any]:
        """The arguments of ``stream`` of httpx."""
        headers = {**self._headers, "Accept": "text/event-stream"}
        if self.last_id is not None:
            headers["Last-Event-ID"] = self.last_id
        return {
            "method": "GET",
            "url": self._url,
            "params": dict(self._about),
            "headers": headers,
            "timeout": httpx.Timeout(20, read=SILENCE_SECONDS),
        }

    def _handled(self, position: str, reader: _Reader) -> None:
        self.last_id = position
        self._pause = reader.pause or FIRST_PAUSE

    def _seconds(self, error: httpx.TransportError | GatewayError | None) -> float:
        """The time until the next connection; without an error the server was stopped.

        :raises GatewayError: what connecting again does not change.
        """
        seconds = self._pause
        if isinstance(error, GatewayError):
            if not error.is_temporary:
                raise error
            seconds = error.retry_after or self._pause
        self._pause = min(self._pause * GROWTH, LONGEST_PAUSE)
        # Not all clients of a server that was stopped at the same moment.
        return seconds * random.uniform(1, 1.5)  # noqa: S311  no secret


class EventStream(_Stream):
    """An iterator over the changes of a transfer or an account; it connects again until it is left.

    ``last_id`` is up to where all was handled: also through times in which nothing happened. Store it to go
    on after a restart.
    """

    def __init__(
        self,
        http: httpx.Client,
        url: str,
        about: Mapping[str, str],
        headers: Mapping[str, str],
        last_id: str | None,
    ) -> None:
        super().__init__(url, about, headers, last_id)
        self._http = http

    def __iter__(self) -> Iterator[Change]:
        """Every change, the next ones as they happen.

        :raises GatewayError: what connecting again does not change, such as ``path_not_found``.
        """
        while True:
            error: httpx.TransportError | GatewayError | None = None
            try:
                yield from self._connected()
            except (httpx.TransportError, GatewayError) as failed:
                error = failed
            time.sleep(self._seconds(error))

    def _connected(self) -> Iterator[Change]:
        with self._http.stream(**self._request()) as response:
            if not _is_stream(response):
                response.read()
                raise _refused(response)
            reader = _Reader(self.last_id or "")
            for piece in response.iter_bytes():
                for position, change in reader.changes(piece):
                    if change is not None:
                        yield change
                    self._handled(position, reader)  # who leaves before has not


class AsyncEventStream(_Stream):
    """The same with ``async for``. Its connection is closed when the loop is left or the task cancelled."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        url: str,
        about: Mapping[str, str],
        headers: Mapping[str, str],
        last_id: str | None,
    ) -> None:
        super().__init__(url, about, headers, last_id)
        self._http = http

    async def __aiter__(self) -> AsyncIterator[Change]:
        """Every change, the next ones as they happen.

        :raises GatewayError: what connecting again does not change, such as ``path_not_found``.
        """
        while True:
            error: httpx.TransportError | GatewayError | None = None
            try:
                async with aclosing(self._connected()) as changes:
                    async for change in changes:
                        yield change
            except (httpx.TransportError, GatewayError) as failed:
                error = failed
            await asyncio.sleep(self._seconds(error))

    async def _connected(self) -> AsyncGenerator[Change, None]:
        async with self._http.stream(**self._request()) as response:
            if not _is_stream(response):
                await response.aread()
                raise _refused(response)
            reader = _Reader(self.last_id or "")
            async for piece in response.aiter_bytes():
                for position, change in reader.changes(piece):
                    if change is not None:
                        yield change
                    self._handled(position, reader)  # who leaves before has not


def _is_stream(response: httpx.Response) -> bool:
    kind: str = response.headers.get("Content-Type", "")
    return kind.startswith("text/event-stream")


def _refused(response: httpx.Response) -> GatewayError:
    try:
        checked(response)
    except GatewayError as error:
        return error
    return GatewayError(500, "no stream of a gateway", "", response.status_code, None)


def _status_event(position: str, event: Mapping[str, Any]) -> StatusEvent:
    data = event["data"]
    return StatusEvent(
        position,
        data["transfer_id"],
        data["status"],
        data["previous_status"],
        data["refund_reason"],
        bool(data.get("taken_back")),
        data["seq"],
        event["timestamp"],
    )
