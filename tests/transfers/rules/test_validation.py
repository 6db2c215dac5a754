"""Every verdict and every reason, and which reports are of one fact, without a database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from app.transfers.rules.events.counting import Origin
from app.transfers.rules.events.event_types import (
    ChainReorged,
    Event,
    EventsRetracted,
    LiquidityAdded,
    NetworkStatus,
    TransferEvent,
    TransferReleased,
    ValidatorsUpdated,
)
from app.transfers.rules.events.merging import Pruned, content_digest
from app.transfers.rules.events.reorganisations import ChainLimits
from app.transfers.rules.validation import (
    Accepted,
    LatestAcceptance,
    Refused,
    Repeated,
    is_barrier,
    validate_segment,
)
from app.values.codes import XferStatus
from app.values.identifiers import BlockNumber, ChainId, TransferId
from tests.transfers.rules.validating import (
    DESTINATION,
    NOW,
    SIZE,
    SOURCE,
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


class ShowsKnown:
    """Refuses everything, and reports what it was shown of the transfer."""

    chains = None

    def refusal(self, event: Event, known: Callable[[], Origin]) -> str | None:
        return f"knows {known().src_chain_id}"


def released(block: int | None = 70, event_id: str = "released") -> TransferReleased:
    at = None if block is None else BlockNumber(block)
    return TransferReleased(id=event_id, at=NOW, transfer_id=TRANSFER, dst_tx_hash="0xbb", block=at)


def reorg(from_block: int = 60) -> ChainReorged:
    return ChainReorged(id="reorg", at=NOW, chain_id=SOURCE, from_block=BlockNumber(from_block))


def retraction(*targets: str) -> EventsRetracted:
    return EventsRetracted(id="retraction", at=NOW, targets=targets, reason="wrong")


ORDINARY = [sent(), released(), head(), fee(), retraction("x")]


@pytest.mark.parametrize("event", ORDINARY, ids=lambda e: e.type)
def test_new_event_takes_next_position(event: Event) -> None:
    assert verdict(event, known()) == Accepted(entry(event))


class TestScope:
    def test_it_comes_before_everything_else(self) -> None:
        """Not even an anomaly of two contents is raised by a reporter who may not report it."""
        other_content = latest((3, sent(amount=7)))
        found = verdict(sent(), known(scope=ShowsKnown(), latest=other_content))
        assert found == Refused("knows None", two_contents=False)

    def test_scope_sees_only_canonical_events(self) -> None:
        left, gone = sent("left"), sent("gone", block=1, src_chain_id=9)
        histories = history((3, left), (4, gone), retracted={"gone": 5})
        assert verdict(released(), known(scope=ShowsKnown(), histories=histories)) == Refused("knows 1")

    def test_of_other_events_nothing_is_known(self) -> None:
        assert verdict(head(), known(scope=ShowsKnown())) == Refused("knows None")


class TestTwoContents:
    REASON = "id: was reported before with other content{}: send a new fact with a new id"
    AMOUNT = Refused(REASON.format(" (amount)"), two_contents=True)

    @pytest.mark.parametrize(
        ("before", "differing"),
        [
            (sent(amount=7), "amount"),
            (sent(amount=7, dst_chain_id=9, nonce="1"), "dst_chain_id, amount"),  # the other has no nonce
            (released(event_id="sent"), "type"),
        ],
    )
    def test_an_id_in_the_log(self, before: TransferEvent, differing: str) -> None:
        what = known(latest={sent().key: LatestAcceptance(3, 0, before)}, histories=history((3, before)))
        refused = Refused(self.REASON.format(f" ({differing})"), two_contents=True)
        assert verdict(sent(), what) == refused

    def test_a_pruned_id(self) -> None:
        """Only a digest of its content is stored."""
        pruned = Pruned({sent().key: content_digest(sent(amount=7), repr)}, {TRANSFER})
        assert verdict(sent(), known(pruned=pruned)) == Refused(self.REASON.format(""), two_contents=True)

    def test_within_a_segment(self) -> None:
        verdicts = validate_segment([sent(), sent(amount=2)], known())
        assert verdicts == [Accepted(entry(sent())), self.AMOUNT]


class TestPruned:
    CONTENTS = {sent().key: content_digest(sent(), repr)}

    def test_repeated_event_is_not_logged(self) -> None:
        assert verdict(sent(), known(pruned=Pruned(self.CONTENTS, {TRANSFER}))) == Repeated()

    def test_new_event_of_pruned_transfer_is_refused(self) -> None:
        assert verdict(released(), known(pruned=Pruned(self.CONTENTS, {TRANSFER}))) == Refused(
            "transfer_id: the transfer had finished and was pruned; no further events are accepted"
        )


class TestRepeated:
    @pytest.mark.parametrize("event", ORDINARY, ids=lambda e: e.type)
    def test_after_the_last_reversal(self, event: Event) -> None:
        """No reversal came since, so the event is canonical, whatever its kind and history are."""
        accepted = [(6, event)] if isinstance(event, TransferEvent) else []
        what = known(
            latest=latest((6, event)),
            last_reversal=5,
            orphaned={event.key},
            histories=history(*accepted, retracted={event.id: 7}),
        )
        assert verdict(event, what) == Repeated()

    @pytest.mark.parametrize(
        "reach", [{"reorgs": [taken_back(5, 50)]}, {"retracted": {"sent": 5}}], ids=["reorg", "retraction"]
    )
    def test_orphaned_event_is_accepted_again(self, reach: dict[str, Any]) -> None:
        what = known(latest=latest((3, sent())), last_reversal=5, histories=history((3, sent()), **reach))
        assert verdict(sent(), what) == Accepted(entry(sent(), occurrence=1))

    def test_only_the_orphaned_send_is_accepted(self) -> None:
        """Two sends of one transfer in different blocks: only one of them was orphaned."""
        other = sent("other", block=40)
        log = history((2, other), (3, sent()), reorgs=[taken_back(5, 50)])
        what = known(latest=latest((2, other), (3, sent())), last_reversal=5, histories=log)
        assert verdict(sent(), what) == Accepted(entry(sent(), occurrence=1))
        assert verdict(other, what) == Repeated()

    @pytest.mark.parametrize("event", [head(), fee(), retraction("x")], ids=lambda e: e.type)
    def test_other_event_repeats_unless_orphaned(self, event: Event) -> None:
        facts: dict[str, Any] = {"latest": latest((3, event)), "last_reversal": 5}
        assert verdict(event, known(**facts)) == Repeated()
        assert verdict(event, known(**facts, orphaned={event.key})) == Accepted(entry(event, occurrence=1))

    def test_canonical_reorg_is_logged_again(self) -> None:
        """Its depth is not validated again: it was accepted once."""
        what = known(
            latest=latest((3, reorg())), last_reversal=3, chain_limits={1: ChainLimits(10**6, 10**6)}
        )
        assert verdict(reorg(), what) == Repeated(entry(reorg(), occurrence=1))

    def test_belated_reorg_is_logged_as_such_or_not(self) -> None:
        facts: dict[str, Any] = {"latest": latest((3, reorg())), "last_reversal": 3}
        again = replace(entry(reorg(), occurrence=1), is_belated=True)
        assert verdict(reorg(), known(**facts, belated={reorg().key: True})) == Repeated(again)
        assert verdict(reorg(), known(**facts, belated={reorg().key: False})) == Repeated()

    def test_late_orphaned_reorg_is_refused(self) -> None:
        what = known(
            latest=latest((3, reorg())),
            last_reversal=5,
            orphaned={reorg().key},
            chain_limits={1: ChainLimits(10**6)},
            belated={reorg().key: False},
        )
        assert isinstance(verdict(reorg(), what), Refused)

    def test_exported_line_marks_a_belated_reorg(self) -> None:
        """Whatever the limit is now, and whatever it may take back."""
        facts: dict[str, Any] = {"chain_limits": {1: ChainLimits(10**6)}, "belated": {reorg().key: True}}
        first = replace(entry(reorg()), is_belated=True)
        assert verdict(reorg(), known(**facts)) == Accepted(first)
        again = replace(first, occurrence=1)
        known_before = known(**facts, latest=latest((3, reorg())))
        assert verdict(reorg(), known_before) == Repeated(again)

    def test_event_of_unknown_chain_is_logged_again(self) -> None:
        """The reversal may have reached it. That is known when the send comes."""
        facts: dict[str, Any] = {"latest": latest((3, released())), "histories": history((3, released()))}
        assert verdict(released(), known(**facts, last_reversal=5)) == Repeated(
            entry(released(), occurrence=1)
        )
        assert verdict(released(), known(**facts, last_reversal=2)) == Repeated()

    def test_reversal_elsewhere_logs_no_repetition(self) -> None:
        with_send = history((3, released()), (4, sent()))
        what = known(latest=latest((3, released())), histories=with_send, last_reversal=5)
        assert verdict(released(), what) == Repeated()
        without_block = released(block=None)
        what = known(
            latest=latest((3, without_block)), histories=history((3, without_block)), last_reversal=5
        )
        assert verdict(without_block, what) == Repeated()


class TestReorgs:
    def test_deepest_reorg_is_accepted(self) -> None:
        assert verdict(reorg(60), known(chain_limits={1: ChainLimits(60 + SIZE)})) == Accepted(entry(reorg()))

    def test_too_deep(self) -> None:
        assert verdict(reorg(60), known(chain_limits={1: ChainLimits(61 + SIZE)})) == Refused(
            "from_block: is 101 blocks below the chain's highest block 161; "
            "at most 100 are accepted (MAX_REORG_BLOCKS)"
        )

    @pytest.mark.parametrize("from_block", [59, 60])
    def test_into_what_was_pruned(self, from_block: int) -> None:
        assert verdict(reorg(from_block), known(chain_limits={1: ChainLimits(61, 60)})) == Refused(
            "from_block: must be above block 60 of the chain, which is final: transfers in it were pruned"
        )


class TestRetractions:
    def test_of_a_pruned_event(self) -> None:
        pruned = Pruned(targets={"b"})
        assert verdict(retraction("a", "b"), known(pruned=pruned)) == Refused(
            "targets: 'b' was pruned and cannot be retracted"
        )
        assert isinstance(verdict(retraction("a"), known(pruned=pruned)), Accepted)


class TestSegments:
    def test_positions_and_occurrences_go_on(self) -> None:
        what = known(latest=latest((3, head())), last_reversal=5, orphaned={head().key})
        verdicts = validate_segment([sent(), head(), head(), released()], what)
        assert verdicts == [
            Accepted(entry(sent(), seq=11)),
            Accepted(entry(head(), 1, seq=12)),
            Repeated(),
            Accepted(entry(released(), seq=13)),
        ]
        assert what.next_seq == 14
        assert [(each.seq, each.event.id) for each in what.histories[TRANSFER].log] == [
            (11, "sent"),
            (13, "released"),
        ]

    def test_refused_events_leave_no_trace(self) -> None:
        what = known(scope=ShowsKnown())
        validate_segment([sent()], what)
        assert what.next_seq == 11
        assert not what.latest
        assert not what.histories[TRANSFER].log

    def test_a_repetition_that_is_logged_is_noted(self) -> None:
        what = known(latest=latest((3, reorg())), last_reversal=3)
        validate_segment([reorg()], what)
        assert what.latest[reorg().key].seq == 11
        assert what.latest[reorg().key].occurrence == 1

    def test_send_in_segment_decides_reorgs(self) -> None:
        """The reorg of chain 2 came before the send that puts the release on chain 2."""
        what = known(
            latest=latest((3, released())),
            last_reversal=5,
            histories=history((3, released()), reorgs=[taken_back(5, 70, DESTINATION)]),
        )
        verdicts = validate_segment([sent(), released()], what)
        assert verdicts == [Accepted(entry(sent())), Accepted(entry(released(), 1, seq=12))]


def test_barriers() -> None:
    validators = ValidatorsUpdated(id="v", at=NOW, chain_id=SOURCE, signers=("0xaa",), powers=(1,))
    liquidity = LiquidityAdded(id="l", at=NOW + timedelta(1), chain_id=SOURCE, symbol="USDT", amount=1)
    status = NetworkStatus(id="n", at=NOW, transfer_id=TRANSFER, xfer_status=XferStatus.OK_TO_RELAY)
    assert all(map(is_barrier, (reorg(), validators, retraction("x"))))
    assert not any(map(is_barrier, (sent(), released(), head(), fee(), liquidity, status)))


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
