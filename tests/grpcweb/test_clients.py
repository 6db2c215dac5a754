"""The clients that wallets use, unchanged, against a real gunicorn with the sandbox."""

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
from app.values.codes import ErrCode, Reason, TransferHistoryStatus
from tests.api.shapes import CONFIGS, CONFIGS_FOR_ALL, ESTIMATE, HISTORY, LATENCY, STATUS
from tests.contract.recorded_answers import own_of_tokens
from tests.curl import BASE
from tests.grpcweb.node import chromium, import_map, node, run, workshop
from tests.grpcweb.wire import INVALID_ARGUMENT
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server
from tests.site.snippets import block_of

REFUND = sandbox_id(TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED)
BUSY = f"0x{'5a' * 18}0064"
PAIR = {"src_chain_id": 1, "dst_chain_id": 56}
SENDING = PAIR | {"token_symbol": "USDT", "amt": "1000000", "slippage_tolerance": 3000}
OWN_MESSAGES = {"getTransferConfigsForAll": "GetTransferConfigs"}


def question(method: str, timeout: int | None = None, **fields: Any) -> dict[str, Any]:
    """As the clients read it; ``timeout`` in milliseconds."""
    message = OWN_MESSAGES.get(method, method[0].upper() + method[1:])
    return {"method": method, "message": message, "fields": fields, "timeout": timeout}


ANSWERED = {
    "a completed transfer": (STATUS, question("getTransferStatus", transfer_id=RECORDED_TRANSFER)),
    "a refund with evidence": (STATUS, question("getTransferStatus", transfer_id=REFUND)),
    "an unknown transfer": (STATUS, question("getTransferStatus", transfer_id="f" * 64)),
    "an estimate": (ESTIMATE, question("estimateAmt", timeout=20_000, **SENDING)),
    "an estimate error": (ESTIMATE, question("estimateAmt", **SENDING | {"amt": "0"})),
    "a blocked address": (ESTIMATE, question("estimateAmt", **SENDING, usr_addr=f"0x{0xBAD:040X}")),
    "the latency": (LATENCY, question("getLatest7DayTransferLatencyForQuery", **PAIR)),
    "a history": (HISTORY, question("transferHistory", acct_addr=[BUSY, "nobody"], page_size=3)),
    "an empty history": (HISTORY, question("transferHistory", addr="nobody", page_size=3)),
    "the configs": (CONFIGS, question("getTransferConfigs")),
    "the configs for all": (CONFIGS_FOR_ALL, question("getTransferConfigsForAll")),
}
REFUSED = {
    "a malformed id": (question("getTransferStatus", transfer_id="0x12"), INVALID_ARGUMENT, "bad_request"),
    "a malformed amount": (
        question("estimateAmt", **SENDING | {"amt": "%é"}),
        INVALID_ARGUMENT,
        "bad_request",
    ),
    "a history of nobody": (question("transferHistory", page_size=3), INVALID_ARGUMENT, "bad_request"),
}
ONLY_IN_JSON = ("sender", "receiver", "dst_deadline")
"""Fields of a transfer for which the protobuf has no place."""
CHAIN_ONLY_IN_JSON = (
    "drop_gas_cost_amt", "drop_gas_balance_alert", "suggested_gas_cost", "flat_usd_fee", "disabled",
    "farming_reward_contract_addr", "transfer_agent_contract_addr",
)  # fmt: skip
TOKEN_ONLY_IN_JSON = (
    "liq_add_disabled", "liq_rm_disabled", "liq_agg_rm_src_disabled", "delay_threshold", "delay_period",
    *own_of_tokens(),
)  # fmt: skip

EXAMPLE = block_of("docs/grpc-web.md", "const { WebPromiseClient }")
PRINTED = block_of("docs/grpc-web.md", "{ receive:")
WITH_KEY = block_of("docs/api-keys.md", "const answer = await client.")
RUN = [EXAMPLE, PRINTED, WITH_KEY]
UNAUTHENTICATED = 16
"""The status of gRPC."""

