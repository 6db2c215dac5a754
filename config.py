"""Settings from the environment. This is the only place that reads it (12-factor)."""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

import redis
from limits import parse_many
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from config_addresses import audit_anchor, console_origin, is_loopback, secrets_of_url, shown_to_users
from config_feed import feed_limits
from config_sources import ConfigError, RpcUrls, SecretFiles, Urls

INSTANCE = Path(__file__).resolve().parent / "instance"
DOCS_SITE = Path(__file__).resolve().parent / "build" / "site"
"""Where `make docs` puts the documentation that is served at /docs."""

Door = Literal["api", "grpcweb", "ingest", "admin", "wait"]
ALL_DOORS: tuple[Door, ...] = ("api", "grpcweb", "ingest", "admin")
"""Those that a process serves where nothing is said. ``wait`` is for processes of its own and `make run`."""

GUARDABLE = (
    "chains", "tokens", "pools", "routes", "route_blocks", "pegged_pairs", "blocked_addresses",
    "blocked_networks", "validators", "config_fields", "operators", "ingest_tokens",
    "api_keys",
)  # fmt: skip
"""What TWO_PERSONS may name: the network document's sections, the console's accounts, the tokens of reporters
and the keys of integrators."""

WAITING_ALONE = 5_000
WAITING_BESIDE = 200
"""How many may wait in a process that serves nothing else, and in one that does, where nothing is said."""

MIN_SECRET_KEY = 32
MIN_AUDIT_KEY = 32
MIN_INGEST_TOKEN = 16

_logger = logging.getLogger(__name__)


