"""A Redis for the tests of limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.limits.redis_server import RedisServer, running_redis


@pytest.fixture(scope="module")
def shared_redis() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_server(shared_redis: RedisServer) -> RedisServer:
    """One that holds nothing."""
    shared_redis.do("FLUSHALL")
    return shared_redis


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """One that the test may break."""
    with running_redis() as server:
        yield server
