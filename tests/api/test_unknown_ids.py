"""Unknown ids cost one select for all of a request, and no work that grows with each id."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.db.database import Database
from app.http.application import part_of
from tests.api.shapes import STATUS, STATUSES
from tests.api.world import configure, released, report_events, sent
from tests.applications import OpenApp
from tests.databases import SharedDatabase
from tests.steps import statements, steps

KNOWN = [f"0x{number:064x}" for number in range(1, 101)]
UNKNOWN = [f"0x{number:064x}" for number in range(101, 201)]

REQUESTS: dict[str, tuple[str, dict[str, Any], int]] = {
    "one known": (STATUS, {"transfer_id": KNOWN[0]}, 1),
    "one unknown": (STATUS, {"transfer_id": UNKNOWN[0]}, 2),
    "known": (STATUSES, {"transfer_ids": KNOWN}, 1),
    "unknown": (STATUSES, {"transfer_ids": UNKNOWN}, 2),
    "mixed": (STATUSES, {"transfer_ids": KNOWN[:50] + UNKNOWN[:50]}, 2),
}
"""Path, body, and how many statements: one reads the transfers, one more what is known of other ids."""

STEPS_FOR_EACH = 70
"""Calls of functions, most of them to read the id. An entry for each id would more than double them."""


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase) -> Flask:
    """The configuration is cached, as in production. A hundred transfers are known."""
    app = open_app(config_max_age_seconds=30)
    shared_database.fill("tests.api", lambda: configure(app))
    report_events(app, *(sent(transfer_id, timedelta(hours=1)) for transfer_id in KNOWN))
    report_events(app, *(released(transfer_id, timedelta(minutes=50), block=200) for transfer_id in KNOWN))
    return app


@pytest.mark.every_database
def test_unknown_ids_take_one_select(app: Flask, client: FlaskClient) -> None:
    for name, (path, body, times) in REQUESTS.items():
        client.post(path, json=body)  # reads what is cached for a moment
        with statements(part_of(app, Database).reads) as found:
            client.post(path, json=body)
        assert len(found) == times, (name, *found)


@pytest.mark.parametrize("ids", [KNOWN, UNKNOWN], ids=["known", "unknown"])
def test_configuration_is_not_read_for_each_id(open_app: OpenApp, app: Flask, ids: list[str]) -> None:
    uncached = open_app()
    with statements(part_of(uncached, Database).reads) as found:
        uncached.test_client().post(STATUSES, json={"transfer_ids": ids})
    assert sum("network_parts" in statement for statement in found) == 1, "\n".join(found)


@pytest.mark.every_database
@pytest.mark.usefixtures("app")  # knows 100 transfers
def test_unknown_ids_have_one_message(client: FlaskClient) -> None:
    """It is made once, and so is the entry that holds it."""

    def post(ids: list[str]) -> None:
        statuses = client.post(STATUSES, json={"transfer_ids": ids}).get_json()["statuses"]
        assert len({each["err"]["msg"] for each in statuses}) == 1

    few, many = UNKNOWN[:10], UNKNOWN
    post(few)
    post(many)
    assert steps(lambda: post(many)) - steps(lambda: post(few)) < 90 * STEPS_FOR_EACH
