"""Documents that are refused: each error follows the JSON path that it is about."""

from __future__ import annotations

from typing import Any

import pytest

from app.network.document import NetworkRefused, read_document
from tests.network.services import network_kit as kit
from tests.network.services.network_kit import CONTRACT, SIGNERS, USDT, changed, network, text

TOO_MUCH = str(2**256)
MISSING: Any = ...

# Path, the value there, the error: after that path, or after the one it names itself.
BY_PATH = [
    # the frame
    ("version", MISSING, ": is missing"),
    ("version", 2, ": must be"),
    ("version", "1", ": must be"),
    ("version", True, ": must be"),
    ("surplus", 1, ": unknown key: remove it"),
    ("chain", [], ": unknown key: use chains"),
    ("sur plus\n", 1, '["sur plus\\n"]: unknown key'),
    ("chains", None, ": must not be null"),
    ("chains", {}, ": must be a list"),
    ("tokens", "x", ": must be a list"),
    ("tokens.1", None, ": must not be null"),
    ("tokens.1", [], ": must be an object"),
    # chains
    ("chains.0.id", MISSING, ": is missing"),
    ("chains.0.id", 0, ": must be"),
    ("chains.0.id", 2**32, ": must be"),
    ("chains.0.id", "1", ": must be"),
    ("chains.0.id", 1.0, ": must be"),
    ("chains.0.id", True, ": must be"),
    ("chains.1.id", 1, "chains[1]: chain 1 must not be given twice, first in chains[0]"),
    ("chains.0.chain_id", 1, ": unknown key"),
    ("chains.0.block_dely", 1, ": unknown key: use block_delay"),
    ("chains.0.name", "", ": must be"),
    ("chains.0.name", "a\nb", ": must be one line"),
    ("chains.0.name", "x" * 129, ": must be"),
    ("chains.0.block_delay", -1, ": must be"),
    ("chains.0.block_delay", 2**32, ": must be"),
    ("chains.0.gas_token_symbol", 5, ": must be"),
    ("chains.0.explore_url", "", ": must be"),
    ("chains.0.explore_url", "http://etherscan.io", ": must be an https URL"),
    ("chains.0.explore_url", "javascript:alert(1)", ": must be an https URL"),
    ("chains.0.explore_url", "https://etherscan.io/?a=b", ": must have no ? and no #"),
    ("chains.0.explore_url", "https://etherscan.io/?", ": must have no ? and no #"),
    ("chains.0.explore_url", 'https://a.example/"><script>', ": must be an https URL"),
    ("chains.0.explore_url", "https://[::1", ": must be an https URL"),
    ("chains.0.explore_url", "https://a.example:x", ": must be an https URL"),
    ("chains.0.explore_url", "https://user@a.example", ": must be an https URL"),
    ("chains.0.icon", "//a.example/x.png", ": must be an https URL"),
    ("chains.0.contract_addr", MISSING, ": is missing"),
    ("chains.0.contract_addr", CONTRACT[1][:-1], ": must have 40 or 64 hex"),
    ("chains.0.contract_addr", CONTRACT[1].replace("F", "g"), ": must have 40 or 64 hex"),
    ("chains.0.contract_addr", "an address", ": must not contain spaces"),
    ("chains.0.contract_addr", "x" * 129, ": must be"),
    ("chains.0.drop_gas_amt", 0, ": must be a string of decimal digits"),
    ("chains.0.drop_gas_amt", None, ": must not be null"),
    ("chains.0.minimal_max_slippage", 1_000_000, ": must be"),
    ("chains.0.disabled", 1, ": must be true or false"),
    ("chains.0.disabled_reason", None, ": must not be null"),
    ("chains.0.retired", True, "chains[0].retired: only a chain that is stopped can be retired"),
    ("chains.0.name", "  ", ": must be one line"),
    ("chains.0.tx_path", "tx/", ": must begin and end with a /"),
    ("chains.0.tx_path", "/a b/", ": must begin and end with a /"),
    ("chains.0.tx_path", '/"onclick=/', ": must begin and end with a /"),
    ("chains.0.tx_path", "/" + "x" * 63 + "/", ": must be a text"),
    ("chains.0.flat_usd_fee", "0.5", ": must be a number"),
    ("chains.0.flat_usd_fee", True, ": must be a number"),
    ("chains.0.suggested_gas_cost", 5, ": must be a text"),
    ("chains.0.watch_from_block", -1, ": must be an integer from 0"),
    ("chains.0.watch_from_block", "0", ": must be an integer from 0"),
    ("chains.0.finality", "latest", ": must be an integer from 0 to 1000000 or"),
    ("chains.0.finality", 1_000_001, ": must be an integer from 0 to 1000000 or"),
    ("chains.0.poll_seconds", 0.1, ": must be a number from 0.2 to 3600"),
    ("chains.0.poll_seconds", True, ": must be a number from 0.2 to 3600"),
    ("chains.0.rpc", "RPC_URL_A", ": must be a list"),
    ("chains.0.rpc", ["https://node.example/key"], "chains[0].rpc[0]: must be the name of an environment"),
    ("chains.0.rpc", ["SECRET_KEY"], "chains[0].rpc[0]: must be the name of an environment"),
    ("chains.0.rpc", ["RPC_URL_" + "A" * 57], "chains[0].rpc[0]: must be the name of an environment"),
    ("chains.0.rpc", ["RPC_URL_A_FILE"], "chains[0].rpc[0]: must be the name of the variable without _FILE"),
    ("chains.0.rpc", ["RPC_URL_A", "RPC_URL_A"], "chains[0].rpc[1]: is given twice"),
    ("chains.0.rpc", [f"RPC_URL_{n}" for n in range(9)], ": must have at most 8 entries"),
    ("chains.0.extra", [], ": must be an object"),
    ("chains.0.extra", {"disabled": False}, "chains[0].extra.disabled: must not be in extra"),
    ("chains.0.extra", {"x": "y" * 4096}, ": must be at most 4096 bytes"),
    ("chains.0.extra", {"x": 2**64}, ": must be JSON that every reader"),
    ("tokens.0.extra", {"min_send": "5"}, "tokens[0].extra.min_send: must not be in extra"),
    ("pegged_pairs.0.extra", {"org_token": {}}, "pegged_pairs[0].extra.org_token: must not be in extra"),
    ("pegged_pairs.0.org_token", {"symbol": "X"}, "pegged_pairs[0].org_token.symbol: unknown key"),
    ("pegged_pairs.0.org_token", {"address": "0x1"}, "pegged_pairs[0].org_token.address: must have 40"),
    ("pegged_pairs.0.org_token", {"extra": {"icon": ""}}, "pegged_pairs[0].org_token.extra.icon: must not"),
    ("config_fields", [{"name": "chains", "value": 1}], "config_fields[0].name: is a list of its own"),
    (
        "config_fields",
        [{"name": "farming_reward_contract_addr", "value": 1}],
        "config_fields[0].value: must be a text",
    ),
    # tokens
    ("tokens.0.min_send", 5, ": must be a string of decimal digits"),
    ("tokens.0.pool_disabled", 1, ": must be true or false"),
    ("tokens.0.chain_id", 5, ": chain 5 is not among the chains"),
    ("tokens.0.symbol", " USDT", ": must be one line"),
    ("tokens.0.symbol", "U" * 65, ": must be"),
    ("tokens.0.address", "", ": must be"),
    ("tokens.0.decimal", 37, ": must be an integer from 0 to 36"),
    ("tokens.0.decimal", -1, ": must be"),
    ("tokens.0.decimal", None, ": must not be null"),
    ("tokens.0.decimals", 6, ": unknown key"),
    ("tokens.1", kit.token(1), ": token USDT on chain 1 must not be given twice, first in tokens[0]"),
    # pools
    ("pools.0.symbol", "DAI", "pools[0]: there is no token DAI on chain 1"),
    ("pools.0.liquidity_added", TOO_MUCH, ": must be"),
    ("pools.0.liquidity_added", "1e18", ": must be"),
    ("pools.0.total_cap", 9, ": must be"),
    ("pools.0.epoch_seconds", 0, ": must be"),
    ("pools.0.epoch_seconds", None, ": must not be null"),
    ("pools.1", kit.pool(1), ": pool of USDT on chain 1 must not be given twice"),
    # routes
    ("routes.0.symbol", "DAI", "routes[0].src_chain_id: there is no token DAI on chain 1"),
    ("routes.0.symbol", "CELR", "routes[0].dst_chain_id: there is no pool of CELR on chain 56"),
    ("routes.0.dst_chain_id", 1, ": must be a different chain than src_chain_id"),
    ("routes.1", kit.route(1, 56), ": route of USDT from 1 to 56 must not be given twice"),
    ("routes.0.rate", MISSING, ": is missing"),
    ("routes.0.rate", "1", ": must be an object"),
    ("routes.0.rate", None, ": must not be null"),
    ("routes.0.rate", {}, "routes[0].rate.model: must be"),
    ("routes.0.rate.model", "cubic", ": must be"),
    ("routes.0.rate.model", ["fixed"], ": must be"),
    ("routes.0.rate.value", MISSING, ": is missing"),
    ("routes.0.rate.value", 1, ": must be"),
    ("routes.0.rate.value", "0", ": must be"),
    ("routes.0.rate.value", "1e3", ": must be"),
    ("routes.0.rate.value", "-1", ": must be"),
    ("routes.0.rate.value", "01", ": must be"),
    ("routes.0.rate.value", "1.", ": must be"),
    ("routes.0.rate.value", "1" * 31, ": must be"),
    ("routes.0.rate.value", "1." + "1" * 37, ": must be"),
    ("routes.0.rate.value", "1\n", ": must be"),
    ("routes.0.rate.amplification", 3, ": unknown key"),
    ("routes.2.rate.amplification", MISSING, ": is missing"),
    ("routes.2.rate.amplification", 0, ": must be"),
    ("routes.2.rate.value", "1", ": unknown key"),
    ("routes.0.base_fee", MISSING, ": is missing"),
    ("routes.0.base_fee_max_age_seconds", 0, ": must be"),
    ("routes.0.perc_fee_tiers", [], ": must have at least one tier"),
    ("routes.0.perc_fee_tiers.0", 3, ": must be an object"),
    ("routes.0.perc_fee_tiers.0.from", "1", ": must be 0"),
    ("routes.0.perc_fee_tiers.0.ppm", 20001, ": must be an integer from 0 to 20000"),
    ("routes.0.perc_fee_tiers.0.ppm", "4", ": must be"),
    ("routes.0.perc_fee_tiers.0.to", "4", ": unknown key"),
    ("routes.0.perc_fee_tiers.0.form", "4", ": unknown key: use from"),
    ("routes.0.perc_fee_tiers.1.from", "0", ": must be greater"),
    ("routes.0.perc_fee_tiers.1.from", TOO_MUCH, ": must be"),
    # blocks and pairs
    ("route_blocks.0.both_directions", MISSING, ": is missing"),
    ("route_blocks.0.reason", "x" * 1025, ": must be"),
    ("pegged_pairs.0.symbol", "DAI", "pegged_pairs[0].org_chain_id: there is no token DAI on chain 1"),
    ("pegged_pairs.0.pegged_chain_id", 1, ": must be a different chain"),
    ("pegged_pairs.0.pegged_deposit_contract_addr", MISSING, ": is missing"),
    ("pegged_pairs.1", kit.pair(1, 10), ": pegged pair of CELR, 1 to 10 must not be given twice"),
    ("pegged_pairs.1", kit.pair(10, 1), ": must not name chain 10 as the original of CELR for chain 1"),
    ("pegged_pairs.0.bridge_version", "2", ": must be"),
    # block lists
    ("blocked_addresses.0.address", MISSING, ": is missing"),
    ("blocked_addresses.0.expires_at", "2027-01-01T00:00:00", ": must be a time"),
    ("blocked_addresses.0.expires_at", "0001-01-01T00:00:00+10:00", ": must be a time"),
    ("blocked_addresses.0.expires_at", 1798761600, ": must be a time"),
    ("blocked_networks.0.cidr", "203.0.113.1/24", ": must have no bits set beyond its prefix"),
    ("blocked_networks.0.cidr", "203.0.113.0", ": must be a network"),
    ("blocked_networks.0.cidr", "203.0.113.0/255.255.255.0", ": must be a network"),
    ("blocked_networks.0.cidr", "fe80::%eth0/64", ": must be a network"),
    ("blocked_networks.0.cidr", "::ffff:203.0.113.0/120", ": must be written as IPv4"),
    ("blocked_networks.0.cidr", 3405803776, ": must be a network"),
    ("blocked_networks.1.cidr", "203.0.113.0/24", "blocked_networks[1]: blocked network 203.0.113.0/24 must"),
    # validators
    ("validators.0.chain_id", 7, ": chain 7 is not among the chains"),
    ("validators.0.signer", "celrvaloper1abc", ": must be a 0x address"),
    ("validators.0.signer", "0x" + "0" * 40, ": must be a 0x address of 20 bytes, not all zero"),
    ("validators.0.power", 5, ": must be"),
    ("validators.0.power", str(2**255), "validators: the powers of chain 1 must add up"),
    ("validators.1.signer", SIGNERS[0].lower(), f"validators[1]: validator {SIGNERS[0]} of chain 1"),
]  # fmt: skip


