"""Which reports are of one fact, and what they report together."""

from __future__ import annotations

from msgspec.structs import replace

from app.transfers.rules.validation import Accepted, Refused, Repeated, validate_segment
from app.values.identifiers import BlockNumber, ChainId, TransferId
from tests.transfers.rules.validating import (
    TRANSFER,
    entry,
    fee,
    head,
    history,
    known,
    latest,
    sent,
    taken_back,
    verdict,
)

OTHER_CONTENT = "id: was reported before with other content (nonce): send a new fact with a new id"


class TestOmittedFields:
    """A report may leave fields out: that is no other content, and nothing that was reported is lost."""

    def test_less_is_repeated(self) -> None:
        full = sent(log_index=4, contract="0xcc")
        what = known(latest=latest((3, full)), histories=history((3, full)))
        assert verdict(sent(block=None), what) == Repeated()

    def test_more_is_repeated_and_logged(self) -> None:
        what = known(latest=latest((3, sent())), histories=history((3, sent())))
        assert verdict(sent(log_index=4), what) == Repeated(entry(sent(log_index=4), occurrence=1))

    def test_reports_complement_each_other(self) -> None:
        what = known(latest=latest((3, sent(nonce="7"))), histories=history((3, sent(nonce="7"))))
        validate_segment([sent(log_index=4)], what)
        assert what.latest[sent().key].event == sent(nonce="7", log_index=4)
        assert verdict(sent(nonce="8"), what) == Refused(OTHER_CONTENT, two_contents=True)
        (history_of,) = what.histories.values()
        assert {logged.event for logged in history_of.log} == {sent(nonce="7", log_index=4)}

    def test_orphaned_event_returns_with_all_details(self) -> None:
        log = history((3, sent(log_index=4)), reorgs=[taken_back(5, 50)])
        what = known(latest=latest((3, sent(log_index=4))), last_reversal=5, histories=log)
        assert verdict(sent(), what) == Accepted(entry(sent(log_index=4), occurrence=1))


class TestSubjects:
    """An id is unique within what the event is about."""

    def test_another_transfer(self) -> None:
        other = replace(sent(), transfer_id=TransferId(bytes(32)))
        what = known(
            latest=latest((3, other)), histories=history() | {TransferId(bytes(32)): history()[TRANSFER]}
        )
        assert verdict(sent(), what) == Accepted(entry(sent()))

    def test_a_chain_and_another(self) -> None:
        what = known(
            latest=latest((3, replace(head(), id="sent")), (4, replace(head(), chain_id=ChainId(2))))
        )
        assert verdict(sent(), what) == Accepted(entry(sent()))
        assert verdict(head(), what) == Accepted(entry(head()))
        assert isinstance(verdict(replace(head(), id="sent", block=BlockNumber(61)), what), Refused)

    def test_a_route_and_another(self) -> None:
        back = replace(fee(), src_chain_id=ChainId(2), dst_chain_id=ChainId(1))
        assert verdict(fee(), known(latest=latest((3, back)))) == Accepted(entry(fee()))
