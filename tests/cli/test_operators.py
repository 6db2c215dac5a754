"""``flask operators``: accounts from the server itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from argon2 import PasswordHasher
from click.testing import Result
from flask import Flask

from app.accounts.rules.roles import Role
from app.accounts.services.accounts import find_account
from app.accounts.services.factors import NewPasskey, add_passkey, make_recovery_codes, recovery_codes_left
from app.audit.services import list_audit
from app.audit.verification import verify_audit
from app.db.database import Database
from tests.actors import TESTER
from tests.applications import Audited

PASSWORD = "a long enough password"


def run(app: Flask, *words: str, password: str | None = PASSWORD) -> Result:
    environment = {} if password is None else {"OPERATOR_PASSWORD": password}
    return app.test_cli_runner().invoke(args=["operators", *words], env=environment)


def test_password_can_come_from_a_file(app: Flask, tmp_path: Path, database: Database) -> None:
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    create = ["operators", "create", "someone@example.org", "--role", "viewer"]
    made = app.test_cli_runner().invoke(args=create, env={"OPERATOR_PASSWORD_FILE": str(file)})
    assert made.output == "created someone@example.org with the role viewer\n"
    account = find_account(database, email="someone@example.org")
    assert account
    assert PasswordHasher().verify(account.password, PASSWORD)

    missing = app.test_cli_runner().invoke(args=[*create, "--password-file", str(tmp_path / "missing")])
    assert missing.exit_code == 2
    assert "No such file" in missing.output


def test_account_from_creation_to_end(app: Flask, database: Database, audited: Audited) -> None:
    made = run(app, "create", "Someone@Example.org", "--role", "operator")
    assert made.output == "created someone@example.org with the role operator\n"
    account = find_account(database, email="someone@example.org")
    assert account
    assert account.role is Role.OPERATOR
    assert account.password.startswith("$argon2id$")
    assert "someone@example.org  operator  active  none" in run(app, "list").output

    run(app, "set-role", "someone@example.org", "--role", "viewer")
    run(app, "disable", "someone@example.org")
    changed = find_account(database, email="SOMEONE@example.org")
    assert changed
    assert (changed.role, changed.active) == (Role.VIEWER, False)
    assert "enabled someone@example.org with the role " in run(app, "enable", "someone@example.org").output

    fresh = run(app, "new-password", "someone@example.org").stdout.strip()
    assert len(fresh) >= 20
    after = find_account(database, email="someone@example.org")
    assert after
    assert after.password != account.password
    assert after.fs_uniquifier != account.fs_uniquifier
    assert not account.must_change_password, "its owner chose it"
    assert after.must_change_password, "the person at the command has seen it"
    records = list_audit(database)
    assert [row.action for row in records] == ["operator.change"] * 4 + ["operator.create"]
    assert verify_audit(*audited).fault is None
    recorded = " ".join(str(row) for row in records)
    assert fresh not in recorded
    assert "argon2" not in recorded


@pytest.mark.parametrize(
    ("email", "password", "complaint"),
    [
        ("nobody", PASSWORD, "is not an email address"),
        ("a@b@c", PASSWORD, "is not an email address"),
        ("a@example.org", "short", "at least 12 characters"),
        ("a@example.org", "aaaaaaaaaaaaaaaa", "more different characters"),
        ("someone@example.org", "someone@example.org", "differs from the email address"),
        ("a@example.org", "x" * 400, "at most 256 characters"),
        ("a@example.org", "password1234", "easy to guess"),
        ("someone@example.org", "someone@example.org1", "easy to guess"),
    ],
)
def test_bad_account_is_refused(
    app: Flask, email: str, password: str, complaint: str, database: Database
) -> None:
    refused = run(app, "create", email, "--role", "viewer", password=password)
    assert refused.exit_code == 1
    assert complaint in refused.output
    assert find_account(database, email=email) is None


def test_account_is_made_once(app: Flask) -> None:
    run(app, "create", "a@example.org", "--role", "viewer")
    again = run(app, "create", "A@example.org", "--role", "admin")
    assert again.exit_code == 1
    assert "an account a@example.org already exists" in again.output


CREATE = ["operators", "create", "a@example.org", "--role", "viewer"]


@pytest.mark.parametrize(
    ("at_terminal", "typed"), [(True, f"{PASSWORD}\n{PASSWORD}\n"), (False, f"{PASSWORD}\n")]
)
def test_missing_password_is_read(
    app: Flask, monkeypatch: pytest.MonkeyPatch, at_terminal: bool, typed: str
) -> None:
    monkeypatch.setattr("app.cli.operators._is_at_terminal", lambda: at_terminal)
    made = app.test_cli_runner().invoke(args=CREATE, input=typed)
    assert made.exit_code == 0, made.output
    assert PASSWORD not in made.output
    assert ("Repeat for confirmation" in made.output) is at_terminal


def test_password_without_terminal_is_refused(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.operators._is_at_terminal", lambda: False)
    refused = app.test_cli_runner().invoke(args=CREATE)
    assert refused.exit_code == 1
    (line,) = refused.stderr.splitlines()
    assert "no terminal" in line
    assert "--password-file" in line
    assert "OPERATOR_PASSWORD" in line


def test_bad_email_is_refused_before_password(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.operators._read_password", lambda: pytest.fail("a password was read"))
    refused = run(app, "create", "nobody", "--role", "viewer", password=None)
    assert "is not an email address" in refused.output


def test_password_may_begin_with_dash(app: Flask, database: Database) -> None:
    words = ("create", "a@example.org", "--role", "viewer", "--password", f"-{PASSWORD}")
    assert run(app, *words, password=None).exit_code == 0
    account = find_account(database, email="a@example.org")
    assert account
    assert PasswordHasher().verify(account.password, f"-{PASSWORD}")


def test_lost_second_factor_is_reset_entirely(app: Flask, database: Database, audited: Audited) -> None:
    """With its passkeys and recovery codes."""
    run(app, "create", "a@example.org", "--role", "admin")
    account = find_account(database, email="a@example.org")
    assert account
    passkey = NewPasskey("key", b"id", b"public", 0, [], synced=False)
    add_passkey(*audited, account.id, passkey, actor=TESTER)
    make_recovery_codes(*audited, account.id, actor=TESTER)
    assert "a@example.org  admin  active  set up" in run(app, "list").output
    assert run(app, "reset-second-factor", "a@example.org").exit_code == 0
    assert "a@example.org  admin  active  none" in run(app, "list").output
    assert recovery_codes_left(database, account.id) == 0
    assert verify_audit(*audited).fault is None


@pytest.mark.parametrize("command", ["disable", "enable", "new-password", "reset-second-factor"])
def test_unknown_account_is_refused(app: Flask, command: str) -> None:
    refused = run(app, command, "nobody@example.org")
    assert refused.exit_code == 1
    assert "there is no account nobody@example.org" in refused.output
