"""In any history a status is that of the table that was written apart from the code (``status_table``).

A Hypothesis state machine feeds, reorganises, retracts, requests refunds, rotates validators and changes the
network, through the services only.
"""

from __future__ import annotations

import base64
from typing import Final

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
from app.transfers.services.status import TransferStatus, transfer_statuses
from app.values.codes import SendKind
from app.values.crypto import address_of, checksum_address
from app.values.errors import GatewayError
from app.values.identifiers import TransferId
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import audited_of, editing_of
from tests.builders import network as build
from tests.feed.services.any_order import Events, of_transfer
from tests.feed.services.histories import EVENTS, NETWORKS, REORGANISATIONS
from tests.feed.services.status_table import BAD, Answer, Request, Table, key_of, send_of
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    contract,
    feed,
    forget_events,
    id_of,
    request,
    signature,
    signed,
    token,
    transfer_id,
)

STEPS: Final = 12

TRANSFERS: Final = {1: SendKind.DEPOSIT, 2: SendKind.BURN, 3: SendKind.POOL}
"""With how ``of_transfer`` sends them: one of each kind, so no two of their requests have one withdraw id."""

MERGED: Final = ("shared", "refund")
"""Ids under which ``of_transfer`` has fewer fields the second time: any_order is about these."""


def _chain(n: int) -> int:
    return 2 if TRANSFERS[n] is SendKind.BURN else 1


def _requests(n: int) -> dict[str, Request]:
    """Those of ``of_transfer``: true, for a part, and for more than was sent."""
    kind, chain = TRANSFERS[n], _chain(n)
    of = token(chain, "USDT" if kind is SendKind.POOL else "CELR")
    found = {}
    for amount in (1_000_000_000, 5, 1_000_000_001):
        text = base64.b64encode(request(n, kind, chain, amount=amount)).decode()
        found[text] = Request(text, chain, of, amount)
    return found


def _signatures(n: int) -> dict[str, tuple[str, str, str]]:
    """By everyone over each of them."""
    kind, chain = TRANSFERS[n], _chain(n)
    at = checksum_address(contract(kind, chain))
    return {
        base64.b64encode(signature(base64.b64decode(text), key, kind, chain)).decode(): (
            text,
            at,
            checksum_address(address_of(key)),
        )
        for text in _requests(n)
        for key in KEYS
    }


REQUESTS: Final = {text: each for n in TRANSFERS for text, each in _requests(n).items()}
SIGNATURES: Final = {text: made for n in TRANSFERS for text, made in _signatures(n).items()}


def _reports(n: int) -> Events:
    """Everything that can be reported of one transfer, with each decision of the validators."""
    reported = [each for each in of_transfer(n) if each["id"] not in MERGED]
    signatures = [signed(n, base64.b64decode(each), at=-32) for each in _signatures(n)]
    decisions = [
        about(n, "network.status", at=-20 - decision, xfer_status=decision) for decision in range(1, 10)
    ]
    return reported + signatures + decisions


REPORTS: Final = {
    n: {f"{n} {each['type']} {each['id'][:6]}": each for each in _reports(n)} for n in TRANSFERS
}
"""By short names, for failures to print."""
ALL_REPORTS: Final = {name: each for reported in REPORTS.values() for name, each in reported.items()}
ROTATIONS: Final = list(
    {
        each["id"]: each
        for each in reversed(EVENTS)  # of one that is reported twice the first has its place in a block
        if each["type"] == "validators.updated" and each["at"] <= NOW.isoformat()
    }.values()
)


TYPES: Final = list(dict.fromkeys(each["type"] for each in ALL_REPORTS.values()))


def _names(n: int) -> st.SearchStrategy[str]:
    """Of what can be reported of a transfer each type as often as the others, however many events it has."""
    return st.one_of(
        st.sampled_from([name for name, each in REPORTS[n].items() if each["type"] == of_type])
        for of_type in TYPES
    )


OF_ONE: Final = st.one_of(st.lists(_names(n), min_size=1, max_size=10) for n in TRANSFERS)
OF_ALL: Final = st.lists(st.one_of(_names(n) for n in TRANSFERS), min_size=1, max_size=10)


