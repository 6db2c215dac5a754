"""``make run``: from a bare checkout to a gateway that answers.

Makes a secret key where the environment has none, migrates the database, loads and refreshes the sandbox in
an embedded database, starts another process that builds the documentation, and becomes gunicorn. Any fault
ends it with one line; only the documentation may be missing. With ``VERBOSE=1`` migrations and gunicorn
print their own log.
"""

from __future__ import annotations

if __name__ == "__main__":  # gunicorn goes on in this process; an importing module stays unchanged
    from serving import ending

    ending.stop_quietly()

    from scripts.venv import Progress

    _starting = Progress("Starting")

    import gc

    from serving import patch

    gc.disable()  # until wsgi.py has imported everything
    patch()

import importlib
import logging
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

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
from app.db.models import db
from app.db.schema import applied_or_none, database_complaint, is_ahead, newest_schema
from app.feed.services.ingest import Intake
from app.http.application import current
from app.observability.logs import LINE, TIME, format_handlers
from app.sandbox.services import SandboxRefused, ensure_sandbox
from config import ALL_DOORS, DOCS_SITE, INSTANCE, Settings, load_settings, shown_url
from scripts.apart import apart
from scripts.beside import run_beside
from scripts.venv import Progress
from serving import start_block
from serving.address import Address
from serving.ending import say_stopped
from serving.reserved import further_addresses

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
        address.refuse_if_taken("make run")


@contextmanager
def database_of(app: Flask) -> Iterator[None]:
    """Work on the application's database; connections are closed with the block.

    :raises SystemExit: where the database cannot be used.
    """
    with app.app_context():
        try:
            yield
        except DBAPIError as error:
            raise SystemExit(f"DATABASE_URL: {unusable(current(Database).address, error)}") from None
        finally:
            for engine in db.engines.values():
                engine.dispose()


def prepare_database(app: Flask, progress: Progress, *, verbose: bool = False) -> None:
    """Migrate; load the sandbox into an empty embedded database, and refresh it.

    Never on PostgreSQL: an empty database there waits for its own network.

    :raises SystemExit: where the database cannot be used.
    """
    with database_of(app):
        with migration_log(progress, app.config["SETTINGS"].log_format if verbose else None):
            migrate_database(current(Database))
        if make_url(app.config["SQLALCHEMY_DATABASE_URI"]).get_backend_name() != "sqlite":
            return
        parts = current(Database), current(AuditKeys), current(Intake)
        try:
            loaded = ensure_sandbox(*parts, actor=cli_actor(), working=progress.show)
        except SandboxRefused as refused:  # another process has loaded something else meanwhile
            raise SystemExit(f"sandbox: {refused}") from None
        if verbose:
            progress.end(loaded)


def console_account(app: Flask) -> tuple[str, ...]:
    """How to sign in to the console, where it is served; a line each.

    :raises SystemExit: where the database cannot be used.
    """
    if "admin" not in app.config["SETTINGS"].doors:
        return ()
    with database_of(app):
        return first_account(current(Database), current(AuditKeys), current(TwoPersons))


@contextmanager
def migration_log(progress: Progress, log_format: Literal["console", "json"] | None) -> Iterator[None]:
    """Show each migration: as a line of the log in this format, or where there is none, as progress."""
    log = logging.getLogger("alembic.runtime.migration")
    handler: logging.Handler = _Steps(progress)
    if log_format:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(LINE, TIME))
        format_handlers([handler], log_format)
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.level, log.propagate = before


class _Steps(logging.Handler):
    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno > logging.INFO:
            self._progress.end(record.getMessage())
        elif (step := record.getMessage()).startswith("Running"):
            self._progress.show(f"migrating the database: {step.removeprefix('Running ')}")


@contextmanager
def logs_below(progress: Progress) -> Iterator[None]:
    """Let no line of the log stand behind what is shown on a terminal."""
    make = logging.getLogRecordFactory()

    def clear_and_make(*values: object, **named: object) -> logging.LogRecord:
        progress.clear()
        return make(*values, **named)

    logging.setLogRecordFactory(clear_and_make)
    try:
        yield
    finally:
        progress.clear()
        logging.setLogRecordFactory(make)


