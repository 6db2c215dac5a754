"""A machine on which the gateway is installed by docs/operations.md#systemd, with Debian's systemd.

It is made of this one: its files are those here, with a layer in memory above them. Its processes, its
loopback and its cgroups are its own, so nothing here changes, and all of it is gone at the end. Needs root.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from tests.deploy.files import ROOT
from tests.programs import found

NEEDED: Final = {
    "nginx": "nginx", "pgbouncer": "pgbouncer", "postgres": "postgresql-15", "redis-server": "redis-server",
    "prometheus": "prometheus", "etcd": "etcd-server", "patroni": "patroni", "curl": "curl", "make": "make",
    "openssl": "openssl", "ip": "iproute2", "dbus-daemon": "dbus", "systemctl": "systemd-sysv", "git": "git",
}  # fmt: skip
"""Programs, with Debian's packages of them."""
TIMEOUT_SECONDS: Final = 300
HOST: Final = "gateway.example.org"
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEMD: Final = Path("/lib/systemd/systemd")

BOOT: Final = """\
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=4g tmpfs "$FOLDER"
cd "$FOLDER"
mkdir layer work root cgroup
mount -t cgroup2 cgroup2 cgroup
mkdir "cgroup/$NAME"
echo $$ > "cgroup/$NAME/cgroup.procs"
exec unshare --cgroup sh -eu -c '
mount -t overlay -o lowerdir=/,upperdir=layer,workdir=work overlay root
mount -t proc proc root/proc
mount -o bind root/proc/sys root/proc/sys
mount -o remount,bind,ro root/proc/sys
mount -t sysfs -o ro sysfs root/sys
mount -t cgroup2 cgroup2 root/sys/fs/cgroup
for name in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs root/$name; done
chmod 1777 root/tmp
for name in null zero full random urandom tty; do cp -a /dev/$name root/dev; done
mkdir root/dev/pts root/dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts root/dev/pts
mount -t tmpfs -o mode=1777 tmpfs root/dev/shm
ln -s pts/ptmx root/dev/ptmx
ln -s /proc/self/fd root/dev/fd

# Nothing starts that this machine has, but what is installed in the other one.
rm -rf root/etc/systemd/system/*.wants root/opt/gateway root/etc/gateway
for unit in getty.target systemd-udevd.service systemd-udev-trigger.service systemd-logind.service \\
    systemd-networkd.service systemd-resolved.service systemd-timesyncd.service remote-fs.target; do
    ln -sf /dev/null root/etc/systemd/system/$unit
done
ln -sf /lib/systemd/system/multi-user.target root/etc/systemd/system/default.target
: > root/etc/fstab

# Before it is cut off from the network: libraries come from there.
mkdir -p root/opt/gateway
tar -C "$CODE" --null --files-from "$FILES" -c | tar -C root/opt/gateway -x --no-same-owner
PATH=$SYSTEM_PATH chroot root sh -c "cd /opt/gateway && scripts/python scripts/venv.py requirements.txt docs"

mkdir root/before
cd root
pivot_root . before
umount -l /before
mount --make-rshared /
exec env -i container=other PATH=$SYSTEM_PATH unshare --net sh -c \\
    "ip link set lo up; exec /lib/systemd/systemd --system --log-target=journal --show-status=0"
'
"""

FORGET: Final = """\
mount -t cgroup2 cgroup2 "$FOLDER"
find "$FOLDER/$NAME" -depth -type d -exec rmdir {} +
"""
"""Its cgroups are all that would stay."""

PACKAGED: Final = """\
set -eu
# What Debian does where these packages are installed.
pg_dropcluster --stop 15 main 2>/dev/null || true
pg_createcluster 15 main > /dev/null
systemctl enable -q --now postgresql pgbouncer redis-server nginx prometheus
"""

INSTALL: Final = f"""\
set -eu
cd /opt/gateway
deploy/install {HOST}
gateway network import /root/network.json
echo RPC_URL_1=http://127.0.0.1:1 >> /etc/gateway/chains.env
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN={HOST} \\
    -keyout /etc/nginx/gateway-place/tls/privkey.pem -out /etc/nginx/gateway-place/tls/fullchain.pem
deploy/install {HOST}
"""
"""All of docs/operations.md#systemd, with a certificate and a node."""


class Machine:
    """It runs, and has the gateway."""

    def __init__(self, first: int) -> None:
        self._first = first
        """The process that all others come from, systemd."""

    def run(self, script: str) -> str:
        """What a script of bash prints there, run by root.

        :raises RuntimeError: it fails; with what it printed.
        """
        inside = ["nsenter", "--target", str(self._first), "--all"]
        clean = ["env", "-i", "HOME=/root", f"PATH={PATH}", "bash", "-c", f"cd /root\n{script}"]
        done = subprocess.run(
            [*inside, *clean], capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
        if done.returncode:
            raise RuntimeError(f"{done.stdout}{done.stderr}")
        return done.stdout.strip()


def lacking() -> str:
    """What this machine lacks, with what brings it; empty where it lacks nothing."""
    if packages := [package for name, package in NEEDED.items() if found(name) is None]:
        return f"apt-get install {' '.join(packages)}"
    if not SYSTEMD.exists():
        return "apt-get install systemd"
    return "" if os.geteuid() == 0 else "namespaces need root"


@contextmanager
def machine(network: Path) -> Iterator[Machine]:
    """Start one and install the gateway there; it ends with the block.

    :param network: the document that is imported.
    """
    with bare_machine() as made:
        made.run(f"cat > network.json <<'END'\n{network.read_text()}\nEND")
        made.run(INSTALL)
        yield made


@contextmanager
def bare_machine() -> Iterator[Machine]:
    """Start one that has the code, its libraries and Debian's packages; it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="gw-m-") as name:
        folder = Path(name)
        files, log = folder / "files", folder / "log"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files.write_bytes(subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout)
        mounted = folder / "machine"
        mounted.mkdir()
        settings = {
            "FOLDER": str(mounted), "FILES": str(files), "CODE": str(ROOT), "NAME": folder.name,
            "SYSTEM_PATH": PATH,
        }  # fmt: skip
        with log.open("wb") as out:
            started = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "sh", "-c", BOOT],
                env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
        try:
            made = Machine(_first(started, log))
            made.run(PACKAGED)
            yield made
        finally:
            for process in psutil.Process(started.pid).children():
                process.kill()  # with it go all others of the machine, and what it has mounted
            started.wait(timeout=TIMEOUT_SECONDS)
            subprocess.run(
                ["unshare", "--mount", "sh", "-c", FORGET], env={**os.environ, **settings}, check=True
            )


def _first(started: subprocess.Popen[bytes], log: Path) -> int:
    """The number of its first process, once it has started what a machine starts."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while started.poll() is None and time.monotonic() < end:
        for process in psutil.Process(started.pid).children():
            if process.name() == "systemd":
                Machine(process.pid).run("until [ -S /run/dbus/system_bus_socket ]; do sleep 0.1; done")
                return process.pid
        time.sleep(0.2)
    raise RuntimeError(f"the machine did not start: {log.read_text()}")
