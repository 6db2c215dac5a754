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
from app.transfers.event_types import EventType
from app.transfers.events import ValidatorsUpdated
from app.values.amounts import PPM
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId


class Member(Struct, frozen=True):
    """A validator; ``share_ppm`` is of the whole power, in parts per million, rounded down."""

    signer: bytes
    power: int
    share_ppm: int


class SetVersion(Struct, frozen=True):
    """One set, the strongest first. Version 0 is the opening one, which no event reports.

    ``cannot_sign`` says why the contract takes nothing that the set signs; None where it does.
    """

    version: int
    current: bool
    at: datetime | None
    event_id: str | None
    total_power: int
    quorum: int
    cannot_sign: str | None
    members: tuple[Member, ...]


class ChainSets(Struct, frozen=True):
    """The sets of a chain, the newest first."""

    chain_id: ChainId
    name: str
    versions: tuple[SetVersion, ...]


def validator_sets(database: Database) -> list[ChainSets]:
    """Every chain by name; one without validators has no version.

    Rotations are the standing ``validators.updated``, in the order in which the fold counts them.
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
    events = load_chain_events(connection, chain_id, [EventType.VALIDATORS_UPDATED])
    rotations = sorted(cast("list[ValidatorsUpdated]", events), key=lambda event: event.order)
    for version, event in reversed(list(enumerate(rotations, start=1))):
        members = [
            (parse_evm_address(signer) or b"", power)
            for signer, power in zip(event.signers, event.powers, strict=True)
        ]
        found = ValidatorSet.of(chain_id, version, members)
        yield _version(found, version == len(rotations), event.at, event.id)
    if opening is not None:
        yield _version(opening, not rotations, None, None)


def _version(of: ValidatorSet, current: bool, at: datetime | None, event_id: str | None) -> SetVersion:
    members = sorted(of.members, key=lambda member: (-member[1], member[0]))
    return SetVersion(
        of.version,
        current,
        at,
        event_id,
        of.total_power,
        of.quorum,
        of.cannot_sign,
        tuple(
            Member(signer, power, power * PPM // of.total_power if of.total_power else 0)
            for signer, power in members
        ),
    )
