"""What the sandbox can answer, read from ``stories.json``: fixed ids, and requests that show each error.

README, documentation and tests take them from here; ``feed.py`` makes the events behind them.
"""

from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from app.values.codes import ErrCode, Reason, SendKind, TransferHistoryStatus, XferStatus

ORDINARY_CALLER: Final = "127.0.0.1"
BLOCKED_CALLER: Final = "127.0.0.2"
"""The loopback address in the sandbox's blocked networks: ``curl --interface 127.0.0.2``."""

RECORDED_TRANSFER: Final = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
"""A transfer of the production network, whose public answer the sandbox returns."""

_CHAINS: Final = {"src_chain_id": "from", "dst_chain_id": "to"}


class SandboxTransfer(Struct, frozen=True, rename={**_CHAINS, "digits": "id"}):
    """A transfer with a fixed id, what a request for it returns, and what happened to it.

    ``digits`` are the last ones of its id. ``sends`` is an amount in whole tokens and the symbol, ``user``
    the number of the sender, ``ago`` the hours and minutes from its first event to the loading. ``steps`` are
    methods of ``TransferBuilder``, some with an argument, and ``evidence`` with a number of signatures.
    """

    digits: str
    status: TransferHistoryStatus
    what: str
    sends: str
    src_chain_id: int
    dst_chain_id: int
    user: int
    ago: str
    steps: tuple[str, ...]
    kind: SendKind = SendKind.POOL
    refund_reason: XferStatus = XferStatus.UNKNOWN
    src_tx_hash: str | None = None
    dst_tx_hash: str | None = None

    @property
    def transfer_id(self) -> str:
        """0x and 64 hex digits."""
        return f"0x{self.digits:0>64}"


class SandboxEstimate(Struct, frozen=True):
    """An estimate that succeeds: the query string of GET /v2/estimateAmt."""

    query: str
    what: str


class SandboxError(Struct, frozen=True):
    """An estimate that fails with ``code``; ``reason`` is the answer's X-Gateway-Reason.

    ``caller`` is the address of the request.
    """

    code: ErrCode
    reason: Reason
    query: str
    why: str
    caller: str = ORDINARY_CALLER


class SandboxLatency(Struct, frozen=True, rename=_CHAINS):
    """A pair of chains with a week of transfers like one, and their median latency, which never changes.

    ``sends`` is an amount in whole tokens and the symbol.
    """

    sends: str
    src_chain_id: int
    dst_chain_id: int
    seconds: float
    kind: SendKind = SendKind.POOL

    @property
    def median(self) -> timedelta:
        """Exact: the file has binary fractions of seconds only."""
        return timedelta(seconds=self.seconds)


class _Stories(Struct, frozen=True):
    transfers: tuple[SandboxTransfer, ...]
    estimates: tuple[SandboxEstimate, ...]
    errors: tuple[SandboxError, ...]
    latencies: tuple[SandboxLatency, ...]


_STORIES: Final = msgspec.json.decode(Path(__file__).with_name("stories.json").read_bytes(), type=_Stories)

SANDBOX_TRANSFERS: Final = _STORIES.transfers
SANDBOX_ESTIMATES: Final = _STORIES.estimates
SANDBOX_ERRORS: Final = _STORIES.errors
SANDBOX_LATENCIES: Final = _STORIES.latencies


def sandbox_id(status: TransferHistoryStatus, variant: int = 0) -> str:
    """Return the id of a sandbox transfer: zeros, two digits of the variant, two of the status.

    Both are read as decimal: ``0x…0008`` is at status 8, ``0x…0306`` at status 6 for refund reason 3.
    """
    return f"0x{variant:062d}{status.value:02d}"
