"""What is said of a fault, and a short run of every one."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from tests.faults_rig import kills, machine, programs
from tests.faults_rig.__main__ import main
from tests.faults_rig.faults import FAULTS
from tests.faults_rig.figures import Figures, figures, longest_gap, p99, recovered_after
from tests.faults_rig.health import Health
from tests.faults_rig.table import HEADER, Result, line, silent
from tests.load.steady import Seen, request_bytes
from tests.programs import missing

BEGAN = 1000.0


def steady(first: float, last: float, outcome: str = "200", rate: int = 200) -> list[Seen]:
    """So many requests a second, due from one second after the fault's beginning to another."""
    return [Seen(BEGAN + n / rate, 0.01, outcome) for n in range(int(first * rate), int(last * rate))]


def test_nothing_failed() -> None:
    seen = steady(-5, 20)
    found = figures(seen, BEGAN, BEGAN + 10)
    assert (found.requests, found.failed, found.recovered) == (5000, Counter(), 0.0)
    assert found.gap == pytest.approx(0.005)
    assert (found.p99_before, found.p99_during) == pytest.approx((10, 10))


def test_failures_are_counted_by_their_outcome() -> None:
    seen = steady(-5, 2) + steady(2, 12, "503") + steady(12, 14, "timeout") + steady(14, 30)
    found = figures(seen, BEGAN, BEGAN + 10)
    assert found.failed == {"503": 2000, "timeout": 400}
    assert found.gap == pytest.approx(12, abs=0.01)
    assert found.recovered == 4


def test_earlier_failure_is_not_recovery_time() -> None:
    assert recovered_after(steady(-5, 0, "503") + steady(0, 10), BEGAN, BEGAN) == 0


def test_brief_good_second_is_no_recovery() -> None:
    seen = steady(0, 2, "503") + steady(2, 4) + steady(4, 5, "503") + steady(5, 9)
    assert recovered_after(seen, BEGAN, BEGAN) == 5
    assert recovered_after(seen, BEGAN, BEGAN + 6) == 0
    assert recovered_after(seen[:-401], BEGAN, BEGAN) is None  # not long enough to be known


@pytest.mark.parametrize(("bad", "recovered"), [(2, 0), (3, 1)])
def test_one_in_a_hundred_may_fail(bad: int, recovered: int) -> None:
    seen = steady(0, 10)
    seen[:bad] = [Seen(one.due, one.seconds, "502") for one in seen[:bad]]
    assert recovered_after(seen, BEGAN, BEGAN) == recovered


def test_a_gap_is_between_good_answers() -> None:
    slow = Seen(BEGAN + 1, 6.0, "200")
    assert longest_gap([Seen(BEGAN, 1.0, "200"), Seen(BEGAN + 2, 0.1, "503"), slow]) == pytest.approx(6)
    assert longest_gap(steady(0, 3, "503")) == math.inf
    assert longest_gap([slow]) == 0


def test_the_time_of_answers_leaves_out_failures() -> None:
    seen = [Seen(BEGAN, n / 1000, "200") for n in range(1, 102)] + [Seen(BEGAN, 10.0, "timeout")] * 50
    assert p99(seen) == pytest.approx(100)
    assert math.isnan(p99([]))


def test_a_line_of_the_table() -> None:
    result = Result(
        name="database stopped",
        figures=Figures(1000, Counter({"503": 20, "502": 1}), 1.25, None, 4.4, 80.6),
        health={"a": Health(asked=9, answered=9, good=9, slowest=0.02), "b": Health(asked=9, answered=7)},
        ready={
            "a": Health(asked=9, answered=9, good=9),
            "b": Health(asked=9, answered=9, good=4, words='{"err":{"code":500,"msg":"clocks: no"}}'),
        },
        acknowledged=80,
        lost=2,
        sent_again=3,
    )
    told = line(result)
    assert told.count("|") == HEADER.partition("\n")[0].count("|")
    cells = [cell.strip() for cell in told.strip("|").split("|")]
    assert cells == [
        "database stopped",
        "21 of 1000 (2.10 %: 1 x 502, 20 x 503)",
        "1.25 s",
        "never",
        "4, 81 ms",
        "80",
        "2",
        "3",
        "a: 9 of 9, 0.02 s; b: 7 of 9, 0.00 s",
        "b: 5 of 9 not ready (clocks: no)",
    ]
    assert silent(result) == 2


def test_a_request_is_whole() -> None:
    assert request_bytes("GET", "/x?a=1", "") == b"GET /x?a=1 HTTP/1.1\r\nHost: gateway.test\r\n\r\n"
    assert request_bytes("POST", "/x", "{}").endswith(b"\r\nContent-Length: 2\r\n\r\n{}")


@pytest.mark.slow
@pytest.mark.system
def test_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    if lacking := programs.missing():
        missing(f"not installed: {', '.join(lacking)}")
    assert main(["--quick"]) == 0
    told = capsys.readouterr()
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in told.out.splitlines()}
    left_out = set(re.findall(r"cannot be made here: (.*)", told.err))
    names = {fault.name for fault in FAULTS} - left_out
    assert names <= lines.keys()
    assert "Acknowledged events lost: none." in told.out
    for name in ("nothing happens", "a worker killed", "rolling restart", "Redis gone", "replica lagging"):
        share = re.search(r"\(([\d.]+) %", lines[name])
        assert share and float(share[1]) <= 1, lines[name]
    assert not [name for name in names if " | never | " in lines[name]]
    if "clock moved by an hour" in names:
        assert "not ready (clocks: the database's is 3600 s behind" in lines["clock moved by an hour"]


@pytest.mark.slow
@pytest.mark.system
def test_every_killed_main_process_comes_back_within_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    if lacks := machine.lacking():
        missing(lacks)
    assert kills.main([]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == len(kills.PROGRAMS) + len(kills.NODES)
