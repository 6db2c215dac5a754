"""``flask --app wsgi sandbox …``: a made-up network with transfers, for trying the gateway."""

from __future__ import annotations

from app.audit.keys import AuditKeys
from app.cli.terminal import DataGroup, Refusal, cli_actor, say
from app.db.database import Database
from app.feed.services.ingest import Intake
from app.http.application import current
from app.sandbox.services import SandboxRefused, ensure_sandbox, load_sandbox

sandbox = DataGroup("sandbox", help="A sample network with transfers.")


@sandbox.command("load")
def load() -> None:
    """Load the sandbox into an empty database. Refuses a database with other data."""
    try:
        say(load_sandbox(current(Database), current(AuditKeys), current(Intake), actor=cli_actor()))
    except SandboxRefused as refused:
        raise Refusal(str(refused)) from None


@sandbox.command("ensure")
def ensure() -> None:
    """Load the sandbox into an empty database, or refresh an old sandbox. Changes no other data."""
    say(ensure_sandbox(current(Database), current(AuditKeys), current(Intake), actor=cli_actor()))
