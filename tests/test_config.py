"""Settings: the environment's names, what is refused, and with what words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from sqlalchemy.pool import QueuePool

from app import create_app
from app.db.database import READ_CONNECTIONS, Database
from app.http.application import part_of
from app.http.limits import limits_of
from config import ALL_DOORS, FROM_FILES, GONE, ConfigError, Settings, load_settings, shown_url
from tests.applications import make_settings
from tests.remedies import says_what_to_do


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*(each.name.upper() for each in fields(Settings)), *GONE):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


def test_the_defaults_need_nothing_set() -> None:
    settings = load_settings()
    assert settings.database_url.startswith("sqlite:////")
    assert settings.database_url.endswith("/instance/gateway.db")
    assert settings.doors == ALL_DOORS
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert (settings.trusted_proxies, settings.rate_limit, settings.compat_clients) == (0, "", True)
    assert (settings.config_max_age_seconds, settings.max_reorg_blocks) == (1, 1000)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("DATABASE_URL", "postgresql://user@host/name", "postgresql+psycopg://user@host/name"),
        ("DATABASE_URL", "postgres://user:p%40ss@host/name", "postgresql+psycopg://user:p%40ss@host/name"),
        ("DOORS", "api, grpcweb,", ("api", "grpcweb")),
        ("DOORS", "wait", ("wait",)),
        ("FEED_MAX_AGE_SECONDS", "", ()),
        ("FEED_MAX_AGE_SECONDS", "600", ((0, 600),)),
        ("FEED_MAX_AGE_SECONDS", " 600, 1:120,137:0 ,", ((0, 600), (1, 120), (137, 0))),
        ("FEED_STALE", "fail", "fail"),
        ("WAIT_LIMIT", "", None),
        ("WAIT_LIMIT", "7", 7),
        ("INGEST_TOKENS", "one,two", ("one", "two")),
        ("LOG_LEVEL", "debug", "DEBUG"),
        ("COMPAT_CLIENTS", "0", False),
        ("TRUSTED_PROXIES", "2", 2),
        ("TWO_PERSONS", "chains, operators,", ("chains", "operators")),
        ("TWO_PERSONS", "", ()),
        ("WEB_CONCURRENCY", "3", 3),
        ("WEB_CONCURRENCY", "", None),
        ("PORT", "", 8000),
        ("PUBLIC_ORIGIN", "https://Console.example.org:443/", "https://console.example.org"),
        ("PUBLIC_ORIGIN", "http://localhost:8000", "http://localhost:8000"),
        ("PUBLIC_URL", "https://gateway.example.org/", "https://gateway.example.org"),
        ("PUBLIC_URL", "http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("PUBLIC_URL", "https://example.org/bridge/", "https://example.org/bridge"),
        ("SCRIPT_NAME", "/bridge/", "/bridge"),
        ("SCRIPT_NAME", "/a/.b-1_~", "/a/.b-1_~"),
        ("SCRIPT_NAME", "/", ""),
        ("SUPPORT_URL", "https://example.org/help?from=page", "https://example.org/help?from=page"),
        ("SUPPORT_URL", "mailto:help@example.org", "mailto:help@example.org"),
        ("REFUND_URL", "https://a.example/r?id={transfer_id}", "https://a.example/r?id={transfer_id}"),
    ],
)
def test_a_value_is_read(monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: object) -> None:
    monkeypatch.setenv(name, text)
    assert getattr(load_settings(), name.lower()) == value


@pytest.mark.parametrize(
    "text",
    [
        "20/second", "100/minute;1000/hour", " 1 per 2 DAYS , 3/month|4/years", "0/second", "5/0minutes",
        "1/ minute", "5/fortnight", "/minute", "5 minute", "-1/minute", "1.5/minute", "5/minute;",
        ";5/minute", "5/minute\nx", "²/day", "5/minutess", "5/minute 6/hour",
    ],
)  # fmt: skip
def test_limit_is_accepted_where_counters_read_it(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("RATE_LIMIT", text)
    assert _takes(load_settings, ConfigError) == _takes(lambda: limits_of(text), ValueError)


def _takes(read: Callable[[], object], refusal: type[BaseException]) -> bool:
    try:
        read()
    except refusal:
        return False
    return True


def test_removed_settings_are_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in GONE:
        monkeypatch.setenv(name, "1")
    assert [load_settings(), load_settings()] == [Settings(), Settings()]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert all(f"{name} ({what_holds})" in record.message for name, what_holds in GONE.items())
    assert "\n" not in record.message


def test_empty_removed_setting_is_not_set(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WEB_THREADS", "")
    load_settings()
    assert not caplog.records


def test_metrics_are_where_callers_do_not_come() -> None:
    assert Settings(host="0.0.0.0").metrics_host == "127.0.0.1"
    assert Settings(host="0.0.0.0", trusted_proxies=1).metrics_host == "0.0.0.0"


def test_wait_limit_is_lower_next_to_other_doors() -> None:
    assert Settings(doors=("wait",)).most_waiting == 5_000
    assert Settings(doors=("api", "wait")).most_waiting == 200
    assert Settings(doors=("api", "wait"), wait_limit=7).most_waiting == 7


def test_waiting_is_served_here_or_behind_proxy() -> None:
    assert not Settings().waiting_served
    assert Settings(doors=("api", "wait")).waiting_served
    assert Settings(doors=("api",), trusted_proxies=1).waiting_served


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DATABASE_URL", "rubbish"),
        ("DATABASE_URL", "mysql://host/name"),
        ("DATABASE_URL", "postgresql+asyncpg://host/name"),
        ("DATABASE_URL", "sqlite://"),
        ("DATABASE_URL", "sqlite:///:memory:"),
        ("DATABASE_URL", "sqlite:///file:x?mode=memory&uri=true"),
        ("DATABASE_POOLER", "1"),  # on SQLite
        ("AUDIT_ANCHORS", "heads"),
        ("WEBHOOK_ALLOW_NETWORKS", "10.0.0.1/8"),
        ("BUILD_COMMIT", "main"),
        ("LOG_FORMAT", "text"),
        ("ACCESS_LOG", "some"),
        ("METRICS_PORT", "-1"),
        ("HEALTH_PORT", "x"),
        ("SANDBOX_CONTROLS", "perhaps"),
        ("RATE_LIMIT_STORAGE_URL", "http://cache"),
        ("RPC_URL_ETHEREUM", "ftp://node"),
        ("RPC_URL_FILE", "/run/secrets/node"),
        ("DATABASE_REPLICA_URL", "postgresql://host/name"),
        ("DOORS", "api,cellar"),
        ("DOORS", ","),
        *(
            ("FEED_MAX_AGE_SECONDS", text)
            for text in ("soon", "-1", "1:", ":60", "0:60", "1:2:3", "1,2", "²")
        ),
        ("FEED_MAX_AGE_SECONDS", "1:60,1:90"),
        ("FEED_MAX_AGE_SECONDS", "2592001"),
        ("FEED_STALE", "perhaps"),
        ("WAIT_LIMIT", "0"),
        ("PORT", "65536"),
        ("PORT", "http"),
        ("TRUSTED_PROXIES", "-1"),
        ("CONFIG_MAX_AGE_SECONDS", "soon"),
        ("MAX_REORG_BLOCKS", "0"),
        ("COMPAT_CLIENTS", "perhaps"),
        ("LOG_LEVEL", "loud"),
        ("WEB_CONCURRENCY", "0"),
        ("RATE_LIMIT", "often"),
        ("RATE_LIMIT", " "),
        ("RATE_LIMIT", "5/minute;"),
        ("AUDIT_KEY", "k" * 31),
        ("TWO_PERSONS", "chains,fees"),
        ("PUBLIC_ORIGIN", "console.example.org"),
        ("PUBLIC_ORIGIN", "http://console.example.org"),
        ("PUBLIC_ORIGIN", "https://192.0.2.1"),
        ("PUBLIC_ORIGIN", "https://console.example.org/admin"),
        ("PUBLIC_ORIGIN", "https://console.example.org:port"),
        ("PUBLIC_URL", "http://gateway.example.org"),
        ("PUBLIC_URL", "https://gateway.example.org/?path"),
        ("PUBLIC_URL", "https://gateway.example.org/#path"),
        ("SCRIPT_NAME", "bridge"),
        ("SCRIPT_NAME", "//bridge"),
        ("SCRIPT_NAME", "/bridge//b"),
        ("SCRIPT_NAME", "/bridge/../b"),
        ("SCRIPT_NAME", "/."),
        ("SCRIPT_NAME", "/a b"),
        ("SCRIPT_NAME", "/%62ridge"),
        ("PUBLIC_URL", "gateway.example.org"),
        ("SUPPORT_URL", "javascript:alert(1)"),
        ("SUPPORT_URL", "mailto:nobody"),
        ("SUPPORT_URL", "https://user:word@example.org/"),
        ("SUPPORT_URL", 'https://example.org/">'),
        ("REFUND_URL", "https://example.org/{id}"),
        ("REFUND_URL", "mailto:help@example.org"),
    ],
)
def test_bad_setting_error_names_it_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError) as ended:
        load_settings()
    said = str(ended.value)
    assert said.startswith(f"{name}: ")
    assert says_what_to_do(said)


def test_refused_value_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "http")
    with pytest.raises(ConfigError, match=r"^PORT: .*65535 \(now 'http'\)$"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DATABASE_URL", "postgresql://gateway@host:hidden-word/name"),
        ("DATABASE_URL", "hidden-word"),
        ("DATABASE_REPLICA_URL", "mysql://host/x?user=u&password=hidden-word"),
        ("RATE_LIMIT_STORAGE_URL", "tiers://u:hidden-word@host"),
        ("RATE_LIMIT_STORAGE_URL", "redis://u:hidden-word/1@host:port"),
        ("RATE_LIMIT_STORAGE_URL", "hidden-word"),
        ("SECRET_KEY", "hidden-word"),
        ("AUDIT_KEY", "hidden-word"),
        ("SUPPORT_URL", "https://user:hidden-word@example.org/"),
        ("INGEST_TOKENS", "hidden-word"),
    ],
)
def test_a_refused_secret_is_not_repeated(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv("HOST", "0.0.0.0")
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError) as ended:
        load_settings()
    assert str(ended.value).startswith(f"{name}: ")
    assert "hidden" not in str(ended.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "gateway.internal"])
@pytest.mark.parametrize(("name", "least"), [("SECRET_KEY", 32), ("INGEST_TOKENS", 16)])
def test_weak_secret_is_refused_on_network(
    monkeypatch: pytest.MonkeyPatch, host: str, name: str, least: int
) -> None:
    monkeypatch.setenv("HOST", host)
    monkeypatch.setenv(name, "k" * (least - 1))
    with pytest.raises(ConfigError, match=rf"^{name}: .*at least {least} characters, generate one with"):
        load_settings()
    monkeypatch.setenv(name, "k" * least)
    load_settings()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
@pytest.mark.parametrize("name", ["SECRET_KEY", "INGEST_TOKENS"])
def test_weak_secret_warns_on_loopback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, host: str, name: str
) -> None:
    monkeypatch.setenv("HOST", host)
    monkeypatch.setenv(name, "hidden-word")
    load_settings()
    assert f"{name}: " in caplog.text
    assert "hidden" not in caplog.text


@pytest.mark.parametrize("name", FROM_FILES)
def test_a_secret_can_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    texts = {"database_url": "sqlite:///x.db", "rate_limit_storage_url": "memory://"}
    text = texts.get(name, "postgresql+psycopg://u@host/x" if name.endswith("url") else "k" * 40)
    if name == "database_replica_url":
        monkeypatch.setenv("DATABASE_URL", "postgresql://u@host/y")
    file = tmp_path / "secret"
    file.write_text(text + "\n")
    monkeypatch.setenv(f"{name.upper()}_FILE", str(file))
    assert getattr(load_settings(), name) in (text, (text,))
    monkeypatch.setenv(name.upper(), text)
    with pytest.raises(ConfigError, match=f"^{name.upper()}: .*set only one of them"):
        load_settings()


def test_unreadable_secret_file_error_names_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "missing"))
    with pytest.raises(
        ConfigError,
        match=r"^SECRET_KEY_FILE: .*missing cannot be read: No such file .*: let this user read it",
    ):
        load_settings()
    (tmp_path / "missing").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"^SECRET_KEY_FILE: .*is not a text file: write the value"):
        load_settings()


@pytest.mark.parametrize("name", FROM_FILES)
@pytest.mark.parametrize("text", ["", "\n", " \n", "\ufeff"])
def test_an_empty_secret_file_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, text: str
) -> None:
    """A secret that was not mounted gave the default, or a traceback, instead of a word."""
    file = tmp_path / "secret"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv(f"{name.upper()}_FILE", str(file))
    with pytest.raises(ConfigError, match=f"^{name.upper()}_FILE: .*secret is empty: "):
        load_settings()


def test_node_urls_are_found_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text("https://node.example/secret\n")
    monkeypatch.setenv("RPC_URL_ONE", "http://10.0.0.1:8545")
    monkeypatch.setenv("RPC_URL_TWO_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("RPC_URL_EMPTY", "")
    monkeypatch.setenv("RPC_URL_lower", "http://10.0.0.2")
    monkeypatch.setenv("RPC_URLS", '{"RPC_URL_THREE": "http://10.0.0.3"}')
    settings = load_settings()
    assert settings.rpc_urls == {
        "RPC_URL_ONE": "http://10.0.0.1:8545",
        "RPC_URL_TWO": "https://node.example/secret",
    }
    assert "10.0.0.1" not in repr(settings) and "secret/" not in repr(settings)
    assert hash(settings) == hash(load_settings())


@pytest.mark.parametrize(
    "url", ["wss://node.example/s3cret", "node.example/s3cret", "http:///s3cret", "s3cret"]
)
def test_refused_node_url_is_not_repeated(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("RPC_URL_ONE", url)
    with pytest.raises(
        ConfigError,
        match=r"^RPC_URL_ONE: must be the http or https URL of a node, such as https://node.example.org/key$",
    ):
        load_settings()


def test_a_printed_database_url_holds_no_password() -> None:
    for url in (
        "postgresql+psycopg://gateway:hidden@host/name",
        "postgresql+psycopg://host/name?user=gateway&password=hidden",
        "postgresql+psycopg://host/name?sslpassword=hidden&passfile=/hidden",
    ):
        assert "hidden" not in shown_url(url)
        assert "host/name" in shown_url(url)


def test_pooler_setting_requires_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_POOLER", "1")
    with pytest.raises(ConfigError, match="DATABASE_POOLER: needs a postgresql: DATABASE_URL"):
        load_settings()
    monkeypatch.setenv("DATABASE_URL", "postgresql://pooler/name")
    assert load_settings().database_pooler
    monkeypatch.setenv("DATABASE_URL", "postgresql://pooler/name?options=-c%20jit%3Doff")
    with pytest.raises(ConfigError, match="DATABASE_URL has options"):
        load_settings()


def test_replica_setting_requires_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_REPLICA_URL", "postgresql://replica/name")
    monkeypatch.setenv("DATABASE_URL", "postgresql://primary/name")
    assert load_settings().database_replica_url == "postgresql+psycopg://replica/name"
    monkeypatch.setenv("DATABASE_REPLICA_URL", "sqlite:///copy.db")
    with pytest.raises(ConfigError, match="only PostgreSQL has replicas"):
        load_settings()


def test_read_connections_are_as_documented(tmp_path: Path) -> None:
    app = create_app(make_settings(f"sqlite:///{tmp_path / 'gateway.db'}"))
    with app.app_context():
        pool = part_of(app, Database).reads.pool
    assert isinstance(pool, QueuePool)
    assert pool.size() == READ_CONNECTIONS
