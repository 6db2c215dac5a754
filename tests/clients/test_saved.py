"""``python -m transfer_gateway_client verify``: saved answers, verified as the contract does."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.network.rules.quorum import ValidatorSet
from app.sandbox.catalogue import sandbox_id
from app.values.codes import SendKind, TransferHistoryStatus
from app.values.crypto import address_of
from scripts import clients
from tests.amounts import few_or_many
from tests.clients import workshop
from tests.refunds.rules.contract_mirror import execute, set_hash
from tests.refunds.rules.evidence_kit import (
    KINDS,
    VECTORS,
    context,
    every_flip,
    key,
    members,
    sign,
    twin,
    wd_for,
)
from tests.sandboxes import load_into

Answer = Mapping[str, Any]

RECORDED: Answer = json.loads((VECTORS / "withdraw_evidence_chain97.json").read_text())
PARTS = ("wd_onchain", "sorted_sigs", "signers", "powers")
KEYS = [key(name) for name in range(5)]
READY = TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
REFUNDS = {kind: sandbox_id(READY, variant) for kind, variant in (("pool", 0), ("deposit", 2), ("burn", 3))}
TOTAL = sum(int.from_bytes(b64decode(power), "big") for power in RECORDED["powers"])
STRANGER = "0x" + "11" * 20


def text(data: bytes) -> str:
    return b64encode(data).decode()


def raw(name: str) -> list[bytes]:
    return [b64decode(entry) for entry in RECORDED[name]]


SET_HASH = set_hash(raw("signers"), [int.from_bytes(power, "big") for power in raw("powers")]).hex()


@dataclass
class Ended:
    """How the command ended, and what it said."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run(*arguments: str, stdin: bytes = b"") -> Ended:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "transfer_gateway_client", "verify", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, env=workshop.python_paths(), check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


@cache
def client() -> Callable[[Sequence[str]], int]:
    """The command in this process, which saves the second that it takes to start."""
    sys.path.append(str(clients.PYTHON))
    main: Callable[[Sequence[str]], int] = import_module("transfer_gateway_client.__main__").main
    return main


def verify(*arguments: str, stdin: bytes = b"", folder: Path | None = None) -> Ended:
    said, wrong, limit = StringIO(), StringIO(), sys.getrecursionlimit()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(wrong):
        patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        patch.chdir(folder or Path.cwd())
        try:
            ended = client()(("verify", *arguments))
        except SystemExit as refused:
            ended = int(refused.code or 0)
        finally:
            sys.setrecursionlimit(limit)
    return Ended(ended, said.getvalue().encode(), wrong.getvalue().encode())


def verified(folder: Path, answers: list[Any], *options: str) -> list[str]:
    """Verify answers as files of one command: the verdict about each, ``VALID`` or why not."""
    names = [f"{number}.json" for number in range(len(answers))]
    for name, answer in zip(names, answers, strict=True):
        (folder / name).write_text(answer if isinstance(answer, str) else json.dumps(answer))
    result = verify(*names, *options, folder=folder)
    said = (result.stdout + result.stderr).decode()
    lines = dict(line.split(": ", 1) for line in said.splitlines() if not line.startswith(" "))
    assert list(map(str, sorted(lines))) == sorted(names), said
    verdicts = [lines[name] for name in names]
    worst = max(2 - 2 * v.startswith("VALID") - v.startswith("NOT VALID") for v in verdicts)
    assert result.returncode == worst
    return verdicts


def refused(verdicts: list[str]) -> bool:
    return bool(verdicts) and all(verdict.startswith("NOT VALID: ") for verdict in verdicts)


def changed(name: str, place: int, entry: bytes) -> Answer:
    entries = list(RECORDED[name])
    entries[place] = text(entry)
    return {**RECORDED, name: entries}


