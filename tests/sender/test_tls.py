"""Over TLS the certificate has to be of the name, though the connection goes to an address."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app.domain.webhooks.addresses import parse_networks
from app.sender.post import Poster, Unsent
from tests.sender.receiver import Names, Receiver

NAME = "hooks.example"
LOOPBACK = parse_networks(["127.0.0.0/8"])


def certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    signing: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    """A certificate of an authority, or with an issuer that of a host."""
    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
    )
    return made.sign(signing, hashes.SHA256())


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """An authority of the operator's own, and a server with a certificate by it."""
    folder = tmp_path_factory.mktemp("tls")
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = certificate("Own authority", root_key, None, root_key)
    (folder / "ca.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    leaf = certificate(NAME, key, root, root_key).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(leaf + private)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.pem")
    return folder / "ca.pem", context


def attempt(host: str, own: tuple[Path, ssl.SSLContext], *, with_authority: bool) -> int:
    """The status of the answer to one attempt at a name that leads to the server."""
    authority, context = own

    async def work() -> int:
        names = Names(**{host.replace(".", "_"): [["127.0.0.1"]]})
        poster = Poster(names, LOOPBACK, authority if with_authority else None)
        async with Receiver(tls=context) as receiver:
            try:
                answer = await poster.post(f"https://{host}:{receiver.port}/", b"{}", {}, datetime.now(UTC))
            finally:
                await poster.close()
            return answer.status

    return asyncio.run(work())


def test_a_certificate_of_the_name_by_the_own_authority_is_accepted(own: tuple[Path, ssl.SSLContext]) -> None:
    assert attempt(NAME, own, with_authority=True) == 204


@pytest.mark.parametrize(("host", "with_authority"), [("other.example", True), (NAME, False)])
def test_another_name_and_an_unknown_authority_are_not(
    own: tuple[Path, ssl.SSLContext], host: str, with_authority: bool
) -> None:
    with pytest.raises(Unsent, match="certificate is not accepted"):
        attempt(host, own, with_authority=with_authority)
