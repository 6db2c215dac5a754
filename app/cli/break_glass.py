"""The option with which one person changes what two would have to."""

from __future__ import annotations

import click

break_glass = click.option(
    "--break-glass",
    metavar="REASON",
    help="Do alone what TWO_PERSONS has a second operator approve; the audit log keeps the reason.",
)
"""Adds ``--break-glass REASON``, which comes as ``break_glass``."""
