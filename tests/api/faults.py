"""Faults of the gateway itself, and how they are answered."""

from __future__ import annotations

from sqlalchemy.exc import InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug import exceptions as http

SECRET = "postgresql://user:hunter2@db/gateway"
FAULTS = [
    (OperationalError("SELECT 1", {}, Exception(SECRET)), 503, "unavailable"),
    (InterfaceError("SELECT 1", {}, Exception(SECRET)), 503, "unavailable"),
    (PoolTimeout(SECRET), 503, "unavailable"),
    (ProgrammingError("SELECT 1", {}, Exception(SECRET)), 500, "internal"),
    (RuntimeError(SECRET), 500, "internal"),
    (RecursionError(SECRET), 500, "internal"),
    (MemoryError(SECRET), 500, "internal"),
    (http.InternalServerError(SECRET), 500, "internal"),
    (http.BadGateway(SECRET), 500, "internal"),
    (http.RequestTimeout(SECRET), 408, "bad_request"),
    (http.BadRequestKeyError(SECRET), 400, "bad_request"),
]
