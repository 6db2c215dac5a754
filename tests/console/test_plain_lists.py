"""A list that says nothing but its columns: its headings, values and filters can be read and used."""

from __future__ import annotations

import pytest
from flask import Flask

from app.console.shell.lists import Flag, Is, ListView
from app.network.models import Chain
from app.transfers.models import Transfer


class Transfers(ListView):
    model_class = Transfer
    title = "Transfers of this test"
    column_list = ("transfer_id", "src_chain_id", "src_tx_hash", "amount")
    column_filters = ("src_chain_id", "transfer_id", "symbol")


class Chains(ListView):
    model_class = Chain
    title = "Chains of this test"
    column_filters = ("disabled",)


def test_headings_are_words(app: Flask) -> None:
    with app.app_context():
        headings = [heading for _, heading in Transfers().get_list_columns()]
    assert headings == ["Transfer id", "Source chain", "Source transaction hash", "Amount"]


def test_ids_and_amounts_can_be_read(app: Flask) -> None:
    with app.test_request_context():
        view = Transfers()
        row = Transfer(transfer_id=b"\x07" * 32, amount=1234567)
        assert ">0x0707" in view.get_list_value(None, row, "transfer_id")
        assert view.get_list_value(None, row, "amount").replace("\N{NO-BREAK SPACE}", " ") == "1 234 567"
    assert "amount" in view.numbers


def test_column_is_filtered_by_its_name(app: Flask) -> None:
    with app.app_context():
        chain, transfer_id, symbol = Transfers().get_filters() or ()
        (disabled,) = Chains().get_filters() or ()
    assert isinstance(chain, Is) and chain.name == "Source chain"
    assert chain.validate("56") and chain.validate(str(2**64 - 1))
    assert not chain.validate("x") and not chain.validate(str(2**64)) and not chain.validate("-1")
    assert not chain.validate("9" * 5_000)
    assert transfer_id.validate("0x" + "07" * 32) and not transfer_id.validate("0x7")
    assert symbol.validate("USDT")
    assert isinstance(disabled, Flag)


@pytest.mark.parametrize("name", ["amount", "no_such_column"])
def test_column_that_needs_a_filter_of_its_own_says_what_to_write(app: Flask, name: str) -> None:
    class Wrong(Transfers):
        column_filters = (name,)

    with app.app_context(), pytest.raises(ValueError, match="or a filter such as Choice"):
        Wrong()
