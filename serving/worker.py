"""Gunicorn's gevent worker with deadlines, with bounds, and with an even share of the connections."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
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

RESERVED_PLACES: Final = 64
"""Connections of each worker to each address that is not for callers."""

RESERVED_TURN_SECONDS: Final = 0.05
"""How long a worker leaves a new connection there to the first one."""

_PAUSE_SECONDS: Final = 0.002


class _Entry:
    """An address that is listened at, who is served there, and their places."""

    def __init__(self, listener: Any, serving: Group, places: Places, reserved: Any = None) -> None:
        """
        :param reserved: the application that answers, where it is not that of callers.
        """
        self.listener = listener
        self.name = listener.getsockname()
        self.serving = serving
        self.places = places
        self.reserved = reserved


class _Visit:
    """A connection that is served. There are thousands, so it is small."""

    __slots__ = ("address", "client", "connection", "entry", "goes_on", "parser", "place")

    def __init__(self, entry: _Entry, client: Any, address: Any) -> None:
        """
        :param client: its socket.
        :param address: where it comes from.
        """
        self.entry = entry
        self.client = client
        self.address = address
        self.connection = Connection(client)
        self.connection.reserved = entry.reserved
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

    reserved: Mapping[int, Any] = MappingProxyType({})
    """The applications of the listeners that are not for callers, by the listener's number."""

    def patch(self) -> None:
        """Make the listeners gevent's own. The rest was patched before anything was imported."""
        self.sockets: list[Any] = [
            socket.socket(listener.FAMILY, socket.SOCK_STREAM, fileno=listener.sock.detach())
            for listener in self.sockets
        ]

    def run(self) -> None:
        """Serve until told to stop, then finish what is being answered."""
        bound = self.worker_connections
        self._serving = Group()
        self._parked: set[Later] = set()
        places = Places(bound, bound if self.behind_proxy else max(1, bound // 2))
        public = [
            _Entry(listener, self._serving, places)
            for number, listener in enumerate(self.sockets)
            if number not in self.reserved
        ]
        reserved = [
            _Entry(self.sockets[number], Group(), Places(RESERVED_PLACES, RESERVED_PLACES), application)
            for number, application in self.reserved.items()
        ]
        SHARES.note(self.age, 0)
        accepting = [gevent.spawn(self._accept, entry) for entry in public]
        overseen = [gevent.spawn(self._accept_reserved, entry) for entry in reserved]
        while self.alive:
            self.notify()
            gevent.sleep(0.2)
        SHARES.forget(self.age)
        self._close(public, accepting)
        if SHARES.stopping:  # otherwise other workers answer there
            self._finish(public)
        self._close(reserved, overseen)
        self._finish(public + reserved)

    def _close(self, entries: Sequence[_Entry], accepting: Sequence[Any]) -> None:
        """Take nothing more, but for those who wait in the queue.

        They have been told by the system that they are connected: to close it would break their connections,
        with requests that they may not repeat.
        """
        gevent.killall(accepting)
        for entry in entries:
            while self._take(entry):
                pass
            entry.listener.close()

    def _finish(self, entries: Sequence[_Entry]) -> None:
        """Wait for those who are served at some addresses, for the graceful timeout at most."""
        started = time.monotonic()
        for later in list(self._parked):
            later.stop()
        while (left := any(map(_is_serving, entries))) and not self._is_over(started):
            if time.monotonic() - started >= LINGER_SECONDS:
                for entry in entries:
                    entry.places.send_all_away()
            self.notify()
            gevent.sleep(0.05)
        if left:
            self.log.warning("Worker graceful timeout (pid:%s)", self.pid)

    def _is_over(self, started: float) -> bool:
        return time.monotonic() - started >= float(self.cfg.graceful_timeout)

    def _accept(self, entry: _Entry) -> None:
        """Accept for ever, leaving to each other worker its share."""
        entry.listener.setblocking(0)
        while True:
            wait_read(entry.listener.fileno())
            until = time.monotonic() + TURN_SECONDS
            while not self._has_few() and time.monotonic() < until:
                gevent.sleep(_PAUSE_SECONDS)
            while self._take(entry) and self._has_few():
                pass

    def _accept_reserved(self, entry: _Entry) -> None:
        """Accept for ever, after the first worker: what that one has read of the database is told again.

        Another one takes its place where it is too busy, or was stopped.
        """
        entry.listener.setblocking(0)
        while True:
            wait_read(entry.listener.fileno())
            until = time.monotonic() + RESERVED_TURN_SECONDS
            while not SHARES.is_first(self.age) and time.monotonic() < until:
                gevent.sleep(_PAUSE_SECONDS)
            self._take(entry)

    def _take(self, entry: _Entry) -> bool:
        """Serve the next connection that waits in the queue; whether there was one."""
        try:
            client, address = entry.listener.accept()
        except BlockingIOError:
            return False
        except OSError as error:  # such as too many open files: closing some takes a moment
            self.log.warning("a connection could not be accepted: %s", error)
            gevent.sleep(0.1)
            return False
        entry.serving.start(gevent.Greenlet(self.handle, entry, client, address))
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

    def handle(self, listener: _Entry, client: Any, addr: Any) -> None:
        """Serve one connection to its end.

        :param listener: the address that it came to.
        :param client: its socket.
        :param addr: where it comes from, as ``accept`` told it.
        """
        visit = _Visit(listener, client, addr)
        try:
            visit.place = visit.entry.places.taken_by(addr)
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
            if visit.entry.reserved is None:
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
                    self.handle_request(visit.entry.name, req, connection, visit.address)
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
        with visit.entry.places.waiting(connection, visit.place.name):
            if not parser.unreader.buf.tell():
                connection.await_bytes()  # not in the parser's depth: who waits keeps their stack
            request = next(parser)
        if visit.entry.reserved is not None:
            request.force_close()  # the next one may come to another worker
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


def _is_serving(entry: _Entry) -> bool:
    return bool(len(entry.serving))
