"""What a transfer waits for: its page, the waiting refunds, the reply and the look-up say the same."""

from __future__ import annotations

import re
from html import unescape

import pytest
from flask import Flask
from sqlalchemy import update

from app.accounts.rules.roles import Role
from app.console.transfers.components import ChainName
from app.console.transfers.labels import REFUND_REASONS, STATUS_WORDS
from app.console.transfers.waits import WAIT_WORDS, wait_words
from app.db.database import Database
from app.db.engine import writing
from app.network.models import OpeningValidator
from app.refunds.rules.waits import AbsentSigner, Wait, Waiting
from app.sandbox.catalogue import SANDBOX_TRANSFERS, SandboxTransfer, sandbox_id
from app.transfer_page.rules.words import Situation, explain
from app.values.codes import FINISHED_STATUSES, XferStatus
from app.values.codes import TransferHistoryStatus as Status
from tests.api.shapes import FIND
from tests.console.transfer_pages import pre
from tests.console.visitor import signed_in

SIGNING = sandbox_id(Status.TRANSFER_REQUESTING_REFUND)
SIGNED = "58.0 %"
NEEDED = "66.67 %"


def part(page: str) -> str:
    """The text of what the page says that its transfer waits for."""
    found = re.search(r'<section class="card waiting.*?</section>', page, re.DOTALL)
    assert found
    return " ".join(unescape(re.sub("<[^>]+>", " ", found[0])).split())


def test_a_stuck_refund_says_who_has_to_sign(app: Flask, sandbox: Flask, database: Database) -> None:
    contact = {"name": "Staking <Ltd>", "contact": "duty@validator.example"}
    with writing(database.engine) as connection:
        of_signer = update(OpeningValidator).where(OpeningValidator.signer.startswith("0x987393"))
        connection.execute(of_signer.values(contact))
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{SIGNING}").text
    assert "may not have been read yet" not in page
    said = part(page)
    assert "Stuck: longer than " in said
    assert f"Signatures: {SIGNED} of the voting power has signed, {NEEDED} is needed." in said
    assert "Staking <Ltd> 0x987393…46daFd , 19.0 %: duty@validator.example Enough" in said
    assert said.index("19.0 %") < said.index("13.0 %") < said.index("10.0 %"), "the strongest first"
    assert "Validator without a name 0x6396e9…bf529b , 13.0 %: no contact is known" in said
    assert re.search(r"Since \d{4}-\d\d-\d\d [\d:]+ , for 3 h", said)
    assert "ask them to sign" in said


def test_reply_page_and_look_up_say_the_same(app: Flask, sandbox: Flask) -> None:
    sentence = f"The bridge has to approve it: {SIGNED} of the votes are in, and {NEEDED} are needed."
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{SIGNING}").text
    assert sentence in pre(page, "reply")
    client = app.test_client()
    (found,) = client.get(FIND, query_string={"key": SIGNING, "lang": "en"}).get_json()["transfers"]
    assert found["words"]["now"].endswith(sentence)
    assert sentence in client.get(f"/transfer/{SIGNING}").text
    (found,) = client.get(FIND, query_string={"key": SIGNING, "lang": "es"}).get_json()["transfers"]
    assert f"{SIGNED} de los votos" in found["words"]["now"]


def test_waiting_refunds_and_the_page_say_the_same(app: Flask, sandbox: Flask) -> None:
    visitor = signed_in(app, Role.VIEWER)
    listed = visitor.get("/admin/refunds/").text.partition("Not waiting for a signature")[2]
    unsigned = [each for each in SANDBOX_TRANSFERS if each.status == 7 and each.transfer_id != SIGNING]
    assert len(unsigned) == 2
    words = "The refund request that the validators prepare."
    assert listed.count(words) == len(unsigned)
    for each in unsigned:
        assert words in part(visitor.get(f"/admin/transfers/{each.transfer_id}").text)


@pytest.mark.parametrize("of", SANDBOX_TRANSFERS, ids=lambda of: of.transfer_id[-4:])
def test_every_status_says_what_is_missing(app: Flask, sandbox: Flask, of: SandboxTransfer) -> None:
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{of.transfer_id}").text
    if of.status in FINISHED_STATUSES:
        assert "Waits for" not in page
        return
    said = part(page)
    for label in ("Missing", "From", "Since", "To do", "Read so far"):
        assert f" {label} " in said
    assert ("Since Not known" in said) == (of.status == Status.TRANSFER_UNKNOWN)


