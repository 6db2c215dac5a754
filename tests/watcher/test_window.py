"""The size of the next range."""

from __future__ import annotations

from app.watcher.loop.view import FORGIVEN_AFTER, LARGEST, Window


def test_fast_answers_double_range_to_maximum() -> None:
    window = Window()
    sizes = []
    for _ in range(12):
        window = window.answered(window.size, 0.5, 10)
        sizes.append(window.size)
    assert sizes[:3] == [512, 1024, 2048] and window.size == LARGEST


def test_short_range_changes_nothing() -> None:
    assert Window().answered(3, 0.1, 0) == Window()


def test_moderate_answer_changes_nothing() -> None:
    assert Window().answered(256, 3.0, 10) == Window()
    assert Window().answered(256, 0.5, 9_000) == Window()


def test_slow_or_full_answers_halve_it() -> None:
    assert Window().answered(256, 9.0, 10).size == 128
    assert Window().answered(256, 0.1, 20_000).size == 128
    assert Window(size=1).answered(1, 9.0, 10).size == 1


def test_refused_size_is_avoided_for_now() -> None:
    window = Window(size=2048).refused(2048)
    assert (window.size, window.ceiling) == (1024, 2047)
    window = window.answered(1024, 0.1, 0)
    assert window.size == 2047
    for _ in range(FORGIVEN_AFTER - 1):
        window = window.answered(2047, 0.1, 0)
        assert window.size == 2047
    window = window.answered(2047, 0.1, 0).answered(2047, 0.1, 0)
    assert window.size == 4094


def test_size_named_by_node_is_used() -> None:
    window = Window(size=4096).refused(4096, 2000)
    assert window.size == 2000
    assert window.answered(2000, 0.1, 0).size == 2000


def test_larger_named_size_is_ignored() -> None:
    assert Window(size=4096).refused(4096, 10_000).size == 2048


def test_refusal_of_short_range_counts() -> None:
    assert Window(size=4096).refused(10).size == 5


def test_it_ends_at_one_block() -> None:
    window = Window()
    for _ in range(20):
        window = window.refused(window.size)
    assert window.size == 1 and window.stuck
    assert not Window().stuck
    assert window.answered(1, 0.1, 0).size == 1
