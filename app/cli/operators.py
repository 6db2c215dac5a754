"""``flask --app wsgi operators …``: the accounts of the console."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click
from flask import current_app
from flask.cli import AppGroup

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.account_changes import (
    AccountAction,
    AccountRequest,
    create_account,
    request_account,
)
from app.accounts.services.accounts import (
    Account,
    AccountRefused,
    checked_email,
    find_account,
    list_accounts,
)
from app.accounts.services.code_keys import CodeKeys, KeyNotNamed, reencrypt
from app.accounts.services.factors import accounts_that_have_passkeys
from app.accounts.services.passwords import generate_password, hash_password
from app.audit.keys import AuditKeys
from app.cli.terminal import DataGroup, Refusal, break_glass, cli_actor, say, table, time
from app.db.database import Database
from app.http.application import current

operators: AppGroup = DataGroup("operators", help="Accounts of the console.")


_ROLE = click.Choice([role.value for role in Role])


@operators.command("create")
@click.argument("email")
@click.option("--role", type=_ROLE, required=True, help="Role of the account.")
@click.option(
    "--password",
    envvar="OPERATOR_PASSWORD",
    help="Other users of the machine see it: use the prompt, OPERATOR_PASSWORD or --password-file instead.",
)
@click.option(
    "--password-file",
    type=click.File(encoding="utf-8"),
    envvar="OPERATOR_PASSWORD_FILE",
    help="File with the password; also OPERATOR_PASSWORD_FILE.",
)
@click.option(
    "--needs-second-factor", is_flag=True, help="The owner must set up a second factor at the first sign-in."
)
@break_glass
def create(
    email: str,
    role: str,
    *,
    password: str | None,
    password_file: TextIO | None,
    needs_second_factor: bool,
    break_glass: str | None,
) -> None:
    """Create the account EMAIL. A prompt, OPERATOR_PASSWORD or a file gives the password."""
    if password_file is not None:
        password = password or password_file.read().rstrip("\r\n")
    try:
        checked_email(email)  # before somebody types a password
        password = password or _read_password()
        made = create_account(
            *_parts(),
            email,
            password,
            Role(role),
            actor=cli_actor(),
            break_glass=break_glass,
            needs_factor=needs_second_factor,
        )
    except AccountRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"created {made} with the role {role}")


def _read_password() -> str:
    """Read it from a prompt, or where there is no terminal from the first line of standard input."""
    if _is_at_terminal():
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return typed
    if line := sys.stdin.readline().rstrip("\r\n"):
        return line
    raise Refusal(
        "the password is missing, and there is no terminal to type it at: name a file that holds it with "
        "--password-file, or set OPERATOR_PASSWORD"
    )


def _is_at_terminal() -> bool:
    """Whether a prompt reaches a person: it uses the terminal of the process, whatever its input is."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return sys.stdin.isatty()
    return True


@operators.command("list")
def list_() -> None:
    """List all accounts."""
    with_passkey = accounts_that_have_passkeys(current(Database))
    rows = [
        (
            account.email,
            account.role.value,
            "active" if account.active else "disabled",
            _second_factor(account, account.id in with_passkey),
            time(account.signed_in_at),
        )
        for account in list_accounts(current(Database))
    ]
    click.echo(table(("EMAIL", "ROLE", "STATE", "SECOND FACTOR", "LAST SIGN-IN"), rows))


@operators.command("set-role")
@click.argument("email")
@click.option("--role", type=_ROLE, required=True)
@break_glass
def set_role(email: str, role: str, break_glass: str | None) -> None:
    """Change the role of the account EMAIL."""
    account = _change(AccountAction.CHANGE, email, break_glass, role=role)
    say(f"{account.email} has the role {role} now")


@operators.command("disable")
@click.argument("email")
@break_glass
def disable(email: str, break_glass: str | None) -> None:
    """Disable the account EMAIL and end its sessions at once."""
    say(f"disabled {_change(AccountAction.CHANGE, email, break_glass, active=False).email}")


@operators.command("enable")
@click.argument("email")
@break_glass
def enable(email: str, break_glass: str | None) -> None:
    """Enable the account EMAIL again."""
    account = _change(AccountAction.CHANGE, email, break_glass, active=True)
    say(f"enabled {account.email} with the role {account.role}")


@operators.command("new-password")
@click.argument("email")
@break_glass
def new_password(email: str, break_glass: str | None) -> None:
    """Generate a new password for EMAIL, print it once, and end all sessions.

    The owner must change it at the next sign-in.
    """
    password = generate_password()
    _change(AccountAction.NEW_PASSWORD, email, break_glass, hashed=hash_password(password))
    say(f"The new password of {email} (shown only once):", err=True)
    say(password)


@operators.command("reset-second-factor")
@click.argument("email")
@break_glass
def reset_second_factor(email: str, break_glass: str | None) -> None:
    """Remove the second factor of EMAIL (codes, passkeys, recovery codes), and end all sessions."""
    account = _change(AccountAction.RESET_SECOND_FACTOR, email, break_glass)
    say(f"{account.email} has no second factor now")


@operators.command("reencrypt")
@click.option(
    "--unnamed",
    type=click.Choice(["oldest", "present"]),
    help="The key of secrets that earlier versions stored without a key's name: the first of "
    "SECRET_KEYS_OLD, or SECRET_KEY. Needed only if the database has such secrets and you have several keys.",
)
def reencrypt_(unnamed: str | None) -> None:
    """Encrypt the secrets of one-time codes with the present SECRET_KEY.

    Run it after you replace SECRET_KEY, and before you remove the old key from SECRET_KEYS_OLD. A second run
    changes nothing. Exits with 1 if secrets need a key that is not configured.
    """
    settings = current_app.config["SETTINGS"]
    if not settings.secret_key:
        raise Refusal("SECRET_KEY is not set: set it as for the gateway; nothing was changed")
    keys = CodeKeys(settings.secret_key, settings.secret_keys_old)
    name = {"oldest": keys.oldest, "present": keys.present, None: None}[unnamed]
    try:
        done = reencrypt(current(Database), current(AuditKeys), keys, actor=cli_actor(), unnamed=name)
    except KeyNotNamed as refused:
        raise Refusal(
            f"{refused}: choose that key with --unnamed (docs/operations.md#rotate-keys); nothing was changed"
        ) from None
    say(f"secrets now encrypted with the present key: {done.moved}; already before: {done.already}")
    if done.unreadable:
        emails = ", ".join(done.unreadable)
        raise Refusal(
            f"the secrets of {emails} need a key that is in neither SECRET_KEY nor SECRET_KEYS_OLD: add it "
            "to SECRET_KEYS_OLD, or run operators reset-second-factor EMAIL"
        )


def _parts() -> tuple[Database, AuditKeys, TwoPersons]:
    return current(Database), current(AuditKeys), current(TwoPersons)


def _second_factor(account: Account, has_passkey: bool) -> str:
    if account.tf_totp_secret or has_passkey:
        return "set up"
    return "required" if account.second_factor_required else "none"


def _account(email: str) -> Account:
    account = find_account(current(Database), email=email)
    if account is None:
        raise Refusal(f"there is no account {email}; list the accounts with: flask --app wsgi operators list")
    return account


def _change(
    action: AccountAction, email: str, break_glass: str | None, *, hashed: str | None = None, **values: object
) -> Account:
    """Change the account; it is returned as it was."""
    account = _account(email)
    request = AccountRequest(action, account.email, values, hashed)
    try:
        request_account(*_parts(), request, actor=cli_actor(), break_glass=break_glass)
    except AccountRefused as refused:
        raise Refusal(str(refused)) from None
    return account
