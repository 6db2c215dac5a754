"""Which rotation of a chain's validators is the latest, and how many did a reporter report?"""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, func, select

from app.domain.keys import ChainId
from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import ValidatorsUpdated
from app.domain.transfer.subjects import EventKey, subject_of_chain
from app.models.events import Event
from app.models.validators import ReportedValidatorSet
from app.queries.feed.acceptances import latest_acceptances


def latest_rotation(connection: Connection, chain_id: ChainId) -> tuple[ValidatorsUpdated | None, int]:
    """The rotation whose set is in force, with all that is reported of it, and how many stand up to it.

    0 where the opening set is in force.
    """
    table = ReportedValidatorSet
    row = connection.execute(
        select(table.event_id, table.version).where(table.chain_id == chain_id)
    ).one_or_none()
    if row is None:
        return None, 0
    key = EventKey(subject_of_chain(chain_id), row.event_id)
    found = latest_acceptances(connection, [key]).get(key)
    return (None if found is None else cast("ValidatorsUpdated", found.event)), row.version


def count_rotations(connection: Connection, chain_id: ChainId, reporter: str) -> int:
    """How many rotations of a chain were accepted from a reporter, each as often as it was."""
    reported = select(func.count()).where(
        Event.chain_id == chain_id,
        Event.type == EventType.VALIDATORS_UPDATED.value,
        Event.reporter == reporter,
    )
    return connection.scalar(reported) or 0
