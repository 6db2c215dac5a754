"""Taking an address to listen at, or saying in one line why that cannot be."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass

from config import Settings

_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, and the settings that say so; port 0 is chosen by the system."""

    host: str
    port: int
    host_setting: str
    port_setting: str


def listen(address: Address) -> socket.socket:
    """A socket that listens there.

    :raises SystemExit: with the setting to change.
    """
    host, port = address.host, address.port
    try:
        family, kind, _, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise SystemExit(f"{address.host_setting}: {host}: {error.strerror}") from None
    listener = socket.socket(family, kind)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(place)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise SystemExit(f"{address.host_setting}: {host} is not an address of this machine") from None
        raise SystemExit(f"{address.port_setting}: {port} on {host}: {error.strerror}") from None
    return listener


def url_of(listener: socket.socket) -> str:
    """Its base address, with the port that the system chose."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def addresses_of(settings: Settings) -> dict[str, Address]:
    """Where metrics and health are to be told, of those that are configured."""
    addresses = {}
    if settings.metrics_port is not None:
        host = settings.metrics_host
        addresses["metrics"] = Address(host, settings.metrics_port, "METRICS_HOST", "METRICS_PORT")
    if settings.health_port is not None:
        host = settings.health_host or settings.host
        addresses["health"] = Address(host, settings.health_port, "HEALTH_HOST", "HEALTH_PORT")
    return addresses
