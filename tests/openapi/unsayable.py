"""What JSON Schema cannot express about a query: schemathesis loads this by SCHEMATHESIS_HOOKS."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.hook
def map_query(_context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    """To JSON Schema 2.0 is an integer, in JSON as well. In a query it is other text, which is refused."""
    if not isinstance(query, dict):
        return query
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in query.items()
    }


@schemathesis.hook
def filter_query(_context: Any, query: dict[str, Any] | None) -> bool:
    """A comma divides accounts, so a list of twenty may hold more of them than are taken."""
    accounts = query.get("acct_addr[]") if isinstance(query, dict) else None
    return not (isinstance(accounts, list) and any("," in str(account) for account in accounts))
