"""What nginx with the shipped configuration does with requests, and with gateways that go away."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from select import select

import pytest

from app.observability.logs import request_of
from app.values.codes import Reason
from serving.reserved import every_field
from tests.deploy.files import free_port
from tests.deploy.nginx import (
    OPERATORS,
    PLACES,
    PUBLIC,
    READS,
    STATUS,
    WRITES,
    Nginx,
    change,
    command,
    install,
    proxying,
    running,
)
from tests.deploy.standins import Upstream, standing_in
from tests.site.snippets import block_of

pytestmark = pytest.mark.system

CERTIFICATE = block_of("docs/alerts.md", "openssl s_client")
SILENT = block_of("docs/alerts.md", "curl -s -o /dev/null")
RUN = [CERTIFICATE, SILENT]


class Places(dict[str, Upstream]):
    """Upstreams by the names of ``PLACES``."""

    nginx: Nginx


@pytest.fixture(scope="module")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    with ExitStack() as stack:
        places = Places({name: stack.enter_context(standing_in()) for name in PLACES.values()})
        ports = {name: upstream.port for name, upstream in places.items()}
        places.nginx = stack.enter_context(proxying(tmp_path_factory.mktemp("nginx"), ports))
        yield places


@pytest.fixture
def places(everybody: Places) -> Places:
    """All of them alive, without a request yet."""
    for upstream in everybody.values():
        upstream.dies = False
        upstream.requests.clear()
    return everybody


def requests_of(places: Places) -> dict[str, list[tuple[str, str]]]:
    return {name: upstream.requests for name, upstream in places.items() if upstream.requests}


def test_configuration_is_accepted(tmp_path: Path) -> None:
    nginx = install(tmp_path, dict.fromkeys(PLACES.values(), 1))
    printed = subprocess.run(command(nginx, "-t"), capture_output=True, text=True, check=False).stderr
    assert "test is successful" in printed
    assert "warn" not in printed and "emerg" not in printed


def test_gateway_receives_the_client_address(places: Places) -> None:
    headers = {
        "X-Forwarded-For": "198.51.100.7",
        "X-Forwarded-Proto": "http",
        "X-Request-Id": "a-callers-own_id-1",
    }
    response, body = places.nginx.request("GET", "/v2/getTransferConfigs?x=1", headers=headers)
    received = json.loads(body)
    assert response.status == 200
    assert received["x-forwarded-for"] == "198.51.100.7, 127.0.0.1"
    assert received["x-forwarded-proto"] == "https"
    assert received["x-request-id"] == "a-callers-own_id-1"
    assert received["host"].startswith("localhost:")
    assert "connection" not in received  # so it stays open


IDS = {
    "short": False,
    "x" * 64: True,
    "x" * 65: False,
    "with space in it": False,
    "<script>alert</script>": False,
    "198.51.100.7": False,
    "a-callers-own-id_1": True,
    f"gwi_{'k' * 30}": False,
    f"gwk_{'k' * 30}": False,
    f"whsec_{'k' * 30}": False,
}
"""Whether each is passed on."""


@pytest.mark.parametrize(("sent", "passed"), IDS.items())
def test_nginx_keeps_ids_like_gateway(places: Places, sent: str, *, passed: bool) -> None:
    _, body = places.nginx.request("GET", "/", headers={"X-Request-Id": sent})
    received = json.loads(body)["x-request-id"]
    assert received == sent if passed else re.fullmatch("[0-9a-f]{32}", received)
    assert (request_of({"HTTP_X_REQUEST_ID": sent}).public_id == sent) == passed


def test_nginx_adds_missing_request_id(places: Places) -> None:
    _, body = places.nginx.request("GET", "/")
    received = json.loads(body)["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", received)
    assert request_of({"HTTP_X_REQUEST_ID": received}).public_id == received


def test_log_has_id_without_query(places: Places) -> None:
    places.nginx.request(
        "GET", "/v2/transferHistory?acct_addr=0xabc", headers={"X-Request-Id": "of-this-test"}
    )
    (line,) = places.nginx.logged("of-this-test")
    assert (line["path"], line["status"], line["address"]) == ("/v2/transferHistory", 200, "127.0.0.1")
    assert "0xabc" not in json.dumps(line)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/v2/waitTransferStatus?transfer_id=1", "waiting"),
        ("/v2/transferEvents?account=1", "waiting"),
        ("/v2/transferEventsX", "first"),
        ("/docs/", "first"),
        ("/transfer/0x1", "first"),
    ],
)
def test_waiting_requests_go_elsewhere(places: Places, path: str, place: str) -> None:
    assert places.nginx.request("GET", path)[0].status == 200
    (found,) = requests_of(places)
    assert found in ({"first", "second"} if place == "first" else {place})


@pytest.mark.parametrize(
    "path",
    ["/admin", "/admin/", "//admin/", "/%61dmin/", "/ingest/v1/events", "/x/../ingest/v1/cursor", "/readyz"],
)
def test_public_cannot_reach_console_or_feed(places: Places, path: str) -> None:
    response, body = places.nginx.request("GET", path)
    assert (response.status, response.headers["X-Gateway-Reason"]) == (404, Reason.PATH_NOT_FOUND.value)
    assert json.loads(body)["err"]["code"] == 500
    assert requests_of(places) == {}


def test_operators_have_an_address_of_their_own(places: Places) -> None:
    for path in ("/admin/", "/ingest/v1/cursor", "/readyz"):
        assert places.nginx.request("GET", path, port=OPERATORS)[0].status == 200
    assert requests_of(places).keys() == {"operators"}


def test_only_their_networks_reach_it(tmp_path: Path) -> None:
    nginx = install(tmp_path, dict.fromkeys(PLACES.values(), 1))
    allowed = (nginx.folder / "gateway-place/operators.conf").read_text().split("\n")
    assert [line for line in allowed if line][-1] == "deny all;"
    assert (
        "include gateway-place/operators.conf;"
        in (nginx.folder / "gateway.conf").read_text().split("8443")[0]
    )
    change(nginx.folder / "gateway-place/operators.conf", r"allow 127\.0\.0\.0/8;", "", 1)
    with running(nginx):
        response, body = nginx.request("GET", "/ingest/v1/cursor", port=OPERATORS)
    assert (response.status, json.loads(body)["err"]["code"]) == (403, 500)


KIB = 1024


@pytest.mark.parametrize(
    ("path", "port", "most"),
    [
        (STATUS, 443, 64 * KIB),
        ("/admin/import", OPERATORS, 16 * KIB * KIB),
        ("/ingest/v1/events", OPERATORS, 64 * KIB * KIB),
    ],
)
def test_bodies_are_bounded(places: Places, path: str, port: int, most: int) -> None:
    connection = places.nginx.connect(port)
    connection.putrequest("POST", path)
    connection.putheader("Content-Length", str(most + 1))
    connection.endheaders()
    response = connection.getresponse()
    assert (response.status, response.headers["X-Gateway-Reason"]) == (413, Reason.BODY_TOO_LARGE.value)
    assert requests_of(places) == {}
    if most <= 64 * KIB:
        assert places.nginx.request("POST", path, b" " * most, port=port)[0].status == 200


def test_refusal_has_every_field_and_header(places: Places) -> None:
    response, body = places.nginx.request("GET", "/admin/", headers={"X-Request-Id": "a-refused-one"})
    refused = json.loads(body)
    assert refused.pop("err") == {"code": 500, "msg": "there is nothing at this path"}
    assert refused == {name: zero for name, zero in every_field().items() if name != "err"}
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Request-Id"] == "a-refused-one"
    assert response.headers["Retry-After"] is None


def test_trace_is_refused_with_the_envelope(places: Places) -> None:
    response, body = places.nginx.request("TRACE", "/v2/getTransferConfigs")
    assert (response.status, json.loads(body)["err"]["code"]) == (405, 500)
    assert requests_of(places) == {}


@pytest.mark.parametrize(("method", "path"), READS)
def test_read_is_retried_at_other_gateway(places: Places, method: str, path: str) -> None:
    """Whichever of the two has the first request."""
    for dying in ("first", "second"):
        places["first"].dies = places["second"].dies = False
        places[dying].dies = True
        statuses = {places.nginx.request(method, path, b"{}")[0].status for _ in range(2)}
        assert statuses == {200}
    assert places["first"].requests and places["second"].requests


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_sent_write_is_never_retried(places: Places, method: str, path: str) -> None:
    places["first"].dies = places["second"].dies = True
    response, body = places.nginx.request(method, path, b"{}")
    assert sum(map(len, requests_of(places).values())) == 1
    assert (response.status, response.headers["X-Gateway-Reason"]) == (503, Reason.UNAVAILABLE.value)
    assert response.headers["Retry-After"] == "5"
    assert json.loads(body)["err"]["code"] == 500


def test_stopped_gateway_fails_no_request(tmp_path: Path) -> None:
    """Its port is closed: nothing was sent, so writes go to the other one, too."""
    with standing_in() as alive:
        ports = dict.fromkeys(PLACES.values(), alive.port) | {"first": free_port()}
        with proxying(tmp_path, ports) as nginx:
            for method, path in (*READS, *WRITES) * 2:
                assert nginx.request(method, path, b"{}")[0].status == 200


@contextmanager
def silent_gateway(folder: Path, waiters: int) -> Iterator[tuple[Nginx, socket.socket]]:
    """nginx in front of gateways that accept and say nothing. A header names the address of a caller.

    :param waiters: so many may wait from one network.
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(20)
        nginx = install(folder, dict.fromkeys(PLACES.values(), silent.getsockname()[1]))
        change(
            folder / "gateway.conf",
            r"limit_conn gateway_waiters \d+;",
            f"limit_conn gateway_waiters {waiters};",
            1,
        )
        with (folder / "gateway-place/log.conf").open("a") as place:
            place.write("set_real_ip_from 127.0.0.1;\nreal_ip_header X-Test-Address;\n")
        with running(nginx):
            yield nginx, silent


