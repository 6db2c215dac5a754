"""Proposals of API keys are made by two administrators, unless the name was taken meanwhile."""

from __future__ import annotations

import pytest

from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.proposals import ProposalRefused, ReasonMissing
from app.approvals.decide import approve, preview_proposal
from app.credentials.rules.credential import digest_of
from app.credentials.services.issuing import issue, new_key
from app.credentials.services.presented import presented_key
from app.db.database import Database
from app.values.errors import Unauthorized
from tests.applications import Audited, Editing
from tests.approvals.kit import ALICE, BOB, OLGA, stored


def proposed(editing: Editing) -> tuple[str, int]:
    issued = issue(*editing, new_key("wallet", ("read",), "5/minute"), actor=ALICE, reason="agreed")
    text, saved = issued.text, issued.saved
    assert saved.proposal_id is not None
    return text, saved.proposal_id


def test_api_key_works_after_second_approval(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing
) -> None:
    with pytest.raises(ReasonMissing):
        issue(*editing, new_key("wallet", ("read",), ""), actor=ALICE, reason="")
    text, number = proposed(editing)
    assert stored(database, number).secret == digest_of(text.encode()).hex()
    preview = preview_proposal(database, two_persons, stored(database, number))
    assert [effect.text for effect in preview.effects] == [
        "its holder can use it at once; only the proposer has seen the key"
    ]
    for person in (ALICE, OLGA):
        with pytest.raises(ProposalRefused):
            approve(*audited, number, actor=person)
        with pytest.raises(Unauthorized):
            presented_key(database, f"Bearer {text}")
    approve(*audited, number, actor=BOB)
    key = presented_key(database, f"Bearer {text}")
    assert key is not None
    assert (key.name, key.rate_limit) == ("wallet", "5/minute")
    assert stored(database, number).secret is None, "the digest is forgotten there"


def test_key_with_name_taken_meanwhile_is_refused(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing
) -> None:
    text, number = proposed(editing)
    issue(*audited, TwoPersons(), new_key("wallet", ("webhooks",), ""), actor=OLGA)
    with pytest.raises(ProposalRefused, match="is already used"):
        preview_proposal(database, two_persons, stored(database, number))
    with pytest.raises(ProposalRefused, match="is already used"):
        approve(*audited, number, actor=BOB)
    with pytest.raises(Unauthorized):
        presented_key(database, f"Bearer {text}")
