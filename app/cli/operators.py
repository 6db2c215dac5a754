"""``flask --app wsgi operators …``: the accounts of the console."""

from __future__ import annotations

import click
from flask.cli import AppGroup

from app.cli.actor import cli_actor
from app.cli.group import DataGroup
from app.cli.text import Refusal, say, table, time
from app.domain.operators import Role
from app.runtime.gateway import current_gateway
from app.services.operators.accounts import (
    Account,
    AccountRefused,
    create_account,
    find_account,
    list_accounts,
    reset_password,
    update_account,
)
from app.services.operators.factors import accounts_that_have_passkeys, forget_second_factors

operators: AppGroup = DataGroup("operators", help="Accounts of the console.")

_ROLE = click.Choice([role.value for role in Role])


@operators.command("create")
@click.argument("email")
@click.option("--role", type=_ROLE, required=True, help="What the account may do.")
@click.option(
    "--password",
    envvar="OPERATOR_PASSWORD",
    prompt=True,
    hide_input=True,
    confirmation_prompt=True,
    help="Best left to the prompt, or in OPERATOR_PASSWORD: command lines are seen by others.",
)
def create(email: str, role: str, password: str) -> None:
    """Make an account for EMAIL. Its password comes from OPERATOR_PASSWORD or a prompt."""
    try:
        made = create_account(current_gateway(), email, password, Role(role), actor=cli_actor())
    except AccountRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"{made.email} may sign in as {made.role}")


@operators.command("list")
def list_() -> None:
    """List every account."""
    with_passkey = accounts_that_have_passkeys(current_gateway())
    rows = [
        (
            account.email,
            account.role.value,
            "active" if account.active else "off",
            _second_factor(account, account.id in with_passkey),
            time(account.signed_in_at),
        )
        for account in list_accounts(current_gateway())
    ]
    click.echo(table(("EMAIL", "ROLE", "STATE", "SECOND FACTOR", "LAST SIGN-IN"), rows))


@operators.command("set-role")
@click.argument("email")
@click.option("--role", type=_ROLE, required=True)
def set_role(email: str, role: str) -> None:
    """Change what the account EMAIL may do."""
    changed = _change(email, role=role)
    say(f"{changed.email} is {changed.role} now")


@operators.command("disable")
@click.argument("email")
def disable(email: str) -> None:
    """Let EMAIL sign in no longer; its sessions end at once."""
    changed = _change(email, active=False)
    say(f"{changed.email} cannot sign in any more")


@operators.command("enable")
@click.argument("email")
def enable(email: str) -> None:
    """Let EMAIL sign in again."""
    changed = _change(email, active=True)
    say(f"{changed.email} may sign in again, as {changed.role}")


@operators.command("new-password")
@click.argument("email")
def new_password(email: str) -> None:
    """Give EMAIL a generated password and print it, this once; the old one and all sessions end.

    Its owner must change it at the next sign-in.
    """
    password = reset_password(current_gateway(), _account(email).id, actor=cli_actor())
    say(f"The new password of {email}, shown this once:", err=True)
    say(password)


@operators.command("reset-second-factor")
@click.argument("email")
def reset_second_factor(email: str) -> None:
    """Forget codes, passkeys and recovery codes of EMAIL, whose owner has lost them; all sessions end."""
    changed = forget_second_factors(current_gateway(), _account(email).id, actor=cli_actor())
    say(f"{changed.email} has no second factor now")


def _second_factor(account: Account, has_passkey: bool) -> str:
    if account.tf_totp_secret or has_passkey:
        return "set up"
    return "required" if account.second_factor_required else "none"


def _account(email: str) -> Account:
    account = find_account(current_gateway(), email=email)
    if account is None:
        raise Refusal(f"there is no account {email}; see: flask --app wsgi operators list")
    return account


def _change(email: str, **changes: object) -> Account:
    try:
        return update_account(current_gateway(), _account(email).id, changes, actor=cli_actor())
    except AccountRefused as refused:
        raise Refusal(str(refused)) from None
