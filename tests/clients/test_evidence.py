"""Both clients believe evidence of each kind, and none that was changed; the call is the gateway's own."""

from __future__ import annotations

import copy
import itertools
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus
from tests.clients import workshop
from tests.sandboxes import load_into

pytestmark = pytest.mark.one_database

READY = TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
STRANGER = "0x" + "99" * 20
Evidence = dict[str, Any]


@pytest.fixture
def recorded(app: Flask) -> tuple[dict[str, Any], dict[str, Evidence]]:
    """The configs of the sandbox, and the evidence of a refund of each kind."""
    load_into(app)
    client = app.test_client()
    configs = client.get("/v2/getTransferConfigs").get_json()
    ids = [sandbox_id(READY, variant) for variant in (0, 2, 3)]
    found = [
        client.get("/v2/getRefundEvidence", query_string={"transfer_id": each}).get_json() for each in ids
    ]
    assert [each["kind"] for each in found] == ["pool", "deposit", "burn"]
    return configs, {each["kind"]: each for each in found}


def expected_of(evidence: Evidence) -> list[Any]:
    """The refund, as the gateway describes it and as its own call has it."""
    arguments = [each["value"] for each in evidence["call"]["arguments"]]
    request = evidence["request"]
    receiver = request.get("receiver") or request["account"]
    return [
        evidence["kind"], evidence["chain_id"], evidence["contract"], evidence["call"]["function"], receiver,
        request["token"], request["amount"], *arguments,
    ]  # fmt: skip


def changed(evidence: Evidence, change: Callable[[Evidence], object]) -> Evidence:
    made = copy.deepcopy(evidence)
    change(made)
    return made


def signed(evidence: Evidence) -> list[dict[str, Any]]:
    return [each for each in evidence["signers"] if each["signature"]]


def other_half(signature: str) -> str:
    """The other signature of the same message by the same key, which contracts refuse."""
    raw = bytes.fromhex(signature[2:])
    s = ORDER - int.from_bytes(raw[32:64], "big")
    return "0x" + (raw[:32] + s.to_bytes(32, "big") + bytes([27 + 28 - raw[64]])).hex()


def low_v(signature: str) -> str:
    """The same signature with 0 or 1 in place of 27 or 28, which contracts refuse."""
    return f"{signature[:-2]}{int(signature[-2:], 16) - 27:02x}"


def edit_request(old: bytes, new: bytes) -> Callable[[Evidence], object]:
    def edit(evidence: Evidence) -> None:
        raw = b64decode(evidence["wd_onchain"])
        assert old in raw
        evidence["wd_onchain"] = b64encode(raw.replace(old, new)).decode()

    return edit


def other_chain(evidence: Evidence) -> None:
    """The first byte of the chain's number in the request: its lowest bits."""
    tag = b"\x08" if evidence["kind"] == "pool" else b"\x28"
    first = evidence["chain_id"] & 127 | (128 if evidence["chain_id"] > 127 else 0)
    edit_request(tag + bytes([first]), tag + bytes([first ^ 1]))(evidence)


def one_signed(evidence: Evidence) -> None:
    for each in signed(evidence)[1:]:
        each["signature"] = None


def little_power_signed(evidence: Evidence) -> None:
    signed(evidence)[0].update(signature=None, power=str(10**30))


