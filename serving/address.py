"""The addresses to listen on, and whether they are free: ``python -m serving.address`` looks before a start.

It needs nothing but Python, so that a taken port is found before anything is installed or imported.
"""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import dataclass

HOST = "127.0.0.1"
PORT = 8000
"""Where to listen by default."""

_FURTHER_PORTS = 20
_FIRST_OF_USERS = 1024
"""Ports below are for root."""


@dataclass(frozen=True)
class Address:
    """Where to listen; the system chooses the port for 0."""

    host: str
    port: int
    purpose: str = ""
    """Empty for the address of callers."""

    @property
    def bind(self) -> str:
        return bind_of(self.host, self.port)

    @property
    def setting(self) -> str:
        return f"{self.purpose}_port".upper().removeprefix("_")

    def refuse_if_taken(self, command: str = "") -> None:
        """Refuse a port that is in use: gunicorn would retry for seconds, and name no setting.

        :param command: what the person typed, for the remedy.
        :raises SystemExit: with the setting to change, and a free port.
        """
        try:
            error = self._complaint()
        except socket.gaierror as unknown:
            raise SystemExit(f"HOST: {self.host}: {unknown.strerror}; set one such as {HOST}") from None
        if error is None:
            return
        if error.errno == errno.EADDRNOTAVAIL:
            raise SystemExit(
                f"HOST: {self.host} is not an address of this machine: set one such as 127.0.0.1"
            )
        other = f"{self.setting}={self._free_port()} {command}".rstrip()
        where = f"{self.setting}: {self.port} on {self.host}"
        raise SystemExit(f"{where}: {error.strerror}; choose another port, such as {other}")

    def _complaint(self) -> OSError | None:
        """What the system says against it; None where it is free."""
        family, _, _, _, place = socket.getaddrinfo(
            self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        try:
            with socket.socket(family, socket.SOCK_STREAM) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(place)
                tried.listen()  # with SO_REUSEADDR two may bind, but only one may listen
        except OSError as error:
            return error
        return None

    def _free_port(self) -> int:
        """One near it; 0, which lets the system choose, where all these are taken."""
        first = self.port + 1 if self.port >= _FIRST_OF_USERS else PORT
        near = range(first, min(first + _FURTHER_PORTS, 65536))
        return next((port for port in near if Address(self.host, port)._complaint() is None), 0)


def bind_of(host: str, port: int) -> str:
    """An address in the form for gunicorn."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def main() -> None:
    """Refuse a taken address of callers; values that are none are left to config.py."""
    host = os.environ.get("HOST") or HOST  # noqa: TID251  config.py needs packages
    port = os.environ.get("PORT") or str(PORT)  # noqa: TID251
    if port.isdecimal() and int(port) <= 65535:
        Address(host, int(port)).refuse_if_taken("make run")


if __name__ == "__main__":
    main()
