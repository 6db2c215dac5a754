"""``flask --app wsgi ingest-tokens …``: who may report events over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

import click

from app.accounts.proposal import TwoPersons
from app.audit.keys import AuditKeys
from app.credentials.ingest_token import EnvironmentTokens
from app.credentials.services.ingest_tokens import (
    TYPES,
    TokenRecord,
    TokenRefused,
    TokenTerms,
    create_token,
    list_tokens,
    revoke_token,
    rotate_token,
)
from app.db.database import Database
from app.json_documents import read_time
from app.parts import current
from app.terminal import DataGroup, Refusal, break_glass, cli_actor, say, table, time

ingest_tokens = DataGroup("ingest-tokens", help="Ingest tokens, with which reporters send events over HTTP.")


@ingest_tokens.command("create")
@click.argument("name")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="An event type that the token may report. May be repeated.",
)
@click.option(
    "--chain",
    "chains",
    multiple=True,
    type=int,
    help="A chain that the token may report about. May be repeated.",
)
@click.option("--expires", help="When the token expires, RFC 3339 such as 2027-01-31T12:00:00Z.")
@click.option(
    "--quota", "quota_events", type=int, help="Maximum number of new events in each period of --per seconds."
)
@click.option(
    "--per", "quota_seconds", type=int, help="Period of --quota in seconds; periods are counted from 1970 on."
)
@break_glass
def create(
    name: str,
    types: tuple[str, ...],
    chains: tuple[int, ...],
    expires: str | None,
    break_glass: str | None,
    **quota: int | None,
) -> None:
    """Create the ingest token NAME and print it. It is shown this once.

    Without --type it may report all event types, without --chain about all chains.
    """
    database = current(Database)
    audit_keys = current(AuditKeys)
    two_persons = current(TwoPersons)
    actor = cli_actor()
    terms = TokenTerms(expires_at=_time(expires), **quota)
    try:
        token = create_token(
            database,
            audit_keys,
            two_persons,
            name,
            types,
            chains,
            actor=actor,
            terms=terms,
            break_glass=break_glass,
        )
    except TokenRefused as refused:
        raise Refusal(str(refused)) from None
    _show(name, token)


@ingest_tokens.command("rotate")
@click.argument("name")
@click.option("--expires", help="When the new token expires, RFC 3339 such as 2027-01-31T12:00:00Z.")
@break_glass
def rotate(name: str, expires: str | None, break_glass: str | None) -> None:
    """Create a second token NAME with the same scope and quota, and print it. It is shown this once.

    Both are valid until the older one is revoked: ingest-tokens revoke NAME --key KEY_ID.
    """
    try:
        token = rotate_token(
            current(Database),
            current(AuditKeys),
            current(TwoPersons),
            name,
            actor=cli_actor(),
            expires_at=_time(expires),
            break_glass=break_glass,
        )
    except TokenRefused as refused:
        raise Refusal(str(refused)) from None
    _show(name, token)


def _time(text: str | None) -> datetime | None:
    try:
        return None if text is None else read_time(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--expires") from None


def _show(name: str, token: str) -> None:
    say(f"The token {name} (shown this once):", err=True)
    say(token)


@ingest_tokens.command("list")
def list_() -> None:
    """List all tokens, also revoked ones, and when an event was last accepted from each."""
    head = ("NAME", "STATE", "TYPES", "CHAINS", "CREATED", "LAST ACCEPTED")
    database = current(Database)
    environment_tokens = current(EnvironmentTokens)
    records = list_tokens(database, environment_tokens)
    of_name = Counter(record.name for record in records)
    rows = [_row(record, of_name[record.name] > 1, database.clock()) for record in records]
    click.echo(table(head, rows))


@ingest_tokens.command("revoke")
@click.argument("name")
@click.option(
    "--key", "key_id", metavar="KEY_ID", help="Revoke only the token with this key ID, as shown by the list."
)
def revoke(name: str, key_id: str | None) -> None:
    """Revoke the tokens NAME at once, in every process."""
    try:
        revoked_at = revoke_token(
            current(Database),
            current(AuditKeys),
            current(EnvironmentTokens),
            name,
            actor=cli_actor(),
            key_id=key_id,
        )
    except TokenRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"{name} was revoked at {time(revoked_at)}")


def _row(record: TokenRecord, one_of_several: bool, now: datetime) -> tuple[str, ...]:
    scope = record.scope
    return (
        f"{record.name} (key ID {record.key_id})" if one_of_several else record.name,
        _state(record, now),
        _members(None if scope.types is None else sorted(scope.types, key=TYPES.index)),
        _members(None if scope.chains is None else sorted(scope.chains)),
        time(record.created_at),
        time(record.last_received_at),
    )


def _state(record: TokenRecord, now: datetime) -> str:
    if record.key_id is None:
        return "environment"
    if record.revoked_at is not None:
        return f"revoked {time(record.revoked_at)}"
    if record.expires_at is not None and record.expires_at <= now:
        return f"expired {time(record.expires_at)}"
    until = f" until {time(record.expires_at)}" if record.expires_at else ""
    return f"valid{until}" + (f", {record.quota}" if record.quota else "")


def _members(values: Iterable[object] | None) -> str:
    return "all" if values is None else ",".join(map(str, values))
