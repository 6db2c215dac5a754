"""What a transfer waits for, alike on its page, among waiting refunds, in the reply and in the look-up."""

from __future__ import annotations

import re
from html import unescape

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import select, update

from app.accounts.rules.roles import Role
from app.console.refunds import by_missing_signer, waiting_refunds
from app.console.transfers.components import ChainName
from app.console.transfers.labels import (
    ANOMALY_WORDS,
    KIND_WORDS,
    NEXT_ACTOR_WORDS,
    REFUND_REASONS,
    STAGE_WORDS,
    STATUS_WORDS,
)
from app.console.transfers.waits import WAIT_WORDS, wait_words
from app.db.database import Database
from app.db.engine import writing
from app.network.models import OpeningValidator
from app.network.snapshot import SnapshotSource
from app.refunds.rules.waits import AbsentSigner, Wait, Waiting
from app.sandbox.catalogue import SANDBOX_TRANSFERS, sandbox_id
from app.transfer_page.rules.words import Situation, explain
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.rules.events.event_types import EVENT_CLASSES
from app.transfers.rules.progress import NextActor
from app.transfers.rules.stuck import StageName
from app.values.codes import SendKind, TransferHistoryStatus, XferStatus
from app.values.codes import TransferHistoryStatus as Status
from tests.api.shapes import FIND
from tests.console.forms import form_of, pre
from tests.console.visitor import Visitor, signed_in
from tests.refunds.requesting import send_request, withdraw_req

SIGNING = sandbox_id(Status.TRANSFER_REQUESTING_REFUND)
SIGNED = "58.0 %"
NEEDED = "66.67 %"


def part(page: str) -> str:
    """The text of the card about what the transfer waits for."""
    found = re.search(r'<section class="card waiting.*?</section>', page, re.DOTALL)
    assert found
    return " ".join(unescape(re.sub("<[^>]+>", " ", found[0])).split())


def test_stuck_refund_names_missing_signers(app: Flask, sandbox: Flask, database: Database) -> None:
    contact = {"name": "Staking <Ltd>", "contact": "duty@validator.example"}
    with writing(database.engine) as connection:
        of_signer = update(OpeningValidator).where(OpeningValidator.signer.startswith("0x987393"))
        connection.execute(of_signer.values(contact))
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{SIGNING}").text
    assert "may not have been read yet" not in page
    shown_text = part(page)
    assert "Stuck: longer than " in shown_text
    assert f"Signatures: {SIGNED} of the voting power has signed, {NEEDED} is needed." in shown_text
    assert "Staking <Ltd> 0x987393…46daFd , 19.0 %: duty@validator.example Enough" in shown_text
    assert shown_text.index("19.0 %") < shown_text.index("13.0 %") < shown_text.index("10.0 %"), (
        "the strongest first"
    )
    assert "Validator without a name 0x6396e9…bf529b , 13.0 %: no contact is known" in shown_text
    assert re.search(r"Since \d{4}-\d\d-\d\d [\d:]+ , for 3 h", shown_text)
    assert "ask them to sign" in shown_text


def test_reply_page_and_lookup_agree(app: Flask, sandbox: Flask) -> None:
    sentence = f"The bridge has to approve it: {SIGNED} of the votes are in, and {NEEDED} are needed."
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{SIGNING}").text
    assert sentence in pre(page, "reply")
    client = app.test_client()
    (found,) = client.get(FIND, query_string={"key": SIGNING, "lang": "en"}).get_json()["transfers"]
    assert found["words"]["now"].endswith(sentence)
    assert sentence in client.get(f"/transfer/{SIGNING}").text
    (found,) = client.get(FIND, query_string={"key": SIGNING, "lang": "es"}).get_json()["transfers"]
    assert f"{SIGNED} de los votos" in found["words"]["now"]


def test_refund_list_and_page_agree(sandbox: Flask, viewer: Visitor) -> None:
    listed = viewer.get("/admin/refunds/").text.partition("Not waiting for a signature")[2]
    unsigned = [
        each
        for each in SANDBOX_TRANSFERS
        if each.status == Status.TRANSFER_REQUESTING_REFUND and each.transfer_id != SIGNING
    ]
    assert len(unsigned) == 2
    words = "The refund request that the validators prepare."
    assert listed.count(words) == len(unsigned)
    for each in unsigned:
        assert words in part(viewer.get(f"/admin/transfers/{each.transfer_id}").text)


def test_page_of_unfinal_transaction_shows_depth_and_missing_report(sandbox: Flask, viewer: Visitor) -> None:
    for status, variant, words, missing in (
        (
            Status.TRANSFER_SUBMITTING,
            1,
            r"[\d ]+ of 120 blocks are known on top of block [\d ]+\.",
            "Missing Blocks of Polygon on top of the source transaction.",
        ),
        (
            Status.TRANSFER_CONFIRMING_YOUR_REFUND,
            0,
            r" [\d ]+ blocks are known on top of block [\d ]+\.",
            "Missing The report that its transaction on Polygon is final",
        ),
    ):
        shown = part(viewer.get(f"/admin/transfers/{sandbox_id(status, variant)}").text)
        assert re.search(words, shown), shown
        assert missing in shown


