"""Somebody at a browser, without one: signs in, follows forms, is who they are."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from itsdangerous import URLSafeTimedSerializer
from sqlalchemy import insert, select
from sqlalchemy.exc import OperationalError
from werkzeug.test import TestResponse

from app.accounts.models import Operator
from app.accounts.rules.roles import Role
from app.accounts.services.accounts import new_uniquifier
from app.console.sign_in import datastore
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from tests.applications import CHEAP

PASSWORD = "a password of the tests"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@cache
def _hash() -> str:
    return PasswordHasher(CHEAP["time_cost"], CHEAP["memory_cost"], CHEAP["parallelism"]).hash(PASSWORD)


def email_of(role: Role) -> str:
    return f"{role.value}@example.org"


def add_account(app: Flask, role: Role, email: str | None = None, **columns: Any) -> int:
    """An account with PASSWORD, without the time that hashing it takes; its id."""
    row = {
        "email": email or email_of(role),
        "password": _hash(),
        "role": role.value,
        "active": True,
        "fs_uniquifier": new_uniquifier(),
        "second_factor_required": False,
        "created_at": NOW,
    }
    with writing(part_of(app, Database).engine) as connection:
        connection.execute(insert(Operator).values(row | columns))
        return connection.scalar(select(Operator.id).where(Operator.email == (email or email_of(role)))) or 0


class Visitor:
    """A browser's worth of cookies."""

    def __init__(self, app: Flask, address: str = "127.0.0.1") -> None:
        self.client: FlaskClient = app.test_client()
        self.environ = {"REMOTE_ADDR": address}

    def get(self, path: str, **kwargs: Any) -> TestResponse:
        return self.client.get(path, environ_base=self.environ, **kwargs)

    def post(self, path: str, data: dict[str, Any] | None = None, **kwargs: Any) -> TestResponse:
        """Send a form with the token that belongs to this browser."""
        fields = {"csrf_token": self.token()} | (data or {})
        return self.client.post(path, data=fields, environ_base=self.environ, **kwargs)

    def token(self) -> str:
        """The form token of this browser's session, as every form of its pages has it."""
        with self.client.session_transaction("/admin/") as session:
            if "csrf_token" not in session:
                session["csrf_token"] = "made by the test"
            stored = session["csrf_token"]
        signer = URLSafeTimedSerializer(str(self.client.application.secret_key), salt="wtf-csrf-token")
        return str(signer.dumps(stored))

    def sign_in(self, email: str, password: str = PASSWORD, **kwargs: Any) -> TestResponse:
        return self.post("/admin/sign-in", {"email": email, "password": password}, **kwargs)

    @property
    def inside(self) -> bool:
        """Whether a page opens that all see who are signed in. The dashboard would take ten times as long."""
        return self.get("/admin/account/").status_code == 200

    def cookie(self) -> str:
        cookie = self.client.get_cookie("console", path="/admin")
        return cookie.value if cookie else ""


def lose_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the database does not answer when a page reads the account of its session."""

    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("select", {}, Exception("connection refused"))

    monkeypatch.setattr(datastore, "find_account", fail)


def visitor_of(app: Flask, email: str, password: str = PASSWORD) -> Visitor:
    """A new browser that has sent the password of an account."""
    visitor = Visitor(app)
    visitor.sign_in(email, password)
    return visitor


def signed_in(app: Flask, role: Role, email: str | None = None) -> Visitor:
    """A visitor with a new account of this role."""
    add_account(app, role, email)
    visitor = Visitor(app)
    assert visitor.sign_in(email or email_of(role)).status_code == 302
    return visitor


def other_operator(app: Flask) -> Visitor:
    return signed_in(app, Role.OPERATOR, "second@example.org")
