"""Files where the console's forms have texts. Found by tests/fuzz."""

from __future__ import annotations

from io import BytesIO

import pytest
from flask import Flask

from app.domain.operators import Role
from tests.admin.visitor import Visitor, signed_in

FIELDS = {
    "/admin/pools/new": "total_cap",
    "/admin/blocked_addresses/add": "text",
    "/admin/ingest_tokens/new": "name",
    "/admin/sign-in": "email",
}


@pytest.mark.parametrize("path", FIELDS)
def test_a_file_in_the_place_of_a_text_is_refused(app: Flask, path: str) -> None:
    """Forms took the file for the text, and were answered 500."""
    visitor = Visitor(app) if path == "/admin/sign-in" else signed_in(app, Role.ADMIN)
    file = {FIELDS[path]: (BytesIO(b"x"), "a.txt")}
    assert visitor.post(path, file, content_type="multipart/form-data").status_code == 400
