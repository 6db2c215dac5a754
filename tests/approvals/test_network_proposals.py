"""A guarded edit of the network waits; the second person sees and makes exactly what was proposed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import asdict, replace
from sqlalchemy import insert

from app.accounts import models as table
from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import ProposalState, TwoPersons
from app.accounts.services.proposals import (
    MOST_OPEN,
    ProposalRefused,
    ReasonMissing,
    SecondPersonNeeded,
    TooManyProposals,
    carry_out,
    list_waiting,
    note_expired,
    waiting_count,
)
from app.approvals.decide import approve, preview_proposal, reject, withdraw
from app.audit.rules.records import Actor, read_changes
from app.audit.services import Conflict, EditRefused, NotConfirmed, Saved, show_audit
from app.audit.verification import verify_audit
from app.console.network.blocks import read_blocks
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.edits.fees import FeeEdit
from app.network.edits.plan import Edit
from app.network.edits.refusals import InUse, Invalid
from app.network.edits.save import preview_edit, save_edit
from tests.applications import Audited, Editing, OpenApp, audited_of
from tests.approvals.kit import ALICE, BOB, NOBODY, OLGA, VERA, set_account, stored
from tests.builders.clock import MovableClock
from tests.network.services.edits.kit import add_transfer, document, edited, records, removed, versions
from tests.network.services.network_kit import VAULT, VILLAIN

pytestmark = pytest.mark.one_database
"""What waits for whom. How rows are written is tested with each feature, on both databases."""

WHY = "agreed in ticket 7"
Make = Callable[[Database], Edit]


def propose(editing: Editing, edit: Edit, actor: Actor = ALICE) -> int:
    saved = save_edit(*editing, edit, actor=actor, reason=WHY)
    assert saved.proposal_id is not None
    return saved.proposal_id


def fee(database: Database, value: str = "7") -> Edit:
    return edited(database, "routes", "USDT", 1, 56, base_fee=value)


def actions(database: Database) -> list[str]:
    return [record.action for record in records(database)]


EDITS: dict[str, Make] = {
    "a changed row": fee,
    "a new row": lambda database: Edit(
        "tokens",
        values={
            "chain_id": 1, "symbol": "USDC", "name": "Coin", "address": VAULT, "decimal": 6,
            "xfer_disabled": True,
        },
    ),
    "a removed row": lambda database: removed(database, "routes", "USDT", 1, 10),
    "a pegged pair": lambda database: edited(database, "pegged_pairs", "CELR", 1, 10, burn_base_fee="9"),
    "a pool": lambda database: edited(database, "pools", 1, "USDT", total_cap=None),
    "a block that ends": lambda database: removed(database, "route_blocks", "USDT", 10, 56),
    "a block in one direction": lambda database: edited(
        database, "route_blocks", "USDT", 10, 56, both_directions=False
    ),
    "an address that is let in": lambda database: removed(database, "blocked_addresses", VILLAIN),
    "a block that ends earlier": lambda database: edited(
        database, "blocked_addresses", VILLAIN, expires_at="2027-01-01T00:00:00Z"
    ),
    "a stop with another change": lambda database: edited(
        database, "tokens", 1, "USDT", xfer_disabled=True, name="Other"
    ),
}  # fmt: skip


@pytest.mark.parametrize("make", EDITS.values(), ids=EDITS)
def test_edit_waits_until_approved(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing, make: Make
) -> None:
    before, old_versions, edit = document(database), versions(database), make(database)
    shown = preview_edit(database, two_persons, edit)
    assert shown.waits
    proposal = stored(database, propose(editing, edit))
    assert (document(database), versions(database)) == (before, old_versions)
    assert (proposal.state, proposal.proposed_by, proposal.reason) == ("open", ALICE.name, WHY)
    assert proposal.section == edit.section
    assert waiting_count(database, two_persons, Role.ADMIN) == 1
    assert preview_proposal(database, two_persons, proposal) == shown, "the same preview"

    made = approve(*audited, proposal.id, actor=BOB)
    assert made.changes == shown.changes
    assert document(database) != before
    closed = stored(database, proposal.id)
    assert (closed.state, closed.decided_by, closed.record_id) == ("approved", BOB.name, made.record_id)
    assert actions(database)[0] == "two_persons.propose"
    assert actions(database)[1].startswith("network.")
    assert actions(database)[2] == "two_persons.approve"
    entry = show_audit(database, made.record_id or 0)
    assert entry is not None
    assert entry.record.actor == BOB.name
    assert entry.record.detail.startswith(f"proposed by {ALICE.name}, approved by {BOB.name}")
    assert entry.changes == read_changes(proposal.changes), "made is what was proposed"
    assert verify_audit(*audited).fault is None


STOPS: dict[str, Make] = {
    "a chain": lambda database: edited(database, "chains", 1, disabled=True, disabled_reason="incident"),
    "a token": lambda database: edited(database, "tokens", 1, "USDT", xfer_disabled=True),
    "a route": lambda database: Edit(
        "route_blocks",
        values={"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 56, "both_directions": True},
    ),
    "an address": lambda database: Edit("blocked_addresses", values={"address": VAULT}),
    "a network": lambda database: Edit("blocked_networks", values={"cidr": "198.51.100.0/24"}),
}


@pytest.mark.parametrize("make", STOPS.values(), ids=STOPS)
def test_stop_is_immediate_but_resuming_waits(
    database: Database, two_persons: TwoPersons, editing: Editing, make: Make
) -> None:
    edit, before = make(database), document(database)
    assert not preview_edit(database, two_persons, edit).waits
    saved = save_edit(*editing, edit, actor=OLGA, typed="Ethereum")
    assert saved.proposal_id is None
    assert document(database) != before
    stopped = document(database)
    if edit.row_id is not None:
        undone = {name: not value for name, value in (edit.values or {}).items() if value is True}
        key = (1,) if edit.section == "chains" else (1, "USDT")
        again = edited(database, edit.section, *key, **undone)
    else:
        values = edit.values or {}
        keys = {"route_blocks": ("USDT", 1, 56), "blocked_addresses": (values.get("address"),)}
        again = removed(database, edit.section, *keys.get(edit.section, (values.get("cidr"),)))
    propose(editing, again, OLGA)
    assert document(database) == stopped


def test_blocking_several_never_waits(database: Database, editing: Editing) -> None:
    text = f"{VAULT}\n{VILLAIN}"
    saved = save_edit(*editing, read_blocks("blocked_addresses", text, {}).edit, actor=OLGA)
    assert saved.proposal_id is None
    assert [row["address"] for row in document(database)["blocked_addresses"]] == [VILLAIN, VAULT]


def test_only_named_section_waits(database: Database, audited: Audited) -> None:
    one = *audited, TwoPersons(frozenset({"chains"}))
    assert save_edit(*one, fee(database), actor=ALICE).proposal_id is None
    chain = edited(database, "chains", 1, name="Mainnet")
    assert save_edit(*one, chain, actor=ALICE, reason=WHY).proposal_id


@pytest.mark.parametrize("reason", ["", "  \n ", "x" * 501])
def test_proposal_needs_a_reason(database: Database, editing: Editing, reason: str) -> None:
    with pytest.raises(ReasonMissing):
        save_edit(*editing, fee(database), actor=ALICE, reason=reason)
    assert list_waiting(database, Role.ADMIN) == []
    assert records(database) == []


@pytest.mark.parametrize(
    ("actor", "complaint"),
    [
        (ALICE, "You proposed this change"),
        (VERA, "needs the role operator"),
        (NOBODY, "needs the role operator"),
    ],
)
def test_approve_refuses_wrong_actor(
    database: Database, audited: Audited, editing: Editing, actor: Actor, complaint: str
) -> None:
    before = document(database)
    number = propose(editing, fee(database))
    with pytest.raises(ProposalRefused, match=complaint):
        approve(*audited, number, actor=actor)
    assert document(database) == before
    assert stored(database, number).state is ProposalState.OPEN


def test_approval_uses_current_roles(database: Database, audited: Audited, editing: Editing) -> None:
    number = propose(editing, fee(database))
    for changed in ({"role": "viewer"}, {"active": False}):
        set_account(database, OLGA, **({"role": "operator", "active": True} | changed))
        with pytest.raises(ProposalRefused, match="needs the role operator"):
            approve(*audited, number, actor=OLGA)
    set_account(database, OLGA, role="operator", active=True)
    set_account(database, ALICE, active=False)
    with pytest.raises(ProposalRefused, match="may no longer make this change"):
        approve(*audited, number, actor=OLGA)
    set_account(database, ALICE, active=True, role="operator")
    assert approve(*audited, number, actor=OLGA).record_id


@pytest.mark.every_database
def test_row_changed_since_is_not_overwritten(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing
) -> None:
    number = propose(editing, fee(database))
    save_edit(*audited, TwoPersons(), fee(database, "9"), actor=BOB)
    with pytest.raises(Conflict) as conflict:
        preview_proposal(database, two_persons, stored(database, number))
    assert ("base_fee", "605437528092011966", "9") in [
        (each.field, each.before, each.after) for each in conflict.value.meanwhile
    ]
    with pytest.raises(Conflict):
        approve(*audited, number, actor=BOB)
    assert document(database)["routes"][0]["base_fee"] == "9"
    assert stored(database, number).state is ProposalState.OPEN


def test_impossible_change_is_not_approved(database: Database, audited: Audited, editing: Editing) -> None:
    token = EDITS["a new row"](database)
    number = propose(editing, token)
    save_edit(*audited, TwoPersons(), token, actor=BOB)
    with pytest.raises(Invalid, match="exists already"):
        approve(*audited, number, actor=BOB)
    gone = propose(editing, removed(database, "tokens", 1, "USDC"))
    pool = {"chain_id": 1, "symbol": "USDC", "liquidity_added": "0", "epoch_seconds": 60}
    save_edit(*audited, TwoPersons(), Edit("pools", values=pool), actor=BOB)
    with pytest.raises(InUse):
        approve(*audited, gone, actor=BOB)


def test_proposal_of_older_version_conflicts(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    """What other software would make of it is not what was proposed."""
    number = propose(editing, EDITS["a new row"](database))
    proposal = stored(database, number)
    other = replace(proposal, input=proposal.input.replace("Coin", "Coins"))
    with pytest.raises(Conflict):
        preview_proposal(database, two_persons, other)


@pytest.mark.every_database
def test_base_fees_of_many_routes_wait(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing
) -> None:
    before, edit = document(database), FeeEdit(56, None, None, Fraction(3, 2))
    shown = preview_edit(database, two_persons, edit)
    assert shown.waits
    with pytest.raises(ReasonMissing):
        save_edit(*editing, replace(edit, shown=shown.fingerprint), actor=ALICE)
    number = (
        save_edit(*editing, replace(edit, shown=shown.fingerprint), actor=ALICE, reason=WHY).proposal_id or 0
    )
    assert document(database) == before
    assert preview_proposal(database, two_persons, stored(database, number)) == shown
    other = propose(editing, fee(database))
    approve(*audited, number, actor=BOB)
    assert document(database)["routes"][0]["base_fee"] == "908156292138017949"
    with pytest.raises(Conflict):
        approve(*audited, other, actor=BOB)
    again = FeeEdit(56, "USDT", 10**30, None)
    shown = preview_edit(database, two_persons, again)
    number = (
        save_edit(*editing, replace(again, shown=shown.fingerprint), actor=ALICE, reason=WHY).proposal_id or 0
    )
    save_edit(*audited, TwoPersons(), fee(database, "1"), actor=BOB)
    with pytest.raises(Conflict):
        approve(*audited, number, actor=BOB)
    assert document(database)["routes"][0]["base_fee"] == "1"


def test_grave_change_needs_name_from_both(database: Database, audited: Audited, editing: Editing) -> None:
    """Who proposes and who approves types the name that the chain has now, not the one it gets."""
    edit = edited(database, "chains", 1, disabled=True, disabled_reason="x", name="Mainnet")
    with pytest.raises(NotConfirmed):
        save_edit(*editing, edit, actor=ALICE, reason=WHY)
    number = save_edit(*editing, edit, actor=ALICE, reason=WHY, typed="Ethereum").proposal_id or 0
    with pytest.raises(NotConfirmed):
        approve(*audited, number, actor=BOB)
    assert not document(database)["chains"][0]["disabled"]
    approve(*audited, number, actor=BOB, typed="Ethereum")
    changed = document(database)["chains"][0]
    assert (changed["name"], changed["disabled"]) == ("Mainnet", True)


@pytest.mark.every_database
def test_proposal_expires_by_passed_clock(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing, clock: MovableClock
) -> None:
    number, later = propose(editing, fee(database)), None
    clock.forward(hours=71, minutes=59, seconds=59)
    later = propose(editing, edited(database, "chains", 1, name="Mainnet"))
    assert [each.id for each in list_waiting(database, Role.ADMIN)] == [number, later]
    clock.forward(seconds=1)
    assert waiting_count(database, two_persons, Role.ADMIN) == 1
    with pytest.raises(ProposalRefused, match="expired"):
        approve(*audited, number, actor=BOB)
    assert stored(database, number).state is ProposalState.EXPIRED
    for _ in range(2):
        note_expired(*audited, VERA)
    assert actions(database).count("two_persons.expire") == 1
    for decide in (reject, withdraw):
        with pytest.raises(ProposalRefused, match="expired"):
            decide(*audited, number, "too late", actor=ALICE)
    approve(*audited, later, actor=BOB)


def test_setting_limits_proposal_lifetime(
    database: Database, two_persons: TwoPersons, audited: Audited, clock: MovableClock
) -> None:
    brief = replace(two_persons, lifetime=timedelta(hours=1))
    number = propose((*audited, brief), fee(database))
    clock.forward(hours=1)
    with pytest.raises(ProposalRefused, match="expired"):
        approve(*audited, number, actor=BOB)


def test_rejected_or_withdrawn_with_a_reason(database: Database, audited: Audited, editing: Editing) -> None:
    before = document(database)
    mine, other = propose(editing, fee(database)), propose(editing, fee(database, "8"))
    for decide, actor in ((reject, ALICE), (withdraw, BOB), (reject, VERA), (withdraw, VERA)):
        with pytest.raises(ProposalRefused):
            decide(*audited, mine, "no", actor=actor)
    for decide, actor in ((reject, BOB), (withdraw, ALICE)):
        with pytest.raises(ReasonMissing):
            decide(*audited, mine, " ", actor=actor)
    reject(*audited, mine, "not now", actor=BOB)
    withdraw(*audited, other, "a mistake", actor=ALICE)
    found = [stored(database, number) for number in (mine, other)]
    assert [(each.state, each.decided_by, each.decision_reason) for each in found] == [
        ("rejected", BOB.name, "not now"), ("withdrawn", ALICE.name, "a mistake"),
    ]  # fmt: skip
    for number in (mine, other):
        with pytest.raises(ProposalRefused, match="already"):
            approve(*audited, number, actor=BOB)
    assert document(database) == before
    assert actions(database)[2:] == ["two_persons.reject", "two_persons.withdraw"]
    assert "not now" in records(database)[2].detail


@pytest.mark.every_database
def test_concurrent_approvals_save_once(database: Database, audited: Audited, editing: Editing) -> None:
    number = propose(editing, EDITS["a new row"](database))
    start, outcomes = threading.Barrier(4), list[Any]()

    def decide(actor: Actor) -> None:
        start.wait()
        try:
            outcomes.append(approve(*audited, number, actor=actor))
        except EditRefused as refused:
            outcomes.append(refused)

    threads = [threading.Thread(target=decide, args=(actor,)) for actor in (BOB, OLGA, BOB, OLGA)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(outcome, Saved) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ProposalRefused) for outcome in outcomes) == 3
    assert actions(database) == ["two_persons.propose", "network.create", "two_persons.approve"]
    assert sum(row["symbol"] == "USDC" for row in document(database)["tokens"]) == 1


def test_proposal_survives_a_restart(database: Database, editing: Editing, open_app: OpenApp) -> None:
    number = propose(editing, fee(database))
    started = open_app(two_persons=("routes",), clock=database.clock)
    assert [each.id for each in list_waiting(part_of(started, Database), Role.VIEWER)] == [number]
    approve(*audited_of(started), number, actor=OLGA)
    assert document(database)["routes"][0]["base_fee"] == "7"
    assert part_of(started, TwoPersons).guards("routes")
    assert not part_of(started, TwoPersons).guards("chains")


def test_one_account_cannot_fill_the_list(database: Database, editing: Editing) -> None:
    proposal = stored(database, propose(editing, fee(database)))
    row = {name: value for name, value in asdict(proposal).items() if name != "id"}
    with writing(database.engine) as connection:
        connection.execute(insert(table.Proposal), [row | {"state": "open"}] * (MOST_OPEN - 1))
    with pytest.raises(TooManyProposals):
        propose(editing, fee(database))
    assert propose(editing, fee(database), OLGA)


def test_writer_refuses_unapproved_change(database: Database, editing: Editing) -> None:
    before = document(database)
    with pytest.raises(SecondPersonNeeded, match="routes"), writing(database.engine) as connection:
        carry_out(connection, *editing, ALICE, fee(database).planned(connection, database.clock()))
    assert document(database) == before


def test_later_transfers_still_guard_row(database: Database, audited: Audited, editing: Editing) -> None:
    number = propose(editing, edited(database, "tokens", 1, "USDT", decimal=7))
    add_transfer(database, 1)
    with pytest.raises(Invalid, match="transfers use"):
        approve(*audited, number, actor=BOB)
