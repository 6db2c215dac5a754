"""Saved filters: an account's own names for filters of the list of transfers.

They change nothing that anybody else sees, so the audit log has none of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, insert, update

from app.models.desk.saved_filters import NAME_LENGTH, QUERY_LENGTH, SavedFilter
from app.models.engine import reading, writing
from app.queries.desk.saved_filters import SavedFilterRow, filters_of
from app.runtime.gateway import Gateway
from app.services.audit.results import EditRefused

MOST_FILTERS = 30
"""Of one account."""


class FilterRefused(EditRefused):
    """The filter cannot be saved as it is."""


def saved_filters(gateway: Gateway, operator_id: int) -> Sequence[SavedFilterRow]:
    """The account's filters, in the order in which they were first saved."""
    with reading(gateway.reads) as connection:
        return filters_of(connection, operator_id)


def save_filter(gateway: Gateway, operator_id: int, name: str, query: str) -> bool:
    """Save a filter under a name; whether one of this name was replaced.

    :param query: the fields of the list as a URL has them; the caller has checked them.
    :raises FilterRefused: no name, a name or filter that is too long, or too many filters.
    """
    called = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if not 0 < len(called) <= NAME_LENGTH:
        raise FilterRefused(f"give the filter a name of 1 to {NAME_LENGTH} characters")
    if not query:
        raise FilterRefused("set a filter first, then save it")
    if len(query) > QUERY_LENGTH:
        raise FilterRefused("this filter is too long to be saved: shorten its token or account")
    with writing(gateway.engine) as connection:
        kept = filters_of(connection, operator_id)
        values = {"query": query, "saved_at": gateway.clock()}
        same = next((each for each in kept if each.name == called), None)
        if same is not None:
            connection.execute(update(SavedFilter).where(SavedFilter.id == same.id).values(values))
        elif len(kept) >= MOST_FILTERS:
            raise FilterRefused(f"there are {MOST_FILTERS} saved filters already: remove one first")
        else:
            connection.execute(insert(SavedFilter).values(operator_id=operator_id, name=called, **values))
    return same is not None


def remove_filter(gateway: Gateway, operator_id: int, filter_id: int) -> bool:
    """Remove one of the account's filters; whether there was one."""
    with writing(gateway.engine) as connection:
        own = (SavedFilter.id == filter_id, SavedFilter.operator_id == operator_id)
        return connection.execute(delete(SavedFilter).where(*own)).rowcount > 0