def test_delayed_payout_has_operator_and_user_words(app: Flask, sandbox: Flask) -> None:
    """Somebody has to call the contract after the delay: it is not paid by itself."""
    held = sandbox_id(Status.TRANSFER_DELAYED)
    assert "somebody has to call executeDelayedTransfer" in part(
        signed_in(app, Role.VIEWER).get(f"/admin/transfers/{held}").text
    )
    (found,) = app.test_client().get(FIND, query_string={"key": held, "lang": "en"}).get_json()["transfers"]
    assert found["words"]["now"].endswith("for some time and then pays them out.")


def test_refund_shows_reason_of_refusal(sandbox: Flask, viewer: Visitor) -> None:
    for status in (Status.TRANSFER_TO_BE_REFUNDED, Status.TRANSFER_REQUESTING_REFUND):
        page = viewer.get(f"/admin/transfers/{sandbox_id(status)}").text
        assert re.search(f"Refused because ({'|'.join(REFUND_REASONS.values())})", page)


def test_every_enum_member_has_words() -> None:
    assert STATUS_WORDS.keys() == set(Status)
    assert KIND_WORDS.keys() == set(SendKind)
    assert STAGE_WORDS.keys() == set(StageName)
    assert NEXT_ACTOR_WORDS.keys() == set(NextActor)
    assert ANOMALY_WORDS.keys() == set(AnomalyKind)
    assert all(event.label for event in EVENT_CLASSES.values())
    assert REFUND_REASONS.keys() == {reason for reason in XferStatus if reason.is_bad}
    assert len(set(REFUND_REASONS.values())) == len(REFUND_REASONS)
    assert WAIT_WORDS.keys() == set(Wait)
    assert len({missing for missing, _, _ in WAIT_WORDS.values()}) == len(Wait)


@pytest.mark.parametrize("what", Wait)
@pytest.mark.parametrize("chain", [ChainName(1, "Ethereum", known=True), None], ids=["known", "unknown"])
def test_every_wait_has_three_sentences(what: Wait, chain: ChainName | None) -> None:
    signer = AbsentSigner("0xaa", "Staking Ltd", "duty@validator.example", "40.0 %", enough=True)
    words = wait_words(Waiting(what, None, "30.0 %", "67.0 %", (signer,)), chain, chain)
    for sentence in (words.missing, words.whom, words.to_do):
        assert sentence and sentence[0].isupper() and sentence.endswith(".")
        assert "{" not in sentence and "None" not in sentence


@pytest.mark.parametrize("what", Wait)
def test_every_wait_has_a_sentence_for_users(what: Wait) -> None:
    preparing = Situation(Status.TRANSFER_REQUESTING_REFUND, src="Ethereum")
    waiting = Waiting(what, None, "30.0 %", "67.0 %")
    shown_text = explain(Situation(Status.TRANSFER_REQUESTING_REFUND, src="Ethereum", waiting=waiting)).now
    assert shown_text.startswith(explain(preparing).now)
    assert len(shown_text) > len(explain(preparing).now)
    assert not re.search("validator|quorum|signature|None", shown_text)


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


def test_refund_page_shows_contacts(
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


def test_those_that_users_requested_are_a_filter(app: Flask, sandbox: Flask, viewer: Visitor) -> None:
    assert "No waiting refund was requested by its user." in viewer.get("/admin/refunds/?requested=1").text
    transfer = sandbox_id(TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED)
    assert "Refund requested</dt>" not in viewer.get(f"/admin/transfers/{transfer}").text
    assert send_request(app.test_client(), "http", withdraw_req(transfer)).code == 0
    listed = viewer.get("/admin/refunds/?requested=1").text
    assert re.findall(r'row-link mono" href="/admin/transfers/(0x\w+)"', listed) == [transfer]
    assert SIGNING in viewer.get("/admin/refunds/").text
    page = viewer.get(f"/admin/transfers/{transfer}").text
    assert "through the API, as any client can" in page
    begun = page.split("Refund requested")[1].split("</li>")[0]
    assert "Not started" not in begun
    assert "Waiting</span>" in page.split("Refund request prepared")[1].split("</li>")[0]
    assert "the refund was requested at " in page


def test_nothing_waits(app: Flask, network: Flask) -> None:
    assert "No refunds wait." in signed_in(app, Role.VIEWER).get("/admin/refunds/").text


def test_opening_set_takes_names_and_contacts(sandbox: Flask, database: Database, admin: Visitor) -> None:
    form = admin.get("/admin/validators/1/opening")
    lines = form_of(form)["validators"].splitlines()
    address = lines[0].split()[0]
    lines[0] += " Staking Ltd, duty@validator.example"
    lines[1] += " Only a name"
    lines[2] += f" {'x' * 121}"
    shown = admin.post("/admin/validators/1/opening", form_of(form) | {"validators": "\n".join(lines)})
    assert "Line 3: names and contacts have at most 120 characters." in shown.text
    lines[2] = lines[2][:-122] + " , only@contact.example"
    shown = admin.post("/admin/validators/1/opening", form_of(form) | {"validators": "\n".join(lines)})
    assert "Staking Ltd" in shown.text
    admin.post("/admin/validators/1/opening", form_of(shown) | {"confirm": "1"})
    again = form_of(admin.get("/admin/validators/1/opening"))["validators"].splitlines()
    assert again == [line.replace("  ", " ") for line in lines]
    with database.reads.connect() as connection:
        table = OpeningValidator
        of_chain = select(table.name, table.contact).where(table.chain_id == 1, table.signer == address)
        assert connection.execute(of_chain).one() == ("Staking Ltd", "duty@validator.example")
    assert "Staking Ltd, duty@validator.example" in admin.get("/admin/chains/1").text
