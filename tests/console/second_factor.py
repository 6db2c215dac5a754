"""Second factors as their owners use them."""

from __future__ import annotations

import re

from passlib.totp import TOTP
from sqlalchemy import update

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


def set_up(visitor: Visitor) -> str:
    """Switch the second factor on; its key. The code that it took may be used again."""
    page = visitor.post("/admin/account/second-factor", {"setup": "authenticator"}).text
    key = re.search(r'class="mono break">([^<]+)<', page)
    action = re.search(r'action="(/admin/account/second-factor/[^"]+)"', page)
    assert key
    assert action
    assert "data:image/svg+xml" in page
    answer = visitor.post(action[1], {"code": code_of(key[1])})
    assert answer.status_code == 302, answer.text
    with writing(part_of(visitor.client.application, Database).engine) as connection:
        connection.execute(update(Operator).values(totp_last_counter=None))
    return key[1]