QUESTIONS = [asked for _, asked in ANSWERED.values()] + [asked for asked, _, _ in REFUSED.values()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    with serving_sandbox(tmp_path_factory.mktemp("clients"), sqlite_template) as running:
        yield running


@pytest.fixture(scope="module")
def base(server: Server) -> str:
    return server.base


@pytest.fixture(scope="module")
def over_http(server: Server) -> dict[str, tuple[dict[str, Any], str | None]]:
    """What the other door answers to the same, and its reason."""
    return {name: ask_http(server, path, asked["fields"]) for name, (path, asked) in ANSWERED.items()}


def ask_http(server: Server, path: str, fields: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    connection = server.connect()
    if path == STATUS:
        connection.request("POST", path, json.dumps(fields), {"Content-Type": "application/json"})
    else:
        connection.request("GET", f"{path}?{urlencode(fields, doseq=True)}")
    response = connection.getresponse()
    return json.load(response), response.headers["X-Gateway-Reason"]


def alike(answer: dict[str, Any]) -> dict[str, Any]:
    """What the clients' and HTTP's shapes may differ in, made equal."""
    answer = {"err": None} | {name: value for name, value in answer.items() if name != "bridge_type"}
    if answer["err"]:
        answer["err"] = answer["err"] | {"msg": re.sub(r"\d+ \w+ ago", "ago", answer["err"]["msg"])}
    if "bridge_rate" in answer:
        answer["bridge_rate"] = struct.pack("<f", answer["bridge_rate"])
    if "wd_onchain" in answer:
        answer["wd_onchain"] = answer["wd_onchain"] or None
    if "current_size" in answer:
        answer["current_size"] = str(answer["current_size"])
        answer["history"] = [
            {name: value for name, value in transfer.items() if name not in ONLY_IN_JSON}
            | {name: str(transfer[name]) for name in ("ts", "update_ts")}
            for transfer in answer["history"]
        ]
    if "chains" in answer:
        answer = as_the_messages_have_it(answer)
    for route_key in answer.get("blocked_bridge_direct", ()):
        route_key |= {name: int(route_key[name]) for name in PAIR}
    return answer


def without(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def as_the_messages_have_it(configs: dict[str, Any]) -> dict[str, Any]:
    """The configs without what the protobuf has no place for."""

    def listed(info: dict[str, Any]) -> dict[str, Any]:
        return without(info, TOKEN_ONLY_IN_JSON)

    return without(configs, ("redirect_to_aggregators_config",)) | {
        "chains": [without(chain, CHAIN_ONLY_IN_JSON) for chain in configs["chains"]],
        "chain_token": {
            chain_id: {"token": [listed(info) for info in tokens["token"]]}
            for chain_id, tokens in configs["chain_token"].items()
        },
        "pegged_pair_configs": [
            without(pair, ("migration_peg_burn_contract_addr",))
            | {name: listed(pair[name]) for name in ("org_token", "pegged_token")}
            for pair in configs["pegged_pair_configs"]
        ],
    }


def check(answers: list[dict[str, Any]], over_http: dict[str, tuple[dict[str, Any], str | None]]) -> None:
    """Every answer is the other door's, every refusal has its status; each call was told once."""
    assert [told["calls"] for told in answers] == [1] * len(QUESTIONS)
    for name, told in zip(ANSWERED, answers, strict=False):
        expected, reason = over_http[name]
        assert "error" not in told, (name, told)
        assert alike(told["answer"]) == alike(expected), name
        assert told.get("reason") == reason, name
    for (_, status, reason), told in zip(REFUSED.values(), answers[len(ANSWERED) :], strict=True):
        assert (told["error"]["code"], told["reason"]) == (status, reason)
        assert told["error"]["message"]


def test_the_questions_are_what_they_are_called(
    over_http: dict[str, tuple[dict[str, Any], str | None]],
) -> None:
    answers = {name: answer for name, (answer, _) in over_http.items()}
    assert answers["a completed transfer"]["status"] == TransferHistoryStatus.TRANSFER_COMPLETED
    refund = answers["a refund with evidence"]
    assert refund["status"] == TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert all(refund[name] for name in ("wd_onchain", "sorted_sigs", "signers", "powers"))
    assert answers["an estimate"]["estimated_receive_amt"] == "394563471907988034"
    assert answers["an estimate error"]["err"]["code"] == ErrCode.ERROR_CODE_COMMON
    assert over_http["an estimate error"][1] == Reason.AMOUNT_ZERO
    assert answers["a blocked address"]["err"]["code"] == ErrCode.ERROR_CODE_ADDRESS_BLOCKED
    assert answers["the latency"]["median_transfer_latency_in_second"] == 246.5
    assert answers["a history"]["current_size"] == "3"
    assert answers["an empty history"]["history"] == []
    assert len(answers["the configs"]["chains"]) >= 8
    assert answers["the configs"]["pegged_pair_configs"]


@pytest.mark.parametrize("slash", ["", "/"], ids=["", "doubled slash"])
@pytest.mark.parametrize("client", ["official-text", "official-binary", "connect"])
def test_in_node(
    base: str, over_http: dict[str, tuple[dict[str, Any], str | None]], client: str, slash: str
) -> None:
    folder = workshop()
    told = run(node(), str(folder / "run.mjs"), client, base + slash, input=json.dumps(QUESTIONS))
    check(json.loads(told), over_http)


@pytest.mark.slow
def test_the_example_of_the_documentation(base: str) -> None:
    """As it stands, after the line that Node needs, with the address replaced."""
    source = 'globalThis.XMLHttpRequest = require("xhr2");\n' + EXAMPLE.code.replace(BASE, base)
    assert run(node(), "-", cwd=workshop(), input=source) == f"{PRINTED.code}\n"


@pytest.mark.slow
def test_the_example_with_a_key(base: str) -> None:
    """A key that nobody made is refused, so the header is what the gateway reads."""
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


@pytest.mark.slow
def test_in_a_page_of_another_origin(
    base: str, over_http: dict[str, tuple[dict[str, Any], str | None]], tmp_path: Path
) -> None:
    browser = chromium()
    with page_server(workshop(), base) as (origin, told), browsing(browser, f"{origin}/page.html", tmp_path):
        answer = told.get(timeout=60)
    assert "failed" not in answer, answer["failed"]
    assert answer["origin"] == origin != base
    check(answer["answers"], over_http)


class Pages(SimpleHTTPRequestHandler):
    """Serves the workshop's files, and takes what the page tells."""

    def __init__(self, *args: Any, base: str, told: Queue[Any], **kwargs: Any) -> None:
        self.base, self.told = base, told
        super().__init__(*args, **kwargs)

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def do_GET(self) -> None:
        if self.path == "/page.html":
            page = (Path(self.directory) / "page.html").read_text()
            self.answer(page.replace("IMPORTS", import_map()), "text/html")
        elif self.path == "/questions.json":
            self.answer(json.dumps({"base": self.base, "questions": QUESTIONS}), "application/json")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self.told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer("", "text/plain")

    def answer(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@contextmanager
def page_server(folder: Path, base: str) -> Iterator[tuple[str, Queue[Any]]]:
    """An origin of its own, and what its page tells."""
    told: Queue[Any] = Queue()
    handler = partial(Pages, directory=str(folder), base=base, told=told)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{pages.server_address[1]}", told
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
