"""Every snippet that the pages print is run against the sandbox and prints what its page says."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.clients import scripted, workshop
from tests.clients.scripted import WAIT, Say, Script
from tests.curl import BASE, curl_of
from tests.grpcweb.node import node, run
from tests.serving.server import Server
from tests.site.snippets import KEY, Snippet, first_event, fits, snippets, tabs

ALL = snippets()
RUN = [block for code in tabs() for block in code if block is not None]
RUNNER = Path(__file__).with_name("run.mjs")
STRICT = {
    "strict": True,
    "noEmit": True,
    "target": "es2022",
    "module": "esnext",
    "lib": ["es2023", "dom"],
    "types": [],
}


def of(language: str) -> list[Snippet]:
    return [snippet for snippet in ALL if snippet.language == language]


@pytest.fixture(scope="module")
def packages() -> Path:
    """A folder with the package typescript: that of the TypeScript client, which other tests need anyway."""
    return workshop.tools().parent


def test_every_operation_has_all_snippets() -> None:
    pages = {path.name for path in Path("docs/api").glob("*.md")} - {"README.md"}
    for language in ("curl", "TypeScript", "Python"):
        assert pages <= {Path(snippet.page).name for snippet in of(language)}, language


@pytest.mark.parametrize("snippet", of("curl"), ids=lambda snippet: snippet.name)
def test_curl(server: Server, key: str, snippet: Snippet) -> None:
    method, path, headers, body = curl_of(snippet.code.replace(KEY, key))
    connection = HTTPConnection(server.host, server.port, timeout=20)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    streamed = str(response.headers["Content-Type"]).startswith("text/event-stream")
    answered = first_event(response) if streamed else json.loads(response.read())
    connection.close()
    assert response.status == 200
    assert snippet.answer is None or fits(json.loads(snippet.answer), answered), answered


def wrong(language: str, printed: dict[str, str]) -> dict[str, tuple[str, str]]:
    """What each snippet should have printed, and what it did, where these differ; each prints something."""
    assert all(snippet.printed for snippet in of(language))
    return {
        snippet.name: (snippet.printed, printed[snippet.name])
        for snippet in of(language)
        if printed[snippet.name] != snippet.printed
    }


def test_python(server: Server, key: str) -> None:
    printed: dict[str, str] = {}
    for snippet in of("Python"):
        code = compile(snippet.code.replace(BASE, server.base).replace(KEY, key), snippet.name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as lines:
            exec(code, {"__name__": "__main__"})
        printed[snippet.name] = lines.getvalue().strip()
    assert wrong("Python", printed) == {}


@pytest.mark.system
def test_typescript(server: Server, key: str, packages: Path) -> None:
    code = {
        snippet.name: snippet.code.replace(BASE, server.base).replace(KEY, key)
        for snippet in of("TypeScript")
    }
    printed = json.loads(run(node(), str(RUNNER), str(packages), input=json.dumps(code)))
    for left in packages.glob("snippets-*"):
        shutil.rmtree(left)
    assert wrong("TypeScript", printed) == {}


ACTOR = "X-Transfer-Next-Actor"
BECOMES_FINAL = (Say(5, headers={ACTOR: "network"}), Say(5, headers={ACTOR: "nobody"}))


def following(language: str, base: str) -> str:
    (snippet,) = [each for each in of(language) if each.page.endswith("waitTransferStatus.md")]
    return snippet.code.replace(BASE, f"{base}/final")


def test_python_snippet_ends_at_a_final_status() -> None:
    script = Script({WAIT: BECOMES_FINAL})
    with scripted.serving({"final": script}) as base:
        command = [sys.executable, "-c", following("Python", base)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, len(script.requests)) == ("5 network\n", 2)


@pytest.mark.system
def test_typescript_snippet_ends_at_a_final_status(packages: Path) -> None:
    script = Script({WAIT: BECOMES_FINAL})
    with scripted.serving({"final": script}) as base:
        code = {"final": following("TypeScript", base)}
        printed = json.loads(run(node(), str(RUNNER), str(packages), input=json.dumps(code)))
    assert (printed["final"], len(script.requests)) == ("5 network", 2)


@pytest.mark.system
def test_typescript_is_typed(packages: Path, tmp_path: Path) -> None:
    for number, snippet in enumerate(of("TypeScript")):
        (tmp_path / f"{number}.ts").write_text(f"{snippet.code}\nexport {{}};\n")
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "include": ["*.ts"]}))
    run(str(packages / "node_modules" / ".bin" / "tsc"), "--project", ".", cwd=tmp_path)
