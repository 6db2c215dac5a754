"""What deploy/ names of the gateway exists: settings, commands, ports, secrets. Its parts agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click import Context

from app import create_app
from app.api.operations import OPERATIONS
from app.http.limits import PREFIX
from app.values.codes import Reason
from config import FROM_FILES, Settings, load_settings
from tests.applications import make_settings
from tests.deploy.files import DEPLOY, ROOT, compose, documents, env_file, manifests, pods, units
from tests.pooler.conftest import LIMITS
from tests.site.snippets import block_of, blocks_of

RIGHTS = block_of("docs/limits.md", "ACL SETUSER")
RUN = [RIGHTS]
"""The shipped files have the same."""

OTHERS = {
    "GUNICORN_CMD_ARGS", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER",
    "PYTHONNODEBUGRANGES", "PATH", "NOTIFY_SOCKET",
}  # fmt: skip
"""What gunicorn and Python read, and systemd's own."""
RUNNING = {
    "public": "gateway-1",
    "waiting": "waiting",
    "operators": "operators",
    "watcher": "watcher",
    "sender": "sender",
}
"""What starts the same process: on Kubernetes, and by compose."""


def is_setting(name: str) -> bool:
    if name.startswith("RPC_URL_"):
        return True
    known = {field.name.upper() for field in fields(Settings) if field.metadata}
    return name in known or (name.endswith("_FILE") and name.removesuffix("_FILE").lower() in FROM_FILES)


def own_services() -> dict[str, dict[str, Any]]:
    """The services of compose that run the gateway's image."""
    return {name: one for name, one in compose()["services"].items() if "GATEWAY_IMAGE" in one["image"]}


def environment_of(pod: dict[str, Any]) -> dict[str, str]:
    """What the container of a pod has, with the map of settings."""
    (container,) = pod["containers"]
    (configured,) = (each["data"] for each in manifests() if each["kind"] == "ConfigMap")
    shared = configured if any("configMapRef" in each for each in container.get("envFrom", ())) else {}
    return shared | {each["name"]: each["value"] for each in container.get("env", ())}


def environments() -> Iterator[tuple[str, dict[str, str]]]:
    """The variables that every part of deploy/ sets, by where."""
    for name, service in own_services().items():
        yield f"compose {name}", service["environment"]
    for name, pod in pods().items():
        yield f"kubernetes {name}", environment_of(pod)
    for name, unit in units().items():
        yield (
            f"systemd {name}",
            dict(each.split("=", 1) for line in unit.get("Environment", ()) for each in line.split(" ")),
        )
    for file in sorted((DEPLOY / "systemd/env").glob("*.env")):
        yield f"systemd {file.name}", env_file(file)


def image_variables() -> dict[str, str]:
    """What the image sets for every process."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text()).split("\nFROM ")[-1]
    (line,) = re.findall(r"^ENV (.*)$", text, re.MULTILINE)
    return dict(each.split("=", 1) for each in line.split())


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line, by where."""
    for name, service in own_services().items():
        if "command" in service:
            yield f"compose {name}", service["command"]
    for name, pod in pods().items():
        if "command" in pod["containers"][0]:
            yield f"kubernetes {name}", pod["containers"][0]["command"]
    for name, unit in units().items():
        yield f"systemd {name}", unit["ExecStart"][0].removeprefix("/opt/gateway/.venv/bin/").split()
    (line,) = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    yield "image", json.loads(line)


@pytest.mark.parametrize(("where", "variables"), list(environments()))
def test_every_variable_is_a_setting(where: str, variables: dict[str, str]) -> None:
    assert [name for name in variables if not is_setting(name) and name not in OTHERS] == []
    assert all(isinstance(value, str) for value in variables.values()), "YAML has read a number or a truth"


def test_image_sets_nothing_else() -> None:
    assert [name for name in image_variables() if not is_setting(name) and name not in OTHERS] == []


