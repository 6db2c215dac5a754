"""The transfers to remember are as in the catalogue."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from app.sandbox.catalogue import (
    RECORDED_TRANSFER,
    SANDBOX_TRANSFERS,
    SandboxTransfer,
    sandbox_id,
)
from app.transfers.rules.projected import TransferState
from app.values.codes import TransferHistoryStatus, XferStatus

Reported = dict[str, Any]
States = dict[str, TransferState]
Is = TransferHistoryStatus


@pytest.mark.parametrize("entry", SANDBOX_TRANSFERS, ids=lambda entry: entry.transfer_id[-4:])
def test_transfer_is_as_in_catalogue(entry: SandboxTransfer, states: States) -> None:
    state = states[entry.transfer_id]
    assert (state.status, state.refund_reason) == (entry.status, entry.refund_reason)
    assert (state.evidence is not None) == (entry.status is Is.TRANSFER_REFUND_TO_BE_CONFIRMED)
    assert state.src_chain_id is not None
    assert (state.src_tx_hash is None) == (entry.status is Is.TRANSFER_UNKNOWN)


def test_catalogue_is_complete(states: States) -> None:
    assert {entry.status for entry in SANDBOX_TRANSFERS} == set(Is)
    reasons = {entry.refund_reason for entry in SANDBOX_TRANSFERS} - {XferStatus.UNKNOWN}
    assert reasons == {status for status in XferStatus if status.is_bad}
    listed = {entry.transfer_id for entry in SANDBOX_TRANSFERS}
    assert len(listed) == len(SANDBOX_TRANSFERS)
    unlisted = {transfer_id for transfer_id in states if transfer_id not in listed}
    assert {states[transfer_id].status for transfer_id in unlisted} == {Is.TRANSFER_COMPLETED}
    assert all(transfer_id[-4:].isdecimal() for transfer_id in listed - {RECORDED_TRANSFER})


def test_one_signature_less_is_no_quorum(reported: list[Reported], states: States) -> None:
    signatures = Counter(each["transfer_id"] for each in reported if each["type"] == "refund.signed")
    requesting = sandbox_id(Is.TRANSFER_REQUESTING_REFUND)
    to_confirm = sandbox_id(Is.TRANSFER_REFUND_TO_BE_CONFIRMED)
    assert states[requesting].evidence is None
    assert (signatures[requesting], signatures[to_confirm]) == (2, 3)


def test_no_transfer_contradicts_itself(reported: list[Reported]) -> None:
    kinds: dict[str, Counter[str]] = {}
    words: dict[str, set[int]] = {}
    for each in reported:
        if "transfer_id" in each:
            kinds.setdefault(each["transfer_id"], Counter())[each["type"]] += 1
        if each["type"] == "network.status":
            words.setdefault(each["transfer_id"], set()).add(each["xfer_status"])
    for of_transfer in kinds.values():
        assert of_transfer["transfer.sent"] <= 1
        assert not ("transfer.failed" in of_transfer and "transfer.sent" in of_transfer)
        assert not ("transfer.released" in of_transfer and any("refund" in kind for kind in of_transfer))
    bad = {status.value for status in XferStatus if status.is_bad}
    assert not [transfer_id for transfer_id, said in words.items() if 2 in said and said & bad]


def test_senders_are_clearly_made_up(reported: list[Reported]) -> None:
    senders = {each["sender"].lower() for each in reported if "sender" in each}
    assert len(senders) > 25
    assert all(sender.startswith("0x" + "5a" * 18) for sender in senders)
