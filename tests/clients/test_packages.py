"""The packages of both clients: what is in them, that they are in order, and that programs can use them."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from app.release import VERSION
from scripts import client_packages, clients
from scripts.client_packages import Links
from tests.grpcweb.node import NPM_CI, node, run

SNIPPET = re.compile(r"^```(?:ts|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINKS = Links("https://git.example.org/you/gateway", "https://docs.example.org/")
NOWHERE = Links()
METHODS = (ast.FunctionDef, ast.AsyncFunctionDef)
PUBLINT, ATTW, TWINE = "publint@0.3.25", "@arethetypeswrong/cli@0.18.5", "twine==6.2.0"
USES_IT = """
const {{ Gateway, findWay }} = {load};
if (typeof new Gateway("https://gateway.example").events !== "function" || !findWay) throw new Error();
"""


def source(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_version_and_addresses_are_those_of_publisher() -> None:
    package, project = source(clients.TYPESCRIPT, "package.json"), source(clients.PYTHON, "pyproject.toml")
    lock = json.loads(source(clients.TYPESCRIPT, "package-lock.json"))
    assert json.loads(package)["version"] == lock["version"] == client_packages.SOURCE_VERSION
    made = json.loads(client_packages.package_json(package, VERSION, LINKS))
    assert (made["version"], made["homepage"]) == (VERSION, LINKS.docs)
    url = "git+https://git.example.org/you/gateway.git"
    assert made["repository"] == {"type": "git", "url": url, "directory": "clients/typescript"}
    of_python = client_packages.pyproject(project, VERSION, LINKS)
    assert f'\nversion = "{VERSION}"\n' in of_python
    assert 'Repository = "https://git' in of_python
    without = json.loads(client_packages.package_json(package, VERSION, NOWHERE))
    assert without.keys().isdisjoint({"homepage", "repository", "private", "scripts"})
    assert "urls" not in client_packages.pyproject(project, VERSION, NOWHERE)
    for each in (package, project):
        assert "://" not in each


@pytest.mark.parametrize(
    ("folder", "snippets"), [(clients.PYTHON, 5), (clients.TYPESCRIPT, 4)], ids=["python", "typescript"]
)
def test_snippets_of_readme_are_run(folder: Path, snippets: int) -> None:
    """Each snippet is one of docs/clients.md, all of which run in test_guide.py."""
    readme = source(folder, "README.md")
    shown = SNIPPET.findall(readme)
    assert len(shown) == snippets
    assert set(shown) <= set(SNIPPET.findall(source(clients.ROOT, "docs/clients.md")))
    assert "](https://docs.example.org/clients/)" in LINKS.readme(readme)
    assert "](" not in NOWHERE.readme(readme)
    assert "../" not in LINKS.readme(readme) + NOWHERE.readme(readme)


def test_python_readme_lists_every_method() -> None:
    """And every function: the rows of its tables, against the sources."""
    package = clients.PYTHON / "transfer_gateway_client"
    body = ast.parse(source(package, "gateway.py")).body
    faces = [each for each in body if isinstance(each, ast.ClassDef) and "Gateway" in each.name]
    defined = {each.name for face in faces for each in face.body if isinstance(each, METHODS)}
    offered = {name for file in ("__init__.py", "evm.py") for name in exported(package / file)}
    wanted = {name for name in defined | offered if re.fullmatch("[a-z][a-z_]+", name)}
    rows = re.findall(r"^\| (`[^|]*) \|", source(clients.PYTHON, "README.md"), re.MULTILINE)
    assert set(re.findall("`([a-z_]+)`", " ".join(rows))) == wanted


def exported(file: Path) -> list[str]:
    names = re.search(r"^__all__ = (\[.*?\])", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert names, file
    found: list[str] = ast.literal_eval(names[1])
    return found


def test_typescript_readme_lists_every_method() -> None:
    """And every function that is exported: the rows of its tables, against the sources."""
    sources = clients.TYPESCRIPT / "src"
    methods = re.findall(
        r"^  (?:async )?\*?([a-z]\w*)(?:<.*)?\(", source(sources, "gateway.ts"), re.MULTILINE
    )
    exporting = ["ways.ts", "waiting.ts", "webhooks.ts", "evm.ts", "quotes.ts", "transfer-ids.ts"]
    exported = [
        name
        for file in exporting
        for name in re.findall(r"^export (?:async )?function\*? (\w+)", source(sources, file), re.MULTILINE)
    ]
    rows = re.findall(r"^\| (`[^|]*) \|", source(clients.TYPESCRIPT, "README.md"), re.MULTILINE)
    listed = re.findall(r"`(\w+)`", " ".join(rows))
    assert {*methods} - {"constructor"} | {*exported} == {*listed} - {"send"}
    assert {"estimate", "history", "createWebhook", "getQuote"} <= {*listed}


@pytest.mark.system
def test_folder_without_build_is_refused(tmp_path: Path) -> None:
    """Nothing is compiled at install: npm runs this where the folder of the sources is installed."""
    scripts = json.loads(source(clients.TYPESCRIPT, "package.json"))["scripts"]
    assert scripts == {"prepack": "node build.mjs", "prepare": "node build.mjs check"}
    shutil.copy(clients.TYPESCRIPT / "build.mjs", tmp_path)
    check = [node(), "build.mjs", "check"]
    refused = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "run `make client-packages`" in refused.stderr
    (tmp_path / "dist").mkdir()
    run(*check, cwd=tmp_path)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    node()
    out = tmp_path_factory.mktemp("packages") / "out"
    client_packages.main(["--repository", LINKS.repository, "--docs", LINKS.docs], out)
    return out


def only(packages: Path, pattern: str) -> str:
    (found,) = packages.glob(pattern)
    return str(found)


@pytest.mark.slow
@pytest.mark.system
def test_wheel_and_source_are_in_order(packages: Path) -> None:
    wheel, sdist = only(packages, f"*-{VERSION}-*.whl"), only(packages, f"*-{VERSION}.tar.gz")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (metadata,) = (files.read(each).decode() for each in names if each.endswith("/METADATA"))
    assert any(each.endswith("licenses/LICENSE") for each in names)
    assert "transfer_gateway_client/py.typed" in names
    assert "## Follow" in metadata
    assert f"Project-URL: Documentation, {LINKS.docs}" in metadata
    with tarfile.open(sdist) as archive:
        assert {"LICENSE", "README.md"} <= {Path(each).name for each in archive.getnames()}
    uvx = str(Path(sys.executable).parent / "uvx")
    run(uvx, "--quiet", TWINE.replace("==", "@"), "check", "--strict", wheel, sdist)


@pytest.mark.slow
@pytest.mark.system
def test_tarball_is_in_order(packages: Path, tmp_path: Path) -> None:
    tarball = only(packages, f"*-{VERSION}.tgz")
    with tarfile.open(tarball) as archive:
        names = {each.removeprefix("package/") for each in archive.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "dist/esm/index.js",
        "dist/cjs/index.js",
        "dist/cjs/package.json",
        "evm/package.json",
    } <= names
    assert not [each for each in names if each.endswith(".ts") and not each.endswith(".d.ts")]
    (tmp_path / "package.json").write_text(json.dumps({"private": True}))
    quiet = [each for each in NPM_CI if each.startswith("--")]
    run("npm", "install", *quiet, "--prefer-offline", tarball, PUBLINT, ATTW, cwd=tmp_path)
    run("npx", "publint", "--strict", tarball, cwd=tmp_path)
    run("npx", "attw", tarball, cwd=tmp_path)
    for name, load in (
        ("esm.mjs", 'await import("transfer-gateway-client")'),
        ("cjs.cjs", 'require("transfer-gateway-client")'),
    ):
        (tmp_path / name).write_text(USES_IT.format(load=load))
        run(node(), name, cwd=tmp_path)