@pytest.mark.parametrize("name", ["image", *units()])
def test_traceback_is_logged_without_parsing(name: str, tmp_path: Any) -> None:
    """Python parses a line to mark a part of it. In 3.11 that fails where two threads do it at once."""
    variables = image_variables() if name == "image" else dict(environments())[f"systemd {name}"]
    raising = tmp_path / "raising.py"
    raising.write_text("{}['one'] + 1\n")
    own = {key: value for key, value in variables.items() if key.startswith("PYTHON")}
    ended = subprocess.run([sys.executable, raising], env=own, capture_output=True, text=True, check=False)
    assert "\n    {}['one'] + 1\nKeyError" in ended.stderr


@pytest.mark.parametrize(("where", "variables"), list(environments()))
def test_setting_values_are_accepted(
    where: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """With a file behind each name of one, and compose's own variables at their defaults."""
    if "DATABASE_URL_FILE" not in variables:
        monkeypatch.setenv("DATABASE_URL", "postgresql://gateway@/gateway")
    for name, value in variables.items():
        text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)
        if name.endswith("_FILE"):
            text = str(tmp_path / name)
            urls = {"DATABASE": "postgresql://gateway@/gateway", "RATE": "redis://gateway:x@redis:6379/0"}
            (tmp_path / name).write_text(urls.get(name.split("_")[0], "x" * 40))
        monkeypatch.setenv(name, text)
    load_settings()


@pytest.fixture(scope="module")
def line() -> Any:
    """The application's command line."""
    return create_app(make_settings("sqlite:////nowhere/gateway.db")).cli


@pytest.mark.parametrize(("where", "command"), list(commands()))
def test_every_command_exists(where: str, command: list[str], line: Any) -> None:
    if command[0] == "gunicorn":
        assert command == ["gunicorn", "-c", "gunicorn.conf.py", "wsgi:app"]
        return
    assert command[:3] == ["flask", "--app", "wsgi"]
    words = [word for word in command[3:] if not word.startswith("--")]
    here = line
    for word in words:
        here = here.get_command(Context(here), word)
        assert here is not None, word


@pytest.mark.parametrize(("component", "service"), RUNNING.items())
def test_kubernetes_and_compose_start_the_same(component: str, service: str) -> None:
    ours, theirs = environment_of(pods()[component]), compose()["services"][service]["environment"]
    for name in ("DOORS", "DATABASE_POOLER", "TRUSTED_PROXIES", "HEALTH_PORT", "METRICS_PORT"):
        if name in theirs:
            assert ours[name] == theirs[name], name
    command = pods()[component]["containers"][0].get("command")
    assert command == compose()["services"][service].get("command")


def test_systemd_starts_the_same_interfaces() -> None:
    interfaces = {file.stem: env_file(file).get("DOORS") for file in (DEPLOY / "systemd/env").glob("*.env")}
    services = compose()["services"]
    assert interfaces["public-1"] == interfaces["public-2"] == services["gateway-1"]["environment"]["DOORS"]
    for name in ("waiting", "operators"):
        assert interfaces[name] == services[name]["environment"]["DOORS"]


def test_public_processes_lack_the_console() -> None:
    public = {"public", "waiting", "gateway-1", "gateway-2", "public-1", "public-2"}
    for where, variables in environments():
        name = where.split()[1].removesuffix(".env")
        if name in public:
            assert not {"admin", "ingest"} & set(variables["DOORS"].split(",")), where
            assert "SECRET_KEY_FILE" not in variables, where


def test_image_build_receives_commit() -> None:
    """The argument of the build is the setting that /version shows, and compose passes it on."""
    text = (DEPLOY / "Dockerfile").read_text()
    assert "\nARG BUILD_COMMIT=\n" in text.split("\nFROM ")[-1]
    assert image_variables()["BUILD_COMMIT"] == "${BUILD_COMMIT}"
    for name, service in own_services().items():
        assert service["build"]["args"]["BUILD_COMMIT"] == "${BUILD_COMMIT:-}", name
    assert "--build-arg BUILD_COMMIT=$(git rev-parse HEAD)" in (ROOT / "docs/operations.md").read_text()


