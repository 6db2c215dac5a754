"""A short run of every fault, and of every kill."""

from __future__ import annotations

import re

import pytest

from tests.faults_rig import kills, machine, programs
from tests.faults_rig.__main__ import main
from tests.faults_rig.faults import FAULTS
from tests.programs import missing

pytestmark = [pytest.mark.slow, pytest.mark.system]


def test_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    if lacking := programs.missing():
        missing(f"not installed: {', '.join(lacking)}")
    assert main(["--quick"]) == 0
    printed = capsys.readouterr()
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in printed.out.splitlines()}
    left_out = set(re.findall(r"cannot be made here: (.*)", printed.err))
    names = {fault.name for fault in FAULTS} - left_out
    assert names <= lines.keys()
    assert "Acknowledged events lost: none." in printed.out
    for name in ("nothing happens", "a worker killed", "rolling restart", "Redis gone", "replica lagging"):
        share = re.search(r"\(([\d.]+) %", lines[name])
        assert share and float(share[1]) <= 1, lines[name]
    assert not [name for name in names if " | never | " in lines[name]]
    if "clock moved by an hour" in names:
        assert "not ready (clocks: the database's is 3600 s behind" in lines["clock moved by an hour"]


def test_killed_main_process_is_restarted_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    if lacks := machine.lacking():
        missing(lacks)
    assert kills.main([]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == len(kills.PROGRAMS) + len(kills.NODES)
