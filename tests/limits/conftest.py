"""A Redis for the tests of limits."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.limits.redis_server import PROGRAM, RedisServer, running_redis


@pytest.fixture(scope="session")
def redis_program() -> None:
    """That there is one."""
    if PROGRAM is None:
        text = "Redis is not installed: apt-get install redis-server"
        pytest.fail(text) if os.environ.get("CI") else pytest.skip(text)


@pytest.fixture(scope="module")
def shared_redis(redis_program: None) -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_server(shared_redis: RedisServer) -> RedisServer:
    """One that holds nothing."""
    shared_redis.do("FLUSHALL")
    return shared_redis


@pytest.fixture
def own_redis(redis_program: None) -> Iterator[RedisServer]:
    """One that the test may break."""
    with running_redis() as server:
        yield server
