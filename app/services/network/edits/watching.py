"""What an edit of the configuration does to the reading of chains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.domain.amounts import grouped
from app.domain.watching.configured import build_watching
from app.domain.watching.terms import WatchTerms
from app.services.network.edits.results import Effect, Severity
from app.services.network.sections import Row


def watching_effects(before: Mapping[str, list[Row]], after: Mapping[str, list[Row]]) -> Iterator[Effect]:
    """Chains that are read from now on, no longer, or from their beginning again."""
    was, will = (build_watching(rows, version="").terms for rows in (before, after))
    for chain_id in sorted(was.keys() | will.keys()):
        old, new = was.get(chain_id), will.get(chain_id)
        if new is None and old is not None:
            kept = "its transfers keep their status until a reporter sends events"
            yield Effect(f"{old.name} is no longer watched: {kept}", Severity.GRAVE)
        elif new is not None:
            yield from _read(old, new)


def _read(old: WatchTerms | None, new: WatchTerms) -> Iterator[Effect]:
    if old is None:
        yield Effect(
            f"a running watcher reads {new.name} from block {grouped(new.from_block)} on", Severity.NOTICE
        )
    elif new.contracts - old.contracts:
        yield Effect(
            f"{new.name} is read again from block {grouped(new.from_block)} on, for the new contracts",
            Severity.NOTICE,
        )
    elif new.from_block < old.from_block:
        yield Effect(f"{new.name} is read again from block {grouped(new.from_block)} on", Severity.NOTICE)
    if not new.rpc and (old is None or old.rpc):
        yield Effect(f"{new.name} has no nodes: it cannot be read", Severity.GRAVE)
