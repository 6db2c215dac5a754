"""What goes wrong with one chain, told to operators once and not at every poll."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from app.domain.keys import ChainId
from app.runtime.gateway import Gateway
from app.services.watching.lease import Lease, note_fault
from app.watcher.rpc.nodes import Trouble
from app.watcher.translate import Unreadable

AGAIN_SECONDS = 30.0
"""The same words are not written again within these."""

SHOWN_LOGS = 3
_log = logging.getLogger(__name__)


class FaultBook:
    """Collects faults and writes the newest of them.

    :param monotonic: seconds that only grow.
    """

    def __init__(self, gateway: Gateway, chain_id: ChainId, monotonic: Callable[[], float]) -> None:
        self._gateway = gateway
        self._chain_id = chain_id
        self._monotonic = monotonic
        self._new: Trouble | None = None
        self._written: dict[Trouble, float] = {}

    def note(self, trouble: Trouble) -> None:
        """Something went wrong. It is written with the next :meth:`write`."""
        self._new = trouble

    def note_unreadable(self, unreadable: Sequence[Unreadable], source: str) -> None:
        """Logs that cannot be told as events."""
        if unreadable:
            shown = "; ".join(
                f"block {each.log.block}, log {each.log.index}: {each.reason}"
                for each in unreadable[:SHOWN_LOGS]
            )
            more = f" and {len(unreadable) - SHOWN_LOGS} more" if len(unreadable) > SHOWN_LOGS else ""
            self.note(Trouble(source, f"unreadable logs: {shown}{more}"))

    def write(self, lease: Lease) -> None:
        """Write the newest fault, if it is another one than was written a moment ago.

        :raises LeaseLost: somebody else reads the chain now.
        """
        trouble, self._new = self._new, None
        now = self._monotonic()
        if trouble is None or now - self._written.get(trouble, -AGAIN_SECONDS) < AGAIN_SECONDS:
            return
        if len(self._written) > 64:
            self._written.clear()
        self._written[trouble] = now
        about = f" ({trouble.source})" if trouble.source else ""
        _log.warning("chain %d%s: %s", self._chain_id, about, trouble.words)
        note_fault(self._gateway, lease, trouble.words, trouble.source)
