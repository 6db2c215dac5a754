"""Three nodes of PostgreSQL, Patroni and etcd as deploy/patroni makes them, on one machine.

Each has a network namespace, and a mount namespace in which its folders are where an installation has them.
So the shipped files run as they are. Needs root.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from ssl import create_default_context
from typing import Any, Final

import orjson
import psutil
import psycopg

from tests.deploy.files import ROOT, env_file
from tests.faults_rig.programs import wait_for
from tests.programs import found
from tests.site.snippets import Block, block_of

NEEDED: Final = {
    "patroni": "patroni", "etcd": "etcd-server", "pgbackrest": "pgbackrest", "postgres": "postgresql-15",
    "ip": "iproute2", "curl": "curl", "openssl": "openssl",
}  # fmt: skip
"""Programs, with Debian's packages of them."""

ADDRESSES: Final = {"db1": "198.51.100.11", "db2": "198.51.100.12", "db3": "198.51.100.13"}
"""Of the range for documentation (RFC 5737). They exist only in the namespaces of this run."""

NETWORK: Final = "198.51.100.0/24"
BRIDGE: Final = "gw-nodes"
OWNER_PASSWORD, PASSWORD = "owner-secret", "gateway-secret"

PAGE: Final = "docs/failover.md"
PREPARE, AUTHORITY, CERTIFICATES, MAKE, FIRST = (
    block_of(PAGE, words)
    for words in (
        "apt-get install",
        "umask 077 && mkdir",
        "umask 077 && cd /root",
        "umask 022 && cd /opt/gateway && deploy/patroni/node db1\nsystemctl",
        "cd /opt/gateway\n{ printf",
    )
)  # fmt: skip
"""What the page has root type: on each node, twice on the first one, on each node, on the first leader."""

TLS: Final = "etc/patroni/tls"

PLACED: Final = {
    "etc/patroni": "/etc/patroni",
    "etc/postgresql": "/etc/postgresql",
    "etc/pgbackrest.conf": "/etc/pgbackrest.conf",
    "lib": "/var/lib/postgresql",
    "etcd": "/var/lib/etcd",
    "run": "/var/run/postgresql",
}
"""What of a node's folder is seen there by its programs."""


def lacking() -> str:
    """What this machine lacks for nodes, with what brings it; empty where it lacks nothing."""
    packages = [package for name, package in NEEDED.items() if found(name) is None]
    if packages:
        return f"apt-get install {' '.join(packages)}"
    return "" if os.geteuid() == 0 else "namespaces need root"


