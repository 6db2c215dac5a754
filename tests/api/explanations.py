"""An explanation, compared with the estimate that it explains."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from flask.testing import FlaskClient

from tests.api.estimates import QUERY
from tests.api.shapes import ESTIMATE, EXPLAIN, ZEROES
from tests.api.world import BLOCKED

SECRETS = ("secret", "203.0.113", BLOCKED.lower(), "vpn list")


def explain(client: FlaskClient, *, caller: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    """The explanation; it equals the estimate, and shows no reason or source of a block."""
    query = QUERY | changes
    response = client.get(EXPLAIN, query_string=query, environ_overrides=caller)
    body: dict[str, Any] = response.get_json()
    assert response.status_code == 200
    assert "X-Gateway-Reason" not in response.headers
    assert list(body) == ["err", *ZEROES[EXPLAIN]]
    assert body["err"] is None
    estimate = client.get(ESTIMATE, query_string=query, environ_overrides=caller)
    refusal, answered = body["refusal"], estimate.get_json()
    if refusal is None:
        assert answered["err"] is None
        values = {term["name"]: term["value"] for term in body["terms"]}
        for name in ("eq_value_token_amt", "perc_fee", "base_fee", "estimated_receive_amt", "drop_gas_amt"):
            assert values[name] == answered[name]
        assert values["max_slippage"] == str(answered["max_slippage"])
        assert float(Fraction(values["bridge_rate"])) == answered["bridge_rate"]
    else:
        assert answered["err"] == {name: refusal[name] for name in ("code", "msg")}
        assert refusal["reason"] == estimate.headers["X-Gateway-Reason"]
    assert not [secret for secret in SECRETS if secret in json.dumps(body).lower()]
    return body
