"""Gunicorn's gevent worker with deadlines, limited heads, and an equal share of the connections."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext, suppress
from types import MappingProxyType
from typing import Any, Final

import gevent
from gevent import socket
from gevent.pool import Pool
from gevent.socket import wait_read
from gunicorn.workers.ggevent import GeventWorker
from msgspec import Struct

from app.cooperation import give_way
from app.observability.logs import answering_unread
from serving import shares
from serving.connection import Connection
from serving.ending import STOPPING

QUICK_SECONDS: Final = 1.0
"""How long a worker that ends quickly, as at Ctrl-C, waits for requests in progress."""

LINGER_SECONDS: Final = 1.0
"""How long a stopping worker leaves idle connections open: a request may be on its way."""

TURN_SECONDS: Final = 0.01
"""How long a worker leaves a new connection to others that have fewer. They may be busy."""


class _Address(Struct, frozen=True, eq=False):
    """A listening address, and its connections."""

    listener: Any
    name: Any
    serving: Pool
    application: Any = None
    """The application that answers, where it is not that of callers."""

    def getsockname(self) -> Any:
        """Called by gunicorn, also after the listener is closed."""
        return self.name


class GatewayWorker(GeventWorker):  # type: ignore[misc]  # gunicorn has no types
    """Accepts evenly and ends without losses. Reading and answering requests is gunicorn's."""

    reserved: Mapping[int, Any] = MappingProxyType({})
    """The applications of the listeners that are not for callers, by the listener's number."""

    server_stops: Callable[[], bool]
    """Whether the whole server ends, and not only some of its workers."""

    when_stopping: Callable[[], None]
    """Ends all waits in the application. ``gunicorn.conf.py`` sets it."""

    def patch(self) -> None:
        """Replace the listeners by gevent's. The rest was patched before anything was imported."""
        self.sockets: list[Any] = [
            socket.socket(listener.FAMILY, socket.SOCK_STREAM, fileno=listener.sock.detach())
            for listener in self.sockets
        ]

    is_hurried = False
    """Whether it ends quickly."""

    def init_signals(self) -> None:
        """Handle signals, and let in those that came while the worker was made.

        A terminal sends its own to all processes. They are the master's, which then tells its workers.
        """
        super().init_signals()
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*STOPPING, signal.SIGQUIT))

    def handle_quit(self, _sig: int, _frame: Any) -> None:
        """End quickly, in ``run``: gunicorn would raise SystemExit in whatever the process is doing."""
        self.is_hurried, self.alive = True, False

    def run(self) -> None:
        """Serve until stopped, then finish the requests in progress."""
        self._requests: dict[Connection, Any] = {}  # None while it waits for the next one
        self._serving = Pool(self.worker_connections)
        addresses = list[_Address]()
        for number, listener in enumerate(self.sockets):
            listener.setblocking(0)
            application = self.reserved.get(number)
            serving = Pool(self.worker_connections) if application else self._serving
            addresses.append(_Address(listener, listener.getsockname(), serving, application))
        callers = [each for each in addresses if each.application is None]
        shares.note(self.age, 0)
        self._accepting = {each: gevent.spawn(self._accept, each) for each in addresses}
        while self.alive:
            self.notify()
            gevent.sleep(0.2)
        shares.note(self.age)
        for request in filter(None, self._requests.values()):
            request.force_close()
        self._close(callers)
        self.when_stopping()
        if self.server_stops():  # otherwise other workers answer there
            self._finish(callers)
        self._finish(addresses)

    def _close(self, addresses: Sequence[_Address]) -> None:
        """Accept no more, except the connections in the queue, as far as there is a place.

        For their clients they are already open. Closing the queue would break them, with requests that
        clients may not repeat.
        """
        for each in addresses:
            self._accepting[each].kill()
            while not each.listener.closed and self._take(each):
                pass
            if not each.serving.full():
                each.listener.close()

    def _finish(self, addresses: Sequence[_Address]) -> None:
        """Wait for the requests at some addresses, for the graceful timeout at most."""
        began = time.monotonic()
        self._close(addresses)
        while any(len(each.serving) for each in addresses):
            passed = time.monotonic() - began
            if self.is_hurried and passed >= QUICK_SECONDS:
                return
            if passed >= self.cfg.graceful_timeout:
                self.log.warning("Worker graceful timeout (pid:%s)", self.pid)
                return
            if passed >= LINGER_SECONDS or self.is_hurried:
                self._end_idle({each.application for each in addresses})
            self.notify()
            gevent.sleep(0.05)
            self._close(addresses)

    def _end_idle(self, applications: Set[Any]) -> None:
        """End the connections to these that wait for a request. At other addresses, requests still come."""
        for connection, request in [*self._requests.items()]:
            if request is None and connection.application in applications:
                connection.end()

    def _accept(self, address: _Address) -> None:
        """Accept for ever, leaving to each other worker its share."""
        while True:
            address.serving.wait_available()
            wait_read(address.listener.fileno())
            until = time.monotonic() + TURN_SECONDS
            while not self._has_few() and time.monotonic() < until:
                gevent.sleep(TURN_SECONDS / 5)
            while self._take(address) and self._has_few():
                pass

    def _take(self, address: _Address) -> bool:
        """Serve the next connection in the queue. Returns whether there was one, and a place for it.

        It does not wait in between: a connection accepted without a place would never be served, even if
        another worker has one.
        """
        if address.serving.full():
            return False
        try:
            client, source = address.listener.accept()
        except BlockingIOError:
            return False
        except OSError as error:  # such as too many open files: closing some takes a moment
            self.log.warning("a connection could not be accepted: %s", error)
            gevent.sleep(0.1)
            return False
        address.serving.spawn(self.handle, address, client, source)
        if self.alive:
            shares.note(self.age, len(self._serving))
        return True

    def _has_few(self) -> bool:
        """Whether no other worker has clearly fewer connections."""
        own = len(self._serving)
        return own <= shares.least() + own // 8

    def handle(self, listener: _Address, client: Any, addr: Any) -> None:
        connection = Connection(client, listener.application)
        self._requests[connection] = None
        try:
            super().handle(listener, connection, addr)
        finally:
            del self._requests[connection]
            if listener.application is None and self.alive:
                shares.note(self.age, len(self._serving) - 1)

    def timeout_ctx(self) -> AbstractContextManager[None]:
        """No timeout around the wait for a request: the connection has its deadlines."""
        return nullcontext()

    def handle_request(self, listener_name: Any, req: Any, sock: Connection, addr: Any) -> None:
        """Answer a request and skip the rest of its body; then the connection waits for the next one."""
        self._requests[sock] = req
        if not sock.waited:
            give_way()  # a client that sends requests in advance must not block all others
        if sock.application is not None:
            req.force_close()  # the next one may come to another worker
        sock.await_body()
        sock.begin_answer()
        try:
            super().handle_request(listener_name, req, sock, addr)
        finally:
            sock.end_answer()
        sock.pass_over(req.body)
        self._requests[sock] = None
        sock.await_request(self.cfg.keepalive)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Log and answer as gunicorn does, both with the same id of the request."""
        with answering_unread(), suppress(OSError):
            super().handle_error(req, client, addr, exc)
