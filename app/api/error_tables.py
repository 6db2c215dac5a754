"""Every code and reason of an error as Markdown: in the OpenAPI document and in docs/errors.md."""

from __future__ import annotations

from app.api.errors import HTTP_STATUS
from app.domain.error_catalogue import CODE_CAUSES, ERRORS


def codes_table() -> str:
    """The numbers of ``err.code`` as a Markdown table."""
    rows = (f"| {code.value} | `{code.name}` | {cause} |" for code, cause in CODE_CAUSES.items())
    return "\n".join(("| Code | Name | Cause |", "|---|---|---|", *rows))


def reasons_table() -> str:
    """The values of ``X-Gateway-Reason`` as a Markdown table."""
    rows = (
        f"| `{row.reason}` | {HTTP_STATUS[row.kind]} | {row.code.value} | {row.cause} | {row.remedy} |"
        for row in ERRORS
    )
    head = "| X-Gateway-Reason | HTTP | `err.code` | Cause | What to do |"
    return "\n".join((head, "|---|---|---|---|---|", *rows))
