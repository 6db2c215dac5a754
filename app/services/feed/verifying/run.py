"""Whether everything that is projected follows from the log; nobody waits meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from app.db.engine import reading, reading_consistently
from app.queries.feed.transfers import count_transfers
from app.runtime.gateway import Gateway
from app.services.feed.grown import refuse_grown
from app.services.feed.verifying.differences import Difference
from app.services.feed.verifying.parts import every_part


def verify(
    gateway: Gateway,
    found: Callable[[Difference], None],
    progress: Callable[[int], None] = lambda _transfers: None,
) -> int:
    """Compare every projection with the log, part by part; how many transfers there are.

    Each part is read as it was at one moment, and a fact is committed with all that follows from it: what is
    reported meanwhile is no difference.

    :param found: called with each row that differs.
    :param progress: called after each chunk of transfers with their number.
    :raises NoEventLog: the transfers have no events.
    """
    with reading(gateway.engine) as connection:
        refuse_grown(connection)
    count = 0
    for part in every_part(gateway):
        with reading_consistently(gateway.engine) as connection:
            differences = part.compare(connection)
        for difference in differences:
            found(difference)
        if part.transfers:
            count += part.transfers
            progress(part.transfers)
    return count


def about_how_many(gateway: Gateway) -> int:
    """How many transfers will be compared, about."""
    with reading(gateway.reads) as connection:
        return count_transfers(connection)
