"""Links lead to pages for every role, and pages accept odd arguments and take one connection at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from traceback import extract_stack
from typing import Any
from urllib.parse import urlencode

import pytest
from flask import Flask
from sqlalchemy import event

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.sandbox.catalogue import SANDBOX_TRANSFERS
from tests.amounts import few_or_many
from tests.applications import OpenApp
from tests.console.walking import record_activity, walk

NAMES = ("endpoint", "self", "_method", "_scheme", "_external", "_anchor", "values", "fn", "cls", "url")
"""Arguments that no page has, called like parameters of functions that build addresses."""

VALUES = ("x", "", "-1", "9" * 30, "1e999", "NaN", "²", "\0", "\ud800", "[]", "%", "POST", "A" * 3000)
"""For each argument."""


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    return open_app(two_persons=("pegged_pairs",))


@pytest.fixture
def story(app: Flask, sandbox: Flask) -> None:
    record_activity(app)


@pytest.mark.usefixtures("story")
@pytest.mark.parametrize("alike", few_or_many(1, 3))
@pytest.mark.parametrize("role", Role)
def test_every_link_leads_somewhere(app: Flask, role: Role, alike: int) -> None:
    walked = walk(app, role, alike)
    assert not walked.wrong, "\n".join(walked.wrong)
    assert len(walked.pages) > 30
    menu = re.findall(r'<a href="([^"]+)"[^>]*>Past configuration', walked.visitor.get("/admin/").text)
    assert menu == ["/admin/history/at"]


@pytest.mark.usefixtures("story")
@pytest.mark.parametrize("step", few_or_many(30, 1))
def test_no_page_breaks_at_odd_arguments(app: Flask, step: int) -> None:
    """Of each page one query in so many is sent; one with all arguments is always among them."""
    walked, broken = walk(app, Role.ADMIN), []
    every = sorted({*NAMES, "page", "page_size", "sort", "desc", "search", "before"})
    for endpoint, (path, own) in sorted(walked.pages.items()):
        names = sorted({*every, *own})
        queries = [dict.fromkeys(names, value) for value in VALUES] + [{name: "x"} for name in names]
        for query in queries[::step]:
            status = walked.visitor.get(f"{path}?{urlencode(query, errors='surrogatepass')}").status_code
            if status >= 500:
                broken.append(f"{status} {endpoint} {path}?{urlencode(query, errors='surrogatepass')[:120]}")
    assert not broken, "\n".join(broken)


def caller() -> str:
    """The innermost lines of ours that led here, without those of ``app/db``."""
    lines = [frame for frame in extract_stack() if "/app/" in frame.filename and "/db/" not in frame.filename]
    return " > ".join(f"{frame.filename}:{frame.lineno}" for frame in lines[-2:])


@contextmanager
def noted_second_connections(database: Database) -> Iterator[list[str]]:
    """Where a thread takes a connection, of any pool, while it holds one."""
    own, held, found = get_ident(), set[int](), list[str]()

    def taken(_dbapi: Any, record: Any, _proxy: Any) -> None:
        if get_ident() == own:
            if held:
                found.append(caller())
            held.add(id(record))

    def returned(_dbapi: Any, record: Any) -> None:
        held.discard(id(record))

    for engine in database.engines:
        event.listen(engine, "checkout", taken)
        event.listen(engine, "checkin", returned)
    try:
        yield found
    finally:
        for engine in database.engines:
            event.remove(engine, "checkout", taken)
            event.remove(engine, "checkin", returned)


@pytest.mark.usefixtures("story")
def test_no_page_takes_a_second_connection(app: Flask, database: Database) -> None:
    """Pages that wait for each other's would wait in vain."""
    with noted_second_connections(database) as found:
        walked = walk(app, Role.ADMIN)
        for transfer in SANDBOX_TRANSFERS:
            walked.visitor.get(f"/admin/transfers/{transfer.transfer_id}")
    assert len(walked.pages) > 30
    assert not found, "\n".join(sorted(set(found)))
