"""The pages over HTTP: what stands on them, their headers, and every way in which they fail."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.exc import OperationalError

from app.db.replica import PublicReads
from app.sandbox.catalogue import SANDBOX_TRANSFERS, sandbox_id
from app.values.codes import TransferHistoryStatus as Status
from tests.api.world import event, released, report_events, sent
from tests.applications import OpenApp

ROOT = Path(__file__).parents[2]
ID, OTHER, UNKNOWN = "0x" + "5a" * 32, "0x" + "5b" * 32, "0x" + "99" * 32
SEND, PAYOUT = "0x" + "ab" * 32, "0x" + "cd" * 32


def read(answer: Any) -> str:
    """The words on a page, without the markup."""
    body = answer.text.partition("<main")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def heading(answer: Any) -> str:
    found = re.findall(r"<h1>(.*?)</h1>", answer.text)
    assert len(found) == 1
    return html.unescape(found[0])


def assert_page(answer: Any, status: int = 200) -> None:
    """A whole page that no cache stores, no engine indexes and nothing from elsewhere is loaded for."""
    assert answer.status_code == status
    assert answer.content_type == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Robots-Tag"] == "noindex"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert "Set-Cookie" not in answer.headers
    assert answer.headers["Vary"] == "Accept-Language, Cookie" and answer.headers["Content-Language"] == "en"
    assert "Access-Control-Allow-Origin" not in answer.headers
    for attribute in re.findall(r'\s(?:src|href)="([^"]*)"', answer.text.partition("<body>")[0]):
        assert attribute.startswith("/pages/static/"), attribute
    assert not re.search(r"\sstyle=|\son[a-z]+=|<style|<script(?![^>]*src=)", answer.text)


def test_late_transfer_is_reported_without_figures(app: Flask) -> None:
    """Between chains where nothing was paid out lately the usual time is unknown."""
    late, in_time = "It takes longer than it should.", "0x" + "5c" * 32
    report_events(app, sent(ID, timedelta(hours=2)), sent(in_time, timedelta(minutes=50)))
    assert late in read(app.test_client().get(f"/transfer/{ID}"))
    assert late not in read(app.test_client().get(f"/transfer/{in_time}"))


def test_every_sandbox_transfer_has_page(sandbox: FlaskClient) -> None:
    seen = set()
    for transfer in SANDBOX_TRANSFERS:
        answer = sandbox.get(f"/transfer/{transfer.transfer_id}")
        assert_page(answer)
        seen.add(transfer.status)
        words = read(answer)
        over = transfer.status in (
            Status.TRANSFER_FAILED,
            Status.TRANSFER_COMPLETED,
            Status.TRANSFER_REFUNDED,
        )
        assert ("http-equiv" in answer.text) == ("data-next-poll" in answer.text) == (not over)
        assert ("What now?" in words) == over
        assert ("Request the refund" in words) == (
            transfer.status in (Status.TRANSFER_TO_BE_REFUNDED, Status.TRANSFER_REQUESTING_REFUND)
        )
        assert ('method="post"' in answer.text) == (transfer.status == Status.TRANSFER_TO_BE_REFUNDED)
        assert ("Confirm the refund yourself" in words) == (
            transfer.status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
        )
        assert f'data-status="{transfer.status.value}"' in answer.text
        assert transfer.transfer_id in words and "None" not in words
        assert answer.text.count('aria-current="step"') <= 2
    assert seen == set(Status)


def test_the_call_can_be_copied(sandbox: FlaskClient) -> None:
    wanted = sandbox_id(Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
    answer = sandbox.get(f"/transfer/{wanted}")
    evidence = sandbox.get(f"/v2/getRefundEvidence?transfer_id={wanted}").get_json()
    copied = dict(re.findall(r'<pre id="([a-z0-9-]+)"[^>]*>(.*?)</pre>', answer.text))
    assert copied["contract"] == evidence["contract"]
    assert copied["data"] == evidence["call"]["data"]
    for number, argument in enumerate(evidence["call"]["arguments"], 1):
        value = argument["value"]
        text = value if isinstance(value, str) else f"[{','.join(value)}]"
        assert copied[f"argument-{number}"] == text
    assert copied["transfer-id"] == wanted
    assert "chain 1)" in read(answer)


def test_one_address_for_each_transfer(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID), released(ID, timedelta(seconds=5)))
    for key in (ID[2:], ID.upper().replace("0X", "0x"), SEND, PAYOUT, SEND[2:].upper()):
        answer = client.get(f"/transfer/{key}")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/transfer/{ID}"), key
        assert answer.headers["Cache-Control"] == "no-store"
    assert_page(client.get(f"/transfer/{ID}"))
    assert client.get("/transfer").headers["Location"].endswith("/transfer/")


def test_several_transfers_of_a_transaction_are_listed(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID), sent(OTHER))
    answer = client.get(f"/transfer/{SEND}")
    assert_page(answer)
    assert heading(answer) == "This transaction belongs to several transfers"
    assert sorted(re.findall(r'<li><a href="/transfer/([^"]+)"', answer.text)) == [ID, OTHER]


def test_typed_key_leads_to_transfer(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID))
    answer = client.get("/transfer/", query_string={"key": f"I sent it with {SEND.upper()}, where is it?"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/transfer/{SEND}")


def test_unreadable_key_is_reported_at_field(client: FlaskClient) -> None:
    form = client.get("/transfer/")
    assert_page(form)
    assert "aria-invalid" not in form.text
    answer = client.get("/transfer/", query_string={"key": "https://x.example/<b>"})
    assert_page(answer, 400)
    assert 'aria-invalid="true" aria-describedby="key-problem"' in answer.text
    assert 'value="https://x.example/&lt;b&gt;"' in answer.text
    assert_page(client.get("/transfer/not/a.key"), 404)


def test_unknown_transfer_names_what_to_check(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID, timedelta(seconds=30), block=2100))
    answer = client.get(f"/transfer/{UNKNOWN}")
    assert_page(answer, 404)
    assert heading(answer) == "We have not seen this transfer yet"
    words = read(answer)
    assert UNKNOWN in words and "Ethereum, block 2 100, 30 s ago" in words
    assert 'data-next-poll="15"' in answer.text and 'http-equiv="refresh" content="15"' in answer.text


def test_names_are_escaped(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID, receiver="<img src=x>", sender="<script>1</script>"))
    answer = client.get(f"/transfer/{ID}")
    assert_page(answer)
    assert "<img src=x>" not in answer.text and "&lt;img src=x&gt;" in answer.text


def test_button_requests_refund_once(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID), event("network.status", transfer_id=ID, xfer_status=4))
    assert 'data-status="6"' in client.get(f"/transfer/{ID}").text
    for _ in range(2):
        answer = client.post(f"/transfer/{ID}/refund")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/transfer/{ID}")
    answer = client.get(f"/transfer/{ID}")
    assert heading(answer) == "Your refund is being prepared"
    report_events(app, sent(OTHER), released(OTHER, timedelta(seconds=5)))
    for no_refund in (OTHER, UNKNOWN):
        assert client.post(f"/transfer/{no_refund}/refund").status_code == 303
    assert_page(client.post("/transfer/0x12/refund"), 404)
    assert_page(client.post(f"/transfer/{ID}"), 405)


def test_text_names_button_that_page_shows(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID), event("network.status", transfer_id=ID, xfer_status=4))
    shown = read(client.get(f"/transfer/{ID}"))
    assert "press “Request the refund” below" in shown
    assert "open the transfer in the app" not in shown
    elsewhere = client.get("/v2/getTransfer", query_string={"key": ID, "lang": "en"}).text
    assert "open the transfer in the app" in elsewhere
    assert "below" not in elsewhere


def test_button_is_limited_per_client(open_app: OpenApp) -> None:
    client = open_app(refund_request_limit="1/minute").test_client()
    assert client.post(f"/transfer/{UNKNOWN}/refund").status_code == 303
    answer = client.post(f"/transfer/{UNKNOWN}/refund")
    assert_page(answer, 429)
    assert int(answer.headers["Retry-After"]) > 0 and "http-equiv" not in answer.text
    assert "Your refund may not be requested yet" in answer.text and "This page tries" not in answer.text


def test_page_is_refused_over_rate_limit(open_app: OpenApp) -> None:
    client = open_app(rate_limit="1/minute").test_client()
    assert_page(client.get("/transfer/"))
    answer = client.get(f"/transfer/{ID}")
    assert_page(answer, 429)
    assert heading(answer) == "Too many requests from your connection"
    seconds = int(answer.headers["Retry-After"])
    assert f'data-next-poll="{max(seconds, 10)}"' in answer.text
    styles = re.findall(r'href="(/pages/static/page.css[^"]*)"', answer.text)
    assert client.get(styles[0]).status_code == 200


def test_page_is_refused_without_database(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("SELECT 1", {}, Exception("a secret"))

    monkeypatch.setattr(PublicReads, "run_reads", fail)
    answer = client.get(f"/transfer/{ID}")
    assert_page(answer, 503)
    assert heading(answer) == "We cannot show your transfer at the moment"
    assert "a secret" not in answer.text and answer.headers["Retry-After"] == "1"
    assert 'http-equiv="refresh" content="10"' in answer.text
    monkeypatch.setattr(PublicReads, "run_reads", lambda *_: 1 / 0)
    failed = client.get(f"/transfer/{ID}")
    assert_page(failed, 500)
    assert "division" not in failed.text and "http-equiv" not in failed.text


def test_help_and_refund_links_are_shown(open_app: OpenApp, app: Flask) -> None:
    report_events(app, sent(ID), event("network.status", transfer_id=ID, xfer_status=4))
    plain = app.test_client().get(f"/transfer/{ID}").text
    assert "Get help" not in plain and "request it in the app" not in plain
    links = {"support_url": "mailto:help@example.org", "refund_url": "https://app.example/r?id={transfer_id}"}
    answer = open_app(**links).test_client().get(f"/transfer/{ID}")
    assert_page(answer)
    assert f'href="https://app.example/r?id={ID}"' in answer.text
    assert answer.text.count('href="mailto:help@example.org"') == 2


def test_page_waits_where_that_is_served(open_app: OpenApp, app: Flask) -> None:
    report_events(app, sent(ID))
    served: list[tuple[dict[str, Any], bool]] = [
        ({}, False), ({"doors": ("api", "wait")}, True), ({"trusted_proxies": 1}, True)
    ]  # fmt: skip
    for settings, waits in served:
        client = open_app(**settings).test_client()
        for address in (f"/transfer/{ID}", f"/transfer/{UNKNOWN}"):
            page = client.get(address).text
            assert ('<main id="content" tabindex="-1" data-waits="/v2/waitTransferStatus" ' in page) == waits


def test_files_are_cached_by_digest(client: FlaskClient) -> None:
    page = client.get("/transfer/").text
    for address in re.findall(r'(/pages/static/[^"]+\?v=[0-9a-f]{12})', page):
        answer = client.get(address)
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert client.get(address.partition("?")[0]).headers["Cache-Control"] == "no-store"


def test_page_is_missing_without_interface(open_app: OpenApp) -> None:
    client = open_app(doors=("ingest",)).test_client()
    answer = client.get("/transfer/")
    assert (answer.status_code, answer.is_json) == (404, True)


def test_other_errors_are_json(client: FlaskClient) -> None:
    assert client.get("/transfers").is_json and client.get("/v2/nothing").is_json


def test_page_looks_like_console() -> None:
    """The same colours and the same mark; each interface serves its own files."""

    def palettes(path: str) -> list[set[str]]:
        css = (ROOT / path).read_text()
        blocks = re.findall(r":root[^{]*\{([^}]*)\}", css)
        return [set(re.findall(r"--[a-z-]+: #[0-9a-f]{6}", block)) for block in blocks]

    light, dark, *_ = palettes("app/console/static/console.css")
    own_light, own_dark = palettes("app/transfer_page/static/page.css")
    assert own_light and own_light <= light
    assert own_dark and own_dark <= dark
    icons = {(ROOT / "app" / door / "static/icon.svg").read_bytes() for door in ("console", "transfer_page")}
    assert len(icons) == 1
