"""What a browser is told with each answer, of whichever door."""

from __future__ import annotations

import pytest
from flask import Flask

from app.domain.operators import Role
from tests.admin.visitor import signed_in


def paths(app: Flask) -> list[str]:
    """A path of each route, with something in its variable parts."""
    rules = {rule.rule: rule for rule in app.url_map.iter_rules()}
    adapter = app.url_map.bind("localhost")
    return [adapter.build(rule.endpoint, dict.fromkeys(rule.arguments, 1)) for rule in rules.values()]


def test_no_answer_can_be_framed_or_taken_for_another_type(app: Flask) -> None:
    visitor = signed_in(app, Role.ADMIN)
    asked = [*paths(app), "/nothing", "/admin/nothing", "/v2/nothing", "/docs/assets/nothing"]
    assert len(asked) > 60
    for path in asked:
        for method in ("GET", "POST"):
            answer = visitor.client.open(path, method=method, environ_base=visitor.environ)
            if not answer.data:
                continue
            assert answer.headers["X-Content-Type-Options"] == "nosniff", (method, path)
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"], (method, path)


def test_a_refused_page_is_logged_with_who_asked(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    visitor = signed_in(app, Role.VIEWER)
    assert visitor.get("/admin/operators/").status_code == 403
    assert "GET /admin/operators/ refused to viewer@" in caplog.text
