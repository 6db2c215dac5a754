"""An estimate as clients ask for it, and what it comes to."""

from __future__ import annotations

from tests.api.world import vector

ASKED = vector("estimate_usdt_1_to_56")["request"]
EXACT = vector("estimate_usdt_1_to_56")["exact"]
