"""Loads the sandbox, all or nothing, and refreshes it. Moves made-up transfers through its stories.

What happens to a transfer is computed from its first event in the log: the same transfer at the same step has
the same events, so that a request may be sent again. They come in through the feed, as those of any reporter.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson
from msgspec import Struct
from sqlalchemy.exc import SQLAlchemyError

from app.audit.keys import AuditKeys
from app.audit.rules.records import SANDBOX_LOADED, Actor
from app.audit.services import record, record_separately
from app.db.complaints import unusable
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.ingest import IngestResult, Intake, ingest_lines, ingest_within
from app.latency.queries import newest_release
from app.network.changes import audited
from app.network.document import import_within, read_document
from app.sandbox.catalogue import SANDBOX_TRANSFERS, SandboxTransfer, block_delays, network_document
from app.sandbox.feed import fresh_events, fresh_heads, sandbox_events, story_steps
from app.sandbox.reports import Event, time_to_depth
from app.sandbox.transfer_builder import TransferBuilder, send_details
from app.transfers.queries.logged import SANDBOX, accepted_ids, is_empty, is_sandbox, transfers_log
from app.transfers.queries.status import transfer_row
from app.values.codes import Reason
from app.values.crypto import keccak256, parse_evm_address
from app.values.errors import BadRequest, GatewayError, Unavailable
from app.values.identifiers import TransferId

STALE_AFTER = timedelta(days=1)


class SandboxRefused(Exception):
    """The database holds something that is not the sandbox's."""


def load_sandbox(database: Database, audit_keys: AuditKeys, intake: Intake, *, actor: Actor) -> str:
    """Load the sandbox into an empty database.

    :returns: what was loaded, for people.
    :raises SandboxRefused: when the database holds anything.
    """
    with writing(database.engine) as connection:
        if not is_empty(connection):
            raise SandboxRefused(
                "the database is not empty: set DATABASE_URL to a new database to load the sandbox"
            )
        now = database.clock()
        changes = import_within(connection, read_document(orjson.dumps(network_document())), now)
        verdict = ingest_within(connection, database, intake, _lines(sandbox_events(now)), SANDBOX)
        _expect_all_taken(verdict)
        loaded = f"sandbox loaded: {verdict.accepted} events"
        record(
            connection, audit_keys, actor, SANDBOX_LOADED, "sandbox",
            now=now, detail=loaded, changes=audited(changes),
        )  # fmt: skip
    return loaded


def ensure_sandbox(
    database: Database,
    audit_keys: AuditKeys,
    intake: Intake,
    *,
    actor: Actor,
    working: Callable[[str], None] = lambda _what: None,
) -> str:
    """Load the sandbox into an empty database, refresh an old sandbox, and leave other data unchanged.

    :param working: is called with what takes seconds, before it begins.
    """
    with reading(database.reads) as connection:
        empty, ours = is_empty(connection), is_sandbox(connection)
        newest = newest_release(connection)
    if empty:
        working("loading the sandbox")
        return load_sandbox(database, audit_keys, intake, actor=actor)
    now = database.clock()
    if not ours or newest is None or now - newest <= STALE_AFTER:
        others = "the database has data of its own; the sandbox was not loaded"
        return "sandbox is up to date" if ours else others
    working("refreshing the sandbox")
    verdict = ingest_lines(database, intake, _lines(fresh_events(now, newest)), SANDBOX)
    _expect_all_taken(verdict)
    freshened = f"sandbox refreshed: {verdict.accepted} events"
    record_separately(database, audit_keys, actor, "sandbox.freshen", "sandbox", detail=freshened)
    return freshened


def _lines(events: Iterable[dict[str, object]]) -> Iterator[bytes]:
    return map(orjson.dumps, events)


def _expect_all_taken(verdict: IngestResult) -> None:
    if verdict.refused:
        raise RuntimeError(f"the sandbox contradicts the gateway: {verdict.refused[0]}")


STORIES: Final = {each.digits: each for each in SANDBOX_TRANSFERS}
"""By the last digits of the id that the sandbox has a transfer of this story under."""

_ANY_START: Final = datetime(2025, 1, 2, tzinfo=UTC)
"""A story takes as long whenever it begins."""

_SAME_SEND: Final = ("symbol", "amount", "src_chain_id", "dst_chain_id")
"""In these fields no other story's first event is the same."""


class Advanced(Struct, frozen=True):
    """Where a made-up transfer is: its status, the steps of its story that have happened, and the others."""

    transfer_id: str
    story: str
    status: int
    done: tuple[str, ...]
    left: tuple[str, ...]


class _Play(Struct, frozen=True):
    """A transfer and its story: the events of each step, of which the first ``done`` are in the log."""

    transfer_id: TransferId
    story: SandboxTransfer
    steps: Sequence[Sequence[Event]]
    done: int