def json_path(dotted: str) -> str:
    steps = (f"[{step}]" if step.isdigit() else f".{step}" for step in dotted.split("."))
    return "".join(steps).removeprefix(".")


@pytest.mark.parametrize(("path", "value", "error"), BY_PATH, ids=lambda value: str(value)[:40])
def test_document_error_names_json_path(path: str, value: Any, error: str) -> None:
    with pytest.raises(NetworkRefused) as refused:
        read_document(text(changed(path, value)))
    expected = json_path(path) + error if error.startswith(":") else error
    assert any(line.startswith(expected) for line in refused.value.errors), refused.value.errors
    assert all("\n" not in line for line in refused.value.errors)


@pytest.mark.parametrize(
    ("written", "error"),
    [
        (b"", "the document is not JSON"),
        (b"[]", "the document: must be an object"),
        (b'{"version": 1, "version": 1}', "the document repeats the key 'version'"),
        (b'{"version": 1, "chains": [{"name": "\\u0000"}]}', "the document has a NUL"),
        (b'{"version": 1, "chains": ' + b"[" * 900 + b"]" * 900 + b"}", "the document is nested"),
    ],
)
def test_other_text_is_refused(written: bytes, error: str) -> None:
    with pytest.raises(NetworkRefused) as refused:
        read_document(written)
    assert refused.value.errors[0].startswith(error)
    assert len(refused.value.errors) == 1


