"""Waiting for a transfer: by the gateway's wait where it has one, else by requests when the gateway says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, overload

import httpx

from transfer_gateway_client.answers import GatewayError
from transfer_gateway_client.faces import Either, Steps, finish
from transfer_gateway_client.gateway import AsyncGateway, Gateway, State

LONGEST_WAIT = 30
ANSWERED_WITHIN = 20
"""Seconds in which a gateway answers a request."""

FIRST_PAUSE, LONGEST_PAUSE, GROWTH = 2.0, 60.0, 1.5
"""Seconds between two requests where the gateway does not say: each pause is longer than the last."""

BUSY = (429, 503)
"""What a gateway answers where too many wait: of all, or of the caller's network."""

NO_WAIT = (404, 405, *BUSY)
"""What it answers there, or where it has no wait, or a proxy in its place: the status is requested then."""


class WaitTimeout(TimeoutError):
    """It is not over by the time that was given."""


@overload
def wait_until_done(
    gateway: Gateway, transfer_id: str, *, timeout: float = 3600, unknown_for: float = 600
) -> State: ...
@overload
def wait_until_done(
    gateway: AsyncGateway, transfer_id: str, *, timeout: float = 3600, unknown_for: float = 600
) -> Coroutine[Any, Any, State]: ...
def wait_until_done(
    gateway: Gateway | AsyncGateway, transfer_id: str, *, timeout: float = 3600, unknown_for: float = 600
) -> Either[State]:
    """Wait until the transfer's end is final, or until the user has to request a refund (6) or claim it (8).

    :param timeout: seconds to wait at most.
    :param unknown_for: seconds in which the gateway may still not know the transfer, for it was just sent.
    :raises WaitTimeout: it is not over by then.
    :raises GatewayError: an answer that waiting does not change.
    """
    return wait_until(
        gateway,
        transfer_id,
        lambda state: state.terminal or state.next_actor == "user",
        timeout=timeout,
        unknown_for=unknown_for,
    )


@overload
def wait_until(
    gateway: Gateway,
    transfer_id: str,
    arrived: Callable[[State], bool],
    *,
    timeout: float = 3600,
    unknown_for: float = 600,
) -> State: ...
@overload
def wait_until(
    gateway: AsyncGateway,
    transfer_id: str,
    arrived: Callable[[State], bool],
    *,
    timeout: float = 3600,
    unknown_for: float = 600,
) -> Coroutine[Any, Any, State]: ...
def wait_until(
    gateway: Gateway | AsyncGateway,
    transfer_id: str,
    arrived: Callable[[State], bool],
    *,
    timeout: float = 3600,
    unknown_for: float = 600,
) -> Either[State]:
    """Wait until ``arrived`` says so of a state. The rest is as in ``wait_until_done``."""
    awaited = isinstance(gateway, AsyncGateway)
    sleep = asyncio.sleep if awaited else time.sleep
    return finish(_steps(gateway, transfer_id, arrived, timeout, unknown_for, sleep), awaited=awaited)


def _steps(
    gateway: Gateway | AsyncGateway,
    transfer_id: str,
    arrived: Callable[[State], bool],
    timeout: float,
    unknown_for: float,
    sleep: Callable[[float], object],
) -> Steps[State]:
    wait = _Wait(gateway, transfer_id, timeout, unknown_for)
    while wait.left > 0:
        try:
            state: State = yield wait.request()
        except (GatewayError, httpx.TransportError) as error:
            seconds = wait.after_error(error)
        else:
            if arrived(state):
                return state
            seconds = wait.after(state)
        yield sleep(max(0.0, min(seconds, wait.left)))
    status = wait.seen.status if wait.seen else "unknown"
    raise WaitTimeout(f"{transfer_id} is at status {status} after {timeout} s")


class _Wait:
    """How to send the next request, and when, in seconds: 0 is at once."""

    def __init__(
        self, gateway: Gateway | AsyncGateway, transfer_id: str, timeout: float, unknown_for: float
    ) -> None:
        self._gateway, self._transfer_id = gateway, transfer_id
        self._began, self._timeout, self._unknown_for = time.monotonic(), timeout, unknown_for
        self._requested, self._pause = self._began, FIRST_PAUSE
        self._waits, self._busy, self._waiting = True, False, False
        self.seen: State | None = None

    @property
    def left(self) -> float:
        return self._began + self._timeout - time.monotonic()

    def request(self) -> Either[State]:
        """By the gateway's wait where it has one; the first time, and while too many wait, by the status."""
        self._requested, seen = time.monotonic(), self.seen
        self._waiting = seen is not None and self._waits and not self._busy
        if seen is not None and self._waiting:
            seconds = max(1, min(LONGEST_WAIT, int(self.left)))
            late = self._within(seconds)
            return self._gateway.wait_status(self._transfer_id, seen.status, seconds, timeout=late)
        return self._gateway.status(self._transfer_id, timeout=self._within(0))

    def _within(self, seconds: float) -> float:
        """When the answer to a request that waits for so many seconds is late, or the time is over."""
        return max(1.0, min(seconds + ANSWERED_WITHIN, self.left + 1))

    def after(self, state: State) -> float:
        """The time until the next request where the transfer is not there yet."""
        moved, self.seen = self.seen is None or state.status != self.seen.status, state
        if moved:
            self._pause = FIRST_PAUSE
        # A wait that is answered at once with the same has not waited.
        waited = moved or not self._waiting or time.monotonic() - self._requested >= 1
        self._busy = False
        return 0.0 if self._waits and waited else self._later(_said(state))

    def after_error(self, error: GatewayError | httpx.TransportError) -> float:
        """The time until the next request. Raises a GatewayError that waiting does not change."""
        if isinstance(error, httpx.TransportError):
            return self._later(None)
        if self._waiting and (error.http_status in NO_WAIT or not error.reason):
            self._waits, self._busy = error.http_status in BUSY, True
            return self._later(error.retry_after or _said(self.seen))
        new = time.monotonic() - self._began < self._unknown_for
        if not (error.is_temporary or (error.reason == "transfer_not_found" and new)):
            raise error
        return self._later(error.retry_after)

    def _later(self, said: float | None) -> float:
        seconds = said or self._pause
        self._pause = min(self._pause * GROWTH, LONGEST_PAUSE)
        return seconds


def _said(state: State | None) -> float | None:
    """When the gateway says to request again. It cannot know what the user does next, who may have just
    acted.
    """
    return None if state is None or state.next_actor == "user" else state.next_poll_seconds
