"""Gunicorn's gevent worker with deadlines, bounds and an even spread of connections."""

from __future__ import annotations

import time
from typing import Any, Final

import gevent
from gevent.pool import Pool
from gevent.socket import wait_read
from gunicorn import http, util
from gunicorn.workers.ggevent import GeventWorker

from serving.connection import FIRST_BYTE_SECONDS, Connection, TooSlow
from serving.shares import Shares

SHARES: Final = Shares()


class GatewayWorker(GeventWorker):
    def init_process(self) -> None:
        super().init_process()

    def patch(self) -> None:
        super().patch()
        from serving.database_wait import install
        install()

    def run(self) -> None:
        self._idle: dict[Connection, None] = {}
        self._pool = Pool(self.worker_connections)
        SHARES.note(self.age, 0)
        acceptors = [gevent.spawn(self._accept, listener) for listener in self.sockets]
        while self.alive:
            self.notify()
            gevent.sleep(0.5)
        gevent.killall(acceptors)
        SHARES.forget(self.age)
        for listener in self.sockets:
            listener.close()
        end = time.monotonic() + self.cfg.graceful_timeout
        linger = time.monotonic() + 1
        while time.monotonic() < end and len(self._pool):
            if time.monotonic() > linger:
                for connection in list(self._idle):
                    connection.shutdown(2)
            self.notify()
            gevent.sleep(0.1)

    def _accept(self, listener: Any) -> None:
        listener.setblocking(0)
        name = listener.getsockname()
        while True:
            wait_read(listener.fileno())
            self._await_turn()
            while self._is_my_turn():
                try:
                    client, address = listener.accept()
                except BlockingIOError:
                    break
                except OSError:
                    gevent.sleep(0.01)
                    break
                self._pool.spawn(self.handle, name, client, address)
                SHARES.note(self.age, len(self._pool))

    def _await_turn(self) -> None:
        for _ in range(5):
            if self._is_my_turn():
                return
            gevent.sleep(0.002)

    def _is_my_turn(self) -> bool:
        own = len(self._pool)
        return own <= SHARES.least() + own // 8

    def handle(self, name: Any, client: Any, addr: Any) -> None:
        connection = Connection(client)
        req = None
        try:
            parser = http.get_parser(self.cfg, connection, addr)
            connection.await_request(FIRST_BYTE_SECONDS)
            while True:
                req = None
                self._idle[connection] = None
                try:
                    req = next(parser)
                finally:
                    del self._idle[connection]
                connection.await_body()
                self.handle_request(name, req, connection, addr)
                if not parser.finish_body(deadline=time.monotonic() + 5):
                    break
                connection.await_request(self.cfg.keepalive)
                gevent.sleep(0)
        except TooSlow:
            if not connection.idle:
                util.write_error(client, 408, "Request Timeout", "")
        except (StopIteration, http.errors.NoMoreData):
            pass
        except OSError as e:
            pass
        except Exception as e:
            self.handle_error(req, connection, addr, e)
        finally:
            util.close(client)
            SHARES.note(self.age, len(self._pool) - 1)
