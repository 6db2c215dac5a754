"""Each message in the code with which a command or a start ends says what to do.

``tests/cli/test_refusals.py`` reads what commands print, ``tests/test_config.py`` what is said of settings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remedies import says_what_to_do

ROOT = Path(__file__).parents[1]

IN_SEVERAL_LINES = {ROOT / "scripts" / "venv.py"}
"""It says how a person gets a Python that can install packages."""

SOURCES = sorted(
    {
        *(path for place in ("app", "demo", "scripts", "serving") for path in (ROOT / place).rglob("*.py")),
        ROOT / "gunicorn.conf.py",
        ROOT / "migrations" / "env.py",
    }
    - IN_SEVERAL_LINES
)
ENDS = frozenset(
    {"Refusal", "UsageError", "BadParameter", "ClickException", "SystemExit", "exit", "CommandError"}
)
"""What ends a command or a start with a message."""

OTHER_WORDS = frozenset(
    {"Exception", "OSError", "ValueError", "SQLAlchemyError", "GatewayError", "Unavailable"}
)
"""Exceptions with the words of a library, or of an answer over HTTP."""

ADDED_TO = {"RecordUnreadable"}
"""The command adds what to do; the console has other words for it."""

RETURNS = ("app/db/pooler.py", "app/db/schema.py", "app/credentials/rules")
"""Where functions with a name such as ``pooler_complaint`` return a message of commands, or None."""

PASSES_ON = {"complaint", "unusable"}
"""Names of messages that are read where they are made; ``unusable`` by ``tests/cli/test_refusals.py``."""

ELSEWHERE = {
    "no sign of life": "the health check of a container prints it for who reads its log",
    "the database accepts no writes": "/readyz alone says so, and docs/alerts.md what to do",
    "the database cannot be reached": "/readyz alone says so, and docs/alerts.md what to do",
    "a second factor is not required": "the console alone says so, where there is nothing to do",
}
"""How messages begin that no command prints, with the reason."""


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def printed_by_commands() -> frozenset[str]:
    """The exceptions that commands catch to print their words."""
    found = {
        each.id
        for path in SOURCES
        if path.parent.name in ("cli", "demo", "scripts")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and node.name and node.type is not None
        for each in ast.walk(node.type)
        if isinstance(each, ast.Name)
    }
    return frozenset(found - OTHER_WORDS - ADDED_TO)


def words(node: ast.expr, passed_on: frozenset[str], constants: dict[str, str]) -> str | None:
    """The message with ``…`` for its values; None where it repeats the words of another one."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name):
            return None if name in passed_on else constants.get(name, "…")
        case ast.Call(func=called, args=arguments):
            if _name(called) in PASSES_ON:
                return None
            return words(arguments[0], passed_on, constants) if _name(called) == "str" else "…"
        case ast.FormattedValue(value=value):
            return words(value, passed_on, constants)
        case ast.JoinedStr(values=parts):
            found = [words(part, passed_on, constants) for part in parts]
        case ast.BinOp(left=left, right=right):
            found = [words(part, passed_on, constants) for part in (left, right)]
        case _:
            return "…"
    return None if None in found else "".join(map(str, found))


def messages(path: Path, ends: frozenset[str], *, returned: bool = False) -> Iterator[tuple[int, str]]:
    """The line and the words of each message in a file.

    :param returned: whether its functions return some.
    """
    nodes = [*ast.walk(tree(path))]
    constants = {
        node.target.id: node.value.value
        for node in nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    found = [
        node.args[0]
        for node in nodes
        if isinstance(node, ast.Call) and node.args and _name(node.func) in ends
    ]
    if returned:
        functions = (node for node in nodes if isinstance(node, ast.FunctionDef) and _complains(node.name))
        returns = (node for each in functions for node in ast.walk(each) if isinstance(node, ast.Return))
        found += [node.value for node in returns if isinstance(node.value, ast.Constant | ast.JoinedStr)]
    for value in found:
        said = words(value, frozenset(caught | PASSES_ON), constants)
        if said and said.strip("…"):  # otherwise it is made elsewhere
            yield value.lineno, said


def _complains(function: str) -> bool:
    return "complaint" in function or "fault" in function


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def all_messages() -> Iterator[tuple[str, str]]:
    """Where each is, and its words."""
    ends = ENDS | printed_by_commands()
    for path in SOURCES:
        place = str(path.relative_to(ROOT))
        for line, said in messages(path, ends, returned=place.startswith(RETURNS)):
            if not said.startswith(tuple(ELSEWHERE)):
                yield f"{place}:{line}", said


def test_every_message_says_what_to_do() -> None:
    found = [*all_messages()]
    assert len(found) > 80  # or the walk is broken
    assert [each for each in found if not says_what_to_do(each[1])] == []


def test_exceptions_of_commands_are_found() -> None:
    assert {"AccountRefused", "NothingToRetract", "BackupRefused", "AnvilMissing"} <= printed_by_commands()


@pytest.mark.parametrize("said", ["the file is used", "in use\nset it", "it cannot be set"])
def test_message_without_remedy_is_found(said: str) -> None:
    assert not says_what_to_do(said)
