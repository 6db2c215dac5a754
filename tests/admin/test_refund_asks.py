"""What the console shows of refund asks."""

from __future__ import annotations

from flask import Flask

from app.accounts.roles import Role
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus
from tests.admin.visitor import signed_in
from tests.gateway import Gateway
from tests.refunds.asking import ask, withdraw_req


def test_the_list_and_the_transfer(app: Flask, sandbox: Gateway) -> None:
    visitor = signed_in(app, Role.VIEWER)
    assert "No refunds were requested." in visitor.get("/admin/refund_asks/").text
    transfer = sandbox_id(TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED)
    assert "Refund requested</dt>" not in visitor.get(f"/admin/transfers/{transfer}").text
    assert ask(app.test_client(), "http", withdraw_req(transfer)).code == 0
    assert f'href="/admin/transfers/{transfer}"' in visitor.get("/admin/refund_asks/").text
    page = visitor.get(f"/admin/transfers/{transfer}").text
    assert "through the API; any client can request it" in page
    begun = page.split("Refund requested")[1].split("</li>")[0]
    assert "Not started" not in begun
    assert "Waiting</span>" in page.split("Refund request prepared")[1].split("</li>")[0]
    assert "the refund was requested at " in page
