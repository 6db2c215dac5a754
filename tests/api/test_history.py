"""GET /v2/transferHistory: requests of clients, and the fields of rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.feed import lines
from tests.api.shapes import HISTORY, assert_refused
from tests.api.world import ADDRESS, NOW, configure, event, network, released, report_events, sent
from tests.builders import network as build

pytestmark = pytest.mark.both_interfaces

ID = "0x" + "5a" * 32
OTHER = "0x00000000000000000000000000000000000000aa"
FLOW = "A.1654653399040a61.FlowToken"


def number(n: int) -> str:
    return f"0x{n:064x}"


def page(client: FlaskClient, query: str, path: str = HISTORY) -> dict[str, Any]:
    response = client.get(f"{path}?{query}")
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.get_json()
    assert list(body) == ["err", "history", "next_page_token", "current_size"]
    assert body["err"] is None
    assert body["current_size"] == str(len(body["history"]))
    return body


def ids(body: dict[str, Any]) -> list[str]:
    return [transfer["transfer_id"] for transfer in body["history"]]


CHAIN_FIELDS = (
    "id", "name", "icon", "block_delay", "gas_token_symbol", "explore_url", "contract_addr", "drop_gas_amt",
    "drop_gas_cost_amt", "drop_gas_balance_alert", "suggested_gas_cost",
)  # fmt: skip


def chain_of(chain: dict[str, Any]) -> dict[str, Any]:
    """The fields of a chain in a transfer."""
    return {name: chain[name] for name in CHAIN_FIELDS}


def milliseconds(ago: timedelta) -> str:
    return str(int((NOW - ago).timestamp() * 1000))


def test_history_row_has_every_field(app: Flask, client: FlaskClient) -> None:
    report_events(
        app, sent(ID, timedelta(minutes=5)), released(ID, timedelta(minutes=1), amount="394563471907988034")
    )
    configs = client.get("/v2/getTransferConfigs").get_json()
    chains = {chain["id"]: chain for chain in configs["chains"]}

    def leg(chain_id: int, amount: str) -> dict[str, Any]:
        (info,) = configs["chain_token"][str(chain_id)]["token"]
        return {"chain": chain_of(chains[chain_id]), "token": info["token"], "amount": amount}

    assert page(client, f"acct_addr[]={ADDRESS}&page_size=10") == {
        "err": None,
        "history": [
            {
                "transfer_id": ID,
                "src_send_info": leg(1, "1000000"),
                "dst_received_info": leg(56, "394563471907988034"),
                "ts": milliseconds(timedelta(minutes=5)),
                "src_block_tx_link": "https://etherscan.io/tx/0x" + "ab" * 32,
                "dst_block_tx_link": "https://bscscan.com/tx/0x" + "cd" * 32,
                "status": 5,
                "refund_reason": 0,
                "sender": ADDRESS,
                "receiver": ADDRESS,
                "update_ts": milliseconds(timedelta(minutes=1)),
                "bridge_type": 1,
                "dst_deadline": "0",
            }
        ],
        "next_page_token": milliseconds(timedelta(minutes=5)),
        "current_size": "1",
    }


def test_refund_reason_follows_status(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID), event("network.status", transfer_id=ID, xfer_status=4))
    (row,) = page(client, f"addr={ADDRESS}&page_size=1")["history"]
    assert (row["status"], row["refund_reason"]) == (6, 4)
    assert row["dst_received_info"]["amount"] == "0"


SPELLINGS = [
    f"acct_addr[]={ADDRESS}",
    f"acct_addr%5B%5D={ADDRESS.lower()}",
    f"acct_addr={'0x' + ADDRESS[2:].upper()}",
    f"addr={ADDRESS.upper()}",
    f"acct_addr[]={FLOW}&acct_addr[]={ADDRESS}",
    f"acct_addr={FLOW}&acct_addr={ADDRESS}",
    f"acct_addr[]={FLOW},{ADDRESS}",
    f"acct_addr[]={FLOW}%2C%20{ADDRESS}",
    f"acct_addr[]=&acct_addr[]=,{ADDRESS},&acct_addr=&addr=",
    f"acct_addr={FLOW}&addr={ADDRESS}&nothing=%FF",
]


@pytest.mark.parametrize("query", SPELLINGS)
@pytest.mark.parametrize("path", [HISTORY, HISTORY.replace("v2", "v1")])
def test_accounts_are_read_in_every_spelling(app: Flask, client: FlaskClient, query: str, path: str) -> None:
    report_events(app, sent(ID), sent(number(1), sender=OTHER, receiver=OTHER))
    assert ids(page(client, f"{query}&page_size=10", path)) == [ID]


def test_several_accounts_list_each_transfer_once(app: Flask, client: FlaskClient) -> None:
    """Whether they sent or received it."""
    report_events(
        app,
        sent(number(1), timedelta(seconds=40), sender=ADDRESS, receiver=FLOW),
        sent(number(2), timedelta(seconds=30), sender=OTHER, receiver=ADDRESS),
        sent(number(3), timedelta(seconds=20), sender=OTHER, receiver="somebody"),
        sent(number(4), timedelta(seconds=10), sender=FLOW.upper(), receiver=OTHER),
    )
    assert ids(page(client, f"addr={ADDRESS}&page_size=9")) == [number(2), number(1)]
    assert ids(page(client, f"addr={FLOW}&page_size=9")) == [number(4), number(1)]
    both = page(client, f"acct_addr[]={ADDRESS}&acct_addr[]={FLOW.lower()}&page_size=9")
    assert ids(both) == [number(4), number(2), number(1)]
    assert ids(page(client, f"acct_addr[]={ADDRESS},{FLOW}&page_size=2")) == [number(4), number(2)]


@pytest.mark.parametrize("account", ["ΆΣ", "İstanbul", "straße", "ŉ" * 128, "a b+c"])
def test_accounts_in_any_alphabet(app: Flask, client: FlaskClient, account: str) -> None:
    report_events(app, sent(ID, sender=account))
    for spelling in (account, account.casefold()):
        if len(spelling) <= 128:
            assert ids(page(client, f"addr={quote(spelling)}&page_size=1")) == [ID]


def test_page_sizes_of_zero_and_beyond_maximum(app: Flask, client: FlaskClient) -> None:
    report_events(app, *(sent(number(n), timedelta(seconds=n)) for n in range(1, 103)))
    for nothing in ("", "&page_size=0", "&page_size=", "&page_size=5&next_page_token=0"):
        assert page(client, f"addr={ADDRESS}{nothing}") == {
            "err": None, "history": [], "next_page_token": "", "current_size": "0",
        }  # fmt: skip
    for size in (100, 101, 10_000, 2**64 - 1):
        first = page(client, f"addr={ADDRESS}&page_size={size}")
        assert ids(first) == [number(n) for n in range(1, 101)]
    rest = page(client, f"addr={ADDRESS}&page_size=100&next_page_token={first['next_page_token']}")
    assert ids(rest) == [number(101), number(102)]
    end = page(client, f"addr={ADDRESS}&page_size=100&next_page_token={rest['next_page_token']}")
    assert (ids(end), end["next_page_token"]) == ([], "")


def test_token_beyond_time_is_newest_page(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID))
    for token in (2**63 - 1, 2**63, 2**64 - 1):
        assert ids(page(client, f"addr={ADDRESS}&page_size=1&next_page_token={token}")) == [ID]


def test_chains_and_tokens_that_are_not_configured(app: Flask, client: FlaskClient) -> None:
    report_events(
        app,
        sent(number(1), timedelta(seconds=20), src_chain_id=7777, dst_chain_id=8888, symbol="NEW"),
        sent(number(2), timedelta(seconds=15), symbol="NEW"),
        event("transfer.submitted", timedelta(seconds=10), transfer_id=ID, src_chain_id=1, sender=ADDRESS),
    )
    announced, token, both = page(client, f"addr={ADDRESS}&page_size=10")["history"]
    configured = chain_of(client.get("/v2/getTransferConfigs").get_json()["chains"][0])
    nothing = {"symbol": "", "address": "", "decimal": 0, "xfer_disabled": False}
    assert both["src_send_info"]["chain"].keys() == configured.keys()
    assert {"id": 7777, "name": "", "block_delay": 0}.items() <= both["src_send_info"]["chain"].items()
    assert both["dst_received_info"]["chain"]["id"] == 8888
    assert both["src_send_info"]["token"] == nothing | {"symbol": "NEW"}
    assert both["src_send_info"]["amount"] == "1000000"
    assert token["src_send_info"]["chain"] == configured
    assert token["dst_received_info"]["token"] == nothing | {"symbol": "NEW"}
    assert announced["dst_received_info"]["chain"]["id"] == 0
    assert announced["src_send_info"] == {"chain": configured, "token": nothing, "amount": "0"}
    assert (announced["status"], announced["bridge_type"], announced["receiver"]) == (1, 0, "")


def test_pair_amounts_use_their_own_tokens(app: Flask, client: FlaskClient) -> None:
    """Without an amount of the release the amount sent counts, in the units of the pair's own tokens."""
    document = network()
    document["tokens"].append(build.token(1, "CELR", OTHER, 18))
    document["tokens"].append(build.token(56, "MUX", OTHER, 18))
    own = {"address": ADDRESS, "decimal": 6, "name": "of the pair"}
    document["pegged_pairs"] = [
        build.pair(1, 250, "CELR", ADDRESS, ADDRESS, org_token=own, pegged_token=own | {"decimal": 18}),
        build.pair(250, 56, "MUX", ADDRESS, ADDRESS, org_token=own),
    ]
    configure(app, document)
    report_events(
        app,
        sent(number(1), kind="deposit", symbol="CELR", dst_chain_id=250, amount="1000000"),
        sent(number(2), kind="burn", symbol="MUX", src_chain_id=56, dst_chain_id=250, amount=str(10**18)),
        *(released(number(n), timedelta(seconds=1)) for n in (1, 2)),
    )
    rows = {row["transfer_id"]: row for row in page(client, f"addr={ADDRESS}&page_size=10")["history"]}
    assert rows[number(1)]["dst_received_info"]["amount"] == str(10**18)
    assert rows[number(2)]["dst_received_info"]["amount"] == "1000000"
    configure(app, document | {"pegged_pairs": [
        build.pair(1, 250, "CELR", ADDRESS, ADDRESS, org_token=own, pegged_token=own | {"decimal": 7}),
        document["pegged_pairs"][1],
    ]})  # fmt: skip
    (changed, _) = sorted(
        page(client, f"addr={ADDRESS}&page_size=10")["history"], key=lambda r: r["transfer_id"]
    )
    assert changed["dst_received_info"]["amount"] == "10000000"


