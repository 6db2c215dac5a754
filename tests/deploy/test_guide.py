"""The installation of docs/operations.md: what ``deploy/install`` leaves behind, and who reads it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY

pytestmark = pytest.mark.system

HOST = "bridge.example.net"
STANDINS = """\
note() { printf '%s ' "$@" >> "$LOG"; echo >> "$LOG"; }
install() {  # without -o and -g: the test is anybody
    local rest=()
    while [ $# -gt 0 ]; do
        case $1 in -o|-g) shift 2 ;; *) rest+=("$1"); shift ;; esac
    done
    note install "${rest[@]}"; command install "${rest[@]}"
}
su() {
    note su "$@"
    case "$*" in
        *SELECT*) if [ -e "$ETC/sql" ]; then echo 1; fi ;;
        *) cat > "$ETC/sql" ;;
    esac
}
for name in apt-get systemctl curl nginx useradd getent ln; do eval "$name() { note $name \\"\\$@\\"; }"; done
sed() { note sed "$@"; command sed "$@"; }
"""
SERVERS_READ = {
    "postgresql/15/main/conf.d/gateway.conf": 0o644,
    "postgresql/15/main/conf.d/place.conf": 0o644,
    "pgbouncer/pgbouncer.ini": 0o644,
    "pgbouncer/place.ini": 0o644,
    "pgbouncer/userlist.txt": 0o600,
    "redis/users.acl": 0o600,
    "redis/redis.conf": 0o640,
    "gateway/secrets/secret_key": 0o600,
    "gateway/secrets/database_url": 0o600,
    "gateway/gateway.env": 0o600,
    "nginx/gateway-place/operators.conf": 0o644,
    "systemd/system/nginx.service.d/gateway.conf": 0o644,
    "systemd/system/pgbouncer.service.d/gateway.conf": 0o644,
    "systemd/system/postgresql@15-main.service.d/gateway.conf": 0o644,
    "systemd/system/redis-server.service.d/gateway.conf": 0o644,
}
SERVERS = ("postgresql", "pgbouncer", "redis-server")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine whose programs are stand-ins: its /etc, and the code."""

    etc: Path
    code: Path

    def install(self, more: str = "") -> str:
        """Run the script. Returns the commands that it called, with their arguments.

        :param more: further stand-ins.
        """
        log = self.etc.parent / "log"
        log.unlink(missing_ok=True)
        script = (DEPLOY / "install").read_text()
        script = script.replace("/opt/gateway", str(self.code)).replace("/etc/", f"{self.etc}/")
        script = script.replace("etc=/etc", f"etc={self.etc}")
        text = f"ETC={self.etc} LOG={log}\nset -- {HOST}\n{STANDINS}{more}\n{script}"
        subprocess.run(["bash"], input=text, text=True, check=True, capture_output=True, timeout=60)
        return log.read_text()

    def files(self) -> dict[str, bytes]:
        """All files of /etc, by their names."""
        found = sorted(self.etc.rglob("*"))
        return {str(each.relative_to(self.etc)): each.read_bytes() for each in found if each.is_file()}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return made(tmp_path)


def made(folder: Path) -> Machine:
    """A machine with the servers' packages, and nothing of the gateway but its code."""
    etc, code = folder / "etc", folder / "opt/gateway"
    for name in (
        "postgresql/15/main/conf.d", "pgbouncer", "redis", "systemd/system", "nginx/conf.d",
        "nginx/sites-enabled",
    ):  # fmt: skip
        (etc / name).mkdir(parents=True)
    for name in ("scripts/python", ".venv/bin/python"):
        (code / name).parent.mkdir(parents=True)
        (code / name).write_text("#!/bin/sh\n")
        (code / name).chmod(0o755)
    (code / "deploy").symlink_to(DEPLOY)
    return Machine(etc, code)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Machine, str]:
    """A machine after its first installation, and the commands that this called."""
    machine = made(tmp_path_factory.mktemp("installed"))
    return machine, machine.install()


