"""Gunicorn's gevent worker with deadlines, with bounds, and with an even share of the connections."""

from __future__ import annotations

import time
from typing import Any, Final

import gevent
from gevent import socket
from gevent.pool import Group
from gevent.socket import wait_read
from gunicorn import http, util
from gunicorn.workers.ggevent import GeventWorker

from app.cooperation import give_way
from app.http.request_ids import answering_unread
from serving.connection import FIRST_BYTE_SECONDS, PARKED, Connection, TooSlow
from serving.parking import Later, deliver
from serving.places import NoPlace, Places
from serving.shares import SHARES

LINGER_SECONDS: Final = 1.0
"""How long a worker that was told to stop leaves idle connections open: a request may be on its way."""

DRAIN_SECONDS: Final = 2.0
"""How long to read what is left of a body that nobody wanted, before the connection is closed instead."""

TURN_SECONDS: Final = 0.01
"""How long a worker leaves a new connection to others that have fewer. They may be busy."""

_PAUSE_SECONDS: Final = 0.002


class _Visit:
    """A connection that is served. There are thousands, so it is small."""

    __slots__ = ("address", "client", "connection", "goes_on", "listener", "parser", "place")

    def __init__(self, listener: Any, client: Any, address: Any) -> None:
        """
        :param listener: the address that it came to.
        :param client: its socket.
        :param address: where it comes from.
        """
        self.listener = listener
        self.client = client
        self.address = address
        self.connection = Connection(client)
        self.parser: Any = None
        self.place: Any = None
        """A ``Place``, once it has one."""
        self.goes_on = False
        """Whether another greenlet serves it from here on."""


