"""Second factors as their owners use them."""

from __future__ import annotations

import re

from passlib.totp import TOTP
from sqlalchemy import update
from werkzeug.test import TestResponse

from app.accounts.models import Operator
from app.accounts.rules.roles import Role
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from tests.console.visitor import Visitor, email_of

VIEWER = email_of(Role.VIEWER)
REFUSED = "Wrong email or password"


def code_of(secret: str, steps: int = 0) -> str:
    """The code of the app that has this key, so many periods from now."""
    totp = TOTP(key=secret.replace("-", "").replace(" ", ""))
    return str(totp.generate(totp.now() + 30 * steps).token)


def begin_set_up(visitor: Visitor) -> TestResponse:
    """The page with the key for the app."""
    return visitor.post("/admin/account/second-factor", {"setup": "authenticator"})


def key_of(page: TestResponse) -> str:
    found = re.search(r'class="mono break">([^<]+)<', page.text)
    assert found, page.text
    return found[1]


def set_up(visitor: Visitor) -> str:
    """Switch the second factor on; its key. The code that it took may be used again."""
    page = begin_set_up(visitor)
    key = key_of(page)
    action = re.search(r'action="(/admin/account/second-factor/[^"]+)"', page.text)
    assert action
    assert "data:image/svg+xml" in page.text
    answer = visitor.post(action[1], {"code": code_of(key)})
    assert answer.status_code == 302, answer.text
    with writing(part_of(visitor.client.application, Database).engine) as connection:
        connection.execute(update(Operator).values(totp_last_counter=None))
    return key
