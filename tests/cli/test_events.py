"""``flask events``: the feed, its log and its undoing, from the command line."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import Result
from flask import Flask
from flask.testing import FlaskCliRunner
from sqlalchemy import delete, select, update

from app.cli import events as commands
from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter
from app.transfers.models import Transfer
from tests.databases import SharedDatabase, SharedSqlite
from tests.feed.services.world import about, fill_network, released, sent

Run = Callable[..., Result]


@pytest.fixture
def run(app: Flask, shared_database: SharedDatabase, database: Database) -> Iterator[Run]:
    fill_network(shared_database, database.engine)
    runner: FlaskCliRunner = app.test_cli_runner()
    yield lambda *args, **kwargs: runner.invoke(args=["events", *args], **kwargs)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "feed.ndjson"
    path.write_text("\n".join(json.dumps(e) for e in (sent(1), released(1), sent(2))) + "\n")
    return path


def test_ingest_prints_the_verdict(run: Run, file: Path) -> None:
    first = run("ingest", str(file))
    assert (first.exit_code, json.loads(first.stdout)) == (0, {"accepted": 3, "repeated": 0, "refused": []})
    assert first.stderr == ""  # the bar is for terminals
    again = run("ingest", str(file))
    assert json.loads(again.stdout) == {"accepted": 0, "repeated": 3, "refused": []}


def test_ingest_reads_stdin_and_reports_refusals(run: Run) -> None:
    lines = ["", json.dumps(sent(1)), "nonsense", json.dumps(about(1, "transfer.confirmed", event_id="x"))]
    result = run("ingest", "-", input="\n".join(lines))
    verdict = json.loads(result.stdout)
    assert (result.exit_code, verdict["accepted"]) == (2, 2)
    assert [(r["line"], r["id"]) for r in verdict["refused"]] == [(3, "")]


def test_limited_terminal_ends_no_repair(app: Flask, run: Run, database: Database) -> None:
    """Symbols are any text, and each row is reported while others are still to be repaired."""
    run(
        "ingest", "-", input="\n".join(json.dumps(sent(n, symbol=s)) for n, s in ((1, "CAFÉ💰"), (2, "USDT")))
    )
    with writing(database.engine) as connection:
        connection.execute(delete(PoolCounter))
    narrow = app.test_cli_runner(charset="latin-1")
    result = narrow.invoke(args=["events", "replay"])
    assert result.exception is None
    assert "pool_counters chain_id=1 symbol=CAFÉ\\U0001f4b0: " in result.stdout
    assert run("verify").exit_code == 0


def test_export_can_be_ingested_again(run: Run, file: Path, tmp_path: Path) -> None:
    run("ingest", str(file))
    exported = run("export").stdout
    assert [json.loads(line)["seq"] for line in exported.splitlines()] == [1, 2, 3]
    copy = tmp_path / "copy.ndjson"
    copy.write_text(exported)
    assert json.loads(run("ingest", str(copy)).stdout)["repeated"] == 3


def test_verify_prints_differences_replay_repairs(run: Run, file: Path, database: Database) -> None:
    assert (run("verify").exit_code, run("verify").stdout) == (
        0,
        "verified: 0 transfers, 0 rows differ from the log\n",
    )
    run("ingest", str(file))
    agrees = run("verify")
    assert agrees.exit_code == 0
    room = r"this needs up to [\d.]+ MB on the database's disk until it ends(, [\d.]+ GB are free)?\n"
    assert re.fullmatch(room, agrees.stderr)
    assert agrees.stdout == "verified: 2 transfers, 0 rows differ from the log\n"
    with writing(database.engine) as connection:
        connection.exec_driver_sql("UPDATE transfers SET amount = '7'")
    differs = run("verify")
    assert differs.exit_code == 1
    first, second, last = differs.stdout.splitlines()
    ids = (sent(1)["transfer_id"], sent(2)["transfer_id"])
    for line, transfer_id in zip((first, second), ids, strict=True):
        assert line == f"transfers transfer_id={transfer_id}: amount is 7 and should be 1000000000"
    assert last == "verified: 2 transfers, 2 rows differ from the log"
    repaired = run("replay")
    assert repaired.exit_code == 0
    assert repaired.stdout.splitlines() == [
        first,
        second,
        "repaired: 2 rows that differed from the log",
        "replayed: 2 transfers",
    ]
    assert run("verify").exit_code == 0


def test_verify_and_replay_refuse_full_disk(
    run: Run,
    file: Path,
    shared_database: SharedDatabase,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On SQLite. Nobody but the server knows how much PostgreSQL has."""
    run("ingest", str(file))
    with writing(database.engine) as connection:
        connection.execute(update(Transfer).values(amount=7))
    no_space = SimpleNamespace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: no_space)
    is_sqlite = isinstance(shared_database, SharedSqlite)
    for command in ("verify", "replay"):
        result = run(command)
        if is_sqlite:
            assert result.exit_code == 1
            assert re.search(r"needs about [\d.]+ MB of disk in /\S+, where 0.0 MB are free", result.stderr)
        else:
            assert "2 rows" in result.stdout
    with reading(database.engine) as connection:
        amounts = set(connection.scalars(select(Transfer.amount)))
    assert (amounts == {7}) == is_sqlite


