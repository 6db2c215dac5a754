"""Turns a usage error of click into one line: what is wrong, and what to type instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

import click

from app.values.wire_values import printable

_DEVELOPERS: Final = ("routes", "run", "shell")
"""Flask's own commands. They work, but the help of an operator's tool does not list them."""

_GIVE: Final = (
    (click.Choice, "use one of these"),
    ((type(click.INT), click.IntRange), "give a whole number"),
    ((type(click.FLOAT), click.FloatRange), "give a number"),
    ((click.File, click.Path), "name a file that this user can read"),
)
"""What to do about a value of a type."""

_TAKEN: Final = "app.cli.usage"


class _Refused(click.ClickException):
    """Ends a command with one line on standard error."""

    exit_code = click.UsageError.exit_code

    def format_message(self) -> str:
        return printable(self.message)


def take_over(context: click.Context) -> None:
    """Make this command line report usage errors in one line, and list only the commands of operators."""
    root = context.find_root()
    if _TAKEN in root.meta:
        return
    root.meta[_TAKEN] = True
    root.with_resource(_in_one_line())
    if isinstance(root.command, click.Group):
        for name in _DEVELOPERS:
            if name in root.command.commands:
                root.command.commands[name].hidden = True


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise _Refused(in_words(error)) from None


def in_words(error: click.UsageError) -> str:
    """The error in one line: what is wrong, and what to type instead."""
    context = error.ctx
    if context is None:
        return f"{error.format_message().rstrip('.')}; add --help to see what the command takes"
    typed = _typed(context)
    match error:
        case click.NoSuchCommand(command_name=name) if isinstance(context.command, click.Group):
            where = f"{typed} has no command {name}"
            return f"{where}: {_use(name, _listed(context.command, context))}"
        case click.NoSuchOption(option_name=name):
            options = [each for param in context.command.get_params(context) for each in param.opts]
            return f"{typed} has no option {name}: {_use(name, [each for each in options if each[0] == '-'])}"
        case click.MissingParameter(param=click.Parameter() as param):
            return f"{_name(param, context)} is missing: run {_example(context)}"
        case click.BadParameter():
            return _bad_value(error, context)
        case _:
            return f"{error.format_message().rstrip('.')}; see {typed} --help"


def _bad_value(error: click.BadParameter, context: click.Context) -> str:
    hint = error.param_hint if isinstance(error.param_hint, str) else ""
    name = hint or (_name(error.param, context) if error.param else "")
    words = error.message.rstrip(".")
    wanted = next((give for kind, give in _GIVE if error.param and isinstance(error.param.type, kind)), "")
    remedy = f": {wanted}" if wanted else f"; see {_typed(context)} --help"
    return f"{name}: {words}{'' if words.startswith('must ') else remedy}"


def _listed(group: click.Group, context: click.Context) -> Sequence[str]:
    """The commands that its help lists. None of them is imported for it."""
    hidden = {name for name, command in group.commands.items() if command.hidden}
    return [name for name in group.list_commands(context) if name not in hidden]


def _use(name: str, known: Iterable[str]) -> str:
    """The nearest one; all of them where none is near."""
    there = [*known]
    near = get_close_matches(name, there, n=1)
    if near:
        return f"use {near[0]}"
    return f"use one of {', '.join(there)}" if there else "leave it out"


def _typed(context: click.Context) -> str:
    """The command as the documentation writes it."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(("flask --app wsgi", *names))


def _example(context: click.Context) -> str:
    """The command with all that it needs."""
    needed = [param for param in context.command.get_params(context) if param.required]
    return " ".join((_typed(context), *(_form(param, context) for param in needed)))


def _form(param: click.Parameter, context: click.Context) -> str:
    value = param.make_metavar(context)
    return value if isinstance(param, click.Argument) else f"{_name(param, context)} {value}"


def _name(param: click.Parameter, context: click.Context) -> str:
    """An argument as the help writes it, or the long name of an option."""
    return param.make_metavar(context) if isinstance(param, click.Argument) else max(param.opts, key=len)
