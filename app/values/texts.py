"""Texts that people type, as they are stored."""

from __future__ import annotations


def one_line(text: str) -> str:
    """The words of a text, with a space between them; NUL, which PostgreSQL cannot store, is such a space."""
    return " ".join(text.replace("\0", " ").split())
