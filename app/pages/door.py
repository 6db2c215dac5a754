"""The settings of the pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flask import Flask, current_app

_KEY: Final = "pages"


@dataclass(frozen=True, slots=True)
class PagesDoor:
    """The settings.

    ``waits``: whether the address that serves the pages serves ``/v2/waitTransferStatus`` as well. Of the two
    addresses, where the pages link to beside themselves, each is empty where that is not told.
    """

    trusted_proxies: int
    support_url: str
    refund_url: str
    waits: bool

    def refund_page(self, transfer_id: str) -> str:
        """The page of the app where this transfer's refund is claimed; empty where there is none."""
        return self.refund_url.replace("{transfer_id}", transfer_id)


def open_door(app: Flask, door: PagesDoor) -> None:
    """Keep the door with the application."""
    app.extensions[_KEY] = door


def current_door() -> PagesDoor:
    """The door of the current application."""
    door = current_app.extensions[_KEY]
    assert isinstance(door, PagesDoor)  # noqa: S101  narrows the type of an untyped registry
    return door
