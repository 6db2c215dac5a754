"""Adds the tokens of the environment, what counts the uses of keys, and the limits of callers."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Flask

from app.credentials.callers import KeyUses, RequestLimits
from app.credentials.rules.ingest_token import EnvironmentTokens, environment_token
from app.db.database import Database
from app.http.application import add_part
from app.http.limits import LimitStore


def add(
    app: Flask,
    database: Database,
    *,
    ingest_tokens: Iterable[str],
    counted_every: float,
    rate_limit: str,
    limit_store: LimitStore,
) -> None:
    tokens = EnvironmentTokens(map(environment_token, dict.fromkeys(ingest_tokens)))
    add_part(app, EnvironmentTokens, tokens)
    add_part(app, KeyUses, KeyUses(database.engine, database.clock, counted_every))
    add_part(app, RequestLimits, RequestLimits(rate_limit, limit_store))
