"""Over TLS the certificate has to be of the name, though the connection goes to an address."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from app.webhooks.post import Poster, Unsent
from app.webhooks.rules.addresses import parse_networks
from tests.authority import Authority
from tests.webhooks.sender.receiver import Names, Receiver

NAME = "hooks.example"
LOOPBACK = parse_networks(["127.0.0.0/8"])


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """An authority of the operator's own, and a server with a certificate by it."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority("Own authority")
    (folder / "ca.pem").write_bytes(authority.certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(b"".join(authority.issue(NAME)))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.pem")
    return folder / "ca.pem", context


def attempt(host: str, own: tuple[Path, ssl.SSLContext], *, with_authority: bool) -> int:
    """The status of the answer to one attempt at a name that leads to the server."""
    authority, context = own

    async def work() -> int:
        names = Names(**{host.replace(".", "_"): [["127.0.0.1"]]})
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setenv("SSL_CERT_FILE", str(authority) if with_authority else "")
            poster = Poster(names, LOOPBACK)
        async with Receiver(tls=context) as receiver:
            try:
                answer = await poster.post(f"https://{host}:{receiver.port}/", b"{}", {}, datetime.now(UTC))
            finally:
                await poster.close()
            return answer.status

    return asyncio.run(work())


def test_own_authority_certificate_is_accepted(own: tuple[Path, ssl.SSLContext]) -> None:
    """One of the name that is called."""
    assert attempt(NAME, own, with_authority=True) == 204


@pytest.mark.parametrize(("host", "with_authority"), [("other.example", True), (NAME, False)])
def test_wrong_name_or_authority_is_refused(
    own: tuple[Path, ssl.SSLContext], host: str, with_authority: bool
) -> None:
    with pytest.raises(Unsent, match="certificate is not accepted"):
        attempt(host, own, with_authority=with_authority)


def test_own_authority_needs_own_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read shows whether it is."""
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    Poster(Names(), ())
    with pytest.raises(FileNotFoundError):
        Poster(Names(), LOOPBACK)
