"""The commands of the pages for operators and integrators, as they stand, on a gateway with the sandbox."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from app import create_app
from app.audit.rules.records import HEADS_LOGGER
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus
from tests.applications import make_settings
from tests.curl import BASE
from tests.pages.shell import Shell
from tests.serving.server import Server
from tests.site.snippets import block_of, blocks_of
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import FakeNode, served
from tests.watcher.kit import POOL, send

FLASK = ".venv/bin/flask --app wsgi"
AUDIT = [block for block in blocks_of("docs/audit.md") if "flask" in block.code or "install" in block.code]
NETWORK = blocks_of("docs/network.md")
CHAINS = [block for block in blocks_of("docs/chains.md") if block.fence != "mermaid"]
KEYS = block_of("docs/api-keys.md", f"{FLASK} api-keys")
TOKENS = block_of("docs/api-keys.md", f"{FLASK} ingest-tokens")
ACCOUNTS = block_of("docs/console.md", FLASK)
PRUNE = block_of("docs/pruning.md", "flask")
GROW = block_of("docs/performance.md", "flask --app bench.wsgi")
SET_HASH = block_of("docs/refunds.md", "flask --app wsgi evidence verify $ID")
SAVED = block_of("docs/clients.md", "curl")

ADVISORY = block_of("SECURITY.md", FLASK)
RUN = [*AUDIT, *NETWORK, *CHAINS, KEYS, TOKENS, ACCOUNTS, PRUNE, GROW, SET_HASH, SAVED, ADVISORY]

REFUND = sandbox_id(TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED)


def empty(shell: Shell, template: Path) -> str:
    """Have an empty database in place of the sandbox; its URL."""
    for left in (shell.code / "instance").iterdir():
        left.unlink()
    shutil.copy(template, shell.code / "instance/gateway.db")
    return shell.settings["DATABASE_URL"]


def test_the_audit_log(shell: Shell) -> None:
    show, log, archive, make_file, verify = AUDIT
    shell.run(make_file)
    assert "chattr +a heads" in shell.notes
    shell.settings["AUDIT_ANCHORS"] = f"file:{shell.root}/var/log/gateway/heads"
    shell.run(f"{FLASK} operators create one@example.org --role admin")
    printed = shell.run(show, {"show 17": "show 2"})
    assert "added operator one@example.org" in printed
    (head,) = [line.split("head ")[1] for line in printed.splitlines() if line.startswith("verified ")]
    assert len((shell.code / "audit.ndjson").read_text().splitlines()) == 2
    assert f"head {head}" in shell.run(verify)
    said = f"2026-11-22T14:05:06+0000 INFO 4711 {HEADS_LOGGER}: audit head {head} operator.create by x"
    assert f"head {head}" in shell.run(log, before=f"journalctl() {{ echo '{said}'; }}")
    archived, verified, ends = shell.run(archive, {"2025-01-01": "2099-01-01"}).splitlines()
    assert "'archive' is deprecated. 2.0.0 removes it" in ends
    assert archived == f"archived records: 2; head {head}"
    assert verified.startswith("verified records: 3; head 3:")
    assert "records 1 to 2 are archived" in shell.run(verify)


def test_keys_of_integrators_and_accounts_of_operators(shell: Shell) -> None:
    assert shell.run(KEYS).count("gwk_") >= 2
    assert shell.run(TOKENS).count("bsc-watcher") >= 2
    printed = shell.run(ACCOUNTS, {"EMAIL": "somebody@example.org"})
    assert "disabled somebody@example.org" in printed


def test_advisory_finds_changed_accounts(shell: Shell) -> None:
    shell.run(f"{FLASK} operators create somebody@example.org --role viewer")
    shell.run(f"{FLASK} operators new-password somebody@example.org")
    (found,) = shell.run(ADVISORY).splitlines()
    assert "new password, signed out everywhere" in found


def test_small_network_document_is_complete(shell: Shell, sqlite_template: Path) -> None:
    """It goes into an empty gateway, and then there is an estimate, as the page says."""
    manage, break_glass, example, from_configs = NETWORK
    url = empty(shell, sqlite_template)
    file = shell.code / "network.json"
    file.write_text(example.code)
    assert "added route of USDT from 1 to 56" in shell.run(f"{FLASK} network import network.json")
    client = create_app(make_settings(url)).test_client()
    query = "src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000"
    answer = client.get(f"/v2/estimateAmt?{query}").get_json()
    assert answer["err"] is None
    assert answer["estimated_receive_amt"] == "394162471907988034"
    configs = client.get("/v2/getTransferConfigsForAll").get_data()
    assert "added" not in shell.run(manage)
    file.write_text(example.code.replace('"minimal_max_slippage": 780', '"minimal_max_slippage": 781'))
    shell.settings["TWO_PERSONS"] = "chains"
    assert "second approval" in shell.run(f"{FLASK} network import network.json", code=1)
    assert "780" in shell.run(break_glass)
    empty(shell, sqlite_template)
    (shell.code / "configs.json").write_bytes(configs)
    del shell.settings["TWO_PERSONS"]
    assert "added chain 56" in shell.run(from_configs)


def test_a_chain_is_added_and_read(shell: Shell) -> None:
    exports, row, change, check, checked, start, status = CHAINS
    values = re.sub(r" +//.*$", "", row.code, flags=re.MULTILINE).replace("18000000", "1")
    chain = FakeChain(chain_id=1234)
    for number in range(1, 30):
        chain.mine(send(number))
    added = json.loads(values.replace("0x…", f"0x{POOL.hex()}"))
    (shell.root / "run/secrets/second-url").write_text("https://rpc.example.org/")
    edit = f"""
