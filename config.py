"""Settings from the environment. This is the only place that reads it (12-factor)."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from marshmallow import ValidationError
from marshmallow.fields import Boolean, Float, Integer
from marshmallow.validate import Length, OneOf, Range, Regexp
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

INSTANCE = Path(__file__).resolve().parent / "instance"
DOCS_SITE = Path(__file__).resolve().parent / "build" / "site"
"""Where `make docs` puts the documentation that is served at /docs."""
MADE_AUDIT_KEY = INSTANCE / "audit_key"
"""The file of the audit log's key, created at first need where no ``AUDIT_KEY`` is set."""

Door = Literal["api", "grpcweb", "ingest", "admin", "wait"]
ALL_DOORS: tuple[Door, ...] = ("api", "grpcweb", "ingest", "admin")
"""The default interfaces of a process. ``wait`` is for separate processes and `make run`."""

GUARDABLE = (
    "chains", "tokens", "pools", "routes", "route_blocks", "pegged_pairs", "blocked_addresses",
    "blocked_networks", "validators", "config_fields", "operators", "ingest_tokens", "api_keys",
)  # fmt: skip
"""What TWO_PERSONS may name: sections of the network document, accounts, tokens of reporters, API keys."""

WAITING_ONLY, WAITING_WITH_OTHERS = 5_000, 200
"""How many requests may wait by default, in a process that serves nothing else, and in one that does."""

FROM_FILES = (
    "database_url", "database_replica_url", "secret_key", "secret_keys_old", "audit_key", "audit_keys_old",
    "ingest_tokens", "rate_limit_storage_url",
)  # fmt: skip
"""Settings that are or hold a secret: ``NAME_FILE`` names a file that holds the value."""

GONE: Final = {
    "ESTIMATE_COUNTS_SECONDS": "counts are stored every 5 seconds",
    "HEALTH_HOST": "HEALTH_PORT is served on HOST",
    "METRICS_HOST": "METRICS_PORT is served on HOST if TRUSTED_PROXIES is set, else on 127.0.0.1",
    "REFUND_ASK_LIMIT": "a caller may request 10 refunds a minute",
    "REPLICA_MAX_LAG_SECONDS": "a replica may lag by 5 seconds",
    "TRACING": "OpenTelemetry's own variables say what is traced: docs/logs.md#tracing",
    "TWO_PERSONS_HOURS": "a change can be approved for 72 hours",
    "WAIT_ROUTED": "pages wait if DOORS names wait or TRUSTED_PROXIES is set",
    "WEBHOOK_CA_FILE": "set SSL_CERT_FILE for flask deliver",
    "WEB_THREADS": "each process has 4 read connections",
}
"""Former settings, with what replaces them or what to do."""

_LOOPBACK: Final = "127.0.0.1"
_FILE: Final = "sqlite:////var/lib/gateway/gateway.db"
_MADE_BY: Final = "generate one with: openssl rand -hex 32"
_RPC_NAME: Final = re.compile(r"RPC_URL_[A-Z0-9_]+")  # docs/network.md#chains
_MAIL: Final = re.compile(r"mailto:[^\s@?&<>\"']+@[^\s@?&<>\"']+")
_HOST_NAME: Final = re.compile(r"(?:[a-z0-9-]{1,63}\.)*(?!\d+$)[a-z0-9-]{1,63}")  # its last part is no number
_LIMIT: Final = r"\s*\d+\s*(/|per)\s*\d*\s*(second|minute|hour|day|month|year)s?\s*"
"""The form that ``app/http/limits.py`` reads. It is repeated, as ``app`` imports this module."""
_SHOWN: Final = 80
"""Characters of a refused text that are shown."""
_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_logger = logging.getLogger(__name__)
Read = Callable[[str], Any]
"""Makes the value of a non-empty text. A ValueError or ValidationError says what it must be."""
_flag: Read = Boolean(error_messages={"invalid": "must be 0 or 1"}).deserialize


class ConfigError(SystemExit):
    """A setting cannot be used. Ends the start with one line on stderr and exit code 1."""