def migrate_database(database: Database) -> None:
    """Migrate, unless a newer version has. Its schema can then be served by this version, or not.

    :raises SystemExit: this version cannot run on that schema.
    """
    applied = applied_or_none(database)
    if applied == {newest_schema()}:
        return
    if not is_ahead(applied):
        from flask_migrate import upgrade  # noqa: PLC0415  it imports Alembic, which later starts save

        upgrade(directory=str(ROOT / "migrations"))
    elif complaint := database_complaint(database):
        raise SystemExit(f"DATABASE_URL: {complaint}")


def first_account(database: Database, audit_keys: AuditKeys, two_persons: TwoPersons) -> tuple[str, ...]:
    """How to sign in to the console. Where there is no account yet, one is made, and its password is shown
    once.
    """
    active = {account.email for account in list_accounts(database) if account.active}
    if not active:
        password = generate_password()
        try:
            create_account(
                database, audit_keys, two_persons, FIRST_OPERATOR, password, Role.ADMIN, actor=cli_actor()
            )
        except AccountRefused:  # another process has made it meanwhile, or the account is disabled
            return ()
        return f"account   {FIRST_OPERATOR}", f"password  {password}  (shown only this once)"
    account = FIRST_OPERATOR if FIRST_OPERATOR in active else "EMAIL"
    return (f"a new password: .venv/bin/flask --app wsgi operators new-password {account}",)


def how_webhooks_are_sent(settings: Settings) -> str:
    """What else to start. The sender is a separate process, so that servers can be restarted without it."""
    if not {"api", "admin"} & set(settings.doors):
        return ""
    return "Another process sends webhooks: .venv/bin/flask --app wsgi deliver\n"


def build_documentation(settings: Settings) -> None:
    """Start a process that builds what ``/docs`` serves after the gateway answers: the start does not wait
    for it.
    """
    run_beside("scripts.docs_site.later", settings.host, str(settings.port))


class Once(logging.Filter):
    """Lets each warning about the settings through once: three parts of this process read them."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        new = record.getMessage() not in self._seen
        self._seen.add(record.getMessage())
        return new


def where_data_is(url: str) -> str:
    """The file in the form of this folder, or the server."""
    file = make_url(url).database or ""
    if make_url(url).get_backend_name() != "sqlite":
        return shown_url(url)
    return str(Path(file).relative_to(ROOT) if Path(file).is_relative_to(ROOT) else file)


def main(progress: Progress) -> None:
    """Prepare all, and become gunicorn.

    :param progress: is shown until gunicorn has something to say.
    """
    os.chdir(ROOT)
    verbose = os.environ.get("VERBOSE", "0") not in ("", "0")
    if not (os.environ.get("SECRET_KEY") or os.environ.get("SECRET_KEY_FILE")):
        os.environ["SECRET_KEY"] = secret_key()
    open_every_interface()
    logging.getLogger(load_settings.__module__).addFilter(Once())
    with logs_below(progress):
        settings = load_settings()
        if not settings.web_concurrency:
            os.environ.pop("WEB_CONCURRENCY", None)  # an empty one is unset here, but a fault to gunicorn
        check_address(settings)
        # Imported now that the environment is complete. gunicorn finds it there, so nothing is made twice.
        app = importlib.import_module("wsgi").app
        # What this takes in memory, and a password's hash, the gateway does not need while it runs.
        apart(lambda: prepare_database(app, progress, verbose=verbose))
        account = apart(lambda: console_account(app))
    building = "api" in settings.doors and not DOCS_SITE.exists()
    start_block.begin(start_block.Start(account, where_data_is(settings.database_url), building, verbose))
    if "api" in settings.doors:
        build_documentation(settings)
    if verbose:
        sys.stdout.write(how_webhooks_are_sent(settings))
    # In this process, whose imports are done: a second interpreter would double the time to start. The first
    # argument is the program that gunicorn starts again for an upgrade (USR2).
    sys.argv = [str(Path(sys.executable).with_name("gunicorn")), "-c", "gunicorn.conf.py", "wsgi:app"]
    runpy.run_module("gunicorn", run_name="__main__")


if __name__ == "__main__":
    try:
        main(_starting)
    except KeyboardInterrupt:
        say_stopped()