class Node:
    """One of the three."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.address = ADDRESSES[name]
        self.folder = folder
        for name in ("etc/patroni", "etc/postgresql", "lib/15", "etcd", "run", "logs", "lock"):
            (folder / name).mkdir(parents=True)
        (folder / "etc/pgbackrest.conf").touch()
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def prepare(self) -> None:
        """Name the nodes, by the commands of the page."""
        self.type(PREPARE)
        shared = self.folder / "etc/patroni/cluster.env"
        text = shared.read_text().replace("10.0.0.0/24", NETWORK)
        for name, address in ADDRESSES.items():
            text = re.sub(rf"\b{name}=[\d.]+", f"{name}={address}", text)
        shared.write_text(re.sub(r"CHANGE_ME", "a-secret-of-the-nodes", text))

    def certify(self) -> None:
        """Make the certificates of all nodes, by the commands of the page."""
        ours, all_of_them = self.folder / "root", self.folder.parent
        self.type(AUTHORITY, {"/root/nodes": str(ours)})
        copied = {
            "scp": "cp",
            "root@$address:/etc/patroni/tls/": f"{all_of_them}/$name/etc/patroni/tls/",
            "ssh root@$address": ":",
        }
        self.type(CERTIFICATES, {"/root/nodes": str(ours), **copied})

    def make(self, block: Block = MAKE, changed: Mapping[str, str] | None = None) -> None:
        """Write its files, by commands of the page."""
        self.type(block, {"node db1": f"node {self.name} {self.folder}", **(changed or {})})
        for name in ("etc/patroni", "lib", "etcd", "run", "logs", "lock"):
            _run("chown", "-R", "postgres:postgres", str(self.folder / name))

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Its network is there while the block runs."""
        space, outside, inside = f"gw-{self.name}", f"gw-{self.name}", f"in-{self.name}"
        _run("ip", "netns", "add", space)
        try:
            _run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside)
            _run("ip", "link", "set", inside, "netns", space)
            _run("ip", "link", "set", outside, "master", BRIDGE, "up")
            for words in (
                ("addr", "add", f"{self.address}/24", "dev", inside),
                ("link", "set", inside, "up"),
                ("link", "set", "lo", "up"),
            ):
                _run("ip", "-n", space, *words)
            yield
        finally:
            _run("ip", "link", "delete", outside)  # the namespace leaves later, with its last process
            _run("ip", "netns", "delete", space)

    def start(self, *programs: str) -> None:
        """Start what does not run."""
        for name in programs or ("etcd", "patroni"):
            if name not in self._running or self._running[name].poll() is not None:
                self._running[name] = self._start(name)

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = {"etcd": "etcd", "patroni": "patroni /etc/patroni/config.yml"}[name]
        settings = env_file(self.folder / "etc/default/etcd") if name == "etcd" else {}
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                ["ip", "netns", "exec", f"gw-{self.name}", "sh", "-c", self.placed(command)],
                env=self._environment() | settings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def placed(self, command: str) -> str:
        """A command by the user of the servers, where the node's folders are at their places."""
        as_user = "setpriv --reuid postgres --regid postgres --clear-groups"
        return f"{self._mounts()}cd /\nexec {as_user} {command}"

    def _mounts(self) -> str:
        mounts = (f"mount --bind {self.folder / ours} {there}\n" for ours, there in PLACED.items())
        return f"set -e\n{''.join(mounts)}"

    def type(self, block: Block, changed: Mapping[str, str] | None = None) -> str:
        """What commands of the page print, typed by root on the node. They install and start nothing."""
        text = block.code.replace("/opt/gateway", str(ROOT))
        for words, here in (changed or {}).items():
            assert words in text, words
            text = text.replace(words, here)
        secrets = f"OWNER={OWNER_PASSWORD} SERVING={PASSWORD}"
        programs = ("apt-get", "systemctl", "journalctl", "pg_dropcluster", "usermod")
        noted = "".join(f"{name}() {{ :; }}\n" for name in programs)
        return self._in_namespaces(f"{self._mounts()}{secrets}\n{noted}cd {ROOT}\n{text}")

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PGBACKREST_REPO1_PATH": str(self.folder.parent / "repository"),
            "PGBACKREST_LOCK_PATH": str(self.folder / "lock"),
            "PGBACKREST_LOG_PATH": str(self.folder / "logs"),
        }

    def run(self, command: str) -> str:
        """What a command of the servers' user prints on the node; it must succeed."""
        return self._in_namespaces(self.placed(command))

    def _in_namespaces(self, script: str) -> str:
        done = subprocess.run(
            ["ip", "netns", "exec", f"gw-{self.name}", "bash", "-c", script],
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stdout}{done.stderr}")
        return done.stdout

    def processes(self, *programs: str) -> list[psutil.Process]:
        """The running processes of some of ``patroni``, ``postgres`` and ``etcd``, parents first."""
        firsts = []
        for name in programs:
            with suppress(FileNotFoundError, psutil.NoSuchProcess):
                if name == "postgres":
                    file = self.folder / "lib/15/gateway/postmaster.pid"
                    number = int(file.read_text().split()[0])
                else:
                    number = self._running[name].pid
                firsts.append(psutil.Process(number))
        everyone = []
        for first in firsts:
            with suppress(psutil.NoSuchProcess):
                everyone += [first, *first.children(recursive=True)]
        return everyone

    def signal(self, number: signal.Signals, *programs: str) -> None:
        """Send a signal to all processes of some programs."""
        for process in self.processes(*programs):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def link(self, state: str) -> None:
        """Set its network ``down`` or ``up``."""
        _run("ip", "link", "set", f"gw-{self.name}", state)

    def stop(self, name: str) -> None:
        """Stop one of its programs, as systemd does; with Patroni its PostgreSQL."""
        self._running[name].terminate()
        self._running[name].wait()

    def end(self) -> None:
        """Kill all of it."""
        self.signal(signal.SIGKILL, "patroni", "postgres", "etcd")
        for running in self._running.values():
            running.wait()

    def status(self, path: str) -> tuple[int, Any]:
        """What Patroni's REST API answers; 0 where it does not."""
        authority = create_default_context(cafile=self.folder / TLS / "ca.crt")
        connection = HTTPSConnection(self.address, 8008, timeout=2, context=authority)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, orjson.loads(response.read() or b"null")
        except (OSError, HTTPException):
            return 0, None
        finally:
            connection.close()


