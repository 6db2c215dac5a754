"""What went wrong with the URLs of a chain, written for operators."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from app.db.database import Database
from app.values.identifiers import ChainId
from app.watcher.rpc.nodes import Trouble
from app.watcher.rules.logs.translation import Unreadable
from app.watcher.services.lease import Lease, note_fault

AGAIN_SECONDS: Final = 30.0
"""The same fault is not written again within this time."""

SHOWN_LOGS: Final = 3
_log = logging.getLogger(__name__)


class FaultBook:
    """Collects faults, and writes the newest of them and those of URLs that returned what cannot be true.

    :param monotonic: seconds that never go back.
    """

    def __init__(self, database: Database, chain_id: ChainId, monotonic: Callable[[], float]) -> None:
        self._database = database
        self._chain_id = chain_id
        self._monotonic = monotonic
        self._new: list[Trouble] = []
        self._written: dict[Trouble, float] = {}

    def note(self, trouble: Trouble) -> None:
        """Note a fault for the next :meth:`write`."""
        self._new = [*(each for each in self._new if each.is_false and each != trouble), trouble]

    def note_unreadable(self, unreadable: Sequence[Unreadable], source: str) -> None:
        if unreadable:
            shown = "; ".join(
                f"block {each.log.block}, log {each.log.index}: {each.reason}"
                for each in unreadable[:SHOWN_LOGS]
            )
            more = f" and {len(unreadable) - SHOWN_LOGS} more" if len(unreadable) > SHOWN_LOGS else ""
            self.note(Trouble(source, f"unreadable logs: {shown}{more}"))

    def write(self, lease: Lease) -> None:
        """Write the faults, except those that were written a moment ago.

        :raises LeaseLost: another watcher reads the chain now.
        """
        troubles, self._new = self._new, []
        for trouble in troubles:
            self._write(lease, trouble)

    def _write(self, lease: Lease, trouble: Trouble) -> None:
        now = self._monotonic()
        if now - self._written.get(trouble, -AGAIN_SECONDS) < AGAIN_SECONDS:
            return
        if len(self._written) > 64:
            self._written.clear()
        self._written[trouble] = now
        about = f" ({trouble.source})" if trouble.source else ""
        _log.warning("chain %d%s: %s", self._chain_id, about, trouble.words)
        note_fault(self._database, lease, trouble.words, trouble.source, is_false=trouble.is_false)