class GatewayWorker(GeventWorker):  # type: ignore[misc]  # gunicorn has no types
    """Serves HTTP/1.1: a greenlet for each connection, so a slow client holds up nobody.

    What it does by itself is to accept, to wait for requests and to stop. Reading and answering a request is
    gunicorn's.
    """

    behind_proxy = False
    """Whether all connections may come from one address, which ``gunicorn.conf.py`` knows."""

    def patch(self) -> None:
        """Make the listeners gevent's own. The rest was patched before anything was imported."""
        self.sockets: list[Any] = [
            socket.socket(listener.FAMILY, socket.SOCK_STREAM, fileno=listener.sock.detach())
            for listener in self.sockets
        ]

    def run(self) -> None:
        """Serve until told to stop, then finish what is being answered."""
        bound = self.worker_connections
        self._places = Places(bound, bound if self.behind_proxy else max(1, bound // 2))
        self._serving = Group()
        self._parked: set[Later] = set()
        SHARES.note(self.age, 0)
        accepting = [gevent.spawn(self._accept, listener) for listener in self.sockets]
        while self.alive:
            self.notify()
            gevent.sleep(0.2)
        SHARES.forget(self.age)
        gevent.killall(accepting)
        for listener in self.sockets:
            # Whoever is in the queue has been told by the system that they are connected: to close it would
            # break their connections, with requests that they may not repeat.
            while self._take(listener, listener.getsockname()):
                pass
            listener.close()
        self._finish()

    def _finish(self) -> None:
        started = time.monotonic()
        for later in list(self._parked):
            later.stop()
        while len(self._serving) and time.monotonic() - started < self.cfg.graceful_timeout:
            if time.monotonic() - started >= LINGER_SECONDS:
                self._places.send_all_away()
            self.notify()
            gevent.sleep(0.05)
        if len(self._serving):
            self.log.warning("Worker graceful timeout (pid:%s)", self.pid)

    def _accept(self, listener: Any) -> None:
        """Accept for ever, leaving to each other worker its share."""
        listener.setblocking(0)
        name = listener.getsockname()
        while True:
            wait_read(listener.fileno())
            until = time.monotonic() + TURN_SECONDS
            while not self._has_few() and time.monotonic() < until:
                gevent.sleep(_PAUSE_SECONDS)
            while self._take(listener, name) and self._has_few():
                pass

    def _take(self, listener: Any, name: Any) -> bool:
        """Serve the next connection that waits in the queue; whether there was one.

        :param name: the listener's address.
        """
        try:
            client, address = listener.accept()
        except BlockingIOError:
            return False
        except OSError as error:  # such as too many open files: closing some takes a moment
            self.log.warning("a connection could not be accepted: %s", error)
            gevent.sleep(0.1)
            return False
        self._serving.start(gevent.Greenlet(self.handle, name, client, address))
        SHARES.note(self.age, len(self._serving))
        return True

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Log and answer as gunicorn does, both with the same id of the request."""
        with answering_unread():
            super().handle_error(req, client, addr, exc)

    def is_already_handled(self, respiter: Any) -> bool:
        """Whether gunicorn has nothing to send: the answer comes later."""
        return respiter is PARKED or bool(super().is_already_handled(respiter))

    def _delivered(self, connection: Connection, *, is_last: bool) -> bool:
        """Send an answer that comes later; whether the connection may be used again.

        :param is_last: whether the client wants it closed after the answer.
        """
        later, connection.parked = connection.parked, None
        self._parked.add(later)
        try:
            if not self.alive:
                later.stop()
            return deliver(later, connection, self, is_last=is_last)
        finally:
            self._parked.discard(later)

    def _has_few(self) -> bool:
        """Whether no other worker has clearly fewer connections."""
        own = len(self._serving)
        return own <= SHARES.least() + own // 8

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve one connection to its end.

        :param listener: the address that it came to, as ``getsockname`` tells it.
        :param client: its socket.
        :param addr: where it comes from, as ``accept`` told it.
        """
        visit = _Visit(listener, client, addr)
        try:
            visit.place = self._places.taken_by(addr)
            visit.parser = http.get_parser(self.cfg, visit.connection, addr)
            visit.connection.await_request(FIRST_BYTE_SECONDS)
            self._serve(visit)
        except NoPlace:
            util.write_error(
                client, 503, "Service Unavailable", "too many connections: try again in a moment"
            )
        finally:
            self._leave(visit)

    def _leave(self, visit: _Visit) -> None:
        """End a connection, unless another greenlet serves it from here on."""
        if visit.goes_on:
            visit.goes_on = False
            return
        try:
            visit.connection.release()
        finally:
            if visit.place is not None:
                visit.place.leave()
            util.close_graceful(visit.client)
            SHARES.note(self.age, len(self._serving) - 1)

    def _serve(self, visit: _Visit) -> None:
        """Serve requests until the connection ends, or until an answer comes later."""
        req, connection, parser = None, visit.connection, visit.parser
        try:
            while True:
                req = None
                req = self._next_request(visit)
                connection.await_body()
                with connection.answering():
                    self.handle_request(visit.listener, req, connection, visit.address)
                if not _read_to_end(parser):
                    return
                if connection.parked is not None:
                    self._serve_later(visit, is_last=req.should_close())
                    return
                if req.should_close():
                    return
                connection.await_request(self.cfg.keepalive)
        except (StopIteration, http.errors.NoMoreData):
            pass  # one of the two sides is done
        except TooSlow:
            if req is None and connection.begun:
                util.write_error(connection, 408, "Request Timeout", "the request took too long to arrive")
        except OSError as error:
            self.log.debug("a connection broke: %s", error)
        except Exception as error:
            self.handle_error(req, connection, visit.address, error)

    def _next_request(self, visit: _Visit) -> Any:
        """The next request, up to its body; nothing of the last one is kept while it is waited for."""
        connection, parser = visit.connection, visit.parser
        parser.mesg = None
        with self._places.waiting(connection, visit.place.name):
            if not parser.unreader.buf.tell():
                connection.await_bytes()  # not in the parser's depth: who waits keeps their stack
            request = next(parser)
        if not connection.waited:
            # A client that sends requests in advance must not keep all others waiting.
            give_way()
        return request

    def _serve_later(self, visit: _Visit, *, is_last: bool) -> None:
        """Have another greenlet wait for the answer: one keeps the memory of its deepest call."""
        visit.parser.mesg = None  # nothing of the request is kept, either
        self._serving.start(gevent.Greenlet(self._resume, visit, is_last))  # keywords would cost a dict
        visit.goes_on = True

    def _resume(self, visit: _Visit, is_last: bool) -> None:
        """Send an answer that comes later, and serve on."""
        try:
            if self._delivered(visit.connection, is_last=is_last):
                visit.connection.await_request(self.cfg.keepalive)
                self._serve(visit)
        except (OSError, TooSlow) as error:
            self.log.debug("a connection broke: %s", error)
        except Exception as error:
            self.handle_error(None, visit.connection, visit.address, error)
        finally:
            self._leave(visit)


def _read_to_end(parser: Any) -> bool:
    """Whether the next request can be read: what is left of the body was little and came at once."""
    try:
        done: bool = parser.finish_body(deadline=time.monotonic() + DRAIN_SECONDS)
    except Exception:  # whatever is wrong with it, the answer is out, and the connection is closed
        return False
    return done
