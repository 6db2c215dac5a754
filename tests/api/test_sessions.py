"""Sessions work as Flask's do; they only cost less where there are none."""

from __future__ import annotations

from typing import Any

from flask import Flask, session

from config import ALL_DOORS
from tests.api.shapes import LATENCY


def test_sessions_are_stored_changed_and_ended(open_app: Any) -> None:
    app: Flask = open_app(doors=ALL_DOORS, own=True)

    @app.get("/admin/count")
    def count() -> str:
        session["seen"] = session.get("seen", 0) + 1
        return str(session["seen"])

    @app.get("/admin/end")
    def end() -> str:
        session.clear()
        return "ended"

    @app.get("/admin/look")
    def look() -> str:
        return str(session.get("seen"))

    client = app.test_client()
    looked = client.get("/admin/look")
    assert (looked.text, looked.headers["Vary"]) == ("None", "Cookie")
    assert "Set-Cookie" not in looked.headers
    assert [client.get("/admin/count").text for _ in range(3)] == ["1", "2", "3"]
    assert client.get("/admin/look").text == "3"
    assert "console=;" in client.get("/admin/end").headers["Set-Cookie"]
    assert client.get("/admin/look").text == "None"
    client.set_cookie("console", "forged", path="/admin")
    assert client.get("/admin/look").text == "None"


def test_public_answers_set_no_cookie(open_app: Any) -> None:
    client = open_app(doors=ALL_DOORS).test_client()
    client.set_cookie("console", "forged")
    for _ in range(2):
        response = client.get(LATENCY)
        assert "Set-Cookie" not in response.headers
        assert "Vary" not in response.headers
