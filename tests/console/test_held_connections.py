"""A page holds one connection at a time: pages that wait for each other's would wait in vain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from traceback import extract_stack
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event

from app.accounts.rules.roles import Role
from app.db.database import Database
from tests.applications import OpenApp
from tests.console.walking import tell, walk
from tests.load.questions import transfer_ids


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    return open_app(two_persons=("pegged_pairs",))


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


def test_no_page_takes_a_second_connection(app: Flask, sandbox: Flask, database: Database) -> None:
    tell(app)
    with noted_second_connections(database) as found:
        walked = walk(app, Role.ADMIN)
        for transfer_id in transfer_ids(database):
            walked.visitor.get(f"/admin/transfers/{transfer_id}")
    assert len(walked.pages) > 30
    assert not found, "\n".join(sorted(set(found)))
