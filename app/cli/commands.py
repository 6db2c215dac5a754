"""The list of all commands."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module  # noqa: TID251  commands are named, so that a server need not import them
from typing import Final

import click
from flask.cli import AppGroup

from app.cli.usage import take_over

COMMANDS: Final = {
    "api-keys": "app.cli.keys",
    "audit": "app.cli.audit",
    "backfill": "app.cli.events",
    "backup": "app.cli.database",
    "db": "app.cli.migrations",
    "deliver": "app.cli.deliver",
    "events": "app.cli.events",
    "evidence": "app.cli.evidence",
    "ingest-tokens": "app.cli.keys",
    "network": "app.cli.network",
    "operators": "app.cli.operators",
    "sandbox": "app.cli.sandbox",
    "version": "app.cli.database",
    "watch": "app.cli.watch",
}
"""The module of each command, which defines it under its name."""


class CommandLine(AppGroup):
    """The application's commands. Calling one imports its module, so a serving process imports none.

    Listed by their modules' names, as in click's documentation, rather than imported in a function for each.
    """

    def __init__(self, name: str, modules: Mapping[str, str], known: Mapping[str, click.Command]) -> None:
        """
        :param modules: of commands that are imported when they are called, or listed with their help.
        :param known: commands that are already imported.
        """
        super().__init__(name, commands=dict(known))
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        take_over(ctx)
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        take_over(ctx)
        if cmd_name in self._modules and cmd_name not in self.commands:
            module = import_module(self._modules[cmd_name])
            self.add_command(getattr(module, cmd_name.replace("-", "_")), cmd_name)
        return super().get_command(ctx, cmd_name)
