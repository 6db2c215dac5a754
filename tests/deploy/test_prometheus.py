"""Prometheus of Debian as shipped: it scrapes, its alerts fire, the dashboard queries what is there."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copytree
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, start_http_server

from app.monitoring.metrics import Exposition
from tests.applications import OpenApp
from tests.deploy.files import DEPLOY, ROOT, documents, free_port
from tests.metrics.exposed import exposition, labels_of
from tests.programs import program

FOLDER = DEPLOY / "prometheus"
WORDS = re.compile(r"\b(gateway_\w+)")
LABELS = re.compile(
    r"(?:by|without|on|ignoring) \(([^)]*)\)|(\w+) ?(?:=~|!~|!=|=)\"|label_values\(\w+, (\w+)\)"
)
HISTOGRAM = re.compile("_(bucket|sum|count)$")
OF_THE_SCRAPE = ("instance", "job", "process", "le", "alertname", "alertstate")
"""Labels that Prometheus, its targets, its alerts and histograms add."""


OF_MACHINES = {
    "DiskAlmostFull", "ArchiveFailing", "BackupOld", "CertificateEnds", "PoolerClientsWait",
    "MachineNotWatched", "ProcessNotRunning", "PublicAddressSilent", "RestoreDrillOld",
    "NoLeader", "NoStandby", "NodeMissing", "EtcdMissing",
}  # fmt: skip
"""Alerts on what the exporters of Debian and Patroni report."""


def dashboard() -> dict[str, Any]:
    whole = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
    assert isinstance(whole, dict)
    return whole


def queries() -> list[tuple[str, str]]:
    """Every query of the dashboard, by the title of its panel, as Grafana would send it."""
    found = [
        (panel["title"], one["expr"]) for panel in dashboard()["panels"] for one in panel.get("targets", ())
    ]
    whole = dashboard()
    found += [("annotation", one["expr"]) for one in whole["annotations"]["list"]]
    return [
        (title, expr.replace("$__rate_interval", "1m").replace("$process", ".*")) for title, expr in found
    ]


def alerts() -> list[dict[str, Any]]:
    (whole,) = documents(FOLDER / "alerts.yml")
    return [rule for group in whole["groups"] for rule in group["rules"]]


def all_queries() -> list[tuple[str, str]]:
    """Those of the dashboard, its variables and the alerts."""
    listed = dashboard()["templating"]["list"]
    variables = [(one["name"], one["query"]["query"]) for one in listed if one["type"] == "query"]
    return [*queries(), *((alert["alert"], alert["expr"]) for alert in alerts()), *variables]


@pytest.fixture
def exposed(open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Exposition]:
    """What the gateway exposes, with a sample of every metric."""
    (tmp_path / "counted").mkdir()
    with exposition(open_app, tmp_path / "counted", monkeypatch) as found:
        yield found


@pytest.mark.one_database
def test_every_metric_is_documented_and_shown(exposed: Exposition) -> None:
    """In docs/metrics.md with its labels, and on the dashboard, which with the alerts queries no other."""
    labels = labels_of(exposed.text())
    rows = re.findall(
        r"^\| `(gateway_\w+)(?:\{([^}]*)\})?` ", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE
    )
    assert {name: {*written.split(",")} - {""} for name, written in rows} == labels
    exporters = re.compile(r"\b(node|patroni|pg|pgbouncer|probe)_\w+")
    assert {alert["alert"] for alert in alerts() if exporters.search(alert["expr"])} == OF_MACHINES
    for where, query in all_queries():
        if where in OF_MACHINES:
            continue
        named = {HISTOGRAM.sub("", name) for name in WORDS.findall(re.sub(r'"[^"]*"', '""', query))}
        assert named <= labels.keys(), where
        found = [label.strip() for groups in LABELS.findall(query) for label in ",".join(groups).split(",")]
        known = {label for name in named for label in labels[name]} | {*OF_THE_SCRAPE, ""}
        assert set(found) <= known, where
    shown = {HISTOGRAM.sub("", name) for _, query in queries() for name in WORDS.findall(query)}
    assert labels.keys() - shown == set(), "not on deploy/grafana/dashboard.json"


@pytest.mark.system
def test_promtool_accepts_configuration_and_rules() -> None:
    done = subprocess.run(
        [program("promtool", "prometheus"), "check", "config", "prometheus.yml"],
        cwd=FOLDER, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"{len(alerts())} rules found" in done.stdout


@pytest.mark.system
def test_amtool_accepts_receivers() -> None:
    amtool, file = program("amtool", "prometheus-alertmanager"), str(FOLDER / "alertmanager.yml")
    done = subprocess.run([amtool, "check-config", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for severity in {alert["labels"]["severity"] for alert in alerts()}:
        command = [amtool, "config", "routes", "test", f"--config.file={file}", f"severity={severity}"]
        routed = subprocess.run(command, capture_output=True, text=True, check=True)
        assert routed.stdout.strip() == severity


def test_alertmanager_inhibits_by_known_alerts() -> None:
    (whole,) = documents(FOLDER / "alertmanager.yml")
    named = set(re.findall('alertname="(\\w+)"', json.dumps(whole["inhibit_rules"]).replace("\\", "")))
    assert len(named) == 2 * len(whole["inhibit_rules"])
    assert named <= {alert["alert"] for alert in alerts()}


@pytest.mark.slow
@pytest.mark.system
def test_each_alert_fires_and_stays_silent() -> None:
    files = sorted(FOLDER.glob("alerts*_test.yml"))
    cases: dict[str, list[bool]] = {}
    for test in (test for file in files for whole in documents(file) for test in whole["tests"]):
        for case in test["alert_rule_test"]:
            cases.setdefault(case["alertname"], []).append(bool(case["exp_alerts"]))
    assert {name: sorted(fires) for name, fires in cases.items()} == {
        alert["alert"]: [False, True] for alert in alerts()
    }
    done = subprocess.run(
        [program("promtool", "prometheus"), "test", "rules", *map(str, files)],
        cwd=FOLDER, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_instructions() -> None:
    """Its address leads to a section that names its severity, its meaning, and what to do."""
    page = (ROOT / "docs/alerts.md").read_text()
    sections = re.findall(
        r"^((?:<a id=[^\n]+\n)?)### ([^\n]+)\n(.*?)(?=^(?:<a id=[^\n]+\n)?##|\Z)", page, re.M | re.S
    )
    shown = []
    for anchors, heading, text in sections:
        names = heading.split(", ")
        shown += names
        anchored = re.findall(r'<a id="(\w+)"></a>', anchors)
        assert anchored == ([name.lower() for name in names] if len(names) > 1 else []), heading
        meaning, *todo = text.strip().split("\n\n")
        assert todo, f"{heading} does not say what to do"
        severities = {alert["labels"]["severity"] for alert in alerts() if alert["alert"] in names}
        assert set(re.findall(r"\*(page|ticket|heartbeat)\*: ", meaning)) == severities, heading
    assert sorted(shown) == sorted(alert["alert"] for alert in alerts())
    for alert in alerts():
        assert (alert["labels"]["severity"] == "heartbeat") == (alert["alert"] == "DeadMansSwitch")
        address = alert["annotations"]["runbook_url"]
        assert address == f"https://gateway.example.org/docs/alerts/#{alert['alert'].lower()}"


def get(base: str, path: str, **query: str) -> Any:
    answer = httpx.get(f"{base}/api/v1/{path}", params=query, timeout=10).json()
    assert answer["status"] == "success", answer
    return answer["data"]


@contextmanager
def scraping(folder: Path, target: int) -> Iterator[str]:
    """The address of a Prometheus with the shipped configuration that has scraped one target twice."""
    copytree(FOLDER, folder / "etc")
    config = folder / "etc/prometheus.yml"
    config.write_text(
        config.read_text().replace("interval: 15s", "interval: 1s").replace("timeout: 5s", "timeout: 1s")
    )
    targets = [{"targets": [f"127.0.0.1:{target}"], "labels": {"process": "public"}}]
    (folder / "etc/targets/gateway.yml").write_text(json.dumps(targets))
    (folder / "etc/alertmanagers.yml").write_text("[]")
    base, command = f"127.0.0.1:{free_port()}", [program("prometheus"), f"--config.file={config}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={base}"]
    base = f"http://{base}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            with suppress(httpx.TransportError, IndexError, json.JSONDecodeError):
                if len(get(base, "query", query="gateway_ready[1m]")["result"][0]["values"]) > 1:
                    break
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield base
    finally:
        process.terminate()
        process.wait(timeout=20)
    assert "err=" not in (folder / "log").read_text()


@pytest.mark.system
@pytest.mark.one_database
def test_shipped_prometheus_scrapes_a_gateway(exposed: Exposition, tmp_path: Path) -> None:
    """Each query of the dashboard is valid, and finds something where every metric is there."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(exposed)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    with scraping(tmp_path / "prometheus", server.server_port) as base:
        (target,) = get(base, "targets")["activeTargets"]
        labels = target["labels"]
        assert (target["health"], labels["process"], labels["job"]) == ("up", "public", "gateway")
        wanted = {
            f"{name}_bucket" if re.fullmatch("gateway_(request|evidence)_seconds", name) else name
            for name in labels_of(exposed.text())
        }
        assert wanted <= set(get(base, "label/__name__/values"))
        rules = [rule for group in get(base, "rules")["groups"] for rule in group["rules"]]
        assert {rule["name"] for rule in rules} == {alert["alert"] for alert in alerts()}
        assert all(rule["health"] in ("ok", "unknown") for rule in rules)
        found = {title: bool(get(base, "query", query=query)["result"]) for title, query in queries()}
        assert {title for title, some in found.items() if not some} <= {"annotation", "5xx"}
    server.shutdown()
    thread.join()
