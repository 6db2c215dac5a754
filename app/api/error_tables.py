"""Every code and reason of an error as Markdown: in the OpenAPI document and in docs/errors.md."""

from __future__ import annotations

from app.domain.error_catalogue import CATALOGUE, CODE_CAUSES


def codes_table() -> str:
    """The numbers of ``err.code`` as a Markdown table."""
    rows = (f"| {code.value} | `{code.name}` | {cause} |" for code, cause in CODE_CAUSES.items())
    return "\n".join(("| Code | Name | Cause |", "|---|---|---|", *rows))


def reasons_table() -> str:
    """The values of ``X-Gateway-Reason`` as a Markdown table."""
    rows = (
        f"| `{entry.reason}` | {entry.http} | {entry.code.value} | {entry.cause} | {entry.remedy} |"
        for entry in CATALOGUE
    )
    head = "| X-Gateway-Reason | HTTP | `err.code` | Cause | What to do |"
    return "\n".join((head, "|---|---|---|---|---|", *rows))
