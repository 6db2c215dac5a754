"""docs/ingest.md from beginning to end: every command and line of JSON, in one shell, as readers type it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from eth_account import Account
from eth_utils.crypto import keccak

from app.transfers.rules.refunds.refund_pb2 import WithdrawMsg
from app.watcher.rules.logs.contracts import EVENTS
from tests.curl import BASE
from tests.pages.shell import Shell
from tests.refunds.requesting import withdraw_req
from tests.serving.server import Server, serving
from tests.site.snippets import ROOT, Block, blocks_of

PAGE = "docs/ingest.md"
TEXT = (ROOT / PAGE).read_text()
BLOCKS = blocks_of(PAGE)
LAYOUT, SIGNED, LOGS = [
    block
    for block in BLOCKS
    if block.heading in ("`wd_onchain`", "`signature`", "From logs to events") and block.fence == "text"
]
FILES = [block for block in BLOCKS if block.fence == "ndjson"]
TYPED = [block for block in BLOCKS if block.fence == "sh"]
SHOWN = {
    typed: then for typed, then in pairwise(BLOCKS) if typed.fence == "sh" and then.fence in ("text", "json")
}
RUN = [LAYOUT, SIGNED, LOGS, *FILES, *TYPED, *SHOWN.values()]

REFUSED = f"0x{'0506':0>64}"
"""A transfer of the sandbox whose user may request the refund."""
OF_THE_MOMENT = re.compile(r'("(?:received_at|seq|next|at)":)("[^"]*"|\d+)')
ANSWERED = 8
"""Commands of the page whose answer it shows."""
MARK = "-- the next block --"
COMPONENT_BYTES = 32  # of r and of s


@pytest.fixture
def gateway(shell: Shell, tmp_path: Path) -> Iterator[Server]:
    """What `make run` starts, on the database of the shell's commands."""
    settings = {name: shell.settings[name] for name in ("DATABASE_URL", "SECRET_KEY", "AUDIT_KEY")}
    with serving("wsgi:app", tmp_path / "log", WEB_CONCURRENCY="1", **settings) as running:
        yield running


def file_names() -> list[str]:
    """What the text calls each file, in their order."""
    return re.findall(r"`(\w+\.ndjson)`:?\n(?:[^`\n]*\n)*?\n*```ndjson", TEXT)


def request_refund(gateway: Server) -> None:
    """As the wallet of the user does."""
    body = {"withdraw_req": base64.b64encode(withdraw_req(REFUSED)).decode(), "method_type": 1}
    answer = gateway.request("POST", "/v2/withdrawLiquidity", body=json.dumps(body)).read()
    assert json.loads(answer)["err"] is None


def masked(printed: str) -> str:
    """What a command printed, or the page shows of it, without what differs each time."""
    text = re.sub(r'("transfer_id":"0x)[0-9a-f]+(?:…|(?=")) *', r"\1", printed.strip())
    return OF_THE_MOMENT.sub(r"\1", text)


@pytest.mark.system
def test_commands_print_what_page_shows(shell: Shell, gateway: Server) -> None:
    names = file_names()
    assert len(names) == len(FILES)
    for name, block in zip(names, FILES, strict=True):
        (shell.code / name).write_text(f"{block.code}\n")
    request_refund(gateway)
    script = "".join(f"{block.code}\necho; echo '{MARK}'\n" for block in TYPED)
    here = script.replace(BASE, gateway.base)
    *printed, _ = shell.run(here).split(f"{MARK}\n")  # notes of the commands come last
    assert len(SHOWN) == ANSWERED
    for block, output in zip(TYPED, printed, strict=True):
        if block in SHOWN:
            assert masked(output) == masked(SHOWN[block].code), block.name


def event(block: Block, event_type: str) -> dict[str, str]:
    """The first event of this type in a file."""
    found = (json.loads(line) for line in block.code.splitlines())
    return next(each for each in found if each["type"] == event_type)


def shown_request() -> bytes:
    """The request of the page, put together from its layout."""
    bytes_of = (re.match(r"[0-9a-f]{2}(?: [0-9a-f]+)+", line) for line in LAYOUT.code.splitlines())
    return bytes.fromhex("".join(each[0] for each in bytes_of if each))


def test_layout_is_the_reported_request() -> None:
    (refunded,) = (block for block in FILES if "refund.prepared" in block.code)
    request, sent = shown_request(), event(refunded, "transfer.sent")
    assert base64.b64decode(event(refunded, "refund.prepared")["wd_onchain"]) == request
    message = WithdrawMsg.FromString(request)
    assert message.SerializeToString() == request
    fields = [field.name for field in WithdrawMsg.DESCRIPTOR.fields]
    assert re.findall(r"  (\w+)(?:, \d+)?$", LAYOUT.code, re.MULTILINE) == fields
    assert (message.chainid, message.receiver.hex()) == (sent["src_chain_id"], sent["sender"][2:].lower())
    assert (message.token.hex(), message.refid.hex()) == (sent["token"][2:].lower(), sent["transfer_id"][2:])
    assert int.from_bytes(message.amount, "big") == int(sent["amount"])


def test_shown_signature_is_a_validators() -> None:
    """By the formula of docs/interface/contracts.md#signatures and another library than the gateway's."""
    (refunded,) = (block for block in FILES if "refund.signed" in block.code)
    shown = {name: bytes.fromhex(value) for name, value in map(str.split, SIGNED.code.splitlines())}
    sent = event(refunded, "transfer.sent")
    contract = bytes.fromhex(sent["contract"][2:])
    domain = keccak(int(sent["src_chain_id"]).to_bytes(32, "big") + contract + b"WithdrawMsg")
    digest = keccak(b"\x19Ethereum Signed Message:\n32" + keccak(domain + shown_request()))
    assert (shown["domain"], shown["digest"]) == (domain, digest)
    signature = shown["r"] + shown["s"] + shown["v"]
    assert (len(shown["r"]), len(shown["s"])) == (COMPONENT_BYTES, COMPONENT_BYTES)
    assert base64.b64decode(event(refunded, "refund.signed")["signature"]) == signature
    signer = Account._recover_hash(digest, signature=signature)
    assert f"`{signer}`" in TEXT
    assert event(refunded, "refund.signed")["id"].endswith(signer)


def test_page_has_every_log_of_the_contracts() -> None:
    """By its signature, which gives the topic, and with as many arguments as it has."""
    signatures = LOGS.code.splitlines()
    assert sorted(signatures) == sorted({shape.signature for shape in EVENTS})
    newest = {each.partition("(")[0]: each for each in reversed(signatures)}
    rows = [line.split(" | ") for line in TEXT.splitlines() if re.match(r"\| [a-z ]+ \| `\w+` \| ", line)]
    described = {row[1].strip("`"): len(row[2].partition(";")[0].split(", ")) for row in rows}
    assert described == {name: signature.count(",") + 1 for name, signature in newest.items()}