class Cluster:
    """The three of them."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    @property
    def leader(self) -> Node:
        """The one that leads."""
        return self._with_role("leader")

    @property
    def standby(self) -> Node:
        """One of those that commits wait for."""
        return self._with_role("sync_standby")

    def _with_role(self, role: str) -> Node:
        name = next(each["name"] for each in self._members() if each["role"] == role)
        return next(node for node in self.nodes if node.name == name)

    def _members(self) -> list[dict[str, Any]]:
        """What Patroni reports of the three, wherever one answers; empty where none does."""
        answers = (node.status("/cluster") for node in self.nodes)
        return next((found["members"] for status, found in answers if status == 200), [])

    @property
    def leader_of_etcd(self) -> Node:
        """Whose member of etcd leads the others."""
        for node in self.nodes:
            files = f"--cacert /{TLS}/ca.crt --cert /{TLS}/node.crt --key /{TLS}/node.key"
            request = f"curl -fsS {files} -X POST -d {{}} https://{node.address}:2379/v3/maintenance/status"
            with suppress(RuntimeError):
                found = orjson.loads(node.run(request))
                if found["leader"] == found["header"]["member_id"]:
                    return node
        raise AssertionError("etcd has no leader")

    def is_whole(self) -> bool:
        """Whether there is a leader, and two standbys follow it synchronously."""
        members = self._members()
        return (
            sorted(each["role"] for each in members) == ["leader", "sync_standby", "sync_standby"]
            and {each["state"] for each in members} <= {"running", "streaming"}
            and len({each.get("timeline") for each in members}) == 1
        )

    def wait(self) -> None:
        """Wait until it is whole."""
        wait_for("three nodes", self.is_whole)

    def url(self, role: str, attributes: str, scheme: str = "postgresql") -> str:
        """A URL that names no single machine."""
        password = {"gateway": PASSWORD, "gateway_owner": OWNER_PASSWORD}[role]
        hosts = "&".join(f"host={node.address}:5432" for node in self.nodes)
        return f"{scheme}://{role}:{password}@/gateway?{hosts}&target_session_attrs={attributes}"

    def query(self, statement: str, *values: object) -> Any:
        """The first value that the leader answers."""
        with psycopg.connect(
            host=self.leader.address, user="gateway", password=PASSWORD, dbname="gateway"
        ) as connection:
            row = connection.execute(statement, values).fetchone()
        assert row is not None
        return row[0]

    def archives(self) -> bool:
        """Whether what the leader writes comes into the archive within a minute."""
        with suppress(RuntimeError):
            self.leader.run("pgbackrest --stanza=gateway check")
            return True
        return False

    def repair(self) -> None:
        """Start what was ended, let go on what was stopped, connect what was cut, and wait."""
        for node in self.nodes:
            node.link("up")
            node.signal(signal.SIGCONT, "patroni", "postgres", "etcd")
            node.start()
        self.wait()


@contextmanager
def alone_on_the_machine() -> Iterator[None]:
    """Wait until no other process has these addresses, and keep them for the block."""
    with Path(tempfile.gettempdir(), "gateway-patroni.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Three nodes with the roles and the empty database of an installation, and a first backup."""
    with ExitStack() as stack:
        stack.enter_context(alone_on_the_machine())
        _run("ip", "link", "add", BRIDGE, "type", "bridge")
        stack.callback(_run, "ip", "link", "delete", BRIDGE)
        _run("ip", "addr", "add", NETWORK.replace(".0/", ".254/"), "dev", BRIDGE)
        _run("ip", "link", "set", BRIDGE, "up")
        (folder / "repository").mkdir()
        shutil.chown(folder / "repository", "postgres")
        nodes = [Node(name, folder / name) for name in ADDRESSES]
        for node in nodes:
            stack.enter_context(node.connected())
            node.prepare()
        nodes[0].certify()
        for node in nodes:
            node.make()
            stack.callback(node.end)
            node.start()
        made = Cluster(nodes)
        made.wait()
        made.leader.type(FIRST)
        yield made


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
