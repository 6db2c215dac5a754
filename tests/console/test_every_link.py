"""Links lead to pages for every role, and pages accept odd arguments and take one connection at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
from tests.console.walking import Walk, record_activity, walk
from tests.console.words import complaints

NAMES = ("endpoint", "self", "_method", "_scheme", "_external", "_anchor", "values", "fn", "cls", "url")
"""Arguments that no page has, called like parameters of functions that build addresses."""

VALUES = ("x", "", "-1", "9" * 30, "1e999", "NaN", "²", "\0", "\ud800", "[]", "%", "POST", "A" * 3000)
"""For each argument."""

Query = dict[str, str]


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    return open_app(two_persons=("pegged_pairs",))


@pytest.fixture
def story(app: Flask, sandbox: Flask) -> None:
    record_activity(app)


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
@pytest.mark.parametrize("alike", few_or_many(1, 3))
@pytest.mark.parametrize("role", Role)
def test_every_linked_page_is_sound(app: Flask, database: Database, role: Role, alike: int) -> None:
    """Links lead somewhere. No page takes a second connection: those that wait for each other's would wait in
    vain. None shows internal names, and an administrator's survive odd arguments.
    """
    with noted_second_connections(database) as second_connections:
        walked = walk(app, role, alike)
        if role is Role.ADMIN:
            for transfer in SANDBOX_TRANSFERS:
                walked.visitor.get(f"/admin/transfers/{transfer.transfer_id}")
    assert not walked.wrong, "\n".join(walked.wrong)
    assert len(walked.pages) > 30
    assert not second_connections, "\n".join(sorted(set(second_connections)))
    pages = {path: page for path, page in walked.texts.items() if path.startswith("/admin/")}
    assert not complaints(pages), complaints(pages)
    menu = re.findall(r'<a href="([^"]+)"[^>]*>Past configuration', pages["/admin/"])
    assert menu == ["/admin/history/at"]
    if role is Role.ADMIN:
        assert len(pages) > 60
        assert_survive(walked, lambda number, queries: [queries[number % len(VALUES)]])


@pytest.mark.slow
@pytest.mark.usefixtures("story")
def test_no_page_breaks_at_any_odd_argument(app: Flask) -> None:
    assert_survive(walk(app, Role.ADMIN), lambda _, queries: queries)


def assert_survive(walked: Walk, chosen: Callable[[int, list[Query]], list[Query]]) -> None:
    """No page fails at these queries: with all arguments, each of ``VALUES``; then with one of them."""
    every, broken = sorted({*NAMES, "page", "page_size", "sort", "desc", "search", "before"}), []
    for number, (endpoint, (path, own)) in enumerate(sorted(walked.pages.items())):
        names = sorted({*every, *own})
        queries = [dict.fromkeys(names, value) for value in VALUES] + [{name: "x"} for name in names]
        for query in chosen(number, queries):
            address = f"{path}?{urlencode(query, errors='surrogatepass')}"
            if (status := walked.visitor.get(address).status_code) >= 500:
                broken.append(f"{status} {endpoint} {address[:200]}")
    assert not broken, "\n".join(broken)