@pytest.mark.every_database
def test_transfers_before_1970_come_last(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier releases took any time."""
    monkeypatch.setattr(lines, "EARLIEST", datetime(1, 1, 1, tzinfo=UTC))
    ancient = [NOW - datetime(year, 1, 1, tzinfo=UTC) for year in (1969, 1960, 1)]
    report_events(app, sent(ID), *(sent(number(n), ago) for n, ago in enumerate(ancient)))
    first = page(client, f"addr={ADDRESS}&page_size=1")
    assert ids(first) == [ID]
    rest = page(client, f"addr={ADDRESS}&page_size=1&next_page_token={first['next_page_token']}")
    assert ids(rest) == [number(n) for n in range(3)]
    assert {(row["ts"], row["update_ts"]) for row in rest["history"]} == {("0", "0")}
    end = page(client, f"addr={ADDRESS}&page_size=1&next_page_token={rest['next_page_token']}")
    assert (ids(end), end["next_page_token"]) == ([], "")


REFUSED = [
    ("page_size=10", "acct_addr: is missing: send an account, or up to 20 of them"),
    ("acct_addr[]=,&page_size=10", "acct_addr: is missing: send an account, or up to 20 of them"),
    (f"addr={'x' * 129}&page_size=1", "acct_addr: must have at most 128 characters"),
    ("acct_addr[]=a%00b&page_size=1", "acct_addr: must not contain a NUL character"),
    (
        "page_size=1&acct_addr=" + ",".join(f"a{n}" for n in range(21)),
        "acct_addr: must have at most 20 accounts: send the others in another request",
    ),
    (
        "page_size=1" + "&acct_addr[]=a" * 21,
        "acct_addr: must have at most 20 accounts: send the others in another request",
    ),
    ("addr=a&page_size=1&next_page_token=soon", None),
    ("addr=a&page_size=1&next_page_token=1.5", None),
    ("addr=a&page_size=1&next_page_token=-1", None),
    (f"addr=a&page_size=1&next_page_token={2**64}", "next_page_token: must be at most 18446744073709551615"),
    (f"addr=a&page_size=1&next_page_token={'9' * 5000}", None),
]


ONLY_IN_A_QUERY = [
    (f"addr=a&page_size={2**64}", "page_size: must be at most 18446744073709551615"),
    ("addr=a&page_size=ten", "page_size: must be a whole number in the digits 0 to 9"),
    ("addr=a&addr=b&page_size=1", "addr: must be given once"),
    ("acct_addr[]=%FF&page_size=1", "acct_addr[]: is not percent-encoded UTF-8"),
]


@pytest.mark.parametrize(("query", "text"), ONLY_IN_A_QUERY)
def test_malformed_queries_are_refused(client: FlaskClient, query: str, text: str) -> None:
    assert assert_refused(client.get(f"{HISTORY}?{query}"), 400, "bad_request", HISTORY) == text


@pytest.mark.parametrize(("query", "text"), REFUSED)
def test_malformed_histories_are_refused(client: FlaskClient, query: str, text: str | None) -> None:
    message = assert_refused(client.get(f"{HISTORY}?{query}"), 400, "bad_request", HISTORY)
    assert text in (None, message)


def test_twenty_accounts_are_accepted(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID, sender="a19", receiver="A0"))
    accounts = ",".join(f"a{n}" for n in range(20))
    assert ids(page(client, f"page_size=1&acct_addr={accounts}&addr=A7")) == [ID]
