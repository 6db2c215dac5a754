"""The public answers of the sandbox at one fixed moment, recorded byte for byte.

A refactoring must not move a byte of them: ``test_recorded_answers.py`` sends everything again, and prints
the fields that differ. A change that is meant to be seen is recorded again, and the difference of the file is
part of its review::

    python -m tests.contract.recorded_answers

Other answers of a gateway that reads strictly (``COMPAT_CLIENTS=0``) are recorded apart.

Nothing of the application is imported here but ``create_app``, so the same file works with any version.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask
from flask_migrate import upgrade

from app import create_app
from app.sandbox.catalogue import BLOCKED_CALLER
from config import Settings

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDED = Path(__file__).parent / "recorded" / "answers.json"
STRICT = RECORDED.with_name("answers_read_strictly.json")
"""Those of a gateway with ``COMPAT_CLIENTS=0``, where they differ."""
SANDBOX = ROOT / "docs" / "sandbox.md"
WITH_LATENCIES = (
    (1, 56), (56, 1), (1, 42161), (42161, 1), (250, 42161), (1, 8453), (56, 42161), (42161, 43114),
)  # fmt: skip

NOW = datetime(2026, 11, 21, 14, 5, 6, 700, tzinfo=UTC)
TOKEN = "recorded-answers-token"
NEVER_THE_SAME = {"Date", "X-Request-Id"}
OF_THE_RELEASE = re.compile(r'("(?:version|schema)":")(?:\d+\.\d+\.\d+|\d{4})(")')
"""Of /version. Releases and migrations change it; tests/api/test_version.py compares it."""
LONGEST = 100_000
"""Characters of a command's output that are recorded in full."""

Request = dict[str, Any]
Answer = dict[str, Any]

STATUS, ESTIMATE = "/v2/getTransferStatus", "/v2/estimateAmt"
LATENCY = "/v2/getLatest7DayTransferLatencyForQuery"
GRPC = "/sgn.gateway.v1.Web/"
COMPLETED = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
SENDER = "0x" + "5a" * 20
UNKNOWN_ID = "0x" + "ab" * 32
QUOTE = "src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000"

COMMANDS = (("network", "export"), ("events", "export"), ("audit", "verify"))


def sandbox_app(folder: Path, **changes: object) -> Flask:
    """As ``sandbox_on`` says, on a new SQLite database in the folder."""
    return sandbox_on(f"sqlite:///{folder / 'gateway.db'}", **changes)


def sandbox_on(url: str, **changes: object) -> Flask:
    """An application as ``app_on`` says on a database, which is migrated, its sandbox loaded."""
    app = app_on(url, **changes)
    with app.app_context():
        upgrade(directory=str(ROOT / "migrations"))
    loaded = app.test_cli_runner().invoke(args=["sandbox", "load"])
    assert loaded.exit_code == 0, f"{loaded.exception}: {loaded.output}"
    return app


def app_on(url: str, **changes: object) -> Flask:
    """An application on a database, its clock at NOW.

    :param changes: of the settings; what is not named here has its default.
    """
    values: dict[str, Any] = {
        "doors": ("api", "grpcweb", "ingest"),
        "database_url": url,
        "secret_key": "recorded answers, 32 characters or more",
        "audit_key": "recorded answers, 32 characters or more",
        "config_max_age_seconds": 0,
        "ingest_tokens": (TOKEN,),
        "estimate_counts_seconds": 0,
    }
    return create_app(Settings(**(values | changes)), clock=lambda: NOW)


def send_request(app: Flask, request: Request) -> Answer:
    """Send one recorded request: its status, headers and body."""
    if "command" in request:
        result = app.test_cli_runner().invoke(args=request["command"])
        return {"exit": result.exit_code, "output": _short(result.stdout)}
    body = base64.b64decode(request["base64"]) if "base64" in request else request.get("body", "").encode()
    response = app.test_client().open(
        request["path"],
        method=request["method"],
        data=body,
        headers=request.get("headers", {}),
        environ_overrides={"REMOTE_ADDR": request.get("caller", "127.0.0.1")},
    )
    try:
        text = {"body": OF_THE_RELEASE.sub(r"\1…\2", response.data.decode())}
    except UnicodeDecodeError:
        text = {"base64": base64.b64encode(response.data).decode()}
    headers = {name: value for name, value in response.headers.items() if name not in NEVER_THE_SAME}
    if headers.pop("Last-Modified", None):  # a file: its ETag is its time, too
        headers.pop("ETag")
    return {"status": response.status_code, "headers": headers, **text}