def test_the_recorded_evidence_is_valid(tmp_path: Path) -> None:
    """The contract on the chain took it, and so does its mirror."""
    file = str(VECTORS / "withdraw_evidence_chain97.json")
    result = run(file, "--set-hash", SET_HASH, "--kind", "pool", "--chain", "97")
    assert (result.returncode, result.stderr) == (0, b"")
    said = result.stdout.decode()
    assert said.startswith(f"{file}: VALID: the refund can be claimed with this evidence\n")
    for line in (
        "  contract  0xf89354F314faF344Abd754924438bA798E306DF2",
        "  call      withdraw(bytes,bytes[],address[],uint256[])",
        "  transfer  none: a withdrawal of liquidity",
        "  amount    899640000",
        f"  signed    {RECORDED['signed_power']} of {TOTAL}, {RECORDED['quorum']} needed",
        f"  set hash  0x{SET_HASH}, must be ssHash() of the contract",
    ):
        assert line in said.splitlines()
    fields = execute(
        "pool", 97, bytes.fromhex(RECORDED["bridge_contract"][2:]), bytes.fromhex(SET_HASH),
        b64decode(RECORDED["wd_onchain"]), raw("sorted_sigs"), raw("signers"), raw("powers"),
    )  # fmt: skip
    assert fields[5] == 899640000
    assert run("-", stdin=json.dumps(RECORDED).encode()).stdout.startswith(b"-: VALID: ")


@pytest.mark.parametrize("step", few_or_many(7, 1))
def test_flipped_bit_is_noticed(tmp_path: Path, step: int) -> None:
    answers: list[Answer] = [
        {**RECORDED, "wd_onchain": text(each)}
        for each in every_flip(b64decode(RECORDED["wd_onchain"]))[::step]
    ]
    for name in ("sorted_sigs", "signers"):
        for place, entry in enumerate(raw(name)):
            answers += [changed(name, place, other) for other in every_flip(entry)[::step]]
    answers += [{**RECORDED, "chain_id": 97 ^ (1 << bit)} for bit in range(63) if 97 ^ (1 << bit)]
    contract = bytes.fromhex(RECORDED["bridge_contract"][2:])
    answers += [{**RECORDED, "bridge_contract": f"0x{other.hex()}"} for other in every_flip(contract)]
    assert refused(verified(tmp_path, answers))
    powers = [
        changed("powers", place, other)
        for place, power in enumerate(raw("powers"))
        for other in every_flip(power)[::step]
    ]
    assert refused(verified(tmp_path, powers, "--set-hash", f"0x{SET_HASH}")), "as the contract stores them"


def test_saved_refund_is_valid_only_at_quorum(tmp_path: Path) -> None:
    left_out = {(0,): True, (3,): True, (0, 1): False, (0, 3): False, (0, 1, 2, 3): False}
    answers = [
        {
            **RECORDED,
            "sorted_sigs": [sig for n, sig in enumerate(RECORDED["sorted_sigs"]) if n not in missing],
        }
        for missing in left_out
    ]
    for verdict, valid in zip(verified(tmp_path, answers), left_out.values(), strict=True):
        assert verdict.startswith("VALID") is valid
        assert valid or f"{RECORDED['quorum']} is needed" in verdict or "nobody signed it" in verdict


def answer_for(kind: SendKind, **fields: int) -> tuple[Any, ValidatorSet, dict[str, Any]]:
    """A status answer as a gateway serves it, signed by four of five validators of power 10 each."""
    ctx = context(kind)
    wd_onchain = wd_for(ctx, **fields)
    validators = members(dict.fromkeys(KEYS, 10))
    who = sorted(KEYS[:4], key=address_of)
    answer = {
        "err": None,
        "status": 8,
        "wd_onchain": text(wd_onchain),
        "sorted_sigs": [text(sign(ctx, wd_onchain, each)) for each in who],
        "signers": [text(each) for each in validators.signers],
        "powers": [text(each) for each in validators.powers],
    }
    return ctx, validators, answer


@pytest.mark.parametrize("kind", KINDS)
def test_a_refund_of_each_kind(tmp_path: Path, kind: SendKind) -> None:
    ctx, validators, answer = answer_for(kind)
    there = ("--chain", "137", "--contract", f"0x{ctx.contract.hex()}")
    result = verify("-", *there, stdin=json.dumps(answer).encode())
    said = result.stdout.decode()
    assert (result.returncode, result.stderr) == (0, b"")
    assert f"  kind      {kind.value}\n" in said
    assert f"  transfer  0x{ctx.transfer_id.hex()}\n" in said
    assert "  signed    40 of 50, 34 needed\n" in said
    known = ("--transfer", f"0x{ctx.transfer_id.hex()}", "--set-hash", validators.contract_hash.hex())
    for options, valid in (
        (("--kind", kind.value, *known), True),
        (("--transfer", "00" * 32), False),
        (("--set-hash", "00" * 32), False),
        *((("--kind", other.value), False) for other in KINDS if other is not kind),
    ):
        (verdict,) = verified(tmp_path, [answer], *there, *options)
        assert verdict.startswith("VALID") is valid, options
    _, _, elsewhere = answer_for(kind, **{"chain_id" if kind is SendKind.POOL else "ref_chain_id": 56})
    assert verified(tmp_path, [elsewhere], *there) == ["NOT VALID: the request is for another chain"]