@pytest.mark.parametrize("authority", ["", "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----"])
def test_image_build_trusts_a_given_authority(tmp_path: Path, authority: str) -> None:
    """Before anything is installed; the finished image does not."""
    build, final = (DEPLOY / "Dockerfile").read_text().split("\nFROM ")[1:]
    assert "AUTHORITY" not in final
    found = re.search(r"^ARG AUTHORITY=\nRUN (.*?[^\\])$", build, re.MULTILINE | re.DOTALL)
    assert found
    assert found.start() < build.index("RUN python3 scripts/venv.py")
    command = found[1].replace("/usr/local/share/ca-certificates", str(tmp_path))
    update = tmp_path / "bin/update-ca-certificates"
    update.parent.mkdir()
    update.write_text(f"#!/bin/sh\ntouch {tmp_path}/updated\n")
    update.chmod(0o755)
    environment = {"AUTHORITY": authority, "PATH": f"{update.parent}:{os.defpath}"}
    subprocess.run(["sh", "-ec", command], env=environment, check=True)
    assert (tmp_path / "updated").exists() is bool(authority)
    if authority:
        assert (tmp_path / "authority.crt").read_text() == f"{authority}\n"
    for name, service in own_services().items():
        assert service["build"]["args"]["AUTHORITY"] == "${AUTHORITY:-}", name


def test_programs_read_the_logs() -> None:
    for where, variables in environments():
        settings = env_file(DEPLOY / "systemd/env/gateway.env") if where.startswith("systemd") else variables
        assert settings["LOG_FORMAT"] == "json", where


def test_ports_agree() -> None:
    services = compose()["services"]
    port = image_variables()["PORT"]
    # Requested from other containers: behind TRUSTED_PROXIES metrics are served on HOST, as health always is.
    assert image_variables()["HOST"] == "0.0.0.0"
    assert all(
        settings.get("TRUSTED_PROXIES") == "1"
        for where, settings in environments()
        if "METRICS_PORT" in settings and not where.startswith("systemd")
    )
    assert f"EXPOSE {port}\n" in (DEPLOY / "Dockerfile").read_text()
    for address in re.findall(
        r"server ([\w.-]+):(\d+)", (DEPLOY / "compose/nginx-upstreams.conf").read_text()
    ):
        assert address[0] in services and address[1] == port
    for entry in documents(DEPLOY / "compose/prometheus-targets.yml")[0]:
        for target in entry["targets"]:
            name, _, scraped = target.partition(":")
            assert services[name]["environment"]["METRICS_PORT"] == scraped
    for name in ("public", "waiting", "operators"):
        settings = environment_of(pods()[name])
        (container,) = pods()[name]["containers"]
        ports = {each["name"]: str(each["containerPort"]) for each in container["ports"]}
        assert ports == {"http": port, "health": settings["HEALTH_PORT"], "metrics": settings["METRICS_PORT"]}
        assert all(
            container[f"{kind}Probe"]["httpGet"]["port"] == "health"
            for kind in ("startup", "liveness", "readiness")
        )


def test_ports_agree_across_all_files() -> None:
    """Of the units, nginx and Prometheus."""
    files = [env_file(file) for file in sorted((DEPLOY / "systemd/env").glob("*.env"))]
    serving = [file for file in files if "PORT" in file]
    upstreams = (DEPLOY / "nginx/gateway-place/upstreams.conf").read_text()
    assert {file["PORT"] for file in serving} == set(re.findall(r"127\.0\.0\.1:(\d+)", upstreams))
    targets = documents(DEPLOY / "prometheus/targets/gateway.yml")[0]
    scraped = {target.split(":")[1] for entry in targets for target in entry["targets"]}
    assert {file["METRICS_PORT"] for file in serving} == scraped
    all_ports = [file[name] for file in serving for name in ("PORT", "HEALTH_PORT", "METRICS_PORT")]
    assert len(set(all_ports)) == len(all_ports)


