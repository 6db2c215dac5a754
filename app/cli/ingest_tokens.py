"""``flask --app wsgi ingest-tokens …``: who may report events over HTTP."""

from __future__ import annotations

from collections.abc import Iterable

import click

from app.cli.actor import cli_actor
from app.cli.group import DataGroup
from app.cli.text import Refusal, say, table, time
from app.runtime.gateway import current_gateway
from app.services.feed.tokens import (
    TYPES,
    TokenRecord,
    TokenRefused,
    create_token,
    list_tokens,
    revoke_token,
)

ingest_tokens = DataGroup("ingest-tokens", help="Who may report events over HTTP.")


@ingest_tokens.command("create")
@click.argument("name")
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="An event type it may report; repeatable."
)
@click.option("--chain", "chains", multiple=True, type=int, help="A chain it may report about; repeatable.")
def create(name: str, types: tuple[str, ...], chains: tuple[int, ...]) -> None:
    """Make a token called NAME and print it, this once: it is not kept.

    Without --type it may report every event type, without --chain about every chain.
    """
    try:
        token = create_token(current_gateway(), name, types, chains, actor=cli_actor())
    except TokenRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"The token of {name}, shown this once:", err=True)
    say(token)


@ingest_tokens.command("list")
def list_() -> None:
    """List every token, revoked ones too, and when an event was last accepted from each."""
    head = ("NAME", "STATE", "TYPES", "CHAINS", "CREATED", "LAST ACCEPTED")
    click.echo(table(head, [_row(record) for record in list_tokens(current_gateway())]))


@ingest_tokens.command("revoke")
@click.argument("name")
def revoke(name: str) -> None:
    """Let the token called NAME count no longer, from now on and in every process."""
    try:
        revoked_at = revoke_token(current_gateway(), name, actor=cli_actor())
    except TokenRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"{name} is revoked since {time(revoked_at)}")


def _row(record: TokenRecord) -> tuple[str, ...]:
    state = "valid" if record.key_id else "environment"
    if record.revoked_at is not None:
        state = f"revoked {time(record.revoked_at)}"
    scope = record.scope
    return (
        record.name,
        state,
        _members(None if scope.types is None else sorted(scope.types, key=TYPES.index)),
        _members(None if scope.chains is None else sorted(scope.chains)),
        time(record.created_at),
        time(record.last_received_at),
    )


def _members(values: Iterable[object] | None) -> str:
    return "all" if values is None else ",".join(map(str, values))