def _short(output: str) -> str:
    """An export as it is; a long one by its digest, so that the recording stays readable."""
    if len(output) <= LONGEST:
        return output
    return f"{len(output)} characters, SHA-256 {hashlib.sha256(output.encode()).hexdigest()}"


def requests() -> Iterator[Request]:
    """Every row of docs/sandbox.md over both interfaces, malformed requests, documents, exports."""
    text = SANDBOX.read_text(encoding="utf-8")
    ids = re.findall(r"`(0x[0-9a-f]{64})`", text)
    for transfer_id in [*ids, UNKNOWN_ID]:
        yield _post(STATUS, {"transfer_id": transfer_id})
        yield _get(f"/v2/getRefundEvidence?transfer_id={transfer_id}")
        yield _grpc("GetTransferStatus", _text(1, transfer_id))
        yield _get(f"/v2/getTransfer?key={transfer_id}")
    yield _post("/v2/getTransferStatuses", {"transfer_ids": [*ids, UNKNOWN_ID]})
    yield from _histories()
    for query in re.findall(r"`(src_chain_id=[^`]*)`", text):
        yield _get(f"{ESTIMATE}?{query}")
        yield _grpc("EstimateAmt", _estimate_message(query))
        yield {"method": "POST", "path": ESTIMATE, "headers": _FORM, "body": query}
    for more in ("", f"&nonce=7&sender={SENDER}", f"&sender={SENDER}&usr_addr=a"):
        yield _get(f"/v2/getSendTransaction?{QUOTE}{more}")
    yield from _explained()
    yield from _twins(ids)
    yield {**_get(f"{ESTIMATE}?{QUOTE}"), "caller": BLOCKED_CALLER}
    for src, dst in (*WITH_LATENCIES, (1, 1), (10, 56), (1, 9)):
        yield _get(f"{LATENCY}?src_chain_id={src}&dst_chain_id={dst}")
        yield _get(f"/v2/getTransferLatencyStats?src_chain_id={src}&dst_chain_id={dst}&token_symbol=")
        yield _get(f"/v2/getTransferLatencyStats?src_chain_id={src}&dst_chain_id={dst}&token_symbol=USDT")
        yield _grpc(LATENCY.removeprefix("/v2/g").join(["G", ""]), _number(1, src) + _number(2, dst))
    for path in ("getTransferConfigs", "getTransferConfigsForAll"):
        yield _get(f"/v2/{path}")
        yield _get(f"/v1/{path}")
        yield _grpc(path.replace("get", "Get"), b"")
    for query in (
        "chain_id=1&token_symbol=USDT",
        "chain_id=1&token_symbol=usdt",
        "chain_id=9&token_symbol=X",
    ):
        yield _get(f"/v2/getTokenInfo?{query}")
        yield _get(f"/v1/getTokenInfo?{query}")
    yield _grpc("GetTokenInfo", _number(1, 1) + _text(2, "USDT"))
    yield _get(f"{STATUS}?transfer_id={COMPLETED}")
    yield from (_get("/v2/webhooks"), _post("/v2/webhooks", {"url": "https://example.org/"}))
    yield {"method": "DELETE", "path": "/v2/webhooks?id=whk_0"}
    for path in (
        "/openapi.json",
        "/docs",
        "/healthz",
        "/readyz",
        "/version",
        "/",
        "/v2/nothing",
        GRPC + "Nothing",
    ):
        yield _get(path)
    yield from _malformed()
    yield from _ingested()
    for command in COMMANDS:
        yield {"command": list(command)}


def _explained() -> Iterator[Request]:
    """Explanations that need only the configuration: the age of facts is another each time."""
    pegged = (
        "src_chain_id=56&dst_chain_id=42161&token_symbol=AI&amt=50000000000000000000000&slippage_tolerance=1"
    )
    for query in (pegged, pegged.replace("amt=5", "amt="), pegged.replace("=42161", "=56"), "amt=1"):
        yield _get(f"/v2/explainEstimate?{query}")
    yield {**_get(f"/v2/explainEstimate?{pegged}"), "caller": BLOCKED_CALLER}


def _twins(ids: list[str]) -> Iterator[Request]:
    """The operations under /v1, and an estimate by JSON."""
    twin = "/v1/"
    yield _post(STATUS.replace("/v2/", twin), {"transfer_id": ids[0]})
    yield _post(STATUS.replace("/v2/", twin), {"transfer_id": 1})
    yield _get(f"{twin}estimateAmt?{QUOTE}")
    yield _get(f"{twin}getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56")
    yield _get(f"{twin}getRefundEvidence?transfer_id={ids[0]}")
    fields = {"src_chain_id": 1, "dst_chain_id": 56, "token_symbol": "USDT", "slippage_tolerance": 3000}
    for path in (ESTIMATE, f"{twin}estimateAmt"):
        for changes in ({"amt": "1000000"}, {"amt": 1000000}, {"amt": "1", "is_pegged": None}, {}):
            yield _post(path, fields | changes)
        yield {"method": "POST", "path": path, "headers": _FORM, "body": QUOTE}