import json
document = json.load(open("network.json"))
document["chains"].append({added!r})
json.dump(document, open("network.json", "w"))
"""
    (shell.code / "edit.py").write_text(edit)
    with served(FakeNode(chain, most_blocks=20, receipts=False)) as node:
        typed = exports.code.replace("https://rpc.example.org/v1/KEY", node)
        known = shell.run(f"{typed}\nenv | grep RPC_URL_EXAMPLE")
        shell.settings |= dict(line.split("=", 1) for line in known.splitlines())
        export, dry_run, done = change.code.splitlines()
        assert "added chain 1234" in shell.run("\n".join([export, "python edit.py", dry_run, done]))
        printed = numbered(shell.run(check, before="unset RPC_URL_EXAMPLE_2_FILE"))
        shown = [line for line in numbered(checked.code) if line.strip() != "…"]
        assert [line for line in printed if line in shown] == shown
        ending = {"flask": "until_said 'reading started' flask", "--chain 1 --chain 56": "--chain 1234"}
        assert shell.run(start, ending).count("watching chains 1234 of sqlite:///") == 2
    assert "1234   Example" in shell.run(status)


def numbered(printed: str) -> list[str]:
    """Lines, each number of which may be another one."""
    return [re.sub(r"\b\d+\b", "N", line) for line in printed.splitlines()]


def test_what_is_old_is_pruned(shell: Shell) -> None:
    would, did = shell.run(PRUNE).splitlines()
    assert did == would.replace("would prune", "pruned")


def test_database_is_grown(shell: Shell, sqlite_template: Path) -> None:
    empty(shell, sqlite_template)
    assert "grown: 200 transfers" in shell.run(GROW, {"10000000": "200"})


def test_chain_set_verifies_evidence(shell: Shell) -> None:
    known = f"ID={REFUND} CONTRACT=0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820 NODE=https://node.example.org"
    hashed = "0x6ffbc443e09ab04878f2819870cc5d8dc42149d7725c3e7b47a049353f1aadf7"
    assert "VALID" in shell.run(SET_HASH, before=f"{known}; cast() {{ echo {hashed}; }}")


@pytest.mark.system
def test_saved_answer_is_verified(shell: Shell, server: Server) -> None:
    shell.settings["PYTHONPATH"] = str(shell.code / "clients/python")
    assert "answer.json: VALID" in shell.run(SAVED, {BASE: server.base}, before=f"ID={REFUND}")


def test_deliver_command_runs_until_ended(shell: Shell) -> None:
    said = shell.run(f"until_said 'sending webhooks' {FLASK} deliver\n{FLASK} deliver --once")
    assert "sending webhooks of sqlite:///" in said
    assert "attempts to send: 0" in said
