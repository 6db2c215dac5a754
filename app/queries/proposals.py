"""Which proposals are there, and which still wait?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, case, func, literal, select

from app.domain.proposals.proposal import ONE_ROW, Proposal, ProposalState
from app.models import proposals as table

MOST_LISTED: Final = 500
"""How many waiting proposals one page lists."""

_OPEN = table.Proposal.state == ProposalState.OPEN.value


def proposal_by_id(connection: Connection, proposal_id: int) -> Proposal | None:
    """The proposal; None where there is none."""
    row = connection.execute(_all().where(table.Proposal.id == proposal_id)).mappings().one_or_none()
    return None if row is None else _read(row)


def proposals_page(
    connection: Connection, without: Collection[str], before: int | None, limit: int
) -> list[Proposal]:
    """The newest proposals with an id under ``before``, without those of the sections ``without``."""
    query = _listed().where(_not_of(without)).order_by(table.Proposal.id.desc()).limit(limit)
    if before is not None:
        query = query.where(table.Proposal.id < before)
    return [_read(row) for row in connection.execute(query).mappings()]


def waiting_proposals(connection: Connection, without: Collection[str], now: datetime) -> list[Proposal]:
    """The proposals that can still be decided, the one that ends first before the others."""
    query = _listed().where(_OPEN, table.Proposal.expires_at > now, _not_of(without))
    query = query.order_by(table.Proposal.expires_at, table.Proposal.id).limit(MOST_LISTED)
    return [_read(row) for row in connection.execute(query).mappings()]


def expired_unnoticed(connection: Connection, now: datetime) -> Sequence[int]:
    """Ids of the proposals that are open although their time is over, in their order."""
    query = select(table.Proposal.id).where(_OPEN, table.Proposal.expires_at <= now)
    return connection.scalars(query.order_by(table.Proposal.id)).all()


def count_waiting(
    connection: Connection, now: datetime, without: Collection[str] = (), proposed_by: str | None = None
) -> int:
    """How many proposals can still be decided, of everybody or of one account."""
    query = select(func.count()).select_from(table.Proposal)
    query = query.where(_OPEN, table.Proposal.expires_at > now, _not_of(without))
    if proposed_by is not None:
        query = query.where(table.Proposal.proposed_by == proposed_by)
    return connection.scalar(query) or 0


def _not_of(sections: Collection[str]) -> ColumnElement[bool]:
    return table.Proposal.section.not_in(sorted(sections))


def _all() -> Select[*tuple[object, ...]]:
    return select(table.Proposal.__table__)


def _listed() -> Select[*tuple[object, ...]]:
    """For lists: what was entered is left out, and the rows of changes that are about many of them."""
    columns = [column for column in table.Proposal.__table__.c if column.name not in ("input", "changes")]
    one_row = case((table.Proposal.kind == ONE_ROW, table.Proposal.changes), else_="[]")
    return select(*columns, literal("{}").label("input"), one_row.label("changes"))


def _read(row: RowMapping) -> Proposal:
    return Proposal(**{**row, "state": ProposalState(row["state"])})
