"""By the commands of docs/failover.md three nodes fail over."""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial

import pytest
from msgspec import structs

from tests.deploy.files import DEPLOY, documents
from tests.patroni.__main__ import EVENTS, HEADER, Result, Served, measure, served
from tests.patroni.faults import FAULTS, Fault
from tests.patroni.nodes import (
    AUTHORITY,
    CERTIFICATES,
    FIRST,
    MAKE,
    PAGE,
    PREPARE,
    Node,
    lacking,
    wait_for,
)
from tests.patroni.reporters import PORTION, Body, Twins
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


@pytest.fixture(scope="module")
def everything() -> Iterator[Served]:
    if lack := lacking():
        missing(lack)
    with served() as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
def test_failure_loses_no_answer_or_event(everything: Served, fault: Fault) -> None:
    result = measure(everything, fault, FAULTS.index(fault) * EVENTS)
    print(result.line())
    assert result.complaints == []


@pytest.mark.slow
def test_switchover_takes_the_archive_along(everything: Served) -> None:
    cluster = everything.cluster
    former, other = cluster.leader, cluster.standby
    assert former.type(LIST).count("Sync Standby") == 2
    names = {"--master db1": f"--master {former.name}", "--candidate db2": f"--candidate {other.name}"}
    assert "Successfully switched over" in former.type(SWITCH, names)
    wait_for("three nodes", cluster.is_whole)
    assert cluster.leader is other
    assert re.search(rf"^ *{former.name} +\| t +\| reserved", other.type(SLOTS), re.M)
    other.type(ARCHIVE)
    condition = backup_condition()
    assert [node for node in cluster.nodes if succeeds(condition, node)] == [other]
    other.run("pgbackrest --stanza=gateway --type=diff backup")
    assert other.type(BACKUPS).count("diff backup") == 1
    former.type(COPY, {"gateway db1": f"gateway {former.name}"})
    wait_for("three nodes", cluster.is_whole)
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


@pytest.mark.slow
def test_prometheus_reads_what_alerts_name(everything: Served) -> None:
    cluster = everything.cluster
    wait_for("three nodes", cluster.is_whole)
    (rules,) = documents(DEPLOY / "prometheus/alerts.yml")
    named = set(re.findall(r"\bpatroni_\w+", str(rules)))
    assert len(named) == 4
    wait_for("their roles", lambda: sorted(map(state, cluster.nodes)) == ["1 0 1", "1 0 1", "1 1 0"])
    for told in map(samples, cluster.nodes):
        assert named <= told.keys()
        assert abs(time.time() - float(told["patroni_dcs_last_seen"])) < 30
    wait_for("two standbys", lambda: cluster.leader.type(NODES).count("Sync Standby") == 2)
    names = {"10.0.0.12": cluster.standby.address, "--cluster": "--cluster 2>&1"}
    assert cluster.leader.type(MEMBERS, names).count("is healthy") == 3


def state(node: Node) -> str:
    """Whether its PostgreSQL runs, leads, and follows synchronously."""
    told = samples(node)
    return " ".join(told[f"patroni_{name}"] for name in ("postgres_running", "primary", "sync_standby"))


def samples(node: Node) -> dict[str, str]:
    """What Patroni tells Prometheus, which has no certificate."""
    text = node.run(f"curl -fsS --cacert /etc/patroni/tls/ca.crt https://{node.address}:8008/metrics")
    return dict(re.findall(r'^(patroni_\w+)\{scope="gateway"\} (\S+)$', text, re.M))


@pytest.mark.slow
def test_values_of_ones_own_win(everything: Served) -> None:
    cluster = everything.cluster
    cluster.leader.type(VALUES)
    asked = "psql -XAtc 'SHOW work_mem'"
    wait_for("the value", lambda: {node.run(asked) for node in cluster.nodes} == {"16MB\n"})


@pytest.mark.slow
def test_an_existing_database_is_moved(everything: Served) -> None:
    leader = everything.cluster.leader
    how = "OWNER gateway_owner TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
    leader.run(f'psql -Xqc "CREATE DATABASE moved {how}"')
    names = {
        "dbname=gateway": "dbname=moved",
        "/root/gateway.sql": str(leader.folder / "gateway.sql"),
        "10.0.0.11,10.0.0.12,10.0.0.13": ",".join(node.address for node in everything.cluster.nodes),
    }
    leader.type(MOVE, names)
    asked = "psql -XAtc 'SELECT count(*), max(seq) FROM events' -d"
    there = leader.run(f"{asked} moved")
    assert there == leader.run(f"{asked} gateway")
    assert not there.startswith("0|")
    leader.run("psql -Xqc 'DROP DATABASE moved'")


