"""A test that measures has nobody beside it, and is not passed by for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.alone import taking_turns

SOON = 10


@contextmanager
def inside(folder: Path, *, alone: bool) -> Iterator[threading.Event]:
    """Somebody who comes; when they are in."""
    entered, leave = threading.Event(), threading.Event()

    def come() -> None:
        with taking_turns(alone=alone, folder=folder):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=come)
    thread.start()
    yield entered
    leave.set()
    thread.join(SOON)
    assert not thread.is_alive()


def test_measuring_test_waits_and_is_awaited(tmp_path: Path) -> None:
    """The others wait for it, and it for them."""
    with ExitStack() as others:
        first = others.enter_context(inside(tmp_path, alone=False))
        assert first.wait(SOON)
        second = others.enter_context(inside(tmp_path, alone=False))
        assert second.wait(SOON), "the others run beside each other"
        with ExitStack() as later:
            with inside(tmp_path, alone=True) as measures:
                assert not measures.wait(0.2)
                third = later.enter_context(inside(tmp_path, alone=False))
                assert not third.wait(0.2), "nobody passes the one who waits"
                others.close()
                assert measures.wait(SOON)
                assert not third.wait(0.2)
            assert third.wait(SOON)