@pytest.mark.parametrize(
    ("status", "variant", "words"),
    [
        (Status.TRANSFER_SUBMITTING, 1, r"[\d ]+ of 120 blocks are known on top of block [\d ]+\."),
        (Status.TRANSFER_CONFIRMING_YOUR_REFUND, 0, r" [\d ]+ blocks are known on top of block [\d ]+\."),
    ],
)
def test_what_is_not_final_says_how_deep_it_is(
    app: Flask, sandbox: Flask, status: Status, variant: int, words: str
) -> None:
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{sandbox_id(status, variant)}").text
    assert re.search(words, part(page))


@pytest.mark.parametrize(
    ("status", "variant", "words"),
    [
        (Status.TRANSFER_SUBMITTING, 1, "Blocks of Polygon on top of the source transaction."),
        (Status.TRANSFER_CONFIRMING_YOUR_REFUND, 0, "The report that its transaction on Polygon is final"),
    ],
)
def test_what_is_deep_enough_lacks_the_report_and_no_blocks(
    app: Flask, sandbox: Flask, status: Status, variant: int, words: str
) -> None:
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{sandbox_id(status, variant)}").text
    assert f"Missing {words}" in part(page)


def test_users_and_operators_hear_the_same_of_a_held_payout(app: Flask, sandbox: Flask) -> None:
    """Somebody has to call the contract after the delay: it is not paid by itself."""
    held = sandbox_id(Status.TRANSFER_DELAYED)
    assert "somebody has to call executeDelayedTransfer" in part(
        signed_in(app, Role.VIEWER).get(f"/admin/transfers/{held}").text
    )
    (found,) = app.test_client().get(FIND, query_string={"key": held, "lang": "en"}).get_json()["transfers"]
    assert found["words"]["now"].endswith("as a safeguard and are then paid out.")


@pytest.mark.parametrize("status", [6, 7])
def test_refunds_say_why_the_transfer_was_refused(app: Flask, sandbox: Flask, status: int) -> None:
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{sandbox_id(Status(status))}").text
    assert re.search(f"Refused because ({'|'.join(REFUND_REASONS.values())})", page)


def test_every_reason_and_status_has_a_sentence_of_its_own() -> None:
    assert STATUS_WORDS.keys() == set(Status)
    assert REFUND_REASONS.keys() == {reason for reason in XferStatus if reason.is_bad}
    assert len(set(REFUND_REASONS.values())) == len(REFUND_REASONS)
    assert WAIT_WORDS.keys() == set(Wait)
    assert len({missing for missing, _, _ in WAIT_WORDS.values()}) == len(Wait)


@pytest.mark.parametrize("what", Wait)
@pytest.mark.parametrize("chain", [ChainName(1, "Ethereum", known=True), None], ids=["known", "unknown"])
def test_every_wait_says_what_is_missing_from_whom_and_what_to_do(
    what: Wait, chain: ChainName | None
) -> None:
    signer = AbsentSigner("0xaa", "Staking Ltd", "duty@validator.example", "40.0 %", enough=True)
    words = wait_words(Waiting(what, None, "30.0 %", "67.0 %", (signer,)), chain, chain)
    for sentence in (words.missing, words.whom, words.to_do):
        assert sentence and sentence[0].isupper() and sentence.endswith(".")
        assert "{" not in sentence and "None" not in sentence


@pytest.mark.parametrize("what", Wait)
def test_every_wait_of_a_refund_leaves_the_user_a_sentence(what: Wait) -> None:
    preparing = Situation(Status.TRANSFER_REQUESTING_REFUND, src="Ethereum")
    waiting = Waiting(what, None, "30.0 %", "67.0 %")
    said = explain(Situation(Status.TRANSFER_REQUESTING_REFUND, src="Ethereum", waiting=waiting)).now
    assert said.startswith(explain(preparing).now)
    assert len(said) > len(explain(preparing).now)
    assert not re.search("validator|quorum|signature|None", said)
