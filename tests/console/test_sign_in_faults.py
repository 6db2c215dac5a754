"""Requests that no page of the console sends: each is refused with a page, and none has an effect."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text
from werkzeug.test import create_environ, run_wsgi_app

from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import create_account
from app.accounts.services.accounts import AccountRefused
from app.audit.models import AuditRecord
from app.db.database import Database
from app.db.engine import reading
from tests.actors import TESTER
from tests.applications import Editing
from tests.console.second_factor import REFUSED, set_up
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of, signed_in, visitor_of

VIEWER = email_of(Role.VIEWER)
NINES = "9" * 19
BODIES = {
    "an object for the email": '{"email":{}}',
    "numbers": '{"email":1,"password":2}',
    "a list": '["a"]',
    "pairs": "[[1,2]]",
    "a string": '"x"',
    "null": "null",
    "infinity": "1e999",
    "nested lists": "[" * 200_000,
    "nested objects": '{"a":' * 100_000,
    "digits": "9" * 5000,
    "no JSON": "\xff",
}


def recorded(database: Database) -> list[tuple[str, str, str]]:
    """Actor, action and subject of each record."""
    columns = (AuditRecord.actor, AuditRecord.action, AuditRecord.subject)
    with reading(database.engine) as connection:
        return [
            (row[0], row[1], row[2]) for row in connection.execute(select(*columns).order_by(AuditRecord.id))
        ]


@pytest.mark.every_database
def test_whatever_is_typed_is_a_wrong_password(app: Flask, database: Database) -> None:
    add_account(app, Role.VIEWER)
    typed = (
        (VIEWER, "wrong password"),
        ("nobody@example.org", PASSWORD),
        ("a\0@b.c", PASSWORD),
        ("\0", "\0"),
        (f"{VIEWER}\0", PASSWORD),
        (VIEWER, "x" * 4097),
        (VIEWER, "x" * 60_000),
        (VIEWER, "\ufdfa" * 256),  # in the form that is hashed 18 times as long
        ("x" * 60_000, "x"),
        ("@" * 300, "\u2028"),
        (f"{VIEWER}\n", "wrong password"),
    )
    for number, (email, password) in enumerate(typed):
        answer = Visitor(app, f"192.0.2.{number}").sign_in(email, password)
        assert answer.status_code == 200, (email, password)
        assert REFUSED in answer.text, (email, password)
    assert [action for _, action, _ in recorded(database)] == ["sign_in.failed"] * len(typed)


FORMS = [
    *(("sign-in", body) for body in BODIES),
    *((path, "null") for path in ("sign-in/code", "account/second-factor", "operators/new")),
]


@pytest.mark.parametrize(("path", "kind"), FORMS)
def test_console_reads_forms_only(app: Flask, path: str, kind: str) -> None:
    add_account(app, Role.ADMIN)
    visitors = [Visitor(app), signed_in_again(app, Role.ADMIN)]
    for visitor in visitors:
        headers = {"X-CSRFToken": visitor.token(), "Referer": "http://localhost/"}
        sent: dict[str, Any] = {"data": BODIES[kind], "content_type": "application/json", "headers": headers}
        for method in ("POST", "GET"):
            answer = visitor.client.open(f"/admin/{path}", method=method, **sent)
            assert answer.status_code == 415
            assert "Go back and use the buttons of the page" in answer.text


def signed_in_again(app: Flask, role: Role) -> Visitor:
    visitor = visitor_of(app, email_of(role))
    assert visitor.inside
    return visitor


def test_body_without_type_is_refused(app: Flask) -> None:
    """Also one without a length."""
    visitor = Visitor(app)
    assert visitor.client.post("/admin/sign-in", data=b"email=x", content_type="").status_code == 415
    streamed = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = visitor.client.post(
        "/admin/sign-in", content_type="application/json", environ_overrides=streamed
    )
    assert answer.status_code == 415
    assert visitor.get("/admin/sign-in", content_type="application/json").status_code == 200, (
        "there is no body"
    )


HOSTS = (
    "[", "[::1", "[:::::]", "a b", "\xe9", "x:99999999999", ":", "", "]", "a@b", "a/b", "..", "a,b",
    "x" * 3000, "%zz",
)  # fmt: skip


def test_invalid_host_is_refused(app: Flask) -> None:
    for host in HOSTS:
        for path in ("/admin/", "/admin", "/admin/sign-in", "/healthz", "/v2/getTransferConfigs", "/docs"):
            for method in ("GET", "POST"):
                # Not by a client of the tests, which reads the header itself.
                environ = create_environ(path, method=method, query_string="next=//x/") | {"HTTP_HOST": host}
                _, status, _ = run_wsgi_app(app.wsgi_app, environ)
                assert status < "500", (host, path)


def test_console_returns_pages_only(app: Flask) -> None:
    """Asked for JSON, the library would hand out a token that opens the console without a cookie."""
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    fields = {"csrf_token": visitor.token(), "email": VIEWER, "password": PASSWORD}
    wanted = {"headers": {"Accept": "application/json"}, "query_string": "include_auth_token"}
    assert visitor.get("/admin/sign-in", **wanted).mimetype == "text/html"
    answer = visitor.client.post("/admin/sign-in", data=fields, **wanted)
    assert (answer.status_code, answer.location) == (302, "/admin/")
    for path in ("sign-in", "account/second-factor", "account/password"):
        assert not visitor.get(f"/admin/{path}", **wanted).is_json


def test_unstorable_email_is_refused(editing: Editing) -> None:
    for email in ("a\0@b.c", "a@b\u2028.c", "a\x1b@b.c", "a@b\u200b.c", "\ud800@b.c"):
        with pytest.raises(AccountRefused, match="not an email address"):
            create_account(*editing, email, PASSWORD, Role.VIEWER, actor=TESTER)


def test_password_works_from_any_keyboard(app: Flask, editing: Editing) -> None:
    """Commands hashed it as it was typed, sign-in its decomposed form: such accounts could not sign in."""
    passwords = ("Zürich, die Straße nach Bern", "\u00c5ngstr\u00f6m und Kelvin", "ﬁve ﬂat ﬁsh ﬂy")
    for number, password in enumerate(passwords):
        email = create_account(*editing, f"{number}@example.org", password, Role.VIEWER, actor=TESTER)
        assert visitor_of(app, email, password).inside, password


def test_sign_in_ignores_foreign_next(app: Flask, database: Database) -> None:
    add_account(app, Role.VIEWER)
    targets = ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)")
    for target in (*targets, "https:evil.example"):
        visitor = Visitor(app)
        fields = {"email": VIEWER, "password": PASSWORD, "next": target}
        answer = visitor.post("/admin/sign-in", fields, query_string={"next": target})
        assert answer.status_code == 302, target
        assert re.match(r"/[^/\\]", answer.location), "it leads on, on this host"
        assert visitor.inside, target
    assert {action for _, action, _ in recorded(database)} == {"sign_in"}


def test_invalid_new_password_counts_no_failure(database: Database, viewer: Visitor) -> None:
    """Of the sign-in: it does not count as a wrong password."""
    for new, again in (("short", "short"), ("a long new password", "another"), (PASSWORD, PASSWORD)):
        fields = {"password": PASSWORD, "new_password": new, "new_password_confirm": again}
        assert viewer.post("/admin/account/password", fields).status_code == 200
    assert [action for _, action, _ in recorded(database)] == ["sign_in"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_only_the_sign_out_form_signs_anybody_out(method: str, database: Database, viewer: Visitor) -> None:
    for path in ("sign-in/code", "sign-in", "account/second-factor", "sign-out", "sign-in/code?next=/admin/"):
        if (method, path) == ("POST", "sign-out"):
            continue  # what the form sends: it does sign out
        if method == "POST":
            viewer.post(f"/admin/{path}")
        else:
            viewer.client.open(f"/admin/{path}", method=method)
        assert viewer.inside, path
    assert viewer.get("/admin/sign-in/code").location == "/admin/account/"
    set_up(viewer)  # a second factor: now its sign-ins require a code, but this one is already inside
    assert viewer.get("/admin/sign-in/code").location == "/admin/account/"
    assert viewer.inside
    assert "sign_out" not in [action for _actor, action, _subject in recorded(database)]


NUMBERS = (NINES, "9" * 30, "9" * 5000, "0" * 4400 + "9", "0" * 20 + "1", "-1", "1e3", "\u0663", "\u00b2")
"""Texts that are no number of a row."""


@pytest.mark.every_database
def test_no_row_number_is_too_large(app: Flask, admin: Visitor) -> None:
    """Every route takes one of the numbers; the pages that read numbers themselves take each."""
    rules = [
        rule for rule in app.url_map.iter_rules() if "<int:" in rule.rule and rule.rule.startswith("/admin/")
    ]
    for place, rule in enumerate(rules):
        path = re.sub("<int:[^>]+>", NUMBERS[place % len(NUMBERS)], rule.rule)
        requested = admin.get(path) if "GET" in (rule.methods or ()) else admin.post(path)
        assert requested.status_code == 404, path
    for number in NUMBERS:
        picks = {"pick": [f"{number} x", number, f"{number} W10="]}
        assert admin.post("/admin/anomalies/acknowledge", picks).status_code == 302
        assert "Select at least one anomaly" in admin.get("/admin/anomalies/").text
        page = dict.fromkeys(("page", "page_size", "sort", "flt2_2"), number)
        span = dict.fromkeys(("page", "status", "src"), number)
        for name, query in (
            ("audit", {"before": number}),
            ("anomalies", page),
            ("transfers", span),
            ("routes/base-fees", {"dst_chain_id": number}),
        ):
            answer = admin.get(f"/admin/{name}{'' if 'fees' in name else '/'}", query_string=query)
            assert answer.status_code == 200, (name, number)
    assert admin.inside


def test_what_was_typed_is_recorded_nowhere(app: Flask, database: Database) -> None:
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    for typed in ("correct horse battery staple", "Correct Horse Battery Staple ", f" {VIEWER.upper()}"):
        visitor.sign_in(typed, "wrong password")
    records = recorded(database)
    assert "horse" not in str(records).lower()
    assert {actor for actor, _, _ in records} == {"not signed in"}
    unknown, same, known = (subject for _, _, subject in records)
    assert re.fullmatch("no account, typed [0-9a-f]{12}", unknown)
    assert unknown == same, "the same text has the same subject"
    assert known == f"operator {VIEWER}", "an account is named as it is stored"


def test_database_failure_logs_nothing_typed(
    app: Flask, caplog: pytest.LogCaptureFixture, database: Database
) -> None:
    visitor = Visitor(app)
    visitor.token()
    engine = database.engine
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE operators RENAME TO elsewhere"))
    try:
        answer = visitor.sign_in("correct-horse@battery.staple", "wrong password")
    finally:
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE elsewhere RENAME TO operators"))
    assert answer.status_code == 503
    assert "no such table" in caplog.text
    assert "correct-horse" not in caplog.text


FIELDS = {
    "/admin/pools/new": "total_cap",
    "/admin/blocked_addresses/new": "text",
    "/admin/ingest_tokens/new": "name",
    "/admin/sign-in": "email",
}


@pytest.mark.parametrize("path", FIELDS)
def test_file_instead_of_text_is_refused(app: Flask, path: str) -> None:
    """Forms took the file for the text, and were answered 500."""
    visitor = Visitor(app) if path == "/admin/sign-in" else signed_in(app, Role.ADMIN)
    file = {FIELDS[path]: (BytesIO(b"x"), "a.txt")}
    assert visitor.post(path, file, content_type="multipart/form-data").status_code == 400


@pytest.mark.parametrize("name", ['name="\\n"', 'filename="a"', "x=y", ""])
def test_part_without_name_is_refused(app: Flask, name: str) -> None:
    """The library of tokens looks at the ends of names, and was given none."""
    part = f"--x\r\nContent-Disposition: form-data; {name}\r\n\r\n1\r\n--x--\r\n".replace("\\n", "\n")
    client = app.test_client()
    answer = client.post("/admin/sign-in", data=part, content_type="multipart/form-data; boundary=x")
    assert answer.status_code == 400


SPAN = {"since": "2026-01-01 00:00"}
"""A replay reads it before it looks for the webhook."""


def addresses(app: Flask) -> list[tuple[str, str]]:
    """Method and path of each page with a text in its address, which is NUL here."""
    return [
        (method, re.sub(r"<\w+>", "%00", re.sub(r"<int:\w+>", "1", rule.rule)))
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/admin/") and {"public_id", "transfer_id"} & rule.arguments
        for method in sorted({"GET", "POST"} & (rule.methods or set()))
    ]


@pytest.mark.every_database
def test_nul_in_address_answers_404(app: Flask, network: Flask, admin: Visitor) -> None:
    sent = addresses(app)
    assert len(sent) > 10
    for method, path in sent:
        answer = admin.get(path) if method == "GET" else admin.post(path, SPAN)
        assert answer.status_code == 404, (method, path)
