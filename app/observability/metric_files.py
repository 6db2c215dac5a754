"""The files that the workers of one server count into: prometheus-client's mode for several processes.

Workers serve the metrics themselves. A process of its own would answer while no worker does.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from prometheus_client import values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

_PREFIX: Final = "gateway-metrics-"
_LIBRARY_READS: Final = "PROMETHEUS_MULTIPROC_DIR"


class MetricFiles:
    """The directory of one server, which its workers count into and read from."""

    def __init__(self, directory: Path) -> None:
        """
        :param directory: made by :func:`begin`.
        """
        self.directory = directory
        self.number = 0
        """Of this process, in the names of its files; 0 for the master.

        A worker gets the number of one that has ended, and goes on counting in its files. So no counter goes
        backwards, and there are no more files than numbers, however often workers end.
        """

    def count_here(self) -> None:
        """Make all metrics that are created from now on count into files of this directory.

        To be called before the first is created.
        """
        os.environ[_LIBRARY_READS] = str(self.directory)  # noqa: TID251  the library reads it there
        values.ValueClass = values.MultiProcessValue(lambda: self.number)

    def collected(self) -> list[Metric]:
        """The counts of all workers, living and ended."""
        files = [str(file) for file in self.directory.glob("*.db") if _holds_values(file)]
        return list(MultiProcessCollector.merge(files))

    def forget_state(self, number: int) -> None:
        """Remove what the worker of this number reported of itself: it has ended. What it counted stays."""
        mark_process_dead(number, str(self.directory))

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
        words = f"no directory for metrics can be made in {place}: {error.strerror}"
        raise SystemExit(f"METRICS_PORT: {words}: let this user write there, or unset METRICS_PORT") from None
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
    # Never closed, and workers inherit it: the directory is in use until the last of them has ended.
    fcntl.flock(os.open(directory, os.O_RDONLY), fcntl.LOCK_SH)
    return MetricFiles(directory)


def _remove_unless_used(directory: Path) -> None:
    """Remove a directory that is not in use. Files, links, and directories of others, are left: others may
    write here.
    """
    with suppress(OSError):
        opened = os.open(directory, os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(opened).st_uid == os.getuid():
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(opened)
