"""Which addresses gunicorn binds: the one for callers, and further ones for health and metrics.

Each has its own queue and its own places in every worker, so that callers cannot fill the others.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

HEALTH: Final = "health"
METRICS: Final = "metrics"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 is chosen by the system."""

    host: str
    port: int
    purpose: str = ""
    """Empty for the one of callers."""

    @property
    def bind(self) -> str:
        """As gunicorn takes it."""
        return bind_of(self.host, self.port)

    @property
    def setting(self) -> str:
        """The setting of its port."""
        return f"{self.purpose}_port".upper().removeprefix("_")

    def refuse_if_taken(self) -> None:
        """Gunicorn tries for seconds, and names no setting.

        :raises SystemExit: with the setting to change.
        """
        try:
            family, _, _, _, place = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except OSError as error:
            raise SystemExit(f"HOST: {self.host}: {error.strerror}") from None
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(place)
                tried.listen()  # with SO_REUSEADDR two may bind, and one may listen
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    where = f"HOST: {self.host} is not an address of this machine"
                    raise SystemExit(where) from None
                where = f"{self.setting}: {self.port} on {self.host}"
                raise SystemExit(f"{where}: {error.strerror}") from None


def bind_of(host: str, port: int) -> str:
    """An address as gunicorn takes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def url_of(listener: socket.socket) -> str:
    """Its base address, with the port that the system chose."""
    host, port = listener.getsockname()[:2]
    return f"http://{bind_of(host, port)}"


class Places(Protocol):
    """The settings of these addresses."""

    @property
    def host(self) -> str: ...
    @property
    def health_port(self) -> int | None: ...
    @property
    def metrics_host(self) -> str: ...
    @property
    def metrics_port(self) -> int | None: ...


def further_addresses(settings: Places) -> list[Address]:
    """Those of health and metrics that are configured."""
    found = []
    if settings.metrics_port is not None:
        found.append(Address(settings.metrics_host, settings.metrics_port, METRICS))
    if settings.health_port is not None:
        found.append(Address(settings.host, settings.health_port, HEALTH))
    return found


def purposes(listeners: Sequence[Any], further: Sequence[Address]) -> Mapping[int, str]:
    """What the listeners are for that are not for callers, by their number.

    :param listeners: gunicorn's, in the order in which it binds them: the further ones are last. An upgrade
        (USR2) takes over those of the master before, whose settings may have been others.
    :raises SystemExit: these are not the addresses of the settings.
    """
    first = len(listeners) - len(further)
    found = dict(enumerate(further, start=first))
    for number, address in found.items():
        port = listeners[number].sock.getsockname()[1] if number > 0 else None
        if port is None or address.port not in (0, port):
            raise SystemExit(
                f"{address.setting}: {address.port} is not listened at: leave out --bind, and "
                "restart the server instead of upgrading it by USR2"
            )
    return {number: address.purpose for number, address in found.items()}
