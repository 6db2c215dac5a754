"""The shipped nginx far from the primary: writes go to the nginx next to it, by TLS, and reads stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from shutil import copy

import pytest

from tests.deploy.nginx import OPERATORS, PLACES, PUBLIC, READS, WRITES, Nginx, change, install, running
from tests.deploy.standins import Upstream, standing_in

pytestmark = pytest.mark.system

PLACE = "gateway-place/regions.conf"
OF_OPERATORS = (("GET", "/admin/"), ("POST", "/admin/import"), ("POST", "/ingest/v1/events"))


class Regions:
    """An nginx next to the primary, one far from it, and the gateways of each by their places."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        def region(name: str) -> tuple[Nginx, dict[str, Upstream]]:
            gateways = {place: stack.enter_context(standing_in()) for place in PLACES.values()}
            (folder / name).mkdir()
            return install(folder / name, {each: it.port for each, it in gateways.items()}), gateways

        self.near, self.near_gateways = region("near")
        self.far, self.far_gateways = region("far")
        uncomment(self.near.folder / PLACE, "near")
        change(self.near.folder / PLACE, r"203\.0\.113\.10", "127.0.0.1", 1)
        point(self.far, self.near)
        for nginx in (self.near, self.far):
            stack.enter_context(running(nginx))

    def forget(self) -> None:
        """Forget all requests."""
        for upstream in (*self.near_gateways.values(), *self.far_gateways.values()):
            upstream.requests.clear()


def uncomment(file: Path, part: str) -> None:
    """Edit a part of the file as docs/scaling.md#regions says."""
    paragraphs = file.read_text().split("\n\n")
    (number,) = (n for n, text in enumerate(paragraphs) if text.startswith(f"# {part}: "))
    paragraphs[number] = re.sub(r"^#(?! \w)", "", paragraphs[number], flags=re.M)
    if part == "far":
        paragraphs[0] = re.sub(r"^map .*\n?", "", paragraphs[0], flags=re.M)
    file.write_text("\n\n".join(paragraphs))


def point(far: Nginx, near: Nginx) -> None:
    """Send the writes of one nginx to another, whose certificate it checks."""
    file = far.folder / PLACE
    uncomment(file, "far")
    for port in (PUBLIC, OPERATORS):
        change(file, rf"primary\.gateway\.example\.org:{port}\b", f"127.0.0.1:{near.ports[port]}", 1)
    change(file, "proxy_ssl_name .*;", "proxy_ssl_name localhost;", 1)
    copy(near.folder / "gateway-place/tls/fullchain.pem", far.folder / "authorities.pem")
    change(file, "/etc/ssl/certs/ca-certificates.crt", str(far.folder / "authorities.pem"), 1)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Regions]:
    with ExitStack() as stack:
        yield Regions(tmp_path_factory.mktemp("regions"), stack)


@pytest.fixture
def regions(both: Regions) -> Regions:
    both.forget()
    return both


def requests(gateways: dict[str, Upstream]) -> list[tuple[str, str]]:
    return [request for each in gateways.values() for request in each.requests]


@pytest.mark.parametrize(("method", "path"), [*READS, ("GET", "/transfer/0x1"), ("GET", "/docs/")])
def test_reads_stay(regions: Regions, method: str, path: str) -> None:
    assert regions.far.request(method, path, b"{}")[0].status == 200
    assert (requests(regions.far_gateways), requests(regions.near_gateways)) == ([(method, path)], [])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *WRITES,
        ("POST", "/v1/withdrawLiquidity"),
        ("POST", "/v2/withdrawLiquidity%20"),
        ("DELETE", "/v2/webhooks?id=1"),
        ("GET", "/v2/webhooks"),
    ],
)
def test_writes_go_to_the_primary(regions: Regions, method: str, path: str) -> None:
    response, _ = regions.far.request(method, path, b"{}")
    assert response.status == 200
    assert (requests(regions.far_gateways), requests(regions.near_gateways)) == ([], [(method, path)])


@pytest.mark.parametrize(("method", "path"), OF_OPERATORS)
def test_console_and_feed_go_to_the_primary(regions: Regions, method: str, path: str) -> None:
    assert regions.far.request(method, path, b"{}", port=OPERATORS)[0].status == 200
    assert requests(regions.far_gateways) == []
    assert regions.near_gateways["operators"].requests == [(method, path)]


def test_gateway_receives_client_not_region(regions: Regions) -> None:
    """The last address is what a gateway with TRUSTED_PROXIES=1 counts limits by."""
    headers = {"X-Forwarded-For": "198.51.100.7", "X-Request-Id": "of-two-regions"}
    caller = regions.far.connect(source="127.0.0.2")
    caller.request("POST", WRITES[0][1], b"{}", headers)
    received = json.loads(caller.getresponse().read())
    caller.close()
    assert received["x-forwarded-for"].split(", ")[-1] == "127.0.0.2"
    assert (received["x-forwarded-proto"], received["x-request-id"]) == ("https", "of-two-regions")
    assert received["host"].startswith("localhost:")
    (line,) = regions.near.logged("of-two-regions")
    assert line["address"] == "127.0.0.2", "what limit_conn and operators.conf go by"


def test_another_certificate_gets_nothing(regions: Regions, tmp_path: Path) -> None:
    wrong = install(tmp_path, dict.fromkeys(PLACES.values(), 1))
    point(wrong, regions.near)
    copy(wrong.folder / "gateway-place/tls/fullchain.pem", wrong.folder / "authorities.pem")
    with running(wrong):
        response, body = wrong.request("POST", WRITES[0][1], b"{}")
    assert (response.status, json.loads(body)["err"]["code"]) == (503, 500)
    assert requests(regions.near_gateways) == []
