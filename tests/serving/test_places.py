"""Who gets a place at a worker, and how many connections each worker has."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from serving.connection import Connection
from serving.places import NoPlace, Places
from serving.shares import Shares


class Wire:
    """A socket that knows whether it was shut down."""

    ended = False

    def shutdown(self, _how: int) -> None:
        self.ended = True


def test_one_address_has_a_part_of_the_places() -> None:
    places = Places(4, 2)
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(places.taken_by(("192.0.2.1", 1)))
        with pytest.raises(NoPlace):
            held.enter_context(places.taken_by(("192.0.2.1", 2)))
        held.enter_context(places.taken_by(("192.0.2.2", 1)))
        assert len(places) == 3
    assert len(places) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [("2001:db8::1", "2001:db8::ffff"), ("::ffff:192.0.2.1", "192.0.2.1"), ("fe80::1%eth0", "fe80::2%eth0")],
)
def test_addresses_of_one_subscriber_count_together(one: str, other: str) -> None:
    places = Places(4, 1)
    with places.taken_by((one, 1, 0, 0)), pytest.raises(NoPlace), places.taken_by((other, 1)):
        pass


def test_who_waits_longest_leaves_first() -> None:
    places, wires = Places(2, 2), (Wire(), Wire())
    with ExitStack() as held:
        for wire, address in zip(wires, ("192.0.2.1", "192.0.2.2"), strict=True):
            name = held.enter_context(places.taken_by((address, 1)))
            held.enter_context(places.waiting(Connection(wire), name))  # type: ignore[arg-type]
        with places.taken_by(("192.0.2.3", 1)):
            assert [wire.ended for wire in wires] == [True, False]
        places.send_all_away()
        assert wires[1].ended


def test_only_who_waits_has_to_leave() -> None:
    places = Places(1, 1)
    with places.taken_by(("192.0.2.1", 1)), pytest.raises(NoPlace), places.taken_by(("192.0.2.2", 1)):
        pass


def test_connections_through_a_file_are_not_counted_by_address() -> None:
    places = Places(3, 1)
    with places.taken_by(""), places.taken_by(b""), places.taken_by(""):
        assert len(places) == 3


def test_the_least_of_all_workers() -> None:
    shares = Shares()
    assert shares.least() == 0
    shares.note(1, 7)
    shares.note(2, 5)
    assert shares.least() == 5
    shares.forget(2)
    assert shares.least() == 7
