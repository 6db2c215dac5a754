"""The files of deploy/patroni are valid, and by the commands of docs/failover.md three nodes fail over."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs

from tests.deploy.files import DEPLOY, documents
from tests.everyday import SOAK
from tests.patroni.__main__ import EVENTS, HEADER, Result, Served, measure, served
from tests.patroni.faults import FAULTS, Fault
from tests.patroni.nodes import (
    AUTHORITY,
    CERTIFICATES,
    FIRST,
    MAKE,
    PAGE,
    PREPARE,
    TLS,
    Node,
    lacking,
    wait_for,
)
from tests.patroni.reporters import PORTION, Body, Twins
from tests.programs import missing, program
from tests.site.snippets import block_of

LIST, SWITCH, COPY = (
    block_of(PAGE, f"patronictl -c /etc/patroni/config.yml {word}")
    for word in ("list", "switchover", "reinit")
)
SLOTS, ARCHIVE, BACKUPS = (
    block_of("docs/alerts.md", words) for words in ("du -sh", "grep -h", "journalctl -u gateway-backup")
)
DRILL = block_of("docs/alerts.md", "journalctl -u gateway-restore")
GATEWAY = block_of(PAGE, "cd /etc/gateway/secrets")
MEMBER, JOIN, RESTORE, FOLLOW = (
    block_of(PAGE, words)
    for words in (
        "etcd() {",
        "umask 022 && cd /opt/gateway && deploy/patroni/node db1\nsed",
        "printf 'gateway",
        "cd /var/lib/postgresql/15 && { [ ! -e gateway ] || mv -T gateway lost-$(date +%s); }\nsystemctl",
    )
)
RUN = [
    PREPARE, AUTHORITY, CERTIFICATES, MAKE, FIRST, GATEWAY, LIST, SWITCH, COPY, SLOTS, ARCHIVE, BACKUPS,
    DRILL, MEMBER, JOIN, RESTORE, FOLLOW,
]  # fmt: skip
LOOPBACK = ("127.0.0.11", "127.0.0.12", "127.0.0.13")
WANTED_IN_VAIN = {
    "bootstrap.pg_hba  is not defined.",  # postgresql.pg_hba takes its place, also after the start
    "postgresql.authentication.rewind  is not defined.",  # the superuser does it
}
"""What Patroni 3.0 says of a file that has everything."""


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The files of one node, by the shipped script."""
    if os.geteuid() != 0:
        missing("files of other users need root")
    (tmp_path / "etc/patroni").mkdir(parents=True)
    shared = (DEPLOY / "patroni/cluster.env.example").read_text().replace("CHANGE_ME", "0123abcd")
    for number, address in enumerate(LOOPBACK, 11):
        shared = shared.replace(f"10.0.0.{number}", address)
    (tmp_path / "etc/patroni/cluster.env").write_text(shared)
    (tmp_path / TLS).mkdir()
    for block in (AUTHORITY, CERTIFICATES):
        typed = block.code.replace("/etc/patroni", str(tmp_path / "etc/patroni"))
        typed = typed.replace("/root/nodes", str(tmp_path / "root"))
        typed = (
            f'scp() {{ [ "$name" != db1 ] || cp -p $name/* "{tmp_path / TLS}"; }}\nssh() {{ :; }}\n{typed}'
        )
        subprocess.run([program("bash"), "-eu"], input=typed, text=True, check=True, capture_output=True)
    write(tmp_path, "db1")
    return tmp_path


