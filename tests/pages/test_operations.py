"""The commands of docs/operations.md, docs/first-week.md and docs/failover.md, typed as they stand.

What would change the machine itself, such as ``systemctl`` and ``docker``, is noted.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.databases import new_postgres_database
from tests.deploy.files import DEPLOY, compose, documents, free_port, units
from tests.pages.shell import Shell
from tests.programs import program
from tests.replicas.cluster import cluster
from tests.serving.server import Server, serving
from tests.site.snippets import block_of, blocks_of
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import FakeNode, served

pytestmark = pytest.mark.system

FLASK = ".venv/bin/flask --app wsgi"
PAGE = "docs/operations.md"
PRODUCTION = block_of("README.md", "make docs ")
FIRST = block_of(PAGE, "deploy/install gateway")
COMPOSE = block_of(PAGE, "cd deploy")
IMAGE = block_of(PAGE, "docker build -f deploy/Dockerfile -t gateway --build-arg BASE=")
AUTHORITY = block_of(PAGE, "docker build -f deploy/Dockerfile -t gateway --build-arg AUTHORITY=")
PROMETHEUS = block_of(PAGE, "apt-get install -y --no-install-recommends prometheus <")
ALERTMANAGER = block_of(PAGE, "install -d -m 750 -g prometheus")
MACHINES = block_of(PAGE, "cd /opt/gateway\napt-get install -y --no-install-recommends prometheus-{")
NIGHTLY = block_of(PAGE, "cp /opt/gateway/deploy/postgres/gateway-backup")
MONTHLY = block_of(PAGE, "cp /opt/gateway/deploy/postgres/gateway-restore-drill")
UPGRADE = block_of(PAGE, "cd /opt/gateway && git fetch")
BACKUP, RESTORE = block_of(PAGE, f"{FLASK} backup"), block_of(PAGE, "lost=instance/")
CUT_OFF = block_of(PAGE, f"{FLASK} audit verify")
VERIFY = block_of(PAGE, "flask --app wsgi events verify")
WEEK = [block for block in blocks_of("docs/first-week.md") if block.heading.startswith("Day")]
HOUR = [block for block in blocks_of("docs/first-week.md") if block not in WEEK]
BY_HAND = "From the primary to the replica"
WATCH = block_of("docs/failover.md", "cat /opt/gateway/deploy/prometheus")
FAILOVER = [block for block in blocks_of("docs/failover.md") if block.heading == BY_HAND]
"""The rest is typed in tests/patroni."""
RUN = [
    PRODUCTION, FIRST, COMPOSE, IMAGE, AUTHORITY, PROMETHEUS, ALERTMANAGER, MACHINES, NIGHTLY, MONTHLY,
    UPGRADE, BACKUP, RESTORE, CUT_OFF, VERIFY, *WEEK, *HOUR, WATCH, *FAILOVER,
]  # fmt: skip
BLOCKS = 30
NGINX_MAIN = "daemon off; pid {folder}/pid; events {{}} http {{ include conf.d/*.conf; }}"


@pytest.fixture
def installed(shell: Shell, postgres_server: str, postgres_template: str) -> Shell:
    """What an installation has in /etc, and an empty database of the newest revision."""
    etc = shell.root / "etc"
    for name in (
        "gateway/secrets", "systemd/system", "nginx/conf.d", "nginx/sites-enabled", "prometheus", "default",
    ):  # fmt: skip
        (etc / name).mkdir(parents=True, exist_ok=True)
    for name in ("prometheus", "prometheus-alertmanager"):
        (etc / "default" / name).write_text('ARGS=""\n')
    for file in (DEPLOY / "systemd/env").glob("*.env"):
        (etc / "gateway" / file.name).write_text(file.read_text())
    url = new_postgres_database(postgres_server, postgres_template)
    (etc / "gateway/secrets/database_url").write_text(url)
    for name in ("audit_key", "secret_key"):
        (etc / "gateway/secrets" / name).write_text(shell.settings.pop(name.upper()))
    del shell.settings["DATABASE_URL"]
    return shell


def note_heads(shell: Shell) -> None:
    """Have the heads of the audit log noted, and something in it."""
    heads = shell.root / "var/log/gateway/heads"
    heads.write_text("")
    shell.settings["AUDIT_ANCHORS"] = f"file:{heads}"
    shell.run(f"{FLASK} operators create one@example.org --role admin")


def ports(text: str, server: Server) -> dict[str, str]:
    """The gateways of the pages, all of them this one."""
    shown = {
        "in 8011 8012 8013 8014;": f"in {server.port} {server.port};",
        ":8011/": f":{server.port}/",
        ":8012/": f":{server.port}/",
        "https://gateway.example.org": server.base,
    }
    return {name: here for name, here in shown.items() if name in text}


def started(shell: Shell) -> set[str]:
    """The units that systemctl was called with."""
    words = [word for line in shell.notes if line.startswith("systemctl ") for word in line.split()[1:]]
    return {f"{word.partition('@')[0]}{'@' * ('@' in word)}.service" for word in words if "gateway" in word}


def test_readme_runs_gateway_on_postgresql(shell: Shell, postgres_server: str) -> None:
    (shell.code / "network.json").write_text(block_of("docs/network.md", "{\n").code)
    shell.settings = {name: shell.settings[name] for name in ("AUDIT_KEY", "OPERATOR_PASSWORD")}
    shell.settings |= {"PORT": "0", "WEB_CONCURRENCY": "1", "GUNICORN_CMD_ARGS": "--no-control-socket"}
    shell.settings["DATABASE_URL"] = new_postgres_database(postgres_server)
    said = shell.run(
        PRODUCTION,
        {
            "make docs ": "note make docs ",
            "DATABASE_URL=postgresql://gateway:PASSWORD@localhost/gateway": "DATABASE_URL",
            "EMAIL": "somebody@example.org",
            ".venv/bin/gunicorn": "until_said 'API ' .venv/bin/gunicorn",
            f"{FLASK} watch ": f"until_said watch_from_block {FLASK} watch ",
            f"{FLASK} deliver ": f"until_said 'sending webhooks' {FLASK} deliver ",
        },
    )
    assert re.search(r"no chain of postgresql\S+ has a watch_from_block yet", said)
    assert re.search(r"^API +http://127\.0\.0\.1:\d+/v2/$", said, re.MULTILINE)
    assert (shell.code / "instance/production_key").stat().st_mode & 0o777 == 0o600


def install(shell: Shell, server: Server, changes: Mapping[str, str] | None = None) -> str:
    """Run the script of the repository; what it printed."""
    script = (DEPLOY / "install").read_text()
    noted = ("getent", "ln", "nginx")
    before = "".join(f'{name}() {{ note {name} "$@"; }}\n' for name in noted)
    before += 'su() { note su "$@"; cat > /dev/null; }\n'
    for folder in ("postgresql/15/main/conf.d", "pgbouncer", "redis", "nginx/sites-enabled"):
        (shell.root / "etc" / folder).mkdir(parents=True, exist_ok=True)
    built = {
        "scripts/python scripts/venv.py": "note scripts/venv.py",  # tests/scripts runs it
        ".venv/bin/python -m scripts.docs_site.build": "note build",  # tests/site does
    }
    changed = built | ports(script, server) | dict(changes or {})
    return shell.run(script, changed, before=f"set -- gateway.example.org\n{before}")


def test_an_installation_is_started(installed: Shell, server: Server) -> None:
    (installed.root / "etc/gateway/chains.env").write_text("RPC_URL_ETHEREUM=https://node.example.org\n")
    assert "All four processes are ready." in install(installed, server)
    assert started(installed) == set(units())
    placed = list((installed.root / "etc/systemd/system").iterdir())
    # Other tests of this module may have installed those of the backup and the pooler.
    others = {f"gateway-{name}.{kind}" for name in ("backup", "pooler") for kind in ("service", "timer")}
    assert {file.name for file in placed if file.is_file()} - others == set(units())
    assert {file.name.removesuffix(".service.d") for file in placed if file.is_dir()} == {
        "nginx", "pgbouncer", "postgresql@15-main", "redis-server", "prometheus", "prometheus-alertmanager",
        "prometheus-blackbox-exporter", "prometheus-node-exporter", "prometheus-postgres-exporter",
    }  # fmt: skip


def test_nginx_takes_the_files(installed: Shell, server: Server) -> None:
    etc = installed.root / "etc/nginx"
    (etc / "nginx.conf").write_text(NGINX_MAIN.format(folder=etc))
    tls = etc / "gateway-place/tls"
    tls.mkdir(parents=True, exist_ok=True)
    command = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    files = ["-keyout", str(tls / "privkey.pem"), "-out", str(tls / "fullchain.pem")]
    subprocess.run([program("openssl"), *command, *files], check=True, capture_output=True)
    places = f"sed -i 's#/var/log/nginx#{etc}#' {etc}/gateway-place/log.conf"
    listens = "".join(f" -e 's/listen {port}\\b/listen 127.0.0.1:{free_port()}/'" for port in (80, 443, 8443))
    listens = f"sed -i -e '/listen \\[/d'{listens} {etc}/conf.d/gateway.conf"
    tried = f"{program('nginx')} -c {etc}/nginx.conf -t"
    changes = {"nginx -q -t": f"{places}\n{listens}\n{tried}", "answers https": "note answers https"}
    said = install(installed, server, changes)
    assert "test is successful" in said
    assert "systemctl reload nginx" in installed.notes


def command_of(shell: Shell) -> str:
    """The definition of ``gateway`` as a function that runs the script of the repository."""
    text = (DEPLOY / "gateway").read_text()
    script = shell.code / "gateway"
    script.write_text(text.replace("/etc/", f"{shell.root}/etc/").replace("/opt/", f"{shell.root}/opt/"))
    return f'gateway() {{ bash {script} "$@"; }}'


def test_the_first_commands(installed: Shell) -> None:
    (installed.code / "network.json").write_text(block_of("docs/network.md", "{\n").code)
    gateway = (DEPLOY / "gateway").read_text()
    command = installed.code / "gateway"
    command.write_text(
        gateway.replace("/etc/", f"{installed.root}/etc/").replace("/opt/", f"{installed.root}/opt/")
    )
    changes = {
        "deploy/install gateway.example.org": "gateway db upgrade",
        "EMAIL": "somebody@example.org",
        "curl ": "note curl ",
    }
    printed = installed.run(FIRST, changes, before=command_of(installed))
    assert "added chain 56" in printed
    assert "created somebody@example.org with the role admin" in printed


def test_the_first_hour(installed: Shell, tmp_path: Path) -> None:
    """Its commands one after the other. tests/faults_rig types them on a machine with systemd."""
    code, install, https, network, chain, people, alert, report = HOUR
    etc = installed.root / "etc"
    (etc / "nginx/gateway-place/tls").mkdir(parents=True, exist_ok=True)
    (etc / "gateway/chains.env").write_text("")
    gateway, url = command_of(installed), (etc / "gateway/secrets/database_url").read_text()
    again = {"deploy/install gateway.example.org": "note again"}
    installed.run(code, {" && cd /opt/gateway &&": " &&"})
    installed.run(install, again)
    installed.run("gateway db upgrade", before=gateway)
    with serving(
        "wsgi:app", tmp_path / "log", DATABASE_URL=url, DOORS="api,ingest", WEB_CONCURRENCY="1"
    ) as here:
        public, feed = (
            {"https://gateway.example.org/": f"{here.base}/"},
            {"https://gateway.example.org:8443": here.base},
        )
        assert '"version":' in installed.run(https, again | public)
        own = etc / "nginx/gateway-place/tls/fullchain.pem"
        trusted = installed.root / "usr/local/share/ca-certificates/gateway.crt"
        assert trusted.read_bytes() == own.read_bytes()
        assert "update-ca-certificates" in installed.notes
        assert (etc / "hosts").read_text() == "127.0.0.1 gateway.example.org\n"
        printed = installed.run(network, {"24000000": "1"} | public, before=gateway)
        assert re.search(r"^added chain 1$", printed, re.MULTILINE)
        assert '"name":"Ethereum"' in printed
        node_of = FakeChain(chain_id=1)
        for _ in range(BLOCKS):
            node_of.mine()
        with served(FakeNode(node_of)) as node:
            printed = installed.run(chain, again | {"https://NODE": node}, before=gateway)
        assert "chain 1 (Ethereum): can be watched" in printed
        assert re.search(r"^1 +Ethereum", printed, re.MULTILINE)
        printed = installed.run(people, feed | {"EMAIL": "somebody@example.org"}, before=gateway)
        assert '{"accepted":1,"repeated":0,"refused":[]}' in printed
    assert installed.notes.count("again") == 3
    installed.run(alert, before="promtool() { echo 'ALERTS{alertstate=\"firing\"} => 1'; }")
    assert "systemctl start gateway@public-2" in installed.notes
    installed.run(report, before='journalctl() { note journalctl "$@"; }')


def test_compose_has_what_is_named(installed: Shell) -> None:
    installed.run(COMPOSE, {"EMAIL": "somebody@example.org"})
    services = compose()["services"]
    words = [line.split() for line in installed.notes if line.startswith("docker compose ")]
    assert len(words) == 4
    assert "tools" in services
    assert all("tools" in line for line in words if "run" in line)
    assert any(each.get("profiles") == ["sight"] for each in services.values())
    secrets = {Path(each["file"]).name for each in compose()["secrets"].values()}
    assert secrets <= {file.name for file in (installed.code / "deploy/compose/secrets").iterdir()}


def test_the_image_takes_the_arguments(installed: Shell) -> None:
    git = 'git() { if [ "$1" = log ]; then echo 1; else echo abc; fi; }'
    installed.run(IMAGE, before=git)
    (line,) = installed.notes
    arguments = set(re.findall(r"--build-arg (\w+)=", line))
    assert arguments == {"BASE", "SOURCE_DATE_EPOCH", "BUILD_COMMIT"}
    assert arguments <= set(re.findall(r"^ARG (\w+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE))


def test_the_image_takes_an_authority(installed: Shell) -> None:
    (installed.code / "company.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    installed.run(AUTHORITY)
    (line,) = installed.notes
    assert "--build-arg AUTHORITY=-----BEGIN CERTIFICATE-----" in line


def test_prometheus_takes_the_files(installed: Shell) -> None:
    program("promtool", "prometheus")
    assert "rules found" in installed.run(PROMETHEUS)
    assert (installed.root / "etc/prometheus/targets/gateway.yml").exists()
    assert_loopback(installed, "prometheus", 9090)


def assert_loopback(shell: Shell, name: str, port: int) -> None:
    """Nobody else can reach it: who can may silence alerts, and read figures of every process."""
    (arguments,) = re.findall('^ARGS="(.*)"$', (shell.root / "etc/default" / name).read_text(), re.MULTILINE)
    assert f"--web.listen-address=127.0.0.1:{port}" in arguments.split()


def test_alertmanager_takes_the_file(installed: Shell) -> None:
    program("amtool", "prometheus-alertmanager")
    said = installed.run(ALERTMANAGER, before="read() { value=$name; }")
    assert "SUCCESS" in said
    secrets = installed.root / "etc/prometheus/secrets"
    assert {file.name for file in secrets.iterdir()} == {"smtp_password", "chat_url", "heartbeat_url"}
    assert (secrets / "smtp_password").read_text() == "smtp_password"
    assert_loopback(installed, "prometheus-alertmanager", 9093)


def test_prometheus_watches_the_machines(installed: Shell) -> None:
    etc = installed.root / "etc"
    installed.run(PROMETHEUS)
    installed.run(MACHINES, before='su() { note su "$@"; }')
    assert "su postgres -c psql -X -c " in "".join(installed.notes)
    assert (etc / "default/prometheus-postgres-exporter").read_text().startswith("DATA_SOURCE_NAME='user=")
    command = [program("promtool", "prometheus"), "check", "config", str(etc / "prometheus/prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "WARNING" in done.stdout) == (0, False), done.stdout + done.stderr


def test_prometheus_watches_the_nodes(installed: Shell) -> None:
    installed.run(PROMETHEUS)
    assert "is valid prometheus config" in installed.run(WATCH)
    (whole,) = documents(installed.root / "etc/prometheus/prometheus.yml")
    assert [job["job_name"] for job in whole["scrape_configs"]] == ["gateway", "patroni"]


def test_a_backup_is_made_each_night(installed: Shell) -> None:
    installed.run(NIGHTLY)
    made = {file.name for file in (installed.root / "etc/systemd/system").iterdir()}
    assert {name for name in made if "backup" in name} == {"gateway-backup.service", "gateway-backup.timer"}
    assert "systemctl enable --now gateway-backup.timer" in installed.notes
    assert "systemctl start gateway-backup" in installed.notes


def test_a_backup_is_restored_each_month(installed: Shell) -> None:
    installed.run(MONTHLY)
    made = {file.name for file in (installed.root / "etc/systemd/system").iterdir()}
    units_of_drill = {"gateway-restore-drill.service", "gateway-restore-drill.timer"}
    assert {name for name in made if "drill" in name} == units_of_drill
    assert "systemctl start gateway-restore-drill" in installed.notes


def test_an_upgrade(installed: Shell, server: Server) -> None:
    built = {
        "scripts/python scripts/venv.py": "note scripts/venv.py",  # tests/scripts runs it
        ".venv/bin/python -m scripts.docs_site.build": "note build",  # tests/site does
    }
    installed.run(UPGRADE, ports(UPGRADE.code, server) | built | {"TAG": "v1.4.0"})
    assert started(installed) == set(units())
    assert "git checkout v1.4.0" in installed.notes


def test_embedded_database_is_backed_up_restored(shell: Shell) -> None:
    shell.run(BACKUP)
    assert shell.run(BACKUP, code=1).count("exists") == 1
    (shell.code / "instance/gateway.db").write_text("lost")
    shell.run(RESTORE)
    assert len(list((shell.code / "instance").glob("lost-*.db"))) == 1
    assert ", 0 rows differ" in shell.run(VERIFY)


def test_missing_records_after_restore_are_noticed(shell: Shell) -> None:
    shell.run(BACKUP, {"2026-11-22": "before"})
    note_heads(shell)
    shell.run("rm instance/gateway.db*; mv /backups/gateway-before.db instance/gateway.db")
    said = shell.run(CUT_OFF, code=1)
    shown = CUT_OFF.code.splitlines()[-1].removeprefix("# ").removesuffix("…")
    assert re.sub(r"\d+", "N", said).startswith(re.sub(r"\d+", "N", shown)), said


def test_the_first_week(installed: Shell, server: Server) -> None:
    serves, facts, heard, restored, fails, agrees = WEEK
    gateway = command_of(installed)
    (installed.code / "network.json").write_text(block_of("docs/network.md", "{\n").code)
    installed.run("gateway db upgrade; gateway network import network.json", before=gateway)
    printed = installed.run(serves, ports(serves.code, server), before=gateway)
    assert printed.count('"err":null') >= 2
    assert "404" in printed
    # The document watches no chain yet, which fails the check.
    printed = installed.run(facts, {"watch --check": "watch --check || [ $? = 1 ]"}, before=gateway)
    assert "set watch_from_block" in printed
    installed.run(heard)
    secrets = installed.root / "etc/gateway/secrets"
    installed.settings |= {
        "DATABASE_URL_FILE": f"{secrets}/database_url",
        "AUDIT_KEY_FILE": f"{secrets}/audit_key",
    }
    note_heads(installed)
    assert "verified" in installed.run(restored, before=gateway)
    installed.run(fails, ports(fails.code, server))
    assert "systemctl restart pgbouncer" in installed.notes
    installed.run(agrees, before=gateway)


@pytest.mark.postgresql
def test_another_machine_takes_over(
    shell: Shell, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stop, promote, lead, look, compare = FAILOVER
    shell.run(stop)
    shell.run(lead)
    shell.run(look, ports(look.code, server))
    note_heads(shell)
    assert "verified" in shell.run(compare)
    with cluster(tmp_path_factory.mktemp("c")) as servers:
        servers.primary.kill()
        host = servers.replica.url.partition("host=")[2].partition("&")[0]
        su = f'su() {{ PGHOST={host} PGUSER=postgres PGDATABASE=postgres sh -c "$3"; }}'
        shell.run(promote, before=f"export PATH={Path(program('psql')).parent}:$PATH\n{su}")
        assert servers.replica.run("SELECT pg_is_in_recovery()") is False
        assert servers.replica.run("SHOW synchronous_standby_names") == ""