def test_servers_read_files_but_no_secrets(installed: tuple[Machine, str]) -> None:
    etc = installed[0].etc
    modes = {name: (etc / name).stat().st_mode & 0o777 for name in SERVERS_READ}
    assert modes == SERVERS_READ
    for folder in ("gateway", "gateway/secrets", "nginx/gateway-place/tls"):
        assert etc.joinpath(folder).stat().st_mode & 0o777 == 0o700
    settings = (etc / "gateway/gateway.env").read_text().splitlines()
    assert f"PUBLIC_URL=https://{HOST}" in settings
    assert f"PUBLIC_ORIGIN=https://{HOST}:8443" in settings


def test_passwords_agree_and_stay_hidden(installed: tuple[Machine, str]) -> None:
    """No list of processes shows them."""
    etc, shown = installed[0].etc, installed[1]
    secrets = {file.name: file.read_text().strip() for file in (etc / "gateway/secrets").iterdir()}
    owner, serving, redis = (
        re.findall(r":([0-9a-f]{48})@", secrets[name])[0]
        for name in ("database_owner_url", "database_url", "rate_limit_storage_url")
    )
    sql = (etc / "sql").read_text()
    assert sql.startswith(f"\\set owner_password {owner}\n\\set password {serving}\n")
    assert sql.endswith((DEPLOY / "postgres/roles.sql").read_text())
    assert (etc / "pgbouncer/userlist.txt").read_text() == f'"gateway" "{serving}"\n'
    assert f"user gateway on >{redis} ~" in (etc / "redis/users.acl").read_text()
    assert "psql" in shown
    assert not [each for each in (owner, serving, redis) if each in shown]


def test_servers_start_quietly_and_after_a_crash(installed: tuple[Machine, str]) -> None:
    """curl is refused until a process listens, which looks like a failure to somebody who reads along."""
    machine, called = installed
    waits = re.findall("^curl (-\\w+) .*--retry", called, re.MULTILINE)
    assert len(waits) == 4
    assert not [options for options in waits if "S" in options]
    assert drop_ins(machine) >= {"nginx", "pgbouncer", "postgresql@15-main", "prometheus", "redis-server"}
    assert called.index("systemctl daemon-reload") < called.index("systemctl restart postgresql")
    assert "--now gateway-watcher" not in called
    assert "nginx" not in re.findall("^(?:systemctl reload )?(nginx)", called, re.MULTILINE)
    assert not (machine.etc / "nginx/conf.d/gateway.conf").exists()


def test_failed_step_is_named_with_its_log(machine: Machine) -> None:
    """systemctl says nothing by itself of a unit that does not start."""
    with pytest.raises(subprocess.CalledProcessError) as failed:
        machine.install('systemctl() { note systemctl "$@"; [ "$1" != enable ]; }')
    (line,) = failed.value.stderr.splitlines()
    assert line.startswith('The step "the gateway" failed.')
    assert "journalctl -n 30 -u 'gateway*'" in line
    assert line.endswith(f"Then run again: {machine.code}/deploy/install {HOST}")


def test_missing_host_name_is_requested() -> None:
    done = subprocess.run([DEPLOY / "install"], capture_output=True, text=True, check=False)
    expected = "Give the host name of the gateway: /opt/gateway/deploy/install gateway.example.org\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_last_try_says_why_a_process_is_silent(machine: Machine) -> None:
    never = 'curl() { if [[ $1 = *S* ]]; then echo "curl: (22) 503" >&2; fi; return 22; }'
    with pytest.raises(subprocess.CalledProcessError) as failed:
        machine.install(never)
    assert failed.value.stderr.startswith("curl: (22) 503\n")


