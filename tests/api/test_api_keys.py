"""API keys and limits as callers see them, over both public interfaces."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.credentials.callers import KeyUses, RequestLimits
from app.credentials.services.issued import revoke_key
from app.credentials.services.issuing import issue, new_key
from app.http.application import part_of
from app.values.errors import Unavailable
from tests.actors import TESTER
from tests.api.shapes import CONFIGS, LATENCY, STATUS, assert_refused
from tests.api.world import configure
from tests.applications import OpenApp, audited_of, editing_of
from tests.grpcweb.wire import OK, RESOURCE_EXHAUSTED, SERVICE, Answer, frame, post, understand

UNAUTHENTICATED, PERMISSION_DENIED = 16, 7
HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
ME, OTHER = "198.51.100.7", "198.51.100.8"


def make(app: Flask, name: str = "wallet", limit: str = "", *scopes: str) -> str:
    with app.app_context():
        return issue(*editing_of(app), new_key(name, scopes or ("read",), limit), actor=TESTER).text


def revoke(app: Flask, name: str = "wallet") -> None:
    revoke_key(*audited_of(app), name, actor=TESTER)


def get(app: Flask, key: str | None = None, peer: str = ME, path: str = CONFIGS, **more: str) -> Any:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return app.test_client().get(path, headers=headers | more, environ_overrides={"REMOTE_ADDR": peer})


def call(app: Flask, key: str | None = None, peer: str = ME) -> Answer:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return post(
        app.test_client(),
        "GetTransferConfigs",
        frame(b""),
        headers=headers,
        environ_overrides={"REMOTE_ADDR": peer},
    )


def limit_of(response: Any) -> tuple[str | None, str | None]:
    """Limit and what is left, with the rest of the headers checked."""
    limit, left, reset = (response.headers.get(name) for name in HEADERS)
    assert (reset is None) == (limit is None)
    if reset is not None:
        assert 1 <= int(reset) <= 3600
    assert (response.headers.get("Retry-After") is None) == (response.status_code != 429)
    return limit, left


def test_no_limit_sends_no_headers(app: Flask) -> None:
    for response in (get(app), get(app, make(app)), get(app, path="/healthz")):
        assert response.status_code == 200
        assert limit_of(response) == (None, None)
    assert limit_of(call(app).response) == (None, None)


def test_limits_are_in_headers(open_app: OpenApp) -> None:
    app = open_app(rate_limit="2/hour")
    configure(app)
    assert [limit_of(get(app)) for _ in range(2)] == [("2", "1"), ("2", "0")]
    refused = get(app, path=LATENCY)
    assert_refused(refused, 429, "rate_limited", LATENCY)
    assert limit_of(refused) == ("2", "0")
    assert refused.headers["Retry-After"] == refused.headers["RateLimit-Reset"]
    bad = get(app, peer=OTHER, path=LATENCY)
    assert (bad.status_code, limit_of(bad)) == (400, ("2", "1")), "errors have them, too"
    answer = call(app, peer=OTHER)
    assert (answer.status, answer.response.headers["RateLimit-Remaining"]) == (OK, "0")
    answer = call(app, peer=OTHER)
    assert (answer.status, answer.reason) == (RESOURCE_EXHAUSTED, "rate_limited")
    assert answer.response.headers["Retry-After"] == answer.response.headers["RateLimit-Reset"]
    for response in (get(app, peer=OTHER), call(app, peer=OTHER).response):
        exposed = response.headers["Access-Control-Expose-Headers"].split(", ")
        assert {*HEADERS, "Retry-After"} <= set(exposed)
    for path in ("/healthz", "/openapi.json"):
        assert limit_of(get(app, path=path)) == (None, None)


def test_key_has_its_own_limit(open_app: OpenApp) -> None:
    app = open_app(rate_limit="1/hour")
    configure(app)
    key, free = make(app, "wallet", "3/hour"), make(app, "free")
    assert limit_of(get(app, key)) == ("3", "2")
    assert limit_of(get(app, key, OTHER)) == ("3", "1"), "from any address"
    assert call(app, key).response.headers["RateLimit-Remaining"] == "0"
    assert get(app, key).status_code == 429
    assert call(app, key, OTHER).status == RESOURCE_EXHAUSTED
    assert [limit_of(get(app, free)) for _ in range(3)] == [(None, None)] * 3
    # Requests with a key do not count for the address.
    assert [get(app).status_code for _ in range(2)] == [200, 429]
    assert get(app, free).status_code == 200


@pytest.mark.parametrize("limit", ["", "2/hour"])
def test_wrong_key_is_refused(open_app: OpenApp, limit: str) -> None:
    app = open_app(rate_limit=limit)
    configure(app)
    key = make(app)
    for wrong, words in (("gwk_" + "0" * 59, "unknown or revoked"), (key[:-1], "malformed")):
        response = get(app, wrong, path=LATENCY)
        assert_refused(response, 401, "unauthorized", LATENCY)
        assert words in response.json["err"]["msg"]
        assert "leave the Authorization header out" in response.json["err"]["msg"]
        assert response.headers["WWW-Authenticate"] == "Bearer"
        answer = call(app, wrong, OTHER)
        assert (answer.status, answer.reason) == (UNAUTHENTICATED, "unauthorized")
        assert words in answer.text
    # A guess counts as a request without a key.
    assert get(app, wrong, path=LATENCY).status_code == (429 if limit else 401)
    assert get(app, key).status_code == 200


def test_revoked_key_is_refused(app: Flask) -> None:
    key = make(app)
    assert get(app, key).status_code == 200
    revoke(app)
    assert_refused(get(app, key), 401, "unauthorized", CONFIGS)
    assert call(app, key).status == UNAUTHENTICATED


@pytest.mark.parametrize("value", ["Basic Og==", "Bearer eyJhbGciOi.J9", "Bearer", "gwk_x", "Bearer gwi_x"])
def test_other_authorization_is_ignored(app: Flask, value: str) -> None:
    assert get(app, Authorization=value).status_code == 200


def test_key_is_refused_without_scope(app: Flask) -> None:
    key = make(app, "hooks", "", "webhooks")
    response = get(app, key, path=LATENCY)
    assert_refused(response, 403, "insufficient_scope", LATENCY)
    assert "lacks the scope read" in response.json["err"]["msg"]
    assert (call(app, key).status, call(app, key).reason) == (PERMISSION_DENIED, "insufficient_scope")


def test_paths_that_ignore_keys(app: Flask) -> None:
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert get(app, "gwk_wrong", path=path).status_code == 200
    assert app.test_client().options(STATUS, headers={"Authorization": "Bearer gwk_wrong"}).status_code == 204
    preflight = app.test_client().options(f"{SERVICE}EstimateAmt", headers={"Authorization": "Bearer gwk_x"})
    assert preflight.status_code == 200
    assert get(app, "gwk_wrong", path="/v2/nothing").status_code == 404
    feed = app.test_client().post("/ingest/v1/events", headers={"Authorization": "Bearer gwk_x"})
    assert feed.status_code == 401
    assert limit_of(feed) == (None, None)


def test_uses_are_counted(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(own=True)
    configure(app)
    counted: list[tuple[int, bool]] = []
    monkeypatch.setattr(part_of(app, KeyUses), "_add", counted.append)
    key = make(app, "wallet", "2/hour")
    get(app)
    get(app, key)
    call(app, key)
    get(app, key)
    get(app, key, path="/healthz")
    get(app, "gwk_wrong")
    assert counted == [(1, False), (1, False), (1, True)]


def test_database_outage_refuses_only_keys(app: Flask, client: FlaskClient) -> None:
    """Callers without a key are answered from memory."""
    key = make(app)
    assert get(app).status_code == 200
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.credentials.services.presented.run_read", away)
        assert get(app).status_code == 200
        response = get(app, key)
        assert_refused(response, 503, "unavailable", CONFIGS)
        assert call(app, key).status == 14
    assert part_of(app, RequestLimits) is not None
    assert understand(call(app, key).response).status == OK


def away(*_args: Any) -> Any:
    raise Unavailable("out of reach")
