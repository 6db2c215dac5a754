"""What ends a pause of somebody whose answer comes later."""

from __future__ import annotations

import gevent
import gevent.socket
import pytest

from serving.connection import Connection
from serving.parking import ClientGone, _Bell


def test_a_request_in_advance_does_not_keep_the_process_busy_while_its_sender_reads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What nobody reads can be read again in each turn of the loop, and sending may take half a minute."""
    rings: list[_Bell] = []
    ring = _Bell.ring

    def counted(bell: _Bell) -> None:
        rings.append(bell)
        ring(bell)

    monkeypatch.setattr(_Bell, "ring", counted)
    ours, theirs = gevent.socket.socketpair()
    bell = _Bell(Connection(ours))
    theirs.sendall(b"GET ")
    for _ in range(20):
        gevent.sleep(0.001)
    assert len(rings) == 1
    bell.wait(1)
    bell.close()
    theirs.close()
    ours.close()


def test_a_client_that_leaves_ends_the_pause_and_one_that_was_rung_for_is_still_listened_to() -> None:
    ours, theirs = gevent.socket.socketpair()
    bell = _Bell(Connection(ours))
    gevent.spawn(bell.ring)
    bell.wait(1)
    gevent.spawn(theirs.close)
    with pytest.raises(ClientGone):
        bell.wait(5)
    bell.close()
    ours.close()