def _number(kind: type[Integer | Float], least: int, most: int | None = None) -> Read:
    reach = f"from {least} to {most}" if most else f"of at least {least}"
    words = f"must be a {'whole ' if kind is Integer else ''}number {reach}"
    bounds = Range(least, most, error=words)
    return kind(
        validate=bounds, error_messages=dict.fromkeys(("invalid", "too_large", "special"), words)
    ).deserialize


def _one_of(*values: str) -> Read:
    return OneOf(values, error="must be one of: {choices}")


def _each(read: Read = str) -> Read:
    """The non-empty parts of a comma-separated text."""
    return lambda text: tuple(read(part.strip()) for part in text.split(",") if part.strip())


def _checked(good: Callable[[str], object], words: str) -> Read:
    """The text itself; the words say what it must be, with ``{}`` for the text where that is not secret."""

    def read(text: str) -> str:
        with suppress(ValueError):  # of urlsplit and others: its message may repeat a secret
            if good(text):
                return text
        raise ValueError(words.replace("{}", repr(text)))

    return read


def _feed_ages(text: str) -> tuple[tuple[int, int], ...]:
    """Seconds by chain of a text such as ``600,137:60``. Chain 0 means all that are not named."""
    limits: dict[int, int] = {}
    for part in _each()(text):
        found = re.fullmatch(r"(?:0*([1-9][0-9]*):)?([0-9]+)", part)
        chain = int(found[1] or 0) if found else 0
        if not found or chain in limits:
            example = "such as 600 or 600,1:120,137:0"
            raise ValueError(f"must be seconds, or CHAIN:SECONDS for single chains, {example}")
        limits[chain] = int(found[2])
        if limits[chain] > 30 * 86_400:
            raise ValueError("must be at most 2592000 seconds (30 days)")
    return tuple(limits.items())


def _limit_storage(text: str) -> str:
    if text != "memory://":
        if not text.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError(
                "must be memory://, or the redis, rediss or unix URL of a Redis, such as redis://:password@host:6379/0"
            )
        import redis  # noqa: PLC0415  it takes time, which a process without a Redis spares

        try:
            redis.ConnectionPool.from_url(text).make_connection()
        except (TypeError, ValueError, redis.RedisError):  # its message may repeat a password
            raise ValueError("must be the URL of a Redis, such as redis://:password@host:6379/0") from None
    return text


