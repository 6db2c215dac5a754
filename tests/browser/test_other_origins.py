"""A page of another origin, in Chromium: what a widget sends and reads (docs/interface/answers.md#cors)."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.serving.server import Server

pytestmark = pytest.mark.system

SESSION = """async ([base, prefix, id]) => {
  const headers = {"Authorization": "Bearer widget", "X-Requested-With": "XMLHttpRequest"};
  const send = (path, more = {}) =>
    fetch(base + prefix + path, {...more, headers: {...headers, ...more.headers}, cache: "no-store"});
  const quote = "src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000";
  const json = {"Content-Type": "application/json"};

  const configs = await send("getTransferConfigs");
  const tag = configs.headers.get("ETag");
  const again = await send("getTransferConfigs", {headers: {"If-None-Match": tag}});
  const got = await (await send("estimateAmt?" + quote)).json();
  const form = await (await send("estimateAmt", {method: "POST", body: new URLSearchParams(quote)})).json();
  const post = async (path, fields) =>
    (await send(path, {method: "POST", headers: json, body: JSON.stringify(fields)})).json();
  const posted = await post("estimateAmt", Object.fromEntries(new URLSearchParams(quote)));
  const status = await post("getTransferStatus", {transfer_id: id});
  // Without headers of its own: else the preflight is too long as well, and the page learns nothing.
  const long = await fetch(base + prefix + "estimateAmt?amt=" + "9".repeat(9000));
  const wide = await send("estimateAmt?" + quote, {headers: {"X-Requested-With": "9".repeat(9000)}});
  const refused = [];
  for (const response of [long, wide]) {
    const answer = await response.json();  // the whole shape, before the error is read
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


@pytest.mark.parametrize("prefix", ["/v1/", "/v2/"])
def test_page_of_another_origin_reads_answers(browser: Browser, server: Server, prefix: str) -> None:
    page = browser.new_page(bypass_csp=True)
    page.goto(f"http://localhost:{server.port}/healthz")  # another name: another origin
    answers = page.evaluate(SESSION, [server.base, prefix, f"0x{8:064x}"])
    page.close()
    assert answers == {
        "chains": True,
        "again": 304,
        "same": True,
        "status": 8,
        "evidence": [True, True, True, True],
        "refused": [[414, "bad_request", 0, 500], [431, "bad_request", 0, 500]],
    }
