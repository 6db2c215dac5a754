"""A page of another origin, in Chromium: what a widget sends and reads (docs/interface.md#cors)."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from app.sandbox.catalogue import sandbox_id
from app.sandbox.transfer_builder import QUORUM, VALIDATOR_KEYS, SendDetails, refund_request
from app.transfers.rules.refunds.request_checks import signing_digest
from app.transfers.rules.refunds.request_message import encode_request
from app.values.codes import SendKind, TransferHistoryStatus, XferStatus
from app.values.crypto import address_of, sign_digest
from app.values.identifiers import ChainId
from tests.browser.conftest import FLAGS
from tests.grpcweb.node import chromium
from tests.openapi.conftest import INGEST_TOKEN
from tests.serving.server import Server

SESSION = """async ([base, prefix, id]) => {
  const headers = {"Authorization": "Bearer widget", "X-Requested-With": "XMLHttpRequest"};
  const ask = (path, more = {}) =>
    fetch(base + prefix + path, {...more, headers: {...headers, ...more.headers}, cache: "no-store"});
  const quote = "src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000";
  const json = {"Content-Type": "application/json"};

  const configs = await ask("getTransferConfigs");
  const tag = configs.headers.get("ETag");
  const again = await ask("getTransferConfigs", {headers: {"If-None-Match": tag}});
  const got = await (await ask("estimateAmt?" + quote)).json();
  const form = await (await ask("estimateAmt", {method: "POST", body: new URLSearchParams(quote)})).json();
  const post = async (path, fields) =>
    (await ask(path, {method: "POST", headers: json, body: JSON.stringify(fields)})).json();
  const posted = await post("estimateAmt", Object.fromEntries(new URLSearchParams(quote)));
  const status = await post("getTransferStatus", {transfer_id: id});
  // Without headers of its own: else the preflight is too long as well, and the page learns nothing.
  const long = await fetch(base + prefix + "estimateAmt?amt=" + "9".repeat(9000));
  const wide = await ask("estimateAmt?" + quote, {headers: {"X-Requested-With": "9".repeat(9000)}});
  const refused = [];
  for (const response of [long, wide]) {
    const answer = await response.json();  // the whole shape, before the error is looked at
    const fee = BigInt(answer.base_fee) + BigInt(answer.perc_fee);
    refused.push([response.status, response.headers.get("X-Gateway-Reason"), Number(fee), answer.err.code]);
  }
  return {
    chains: (await configs.json()).chains.length > 0,
    again: again.status,
    same: got.err === null && JSON.stringify(got) === JSON.stringify(form)
      && JSON.stringify(got) === JSON.stringify(posted),
    status: status.status,
    evidence: [status.wd_onchain, ...status.sorted_sigs].map(atob).map(bytes => bytes.length > 0),
    refused,
  };
}"""


REFUND_ASKED = """async ([base, account, id]) => {
  const read = async (path, body) => (await fetch(base + path, body && {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
  })).json();
  // {1: the id in hex, 4: a time in seconds, 5: 1} as a protobuf message.
  const hex = [...id.slice(2)].map(digit => digit.charCodeAt(0));
  const seconds = [];
  for (let left = 1700000000; left; left = Math.floor(left / 128))
    seconds.push(left % 128 + (left > 127 ? 128 : 0));
  const wish = btoa(String.fromCharCode(10, 64, ...hex, 32, ...seconds, 40, 1));

  const configs = await read("/v2/getTransferConfigs");
  const names = Object.fromEntries(configs.chains.map(chain => [chain.id, chain.name]));
  let token = "", row;
  do {
    const page = await read(`/v2/transferHistory?addr=${account}&page_size=3&next_page_token=${token}`);
    row = page.history.find(each => each.transfer_id === id);
    token = page.next_page_token;
  } while (!row && token);
  const {chain, token: sent, amount} = row.src_send_info;
  const quote = await read(`/v2/estimateAmt?src_chain_id=${chain.id}&amt=${amount}`
    + `&dst_chain_id=${row.dst_received_info.chain.id}&token_symbol=${sent.symbol}&slippage_tolerance=3000`);
  const ask = {withdraw_req: wish, estimated_received_amt: quote.estimated_receive_amt, method_type: 1};
  const asked = await read("/v2/withdrawLiquidity", ask);
  const after = await read("/v2/getTransferStatus", {transfer_id: id});
  return {row, known: names[chain.id] === chain.name, asked, after};
}"""

POLLED = """async ([base, id]) => {
  for (let tries = 0; tries < 50; tries++) {
    const answer = await (await fetch(base + "/v2/getTransferStatus", {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({transfer_id: id}),
    })).json();
    if (answer.status === 8) {
      const hex = text => [...atob(text)].map(c => c.charCodeAt(0).toString(16).padStart(2, "0")).join("");
      return {
        wdmsg: hex(answer.wd_onchain), sigs: answer.sorted_sigs.map(hex), signers: answer.signers.map(hex),
        powers: answer.powers.map(hex),
      };
    }
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}"""


class _Blank(BaseHTTPRequestHandler):
    """A page of the widget's own origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>widget</title>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    path = chromium()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Blank) as widget, sync_playwright() as playwright:
        threading.Thread(target=widget.serve_forever, daemon=True).start()
        try:
            with playwright.chromium.launch(executable_path=path, args=FLAGS) as browser:
                opened = browser.new_page()
                opened.goto(f"http://127.0.0.1:{widget.server_port}/")
                yield opened
        finally:
            widget.shutdown()


@pytest.mark.parametrize("prefix", ["/v1/", "/v2/"])
@pytest.mark.slow
def test_a_widgets_session(server: Server, page: Page, prefix: str) -> None:
    transfer_id = f"0x{8:064x}"
    assert page.evaluate(SESSION, [server.base, prefix, transfer_id]) == {
        "chains": True,
        "again": 304,
        "same": True,
        "status": 8,
        "evidence": [True, True, True, True],
        "refused": [[414, "bad_request", 0, 500], [431, "bad_request", 0, 500]],
    }


@pytest.mark.slow
def test_a_widgets_refund(server: Server, page: Page) -> None:
    """Configs, history, quote, refund ask, polls and the call's arguments, while the validators sign."""
    transfer_id = sandbox_id(TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED)
    sender = exchange(server, "GET", f"/v2/getTransfer?key={transfer_id}")["transfers"][0]["sender"]
    told = page.evaluate(REFUND_ASKED, [server.base, sender, transfer_id])
    row = told["row"]
    assert (row["status"], row["bridge_type"], told["known"]) == (6, 1, True)
    assert row["refund_reason"] == XferStatus.BAD_SLIPPAGE
    assert told["asked"]["err"] is None
    assert int(told["asked"]["seq_num"]) > 0
    assert (told["after"]["status"], told["after"]["wd_onchain"]) == (7, None)

    src, dst = row["src_send_info"], row["dst_received_info"]
    sent = SendDetails(
        SendKind.POOL, src["token"]["symbol"], src["chain"]["id"], dst["chain"]["id"], int(src["amount"]),
        bytes.fromhex(sender[2:]),
    )  # fmt: skip
    request = encode_request(refund_request(transfer_id, sent))
    digest = signing_digest(sent.kind, ChainId(sent.src_chain_id), sent.contract, request)
    signatures = [sign_digest(digest, key) for key in VALIDATOR_KEYS[:QUORUM]]
    facts = [("refund.prepared", "wd_onchain", request)]
    facts += [("refund.signed", "signature", signature) for signature in signatures]
    at = datetime.now(UTC).isoformat()
    events = [
        {
            "id": f"widget-{n}",
            "type": kind,
            "at": at,
            "transfer_id": transfer_id,
            name: b64encode(raw).decode(),
        }
        for n, (kind, name, raw) in enumerate(facts)
    ]
    verdict = exchange(server, "POST", "/ingest/v1/events", "\n".join(map(json.dumps, events)))
    assert (verdict["accepted"], verdict["refused"]) == (4, [])

    call = page.evaluate(POLLED, [server.base, transfer_id])
    assert bytes.fromhex(call["wdmsg"]) == request
    signers = [address_of(key).hex() for key in VALIDATOR_KEYS]
    by_signer = sorted(zip(signers, signatures, strict=False))
    assert call["sigs"] == [signature.hex() for _, signature in by_signer]
    assert call["signers"] == sorted(signers)
    assert len(call["powers"]) == len(signers)


def exchange(server: Server, method: str, path: str, body: str | None = None) -> dict[str, Any]:
    """As the bridge's own machines ask, without a browser."""
    connection = server.connect()
    headers = {"Authorization": f"Bearer {INGEST_TOKEN}", "Content-Type": "application/x-ndjson"}
    connection.request(method, path, body, headers if body else {})
    answer: dict[str, Any] = json.load(connection.getresponse())
    return answer
