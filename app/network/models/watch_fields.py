"""Marshmallow fields of a chain's keys that say how it is watched."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import fields

from app.network.watch_terms import (
    DEFAULT_POLL_SECONDS,
    FINALIZED,
    MAX_POLL_SECONDS,
    MAX_RPC_NAME,
    MIN_POLL_SECONDS,
    RPC_NAME,
    Finality,
)

MAX_DEPTH: Final = 1_000_000
"""Blocks: more than a week on chains with a block a second."""


class BlocksOrFinalized(fields.Field[Finality]):
    """A number of blocks, or the tag by which nodes name the last final block."""

    default_error_messages = {"invalid": f'must be an integer from 0 to {MAX_DEPTH} or "{FINALIZED}"'}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Finality:
        if value == FINALIZED or (type(value) is int and 0 <= value <= MAX_DEPTH):
            return value  # type: ignore[no-any-return]
        raise self.make_error("invalid")


class Seconds(fields.Field[float]):
    """The seconds between two reads of the newest blocks. A whole number is stored as such."""

    default_error_messages = {
        "invalid": f"must be a number from {MIN_POLL_SECONDS:g} to {MAX_POLL_SECONDS:g}"
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(load_default=_whole(DEFAULT_POLL_SECONDS), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        known = type(value) is int or type(value) is float
        if not known or not MIN_POLL_SECONDS <= value <= MAX_POLL_SECONDS:
            raise self.make_error("invalid")
        return _whole(value)

    def _serialize(self, value: float | None, attr: str | None, obj: Any, **kwargs: Any) -> float | None:
        return None if value is None else _whole(value)


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


class RpcName(fields.Field[str]):
    """The name of an environment variable that holds a node's URL: never the URL itself.

    Keys in URLs would leak through exports and errors, and those who edit the configuration could make the
    server call any address.
    """

    default_error_messages = {
        "file": "must be the name of the variable without _FILE at its end",
        "invalid": "must be the name of an environment variable such as RPC_URL_ETHEREUM (RPC_URL_ and "
        f"capital letters, digits or _; at most {MAX_RPC_NAME} characters), not a URL",
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or len(value) > MAX_RPC_NAME or not RPC_NAME.fullmatch(value):
            raise self.make_error("invalid")
        if value.endswith("_FILE"):
            raise self.make_error("file")
        return value
