"""The headers that tell programs how far a transfer has come (docs/interface.md#progress)."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Final

from app.domain.keys import TransferId
from app.domain.times import rfc3339
from app.domain.transfer.progress import Progress

TERMINAL: Final = "X-Transfer-Terminal"
FINAL_BY: Final = "X-Transfer-Final-By"
NEXT_ACTOR: Final = "X-Transfer-Next-Actor"
NEXT_POLL: Final = "X-Transfer-Next-Poll-Seconds"
AS_OF: Final = "X-Transfer-As-Of"

PROGRESS_HEADERS: Final = (TERMINAL, FINAL_BY, NEXT_ACTOR, NEXT_POLL, AS_OF)

MEANT: Final = "X-Transfer-Id"
"""The transfer of a transaction whose hash was sent as an id (docs/interface.md#transaction-as-id)."""


def meant_header(meant: TransferId | None) -> list[tuple[str, str]]:
    """The header that names the transfer which was meant, where another id was sent."""
    return [] if meant is None else [(MEANT, f"0x{meant.hex()}")]


def progress_headers(progress: Progress | None, as_of: datetime | None) -> list[tuple[str, str]]:
    """Names and values.

    Where the transfer is over, there is no time of the next question; where it is not, no reason why it is.
    There is no time of the newest fact where nothing was taken in.
    """
    headers: list[tuple[str, str]] = []
    if progress is not None:
        headers = [
            (TERMINAL, "true" if progress.terminal else "false"),
            (NEXT_ACTOR, progress.next_actor.value),
        ]
        if progress.final_by is not None:
            headers.append((FINAL_BY, progress.final_by.value))
        if progress.next_poll_seconds:
            headers.append((NEXT_POLL, str(progress.next_poll_seconds)))
    if as_of is not None:
        headers.append((AS_OF, _written(as_of)))
    return headers


@lru_cache(maxsize=64)
def _written(at: datetime) -> str:
    """Many answers in a row have the same time, and writing it costs more than all else here."""
    return rfc3339(at, "seconds")
