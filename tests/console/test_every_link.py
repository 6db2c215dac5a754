"""Every link that a page shows leads somewhere, whoever sees it; and no page breaks at odd arguments."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from tests.applications import OpenApp
from tests.console.walking import tell, walk
from tests.everyday import some

NAMES = ("endpoint", "self", "_method", "_scheme", "_external", "_anchor", "values", "fn", "cls", "url")
"""Arguments that no page has, called like parameters of functions that build addresses."""

VALUES = ("x", "", "-1", "9" * 30, "1e999", "NaN", "²", "\0", "\ud800", "[]", "%", "POST", "A" * 3000)
"""For each argument."""


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    return open_app(two_persons=("pegged_pairs",))


@pytest.fixture
def story(app: Flask, sandbox: Flask) -> None:
    tell(app)


@pytest.mark.slow
@pytest.mark.usefixtures("story")
@pytest.mark.parametrize("role", Role)
def test_every_link_leads_somewhere(app: Flask, role: Role) -> None:
    walked = walk(app, role)
    assert not walked.wrong, "\n".join(walked.wrong)
    assert len(walked.pages) > 30
    menu = re.findall(r'<a href="([^"]+)"[^>]*>Past configuration', walked.visitor.get("/admin/").text)
    assert menu == ["/admin/history/at"]


@pytest.mark.slow
@pytest.mark.usefixtures("story")
def test_no_page_breaks_at_odd_arguments(app: Flask) -> None:
    walked, broken = walk(app, Role.ADMIN), []
    every = sorted({*NAMES, "page", "page_size", "sort", "desc", "search", "before"})
    for endpoint, (path, own) in sorted(walked.pages.items()):
        names = sorted({*every, *own})
        queries = [{name: "x"} for name in names] + [dict.fromkeys(names, value) for value in VALUES]
        for query in some(queries, 20):
            status = walked.visitor.get(f"{path}?{urlencode(query, errors='surrogatepass')}").status_code
            if status >= 500:
                broken.append(f"{status} {endpoint} {path}?{urlencode(query, errors='surrogatepass')[:120]}")
    assert not broken, "\n".join(broken)
