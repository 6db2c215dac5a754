"""The smallest Flask route, with the fastest JSON."""

from __future__ import annotations

import orjson
from flask import Flask, Response

app = Flask(__name__)


@app.get("/")
def hello() -> Response:
    return Response(orjson.dumps({"hello": "world"}), content_type="application/json")
