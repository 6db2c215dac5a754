"""``flask evidence verify``: a transfer of this gateway, or a saved answer without any database."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import Engine

from app import create_app
from app.domain.codes import TransferHistoryStatus
from app.runtime.gateway import current_gateway
from app.sandbox.catalogue import sandbox_id
from app.sandbox.loader import load_sandbox
from tests.actors import TESTER
from tests.applications import make_settings
from tests.domain.refund.evidence_kit import VECTORS

VECTOR = VECTORS / "withdraw_evidence_chain97.json"
RECORDED = json.loads(VECTOR.read_text())
TO_CONFIRM = TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
REFUNDS = {
    kind: sandbox_id(TO_CONFIRM, variant) for kind, variant in (("pool", 0), ("deposit", 2), ("burn", 3))
}
COLLECTING = sandbox_id(TransferHistoryStatus.TRANSFER_REQUESTING_REFUND)
COMPLETED = sandbox_id(TransferHistoryStatus.TRANSFER_COMPLETED)

Run = Callable[..., Result]
Answers = dict[str, tuple[dict[str, Any], dict[str, Any]]]


def runner(app: Flask) -> Run:
    def run(*arguments: str, **more: Any) -> Result:
        return app.test_cli_runner().invoke(args=["evidence", "verify", *arguments], **more)

    return run


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Without a database, and without anybody asking for one."""

    def connected(*_: object, **__: object) -> None:
        raise AssertionError("the database was asked for")

    monkeypatch.setattr(Engine, "connect", connected)
    monkeypatch.setattr(Engine, "raw_connection", connected)
    return runner(create_app(make_settings(f"sqlite:///{tmp_path}/nowhere/gateway.db")))


