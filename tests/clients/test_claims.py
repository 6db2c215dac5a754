"""Refunds of every kind, claimed by both clients from contracts on real EVMs, until the money is back."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.values.codes import SendKind
from app.values.crypto import checksum_address
from demo.chains import DEPLOYER, LEFT, POOL, RIGHT
from demo.transfers import Send
from scripts import clients
from tests.clients import workshop
from tests.clients.stage import KEY, LATE, OTHERS, PAYER, Stage, play, sends
from tests.grpcweb.node import node

pytestmark = [pytest.mark.slow, pytest.mark.system]

PROGRAMS = {"python": "claims.py", "python, awaited": "async_claims.py"}
LANGUAGES = (*PROGRAMS, "typescript")


def commands(language: str) -> tuple[list[str], dict[str, str]]:
    if language in PROGRAMS:
        program = clients.PYTHON / "tests" / PROGRAMS[language]
        return [workshop.python(), str(program)], workshop.python_paths()
    return [node(), str(workshop.typescript() / "test" / "claims.js")], {"PATH": os.environ["PATH"]}


@dataclass(frozen=True)
class Claims:
    """A program that claims refunds on one chain; its output is in files."""

    process: subprocess.Popen[bytes]
    out: Path
    errors: Path

    @property
    def rows(self) -> list[list[Any]]:
        """The hash of each transaction, whether it succeeded, and the status of its transfer in the end."""
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def is_over(self) -> bool:
        return self.process.poll() is not None


def claiming(stage: Stage, language: str, chain: int, lines: list[dict[str, Any]], folder: Path) -> Claims:
    command, environment = commands(language)
    given, out, errors = (folder / f"{chain}.{name}" for name in ("in", "out", "errors"))
    given.write_text("".join(json.dumps(line) + "\n" for line in lines))
    program = [*command, stage.base, stage.wallets[chain]]
    with given.open("rb") as stdin, out.open("wb") as stdout, errors.open("wb") as stderr:
        process = subprocess.Popen(program, env=environment, stdin=stdin, stdout=stdout, stderr=stderr)
    return Claims(process, out, errors)


def line_of(name: str, send: Send) -> dict[str, Any]:
    """The input of the program for a transfer."""
    line: dict[str, Any] = {"transfer": send.text, "receiver": checksum_address(send.sender)}
    if name == OTHERS:
        line["key"] = KEY
    return line | ({"delayed": True} if name == LATE else {})


@pytest.mark.parametrize("language", LANGUAGES)
def test_refund_is_paid(stage: Stage, language: str, tmp_path: Path) -> None:
    commands(language)  # built before anybody waits
    planned = sends()
    before = {name: stage.balance(send) for name, send in planned.items()}
    lives = stage.begun(planned)
    programs, names = {}, {}
    for chain in (LEFT, RIGHT):
        names[chain] = [name for name, send in planned.items() if send.chain == chain]
        lines = [line_of(name, planned[name]) for name in names[chain]]
        programs[chain] = claiming(stage, language, chain, lines, tmp_path)
    play(lives, lambda: all(program.is_over() for program in programs.values()))
    for chain, program in programs.items():
        assert program.process.returncode == 0, program.errors.read_text()
        assert [row[1:] for row in program.rows] == [[1, 10]] * len(names[chain])
    for name, send in planned.items():
        # What was burned is minted again; what was sent or deposited came out of nothing in these contracts.
        came = 0 if send.kind is SendKind.BURN else send.amount
        assert stage.balance(send) - before[name] == came, name
    hashes = dict(zip(names[RIGHT], (row[0] for row in programs[RIGHT].rows), strict=True))
    assert stage.sender(RIGHT, hashes[OTHERS]) == f"0x{PAYER.hex()}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_refused_call_is_not_sent(stage: Stage, language: str, tmp_path: Path) -> None:
    commands(language)
    send = sends()["pool"]
    lives = stage.begun({"pool": send})

    def claimed() -> tuple[Claims, int]:
        before = stage.transactions(LEFT, send.sender)
        program = claiming(stage, language, LEFT, [line_of("pool", send)], tmp_path)
        play(lives, program.is_over)
        return program, stage.transactions(LEFT, send.sender) - before

    pause(stage, to=True)
    try:
        program, sent = claimed()
    finally:
        pause(stage, to=False)
    assert program.process.returncode == 1
    assert "RefundRefused: the contract refuses the call (paused, " in program.errors.read_text()
    assert sent == 0
    program, sent = claimed()
    assert program.process.returncode == 0, program.errors.read_text()
    assert sent == 1


def pause(stage: Stage, *, to: bool) -> None:
    """Until a block has it."""
    tx_hash = POOL.call(DEPLOYER, "setPaused", to).send(stage.nodes[LEFT])
    while not stage.nodes[LEFT].receipt(tx_hash):
        time.sleep(0.2)
