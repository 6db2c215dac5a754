"""``flask --app wsgi api-keys …``: the keys of integrators."""

from __future__ import annotations

import click

from app.accounts.proposal import TwoPersons
from app.audit.keys import AuditKeys
from app.credentials.api_key import Scope
from app.credentials.services.api_keys import KeyRecord, KeyRefused, create_key, list_keys, revoke_key
from app.db.database import Database
from app.parts import current
from app.terminal import DataGroup, Refusal, break_glass, cli_actor, say, table, time

api_keys = DataGroup("api-keys", help="API keys, with which integrators ask by a limit of their own.")


@api_keys.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in Scope]),
    multiple=True,
    default=(Scope.READ.value,),
    show_default=True,
    help="What the key allows. May be repeated.",
)
@click.option(
    "--limit",
    "rate_limit",
    default="",
    metavar="LIMIT",
    help="Maximum number of requests, such as 20/second or 100/minute;1000/hour. Without it there is none.",
)
@break_glass
def create(name: str, scopes: tuple[str, ...], rate_limit: str, break_glass: str | None) -> None:
    """Create the API key NAME and print it. It is shown this once."""
    try:
        key = create_key(
            current(Database),
            current(AuditKeys),
            current(TwoPersons),
            name,
            scopes,
            rate_limit,
            actor=cli_actor(),
            break_glass=break_glass,
        )
    except KeyRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"The API key {name} (shown this once):", err=True)
    say(key)


@api_keys.command("list")
def list_() -> None:
    """List all keys, also revoked ones, and the day on which each was last used."""
    head = ("NAME", "KEY ID", "STATE", "SCOPES", "LIMIT", "CREATED", "LAST USED")
    click.echo(table(head, [_row(record) for record in list_keys(current(Database))]))


@api_keys.command("revoke")
@click.argument("name")
def revoke(name: str) -> None:
    """Revoke the key NAME. Every process refuses it within CONFIG_MAX_AGE_SECONDS."""
    database = current(Database)
    audit_keys = current(AuditKeys)
    named = [record for record in list_keys(database) if record.name == name]
    if not named:
        raise Refusal(f"there is no API key {name}; the names are listed by: flask --app wsgi api-keys list")
    revoked_at = revoke_key(database, audit_keys, named[0].api_key_id, actor=cli_actor())
    say(f"{name} was revoked at {time(revoked_at)}")


def _row(record: KeyRecord) -> tuple[str, ...]:
    return (
        record.name,
        record.key_id,
        "valid" if record.revoked_at is None else f"revoked {time(record.revoked_at)}",
        ",".join(record.scopes),
        record.rate_limit or "none",
        time(record.created_at),
        record.last_used.isoformat() if record.last_used else "-",
    )
