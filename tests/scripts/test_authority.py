"""Packages are installed from a registry whose certificate a company's own authority has signed."""

from __future__ import annotations

import hashlib
import os
import shlex
import ssl
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]
WHEEL = "none_such-1-py3-none-any.whl"
STORE = "/etc/ssl/certs"
"""The system's, where uv and OpenSSL look for it on Debian."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def _signed(subject: str, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey) -> bytes:
    """A certificate by the authority: its own where the two keys are the same."""
    now, own = datetime.now(UTC), key is signer
    name, authority = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (subject, "Company")
    )
    builder = (
        x509.CertificateBuilder(authority, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=own, path_length=None), critical=True)
    )
    if not own:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """A registry of one package on this machine, by TLS. Its authority is in the folder ``store``."""
    of_authority, of_registry = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    store, served = tmp_path / "store", tmp_path / "served/simple/none-such"
    for folder in (store, served):
        folder.mkdir(parents=True)
    (store / "ca-certificates.crt").write_bytes(_signed("Company", of_authority, of_authority))
    subprocess.run([program("openssl"), "rehash", str(store)], check=True)  # for a Python that reads folders
    with zipfile.ZipFile(served / WHEEL, "w") as archive:
        archive.writestr(
            "none_such-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: none-such\nVersion: 1\n"
        )
        archive.writestr("none_such-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr("none_such-1.dist-info/RECORD", "")
    (served / "index.html").write_text(f'<a href="{WHEEL}">{WHEEL}</a>')
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (tmp_path / "server.pem").write_bytes(
        of_registry.private_bytes(serialization.Encoding.PEM, *private)
        + _signed("localhost", of_registry, of_authority)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "served"))) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"https://localhost:{server.server_port}/simple"
        server.shutdown()


def _installed(folder: Path, registry: str, uv: bool) -> subprocess.CompletedProcess[str]:
    """Run the script in a checkout of its own, on a machine whose store has the company's authority."""
    checkout = folder / "checkout"
    (checkout / "scripts").mkdir(parents=True)
    (checkout / "scripts/venv.py").write_text((ROOT / "scripts/venv.py").read_text())
    wheel = folder / "served/simple/none-such" / WHEEL
    (checkout / "requirements.txt").write_text(
        f"none-such==1 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    )
    lock = (ROOT / "requirements-dev.txt").read_text()
    (checkout / "requirements-dev.txt").write_text(lock if uv else "# without uv\n")
    base = str(Path(sys.base_prefix) / "bin/python3")  # it has pip, or the wheel of one
    command = shlex.join([base, str(checkout / "scripts/venv.py"), "requirements.txt"])
    unshare = [program("unshare", "util-linux"), "--mount", *["--map-root-user"] * (os.geteuid() != 0)]
    return subprocess.run(
        [*unshare, "sh", "-ec", f"mount --bind {shlex.quote(str(folder / 'store'))} {STORE}; exec {command}"],
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}", "HOME": str(folder),
            "UV_CACHE_DIR": str(folder / "cache"), "UV_DEFAULT_INDEX": registry, "PIP_INDEX_URL": registry,
            "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0",
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.system
@pytest.mark.parametrize("uv", [True, False], ids=["uv", "pip"])
def test_system_authority_is_trusted(tmp_path: Path, registry: str, uv: bool) -> None:
    done = _installed(tmp_path, registry, uv)
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "checkout/.venv").glob("lib/*/site-packages/none_such-1.dist-info"))
