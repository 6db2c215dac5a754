"""Settings: the environment's names, what is refused, and with what words."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.pool import QueuePool

from app import create_app
from app.runtime.gateway import current_gateway
from config import ALL_DOORS, ConfigError, Settings, load_settings
from tests.applications import make_settings


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_defaults_need_nothing_set() -> None:
    settings = load_settings()
    assert settings.database_url.startswith("sqlite:////")
    assert settings.database_url.endswith("/instance/gateway.db")
    assert settings.doors == ALL_DOORS
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert (settings.trusted_proxies, settings.rate_limit, settings.compat_clients) == (0, "", False)
    assert (settings.config_max_age_seconds, settings.max_reorg_blocks) == (1, 1000)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("DATABASE_URL", "postgresql://user@host/name", "postgresql+psycopg://user@host/name"),
        ("DATABASE_URL", "postgres://user:p%40ss@host/name", "postgresql+psycopg://user:p%40ss@host/name"),
        ("DOORS", "api, grpcweb,", ("api", "grpcweb")),
        ("INGEST_TOKENS", "one,two", ("one", "two")),
        ("LOG_LEVEL", "debug", "DEBUG"),
        ("COMPAT_CLIENTS", "1", True),
        ("TRUSTED_PROXIES", "2", 2),
        ("WEB_CONCURRENCY", "3", 3),
        ("WEB_CONCURRENCY", "", None),
        ("PORT", "", 8000),
        ("PUBLIC_ORIGIN", "https://Console.example.org:443/", "https://console.example.org"),
        ("PUBLIC_ORIGIN", "http://localhost:8000", "http://localhost:8000"),
    ],
)
def test_a_value_is_read(monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: object) -> None:
    monkeypatch.setenv(name, text)
    assert getattr(load_settings(), name.lower()) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DATABASE_URL", "rubbish"),
        ("DATABASE_URL", "mysql://host/name"),
        ("DATABASE_URL", "postgresql+asyncpg://host/name"),
        ("DATABASE_REPLICA_URL", "postgresql://host/name"),
        ("REPLICA_MAX_LAG_SECONDS", "0"),
        ("DOORS", "api,cellar"),
        ("DOORS", ","),
        ("PORT", "65536"),
        ("PORT", "http"),
        ("TRUSTED_PROXIES", "-1"),
        ("CONFIG_MAX_AGE_SECONDS", "soon"),
        ("MAX_REORG_BLOCKS", "0"),
        ("COMPAT_CLIENTS", "perhaps"),
        ("LOG_LEVEL", "loud"),
        ("WEB_CONCURRENCY", "0"),
        ("AUDIT_KEY", "k" * 31),
        ("PUBLIC_ORIGIN", "console.example.org"),
        ("PUBLIC_ORIGIN", "http://console.example.org"),
        ("PUBLIC_ORIGIN", "https://192.0.2.1"),
        ("PUBLIC_ORIGIN", "https://console.example.org/admin"),
        ("PUBLIC_ORIGIN", "https://console.example.org:port"),
    ],
)
def test_a_bad_value_is_one_line_that_names_it(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError) as ended:
        load_settings()
    assert str(ended.value).startswith(f"{name}: ")
    assert "\n" not in str(ended.value)


def test_a_replica_is_of_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_REPLICA_URL", "postgresql://replica/name")
    monkeypatch.setenv("DATABASE_URL", "postgresql://primary/name")
    assert load_settings().database_replica_url == "postgresql+psycopg://replica/name"
    monkeypatch.setenv("DATABASE_REPLICA_URL", "sqlite:///copy.db")
    with pytest.raises(ConfigError, match="only PostgreSQL has replicas"):
        load_settings()


def test_every_thread_has_a_connection_to_read_by(tmp_path: Path) -> None:
    app = create_app(make_settings(f"sqlite:///{tmp_path / 'gateway.db'}", web_threads=11))
    with app.app_context():
        pool = current_gateway().reads.pool
    assert isinstance(pool, QueuePool)
    assert pool.size() == 11
