"""What the command groups share."""

from __future__ import annotations

from typing import Any

import click
from flask.cli import AppGroup, with_appcontext

from app.db.writes import is_unavailable
from app.runtime.audit_keys import AuditKeyUnusable
from app.runtime.gateway import current_gateway
from app.runtime.pooler import pooler_complaint
from app.runtime.readiness import database_complaint
from app.services.proposals.results import ReasonMissing, SecondPersonNeeded
from app.terminal import Refusal


class _NeedsData(click.Command):
    """What needs a migrated database. Without one, or when it fails, it ends with a message instead of a
    traceback.
    """

    def invoke(self, ctx: click.Context) -> Any:
        if self.needs_data(ctx):
            _check_database()
        try:
            return super().invoke(ctx)
        except AuditKeyUnusable as unusable:
            raise Refusal(f"{unusable}; nothing was changed") from None
        except (SecondPersonNeeded, ReasonMissing) as refused:
            raise Refusal(f"{refused}; nothing was changed") from None
        except Exception as error:
            if not is_unavailable(error):
                raise
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise Refusal(
                f"the database cannot be reached or is locked ({cause}); run the command again"
            ) from None

    def needs_data(self, ctx: click.Context) -> bool:
        """Whether these arguments need the database."""
        return True


class DataGroup(_NeedsData, AppGroup):
    """Commands that need a migrated database."""


class CheckedCommand(_NeedsData):
    """One such command that is in no group."""


@with_appcontext
def _check_database() -> None:
    current_gateway().work_as_command()
    if complaint := database_complaint(current_gateway()):
        raise Refusal(f"{complaint}; check DATABASE_URL, and run: flask --app wsgi db upgrade")
    if complaint := pooler_complaint(current_gateway()):
        raise Refusal(complaint)
