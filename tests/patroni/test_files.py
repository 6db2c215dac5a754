"""The files of deploy/patroni, and those that docs/failover.md has a gateway have, are valid."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY, documents
from tests.patroni.nodes import AUTHORITY, CERTIFICATES, PAGE, TLS, alone_on_the_machine
from tests.programs import missing, program
from tests.site.snippets import block_of

pytestmark = pytest.mark.system

PASSWORDS = block_of(PAGE, "cd /etc/gateway/secrets\nsed")
GATEWAY = block_of(PAGE, "cd /etc/gateway/secrets && umask 077")
RUN = [PASSWORDS, GATEWAY]
LOOPBACK = ("127.0.0.11", "127.0.0.12", "127.0.0.13")
WANTED_IN_VAIN = {
    "bootstrap.pg_hba  is not defined.",  # postgresql.pg_hba takes its place, also after the start
    "postgresql.authentication.rewind  is not defined.",  # the superuser does it
}
"""What Patroni 3.0 reports of a file that has everything."""


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
        subprocess.run(["bash", "-eu"], input=typed, text=True, check=True, capture_output=True)
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
    """What Patroni reports of a file, while the members of etcd that it names can be reached."""
    with ExitStack() as stack:
        stack.enter_context(alone_on_the_machine())
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


def test_gateways_may_have_own_networks(made: Path) -> None:
    shared = made / "etc/patroni/cluster.env"
    shared.write_text(shared.read_text().replace('="10.0.0.0/24"', '="10.0.0.0/24 10.1.0.0/24"'))
    assert write(made, "db1").returncode == 0
    (settings,) = documents(made / "etc/patroni/config.yml")
    assert settings["postgresql"]["pg_hba"] == [
        "local all all peer",
        "host all all 10.0.0.0/24 scram-sha-256",
        "host all all 10.1.0.0/24 scram-sha-256",
        "host replication replicator 10.0.0.0/24 scram-sha-256",
        "host replication replicator 10.1.0.0/24 scram-sha-256",
    ]


def test_script_is_repeatable_and_knows_nodes(made: Path) -> None:
    before = {file: file.read_text() for file in made.rglob("*") if file.is_file()}
    assert write(made, "db1").returncode == 0
    assert {file: file.read_text() for file in made.rglob("*") if file.is_file()} == before
    wrong = write(made, "db4")
    assert wrong.returncode == 1
    assert "db4 is not in NODES" in wrong.stderr


def test_only_etcd_and_patroni_are_restarted(made: Path) -> None:
    found = (made / "etc/systemd/system").glob("*.service.d/gateway.conf")
    assert {file.parent.name: file.read_text() for file in found} == dict.fromkeys(
        ("etcd.service.d", "patroni.service.d"), (DEPLOY / "systemd/restart.conf").read_text()
    )


def test_systemd_accepts_the_units(made: Path) -> None:
    units = sorted(str(file) for file in (made / "etc/systemd/system").glob("gateway-backup.*[er]"))
    command = [program("systemd-analyze", "systemd"), "verify", "--man=no", *units]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "gateway-backup" in line]) == (
        0,
        [],
    )


def test_database_urls_name_every_node(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "gateway.env").write_text((DEPLOY / "systemd/env/gateway.env").read_text())
    typed = GATEWAY.code.replace("/opt/gateway", str(DEPLOY.parent)).replace("/etc/systemd", str(tmp_path))
    typed = f"systemctl() {{ :; }}; OWNER=a; SERVING=b\n{typed.replace('/etc/gateway', str(tmp_path))}"
    subprocess.run(["bash", "-eu"], input=typed, text=True, check=True)
    hosts = "host=10.0.0.11:5432&host=10.0.0.12:5432&host=10.0.0.13:5432"
    assert {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()} == {
        "database_owner_url": f"postgresql://gateway_owner:a@/gateway?{hosts}&target_session_attrs=read-write\n",
        "database_url": f"postgresql://gateway:b@/gateway?{hosts}&target_session_attrs=read-write\n",
        "database_replica_url": f"postgresql://gateway:b@/gateway?{hosts}&target_session_attrs=standby\n",
    }
    assert "DATABASE_POOLER=0\n" in (tmp_path / "gateway.env").read_text()
    assert (tmp_path / "system/gateway@.service.d/replica.conf").exists()
    assert passwords(tmp_path) == "OWNER=a\nSERVING=b\n"


def passwords(etc: Path) -> str:
    """What the page has printed of the URLs there."""
    typed = PASSWORDS.code.replace("/etc/gateway", str(etc))
    return subprocess.run(["bash", "-eu"], input=typed, text=True, check=True, capture_output=True).stdout


def test_page_command_prints_passwords_of_install(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    made = re.findall(r'^echo "(postgresql.*)" .*/(\w+)$', (DEPLOY / "install").read_text(), re.M)
    for url, name in made:
        (tmp_path / "secrets" / name).write_text(url.replace("$(openssl rand -hex 24)", "0123abcd") + "\n")
    assert passwords(tmp_path) == "OWNER=0123abcd\nSERVING=0123abcd\n"


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
def test_push_of_a_former_leader_is_ignored(tmp_path: Path, file: str, answered: int, status: int) -> None:
    """What a leader wrote after it was replaced must not stop the archive of later leaders."""
    program = tmp_path / "pgbackrest"
    program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path / "called"}\nexit {answered}\n')
    program.chmod(0o755)
    for name in ("00000004.history", "00000010.history", file):
        (tmp_path / name).touch()
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([DEPLOY / "patroni/pgbackrest-push", tmp_path / file], env=path, check=False)
    assert done.returncode == status
    assert (tmp_path / "called").read_text() == f"--stanza=gateway archive-push {tmp_path / file}\n"
