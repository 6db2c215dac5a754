"""The first hour of docs/first-week.md, typed to the letter on a machine with systemd and its own Prometheus.

What the machine has from before: Debian's packages and the code, and a node of chain 1, which is anvil.
"""

from __future__ import annotations

import json
import re

import pytest

from demo.anvil import installed
from tests.faults_rig import machine
from tests.programs import anvil, missing, program
from tests.site.snippets import Block, block_of, blocks_of

pytestmark = [pytest.mark.slow, pytest.mark.system]

HOUR = [block for block in blocks_of("docs/first-week.md") if not block.heading.startswith("Day")]
OPERATIONS = "docs/operations.md"
PROMETHEUS = block_of(OPERATIONS, "apt-get install -y --no-install-recommends prometheus <")
PGBACKREST = block_of(OPERATIONS, "cd /opt/gateway\napt-get install -y --no-install-recommends pgbackrest")
NIGHTLY = block_of(OPERATIONS, "cp /opt/gateway/deploy/postgres/gateway-backup")
DRILL = block_of(OPERATIONS, "cp /opt/gateway/deploy/postgres/gateway-restore-drill")

TEXT_FILES = "/var/lib/prometheus/node-exporter"
"""The exporter reads them here, for the alerts BackupOld and RestoreDrillOld; it is not installed there."""
NODE = "http://127.0.0.1:8545"
POOL = "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820"
"""The contract of chain 1 in the document of the page."""
START_NODE = f"""\
systemd-run -q --unit=node {installed.__name__} --port 8545 --chain-id 1 --block-time 1
until curl -fsS {NODE} -H 'Content-Type: application/json' -d '%s' > /dev/null; do sleep 0.2; done
"""
GIVE_CODE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "anvil_setCode", "params": [POOL, "0x00"]})
IN_THE_SHELL = "cd /opt/gateway; apt-get() { :; }; git() { :; }\n"
"""Every step is typed in one shell there. Nothing of the machine is downloaded, as it has all of it."""


def typed(there: machine.Machine, block: Block, **changes: str) -> str:
    """What a block prints there."""
    text = block.code
    for shown, here in changes.items():
        assert shown in text, shown
        text = text.replace(shown, here)
    return there.run(
        f"set -eu\nexport OPERATOR_PASSWORD='only for this test, no secret'\n{IN_THE_SHELL}{text} 2>&1"
    )


def test_first_hour_on_a_machine() -> None:
    if lacks := machine.lacking():
        missing(lacks)
    anvil()
    program("pgbackrest")
    code, install, https, network, chain, people, alert, report = HOUR
    start = START_NODE.replace(installed.__name__, str(installed())) % GIVE_CODE
    with machine.bare_machine() as there:
        typed(there, code, **{"clone URL /opt/gateway": "clone"})
        printed = typed(there, install)
        assert "All four processes are ready." in printed
        assert "curl:" not in printed, "it looks like a failure"
        printed = typed(there, https)
        assert "https://gateway.example.org/ answers" in printed
        assert '"version":"' in printed
        printed = typed(there, network, **{"24000000": "1"})
        assert "would add chain 1\n" in printed
        assert "\nadded chain 1\n" in printed
        assert '"name":"Ethereum"' in printed
        there.run(start)
        printed = typed(there, chain, **{"https://NODE": NODE})
        assert "chain 1 (Ethereum): can be watched" in printed
        assert re.search(r"^1 +Ethereum", printed, re.MULTILINE)
        printed = typed(there, people, EMAIL="somebody@example.org")
        assert '{"accepted":1,"repeated":0,"refused":[]}' in printed
        typed(there, PROMETHEUS)
        printed = typed(there, alert)
        assert 'alertstate="firing"' in printed
        assert "127.0.0.1:9102" in printed
        assert " 127.0.0.1:9090 " in there.run("ss -ltnH sport = 9090")
        typed(there, PGBACKREST)
        typed(there, NIGHTLY)
        typed(there, DRILL)
        assert "the last backup can be restored" in typed(there, report)
        there.run(f"cd {TEXT_FILES} && ls gateway-backup.prom gateway-restore-drill.prom")
