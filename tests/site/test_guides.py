"""The curls of guides, outside of the pages of operations, and what the guides say they answer."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection
from typing import Any

import pytest

from app.webhooks.signature import headers, secret_text
from tests.curl import curl_of
from tests.serving.server import Server
from tests.site.snippets import ROOT, Block, blocks, fits

KEY = "$GATEWAY_KEY"
GUIDES = ("waiting.md", "api-keys.md")


def code(page: str, fence: str) -> list[tuple[Block, Block | None]]:
    """The blocks of a language, each with the block that follows."""
    found = blocks((ROOT / "docs" / page).read_text())
    return [(one, other) for one, other in zip(found, [*found[1:], None], strict=True) if one.fence == fence]


@pytest.mark.parametrize("page", GUIDES)
@pytest.mark.soak("a gateway for each guide")
def test_what_a_guide_asks_is_answered_as_it_says(server: Server, key: str, page: str) -> None:
    asked = [(block, then) for block, then in code(page, "sh") if block.code.startswith("curl")]
    assert asked
    for block, following in asked:
        method, path, sent, body = curl_of(block.code.replace(KEY, key))
        connection = HTTPConnection(server.host, server.port, timeout=20)
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        answered = json.loads(response.read())
        connection.close()
        assert (response.status, answered["err"]) == (200, None), block.code
        if following is not None and following.fence == "json":
            assert fits(json.loads(following.code), answered), answered


def test_the_library_that_the_guide_names_believes_what_is_signed() -> None:
    ((block, _),) = [each for each in code("webhooks.md", "python") if "standardwebhooks" in each[0].code]
    secret, body = bytes(range(32)), b'{"type":"transfer.status"}'
    names: dict[str, Any] = {
        "secret": secret_text(secret),
        "body": body,
        "headers": dict(headers("msg_1", int(time.time()), body, [secret])),
    }
    exec(compile(block.code, "webhooks.md", "exec"), names)
    assert names["event"] == {"type": "transfer.status"}
    with pytest.raises(Exception, match="signature"):
        exec(compile(block.code, "webhooks.md", "exec"), names | {"body": body + b" "})