class Histories(RuleBasedStateMachine):
    """A gateway next to the table."""

    app: Flask
    """Of the test; each history begins with it empty."""

    def __init__(self) -> None:
        super().__init__()
        forget_events(self.app)
        import_network(*editing_of(self.app), build.text(NETWORKS[0]), actor=TESTER)
        self.unlimited = RefundRequestLimit("1000/minute", part_of(self.app, LimitStore))
        self.table = Table(NETWORKS[0], REQUESTS, SIGNATURES)

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

    @rule(number=st.integers(0, len(REQUESTS) - 1), signers=st.integers(2, len(KEYS)))
    def sign(self, number: int, signers: int) -> None:
        """A request and the signatures of some over it."""
        wanted = [text for text, (of, _, _) in SIGNATURES.items() if of == list(REQUESTS)[number]][:signers]
        wanted.append(list(REQUESTS)[number])
        reported = [each for each in ALL_REPORTS.values() if each["type"] not in self.left_out]
        self._feed([e for e in reported if e.get("wd_onchain") in wanted or e.get("signature") in wanted])

    @rule(number=st.integers(0, len(ROTATIONS) - 1))
    def rotate(self, number: int) -> None:
        self._feed([ROTATIONS[number]])

    def _feed(self, lines: Events) -> None:
        """What is refused must be about refunds; all else that is not canonical yet is accepted."""
        verdict = feed(self.app, *lines)
        refused = {each.line for each in verdict.refused}
        new = signatures = 0
        for number, line in enumerate(lines, start=1):
            canonical = self.table.canonical()
            if line["type"] == "refund.signed":
                signatures += 1
                if number in refused:
                    self.table.set_aside.add(len(self.table.log))
            elif number in refused:
                of_transfer = [e for e in canonical if e.get("transfer_id") == line.get("transfer_id")]
                assert not list(self.table.agreeing([line], send_of(of_transfer))), (line, verdict)
                continue
            if key_of(line) not in map(key_of, canonical):
                self.table.log.append(line)
                new += line["type"] != "refund.signed"
        assert new <= verdict.accepted <= new + signatures, (lines, verdict)

    @rule(number=st.integers(0, len(REORGANISATIONS) - 1))
    def reorganise(self, number: int) -> None:
        assert not feed(self.app, REORGANISATIONS[number]).refused
        self.table.log.append(REORGANISATIONS[number])

    @precondition(lambda self: self._accepted())
    @rule(place=st.integers(0, 10_000))
    def retract(self, place: int) -> None:
        found = self._accepted()
        event = found[place % len(found)]
        about = f"transfer:{event['transfer_id']}" if "transfer_id" in event else f"chain:{event['chain_id']}"
        retract_ids(*audited_of(self.app), [event["id"]], "wrong", actor=TESTER, subject=about)
        self.table.log.append({"type": "events.retracted", "id": "", "targets": [key_of(event)]})

    def _accepted(self) -> Events:
        log = enumerate(self.table.log)
        return [e for at, e in log if at not in self.table.set_aside and "targets" not in e]

    @rule(n=st.sampled_from(list(TRANSFERS)))
    def request_refund(self, n: int) -> None:
        before = self.table.answer(transfer_id(n))
        wanted = WithdrawRequest(TransferId(id_of(n)), 0)
        try:
            request_refund(
                part_of(self.app, Database), part_of(self.app, SnapshotSource), self.unlimited, wanted, None
            )
        except GatewayError:
            assert before is None or not 6 <= before.status <= 10, before
        else:
            assert before is not None and 6 <= before.status <= 10, before
            if before.status == 6:
                self.table.requested.add(transfer_id(n))

    @rule(number=st.integers(0, len(NETWORKS) - 1))
    def configure(self, number: int) -> None:
        try:
            import_network(*editing_of(self.app), build.text(NETWORKS[number]), actor=TESTER)
        except NetworkRefused:  # transfers use what it would remove
            return
        self.table.network = NETWORKS[number]

    @invariant()
    def every_status_is_the_tables(self) -> None:
        for n, reported in zip(TRANSFERS, self._statuses(), strict=True):
            assert _answer(reported) == self.table.answer(transfer_id(n)), n

    def _statuses(self) -> list[TransferStatus | GatewayError]:
        keys = [TransferId(id_of(n)) for n in TRANSFERS]
        return transfer_statuses(part_of(self.app, Database), part_of(self.app, SnapshotSource), keys)

    @invariant()
    def the_journal_leads_to_every_status(self) -> None:
        """Each row goes on where the one before ended."""
        last: dict[bytes, tuple[int, int]] = {}
        with reading(part_of(self.app, Database).engine) as connection:
            for row in connection.execute(select(JournalRow.__table__).order_by(JournalRow.sequence)):
                assert row.previous_status == last.get(row.transfer_id, (0, 0))[0], row
                last[row.transfer_id] = row.status, row.refund_reason
        for n in TRANSFERS:
            answer = self.table.answer(transfer_id(n)) or Answer(0)
            found = last.get(id_of(n), (0, 0))
            assert found == (answer.status, answer.refund_reason), n


def _answer(reported: TransferStatus | GatewayError) -> Answer | None:
    if isinstance(reported, GatewayError):
        return None
    assert (
        bool(reported.sorted_sigs)
        == bool(reported.signers)
        == bool(reported.powers)
        == (reported.status == 8)
    )
    return Answer(int(reported.status), int(reported.refund_reason), reported.wd_onchain)


@pytest.mark.parametrize("examples", few_or_many(5, 2_000))
def test_every_status_matches_the_table(app: Flask, examples: int) -> None:
    machine = type("Histories", (Histories,), {"app": app})
    chosen = settings(max_examples=examples, stateful_step_count=STEPS)
    get_state_machine_test(machine, settings=chosen)()
