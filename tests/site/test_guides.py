"""The curls of guides, outside of the pages of operations, and the answers that the guides show."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from app.webhooks.rules.subscription import headers, secret_text
from tests.curl import curl_of
from tests.serving.server import Server
from tests.site.snippets import Block, block_of, blocks_of, fits

KEY = "$GATEWAY_KEY"
GUIDES = ("docs/waiting.md", "docs/api-keys.md")


def curls() -> Iterator[tuple[Block, Block | None]]:
    """The curls of the guides, each with the answer that follows."""
    for page in GUIDES:
        found = blocks_of(page)
        for block, then in zip(found, [*found[1:], None], strict=True):
            if block.code.startswith("curl"):
                yield block, then if then is not None and then.fence == "json" else None


LIBRARY = block_of("docs/webhooks.md", "from standardwebhooks")
RUN = [LIBRARY, *(block for pair in curls() for block in pair if block is not None)]


def test_guides_show_real_answers(server: Server, key: str) -> None:
    for block, following in curls():
        method, path, sent, body = curl_of(block.code.replace(KEY, key))
        connection = HTTPConnection(server.host, server.port, timeout=20)
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        answered = json.loads(response.read())
        connection.close()
        assert (response.status, answered["err"]) == (200, None), block.code
        if following is not None:
            assert fits(json.loads(following.code), answered), answered


def test_recommended_library_accepts_signatures() -> None:
    secret, body = bytes(range(32)), b'{"type":"transfer.status"}'
    names: dict[str, Any] = {
        "secret": secret_text(secret),
        "body": body,
        "headers": dict(headers("msg_1", int(time.time()), body, [secret])),
    }
    exec(compile(LIBRARY.code, "webhooks.md", "exec"), names)
    assert names["event"] == {"type": "transfer.status"}
    with pytest.raises(Exception, match="signature"):
        exec(compile(LIBRARY.code, "webhooks.md", "exec"), names | {"body": body + b" "})
