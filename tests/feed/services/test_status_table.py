"""In any history a status is that of the oracle, which is written from the documents (``tests/feed/oracle``).

A Hypothesis state machine feeds, reorganises, retracts, requests refunds, rotates validators and changes the
network, through the services only.
"""

from __future__ import annotations

import base64
from typing import Any, Final

import pytest
from flask import Flask
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    get_state_machine_test,
    initialize,
    invariant,
    precondition,
    rule,
)
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.models import JournalRow
from app.feed.services.retract import retract_ids
from app.http.application import part_of
from app.http.limits import LimitStore, RefundRequestLimit
from app.network.document import NetworkRefused, import_network
from app.network.snapshot import SnapshotSource
from app.refunds.services import request_refund
from app.transfers.rules.refunds.request_message import WithdrawRequest
from app.transfers.services.status import transfer_statuses
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.errors import GatewayError
from app.values.identifiers import TransferId
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import audited_of, editing_of
from tests.builders import network as build
from tests.feed.oracle.evidence import Evidence
from tests.feed.oracle.facts import Canonical, Log, Retraction, Subject, fault
from tests.feed.oracle.reading import read
from tests.feed.oracle.table import BAD, Transfer
from tests.feed.oracle.world import World
from tests.feed.services.any_order import Events, of_transfer
from tests.feed.services.histories import EVENTS, NETWORKS, REORGANISATIONS
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    feed,
    forget_events,
    id_of,
    request,
    signature,
    signed,
    transfer_id,
)

STEPS: Final = 12

TRANSFERS: Final = {1: SendKind.DEPOSIT, 2: SendKind.BURN, 3: SendKind.POOL}
"""With how ``of_transfer`` sends them: one of each kind, so no two of their requests have one withdraw id."""

MERGED: Final = ("shared", "refund")
"""Ids under which ``of_transfer`` has fewer fields the second time: any_order is about these."""


def _signatures_of(n: int) -> dict[str, list[str]]:
    """The requests of ``of_transfer``: true, for a part, and for more than was sent; with all signatures."""
    kind = TRANSFERS[n]
    chain = 2 if kind is SendKind.BURN else 1
    wanted = [request(n, kind, chain, amount=amount) for amount in (1_000_000_000, 5, 1_000_000_001)]
    return {_base64(each): [_base64(signature(each, key, kind, chain)) for key in KEYS] for each in wanted}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


SIGNATURES: Final = {n: _signatures_of(n) for n in TRANSFERS}
SIGNED: Final = [(wanted, made) for of_one in SIGNATURES.values() for wanted, made in of_one.items()]


def _reports(n: int) -> Events:
    """Everything that can be reported of one transfer, with each decision of the validators."""
    reports = [each for each in of_transfer(n) if each["id"] not in MERGED]
    made = [each for signatures in SIGNATURES[n].values() for each in signatures]
    signatures = [signed(n, base64.b64decode(each), at=-32) for each in made]
    decisions = [about(n, "network.status", at=-20 - value, xfer_status=value) for value in range(1, 10)]
    return reports + signatures + decisions


REPORTS: Final = {
    n: {f"{n} {each['type']} {each['id'][:6]}": each for each in _reports(n)} for n in TRANSFERS
}
"""By short names, for failures to print."""
ALL_REPORTS: Final = {name: each for reports in REPORTS.values() for name, each in reports.items()}
TYPES: Final = list(dict.fromkeys(each["type"] for each in ALL_REPORTS.values()))
ROTATIONS: Final = list(
    {
        each["id"]: each
        for each in reversed(EVENTS)  # of one that is reported twice the first has its place in a block
        if each["type"] == "validators.updated" and each["at"] <= NOW.isoformat()
    }.values()
)


def _names(n: int) -> st.SearchStrategy[str]:
    """Of what can be reported of a transfer each type as often as the others, however many events it has."""
    by_type = [[name for name, each in REPORTS[n].items() if each["type"] == of_type] for of_type in TYPES]
    return st.one_of([st.sampled_from(names) for names in by_type])


OF_ONE: Final = st.one_of([st.lists(_names(n), min_size=1, max_size=10) for n in TRANSFERS])
OF_ALL: Final = st.lists(st.one_of([_names(n) for n in TRANSFERS]), min_size=1, max_size=10)


