"""Where a change of the configuration reaches the kept events."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class FactsChanged:
    """Chains whose facts changed: they or their tokens came or went, or a contract, a decimal, a
    pegged pair or an opening validator of theirs is another. Never empty."""

    chain_ids: frozenset[int]


def refold_after_network_change(connection: Connection, changed: FactsChanged) -> None:
    """Judge kept events again that may count now, or count otherwise. In the transaction of the change."""
