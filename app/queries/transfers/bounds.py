"""How many rows are wanted, told to the planner."""

from __future__ import annotations

from sqlalchemy import BindParameter, Integer, bindparam


def at_most(rows: int) -> BindParameter[int]:
    """A LIMIT that is written into the statement.

    Connections that read keep plans whatever the parameters are. A LIMIT that is a parameter then counts as
    a tenth of the table, and a page of fifty transfers is planned as a sort of a hundred thousand.
    """
    return bindparam(None, rows, type_=Integer, literal_execute=True)
