"""How the command writes what is known of watched chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from app.domain.keys import BlockNumber
from app.domain.watching.watched import WatchedChain
from app.watcher.check import Checked

HEAD: Final = (
    "chain", "name", "state", "head", "age", "read to", "lag", "backfill", "reread to", "proven to",
    "calls/min", "URL", "read by",
)  # fmt: skip


def status_row(chain: WatchedChain, now: datetime) -> Sequence[str]:
    """A chain as a row of the table; ``-`` for what is not known."""
    head, read_to = chain.head, chain.read_to
    return (
        str(chain.chain_id),
        chain.name,
        chain.state.value.replace("_", " "),
        _block(head),
        "-" if chain.head_at is None else f"{round((now - chain.head_at).total_seconds())} s",
        _block(read_to),
        "-" if head is None or read_to is None else str(max(0, head - read_to)),
        _backfill(chain),
        _block(chain.reread_to),
        _block(chain.proven_to),
        str(chain.calls_a_minute),
        chain.source or "-",
        chain.owner or "-",
    )


def status_notes(chains: Sequence[WatchedChain]) -> Iterator[str]:
    """What is wrong, a line each."""
    for chain in chains:
        about = f"chain {chain.chain_id}"
        if chain.stopped is not None:
            by = f" by {chain.stopped_by}" if chain.stopped_by else ""
            yield f"{about} was stopped{by}: {chain.stopped}"
        if chain.fault is not None and chain.fault_at is not None:
            at = chain.fault_at.isoformat(timespec="seconds")
            yield f"{about}, last fault, {at} {chain.fault_source}".rstrip() + f": {chain.fault}"
        if chain.differed:
            yield f"{about}: {chain.differed} rereads differed from the first reading, and were corrected"


def check_lines(checked: Checked) -> Iterator[str]:
    """What was found out about a chain."""
    terms = checked.terms
    verdict = "can be watched" if checked.good else "CANNOT be watched yet"
    yield f"chain {terms.chain_id} ({terms.name}): {verdict}"
    for finding in checked.chain:
        yield f"  {_mark(good=finding.good)} {finding.words}"
    for name, found in checked.urls.items():
        yield f"  {name}"
        for finding in found:
            yield f"    {_mark(good=finding.good)} {finding.words}"


def _mark(*, good: bool) -> str:
    return "ok  " if good else "FAIL"


def _block(block: BlockNumber | None) -> str:
    return "-" if block is None else str(block)


def _backfill(chain: WatchedChain) -> str:
    if chain.live_from is None:
        return "-"
    total = chain.live_from - chain.from_block
    done = 0 if chain.backfilled_to is None else chain.backfilled_to - chain.from_block + 1
    return "done" if done >= total else f"{100 * max(0, done) // total}%"
