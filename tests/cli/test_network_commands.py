"""``network import`` and ``network export`` as an operator types them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy.exc import OperationalError

from app.cli import network as commands
from tests.forked import path_of
from tests.network.services.network_kit import changed, network, text


def run(app: Flask, *arguments: str, stdin: bytes = b"") -> Result:
    return app.test_cli_runner().invoke(args=["network", *arguments], input=stdin)


def test_file_is_imported_and_exported_unchanged(app: Flask, tmp_path: Path) -> None:
    path = tmp_path / "network.json"
    path.write_bytes(text(network()))
    imported = run(app, "import", str(path))
    assert imported.exit_code == 0
    assert "added chain 1\n" in imported.stdout
    exported = run(app, "export")
    assert exported.exit_code == 0
    assert json.loads(exported.stdout) == network()
    again = run(app, "import", "-", stdin=exported.stdout_bytes)
    assert (again.exit_code, again.stdout) == (0, "nothing changed\n")


def test_dry_run_tells_and_does_nothing(app: Flask) -> None:
    run(app, "import", "-", stdin=text(network()))
    before = run(app, "export").stdout
    dry = run(app, "import", "--dry-run", "-", stdin=text(changed("chains.0.disabled", True)))
    assert (dry.exit_code, dry.stdout) == (0, "would change chain 1: disabled from false to true\n")
    assert run(app, "export").stdout == before
    idle = run(app, "import", "-", "--dry-run", stdin=text(network()))
    assert (idle.exit_code, idle.stdout) == (0, "nothing would change\n")


@pytest.mark.parametrize("option", [(), ("--dry-run",)])
def test_refused_document_exits_with_lines(app: Flask, option: tuple[str, ...]) -> None:
    """One for each error, and the code 1."""
    document = changed("routes.0.rate.value", "1e3")
    document["chains"][1]["fee"] = 1
    refused = run(app, "import", "-", *option, stdin=text(document))
    assert refused.exit_code == 1
    assert refused.stdout == ""
    lines = refused.stderr.splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["chains[1].fee", "routes[0].rate.value"]
    assert json.loads(run(app, "export").stdout)["chains"] == []


def test_locked_database_ends_with_line(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object, **__: object) -> None:
        raise OperationalError("BEGIN IMMEDIATE", {}, Exception("database is locked"))

    monkeypatch.setattr(commands, "import_network", locked)
    result = run(app, "import", "-", stdin=text(network()))
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: the database ")
    assert line.endswith("(database is locked): wait for the process that writes, and run the command again")


ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "tests" / "contract" / "vectors" / "transfer_configs_testnet.json"


def test_configs_convert_without_a_database() -> None:
    """The command reads the document before anything is installed."""
    command = [path_of("flask"), "--app", "wsgi"]
    command += ["network", "import", "--from-configs", str(CONFIGS)]
    database = "postgresql://nobody@127.0.0.1:1/none"
    environment = {"DATABASE_URL": database, "PATH": "/usr/bin:/bin", "SECRET_KEY": ""}
    ran = subprocess.run([*command, "--print"], env=environment, cwd=ROOT, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    assert json.loads(ran.stdout)["chains"]
    imported = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False)
    assert imported.returncode == 1
    assert b"correct DATABASE_URL" in imported.stderr
