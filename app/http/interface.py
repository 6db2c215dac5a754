"""The public interface over HTTP: its prefixes, its settings, and the shape of each path's answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flask import Flask, current_app
from marshmallow import Schema
from msgspec import Struct

from app.http.pages import TRANSFER_PAGES
from app.http.schemas import PlainAnswer

PREFIX: Final = "/v2"
LEGACY_PREFIX: Final = "/v1"
"""Existing clients call the same operations here. It is not documented (docs/interface.md#legacy-v1)."""

DOCS: Final = "docs"
"""The name of the blueprint that describes the operations."""

PUBLIC_PREFIXES: Final = (
    f"{PREFIX}/",
    f"{LEGACY_PREFIX}/",
    "/sgn.gateway.v1.Web/",
    "//sgn.gateway.v1.Web/",
    TRANSFER_PAGES,
)
"""Requests that are counted, and answered soon: the public interfaces, without health checks, console and
feed."""

_OF_ANY_ORIGIN: Final = (f"{PREFIX}/", f"{LEGACY_PREFIX}/", "/openapi.json")


def is_public(path: str) -> bool:
    """Whether pages of any origin may read the answers of this path (docs/interface.md#cors)."""
    return path.startswith(_OF_ANY_ORIGIN)


class PublicInterface(Struct, frozen=True):
    """The settings of the interface of one application."""

    trusted_proxies: int
    compat_clients: bool


Answers = Mapping[str, Schema]
"""The shape of each path's answer."""

_ANSWERS: Final = "answers"

NOTHING_BUT_ERR: Final = PlainAnswer()


def add_answers(app: Flask, answers: Answers, *, prefix: str = "") -> None:
    """Note the shape of each path's answer, for errors that are raised outside of its view."""
    shapes = {prefix + path: shape for path, shape in answers.items()}
    app.extensions.setdefault(_ANSWERS, {}).update(shapes)


def answer_shape(path: str) -> Schema:
    """The shape of a path's answer; only ``err`` where the application does not have the path."""
    shape: Schema = current_app.extensions[_ANSWERS].get(path, NOTHING_BUT_ERR)
    return shape
