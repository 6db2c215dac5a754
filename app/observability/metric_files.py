"""The files that the workers of one server count into: their place, and how those of ended workers are added
up.

They are those of prometheus-client's mode for several processes (docs/decisions/0047-metrics.md).
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import product
from pathlib import Path
from typing import IO, Final

from prometheus_client import values
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

_PREFIX: Final = "gateway-metrics-"
_LIBRARY_READS: Final = "PROMETHEUS_MULTIPROC_DIR"
_ENDED: Final = "ended"
"""Used in place of a process id: the sums of all that ended."""

_SUMMED: Final = ("counter", "histogram")
_OF_PROCESS: Final = re.compile(r"[a-z_]+_(\d+)\.db")

LOCK_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.005

_log = logging.getLogger(__name__)


class MetricFiles:
    """The directory of one server, which its workers count into and read from."""

    def __init__(self, directory: Path) -> None:
        """
        :param directory: made by :func:`begin`.
        """
        self.directory = directory

    def count_here(self) -> None:
        """Make all metrics that are created from now on count into files of this directory, one a process.

        To be called before the first is created. After a fork the values start again in the child.
        """
        os.environ[_LIBRARY_READS] = str(self.directory)  # noqa: TID251  the library reads it there
        values.ValueClass = values.MultiProcessValue()

    def collected(self) -> list[Metric]:
        """The counts of all processes, living and ended. Other requests go on while it waits.

        :raises TimeoutError: the master was stopped while it moved counts from one file to another.
        """
        until = time.monotonic() + LOCK_SECONDS
        while True:
            with self._locked(fcntl.LOCK_SH) as locked:
                if locked:
                    files = [str(file) for file in self.directory.glob("*.db") if _holds_values(file)]
                    return list(MultiProcessCollector.merge(files, accumulate=True))
            if time.monotonic() > until:
                raise TimeoutError("what ended workers had counted is still being added up")
            time.sleep(_PAUSE_SECONDS)

    def add_up_ended(self, living: Collection[int]) -> None:
        """Add the counts of ended workers to the sums of all that ended, and remove their files.

        So there are about as many files as there are workers, and no counter goes backwards. To be called by
        the master, which does not wait for readers: if one is active, this is done when the next worker ends.

        :param living: the processes of the server.
        """
        names = [_OF_PROCESS.fullmatch(file.name) for file in self.directory.glob("*.db")]
        ended = {int(name[1]) for name in names if name} - {*living}
        for pid in ended:
            mark_process_dead(pid, str(self.directory))
        with self._locked(fcntl.LOCK_EX) as locked:
            for pid, kind in product(ended, _SUMMED) if locked else ():
                file = self.directory / f"{kind}_{pid}.db"
                if file.exists():
                    _add(file, self.directory / f"{kind}_{_ENDED}.db")
                    file.unlink()

    @contextmanager
    def _locked(self, how: int) -> Iterator[bool]:
        """Whether the lock was taken. Counts must not be read while they are moved: some would be read twice,
        or not at all.
        """
        with (self.directory / "lock").open("a") as file:
            try:
                fcntl.flock(file, how | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def remove(self) -> None:
        """Remove the directory: the server ends."""
        shutil.rmtree(self.directory, ignore_errors=True)


def _holds_values(file: Path) -> bool:
    """Whether the file has values. The library cannot read new empty files, and gauges of ended workers
    vanish any time.
    """
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _add(file: Path, sums: Path) -> None:
    """Add the values of one file to those of another. Of a truncated file the readable part counts."""
    total = MmapedDict(str(sums))
    try:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):
            total.write_value(key, total.read_value(key)[0] + value, 0.0)
    except Exception:  # the worker may have been killed while it wrote
        _log.warning("what a worker had counted could not be read to its end: %s", file.name)
    finally:
        total.close()


_HELD: list[IO[str]] = []
"""Open while the server lives: the next server to start sees by it that the directory is in use."""


@cache
def files_of_this_server() -> MetricFiles:
    """Make everything that is counted from now on go into files. Only once, even if the configuration is read
    again.

    To be called before the application is made.

    :raises SystemExit: there is no place for them.
    """
    memory = Path("/dev/shm")  # noqa: S108  names in it are made by mkdtemp
    place = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    try:
        files = begin(place)
    except OSError as error:
        text = f"METRICS_PORT: no directory for metrics can be made in {place}: {error.strerror}"
        raise SystemExit(text) from None
    files.count_here()
    return files


def begin(place: Path) -> MetricFiles:
    """Make a new, empty directory for the server whose master this process is.

    Directories that killed servers left are removed. Each server has its own: during an upgrade (USR2) two of
    them run.
    """
    own = f"{_PREFIX}{os.getuid()}-"
    for left in place.glob(f"{own}*"):
        _remove_unless_used(left)
    directory = Path(tempfile.mkdtemp(prefix=f"{own}{os.getpid()}-", dir=place))
    held = (directory / "used").open("w")
    fcntl.flock(held, fcntl.LOCK_SH)
    _HELD.append(held)  # workers inherit it: their counts stay until the last of them has ended
    return MetricFiles(directory)


def _remove_unless_used(directory: Path) -> None:
    """Remove a directory that is not in use. Files, and directories of others, are left: others may write
    here.
    """
    with suppress(OSError):
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return
        with (directory / "used").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            shutil.rmtree(directory, ignore_errors=True)