def test_every_error_of_a_stage_is_shown() -> None:
    document = network()
    document["chains"][0]["id"] = "1"
    document["tokens"][2]["decimal"] = 99
    document["routes"][1]["rate"]["value"] = "x"
    document["routes"][1]["fee"] = 1
    with pytest.raises(NetworkRefused) as refused:
        read_document(text(document))
    assert [line.partition(":")[0] for line in refused.value.errors] == [
        "chains[0].id", "tokens[2].decimal", "routes[1].rate.value", "routes[1].fee",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "stored"),
    [
        ("tokens.0.address", USDT[1][0].lower(), USDT[1][0]),
        ("tokens.0.address", "0X" + USDT[1][0][2:].upper(), USDT[1][0]),
        ("tokens.0.address", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
        ("tokens.0.address", "0x1::aptos_coin::AptosCoin", "0x1::aptos_coin::AptosCoin"),
        ("tokens.0.address", "0x" + "a" * 64, "0x" + "a" * 64),
        ("chains.0.contract_addr", "", ""),
        ("chains.0.explore_url", "http://127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
        ("chains.0.explore_url", "http://[::1]:8000", "http://[::1]:8000"),
        ("chains.0.explore_url", "http://localhost", "http://localhost"),
        ("chains.0.icon", "https://a.example/i.png?x=1", "https://a.example/i.png?x=1"),
        ("chains.0.drop_gas_amt", str(2**256 - 1), 2**256 - 1),
        ("chains.0.minimal_max_slippage", 999_999, 999_999),
        ("tokens.0.decimal", 36, 36),
        ("pools.0.total_cap", None, None),
        ("blocked_networks.0.cidr", "0.0.0.0/0", "0.0.0.0/0"),
        ("blocked_networks.0.cidr", "2001:DB8:0::/48", "2001:db8::/48"),
        ("validators.0.power", "0", 0),
    ],
)
def test_value_is_stored_as(path: str, value: Any, stored: Any) -> None:
    section, index, key = path.split(".")
    assert read_document(text(changed(path, value)))[section][int(index)][key] == stored


def test_optional_keys_and_lists_may_be_missing() -> None:
    document = network()
    optional = {
        "chains": ("icon", "drop_gas_amt", "disabled", "disabled_reason"),
        "tokens": ("icon", "xfer_disabled"),
        "pools": ("liquidity_sent", "liquidity_relayed", "liquidity_withdrawn", "epoch_cap"),
        "routes": ("base_fee_max_age_seconds",),
        "route_blocks": ("reason",),
        "pegged_pairs": ("canonical_token_contract_addr",),
        "blocked_addresses": ("source", "expires_at"),
        "blocked_networks": ("expires_at",),
    }
    full = read_document(text(document | {"blocked_networks": document["blocked_networks"][1:]}))
    for section, keys in optional.items():
        for row in document[section]:
            for key in keys:
                row.pop(key)
    document["route_blocks"][0]["reason"] = "audit"
    assert read_document(text(document | {"blocked_networks": document["blocked_networks"][1:]})) == full
    assert set(map(len, read_document(b'{"version": 1}').values())) == {0}
