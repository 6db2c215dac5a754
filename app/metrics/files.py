"""The files that workers count into: where they are, and what becomes of those of workers that ended."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from prometheus_client import multiprocess, values
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

_PREFIX: Final = "gateway-metrics-"
_LIBRARY_READS: Final = "PROMETHEUS_MULTIPROC_DIR"
_SUMMED: Final = ("counter", "histogram")
_ENDED: Final = "ended"
"""In place of a process id: the sums of all that ended."""

_OF_PROCESS: Final = re.compile(r"[a-z_]+_(\d+)\.db")

LOCK_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.005

_log = logging.getLogger(__name__)


class Unusable(OSError):
    """The directory cannot be made, or is not ours alone."""


def _lives(pid: int) -> bool:
    """Whether the process is there and one of this server: numbers of processes are used again."""
    try:
        return os.getpgid(pid) == os.getpgrp()
    except OSError:
        return False


class MetricFiles:
    """The directory of one server, which its workers count into and read from."""

    def __init__(self, directory: Path, lives: Callable[[int], bool] = _lives) -> None:
        """
        :param directory: as :func:`begin` made it.
        :param lives: whether the process of a number is one of the server.
        """
        self.directory = directory
        self._lives = lives

    def count_here(self) -> None:
        """Have all metrics that are made from now on count into files of this directory, one a process.

        To be called before the first is made. Values of a process that forks begin anew in its child.
        """
        os.environ[_LIBRARY_READS] = str(self.directory)  # noqa: TID251  the library reads it there
        values.ValueClass = values.MultiProcessValue()

    def collected(self) -> list[Metric]:
        """The counts of all processes, living and ended.

        :raises TimeoutError: another process has the files to itself for too long.
        """
        with self._unchanged():
            self._add_up_ended()
            # The library cannot read a file that a worker has only just made.
            files = [str(file) for file in self.directory.glob("*.db") if file.stat().st_size]
            return list(MultiProcessCollector.merge(files, accumulate=True))

    def add_up_ended(self) -> None:
        """Add what ended processes counted to the sums of all that ended, and remove their files.

        So there are about as many files as there are workers, however many there have been, and no counter
        goes backwards. Whoever reads does it first.

        :raises TimeoutError: another process has the files to itself for too long.
        """
        with self._unchanged():
            self._add_up_ended()

    def _add_up_ended(self) -> None:
        names = {file.name: _OF_PROCESS.fullmatch(file.name) for file in self.directory.glob("*.db")}
        for pid in {int(match[1]) for match in names.values() if match}:
            if self._lives(pid):
                continue
            multiprocess.mark_process_dead(pid, str(self.directory))
            for kind in _SUMMED:
                file = self.directory / f"{kind}_{pid}.db"
                if file.exists():
                    _add(file, self.directory / f"{kind}_{_ENDED}.db")
                    file.unlink()

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Nobody moves counts from one file to another meanwhile: otherwise some would be read twice or not
        at all.

        Who waits lets other requests go on, and not for ever: whoever has the lock may have been stopped.
        """
        until = time.monotonic() + LOCK_SECONDS
        with (self.directory / "lock").open("a") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise TimeoutError("another worker is reading what was counted") from None
                time.sleep(_PAUSE_SECONDS)
            yield

    def remove(self) -> None:
        """Remove the directory: the server ends."""
        shutil.rmtree(self.directory, ignore_errors=True)


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


def begin(place: Path | None = None) -> MetricFiles:
    """A new, empty directory for the server that this process is the master of.

    Those that servers left behind, which were killed, are removed. Each server has one of its own: while one
    is upgraded (USR2), two of them run.

    :param place: where; memory if there is a file system in it, else the directory for temporary files.
    :raises Unusable: it cannot be made.
    """
    place = place or _place()
    own = f"{_PREFIX}{os.getuid()}-"
    try:
        for left in place.glob(f"{own}*"):
            _remove_unless_used(left)
        directory = Path(tempfile.mkdtemp(prefix=f"{own}{os.getpid()}-", dir=place))
        held = (directory / "used").open("w")
        fcntl.flock(held, fcntl.LOCK_SH)
    except OSError as error:
        raise Unusable(f"no directory for metrics can be made in {place}: {error.strerror}") from None
    _HELD.append(held)  # workers inherit it: what they count is theirs until the last of them has ended
    return MetricFiles(directory)


def _place() -> Path:
    memory = Path("/dev/shm")  # noqa: S108  names in it are made by mkdtemp
    return memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


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
