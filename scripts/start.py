"""``make run``: from a bare checkout to a gateway that answers.

Makes a secret key where the environment has none, migrates the database, loads and refreshes the sandbox in
an embedded database, starts another process that builds the documentation, and becomes gunicorn. Any fault
ends it with one line; only the documentation may be missing.
"""

from __future__ import annotations

if __name__ == "__main__":  # gunicorn goes on in this process; an importing module stays unchanged
    from serving import ending

    ending.stop_quietly()

    import gc

    from serving import patch

    gc.disable()  # until wsgi.py has imported everything
    patch()

import importlib
import os
import runpy
import sys
from pathlib import Path

from flask import Flask
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.account_changes import create_account
from app.accounts.services.accounts import AccountRefused, list_accounts
from app.accounts.services.passwords import generate_password
from app.audit.keys import AuditKeys, KeyFileUnusable, stored_key
from app.cli.terminal import cli_actor
from app.db.complaints import unusable
from app.db.database import Database
from app.db.engine import run_read
from app.db.models import db
from app.db.schema import applied_migrations, database_complaint, is_ahead, newest_schema
from app.feed.services.ingest import Intake
from app.http.application import current
from app.sandbox.services import SandboxRefused, ensure_sandbox
from config import ALL_DOORS, INSTANCE, Settings, load_settings
from scripts.beside import run_beside
from serving.ending import say_stopped
from serving.reserved import Address, further_addresses

ROOT = Path(__file__).resolve().parent.parent
KEY_FILE = INSTANCE / "secret_key"
FIRST_OPERATOR = "admin@localhost"


def secret_key(file: Path = KEY_FILE) -> str:
    """The key stored in the file, made on the first call; only its owner may read it.

    :raises SystemExit: where the file cannot be read or written, or is empty.
    """
    try:
        return stored_key(file)
    except KeyFileUnusable as unusable:
        raise SystemExit(f"SECRET_KEY: not set, and {unusable}") from None


def open_every_interface() -> None:
    """Also serve waiting where the interfaces are not set: there is no other process for it."""
    if not os.environ.get("DOORS"):
        os.environ["DOORS"] = ",".join((*ALL_DOORS, "wait"))


def check_address(settings: Settings) -> None:
    """Check now, not after a minute of preparations, whether the addresses can be served.

    :raises SystemExit: with the variable to change.
    """
    for address in (Address(settings.host, settings.port), *further_addresses(settings)):
        address.refuse_if_taken()


def prepare_database(app: Flask) -> None:
    """Migrate; load the sandbox into an empty embedded database, and refresh it.

    Never on PostgreSQL: an empty database there waits for its own network.

    :raises SystemExit: where the database cannot be used.
    """
    url = app.config["SQLALCHEMY_DATABASE_URI"]
    with app.app_context():
        try:
            migrate_database(current(Database))
            if make_url(url).get_backend_name() == "sqlite":
                loaded = ensure_sandbox(
                    current(Database), current(AuditKeys), current(Intake), actor=cli_actor()
                )
                sys.stdout.write(loaded + "\n")
            if "admin" in app.config["SETTINGS"].doors:
                sys.stdout.write(first_account(current(Database), current(AuditKeys), current(TwoPersons)))
        except DBAPIError as error:
            raise SystemExit(f"DATABASE_URL: {unusable(current(Database).address, error)}") from None
        except SandboxRefused as refused:  # another process has loaded something else meanwhile
            raise SystemExit(f"sandbox: {refused}") from None
        finally:
            for engine in db.engines.values():
                engine.dispose()


def migrate_database(database: Database) -> None:
    """Migrate, unless a newer version has. Its schema can then be served by this version, or not.

    :raises SystemExit: this version cannot run on that schema.
    """
    applied = run_read(database.reads, applied_migrations)
    if applied == {newest_schema()}:
        return
    if not is_ahead(applied):
        from flask_migrate import upgrade  # noqa: PLC0415  it imports Alembic, which later starts save

        upgrade(directory=str(ROOT / "migrations"))
    elif complaint := database_complaint(database):
        raise SystemExit(f"DATABASE_URL: {complaint}")


def first_account(database: Database, audit_keys: AuditKeys, two_persons: TwoPersons) -> str:
    """How to sign in to the console. Where there is no account yet, one is made, and its password is shown
    once.
    """
    if any(account.active for account in list_accounts(database)):
        return ""
    password = generate_password()
    try:
        create_account(
            database, audit_keys, two_persons, FIRST_OPERATOR, password, Role.ADMIN, actor=cli_actor()
        )
    except AccountRefused:  # another process has made it meanwhile, or the account is disabled
        return ""
    return (
        f"Sign in to the console as {FIRST_OPERATOR} with the password {password} (shown this once).\n"
        "Another account: .venv/bin/flask --app wsgi operators create EMAIL --role operator\n"
        f"A new password:  .venv/bin/flask --app wsgi operators new-password {FIRST_OPERATOR}\n"
    )


def how_webhooks_are_sent(settings: Settings) -> str:
    """What else to start. The sender is a separate process, so that servers can be restarted without it."""
    if not {"api", "admin"} & set(settings.doors):
        return ""
    return "Webhooks are sent by another process, beside this one: .venv/bin/flask --app wsgi deliver\n"


def build_documentation(settings: Settings) -> None:
    """Start a process that builds what ``/docs`` serves after the gateway answers: the start does not wait
    for it.
    """
    run_beside("scripts.docs_site.later", settings.host, str(settings.port))


def main() -> None:
    os.chdir(ROOT)
    if not (os.environ.get("SECRET_KEY") or os.environ.get("SECRET_KEY_FILE")):
        os.environ["SECRET_KEY"] = secret_key()
    open_every_interface()
    settings = load_settings()
    if not settings.web_concurrency:
        os.environ.pop("WEB_CONCURRENCY", None)  # an empty one is unset here, but a fault to gunicorn
    check_address(settings)
    # Imported now that the environment is complete. gunicorn finds it there, so nothing is made twice.
    prepare_database(importlib.import_module("wsgi").app)
    if "api" in settings.doors:
        build_documentation(settings)
    sys.stdout.write(how_webhooks_are_sent(settings))
    # In this process, whose imports are done: a second interpreter would double the time to start. The first
    # argument is the program that gunicorn starts again for an upgrade (USR2).
    sys.argv = [str(Path(sys.executable).with_name("gunicorn")), "-c", "gunicorn.conf.py", "wsgi:app"]
    runpy.run_module("gunicorn", run_name="__main__")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        say_stopped()
