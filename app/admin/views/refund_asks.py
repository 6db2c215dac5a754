"""The list of refund asks."""

from __future__ import annotations

from typing import Any

from flask import url_for
from markupsafe import Markup

from app.admin.formats import when
from app.admin.views.lists import ListView
from app.models.refund_asks import RefundAsk


class RefundAsksView(ListView):
    """What users asked for."""

    section = "Overview"
    model_class = RefundAsk
    title = "Requested refunds"
    explanation = (
        "Refunds that were requested through the API. Any client can request one, so a request proves "
        "nothing: it moves a transfer that is to be refunded to status 7, and the validators can read it and "
        "prepare the refund."
    )
    nothing = "No refunds were requested. They appear as soon as a user requests one through the API."
    column_list = ("transfer_id", "at", "seq")
    column_labels = {"seq": "No.", "transfer_id": "Transfer", "at": "Requested"}
    column_sortable_list = ("seq", "at")
    column_default_sort = ("seq", True)
    numbers = frozenset({"seq"})
    column_formatters = {
        "transfer_id": lambda v, c, m, p: _transfer(m),
        "at": lambda v, c, m, p: when(m.at),
    }


def _id(row: RefundAsk) -> str:
    return f"0x{row.transfer_id.hex()}"


def _transfer(row: RefundAsk) -> Any:
    whole = _id(row)
    return Markup('<a class="mono" href="{}transfers/{}">{}…{}</a>').format(
        url_for("admin.index"), whole, whole[:10], whole[-8:]
    )
