"""The option with which one person changes what two would have to."""

from __future__ import annotations

import click

break_glass = click.option(
    "--break-glass",
    metavar="REASON",
    help=(
        "Make a change that needs a second approval (TWO_PERSONS) alone; the reason is kept in the audit log."
    ),
)
"""Adds ``--break-glass REASON``, which comes as ``break_glass``."""
