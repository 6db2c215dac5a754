"""The client libraries as programs: made once in .tmp/, and again when their sources change."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts import client_packages, clients
from tests.grpcweb.node import install, locked, node, run

WORKSHOP = clients.ROOT / ".tmp" / "clients"
TYPESCRIPT = WORKSHOP / "typescript"
AWAITED = "async_cases.py"
"""The program of the Python client that awaits what ``cases.py`` calls."""

PROGRAMS = Path(__file__).parent / "programs"
"""``since_1_0``: programs written for 1.0. ``types.ts``: what viem takes, and what may not compile."""

WITH_PROGRAMS = {
    "extends": "./tsconfig.json",
    "compilerOptions": {
        "paths": {
            "transfer-gateway-client": ["./src/index.ts"],
            "transfer-gateway-client/evm": ["./src/evm.ts"],
        },
    },
    "include": ["src", "test", "programs/**/*.ts"],
}

COPIED = shutil.ignore_patterns("node_modules", "dist", "build", "__pycache__", "*.egg-info")
MYPY = ("--strict", "--config-file", os.devnull, "--cache-dir", str(WORKSHOP / "mypy-cache"))

Case = Mapping[str, Any]


def tools() -> Path:
    """The packages of the TypeScript client, as its lock file has them."""
    TYPESCRIPT.mkdir(parents=True, exist_ok=True)
    with locked(WORKSHOP / "lock-typescript"):
        install(node(), clients.TYPESCRIPT, TYPESCRIPT)
    return TYPESCRIPT / "node_modules"


def typescript() -> Path:
    """The folder of the TypeScript client, its tests and ``PROGRAMS``, compiled.

    A line below ``@ts-expect-error`` that compiles is an error too.
    """
    compiler = tools() / "typescript" / "bin" / "tsc"
    sources = [
        *clients.TYPESCRIPT.glob("*.json"),
        *clients.TYPESCRIPT.glob("*/*.ts"),
        *PROGRAMS.rglob("*.ts"),
    ]
    sources = [each for each in sources if "node_modules" not in each.parts]
    built = TYPESCRIPT / "build"
    with locked(WORKSHOP / "lock-typescript"):
        if not _is_made(TYPESCRIPT / "made", sources):
            (TYPESCRIPT / "made").unlink(missing_ok=True)  # tsc also writes what it does not accept
            for name in ("src", "test", "programs", "build"):
                shutil.rmtree(TYPESCRIPT / name, ignore_errors=True)
            for name in ("src", "test"):
                shutil.copytree(clients.TYPESCRIPT / name, TYPESCRIPT / name)
            shutil.copytree(PROGRAMS, TYPESCRIPT / "programs")
            (TYPESCRIPT / "tsconfig.programs.json").write_text(json.dumps(WITH_PROGRAMS))
            # Not the types of other packages, which check their own: they take more than half of the time.
            project = "tsconfig.programs.json"
            run(node(), str(compiler), "--project", project, "--skipLibCheck", cwd=TYPESCRIPT)
            _made(TYPESCRIPT / "made", sources)
    return built


def tarball(folder: Path) -> Path:
    """The package of the TypeScript client, built in a folder."""
    made = client_packages.prepared(
        clients.TYPESCRIPT, "package.json", client_packages.package_json, folder, client_packages.Links()
    )
    (made / "node_modules").symlink_to(tools())
    client_packages.build_typescript(made, folder)
    (found,) = folder.glob("*.tgz")
    return found


def python() -> str:
    """The interpreter of the Python client's environment."""
    WORKSHOP.mkdir(parents=True, exist_ok=True)
    with locked(WORKSHOP / "lock-python"):
        clients.install()
    return str(clients.ENVIRONMENT / "bin" / "python")


def python_paths() -> dict[str, str]:
    """The settings with which a Python finds the client, and nothing of the gateway."""
    trusted = {name: os.environ[name] for name in ("SSL_CERT_FILE",) if name in os.environ}
    # What is compiled is kept, but not next to the sources of the client, which are packed as they are.
    kept = {"PYTHONPYCACHEPREFIX": str(WORKSHOP / "pycache"), "PYTHONDONTWRITEBYTECODE": ""}
    paths = {"PYTHONPATH": str(clients.PYTHON), "PATH": os.environ["PATH"]} | kept
    return paths | trusted


def project(folder: Path, *packages: str) -> str:
    """The interpreter of an environment that has installed packages in the folder as a user does, in the
    pinned versions; ``./clients/python`` is a copy of the client.
    """
    uv, path = str(Path(sys.executable).parent / "uv"), str(folder / "environment" / "bin" / "python")
    run(uv, "venv", "--quiet", "--python", sys.executable, str(folder / "environment"))
    shutil.copytree(clients.PYTHON, folder / "clients" / "python", ignore=COPIED)
    pins = str(clients.ROOT / "requirements-dev.txt")
    run(uv, "pip", "install", "--quiet", "--python", path, "-c", pins, *packages, cwd=folder)
    return path


def check_types(interpreter: str, file: Path) -> None:
    """mypy accepts a program of the environment's, strictly."""
    python()
    mypy = str(clients.ENVIRONMENT / "bin" / "mypy")
    run(mypy, *MYPY, "--python-executable", interpreter, str(file), cwd=file.parent)


def ask_python(
    cases: Sequence[Case], documents: Mapping[str, Any], *, evm: bool = False, program: str = ""
) -> list[dict[str, Any]]:
    """What the Python client makes of the cases. Without ``evm`` our own interpreter has all it needs."""
    file = clients.PYTHON / "tests" / (program or ("evm_cases.py" if evm else "cases.py"))
    given = json.dumps({"documents": documents, "cases": [_plain(case) for case in cases]})
    said = run(python() if evm else sys.executable, str(file), input=given, env=python_paths())
    results: list[dict[str, Any]] = json.loads(said)
    return results


def check_python(
    cases: Sequence[Case], documents: Mapping[str, Any], *, evm: bool = False, program: str = ""
) -> None:
    """Every case has the result that it expects."""
    check_results(cases, ask_python(cases, documents, evm=evm, program=program))


def check_results(cases: Sequence[Case], results: Sequence[dict[str, Any]]) -> None:
    wrong = []
    for case, result in zip(cases, results, strict=True):
        expected = case["expect"]
        if "error" in expected:
            good = result.get("error") == expected["error"] and expected.get("says", "") in result["says"]
        else:
            good = result == expected
        if not good:
            wrong.append((case["name"], result, expected))
    assert not wrong, wrong


def check_typescript(cases: Sequence[Case], documents: Mapping[str, Any], folder: Path) -> None:
    """Every case has the result that it expects; node says which has not."""
    file = folder / "cases.json"
    file.write_text(json.dumps({"documents": documents, "cases": cases}))
    program = str(typescript() / "test" / "cases.js")
    run(node(), "--test", program, env={**os.environ, "CASES": str(file)})


def _plain(case: Case) -> dict[str, Any]:
    return {name: each for name, each in case.items() if name not in ("name", "expect")}


def _digest(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def _is_made(stamp: Path, sources: Iterable[Path]) -> bool:
    return stamp.exists() and stamp.read_text() == _digest(sources)


def _made(stamp: Path, sources: Iterable[Path]) -> None:
    stamp.write_text(_digest(sources))
