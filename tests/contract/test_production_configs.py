"""The recorded production configuration, imported and served again, read as existing clients read it.

What is derived here is by the rule of clients, written apart from the code that answers: a way
through the pools exists for a symbol that both chains list with ``token.xfer_disabled`` false, unless it is
blocked; a pegged one, in both directions, for each pair whose tokens carry it false.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from eth_utils.address import to_checksum_address
from flask import Flask
from flask.testing import FlaskClient
from google.protobuf.json_format import MessageToDict
from werkzeug.test import TestResponse

from app.db.database import Database
from app.http.application import part_of
from app.network.document import export_network, import_network
from app.sandbox.catalogue import network_document
from tests.actors import TESTER
from tests.api.shapes import CONFIGS, ESTIMATE
from tests.applications import Editing, editing_of
from tests.builders.network import text
from tests.contract.conftest import OpenSandbox
from tests.contract.recorded_answers import own_of_tokens
from tests.contract.ways import burn_mint_ways, pegged_ways, pool_ways
from tests.databases import SharedDatabase
from tests.grpcweb.both_interfaces import of_fields, without_base_fees
from tests.grpcweb.wire import METHODS, frame, post

FILE = Path(__file__).parent / "vectors" / "transfer_configs_mainnet.json"
RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


NO_ROUTE_OF_A_PAIR = {
    (1, "OCEAN"),
    (56, "SNS"),
    (137, "TSUGT"),
    (7700, "CANTO"),
    (23294, "wROSE"),
    (42161, "AICODE"),
}
"""Tokens of pairs that only one chain lists for the pool: production lets their flag be false."""


def run(app: Flask, *arguments: str) -> Result:
    return app.test_cli_runner().invoke(args=["network", *arguments])


@pytest.fixture
def production(app: Flask, shared_database: SharedDatabase) -> Flask:
    """A gateway that was given the production configuration by its command."""

    def fill() -> None:
        imported = run(app, "import", "--from-configs", str(FILE))
        assert imported.exit_code == 0, imported.output

    shared_database.fill("production configs", fill)
    return app


def configs_of(app: Flask) -> dict[str, Any]:
    answer: dict[str, Any] = app.test_client().get(CONFIGS).get_json()
    return answer


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value without parts, by its path."""
    if isinstance(value, dict | list) and value:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, key))
    else:
        yield path, value


def expected() -> dict[str, Any]:
    """The recorded answer with what docs/network.md#from-configs lists as answered in another way."""
    answer = copy.deepcopy(RECORDED)
    for chain_id, listed in answer["chain_token"].items():
        for info in listed["token"]:
            if (int(chain_id), info["token"]["symbol"]) in NO_ROUTE_OF_A_PAIR:
                assert info["token"]["xfer_disabled"] is False
                info["token"]["xfer_disabled"] = True
    for pair in answer["pegged_pair_configs"]:
        for name in ("pegged_deposit_contract_addr", "pegged_burn_contract_addr"):
            if re.fullmatch("0x[0-9a-f]{40}", pair[name]):
                pair[name] = to_checksum_address(pair[name])
    return answer


def test_configs_have_every_imported_field(production: Flask) -> None:
    ours = dict(leaves(configs_of(production)))
    own = {"native_wrap", *own_of_tokens()}
    added = {path: value for path, value in ours.items() if path[-1] in own}
    assert set(added.values()) == {""}
    theirs = dict(leaves(expected()))
    assert len(theirs) > 20_000
    assert {path: value for path, value in ours.items() if path not in added} == theirs
    exported = export_network(part_of(production, Database))
    assert import_network(*editing_of(production), exported, actor=TESTER).changes == ()


@pytest.mark.one_database
def test_grpc_web_answers_every_field(production: Flask) -> None:
    for name in ("GetTransferConfigs", "GetTransferConfigsForAll"):
        request, answered = METHODS[name]
        answer = post(production.test_client(), name, frame(request().SerializeToString()))
        assert answer.message is not None
        message = answered.FromString(answer.message)
        shown = MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        assert not message.HasField("err")
        wanted = of_fields(expected(), answered.DESCRIPTOR)
        assert without_base_fees(shown) == {name: value for name, value in wanted.items() if name != "err"}


@pytest.mark.one_database
def test_ways_are_those_of_production(production: Flask) -> None:
    ours, pegged = configs_of(production), Counter(pegged_ways(RECORDED))
    assert pool_ways(ours) == pool_ways(RECORDED)
    assert Counter(pegged_ways(ours)) == pegged
    assert (len(pool_ways(ours)), pegged.total(), len(pool_ways(ours) & pegged.keys())) == (630, 592, 12)
    assert set(burn_mint_ways(ours)) == set(burn_mint_ways(RECORDED)) != set()


def get_estimate(client: FlaskClient, symbol: str, src: int, dst: int, **more: str) -> TestResponse:
    query = {"src_chain_id": src, "dst_chain_id": dst, "token_symbol": symbol, "amt": "1000000"}
    return client.get(ESTIMATE, query_string={**query, "slippage_tolerance": "5000", **more})


