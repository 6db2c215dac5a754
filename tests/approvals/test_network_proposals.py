"""A guarded edit of the network waits; the second person sees and makes exactly what was proposed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import insert

from app.accounts import models as table
from app.accounts.rules.proposal import ProposalState, TwoPersons
from app.accounts.rules.roles import Role
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
from app.db.engine import writing
from app.network.edits.fees import FeeEdit
from app.network.edits.plan import Edit
from app.network.edits.refusals import InUse, Invalid
from app.network.edits.save import preview_edit, save_edit
from tests.applications import OpenApp
from tests.approvals.kit import ALICE, BOB, NOBODY, OLGA, VERA, Clock, set_account, stored
from tests.gateway import Gateway, gateway_of
from tests.network.services.edits.kit import add_transfer, document, edited, records, removed, versions
from tests.network.services.network_kit import VAULT, VILLAIN

WHY = "agreed in ticket 7"
Make = Callable[[Gateway], Edit]


def propose(gateway: Gateway, edit: Edit, actor: Actor = ALICE) -> int:
    saved = save_edit(*gateway.editing, edit, actor=actor, reason=WHY)
    assert saved.proposal_id is not None
    return saved.proposal_id


def fee(gateway: Gateway, value: str = "7") -> Edit:
    return edited(gateway, "routes", "USDT", 1, 56, base_fee=value)


def open_gateway(gateway: Gateway) -> Gateway:
    """The same gateway, where one person is enough."""
    return gateway.but(two_persons=TwoPersons())


def actions(gateway: Gateway) -> list[str]:
    return [record.action for record in records(gateway)]


EDITS: dict[str, Make] = {
    "a changed row": fee,
    "a new row": lambda g: Edit(
        "tokens",
        values={
            "chain_id": 1, "symbol": "USDC", "name": "Coin", "address": VAULT, "decimal": 6,
            "xfer_disabled": True,
        },
    ),
    "a removed row": lambda g: removed(g, "routes", "USDT", 1, 10),
    "a pegged pair": lambda g: edited(g, "pegged_pairs", "CELR", 1, 10, burn_base_fee="9"),
    "a pool": lambda g: edited(g, "pools", 1, "USDT", total_cap=None),
    "a block that ends": lambda g: removed(g, "route_blocks", "USDT", 10, 56),
    "a block in one direction": lambda g: edited(
        g, "route_blocks", "USDT", 10, 56, both_directions=False
    ),
    "an address that is let in": lambda g: removed(g, "blocked_addresses", VILLAIN),
    "a block that ends earlier": lambda g: edited(
        g, "blocked_addresses", VILLAIN, expires_at="2027-01-01T00:00:00Z"
    ),
    "a stop with something beside it": lambda g: edited(
        g, "tokens", 1, "USDT", xfer_disabled=True, name="Other"
    ),
}  # fmt: skip


@pytest.mark.parametrize("make", EDITS.values(), ids=EDITS)
def test_edit_waits_until_approved(gateway: Gateway, make: Make) -> None:
    before, old_versions, edit = document(gateway), versions(gateway), make(gateway)
    shown = preview_edit(gateway.database, gateway.two_persons, edit)
    assert shown.waits
    proposal = stored(gateway, propose(gateway, edit))
    assert (document(gateway), versions(gateway)) == (before, old_versions)
    assert (proposal.state, proposal.proposed_by, proposal.reason) == ("open", ALICE.name, WHY)
    assert proposal.section == edit.section
    assert waiting_count(gateway.database, gateway.two_persons, Role.ADMIN) == 1
    assert preview_proposal(gateway.database, gateway.two_persons, proposal) == shown, "the same preview"

    made = approve(*gateway.audited, proposal.id, actor=BOB)
    assert made.changes == shown.changes
    assert document(gateway) != before
    closed = stored(gateway, proposal.id)
    assert (closed.state, closed.decided_by, closed.record_id) == ("approved", BOB.name, made.record_id)
    assert actions(gateway)[0] == "two_persons.propose"
    assert actions(gateway)[1].startswith("network.")
    assert actions(gateway)[2] == "two_persons.approve"
    entry = show_audit(gateway.database, made.record_id or 0)
    assert entry is not None
    assert entry.record.actor == BOB.name
    assert entry.record.detail.startswith(f"proposed by {ALICE.name}, approved by {BOB.name}")
    assert entry.changes == read_changes(proposal.changes), "made is what was proposed"
    assert verify_audit(*gateway.audited).fault is None


STOPS: dict[str, Make] = {
    "a chain": lambda g: edited(g, "chains", 1, disabled=True, disabled_reason="incident"),
    "a token": lambda g: edited(g, "tokens", 1, "USDT", xfer_disabled=True),
    "a route": lambda g: Edit(
        "route_blocks",
        values={"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 56, "both_directions": True},
    ),
    "an address": lambda g: Edit("blocked_addresses", values={"address": VAULT}),
    "a network": lambda g: Edit("blocked_networks", values={"cidr": "198.51.100.0/24"}),
}


@pytest.mark.parametrize("make", STOPS.values(), ids=STOPS)
def test_stop_is_immediate_but_resuming_waits(gateway: Gateway, make: Make) -> None:
    edit, before = make(gateway), document(gateway)
    assert not preview_edit(gateway.database, gateway.two_persons, edit).waits
    saved = save_edit(*gateway.editing, edit, actor=OLGA, typed="Ethereum")
    assert saved.proposal_id is None
    assert document(gateway) != before
    stopped = document(gateway)
    if edit.row_id is not None:
        undone = {name: not value for name, value in (edit.values or {}).items() if value is True}
        key = (1,) if edit.section == "chains" else (1, "USDT")
        again = edited(gateway, edit.section, *key, **undone)
    else:
        values = edit.values or {}
        keys = {"route_blocks": ("USDT", 1, 56), "blocked_addresses": (values.get("address"),)}
        again = removed(gateway, edit.section, *keys.get(edit.section, (values.get("cidr"),)))
    propose(gateway, again, OLGA)
    assert document(gateway) == stopped


def test_blocking_several_never_waits(gateway: Gateway) -> None:
    text = f"{VAULT}\n{VILLAIN}"
    saved = save_edit(*gateway.editing, read_blocks("blocked_addresses", text, {}).edit, actor=OLGA)
    assert saved.proposal_id is None
    assert [row["address"] for row in document(gateway)["blocked_addresses"]] == [VILLAIN, VAULT]


def test_only_what_is_named_waits(gateway: Gateway) -> None:
    one = gateway.but(two_persons=TwoPersons(frozenset({"chains"})))
    assert save_edit(*one.editing, fee(one), actor=ALICE).proposal_id is None
    assert save_edit(
        *one.editing, edited(one, "chains", 1, name="Mainnet"), actor=ALICE, reason=WHY
    ).proposal_id


@pytest.mark.parametrize("reason", ["", "  \n ", "x" * 501])
def test_without_a_reason_nothing_is_proposed(gateway: Gateway, reason: str) -> None:
    with pytest.raises(ReasonMissing):
        save_edit(*gateway.editing, fee(gateway), actor=ALICE, reason=reason)
    assert list_waiting(gateway.database, Role.ADMIN) == []
    assert records(gateway) == []


@pytest.mark.parametrize(
    ("actor", "complaint"),
    [
        (ALICE, "You proposed this change"),
        (VERA, "needs the role operator"),
        (NOBODY, "needs the role operator"),
    ],
)
def test_who_may_not_approve(gateway: Gateway, actor: Actor, complaint: str) -> None:
    before = document(gateway)
    number = propose(gateway, fee(gateway))
    with pytest.raises(ProposalRefused, match=complaint):
        approve(*gateway.audited, number, actor=actor)
    assert document(gateway) == before
    assert stored(gateway, number).state is ProposalState.OPEN


def test_approval_uses_current_roles(gateway: Gateway) -> None:
    number = propose(gateway, fee(gateway))
    for changed in ({"role": "viewer"}, {"active": False}):
        set_account(gateway, OLGA, **({"role": "operator", "active": True} | changed))
        with pytest.raises(ProposalRefused, match="needs the role operator"):
            approve(*gateway.audited, number, actor=OLGA)
    set_account(gateway, OLGA, role="operator", active=True)
    set_account(gateway, ALICE, active=False)
    with pytest.raises(ProposalRefused, match="may no longer make this change"):
        approve(*gateway.audited, number, actor=OLGA)
    set_account(gateway, ALICE, active=True, role="operator")
    assert approve(*gateway.audited, number, actor=OLGA).record_id


def test_row_changed_since_is_not_overwritten(gateway: Gateway) -> None:
    number = propose(gateway, fee(gateway))
    save_edit(*open_gateway(gateway).editing, fee(gateway, "9"), actor=BOB)
    with pytest.raises(Conflict) as told:
        preview_proposal(gateway.database, gateway.two_persons, stored(gateway, number))
    assert ("base_fee", "605437528092011966", "9") in [
        (each.field, each.before, each.after) for each in told.value.meanwhile
    ]
    with pytest.raises(Conflict):
        approve(*gateway.audited, number, actor=BOB)
    assert document(gateway)["routes"][0]["base_fee"] == "9"
    assert stored(gateway, number).state is ProposalState.OPEN


def test_impossible_change_is_not_approved(gateway: Gateway) -> None:
    token = EDITS["a new row"](gateway)
    number = propose(gateway, token)
    save_edit(*open_gateway(gateway).editing, token, actor=BOB)
    with pytest.raises(Invalid, match="exists already"):
        approve(*gateway.audited, number, actor=BOB)
    gone = propose(gateway, removed(gateway, "tokens", 1, "USDC"))
    pool = {"chain_id": 1, "symbol": "USDC", "liquidity_added": "0", "epoch_seconds": 60}
    save_edit(*open_gateway(gateway).editing, Edit("pools", values=pool), actor=BOB)
    with pytest.raises(InUse):
        approve(*gateway.audited, gone, actor=BOB)


def test_second_proposal_for_row_conflicts(gateway: Gateway) -> None:
    first, second = propose(gateway, fee(gateway)), propose(gateway, fee(gateway, "8"), OLGA)
    approve(*gateway.audited, second, actor=BOB)
    with pytest.raises(Conflict):
        approve(*gateway.audited, first, actor=BOB)
    assert document(gateway)["routes"][0]["base_fee"] == "8"


def test_proposal_differing_after_upgrade_conflicts(gateway: Gateway) -> None:
    """What other software would make of it is not what was proposed."""
    number = propose(gateway, EDITS["a new row"](gateway))
    proposal = stored(gateway, number)
    other = replace(proposal, input=proposal.input.replace("Coin", "Coins"))
    with pytest.raises(Conflict):
        preview_proposal(gateway.database, gateway.two_persons, other)


def test_base_fees_of_many_routes(gateway: Gateway) -> None:
    before, edit = document(gateway), FeeEdit(56, None, None, Fraction(3, 2))
    shown = preview_edit(gateway.database, gateway.two_persons, edit)
    assert shown.waits
    with pytest.raises(ReasonMissing):
        save_edit(*gateway.editing, replace(edit, shown=shown.fingerprint), actor=ALICE)
    number = (
        save_edit(
            *gateway.editing, replace(edit, shown=shown.fingerprint), actor=ALICE, reason=WHY
        ).proposal_id
        or 0
    )
    assert document(gateway) == before
    assert preview_proposal(gateway.database, gateway.two_persons, stored(gateway, number)) == shown
    other = propose(gateway, fee(gateway))
    approve(*gateway.audited, number, actor=BOB)
    assert document(gateway)["routes"][0]["base_fee"] == "908156292138017949"
    with pytest.raises(Conflict):
        approve(*gateway.audited, other, actor=BOB)
    again = FeeEdit(56, "USDT", 10**30, None)
    shown = preview_edit(gateway.database, gateway.two_persons, again)
    number = (
        save_edit(
            *gateway.editing, replace(again, shown=shown.fingerprint), actor=ALICE, reason=WHY
        ).proposal_id
        or 0
    )
    save_edit(*open_gateway(gateway).editing, fee(gateway, "1"), actor=BOB)
    with pytest.raises(Conflict):
        approve(*gateway.audited, number, actor=BOB)
    assert document(gateway)["routes"][0]["base_fee"] == "1"


def test_grave_change_needs_name_from_both(gateway: Gateway) -> None:
    edit = edited(gateway, "chains", 1, disabled=True, disabled_reason="x", name="Mainnet")
    with pytest.raises(NotConfirmed):
        save_edit(*gateway.editing, edit, actor=ALICE, reason=WHY)
    number = save_edit(*gateway.editing, edit, actor=ALICE, reason=WHY, typed="Ethereum").proposal_id or 0
    with pytest.raises(NotConfirmed):
        approve(*gateway.audited, number, actor=BOB)
    assert not document(gateway)["chains"][0]["disabled"]
    approve(*gateway.audited, number, actor=BOB, typed="Ethereum")
    assert document(gateway)["chains"][0]["name"] == "Mainnet"


def test_proposal_expires_by_passed_clock(gateway: Gateway, clock: Clock) -> None:
    number, later = propose(gateway, fee(gateway)), None
    clock.forward(hours=71, minutes=59, seconds=59)
    later = propose(gateway, edited(gateway, "chains", 1, name="Mainnet"))
    assert [each.id for each in list_waiting(gateway.database, Role.ADMIN)] == [number, later]
    clock.forward(seconds=1)
    assert waiting_count(gateway.database, gateway.two_persons, Role.ADMIN) == 1
    with pytest.raises(ProposalRefused, match="expired"):
        approve(*gateway.audited, number, actor=BOB)
    assert stored(gateway, number).state is ProposalState.EXPIRED
    for _ in range(2):
        note_expired(*gateway.audited, VERA)
    assert actions(gateway).count("two_persons.expire") == 1
    for decide in (reject, withdraw):
        with pytest.raises(ProposalRefused, match="expired"):
            decide(*gateway.audited, number, "too late", actor=ALICE)
    approve(*gateway.audited, later, actor=BOB)


def test_setting_limits_proposal_lifetime(gateway: Gateway, clock: Clock) -> None:
    brief = gateway.but(two_persons=replace(gateway.two_persons, lifetime=timedelta(hours=1)))
    number = propose(brief, fee(brief))
    clock.forward(hours=1)
    with pytest.raises(ProposalRefused, match="expired"):
        approve(*gateway.audited, number, actor=BOB)


def test_rejected_or_withdrawn_with_a_reason(gateway: Gateway) -> None:
    before = document(gateway)
    mine, other = propose(gateway, fee(gateway)), propose(gateway, fee(gateway, "8"))
    for decide, actor in ((reject, ALICE), (withdraw, BOB), (reject, VERA), (withdraw, VERA)):
        with pytest.raises(ProposalRefused):
            decide(*gateway.audited, mine, "no", actor=actor)
    for decide, actor in ((reject, BOB), (withdraw, ALICE)):
        with pytest.raises(ReasonMissing):
            decide(*gateway.audited, mine, " ", actor=actor)
    reject(*gateway.audited, mine, "not now", actor=BOB)
    withdraw(*gateway.audited, other, "a mistake", actor=ALICE)
    found = [stored(gateway, number) for number in (mine, other)]
    assert [(each.state, each.decided_by, each.decision_reason) for each in found] == [
        ("rejected", BOB.name, "not now"), ("withdrawn", ALICE.name, "a mistake"),
    ]  # fmt: skip
    for number in (mine, other):
        with pytest.raises(ProposalRefused, match="already"):
            approve(*gateway.audited, number, actor=BOB)
    assert document(gateway) == before
    assert actions(gateway)[2:] == ["two_persons.reject", "two_persons.withdraw"]
    assert "not now" in records(gateway)[2].detail


def test_two_approvals_at_once_make_it_once(gateway: Gateway) -> None:
    number = propose(gateway, EDITS["a new row"](gateway))
    start, outcomes = threading.Barrier(4), list[Any]()

    def decide(actor: Actor) -> None:
        start.wait()
        try:
            outcomes.append(approve(*gateway.audited, number, actor=actor))
        except EditRefused as refused:
            outcomes.append(refused)

    threads = [threading.Thread(target=decide, args=(actor,)) for actor in (BOB, OLGA, BOB, OLGA)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(outcome, Saved) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ProposalRefused) for outcome in outcomes) == 3
    assert actions(gateway) == ["two_persons.propose", "network.create", "two_persons.approve"]
    assert sum(row["symbol"] == "USDC" for row in document(gateway)["tokens"]) == 1


def test_a_proposal_survives_a_restart(gateway: Gateway, open_app: OpenApp) -> None:
    number = propose(gateway, fee(gateway))
    started = gateway_of(open_app(two_persons=("routes",))).but(clock=gateway.clock)
    assert [each.id for each in list_waiting(started.database, Role.VIEWER)] == [number]
    approve(*started.audited, number, actor=OLGA)
    assert document(gateway)["routes"][0]["base_fee"] == "7"
    assert started.two_persons.guards("routes")
    assert not started.two_persons.guards("chains")


def test_one_account_cannot_fill_the_list(gateway: Gateway) -> None:
    proposal = stored(gateway, propose(gateway, fee(gateway)))
    row = {name: getattr(proposal, name) for name in proposal.__slots__ if name != "id"}
    with writing(gateway.engine) as connection:
        connection.execute(insert(table.Proposal), [row | {"state": "open"}] * (MOST_OPEN - 1))
    with pytest.raises(TooManyProposals):
        propose(gateway, fee(gateway))
    assert propose(gateway, fee(gateway), OLGA)


def test_the_writer_itself_refuses_what_nobody_approved(gateway: Gateway) -> None:
    before = document(gateway)
    with pytest.raises(SecondPersonNeeded, match="routes"), writing(gateway.engine) as connection:
        carry_out(connection, *gateway.editing, ALICE, fee(gateway).planned(connection, gateway.clock()))
    assert document(gateway) == before


def test_later_transfers_still_guard_row(gateway: Gateway) -> None:
    number = propose(gateway, edited(gateway, "tokens", 1, "USDT", decimal=7))
    add_transfer(gateway, 1)
    with pytest.raises(Invalid, match="transfers use"):
        approve(*gateway.audited, number, actor=BOB)
