"""Every block of code in the pages is run by a test, or is listed here with its reason.

What runs each block is found by ``RUN`` of the test modules: the blocks that their tests take from the pages.
"""

from __future__ import annotations

import re
import subprocess
from importlib import import_module
from typing import Final

import pytest

from tests.programs import program
from tests.site.snippets import ROOT, Block, blocks_of, pages

RUNNING: Final = (
    "api.test_events",
    "api.test_send_transaction",
    "cli.test_evidence",
    "clients.test_guide",
    "clients.test_tutorial",
    "db.test_connections",
    "deploy.test_agreement",
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
    (
        "docs/grpc-web.md",
        "npm install ",
    ): "gets the newest packages; tests/grpcweb generates with pinned ones",
    ("docs/grpc-web.md", "protoc "): "its plugins download programs when npm installs them",
    ("docs/interface/contracts.md", "domain = "): "a formula; tests/refunds computes it",
    ("docs/operations.md", "apt-get install -y --no-install-recommends git"): "needs a fresh Debian",
}
"""Page and beginning of each block that no test runs, and why."""

ALL: Final = [block for page in pages() for block in blocks_of(page)]
SHELL: Final = [block for block in ALL if block.fence == "sh"]


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


@pytest.mark.system
def test_make_has_every_target() -> None:
    typed = "\n".join(block.code for block in SHELL)
    targets = set(re.findall(r"^(?:\w+=\S+ )*make ([a-z-]+)", typed, re.MULTILINE))
    assert {"run", "test", "docs", "demo"} <= targets
    done = subprocess.run(
        [program("make"), "-n", *targets], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
