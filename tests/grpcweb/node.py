"""Node, the packages of clients/ and the code generated for them: made once, stored in .tmp/."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.programs import marked_system, missing

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).parent / "clients"
WORKSHOP = ROOT / ".tmp" / "grpcweb-clients"
GENERATED = WORKSHOP / "generated"
NEEDED_NODE = 18
NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def node() -> str:
    """The path of Node, new enough to have fetch."""
    marked_system("node")
    path = shutil.which("node")
    if path is None or shutil.which("npm") is None:
        missing("Node with npm is not installed: apt-get install nodejs npm")
    version = run(path, "--version").strip()
    if int(version.lstrip("v").partition(".")[0]) < NEEDED_NODE:
        missing(f"Node must be {NEEDED_NODE} or newer: this is {version}")
    return path


def chromium() -> str:
    """The path of a browser."""
    marked_system("chromium")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        missing("Chromium is not installed: apt-get install chromium")
    return path


def run(*command: str, **options: Any) -> str:
    """What a command prints; one that fails fails the test with its output."""
    limits = {"timeout": 300} | options
    done = subprocess.run(command, capture_output=True, text=True, check=False, **limits)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    printed: str = done.stdout
    return printed


def workshop() -> Path:
    """The folder with the clients, ready to run. Other processes wait while one prepares it."""
    node_path = node()
    WORKSHOP.mkdir(parents=True, exist_ok=True)
    with locked(WORKSHOP / "lock"):
        if install(node_path, SOURCES, WORKSHOP):
            shutil.rmtree(GENERATED, ignore_errors=True)
        generate()
    return WORKSHOP


def is_same(source: Path, copy: Path) -> bool:
    """Others may be reading the copy: it is only written when it has to be."""
    return copy.exists() and copy.read_bytes() == source.read_bytes()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(node_path: str, sources: Path, folder: Path) -> bool:
    """Put the sources into the folder, and the packages exactly as their lock file has them.

    Returns whether the packages were not there already.
    """
    for source in sources.iterdir():
        if source.is_file() and not is_same(source, folder / source.name):
            shutil.copy(source, folder)
    digest = hashlib.sha256(run(node_path, "--version").encode())
    digest.update((sources / "package-lock.json").read_bytes())
    stamp = folder / "node_modules" / ".stamp"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return False
    run(*NPM_CI, cwd=folder)
    stamp.write_text(digest.hexdigest())
    return True


def generate() -> None:
    """Connect's messages, by its own generator from our proto file."""
    proto = ROOT / "proto" / "gateway.proto"
    if is_same(proto, GENERATED / proto.name):
        return
    GENERATED.mkdir(exist_ok=True)
    (GENERATED / "package.json").write_text('{"type": "module"}')
    plugin = WORKSHOP / "node_modules" / ".bin" / "protoc-gen-es"
    outputs = (f"--plugin=protoc-gen-es={plugin}", f"--es_out={GENERATED}", "--es_opt=target=js")
    run(sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", *outputs, proto.name)
    shutil.copy(proto, GENERATED)


def import_map() -> str:
    """Where a browser finds the packages that the clients name, from what the packages export."""
    imports = {}
    for package in ("@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-web"):
        folder = WORKSHOP / "node_modules" / package
        for name, target in json.loads((folder / "package.json").read_text())["exports"].items():
            if isinstance(target, dict) and isinstance(target.get("import"), str):
                path = (folder / target["import"]).relative_to(WORKSHOP)
                imports[package + name.removeprefix(".")] = f"/{path}"
    return json.dumps({"imports": imports})
