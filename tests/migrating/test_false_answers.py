"""What 1.0.0 answers wrongly comes out right by the steps of the upgrade note alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.values.codes import TransferHistoryStatus as Status
from tests.builders import network as build
from tests.feed.services.world import (
    KEYS,
    event,
    network,
    prepared,
    released,
    request,
    rotation,
    sent,
    signature,
    signed,
    transfer_id,
)
from tests.migrating.older import ROOT, checked_out

LOST, REFUNDED, UNPAID, PAID = 1, 2, 3, 4
"""Transfers: three whose status 1.0.0 gets wrong, and one that it gets right."""

NEWEST_KEY = 5
"""Of the validator that signs the refund and comes with the rotation."""

RUN_STEPS = """
import json, sys
from wsgi import app

def run(step):
    kind, *words = step
    if kind == "command":
        done = app.test_cli_runner().invoke(args=words)
        return [done.exit_code, done.stdout]
    if kind == "post":
        token, events = words
        lines = "".join(json.dumps(each) + "\\n" for each in events)
        headers = {"Authorization": "Bearer " + token, "Content-Type": "application/x-ndjson"}
        return app.test_client().post("/ingest/v1/events", data=lines, headers=headers).status_code
    answers = [app.test_client().post("/v2/getTransferStatus", json={"transfer_id": each}) for each in words]
    return [each.json["status"] for each in answers]

print(json.dumps([run(step) for step in json.load(sys.stdin)]))
"""
STATUSES = ("statuses", *map(transfer_id, (LOST, REFUNDED, UNPAID, PAID)))


def run_steps(code: Path, url: str, *steps: tuple[Any, ...]) -> list[Any]:
    """Run commands, reports and requests on the code of a release; what each of them returned."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    keys = {"SECRET_KEY": "false" * 8, "AUDIT_KEY": "false" * 8, "MAX_REORG_BLOCKS": "1000"}
    done = subprocess.run(
        [sys.executable, "-c", RUN_STEPS], cwd=code, env=environment | keys | {"DATABASE_URL": url},
        input=json.dumps(steps), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return list(json.loads(done.stdout.splitlines()[-1]))


def reports(everything: str, two_chains: str) -> Iterator[tuple[Any, ...]]:
    """What two reporters, by their tokens, and an operator do."""
    wd_onchain = request(REFUNDED)
    vote = signed(REFUNDED, signature(wd_onchain, KEYS[NEWEST_KEY]))
    send, payout = sent(LOST), released(LOST, block=500)
    read_elsewhere = released(UNPAID, block=300)
    yield "post", everything, [send, payout, sent(PAID), released(PAID, block=200), sent(UNPAID)]
    yield "post", everything, [sent(REFUNDED), vote, prepared(REFUNDED, wd_onchain)]
    ids = [word for each in (send, vote) for word in ("--id", each["id"])]
    yield "command", "events", "retract", *ids, "--reason", "a mistake"
    yield "post", everything, [event("chain.reorged", at=-5, chain_id=2, from_block=500), payout, send, vote]
    yield "post", everything, [rotation("rotation", NEWEST_KEY, at=-20)]
    yield "post", two_chains, [read_elsewhere]
    yield "post", everything, [read_elsewhere | {"chain_id": 1}]


def token_in(result: tuple[int, str]) -> str:
    return next(word for word in result[1].split() if word.startswith("gwi_"))


def test_upgrade_note_repairs_false_answers(tmp_path: Path, empty_url: str) -> None:
    old = checked_out(tmp_path / "old")
    (tmp_path / "network").write_bytes(build.text(network()))
    *_, everything, two_chains = run_steps(
        old,
        empty_url,
        ("command", "db", "upgrade"),
        ("command", "network", "import", str(tmp_path / "network")),
        ("command", "ingest-tokens", "create", "everything"),
        ("command", "ingest-tokens", "create", "two-chains", "--chain", "1", "--chain", "2"),
    )
    history = list(reports(token_in(everything), token_in(two_chains)))
    *_, before = run_steps(old, empty_url, *history, STATUSES)
    assert before == [
        Status.TRANSFER_SUBMITTING,
        Status.TRANSFER_REQUESTING_REFUND,
        Status.TRANSFER_COMPLETED,
        Status.TRANSFER_COMPLETED,
    ]

    verify = "command", "events", "verify"
    _, found, replayed, repaired, verified, *_, resent, verified_again = run_steps(
        ROOT,
        empty_url,
        ("command", "db", "upgrade"),
        verify,
        ("command", "events", "replay"),
        STATUSES,
        verify,
        *(step for step in history if step[0] == "post"),
        STATUSES,
        verify,
    )
    assert (found[0], replayed[0], verified[0], verified_again[0]) == (1, 0, 0, 0)
    assert f"transfers transfer_id={transfer_id(UNPAID)}: status is 5 and should be 1" in found[1]
    assert "(because reports of one fact together say that it was read on another chain)" in found[1]
    assert repaired == [*before[:2], Status.TRANSFER_SUBMITTING, Status.TRANSFER_COMPLETED]
    assert resent == [
        Status.TRANSFER_COMPLETED,
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
        Status.TRANSFER_SUBMITTING,
        Status.TRANSFER_COMPLETED,
    ]
