"""The stream of events: each change of a status once, in order, over breaks of the connection."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Iterator, Mapping
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

    def changes(self, lines: Iterable[str]) -> Iterator[tuple[str, Change | None]]:
        """Each event with its id. A comment is none, and moves the id as well."""
        for line in lines:
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


class EventStream:
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
        self._http, self._url, self._about, self._headers = http, url, about, headers
        self.last_id = last_id
        self._pause = FIRST_PAUSE

    def __iter__(self) -> Iterator[Change]:
        """Every change, the next ones as they happen.

        :raises GatewayError: what connecting again does not change, such as ``path_not_found``.
        """
        while True:
            try:
                yield from self._connected()
                seconds = self._pause  # the server was stopped
            except httpx.TransportError:
                seconds = self._pause
            except GatewayError as error:
                if not error.is_temporary:
                    raise
                seconds = error.retry_after or self._pause
            self._pause = min(self._pause * GROWTH, LONGEST_PAUSE)
            # Not all clients of a server that was stopped at the same moment.
            time.sleep(seconds * random.uniform(1, 1.5))  # noqa: S311  no secret

    def _connected(self) -> Iterator[Change]:
        headers = {**self._headers, "Accept": "text/event-stream"}
        if self.last_id is not None:
            headers["Last-Event-ID"] = self.last_id
        timeout = httpx.Timeout(20, read=SILENCE_SECONDS)
        with self._http.stream(
            "GET", self._url, params=dict(self._about), headers=headers, timeout=timeout
        ) as response:
            if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                response.read()
                checked(response)
                raise GatewayError(500, "no stream of a gateway", "", response.status_code, None)
            reader = _Reader(self.last_id or "")
            for position, change in reader.changes(_lines(response)):
                if change is not None:
                    yield change
                self.last_id = position  # who leaves before has not handled it
                self._pause = reader.pause or FIRST_PAUSE


def _lines(response: httpx.Response) -> Iterator[str]:
    """The lines of a stream. Other characters that end lines elsewhere may be within one."""
    rest = b""
    for piece in response.iter_bytes():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")


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
