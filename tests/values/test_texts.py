"""Texts that people type."""

from __future__ import annotations

import pytest

from app.values.texts import one_line


@pytest.mark.parametrize(
    ("typed", "stored"),
    [("", ""), (" \0\n", ""), ("a\0b", "a b"), ("  two\r\n\tlines ", "two lines"), ("as it is", "as it is")],
)
def test_one_line_joins_typed_lines(typed: str, stored: str) -> None:
    assert one_line(typed) == stored
