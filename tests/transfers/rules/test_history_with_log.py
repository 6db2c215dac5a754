"""A history with another log is otherwise the same, whatever fields it has."""

from __future__ import annotations

from msgspec.structs import fields

from app.transfers.rules.history import TransferHistory


def test_everything_but_the_log_is_retained() -> None:
    values = {field.name: object() for field in fields(TransferHistory)}
    other = TransferHistory(**values).with_log([])  # type: ignore[arg-type]
    others = {name: getattr(other, name) for name in values}
    assert others == values | {"log": []}
