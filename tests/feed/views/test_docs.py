"""What docs/ingest.md shows is what happens: its commands are run one after the other."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.feed import views
from app.feed.lines import MAX_LINE_BYTES, ReadLine, read_line
from app.feed.services.ingest import BATCH
from app.transfers.rules.events.event_types import EVENT_CLASSES, REPORTED, ChainHead, EventsRetracted
from app.transfers.rules.events.fields import MAX_ID, fields_of
from app.values.codes import XferStatus
from app.values.identifiers import MAX_CHAIN_ID
from tests.applications import OpenApp
from tests.refunds.requesting import send_request, withdraw_req
from tests.site.snippets import blocks_of

pytestmark = pytest.mark.one_database

PAGE = (Path(__file__).parents[3] / "docs" / "ingest.md").read_text()
RUN = blocks_of("docs/ingest.md")
(FILE,) = (block for block in RUN if block.fence == "ndjson")
COMMANDS = "\n".join(block.code for block in RUN if block.code.startswith("flask"))
REFUNDS = [(one.code, then.code) for one, then in pairwise(RUN) if then.fence == "text"]
EXAMPLES = [(one.code, then.code) for one, then in pairwise(RUN) if then.fence == "json"]


@pytest.fixture
def bare(open_app: OpenApp) -> FlaskClient:
    """A gateway that knows no network yet, as the page assumes."""
    return open_app().test_client()


def run(app: Flask, command: str, token: str) -> str:
    """What a line of the page prints, done without a server."""
    files = {"events.ndjson": f"{FILE.code}\n".encode()}
    piped = b""
    for words in (shlex.split(part) for part in command.split(" | ")):
        match words:
            case ["printf", r"%s\n", *lines]:
                piped = "".join(line + "\n" for line in lines).encode()
            case ["gzip", "-c", name]:
                piped = gzip.compress(files[name])
            case ["curl", url, *options]:
                return curl(app, url, options, files | {"-": piped}, token)
    raise AssertionError(command)


def curl(app: Flask, url: str, options: list[str], files: dict[str, bytes], token: str) -> str:
    headers, data = {}, None
    for option, value in zip(options[::2], options[1::2], strict=True):
        if option == "-H":
            name, _, content = value.partition(": ")
            headers[name] = content.replace("$TOKEN", token)
        else:
            assert option in ("-d", "--data-binary")
            data = files[value[1:]] if value.startswith("@") else value.encode()
    path = url.removeprefix("http://127.0.0.1:8000")
    method = "GET" if data is None else "POST"
    return app.test_client().open(path, method=method, headers=headers, data=data).get_data(as_text=True)


def test_examples_print_what_the_page_shows(bare: FlaskClient) -> None:
    app = bare.application
    with app.app_context():
        token = ""
        for arguments in re.findall(r"^flask --app wsgi (.*)$", COMMANDS, re.MULTILINE):
            done = app.test_cli_runner().invoke(args=shlex.split(arguments))
            assert done.exit_code == 0, done.output
            token = token or done.stdout.strip()
        assert len(EXAMPLES) == 7
        for command, printed in EXAMPLES:
            assert run(app, command, token) == printed, command
        ((command, printed),) = REFUNDS
        refuse_and_ask(app.test_client(), token)
        shown, answered = json.loads(printed), json.loads(run(app, command, token))
        shown["requests"][0] |= {name: answered["requests"][0][name] for name in ("seq", "transfer_id", "at")}
        shown["next"] = answered["requests"][0]["seq"]  # a number that no database gives twice
        assert answered == shown


def refuse_and_ask(client: FlaskClient, token: str) -> None:
    """Have the network refuse the transfer of the page, and its user request the refund."""
    event = json.loads(FILE.code.splitlines()[-1]) | {
        "id": "net:refused", "at": "2026-05-01T12:03:00Z", "xfer_status": XferStatus.BAD_TOKEN,
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {token}"}
    result = client.post(
        "/ingest/v1/events", data=json.dumps(event), headers=headers, content_type="application/x-ndjson"
    )
    assert result.json == {"accepted": 1, "repeated": 0, "refused": []}
    assert send_request(client, "http", withdraw_req(event["transfer_id"])).code == 0


def test_page_has_every_type_and_field() -> None:
    reported = dict(re.findall(r"^\| (`[a-z._`, ]+`) \| ([^|]*) \|", PAGE, re.MULTILINE))
    for event_type, declared in ((name, fields_of(EVENT_CLASSES[name])) for name in REPORTED):
        (row,) = [fields for types, fields in reported.items() if f"`{event_type}`" in types]
        unnamed = {"id", "at", "block_hash", "log_index"}
        if event_type != ChainHead.type:
            unnamed.add("block")
        for field in declared:
            optional = "" if field.required else "?"
            if field.name not in unnamed:
                assert re.search(rf"\b{field.name}\b(\[\])?{re.escape(optional)}", row), (event_type, field)
    assert set(EVENT_CLASSES) - set(REPORTED) == {EventsRetracted.type}


def test_ids_recommended_by_page_fit() -> None:
    form = r"[0-9]+:0x[0-9a-f]{64}:0x[0-9a-f]{64}:[0-9]+(?::[a-z.]+)?"
    ids = set(re.findall(form, PAGE))
    assert {len(each) for each in ids} == {137, 156}
    for event_id in ids:
        line = {"id": event_id, "type": "chain.head", "at": "2026-05-01T12:00:00Z", "chain_id": 1, "block": 1}
        assert isinstance(read_line(1, json.dumps(line).encode(), datetime.now(UTC)), ReadLine)
    longest = f"{MAX_CHAIN_ID}:0x{'f' * 64}:0x{'f' * 64}:{2**32 - 1}:{max(REPORTED, key=len)}"
    assert re.fullmatch(form, longest)
    assert len(longest) <= MAX_ID
    assert f"1 to {MAX_ID} characters" in PAGE


def test_page_has_the_limits_of_the_code() -> None:
    for shown in (
        f"| a line | {MAX_LINE_BYTES >> 10} KiB |",
        f"| lines in a body | {views.MAX_LINES:,} |",
        f"| a body, as sent and inflated | {views.MAX_BYTES >> 20} MiB |",
        f"| silence while sending | {views.SILENCE_SECONDS} s |",
        f"in batches of up to {BATCH};",
    ):
        assert shown in PAGE, shown
