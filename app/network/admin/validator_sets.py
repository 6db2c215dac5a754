"""Every validator set that a chain has had: the opening one, and the rotations reported since."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import cast

from msgspec import Struct
from sqlalchemy import Connection

from app.db.database import Database
from app.db.engine import reading_consistently
from app.feed.queries.chains import load_chain_events
from app.network.queries import chain_names, load_opening_sets
from app.network.validators import ValidatorSet
from app.transfers.events import ValidatorsUpdated
from app.values.amounts import PPM
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId


class SetVersion(Struct, frozen=True):
    """A set, the event that reported it, and when. The opening set has version 0 and no event."""

    of: ValidatorSet
    current: bool
    at: datetime | None = None
    event_id: str | None = None

    @property
    def strongest(self) -> list[tuple[bytes, int, int]]:
        """The signers from the strongest on, with power and share in parts per million, rounded down."""
        total = self.of.total_power
        members = sorted(self.of.members, key=lambda member: (-member[1], member[0]))
        return [(signer, power, power * PPM // total if total else 0) for signer, power in members]


class ChainSets(Struct, frozen=True):
    """The sets of a chain, the newest first."""

    chain_id: ChainId
    name: str
    versions: tuple[SetVersion, ...]


def validator_sets(database: Database) -> list[ChainSets]:
    """Every chain by name; one without validators has no version.

    Rotations are the canonical ``validators.updated``, in the order in which the projection counts them.
    """
    with reading_consistently(database.engine) as connection:
        names = chain_names(connection)
        opening = load_opening_sets(connection)
        return [
            ChainSets(chain_id, name, tuple(_versions(connection, chain_id, opening.get(chain_id))))
            for chain_id, name in names.items()
        ]


def _versions(
    connection: Connection, chain_id: ChainId, opening: ValidatorSet | None
) -> Iterator[SetVersion]:
    events = load_chain_events(connection, chain_id, [ValidatorsUpdated.type])
    rotations = sorted(cast("list[ValidatorsUpdated]", events), key=lambda event: event.order)
    for version, event in reversed(list(enumerate(rotations, start=1))):
        members = [
            (parse_evm_address(signer) or b"", power)
            for signer, power in zip(event.signers, event.powers, strict=True)
        ]
        found = ValidatorSet.of(chain_id, version, members)
        yield SetVersion(found, version == len(rotations), event.at, event.id)
    if opening is not None:
        yield SetVersion(opening, not rotations)
