"""The URLs of a Redis: passwords, users with few rights, TLS, sockets, options."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from redis.exceptions import RedisError

from app.http.limits import LimitStore, SharedCounts, limits_of
from config import ConfigError, load_settings
from tests.authority import Authority
from tests.limits.redis_server import RedisServer, running_redis

RIGHTS = ("+evalsha", "+eval", "+incr", "+pttl", "+pexpire", "+select", "+ping", "~gateway:*")
"""The rights that a user needs by docs/limits.md."""


def count(url: str) -> int:
    """What is left of 9, counted in the Redis and nowhere else."""
    ((times, _),) = SharedCounts(url).count("requests:me", limits_of("9/hour"))
    return 9 - times


def error_of(url: str) -> str:
    with pytest.raises(RedisError) as refused:
        SharedCounts(url).check()
    return str(refused.value)


@pytest.mark.system
def test_redis_user_needs_few_rights(own_redis: RedisServer) -> None:
    own_redis.do("ACL", "SETUSER", "gateway", "on", ">p@ss/word", "resetkeys", *RIGHTS)
    url = f"unix://gateway:p%40ss%2Fword@{own_redis.socket}"
    SharedCounts(url).check()
    assert [count(url), count(url)] == [8, 7]
    for right in RIGHTS[1:5]:
        assert right in Path("docs/limits.md").read_text()


@pytest.mark.system
def test_user_without_rights_is_reported_at_start(own_redis: RedisServer) -> None:
    """It can sign in and ping; otherwise the fault would not be seen."""
    own_redis.do("ACL", "SETUSER", "other", "on", ">p", "resetkeys", "~LIMITS*", *RIGHTS[:-1])
    assert "no permissions" in error_of(f"unix://other:p@{own_redis.socket}")


@pytest.mark.system
def test_url_may_name_a_database(own_redis: RedisServer) -> None:
    assert (count(f"{own_redis.url}?db=2"), count(own_redis.url)) == (8, 8)


@pytest.mark.system
def test_redis_over_tls(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    authority = Authority("Own authority")
    (tmp_path / "ca.pem").write_bytes(authority.certificate.public_bytes(serialization.Encoding.PEM))
    certificate, key = authority.issue("localhost")
    (tmp_path / "cert.pem").write_bytes(certificate)
    (tmp_path / "key.pem").write_bytes(key)
    files = {"cert-file": "cert.pem", "key-file": "key.pem", "ca-cert-file": "ca.pem"}
    options = [word for name, file in files.items() for word in (f"--tls-{name}", str(tmp_path / file))]
    with running_redis("--tls-port", str(port), "--tls-auth-clients", "no", *options):
        trusted = f"ssl_ca_certs={tmp_path / 'ca.pem'}"
        assert count(f"rediss://localhost:{port}/1?{trusted}") == 8
        assert "certificate verify failed" in error_of(f"rediss://localhost:{port}/1")
        wrong_name = f"rediss://127.0.0.1:{port}/1?{trusted}"
        assert "certificate verify failed" in error_of(wrong_name)
        # An untrusted store is like one that does not answer.
        assert LimitStore(wrong_name).count("me", limits_of("9/hour")).remaining == 8


@pytest.mark.parametrize(
    "url",
    [
        "redis://cache", "redis://:hidden-word@cache:6380/2", "redis://[::1]:6379", "unix:///run/redis.sock?db=1",
        "rediss://gateway:hidden-word@cache:6380/0?ssl_ca_certs=/etc/ca.pem", "redis://cache?socket_timeout=1.5",
        "memory://", "",
    ],
)  # fmt: skip
def test_urls_are_read(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("RATE_LIMIT_STORAGE_URL", url)
    settings = load_settings()
    assert settings.rate_limit_storage_url == (url or "memory://")
    assert "hidden-word" not in LimitStore(url or "memory://").described(1)


@pytest.mark.parametrize(
    "url",
    [
        "memcached://cache", "redis+cluster://hidden-word@cache", "redis://cache:port", "redis://cache?hidden-word=1",
        "redis://hidden-word@cache:99999999999", "redis://cache?socket_timeout=hidden-word", "cache:6379",
        "redis:cache",
    ],
)  # fmt: skip
def test_malformed_urls_are_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("RATE_LIMIT_STORAGE_URL", url)
    with pytest.raises(ConfigError, match=r"^RATE_LIMIT_STORAGE_URL: must be .*redis://") as ended:
        load_settings()
    assert "hidden-word" not in str(ended.value)