def test_connections_of_a_network_are_bounded(tmp_path: Path) -> None:
    """The gateway bounds none of them: it leaves that to this proxy."""
    with silent_gateway(tmp_path, 1) as (nginx, silent), ExitStack() as stack:

        def request(address: str) -> HTTPConnection:
            caller = nginx.connect()
            stack.callback(caller.close)
            caller.request("GET", "/v2/getTransferConfigs", headers={"X-Test-Address": address})
            return caller

        for _ in range(100):
            request("203.0.113.10")
            stack.enter_context(silent.accept()[0])
        refused = request("203.0.113.10").getresponse()
        assert (refused.status, refused.headers["X-Gateway-Reason"]) == (429, Reason.RATE_LIMITED.value)
        assert refused.headers["Retry-After"]
        request("203.0.113.11")
        stack.enter_context(silent.accept()[0])


def test_waiting_requests_are_bounded_by_network(tmp_path: Path) -> None:
    """An IPv4 address, and of IPv6 the /64 that a subscriber has: also where bytes of it are line ends."""
    with silent_gateway(tmp_path, 1) as (nginx, silent), ExitStack() as stack:

        def waits(address: str) -> bool:
            """Whether a caller of this address comes as far as the gateway, where it stays."""
            caller = nginx.connect()
            stack.callback(caller.close)
            caller.request("GET", "/v2/transferEvents?account=1", headers={"X-Test-Address": address})
            if select([silent], [], [], 2)[0]:
                stack.enter_context(silent.accept()[0])
                return True
            assert caller.getresponse().status == 429
            return False

        assert waits("2001:db8:0:a::1")
        assert not waits("2001:db8:0:a:ffff:ffff:ffff:fffe")
        assert not waits("2001:db8:0:a::a")
        assert waits("2001:db8:0:b::1")
        assert waits("2001:db8:a0a:a0a:a0a::a0a")
        assert not waits("2001:db8:a0a:a0a::1")
        assert waits("203.0.113.10")
        assert not waits("203.0.113.10")
        assert waits("203.0.113.11")


