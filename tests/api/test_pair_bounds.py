"""Bounds of the deposits and burns of a pegged pair, from the document to estimates and configs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from flask import Flask

from tests.api.shapes import ESTIMATE, EXPLAIN
from tests.network.services.network_kit import network, text

CELR = 10**18
BOUNDS = {
    "min_deposit": str(2 * CELR),
    "max_deposit": str(9 * CELR),
    "min_burn": str(3 * CELR),
    "max_burn": str(8 * CELR),
}
CONFIGS = "/v2/getTransferConfigsForAll"


def run(app: Flask, *words: str, stdin: bytes = b"") -> Result:
    return app.test_cli_runner().invoke(args=["network", *words], input=stdin)


def bounded(**bounds: str | None) -> dict[str, Any]:
    """The small network with bounds of the pair of CELR from 1 to 10; that to 56 has none."""
    document = network()
    document["pegged_pairs"][0] |= bounds
    return document


def configure(app: Flask, document: dict[str, Any]) -> None:
    done = run(app, "import", "-", stdin=text(document))
    assert done.exit_code == 0, done.output


def query_of(src: int, dst: int, amt: int) -> dict[str, Any]:
    query = {"src_chain_id": src, "dst_chain_id": dst, "token_symbol": "CELR", "amt": amt}
    return query | {"usr_addr": "0x" + "12" * 20, "slippage_tolerance": 3000}


def estimate(app: Flask, src: int, dst: int, amt: int) -> str:
    """The reason of the refusal, empty where there is none."""
    answer = app.test_client().get(ESTIMATE, query_string=query_of(src, dst, amt))
    assert answer.status_code == 200
    assert (answer.get_json()["err"] is None) == ("X-Gateway-Reason" not in answer.headers)
    return answer.headers.get("X-Gateway-Reason", "")


@pytest.mark.parametrize(
    ("src", "dst", "least", "most"),
    [(1, 10, 2, 9), (10, 1, 3, 8), (10, 56, 3, 8)],
    ids=["deposit", "burn", "burn and mint"],
)
def test_pair_bounds_the_amount(app: Flask, src: int, dst: int, least: int, most: int) -> None:
    configure(app, bounded(**BOUNDS))
    assert estimate(app, src, dst, least * CELR - 1) == "amount_under_minimum"
    assert estimate(app, src, dst, least * CELR) == ""
    assert estimate(app, src, dst, most * CELR) == ""
    assert estimate(app, src, dst, most * CELR + 1) == "amount_over_maximum"
    msg = app.test_client().get(ESTIMATE, query_string=query_of(src, dst, 10**30)).get_json()["err"]["msg"]
    assert f"transfer at most {most} CELR" in msg


@pytest.mark.parametrize(("src", "dst"), [(1, 56), (56, 1), (56, 10)])
def test_pair_without_bounds_has_none(app: Flask, src: int, dst: int) -> None:
    configure(app, bounded(**BOUNDS))
    assert estimate(app, src, dst, CELR) == estimate(app, src, dst, 100 * CELR) == ""


def test_pair_bound_precedes_token_bound(app: Flask) -> None:
    document = bounded(min_deposit=str(2 * CELR))
    celr = next(row for row in document["tokens"] if (row["chain_id"], row["symbol"]) == (1, "CELR"))
    celr |= {"min_send": str(5 * CELR), "max_send": str(6 * CELR)}
    configure(app, document)
    assert estimate(app, 1, 10, 2 * CELR) == ""
    assert estimate(app, 1, 10, 7 * CELR) == "amount_over_maximum", "the pair has no greatest deposit"
    assert estimate(app, 1, 56, 2 * CELR) == "amount_under_minimum", "the other pair has none at all"
    assert estimate(app, 10, 1, CELR) == "", "the bound is of the chain that the token is sent from"
    document["pegged_pairs"][0] |= {"min_deposit": "0"}
    configure(app, document)
    assert estimate(app, 1, 10, CELR) == ""


def test_pair_minimum_uses_decimals_of_sending_side(app: Flask) -> None:
    document = bounded(min_deposit="200", min_burn="3000")
    document["pegged_pairs"][0] |= {"burn_base_fee": "0", "deposit_base_fee": "0"}
    for side, decimal in (("org_token", 2), ("pegged_token", 3)):
        document["pegged_pairs"][0][side] = {"decimal": decimal}
    configure(app, document)
    for src, dst, least in ((1, 10, 200), (10, 1, 3000)):
        assert estimate(app, src, dst, least - 1) == "amount_under_minimum"
        assert estimate(app, src, dst, least) == ""
    document["pegged_pairs"][0]["min_burn"] = None
    dry = run(app, "import", "--dry-run", "-", stdin=text(document))
    assert dry.stdout == 'would change pegged pair of CELR, 1 to 10: min_burn from "3000" to null\n'


def test_explanation_names_the_pairs_bounds(app: Flask) -> None:
    configure(app, bounded(**BOUNDS))
    body = app.test_client().get(EXPLAIN, query_string=query_of(1, 10, CELR)).get_json()
    limits = {limit["name"]: limit for limit in body["limits"]}
    assert limits["min_send"]["formula"].startswith("amt is at least min_deposit or min_burn of the pair")
    assert (limits["min_send"]["value"], limits["max_send"]["value"]) == (str(2 * CELR), str(9 * CELR))
    assert (body["passing"]["least_amt"], body["passing"]["most_amt"]) == (str(2 * CELR), str(9 * CELR))


def test_export_has_the_bounds(app: Flask) -> None:
    configure(app, bounded(**BOUNDS))
    exported = run(app, "export").stdout
    assert json.loads(exported)["pegged_pairs"] == bounded(**BOUNDS)["pegged_pairs"]
    assert run(app, "import", "-", stdin=exported.encode()).stdout == "nothing changed\n"
    configure(app, bounded(**dict.fromkeys(BOUNDS)))
    assert json.loads(run(app, "export").stdout)["pegged_pairs"] == network()["pegged_pairs"]


def test_greatest_amount_zero_means_unbounded(app: Flask) -> None:
    """As in the contracts."""
    document = bounded(max_deposit="0", max_burn="0")
    document["tokens"][0]["max_send"] = "0"
    configure(app, document)
    assert run(app, "import", "-", stdin=text(network())).stdout == "nothing changed\n"
    assert estimate(app, 1, 10, CELR) == estimate(app, 10, 1, CELR) == ""


@pytest.mark.parametrize("send", ["deposit", "burn"])
def test_bounds_that_leave_nothing_are_refused(app: Flask, send: str) -> None:
    refused = run(app, "import", "-", stdin=text(bounded(**{f"min_{send}": "5", f"max_{send}": "4"})))
    assert refused.exit_code == 1
    assert refused.stderr == f"pegged_pairs[0].max_{send}: must be at least min_{send}\n"


def test_configs_show_pair_bounds_as_tokens(app: Flask) -> None:
    document = bounded(**BOUNDS)
    document["tokens"][3]["min_send"] = "7"  # CELR on chain 1
    configure(app, document)
    to_10, to_56 = app.test_client().get(CONFIGS).get_json()["pegged_pair_configs"]
    shown = [
        (pair[side]["min_send"], pair[side]["max_send"])
        for pair in (to_10, to_56)
        for side in ("org_token", "pegged_token")
    ]
    assert shown == [
        (str(2 * CELR), str(9 * CELR)),
        (str(3 * CELR), str(8 * CELR)),
        ("7", ""),
        ("", ""),
    ]


def test_bounds_are_imported_from_configs(app: Flask) -> None:
    configure(app, bounded(**BOUNDS))
    configs = app.test_client().get(CONFIGS).get_json()
    configs["chain_token"]["1"]["token"][1] |= {"min_send": "5", "max_send": "0"}
    printed = run(app, "import", "--print", "--from-configs", "-", stdin=json.dumps(configs).encode())
    assert printed.exit_code == 0, printed.output
    document = json.loads(printed.stdout)
    assert {name: document["pegged_pairs"][0].get(name) for name in BOUNDS} == BOUNDS
    assert not set(BOUNDS) & set(document["pegged_pairs"][1])
    assert "min_send is the contract's minSend plus 1" in " ".join(printed.stderr.split())
    configure(app, document)
    (usdt,) = (
        row
        for row in json.loads(run(app, "export").stdout)["tokens"]
        if (row["chain_id"], row["symbol"]) == (1, "USDT")
    )
    assert (usdt["min_send"], usdt.get("max_send")) == ("5", None)
