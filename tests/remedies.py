"""Whether a refusal says in one line what to do."""

from __future__ import annotations

import re

_VERBS = (
    "add", "allow", "check", "choose", "commit", "correct", "create", "delete", "enter", "export", "give",
    "grant", "install", "leave", "let", "make", "mend", "name", "propose", "reload", "remove", "restart",
    "restore", "revoke", "run", "see", "set", "start", "try", "unset", "update", "use", "wait", "write",
)  # fmt: skip

_SAYS = (
    rf"(?:^|[:;,.(] ?|\b(?:or|and|first) )(?:{'|'.join(_VERBS)})\b",  # what to do
    r"\bmust\b",  # what a value has to be
    r"\bsuch as\b",  # an example
    r"\bflask --app wsgi |\bmake [a-z-]+",  # a command
    r"\bdocs/[a-z-]+\.md",  # a page
)
_REMEDY = re.compile("|".join(_SAYS), re.IGNORECASE)


def says_what_to_do(message: str) -> bool:
    """Whether a message is one line with an instruction, a rule, an example, a command or a page."""
    return "\n" not in message.strip() and _REMEDY.search(message) is not None
