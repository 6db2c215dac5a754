"""How many workers start by themselves: each rule that bounds their number, and the words for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.start_block import Start, block
from serving.workers import (
    LONE_MEMORY,
    MEGABYTE,
    MOST,
    SMALL_MEMORY,
    Machine,
    Workers,
    default_workers,
    this_machine,
)
from tests.site.snippets import block_of

SHOWN = block_of("docs/quick-start.md", "The gateway answers")
RUN = [SHOWN]
GIGABYTE = 1000 * MEGABYTE
AMPLE = 64 * GIGABYTE
PHYSICAL = this_machine(Path("/nonexistent"))
"""Without control groups."""


@pytest.mark.parametrize(
    ("cores", "memory", "number", "why"),
    [
        pytest.param(1, AMPLE, 2, "there is 1 core", id="one core"),
        pytest.param(2, AMPLE, 2, "there are 2 cores", id="two cores"),
        pytest.param(4, AMPLE, 4, "there are 4 cores", id="a worker a core"),
        pytest.param(64, AMPLE, MOST, "there are 64 cores", id="many cores"),
        pytest.param(8, SMALL_MEMORY - 1, 2, "there are 1,999 MB of memory", id="under 2 GB"),
        pytest.param(8, SMALL_MEMORY, 4, "there are 2,000 MB of memory", id="2 GB"),
        pytest.param(8, 3 * GIGABYTE, 6, "there are 3,000 MB of memory", id="3 GB"),
        pytest.param(8, 4 * GIGABYTE, 8, "there are 8 cores", id="4 GB"),
        pytest.param(2, LONE_MEMORY, 2, "there are 2 cores", id="room for two"),
        pytest.param(2, LONE_MEMORY - 1, 1, "there are 249 MB of memory", id="room for one"),
    ],
)
def test_workers_fit_the_machine(cores: int, memory: int, number: int, why: str) -> None:
    assert default_workers(Machine(cores, memory)) == Workers(number, why)


@pytest.mark.parametrize(
    ("group", "files", "memory"),
    [
        pytest.param("0::/\n", {"memory.max": "700000000\n"}, 700_000_000, id="container"),
        pytest.param(
            "0::/a.slice/b\n",
            {"a.slice/memory.max": "600000000\n", "a.slice/b/memory.max": "max\n"},
            600_000_000,
            id="group above",
        ),
        pytest.param(
            "0::/elsewhere\n", {"memory.max": "500000000\n"}, 500_000_000, id="path of the machine outside"
        ),
        pytest.param(
            "5:cpu,memory:/c\n4:pids:/\n",
            {"memory/c/memory.limit_in_bytes": "400000000\n"},
            400_000_000,
            id="version 1",
        ),
        pytest.param("0::/\n", {"memory.max": "max\n"}, PHYSICAL.memory, id="no limit"),
        pytest.param(
            "5:memory:/\n",
            {"memory/memory.limit_in_bytes": "9223372036854771712\n"},
            PHYSICAL.memory,
            id="no limit, version 1",
        ),
        pytest.param("0::/\n", {}, PHYSICAL.memory, id="no file"),
    ],
)
def test_memory_limit_of_group_counts(tmp_path: Path, group: str, files: dict[str, str], memory: int) -> None:
    _write_groups(tmp_path, group, files)
    assert this_machine(tmp_path).memory == memory


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("100000 100000", 1),
        ("50000 100000", 1),
        ("150000 100000", min(2, PHYSICAL.cores)),
        ("max 100000", PHYSICAL.cores),
    ],
)
def test_processor_limit_of_group_counts(tmp_path: Path, quota: str, cores: int) -> None:
    _write_groups(tmp_path, "0::/\n", {"cpu.max": f"{quota}\n"})
    assert this_machine(tmp_path).cores == cores


def _write_groups(root: Path, group: str, files: dict[str, str]) -> None:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(group)
    for name, text in files.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_block_is_that_of_the_quick_start() -> None:
    account = ("account   admin@localhost", "password  PASSWORD  (shown only this once)")
    start = Start(account, "instance/gateway.db", building=True, verbose=False)
    lines = block(start, "http://127.0.0.1:8000", ("api", "admin"), True, Workers(2, "there are 2 cores"), [])
    assert "\n".join(lines).strip() == SHOWN.code.strip()


def test_block_has_further_addresses() -> None:
    start = Start((), "instance/gateway.db", building=False, verbose=False)
    health = ["Health   http://127.0.0.1:9/readyz"]
    lines = block(start, "http://h", ("api",), False, Workers(1, "so"), health)
    assert "  Health         http://127.0.0.1:9/readyz" in lines


def test_block_names_only_what_is_served() -> None:
    start = Start((), "instance/gateway.db", building=False, verbose=False)
    lines = "\n".join(block(start, "http://h", ("ingest",), False, Workers(1, "so"), []))
    assert "Documentation" not in lines
    assert "Console" not in lines
