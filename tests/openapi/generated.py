"""Clients that are generated from the OpenAPI document and checked as strictly as their languages can.

Made once for a document and stored in .tmp/: that takes ten seconds, calling them one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.grpcweb.node import ROOT, install, locked, node, run

SOURCES = Path(__file__).parent / "clients"
WORKSHOP = ROOT / ".tmp" / "openapi-clients"
BIN = Path(sys.executable).parent
GENERATOR = str(BIN / "openapi-python-client")
CHECKER = (str(BIN / "mypy"), "--strict", "--config-file", os.devnull, "--cache-dir", "mypy-cache")


def typescript(document: bytes) -> tuple[str, ...]:
    """The command that calls every operation with openapi-typescript's types, as ``tsc`` compiled it."""
    node_path = node()
    return node_path, str(_made("typescript", document, lambda folder: _typescript(node_path, folder)))


def python(document: bytes) -> tuple[str, ...]:
    """The command that calls every operation with openapi-python-client's package, as mypy checked it."""
    return sys.executable, str(_made("python", document, _python))


def _typescript(node_path: str, folder: Path) -> Path:
    install(node_path, SOURCES, folder)
    tools = folder / "node_modules" / ".bin"
    run(str(tools / "openapi-typescript"), "openapi.json", "--output", "schema.ts", cwd=folder)
    run(str(tools / "tsc"), "--project", ".", cwd=folder)
    return folder / "built" / "calls.js"


def _python(folder: Path) -> Path:
    package = folder / "gateway_client"
    settings = folder / "settings.json"
    settings.write_text('{"post_hooks": [], "package_name_override": "gateway_client"}')
    shutil.rmtree(package, ignore_errors=True)
    made = ("--path", "openapi.json", "--output-path", package.name, "--meta", "none", "--fail-on-warning")
    run(GENERATOR, "generate", *made, "--config", settings.name, cwd=folder)
    (package / "py.typed").touch()
    shutil.copy(SOURCES / "calls.py", folder)
    run(*CHECKER, "calls.py", package.name, cwd=folder)
    return folder / "calls.py"


def _made(name: str, document: bytes, make: Callable[[Path], Path]) -> Path:
    """The program of a client. Other processes wait while one makes it."""
    folder = WORKSHOP / name
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(document)
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.read_bytes())
    with locked(folder / "lock"):
        stamp = folder / "made"
        if not stamp.exists() or stamp.read_text().splitlines()[0] != digest.hexdigest():
            (folder / "openapi.json").write_bytes(document)
            stamp.unlink(missing_ok=True)
            program = make(folder)
            stamp.write_text(f"{digest.hexdigest()}\n{program}\n")
        return Path(stamp.read_text().splitlines()[1])
