"""What the README, docs/sandbox.md and docs/settings.md say is what there is: answers and settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.sandbox.catalogue import (
    ORDINARY_CALLER,
    SANDBOX_ERRORS,
    SANDBOX_ESTIMATES,
    SANDBOX_LATENCIES,
    SANDBOX_TRANSFERS,
)
from config import FROM_FILES, Settings
from tests.curl import curl_of
from tests.sandboxes import load_into
from tests.site.snippets import blocks_of

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
SANDBOX = (ROOT / "docs" / "sandbox.md").read_text()
SETTINGS_PAGE = (ROOT / "docs" / "settings.md").read_text()
RUN = [
    block
    for pair in pairwise(blocks_of("README.md"))
    for block in pair
    if pair[0].code.startswith("curl ") and pair[1].fence == "json"
]
EXAMPLES = [(curl.code, answer.code) for curl, answer in zip(RUN[::2], RUN[1::2], strict=True)]
SETTINGS = {each.name.upper(): each.default for each in fields(Settings) if each.metadata}
DEFAULTS = {"DATABASE_URL": "instance/gateway.db", "DOORS": "api,grpcweb,ingest,admin"}


@pytest.fixture
def sandbox_client(app: Flask, client: FlaskClient) -> FlaskClient:
    """A client of a gateway that holds the sandbox, as after the first `make run`."""
    load_into(app)
    return client


def answer_to(client: FlaskClient, command: str) -> str:
    """What the README's curl prints, without a server."""
    method, path, headers, body = curl_of(command)
    environ = {"REMOTE_ADDR": ORDINARY_CALLER}
    return client.open(path, method=method, headers=headers, data=body, environ_overrides=environ).text


def test_readme_curls_print_their_answers(sandbox_client: FlaskClient) -> None:
    assert len(EXAMPLES) >= 3
    for command, answer in EXAMPLES:
        assert answer_to(sandbox_client, command) == answer


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_sandbox_example_id_has_documented_status() -> None:
    found = re.search(
        r"`printf '0x%064d' (\d+)` prints an id with status (\d+) and refund reason (\d+)", SANDBOX
    )
    assert found
    transfer_id = f"0x{int(found[1]):064d}"
    (transfer,) = [transfer for transfer in SANDBOX_TRANSFERS if transfer.transfer_id == transfer_id]
    assert (transfer.status, transfer.refund_reason) == (int(found[2]), int(found[3]))


def sandbox_rows() -> Iterator[str]:
    """The rows of the tables in docs/sandbox.md."""
    for transfer in SANDBOX_TRANSFERS:
        reason = f", reason {transfer.refund_reason.value}" if transfer.refund_reason else ""
        yield f"| `{transfer.transfer_id}` | {transfer.status.value}{reason} | {transfer.what} |"
    for estimate in SANDBOX_ESTIMATES:
        yield f"| `{estimate.query}` | {estimate.what} |"
    for error in SANDBOX_ERRORS:
        yield f"| {error.code.value} `{error.reason.value}` | `{error.query}` | {error.why} |"


def test_the_sandbox_page_lists_the_whole_catalogue() -> None:
    rows = [line for line in SANDBOX.splitlines() if re.match(r"\| (?:`|\d)", line)]
    assert rows == list(sandbox_rows())


def test_the_sandbox_page_shows_a_median() -> None:
    (shown,) = re.findall(r"from (\d+) to (\d+) it is ([\d.]+) seconds", SANDBOX)
    assert shown in {
        (str(each.src_chain_id), str(each.dst_chain_id), str(each.median.total_seconds()))
        for each in SANDBOX_LATENCIES
    }


def test_settings_page_lists_every_setting() -> None:
    rows = list(settings_table(SETTINGS_PAGE))
    documented = dict(rows)
    assert len(rows) == len(documented)
    assert set(documented) == SETTINGS.keys()
    assert "| `RPC_URL_…` | none |" in SETTINGS_PAGE
    for name, shown in documented.items():
        default = SETTINGS[name]
        if isinstance(default, bool):
            assert shown == str(int(default)), name
        elif name in DEFAULTS or default in (None, "", ()):
            assert shown.startswith(DEFAULTS.get(name, ("none", "off", "one for each"))), name
        else:
            assert shown == str(default).removesuffix(".0"), name


def settings_table(text: str) -> Iterator[tuple[str, str]]:
    """Each variable of the tables with the default that they show."""
    for name, default in re.findall(r"^\| `([A-Z_]+)` \| ([^|]*) \|", text, re.MULTILINE):
        yield name, default.strip("`")


def test_settings_page_names_secret_files() -> None:
    named = set(re.findall(r"`([A-Z_]+)_FILE`", SETTINGS_PAGE))
    assert named == {name.upper() for name in FROM_FILES}
    assert "`RPC_URL_…_FILE`" in SETTINGS_PAGE
