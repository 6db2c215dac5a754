"""The gateway below /bridge/: every link that a browser follows from there stays there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from app.accounts.rules.roles import Role
from app.sandbox.catalogue import RECORDED_TRANSFER, sandbox_id
from app.values.codes import TransferHistoryStatus
from config import ALL_DOORS
from scripts.docs_site.build import ensure_site
from tests.amounts import few_or_many
from tests.applications import application, cheap_passwords
from tests.console.forms import forms_in
from tests.console.visitor import PASSWORD, add_account, email_of
from tests.deploy.files import free_port
from tests.deploy.nginx import MAIN, PLAIN, Nginx, running
from tests.sandboxes import load_into
from tests.serving.migrated import sqlite_url
from tests.serving.sandbox import serving_sandbox
from tests.site.snippets import block_of

PREFIX = "/bridge"
FEW, MANY = 8, 1_000
"""Pages of the documentation that are read: one is made like the other."""
DOORS = (*ALL_DOORS, "wait")
OF_A_PATTERN = {FEW: 1, MANY: 2}
"""So many pages whose addresses differ only in their ids are read."""
NEEDED = {FEW: 50, MANY: 100}
"""Pages that are read at least."""

STATUS = f"{PREFIX}/v2/getTransferStatus"
WITHOUT_ANSWER = {f"{PREFIX}/transfer/n", f"{PREFIX}/v2/waitTransferStatus"}
"""No transfer; and the address to wait at, which lacks its parameters in the page."""

TO_REFUND = sandbox_id(TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED)
STARTS = (
    "/", "/docs", "/docs/", "/docs/try/", "/admin", "/admin/", "/transfer/", f"/transfer/{TO_REFUND}",
    f"/transfer/{RECORDED_TRANSFER.upper()[2:]}", "/transfer/?key=n", "/openapi.json",
)  # fmt: skip

DOCUMENTED = block_of("docs/operations.md", f"location {PREFIX}/")
RUN = [DOCUMENTED]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.posted: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "link" and values.get("rel") == "canonical":
            return
        posted = tag == "form" and (values.get("method") or "").lower() == "post"
        for name in ("href", "src", "action", "data-document", "data-waits"):
            value = values.get(name)
            if value is not None:
                (self.posted if posted else self.found).append(value)


def links_of(answer: httpx.Response) -> tuple[list[str], list[str]]:
    """The addresses that a browser makes of the links or the redirect, and those that it would post to."""
    if answer.has_redirect_location:
        return [urljoin(str(answer.url), answer.headers["Location"])], []
    if not answer.headers.get("Content-Type", "").startswith("text/html"):
        return [], []
    parser = _Links()
    parser.feed(answer.text)
    found, posted = (
        [urljoin(str(answer.url), link).partition("#")[0] for link in links]
        for links in (parser.found, parser.posted)
    )
    return found, posted


def crawl(client: httpx.Client, documentation: int) -> tuple[set[str], list[str]]:
    """The paths that were read, and what is wrong: links that leave the path, or lead nowhere.

    :param documentation: how many of its pages are read, at most.
    """
    base = str(client.base_url).rstrip("/")
    waiting, seen, read, wrong = (
        [base + PREFIX + path for path in STARTS],
        set[str](),
        set[str](),
        list[str](),
    )
    patterns: dict[str, int] = {}
    while waiting:
        address = waiting.pop()
        path = urlsplit(address).path
        if path.startswith(f"{PREFIX}/docs/") and path.removeprefix(PREFIX) not in STARTS:
            pattern, most = f"{PREFIX}/docs/", documentation
        else:
            pattern, most = re.sub(r"0x[0-9a-f]+|\d+", "#", path), OF_A_PATTERN[documentation]
        if address in seen or path in read or patterns.get(pattern, 0) >= most:
            continue
        seen.add(address)
        patterns[pattern] = patterns.get(pattern, 0) + 1
        answer = client.get(address)
        read.add(path)
        if answer.status_code >= 400 and path not in WITHOUT_ANSWER:
            wrong.append(f"{address}: {answer.status_code}")
        found, posted = links_of(answer)
        for link in [*found, *posted]:
            parts = urlsplit(link)
            if f"{parts.scheme}://{parts.netloc}" != base:
                continue  # an explorer, the address of a repository
            if not parts.path.startswith(f"{PREFIX}/"):
                wrong.append(f"{address} -> {link}")
            elif link in found:
                waiting.append(link)
        wrong += [
            f"{address}: cookie {cookie}"
            for cookie in answer.headers.get_list("Set-Cookie")
            if f"Path={PREFIX}/" not in cookie
        ]
    return read, wrong


def sign_in(client: httpx.Client) -> None:
    page = client.get(f"{PREFIX}/admin/sign-in?next={PREFIX}/admin/chains/")
    (form,) = [dict(fields) for _, fields in forms_in(page.text) if "email" in dict(fields)]
    fields = form | {"email": email_of(Role.ADMIN), "password": PASSWORD}
    answer = client.post(f"{PREFIX}/admin/sign-in?next={PREFIX}/admin/chains/", data=fields)
    assert answer.status_code == 302, answer.text
    assert urljoin(str(answer.url), answer.headers["Location"]).endswith(f"{PREFIX}/admin/chains/")


@contextmanager
def nginx(folder: Path, gateway: str) -> Iterator[str]:
    """An nginx with the documented block in front of a gateway: returns its base address."""
    port = free_port()
    locations = DOCUMENTED.code.replace("http://gateway/", f"{gateway}/")
    assert gateway in locations
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder))
    (folder / "gateway.conf").write_text(
        f"access_log off;\nserver {{\n    listen 127.0.0.1:{port};\n{locations}\n}}\n"
    )
    with running(Nginx(folder, {PLAIN: port})):
        yield f"http://127.0.0.1:{port}"


def check(client: httpx.Client, documentation: int) -> None:
    ensure_site()
    found = client.post(STATUS, json={"transfer_id": RECORDED_TRANSFER}).json()
    assert found["status"] == TransferHistoryStatus.TRANSFER_COMPLETED
    assert client.get(f"{PREFIX}/openapi.json").json()["servers"][0]["url"] == f"{PREFIX}/"
    sign_in(client)
    read, wrong = crawl(client, documentation)
    assert not wrong, "\n".join(wrong)
    for part in ("/docs/", "/admin/", "/transfer/"):
        assert sum(path.startswith(PREFIX + part) for path in read) >= 4, sorted(read)
    assert len(read) > NEEDED[documentation]


@pytest.mark.system
@pytest.mark.parametrize("documentation", few_or_many(FEW, MANY))
def test_no_link_leaves_the_path_behind_nginx(
    tmp_path: Path, sqlite_template: Path, documentation: int
) -> None:
    settings = {"DOORS": ",".join(DOORS), "WEB_CONCURRENCY": "1", "TRUSTED_PROXIES": "1"}
    with serving_sandbox(tmp_path, sqlite_template, **settings) as server:
        with application(f"sqlite:///{tmp_path / 'gateway.db'}") as app:
            add_account(app, Role.ADMIN)
        with nginx(tmp_path, server.base) as base, httpx.Client(base_url=base, timeout=30) as client:
            check(client, documentation)


@pytest.mark.parametrize("documentation", few_or_many(FEW, MANY))
def test_no_link_leaves_the_path_of_script_name(
    tmp_path: Path, sqlite_template: Path, documentation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap_passwords(monkeypatch)
    with application(sqlite_url(tmp_path, sqlite_template), script_name=PREFIX, doors=DOORS) as app:
        load_into(app)
        add_account(app, Role.ADMIN)
    with httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://localhost") as client:
        check(client, documentation)
        assert client.get("/healthz").status_code == 200, "a probe needs no path"