def test_verify_shows_progress_on_terminal(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ingest", str(file))
    shown: list[int] = []

    @contextmanager
    def bar(length: int, label: str) -> Iterator[Callable[[int], None]]:
        assert (length, label) == (2, "transfers")
        yield shown.append

    monkeypatch.setattr(commands, "_progress", bar)
    run("verify")
    assert shown == [2]


def test_retract_prints_id_for_undoing(run: Run, file: Path) -> None:
    run("ingest", str(file))
    retracted = run("retract", "--id", released(1)["id"], "--reason", "wrong")
    assert retracted.exit_code == 0
    again = run("retract", "--id", retracted.stdout.strip(), "--reason", "it was right")
    assert again.stdout.startswith("retract-")
    by_token = run("retract", "--token", "cli", "--since", "2026-01-01T00:00:00Z", "--reason", "all of it")
    assert by_token.exit_code == 0


SINCE = ("--token", "cli", "--since", "2026-01-01T00:00:00Z")
OF_ONE_ID = ("--id", "nope", "--reason", "x")
WRONG_RETRACTIONS = [
    (("--token", "cli", "--reason", "x"), "use either --id, or --token with --since"),
    (("--id", "a", *SINCE, "--reason", "x"), "use either"),
    (("--id", "a"), "--reason"),
    ((*OF_ONE_ID, "--chain", "1", "--route", "USDT:1:56"), "use only one of"),
    ((*OF_ONE_ID, "--transfer", sent(1)["transfer_id"]), "has the id 'nope'"),
    ((*OF_ONE_ID, "--chain", "1"), "has the id 'nope'"),
    ((*OF_ONE_ID, "--route", "USDT:1:56"), "has the id 'nope'"),
]
"""Options that retract nothing, and the complaint."""


def test_retract_reports_wrong_options(run: Run) -> None:
    for args, complaint in WRONG_RETRACTIONS:
        result = run("retract", *args)
        assert result.exit_code != 0, args
        assert complaint in result.stderr


def test_prune_reports_before_deleting(run: Run, file: Path) -> None:
    run("ingest", str(file))
    dry = run("prune", "--before", "2026-06-02T00:00:00Z", "--dry-run")
    assert dry.exit_code == 0
    assert dry.stdout.splitlines() == [
        "would prune: 1 transfers with 2 events",
        "  from 2026-06-01T11:58:20+00:00 to 2026-06-01T11:59:50+00:00",
        "  1 completed",
        "  pool USDT on chain 1 still counts their amounts: sent 1000000000, relayed 0",
        "  pool USDT on chain 2 still counts their amounts: sent 0, relayed 1000000000000000000000",
    ]
    done = run("prune", "--before", "2026-06-02T00:00:00Z")
    assert done.stdout == dry.stdout.replace("would prune", "pruned")
    assert run("prune", "--before", "2026-06-02T00:00:00Z").stdout == "pruned: 0 transfers with 0 events\n"
    exported = run("export")
    assert len(exported.stdout.splitlines()) == 1
    assert exported.stderr.startswith("note: this export does not contain 1 pruned transfers")


def test_prune_reports_what_must_stay(run: Run) -> None:
    """What answers need is retained."""
    dry = run("prune", "--before", "2100-01-01T00:00:00Z", "--dry-run")
    assert dry.stdout.startswith("transfers since 20")
    wrong = run("prune", "--before", "last week")
    assert (wrong.exit_code, "--before" in wrong.stderr) == (2, True)
