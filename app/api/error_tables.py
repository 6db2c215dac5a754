"""Every code and reason of an error as Markdown: in the OpenAPI document and in docs/errors.md."""

from __future__ import annotations

from app.api.errors import HTTP_STATUS
from app.domain.error_catalogue import CODE_CAUSES, ERRORS, ErrorKind, ErrorRow


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


def catalogue() -> str:
    """What docs/errors.md has from its heading *Codes* on: both lists, and a section for each reason."""
    answered = [row for row in ERRORS if row.kind is ErrorKind.ANSWERED]
    others = [row for row in ERRORS if row.kind is not ErrorKind.ANSWERED]
    return "\n\n".join(
        (
            "## Codes",
            "The numbers of `err.code`. Codes other than 500 come from the estimate alone.",
            codes_table(),
            "## Reasons",
            "The values of `X-Gateway-Reason`. `make errors` writes them here out of "
            "`app/domain/error_catalogue.py`;\na test keeps this page equal to it.",
            "### Answers: HTTP 200",
            "The question could be read, and this is the answer to it.",
            *map(_section, answered),
            "### Requests that were not answered",
            "They could not be read, or the gateway could not answer them.",
            *map(_section, others),
        )
    )


def _section(row: ErrorRow) -> str:
    return (
        f'<a id="{row.reason}"></a>\n#### `{row.reason}`\n'
        f"{row.cause}\n\n"
        f"- HTTP {HTTP_STATUS[row.kind]}, code {row.code.value}\n"
        f"- **What to do:** {row.remedy}\n"
        f"- **What to tell the user:** {row.tell}"
    )