CHANGES: dict[str, tuple[Callable[[Evidence], object], str]] = {
    "not valid": (lambda e: e.update(valid=False, missing=["a quorum"]), "nothing to claim: a quorum"),
    "no kind": (lambda e: e.update(kind=None), "nothing to claim"),
    "another contract": (lambda e: e.update(contract=STRANGER), "contract is not known"),
    "another chain": (lambda e: e.update(chain_id=e["chain_id"] + 1), "contract is not known"),
    "no request": (lambda e: e.update(wd_onchain=None), "cannot be read"),
    "half a request": (
        lambda e: e.update(wd_onchain=b64encode(b64decode(e["wd_onchain"])[:-5]).decode()), "cannot be read",
    ),
    "a field twice": (
        lambda e: e.update(wd_onchain=b64encode(b64decode(e["wd_onchain"]) * 2).decode()), "cannot be read",
    ),
    "another transfer": (edit_request(b"\0" * 7, b"\1" * 7), "for another transfer"),
    "another chain in the request": (other_chain, "for another chain"),
    "nobody signed": (lambda e: [each.update(signature=None) for each in e["signers"]], "power 0 has signed"),
    "too few signed": (one_signed, "is needed"),
    "little power signed": (little_power_signed, "is needed"),
    "another key signed": (
        lambda e: signed(e)[0].update(signature=signed(e)[1]["signature"]), "has not signed it",
    ),
    "the other half": (
        lambda e: signed(e)[0].update(signature=other_half(signed(e)[0]["signature"])), "malformed",
    ),
    "v of 0 or 1": (
        lambda e: signed(e)[0].update(signature=low_v(signed(e)[0]["signature"])), "malformed",
    ),
    "short": (lambda e: signed(e)[0].update(signature=signed(e)[0]["signature"][:-2]), "malformed"),
    "not in order": (lambda e: e["signers"].reverse(), "not in order"),
    "one twice": (lambda e: e["signers"].insert(0, e["signers"][0]), "not in order"),
}  # fmt: skip


def cases_of(evidences: dict[str, Evidence]) -> Iterator[dict[str, Any]]:
    for kind, evidence in evidences.items():
        usual = {"do": "evidence", "configs": "sandbox", "transfer": evidence["transfer_id"]}

        def case(name: str, given: Evidence, expect: dict[str, Any], **more: Any) -> dict[str, Any]:
            return {**usual, "name": f"{kind}: {name}", "evidence": given, "expect": expect, **more}  # noqa: B023

        good = {"value": expected_of(evidence)}
        receiver = good["value"][4]
        yield case("good", evidence, good, receiver=receiver.upper().replace("0X", "0x"))
        yield case("somebody else", evidence, _error("pays somebody else"), receiver=STRANGER)
        stranger = changed(evidence, CHANGES["another contract"][0])
        yield case("a contract that is trusted", stranger, _error("has not signed it"), contracts=[STRANGER])
        yield case("another kind", evidence | {"kind": kind_of_other(evidences, kind)}, _error(""))
        for name, (change, says) in CHANGES.items():
            yield case(name, changed(evidence, change), _error(says))


def kind_of_other(evidences: dict[str, Evidence], kind: str) -> str:
    return next(each for each in evidences if each != kind)


def _error(says: str) -> dict[str, Any]:
    return {"error": "EvidenceError", "says": says}


def test_python_checks_evidence(recorded: tuple[dict[str, Any], dict[str, Evidence]]) -> None:
    configs, evidences = recorded
    workshop.check_python(list(cases_of(evidences)), {"sandbox": configs}, evm=True)


def sending_cases(evidences: dict[str, Evidence]) -> Iterator[dict[str, Any]]:
    """Refunds of each kind by a node and a wallet of a chain each, also out of a delay queue."""
    for kind, evidence in evidences.items():
        chain, receiver = evidence["chain_id"], expected_of(evidence)[4]
        place = {"chain_id": chain, "contract": evidence["contract"]}
        waiting = evidence | {"delayed": {**place, "funds": "refund", "delayed_id": "0x" + "ab" * 32}}
        other, paid = chain + 1, f"the refund is paid on chain {chain}, "
        usual = {"do": "refund", "configs": "sandbox", "transfer": evidence["transfer_id"]}
        for given, named in itertools.product((evidence, waiting), (True, False)):
            more = {**usual, "evidence": given, "receiver": receiver, "named": named}
            for node, wallet, ends in (
                (chain, chain, ["sent", ["eth_sendTransaction"]]),
                (other, chain, [f"{paid}the node is of {other}", []]),
                (chain, other, [f"{paid}the wallet is on {other}: switch it", []]),
            ):
                name = f"{kind}: node {node}, wallet {wallet}, {named=}, {given is waiting=}"
                yield {**more, "name": name, "node": node, "wallet": wallet, "expect": {"value": ends}}


@pytest.mark.system
def test_typescript_checks_evidence_and_chain_of_refund(
    recorded: tuple[dict[str, Any], dict[str, Evidence]], tmp_path: Path
) -> None:
    """viem does not compare the chains of node and wallet by itself."""
    configs, evidences = recorded
    cases = [*cases_of(evidences), *sending_cases(evidences)]
    workshop.check_typescript(cases, {"sandbox": configs}, tmp_path)