def check_controls(database: Database) -> None:
    """Check before serving whether the database is one whose transfers may be moved.

    :raises SystemExit: it is not, in words for the operator.
    """
    try:
        with reading(database.engine) as connection:
            made_up = is_sandbox(connection)
    except SQLAlchemyError as error:
        raise SystemExit(f"SANDBOX_CONTROLS: {unusable(database.address, error)}") from None
    if not made_up:
        raise SystemExit(
            "SANDBOX_CONTROLS: the database of DATABASE_URL is not a sandbox: unset SANDBOX_CONTROLS, or set "
            "DATABASE_URL to a database that `flask --app wsgi sandbox load` has filled"
        )


def advance(database: Database, intake: Intake, requested: dict[str, Any]) -> Advanced:
    """Let the next steps of a story happen to a transfer, now and all together.

    :param requested: ``story``, ``transfer_id`` (32 bytes), ``account`` and ``steps``, where they were sent.
    :raises BadRequest: it does not say which transfer or story, or contradicts what has happened.
    :raises GatewayError: the database is not a sandbox.
    """
    play = _play(database, requested)
    most = len(play.steps)
    steps = requested.get("steps", most)
    if not 1 <= steps <= most:
        raise BadRequest.naming({"steps": f"must be from 1 to {most}: this story has {most} steps"})
    done = max(play.done, steps)
    now = database.clock()
    news = [event for step in play.steps[play.done : done] for event in step]
    if news:
        heads = (each for each in fresh_heads(now) if each["chain_id"] in play.story.route)
        _take(database, intake, [*news, *heads])
    with reading(database.engine) as connection:
        row = transfer_row(connection, play.transfer_id)
    if row is None:
        raise Unavailable("the transfer was removed meanwhile: request it again")
    return Advanced(
        f"0x{play.transfer_id.hex()}",
        play.story.digits,
        row.status,
        play.story.steps[:done],
        play.story.steps[done:],
    )


def _play(database: Database, requested: dict[str, Any]) -> _Play:
    story = STORIES.get(requested.get("story", ""))
    transfer_id = requested.get("transfer_id") or TransferId(secrets.token_bytes(32))
    with reading(database.engine) as connection:
        if not is_sandbox(connection):
            raise GatewayError("this gateway has no sandbox", reason=Reason.PATH_NOT_FOUND)
        log = transfers_log(connection, transfer_id)
        if not log:
            if story is None:
                known = ", ".join(STORIES)
                raise BadRequest.naming({"story": f"is missing: of a new transfer send one of {known}"})
            account = requested.get("account", keccak256(transfer_id)[:20])
            start = database.clock() - _time_of(story)
            return _Play(transfer_id, story, _steps(story, transfer_id, account, start), 0)
        play = _going_on(transfer_id, log[0].at, orjson.loads(log[0].body), requested)
        happened = accepted_ids(connection, [str(each["id"]) for step in play.steps for each in step])
    done = sum(all(each["id"] in happened for each in step) for step in play.steps)
    return _Play(play.transfer_id, play.story, play.steps, done)


def _going_on(
    transfer_id: TransferId, start: datetime, first: dict[str, Any], requested: dict[str, Any]
) -> _Play:
    """The story of a transfer that has begun.

    :raises BadRequest: it is none that a story moves, or the request names another story or account.
    """
    sender = parse_evm_address(first.get("sender", ""))
    for story in SANDBOX_TRANSFERS:
        if sender is None:
            continue
        steps = _steps(story, transfer_id, sender, start)
        if all(str(first.get(name)) == str(steps[0][0].get(name)) for name in _SAME_SEND):
            break
    else:
        msg = "is not moved by a story: leave it out for a new transfer, or send an id that nobody has used"
        raise BadRequest.naming({"transfer_id": msg})
    if requested.get("story", story.digits) != story.digits:
        raise BadRequest.naming({"story": f"the transfer is in the story {story.digits}: send it, or none"})
    if requested.get("account", sender) != sender:
        raise BadRequest.naming({"account": f"the transfer is of {first['sender']}: send it, or none"})
    return _Play(transfer_id, story, steps, 0)


def _steps(
    story: SandboxTransfer, transfer_id: TransferId, account: bytes, start: datetime
) -> list[list[Event]]:
    sent = send_details(story.kind, story.sends, story.route, by=account)
    return story_steps(story, TransferBuilder(f"0x{transfer_id.hex()}", sent, start))


def _time_of(story: SandboxTransfer) -> timedelta:
    """From the first event until the blocks of the last one are as deep as final ones of their chains."""
    steps = _steps(story, TransferId(bytes(32)), bytes(20), _ANY_START)
    last = datetime.fromisoformat(str(steps[-1][-1]["at"]))
    deep = max(time_to_depth(chain_id, block_delays()[chain_id] + 1) for chain_id in story.route)
    return last - _ANY_START + deep


def _take(database: Database, intake: Intake, events: Iterable[Event]) -> None:
    """Report the events, as the sandbox's own reporter.

    :raises BadRequest: the feed refuses one.
    """
    verdict = ingest_lines(database, intake, map(orjson.dumps, events), SANDBOX)
    if verdict.refused:
        refused = verdict.refused[0]
        raise BadRequest.naming({"transfer_id": f"{refused.id} was refused: {refused.reason}"})