class Histories(RuleBasedStateMachine):
    """A gateway next to the oracle."""

    app: Flask
    """Of the test; each history begins with it empty."""

    def __init__(self) -> None:
        super().__init__()
        forget_events(self.app)
        import_network(*editing_of(self.app), build.text(NETWORKS[0]), actor=TESTER)
        self.unlimited = RefundRequestLimit("1000/minute", part_of(self.app, LimitStore))
        self.log, self.world = Log(), World(NETWORKS[0])
        self.accepted: list[tuple[Subject, str]] = []

    def _transfer(self, n: int) -> Transfer:
        return Transfer(self.log, self.world, transfer_id(n), NOW)

    @initialize(left_out=st.sets(st.sampled_from(TYPES)), refused=st.sets(st.sampled_from(list(TRANSFERS))))
    def begin(self, left_out: set[str], refused: set[int]) -> None:
        """Each is sent, and the validators refuse some: the way to most refunds.

        Without some types what is below them in the table is seen more often.
        """
        self.left_out = left_out
        self._feed([each for each in ALL_REPORTS.values() if each["type"] == "transfer.sent"])
        self._feed([each for n in refused for each in REPORTS[n].values() if each.get("xfer_status") in BAD])

    @rule(names=st.one_of(OF_ONE, OF_ALL))
    def report(self, names: list[str]) -> None:
        self._feed([line for name in names if (line := ALL_REPORTS[name])["type"] not in self.left_out])

    @rule(number=st.integers(0, len(SIGNED) - 1), signers=st.integers(2, len(KEYS)))
    def sign(self, number: int, signers: int) -> None:
        """A request and the signatures of some over it."""
        of_request, made = SIGNED[number]
        wanted = {of_request, *made[:signers]}
        reports = [each for each in ALL_REPORTS.values() if each["type"] not in self.left_out]
        self._feed([e for e in reports if e.get("wd_onchain") in wanted or e.get("signature") in wanted])

    @rule(number=st.integers(0, len(ROTATIONS) - 1))
    def rotate(self, number: int) -> None:
        self._feed([ROTATIONS[number]])

    def _feed(self, lines: Events) -> None:
        """What is refused must be about refunds; all else that is not canonical yet is accepted."""
        verdict = feed(self.app, *lines)
        refused = {each.line for each in verdict.refused}
        new = signatures = 0
        for number, line in enumerate(lines, start=1):
            body, is_signature = read(line, self.world), line["type"] == "refund.signed"
            must = fault(self.log, self.world, body, None, NOW)
            assert must is None or must == (number in refused), (line, verdict)
            facts = Canonical(self.log, body["subject"], NOW)
            if number in refused and not is_signature:
                assert line["type"] == "refund.prepared", (line, verdict)
                evidence = Evidence(self.log, self.world, facts, NOW)
                assert evidence.is_contradicted(base64.b64decode(line["wd_onchain"])), (line, verdict)
                continue
            signatures += is_signature
            new += not is_signature and body["id"] not in {fact.body["id"] for fact in facts.canonical}
            self.log.accept(body, None)
            if number not in refused:
                self.accepted.append((body["subject"], body["id"]))
        assert new <= verdict.accepted <= new + signatures, (lines, verdict)

    @rule(number=st.integers(0, len(REORGANISATIONS) - 1))
    def reorganise(self, number: int) -> None:
        assert not feed(self.app, REORGANISATIONS[number]).refused
        body = read(REORGANISATIONS[number], self.world)
        self.log.accept(body, None)
        self.accepted.append((body["subject"], body["id"]))

    @precondition(lambda self: self.accepted)
    @rule(place=st.integers(0, 10_000))
    def retract(self, place: int) -> None:
        subject, event_id = self.accepted[place % len(self.accepted)]
        of = f"transfer:{subject}" if isinstance(subject, str) else f"chain:{subject}"
        (own,) = retract_ids(*audited_of(self.app), [event_id], "wrong", actor=TESTER, subject=of)
        self.log.retractions.append(Retraction(self.log.next_place(), own, subject, event_id))

    @rule(n=st.sampled_from(list(TRANSFERS)))
    def request_refund(self, n: int) -> None:
        before = self._transfer(n).status
        wanted = WithdrawRequest(TransferId(id_of(n)), 0)
        try:
            request_refund(
                part_of(self.app, Database), part_of(self.app, SnapshotSource), self.unlimited, wanted, None
            )
        except GatewayError:
            assert not 6 <= before <= 10, before
        else:
            assert 6 <= before <= 10, before
            if before == 6:
                self.log.requested.add(transfer_id(n))

    @rule(number=st.integers(0, len(NETWORKS) - 1))
    def configure(self, number: int) -> None:
        try:
            import_network(*editing_of(self.app), build.text(NETWORKS[number]), actor=TESTER)
        except NetworkRefused:  # transfers use what it would remove
            return
        self.world = World(NETWORKS[number])

    @invariant()
    def every_answer_matches(self) -> None:
        keys = [TransferId(id_of(n)) for n in TRANSFERS]
        found = transfer_statuses(part_of(self.app, Database), part_of(self.app, SnapshotSource), keys)
        journal = self._journal()
        for n, answer in zip(TRANSFERS, found, strict=True):
            expected = self._transfer(n).answer()
            last = journal.get(id_of(n), (0, 0))
            assert last == (expected["status"], expected["refund_reason"]), n
            is_known = any(subject == transfer_id(n) for subject, _ in self.accepted)
            assert is_known != isinstance(answer, GatewayError), n
            if not isinstance(answer, GatewayError):
                assert (int(answer.status), int(answer.refund_reason)) == last, n
                assert answer.wd_onchain == expected["wd_onchain"], n
                signed_by = answer.sorted_sigs, answer.signers, answer.powers
                assert (
                    all(map(bool, signed_by))
                    == any(map(bool, signed_by))
                    == (answer.status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
                )

    def _journal(self) -> dict[bytes, tuple[int, int]]:
        """The last status and reason of each transfer. Each row goes on where the one before ended."""
        last: dict[bytes, tuple[int, int]] = {}
        with reading(part_of(self.app, Database).engine) as connection:
            for row in connection.execute(select(JournalRow.__table__).order_by(JournalRow.sequence)):
                assert row.previous_status == last.get(row.transfer_id, (0, 0))[0], row
                last[row.transfer_id] = row.status, row.refund_reason
        return last


@pytest.mark.parametrize("examples", few_or_many(5, 2_000))
def test_every_status_matches_the_oracle(app: Flask, examples: int) -> None:
    machine: Any = type("Histories", (Histories,), {"app": app})
    chosen = settings(max_examples=examples, stateful_step_count=STEPS)
    get_state_machine_test(machine, settings=chosen)()
