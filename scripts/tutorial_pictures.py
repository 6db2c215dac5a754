"""``make screenshots``: the pictures of docs/tutorial.md, of the transfers that its reader sends.

Starts ``make demo`` on a free port, sends the tutorial's two transfers, and looks at their pages on the way.
"""

from __future__ import annotations

import base64
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
from playwright.sync_api import Page, ViewportSize, sync_playwright

from scripts.screenshots import IMAGES, ROOT, chromium, sign_in

USDX = 10**6
AMOUNT = 25 * USDX
TWO_CARDS: ViewportSize = {"width": 600, "height": 680}
CONSOLE: ViewportSize = {"width": 1000, "height": 740}
SECONDS = 300


@contextmanager
def demonstration() -> Iterator[tuple[Mapping[str, str], str]]:
    """What ``make demo`` exports for its reader, and the password of the console."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "demo", "--port", port], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        password = ""
        for line in process.stdout or ():
            if found := re.search(r"sign in as \S+ with (\S+)", line):
                password = found[1]
            if found := re.search(r"type +\. (\S+) ", line):
                exported = (ROOT / found[1]).read_text()
                break
        else:
            raise SystemExit("the demonstration did not start: run make demo to see why")
        yield dict(re.findall(r"^export (\w+)=(\S+)$", exported, re.MULTILINE)), password
    finally:
        process.terminate()
        process.communicate()


class Story:
    """What the reader does, and where the transfers are."""

    def __init__(self, exported: Mapping[str, str]) -> None:
        self.base, self.account = exported["GATEWAY"], exported["ACCOUNT"]
        self._node, self._client = exported["LEFT_NODE"], httpx.Client(timeout=60)

    def send(self, slippage_tolerance: int, nonce: int) -> str:
        """Approve and send; the id of the transfer."""
        question: dict[str, str | int] = {
            "src_chain_id": 7001, "dst_chain_id": 7002, "token_symbol": "USDX", "amt": AMOUNT,
            "slippage_tolerance": slippage_tolerance, "sender": self.account, "nonce": nonce,
        }  # fmt: skip
        quote = self._client.get(f"{self.base}/v2/getSendTransaction", params=question).json()
        self._sign(quote["approval"]["transaction"])
        self._sign(quote["transaction"])
        transfer: str = quote["transfer_id"]
        return transfer

    def ask_for_refund(self, transfer: str) -> None:
        message = base64.b64encode(b"\nB" + transfer.encode() + b"(\1").decode()
        self._client.post(f"{self.base}/v2/withdrawLiquidity", json={"withdraw_req": message})

    def claim(self, transfer: str) -> None:
        where = {"transfer_id": transfer}
        self._sign(self._client.get(f"{self.base}/v2/getRefundEvidence", params=where).json()["transaction"])

    def wait(self, transfer: str, status: int) -> None:
        where, deadline = {"transfer_id": transfer}, time.monotonic() + SECONDS
        while self._client.post(f"{self.base}/v2/getTransferStatus", json=where).json()["status"] != status:
            if time.monotonic() > deadline:
                raise SystemExit(f"{transfer} does not come to {status}: run it again on a quiet machine")
            time.sleep(0.2)

    def _sign(self, transaction: Mapping[str, str]) -> None:
        """The node of the demonstration signs for the account; done once a block has it."""
        call = {name: transaction[name] for name in ("to", "data")} | {"from": self.account}
        sent = self._rpc("eth_sendTransaction", call)
        while self._rpc("eth_getTransactionReceipt", sent) is None:
            time.sleep(0.2)

    def _rpc(self, method: str, argument: Any) -> Any:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [argument]}
        return self._client.post(self._node, json=call).json()["result"]


def take(page: Page, name: str) -> None:
    page.reload()
    page.wait_for_timeout(400)
    page.screenshot(path=IMAGES / f"tutorial-{name}.png")
    sys.stdout.write(f"docs/images/tutorial-{name}.png\n")


def pictures(page: Page, story: Story, password: str) -> None:
    sent = story.send(5000, nonce=1)
    page.goto(f"{story.base}/transfer/{sent}")
    story.wait(sent, 3)
    take(page, "under-way")
    story.wait(sent, 5)
    take(page, "arrived")

    refused = story.send(1, nonce=2)
    page.goto(f"{story.base}/transfer/{refused}")
    story.wait(refused, 6)
    take(page, "refused")
    story.ask_for_refund(refused)
    story.wait(refused, 8)
    take(page, "ready")
    story.claim(refused)
    story.wait(refused, 10)
    take(page, "back")

    page.set_viewport_size(CONSOLE)
    sign_in(page, story.base, password)
    page.goto(f"{story.base}/admin/transfers/{refused}")
    take(page, "console")


def main() -> None:
    with demonstration() as (exported, password), sync_playwright() as playwright:
        browser = chromium(playwright)
        page = browser.new_page(viewport=TWO_CARDS, locale="en-GB", timezone_id="UTC")
        pictures(page, Story(exported), password)
        browser.close()


if __name__ == "__main__":
    main()
