"""The request of an estimate, and its exact amounts."""

from __future__ import annotations

from tests.api.world import vector

QUERY = vector("estimate_usdt_1_to_56")["request"]
EXACT = vector("estimate_usdt_1_to_56")["exact"]