@pytest.mark.one_database
def test_pegged_pair_answers_clients_sending_false(production: Flask) -> None:
    """Once there are fees, also a token that its chain does not list."""
    document = json.loads(export_network(part_of(production, Database)))
    for pair in document["pegged_pairs"]:
        pair |= {"deposit_base_fee": "1", "burn_base_fee": "2", "perc_fee_tiers": [{"from": "0", "ppm": 0}]}
    import_network(*editing_of(production), text(document), actor=TESTER)
    only_pegged = sorted(set(pegged_ways(RECORDED)) - pool_ways(RECORDED))
    pick = random.Random(8)
    for symbol, src, dst in [*pick.sample(only_pegged, 50), ("MUX", 1, 42161), ("MUX", 42161, 1)]:
        answers = [
            get_estimate(production.test_client(), symbol, src, dst, **flag, amt="10" + "0" * 18).get_json()
            for flag in ({}, {"is_pegged": "false"}, {"is_pegged": "true"})
        ]
        assert answers[0] == answers[1] == answers[2]
        if answers[0]["err"] is None:
            assert answers[0]["base_fee"] in ("1", "2")
        else:
            assert answers[0]["err"]["code"] in (1009, 1016)


@pytest.mark.one_database
def test_export_is_imported_into_empty_configuration(production: Flask) -> None:
    exported = export_network(part_of(production, Database))
    import_network(*editing_of(production), text({"version": 1}), actor=TESTER)
    assert configs_of(production)["chains"] == []
    import_network(*editing_of(production), exported, actor=TESTER)
    assert export_network(part_of(production, Database)) == exported
    assert pool_ways(configs_of(production)) == pool_ways(RECORDED)


@pytest.mark.one_database
def test_import_needs_empty_configuration(production: Flask, tmp_path: Path) -> None:
    before = run(production, "export").stdout
    refused = run(production, "import", "--from-configs", str(FILE))
    assert refused.exit_code == 1
    assert "the configuration is not empty" in refused.stderr
    assert run(production, "export").stdout == before
    printed = run(production, "import", "--from-configs", str(FILE), "--print")
    assert printed.exit_code == 0
    path = tmp_path / "edited.json"
    path.write_text(printed.stdout)
    again = run(production, "import", str(path))
    assert (again.exit_code, again.stdout) == (0, "nothing changed\n")


@pytest.mark.one_database
def test_import_lists_missing_values(app: Flask) -> None:
    printed = run(app, "import", "--from-configs", str(FILE), "--print")
    for word in ("rates", "fees", "balances", "validators", "tx_path", "minimal_max_slippage"):
        assert word in printed.stderr
    assert "8 values differ in the answers of this gateway:" in printed.stderr
    assert printed.stderr.count("token.xfer_disabled: False becomes True") == 6
    assert configs_of(app)["chains"] == []


MALFORMED = {
    b"no json": "is not JSON",
    b"[]": "not an answer of getTransferConfigsForAll",
    b"{}": "'chain_token' is missing",
    b'{"err": {"code": 500, "msg": "x"}, "chain_token": {}}': "it is an error",
    b'{"chain_token": {"1": {"token": [{}]}}}': "'token' is missing",
    b'{"chain_token": {"x": {"token": [{"token": {"symbol": "A"}}]}}}': "not an answer",
    b'{"chain_token": {"1": 5}}': "not an answer",
}


@pytest.mark.one_database
def test_malformed_configs_are_refused(app: Flask, tmp_path: Path) -> None:
    path = tmp_path / "configs.json"
    for content, word in MALFORMED.items():
        path.write_bytes(content)
        refused = run(app, "import", "--from-configs", str(path))
        assert refused.exit_code == 1, content
        assert word in refused.stderr
        assert "Traceback" not in refused.output


@pytest.mark.one_database
def test_unknown_fields_are_served_unchanged(
    app: Flask, tmp_path: Path, database: Database, editing: Editing
) -> None:
    answer = json.loads((FILE.parent / "transfer_configs_testnet.json").read_text())
    answer["chains"][0]["color"] = {"rgb": [1, 2.5, None]}
    answer["chain_token"]["5"]["token"][0]["tags"] = ["stable"]
    answer["pegged_pair_configs"][0]["note"] = "a pair"
    answer["pegged_pair_configs"][0]["pegged_token"]["tags"] = []
    answer["notice"] = {"text": "new"}
    path = tmp_path / "configs.json"
    path.write_text(json.dumps(answer))
    assert "another way" not in run(app, "import", "--from-configs", str(path)).stderr
    ours = configs_of(app)
    assert ours["chains"][0]["color"] == {"rgb": [1, 2.5, None]}
    assert ours["chain_token"]["5"]["token"][0]["tags"] == ["stable"]
    assert ours["pegged_pair_configs"][0]["note"] == "a pair"
    assert ours["pegged_pair_configs"][0]["pegged_token"]["tags"] == []
    assert ours["notice"] == {"text": "new"}
    exported = export_network(database)
    assert import_network(*editing, exported, actor=TESTER).changes == ()


def test_derived_ways_have_routes(open_sandbox: OpenSandbox) -> None:
    app = open_sandbox()
    ours, client = configs_of(app), app.test_client()
    ways = sorted({*pool_ways(ours)} | {*pegged_ways(ours)} | {*burn_mint_ways(ours)})
    assert len(ways) > 30
    for symbol, src, dst in ways:
        for flag in ({}, {"is_pegged": "false"}, {"is_pegged": "true"}):
            if flag.get("is_pegged") == "true" and (symbol, src, dst) in pool_ways(ours):
                continue
            reason = get_estimate(client, symbol, src, dst, **flag).headers.get("X-Gateway-Reason")
            assert reason not in ("no_route", "no_pegged_pair", "token_not_on_src", "token_not_on_dst"), (
                symbol, src, dst,
            )  # fmt: skip
    routes = {(r["symbol"], r["src_chain_id"], r["dst_chain_id"]) for r in network_document()["routes"]}
    assert pool_ways(ours) <= routes, "every other way is blocked, or its token closed"
