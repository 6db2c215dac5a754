"""Headers of every response, of each interface, and which responses are compressed."""

from __future__ import annotations

import gzip
from inspect import iscoroutinefunction
from itertools import chain

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from tests.console.visitor import Visitor, signed_in


def paths(app: Flask) -> list[tuple[str, str]]:
    """A method and a path of each route, with something in its variable parts."""
    rules = {rule.rule: rule for rule in app.url_map.iter_rules()}
    adapter = app.url_map.bind("localhost")
    return [
        (
            "GET" if "GET" in (rule.methods or ()) else "POST",
            adapter.build(rule.endpoint, dict.fromkeys(rule.arguments, 1)),
        )
        for rule in rules.values()
    ]


def test_no_answer_can_be_framed_or_sniffed(app: Flask, admin: Visitor) -> None:
    """Every route's answer, to GET if it has it, and what answers unknown addresses."""
    unknown = ("/nothing", "/admin/nothing", "/v2/nothing", "/docs/nothing", "/docs/try/nothing")
    requested = paths(app)
    assert len(requested) > 60
    for method, path in [*requested, *(("GET", path) for path in unknown), ("POST", "/admin/nothing")]:
        answer = admin.client.open(path, method=method, environ_base=admin.environ)
        if not answer.data:
            continue
        headers, place = answer.headers, (method, path)
        assert headers["X-Content-Type-Options"] == "nosniff", place
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], place
        if path.startswith("/admin"):
            assert "unsafe" not in headers["Content-Security-Policy"], place
            assert "no-store" in headers["Cache-Control"], place
            assert "Access-Control-Allow-Origin" not in headers, place


def test_refused_page_logs_the_account(caplog: pytest.LogCaptureFixture, viewer: Visitor) -> None:
    assert viewer.get("/admin/operators/").status_code == 403
    assert "GET /admin/operators/ refused to viewer@" in caplog.text


def test_no_view_or_hook_is_coroutine(app: Flask) -> None:
    """The application spares Flask's own look at each of them, so none may need it."""
    hooks = (app.before_request_funcs, app.after_request_funcs, app.teardown_request_funcs)
    hooked = [function for kind in hooks for functions in kind.values() for function in functions]
    functions = [*chain(app.view_functions.values(), hooked, app.teardown_appcontext_funcs)]
    assert len(functions) > 100
    assert [function for function in functions if iscoroutinefunction(function)] == []


def test_console_is_compressed(viewer: Visitor) -> None:
    for path, site in (("/admin/transfers/", "same-origin"), ("/admin/static/console.css", "none")):
        plain = viewer.get(path)
        packed = viewer.get(path, headers={"Accept-Encoding": "gzip, br", "Sec-Fetch-Site": site})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.content_length == len(packed.data) < len(plain.data) / 2
        assert gzip.decompress(packed.data)[:200] == plain.data[:200]
        assert {"Accept-Encoding", "Sec-Fetch-Site"} <= set(packed.vary)


def test_part_of_file_is_sent_uncompressed(app: Flask) -> None:
    part = {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "same-origin", "Range": "bytes=0-4999"}
    answer = signed_in(app, Role.VIEWER).get("/admin/static/console.css", headers=part)
    assert (answer.status_code, len(answer.data)) == (206, 5000)
    assert "Content-Encoding" not in answer.headers


def test_no_other_site_gets_a_compressed_page(viewer: Visitor) -> None:
    """Its length would reveal its content (docs/security.md#compressed)."""
    for headers in (
        {"Accept-Encoding": "gzip"},
        {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "cross-site"},
        {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "same-site"},
        {"Accept-Encoding": "br", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin"},
    ):
        answer = viewer.get("/admin/transfers/", headers=headers)
        assert len(answer.data) > 1024
        assert "Content-Encoding" not in answer.headers, headers


def test_no_answer_to_a_form_is_compressed(admin: Visitor) -> None:
    """What is secret is shown once, and only there."""
    own = {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "same-origin"}
    fields = {"name": "a-reporter", "every_type": "y", "every_chain": "y"}
    made = admin.post("/admin/ingest_tokens/new", fields, headers=own)
    assert made.status_code == 200
    assert "Content-Encoding" not in made.headers
    public = admin.client.get("/v2/getTransferConfigs", headers=own)
    assert "Content-Encoding" not in public.headers
