"""What translating logs comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.transfer.events import Event
from app.domain.watching.blocks import Log
from app.domain.watching.steps import Waiting, WaitingKey


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A log of a watched contract that cannot be told as an event; the reason is for operators."""

    log: Log
    reason: str


@dataclass(frozen=True, slots=True)
class Translation:
    """What a step writes of the logs that it read.

    :param events: in the order of their logs, and then what came due.
    :param waiting: to be kept; one that is kept under the same kind and key is replaced.
    :param done: what waits no longer.
    :param unreadable: faults to be shown. The step is written all the same: the logs stay on the chain, and
        the range that holds them can be read again.
    """

    events: Sequence[Event]
    waiting: Sequence[Waiting]
    done: Sequence[WaitingKey]
    unreadable: Sequence[Unreadable]