def _histories() -> Iterator[Request]:
    """Accounts of the sandbox: one of a hundred latencies, some of single transfers, one of nobody."""
    busy, single, other = (f"0x{'5a' * 18}{n:04x}" for n in (0x64, 1, 2))
    for query in (
        f"acct_addr[]={busy}&page_size=3", f"acct_addr%5B%5D={busy.upper()}&page_size=2",
        f"acct_addr[]={single}&acct_addr[]={other}&page_size=10", f"acct_addr={single},{other}&page_size=1",
        f"addr={single}&page_size=0", f"addr={single}",
        f"addr={busy}&page_size=3&next_page_token=1795264920000",
        f"addr={busy}&page_size=1000&next_page_token=1", "addr=nobody&page_size=10",
        "page_size=10", f"addr={single}&page_size=-1", f"addr={single}&page_size=1&next_page_token=soon",
        f"addr={'x' * 129}&page_size=1",
    ):  # fmt: skip
        yield _get(f"/v2/transferHistory?{query}")
    yield _get(f"/v1/transferHistory?acct_addr[]={single}&page_size=1")
    yield _grpc("TransferHistory", _number(2, 3) + _text(4, single) + _text(4, busy))
    yield _grpc("TransferHistory", _text(1, "1795264920000") + _number(2, 2) + _text(3, busy))
    yield _grpc("TransferHistory", _number(2, 3))
    sent = "0xaf86c7e00c207ea213b40b4112270e212675f5557b13a04f6cd6127743c3f8d3"
    for query in (
        f"key={sent}",
        f"key={sent[2:].upper()}&chain_id=1",
        f"key={sent}&chain_id=56",
        "",
        "key=a+b",
    ):
        yield _get(f"/v2/getTransfer?{query}")
    for body in (
        {"tx_hash": sent, "src_chain_id": 1}, {"tx_hash": sent, "src_chain_id": "56"}, {"tx_hash": sent},
        {"src_chain_id": 1}, {"tx_hash": "a b", "src_chain_id": 1},
    ):  # fmt: skip
        yield _post(STATUS, body)
    for ids in ([], ["0x12"], [UNKNOWN_ID] * 101):
        yield _post("/v2/getTransferStatuses", {"transfer_ids": ids})


def _malformed() -> Iterator[Request]:
    for body in (
        "",
        "{",
        "[]",
        "{}",
        '{"transfer_id": 1}',
        '{"transfer_id": "0x12"}',
        '{"transfer_id": null}',
    ):
        yield {"method": "POST", "path": STATUS, "headers": _JSON, "body": body}
    yield {"method": "POST", "path": STATUS, "headers": {"Content-Type": "text/plain"}, "body": "{}"}
    yield {"method": "POST", "path": STATUS, "headers": _JSON, "body": " " * 65537}
    yield _get(STATUS)
    yield _get(f"{STATUS}?tx_hash={UNKNOWN_ID}")
    yield _get("/v2/getTokenInfo?chain_id=1")
    for method in ("POST", "DELETE", "OPTIONS"):
        yield {"method": method, "path": f"{ESTIMATE}?{QUOTE}", "headers": {"Origin": "https://example.org"}}
    for old, new in (
        ("amt=1000000", "amt=1e6"), ("amt=1000000", "amt=-1"), ("amt=1000000", ""),
        ("src_chain_id=1&", ""), ("src_chain_id=1", "src_chain_id=4294967296"), ("3000", "1.5"),
        ("src_chain_id=1", "src_chain_id=1&src_chain_id=1"), ("USDT", "%FF"),
        ("3000", "3000&is_pegged=maybe"),
        ("amt=1000000", f"amt={1 << 256}"), ("3000", f"3000&usr_addr={'x' * 129}"),
    ):  # fmt: skip
        yield _get(f"{ESTIMATE}?{QUOTE.replace(old, new)}")
    yield _get(f"{LATENCY}?src_chain_id=1")
    yield _get("/v2/getRefundEvidence?transfer_id=0x12")
    for raw in (b"", b"\0\0\0\0", b"\0\0\0\0\5\x0a", b"\x80\0\0\0\0"):
        yield _grpc_bytes("GetTransferStatus", raw)
    yield _grpc("EstimateAmt", b"")


