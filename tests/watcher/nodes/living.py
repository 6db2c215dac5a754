"""A reader's rounds over whatever a node does, and what has to be true after them."""

from __future__ import annotations

from app.watcher.loop.reader import Reader
from app.watcher.rpc.faults import RpcFault
from tests.feed.services.world import forget_events
from tests.watcher.kit import Watched, answers


def turn(watched: Watched, reader: Reader) -> bool:
    """One round of all that a reader does. Returns whether something failed."""
    failed = False
    for work in (reader.poll, reader.background, reader.reread, reader.prove):
        try:
            work()
        except RpcFault:
            failed = True
    watched.time.go(1)
    return failed


def expect_undisturbed(watched: Watched) -> None:
    """The answers are those of a reader to whom nothing happened."""
    found = answers(watched.database)
    forget_events(watched.app)
    watched.settle(watched.reader())
    assert answers(watched.database) == found