def put(name: str, value: Any) -> Any:
    return lambda answer: {**answer, name: value}


def entry(name: str, place: int, value: Any) -> Any:
    return lambda answer: {**answer, name: [*answer[name][:place], value, *answer[name][place + 1 :]]}


def swap(name: str) -> Any:
    return lambda answer: {**answer, name: [answer[name][1], answer[name][0], *answer[name][2:]]}


FIRST_SIG = raw("sorted_sigs")[0]
UNREADABLE, BAD = "cannot be read", "a signature is malformed"
SPOILED: dict[str, tuple[Callable[[Answer], Answer], str]] = {
    "an error": (put("err", {"code": 500, "msg": "no"}), "is an error"),
    "no request": (put("wd_onchain", None), "no refund to claim"),
    "an empty request": (put("wd_onchain", ""), "no refund to claim"),
    "a request that is no text": (put("wd_onchain", 5), UNREADABLE),
    "url-safe base64": (put("wd_onchain", "-_-_"), UNREADABLE),
    "unpadded base64": (put("wd_onchain", "AAA"), UNREADABLE),
    "stray bits in base64": (put("wd_onchain", "AAB="), UNREADABLE),
    "letters beyond ascii": (put("wd_onchain", "ÄAAA"), UNREADABLE),
    "no list of signatures": (put("sorted_sigs", None), UNREADABLE),
    "an entry that is no text": (entry("powers", 2, None), UNREADABLE),
    "one power too few": (lambda a: {**a, "powers": a["powers"][1:]}, UNREADABLE),
    "a power of 33 bytes": (entry("powers", 0, text(b"\1" * 33)), UNREADABLE),
    "a short signer": (entry("signers", 0, text(bytes(19))), UNREADABLE),
    "powers beyond what a contract adds": (entry("powers", 0, text(b"\xff" * 32)), "add up to more"),
    "signers out of order": (swap("signers"), "validators are not in order"),
    "signatures out of order": (swap("sorted_sigs"), "not in ascending order of signer"),
    "a signature twice": (
        lambda a: {**a, "sorted_sigs": [a["sorted_sigs"][0], *a["sorted_sigs"]]}, "not in ascending order",
    ),
    "a malleable form": (entry("sorted_sigs", 0, text(twin(FIRST_SIG))), BAD),
    "a signature of another v": (entry("sorted_sigs", 0, text(FIRST_SIG[:64] + b"\1")), BAD),
    "a cut signature": (entry("sorted_sigs", 0, text(FIRST_SIG[:64])), BAD),
    "a signature that nobody can make": (entry("sorted_sigs", 0, text(bytes(64) + b"\x1b")), BAD),
    "nobody": (put("sorted_sigs", []), "nobody signed it"),
}  # fmt: skip


def test_a_spoiled_answer_says_why(tmp_path: Path) -> None:
    verdicts = verified(tmp_path, [spoil(RECORDED) for spoil, _ in SPOILED.values()])
    assert refused(verdicts)
    for (name, (_, reason)), verdict in zip(SPOILED.items(), verdicts, strict=True):
        assert reason in verdict, name


def test_stranger_among_signatures_is_noticed(tmp_path: Path) -> None:
    """Though the quorum is reached without it."""
    ctx, _, answer = answer_for(SendKind.POOL)
    stranger = text(sign(ctx, b64decode(answer["wd_onchain"]), key("stranger")))
    sigs = answer["sorted_sigs"]
    answers = [{**answer, "sorted_sigs": [*sigs[:place], stranger, *sigs[place:]]} for place in range(5)]
    options = ("--chain", "137", "--contract", f"0x{ctx.contract.hex()}")
    assert set(verified(tmp_path, answers, *options)) == {"NOT VALID: not only its validators signed it"}


