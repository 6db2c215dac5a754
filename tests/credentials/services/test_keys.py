"""Keys: made and shown once, recognised from memory, revoked everywhere, on record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import event, func, select

from app.accounts.rules.two_persons import TwoPersons
from app.audit.keys import AuditKeys
from app.audit.models import AuditRecord
from app.credentials.models import ApiKey
from app.credentials.rules.credential import digest_of
from app.credentials.services import issuing
from app.credentials.services.issued import CredentialRefused, revoke_key
from app.credentials.services.issuing import issue, new_key
from app.credentials.services.presented import presented_key
from app.db.database import CachedReads, Database
from app.db.engine import reading
from app.db.writes import Writes
from app.values.errors import Unauthorized
from tests.actors import TESTER
from tests.applications import Audited, Editing
from tests.timer import Timer

MAX_AGE = 5.0


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def elsewhere(database: Database, timer: Timer) -> Database:
    """Another process: it does not see the writes of this one, and has what it read cached."""
    return replace(database, cached=CachedReads(MAX_AGE, Writes(), timer))


@pytest.fixture
def reads(database: Database) -> Iterator[list[str]]:
    """The statements that read keys."""
    seen: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "FROM api_keys" in statement:
            seen.append(statement)

    event.listen(database.reads, "before_cursor_execute", note)
    yield seen
    event.remove(database.reads, "before_cursor_execute", note)


def make(editing: Editing, name: str = "wallet", limit: str = "", *scopes: str) -> str:
    return issue(*editing, new_key(name, scopes or ("read",), limit), actor=TESTER).text


def records(database: Database) -> list[tuple[str, str, str]]:
    columns = (AuditRecord.action, AuditRecord.subject, AuditRecord.changes)
    with reading(database.engine) as connection:
        rows = connection.execute(
            select(*columns).where(AuditRecord.subject.like("api key %")).order_by(AuditRecord.id)
        )
        return [(row.action, row.subject, row.changes) for row in rows]


def presented(database: Database, text: str) -> Any:
    return presented_key(database, f"Bearer {text}")


def test_key_is_recognised_and_not_stored(database: Database, editing: Editing) -> None:
    text = make(editing, "wallet", "5/minute;20/hour", "read", "webhooks")
    key = presented(database, text)
    assert (key.name, key.rate_limit) == ("wallet", "5/minute;20/hour")
    assert sorted(key.scopes) == ["read", "webhooks"]
    with reading(database.engine) as connection:
        row = connection.execute(select(ApiKey.__table__)).one()
    assert row.digest == digest_of(text.encode())
    secret = text[len("gwk_") + 16 :]
    assert secret not in repr(row)
    ((action, subject, changes),) = records(database)
    assert (action, subject) == ("api_key.create", "api key wallet")
    assert secret not in changes
    assert row.digest.hex() not in changes


def test_every_key_is_another(editing: Editing) -> None:
    assert len({make(editing, f"k{n}") for n in range(20)}) == 20


@pytest.mark.parametrize("change", ["end", "begin", "unknown", "short"])
def test_wrong_key_is_refused(database: Database, editing: Editing, change: str) -> None:
    text = make(editing)
    last = "b" if text[-1] == "a" else "a"
    wrong = {
        "end": text[:-1] + last,
        "begin": text[:20] + ("b" if text[20] == "a" else "a") + text[21:],
        "unknown": "gwk_" + "0" * 16 + text[20:],
        "short": text[:-1],
    }[change]
    with pytest.raises(Unauthorized, match="malformed" if change == "short" else "unknown or revoked"):
        presented(database, wrong)
    assert presented_key(database, "Bearer of good news") is None
    assert presented(database, text).name == "wallet"


def test_look_up_costs_no_read(
    elsewhere: Database, audit_keys: AuditKeys, two_persons: TwoPersons, timer: Timer, reads: list[str]
) -> None:
    text = make((elsewhere, audit_keys, two_persons))
    for n in range(50):
        assert presented(elsewhere, text).name == "wallet"
        with pytest.raises(Unauthorized):  # and wrong ones cost none of their own
            presented(elsewhere, f"gwk_{n:016x}{text[20:]}")
    assert len(reads) == 1
    timer.now += MAX_AGE
    presented(elsewhere, text)
    assert len(reads) == 2


def test_revoked_key_counts_no_longer(
    database: Database, audited: Audited, editing: Editing, elsewhere: Database, timer: Timer
) -> None:
    text, other = make(editing), make(editing, "other")
    for process in (database, elsewhere):
        assert presented(process, text).name == "wallet"
    revoked_at = revoke_key(*audited, "wallet", actor=TESTER)
    with pytest.raises(Unauthorized, match="revoked"):
        presented(database, text)
    timer.now += MAX_AGE
    with pytest.raises(Unauthorized, match="revoked"):
        presented(elsewhere, text)
    for process in (database, elsewhere):
        assert presented(process, other).name == "other"
    assert revoke_key(*audited, "wallet", actor=TESTER) == revoked_at, "once is enough"
    assert [action for action, subject, _ in records(database) if subject == "api key wallet"] == [
        "api_key.create",
        "api_key.revoke",
    ]
    with pytest.raises(CredentialRefused, match="there is no API key nobody"):
        revoke_key(*audited, "nobody", actor=TESTER)


NOT_MADE = [
    ("", ("read",), "", "not a valid name"),
    ("Wallet", ("read",), "", "not a valid name"),
    ("a b", ("read",), "", "not a valid name"),
    ("x" * 65, ("read",), "", "not a valid name"),
    ("wallet", (), "", "at least one scope"),
    ("wallet", ("write",), "", "'write' is not a scope"),
    ("wallet", ("read",), "often", "'often' is not a limit"),
    ("wallet", ("read",), "-1/second", "is not a limit"),
    ("wallet", ("read",), "1/minute;" * 40, "is not a limit"),
]


@pytest.mark.parametrize(("name", "scopes", "limit", "words"), NOT_MADE)
def test_invalid_key_is_not_made(
    database: Database, editing: Editing, name: str, scopes: tuple[str, ...], limit: str, words: str
) -> None:
    with pytest.raises(CredentialRefused, match=words):
        issue(*editing, new_key(name, scopes, limit), actor=TESTER)
    with reading(database.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(ApiKey)) == 0


def test_name_is_never_given_again(audited: Audited, editing: Editing) -> None:
    make(editing, "wallet")
    revoke_key(*audited, "wallet", actor=TESTER)
    with pytest.raises(CredentialRefused, match="was used before"):
        make(editing, "wallet")


def test_number_of_keys_is_bounded(
    audited: Audited, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuing, "MOST_VALID_KEYS", 2)
    make(editing, "a")
    make(editing, "b")
    with pytest.raises(CredentialRefused, match="revoke one first"):
        make(editing, "c")
    revoke_key(*audited, "a", actor=TESTER)
    make(editing, "c")
