"""What ``make run`` prints once the gateway answers: where, how to sign in, how many workers, how to end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from serving.workers import Workers

_WIDTH: Final = 15


class Start(Struct):
    """What ``scripts/start.py`` tells the server that goes on in its process."""

    account: Sequence[str]
    """How to sign in to the console, a line each."""
    stored: str
    """Where the data is, for people."""
    building: bool
    """Whether the documentation is still being built."""
    verbose: bool
    """Whether the server prints its own log as well."""


_started: list[Start] = []


def begin(start: Start) -> None:
    """Note that this process has been started by ``make run``."""
    _started[:] = [start]


def begun() -> Start | None:
    """How this process was started by ``make run``; None where gunicorn was started by itself."""
    return _started[0] if _started else None


def block(
    start: Start,
    address: str,
    interfaces: Sequence[str],
    console: bool,
    workers: Workers,
    further: Iterable[str],
) -> Iterator[str]:
    """Its lines.

    :param address: of the gateway, with its path.
    :param interfaces: those that are served.
    :param console: whether people can sign in.
    :param further: lines about further addresses.
    """
    yield f"\nThe gateway answers at {address}\n"
    if "api" in interfaces:
        later = "  (ready in about a minute)" if start.building else ""
        yield _line("Documentation", f"{address}/docs{later}")
    if console:
        yield _line("Console", f"{address}/admin/")
        yield from (_line("", each) for each in start.account)
    yield from (_line(*each.split(maxsplit=1)) for each in further)
    yield _line("Workers", f"{workers.number}, because {workers.why}")
    yield _line("Stop", f"Ctrl-C. The data stays in {start.stored}.")
    yield ""


def _line(name: str, value: str) -> str:
    return f"  {name:{_WIDTH}}{value}"