def _ingested() -> Iterator[Request]:
    lines = (
        "not json", "{}", '{"id":"a","type":"no.such","at":"2026-11-21T14:00:00Z"}',
        '{"id":"recorded-1","type":"chain.head","at":"2026-11-21T14:00:00Z","chain_id":1,"block":99999999}',
        '{"id":"recorded-1","type":"chain.head","at":"2026-11-21T14:00:00Z","chain_id":1,"block":99999999}',
        '{"id":"recorded-1","type":"chain.head","at":"2026-11-21T14:00:00Z","chain_id":1,"block":7}',
        '{"id":"recorded-2","type":"chain.reorged","at":"2026-11-21T14:00:00Z","chain_id":1,"from_block":1}',
        '{"id":"recorded-3","type":"chain.head","at":"2027-11-21T14:00:00Z","chain_id":1,"block":7}',
        f'{{"id":"recorded-4","type":"refund.signed","at":"2026-11-21T14:00:00Z","transfer_id":"0x{8:064x}",'
        f'"signature":"{base64.b64encode(bytes(65)).decode()}"}}',
        f'{{"id":"recorded-5","type":"refund.prepared","at":"2026-11-21T14:00:00Z","transfer_id":"0x{8:064x}",'
        '"wd_onchain":"AAAA"}',
    )  # fmt: skip
    path, kind = "/ingest/v1/events", "application/x-ndjson"
    yield {"method": "POST", "path": path, "headers": {"Content-Type": kind}, "body": "\n".join(lines)}
    headers = {"Content-Type": kind, "Authorization": f"Bearer {TOKEN}"}
    yield {"method": "POST", "path": path, "headers": headers, "body": "\n".join(lines)}
    yield {"method": "POST", "path": path, "headers": headers | {"Content-Type": "text/html"}, "body": ""}


_JSON = {"Content-Type": "application/json"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _get(path: str) -> Request:
    return {"method": "GET", "path": path}


def _post(path: str, body: Any) -> Request:
    return {"method": "POST", "path": path, "headers": _JSON, "body": json.dumps(body)}


def _grpc(method: str, message: bytes) -> Request:
    return _grpc_bytes(method, b"\0" + len(message).to_bytes(4, "big") + message)


def _grpc_bytes(method: str, body: bytes) -> Request:
    return {
        "method": "POST",
        "path": GRPC + method,
        "headers": {"Content-Type": "application/grpc-web+proto"},
        "base64": base64.b64encode(body).decode(),
    }


def _estimate_message(query: str) -> bytes:
    """EstimateAmtRequest, written by hand: the recorded bytes must not depend on the application."""
    values = dict(part.split("=") for part in query.split("&"))
    message = _number(1, int(values["src_chain_id"])) + _number(2, int(values["dst_chain_id"]))
    message += _text(3, values["token_symbol"]) + _text(4, values["amt"])
    message += _text(5, values["usr_addr"]) if "usr_addr" in values else b""
    message += _number(6, int(values["slippage_tolerance"]))
    return message + (_number(7, 1) if values.get("is_pegged") == "true" else b"")


def _number(field: int, value: int) -> bytes:
    return bytes([field << 3]) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return bytes([field << 3 | 2]) + _varint(len(value)) + value.encode()


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def record() -> None:
    """Send everything and write the answers."""
    exchanges = _exchanges()
    strictly = [each for each in _exchanges(compat_clients=False) if each not in exchanges]
    RECORDED.parent.mkdir(exist_ok=True)
    for path, answered in ((RECORDED, exchanges), (STRICT, strictly)):
        text = json.dumps(answered, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")


def _exchanges(**changes: object) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        app = sandbox_app(Path(folder), **changes)
        return [{"request": request, "answer": send_request(app, request)} for request in requests()]


@cache
def own_of_tokens() -> tuple[str, ...]:
    """Fields of a token in the transfer configs that are our own, in order: those of our recorded answer
    that the recorded answer of production does not have.
    """
    theirs = json.loads((RECORDED.parents[1] / "vectors" / "transfer_configs_testnet.json").read_text())
    path = "/v2/getTransferConfigs"
    recorded = json.loads(RECORDED.read_text())
    ours = next(each["answer"]["body"] for each in recorded if each["request"].get("path") == path)
    return tuple(name for name in _token_of(json.loads(ours)) if name not in _token_of(theirs))


def _token_of(answer: Any) -> dict[str, Any]:
    """A token of an answer with the transfer configs."""
    token: dict[str, Any] = next(each["token"][0] for each in answer["chain_token"].values() if each["token"])
    return token


if __name__ == "__main__":
    record()
