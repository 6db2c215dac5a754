"""Forms of several parts that are none of the console's. Found by tests/fuzz."""

from __future__ import annotations

from io import BytesIO

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from tests.console.visitor import Visitor, signed_in

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
def test_a_part_without_a_name_is_refused(app: Flask, name: str) -> None:
    """The library of tokens looks at the ends of names, and was given none."""
    part = f"--x\r\nContent-Disposition: form-data; {name}\r\n\r\n1\r\n--x--\r\n".replace("\\n", "\n")
    client = app.test_client()
    answer = client.post("/admin/sign-in", data=part, content_type="multipart/form-data; boundary=x")
    assert answer.status_code == 400