def test_further_runs_change_only_what_differs(machine: Machine) -> None:
    etc = machine.etc
    first = machine.install()
    assert all(f"systemctl restart {server}" in first for server in SERVERS)
    (etc / "gateway/gateway.env").write_text("PUBLIC_URL=https://another.example.net\n")
    for name in (
        "nginx/gateway-place/operators.conf",
        "postgresql/15/main/conf.d/place.conf",
        "pgbouncer/place.ini",
    ):
        (etc / name).write_text("of this machine\n")
    before = machine.files()
    second = machine.install()
    assert machine.files() == before
    assert "systemctl restart" not in second
    assert "--no-upgrade" in second
    assert "CREATE DATABASE" not in second

    (etc / "pgbouncer/pgbouncer.ini").write_text("[pgbouncer]\n")
    (etc / "gateway/chains.env").write_text("RPC_URL_ETHEREUM=https://node.example.net\n")
    for name in ("fullchain.pem", "privkey.pem"):
        (etc / "nginx/gateway-place/tls" / name).touch()
    third = machine.install()
    assert re.findall("systemctl restart (.*)", third) == ["pgbouncer "]
    assert "systemctl enable -q --now gateway-watcher" in third
    assert "nginx -q -t \nsystemctl reload nginx" in third
    assert (etc / "nginx/conf.d/gateway.conf").exists()

    # Patroni starts its PostgreSQL again by itself.
    for name in ("database_owner_url", "database_url", "rate_limit_storage_url"):
        (etc / "gateway/secrets" / name).write_text("postgresql://somebody:a@10.0.0.11/gateway\n")
    machine.install()
    assert drop_ins(machine) == {
        "nginx", "prometheus", "prometheus-alertmanager", "prometheus-blackbox-exporter",
        "prometheus-node-exporter",
    }  # fmt: skip


def test_servers_of_other_machines_are_untouched(machine: Machine) -> None:
    secrets = machine.etc / "gateway/secrets"
    secrets.mkdir(parents=True)
    nodes = "host=10.0.0.11:5432&host=10.0.0.12:5432&target_session_attrs=read-write"
    (secrets / "database_owner_url").write_text(f"postgresql://gateway_owner:a@/gateway?{nodes}\n")
    (secrets / "rate_limit_storage_url").write_text("rediss://10.0.0.20:6379/0\n")
    called = machine.install()
    assert "systemctl enable -q --now gateway@public-1" in called
    assert not re.search("postgres|pgbouncer|redis|CREATE DATABASE", called)


def drop_ins(machine: Machine) -> set[str]:
    """The units that start again however often they end."""
    found = list(machine.etc.glob("systemd/system/*.service.d/gateway.conf"))
    assert {file.read_text() for file in found} == {(DEPLOY / "systemd/restart.conf").read_text()}
    return {file.parent.name.removesuffix(".service.d") for file in found}


def test_commands_read_settings_as_systemd_does(machine: Machine) -> None:
    """systemd takes a line as it stands; a shell would take ``&`` for its end."""
    machine.install()
    flask = machine.code / ".venv/bin/flask"
    flask.write_text('#!/bin/sh\necho "$RPC_URL_A|$RPC_URL_B|$DATABASE_POOLER|$*"\n')
    flask.chmod(0o755)
    script = (DEPLOY / "gateway").read_text().replace("/etc/", f"{machine.etc}/")
    script = script.replace("/opt/gateway", str(machine.code))
    for value in ("https://node/rpc?chain=1&key=a$b", "a b;c", "it's"):
        lines = f"# nodes\n; and\n\nRPC_URL_A={value}\nRPC_URL_B='{value}'"
        (machine.etc / "gateway/chains.env").write_text(lines)
        done = subprocess.run(
            ["bash", "-c", script, "gateway", "watch"], capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{value}|{value}|1|--app wsgi watch\n"


@pytest.mark.parametrize(
    ("day", "kind"), [("2026-11-29", "full"), ("2026-11-30", "diff"), ("2026-12-05", "diff")]
)
def test_backup_is_full_on_sundays(tmp_path: Path, day: str, kind: str) -> None:
    """pgBackRest retains so many full ones: without another one neither backups nor the archive expire."""
    unit = (DEPLOY / "postgres/gateway-backup.service").read_text()
    (line,) = re.findall("^ExecStart=/bin/sh -c '(.*)'$", unit, re.MULTILINE)
    command = line.replace("$$", "$").replace("%%", "%").replace("exec pgbackrest", "echo")
    typed = f'date() {{ command date -d {day} "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, check=True)
    assert done.stdout == f"--stanza=gateway --type={kind} backup\n"
