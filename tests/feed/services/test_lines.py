"""A line that cannot be taken is refused; the good ones around it are kept."""

from tests.feed.services.world import event, feed, sent
from tests.gateway import Gateway

ZERO = "0x" + "0" * 40


def test_zero_address_is_no_validator(gateway: Gateway) -> None:
    rotation = event("validators.updated", chain_id=1, signers=["0x" + "11" * 20, ZERO], powers=["1", "1"])
    verdict = feed(gateway, sent(1), rotation, sent(2))
    assert [(r.line, r.id, r.reason) for r in verdict.refused] == [
        (2, rotation["id"], "signers[1]: must be a 0x address of 20 bytes, not all zero")
    ]
    assert verdict.accepted == 2
