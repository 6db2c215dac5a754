"""``flask --app wsgi api-keys …`` and ``ingest-tokens …``: keys of integrators, and tokens of reporters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime

import click

from app.accounts.rules.two_persons import TwoPersons
from app.audit.keys import AuditKeys
from app.cli.terminal import DataGroup, Refusal, break_glass, cli_actor, say, table, time
from app.credentials.rules.api_key import Scope
from app.credentials.rules.credential import CredentialState
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import (
    CredentialRefused,
    NoCredential,
    TokenRecord,
    list_keys,
    list_tokens,
    revoke_key,
    revoke_token,
    state_of,
)
from app.credentials.services.issuing import TokenTerms, Wanted, issue, new_key, new_token, second_token
from app.db.database import Database
from app.http.application import current
from app.network.snapshot import SnapshotSource
from app.transfers.rules.events.event_types import REPORTED
from app.values.json_values import read_time

api_keys = DataGroup("api-keys", help="API keys: integrators who send one have a rate limit of their own.")
ingest_tokens = DataGroup("ingest-tokens", help="Ingest tokens: reporters send events over HTTP with them.")


def _print(what: str, want: Callable[[], Wanted], break_glass: str | None) -> None:
    """Issue a key or token and print its text.

    :raises Refusal: it is refused.
    """
    try:
        parts = current(Database), current(AuditKeys), current(TwoPersons)
        issued = issue(*parts, want(), actor=cli_actor(), break_glass=break_glass)
    except CredentialRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"The {what} (shown only once):", err=True)
    say(issued.text)


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
    help="Maximum number of requests, such as 20/second or 100/minute;1000/hour. The default is no maximum.",
)
@break_glass
def create_api_key(name: str, scopes: tuple[str, ...], rate_limit: str, break_glass: str | None) -> None:
    """Create the API key NAME and print it. It is shown only once."""
    _print(f"API key {name}", lambda: new_key(name, scopes, rate_limit), break_glass)


@api_keys.command("list")
def list_api_keys() -> None:
    """List all keys, also revoked ones, and the day on which each was last used."""
    head = ("NAME", "KEY ID", "STATE", "SCOPES", "LIMIT", "CREATED", "LAST USED")
    rows = [
        (
            record.name,
            record.key_id,
            "valid" if record.revoked_at is None else f"revoked {time(record.revoked_at)}",
            ",".join(record.scopes),
            record.rate_limit or "none",
            time(record.created_at),
            record.last_used.isoformat() if record.last_used else "-",
        )
        for record in list_keys(current(Database))
    ]
    click.echo(table(head, rows))


@api_keys.command("revoke")
@click.argument("name")
def revoke_api_key(name: str) -> None:
    """Revoke the key NAME. Every process refuses it within CONFIG_MAX_AGE_SECONDS."""
    try:
        revoked_at = revoke_key(current(Database), current(AuditKeys), name, actor=cli_actor())
    except NoCredential as refused:
        raise Refusal(f"{refused}: flask --app wsgi api-keys list") from None
    say(f"{name} was revoked at {time(revoked_at)}")


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
def create_ingest_token(
    name: str,
    types: tuple[str, ...],
    chains: tuple[int, ...],
    expires: str | None,
    break_glass: str | None,
    **quota: int | None,
) -> None:
    """Create the ingest token NAME and print it. It is shown only once.

    Without --type it may report all event types, without --chain about all chains.
    """
    terms = TokenTerms(expires_at=_time(expires), **quota)
    _print(f"token {name}", lambda: new_token(name, types, chains, terms), break_glass)
    known = current(SnapshotSource).newest().terms.chains
    for chain in sorted({*chains} - known.keys()):
        say(f"note: chain {chain} is not configured: correct --chain, or add the chain", err=True)


@ingest_tokens.command("rotate")
@click.argument("name")
@click.option("--expires", help="When the new token expires, RFC 3339 such as 2027-01-31T12:00:00Z.")
@break_glass
def rotate_ingest_token(name: str, expires: str | None, break_glass: str | None) -> None:
    """Create a second token NAME with the same scope and quota, and print it. It is shown only once.

    Both are valid until the older one is revoked: ingest-tokens revoke NAME --key KEY_ID.
    """
    ends = _time(expires)
    _print(f"token {name}", lambda: second_token(name, ends), break_glass)


def _time(text: str | None) -> datetime | None:
    try:
        return None if text is None else read_time(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--expires") from None


@ingest_tokens.command("list")
def list_ingest_tokens() -> None:
    """List all tokens, also revoked ones, and when an event was last accepted from each."""
    head = ("NAME", "STATE", "TYPES", "CHAINS", "CREATED", "LAST ACCEPTED")
    database = current(Database)
    records = list_tokens(database, current(EnvironmentTokens))
    of_name = Counter(record.name for record in records)
    rows = [_row(record, of_name[record.name] > 1, database.clock()) for record in records]
    click.echo(table(head, rows))


@ingest_tokens.command("revoke")
@click.argument("name")
@click.option(
    "--key", "key_id", metavar="KEY_ID", help="Revoke only the token with this key ID, as shown by the list."
)
def revoke_ingest_token(name: str, key_id: str | None) -> None:
    """Revoke the tokens NAME at once, in every process."""
    parts = current(Database), current(AuditKeys), current(EnvironmentTokens)
    try:
        revoked_at = revoke_token(*parts, name, actor=cli_actor(), key_id=key_id)
    except NoCredential as refused:
        raise Refusal(f"{refused}: flask --app wsgi ingest-tokens list") from None
    except CredentialRefused as refused:
        raise Refusal(str(refused)) from None
    revoked = name if key_id is None else f"{name} (key ID {key_id})"
    say(f"{revoked} was revoked at {time(revoked_at)}")


def _row(record: TokenRecord, one_of_several: bool, now: datetime) -> tuple[str, ...]:
    scope = record.scope
    return (
        f"{record.name} (key ID {record.key_id})" if one_of_several else record.name,
        _state(record, now),
        _members(None if scope.types is None else sorted(scope.types, key=REPORTED.index)),
        _members(None if scope.chains is None else sorted(scope.chains)),
        time(record.created_at),
        time(record.last_received_at),
    )


def _state(record: TokenRecord, now: datetime) -> str:
    if record.key_id is None:
        return "environment"
    state = state_of(record, now)
    if state is not CredentialState.VALID:
        return f"{state} {time(record.revoked_at or record.expires_at)}"
    until = f" until {time(record.expires_at)}" if record.expires_at else ""
    return f"valid{until}" + (f", {record.quota}" if record.quota else "")


def _members(values: Iterable[object] | None) -> str:
    return "all" if values is None else ",".join(map(str, values))
