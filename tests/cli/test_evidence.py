"""``flask evidence verify``: the refund of a transfer of this gateway."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask

from app import create_app
from app.db.database import Database
from app.http.application import part_of
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus
from tests.applications import make_settings
from tests.sandboxes import load_into
from tests.site.snippets import block_of

TO_CONFIRM = TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
REFUNDS = {
    kind: sandbox_id(TO_CONFIRM, variant) for kind, variant in (("pool", 0), ("deposit", 2), ("burn", 3))
}
COLLECTING = sandbox_id(TransferHistoryStatus.TRANSFER_REQUESTING_REFUND)
COMPLETED = sandbox_id(TransferHistoryStatus.TRANSFER_COMPLETED)

RUN = [
    block_of("docs/refunds.md", f"flask --app wsgi evidence verify {REFUNDS['pool']}"),
    block_of("docs/refunds.md", "VALID: "),
]

Run = Callable[..., Result]


def runner(app: Flask) -> Run:
    def run(*arguments: str, **more: Any) -> Result:
        return app.test_cli_runner().invoke(args=["evidence", "verify", *arguments], **more)

    return run


@pytest.fixture(scope="module")
def sandbox(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """A gateway that holds the sandbox; nothing here changes it."""
    path = tmp_path_factory.mktemp("sandbox") / "gateway.db"
    path.write_bytes(sqlite_template.read_bytes())
    app = create_app(make_settings(f"sqlite:///{path}"))
    with app.app_context():
        database = part_of(app, Database)
        load_into(app)
    yield app  # outside of its context, which commands of another application would take for theirs
    database.engine.dispose()
    database.reads.dispose()


def evidence_of(app: Flask, transfer_id: str) -> dict[str, Any]:
    path = f"/v2/getRefundEvidence?transfer_id={transfer_id}"
    answer = app.test_client().get(path).get_json()
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize(
    "arguments",
    [("answer.json",), ("0x12",), (COMPLETED, "--set-hash", "0x12"), (COMPLETED, "--chain", "1")],
)
def test_wrong_argument_is_refused(sandbox: Flask, arguments: tuple[str, ...]) -> None:
    result = runner(sandbox)(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize("kind", REFUNDS)
def test_evidence_of_transfer_is_printed(sandbox: Flask, kind: str) -> None:
    run, served = runner(sandbox), evidence_of(sandbox, REFUNDS[kind])
    result = run(REFUNDS[kind].upper().removeprefix("0X"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"  {kind}\n" in result.stdout
    as_json = run(REFUNDS[kind], "--json")
    assert (as_json.exit_code, json.loads(as_json.stdout)) == (0, served)
    known = run(REFUNDS[kind], "--json", "--set-hash", served["validator_set_hash"])
    assert (known.exit_code, known.stdout) == (0, as_json.stdout)
    other = run(REFUNDS[kind], "--json", "--set-hash", "00" * 32)
    shown = json.loads(other.stdout)
    assert (other.exit_code, shown["valid"], shown["call"]["data"]) == (1, False, None)
    assert "but the contract has 0x0000" in shown["missing"][0]


def test_transfer_whose_refund_is_not_payable(sandbox: Flask) -> None:
    run = runner(sandbox)
    collecting = run(COLLECTING)
    assert collecting.exit_code == 1
    assert collecting.stdout.startswith("NOT VALID: the refund cannot be claimed now\n  - signed power 5")
    assert all(len(line) <= 110 for line in collecting.stdout.splitlines())
    completed = run(COMPLETED)
    assert completed.exit_code == 1
    assert completed.stdout == (
        "NOT VALID: there is no refund to claim\n"
        "  - the transfer was completed, so there is nothing to claim\n"
        "\n"
        f"  transfer  {COMPLETED}\n"
        "  status    5 TRANSFER_COMPLETED\n"
        "  kind      pool\n"
        "  chain     1\n"
    )


def test_unknown_transfer_is_reported(sandbox: Flask) -> None:
    run = runner(sandbox)
    unknown = run("ff" * 32)
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "transfer not found; newest events: " in unknown.stderr


def test_page_shows_what_is_printed(sandbox: Flask) -> None:
    command, printed = (block.code for block in RUN)
    result = sandbox.test_cli_runner().invoke(args=command.removeprefix("flask --app wsgi ").split())
    shown = "".join(".*" if line == "…" else f"{re.escape(line)}\n" for line in printed.splitlines())
    assert re.fullmatch(shown, result.stdout, re.DOTALL), result.stdout
    assert result.exit_code == 0
