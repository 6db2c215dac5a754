"""The opening validators of a chain: who signs refunds there until the feed reports a rotation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.db.engine import reading
from app.models.network import OpeningValidator
from app.queries.network import rows_with
from app.runtime.gateway import Gateway
from app.services.audit.fingerprint import fingerprint
from app.services.network.edits.planning import SECTION_BY_NAME, Edit
from app.services.network.edits.results import counted
from app.services.network.edits.several import Edits

_VALIDATORS = SECTION_BY_NAME["validators"]


@dataclass(frozen=True, slots=True)
class OpeningSet:
    """The members as the document writes them, by row number, and their fingerprint."""

    members: Mapping[int, Mapping[str, Any]]

    @property
    def fingerprint(self) -> str:
        """That of all members together."""
        return fingerprint({str(number): dict(row) for number, row in self.members.items()})


def opening_set(gateway: Gateway, chain_id: int) -> OpeningSet:
    """The opening validators of the chain; without a member where none is known."""
    with reading(gateway.engine) as connection:
        rows = rows_with(connection, OpeningValidator, "chain_id", [chain_id])
    found = {row["id"]: _VALIDATORS.documented(row) for row in sorted(rows, key=lambda row: row["id"])}
    return OpeningSet(found)


def opening_edits(chain_id: int, shown: OpeningSet, wanted: Sequence[Mapping[str, Any]]) -> Edits:
    """The edits that make these the opening validators of the chain.

    :param wanted: members as the document writes them.
    """
    by_signer = {str(row["signer"]).casefold(): (number, row) for number, row in shown.members.items()}
    edits = []
    for row in wanted:
        number, before = by_signer.pop(str(row["signer"]).casefold(), (None, None))
        values = dict(row) if before is None else dict(row) | {"signer": before["signer"]}
        edits.append(Edit("validators", number, values, None if before is None else fingerprint(before)))
    edits += [Edit("validators", number, None, fingerprint(row)) for number, row in by_signer.values()]
    words = f"set the opening validators of chain {chain_id}: {counted(len(wanted), 'member')}"
    return Edits(tuple(edits), "network.validators", words, about=f"validators of chain {chain_id}")