@pytest.mark.slow
def test_only_the_nodes_are_spoken_to(everything: Served) -> None:
    """Neither etcd nor Patroni takes anything without TLS, or an order without a certificate."""
    node = everything.cluster.leader
    asked, with_password = (
        "curl -sS -m 5 --http1.1 --cacert /etc/patroni/tls/ca.crt",
        "-u patroni:a-secret-of-the-nodes",
    )
    ours = "--cert /etc/patroni/tls/node.crt --key /etc/patroni/tls/node.key"
    client, member, state = (f"https://{node.address}:{port}" for port in (2379, 2380, 8008))
    assert '"health":"true"' in node.run(f"{asked} {ours} {client}/health")
    assert node.run(f"{asked} {ours} {member}/members")
    for refused in (f"{client}/health", f"{member}/members"):
        with pytest.raises(RuntimeError, match=r"alert|certificate"):
            node.run(f"{asked} {refused}")
    for port in (2379, 2380, 8008):
        assert not succeeds(f"curl -fsS -m 5 http://{node.address}:{port}/", node)
    with pytest.raises(RuntimeError, match="certificate problem"):
        node.run(f"curl -sS {state}/")
    reload = f"-o /dev/null -w %{{http_code}} -X POST {state}/reload"
    assert node.run(f"{asked} {with_password} {reload}") == "403"
    assert node.run(f"{asked} {ours} {reload}") == "401"
    assert node.run(f"{asked} {ours} {with_password} {reload}") == "202"


@pytest.mark.slow
def test_a_new_machine_takes_the_place_of_a_lost_one(everything: Served) -> None:
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
    wait_for("three nodes", cluster.is_whole)


@pytest.mark.slow
def test_three_nodes_go_back_to_a_moment(everything: Served) -> None:
    cluster = everything.cluster
    first = cluster.leader
    write = "psql -XAtq -c"
    first.run(f"{write} 'CREATE TABLE deeds (name text)' -c \"INSERT INTO deeds VALUES ('good')\"")
    moment = first.run(f"{write} 'SELECT clock_timestamp()'").strip()
    first.run(f"{write} \"INSERT INTO deeds VALUES ('bad')\" -c 'SELECT pg_switch_wal()'")
    assert cluster.archives()
    for node in cluster.nodes:
        node.stop("patroni")
    first.type(RESTORE, {"2026-11-22 13:05:00+00": moment})
    for node in (first, *(other for other in cluster.nodes if other is not first)):
        if node is not first:
            node.type(FOLLOW)
        node.start()
        wait_for("the node", partial(is_up, node))
    wait_for("three nodes", cluster.is_whole)
    assert cluster.leader is first
    assert [node.run(f"{write} 'SELECT name FROM deeds'") for node in cluster.nodes] == ["good\n"] * 3
    settings = first.run("patronictl -c /etc/patroni/config.yml show-config")
    assert "synchronous_mode_strict: true" in settings
    assert cluster.archives()


def is_led_by_another(asked: Node, former: Node) -> bool:
    status, told = asked.status("/cluster")
    leaders = [each["name"] for each in told["members"] if each["role"] == "leader"] if status == 200 else []
    return bool(leaders) and leaders != [former.name]


def is_up(node: Node) -> bool:
    return node.status("/health")[0] == 200


def test_what_is_said_of_the_reporters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 130.0)
    twins = Twins([1, 2])
    twins.times[1] = [*map(float, range(90, 101)), *(112.0 + n for n in range(18))]
    twins.times[2] = [float(n) for n in range(90, 131)]
    assert twins.back_after(100.5) == 11.5
    twins.times[1] = list(twins.times[2])
    assert twins.back_after(100.5) == 0.0
    lines = [b'{"id":"a"}', b'{"id":"b"}']
    twins.bodies += [Body(lines, accepted=2, acknowledged=2), Body(lines, accepted=1)]
    assert (twins.accepted_twice(), twins.acknowledged()) == (0, ["a", "b"])
    twins.bodies[0].accepted = 3
    assert twins.accepted_twice() == 1


def test_no_event_is_in_two_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bodies with the same events would be counted as events that were lost."""

    def slowly(first: int, count: int, _now: datetime) -> Iterator[bytes]:
        time.sleep(0.01)  # so that both make the next body at the same time
        yield from (b"%d" % n for n in range(first, first + count))

    monkeypatch.setattr("tests.patroni.reporters.events", slowly)
    twins = Twins([1, 2])
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: [twins.body(number) for number in range(10)], range(2)))
    lines = [line for body in twins.bodies for line in body.lines]
    assert lines == [b"%d" % n for n in range(10 * PORTION)]


def test_what_is_complained_of() -> None:
    good = Result(FAULTS[0], 100, Counter(), 0.1, 19.9, 40, 0, 0, Counter({"503": 7}), 9.4, 21.6)
    assert good.complaints == []
    bad = structs.replace(good, failed=Counter({"503": 2}), back=20.1, lost=1, twice=3, archived=False)
    assert [words.partition(": ")[2] for words in bad.complaints] == [
        "2 reads failed: {'503': 2}", "1 events lost", "3 events accepted twice", "writes back after 20.1 s",
        "nothing is archived any more",
    ]  # fmt: skip
    assert good.line().count("|") == HEADER.partition("\n")[0].count("|")
    assert "| 0.10 s | 9, 22 ms | 19.9 s |" in good.line()
