"""One box finds a transfer by anything that an operator is sent, however it is spelled."""

from __future__ import annotations

import pytest

from app.admin.pages.search import Found, search
from app.admin.pages.transfers import TransferFilters, list_transfers
from app.runtime.gateway import Gateway
from tests.services.feed.world import SENDER, about, event, feed, released, sent, transfer_id

SEND = "0x" + "ab" * 32
PAYOUT = "0x" + "ee" * 32
REFUND = "0x" + "fe" * 32
FALLEN = "0x" + "dd" * 32


def spellings(text: str) -> list[str]:
    digits = text[2:]
    return [
        text,
        digits,
        text.upper(),
        f"0X{digits}",
        f"  {text}\n",
        digits.upper(),
        f"{text[:20]}\n {text[20:]}",
    ]


@pytest.fixture
def world(gateway: Gateway) -> Gateway:
    verdict = feed(
        gateway,
        sent(1, src_tx_hash=SEND),
        released(1),
        sent(2, src_tx_hash=FALLEN),
        event("chain.reorged", at=-60, chain_id=1, from_block=100),
        sent(2, at=-55, src_tx_hash="0x" + "dc" * 32, block=101),
        sent(3, src_tx_hash="0x" + "33" * 32, block=50),
        about(3, "refund.submitted", tx_hash=REFUND, block=60),
        sent(4, src_tx_hash="5xNotHexAtAll", sender="T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", block=50),
        sent(1, src_tx_hash=SEND, event_id="again"),
        released(1, event_id="released again"),
    )
    assert not verdict.refused
    return gateway


@pytest.mark.parametrize("spelled", spellings(transfer_id(0xABC)))
def test_a_transfer_id_in_any_spelling(gateway: Gateway, spelled: str) -> None:
    feed(gateway, sent(0xABC, src_tx_hash=SEND))
    found = search(gateway, spelled)
    assert (found.kind, [line.transfer_id for line in found.transfers]) == (
        Found.TRANSFER,
        [transfer_id(0xABC)],
    )
    assert str(found.transfers[0].amount) == "1000 USDT"


@pytest.mark.parametrize(
    ("tx_hash", "n"),
    [(SEND, 1), (PAYOUT, 1), (FALLEN, 2), ("0x" + "dc" * 32, 2), (REFUND, 3), ("5xNotHexAtAll", 4)],
)
def test_every_transaction_that_the_log_names_is_found(world: Gateway, tx_hash: str, n: int) -> None:
    for spelled in spellings(tx_hash) if tx_hash.startswith("0x") else [tx_hash, f" {tx_hash} "]:
        found = search(world, spelled)
        assert (found.kind, [line.transfer_id for line in found.transfers]) == (
            Found.TRANSACTION,
            [transfer_id(n)],
        ), spelled


def test_an_account_in_any_spelling(world: Gateway) -> None:
    for spelled in spellings(SENDER):
        found = search(world, spelled)
        assert (found.kind, found.account) == (Found.ACCOUNT, SENDER), spelled
        assert {line.transfer_id for line in found.transfers} == {transfer_id(n) for n in (1, 2, 3, 4)}
    foreign = search(world, "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb")
    assert [line.transfer_id for line in foreign.transfers] == [transfer_id(4)]
    assert search(world, "t9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb").kind is Found.NOTHING


def test_one_transaction_of_several_transfers(gateway: Gateway) -> None:
    feed(gateway, sent(1, src_tx_hash=SEND), sent(2, src_tx_hash=SEND), released(2))
    found = search(gateway, SEND)
    assert {line.transfer_id for line in found.transfers} == {transfer_id(1), transfer_id(2)}
    assert found.message == "This is a transaction of 2 transfers."


def test_an_id_that_is_a_transaction_too(gateway: Gateway) -> None:
    feed(gateway, sent(1, src_tx_hash=transfer_id(2)), sent(2, src_tx_hash=SEND))
    found = search(gateway, transfer_id(2))
    assert [line.transfer_id for line in found.transfers] == [transfer_id(2), transfer_id(1)]
    assert "also a transaction of one transfer" in found.message


def test_a_long_list_of_an_account_goes_on(gateway: Gateway) -> None:
    feed(gateway, *(sent(n, at=-n, src_tx_hash=f"0x{n:064x}") for n in range(1, 61)))
    found = search(gateway, SENDER)
    assert (len(found.transfers), found.transfers[0].transfer_id) == (50, transfer_id(1))
    rest = list_transfers(gateway, TransferFilters(account=found.account), found.next_page)
    assert [line.transfer_id for line in rest.transfers] == [transfer_id(n) for n in range(51, 61)]
    assert rest.next_page is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Enter a transfer id"),
        ("   ", "Enter a transfer id"),
        ("0x" + "12" * 32, "No transfer has this id, and none names it as a transaction"),
        (
            "0x" + "12" * 20,
            "This is an address, but no transfer from or to 0x1212121212121212121212121212121212121212",
        ),
        ("0x1234", "has 4 digits: a transfer id and a transaction hash have 64, an address 40"),
        ("0x" + "1" * 63, "has 63 digits"),
        ("hello", "compared letter by letter"),
        ("https://scan.example/tx/", "Paste a transfer id"),
        ("x" * 200, "none has more than 128 characters"),
        ("a\0b", "none has more than"),
        ("'; DROP TABLE transfers; --", "Paste a transfer id"),
    ],
)
def test_when_nothing_is_found_it_says_what_to_try(world: Gateway, text: str, words: str) -> None:
    found = search(world, text)
    assert (found.kind, found.transfers) == (Found.NOTHING, ())
    assert words in found.message