def _split(value: Any) -> Any:
    """A comma-separated environment value as a list of its non-empty parts."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class Settings(BaseSettings):
    """Every setting, its default and its range. Names are the environment's, in lower case."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_ignore_empty=True)

    # Before the secrets, whose check asks for it.
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = Field(default=None, ge=0, le=65535)
    health_host: str = ""
    health_port: int | None = Field(default=None, ge=0, le=65535)
    database_url: str = f"sqlite:///{INSTANCE / 'gateway.db'}"
    database_replica_url: str = ""
    database_pooler: bool = False
    replica_max_lag_seconds: float = Field(default=5.0, ge=0.5, le=3600)
    secret_key: str = ""
    secret_keys_old: Annotated[tuple[str, ...], NoDecode] = ()
    audit_key: str = ""
    audit_keys_old: Annotated[tuple[str, ...], NoDecode] = ()
    audit_key_file: Path = INSTANCE / "audit_key"
    audit_anchors: Annotated[tuple[str, ...], NoDecode] = ()
    ingest_tokens: Annotated[tuple[str, ...], NoDecode] = ()
    two_persons: Annotated[tuple[str, ...], NoDecode] = ()
    two_persons_hours: int = Field(default=72, ge=1, le=8760)
    public_origin: str = ""
    public_url: str = ""
    support_url: str = ""
    refund_url: str = ""
    doors: Annotated[tuple[Door, ...], NoDecode, Field(min_length=1)] = ALL_DOORS
    wait_limit: int | None = Field(default=None, ge=1, le=100_000)
    wait_routed: bool = False
    trusted_proxies: int = Field(default=0, ge=0, le=16)
    rate_limit: str = ""
    refund_ask_limit: str = "10/minute"
    rate_limit_storage_url: str = "memory://"
    config_max_age_seconds: float = Field(default=1.0, ge=0, le=30)
    max_reorg_blocks: int = Field(default=1000, ge=1)
    feed_max_age_seconds: Annotated[tuple[tuple[int, int], ...], NoDecode, BeforeValidator(feed_limits)] = ()
    """By chain; 0 for those that are not named."""
    feed_stale: Literal["warn", "fail"] = "warn"
    estimate_counts_seconds: float = Field(default=5.0, ge=0, le=300)
    rpc_urls: Annotated[Mapping[str, str], NoDecode, Field(repr=False), AfterValidator(Urls)] = Urls()
    """By the name of its variable, ``RPC_URL_`` and more. They hold keys: never shown, never logged."""
    webhook_allow_networks: Annotated[tuple[str, ...], NoDecode] = ()
    webhook_ca_file: Path | None = None
    compat_clients: bool = True
    build_commit: str = ""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    log_format: Literal["console", "json"] = "console"
    access_log: Literal["off", "errors", "all"] = "off"
    tracing: float = Field(default=0.0, ge=0, le=1)
    """The share of requests that is traced."""
    web_concurrency: int | None = Field(default=None, ge=1, le=1024)
    web_threads: int = Field(default=8, ge=1, le=1024)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, and the files that it names."""
        return init_settings, RpcUrls(settings_cls), env_settings, SecretFiles(settings_cls)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every value by which somebody is let in, here or elsewhere: no log may have one."""
        urls = (self.database_url, self.database_replica_url, self.rate_limit_storage_url)
        own = (
            self.secret_key,
            *self.secret_keys_old,
            self.audit_key,
            *self.audit_keys_old,
            *self.ingest_tokens,
        )
        return (*own, *(part for url in (*urls, *self.rpc_urls.values()) for part in secrets_of_url(url)))

    @property
    def most_waiting(self) -> int:
        """How many may wait in one process: few where it serves other doors, whose answers come first."""
        return self.wait_limit or (WAITING_ALONE if self.doors == ("wait",) else WAITING_BESIDE)

    @property
    def waiting_served(self) -> bool:
        """Whether the address of the public operations serves waiting: by this process, or by another one."""
        return self.wait_routed or "wait" in self.doors

    @field_validator(
        "ingest_tokens", "audit_keys_old", "secret_keys_old", "audit_anchors", "doors", "two_persons",
        "webhook_allow_networks", mode="before",
    )  # fmt: skip
    @classmethod
    def _from_commas(cls, value: Any) -> Any:
        return _split(value)

    @field_validator("public_origin")
    @classmethod
    def _origin(cls, value: str) -> str:
        return console_origin(value)

    @field_validator("public_url", "support_url", "refund_url")
    @classmethod
    def _shown_to_users(cls, value: str, info: ValidationInfo) -> str:
        return shown_to_users(info.field_name or "", value)

    @field_validator("audit_key")
    @classmethod
    def _long_enough(cls, value: str) -> str:
        if value and len(value) < MIN_AUDIT_KEY:
            raise ValueError(f"must have at least {MIN_AUDIT_KEY} characters, such as: openssl rand -hex 32")
        return value

    @field_validator("audit_anchors")
    @classmethod
    def _anchors(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(audit_anchor, value))

    @field_validator("secret_key")
    @classmethod
    def _secret_key_length(cls, value: str, info: ValidationInfo) -> str:
        if value and len(value) < MIN_SECRET_KEY:
            _weak(info, f"must have at least {MIN_SECRET_KEY} characters, such as: openssl rand -hex 32")
        return value

    @field_validator("secret_keys_old")
    @classmethod
    def _old_keys_length(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if any(len(key) < MIN_SECRET_KEY for key in value):
            _weak(info, f"each key must have at least {MIN_SECRET_KEY} characters")
        return value

    @field_validator("ingest_tokens")
    @classmethod
    def _token_length(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if any(len(token) < MIN_INGEST_TOKEN for token in value):
            _weak(
                info,
                f"each token must have at least {MIN_INGEST_TOKEN} characters, such as: openssl rand -hex 32",
            )
        return value

    @field_validator("two_persons")
    @classmethod
    def _sections(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in GUARDABLE:
                raise ValueError(f"{name!r} is not a section; use {', '.join(GUARDABLE)}")
        return value

    @field_validator("webhook_allow_networks")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            try:
                ip_network(text)
            except ValueError:
                raise ValueError(f"{text!r} is not a network such as 10.0.0.0/8 or fd00::/8") from None
        return value

    @field_validator("webhook_ca_file")
    @classmethod
    def _authorities(cls, value: Path | None) -> Path | None:
        try:
            if value is not None:
                ssl.create_default_context(cafile=value)
        except (OSError, ssl.SSLError):
            raise ValueError(f"{value} is not a file of certificates in PEM") from None
        return value

    @field_validator("build_commit")
    @classmethod
    def _commit(cls, value: str) -> str:
        if value and not re.fullmatch(r"[0-9a-f]{7,64}", value):
            raise ValueError("must be the hash of a commit in hex, such as: git rev-parse HEAD")
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("rate_limit", "refund_ask_limit")
    @classmethod
    def _limit(cls, value: str, info: ValidationInfo) -> str:
        may_be_empty = info.field_name == "rate_limit"
        try:
            if value or not may_be_empty:
                parse_many(value)
        except ValueError:
            empty = "empty or " if may_be_empty else ""
            raise ValueError(f"must be {empty}limits such as 20/second or 100/minute;1000/hour") from None
        return value

    @field_validator("rate_limit_storage_url")
    @classmethod
    def _limit_storage(cls, value: str) -> str:
        if value == "memory://":
            return value
        # Texts of errors repeat parts of the URL, which may hold a password.
        if not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must be memory://, or the URL of a Redis: redis://, rediss:// or unix://")
        try:
            redis.ConnectionPool.from_url(value).make_connection()
        except (TypeError, ValueError, redis.RedisError):
            raise ValueError("must be the URL of a Redis, such as redis://:password@host:6379/0") from None
        return value

    @field_validator("database_url", "database_replica_url")
    @classmethod
    def _driver(cls, value: str) -> str:
        """Check the URL and name the installed PostgreSQL driver where the URL names none."""
        if not value:
            return value
        try:
            url = make_url(value)
        except (ArgumentError, ValueError):  # a bad port is a ValueError that repeats what stood there
            raise ValueError("must be a database URL, such as postgresql://user@host/name") from None
        if url.drivername in ("postgres", "postgresql"):
            url = url.set(drivername="postgresql+psycopg")
        if url.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
            raise ValueError("must be a sqlite: or postgresql: URL")
        return url.render_as_string(hide_password=False)

    @field_validator("database_replica_url")
    @classmethod
    def _replica_of_postgresql(cls, value: str, info: ValidationInfo) -> str:
        both = value, info.data.get("database_url", "postgresql")
        if value and not all(url.startswith("postgresql") for url in both):
            raise ValueError("must be a postgresql: URL, and DATABASE_URL, too: only PostgreSQL has replicas")
        return value

    @field_validator("database_pooler")
    @classmethod
    def _behind_a_pooler(cls, value: bool, info: ValidationInfo) -> bool:
        if not value or "database_url" not in info.data:
            return value
        for name in ("database_url", "database_replica_url"):
            url = make_url(info.data.get(name) or "postgresql://")
            if url.get_backend_name() != "postgresql":
                raise ValueError("needs a postgresql: DATABASE_URL")
            if "options" in url.query:
                raise ValueError(
                    f"{name.upper()} has options, which a pooler does not pass on: set them by ALTER ROLE"
                )
        return value


def _weak(info: ValidationInfo, advice: str) -> None:
    """Refuse a weak secret, or only warn of it where nobody but this machine is served.

    :raises ValueError: where ``HOST`` is not loopback.
    """
    host = info.data.get("host", "")
    if not is_loopback(host):
        raise ValueError(advice)
    _logger.warning(
        "%s: %s; accepted because HOST %s is loopback", (info.field_name or "").upper(), advice, host
    )


def shown_url(url: str) -> str:
    """A database URL as it may be printed: its query can hold a password, too."""
    return make_url(url).set(query={}).render_as_string(hide_password=True)


def load_settings() -> Settings:
    """Settings from the environment.

    :raises ConfigError: with one line that names the variable and what it must be.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).upper() if first["loc"] else "environment"
        words = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        raise ConfigError(f"{name}: {words}") from None
