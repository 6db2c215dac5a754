"""The page of refunds that wait, by the validator whose signature is missing."""

from __future__ import annotations

import re

from flask import Flask
from msgspec.structs import replace
from sqlalchemy import select, update

from app.accounts.rules.roles import Role
from app.console.refunds import by_missing_signer, waiting_refunds
from app.db.database import Database
from app.db.engine import writing
from app.network.models import OpeningValidator
from app.network.snapshot import SnapshotSource
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus
from tests.console.forms import form_of
from tests.console.visitor import signed_in
from tests.refunds.asking import ask, withdraw_req

SIGNING = sandbox_id(TransferHistoryStatus.TRANSFER_REQUESTING_REFUND)


def name(database: Database, address: str, who: str, contact: str) -> None:
    with writing(database.engine) as connection:
        of_signer = update(OpeningValidator).where(OpeningValidator.signer == address)
        connection.execute(of_signer.values(name=who, contact=contact))


def test_missing_signers_list_their_refunds(
    sandbox: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    waiting = waiting_refunds(database, snapshots)
    signers = by_missing_signer(waiting, {})
    assert signers
    for signer in signers:
        for refund, line in signer.refunds:
            assert not line.signed and line.address == signer.address
            assert signer.address in refund.refund.not_signed
            enough = refund.refund.power_signed + line.power >= (refund.refund.quorum or 0)
            assert refund.is_enough(line) == enough
    listed = {(each.address, refund.line.transfer_id) for each in signers for refund, _ in each.refunds}
    assert listed == {
        (address, refund.line.transfer_id)
        for refund in waiting
        if refund.can_be_signed
        for address in refund.refund.not_signed
    }
    ranks = [(each.last, len(each.refunds)) for each in signers]
    assert ranks == sorted(ranks, reverse=True), "who completes the most comes first"
    assert ranks[0][0] > 0


def test_whose_signature_is_enough_comes_first(
    sandbox: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    """Exactly the quorum is enough; of equal ones the address decides, so the strongest is not the first."""
    (waiting,) = [each for each in waiting_refunds(database, snapshots) if each.can_be_signed]
    missing = [line for line in waiting.refund.signers if not line.signed]
    for line in missing:
        quorum = waiting.refund.power_signed + line.power
        just = replace(waiting, refund=replace(waiting.refund, quorum=quorum))
        enough = [each for each in missing if each.power >= line.power]
        signers = by_missing_signer([just], {})
        assert {each.address for each in signers if each.last} == {each.address for each in enough}
        assert [each.last for each in signers] == [1] * len(enough) + [0] * (len(missing) - len(enough))


def test_the_page_says_whom_to_call(
    app: Flask, sandbox: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    first = by_missing_signer(waiting_refunds(database, snapshots), {})[0]
    name(database, first.address, "Staking <Ltd>", "duty@validator.example")
    page = signed_in(app, Role.VIEWER).get("/admin/refunds/").text
    (section,) = [each for each in page.split("<section") if "Staking &lt;Ltd&gt;" in each]
    assert "duty@validator.example" in section
    assert f'href="/admin/transfers/{SIGNING}"' in section
    assert "No contact is known." in page, "of the others"
    assert page.index("Staking &lt;Ltd&gt;") < page.index("Validator without a name")


def test_those_that_users_requested_are_a_filter(app: Flask, sandbox: Flask) -> None:
    visitor = signed_in(app, Role.VIEWER)
    assert "No waiting refund was requested by its user." in visitor.get("/admin/refunds/?requested=1").text
    transfer = sandbox_id(TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED)
    assert "Refund requested</dt>" not in visitor.get(f"/admin/transfers/{transfer}").text
    assert ask(app.test_client(), "http", withdraw_req(transfer)).code == 0
    listed = visitor.get("/admin/refunds/?requested=1").text
    assert re.findall(r'row-link mono" href="/admin/transfers/(0x\w+)"', listed) == [transfer]
    assert SIGNING in visitor.get("/admin/refunds/").text
    page = visitor.get(f"/admin/transfers/{transfer}").text
    assert "through the API; any client can request it" in page
    begun = page.split("Refund requested")[1].split("</li>")[0]
    assert "Not started" not in begun
    assert "Waiting</span>" in page.split("Refund request prepared")[1].split("</li>")[0]
    assert "the refund was requested at " in page


def test_nothing_waits(app: Flask, network: Flask) -> None:
    assert "No refunds wait." in signed_in(app, Role.VIEWER).get("/admin/refunds/").text


def test_opening_set_takes_names_and_contacts(app: Flask, sandbox: Flask, database: Database) -> None:
    visitor = signed_in(app, Role.ADMIN)
    form = visitor.get("/admin/validators/1/opening")
    lines = form_of(form)["validators"].splitlines()
    address = lines[0].split()[0]
    lines[0] += " Staking Ltd, duty@validator.example"
    lines[1] += " Only a name"
    lines[2] += f" {'x' * 121}"
    shown = visitor.post("/admin/validators/1/opening", form_of(form) | {"validators": "\n".join(lines)})
    assert "Line 3: names and contacts have at most 120 characters." in shown.text
    lines[2] = lines[2][:-122] + " , only@contact.example"
    shown = visitor.post("/admin/validators/1/opening", form_of(form) | {"validators": "\n".join(lines)})
    assert "Staking Ltd" in shown.text
    visitor.post("/admin/validators/1/opening", form_of(shown) | {"confirm": "1"})
    again = form_of(visitor.get("/admin/validators/1/opening"))["validators"].splitlines()
    assert again == [line.replace("  ", " ") for line in lines]
    with database.reads.connect() as connection:
        table = OpeningValidator
        of_chain = select(table.name, table.contact).where(table.chain_id == 1, table.signer == address)
        assert connection.execute(of_chain).one() == ("Staking Ltd", "duty@validator.example")
    assert "Staking Ltd, duty@validator.example" in visitor.get("/admin/chains/1").text
