"""One implementation for both faces: steps that yield what a face has begun, and go on with its result.

``state = yield gateway.status(…)``: a ``Gateway`` has the state by then, an ``AsyncGateway`` begins a
coroutine, which is awaited here. An error is raised where the step is, in both.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[Any, Any, T]
Either: TypeAlias = T | Coroutine[Any, Any, T]
"""What both faces return: a result, or what is awaited for it."""


def finish(steps: Steps[T], *, awaited: bool) -> Either[T]:
    """The result of the steps, or a coroutine that takes them."""
    return finish_awaited(steps) if awaited else finish_called(steps)


def finish_called(steps: Steps[T]) -> T:
    done = None
    try:
        while True:
            done = steps.send(done)
    except StopIteration as end:
        result: T = end.value
        return result


async def finish_awaited(steps: Steps[T]) -> T:
    try:
        begun = next(steps)
        while True:
            try:
                done = await begun
            except Exception as failed:
                begun = steps.throw(failed)
            else:
                begun = steps.send(done)
    except StopIteration as end:
        result: T = end.value
        return result
