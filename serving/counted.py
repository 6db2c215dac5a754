"""The files that the workers of one server count into: begun by its master, read by whoever is asked."""

from __future__ import annotations

import logging
from typing import Final

from app.metrics.files import MetricFiles, Unusable, begin

_log = logging.getLogger(__name__)


class Counted:
    """Of one master. Its workers have copies that name the same files."""

    def __init__(self) -> None:
        self.files: MetricFiles | None = None
        """None where nothing is counted."""

    def begin(self) -> None:
        """Have what is counted from now on come into files. Once, however often the configuration is read.

        To be called before the application is made.

        :raises SystemExit: there is no place for them.
        """
        if self.files is not None:
            return
        try:
            self.files = begin()
        except Unusable as unusable:
            raise SystemExit(f"METRICS_PORT: {unusable}") from None
        self.files.count_here()

    def settle(self) -> None:
        """In a worker that begins: add up what those before it counted, which may come and go unread."""
        if self.files is not None:
            try:
                self.files.add_up_ended()
            except TimeoutError as busy:
                _log.warning("what ended workers had counted is not added up yet: %s", busy)

    def remove(self) -> None:
        """Remove the files: the server has stopped."""
        if self.files is not None:
            self.files.remove()


COUNTED: Final = Counted()
"""Of the server in this process and of the workers forked from it."""