@pytest.fixture
def served(app: Flask) -> dict[str, tuple[Answer, Answer]]:
    """What a gateway answers: status and evidence of a refund of each kind."""
    load_into(app)
    client = app.test_client()
    return {
        kind: (
            client.post("/v2/getTransferStatus", json={"transfer_id": each}).get_json(),
            client.get("/v2/getRefundEvidence", query_string={"transfer_id": each}).get_json(),
        )
        for kind, each in REFUNDS.items()
    }


@pytest.mark.one_database
def test_what_a_gateway_answers(tmp_path: Path, served: dict[str, tuple[Answer, Answer]]) -> None:
    for kind, (status, evidence) in served.items():
        there = ("--chain", str(evidence["chain_id"]), "--contract", evidence["contract"])
        known = ("--kind", kind, "--transfer", REFUNDS[kind], "--set-hash", evidence["validator_set_hash"])
        verdicts = verified(tmp_path, [status, evidence], *there, *known)
        assert all(verdict.startswith("VALID") for verdict in verdicts), verdicts
        (alone,) = verified(tmp_path, [status], *there)
        assert alone.startswith("VALID")
        assert verified(tmp_path, [status]) == [
            "does not say which chain and contract pay: add --chain and --contract"
        ]
        signer = next(row for row in evidence["signers"] if row["signed"])
        unsigned = [row if row is signer else row | {"signature": None} for row in evidence["signers"]]
        lies: list[Answer] = [
            {"contract": STRANGER}, {"chain_id": 7}, {"kind": "burn" if kind == "pool" else "pool"},
            {"transfer_id": "0x" + "11" * 32}, {"signers": unsigned}, {"signers": evidence["signers"][1:]},
            {"signers": [row | {"power": "1"} for row in evidence["signers"]]}, {"signers": [1]},
            {"validator_set_hash": "0x12"}, {"kind": "mint"},
        ]  # fmt: skip
        verdicts = verified(tmp_path, [{**evidence, **lie} for lie in lies])
        assert refused(verdicts), "\n".join(verdicts)


def test_zero_power_reads_in_either_spelling(tmp_path: Path) -> None:
    """A gateway writes one zero byte; gateways of this kind have written no byte, too."""
    ctx, _, answer = answer_for(SendKind.POOL)
    there = ("--chain", "137", "--contract", f"0x{ctx.contract.hex()}")
    first = sorted(KEYS[:4], key=address_of)[0]
    place = answer["signers"].index(text(address_of(first)))
    answers = [entry("powers", place, text(nought))(answer) for nought in (b"", b"\0")]
    assert all(verdict.startswith("VALID") for verdict in verified(tmp_path, answers, *there))


UNUSABLE = {
    "HTTP/1.1 200 OK": "is not JSON",
    "[" * 100_000: "is not JSON",
    "[]": "no wd_onchain",
    "{}": "no wd_onchain",
    '{"err": null, "eq_value_token_amt": "1"}': "no wd_onchain",
    json.dumps({name: RECORDED[name] for name in PARTS}): "add --chain and --contract",
    json.dumps({**RECORDED, "chain_id": None}): "add --chain",
    json.dumps({**RECORDED, "bridge_contract": ""}): "add --chain and --contract",
}


def test_what_cannot_be_judged(tmp_path: Path) -> None:
    for verdict, words in zip(verified(tmp_path, list(UNUSABLE)), UNUSABLE.values(), strict=True):
        assert words in verdict
    for path in ("nowhere.json", str(tmp_path)):
        result = verify(path)
        assert (result.returncode, result.stdout) == (2, b"")
        assert result.stderr.decode().startswith(f"{path}: cannot be read: ")


def test_of_several_files_the_worst_counts(tmp_path: Path) -> None:
    good, bad = RECORDED, {**RECORDED, "sorted_sigs": []}
    assert [each[:9] for each in verified(tmp_path, [good, bad, good])] == [
        "VALID: th",
        "NOT VALID",
        "VALID: th",
    ]
    assert [each[:9] for each in verified(tmp_path, [bad, "{}"])] == ["NOT VALID", "is not a "]


def test_unreadable_option_is_refused() -> None:
    wrong = {"--chain": "0", "--contract": "0x12", "--kind": "mint", "--set-hash": "0x12", "--transfer": "me"}
    for option, value in wrong.items():
        result = verify("-", option, value)
        assert result.returncode == 2
        assert f"argument {option}: invalid" in result.stderr.decode()
