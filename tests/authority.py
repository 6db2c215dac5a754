"""An authority of an operator's own, and certificates by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates that are valid for an hour."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = _certificate(name, self._key, None, self._key)

    def issue(self, host: str) -> tuple[bytes, bytes]:
        """A host's certificate and its key, both in PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = _certificate(host, key, self.certificate, self._key)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return made.public_bytes(serialization.Encoding.PEM), private


def _certificate(
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
