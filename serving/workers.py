"""How many workers serve where nobody has ordered a number, and why: cores, memory and the database."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from app.db.connections import workers_allowed
from app.db.database import Database

FEW: Final = 2
"""At least: while one is replaced, the other answers."""

MOST: Final = 8
"""Past these, connections to the database are scarce, so more must be ordered."""

MEGABYTE: Final = 10**6
LONE_MEMORY: Final = 250 * MEGABYTE
"""Below, there is room for one worker and no second."""

SMALL_MEMORY: Final = 2000 * MEGABYTE
"""Below, a machine has few."""

WORKER_MEMORY: Final = 500 * MEGABYTE
"""For each worker of a machine that is not small. It leaves room for a database next to them."""

_MEMORY_LIMITS: Final = (("", "memory.max"), ("memory", "memory.limit_in_bytes"))
"""Below the folder of control groups, in its versions 2 and 1."""


class Machine(Struct, frozen=True):
    """What this process may use, which in a container is less than the machine has. Memory is in bytes."""

    cores: int
    memory: int


class Workers(Struct, frozen=True):
    """How many, and why, in words for the person who starts them."""

    number: int
    why: str


def default_workers(machine: Machine) -> Workers:
    """The number that fits a machine."""
    by_cores = min(max(FEW, machine.cores), MOST)
    by_memory = _by_memory(machine.memory)
    if by_memory < by_cores:
        return Workers(by_memory, f"there are {machine.memory // MEGABYTE:,} MB of memory")
    return Workers(by_cores, f"there {'is 1 core' if machine.cores == 1 else f'are {machine.cores} cores'}")


def _by_memory(memory: int) -> int:
    if memory < LONE_MEMORY:
        return 1
    return FEW if memory < SMALL_MEMORY else memory // WORKER_MEMORY


def within_database(workers: Workers, database: Database) -> Workers:
    """No more than its connections allow, and at least one. A database that does not answer allows all."""
    allowed = workers_allowed(database)
    if allowed is None or allowed.workers >= workers.number:
        return workers
    return Workers(max(1, allowed.workers), f"{allowed.server} allows {allowed.connections} connections")


def this_machine(root: Path = Path("/")) -> Machine:
    """
    :param root: below which the system shows control groups.
    """
    memory = min([_physical_memory(), *_limits(root, _MEMORY_LIMITS)])
    return Machine(max(1, min([_usable_cores(), *_core_limits(root)])), memory)


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _physical_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _limits(root: Path, files: Iterable[tuple[str, str]]) -> Iterator[int]:
    for controller, name in files:
        for text in _of_groups(root, controller, name):
            if text.isdecimal():  # and not max
                yield int(text)


def _core_limits(root: Path) -> Iterator[int]:
    """Whole cores of the processor's time that a control group of version 2 may have, rounded up."""
    for text in _of_groups(root, "", "cpu.max"):
        quota, _, period = text.partition(" ")
        if quota.isdecimal() and period.isdecimal():
            yield -(-int(quota) // int(period))


def _of_groups(root: Path, controller: str, name: str) -> Iterator[str]:
    """The content of a file of this process's control group, and of those above it, where they have it."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    top = root / "sys/fs/cgroup" / controller
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controller not in controllers.split(","):
            continue
        group = top / path.strip("/")  # in a container, it may have another name than outside
        for folder in (group, *group.parents):
            with suppress(OSError):
                yield (folder / name).read_text(encoding="utf-8").strip()
            if folder == top:
                break
