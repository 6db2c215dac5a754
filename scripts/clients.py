"""``make clients``: the types of the client libraries, made from the OpenAPI document and checked in.

Each file begins with a digest of its document, so that a test sees quickly whether it is up to date.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Final

import orjson

from app.api.docs.views import document_bytes

ROOT: Final = Path(__file__).resolve().parent.parent
TYPESCRIPT: Final = ROOT / "clients" / "typescript"
PYTHON: Final = ROOT / "clients" / "python"
ENVIRONMENT: Final = ROOT / ".tmp" / "clients" / "environment"
"""Python with the packages for the generator and the tests of the Python client; without the gateway."""

SCHEMA: Final = Path("src") / "schema.ts"
TYPES: Final = Path("transfer_gateway_client") / "types.py"
MADE: Final = "Made by `make clients` from the OpenAPI document {}. Do not edit."

PASSED_OVER: Final = ("info", "servers", "tags")
"""Parts of the document that the types do not depend on, nor on `examples` of answers."""


def document() -> bytes:
    """The OpenAPI document of a gateway with ``COMPAT_CLIENTS=0``: what is true of every gateway."""
    return document_bytes(compat_clients=False, waiting=True)


def made_from(text: bytes) -> str:
    """The line with the digest of this document."""
    read = orjson.loads(text)
    hashed = {name: part for name, part in read.items() if name not in PASSED_OVER}
    for operation in chain.from_iterable(path.values() for path in read["paths"].values()):
        for content in operation["responses"]["200"]["content"].values():
            content.pop("examples", None)
    digest = hashlib.sha256(orjson.dumps(hashed, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return MADE.format(f"sha256:{digest}")


def typescript(text: bytes, tools: Path) -> str:
    """The document as types of TypeScript.

    :param tools: the ``node_modules`` of the client's lock file.
    :raises subprocess.CalledProcessError: the generator failed, and has printed why.
    """
    program = tools / "openapi-typescript" / "bin" / "cli.js"
    made = subprocess.run(
        ["node", str(program)], input=text, stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    return f"// {made_from(text)}\n\n{made}"


def python(text: bytes, environment: Path = ENVIRONMENT) -> str:
    """The schemas of the document as ``TypedDict``.

    :param environment: made by ``install``.
    :raises subprocess.CalledProcessError: the generator failed, and has printed why.
    """
    command = [
        str(environment / "bin" / "datamodel-codegen"),
        "--input-file-type", "openapi",
        "--output-model-type", "typing.TypedDict",
        "--target-python-version", "3.11",
        "--enum-field-as-literal", "all",
        "--use-standard-collections",
        "--use-union-operator",
        "--use-schema-description",
        "--use-double-quotes",
        "--formatters", "builtin",
        "--disable-timestamp",
        "--custom-file-header", f'"""{made_from(text)}"""',
    ]  # fmt: skip
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout.decode()


def install(environment: Path = ENVIRONMENT) -> None:
    """Install the pinned packages of the group ``client`` of pyproject.toml into the environment.

    :raises subprocess.CalledProcessError: uv failed, and has printed why.
    """
    lock = ROOT / "requirements-dev.txt"
    stamp = environment / "stamp"
    wanted = hashlib.sha256(sys.version.encode() + lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    uv = str(Path(sys.executable).parent / "uv")
    subprocess.run(
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(environment)], check=True
    )
    into = ("--quiet", "--python", str(environment / "bin" / "python"))
    what = ("--require-hashes", "--group", "client", "-c", lock.name)
    subprocess.run([uv, "pip", "install", *into, *what], cwd=ROOT, check=True)
    stamp.write_text(wanted)


def main() -> None:
    text = document()
    npm_ci = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    subprocess.run(npm_ci, cwd=TYPESCRIPT, check=True)
    (TYPESCRIPT / SCHEMA).write_text(typescript(text, TYPESCRIPT / "node_modules"))
    install()
    (PYTHON / TYPES).write_text(python(text))


if __name__ == "__main__":
    main()
