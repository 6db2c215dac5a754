"""Two contestants in turns, and the report about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bench.duels.bars import STEADY, Bar
from bench.duels.noise import QUIET, Clocks, share_of_others
from bench.duels.ratios import Bound, Verdict
from bench.duels.report import Line, duel_lines, print_bars, steady_line
from bench.duels.rounds import Duel, Round, duel, rate
from tests.load.wrk import Load

CALM = QUIET / 2
LOUD = QUIET + 0.01


def measured(name: str = "ours", requests: int = 100, p99_us: int = 10, others: float = CALM) -> Round:
    """A round of one second."""
    return Round(name, Load(requests, 1.0, 100, 5, p99_us, 0), 40.0, 2.0, others)


def fought(ours: list[int], theirs: list[int], others: float = CALM) -> Duel:
    pairs = zip(ours, theirs, strict=True)
    return Duel([(measured("a", a, others=others), measured("b", b, others=others)) for a, b in pairs])


def bars(bound: Bound, figure: Callable[[Round], float] = rate) -> list[Bar]:
    return [Bar("a / b", figure, bound)]


def test_first_pair_warms_up_then_alternates() -> None:
    turns: list[str] = []
    figures = iter(range(1, 100))

    def turn(name: str) -> Round:
        turns.append(name)
        return measured(name, next(figures))

    made = duel(lambda: turn("a"), lambda: turn("b"), 3)
    assert "".join(turns) == "abbaabba"
    assert [(a.name, b.name) for a, b in made.pairs] == [("a", "b")] * 3
    assert [(a.load.requests, b.load.requests) for a, b in made.pairs] == [(4, 3), (5, 6), (8, 7)]
    assert made.ratios(rate) == [4 / 3, 5 / 6, 8 / 7]


def test_others_are_busy_time_not_ours() -> None:
    before = Clocks(wall=10.0, busy=100.0, own=7.0)
    assert share_of_others(before, Clocks(12.0, 103.0, 9.0), 2) == 0.25
    assert share_of_others(before, Clocks(12.0, 103.0, 10.01), 2) == 0, "ticks"


@pytest.mark.parametrize(
    ("ours", "others", "verdict"),
    [
        (95, CALM, Verdict.HELD),
        (50, CALM, Verdict.MISSED),
        (95, LOUD, Verdict.UNCLEAR),
        (50, LOUD, Verdict.UNCLEAR),
    ],
)
def test_only_quiet_machine_decides_bar(ours: int, others: float, verdict: Verdict) -> None:
    (line,) = duel_lines(bars(Bound(at_least=0.7)), fought([ours] * 8, [100] * 8, others))
    assert line.verdict is verdict
    assert str(line) == (
        f"| a / b | ≥ 0.7 | {ours / 100:.2f} ({ours / 100:.2f} to {ours / 100:.2f}) | 42 / 42 "
        f"| {others:.0%} | {verdict.value} |"
    )


@pytest.mark.parametrize(
    ("rates", "others", "verdict"),
    [
        ([100, 90, 71, 100], [CALM] * 4, Verdict.HELD),
        ([100, 90, 60, 100], [CALM] * 4, Verdict.MISSED),
        ([100, 90, 60, 100], [CALM, CALM, LOUD, CALM], Verdict.HELD),  # somebody else was at work just then
        ([100, 90, 95, 100], [CALM, LOUD, LOUD, CALM], Verdict.UNCLEAR),  # too little is left
        ([100, 90, 60, 100], [LOUD] * 4, Verdict.UNCLEAR),
    ],
)
def test_slowest_quiet_round_counts(rates: list[int], others: list[float], verdict: Verdict) -> None:
    rounds = [measured(STEADY, r, others=o) for r, o in zip(rates, others, strict=True)]
    line = steady_line([measured("another", 1), *rounds])
    assert line is not None
    assert line.verdict is verdict
    assert steady_line([measured("another")]) is None


def lines(*verdicts: Verdict, others: float = CALM, bound: Bound | None = None) -> Iterator[Line]:
    for verdict in verdicts:
        yield Line("what", bound or Bound(at_least=1), "1", "1 / 1", others, verdict)


def test_only_a_missed_bar_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_bars(list(lines(Verdict.HELD, Verdict.UNCLEAR)))
    assert "The machine was quiet" in capsys.readouterr().out
    assert not print_bars(list(lines(Verdict.HELD, Verdict.MISSED)))
    assert print_bars(list(lines(Verdict.MISSED, bound=Bound()))), "it is shown and no bar"
