"""The files that the workers of one server count into: where they are, and what becomes of those of the dead.

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
"""In place of a process id: the sums of all that ended."""

_SUMMED: Final = ("counter", "histogram")
_OF_PROCESS: Final = re.compile(r"[a-z_]+_(\d+)\.db")

LOCK_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.005

_log = logging.getLogger(__name__)


class MetricFiles:
    """The directory of one server, which its workers count into and read from."""

    def __init__(self, directory: Path) -> None:
        """
        :param directory: as :func:`begin` made it.
        """
        self.directory = directory

    def count_here(self) -> None:
        """Have all metrics that are made from now on count into files of this directory, one a process.

        To be called before the first is made. Values of a process that forks begin again in its child.
        """
        os.environ[_LIBRARY_READS] = str(self.directory)  # noqa: TID251  the library reads it there
        values.ValueClass = values.MultiProcessValue()

    def collected(self) -> list[Metric]:
        """The counts of all processes, living and ended. Who waits lets other requests go on.

        :raises TimeoutError: the master moves counts from one file to another, and was stopped meanwhile.
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
        """Add what ended workers counted to the sums of all that ended, and remove their files.

        So there are about as many files as there are workers, and no counter goes backwards. To be called by
        the master, which does not wait for who reads: the next worker that ends has it done.

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
        """Whether counts are not read while they are moved: some would be read twice, or not at all."""
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
    """The library cannot read what a worker has only just made. Gauges of a dead one go at any moment."""
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _add(file: Path, sums: Path) -> None:
    """Add the values of one file to those of another. A file that breaks off counts as far as it goes."""
    total = MmapedDict(str(sums))
    try:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):
            total.write_value(key, total.read_value(key)[0] + value, 0.0)
    except Exception:  # the worker may have been killed while it wrote
        _log.warning("what a worker had counted could not be read to its end: %s", file.name)
    finally:
        total.close()


_HELD: list[IO[str]] = []
"""Open while the server lives: whoever starts next sees by it that the directory is in use."""


@cache
def files_of_this_server() -> MetricFiles:
    """Have what is counted from now on come into files. Once, however often the configuration is read.

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
    """A new, empty directory for the server that this process is the master of.

    Those that servers left behind, which were killed, are removed. Each server has one of its own: while one
    is upgraded (USR2), two of them run.
    """
    own = f"{_PREFIX}{os.getuid()}-"
    for left in place.glob(f"{own}*"):
        _remove_unless_used(left)
    directory = Path(tempfile.mkdtemp(prefix=f"{own}{os.getpid()}-", dir=place))
    held = (directory / "used").open("w")
    fcntl.flock(held, fcntl.LOCK_SH)
    _HELD.append(held)  # workers inherit it: what they count is theirs until the last of them has ended
    return MetricFiles(directory)


def _remove_unless_used(directory: Path) -> None:
    """Remove what nobody holds. What is not ours, or no directory, is left alone: others may write here."""
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
