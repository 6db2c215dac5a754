"""The clients that wallets use, with a real gunicorn and the sandbox."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any
from urllib.parse import urlencode

import pytest

from app.sandbox.catalogue import RECORDED_TRANSFER, sandbox_id
from app.values.codes import TransferHistoryStatus
from tests.api.shapes import CONFIGS, CONFIGS_FOR_ALL, ESTIMATE, HISTORY, LATENCY, STATUS, TOKEN_INFO
from tests.curl import BASE
from tests.grpcweb.both_interfaces import of_fields, without_base_fees
from tests.grpcweb.node import chromium, import_map, node, run, workshop
from tests.grpcweb.wire import INVALID_ARGUMENT, METHODS
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server
from tests.site.snippets import block_of

pytestmark = pytest.mark.system

REFUND = sandbox_id(TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED)
BUSY = f"0x{'5a' * 18}0064"
PAIR: dict[str, Any] = {"src_chain_id": 1, "dst_chain_id": 56}
SENDING = PAIR | {"token_symbol": "USDT", "amt": "1000000", "slippage_tolerance": 3000}
OWN_MESSAGES = {"getTransferConfigsForAll": "GetTransferConfigs"}


def call(method: str, timeout: int | None = None, **fields: Any) -> dict[str, Any]:
    """A call for the clients; ``timeout`` in milliseconds."""
    message = OWN_MESSAGES.get(method, method[0].upper() + method[1:])
    return {"method": method, "message": message, "fields": fields, "timeout": timeout}


ANSWERED = {
    "a completed transfer": (STATUS, call("getTransferStatus", transfer_id=RECORDED_TRANSFER)),
    "a refund with evidence": (STATUS, call("getTransferStatus", transfer_id=REFUND)),
    "an unknown transfer": (STATUS, call("getTransferStatus", transfer_id="f" * 64)),
    "an estimate": (ESTIMATE, call("estimateAmt", timeout=20_000, **SENDING)),
    "an estimate error": (ESTIMATE, call("estimateAmt", **SENDING | {"amt": "0"})),
    "a blocked address": (ESTIMATE, call("estimateAmt", **SENDING, usr_addr=f"0x{0xBAD:040X}")),
    "the latency": (LATENCY, call("getLatest7DayTransferLatencyForQuery", **PAIR)),
    "a history": (HISTORY, call("transferHistory", acct_addr=[BUSY, "nobody"], page_size=3)),
    "an empty history": (HISTORY, call("transferHistory", addr="nobody", page_size=3)),
    "the configs": (CONFIGS, call("getTransferConfigs")),
    "a token": (TOKEN_INFO, call("getTokenInfo", chain_id=1, token_symbol="USDT")),
    "an unknown token": (TOKEN_INFO, call("getTokenInfo", chain_id=1, token_symbol="usdt")),
    "the configs for all": (CONFIGS_FOR_ALL, call("getTransferConfigsForAll")),
}
REFUSED = {
    "a malformed id": (call("getTransferStatus", transfer_id="0x12"), INVALID_ARGUMENT, "bad_request"),
    "a malformed amount": (
        call("estimateAmt", **SENDING | {"amt": "%é"}),
        INVALID_ARGUMENT,
        "bad_request",
    ),
    "a history of nobody": (call("transferHistory", page_size=3), INVALID_ARGUMENT, "bad_request"),
}

EXAMPLE = block_of("docs/grpc-web.md", "const { WebPromiseClient }")
PRINTED = block_of("docs/grpc-web.md", "3945")
CONNECT = block_of("docs/grpc-web.md", "import { createClient }")
WITH_KEY = block_of("docs/api-keys.md", "const answer = await client.")
RUN = [EXAMPLE, PRINTED, CONNECT, WITH_KEY]
UNAUTHENTICATED = 16
"""The status of gRPC."""

CALLS = [wanted for _, wanted in ANSWERED.values()] + [wanted for wanted, _, _ in REFUSED.values()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    with serving_sandbox(tmp_path_factory.mktemp("clients"), sqlite_template) as running:
        yield running


@pytest.fixture(scope="module")
def base(server: Server) -> str:
    return server.base


@pytest.fixture(scope="module")
def over_http(server: Server) -> dict[str, tuple[dict[str, Any], str | None]]:
    """The answers over HTTP to the same, with the fields that the messages have, and their reasons."""
    found = {}
    for name, (path, wanted) in ANSWERED.items():
        connection, fields = server.connect(), wanted["fields"]
        if path == STATUS:
            connection.request("POST", path, json.dumps(fields), {"Content-Type": "application/json"})
        else:
            connection.request("GET", f"{path}?{urlencode(fields, doseq=True)}")
        response = connection.getresponse()
        _, message = METHODS[wanted["message"]]
        found[name] = of_fields(json.load(response), message.DESCRIPTOR), response.headers["X-Gateway-Reason"]
    return found


def chain_alike(chain: dict[str, Any]) -> dict[str, Any]:
    """Only the message has the base fee, which the sandbox does not suggest."""
    return without_base_fees(chain) | {"suggested_gas_cost": str(chain["suggested_gas_cost"])}


def alike(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the differences that the shapes of both interfaces may have."""
    answer = {"err": None} | answer
    if answer.get("token_info", answer) is None:  # some clients leave out a message that is missing
        del answer["token_info"]
    if answer["err"]:
        msg = re.sub(r"\d+ \w+ ago|just now", "ago", answer["err"]["msg"])
        answer["err"] = answer["err"] | {"msg": msg}
    if "bridge_rate" in answer:
        answer["bridge_rate"] = struct.pack("<f", answer["bridge_rate"])
    if "wd_onchain" in answer:
        answer["wd_onchain"] = answer["wd_onchain"] or None
    if "current_size" in answer:
        answer["current_size"] = str(answer["current_size"])
        for transfer in answer["history"]:
            transfer |= {name: str(transfer[name]) for name in ("ts", "update_ts")}
            for leg in ("src_send_info", "dst_received_info"):
                transfer[leg] = transfer[leg] | {"chain": chain_alike(transfer[leg]["chain"])}
    if "chains" in answer:
        answer["chains"] = [chain_alike(chain) for chain in answer["chains"]]
    for route_key in answer.get("blocked_bridge_direct", ()):
        route_key |= {name: int(route_key[name]) for name in PAIR}
    return answer


