"""By the commands of docs/failover.md three nodes fail over."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from functools import partial

import pytest

from tests.deploy.files import DEPLOY, documents
from tests.faults_rig.programs import wait_for
from tests.patroni.__main__ import EVENTS, Served, measure, served
from tests.patroni.faults import FAULTS, Fault
from tests.patroni.nodes import AUTHORITY, CERTIFICATES, FIRST, MAKE, PAGE, PREPARE, Node, lacking
from tests.programs import missing
from tests.site.snippets import block_of

LIST, SWITCH, COPY = (
    block_of(PAGE, f"patronictl -c /etc/patroni/config.yml {word}")
    for word in ("list", "switchover", "reinit")
)
SLOTS, ARCHIVE, BACKUPS = (
    block_of("docs/alerts.md", words) for words in ("du -sh", "grep -h", "journalctl -u gateway-backup")
)
DRILL, NODES, MEMBERS = (
    block_of("docs/alerts.md", words) for words in ("journalctl -u gateway-restore", "patronictl", "etcdctl")
)
MEMBER, JOIN, RESTORE, FOLLOW, MOVE, VALUES = (
    block_of(PAGE, words)
    for words in (
        "etcd() {",
        "umask 022 && cd /opt/gateway && deploy/patroni/node db1\nsed",
        "printf 'gateway",
        "install -d -o postgres",
        "systemctl stop 'gateway@*'",
        "patronictl -c /etc/patroni/config.yml edit-config",
    )
)
RUN = [
    PREPARE, AUTHORITY, CERTIFICATES, MAKE, FIRST, LIST, SWITCH, COPY, SLOTS, ARCHIVE, BACKUPS, DRILL, NODES,
    MEMBERS, MEMBER, JOIN, RESTORE, FOLLOW, MOVE, VALUES,
]  # fmt: skip


pytestmark = [pytest.mark.slow, pytest.mark.system]


@pytest.fixture(scope="module")
def everything() -> Iterator[Served]:
    if lack := lacking():
        missing(lack)
    with served() as running:
        yield running


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
def test_failure_loses_no_answer_or_event(everything: Served, fault: Fault) -> None:
    result = measure(everything, fault, FAULTS.index(fault) * EVENTS)
    print(result.line())
    assert result.complaints == []


def test_switchover_moves_the_archive(everything: Served) -> None:
    cluster = everything.cluster
    former, other = cluster.leader, cluster.standby
    assert former.type(LIST).count("Sync Standby") == 2
    names = {"--master db1": f"--master {former.name}", "--candidate db2": f"--candidate {other.name}"}
    assert "Successfully switched over" in former.type(SWITCH, names)
    cluster.wait()
    assert cluster.leader is other
    assert re.search(rf"^ *{former.name} +\| t +\| reserved", other.type(SLOTS), re.M)
    other.type(ARCHIVE)
    condition = backup_condition()
    assert [node for node in cluster.nodes if succeeds(condition, node)] == [other]
    other.run("pgbackrest --stanza=gateway --type=diff backup")
    assert other.type(BACKUPS).count("diff backup") == 1
    former.type(COPY, {"gateway db1": f"gateway {former.name}"})
    cluster.wait()
    log = (everything.folder / former.name / "etcd.log").read_text()
    assert "unrecognized environment variable" not in log


def backup_condition() -> str:
    unit = (DEPLOY / "patroni/leader.conf").read_text()
    (condition,) = re.findall(r"^ExecCondition=(.*)$", unit, re.M)
    return str(condition)


def succeeds(condition: str, node: Node) -> bool:
    try:
        node.run(condition.replace("NODE_ADDRESS", node.address))
    except RuntimeError:
        return False
    return True


def test_nodes_expose_metrics_of_alerts(everything: Served) -> None:
    cluster = everything.cluster
    cluster.wait()
    (rules,) = documents(DEPLOY / "prometheus/alerts.yml")
    named = set(re.findall(r"\bpatroni_\w+", str(rules)))
    assert len(named) == 4
    wait_for("their roles", lambda: sorted(map(state, cluster.nodes)) == ["1 0 1", "1 0 1", "1 1 0"])
    for found in map(samples, cluster.nodes):
        assert named <= found.keys()
        assert abs(time.time() - float(found["patroni_dcs_last_seen"])) < 30
    wait_for("two standbys", lambda: cluster.leader.type(NODES).count("Sync Standby") == 2)
    names = {"10.0.0.12": cluster.standby.address, "--cluster": "--cluster 2>&1"}
    assert cluster.leader.type(MEMBERS, names).count("is healthy") == 3


def state(node: Node) -> str:
    """Whether its PostgreSQL runs, leads, and follows synchronously."""
    found = samples(node)
    return " ".join(found[f"patroni_{name}"] for name in ("postgres_running", "primary", "sync_standby"))


def samples(node: Node) -> dict[str, str]:
    """What Patroni exposes to Prometheus, which has no certificate."""
    text = node.run(f"curl -fsS --cacert /etc/patroni/tls/ca.crt https://{node.address}:8008/metrics")
    return dict(re.findall(r'^(patroni_\w+)\{scope="gateway"\} (\S+)$', text, re.M))


def test_own_values_are_applied(everything: Served) -> None:
    cluster = everything.cluster
    cluster.leader.type(VALUES)
    query = "psql -XAtc 'SHOW work_mem'"
    wait_for("the value", lambda: {node.run(query) for node in cluster.nodes} == {"16MB\n"})


def test_existing_database_is_moved(everything: Served) -> None:
    leader = everything.cluster.leader
    how = "OWNER gateway_owner TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
    leader.run(f'psql -Xqc "CREATE DATABASE moved {how}"')
    names = {
        "dbname=gateway": "dbname=moved",
        "/root/gateway.sql": str(leader.folder / "gateway.sql"),
        "10.0.0.11,10.0.0.12,10.0.0.13": ",".join(node.address for node in everything.cluster.nodes),
    }
    leader.type(MOVE, names)
    query = "psql -XAtc 'SELECT count(*), max(seq) FROM events' -d"
    there = leader.run(f"{query} moved")
    assert there == leader.run(f"{query} gateway")
    assert not there.startswith("0|")
    leader.run("psql -Xqc 'DROP DATABASE moved'")


def test_strangers_are_refused(everything: Served) -> None:
    """Neither etcd nor Patroni accepts anything without TLS, or a command without a certificate."""
    node = everything.cluster.leader
    curl, with_password = (
        "curl -sS -m 5 --http1.1 --cacert /etc/patroni/tls/ca.crt",
        "-u patroni:a-secret-of-the-nodes",
    )
    ours = "--cert /etc/patroni/tls/node.crt --key /etc/patroni/tls/node.key"
    client, member, state = (f"https://{node.address}:{port}" for port in (2379, 2380, 8008))
    assert '"health":"true"' in node.run(f"{curl} {ours} {client}/health")
    assert node.run(f"{curl} {ours} {member}/members")
    for refused in (f"{client}/health", f"{member}/members"):
        with pytest.raises(RuntimeError, match=r"alert|certificate"):
            node.run(f"{curl} {refused}")
    for port in (2379, 2380, 8008):
        assert not succeeds(f"curl -fsS -m 5 http://{node.address}:{port}/", node)
    with pytest.raises(RuntimeError, match="certificate problem"):
        node.run(f"curl -sS {state}/")
    reload = f"-o /dev/null -w %{{http_code}} -X POST {state}/reload"
    assert node.run(f"{curl} {with_password} {reload}") == "403"
    assert node.run(f"{curl} {ours} {reload}") == "401"
    assert node.run(f"{curl} {ours} {with_password} {reload}") == "202"


def test_lost_node_is_replaced(everything: Served) -> None:
    cluster = everything.cluster
    lost, living = cluster.leader, cluster.standby
    lost.end()
    for name in ("lib/15/gateway", "etcd/gateway"):
        shutil.rmtree(lost.folder / name)
    wait_for("another leader", partial(is_led_by_another, living, lost))
    names = {"db1": lost.name, "10.0.0.11": lost.address, "10.0.0.12": living.address}
    living.type(MEMBER, names)
    lost.make(JOIN)
    lost.start()
    cluster.wait()


def test_nodes_are_restored_to_a_moment(everything: Served) -> None:
    cluster = everything.cluster
    first = cluster.leader
    write = "psql -XAtq -c"
    first.run(f"{write} 'CREATE TABLE actions (name text)' -c \"INSERT INTO actions VALUES ('good')\"")
    moment = first.run(f"{write} 'SELECT clock_timestamp()'").strip()
    first.run(f"{write} \"INSERT INTO actions VALUES ('bad')\" -c 'SELECT pg_switch_wal()'")
    assert cluster.archives()
    for node in cluster.nodes:
        node.stop("patroni")
    first.type(RESTORE, {"2026-11-22 13:05:00+00": moment})
    for node in (first, *(other for other in cluster.nodes if other is not first)):
        if node is not first:
            node.type(FOLLOW)
        node.start()
        wait_for("the node", partial(is_up, node))
    cluster.wait()
    assert cluster.leader is first
    assert [node.run(f"{write} 'SELECT name FROM actions'") for node in cluster.nodes] == ["good\n"] * 3
    settings = first.run("patronictl -c /etc/patroni/config.yml show-config")
    assert "synchronous_mode_strict: true" in settings
    assert cluster.archives()


def is_led_by_another(node: Node, former: Node) -> bool:
    status, found = node.status("/cluster")
    leaders = [each["name"] for each in found["members"] if each["role"] == "leader"] if status == 200 else []
    return bool(leaders) and leaders != [former.name]


def is_up(node: Node) -> bool:
    return node.status("/health")[0] == 200
