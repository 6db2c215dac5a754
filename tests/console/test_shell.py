"""The console as a whole: where it stands, what it says of faults, what lists do with odd URLs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_admin import Admin, expose

from app import create_app
from app.accounts.rules.roles import Role
from app.console.shell.formats import neutral_cell
from app.console.shell.views import ConsoleView
from config import ALL_DOORS
from tests.applications import OpenApp, make_settings
from tests.console.visitor import Visitor, email_of, lose_database, signed_in


def test_the_address_without_its_slash(app: Flask) -> None:
    answer = Visitor(app).get("/admin")
    assert answer.status_code == 308
    assert answer.location.endswith("/admin/")


@pytest.mark.parametrize(
    "path", ["/admin/nothing", "/admin/operators/0", "/admin/audit/99999999999999999999"]
)
def test_missing_page_is_explained(app: Flask, path: str) -> None:
    answer = signed_in(app, Role.ADMIN).get(path)
    assert answer.status_code == 404
    assert "Page not found" in answer.text


def test_database_outage_is_explained(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = signed_in(app, Role.VIEWER)
    lose_database(monkeypatch)
    answer = visitor.get("/admin/")
    assert answer.status_code == 503
    assert "The database is not available" in answer.text
    assert "refused" not in answer.text


def test_a_fault_is_said_without_its_inside(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = signed_in(app, Role.VIEWER)
    monkeypatch.setattr("app.console.dashboard.dashboard.Dashboard", lambda _: 1 / 0)
    answer = visitor.get("/admin/")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "division" not in answer.text


@pytest.fixture
def doors(tmp_path: Path) -> Any:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    return lambda **changes: create_app(make_settings(url, **{"doors": ALL_DOORS} | changes)).test_client()


def test_without_key_console_requires_one(doors: Any) -> None:
    answer = doors(secret_key="").get("/admin/")
    assert answer.status_code == 503
    assert "SECRET_KEY" in answer.text


def test_process_without_door_has_no_console(doors: Any) -> None:
    answer = doors(doors=("api",)).get("/admin/")
    assert answer.status_code == 404
    assert answer.is_json


ODD = ("zzz", "-1", "1e9", "99999999999999999999999", "\0", "' OR 1=1 --", "%", "é" * 300)


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_no_list_parameter_breaks_the_page(app: Flask, value: str) -> None:
    visitor = signed_in(app, Role.ADMIN)
    lists = [rule.rule for rule in app.url_map.iter_rules() if rule.endpoint.endswith(".index_view")]
    assert lists
    for path in lists:
        names = {"page", "sort", "desc", "search", "page_size", "flt0_0", "flt", "flt0_nothing"}
        names |= {name for name, _, _ in filters_of(app, path)}
        answer = visitor.get(path, query_string=dict.fromkeys(names, value))
        assert answer.status_code == 200, f"{path} {value!r}"


def filters_of(app: Flask, path: str) -> list[Any]:
    view = next(view for view in app.extensions["admin"][0]._views if view.url == path.rstrip("/"))
    with app.test_request_context(path):
        return view.filter_fields()


def test_wrong_filter_value_is_named(app: Flask) -> None:
    visitor = signed_in(app, Role.ADMIN)
    (name, _, _), *_ = filters_of(app, "/admin/operators/")
    page = visitor.get("/admin/operators/", query_string={name: "king"}).text
    assert "“king” is not a valid filter value" in page
    assert email_of(Role.ADMIN) in page


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"), ("+1+1", "'+1+1"), ("-1+1", "'-1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"),
        ("-15", "-15"), ("-1.5", "-1.5"), ("-1.", "'-1."), ("-٣", "'-٣"), (None, ""),
        (7, "7"), ("plain", "plain"), ("a=b", "a=b"),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(value: object, cell: str) -> None:
    assert neutral_cell(value) == cell


def test_route_without_rule_stops_the_start() -> None:
    class Forgotten(ConsoleView):
        @expose("/")
        def index(self) -> str:
            return ""

    app, view = Flask(__name__), Forgotten()
    Admin(app).add_view(view)
    with pytest.raises(RuntimeError, match="no access rule for index"):
        view.access_rules(app)


@pytest.mark.parametrize(
    ("doors", "public_url", "link"),
    [
        (("admin",), "", None),
        (("admin",), "https://gateway.example", "https://gateway.example/docs"),
        (("api", "admin"), "https://gateway.example", "/docs"),
    ],
)
def test_docs_link_leads_somewhere(
    open_app: OpenApp, doors: tuple[str, ...], public_url: str, link: str | None
) -> None:
    page = signed_in(open_app(doors=doors, public_url=public_url), Role.VIEWER).get("/admin/").text
    assert (">API docs</a>" in page) == (link is not None)
    assert link is None or f'href="{link}">API docs' in page
