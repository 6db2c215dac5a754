"""The parts of one application, by type: each is made once, and a use case takes those that it uses."""

from __future__ import annotations

from typing import Final, TypeVar

from flask import Flask, current_app

Part = TypeVar("Part")

_PARTS: Final = "parts"


def add_part(app: Flask, kind: type[Part], part: Part) -> None:
    """Add a part to the application."""
    app.extensions.setdefault(_PARTS, {})[kind] = part


def part_of(app: Flask, kind: type[Part]) -> Part:
    """The part of that type."""
    part: Part = app.extensions[_PARTS][kind]
    return part


def current(kind: type[Part]) -> Part:
    """The part of that type, of the serving application."""
    return part_of(current_app, kind)