def write(root: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [str(DEPLOY / "patroni/node"), name, str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_patroni_accepts_the_file(made: Path) -> None:
    file = made / "etc/patroni/config.yml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.owner() == "postgres"
    assert complaints(file) == WANTED_IN_VAIN
    file.write_text(file.read_text().replace("ttl: 20", "ttl: soon"))
    assert len(complaints(file)) > len(WANTED_IN_VAIN)


def test_frozen_leader_cannot_regain_lead(made: Path) -> None:
    """By ``etcd3`` Patroni 3.0.2 overwrites the key of another leader (docs/failover.md#patroni)."""
    (settings,) = documents(made / "etc/patroni/config.yml")
    assert "etcd" in settings
    assert "etcd3" not in settings
    assert "ETCD_ENABLE_V2=true\n" in (made / "etc/default/etcd").read_text()
    shared = settings["bootstrap"]["dcs"]
    assert shared["synchronous_mode"] and shared["synchronous_mode_strict"]


def complaints(file: Path) -> set[str]:
    """What Patroni says of a file, while the members of etcd that it names can be reached."""
    with ExitStack() as stack:
        for address in LOOPBACK:
            stack.enter_context(socket.create_server((address, 2379)))
        command = [program("patroni"), "--validate-config", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return set((done.stdout + done.stderr).splitlines())


def test_every_word_is_filled_in(made: Path) -> None:
    files = [made / "etc/patroni/config.yml", made / "etc/default/etcd"]
    for file in files:
        assert not re.search(
            r"^[^#\n]*\b(NODE_|ETCD_CLIENTS|ETCD_PEERS|NETWORK|\w+_PASSWORD\b)", file.read_text(), re.M
        )
    assert files[0].read_text().count("password: 0123abcd\n") == 3
    peers = ",".join(f"db{number}=https://{address}:2380" for number, address in enumerate(LOOPBACK, 1))
    assert f"ETCD_INITIAL_CLUSTER={peers}\n" in files[1].read_text()


def test_script_is_repeatable_and_knows_nodes(made: Path) -> None:
    before = {file: file.read_text() for file in made.rglob("*") if file.is_file()}
    assert write(made, "db1").returncode == 0
    assert {file: file.read_text() for file in made.rglob("*") if file.is_file()} == before
    wrong = write(made, "db4")
    assert wrong.returncode == 1
    assert "db4 is not in NODES" in wrong.stderr


@pytest.mark.soak("a subprocess of a program that not every machine has")
def test_systemd_accepts_the_units(made: Path) -> None:
    units = sorted(str(file) for file in (made / "etc/systemd/system").glob("gateway-backup.*[er]"))
    command = [program("systemd-analyze", "systemd"), "verify", "--man=no", *units]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "gateway-backup" in line]) == (
        0,
        [],
    )


def test_the_urls_name_all_nodes(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "gateway.env").write_text((DEPLOY / "systemd/env/gateway.env").read_text())
    typed = GATEWAY.code.replace("/opt/gateway", str(DEPLOY.parent)).replace("/etc/systemd", str(tmp_path))
    typed = f"systemctl() {{ :; }}; OWNER=a; SERVING=b\n{typed.replace('/etc/gateway', str(tmp_path))}"
    subprocess.run([program("bash"), "-eu"], input=typed, text=True, check=True)
    hosts = "host=10.0.0.11:5432&host=10.0.0.12:5432&host=10.0.0.13:5432"
    assert {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()} == {
        "database_owner_url": f"postgresql://gateway_owner:a@/gateway?{hosts}&target_session_attrs=read-write\n",
        "database_url": f"postgresql://gateway:b@/gateway?{hosts}&target_session_attrs=read-write\n",
        "database_replica_url": f"postgresql://gateway:b@/gateway?{hosts}&target_session_attrs=standby\n",
    }
    assert "DATABASE_POOLER=0\n" in (tmp_path / "gateway.env").read_text()
    assert (tmp_path / "system/gateway@.service.d/replica.conf").exists()


@pytest.fixture(scope="module")
def everything() -> Iterator[Served]:
    if lack := lacking():
        missing(lack)
    with served() as running:
        yield running


@pytest.mark.minutes("three nodes, two gateways, and a minute and a half for each failure")
@pytest.mark.parametrize("fault", FAULTS if SOAK else (FAULTS[0], FAULTS[-1]), ids=lambda each: each.name)
def test_failure_loses_no_answer_or_event(everything: Served, fault: Fault) -> None:
    result = measure(everything, fault, FAULTS.index(fault) * EVENTS)
    print(result.line())
    assert result.complaints == []


@pytest.mark.minutes("three nodes")
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


@pytest.mark.minutes("three nodes")
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


@pytest.mark.minutes("three nodes")
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


@pytest.mark.minutes("three nodes, one after the other")
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


@pytest.mark.parametrize(
    ("file", "answered", "status"),
    [
        ("000000030000000000000009", 0, 0),
        ("000000030000000000000009", 45, 0),  # of a timeline that has ended
        ("00000004.history", 45, 0),
        ("000000100000000000000009", 45, 45),  # of the present one: another server writes there
        ("00000010.history", 45, 45),
        ("000000030000000000000009", 103, 103),  # the archive cannot be reached
    ],
)
def test_what_the_archive_has_otherwise(tmp_path: Path, file: str, answered: int, status: int) -> None:
    """What a leader wrote that had been replaced must not stop the archive of those that lead later."""
    program = tmp_path / "pgbackrest"
    program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path / "called"}\nexit {answered}\n')
    program.chmod(0o755)
    for name in ("00000004.history", "00000010.history", file):
        (tmp_path / name).touch()
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([DEPLOY / "patroni/pgbackrest-push", tmp_path / file], env=path, check=False)
    assert done.returncode == status
    assert (tmp_path / "called").read_text() == f"--stanza=gateway archive-push {tmp_path / file}\n"


def test_what_is_complained_of() -> None:
    good = Result(FAULTS[0], 100, Counter(), 0.1, 19.9, 40, 0, 0, Counter({"503": 7}))
    assert good.complaints == []
    bad = structs.replace(good, failed=Counter({"503": 2}), back=20.1, lost=1, twice=3, archived=False)
    assert [words.partition(": ")[2] for words in bad.complaints] == [
        "2 reads failed: {'503': 2}", "1 events lost", "3 events accepted twice", "writes back after 20.1 s",
        "nothing is archived any more",
    ]  # fmt: skip
    assert good.line().count("|") == HEADER.partition("\n")[0].count("|")