def _database(text: str) -> str:
    """The URL, with the installed PostgreSQL driver where it names none."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # a bad port is a ValueError that repeats the text
        raise ValueError("must be a database URL, such as postgresql://user@host/name") from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise ValueError(f"must be a URL such as {_FILE} or postgresql://user@host/name")
    if url.get_backend_name() == "sqlite" and _is_in_memory(url):
        raise ValueError(f"must name a file, which all connections share, such as {_FILE}")
    return url.render_as_string(hide_password=False)


def _is_in_memory(url: URL) -> bool:
    """Whether each connection to SQLite would have an empty database of its own."""
    name = url.database or ""
    return name in ("", ":memory:", "file::memory:") or url.query.get("mode") == "memory"


def _console_origin(text: str) -> str:
    """The form of browsers: lower case, without a default port or a slash at the end."""
    what = "the address of the console in browsers, such as https://console.example.org"
    text = _checked(_is_origin, f"must be {what}: a host name, not an IP address, and no path")(
        text.lower().removesuffix("/")
    )
    parts = urlsplit(text)
    shown = "" if parts.port in (None, {"https": 443, "http": 80}[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{parts.hostname}{shown}"


def _is_origin(text: str) -> bool:
    parts = urlsplit(text)
    schemes = ("https", "http") if parts.hostname == "localhost" else ("https",)
    more = parts.port == 0 or "@" in parts.netloc or any((parts.path, parts.query, parts.fragment))
    return parts.scheme in schemes and bool(_HOST_NAME.fullmatch(parts.hostname or "")) and not more


def _is_anchor(text: str) -> bool:
    """Whether heads of the audit log can be noted there: a file, or a syslog."""
    parts = urlsplit(text)
    local = parts.scheme in ("file", "unix") and not parts.netloc and parts.path.startswith("/")
    remote = parts.scheme in ("udp", "tcp") and parts.hostname and parts.port and not parts.path
    return bool(local or remote) and not parts.query and not parts.fragment


def _is_http_url(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0


def _is_web_page(text: str) -> bool:
    """Whether pages may link to it: https, or http on this machine, and only valid characters."""
    if not _is_http_url(text) or re.search(r"[\s<>\"'{}\\]", text):
        return False
    parts = urlsplit(text)
    return "@" not in parts.netloc and (parts.scheme == "https" or _is_loopback(parts.hostname or ""))


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _from(default: Any, read: Read = str) -> Any:
    """A setting of the environment: its default, and how its text is read."""
    return field(default=default, metadata={"read": read})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting and its default. Names are the environment's, in lower case."""

    host: str = _from(_LOOPBACK)
    port: int = _from(8000, _number(Integer, 0, 65535))
    metrics_port: int | None = _from(None, _number(Integer, 0, 65535))
    health_port: int | None = _from(None, _number(Integer, 0, 65535))
    database_url: str = _from(f"sqlite:///{INSTANCE / 'gateway.db'}", _database)
    database_replica_url: str = _from("", _database)
    database_pooler: bool = _from(False, _flag)
    secret_key: str = _from("")
    secret_keys_old: tuple[str, ...] = _from((), _each())
    audit_key: str = _from("", Length(32, error=f"must have at least 32 characters, {_MADE_BY}"))
    audit_keys_old: tuple[str, ...] = _from((), _each())
    audit_anchors: tuple[str, ...] = _from((), _each(_checked(
        _is_anchor,
        "{} must be a file such as file:/var/log/gateway/heads, or a syslog such as unix:/dev/log, "
        "udp://logs.example.org:514 or tcp://logs.example.org:601",
    )))  # fmt: skip
    ingest_tokens: tuple[str, ...] = _from((), _each())
    two_persons: tuple[str, ...] = _from((), _each(_checked(
        GUARDABLE.__contains__, f"{{}} is not a section; use {', '.join(GUARDABLE)}"
    )))  # fmt: skip
    public_origin: str = _from("", _console_origin)
    public_url: str = _from("", lambda text: _checked(
        lambda address: _is_web_page(address) and not set(address) & set("?#"),
        "must be an https address such as https://gateway.example.org or https://example.org/bridge",
    )(text.removesuffix("/")))  # fmt: skip
    support_url: str = _from("", _checked(
        lambda text: _MAIL.fullmatch(text) or _is_web_page(text),
        "must be a page where users get help, such as https://example.org/help or mailto:help@example.org",
    ))  # fmt: skip
    refund_url: str = _from("", _checked(
        lambda text: _is_web_page(text.replace("{transfer_id}", "0")),
        "must be an https address such as https://app.example.org/refund?id={transfer_id}",
    ))  # fmt: skip
    doors: tuple[Door, ...] = _from(
        ALL_DOORS,
        lambda text: Length(1, error=f"must name at least one of: {', '.join((*ALL_DOORS, 'wait'))}")(
            _each(_one_of(*ALL_DOORS, "wait"))(text)
        ),
    )
    wait_limit: int | None = _from(None, _number(Integer, 1, 100_000))
    trusted_proxies: int = _from(0, _number(Integer, 0, 16))
    script_name: str = _from("", lambda text: _checked(
        lambda path: re.fullmatch(r"((/(?!\.{1,2}(/|\Z))[A-Za-z0-9._~-]+)+)?", path),
        "must be a path such as /bridge: letters, digits, - . _ and ~ between slashes",
    )(text.removesuffix("/")))  # fmt: skip
    rate_limit: str = _from("", Regexp(
        rf"{_LIMIT}([,;|]{_LIMIT})*\Z", re.IGNORECASE | re.ASCII,
        error="must be empty or limits such as 20/second or 100/minute;1000/hour",
    ))  # fmt: skip
    rate_limit_storage_url: str = _from("memory://", _limit_storage)
    config_max_age_seconds: float = _from(1.0, _number(Float, 0, 30))
    max_reorg_blocks: int = _from(1000, _number(Integer, 1))
    feed_max_age_seconds: tuple[tuple[int, int], ...] = _from((), _feed_ages)
    """By chain; 0 for those that are not named."""
    feed_stale: Literal["warn", "fail"] = _from("warn", _one_of("warn", "fail"))
    webhook_allow_networks: tuple[str, ...] = _from((), _each(_checked(
        ip_network, "{} must be a network such as 10.0.0.0/8 or fd00::/8, with zeros after its prefix"
    )))  # fmt: skip
    compat_clients: bool = _from(True, _flag)
    sandbox_controls: bool = _from(False, _flag)
    build_commit: str = _from("", Regexp(
        r"[0-9a-f]{7,64}\Z", error="must be the hash of a commit in hex; this prints it: git rev-parse HEAD"
    ))  # fmt: skip
    log_level: str = _from("INFO", lambda text: _one_of(*_LEVELS)(text.upper()))
    log_format: Literal["console", "json"] = _from("console", _one_of("console", "json"))
    access_log: Literal["off", "errors", "all"] = _from("off", _one_of("off", "errors", "all"))
    web_concurrency: int | None = _from(None, _number(Integer, 1, 1024))
    rpc_urls: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """By the name of its variable, ``RPC_URL_`` and more. They contain keys: never shown, never logged."""

    # Not from the environment: only tests set others.
    refund_request_limit: str = "10/minute"
    estimate_counts_seconds: float = 5.0  # how often they are stored, and uses of keys; 0 is never

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every value that grants access, here or elsewhere: no log may contain one."""
        keys = (self.secret_key, *self.secret_keys_old, self.audit_key, *self.audit_keys_old)
        urls = (self.database_url, self.database_replica_url, self.rate_limit_storage_url)
        parts = (part for url in (*urls, *self.rpc_urls.values()) for part in _secrets_of_url(url))
        return (*keys, *self.ingest_tokens, *parts)

    @property
    def most_waiting(self) -> int:
        """How many requests may wait in one process: fewer if it serves others, too."""
        return self.wait_limit or (WAITING_ONLY if self.doors == ("wait",) else WAITING_WITH_OTHERS)

    @property
    def waiting_served(self) -> bool:
        """Whether pages try to wait: this process serves it, or a proxy may send it to one that does."""
        return "wait" in self.doors or self.trusted_proxies > 0

    @property
    def metrics_host(self) -> str:
        """Metrics reveal volumes. Where callers reach ``HOST`` directly, only this machine gets them."""
        return self.host if self.trusted_proxies > 0 else _LOOPBACK


def load_settings() -> Settings:
    """Settings from the environment.

    :raises ConfigError: with one line that names the variable and what it must be.
    """
    gone = [f"{name} ({words})" for name, words in GONE.items() if os.environ.pop(name, "")]
    if gone:  # removed, so that it is logged once, and not again by what this process starts
        _logger.warning("these settings no longer exist and have no effect: unset %s", "; ".join(gone))
    values: dict[str, Any] = {"rpc_urls": _rpc_urls()}
    for name, read in {each.name: each.metadata.get("read") for each in fields(Settings)}.items():
        text = (_from_file(name.upper()) if name in FROM_FILES else None) or os.environ.get(name.upper())
        if not text or read is None:
            continue
        try:
            values[name] = read(text)
        except (ValueError, ValidationError) as error:
            words = error.messages[0] if isinstance(error, ValidationError) else error
            raise ConfigError(f"{name.upper()}: {words}{_given(name, text, str(words))}") from None
    settings = Settings(**values)
    _check_strength(settings)
    _check_databases(settings)
    return settings


def _given(name: str, text: str, words: str) -> str:
    """The refused text behind the words, where they do not repeat it and it may be shown."""
    if (
        name in FROM_FILES
        or "@" in text
        or any(repr(part.strip()) in words for part in (text, *text.split(",")))
    ):
        return ""
    return f" (now {text!r})" if len(text) <= _SHOWN else f" (now {text[:_SHOWN]!r}…)"


def _check_strength(settings: Settings) -> None:
    """Refuse weak secrets, or only warn of them where only this machine is served."""
    key = (settings.secret_key,) if settings.secret_key else ()
    for name, secrets, each, least in (
        ("SECRET_KEY", key, "", 32),
        ("SECRET_KEYS_OLD", settings.secret_keys_old, "each key ", 32),
        ("INGEST_TOKENS", settings.ingest_tokens, "each token ", 16),
    ):
        words = f"{each}must have at least {least} characters, {_MADE_BY}"
        if all(len(secret) >= least for secret in secrets):
            continue
        if not _is_loopback(settings.host):
            raise ConfigError(f"{name}: {words}")
        _logger.warning("%s: %s; accepted because HOST %s is loopback", name, words, settings.host)


def _check_databases(settings: Settings) -> None:
    urls = {"DATABASE_URL": settings.database_url, "DATABASE_REPLICA_URL": settings.database_replica_url}
    postgresql = all(url.startswith("postgresql") for url in urls.values() if url)
    if settings.database_replica_url and not postgresql:
        words = "only PostgreSQL has replicas: set DATABASE_URL and this to postgresql: URLs, or unset this"
        raise ConfigError(f"DATABASE_REPLICA_URL: {words}")
    if settings.database_pooler and not postgresql:
        raise ConfigError(
            "DATABASE_POOLER: needs a postgresql: DATABASE_URL; set that, or unset DATABASE_POOLER"
        )
    for name, url in urls.items():
        if settings.database_pooler and url and "options" in make_url(url).query:
            words = "has options, which a pooler does not pass on: set them by ALTER ROLE"
            raise ConfigError(f"DATABASE_POOLER: {name} {words}")


def _from_file(name: str) -> str | None:
    """The content of the file that ``NAME_FILE`` names; None where it names none."""
    file = os.environ.get(f"{name}_FILE")
    if not file:
        return None
    if os.environ.get(name):
        raise ConfigError(f"{name}: {name}_FILE is set, too; set only one of them")
    try:
        value = Path(file).read_text(encoding="utf-8").strip("\r\n\ufeff")
    except OSError as error:
        words = f"{file} cannot be read: {error.strerror}: let this user read it, or name another file"
        raise ConfigError(f"{name}_FILE: {words}") from None
    except UnicodeDecodeError:
        raise ConfigError(
            f"{name}_FILE: {file} is not a text file: write the value into it, in UTF-8"
        ) from None
    if not value.strip():
        # Not the default: otherwise a secret that failed to be mounted would go unnoticed.
        raise ConfigError(f"{name}_FILE: {file} is empty: write the value into it, or unset the variable")
    return value


def _rpc_urls() -> dict[str, str]:
    """The URLs of nodes: every variable of such a name, or the file that ``NAME_FILE`` names."""
    urls = {}
    read = _checked(
        _is_http_url, "must be the http or https URL of a node, such as https://node.example.org/key"
    )
    for variable in sorted(filter(_RPC_NAME.fullmatch, os.environ)):
        name = variable.removesuffix("_FILE")
        if not os.environ[variable]:
            continue
        if not _RPC_NAME.fullmatch(name):
            raise ConfigError(f"{variable}: must name the chain, such as RPC_URL_ETHEREUM_FILE")
        try:
            urls[name] = read(_from_file(name) or os.environ[name])
        except ValueError as error:
            raise ConfigError(f"{name}: {error}") from None
    return urls


def named_log_format() -> Literal["console", "json"]:
    """``LOG_FORMAT``, for log entries before all settings are read."""
    return "json" if os.environ.get("LOG_FORMAT") == "json" else "console"


def shown_url(url: str) -> str:
    """A database URL in a form that may be printed: its query can contain a password, too."""
    return make_url(url).set(query={}).render_as_string(hide_password=True)


def _secrets_of_url(url: str) -> tuple[str, ...]:
    """The parts of a URL that grant access: password and query, for a node also user and path."""
    parts = urlsplit(url)
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    found = [password, unquote(password), *(text for name, text in parse_qsl(parts.query) if name != "host")]
    if parts.scheme in ("http", "https"):
        found += [user, parts.path.strip("/"), *parts.path.split("/")]
    return tuple(filter(None, found))
