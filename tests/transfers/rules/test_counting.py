"""Which reports count for a transfer whose send proves its id."""

from __future__ import annotations

import pytest

from app.transfers.rules.events.counting import Logged, Origin, counting
from app.transfers.rules.events.event_types import TransferSubmitted
from app.values.identifiers import ChainId
from tests.transfers.rules.validating import DESTINATION, NOW, SOURCE, TRANSFER

OTHER = ChainId(3)
PROVEN = Origin(SOURCE, DESTINATION, is_sent=True, is_proven=True)
CLAIMED = Origin(SOURCE, DESTINATION, is_sent=True)


@pytest.mark.parametrize(
    ("src", "dst", "counts"),
    [
        (SOURCE, DESTINATION, True),
        (SOURCE, None, True),
        (OTHER, DESTINATION, False),
        (SOURCE, OTHER, False),
        (OTHER, None, False),
    ],
)
def test_submission_must_name_proven_chains(src: ChainId, dst: ChainId | None, counts: bool) -> None:
    announced = TransferSubmitted(id="s", at=NOW, transfer_id=TRANSFER, src_chain_id=src, dst_chain_id=dst)
    logged = [Logged(1, announced)]
    assert list(counting(logged, PROVEN)) == (logged if counts else [])
    assert list(counting(logged, CLAIMED)) == logged
