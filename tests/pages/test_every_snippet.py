"""Every block of code in the pages is run by a test, or is listed here with its reason.

What runs each block is found by ``RUN`` of the test modules: the blocks that their tests take from the pages.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from importlib import import_module
from typing import Any, Final

import pytest
from click import Context

from app import create_app
from tests.applications import make_settings
from tests.programs import program
from tests.site.snippets import ROOT, Block, blocks_of, pages

RUNNING: Final = (
    "api.test_events",
    "api.test_send_transaction",
    "cli.test_evidence",
    "clients.test_guide",
    "clients.test_tutorial",
    "db.test_connections",
    "deploy.test_below_a_path",
    "deploy.test_nginx",
    "deploy.test_stores",
    "grpcweb.test_clients",
    "pages.test_commands",
    "pages.test_operations",
    "pages.test_reporting",
    "pages.test_shown",
    "patroni.test_failovers",
    "patroni.test_files",
    "restores.ways",
    "sandbox.test_examples",
    "serving.test_granian",
    "serving.test_traces",
    "serving.test_workers",
    "site.test_guides",
    "site.test_snippets",
    "site.test_webhooks",
    "test_readme",
)
"""Modules of the tests whose ``RUN`` has the blocks that they run."""

NOT_RUN: Final = {
    ("README.md", "make run "): "installs and tests everything; tests/scripts runs what both begin with",
    ("docs/quick-start.md", "make run"): "installs everything; tests/scripts runs what it does then",
    ("docs/refund-guide.md", "make demo "): "waits for somebody; tests/clients claims by the same snippet",
    ("docs/grpc-web.md", "protoc "): "its plugins download programs when npm installs them",
    ("docs/interface/contracts.md", "domain = "): "a formula; tests/refunds computes it",
    ("docs/operations.md", "apt-get install -y --no-install-recommends git"): "needs a fresh Debian",
}
"""Page and beginning of each block that no test runs, and why."""

ALL: Final = [block for page in pages() for block in blocks_of(page)]
SHELL: Final = [block for block in ALL if block.fence == "sh"]
COMMAND: Final = re.compile(r"(?:\bflask --app wsgi|^gateway) ([^\n#`|;&>$]+)", re.MULTILINE)


def excused(block: Block) -> list[tuple[str, str]]:
    """The entries of the table about a block."""
    return [(page, code) for page, code in NOT_RUN if block.page == page and block.code.startswith(code)]


def test_every_block_is_run_or_excused() -> None:
    run = {block for name in RUNNING for block in import_module(f"tests.{name}").RUN}
    run |= {block for block in ALL if block.fence == "mermaid"}  # tests/browser/test_docs.py draws each
    assert run <= set(ALL)
    assert [block.name for block in ALL if block not in run and not excused(block)] == []
    used = [entry for block in ALL if block not in run for entry in excused(block)]
    assert sorted(used) == sorted(NOT_RUN), "an excuse for nothing, or for several"


def test_a_shell_reads_every_command() -> None:
    for block in SHELL:
        done = subprocess.run(["bash", "-n"], input=block.code, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), block.name


@pytest.mark.system
def test_make_has_every_target() -> None:
    typed = "\n".join(block.code for block in SHELL)
    targets = set(re.findall(r"^(?:\w+=\S+ )*make ([a-z-]+)", typed, re.MULTILINE))
    assert {"run", "test", "docs", "demo"} <= targets
    done = subprocess.run(
        [program("make"), "-n", *targets], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def line() -> Any:
    """The application's command line."""
    return create_app(make_settings("sqlite:////nowhere/gateway.db")).cli


def test_every_command_and_option_exists(line: Any) -> None:
    commands = [command for block in SHELL for command in COMMAND.findall(block.code)]
    assert len(commands) > 50
    for command in commands:
        here: Any = line
        for word in shlex.split(command):
            if word.startswith("-") and word != "-":
                options = [name for each in here.params for name in (*each.opts, *each.secondary_opts)]
                assert word in options, command
            elif hasattr(here, "get_command"):
                here = here.get_command(Context(here), word)
                assert here is not None, command