def check(answers: list[dict[str, Any]], over_http: dict[str, tuple[dict[str, Any], str | None]]) -> None:
    """Every answer equals that over HTTP, every refusal has its status; each callback ran once."""
    assert [answered["calls"] for answered in answers] == [1] * len(CALLS)
    for name, answered in zip(ANSWERED, answers, strict=False):
        expected, reason = over_http[name]
        assert "error" not in answered, (name, answered)
        assert alike(answered["answer"]) == alike(expected), name
        assert answered.get("reason") == reason, name
    for (_, status, reason), answered in zip(REFUSED.values(), answers[len(ANSWERED) :], strict=True):
        assert (answered["error"]["code"], answered["reason"]) == (status, reason)
        assert answered["error"]["message"]


@pytest.mark.parametrize(
    ("client", "slash"),
    [("official-text", ""), ("official-binary", "/"), ("connect", "")],
    ids=["official, as text", "official, with a doubled slash", "Connect"],
)
def test_clients_in_node_get_the_http_answers(
    base: str, over_http: dict[str, tuple[dict[str, Any], str | None]], client: str, slash: str
) -> None:
    folder = workshop()
    printed = run(node(), str(folder / "run.mjs"), client, base + slash, input=json.dumps(CALLS))
    check(json.loads(printed), over_http)


def test_documented_example_runs_in_node(base: str) -> None:
    """Unchanged but for the line that Node needs, and the address."""
    source = 'globalThis.XMLHttpRequest = require("xhr2");\n' + EXAMPLE.code.replace(BASE, base)
    assert run(node(), "-", cwd=workshop(), input=source) == f"{PRINTED.code}\n"


def test_documented_example_of_connect_runs_in_node(base: str) -> None:
    """Unchanged but for the folder of the messages, and the address."""
    source = CONNECT.code.replace(BASE, base).replace("./gateway_pb.js", "./generated/gateway_pb.js")
    (comment,) = re.findall(r"// (.*)$", source, re.MULTILINE)
    assert run(node(), "--input-type=module", "-", cwd=workshop(), input=source) == f"{comment}\n"


def test_documented_example_sends_a_key(base: str) -> None:
    """An unknown key is refused: the gateway reads the header."""
    source = f"""
        globalThis.XMLHttpRequest = require("xhr2");
        const {{ WebPromiseClient }} = require("./gateway_grpc_web_pb.js");
        const {{ GetTransferStatusRequest }} = require("./gateway_pb.js");
        const client = new WebPromiseClient("{base}");
        const request = new GetTransferStatusRequest();
        const key = "gwk_nobody";
        async function main() {{ {WITH_KEY.code} }}
        main().catch((error) => console.log(error.code, error.message));
    """
    assert run(node(), "-", cwd=workshop(), input=source).startswith(f"{UNAUTHENTICATED} ")


def test_client_in_browser_gets_the_http_answers(
    base: str, over_http: dict[str, tuple[dict[str, Any], str | None]], tmp_path: Path
) -> None:
    browser = chromium()
    with (
        page_server(workshop(), base) as (origin, results),
        browsing(browser, f"{origin}/page.html", tmp_path),
    ):
        answer = results.get(timeout=60)
    assert "failed" not in answer, answer["failed"]
    assert answer["origin"] == origin != base
    check(answer["answers"], over_http)


class Pages(SimpleHTTPRequestHandler):
    """Serves the workshop's files, and receives the answers of the page."""

    def __init__(self, *args: Any, base: str, results: Queue[Any], **kwargs: Any) -> None:
        self.base, self.results = base, results
        super().__init__(*args, **kwargs)

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def do_GET(self) -> None:
        if self.path == "/page.html":
            page = (Path(self.directory) / "page.html").read_text()
            self.answer(page.replace("IMPORTS", import_map()), "text/html")
        elif self.path == "/calls.json":
            self.answer(json.dumps({"base": self.base, "calls": CALLS}), "application/json")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self.results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer("", "text/plain")

    def answer(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def page_server(folder: Path, base: str) -> Iterator[tuple[str, Queue[Any]]]:
    """An origin of its own, and the answers of its page."""
    results: Queue[Any] = Queue()
    handler = partial(Pages, directory=str(folder), base=base, results=results)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{pages.server_address[1]}", results
        pages.shutdown()


QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip


@contextmanager
def browsing(browser: str, url: str, folder: Path) -> Iterator[None]:
    """A browser with a profile of its own on the page, ended with the block."""
    with (folder / "browser.log").open("w") as log:
        process = subprocess.Popen(
            [browser, *QUIET, f"--user-data-dir={folder / 'profile'}", url], stdout=log, stderr=log
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)