def test_every_named_secret_is_provided() -> None:
    whole = compose()
    for name, service in whole["services"].items():
        given = {each if isinstance(each, str) else each["source"] for each in service.get("secrets", ())}
        assert given <= whole["secrets"].keys()
        for value in service.get("environment", {}).values():
            if value.startswith("/run/secrets/"):
                assert value.removeprefix("/run/secrets/") in given, (name, value)
    for name, pod in pods().items():
        (secrets,) = (each["secret"] for each in pod["volumes"] if each["name"] == "secrets")
        given = {each["path"] for each in secrets["items"]}
        for value in environment_of(pod).values():
            if value.startswith("/run/secrets/gateway/"):
                assert value.removeprefix("/run/secrets/gateway/") in given, (name, value)
    for name, unit in units().items():
        given = {each.split(":")[0] for each in unit["LoadCredential"]}
        named = re.findall(r"%d/(\w+)", " ".join(unit["Environment"]))
        assert set(named) == given, name


def test_script_makes_every_secret_of_compose() -> None:
    script = (DEPLOY / "compose/make-secrets").read_text()
    for name, secret in compose()["secrets"].items():
        assert secret["file"] == f"compose/secrets/{name}"
        assert re.search(rf"\b{name}\b", script), name


def test_processes_are_contained() -> None:
    """Alike in every place: no root, nothing to write, no more rights than at the start."""
    for name, service in compose()["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"], name
    for name, pod in pods().items():
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] and pod["automountServiceAccountToken"] is False, name
        assert container["securityContext"] == CONTAINED, name
    assert "\nUSER 10001:10001\n" in (DEPLOY / "Dockerfile").read_text()
    assert {pod["securityContext"]["runAsUser"] for pod in pods().values()} == {10001}


CONTAINED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
SAME = re.compile(r"\n# Below, alike.*?\n(.*?)\n\n?(?:\[Install\]|\Z)", re.DOTALL)


def test_all_units_are_contained_alike() -> None:
    parts = {}
    for file in (DEPLOY / "systemd").glob("*.service"):
        (found,) = SAME.findall(file.read_text() + "\n\n")
        lines = found.strip().splitlines()
        parts[file.name] = [
            line for line in lines if not re.match(r"LoadCredential=|Environment=\w+_FILE=", line)
        ]
    assert len({tuple(lines) for lines in parts.values()}) == 1
    assert "ProtectSystem=strict" in parts["gateway@.service"]


def test_stop_timeout_exceeds_graceful_timeout() -> None:
    graceful = int(re.findall(r"^graceful_timeout = (\d+)", (ROOT / "gunicorn.conf.py").read_text(), re.M)[0])
    for service in own_services().values():
        assert int(service.get("stop_grace_period", "99s").rstrip("s")) > graceful
    for pod in pods().values():
        assert pod["terminationGracePeriodSeconds"] > graceful + 5  # and preStop
    assert int(units()["gateway@.service"]["TimeoutStopSec"][0]) > graceful


def test_server_has_room_beside_the_pooler() -> None:
    shipped = (DEPLOY / "pgbouncer/pgbouncer.ini").read_text()
    server = re.findall(r"^max_connections = (\d+)", (DEPLOY / "postgres/gateway.conf").read_text(), re.M)
    (size,) = re.findall(r"^default_pool_size = (\d+)", shipped, re.M)
    assert int(server[0]) > int(size) * 2


def test_role_has_the_limits_of_the_tests() -> None:
    roles = (DEPLOY / "postgres/roles.sql").read_text()
    assert dict(re.findall(r"^ALTER ROLE gateway SET (\w+) = '?(\w+)'?;$", roles, re.M)) == LIMITS