def test_unfinished_body_does_not_come_to_the_gateway(tmp_path: Path) -> None:
    """Thousands of them would hold up others there."""
    with silent_gateway(tmp_path, 1) as (nginx, silent):
        caller = nginx.connect()
        caller.putrequest("POST", STATUS)
        caller.putheader("Content-Length", "2")
        caller.endheaders(b"{")
        assert not select([silent], [], [], 1)[0]
        caller.send(b"}")
        assert select([silent], [], [], 20)[0]
        caller.close()


def test_alert_commands_show_certificate_end(places: Places) -> None:
    typed = CERTIFICATE.code.replace("gateway.example.org:443", f"localhost:{places.nginx.ports[PUBLIC]}")
    typed = typed.replace("/etc/nginx", str(places.nginx.folder))
    done = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, check=True)
    served, on_disk = done.stdout.splitlines()
    assert served == on_disk
    assert served.startswith("notAfter=")


@pytest.mark.parametrize(("trusted", "printed"), [(True, "200 "), (False, "000 SSL certificate problem")])
def test_alert_commands_show_where_a_call_ends(places: Places, trusted: bool, printed: str) -> None:
    call, nginx, ready = SILENT.code.splitlines()
    typed = call.replace("gateway.example.org", f"localhost:{places.nginx.ports[PUBLIC]}")
    typed = typed.replace("curl ", "curl --insecure ") if trusted else typed
    done = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(printed)
    assert nginx.startswith("systemctl status nginx") and ready.endswith(":8011/readyz")
