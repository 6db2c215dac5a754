"""Facts about a request of the console: its caller, its actor, unexpected fields, numbers of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from flask import Flask, current_app, g, request
from flask_login import current_user
from werkzeug.routing import IntegerConverter, ValidationError

from app.audit.rules.records import Actor, Source
from app.http import public
from app.http.public import TRANSFER_PAGES
from app.values.ip_addresses import IPAddress, counted_network

LARGEST_ID: Final = (1 << 63) - 1
"""The largest integer that both databases can store."""

_LONGEST: Final = len(str(LARGEST_ID))


def read_id(text: str) -> int | None:
    """The number in a text; None where it is not a number, or larger than a row number can be."""
    if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST:
        return None
    number = int(text)
    return number if number <= LARGEST_ID else None


class IdConverter(IntegerConverter):
    """A row number in an address. A number that no row can have is a page that does not exist."""

    def to_python(self, value: str) -> Any:
        number = read_id(value)
        if number is None:
            raise ValidationError
        return number


def register(app: Flask) -> None:
    """Let ``<int:…>`` in the console's addresses match only numbers of rows."""
    app.url_map.converters["int"] = IdConverter


SIGNED_IN_BYTES: Final = 8 * 1024 * 1024
"""The largest form, in bytes, after signing in: ten thousand base fees take half of it."""

SIGNED_IN_PARTS: Final = 20_000
"""Its fields: a chain with a thousand tokens is copied by a form of about so many."""


def want_forms(largest: int) -> None:
    """Register that a view accepts forms of so many bytes."""
    g.largest_form = largest


def allow_forms() -> None:
    """Accept forms as large as the view registered. Before, only the size of a sign-in is accepted."""
    largest = g.get("largest_form", SIGNED_IN_BYTES)
    request.max_form_memory_size = request.max_content_length = largest
    request.max_form_parts = SIGNED_IN_PARTS


def caller() -> str:
    """The address that the request comes from, as ``TRUSTED_PROXIES`` defines it; ``-`` on a socket."""
    return str(_caller() or "-")


def network() -> str:
    """The key by which the caller's guesses are counted; ``-`` on a socket."""
    address = _caller()
    return "-" if address is None else counted_network(address)


def page_of_user(transfer_id: str) -> str:
    """The address of the page where a user follows a transfer; empty while ``PUBLIC_URL`` is not set.

    :param transfer_id: lower-case hex with 0x.
    """
    public_url: str = current_app.extensions["console"].public_url
    return f"{public_url}{TRANSFER_PAGES}{transfer_id}" if public_url else ""


def _caller() -> IPAddress | None:
    return public.caller(current_app.extensions["console"].trusted_proxies)


def actor() -> Actor:
    """Who is signed in, as the audit names them."""
    return actor_named(current_user.email)


def actor_named(email: str) -> Actor:
    """The actor of an account's email: just after it signed in, or out."""
    return Actor(email, Source.CONSOLE, caller())


def actor_unknown() -> Actor:
    """The actor of an attempt to sign in. The typed email does not prove who it is."""
    return Actor("not signed in", Source.CONSOLE, caller())


TOKEN_FIELD = "csrf_token"  # noqa: S105  its name, not one
"""The name of the CSRF token, which every form sends."""


def unexpected_field_complaint(known: Iterable[str]) -> str | None:
    """The message for a request with fields that its form does not have; None where there are none.

    If such a field were ignored, its sender would believe that it counted.
    """
    unexpected = sorted({*request.form, *request.files} - {*known, TOKEN_FIELD})
    if not unexpected:
        return None
    shown = ", ".join(f"“{name[:60]}”" for name in unexpected[:5])
    return f"This form has no field {shown}: nothing was changed. Load the page again."