@pytest.fixture(scope="module")
def sandbox(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """A gateway that holds the sandbox; nothing here changes it."""
    path = tmp_path_factory.mktemp("sandbox") / "gateway.db"
    path.write_bytes(sqlite_template.read_bytes())
    app = create_app(make_settings(f"sqlite:///{path}"))
    with app.app_context():
        gateway = current_gateway()
        load_sandbox(gateway, actor=TESTER)
    yield app  # outside of its context, which commands of another application would take for theirs
    gateway.engine.dispose()
    gateway.reads.dispose()


@pytest.fixture(scope="module")
def answers(sandbox: Flask) -> Answers:
    """Status and evidence answers, by kind of refund."""
    asked = REFUNDS | {"none": COMPLETED}
    return {kind: (status_of(sandbox, i), evidence_of(sandbox, i)) for kind, i in asked.items()}


def saved(folder: Path, document: Any) -> str:
    path = folder / "saved.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def status_of(app: Flask, transfer_id: str) -> dict[str, Any]:
    answer = app.test_client().post("/v2/getTransferStatus", json={"transfer_id": transfer_id}).get_json()
    assert isinstance(answer, dict)
    return answer


def evidence_of(app: Flask, transfer_id: str) -> dict[str, Any]:
    path = f"/v2/getRefundEvidence?transfer_id={transfer_id}"
    answer = app.test_client().get(path).get_json()
    assert isinstance(answer, dict)
    return answer


def test_the_recorded_evidence_verifies_offline(offline: Run, tmp_path: Path) -> None:
    result = offline(str(VECTOR))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("VALID: the refund can be claimed with this evidence\n")
    for line in (
        "  contract     0xf89354F314faF344Abd754924438bA798E306DF2 (pool bridge)",
        "  seqnum    77772",
        "  signed      0x69f71D5B8Ea22571d4dBe2713c31a7B3dCa4D234  127645693800908040550000000   23.7 %",
        "              quorum                                      357684457599804701992552267   66.6 %",
    ):
        assert line in result.stdout.splitlines()
    assert list(tmp_path.iterdir()) == []


def test_what_the_recorded_evidence_does_not_survive(offline: Run, tmp_path: Path) -> None:
    def spoiled(**changes: Any) -> Result:
        return offline(saved(tmp_path, RECORDED | changes))

    bad = bytearray(b64decode(RECORDED["sorted_sigs"][1]))
    bad[5] ^= 1
    sigs = [*RECORDED["sorted_sigs"]]
    for result in (
        spoiled(sorted_sigs=sigs[:2]),
        spoiled(sorted_sigs=[sigs[0], b64encode(bad).decode(), *sigs[2:]]),
        spoiled(sorted_sigs=sigs[::-1]),
        spoiled(chain_id=56),
        spoiled(bridge_contract="0x" + "11" * 20),
        spoiled(wd_onchain=None),
        spoiled(wd_onchain="CGEQzN8E"),
        spoiled(err={"code": 500, "msg": "no"}),
        offline(str(VECTOR), "--set-hash", "00" * 32),
        offline(str(VECTOR), "--kind", "burn"),
        offline(str(VECTOR), "--chain", "1"),
        offline(str(VECTOR), "--transfer", "11" * 32),
    ):
        assert result.exit_code == 1
        assert result.stdout.startswith("NOT VALID: ")
        assert "  - " in result.stdout.splitlines()[1]


@pytest.mark.parametrize("kind", REFUNDS)
def test_a_saved_status_answer(answers: Answers, offline: Run, tmp_path: Path, kind: str) -> None:
    status, evidence = answers[kind]
    path, place = saved(tmp_path, status), ("--chain", str(evidence["chain_id"]))
    there = (*place, "--contract", evidence["contract"])
    result = offline(path, *there, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    shown = json.loads(result.stdout)
    live = {"status": None, "validator_set_version": None, "notes": shown["notes"]}
    assert shown == evidence | live
    (note,) = shown["notes"]
    assert "ssHash()" in note
    known = ("--kind", kind, "--transfer", REFUNDS[kind], "--set-hash", evidence["validator_set_hash"])
    assert offline(path, *there, *known).exit_code == 0
    assert offline(path, *there[:3], "0x" + "11" * 20).exit_code == 1
    without = offline(path, *there[2:])
    assert (without.exit_code, without.stdout) == (2, "")
    assert f"(its request names {evidence['chain_id']}): add --chain" in without.stderr
    assert "add --contract" in offline(path, *place).stderr
    flipped = status | {"sorted_sigs": [*status["sorted_sigs"][1:], status["sorted_sigs"][0]]}
    assert offline(saved(tmp_path, flipped), *there).exit_code == 1


@pytest.mark.parametrize("kind", REFUNDS)
def test_a_saved_evidence_answer(answers: Answers, offline: Run, tmp_path: Path, kind: str) -> None:
    """Nothing of it is believed: the judgement is made anew."""
    _, evidence = answers[kind]
    result = offline(saved(tmp_path, evidence))
    assert (result.exit_code, result.stderr) == (0, "")
    again = offline(saved(tmp_path, evidence), "--json")
    assert offline("-", input=again.stdout).exit_code == 0
    signer = next(row for row in evidence["signers"] if row["signed"])
    unsigned = [row | {"signature": None} if row is signer else row for row in evidence["signers"]]
    for lie in (
        {"contract": "0x" + "11" * 20},
        {"chain_id": 7},
        {"kind": "burn" if kind == "pool" else "pool"},
        {"transfer_id": "0x" + "11" * 32},
        {"power_signed": "1"},
        {"signers": unsigned},
        {"signers": evidence["signers"][1:]},
    ):
        assert offline(saved(tmp_path, evidence | lie)).exit_code == 1, lie


def test_a_saved_answer_without_a_refund(answers: Answers, offline: Run, tmp_path: Path) -> None:
    for answer in answers["none"]:
        result = offline(saved(tmp_path, answer), "--chain", "1", "--contract", "0x" + "11" * 20)
        assert result.exit_code == 1
        assert result.stdout.startswith("NOT VALID: there is no refund to claim\n  - the answer has no")


UNUSABLE: dict[str, tuple[str, str]] = {
    "no JSON": ("HTTP/1.1 200 OK", "is not JSON"),
    "a list": ("[]", "no wd_onchain"),
    "nothing of an answer": ("{}", "no wd_onchain"),
    "another operation's answer": (json.dumps({"err": None, "eq_value_token_amt": "1"}), "no wd_onchain"),
    "a key twice": ('{"wd_onchain": "", "wd_onchain": ""}', "repeats the key"),
    "too large": (json.dumps({"wd_onchain": "A" * 1024 * 1024}), "must have at most"),
    "no chain": (json.dumps(RECORDED | {"chain_id": None}), "(its request names 97): add --chain"),
    "no chain, nor a request": (json.dumps({"wd_onchain": None}), "which chain pays: add --chain"),
    "no contract": (json.dumps(RECORDED | {"bridge_contract": ""}), "add --contract"),
    "no evidence as written here": (
        json.dumps({"call": None, "wd_onchain": "", "signers": [1]}),
        "not a getRef",
    ),
}


@pytest.mark.parametrize(("text", "words"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_file_that_cannot_be_judged(offline: Run, tmp_path: Path, text: str, words: str) -> None:
    result = offline(saved(tmp_path, text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_what_is_no_file(offline: Run, tmp_path: Path) -> None:
    for path in ("nowhere.json", str(tmp_path), "0x1234"):
        result = offline(path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"{path}: is neither a transfer id nor a readable file: ")


@pytest.mark.parametrize(
    "options",
    [
        ("--chain", "0"),
        ("--chain", "one"),
        ("--contract", "0x12"),
        ("--kind", "mint"),
        ("--set-hash", "0x12"),
        ("--transfer", "me"),
    ],
)
def test_an_option_that_cannot_be_read(offline: Run, options: tuple[str, str]) -> None:
    result = offline(str(VECTOR), *options)
    assert result.exit_code == 2
    assert options[0] in result.stderr


def test_standard_input(offline: Run) -> None:
    result = offline("-", input=VECTOR.read_bytes())
    assert (result.exit_code, result.stdout.split(":")[0]) == (0, "VALID")


@pytest.mark.parametrize("kind", REFUNDS)
def test_a_transfer(sandbox: Flask, kind: str) -> None:
    run, served = runner(sandbox), evidence_of(sandbox, REFUNDS[kind])
    result = run(REFUNDS[kind].upper().removeprefix("0X"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"  {kind}\n" in result.stdout
    as_json = run(REFUNDS[kind], "--json")
    assert (as_json.exit_code, json.loads(as_json.stdout)) == (0, served)
    kept = run(REFUNDS[kind], "--json", "--set-hash", served["validator_set_hash"])
    assert (kept.exit_code, kept.stdout) == (0, as_json.stdout)
    other = run(REFUNDS[kind], "--json", "--set-hash", "00" * 32)
    shown = json.loads(other.stdout)
    assert (other.exit_code, shown["valid"], shown["call"]["data"]) == (1, False, None)
    assert "but the contract has 0x0000" in shown["missing"][0]


def test_a_transfer_whose_refund_is_not_payable(sandbox: Flask) -> None:
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


def test_a_transfer_that_cannot_be_judged(sandbox: Flask) -> None:
    run = runner(sandbox)
    unknown = run("ff" * 32)
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "transfer not found; newest events: " in unknown.stderr
    options = run(COMPLETED, "--chain", "1")
    assert options.exit_code == 2
    assert "can be used with a FILE only" in options.stderr


def test_a_transfer_without_a_database(tmp_path: Path) -> None:
    for url in ("postgresql+psycopg://nobody@127.0.0.1:1/none", f"sqlite:///{tmp_path}/empty.db"):
        result = runner(create_app(make_settings(url)))(COMPLETED)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "database" in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_the_page_shows_what_is_printed(sandbox: Flask) -> None:
    page = (VECTORS.parents[2] / "docs" / "refunds.md").read_text()
    (command, printed), *_ = re.findall(
        r"```sh\nflask --app wsgi (.*)\n```\n```text\n(.*?)```", page, re.DOTALL
    )
    result = sandbox.test_cli_runner().invoke(args=command.split())
    assert (result.exit_code, result.stdout) == (0, printed)
