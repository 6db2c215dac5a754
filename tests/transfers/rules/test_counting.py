"""Which reports count for a transfer whose send proves its id."""

from __future__ import annotations

import pytest

from app.transfers.rules.events.counting import Logged, Origin, counting
from app.transfers.rules.events.event_types import TransferSubmitted
from tests.transfers.rules.validating import NOW, TRANSFER

PROVEN = Origin(1, 2, is_sent=True, is_proven=True)
CLAIMED = Origin(1, 2, is_sent=True)


@pytest.mark.parametrize(
    ("src", "dst", "counts"), [(1, 2, True), (1, None, True), (3, 2, False), (1, 3, False), (3, None, False)]
)
def test_submission_must_name_proven_chains(src: int, dst: int | None, counts: bool) -> None:
    said = TransferSubmitted(id="s", at=NOW, transfer_id=TRANSFER, src_chain_id=src, dst_chain_id=dst)
    logged = [Logged(1, said)]
    assert list(counting(logged, PROVEN)) == (logged if counts else [])
    assert list(counting(logged, CLAIMED)) == logged
