"""A line that cannot be taken is refused; the good ones around it are kept."""

from flask import Flask

from tests.feed.services.world import event, feed, sent

ZERO = "0x" + "0" * 40


def test_zero_address_is_no_validator(app: Flask) -> None:
    rotation = event("validators.updated", chain_id=1, signers=["0x" + "11" * 20, ZERO], powers=["1", "1"])
    verdict = feed(app, sent(1), rotation, sent(2))
    assert [(r.line, r.id, r.reason) for r in verdict.refused] == [
        (2, rotation["id"], "signers[1]: must be a 0x address of 20 bytes, not all zero")
    ]
    assert verdict.accepted == 2
