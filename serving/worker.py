"""Gunicorn's gevent worker with deadlines, with bounded heads, and with an even share of the connections."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final

import gevent
from gevent import socket
from gevent.pool import Pool
from gevent.socket import wait_read
from gunicorn import http, util
from gunicorn.workers.ggevent import GeventWorker

from app.cooperation import give_way
from app.http.request_ids import answering_unread
from serving.connection import FIRST_BYTE_SECONDS, Connection, TooSlow
from serving.shares import SHARES

LINGER_SECONDS: Final = 1.0
"""How long a worker that was told to stop leaves idle connections open: a request may be on its way."""

DRAIN_SECONDS: Final = 2.0
"""How long to read what is left of a body that nobody wanted, before the connection is closed instead."""

TURN_SECONDS: Final = 0.01
"""How long a worker leaves a new connection to others that have fewer. They may be busy."""

_PAUSE_SECONDS: Final = 0.002


class _Address:
    """An address that is listened at, and the connections that came to it.

    A pool that is full takes no more: they wait in the queue of the system.
    """

    def __init__(self, listener: Any, serving: Pool, application: Any = None) -> None:
        """
        :param application: the one that answers, where it is not that of callers.
        """
        self.listener = listener
        self.name = listener.getsockname()
        self.serving = serving
        self.application = application
        listener.setblocking(0)


class GatewayWorker(GeventWorker):  # type: ignore[misc]  # gunicorn has no types
    """Serves HTTP/1.1: a greenlet for each connection, so a slow client holds up nobody.

    Reading and answering a request is gunicorn's.
    """

    reserved: Mapping[int, Any] = MappingProxyType({})
    """The applications of the listeners that are not for callers, by the listener's number."""

    when_stopping: Callable[[], None]
    """Ends whoever waits in the application, which ``gunicorn.conf.py`` knows."""

    def patch(self) -> None:
        """Make the listeners gevent's own. The rest was patched before anything was imported."""
        self.sockets: list[Any] = [
            socket.socket(listener.FAMILY, socket.SOCK_STREAM, fileno=listener.sock.detach())
            for listener in self.sockets
        ]

    def run(self) -> None:
        """Serve until told to stop, then finish what is being answered."""
        self._idle, self._answering = set[Connection](), set[Any]()
        self._serving = Pool(self.worker_connections)
        callers, reserved = list[_Address](), list[_Address]()
        for number, listener in enumerate(self.sockets):
            if (application := self.reserved.get(number)) is None:
                callers.append(_Address(listener, self._serving))
            else:
                reserved.append(_Address(listener, Pool(self.worker_connections), application))
        SHARES.note(self.age, 0)
        accepting = {each: gevent.spawn(self._accept, each) for each in (*callers, *reserved)}
        while self.alive:
            self.notify()
            gevent.sleep(0.2)
        SHARES.note(self.age)
        for request in self._answering:
            request.force_close()
        self._close(callers, accepting)
        self.when_stopping()
        if SHARES.is_stopping():  # otherwise other workers answer there
            self._finish(callers)
        self._close(reserved, accepting)
        self._finish((*callers, *reserved))

    def _close(self, addresses: Sequence[_Address], accepting: Mapping[_Address, Any]) -> None:
        """Take nothing more, but for those who wait in the queue.

        They have been told by the system that they are connected: to close it would break their connections,
        with requests that they may not repeat.
        """
        for each in addresses:
            accepting[each].kill()
            while not each.serving.full() and self._take(each):
                pass
            each.listener.close()

    def _finish(self, addresses: Sequence[_Address]) -> None:
        """Wait for those who are served at some addresses, for the graceful timeout at most."""
        began = time.monotonic()
        while any(len(each.serving) for each in addresses):
            passed = time.monotonic() - began
            if passed >= self.cfg.graceful_timeout:
                self.log.warning("Worker graceful timeout (pid:%s)", self.pid)
                return
            if passed >= LINGER_SECONDS:
                for connection in list(self._idle):
                    connection.end()
            self.notify()
            gevent.sleep(0.05)

    def _accept(self, address: _Address) -> None:
        """Accept for ever, leaving to each other worker its share."""
        while True:
            wait_read(address.listener.fileno())
            until = time.monotonic() + TURN_SECONDS
            while not self._has_few() and time.monotonic() < until:
                gevent.sleep(_PAUSE_SECONDS)
            while self._take(address) and self._has_few():
                pass

    def _take(self, address: _Address) -> bool:
        """Serve the next connection that waits in the queue; whether there was one."""
        try:
            client, source = address.listener.accept()
        except BlockingIOError:
            return False
        except OSError as error:  # such as too many open files: closing some takes a moment
            self.log.warning("a connection could not be accepted: %s", error)
            gevent.sleep(0.1)
            return False
        address.serving.spawn(self.handle, address, client, source)
        SHARES.note(self.age, len(self._serving))
        return True

    def _has_few(self) -> bool:
        """Whether no other worker has clearly fewer connections."""
        own = len(self._serving)
        return own <= SHARES.least() + own // 8

    def handle(self, listener: _Address, client: Any, addr: Any) -> None:
        """Serve one connection to its end.

        :param listener: the address that it came to.
        :param client: its socket.
        :param addr: where it comes from, as ``accept`` returned it.
        """
        connection = Connection(client, listener.application)
        try:
            self._serve(listener, connection, addr)
        finally:
            connection.close()
            if listener.application is None:
                SHARES.note(self.age, len(self._serving) - 1)

    def _serve(self, listener: _Address, connection: Connection, addr: Any) -> None:
        parser, request = http.get_parser(self.cfg, connection, addr), None
        seconds = FIRST_BYTE_SECONDS
        try:
            while True:
                request = None
                request = self._next_request(parser, connection, seconds)
                if listener.application is not None:
                    request.force_close()  # the next one may come to another worker
                connection.await_body()
                self._answer(listener.name, request, connection, addr)
                if not parser.finish_body(deadline=time.monotonic() + DRAIN_SECONDS):
                    return
                seconds = self.cfg.keepalive
        except (StopIteration, http.errors.NoMoreData):
            pass  # one of the two sides is done
        except TooSlow:
            if request is None and connection.begun:
                util.write_error(connection, 408, "Request Timeout", "the request took too long to arrive")
        except OSError as error:
            self.log.debug("a connection broke: %s", error)
        except Exception as error:
            self.handle_error(request, connection, addr, error)

    def _answer(self, name: Any, request: Any, connection: Connection, addr: Any) -> None:
        """Have gunicorn answer; a worker that is told to stop meanwhile says so in the answer."""
        self._answering.add(request)
        try:
            self.handle_request(name, request, connection, addr)
        finally:
            self._answering.discard(request)

    def _next_request(self, parser: Any, connection: Connection, seconds: float) -> Any:
        """The next request, up to its body. While it is waited for, the connection may be ended."""
        connection.await_request(seconds)
        self._idle.add(connection)
        try:
            request = next(parser)
        finally:
            self._idle.discard(connection)
        if not connection.waited:
            give_way()  # a client that sends requests in advance must not keep all others waiting
        return request

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Log and answer as gunicorn does, both with the same id of the request."""
        with answering_unread(), suppress(OSError):
            super().handle_error(req, client, addr, exc)
