"""A transfer that does not move, in a browser: what it waits for, from whom, and whom to call."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from sqlalchemy import create_engine, text

from app.accounts.rules.roles import Role
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus as Status
from tests.browser.conftest import Visit
from tests.console.visitor import email_of
from tests.databases import SharedSqlite

SIGNING = sandbox_id(Status.TRANSFER_REQUESTING_REFUND)


def test_a_stuck_refund_says_whom_to_call(visit: Visit, sandbox: SharedSqlite) -> None:
    engine = create_engine(sandbox.url)
    with engine.begin() as connection:
        known = "SET name = 'Staking Ltd', contact = 'duty@validator.example'"
        connection.execute(text(f"UPDATE opening_validators {known} WHERE signer LIKE '0x987393%'"))
    engine.dispose()
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open(f"/admin/transfers/{SIGNING}")
    waits = page.get_by_role("region", name="Waits for")
    expect(waits).to_contain_text("Stuck: longer than")
    expect(waits).to_contain_text("58.0 % of the voting power has signed, 66.67 % is needed")
    expect(waits.get_by_role("listitem").first).to_contain_text("Staking Ltd")
    expect(waits.get_by_role("listitem").first).to_contain_text("19.0 %: duty@validator.example")
    expect(waits).to_contain_text(re.compile(r"Since.*for \d+ h"))  # it is older than 3 h in every sandbox
    expect(waits).to_contain_text("ask them to sign")
    expect(page.get_by_role("region", name="Reply to the user")).to_contain_text("66.67 % are needed")
    visit.check_look()
    visit.open("/admin/refunds/")
    expect(page.get_by_role("heading", name="Staking Ltd")).to_be_visible()
    visit.check_look()