def test_redis_allows_only_counting() -> None:
    """A right that is missing is not noticed: each process would count for itself."""
    (rule,) = re.findall(r"^user gateway (.*)$", (DEPLOY / "redis/users.acl.example").read_text(), re.M)
    rights = rule.removeprefix("on >CHANGE_ME ")
    assert rights.split()[0] == f"~{PREFIX}*"
    assert RIGHTS.code == f"ACL SETUSER gateway on >PASSWORD {rights}"


def test_serving_processes_are_always_restarted() -> None:
    """However it ended, and however often: only what runs once stays down."""
    compose_down = [name for name, each in compose()["services"].items() if each["restart"] == "no"]
    kubernetes_down = [name for name, pod in pods().items() if pod.get("restartPolicy") == "Never"]
    assert (compose_down, kubernetes_down) == (["migrate", "tools"], ["migrate"])
    files = [*(DEPLOY / "systemd").glob("*.service"), DEPLOY / "systemd/restart.conf"]
    serving = {file.name: file.read_text() for file in files if file.name != "gateway-migrate.service"}
    assert len(serving) == 4
    for name, text in serving.items():
        assert "\nRestart=always\n" in text and "\nStartLimitIntervalSec=0\n" in text, name


def test_nginx_reasons_belong_to_gateway() -> None:
    text = (DEPLOY / "nginx/gateway/refusals.conf").read_text()
    (reasons,) = re.findall(r"map \$status \$gateway_reason \{(.*?)\}", text, re.DOTALL)
    given = {line.split()[1].rstrip(";") for line in reasons.strip().splitlines()}
    assert given <= {reason.value for reason in Reason}
    assert len(given) == 6


def test_nginx_closes_gateway_connections_first() -> None:
    """The side that closes first must not be the gateway, or a request in flight is lost."""
    (keepalive,) = re.findall(r"^keepalive = (\d+)$", (ROOT / "gunicorn.conf.py").read_text(), re.M)
    for file in (DEPLOY / "nginx/gateway-place/upstreams.conf", DEPLOY / "compose/nginx-upstreams.conf"):
        times = [int(found) for found in re.findall(r"keepalive_timeout (\d+)s", file.read_text())]
        assert len(times) == 3 and max(times) < int(keepalive)


READS_BY_POST = {"estimateAmtByPost", "getTransferStatus", "getTransferStatuses"}


def test_rule_has_every_writing_operation() -> None:
    (rule,) = re.findall(
        r'location ~ "(.*)" \{\n        proxy_pass \$gateway_writes;',
        (DEPLOY / "nginx/gateway.conf").read_text(),
    )
    for each in OPERATIONS:
        if each.group in ("sandbox", "grpcweb", "health", "release"):  # its stories are of no region
            continue
        writes = each.method != "GET" and each.name not in READS_BY_POST
        for path in each.paths:
            found = bool(re.search(rule, f"/v2{path}"))
            assert found == writes or each.name == "listWebhooks", path
    calls = re.findall(r"^ +rpc (\w+)", (ROOT / "proto/gateway.proto").read_text(), re.M)
    assert "WithdrawLiquidity" in calls
    assert [name for name in calls if re.search(rule, f"/sgn.gateway.v1.Web/{name}")] == ["WithdrawLiquidity"]


def test_guide_needs_ten_commands() -> None:
    """From a fresh machine to a network and an operator."""
    blocks = blocks_of("docs/operations.md", "sh")
    first = next(number for number, block in enumerate(blocks) if "git clone URL" in block.code)
    last = next(number for number, block in enumerate(blocks) if "gateway operators create" in block.code)
    lines = "".join(f"{block.code}\n" for block in blocks[first : last + 1]).splitlines()
    commands = [part for line in lines for part in line.split("#")[0].split("&&") if part.strip()]
    assert len(commands) <= 10, commands
